/*
 * fd: owned file descriptors. A variable declared `owned_fd int x_fd = -1;` is closed when its
 * scope ends; fd_take() moves ownership out. Functions that have such locals leave by return only.
 */
#ifndef WARDER_BASE_FD_H
#define WARDER_BASE_FD_H

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* Close *fd if it is open and set it to -1; errno is kept. */
static inline void fd_done(int *fd)
{
	if (*fd >= 0) {
		int saved = errno;

		close(*fd);
		*fd = -1;
		errno = saved;
	}
}

#define owned_fd __attribute__((cleanup(fd_done)))

/* Move the descriptor out of *fd, leaving -1. The caller owns the result. */
static inline int fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Whether two descriptors or paths are of the same object. */
static inline bool fd_same_object(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

#endif
