/*
 * file: whole files in and out.
 *
 * A receipt is written next to its place and renamed over it after the run has ended, so that it is never seen half
 * written and a run that is killed leaves no file of ours. That it can be written is asked before the start.
 */
#include "runtime/cli/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define MAX_BYTES ((size_t)1 << 20)

static int read_all(int fd, char *to, size_t room, size_t *ret_len)
{
	size_t used = 0;

	while (used < room) {
		ssize_t count = read(fd, to + used, room - used);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -1;
		if (count == 0)
			break;
		used += (size_t)count;
	}
	*ret_len = used;
	return 0;
}

static int open_input(const char *path, struct warder_error *err)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					: open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, path, errno, "cannot read %.200s", path);
	return fd;
}

int file_read(const char *path, char **ret_text, size_t *ret_len, struct warder_error *err)
{
	owned_fd int fd = open_input(path, err);
	char *text;
	size_t used;

	if (fd < 0)
		return -1;
	text = malloc(MAX_BYTES + 1); /* untouched pages cost nothing */
	if (!text)
		return error_set(err, WARDER_ERROR_INTERNAL, path, "out of memory");
	if (read_all(fd, text, MAX_BYTES + 1, &used) != 0) {
		free(text);
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, path, errno, "cannot read %.200s",
				       path);
	}
	if (used > MAX_BYTES) {
		free(text);
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, path, "%.200s is larger than 1 MiB",
				 path);
	}
	text[used] = '\0';
	*ret_text = text;
	*ret_len = used;
	return 0;
}

int file_write_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t count = write(fd, bytes, len);

		if (count < 0 &&
		    errno == EAGAIN) { /* somebody who shares the descriptor made it non-blocking */
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
			continue;
		}
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -1;
		bytes += count;
		len -= (size_t)count;
	}
	return 0;
}

/* Split a path into its directory (into dir) and name. */
static int split(const char *path, char *dir, size_t size, const char **ret_name, struct warder_error *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	int length = slash == path ? 1 : slash ? (int)(slash - path) : 0;

	if (strlen(path) >= size || !*name)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, path,
				 "\"%.200s\" cannot be the name of a file", path);
	snprintf(dir, size, "%.*s", length ? length : 1, length ? path : ".");
	*ret_name = name;
	return 0;
}

int file_can_replace(const char *path, struct warder_error *err)
{
	char dir[PATH_MAX];
	const char *name;

	if (split(path, dir, sizeof(dir), &name, err) != 0)
		return -1;
	if (access(dir, W_OK | X_OK) != 0)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, path, errno, "cannot write %.200s",
				       path);
	return 0;
}

int file_replace(const char *path, const char *bytes, size_t len, struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	owned_fd int fd = -1;
	char dir[PATH_MAX], temporary[NAME_MAX + 1];
	const char *name;

	if (split(path, dir, sizeof(dir), &name, err) != 0)
		return -1;
	snprintf(temporary, sizeof(temporary), ".warder-%d", getpid());
	dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = dir_fd < 0
		 ? -1
		 : openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, path, errno, "cannot write %.200s",
				       path);
	if (file_write_all(fd, bytes, len) != 0 || renameat(dir_fd, temporary, dir_fd, name) != 0) {
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, path, errno, "cannot write %.200s", path);
		unlinkat(dir_fd, temporary, 0);
		return -1;
	}
	return 0;
}
