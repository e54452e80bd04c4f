#include "host/wire/connect.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum frame_flag { FLAG_COMPRESSED = 1, FLAG_END = 2 };

static const struct {
	const char *name;
	int status;
} codes[CONNECT_CODES] = {
	[CONNECT_CANCELED] = { "canceled", 499 },
	[CONNECT_UNKNOWN] = { "unknown", 500 },
	[CONNECT_INVALID_ARGUMENT] = { "invalid_argument", 400 },
	[CONNECT_DEADLINE_EXCEEDED] = { "deadline_exceeded", 504 },
	[CONNECT_NOT_FOUND] = { "not_found", 404 },
	[CONNECT_ALREADY_EXISTS] = { "already_exists", 409 },
	[CONNECT_PERMISSION_DENIED] = { "permission_denied", 403 },
	[CONNECT_RESOURCE_EXHAUSTED] = { "resource_exhausted", 429 },
	[CONNECT_FAILED_PRECONDITION] = { "failed_precondition", 400 },
	[CONNECT_ABORTED] = { "aborted", 409 },
	[CONNECT_OUT_OF_RANGE] = { "out_of_range", 400 },
	[CONNECT_UNIMPLEMENTED] = { "unimplemented", 501 },
	[CONNECT_INTERNAL] = { "internal", 500 },
	[CONNECT_UNAVAILABLE] = { "unavailable", 503 },
	[CONNECT_DATA_LOSS] = { "data_loss", 500 },
	[CONNECT_UNAUTHENTICATED] = { "unauthenticated", 401 },
};

/* resource_exhausted is not among them: clients report it as "rate limit exceeded", whatever the message says. */
static const enum connect_code kinds[] = {
	[WARDER_ERROR_UNSUPPORTED_POLICY] = CONNECT_FAILED_PRECONDITION,
	[WARDER_ERROR_UNSUPPORTED_LANGUAGE] = CONNECT_UNIMPLEMENTED,
	[WARDER_ERROR_INVALID_REQUEST] = CONNECT_INVALID_ARGUMENT,
	[WARDER_ERROR_COMPILE_FAILED] = CONNECT_FAILED_PRECONDITION,
	[WARDER_ERROR_TIMEOUT] = CONNECT_DEADLINE_EXCEEDED,
	[WARDER_ERROR_EXECUTION_FAILED] = CONNECT_INVALID_ARGUMENT,
	[WARDER_ERROR_REJECTED] = CONNECT_PERMISSION_DENIED,
	[WARDER_ERROR_NOT_FOUND] = CONNECT_NOT_FOUND,
	[WARDER_ERROR_CONFLICT] = CONNECT_FAILED_PRECONDITION,
	[WARDER_ERROR_UNAVAILABLE] = CONNECT_UNAVAILABLE,
	[WARDER_ERROR_INTERNAL] = CONNECT_INTERNAL,
};

static bool is_code(enum connect_code code)
{
	return code > 0 && code < CONNECT_CODES;
}

const char *connect_code_name(enum connect_code code)
{
	return codes[is_code(code) ? code : CONNECT_UNKNOWN].name;
}

int connect_code_status(enum connect_code code)
{
	return codes[is_code(code) ? code : CONNECT_UNKNOWN].status;
}

enum connect_code connect_code_of(uint32_t error_kind)
{
	return error_kind < ARRAY_LENGTH(kinds) && kinds[error_kind] ? kinds[error_kind] : CONNECT_UNKNOWN;
}

/* ---- frames from a client ---- */

static int check_head(const struct connect_reader *reader, size_t *ret_len, struct warder_error *err)
{
	const unsigned char *head = reader->head;
	const size_t len = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];

	if (head[0] & FLAG_COMPRESSED)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "a frame is compressed; send it uncompressed");
	if (head[0] != 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "a frame has the flags %u, not 0",
				 head[0]);
	if (len > reader->max)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "a message of %zu bytes is over the limit of %zu bytes", len, reader->max);
	*ret_len = len;
	return 0;
}

/* Room for `more` bytes and a NUL. */
static int make_room(struct connect_reader *reader, size_t more, struct warder_error *err)
{
	const size_t needed = reader->len + more + 1;
	size_t size = reader->size ? reader->size : 256;
	char *grown;

	if (needed <= reader->size)
		return 0;
	while (size < needed)
		size *= 2;
	grown = realloc(reader->message, size);
	if (!grown)
		return error_no_memory(err, NULL);
	reader->message = grown;
	reader->size = size;
	return 0;
}

enum connect_found connect_take(struct connect_reader *reader, const char *bytes, size_t len,
				size_t *ret_used, struct warder_error *err)
{
	size_t used = 0, expected = 0, part;

	if (reader->whole) {
		reader->whole = false;
		reader->head_len = reader->len = 0;
	}
	part = CONNECT_HEAD - reader->head_len < len ? CONNECT_HEAD - reader->head_len : len;
	if (part)
		memcpy(reader->head + reader->head_len, bytes, part);
	reader->head_len += part;
	used += part;
	*ret_used = used;
	if (reader->head_len < CONNECT_HEAD)
		return CONNECT_PART;
	if (check_head(reader, &expected, err) < 0)
		return CONNECT_BROKEN;
	part = expected - reader->len < len - used ? expected - reader->len : len - used;
	if (make_room(reader, part, err) < 0)
		return CONNECT_BROKEN;
	if (part)
		memcpy(reader->message + reader->len, bytes + used, part);
	reader->len += part;
	*ret_used = used + part;
	if (reader->len < expected)
		return CONNECT_PART;
	reader->message[reader->len] = '\0';
	reader->whole = true;
	return CONNECT_MESSAGE;
}

void connect_reader_done(struct connect_reader *reader)
{
	free(reader->message);
	*reader = (struct connect_reader){ .max = reader->max };
}

static int parse_number(const char *header, const char *value, uint64_t *ret, struct warder_error *err)
{
	uint64_t number = 0;
	size_t len = 0;

	for (; value && value[len]; len++) {
		if (value[len] < '0' || value[len] > '9' || len >= 10)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, header,
					 "%s: %.40s: not a number of at most 10 digits", header, value);
		number = number * 10 + (uint64_t)(value[len] - '0');
	}
	if (value && !len)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, header, "%s: the value is empty", header);
	*ret = number;
	return 0;
}

int connect_parse_timeout(const char *value, uint64_t *ret_ms, struct warder_error *err)
{
	return parse_number("Connect-Timeout-Ms", value, ret_ms, err);
}

int connect_parse_keepalive(const char *value, uint64_t *ret_ms, struct warder_error *err)
{
	uint64_t seconds = 0;

	if (parse_number("Keepalive-Ping-Interval", value, &seconds, err) < 0)
		return -1;
	*ret_ms = seconds * 1000;
	return 0;
}

/* ---- answers ---- */

static char *frame_of(struct json_writer *w, unsigned char flags, size_t *ret_len)
{
	const size_t len = w->len;
	char *text = json_take(w);
	char *frame = text && len <= UINT32_MAX ? malloc(CONNECT_HEAD + len) : NULL;

	if (frame) {
		frame[0] = (char)flags;
		for (int i = 0; i < 4; i++)
			frame[1 + i] = (char)(len >> (24 - 8 * i));
		memcpy(frame + CONNECT_HEAD, text, len);
		*ret_len = CONNECT_HEAD + len;
	}
	free(text);
	return frame;
}

char *connect_frame(struct json_writer *w, size_t *ret_len)
{
	return frame_of(w, 0, ret_len);
}

char *connect_end_frame(enum connect_code code, const char *message, size_t *ret_len)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	if (code) {
		json_key(&w, "error");
		connect_write_error(&w, code, message);
	}
	json_end_object(&w);
	return frame_of(&w, FLAG_END, ret_len);
}

void connect_write_error(struct json_writer *w, enum connect_code code, const char *message)
{
	json_begin_object(w);
	json_key_string(w, "code", connect_code_name(code));
	json_key_string(w, "message", message ? message : "");
	json_end_object(w);
}
