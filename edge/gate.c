/*
 * On ports other than 80 and 443, the first word of a connection passes before it is known what follows: other protocols may begin with a word and
 * wait for the server, and no server acts on the method of a request alone. The word is kept: with the rest of the line it is a request or not.
 */
#include "edge/gate.h"

#include <stdio.h>
#include <string.h>

#define RECORD_HEADER 5
#define RECORD_CIPHER 20
#define RECORD_ALERT  21
#define RECORD_HELLO  22
#define RECORD_DATA   23
#define RECORD_LAST   24
#define VERSION_END   0x10 /* no server takes a record whose version begins with this or more */
#define SSL2_HELLO    1
#define SSL2_BYTES    5

_Static_assert(GATE_HELD_MAX > HELLO_MAX_RAW && GATE_HELD_MAX > HTTP_HEAD_MAX,
	       "what a decision needs is held");

static bool is_strict(uint16_t port)
{
	return port == 80 || port == 443;
}

/* What has come, and what becomes of it. */
struct look {
	const char *name;
	uint16_t port;
	const uint8_t *bytes;
	size_t len;
	size_t *ret_pass;
	enum edge_reason *ret_why;
	char *ret_other;
};

static int pass(const struct look *look, size_t len)
{
	*look->ret_pass = len;
	return 0;
}

static int refuse(const struct look *look, enum edge_reason why)
{
	*look->ret_why = why;
	return -1;
}

static int open_gate(struct gate *gate, const struct look *look)
{
	gate->state = GATE_OPEN;
	return pass(look, look->len);
}

/* ---- TLS ---- */

/* *ret_len: the length of a whole ClientHello that names the host; 0: more has to come. */
static int check_hello(const struct look *look, size_t at, size_t *ret_len)
{
	char asked[256];

	*ret_len = 0;
	switch (hello_read(look->bytes + at, look->len - at, asked, ret_len, look->ret_why)) {
	case HELLO_MORE:
		return 0;
	case HELLO_REFUSED:
		return -1;
	case HELLO_NAMED:
		break;
	}
	if (strcmp(asked, look->name) == 0)
		return 0;
	snprintf(look->ret_other, 128, "%.127s", asked);
	return refuse(look, EDGE_REASON_OTHER_NAME);
}

static int check_first_hello(struct gate *gate, const struct look *look)
{
	size_t hello;

	if (check_hello(look, 0, &hello) < 0)
		return -1;
	if (hello && gate->ends_tls)
		return open_gate(gate, look);
	if (hello)
		gate->state = GATE_ANSWER;
	return pass(look, hello);
}

/* A change of the cipher, an alert or early data may stand before a second ClientHello. */
static bool is_between(uint8_t record)
{
	return record == RECORD_CIPHER || record == RECORD_ALERT || record == RECORD_DATA;
}

static int check_second_hello(struct gate *gate, const struct look *look)
{
	size_t at = 0;
	size_t hello;

	while (at < look->len && is_between(look->bytes[at])) {
		size_t record;

		if (look->len - at < RECORD_HEADER)
			return pass(look, at);
		record = RECORD_HEADER + ((size_t)look->bytes[at + 3] << 8 | look->bytes[at + 4]);
		if (look->len - at < record)
			return pass(look, at);
		at += record;
	}
	if (at < look->len) {
		if (check_hello(look, at, &hello) < 0)
			return -1;
		if (hello)
			return open_gate(gate, look);
	}
	return pass(look, at);
}

/* Some servers pass over alerts before a ClientHello, and over its version: whatever looks like a record is TLS. */
static enum http_kind is_tls(const uint8_t *bytes, size_t len)
{
	if (bytes[0] == RECORD_HELLO)
		return HTTP_YES;
	if (bytes[0] < RECORD_CIPHER || bytes[0] > RECORD_LAST)
		return HTTP_NO;
	return len < 2 ? HTTP_MAYBE : bytes[1] < VERSION_END ? HTTP_YES : HTTP_NO;
}

/* A ClientHello in the form of SSL 2.0, which has no server name; some servers still read it. Source: RFC 5246, E.2. */
static enum http_kind is_ssl2(const uint8_t *bytes, size_t len)
{
	if (bytes[0] < 0x80 || bytes[0] > 0xc3 || (len > 2 && bytes[2] != SSL2_HELLO) ||
	    (len > 3 && bytes[3] != 0 && bytes[3] != 3))
		return HTTP_NO;
	if (len < SSL2_BYTES)
		return HTTP_MAYBE;
	return bytes[3] == 3 || bytes[4] == 2 ? HTTP_YES : HTTP_NO;
}

/* ---- HTTP ---- */

/* The bytes with the word before them that has passed. They are valid until the next call. */
static const uint8_t *join(const struct gate *gate, const uint8_t *bytes, size_t len)
{
	static uint8_t joined[HTTP_METHOD_MAX + GATE_HELD_MAX];

	if (!gate->word_len)
		return bytes;
	memcpy(joined, gate->word, gate->word_len);
	memcpy(joined + gate->word_len, bytes, len < GATE_HELD_MAX ? len : GATE_HELD_MAX);
	return joined;
}

static int check_http(struct gate *gate, const struct look *look)
{
	const size_t word = gate->word_len;
	size_t passed;

	if (http_check(&gate->http, look->name, look->port, join(gate, look->bytes, look->len),
		       word + look->len, &passed, look->ret_why, look->ret_other) < 0)
		return -1;
	if (!passed)
		return pass(look, 0);
	gate->word_len = 0;
	return pass(look, passed - word);
}

/* ---- the first bytes ---- */

static int check_strict(struct gate *gate, const struct look *look)
{
	size_t word;
	const enum http_kind kind = http_is(look->bytes, look->len, &word);

	if (kind == HTTP_NO || word > HTTP_METHOD_MAX || !http_is_method(look->bytes, word))
		return refuse(look, EDGE_REASON_FIRST_BYTES);
	if (kind != HTTP_YES)
		return pass(look, 0);
	gate->state = GATE_HTTP;
	return check_http(gate, look);
}

static int pass_word(struct gate *gate, const struct look *look, size_t at)
{
	for (; at < look->len; at++) {
		if (gate->word_len < HTTP_METHOD_MAX)
			gate->word[gate->word_len++] = (char)look->bytes[at];
		else
			gate->is_odd = true;
	}
	return pass(look, look->len);
}

static int check_other(struct gate *gate, const struct look *look)
{
	size_t at = 0;
	size_t word;

	/* Some servers pass over such bytes before a request. */
	while (!gate->word_len && at < look->len && (look->bytes[at] <= ' ' || look->bytes[at] == 0x7f))
		at++;
	gate->is_odd |= at > 0;
	if (at == look->len)
		return pass(look, at);
	switch (
	    http_is(join(gate, look->bytes + at, look->len - at), gate->word_len + look->len - at, &word)) {
	case HTTP_WORD:
		return pass_word(gate, look, at);
	case HTTP_MAYBE:
		return pass(look, at);
	case HTTP_NO:
		return open_gate(gate, look);
	case HTTP_YES:
		break;
	}
	if (gate->is_odd || word > HTTP_METHOD_MAX)
		return refuse(look, EDGE_REASON_HTTP);
	gate->state = GATE_HTTP;
	return check_http(gate, look);
}

static int check_first(struct gate *gate, const struct look *look)
{
	const bool begins = !gate->is_odd && !gate->word_len;
	const enum http_kind tls = begins ? is_tls(look->bytes, look->len) : HTTP_NO;
	const enum http_kind ssl2 =
	    begins && !is_strict(look->port) ? is_ssl2(look->bytes, look->len) : HTTP_NO;

	if (tls == HTTP_YES)
		return check_first_hello(gate, look);
	if (ssl2 == HTTP_YES)
		return refuse(look, EDGE_REASON_NO_SERVER_NAME);
	if (tls == HTTP_MAYBE || ssl2 == HTTP_MAYBE)
		return pass(look, 0);
	return is_strict(look->port) ? check_strict(gate, look) : check_other(gate, look);
}

int gate_check(struct gate *gate, const char *name, uint16_t port, const uint8_t *bytes, size_t len,
	       size_t *ret_pass, enum edge_reason *ret_why, char *ret_other)
{
	const struct look look = { name,     port,
				   bytes,    gate->word_len && len > GATE_HELD_MAX ? GATE_HELD_MAX : len,
				   ret_pass, ret_why,
				   ret_other };

	*ret_pass = 0;
	*ret_other = '\0';
	if (len == 0)
		return 0;
	switch (gate->state) {
	case GATE_FIRST:
		return check_first(gate, &look);
	case GATE_ANSWER:
		return 0;
	case GATE_RETRY:
		return check_second_hello(gate, &look);
	case GATE_HTTP:
		return check_http(gate, &look);
	case GATE_OPEN:
		break;
	}
	return pass(&look, len);
}

bool gate_waits(const struct gate *gate)
{
	return gate->state == GATE_ANSWER || (gate->state == GATE_HTTP && gate->http.state == HTTP_UPGRADE);
}

void gate_answered(struct gate *gate, const uint8_t *bytes, size_t len)
{
	if (gate->state == GATE_HTTP)
		http_answered(&gate->http, bytes, len);
	if (gate->state != GATE_ANSWER)
		return;
	for (size_t i = 0; i < len && gate->answer_len < HELLO_ANSWER; i++)
		gate->answer[gate->answer_len++] = bytes[i];
	if (len && gate->answer[0] == RECORD_HELLO && gate->answer_len < HELLO_ANSWER)
		return;
	gate->state =
	    gate->answer_len == HELLO_ANSWER && hello_is_retry(gate->answer) ? GATE_RETRY : GATE_OPEN;
}

bool gate_is_undecided(const struct gate *gate)
{
	return gate->state == GATE_FIRST || gate->state == GATE_RETRY ||
	       (gate->state == GATE_HTTP && !gate->http.later);
}
