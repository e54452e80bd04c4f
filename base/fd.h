/*
 * fd: owned file descriptors. A variable declared `owned_fd int x_fd = -1;` is closed when its
 * scope ends; fd_take() moves ownership out. Functions that have such locals leave by return only.
 * fd_send() and fd_receive() pass descriptors to another process.
 */
#ifndef WARDER_BASE_FD_H
#define WARDER_BASE_FD_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
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

#define FD_SEND_MAX 253 /* the kernel's SCM_MAX_FD */

/* Send one message over a unix socket, with `count` (0 to FD_SEND_MAX) descriptors, which stay open here. `flags`: MSG_DONTWAIT or 0.
 * 0; -1 with errno. */
int fd_send(int socket_fd, const void *bytes, size_t len, const int *fds, size_t count, int flags);
/* Receive one message of at most `len` bytes, with at most `max` descriptors, which the caller owns; fds[i] is -1 where none came.
 * Returns the message's length; 0: the peer has closed; -1 with errno (EMSGSIZE: the message is longer, EMFILE: it has more descriptors,
 * or this process can open no more); then no descriptor stays open. */
ssize_t fd_receive(int socket_fd, void *bytes, size_t len, int *fds, size_t max, int flags);
/* Let nobody pass descriptors to this end of a unix socket: such a message fails with EPERM. Before Linux 6.16 this has no effect. Then a
 * descriptor that is not received is closed by this process, which can wait long for it: a TCP socket with SO_LINGER waits for its peer. */
void fd_refuse_passing(int socket_fd);

#endif
