#include "runtime/service/records.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

int service_send(int fd, const void *bytes, size_t len, const int *fds, size_t fd_count)
{
	char space[CMSG_SPACE(sizeof(int) * SERVICE_FDS_MAX)] __attribute__((aligned(8))) = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (fd_count) {
		struct cmsghdr *cmsg = (struct cmsghdr *)(void *)space;

		header.msg_control = space;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
	}
	do
		n = sendmsg(fd, &header, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len ? 0 : -1;
}

ssize_t service_receive(int fd, void *bytes, size_t len, int ret_fds[SERVICE_FDS_MAX])
{
	char space[CMSG_SPACE(sizeof(int) * SERVICE_FDS_MAX)] __attribute__((aligned(8)));
	struct iovec iov = { .iov_base = bytes, .iov_len = len };
	struct msghdr header = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)
	};
	size_t count = 0;
	ssize_t n;

	for (size_t i = 0; i < SERVICE_FDS_MAX; i++)
		ret_fds[i] = -1;
	do
		n = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header); cmsg; cmsg = CMSG_NXTHDR(&header, cmsg)) {
		const size_t here = cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS
					? (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int)
					: 0;

		for (size_t i = 0; i < here; i++, count++) {
			int one;

			memcpy(&one, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(one));
			if (count < SERVICE_FDS_MAX)
				ret_fds[count] = one;
			else
				close(one);
		}
	}
	if (!(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return n;
	for (size_t i = 0; i < SERVICE_FDS_MAX; i++)
		fd_done(&ret_fds[i]);
	errno = EPROTO;
	return -1;
}
