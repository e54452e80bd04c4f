/*
 * A name in a directory that others can write to may lead anywhere, so nothing but a plain file of the caller's own is opened: a
 * stranger's link must not make root append to a file of the stranger's choice, and a FIFO must not make it wait.
 *
 * Only the owner can open the file, so only the owner's own processes can hold the lock. A writer still does not wait for it without end.
 */
#include "base/line_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define LOCK_TRIES    500
#define LOCK_PAUSE_NS 10000000

static int refuse(const char *path, const char *field, const char *why, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, field, "%.200s is not written to: %s", path, why);
}

static int check(const struct stat *st, const char *path, const char *field, struct warder_error *err)
{
	char why[120];

	if (!S_ISREG(st->st_mode))
		return refuse(path, field, "it is not a regular file", err);
	if (st->st_uid != geteuid()) {
		snprintf(why, sizeof(why), "it belongs to user %u, and you are user %u", (unsigned)st->st_uid,
			 (unsigned)geteuid());
		return refuse(path, field, why, err);
	}
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return refuse(path, field, "others may write to it; chmod go-w it", err);
	if (st->st_nlink != 1)
		return refuse(path, field, "it has a second name (a hard link); use another file", err);
	return 0;
}

int line_log_open(const char *path, const char *field, int *ret_fd, struct warder_error *err)
{
	owned_fd int fd =
	    open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 && errno == ELOOP)
		return refuse(path, field, "it is a symbolic link; name the file itself", err);
	if (fd < 0 && errno == ENXIO)
		return refuse(path, field, "it is not a regular file", err);
	if (fd < 0 || fstat(fd, &st) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "cannot write to %.200s",
				       path);
	if (check(&st, path, field, err) != 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

/* F_WRLCK or F_UNLCK. A lock of the process, because forked workers share the open file. */
static int lock(int fd, short type)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
	struct flock whole = { .l_type = type, .l_whence = SEEK_SET };

	for (int tries = 1; fcntl(fd, F_SETLK, &whole) != 0; tries++) {
		if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || tries == LOCK_TRIES)
			return -1;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* One line; with errno. *ret_torn: a part of it stays in the file. */
static int append(int fd, const char *line, size_t len, bool *ret_torn)
{
	const off_t before = lseek(fd, 0, SEEK_END);
	const ssize_t count = before < 0 ? -1 : write(fd, line, len);

	if (count == (ssize_t)len)
		return 0;
	if (count > 0)
		*ret_torn = lseek(fd, 0, SEEK_END) != before + count || ftruncate(fd, before) != 0;
	if (count >= 0)
		errno = ENOSPC;
	return -1;
}

int line_log_append(int fd, const char *path, const char *field, const char *line, size_t len,
		    struct warder_error *err)
{
	bool torn = false;
	int status, saved;

	if (lock(fd, F_WRLCK) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "cannot lock %.200s, which another process holds", path);
	status = append(fd, line, len, &torn);
	saved = errno;
	lock(fd, F_UNLCK);
	if (status == 0)
		return 0;
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, saved,
			       "cannot append a line to %.200s%s", path,
			       torn ? "; its last line is incomplete" : "");
}
