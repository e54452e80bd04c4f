/*
 * A connection counts only if the kernel says that it came through the listening socket. A front that an attacker has taken over has other
 * Unix sockets whose peer is a user of this host: its link to the launcher, connections to keepers, pairs that it made itself, and the
 * listening socket. It can even bind some of them to the path of the listening socket, in the files of its own jail. But each socket that
 * the listening one has accepted has the file of the listening one, by device and inode, and no other connection ever gets that file. The
 * kernel shows it over netlink (sock_diag(7)), to every user, for the sockets of the caller's network namespace.
 *
 * SO_PEERCRED has the user at the time of connect(), in the numbers of the reader's user namespace. That is a number of this host also for a
 * process in a user namespace below, such as a jail of that user, which is not to act as the user. So its map must be ours.
 */
#include "host/launcher/peer.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* since Linux 6.5 */
#endif

#define MAP_MAX 32768 /* bytes of a map: 340 lines */

static int refuse(struct warder_error *err, const char *why)
{
	return error_set(
	    err, WARDER_ERROR_REJECTED, NULL,
	    "no token was sent, and the user of the connection is not known: %s; send a token in "
	    "X-API-Key",
	    why);
}

/* ---- where the connection comes from ---- */

struct answer {
	struct nlmsghdr head;
	struct unix_diag_msg socket;
	char attributes[512];
};

/* Ask the kernel about a socket. */
static int ask(int fd, struct answer *ret, size_t *ret_len)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req body;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_family = AF_UNIX,
			  .udiag_states = ~UINT32_C(0),
			  .udiag_show = UDIAG_SHOW_VFS,
			  .udiag_cookie = { ~UINT32_C(0), ~UINT32_C(0) } }, /* any */
	};
	owned_fd int netlink_fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	socklen_t len = sizeof(int);
	struct stat st;
	int domain;
	ssize_t n;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 || domain != AF_UNIX || netlink_fd < 0 ||
	    fstat(fd, &st) < 0)
		return -1;
	request.body.udiag_ino = (uint32_t)st.st_ino; /* as the kernel numbers sockets */
	if (send(netlink_fd, &request, sizeof(request), 0) != sizeof(request))
		return -1;
	/* The kernel has answered before send() returns. */
	n = recv(netlink_fd, ret, sizeof(*ret), MSG_DONTWAIT | MSG_TRUNC);
	if (n < (ssize_t)offsetof(struct answer, attributes) || n > (ssize_t)sizeof(*ret) ||
	    ret->head.nlmsg_type != SOCK_DIAG_BY_FAMILY || ret->socket.udiag_ino != (uint32_t)st.st_ino)
		return -1;
	*ret_len = (size_t)n - offsetof(struct answer, attributes);
	return 0;
}

/* The file to which a socket in this state is bound. */
static int find_file(int fd, unsigned int state, struct unix_diag_vfs *ret)
{
	struct answer answer;
	size_t len;

	if (ask(fd, &answer, &len) < 0 || answer.socket.udiag_type != SOCK_STREAM ||
	    answer.socket.udiag_state != state)
		return -1;
	for (size_t at = 0; at + sizeof(struct nlattr) <= len;) {
		struct nlattr attribute;

		memcpy(&attribute, answer.attributes + at, sizeof(attribute));
		if (attribute.nla_len < sizeof(attribute) || attribute.nla_len > len - at)
			return -1;
		if (attribute.nla_type == UNIX_DIAG_VFS && attribute.nla_len >= NLA_HDRLEN + sizeof(*ret)) {
			memcpy(ret, answer.attributes + at + NLA_HDRLEN, sizeof(*ret));
			return 0;
		}
		at += NLA_ALIGN(attribute.nla_len);
	}
	return -1;
}

static bool is_accepted(int listen_fd, int fd)
{
	struct unix_diag_vfs ours, its;

	return find_file(listen_fd, TCP_LISTEN, &ours) == 0 && find_file(fd, TCP_ESTABLISHED, &its) == 0 &&
	       ours.udiag_vfs_ino == its.udiag_vfs_ino && ours.udiag_vfs_dev == its.udiag_vfs_dev;
}

/* ---- who it is ---- */

/* The map of user ids of a process; heap; NULL: there is no such process. */
static char *read_map(const char *process)
{
	struct warder_error ignored;
	char path[64];
	char *text = NULL;
	size_t len = 0;

	snprintf(path, sizeof(path), "/proc/%s/uid_map", process);
	return file_read_most(path, MAP_MAX, &text, &len, &ignored) == 0 ? text : NULL;
}

static bool has_our_map(pid_t pid)
{
	char name[16];
	char *its, *ours = read_map("self");
	bool same;

	snprintf(name, sizeof(name), "%d", pid);
	its = read_map(name);
	same = its && ours && *ours && strcmp(its, ours) == 0;
	free(its);
	free(ours);
	return same;
}

/* Hold the process of a connection, so that its pid is not another one's meanwhile. *ret_fd -1: this kernel cannot do so. -1: it has ended. */
static int hold_process(int fd, int *ret_fd)
{
	socklen_t len = sizeof(*ret_fd);

	*ret_fd = -1;
	return getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, ret_fd, &len) < 0 && errno != ENOPROTOOPT ? -1 : 0;
}

static bool has_ended(int process_fd)
{
	struct pollfd end = { .fd = process_fd, .events = POLLIN };

	return process_fd >= 0 && poll(&end, 1, 0) != 0;
}

/* Both sides are closed. A client that only sends no more waits for its answer. */
static bool has_hung_up(int fd)
{
	struct pollfd end = { .fd = fd };

	return poll(&end, 1, 0) != 0;
}

uint32_t peer_overflow_uid(void)
{
	struct warder_error ignored;
	uint32_t uid = 65534;
	char *text = NULL;
	size_t len = 0;

	if (file_read_most("/proc/sys/kernel/overflowuid", 32, &text, &len, &ignored) == 0)
		uid = (uint32_t)strtoul(text, NULL, 10);
	free(text);
	return uid;
}

int peer_uid(int listen_fd, int fd, uint32_t *ret, struct warder_error *err)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	owned_fd int process_fd = -1;
	bool ours;

	if (!is_accepted(listen_fd, fd))
		return refuse(err, "the kernel does not show it as one of the host's socket, as it does for "
				   "a client in the host's network namespace");
	if (has_hung_up(fd))
		return refuse(err, "the client has hung up");
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.pid <= 0 ||
	    hold_process(fd, &process_fd) < 0)
		return refuse(err, "the process that connected has ended, or is in another pid namespace");
	ours = has_our_map(peer.pid);
	if (has_ended(process_fd))
		return refuse(err, "the process that connected has ended");
	if (!ours)
		return refuse(err, "the process that connected is in another user namespace");
	if (peer.uid == peer_overflow_uid())
		return refuse(err, "its uid stands for every uid that has no number here");
	*ret = peer.uid;
	return 0;
}
