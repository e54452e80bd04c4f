/*
 * terminal: libcurl connects, with all the checks of any other request, and then only carries bytes: the one of Debian 12 has no WebSocket.
 *
 * The host pings; where nothing was heard for SILENT_MS, the connection is lost. One piece of input is on its way at a time, so that a host that does
 * not read holds the caller back. A caller that does not read holds the host back, and its input passes all the same: no send waits.
 */
#include "remote/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/websocket.h"

#define ANSWER_MS  15000
#define SILENT_MS  100000
#define PONG_MS    30000 /* while the caller takes nothing, and no ping is read */
#define BODY_MAX   16384 /* of a refusal */
#define READ_BYTES 16384
#define OUT_MAX    (REMOTE_PIECE_MAX + 4096) /* a piece, and answers to pings */

struct terminal {
	CURL *curl;
	int socket_fd, caller_fd;
	char head[REMOTE_HEADERS_MAX + 1];
	size_t head_len;   /* of what came so far, as long as it is the head */
	char out[OUT_MAX]; /* for the host */
	size_t out_at, out_len;
	const char *in; /* from the host, not looked at yet: in the head, or in `bytes` */
	size_t in_len;
	char bytes[READ_BYTES];
	const char *given; /* what the caller has not taken yet of the reader's message */
	size_t given_len;
	char given_kind;
	struct websocket_reader reader;
};

static int lost(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
			 "the connection to the terminal ended before the host answered");
}

/* ---- the handshake ---- */

/* Wait until the socket is ready. False: it is not, in time. */
static bool await(const struct terminal *terminal, short events, uint64_t until_us)
{
	struct pollfd ready = { .fd = terminal->socket_fd, .events = events };
	const uint64_t now_us = clock_us();

	return now_us < until_us && poll(&ready, 1, (int)((until_us - now_us) / 1000) + 1) > 0;
}

static bool send_all(struct terminal *terminal, const char *bytes, size_t len, uint64_t until_us)
{
	while (len) {
		size_t n = 0;
		const CURLcode done = curl_easy_send(terminal->curl, bytes, len, &n);

		if (done == CURLE_AGAIN ? !await(terminal, POLLOUT, until_us) : done != CURLE_OK)
			return false;
		bytes += n;
		len -= n;
	}
	return true;
}

/* More of the answer, behind what came already. False: there is no more, or no room for it. */
static bool receive_more(struct terminal *terminal, uint64_t until_us)
{
	const size_t room = sizeof(terminal->head) - 1 - terminal->head_len;
	CURLcode done = CURLE_AGAIN;
	size_t n = 0;

	while (room && done == CURLE_AGAIN) {
		done = curl_easy_recv(terminal->curl, terminal->head + terminal->head_len, room, &n);
		if (done == CURLE_AGAIN && !await(terminal, POLLIN, until_us))
			return false;
	}
	terminal->head_len += n;
	terminal->head[terminal->head_len] = '\0';
	return done == CURLE_OK && n > 0;
}

/* The value of a header, up to its line's end; NULL: it is not there. `end`: of all headers. */
static const char *header_of(const char *head, const char *end, const char *name, size_t *ret_len)
{
	const size_t len = strlen(name);

	for (const char *line = head; line && line < end; line = strstr(line, "\r\n")) {
		line += line == head ? 0 : 2;
		if (strncasecmp(line, name, len) != 0 || line[len] != ':')
			continue;
		line += len + 1;
		line += strspn(line, " \t");
		*ret_len = strcspn(line, "\r\n");
		return line;
	}
	return NULL;
}

static bool has_value(const char *head, const char *end, const char *name, const char *value)
{
	size_t len = 0;
	const char *found = header_of(head, end, name, &len);

	return found && len == strlen(value) && strncasecmp(found, value, len) == 0;
}

/* The body of a refusal moves to the beginning of the head, as far as it comes. Returns its length. */
static size_t take_body(struct terminal *terminal, const char *end, uint64_t until_us)
{
	const size_t head_len = (size_t)(end - terminal->head);
	size_t ignored;
	const char *length = header_of(terminal->head, end, "Content-Length", &ignored);
	size_t want = length ? strtoul(length, NULL, 10) : 0;

	if (want > BODY_MAX)
		want = 0;
	while (terminal->head_len - head_len < want && receive_more(terminal, until_us))
		;
	if (want > terminal->head_len - head_len)
		want = terminal->head_len - head_len;
	memmove(terminal->head, end, want);
	return want;
}

/* A key of the RFC, and the answer that it has. False: the kernel gives no random bytes. */
static bool draw_key(char ret[32], char ret_accept[WEBSOCKET_ACCEPT_SIZE])
{
	char bytes[16];
	char *text =
	    getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes) ? text_base64(bytes, sizeof(bytes)) : NULL;

	snprintf(ret, 32, "%s", text ? text : "");
	free(text);
	return websocket_accept(ret, ret_accept);
}

/* False: it is too long. */
static bool write_request(const struct exchange_order *order, const char *key, char *ret, size_t size)
{
	const char *host = strstr(order->url, "//");
	const int len = snprintf(
	    ret, size,
	    "GET %s HTTP/1.1\r\nHost: %.*s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	    "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\nX-API-Key: %s\r\n\r\n",
	    order->path, host ? (int)strcspn(host + 2, "/") : 0, host ? host + 2 : "", key, order->token);

	return len > 0 && (size_t)len < size;
}

/* The answer, with a body behind it in the head: bytes of a refusal, or the first ones of the WebSocket. -1 with *err. */
static int shake_hands(struct terminal *terminal, const struct exchange_order *order,
		       struct remote_answer *ret, struct warder_error *err)
{
	const uint64_t until_us = clock_us() + ANSWER_MS * UINT64_C(1000);
	char request[8192 + REMOTE_TOKEN_MAX], key[32], accept[WEBSOCKET_ACCEPT_SIZE];
	const char *end = NULL;
	bool good = draw_key(key, accept) && write_request(order, key, request, sizeof(request)) &&
		    send_all(terminal, request, strlen(request), until_us);

	explicit_bzero(request, sizeof(request));
	ret->sent = 1;
	while (good && !end) {
		good = receive_more(terminal, until_us);
		end = strstr(terminal->head, "\r\n\r\n");
	}
	if (!end || strncmp(terminal->head, "HTTP/1.", 7) != 0 || !isdigit((unsigned char)terminal->head[9]))
		return lost(err);
	end += 4;
	ret->status = (uint32_t)strtoul(terminal->head + 9, NULL, 10);
	if (ret->status != 101) {
		ret->bytes = take_body(terminal, end, until_us);
		return 0;
	}
	if (!has_value(terminal->head, end, "Upgrade", "websocket") ||
	    !has_value(terminal->head, end, "Sec-WebSocket-Accept", accept)) {
		ret->status = 0;
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
				 "the host does not answer as a WebSocket must");
	}
	terminal->head_len -= (size_t)(end - terminal->head);
	memmove(terminal->head, end, terminal->head_len);
	return 0;
}

/* ---- to the host ---- */

/* There is room for one frame. False: the connection is over. */
static bool put_frame(struct terminal *terminal, enum websocket_opcode opcode, const char *bytes, size_t len)
{
	unsigned char mask[4];

	if (terminal->out_len + WEBSOCKET_HEAD_MAX + len > sizeof(terminal->out) ||
	    getrandom(mask, sizeof(mask), 0) != sizeof(mask))
		return false;
	terminal->out_len +=
	    websocket_write_masked(opcode, bytes, len, mask, terminal->out + terminal->out_len);
	return true;
}

static bool flush(struct terminal *terminal)
{
	while (terminal->out_at < terminal->out_len) {
		size_t n = 0;
		const CURLcode done = curl_easy_send(terminal->curl, terminal->out + terminal->out_at,
						     terminal->out_len - terminal->out_at, &n);

		if (done == CURLE_AGAIN)
			return true;
		if (done != CURLE_OK)
			return false;
		terminal->out_at += n;
	}
	terminal->out_at = terminal->out_len = 0;
	return true;
}

static bool take_piece(struct terminal *terminal)
{
	char piece[REMOTE_PIECE_MAX];
	const ssize_t n = recv(terminal->caller_fd, piece, sizeof(piece), 0);

	if (n <= 0)
		return n < 0 && errno == EINTR;
	return put_frame(terminal, piece[0] == REMOTE_PIECE_TEXT ? WEBSOCKET_TEXT : WEBSOCKET_BINARY,
			 piece + 1, (size_t)n - 1);
}

/* ---- to the caller ---- */

/* As much as there is room for. False: the caller is gone. */
static bool give(struct terminal *terminal)
{
	char piece[REMOTE_PIECE_MAX];

	while (terminal->given_len) {
		const size_t part =
		    terminal->given_len < sizeof(piece) - 1 ? terminal->given_len : sizeof(piece) - 1;

		piece[0] = terminal->given_kind;
		memcpy(piece + 1, terminal->given, part);
		if (send(terminal->caller_fd, piece, part + 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			return errno == EAGAIN;
		terminal->given += part;
		terminal->given_len -= part;
	}
	return true;
}

static bool begin_to_give(struct terminal *terminal, char kind)
{
	terminal->given_kind = kind;
	terminal->given = terminal->reader.message;
	terminal->given_len = terminal->reader.len;
	return give(terminal);
}

static bool take_message(struct terminal *terminal)
{
	const struct websocket_reader *reader = &terminal->reader;

	switch (reader->opcode) {
	case WEBSOCKET_BINARY:
		return begin_to_give(terminal, REMOTE_PIECE_BYTES);
	case WEBSOCKET_TEXT:
		return reader->len < REMOTE_PIECE_MAX && begin_to_give(terminal, REMOTE_PIECE_TEXT);
	case WEBSOCKET_PING:
		return put_frame(terminal, WEBSOCKET_PONG, reader->message, reader->len);
	case WEBSOCKET_CLOSE:
		return false;
	case WEBSOCKET_PONG:
	case WEBSOCKET_CONTINUATION:
		break;
	}
	return true;
}

/* What came, up to a message for which the caller has no room. */
static bool pass_on(struct terminal *terminal)
{
	bool good = give(terminal);

	while (good && !terminal->given_len && terminal->in_len) {
		enum websocket_code code = WEBSOCKET_NORMAL;
		size_t used = 0;
		const enum websocket_took took =
		    websocket_take(&terminal->reader, terminal->in, terminal->in_len, &used, &code);

		terminal->in += used;
		terminal->in_len -= used;
		good = took != WEBSOCKET_WRONG && (took != WEBSOCKET_MESSAGE || take_message(terminal));
	}
	return good;
}

/* More from the host, if the rest was passed on: only one part, so that a flood does not keep input waiting. *ret_more: TLS may hold the next part,
 * of which poll() knows nothing. */
static bool receive(struct terminal *terminal, bool *ret_more)
{
	size_t n = 0;
	CURLcode done;

	*ret_more = false;
	if (terminal->given_len)
		return true;
	done = curl_easy_recv(terminal->curl, terminal->bytes, sizeof(terminal->bytes), &n);
	terminal->in = terminal->bytes;
	terminal->in_len = n;
	*ret_more = n > 0;
	return done == CURLE_AGAIN || (done == CURLE_OK && n > 0);
}

/* Wait until something moves, and take input. */
static bool wait_and_take(struct terminal *terminal, bool more)
{
	const bool waits = terminal->out_len > 0, held = terminal->given_len > 0;
	struct pollfd ready[] = {
		{ .fd = held && !waits ? -1 : terminal->socket_fd,
		  .events = (short)((held ? 0 : POLLIN) | (waits ? POLLOUT : 0)) },
		{ .fd = terminal->caller_fd, .events = (short)((waits ? 0 : POLLIN) | (held ? POLLOUT : 0)) },
	};
	const int count = poll(ready, 2, more ? 0 : held ? PONG_MS : SILENT_MS);

	if (ready[1].revents & POLLIN)
		return take_piece(terminal);
	if (ready[1].revents & (POLLHUP | POLLERR))
		return false;
	if (count == 0 && held && !waits)
		return put_frame(terminal, WEBSOCKET_PONG, "", 0);
	return count > 0 || more || held || (count < 0 && errno == EINTR);
}

static void relay(struct terminal *terminal)
{
	bool more = false;

	terminal->in = terminal->head;
	terminal->in_len = terminal->head_len;
	while (pass_on(terminal) && receive(terminal, &more) && flush(terminal) &&
	       wait_and_take(terminal, more))
		;
}

/* The connection, through libcurl's checks. Returns what libcurl says. */
static CURLcode begin(struct terminal *terminal, const struct exchange *exchange, int fd)
{
	curl_socket_t socket_fd = CURL_SOCKET_BAD;
	CURLcode done;

	terminal->curl = exchange_handle(exchange);
	terminal->caller_fd = fd;
	terminal->reader = (struct websocket_reader){ .max = REMOTE_TERMINAL_MAX, .is_client = true };
	done = curl_easy_setopt(terminal->curl, CURLOPT_CONNECT_ONLY, 1L);
	if (done == CURLE_OK)
		done = curl_easy_perform(terminal->curl);
	if (done == CURLE_OK)
		done = curl_easy_getinfo(terminal->curl, CURLINFO_ACTIVESOCKET, &socket_fd);
	terminal->socket_fd = socket_fd;
	return done;
}

void terminal_run(const struct exchange_order *order, int fd)
{
	struct terminal *terminal = calloc(1, sizeof(*terminal));
	struct exchange *exchange = terminal ? exchange_new(order) : NULL;
	struct remote_answer answer = { .magic = REMOTE_MAGIC, .size = sizeof(answer) }, ignored;
	CURLcode done = exchange ? begin(terminal, exchange, fd) : CURLE_OUT_OF_MEMORY;
	char *body = NULL;

	if (!exchange)
		error_no_memory(&answer.error, "backend");
	else if (done == CURLE_OK)
		shake_hands(terminal, order, &answer, &answer.error);
	else
		exchange_finish(exchange, done, &answer, &body);
	if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer) && answer.status == 101)
		relay(terminal);
	else if (answer.bytes && done == CURLE_OK)
		send(fd, terminal->head, answer.bytes, MSG_NOSIGNAL);
	free(body);
	if (exchange && done == CURLE_OK)
		exchange_finish(exchange, done, &ignored, &body);
	if (terminal)
		websocket_reader_done(&terminal->reader);
	free(terminal);
}
