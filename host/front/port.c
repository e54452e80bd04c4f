/*
 * port: a request to a server that listens in a sandbox, and the server's answer.
 *
 * The agent of the sandbox connects to the server, in the sandbox's own network namespace, and passes bytes on (host/agent.h, AGENT_PORT). The
 * front writes each request anew, for a connection of its own, and reads the answer as the word of a stranger. A WebSocket is passed on as bytes.
 * No direction is read while the other end of it does not take what was read.
 */
#include "host/front/port.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "host/front/envd.h"

#define READ_BYTES 16384
#define TICK_MS    10000
#define ANSWER_US  UINT64_C(300000000)  /* in which nothing moves, before the answer begins */
#define SILENT_US  UINT64_C(3600000000) /* and afterwards */
#define FIRST_MAX  (sizeof(struct agent_head) + sizeof(struct agent_failed))

enum port_state {
	PORT_ASKING,    /* the agent has not connected */
	PORT_ANSWERING, /* the server is asked */
	PORT_UPGRADING, /* the client does not know it yet */
	PORT_UPGRADED,
};

/* Bytes on their way. */
struct stretch {
	char *bytes; /* owned */
	size_t at, len;
};

struct port_visit {
	struct visit visit;
	enum port_state state;
	struct source socket;           /* to the agent; the descriptor is owned */
	struct source client;           /* after the upgrade; the descriptor is the server's */
	unsigned char first[FIRST_MAX]; /* what the agent says before the bytes */
	size_t first_len;
	struct stretch up, down; /* to the server; to the client, after the upgrade */
	struct reply reply;
	bool chunked;
	bool whole;  /* the body of the request has ended */
	bool open;   /* the client's connection is ours */
	bool ending; /* the server has closed; the client still reads */
	uint64_t taken;
	uint64_t moved_us;
};

static struct port_visit *of_visit(struct visit *visit)
{
	return (struct port_visit *)(void *)visit;
}

/* ---- bytes ---- */

static bool put(struct stretch *stretch, const char *bytes, size_t len)
{
	char *grown = len ? realloc(stretch->bytes, stretch->len + len) : NULL;

	if (!grown)
		return !len;
	memcpy(grown + stretch->len, bytes, len);
	stretch->bytes = grown;
	stretch->len += len;
	return true;
}

static void empty(struct stretch *stretch)
{
	free(stretch->bytes);
	*stretch = (struct stretch){ 0 };
}

/* Send what the socket takes. False: it takes nothing any more. */
static bool push(struct port_visit *port, struct stretch *stretch, int fd)
{
	while (stretch->at < stretch->len) {
		const ssize_t n = send(fd, stretch->bytes + stretch->at, stretch->len - stretch->at,
				       MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
		stretch->at += (size_t)n;
		port->moved_us = clock_us();
	}
	empty(stretch);
	return true;
}

/* ---- the two connections ---- */

static void hang_up(struct port_visit *port)
{
	source_remove(port->visit.x->front, &port->socket);
	fd_done(&port->socket.fd);
}

static void shut(struct port_visit *port)
{
	hang_up(port);
	if (!port->open)
		return;
	port->open = false;
	source_remove(port->visit.x->front, &port->client);
	exchange_close(port->visit.x);
}

static void watch(struct port_visit *port)
{
	const bool upgraded = port->state == PORT_UPGRADED;
	const bool reads = port->state == PORT_UPGRADING ? false
			   : upgraded                    ? !port->down.len
							 : !port->visit.held;
	struct front *front = port->visit.x->front;

	if (port->socket.fd >= 0)
		source_change(front, &port->socket, (reads ? EPOLLIN : 0u) | (port->up.len ? EPOLLOUT : 0u));
	if (port->open)
		source_change(front, &port->client,
			      (port->up.len || port->ending ? 0u : EPOLLIN) |
				  (port->down.len ? EPOLLOUT : 0u));
}

/* The end of the visit, with an error or without. */
static void fail(struct port_visit *port, unsigned int status, const char *message)
{
	struct visit *visit = &port->visit;
	struct json_writer w = { 0 };

	hang_up(port);
	empty(&port->up);
	if (visit->over || visit->streams) {
		visit_fail(visit, CONNECT_UNAVAILABLE, message);
		exchange_hold(visit->x, false); /* the rest of the request is thrown away */
		return;
	}
	visit->over = true;
	json_begin_object(&w);
	json_key_string(&w, "sandboxId", visit->x->sandbox);
	json_key_string(&w, "message", message);
	json_key_uint(&w, "port", visit->port);
	json_key_uint(&w, "code", status);
	json_end_object(&w);
	exchange_json(visit->x, status, json_take(&w));
	exchange_hold(visit->x, false);
}

static void finish(struct port_visit *port)
{
	hang_up(port);
	empty(&port->up);
	visit_end(&port->visit);
	exchange_hold(port->visit.x, false);
}

/* ---- to the server ---- */

static void flush_up(struct port_visit *port)
{
	if (port->state == PORT_ASKING)
		return;
	if (port->socket.fd < 0) { /* nobody takes it any more */
		empty(&port->up);
		return;
	}
	/* A server that does not read the request may have answered it. */
	if (!push(port, &port->up, port->socket.fd))
		empty(&port->up);
	if (!port->up.len && !port->whole)
		exchange_hold(port->visit.x, false);
	watch(port);
}

static bool put_body(struct port_visit *port, const char *bytes, size_t len)
{
	char size[32];
	const int digits = snprintf(size, sizeof(size), "%zx\r\n", len);

	if (!port->chunked)
		return put(&port->up, bytes, len);
	return put(&port->up, size, (size_t)digits) && put(&port->up, bytes, len) &&
	       put(&port->up, "\r\n", 2);
}

static void on_body(struct exchange *x, const char *bytes, size_t len)
{
	struct port_visit *port = x->data;
	char text[80];

	if (!port || port->visit.over)
		return;
	port->taken += len;
	port->whole = !bytes;
	port->moved_us = clock_us();
	if (port->taken > x->front->welcome.limits.file_bytes) {
		snprintf(text, sizeof(text), "the body is longer than %" PRIu64 " bytes",
			 x->front->welcome.limits.file_bytes);
		fail(port, 413, text);
	} else if (!(bytes ? put_body(port, bytes, len) : !port->chunked || put(&port->up, "0\r\n\r\n", 5))) {
		fail(port, 503, "no memory is left; try again");
	} else {
		if (bytes)
			exchange_hold(x, true);
		flush_up(port);
	}
}

/* ---- from the server ---- */

static void began(struct exchange *x, int fd, const char *bytes, size_t len);

static const char *header_of(const struct reply *reply, const char *name)
{
	for (size_t i = 0; i < reply->header_count; i++)
		if (strcasecmp(reply->headers[i].name, name) == 0)
			return reply->headers[i].value;
	return NULL;
}

static void take_head(void *of, const struct reply *reply)
{
	struct port_visit *port = of;
	struct exchange *x = port->visit.x;
	const char *protocol = header_of(reply, "Upgrade");

	if (port->visit.over)
		return;
	exchange_relay(x);
	port_pass_headers(x, reply);
	if (reply->state == REPLY_UPGRADED) {
		port->visit.over = true;
		port->state = PORT_UPGRADING;
		exchange_upgrade(x, protocol ? protocol : "websocket", began);
		return;
	}
	port->visit.streams = true;
	if (reply->status == 204 || reply->status == 304)
		exchange_empty(x, reply->status);
	else
		exchange_stream_of(x, reply->status, NULL, reply->length);
}

static void take_bytes(void *of, const char *bytes, size_t len)
{
	struct port_visit *port = of;

	if (!port->visit.over && !exchange_write(port->visit.x, bytes, len))
		port->visit.held = true;
}

static void take_answer(struct port_visit *port, const char *bytes, size_t len)
{
	struct warder_error err = { 0 };
	size_t used = 0;

	if (reply_take(&port->reply, bytes, len, &used, &err) < 0)
		fail(port, 502, err.text);
	else if (port->reply.state == REPLY_OVER)
		finish(port);
	else if (port->reply.state == REPLY_UPGRADED && !put(&port->down, bytes + used, len - used))
		shut(port);
	else
		watch(port);
}

static void flush_down(struct port_visit *port)
{
	const uint64_t before_us = port->moved_us;

	if (!port->open)
		return;
	if (!push(port, &port->down, port->client.fd) || (port->ending && !port->down.len)) {
		shut(port);
		return;
	}
	exchange_waits(port->visit.x, port->down.len, port->moved_us != before_us);
	watch(port);
}

/* What the agent says, before the server does. */
static void take_first(struct port_visit *port)
{
	struct visit *visit = &port->visit;
	struct agent_head head;
	struct agent_failed failed = { 0 };
	char text[140];

	memcpy(&head, port->first, sizeof(head));
	if (head.type == AGENT_BEGUN && head.len == 0) {
		port->state = PORT_ANSWERING;
		flush_up(port);
		return;
	}
	if (head.type != AGENT_FAILED || head.len < sizeof(failed)) {
		fail(port, 502, "the agent of the sandbox does not answer as it should");
		return;
	}
	if (port->first_len < FIRST_MAX)
		return;
	memcpy(&failed, port->first + sizeof(head), sizeof(failed));
	if (failed.status == AGENT_TOO_MANY) {
		exchange_set(visit->x, "Retry-After", "1");
		snprintf(text, sizeof(text),
			 "the sandbox has as many connections to its ports as it can have, %d or what "
			 "limits.openFiles allows; try again",
			 AGENT_PORTS_MAX);
		fail(port, 503, text);
		return;
	}
	snprintf(text, sizeof(text), "the sandbox is running, but no server listens at port %u", visit->port);
	fail(port, 502, text);
}

static void ask(struct port_visit *port)
{
	struct warder_error err = { 0 };

	if (channel_ask(port->visit.channel, RECORD_AGENT, 0, &err) < 0)
		visit_error(&port->visit, &err);
}

static void begin(struct visit *visit)
{
	ask(of_visit(visit));
}

/* The agent, or the server, is gone. */
static void lose(struct port_visit *port)
{
	struct visit *visit = &port->visit;
	struct warder_error err = { 0 };

	hang_up(port);
	if (port->state == PORT_UPGRADED) {
		port->ending = true;
		flush_down(port);
	} else if (port->state == PORT_UPGRADING) {
		port->ending = true;
	} else if (port->state == PORT_ANSWERING && reply_finish(&port->reply, &err) == 0) {
		finish(port);
	} else if (port->state == PORT_ANSWERING) {
		fail(port, 502, err.text);
	} else if (!visit->again) { /* the keeper starts another one, or says why it cannot */
		visit->again = true;
		visit_open(visit);
	} else {
		fail(port, 502, "the agent of the sandbox has ended");
	}
}

static ssize_t receive(struct port_visit *port, char *bytes, size_t room)
{
	if (port->state != PORT_ASKING)
		return recv(port->socket.fd, bytes, room, MSG_DONTWAIT);
	return recv(port->socket.fd, bytes,
		    (port->first_len < sizeof(struct agent_head) ? sizeof(struct agent_head) : FIRST_MAX) -
			port->first_len,
		    MSG_DONTWAIT);
}

static void socket_ready(struct source *source, uint32_t events)
{
	struct port_visit *port =
	    (struct port_visit *)(void *)((char *)source - offsetof(struct port_visit, socket));
	char bytes[READ_BYTES];
	ssize_t n;

	if (events & EPOLLOUT)
		flush_up(port);
	if (source->fd < 0 || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	n = receive(port, bytes, sizeof(bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		lose(port);
		return;
	}
	port->moved_us = clock_us();
	if (port->state == PORT_ASKING) {
		memcpy(port->first + port->first_len, bytes, (size_t)n);
		port->first_len += (size_t)n;
		if (port->first_len >= sizeof(struct agent_head))
			take_first(port);
	} else if (port->state == PORT_ANSWERING) {
		take_answer(port, bytes, (size_t)n);
	} else if (put(&port->down, bytes, (size_t)n)) {
		flush_down(port);
	} else {
		shut(port);
	}
}

/* ---- a WebSocket ---- */

static void client_ready(struct source *source, uint32_t events)
{
	struct port_visit *port =
	    (struct port_visit *)(void *)((char *)source - offsetof(struct port_visit, client));
	char bytes[READ_BYTES];
	ssize_t n;

	if (events & EPOLLOUT)
		flush_down(port);
	if (!port->open || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	n = recv(source->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	port->moved_us = clock_us();
	if (n <= 0 || !put(&port->up, bytes, (size_t)n))
		shut(port);
	else
		flush_up(port);
}

static void began(struct exchange *x, int fd, const char *bytes, size_t len)
{
	struct port_visit *port = x->data;

	/* The exchange may be over already; then its end closes the connection. */
	if (!port) {
		exchange_close(x);
		return;
	}
	port->client = (struct source){ .fd = fd, .ready = client_ready };
	port->open = true;
	port->state = PORT_UPGRADED;
	if (source_add(x->front, &port->client, EPOLLIN) < 0 || !put(&port->up, bytes, len)) {
		shut(port);
		return;
	}
	flush_up(port);
	flush_down(port);
}

/* ---- the request ---- */

static void take_agent(void *of, int *fd)
{
	struct port_visit *port = of;
	struct visit *visit = &port->visit;
	const struct agent_request request = { .magic = AGENT_MAGIC,
					       .call = AGENT_PORT,
					       .depth = visit->port };

	port->socket = (struct source){ .fd = fd_take(fd), .ready = socket_ready };
	port->first_len = 0;
	channel_free(visit->channel);
	visit->channel = NULL;
	/* An empty socket has room for it. */
	if (send(port->socket.fd, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT) !=
		sizeof(request) ||
	    source_add(visit->x->front, &port->socket, EPOLLIN) < 0)
		fail(port, 502, "the agent of the sandbox cannot be reached; try again");
}

static void on_answered(void *of, enum record_type request, const struct record_answer *answer,
			const char *text)
{
	if (answer->failed)
		visit_error(of, &answer->error);
}

static void room(struct exchange *x)
{
	struct port_visit *port = x->data;

	if (!port)
		return;
	port->visit.held = false;
	watch(port);
}

static void tick(struct visit *visit)
{
	struct port_visit *port = of_visit(visit);
	const uint64_t silent_us = clock_us() - port->moved_us;

	if (port->state == PORT_UPGRADED
		? silent_us >= SILENT_US
		: silent_us >= (visit->streams && port->whole ? SILENT_US : ANSWER_US)) {
		if (port->open)
			shut(port);
		else
			fail(port, 504, "the server in the sandbox does not answer");
	}
}

static void done(struct visit *visit)
{
	struct port_visit *port = of_visit(visit);

	shut(port);
	empty(&port->up);
	empty(&port->down);
	reply_done(&port->reply);
}

static void handle(struct exchange *x)
{
	static const struct channel_events events = { .answered = on_answered,
						      .agent = take_agent,
						      .lost = visit_lost };
	const struct reply_sink sink = { NULL, take_head, take_bytes };
	struct port_head head;
	struct port_visit *port;

	if (port_make_head(x, &head) < 0)
		return;
	port = (struct port_visit *)(void *)visit_new(x, sizeof(*port));
	if (!port) {
		free(head.text);
		return;
	}
	port->up = (struct stretch){ .bytes = head.text, .len = head.len };
	port->chunked = head.chunked;
	port->socket.fd = port->client.fd = -1;
	port->moved_us = clock_us();
	reply_init(&port->reply, x->front->welcome.limits.header_bytes, &sink);
	port->reply.sink.context = port;
	port->reply.bodiless = strcmp(x->method, "HEAD") == 0;
	port->reply.upgrades = head.upgrades;
	port->visit.events = &events;
	port->visit.begin = begin;
	port->visit.done = done;
	port->visit.tick = tick;
	port->visit.port = x->port;
	port->visit.plain = true;
	x->room = room;
	x->part = on_body;
	exchange_hold(x, true);
	visit_keep_alive(&port->visit, TICK_MS);
	visit_open(&port->visit);
}

const struct route port_route = { "",     "",
				  NULL,   ROUTE_TRAFFIC | ROUTE_PORT | ROUTE_PARTS,
				  handle, "a server in a sandbox" };
