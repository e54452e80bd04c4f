/*
 * The headers for programs leave the kernel's struct user_msghdr and struct cmsghdr to a libc; they stand here once.
 */
#include "jail/inside/message.h"

#include <stdint.h>

#include "jail/inside/sys.h"

#define EINTR_            4
#define EIO_              5
#define EINVAL_           22
#define SOL_SOCKET_       1
#define SCM_RIGHTS_       1
#define MSG_CTRUNC_       0x8
#define MSG_TRUNC_        0x20
#define MSG_NOSIGNAL_     0x4000
#define MSG_CMSG_CLOEXEC_ 0x40000000

struct part {
	const void *at;
	size_t len;
};

struct message {
	const void *name;
	uint32_t name_len;
	const struct part *parts;
	size_t part_count;
	void *control;
	size_t control_len;
	uint32_t flags;
};

struct rights {
	size_t len;
	int level, type;
	int fds[MESSAGE_FDS_MAX];
};

long message_send(int socket_fd, const void *data, size_t len, const int *fds, size_t count)
{
	struct rights rights;
	const struct part part = { data, len };
	const struct message message = { .parts = &part,
					 .part_count = 1,
					 .control = &rights,
					 .control_len = offsetof(struct rights, fds) + count * sizeof(*fds) };
	long ret;

	rights.len = message.control_len;
	rights.level = SOL_SOCKET_;
	rights.type = SCM_RIGHTS_;
	for (size_t i = 0; i < count; i++)
		rights.fds[i] = fds[i];
	ret = sys(sendmsg, socket_fd, &message, MSG_NOSIGNAL_);
	return ret < 0 ? ret : (size_t)ret == len ? 0 : -EIO_;
}

long message_receive(int socket_fd, void *data, size_t size, int *fds, size_t most, size_t *ret_count)
{
	struct rights rights;
	const struct part part = { data, size };
	struct message message = {
		.parts = &part, .part_count = 1, .control = &rights, .control_len = sizeof(rights)
	};
	size_t count;
	long ret;

	rights.level = rights.type = 0;
	do
		ret = sys(recvmsg, socket_fd, &message, MSG_CMSG_CLOEXEC_);
	while (ret == -EINTR_);
	if (ret <= 0)
		return ret;
	if (message.flags & (MSG_CTRUNC_ | MSG_TRUNC_) ||
	    message.control_len < offsetof(struct rights, fds) || rights.level != SOL_SOCKET_ ||
	    rights.type != SCM_RIGHTS_)
		return -EINVAL_;
	count = (rights.len - offsetof(struct rights, fds)) / sizeof(*fds);
	if (count > most)
		return -EINVAL_;
	for (size_t i = 0; i < count; i++)
		fds[i] = rights.fds[i];
	*ret_count = count;
	return ret;
}

long message_receive_fds(int socket_fd, int *fds)
{
	size_t count = 0;
	char byte;
	const long ret = message_receive(socket_fd, &byte, 1, fds, MESSAGE_FDS_MAX, &count);

	return ret < 0 ? ret : ret == 1 ? (long)count : -EINVAL_;
}
