/*
 * Directories that a killed process left are known by their lock: whoever uses one holds a flock(2) on it, which the kernel
 * gives back however its holder ends. A directory can be found idle by another process between its creation and its lock: its
 * maker looks once more, and makes another one.
 *
 * The name of a directory ends in the number of its own inode. So no directory that a person made, copied or moved here, whatever
 * its name, is taken for one that a killed process left.
 */
#include "runtime/code/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "rootfs/rootfs.h"
#include "runtime/library/library.h"

#define TRIES 16

static const char *parent_path(void)
{
	const char *path = getenv("TMPDIR");

	return path && path[0] == '/' ? path : "/tmp";
}

static int unusable(const char *path, int error, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "TMPDIR", error,
			       "cannot make a temporary directory in %.200s", path);
}

#define NAME_BYTES sizeof(LIBRARY_BOX "0123456789abcdef")

static void own_name(const struct stat *st, char name[static NAME_BYTES])
{
	snprintf(name, NAME_BYTES, LIBRARY_BOX "%016llx", (unsigned long long)st->st_ino);
}

/* Only what this user has made with scratch_open(), and nobody uses. */
static void remove_idle(int parent_fd, const char *name)
{
	owned_fd int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char expected[NAME_BYTES];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_uid != geteuid())
		return;
	own_name(&st, expected);
	if (strcmp(name, expected) == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		rootfs_remove_tree(parent_fd, name);
}

static void sweep(int parent_fd)
{
	int fd = openat(parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *item;

	while (dir && (item = readdir(dir)) != NULL) {
		if (strncmp(item->d_name, LIBRARY_BOX, sizeof(LIBRARY_BOX) - 1) == 0)
			remove_idle(parent_fd, item->d_name);
	}
	if (dir)
		closedir(dir);
	else
		fd_done(&fd);
}

/* Locked, under its own name, and still there. */
static int claim(const char *parent, char path[static SCRATCH_PATH_BYTES], int *ret_fd)
{
	owned_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char named[SCRATCH_PATH_BYTES], name[NAME_BYTES];
	struct stat st;

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) != 0 || fstat(fd, &st) != 0)
		return -1;
	own_name(&st, name);
	snprintf(named, sizeof(named), "%s/%s", parent, name);
	if (rename(path, named) != 0)
		return -1;
	memcpy(path, named, sizeof(named));
	if (fstat(fd, &st) != 0 || st.st_nlink == 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

int scratch_open(const char *box, struct scratch *ret, struct warder_error *err)
{
	const char *parent = parent_path();
	owned_fd int parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret = SCRATCH_NONE;
	if (parent_fd < 0)
		return unusable(parent, errno, err);
	sweep(parent_fd);
	for (int tries = 0; tries < TRIES; tries++) {
		if (strlen(parent) + 1 + NAME_BYTES > sizeof(ret->path))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "TMPDIR",
					 "the path has %zu bytes; name a shorter one", strlen(parent));
		snprintf(ret->path, sizeof(ret->path), "%s/" LIBRARY_BOX "XXXXXX", parent);
		if (!mkdtemp(ret->path))
			break;
		if (claim(parent, ret->path, &ret->fd) != 0) {
			rmdir(ret->path);
			continue;
		}
		if (mkdirat(ret->fd, box, 0755) == 0)
			return 0;
		unusable(parent, errno, err);
		scratch_done(ret);
		return -1;
	}
	return unusable(parent, errno, err);
}

/* The name that the directory has now, which the program may have moved; as it was made, if the kernel does not tell. */
static const char *current_name(const struct scratch *scratch, char path[PATH_MAX])
{
	char link[40];
	ssize_t length;
	const char *slash;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", scratch->fd);
	length = readlink(link, path, PATH_MAX - 1);
	path[length > 0 ? length : 0] = '\0';
	slash = strrchr(path, '/');
	return (slash ? slash : strrchr(scratch->path, '/')) + 1;
}

/* Whether the name in that directory is the one of the scratch directory. */
static bool is_there(int parent_fd, const char *name, int fd)
{
	struct stat named, held;

	return fstatat(parent_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &held) == 0 &&
	       named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

void scratch_done(struct scratch *scratch)
{
	owned_fd int parent_fd = -1;
	char path[PATH_MAX];
	const char *name;

	if (scratch->fd < 0)
		return;
	name = current_name(scratch, path);
	parent_fd = openat(scratch->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent_fd >= 0 && is_there(parent_fd, name, scratch->fd))
		rootfs_remove_tree(parent_fd, name);
	fd_done(&scratch->fd);
}
