/* connect: frames from a client, error codes and answers (host/wire/connect.c). */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "host/wire/connect.h"

/* Give `bytes` in pieces of `step` bytes; write each message and a '|'. Returns the last find. */
static enum connect_found read_all(const char *bytes, size_t len, size_t step, size_t max, char *ret,
				   struct warder_error *err)
{
	struct connect_reader reader = { .max = max };
	enum connect_found found = CONNECT_PART;

	ret[0] = '\0';
	while (len && found != CONNECT_BROKEN) {
		const size_t part = step < len ? step : len;
		size_t left = part;

		while (left) {
			size_t used = 0;

			found = connect_take(&reader, bytes, left, &used, err);
			if (found == CONNECT_BROKEN)
				break;
			if (found == CONNECT_MESSAGE)
				strcat(strncat(ret, reader.message, reader.len), "|");
			bytes += used;
			left -= used;
		}
		len -= part;
	}
	connect_reader_done(&reader);
	return found;
}

Test(connect, frames, .timeout = 20)
{
	static const struct {
		const char *what, *bytes;
		size_t len;
		const char *messages;
		enum connect_found end;
		const char *refusal; /* part of the message, or NULL */
	} rows[] = {
		{ "one", "\0\0\0\0\2{}", 7, "{}|", CONNECT_MESSAGE, NULL },
		{ "two", "\0\0\0\0\2{}\0\0\0\0\1a", 13, "{}|a|", CONNECT_MESSAGE, NULL },
		{ "an empty one", "\0\0\0\0\0", 5, "|", CONNECT_MESSAGE, NULL },
		{ "none", "", 0, "", CONNECT_PART, NULL },
		{ "compressed", "\1\0\0\0\2{}", 7, "", CONNECT_BROKEN, "compressed" },
		{ "an end", "\2\0\0\0\2{}", 7, "", CONNECT_BROKEN, "flags 2" },
		{ "too long", "\0\0\0\0\11{}", 7, "", CONNECT_BROKEN, "9 bytes is over the limit of 8" },
		{ "absurdly long", "\0\377\377\377\377", 5, "", CONNECT_BROKEN, "over the limit" },
		{ "cut in the head", "\0\0\0", 3, "", CONNECT_PART, NULL },
		{ "cut in the message", "\0\0\0\0\4{}", 7, "", CONNECT_PART, NULL },
		{ "cut behind the first", "\0\0\0\0\2{}\0", 8, "{}|", CONNECT_PART, NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		for (size_t step = 1; step < 15; step++) {
			struct warder_error err = { 0 };
			char messages[64];
			enum connect_found found =
			    read_all(rows[i].bytes, rows[i].len, step, 8, messages, &err);

			cr_expect_str_eq(messages, rows[i].messages, "%s by %zu: %s", rows[i].what, step,
					 messages);
			cr_expect_eq(found, rows[i].end, "%s by %zu", rows[i].what, step);
			cr_expect(!rows[i].refusal || strstr(err.text, rows[i].refusal), "%s: %s",
				  rows[i].what, err.text);
		}
	}
}

/* A head that claims much does not make the reader allocate it. */
Test(connect, memory_grows_with_what_came, .timeout = 20)
{
	struct connect_reader reader = { .max = CONNECT_MESSAGE_MAX };
	struct warder_error err;
	size_t used = 0;

	cr_assert_eq(connect_take(&reader, "\0\0\17\377\377abc", 8, &used, &err), CONNECT_PART);
	cr_expect_leq(reader.size, 1024);
	connect_reader_done(&reader);
}

Test(connect, codes, .timeout = 20)
{
	static const struct {
		enum connect_code code;
		const char *name;
		int status;
	} rows[] = {
		{ CONNECT_CANCELED, "canceled", 499 },
		{ CONNECT_INVALID_ARGUMENT, "invalid_argument", 400 },
		{ CONNECT_NOT_FOUND, "not_found", 404 },
		{ CONNECT_ALREADY_EXISTS, "already_exists", 409 },
		{ CONNECT_UNIMPLEMENTED, "unimplemented", 501 },
		{ CONNECT_UNAUTHENTICATED, "unauthenticated", 401 },
		{ CONNECT_CODES, "unknown", 500 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		cr_expect_str_eq(connect_code_name(rows[i].code), rows[i].name);
		cr_expect_eq(connect_code_status(rows[i].code), rows[i].status, "%s", rows[i].name);
	}
	for (int code = CONNECT_CANCELED; code < CONNECT_CODES; code++)
		cr_expect(connect_code_name((enum connect_code)code) &&
			      connect_code_status((enum connect_code)code) >= 400,
			  "code %d", code);
	for (uint32_t kind = WARDER_ERROR_UNSUPPORTED_POLICY; kind <= WARDER_ERROR_INTERNAL; kind++) {
		cr_expect_neq(connect_code_of(kind), CONNECT_UNKNOWN, "kind %u", kind);
		cr_expect_neq(connect_code_of(kind), CONNECT_RESOURCE_EXHAUSTED, "kind %u", kind);
	}
	cr_expect_eq(connect_code_of(WARDER_ERROR_NOT_FOUND), CONNECT_NOT_FOUND);
	cr_expect_eq(connect_code_of(9999), CONNECT_UNKNOWN);
}

Test(connect, headers, .timeout = 20)
{
	static const struct {
		const char *value;
		int status;
		uint64_t number;
	} rows[] = {
		{ NULL, 0, 0 },  { "0", 0, 0 },   { "60000", 0, 60000 }, { "9999999999", 0, 9999999999 },
		{ "", -1, 0 },   { "-1", -1, 0 }, { "1s", -1, 0 },       { "10000000000", -1, 0 },
		{ " 1", -1, 0 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err;
		uint64_t ms = 0;

		cr_expect_eq(connect_parse_timeout(rows[i].value, &ms, &err), rows[i].status, "row %zu", i);
		cr_expect_eq(ms, rows[i].number, "row %zu", i);
		ms = 0;
		cr_expect_eq(connect_parse_keepalive(rows[i].value, &ms, &err), rows[i].status, "row %zu", i);
		cr_expect_eq(ms, rows[i].number * 1000, "row %zu", i);
	}
}

Test(connect, answers, .timeout = 20)
{
	struct json_writer w = { 0 };
	size_t len = 0;
	char *frame;

	json_begin_object(&w);
	json_end_object(&w);
	frame = connect_frame(&w, &len);
	cr_expect(len == 7 && memcmp(frame, "\0\0\0\0\2{}", 7) == 0);
	free(frame);
	frame = connect_end_frame(0, NULL, &len);
	cr_expect(len == 7 && memcmp(frame, "\2\0\0\0\2{}", 7) == 0);
	free(frame);
	frame = connect_end_frame(CONNECT_NOT_FOUND, "no \"x\"", &len);
	cr_expect(len == 5 + 51 &&
		      memcmp(frame,
			     "\2\0\0\0\63{\"error\":{\"code\":\"not_found\",\"message\":\"no \\\"x\\\"\"}}",
			     len) == 0,
		  "%zu: %.*s", len, (int)len - 5, frame + 5);
	free(frame);
	w.failed = true;
	cr_expect_null(connect_frame(&w, &len));
}
