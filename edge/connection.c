/*
 * Bytes are copied through one buffer: what the other side does not take at once is kept, and nothing more is read until it is gone. So a
 * connection holds two descriptors, and memory only while somebody is slow.
 *
 * A descriptor for which nothing is awaited is taken out of the epoll instance: the kernel reports errors and hang-ups even if they were not asked
 * for, again and again.
 */
#include "edge/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "edge/gate.h"
#include "edge/relay.h"
#include "edge/report.h"

#define COPY_BYTES         (128 << 10)
#define CONNECT_TIMEOUT_MS 10000
#define DECIDE_TIMEOUT_MS  10000 /* EDGE_REASON_UNDECIDED says so */
#define DELIVERY_LOOK_MS   20

/* One direction. */
struct flow {
	uint8_t *kept; /* heap: bytes that the receiver has not taken */
	size_t at, len;
	bool ended; /* the sender has no more */
	bool shut;  /* and the receiver was told so */
};

enum state {
	STATE_RESOLVING,
	STATE_CONNECTING,
	STATE_OPEN,
	STATE_DEAD,
};

struct connection {
	struct connection *next, *before;
	struct source client, server;
	uint32_t client_watched, server_watched; /* events, 0: not in the epoll instance */
	enum state state;
	bool answering;   /* the resolver will call */
	bool counted;     /* as a use of its destination, or refused */
	bool inward;      /* to a published port: the client is outside of the jail */
	const char *name; /* of the table; NULL: a connection by its address */
	char destination[256];
	uint16_t port;
	struct gate gate;
	struct relay *relay; /* heap: of a host with a credential; all else passes as it is */
	uint8_t *held;       /* heap: bytes of the client that wait for a decision */
	size_t held_len;
	struct flow up, down; /* from the client; to it */
	struct resolved addresses[RESOLVED_MAX];
	size_t address_count, address_at;
	uint64_t
	    deadline_ms; /* of an attempt to connect, or of first bytes that are not complete; 0: there is none */
	bool hung;       /* the client will take and send no more */
};

/* Of one call, which sends or keeps all of it: the process has one thread. */
static uint8_t buffer[COPY_BYTES];

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void set_deadline(struct edge *edge, struct connection *c, uint64_t after_ms)
{
	c->deadline_ms = now_ms() + after_ms;
	if (!edge->nearest_ms || c->deadline_ms < edge->nearest_ms)
		edge->nearest_ms = c->deadline_ms;
}

static void watch_one(struct edge *edge, struct source *source, uint32_t *watched, uint32_t wanted)
{
	struct epoll_event event = { .events = wanted, .data.ptr = source };

	if (source->fd < 0 || *watched == wanted)
		return;
	epoll_ctl(edge->epoll_fd,
		  !wanted    ? EPOLL_CTL_DEL
		  : *watched ? EPOLL_CTL_MOD
			     : EPOLL_CTL_ADD,
		  source->fd, &event);
	*watched = wanted;
}

static bool is_full(const struct flow *flow)
{
	return flow->len > 0;
}

static void watch(struct edge *edge, struct connection *c)
{
	/* A client that resets gives up its place, even while nothing is read from it. */
	uint32_t client = c->hung ? 0 : EPOLLERR;
	uint32_t server = 0;

	if (c->state == STATE_DEAD)
		return;
	/* Until there is a server, the client's bytes wait in its socket. */
	if (c->state == STATE_OPEN && !c->up.ended && !is_full(&c->up) && c->held_len < GATE_HELD_MAX &&
	    !gate_waits(&c->gate) && (!c->relay || relay_wants(c->relay, RELAY_PROGRAM)))
		client |= EPOLLIN;
	if (is_full(&c->down))
		client |= EPOLLOUT;
	if (c->state == STATE_CONNECTING)
		server |= EPOLLOUT;
	if (c->state == STATE_OPEN && is_full(&c->up))
		server |= EPOLLOUT;
	if (c->state == STATE_OPEN && !c->down.ended && !is_full(&c->down) &&
	    (!c->relay || relay_wants(c->relay, RELAY_HOST)))
		server |= EPOLLIN;
	watch_one(edge, &c->client, &c->client_watched, client);
	watch_one(edge, &c->server, &c->server_watched, server);
}

static void close_one(struct source *source, bool reset)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	if (source->fd < 0)
		return;
	if (reset)
		setsockopt(source->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(source->fd);
	source->fd = -1;
}

/* ---- sockets of the jail's namespace ---- */

static void watch_published(struct edge *edge, bool on)
{
	for (size_t i = 0; i < edge->config->published_count; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = &edge->published[i] };

		epoll_ctl(edge->epoll_fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, edge->published[i].fd, &event);
	}
	edge->published_paused = !on;
}

/* As if it were new: a connection that is not over is reset, and the error that this leaves is taken. */
static void recycle(struct edge *edge, int fd)
{
	const struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	socklen_t len = sizeof(int);
	int error;

	connect(fd, &nowhere, sizeof(nowhere));
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	edge->inward[edge->inward_count++] = fd;
	if (edge->published_paused)
		watch_published(edge, true);
}

static void give_back(struct edge *edge, struct connection *c, bool reset)
{
	if (c->server.fd < 0)
		return;
	watch_one(edge, &c->server, &c->server_watched, 0);
	if (reset)
		recycle(edge, c->server.fd);
	else
		edge->delivering[edge->delivering_count++] = c->server.fd;
	c->server.fd = -1;
}

/* Returns how many are not done. */
static size_t recycle_delivered(struct edge *edge)
{
	size_t left = 0;

	for (size_t i = 0; i < edge->delivering_count; i++) {
		const int fd = edge->delivering[i];
		int unsent = 0;

		if (ioctl(fd, SIOCOUTQ, &unsent) == 0 && unsent > 0)
			edge->delivering[left++] = fd;
		else
			recycle(edge, fd);
	}
	edge->delivering_count = left;
	return left;
}

/* A destination that has passed bytes, or to which a connection has ended in order: not one that the first bytes refuse. */
static void count_use(struct edge *edge, struct connection *c)
{
	const struct resolved *to;
	char text[INET6_ADDRSTRLEN];

	c->counted = true;
	if (c->inward)
		return;
	report_used(edge->report, c->destination, c->port, !c->name);
	to = &c->addresses[c->address_at - 1];
	if (!c->name || !rules_need_block(&edge->rules, to->address, to->is_v6))
		return;
	inet_ntop(to->is_v6 ? AF_INET6 : AF_INET, to->address, text, sizeof(text));
	report_used(edge->report, text, c->port, true);
}

static void finish(struct edge *edge, struct connection *c, bool reset)
{
	if (c->state == STATE_DEAD)
		return;
	if (!c->counted && c->state == STATE_OPEN)
		count_use(edge, c);
	c->state = STATE_DEAD;
	close_one(&c->client, reset);
	if (c->inward)
		give_back(edge, c, reset);
	else
		close_one(&c->server, reset);
	free(c->up.kept);
	free(c->down.kept);
	free(c->held);
	relay_free(c->relay);
	c->relay = NULL;
	if (c->before)
		c->before->next = c->next;
	else
		edge->connections = c->next;
	if (c->next)
		c->next->before = c->before;
	c->before = NULL;
	c->next = edge->dead;
	edge->dead = c;
	/* A question that is under way counts: else a program could ask without end, by connections that it resets. */
	if (!c->answering)
		edge->open_count--;
}

static void refuse(struct edge *edge, struct connection *c, enum edge_reason reason, const char *detail)
{
	c->counted = true; /* what is refused before any byte has passed is not used */
	report_refused(edge->report, c->destination, c->port, IPPROTO_TCP, reason, detail);
	finish(edge, c, true);
}

void connections_sweep(struct edge *edge)
{
	struct connection **at = &edge->dead;

	while (*at) {
		struct connection *c = *at;

		if (c->answering) { /* its memory is the resolver's until it has called */
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
}

/* ---- bytes ---- */

/* What could not be sent. False: no memory. */
static bool keep(struct flow *flow, const uint8_t *bytes, size_t len)
{
	flow->kept = malloc(len);
	if (!flow->kept)
		return false;
	memcpy(flow->kept, bytes, len);
	flow->at = 0;
	flow->len = len;
	return true;
}

/* Send what there is, and keep the rest. Nothing is kept yet. False: the connection is over. */
static bool send_bytes(struct edge *edge, struct connection *c, struct flow *flow, int fd,
		       const uint8_t *bytes, size_t len)
{
	ssize_t n = 0;

	edge->bytes += len;
	if (edge->bytes > edge->config->max_bytes) {
		refuse(edge, c, EDGE_REASON_BYTES, NULL);
		return false;
	}
	if (!c->counted)
		count_use(edge, c);
	atomic_fetch_add(flow == &c->up ? &edge->report->bytes_up : &edge->report->bytes_down, len);
	if (fd >= 0) {
		n = send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			finish(edge, c, true);
			return false;
		}
		if (n < 0)
			n = 0;
	}
	if ((size_t)n < len && !keep(flow, bytes + n, len - (size_t)n)) {
		refuse(edge, c, EDGE_REASON_EXHAUSTED, NULL);
		return false;
	}
	return true;
}

/* What was kept. False: the connection is over. */
static bool flush(struct edge *edge, struct connection *c, struct flow *flow, int fd)
{
	while (flow->len) {
		const ssize_t n = send(fd, flow->kept + flow->at, flow->len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n < 0) {
			finish(edge, c, true);
			return false;
		}
		flow->at += (size_t)n;
		flow->len -= (size_t)n;
	}
	free(flow->kept);
	flow->kept = NULL;
	return true;
}

/* Pass on an end. False: both are over, and so is the connection. */
static bool pass_end(struct edge *edge, struct connection *c, struct flow *flow, int fd)
{
	if (c->relay)
		return true; /* pump() ends it */
	if (flow->ended && !flow->shut && !is_full(flow) && fd >= 0 && c->state == STATE_OPEN) {
		/* If it is the last end, the close says it; a socket of the jail's namespace is not closed. */
		if (c->inward || !(flow == &c->up ? &c->down : &c->up)->shut)
			shutdown(fd, SHUT_WR);
		flow->shut = true;
	}
	if (c->up.shut && c->down.shut) {
		finish(edge, c, false);
		return false;
	}
	return true;
}

/* What the relay has for each side, which takes all that it had before. False: the connection is over. */
static bool pump(struct edge *edge, struct connection *c)
{
	char detail[128] = "";
	enum edge_reason why;
	bool moved;

	do {
		const bool refused = relay_step(c->relay, &why, detail) < 0;
		size_t n = 0;

		moved = false;
		/* An alert says why. */
		if (!is_full(&c->down) && (n = relay_take(c->relay, RELAY_PROGRAM, buffer, sizeof(buffer)))) {
			moved = true;
			if (!send_bytes(edge, c, &c->down, c->client.fd, buffer, n))
				return false;
		}
		if (!refused && !is_full(&c->up) &&
		    (n = relay_take(c->relay, RELAY_HOST, buffer, sizeof(buffer)))) {
			moved = true;
			if (!send_bytes(edge, c, &c->up, c->server.fd, buffer, n))
				return false;
		}
		if (refused) {
			refuse(edge, c, why, detail);
			return false;
		}
	} while (moved);
	if (relay_is_over(c->relay) && !is_full(&c->up) && !is_full(&c->down)) {
		finish(edge, c, false);
		return false;
	}
	return true;
}

/* Bytes of a side of the relay; none: it has ended. */
static bool put(struct edge *edge, struct connection *c, enum relay_side side, const uint8_t *bytes,
		size_t len)
{
	if (relay_put(c->relay, side, bytes, len))
		return true;
	refuse(edge, c, EDGE_REASON_EXHAUSTED, NULL);
	return false;
}

/* Bytes of the client, through the gate. Returns how many have passed; -1: the connection is over. */
static ssize_t pass_bytes(struct edge *edge, struct connection *c, const uint8_t *bytes, size_t len)
{
	char other[128] = "";
	enum edge_reason why = EDGE_REASON_FIRST_BYTES;
	size_t pass = 0;

	if (gate_check(&c->gate, c->name, c->port, bytes, len, &pass, &why, other) < 0) {
		refuse(edge, c, why, other);
		return -1;
	}
	if (c->relay && c->gate.state == GATE_HTTP) {
		refuse(edge, c, EDGE_REASON_PLAIN, NULL);
		return -1;
	}
	if (pass && !(c->relay ? put(edge, c, RELAY_PROGRAM, bytes, pass)
			       : send_bytes(edge, c, &c->up, c->server.fd, bytes, pass)))
		return -1;
	return (ssize_t)pass;
}

/* What is held of the client. False: the connection is over. */
static bool pass_held(struct edge *edge, struct connection *c)
{
	ssize_t passed;

	if (is_full(&c->up) || !c->held_len)
		return true;
	passed = pass_bytes(edge, c, c->held, c->held_len);
	if (passed < 0)
		return false;
	memmove(c->held, c->held + passed, c->held_len - (size_t)passed);
	c->held_len -= (size_t)passed;
	if (!c->held_len) {
		free(c->held);
		c->held = NULL;
	}
	return true;
}

/* Bytes that have come while none was held: hardly ever does the gate leave some. */
static bool pass_or_hold(struct edge *edge, struct connection *c, const uint8_t *bytes, size_t len)
{
	const ssize_t passed = pass_bytes(edge, c, bytes, len);

	if (passed < 0)
		return false;
	len -= (size_t)passed;
	if (!len)
		return true;
	c->held = malloc(GATE_HELD_MAX);
	if (!c->held) {
		refuse(edge, c, EDGE_REASON_EXHAUSTED, NULL);
		return false;
	}
	memcpy(c->held, bytes + passed, len);
	c->held_len = len;
	return true;
}

static bool read_client(struct edge *edge, struct connection *c)
{
	const bool gated = c->name && c->gate.state != GATE_OPEN;
	const ssize_t n =
	    c->held ? recv(c->client.fd, c->held + c->held_len, GATE_HELD_MAX - c->held_len, MSG_DONTWAIT)
		    : recv(c->client.fd, buffer, gated ? GATE_HELD_MAX : COPY_BYTES, MSG_DONTWAIT);

	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return true;
		finish(edge, c, true);
		return false;
	}
	if (n == 0) {
		c->up.ended = true;
		/* What no decision was made about does not pass any more. */
		if (c->held_len && (c->gate.state == GATE_FIRST || c->gate.state == GATE_RETRY)) {
			refuse(edge, c, EDGE_REASON_FIRST_BYTES, NULL);
			return false;
		}
		return !c->relay || put(edge, c, RELAY_PROGRAM, buffer, 0);
	}
	if (c->held) {
		c->held_len += (size_t)n;
		return pass_held(edge, c);
	}
	if (gated)
		return pass_or_hold(edge, c, buffer, (size_t)n);
	if (c->relay)
		return put(edge, c, RELAY_PROGRAM, buffer, (size_t)n);
	return send_bytes(edge, c, &c->up, c->server.fd, buffer, (size_t)n);
}

static bool read_server(struct edge *edge, struct connection *c)
{
	const ssize_t n = recv(c->server.fd, buffer, COPY_BYTES, MSG_DONTWAIT);

	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return true;
		finish(edge, c, true);
		return false;
	}
	if (n == 0)
		c->down.ended = true;
	if (c->relay)
		return put(edge, c, RELAY_HOST, buffer, (size_t)n);
	if (gate_waits(&c->gate)) {
		gate_answered(&c->gate, buffer, (size_t)n);
		if (!pass_held(edge, c))
			return false;
	}
	return n == 0 || send_bytes(edge, c, &c->down, c->client.fd, buffer, (size_t)n);
}

/* ---- connecting ---- */

static int dial(const struct resolved *to, uint16_t port)
{
	const int on = 1;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = { 0 };
	const socklen_t len = to->is_v6 ? sizeof(address.v6) : sizeof(address.v4);
	const int fd =
	    socket(to->is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);

	if (fd < 0)
		return -1;
	if (to->is_v6) {
		address.v6.sin6_family = AF_INET6;
		address.v6.sin6_port = htons(port);
		memcpy(&address.v6.sin6_addr, to->address, 16);
	} else {
		address.v4.sin_family = AF_INET;
		address.v4.sin_port = htons(port);
		memcpy(&address.v4.sin_addr, to->address, 4);
	}
	if (connect(fd, &address.any, len) < 0 && errno != EINPROGRESS) {
		const int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* while the packets are on their way */
	return fd;
}

/* After bytes have moved. */
static void settle(struct edge *edge, struct connection *c)
{
	if (c->state == STATE_DEAD || (c->relay && !pump(edge, c)))
		return;
	if (c->state == STATE_OPEN && (!c->held_len || !gate_is_undecided(&c->gate)))
		c->deadline_ms = 0;
	else if (!c->deadline_ms)
		set_deadline(edge, c, DECIDE_TIMEOUT_MS);
	if (pass_end(edge, c, &c->up, c->server.fd) && pass_end(edge, c, &c->down, c->client.fd))
		watch(edge, c);
}

/* By now the client has sent its first bytes, mostly. False: the connection is over. */
static bool begin_passing(struct edge *edge, struct connection *c)
{
	c->state = STATE_OPEN;
	c->deadline_ms = 0;
	atomic_fetch_add(&edge->report->connections, 1);
	return read_client(edge, c);
}

/* A server on this machine or beside it has answered before connect(2) returns. */
static bool is_connected(int fd)
{
	struct sockaddr_in6 name;
	socklen_t len = sizeof(name);

	return getpeername(fd, (struct sockaddr *)(void *)&name, &len) == 0;
}

/* The next address that may be reached. */
static void try_next(struct edge *edge, struct connection *c)
{
	int error = 0;

	/* Nobody listens there, or not yet: no rule refuses it. */
	if (c->inward) {
		finish(edge, c, true);
		return;
	}
	close_one(&c->server, false);
	c->server_watched = 0;
	for (; c->address_at < c->address_count; c->address_at++) {
		c->server.fd = dial(&c->addresses[c->address_at], c->port);
		if (c->server.fd >= 0) {
			c->address_at++;
			if (is_connected(c->server.fd)) {
				if (begin_passing(edge, c))
					settle(edge, c);
				return;
			}
			c->state = STATE_CONNECTING;
			set_deadline(edge, c, CONNECT_TIMEOUT_MS);
			watch(edge, c);
			return;
		}
		error = errno;
	}
	refuse(edge, c,
	       error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM
		   ? EDGE_REASON_EXHAUSTED
		   : EDGE_REASON_UNREACHABLE,
	       NULL);
}

static void on_resolved(void *context, const struct resolved *addresses, size_t count);

/* Then the resolver has not asked anybody. */
static bool lacks_descriptors(void)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return true;
	close(fd);
	return false;
}

/* The resolver's context: its answer may come when the connection is dead. */
struct question {
	struct edge *edge;
	struct connection *c;
};

static void on_resolved(void *context, const struct resolved *addresses, size_t count)
{
	struct question *question = context;
	struct edge *edge = question->edge;
	struct connection *c = question->c;

	free(question);
	c->answering = false;
	if (c->state == STATE_DEAD) {
		edge->open_count--;
		return;
	}
	if (!count) {
		refuse(edge, c, lacks_descriptors() ? EDGE_REASON_EXHAUSTED : EDGE_REASON_UNRESOLVED, NULL);
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (rules_lead_to(&edge->rules, addresses[i].address, addresses[i].is_v6, c->port))
			c->addresses[c->address_count++] = addresses[i];
	if (!c->address_count) {
		char text[INET6_ADDRSTRLEN];

		inet_ntop(addresses[0].is_v6 ? AF_INET6 : AF_INET, addresses[0].address, text, sizeof(text));
		refuse(edge, c, EDGE_REASON_PRIVATE, text);
		return;
	}
	try_next(edge, c);
}

static void resolve(struct edge *edge, struct connection *c)
{
	struct question *question = malloc(sizeof(*question));

	if (!question) {
		refuse(edge, c, EDGE_REASON_EXHAUSTED, NULL);
		return;
	}
	*question = (struct question){ edge, c };
	c->answering = true;
	resolve_start(edge->resolver, c->name, on_resolved, question);
}

/* False: there is no connection yet, or no more. */
static bool connected(struct edge *edge, struct connection *c)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(c->server.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error) {
		try_next(edge, c);
		return false;
	}
	return begin_passing(edge, c);
}

static void end_late_ones(struct edge *edge, uint64_t now)
{
	struct connection *next;

	edge->nearest_ms = 0;
	for (struct connection *c = edge->connections; c; c = next) {
		next = c->next;
		if (c->deadline_ms && c->deadline_ms <= now) {
			if (c->state == STATE_CONNECTING)
				try_next(edge, c);
			else
				refuse(edge, c, EDGE_REASON_UNDECIDED, NULL);
		} else if (c->deadline_ms && (!edge->nearest_ms || c->deadline_ms < edge->nearest_ms)) {
			edge->nearest_ms = c->deadline_ms;
		}
	}
}

int connections_tick(struct edge *edge)
{
	int timeout = recycle_delivered(edge) ? DELIVERY_LOOK_MS : -1;
	uint64_t now;

	now = now_ms();
	if (edge->nearest_ms && edge->nearest_ms <= now)
		end_late_ones(edge, now);
	if (edge->nearest_ms && (timeout < 0 || edge->nearest_ms - now < (uint64_t)timeout))
		timeout = (int)(edge->nearest_ms - now);
	return timeout;
}

/* ---- accepting ---- */

/* For a host with a credential. Returns false with a refusal counted. */
static bool begin_relay(struct edge *edge, struct connection *c)
{
	const struct edge_inject *rule = c->name ? inject_of(edge->config, c->name, c->port) : NULL;

	if (!rule)
		return true;
	c->relay = relay_new(rule, &edge->secrets[rule - edge->config->injects], c->name, c->port);
	if (!c->relay)
		refuse(edge, c, EDGE_REASON_EXHAUSTED, NULL);
	c->gate.ends_tls = true;
	return c->relay != NULL;
}

/* A connection by its address, which is the program's own loopback or one of the rules'. */
static bool admit_address(struct edge *edge, struct connection *c, const void *address, bool is_v6)
{
	static const struct in6_addr loopback = IN6ADDR_LOOPBACK_INIT;
	struct resolved *to = &c->addresses[0];
	bool own;

	to->is_v6 = is_v6;
	memcpy(to->address, address, is_v6 ? 16 : 4);
	own = is_v6 ? memcmp(address, &loopback, sizeof(loopback)) == 0 : to->address[0] == 127;
	c->address_count = 1;
	c->gate.state = GATE_OPEN;
	inet_ntop(is_v6 ? AF_INET6 : AF_INET, address, c->destination, sizeof(c->destination));
	if (!own && rules_allow_address(&edge->rules, to->address, is_v6, c->port))
		return true;
	refuse(edge, c,
	       own                                                             ? EDGE_REASON_OWN
	       : rules_deny_address(&edge->rules, to->address, is_v6, c->port) ? EDGE_REASON_DENIED
									       : EDGE_REASON_ADDRESS,
	       NULL);
	return false;
}

/* By an address of the block of names, in the host's byte order. */
static bool admit_name(struct edge *edge, struct connection *c, uint32_t address)
{
	const uint32_t wire = htonl(address);
	enum edge_reason why = EDGE_REASON_ADDRESS;

	c->name = rules_of(&edge->rules, address);
	if (c->name)
		snprintf(c->destination, sizeof(c->destination), "%s", c->name);
	else
		inet_ntop(AF_INET, &wire, c->destination, sizeof(c->destination));
	if (c->name && rules_allow_port(&edge->rules, c->name, c->port, &why))
		return true;
	refuse(edge, c, why, NULL);
	return false;
}

/* Where the client wanted to go: the address that it connected to. Returns false with a refusal counted. */
static bool admit(struct edge *edge, struct connection *c, const struct edge_listener *listener)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} to = { 0 };
	socklen_t len = sizeof(to);
	uint32_t address = listener->address;
	uint32_t wire;

	if (!address) {
		getsockname(c->client.fd, &to.any, &len);
		if (to.any.sa_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&to.v6.sin6_addr))
			return admit_address(edge, c, &to.v6.sin6_addr, true);
		wire = to.v4.sin_addr.s_addr;
		if (to.any.sa_family == AF_INET6)
			memcpy(&wire, &to.v6.sin6_addr.s6_addr[12], sizeof(wire));
		address = ntohl(wire);
	}
	wire = htonl(address);
	return ((address & EDGE_BLOCK_MASK) == EDGE_BLOCK ? admit_name(edge, c, address)
							  : admit_address(edge, c, &wire, false)) &&
	       begin_relay(edge, c);
}

/* NULL: no memory, which is counted. */
static struct connection *begin(struct edge *edge, int fd)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (!c) {
		report_refused(edge->report, "-", 0, IPPROTO_TCP, EDGE_REASON_EXHAUSTED, NULL);
		close(fd);
		return NULL;
	}
	c->client = (struct source){ SOURCE_CLIENT, fd, c };
	c->server = (struct source){ SOURCE_SERVER, -1, c };
	c->next = edge->connections;
	if (c->next)
		c->next->before = c;
	edge->connections = c;
	edge->open_count++;
	return c;
}

static bool is_within_limits(struct edge *edge, struct connection *c)
{
	if (edge->open_count > edge->config->max_connections) {
		refuse(edge, c, EDGE_REASON_CONNECTIONS, NULL);
		return false;
	}
	if (edge->bytes >= edge->config->max_bytes) {
		refuse(edge, c, EDGE_REASON_BYTES, NULL);
		return false;
	}
	return true;
}

static void take(struct edge *edge, int fd, const struct edge_listener *listener)
{
	struct connection *c = begin(edge, fd);

	if (!c)
		return;
	c->port = listener->port;
	if (!admit(edge, c, listener) || !is_within_limits(edge, c))
		return;
	if (c->name)
		resolve(edge, c);
	else
		try_next(edge, c);
	watch(edge, c);
}

/* With the spare descriptor a connection can be taken after all. False: there is none to take, or no descriptor either. */
static bool reset_waiting(struct edge *edge, int listener_fd)
{
	struct source waiting = { .kind = SOURCE_CLIENT };
	bool taken;

	close(edge->spare_fd);
	waiting.fd = accept4(listener_fd, NULL, NULL, SOCK_CLOEXEC);
	taken = waiting.fd >= 0;
	close_one(&waiting, true);
	edge->spare_fd = fcntl(edge->epoll_fd, F_DUPFD_CLOEXEC, 0);
	return taken;
}

int accept_one(struct edge *edge, int listener_fd)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	const int fd = accept4(listener_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
		report_refused(edge->report, "-", 0, IPPROTO_TCP, EDGE_REASON_EXHAUSTED, NULL);
		if (!reset_waiting(edge, listener_fd))
			nanosleep(&pause, NULL);
	}
	return fd;
}

void connections_accept(struct edge *edge, int listener_fd, const struct edge_listener *listener)
{
	const int fd = accept_one(edge, listener_fd);

	if (fd >= 0)
		take(edge, fd, listener);
}

/* Also the address: a block may allow it no more, or a rule deny it. */
static bool is_allowed(const struct edge *edge, const struct connection *c)
{
	const struct resolved *to = c->address_at ? &c->addresses[c->address_at - 1] : NULL;
	enum edge_reason ignored;

	if (c->inward)
		return true;
	if (!c->name)
		return to && rules_allow_address(&edge->rules, to->address, to->is_v6, c->port);
	return rules_allow_port(&edge->rules, c->name, c->port, &ignored) &&
	       (!to || rules_lead_to(&edge->rules, to->address, to->is_v6, c->port));
}

void connections_withdraw(struct edge *edge)
{
	struct connection *next;

	for (struct connection *c = edge->connections; c; c = next) {
		next = c->next;
		if (!is_allowed(edge, c))
			refuse(edge, c, EDGE_REASON_WITHDRAWN, NULL);
	}
}

static void take_inward(struct edge *edge, int fd, uint16_t port)
{
	const int on = 1;
	struct connection *c = begin(edge, fd);
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	if (!c)
		return;
	c->inward = true;
	c->gate.state = GATE_OPEN;
	c->port = port;
	snprintf(c->destination, sizeof(c->destination), "127.0.0.1");
	if (!is_within_limits(edge, c))
		return;
	c->server.fd = edge->inward[--edge->inward_count];
	c->state = STATE_CONNECTING;
	set_deadline(edge, c, CONNECT_TIMEOUT_MS);
	setsockopt(c->server.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(c->server.fd, (const struct sockaddr *)(const void *)&to, sizeof(to)) < 0 &&
	    errno != EINPROGRESS)
		finish(edge, c, true);
	watch(edge, c);
}

void connections_accept_published(struct edge *edge, const struct source *source)
{
	const uint16_t port = edge->config->published[source - edge->published];

	for (int i = 0; i < 64; i++) {
		int fd;

		if (!edge->inward_count)
			recycle_delivered(edge);
		if (!edge->inward_count) {
			watch_published(edge, false);
			return;
		}
		fd = accept_one(edge, source->fd);
		if (fd < 0)
			return;
		take_inward(edge, fd, port);
	}
}

void connections_event(struct edge *edge, const struct source *source, uint32_t events)
{
	struct connection *c = source->owner;

	if (c->state == STATE_DEAD)
		return;
	if (source->kind == SOURCE_SERVER && c->state == STATE_CONNECTING) {
		if (!connected(edge, c))
			return;
	} else if (source->kind == SOURCE_SERVER) {
		if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP) && is_full(&c->up) &&
		    (!flush(edge, c, &c->up, c->server.fd) || !pass_held(edge, c)))
			return;
		if (events & (EPOLLIN | EPOLLERR | EPOLLHUP) && !is_full(&c->down) && !c->down.ended &&
		    !read_server(edge, c))
			return;
	} else {
		if (!(c->client_watched & EPOLLIN) && events & EPOLLERR) {
			finish(edge, c, true);
			return;
		}
		c->hung |= (events & (EPOLLHUP | EPOLLERR)) == EPOLLHUP;
		if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP) && is_full(&c->down) &&
		    !flush(edge, c, &c->down, c->client.fd))
			return;
		if (events & (EPOLLIN | EPOLLERR | EPOLLHUP) && !is_full(&c->up) && !c->up.ended &&
		    !read_client(edge, c))
			return;
	}
	settle(edge, c);
}
