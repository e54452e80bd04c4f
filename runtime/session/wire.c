#include "runtime/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/hang.h"

#define MAGIC            0x53445257u
#define FDS_MAX          (JAIL_JOINT_FDS + 1)
#define REPLY_TIMEOUT_MS 8000
#define REPLY_LOOK_MS    500

static int no_answer(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "name",
			 "the session's keeper does not answer: it is ending, or was started by another "
			 "version of Warder");
}

/* Also a keeper of the version before understands a request that its struct can hold. */
int session_send_request(int fd, struct session_request *request, int file_fd, struct warder_error *err)
{
	request->magic = MAGIC;
	request->size = request->type >= SESSION_RULES || request->rules || request->bytes
			    ? sizeof(*request)
			    : SESSION_REQUEST_OLD;
	return fd_send(fd, request, request->size, &file_fd, file_fd >= 0, 0) == 0 ? 0 : no_answer(err);
}

static bool request_valid(const struct session_request *request, size_t len)
{
	if (len > SESSION_REQUEST_MAX || (len != sizeof(*request) && len != SESSION_REQUEST_OLD))
		return false;
	return request->magic == MAGIC && request->size == len && request->type >= SESSION_DESCRIBE &&
	       request->type <= (len == sizeof(*request) ? SESSION_SAVE : SESSION_FILES) &&
	       !request->id[SESSION_ID_LENGTH];
}

int session_receive_request(int fd, struct session_request *ret, int *ret_file_fd)
{
	ssize_t n;

	*ret = (struct session_request){ 0 };
	n = fd_receive(fd, ret, sizeof(*ret), ret_file_fd, 1, MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return 0;
	if (n > 0 && request_valid(ret, (size_t)n))
		return 1;
	fd_done(ret_file_fd);
	return -1;
}

static int text_file(const char *text)
{
	owned_fd int fd = memfd_create("warder-session", MFD_CLOEXEC);

	if (fd < 0 || file_write_all(fd, text, strlen(text)) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return fd_take(&fd);
}

int session_send_reply(int fd, const struct warder_error *failure, const char *text,
		       const struct jail_joint *joint)
{
	struct session_reply reply = { .magic = MAGIC, .size = sizeof(reply) };
	owned_fd int text_fd = -1;
	int fds[FDS_MAX] = { 0 };
	size_t count = 0;

	if (failure) {
		reply.failed = 1;
		reply.error = *failure;
	} else {
		text_fd = text_file(text ? text : "");
		if (text_fd < 0)
			return -1;
		fds[count++] = text_fd;
	}
	if (joint && !failure) {
		reply.joint = *joint;
		for (int i = 0; i < JAIL_JOINT_FDS; i++) {
			if (joint->fds[i] < 0)
				continue;
			reply.fd_mask |= 1u << i;
			fds[count++] = joint->fds[i];
		}
	}
	return fd_send(fd, &reply, sizeof(reply), fds, count, MSG_DONTWAIT);
}

void session_joint_done(struct jail_joint *joint)
{
	for (int i = 0; i < JAIL_JOINT_FDS; i++)
		fd_done(&joint->fds[i]);
}

/* Hand the descriptors out, and close those that nobody asked for. */
static int distribute(const struct session_reply *reply, int *fds, size_t count, int *ret_text_fd,
		      struct jail_joint *ret_joint)
{
	size_t next = 1;

	*ret_text_fd = count ? fds[0] : -1;
	for (int i = 0; ret_joint && i < JAIL_JOINT_FDS; i++)
		ret_joint->fds[i] = reply->fd_mask & (1u << i) && next < count ? fds[next++] : -1;
	for (; next < count; next++)
		close(fds[next]);
	if (!ret_joint || reply->failed)
		return 0;
	for (int i = 0; i < JAIL_JOINT_FDS; i++)
		if ((reply->fd_mask & (1u << i)) && ret_joint->fds[i] < 0)
			return -1;
	return jail_joint_valid(ret_joint) ? 0 : -1;
}

static int read_text(int fd, char **ret, struct warder_error *err)
{
	size_t len;

	return file_read_open(fd, "the keeper's answer", ROOTFS_TEXT_BYTES, ret, &len, err);
}

/* A keeper answers at once; one that takes its session down has closed the connection before. */
int session_await_reply(int fd, struct warder_error *err)
{
	const uint64_t deadline = clock_us() + REPLY_TIMEOUT_MS * UINT64_C(1000);
	const int pid = session_peer_pid(fd);
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct hang hang = { 0 };

	while (poll(&ready, 1, REPLY_LOOK_MS) <= 0) {
		if (hang_look(&hang, pid))
			return error_set_errno(
			    err, WARDER_ERROR_UNAVAILABLE, "name", ETIMEDOUT,
			    "the session's keeper, process %d, does not answer: the kernel holds it", pid);
		if (clock_us() < deadline)
			continue;
		error_set(
		    err, WARDER_ERROR_UNAVAILABLE, "name",
		    "the session's keeper, process %d, has not answered for %d s%s; the session is left "
		    "as it is, and \"warder session stop\" ends it",
		    pid, REPLY_TIMEOUT_MS / 1000,
		    hang_is_stopped(pid) ? ": it is stopped (\"kill -CONT\" lets it go on)" : "");
		err->sys_errno = ETIMEDOUT; /* it is not silent because it ends */
		return -1;
	}
	return 0;
}

int session_receive_reply(int fd, char **ret_text, struct jail_joint *ret_joint, struct warder_error *err)
{
	struct session_reply reply = { 0 };
	owned_fd int text_fd = -1;
	int fds[FDS_MAX];
	size_t count = 0;
	ssize_t n;
	int ret;

	if (session_await_reply(fd, err) < 0)
		return -1;
	n = fd_receive(fd, &reply, sizeof(reply), fds, FDS_MAX, MSG_DONTWAIT);
	if (n < 0 && errno == EMFILE)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, EMFILE, "no descriptor left");
	while (count < FDS_MAX && fds[count] >= 0)
		count++;
	if (n < (ssize_t)offsetof(struct session_reply, joint) || reply.magic != MAGIC ||
	    (ssize_t)reply.size != n) {
		while (count)
			close(fds[--count]);
		return no_answer(err);
	}
	if (ret_joint && !reply.failed && reply.size != sizeof(reply)) {
		while (count)
			close(fds[--count]);
		return error_set(
		    err, WARDER_ERROR_UNAVAILABLE, NULL,
		    "the session was started by an older version of Warder, and programs of this "
		    "version cannot join it: use --detach, or start the session again");
	}
	if (ret_joint)
		*ret_joint = reply.joint;
	ret = distribute(&reply, fds, count, &text_fd, ret_joint);
	if (reply.failed) {
		reply.error.text[sizeof(reply.error.text) - 1] = '\0';
		reply.error.field[sizeof(reply.error.field) - 1] = '\0';
		reply.error.step[sizeof(reply.error.step) - 1] = '\0';
		*err = reply.error;
		ret = -1;
	} else if (ret < 0) {
		no_answer(err);
	} else if (ret_text) {
		ret = read_text(text_fd, ret_text, err);
	}
	if (ret < 0 && ret_joint)
		session_joint_done(ret_joint);
	return ret;
}
