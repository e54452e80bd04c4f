/*
 * Copies of trees, into a place where nobody else is at work. The source may be anybody's: no link in it is followed, and only what
 * was seen to be a regular file is read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "rootfs/rootfs.h"
#include "store/workspaces/private.h"

#define CHUNK 65536

struct copying {
	bool readable;
	struct warder_error *err;
};

static int copy_level(struct copying *copying, int from_fd, int to_fd, int depth);

static int failed(struct copying *copying, const char *name, const char *what)
{
	char shown[96];

	return error_set_errno(copying->err, WARDER_ERROR_UNAVAILABLE, "from", errno, "%s %s",
			       json_quote(name, shown, sizeof(shown)), what);
}

static mode_t mode_of(const struct copying *copying, mode_t mode)
{
	if (!copying->readable)
		return mode & 0777;
	return S_ISDIR(mode) || (mode & 0111) ? 0755 : 0644;
}

int workspace_copy_bytes(int from_fd, int to_fd)
{
	char chunk[CHUNK];

	for (;;) {
		ssize_t n = read(from_fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		if (file_write_all(to_fd, chunk, (size_t)n) != 0)
			return -1;
	}
}

static int copy_file(struct copying *copying, int from_dir, int to_dir, const char *name)
{
	owned_fd int from_fd =
	    openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	owned_fd int to_fd = -1;
	struct stat st;

	if (from_fd < 0 || fstat(from_fd, &st) != 0)
		return failed(copying, name, "cannot be read");
	if (!S_ISREG(st.st_mode))
		return error_set(copying->err, WARDER_ERROR_CONFLICT, "from",
				 "%.200s changes while it is copied", name);
	to_fd = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to_fd < 0 || workspace_copy_bytes(from_fd, to_fd) != 0 ||
	    fchmod(to_fd, mode_of(copying, st.st_mode)) != 0)
		return failed(copying, name, "cannot be copied");
	return 0;
}

static int copy_link(struct copying *copying, int from_dir, int to_dir, const char *name)
{
	char target[PATH_MAX];
	const ssize_t len = readlinkat(from_dir, name, target, sizeof(target) - 1);

	if (len < 0)
		return failed(copying, name, "cannot be read");
	target[len] = '\0';
	return symlinkat(target, to_dir, name) == 0 ? 0 : failed(copying, name, "cannot be copied");
}

static int copy_directory(struct copying *copying, int from_dir, int to_dir, const char *name, int depth)
{
	owned_fd int from_fd = openat(from_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned_fd int to_fd = -1;
	struct stat st;

	if (from_fd < 0 || fstat(from_fd, &st) != 0)
		return failed(copying, name, "cannot be read");
	if (mkdirat(to_dir, name, 0700) != 0)
		return failed(copying, name, "cannot be copied");
	to_fd = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to_fd < 0 || copy_level(copying, from_fd, to_fd, depth + 1) != 0)
		return -1;
	return fchmod(to_fd, mode_of(copying, st.st_mode)) == 0 ? 0
								: failed(copying, name, "cannot be copied");
}

static int copy_entry(struct copying *copying, int from_dir, int to_dir, const char *name, int depth)
{
	struct stat st;

	if (fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return failed(copying, name, "cannot be looked at");
	if (S_ISDIR(st.st_mode))
		return copy_directory(copying, from_dir, to_dir, name, depth);
	if (S_ISREG(st.st_mode))
		return copy_file(copying, from_dir, to_dir, name);
	if (S_ISLNK(st.st_mode))
		return copy_link(copying, from_dir, to_dir, name);
	return error_set(copying->err, WARDER_ERROR_INVALID_REQUEST, "from",
			 "%.200s is not a file, directory or link, and cannot be copied", name);
}

static int copy_level(struct copying *copying, int from_fd, int to_fd, int depth)
{
	int fd = openat(from_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *item;
	int status = 0;

	if (!dir) {
		fd_done(&fd);
		return failed(copying, ".", "cannot be listed");
	}
	if (depth > WORKSPACE_DEPTH_MAX)
		status = error_set(copying->err, WARDER_ERROR_INVALID_REQUEST, "from",
				   "directories lie more than %d levels deep", WORKSPACE_DEPTH_MAX);
	while (status == 0 && (item = readdir(dir)) != NULL) {
		if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0)
			status = copy_entry(copying, from_fd, to_fd, item->d_name, depth);
	}
	closedir(dir);
	return status;
}

int workspace_copy_tree(int from_fd, int to_fd, bool readable, struct warder_error *err)
{
	struct copying copying = { readable, err };

	return copy_level(&copying, from_fd, to_fd, 0);
}

int workspace_copy_file(struct workspace *workspace, int fd, const char *name, uint32_t mode,
			struct warder_error *err)
{
	owned_fd int to_fd =
	    openat(workspace->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (to_fd < 0 || workspace_copy_bytes(fd, to_fd) != 0 || fchmod(to_fd, mode) != 0 ||
	    fsync(to_fd) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "from", errno,
				       "a file cannot be copied");
	return 0;
}
