/*
 * The terminal of an execution over a WebSocket.
 *
 * A binary message of the client is input, a text message {"rows": N, "columns": N} is a new size. A binary message of ours is output; the
 * text message {"end": {...}} comes at the end of the program, and {"gap": {...}} where output was dropped. A client that does not read
 * holds the keeper's output back, as with events. Its input is passed on all the same, because it may be what ends the flood. What the program
 * does not read waits in the socket of the keeper; when that is full, the client is not read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "host/front/envd.h"
#include "host/front/v1.h"
#include "base/websocket.h"

#define INPUT_MAX     REMOTE_WRITE_MAX /* bytes of a message */
#define READ_BYTES    16384
#define PING_MS       30000
#define SILENT_US     UINT64_C(100000000)
#define PROTOCOL_NAME "warder"

struct terminal {
	struct visit visit;
	uint64_t from[2];
	struct source socket; /* the fd is the server's */
	struct websocket_reader reader;
	char *out; /* owned: bytes for the client */
	size_t out_at, out_len;
	char *waiting; /* owned: bytes of the client that are not looked at yet */
	size_t waiting_len;
	bool open;         /* the socket is ours */
	bool full;         /* the last message of the client waits until the keeper has room for it */
	bool closing;      /* the close frame is the last that is sent */
	uint64_t heard_us; /* of the client */
};

static struct terminal *of_visit(struct visit *visit)
{
	return (struct terminal *)(void *)visit;
}

/* ---- to the client ---- */

static void shut(struct terminal *terminal)
{
	if (!terminal->open)
		return;
	terminal->open = false;
	source_remove(terminal->visit.x->front, &terminal->socket);
	exchange_close(terminal->visit.x);
}

static void watch(struct terminal *terminal)
{
	const bool reads = !terminal->full && !terminal->closing;
	const bool sends = terminal->out_len > terminal->out_at;

	if (terminal->open)
		source_change(terminal->visit.x->front, &terminal->socket,
			      EPOLLRDHUP | (reads ? EPOLLIN : 0u) | (sends ? EPOLLOUT : 0u));
}

static void flush(struct terminal *terminal)
{
	bool moves = false;

	while (terminal->open && terminal->out_at < terminal->out_len) {
		const ssize_t n = send(terminal->socket.fd, terminal->out + terminal->out_at,
				       terminal->out_len - terminal->out_at, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0) {
			shut(terminal);
			return;
		}
		terminal->out_at += (size_t)n;
		moves = true;
	}
	if (terminal->out_at == terminal->out_len)
		terminal->out_at = terminal->out_len = 0;
	if (!terminal->out_len) {
		free(terminal->out);
		terminal->out = NULL;
	}
	exchange_waits(terminal->visit.x, terminal->out_len, moves);
	if (terminal->visit.held && terminal->visit.channel &&
	    terminal->out_len - terminal->out_at < FRONT_OUT_MAX / 2) {
		terminal->visit.held = false;
		channel_hold(terminal->visit.channel, false);
	}
	if (terminal->closing && !terminal->out_len)
		shut(terminal);
	else
		watch(terminal);
}

static void send_frame(struct terminal *terminal, enum websocket_opcode opcode, const char *bytes, size_t len)
{
	unsigned char head[WEBSOCKET_HEAD_MAX];
	const size_t head_len = websocket_write_head(opcode, len, head);
	char *grown;

	if (!terminal->open || terminal->closing)
		return;
	if (terminal->out_at) {
		memmove(terminal->out, terminal->out + terminal->out_at,
			terminal->out_len - terminal->out_at);
		terminal->out_len -= terminal->out_at;
		terminal->out_at = 0;
	}
	grown = realloc(terminal->out, terminal->out_len + head_len + len);
	if (!grown) {
		shut(terminal);
		return;
	}
	terminal->out = grown;
	memcpy(grown + terminal->out_len, head, head_len);
	memcpy(grown + terminal->out_len + head_len, bytes, len);
	terminal->out_len += head_len + len;
	if (terminal->out_len >= FRONT_OUT_MAX && terminal->visit.channel && !terminal->visit.held) {
		terminal->visit.held = true;
		channel_hold(terminal->visit.channel, true);
	}
	flush(terminal);
}

static void say_close(struct terminal *terminal, enum websocket_code code, const char *why)
{
	char bytes[WEBSOCKET_CONTROL_MAX];
	const int len = snprintf(bytes + 2, sizeof(bytes) - 2, "%s", why);

	bytes[0] = (char)(code >> 8);
	bytes[1] = (char)(code & 255);
	send_frame(terminal, WEBSOCKET_CLOSE, bytes,
		   2 + (len < (int)sizeof(bytes) - 2 ? (size_t)len : sizeof(bytes) - 3));
	if (!terminal->open)
		return;
	terminal->closing = true;
	flush(terminal);
}

static void send_text(struct terminal *terminal, struct json_writer *w)
{
	char *text = json_take(w);

	if (text)
		send_frame(terminal, WEBSOCKET_TEXT, text, strlen(text));
	free(text);
}

/* ---- from the client ---- */

/* The keeper is gone. It also drops a client that has not read for some seconds. */
static void say_lost(struct terminal *terminal)
{
	say_close(terminal, WEBSOCKET_INTERNAL,
		  terminal->visit.channel && channel_was_late(terminal->visit.channel)
		      ? VISIT_LATE
		      : "the sandbox has ended");
}

static void passed(struct terminal *terminal, int result)
{
	terminal->full = result > 0;
	if (result < 0)
		say_lost(terminal);
}

static void resize(struct terminal *terminal)
{
	struct json_value *document = NULL;
	struct warder_error err = { 0 };
	const struct json_value *rows, *columns;

	if (json_parse(terminal->reader.message, terminal->reader.len, "message", NULL, &document, &err) <
	    0) {
		say_close(terminal, WEBSOCKET_BAD_DATA, "the text is not JSON");
		return;
	}
	rows = json_member(document, "rows");
	columns = json_member(document, "columns");
	if (!rows || !columns || !rows->is_uint || !columns->is_uint || !rows->uint || !columns->uint ||
	    rows->uint > V1_TERMINAL_MAX || columns->uint > V1_TERMINAL_MAX)
		say_close(terminal, WEBSOCKET_BAD_DATA, "a text message is {\"rows\": N, \"columns\": N}");
	else
		passed(terminal, channel_pass_size(terminal->visit.channel, (uint16_t)rows->uint,
						   (uint16_t)columns->uint, &err));
	json_free(document);
}

static void take_message(struct terminal *terminal)
{
	const struct websocket_reader *reader = &terminal->reader;
	struct warder_error err = { 0 };

	switch (reader->opcode) {
	case WEBSOCKET_BINARY:
		if (reader->len)
			passed(terminal, channel_pass_input(terminal->visit.channel, reader->message,
							    reader->len, &err));
		return;
	case WEBSOCKET_TEXT:
		resize(terminal);
		return;
	case WEBSOCKET_PING:
		/* Without one, a client that asks and does not read would fill the memory. */
		if (terminal->out_len - terminal->out_at < FRONT_OUT_MAX)
			send_frame(terminal, WEBSOCKET_PONG, reader->message, reader->len);
		return;
	case WEBSOCKET_CLOSE:
		say_close(terminal, WEBSOCKET_NORMAL, "");
		return;
	case WEBSOCKET_PONG:
	case WEBSOCKET_CONTINUATION:
		return;
	}
}

/* Look at what waits, up to a message for which there is no room yet. */
static void take_waiting(struct terminal *terminal)
{
	size_t at = 0;

	while (terminal->open && !terminal->closing && !terminal->full && terminal->visit.channel &&
	       at < terminal->waiting_len) {
		enum websocket_code code = WEBSOCKET_NORMAL;
		size_t used = 0;
		const enum websocket_took took = websocket_take(&terminal->reader, terminal->waiting + at,
								terminal->waiting_len - at, &used, &code);

		if (took == WEBSOCKET_WRONG) {
			say_close(terminal, code, "a frame is not well-formed, or too long");
			return;
		}
		at += used;
		if (took == WEBSOCKET_MESSAGE)
			take_message(terminal);
	}
	if (at) {
		memmove(terminal->waiting, terminal->waiting + at, terminal->waiting_len - at);
		terminal->waiting_len -= at;
	}
	watch(terminal);
}

static void put_waiting(struct terminal *terminal, const char *bytes, size_t len)
{
	char *grown = len ? realloc(terminal->waiting, terminal->waiting_len + len) : NULL;

	if (!grown) {
		if (len)
			shut(terminal);
		return;
	}
	terminal->waiting = grown;
	memcpy(grown + terminal->waiting_len, bytes, len);
	terminal->waiting_len += len;
	terminal->heard_us = clock_us();
}

static void socket_ready(struct source *source, uint32_t events)
{
	struct terminal *terminal =
	    (struct terminal *)(void *)((char *)source - offsetof(struct terminal, socket));
	char bytes[READ_BYTES];

	if (events & EPOLLOUT)
		flush(terminal);
	if (terminal->open && (events & EPOLLIN)) {
		const ssize_t n = recv(source->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			shut(terminal);
			return;
		}
		if (n > 0) {
			put_waiting(terminal, bytes, (size_t)n);
			take_waiting(terminal);
		}
	}
	if (terminal->open && (events & (EPOLLHUP | EPOLLERR)))
		shut(terminal);
	else if (terminal->open && (events & EPOLLRDHUP) && !(events & EPOLLIN))
		shut(terminal);
}

static void began(struct exchange *x, int fd, const char *bytes, size_t len)
{
	struct terminal *terminal = x->data;

	/* The exchange may be over already; then its end closes the connection. */
	if (!terminal) {
		exchange_close(x);
		return;
	}
	terminal->socket = (struct source){ .fd = fd, .ready = socket_ready };
	terminal->open = true;
	terminal->heard_us = clock_us();
	if (!terminal->visit.channel || source_add(x->front, &terminal->socket, EPOLLIN | EPOLLRDHUP) < 0) {
		shut(terminal);
		return;
	}
	visit_keep_alive(&terminal->visit, PING_MS);
	terminal->visit.held = false;
	channel_hold(terminal->visit.channel, false);
	put_waiting(terminal, bytes, len);
	take_waiting(terminal);
}

/* ---- from the keeper ---- */

static void on_bytes(void *of, int stream, uint64_t offset, const char *bytes, size_t len)
{
	send_frame(of, WEBSOCKET_BINARY, bytes, len);
}

static void on_gap(void *of, int stream, uint64_t from, uint64_t to)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key(&w, "gap");
	v1_write_gap(&w, stream, from, to);
	json_end_object(&w);
	send_text(of, &w);
}

static void on_ended(void *of, const struct record_end *end, const char *json)
{
	struct terminal *terminal = of;
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key(&w, "end");
	v1_write_end(&w, end);
	json_end_object(&w);
	send_text(terminal, &w);
	say_close(terminal, WEBSOCKET_NORMAL, "the program has ended");
}

static void on_lost(void *of)
{
	struct terminal *terminal = of;

	if (terminal->open)
		say_lost(terminal);
	else
		visit_gone(&terminal->visit);
}

static void on_answered(void *of, enum record_type request, const struct record_answer *answer,
			const char *text)
{
	struct terminal *terminal = of;
	char accept[WEBSOCKET_ACCEPT_SIZE];

	if (request == RECORD_ATTACH && answer->failed) {
		visit_error(&terminal->visit, &answer->error);
	} else if (request == RECORD_ATTACH) {
		struct exchange *x = terminal->visit.x;

		/* Its output waits until the connection is a WebSocket. */
		terminal->visit.held = true;
		channel_hold(terminal->visit.channel, true);
		websocket_accept(exchange_header(x, "Sec-WebSocket-Key"), accept);
		exchange_set(x, "Sec-WebSocket-Accept", accept);
		if (exchange_header(x, "Sec-WebSocket-Protocol"))
			exchange_set(x, "Sec-WebSocket-Protocol", PROTOCOL_NAME);
		terminal->visit.over = true;
		exchange_upgrade(x, "websocket", began);
	}
}

static void on_room(void *of)
{
	struct terminal *terminal = of;

	if (!terminal->full || !terminal->open || terminal->closing || !terminal->visit.channel)
		return;
	take_message(terminal);
	take_waiting(terminal);
}

static const struct channel_events terminal_events = { .answered = on_answered,
						       .bytes = on_bytes,
						       .gap = on_gap,
						       .ended = on_ended,
						       .room = on_room,
						       .lost = on_lost };

/* ---- the request ---- */

static void tick(struct visit *visit)
{
	struct terminal *terminal = of_visit(visit);

	/* It is not read, so its silence says nothing. If it is gone, the kernel reports that the pings have not arrived. */
	if (terminal->full && !terminal->closing)
		terminal->heard_us = clock_us();
	if (terminal->open && clock_us() - terminal->heard_us >= SILENT_US)
		shut(terminal);
	else
		send_frame(terminal, WEBSOCKET_PING, "", 0);
}

static void done(struct visit *visit)
{
	struct terminal *terminal = of_visit(visit);

	shut(terminal);
	websocket_reader_done(&terminal->reader);
	free(terminal->out);
	free(terminal->waiting);
}

static void begin(struct visit *visit)
{
	struct terminal *terminal = of_visit(visit);
	struct warder_error err = { 0 };

	channel_choose(visit->channel, visit->x->args[1]);
	if (channel_attach(visit->channel, terminal->from, &err) < 0)
		visit_error(visit, &err);
}

/* Whether a header has this word among others. */
static bool has_word(const char *header, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = header; at && *at; at += strspn(at, " ,")) {
		const size_t here = strcspn(at, " ,");

		if (here == len && strncasecmp(at, word, len) == 0)
			return true;
		at += here;
	}
	return false;
}

void v1_terminal(struct exchange *x)
{
	struct terminal *terminal = (struct terminal *)(void *)visit_new(x, sizeof(*terminal));
	const char *version = exchange_header(x, "Sec-WebSocket-Version");
	const char *from = exchange_query(x, "stdout");
	char accept[WEBSOCKET_ACCEPT_SIZE];

	if (!terminal)
		return;
	terminal->socket.fd = -1;
	terminal->reader.max = INPUT_MAX;
	terminal->from[0] = from ? strtoull(from, NULL, 10) : 0;
	terminal->visit.events = &terminal_events;
	terminal->visit.begin = begin;
	terminal->visit.done = done;
	terminal->visit.tick = tick;
	if (!has_word(exchange_header(x, "Connection"), "upgrade") ||
	    !has_word(exchange_header(x, "Upgrade"), "websocket") || !version || strcmp(version, "13") != 0 ||
	    !websocket_accept(exchange_header(x, "Sec-WebSocket-Key"), accept)) {
		exchange_set(x, "Sec-WebSocket-Version", "13");
		visit_fail_http(&terminal->visit, 426, "this path needs a WebSocket of version 13");
		return;
	}
	if (exchange_header(x, "Sec-WebSocket-Protocol") &&
	    !has_word(exchange_header(x, "Sec-WebSocket-Protocol"), PROTOCOL_NAME)) {
		visit_fail_http(&terminal->visit, 400,
				"Sec-WebSocket-Protocol: the protocol is called " PROTOCOL_NAME);
		return;
	}
	visit_open(&terminal->visit);
}
