/*
 * peer: who is at the other end of a session's socket. A user is not enough: what runs in a jail of his is of that user, too, and may be
 * shown the directory of the sockets. What tells them apart are the pid and the user namespace, of which a jail has its own.
 *
 * The kernel keeps who connected, or listens. By a descriptor of that process (Linux 6.5) nobody can take its number meanwhile; before,
 * there is only the number, and a process that ended after it connected could have a successor.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/namespaces.h"
#include "runtime/session/session.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* asm-generic/socket.h, since Linux 6.5 */
#endif

static int open_peer(int fd, pid_t pid)
{
	int pidfd = -1;
	socklen_t len = sizeof(pidfd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
		return pidfd;
	return errno == ENOPROTOOPT && pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

static bool shares(int pid, const char *kind)
{
	char path[48];
	uint64_t ours, theirs;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	if (namespace_number(AT_FDCWD, path, &ours) < 0)
		return errno == ENOENT; /* a kernel that has no such namespaces */
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kind);
	return namespace_number(AT_FDCWD, path, &theirs) == 0 && ours == theirs;
}

bool session_peer_has_ended(int pidfd)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	return poll(&end, 1, 0) != 0;
}

enum session_peer session_peer_hold(int fd, int *ret_pidfd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	owned_fd int pidfd = -1;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid())
		return SESSION_PEER_OTHER_USER;
	pidfd = open_peer(fd, peer.pid);
	if (pidfd < 0)
		return errno == ESRCH || errno == EINVAL ? SESSION_PEER_GONE : SESSION_PEER_ELSEWHERE;
	/* A process that has not ended has its number, so that these were its namespaces. */
	if (peer.pid <= 0 || !shares(peer.pid, "pid") || !shares(peer.pid, "user"))
		return session_peer_has_ended(pidfd) ? SESSION_PEER_GONE : SESSION_PEER_ELSEWHERE;
	if (session_peer_has_ended(pidfd))
		return SESSION_PEER_GONE;
	*ret_pidfd = fd_take(&pidfd);
	return SESSION_PEER_OWNER;
}

enum session_peer session_peer(int fd)
{
	owned_fd int pidfd = -1;

	return session_peer_hold(fd, &pidfd);
}
