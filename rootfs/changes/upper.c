/*
 * One directory at a time, with a descriptor on either side, to a bounded depth. Nobody is at work in the upper directory any more, and
 * the other one is the caller's own; still nothing is opened but what was seen to be a directory or a regular file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "rootfs/entries.h"
#include "rootfs/changes/changes.h"
#include "rootfs/layers.h"

#define DEPTH_MAX   ROOTFS_TREE_MAX
#define LINKS_MAX   65536
#define XATTR_BYTES 65536

/* A file with more names than the one that was copied. */
struct link_name {
	ino_t inode;
	char *path; /* of the copy */
};

struct copying {
	const struct upper_copy *copy;
	char path[PATH_MAX]; /* of the directory at hand */
	struct link_name *links;
	size_t link_count;
	uint64_t files, bytes;
	struct warder_error *err;
	char buffer[XATTR_BYTES];
};

static int failed(struct copying *c, const char *name, const char *what)
{
	return error_set_errno(c->err, WARDER_ERROR_UNAVAILABLE, "image", errno, "%.200s%s%.100s %s", c->path,
			       *c->path ? "/" : "", name, what);
}

static uint32_t id_of(const struct copying *c, uint32_t id)
{
	return id - c->copy->id_base < 65536 ? id - c->copy->id_base : 0;
}

/* Owner, then mode, which the change of owner may take from. */
static int give(struct copying *c, int dir_fd, const char *name, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	if (c->copy->keep_owners &&
	    fchownat(dir_fd, name, id_of(c, st->st_uid), id_of(c, st->st_gid), AT_SYMLINK_NOFOLLOW) != 0)
		return failed(c, name, "cannot get its owner");
	if (!S_ISLNK(st->st_mode) && fchmodat(dir_fd, name, st->st_mode & 07777, 0) != 0)
		return failed(c, name, "cannot get its mode");
	return utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW) == 0
		   ? 0
		   : failed(c, name, "cannot get its time");
}

static bool is_kept(const struct copying *c, const char *name)
{
	if (strcmp(name, c->copy->user_xattrs ? "user.overlay.opaque" : "trusted.overlay.opaque") == 0)
		return true;
	return strncmp(name, "user.", 5) == 0 && strncmp(name, "user.overlay.", 13) != 0;
}

static int copy_attributes(struct copying *c, int from_fd, int to_fd, const char *name)
{
	char names[8192];
	ssize_t len = flistxattr(from_fd, names, sizeof(names));

	if (len < 0)
		return errno == ENOTSUP ? 0 : failed(c, name, "has too many attributes");
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
		ssize_t size;

		if (!is_kept(c, names + at))
			continue;
		size = fgetxattr(from_fd, names + at, c->buffer, sizeof(c->buffer));
		if (size < 0 || fsetxattr(to_fd, names + at, c->buffer, (size_t)size, 0) != 0)
			return failed(c, name, "cannot get its attributes");
	}
	return 0;
}

/* Made readable where its own mode forbids it: the upper directory is thrown away. */
static int open_from(int dir_fd, const char *name, int flags)
{
	int fd = openat(dir_fd, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 || errno != EACCES || fchmodat(dir_fd, name, 0700, 0) != 0)
		return fd;
	return openat(dir_fd, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* The copy of another name of the file, or NULL. */
static const char *linked_to(const struct copying *c, const struct stat *st)
{
	for (size_t i = 0; i < c->link_count; i++)
		if (c->links[i].inode == st->st_ino)
			return c->links[i].path;
	return NULL;
}

static int note_link(struct copying *c, const struct stat *st, const char *name)
{
	struct link_name *links = c->links;

	if (c->link_count == LINKS_MAX)
		return 0; /* further ones become files of their own */
	if ((c->link_count & (c->link_count - 1)) == 0)
		links = reallocarray(c->links, c->link_count ? c->link_count * 2 : 1, sizeof(*links));
	if (!links)
		return failed(c, name, "needs more memory than there is");
	c->links = links;
	links[c->link_count].inode = st->st_ino;
	if (asprintf(&links[c->link_count].path, "%s%s%s", c->path, *c->path ? "/" : "", name) < 0)
		return failed(c, name, "needs more memory than there is");
	c->link_count++;
	return 0;
}

static int copy_bytes(struct copying *c, int from_fd, int to_fd, const char *name)
{
	ssize_t n;

	while ((n = read(from_fd, c->buffer, sizeof(c->buffer))) > 0) {
		for (ssize_t done = 0; done < n;) {
			ssize_t m = write(to_fd, c->buffer + done, (size_t)(n - done));

			if (m < 0)
				return failed(c, name, "cannot be written");
			done += m;
		}
		c->bytes += (uint64_t)n;
	}
	return n == 0 ? 0 : failed(c, name, "cannot be read");
}

static int copy_file(struct copying *c, int from_dir, int to_dir, const char *name, const struct stat *st)
{
	const char *other = st->st_nlink > 1 ? linked_to(c, st) : NULL;
	owned_fd int from_fd = -1;
	owned_fd int to_fd = -1;

	c->files++;
	if (other)
		return linkat(c->copy->to_fd, other, to_dir, name, 0) == 0
			   ? 0
			   : failed(c, name, "cannot be linked");
	from_fd = open_from(from_dir, name, 0);
	to_fd = from_fd < 0
		    ? -1
		    : openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to_fd < 0)
		return failed(c, name, "cannot be copied");
	if (copy_bytes(c, from_fd, to_fd, name) != 0 || copy_attributes(c, from_fd, to_fd, name) != 0 ||
	    give(c, to_dir, name, st) != 0)
		return -1;
	return st->st_nlink > 1 ? note_link(c, st, name) : 0;
}

static int copy_symlink(struct copying *c, int from_dir, int to_dir, const char *name, const struct stat *st)
{
	ssize_t len = readlinkat(from_dir, name, c->buffer, sizeof(c->buffer) - 1);

	if (len < 0)
		return failed(c, name, "cannot be read");
	c->buffer[len] = '\0';
	c->files++;
	return symlinkat(c->buffer, to_dir, name) == 0 ? give(c, to_dir, name, st)
						       : failed(c, name, "cannot be made");
}

/* A whiteout, or a pipe. */
static int copy_node(struct copying *c, int to_dir, const char *name, const struct stat *st)
{
	if (mknodat(to_dir, name, S_ISFIFO(st->st_mode) ? S_IFIFO | 0600 : S_IFCHR | 0600, 0) != 0)
		return failed(c, name, "cannot be made");
	c->files++;
	return S_ISFIFO(st->st_mode) ? give(c, to_dir, name, st) : 0;
}

static int copy_below(struct copying *c, int from_dir, int to_dir, int depth);

static int copy_directory(struct copying *c, int from_dir, int to_dir, const char *name,
			  const struct stat *st, int depth)
{
	owned_fd int from_fd = open_from(from_dir, name, O_DIRECTORY);
	const size_t len = strlen(c->path);
	owned_fd int to_fd = -1;

	if (depth == DEPTH_MAX || len + strlen(name) + 2 > sizeof(c->path)) {
		errno = ENAMETOOLONG;
		return failed(c, name, "lies too deep");
	}
	if (from_fd < 0 || mkdirat(to_dir, name, 0700) != 0)
		return failed(c, name, "cannot be copied");
	to_fd = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to_fd < 0)
		return failed(c, name, "cannot be copied");
	snprintf(c->path + len, sizeof(c->path) - len, "%s%s", len ? "/" : "", name);
	if (copy_below(c, from_fd, to_fd, depth + 1) != 0)
		return -1;
	c->path[len] = '\0';
	return copy_attributes(c, from_fd, to_fd, name) != 0 ? -1 : give(c, to_dir, name, st);
}

static int copy_one(struct copying *c, int from_dir, int to_dir, const char *name, int depth)
{
	struct stat st;

	if (fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return failed(c, name, "cannot be looked at");
	if (S_ISDIR(st.st_mode))
		return copy_directory(c, from_dir, to_dir, name, &st, depth);
	if (S_ISREG(st.st_mode))
		return copy_file(c, from_dir, to_dir, name, &st);
	if (S_ISLNK(st.st_mode))
		return copy_symlink(c, from_dir, to_dir, name, &st);
	return S_ISFIFO(st.st_mode) || layers_is_whiteout(&st) ? copy_node(c, to_dir, name, &st) : 0;
}

static int copy_below(struct copying *c, int from_dir, int to_dir, int depth)
{
	owned_directory DIR *dir = top_open(from_dir, ".");
	const struct dirent *item;

	if (!dir)
		return failed(c, "", "cannot be read");
	while ((item = readdir(dir)) != NULL) {
		if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0 ||
		    (depth == 0 && top_leaves_out(item->d_name)))
			continue;
		if (copy_one(c, from_dir, to_dir, item->d_name, depth) != 0)
			return -1;
	}
	return 0;
}

int upper_copy(const struct upper_copy *copy, uint64_t *ret_files, uint64_t *ret_bytes,
	       struct warder_error *err)
{
	struct copying *c = calloc(1, sizeof(*c));
	owned_fd int from_fd = openat(copy->upper_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int copied;

	if (!c)
		return error_no_memory(err, "image");
	c->copy = copy;
	c->err = err;
	copied = from_fd < 0 ? failed(c, "", "the written files cannot be read")
			     : copy_below(c, from_fd, copy->to_fd, 0);
	if (copied == 0)
		copied = copy_attributes(c, from_fd, copy->to_fd, "");
	*ret_files = c->files;
	*ret_bytes = c->bytes;
	for (size_t i = 0; i < c->link_count; i++)
		free(c->links[i].path);
	free(c->links);
	free(c);
	return copied;
}
