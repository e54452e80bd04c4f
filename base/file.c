/*
 * file: whole files in and out.
 *
 * A receipt is written next to its place and renamed over it after the run has ended, so that it is never seen half
 * written and a run that is killed leaves no file of ours. That it can be written is asked before the start.
 * Its directory is opened before the start as well: a program that may write to a directory above could put a link in its
 * place, and would choose where a file with our privilege goes.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define MAX_BYTES ((size_t)1 << 20)

ssize_t file_read_up_to(int fd, void *to, size_t room)
{
	size_t used = 0;

	while (used < room) {
		ssize_t count = read(fd, (char *)to + used, room - used);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -1;
		if (count == 0)
			break;
		used += (size_t)count;
	}
	return (ssize_t)used;
}

static int open_input(const char *path, struct warder_error *err)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					: open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, path, errno, "cannot read %.200s", path);
	return fd;
}

int file_read_open(int fd, const char *path, size_t most, char **ret_text, size_t *ret_len,
		   struct warder_error *err)
{
	char *text = malloc(most + 1); /* untouched pages cost nothing */
	ssize_t used;

	if (!text)
		return error_no_memory(err, path);
	used = file_read_up_to(fd, text, most + 1);
	if (used < 0) {
		free(text);
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, path, errno, "cannot read %.200s",
				       path);
	}
	if ((size_t)used > most) {
		free(text);
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, path, "%.200s is larger than %zu MiB",
				 path, most >> 20);
	}
	text[used] = '\0';
	*ret_text = text;
	*ret_len = (size_t)used;
	return 0;
}

int file_read_most(const char *path, size_t most, char **ret_text, size_t *ret_len, struct warder_error *err)
{
	owned_fd int fd = open_input(path, err);

	return fd >= 0 ? file_read_open(fd, path, most, ret_text, ret_len, err) : -1;
}

int file_open_regular(const char *path, int *ret_fd, struct warder_error *err)
{
	owned_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, path, errno, "cannot read %.200s",
				       path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, path,
				 "%.200s is not a regular file: copy its content into one", path);
	*ret_fd = fd_take(&fd);
	return 0;
}

int file_read_regular(const char *path, size_t most, char **ret_text, size_t *ret_len,
		      struct warder_error *err)
{
	owned_fd int fd = -1;

	return file_open_regular(path, &fd, err) < 0 ? -1
						     : file_read_open(fd, path, most, ret_text, ret_len, err);
}

int file_read(const char *path, char **ret_text, size_t *ret_len, struct warder_error *err)
{
	return file_read_most(path, MAX_BYTES, ret_text, ret_len, err);
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

int file_lock(int fd, int how)
{
	int locked;

	do
		locked = flock(fd, how);
	while (locked != 0 && errno == EINTR);
	return locked;
}

static int cannot_write(const char *path, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, path, errno, "cannot write %.200s", path);
}

int file_open_private_dir(const char *path, int *ret_dir_fd, struct warder_error *err)
{
	const char *name = path_name(path);
	char dir[PATH_MAX] = ".";
	owned_fd int dir_fd = -1;
	struct stat st;

	if (!*name || (size_t)(name - path) >= sizeof(dir))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, path,
				 "\"%.200s\" cannot be the name of a file", path);
	if (name != path)
		snprintf(dir, sizeof(dir), "%.*s", (int)(name - path), path);
	dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || access(dir, W_OK | X_OK) != 0)
		return cannot_write(path, err);
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, path,
				 "%.200s exists and is not a regular file; it is not replaced", path);
	*ret_dir_fd = fd_take(&dir_fd);
	return 0;
}

/* A new file of a name that nobody has. */
static int open_temporary(int dir_fd, char *name, size_t size)
{
	for (int tries = 0; tries < 100; tries++) {
		uint64_t number;
		int fd;

		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -1;
		snprintf(name, size, ".warder-%016" PRIx64, number);
		fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

int file_replace(int dir_fd, const char *path, const char *bytes, size_t len, struct warder_error *err)
{
	char temporary[32];
	int fd = open_temporary(dir_fd, temporary, sizeof(temporary));
	int status;

	if (fd < 0)
		return cannot_write(path, err);
	status = file_write_all(fd, bytes, len);
	if (close(fd) != 0) /* network file systems tell only now that the disk is full */
		status = -1;
	if (status != 0 || renameat(dir_fd, temporary, dir_fd, path_name(path)) != 0) {
		cannot_write(path, err);
		unlinkat(dir_fd, temporary, 0);
		return -1;
	}
	return 0;
}

/* Take "." and "..", and doubled slashes, out of an absolute path that ends with one. */
static void take_out_dots(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		size_t length = strcspn(from + 1, "/") + 1; /* "/name" */

		if (length == 3 && strncmp(from, "/..", 3) == 0)
			while (to > text && *--to != '/')
				;
		else if (length > 1 && !(length == 2 && from[1] == '.'))
			to = (char *)memmove(to, from, length) + length;
		from += length;
	}
	*to = '\0';
	if (to == text)
		strcpy(text, "/");
}

char *file_plain(const char *path)
{
	char cwd[PATH_MAX] = "";
	char *text = NULL;

	if (*path == '\0')
		errno = ENOENT;
	if (*path == '\0' || (*path != '/' && !getcwd(cwd, sizeof(cwd))))
		return NULL;
	if (asprintf(&text, "%s/%s/", strcmp(cwd, "/") == 0 ? "" : cwd, path) < 0)
		return NULL;
	take_out_dots(text);
	return text;
}

char *file_absolute(const char *path)
{
	return *path == '/' ? strdup(path) : file_plain(path);
}
