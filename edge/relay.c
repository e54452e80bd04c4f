/*
 * One request at a time: the next goes to the host when the answer to the one before has passed, so that it is known which answer is whose.
 * What the program sends in advance waits in its TLS, its socket, and then with itself.
 */
#include "edge/relay.h"

#include <stdlib.h>
#include <string.h>

#include "edge/http.h"
#include "edge/tls.h"

#define TEXT_MAX    (INJECT_ANSWER_HEAD + 16384) /* more than a head, and a record */
#define WAITING_MAX 131072                       /* bytes that a side has not taken */

_Static_assert(TEXT_MAX > HTTP_HEAD_MAX, "a head is held");

/* One end. */
struct end {
	struct tls *tls;
	bool ready, ended; /* the handshake is over; it sends no more */
	uint8_t *text;     /* heap, while there is some: of TEXT_MAX bytes */
	size_t len;
};

struct relay {
	const struct edge_inject *rule;
	const struct inject_secret *secret;
	const char *name;
	uint16_t port;
	struct end program, host;
	struct http http;
	struct answer answer;
	bool begun; /* the program speaks TLS: the host is spoken to */
	bool over;
};

struct relay *relay_new(const struct edge_inject *rule, const struct inject_secret *secret, const char *name,
			uint16_t port)
{
	struct relay *relay = calloc(1, sizeof(*relay));

	if (!relay)
		return NULL;
	relay->rule = rule;
	relay->secret = secret;
	relay->name = name;
	relay->port = port;
	relay->program.tls = tls_accept(name);
	relay->host.tls = tls_connect(name);
	if (relay->program.tls && relay->host.tls)
		return relay;
	relay_free(relay);
	return NULL;
}

void relay_free(struct relay *relay)
{
	if (!relay)
		return;
	tls_free(relay->program.tls);
	tls_free(relay->host.tls);
	free(relay->program.text);
	free(relay->host.text);
	free(relay);
}

static struct end *end_of(struct relay *relay, enum relay_side side)
{
	return side == RELAY_PROGRAM ? &relay->program : &relay->host;
}

bool relay_put(struct relay *relay, enum relay_side side, const uint8_t *bytes, size_t len)
{
	struct end *end = end_of(relay, side);

	if (len == 0)
		end->ended = true;
	relay->begun |= side == RELAY_PROGRAM && len;
	return tls_put(end->tls, bytes, len);
}

bool relay_wants(struct relay *relay, enum relay_side side)
{
	struct end *end = end_of(relay, side);

	return end->len < TEXT_MAX / 2 && tls_waiting(relay->program.tls) < WAITING_MAX &&
	       tls_waiting(relay->host.tls) < WAITING_MAX;
}

size_t relay_take(struct relay *relay, enum relay_side side, uint8_t *bytes, size_t size)
{
	return tls_take(end_of(relay, side)->tls, bytes, size);
}

bool relay_is_over(const struct relay *relay)
{
	return relay->over;
}

static void drop_text(struct end *end, size_t n)
{
	end->len -= n;
	if (end->len == 0) {
		free(end->text);
		end->text = NULL;
	} else if (n) {
		memmove(end->text, end->text + n, end->len);
	}
}

/* The text that has come. False: TLS failed, or there is no memory, *ret_why. */
static bool read_end(struct end *end, enum edge_reason failed, enum edge_reason *ret_why)
{
	enum tls_state state = TLS_READY;

	*ret_why = failed;
	if (!end->ready) {
		state = tls_handshake(end->tls);
		if (state != TLS_READY)
			return state == TLS_AGAIN && !end->ended;
		end->ready = true;
	}
	if (!end->text) {
		end->text = malloc(TEXT_MAX);
		*ret_why = EDGE_REASON_EXHAUSTED;
		if (!end->text)
			return false;
		*ret_why = failed;
	}
	while (end->len < TEXT_MAX && state == TLS_READY) {
		size_t n;

		state = tls_read(end->tls, end->text + end->len, TEXT_MAX - end->len, &n);
		end->len += n;
	}
	end->ended |= state == TLS_ENDED;
	drop_text(end, 0);
	return state != TLS_FAILED;
}

static bool pass_to_program(void *context, const void *bytes, size_t len)
{
	struct relay *relay = context;

	return tls_write(relay->program.tls, bytes, len);
}

static bool send_head(struct relay *relay, size_t len, enum edge_reason *ret_why)
{
	uint8_t *out = malloc(len + INJECT_MORE);
	bool is_head = false;
	bool good;
	long n;

	*ret_why = EDGE_REASON_EXHAUSTED;
	if (!out)
		return false;
	n = inject_request(relay->rule, relay->secret, relay->program.text, len, out, &is_head, ret_why);
	good = n > 0;
	if (good) {
		*ret_why = EDGE_REASON_SERVER_TLS;
		good = tls_write(relay->host.tls, out, (size_t)n);
		answer_begin(&relay->answer, is_head);
	}
	explicit_bzero(out, len + INJECT_MORE);
	free(out);
	return good;
}

/* 1: something passed; 0; -1. */
static int pass_request(struct relay *relay, enum edge_reason *ret_why, char *ret_detail)
{
	struct end *end = &relay->program;
	const bool at_head = relay->http.state == HTTP_HEAD;
	long n;

	if (!end->len || !relay->host.ready || tls_waiting(relay->host.tls) > WAITING_MAX ||
	    (at_head && relay->answer.state != ANSWER_NONE))
		return 0;
	n = http_step(&relay->http, relay->name, relay->port, end->text, end->len, ret_why, ret_detail);
	if (n <= 0)
		return (int)n;
	*ret_why = EDGE_REASON_HTTP;
	if (relay->http.state == HTTP_UPGRADE)
		return -1;
	*ret_why = EDGE_REASON_SERVER_TLS;
	if (at_head ? !send_head(relay, (size_t)n, ret_why)
		    : !tls_write(relay->host.tls, end->text, (size_t)n))
		return -1;
	drop_text(end, (size_t)n);
	return 1;
}

static int pass_answer(struct relay *relay, enum edge_reason *ret_why)
{
	struct end *end = &relay->host;
	long n;

	if (!end->len || tls_waiting(relay->program.tls) > WAITING_MAX)
		return 0;
	n = answer_step(&relay->answer, relay->secret, end->text, end->len, pass_to_program, relay, ret_why);
	if (n > 0)
		drop_text(end, (size_t)n);
	return n > 0 ? 1 : (int)n;
}

/* Whether one of the two has no more to say. */
static int end_all(struct relay *relay, enum edge_reason *ret_why)
{
	const bool idle = relay->answer.state == ANSWER_NONE;

	if (relay->over || (!relay->host.ended && !(relay->program.ended && idle && !relay->program.len)))
		return 0;
	if (relay->host.ended && relay->host.len)
		return 0;
	*ret_why = EDGE_REASON_ANSWER;
	if (relay->host.ended && !answer_end(&relay->answer, relay->secret, pass_to_program, relay))
		return -1;
	if (relay->program.ready)
		tls_close(relay->program.tls);
	if (relay->host.ready)
		tls_close(relay->host.tls);
	relay->over = true;
	return 0;
}

int relay_step(struct relay *relay, enum edge_reason *ret_why, char *ret_detail)
{
	int passed;

	*ret_detail = '\0';
	do {
		int one;

		if (!read_end(&relay->program, EDGE_REASON_CLIENT_TLS, ret_why)) {
			tls_fault(relay->program.tls, ret_detail, 128);
			return -1;
		}
		if (relay->begun && !read_end(&relay->host, EDGE_REASON_SERVER_TLS, ret_why)) {
			tls_fault(relay->host.tls, ret_detail, 128);
			return -1;
		}
		passed = pass_request(relay, ret_why, ret_detail);
		if (passed < 0)
			return -1;
		one = pass_answer(relay, ret_why);
		if (one < 0)
			return -1;
		passed |= one;
	} while (passed);
	return end_all(relay, ret_why);
}
