#include "base/fd.h"

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

#define SPACE CMSG_SPACE(sizeof(int) * FD_SEND_MAX)

int fd_send(int socket_fd, const void *bytes, size_t len, const int *fds, size_t count, int flags)
{
	char space[SPACE] __attribute__((aligned(8))) = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (count > FD_SEND_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (count) {
		struct cmsghdr *cmsg = (struct cmsghdr *)(void *)space;

		header.msg_control = space;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * count);
	}
	do
		n = sendmsg(socket_fd, &header, MSG_NOSIGNAL | flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	errno = EMSGSIZE;
	return n == (ssize_t)len ? 0 : -1;
}

/* False: more than `max` came, which happens where the alignment of their space has room for another one. */
static bool take(struct msghdr *header, int *fds, size_t max)
{
	size_t count = 0;

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(header); cmsg; cmsg = CMSG_NXTHDR(header, cmsg)) {
		const size_t here = cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS
					? (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int)
					: 0;

		for (size_t i = 0; i < here; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
			if (count < max)
				fds[count] = fd;
			else
				close(fd);
			count++;
		}
	}
	return count <= max;
}

ssize_t fd_receive(int socket_fd, void *bytes, size_t len, int *fds, size_t max, int flags)
{
	char space[SPACE] __attribute__((aligned(8)));
	struct iovec iov = { .iov_base = bytes, .iov_len = len };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	for (size_t i = 0; i < max; i++)
		fds[i] = -1;
	if (max > FD_SEND_MAX) {
		errno = EINVAL;
		return -1;
	}
	header.msg_control = space;
	header.msg_controllen = CMSG_SPACE(sizeof(int) * max);
	do
		n = recvmsg(socket_fd, &header, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	if (take(&header, fds, max) && !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return n;
	for (size_t i = 0; i < max; i++)
		fd_done(&fds[i]);
	errno = header.msg_flags & MSG_TRUNC ? EMSGSIZE : EMFILE;
	return -1;
}

void fd_refuse_passing(int socket_fd)
{
	const int off = 0;
	const int saved = errno;

	setsockopt(socket_fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
	errno = saved;
}
