/*
 * A connection to a server that listens in the sandbox. The agent is in the network namespace of the sandbox, so that no route has to lead
 * there: a loopback interface suffices. Each direction has a buffer, and is not read while the buffer is full.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/agent/agent.h"

#define LANE_BYTES (16u * 1024)
/* Of each buffer of a connection, in the kernel, which doubles the number: that of a caller, and that of a server. */
#define CALLER_BYTES (16 * 1024)
#define SERVER_BYTES (32 * 1024)

/* One direction. */
struct lane {
	char bytes[LANE_BYTES];
	size_t at, len;
	bool ended; /* the sender sends no more */
	bool shut;  /* and the receiver knows it */
};

struct port {
	int fd;
	bool connected, is_v6;
	struct lane up, down; /* to the server, from it */
};

static size_t port_count;

static void limit_buffers(int fd, int bytes)
{
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

void port_limit_buffers(int fd)
{
	limit_buffers(fd, CALLER_BYTES);
}

/* Begin to connect. False with errno. The last descriptor is left: without one, the agent cannot take a further caller, and say why not. */
static bool dial(struct caller *caller)
{
	struct port *port = caller->port;
	const uint16_t number = htons((uint16_t)caller->request.depth);
	const struct sockaddr_in v4 = { .sin_family = AF_INET,
					.sin_port = number,
					.sin_addr = { htonl(INADDR_LOOPBACK) } };
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
					 .sin6_port = number,
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const void *address = port->is_v6 ? (const void *)&v6 : (const void *)&v4;
	int spare_fd;

	fd_done(&port->fd);
	port->fd = socket(port->is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (port->fd < 0)
		return false;
	spare_fd = fcntl(port->fd, F_DUPFD_CLOEXEC, 0);
	if (spare_fd < 0)
		return false;
	close(spare_fd);
	/* The window that TCP offers depends on it, from the first packet on. */
	limit_buffers(port->fd, SERVER_BYTES);
	return connect(port->fd, address, port->is_v6 ? sizeof(v6) : sizeof(v4)) == 0 || errno == EINPROGRESS;
}

void port_done(struct caller *caller)
{
	if (!caller->port)
		return;
	fd_done(&caller->port->fd);
	free(caller->port);
	caller->port = NULL;
	port_count--;
}

static void fail(struct caller *caller, int error)
{
	port_done(caller);
	say_failed(caller, error == EMFILE || error == ENFILE ? AGENT_TOO_MANY : AGENT_NO_SERVER, "");
}

/* A server that listens at localhost may have chosen IPv6. */
static void try_other(struct caller *caller)
{
	caller->port->is_v6 = true;
	if (!dial(caller))
		fail(caller, errno);
}

void port_begin(struct caller *caller)
{
	if (!caller->request.depth || caller->request.depth > 65535) {
		say_failed(caller, AGENT_OTHER, "a port is a number from 1 to 65535");
		return;
	}
	caller->port = port_count < AGENT_PORTS_MAX ? calloc(1, sizeof(*caller->port)) : NULL;
	if (!caller->port) {
		say_failed(caller, AGENT_TOO_MANY, "");
		return;
	}
	port_count++;
	caller->port->fd = -1;
	if (!dial(caller))
		try_other(caller);
}

/* ---- bytes ---- */

static bool has_room(const struct lane *lane)
{
	return !lane->len && !lane->ended;
}

void port_wait(const struct caller *caller, struct pollfd *ret_caller, struct pollfd *ret_server)
{
	const struct port *port = caller->port;
	const bool begun = port->connected && caller->out_len == caller->out_at;
	const bool said = caller->out_len > caller->out_at;

	ret_caller->events =
	    (short)((begun && has_room(&port->up) ? POLLIN : 0) | (port->down.len || said ? POLLOUT : 0));
	ret_server->events = (short)((begun && has_room(&port->down) ? POLLIN : 0) |
				     (port->up.len || !port->connected ? POLLOUT : 0));
	/* The end of a connection is reported also to those who wait for nothing. */
	ret_server->fd = ret_server->events ? port->fd : -1;
}

/* False: the connection broke. */
static bool fill(struct lane *lane, int fd)
{
	ssize_t n;

	if (!has_room(lane))
		return true;
	n = recv(fd, lane->bytes, sizeof(lane->bytes), MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	lane->at = 0;
	lane->len = (size_t)n;
	lane->ended = n == 0;
	return true;
}

static bool drain(struct lane *lane, int fd)
{
	while (lane->len) {
		const ssize_t n = send(fd, lane->bytes + lane->at, lane->len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		lane->at += (size_t)n;
		lane->len -= (size_t)n;
	}
	if (lane->ended && !lane->shut)
		shutdown(fd, SHUT_WR);
	lane->shut = lane->ended;
	return true;
}

static bool pass(struct lane *lane, int from, int to)
{
	return fill(lane, from) && drain(lane, to);
}

/* The connection is there, or failed. */
static void look(struct caller *caller)
{
	struct port *port = caller->port;
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(port->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (!error) {
		port->connected = true;
		say(caller, AGENT_BEGUN, NULL, 0, NULL, 0);
	} else if (!port->is_v6) {
		try_other(caller);
	} else {
		fail(caller, error);
	}
}

/* The record that comes before the bytes. False: the caller is gone. */
static bool tell(struct caller *caller)
{
	while (caller->out_at < caller->out_len) {
		const ssize_t n = send(caller->fd, caller->out + caller->out_at,
				       caller->out_len - caller->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		caller->out_at += (size_t)n;
	}
	return true;
}

bool port_serve(struct caller *caller, short events, short server_events)
{
	struct port *port = caller->port;

	if (events & (POLLHUP | POLLERR))
		return false;
	if (!port->connected) {
		if (server_events)
			look(caller);
		port = caller->port;
	}
	if (!tell(caller))
		return false;
	if (!port) /* it failed, and is over when the caller knows it */
		return caller->out_at < caller->out_len;
	if (!port->connected || caller->out_at < caller->out_len)
		return true;
	/* A server that does not read what it gets may still answer. */
	if (!pass(&port->up, caller->fd, port->fd)) {
		port->up.len = 0;
		port->up.ended = port->up.shut = true;
	}
	if (!pass(&port->down, port->fd, caller->fd))
		return false;
	return !(port->up.shut && port->down.shut);
}
