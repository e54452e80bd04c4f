/*
 * private_dir: directories on the host in which Warder keeps something of its own.
 *
 * What lies there is executed, mounted, or believed. So nobody else may be able to change it, nor to put another directory in
 * its place: the owner and mode of every directory and link on the way are looked at, before and after links are resolved.
 *
 * Trees are walked with one descriptor for each level, so that no path grows too long and no link is followed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "rootfs/path.h"
#include "rootfs/rootfs.h"

static int unusable(const char *path, int error, const char *field, const char *why, struct warder_error *err)
{
	if (error)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, error, "%.200s %s", path, why);
	return error_set(err, WARDER_ERROR_UNAVAILABLE, field, "%.200s %s", path, why);
}

/* ---- the way ---- */

/* May somebody else put something in the place of what lies in this directory? The sticky bit keeps others from that. */
static bool is_ours(const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return false;
	return !S_ISDIR(st->st_mode) || !(st->st_mode & 022) || (st->st_mode & S_ISVTX);
}

/* Every part of the path that is there, links included, without following one. 0; -1 with *err. */
static int check_way(char *path, const char *field, struct warder_error *err)
{
	for (char *slash = path;;) {
		struct stat st;
		const char kept = *slash;
		int found;

		*slash = '\0';
		found = lstat(*path ? path : "/", &st);
		*slash = kept;
		if (found == 0 && !is_ours(&st))
			return unusable(path, 0, field,
					"lies where another user may replace it; name another directory",
					err);
		if (found != 0 && errno != ENOENT)
			return unusable(path, errno, field, "cannot be looked at", err);
		if (found != 0 || !kept)
			return 0;
		slash += 1 + strcspn(slash + 1, "/");
	}
}

static int make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int made;

		*slash = '\0';
		made = mkdir(path, 0755);
		*slash = '/';
		if (made != 0 && errno != EEXIST)
			return -1;
	}
	return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -1;
}

static bool is_empty(int fd)
{
	owned_fd int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again >= 0 ? fdopendir(again) : NULL;
	size_t count = 0;

	if (!dir)
		return false;
	fd_take(&again);
	while (count <= 2 && readdir(dir))
		count++;
	closedir(dir);
	return count == 2;
}

/* Other users can neither reach it nor lock it. A directory that is in use already keeps its mode. */
static int close_to_others(int fd, const struct stat *st, const char *path, const char *field, bool make,
			   struct warder_error *err)
{
	if (st->st_uid != geteuid())
		return unusable(path, 0, field, "belongs to another user; name another directory", err);
	if ((st->st_mode & 07777) == 0700 || (make && is_empty(fd) && fchmod(fd, 0700) == 0))
		return 0;
	return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
			 "%.200s has mode %04o, and other users must not read stored data; name a directory "
			 "that is empty or of mode 0700",
			 path, (unsigned int)st->st_mode & 07777);
}

static int enter(char *path, const char *field, bool make, struct warder_error *err)
{
	owned_fd int fd = -1;
	char real[PATH_MAX];
	struct stat st;

	if (!realpath(path, real) || strlen(real) >= ROOTFS_PRIVATE_DIR_MAX)
		return unusable(path, errno, field, "cannot be found", err);
	strcpy(path, real);
	/* Once more, now without links: by this way what is in it is found. */
	if (check_way(path, field, err) != 0)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		return unusable(path, errno, field, "cannot be opened", err);
	return close_to_others(fd, &st, path, field, make, err) == 0 ? fd_take(&fd) : -1;
}

int rootfs_open_private_dir(char *path, const char *field, struct warder_error *err)
{
	if (check_way(path, field, err) != 0)
		return -1;
	if (make_directories(path) != 0)
		return unusable(path, errno, field, "cannot be made", err);
	return enter(path, field, true, err);
}

int rootfs_find_private_dir(char *path, const char *field, struct warder_error *err)
{
	return check_way(path, field, err) == 0 ? enter(path, field, false, err) : -1;
}

int rootfs_store_path(const char *named, const char *part, char *path, struct warder_error *err)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME"), *below = "";
	int len;

	if (!named)
		named = getenv("WARDER_STORE");
	if (!named && geteuid() == 0)
		named = "/var/lib/warder";
	if (!named && data && data[0] == '/') {
		named = data;
		below = "/warder";
	} else if (!named && home && home[0] == '/') {
		named = home;
		below = "/.local/share/warder";
	}
	if (!named)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "store",
				 "there is no HOME to keep the store below; set it, or name a directory with "
				 "--store or in WARDER_STORE");
	if (named[0] != '/')
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "store",
				 "\"%.200s\" is not an absolute path; write the whole path", named);
	len = snprintf(path, ROOTFS_PRIVATE_DIR_MAX, "%s%s%s%s", named, below, part[0] ? "/" : "", part);
	if (len >= ROOTFS_PRIVATE_DIR_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "store",
				 "the path of the store is longer than %d bytes; name another directory",
				 ROOTFS_PRIVATE_DIR_MAX - 1);
	return 0;
}

/* ---- trees ---- */

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* A directory in a directory: neither a link, nor what is mounted there, which may be another one of the same file system. */
static int open_directory(int parent_fd, const char *name, uint64_t flags)
{
	return path_try(parent_fd, name, flags | O_DIRECTORY, 0,
			RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);
}

/* Let its owner in: the directory that was looked at, whatever has its name by now. */
static int let_in(int parent_fd, const char *name)
{
	owned_fd int fd = open_directory(parent_fd, name, O_PATH);
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return fd < 0 ? -1 : chmod(link, 0700);
}

/* NULL with errno. */
static DIR *open_level(int parent_fd, const char *name, bool force)
{
	owned_fd int fd = open_directory(parent_fd, name, O_RDONLY);
	struct stat own;
	DIR *dir;

	if (fd < 0 && errno == EACCES && force && let_in(parent_fd, name) == 0)
		fd = open_directory(parent_fd, name, O_RDONLY);
	if (fd < 0 || fstat(fd, &own) != 0)
		return NULL;
	if (force && (own.st_mode & 0700) != 0700)
		fchmod(fd, 0700);
	dir = fdopendir(fd);
	if (dir)
		fd_take(&fd);
	return dir;
}

/* A tree that is removed. What lies too deep is moved up into its top, and so has its turn there. */
struct removal {
	int top_fd;
	unsigned int number;
	size_t moved;
};

static int move_up(struct removal *removal, int parent_fd, const char *name)
{
	DIR *dir = open_level(parent_fd, name, true); /* to move it, it has to be writable as well */
	char moved[32];
	struct stat st;
	int status;

	if (!dir)
		return -1;
	closedir(dir);
	do
		snprintf(moved, sizeof(moved), ".deep-%u", removal->number++);
	while (fstatat(removal->top_fd, moved, &st, AT_SYMLINK_NOFOLLOW) == 0);
	status = renameat(parent_fd, name, removal->top_fd, moved);
	removal->moved += status == 0;
	return status;
}

static int remove_level(struct removal *removal, int parent_fd, const char *name, int depth);

/* 0, or the errno of what could not be removed. */
static int empty_level(struct removal *removal, DIR *dir, int depth)
{
	const struct dirent *item;
	int failed = 0;

	while ((item = readdir(dir)) != NULL) {
		if (!is_dots(item->d_name) && remove_level(removal, dirfd(dir), item->d_name, depth + 1) != 0)
			failed = errno;
	}
	return failed;
}

static int remove_level(struct removal *removal, int parent_fd, const char *name, int depth)
{
	DIR *dir;
	int failed;

	if (unlinkat(parent_fd, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	if (depth == ROOTFS_TREE_MAX)
		return move_up(removal, parent_fd, name);
	dir = open_level(parent_fd, name, true);
	if (!dir)
		return -1;
	if (depth == 0)
		removal->top_fd = dirfd(dir);
	do {
		if (depth == 0)
			removal->moved = 0;
		rewinddir(dir);
		failed = empty_level(removal, dir, depth);
	} while (depth == 0 && removal->moved && !failed);
	closedir(dir);
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0)
		return 0;
	errno = failed ? failed : errno;
	return -1;
}

int rootfs_remove_tree(int parent_fd, const char *name)
{
	struct removal removal = { .top_fd = -1 };

	return remove_level(&removal, parent_fd, name, 0);
}

static uint64_t level_bytes(int parent_fd, const char *name, int depth)
{
	struct stat st;
	uint64_t sum;
	DIR *dir = NULL;
	const struct dirent *item;

	if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	sum = (uint64_t)st.st_blocks * 512;
	if (S_ISDIR(st.st_mode) && depth < ROOTFS_TREE_MAX)
		dir = open_level(parent_fd, name, false);
	while (dir && (item = readdir(dir)) != NULL) {
		if (!is_dots(item->d_name))
			sum += level_bytes(dirfd(dir), item->d_name, depth + 1);
	}
	if (dir)
		closedir(dir);
	return sum;
}

uint64_t rootfs_tree_bytes(int parent_fd, const char *name)
{
	return level_bytes(parent_fd, name, 0);
}
