#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/websocket.h"

struct text {
	unsigned char bytes[200];
	size_t len;
};

/* A frame of a client, whose mask is 1, 2, 3, 4. */
static struct text frame(unsigned int first, const char *payload)
{
	const size_t len = strlen(payload);
	struct text text = { .bytes = { (unsigned char)first, (unsigned char)(128 | len), 1, 2, 3, 4 },
			     .len = 6 + len };

	for (size_t i = 0; i < len; i++)
		text.bytes[6 + i] = (unsigned char)payload[i] ^ (unsigned char)(i % 4 + 1);
	return text;
}

/* What the bytes are, as "opcode:message" one after the other, or "!code"; whatever the pieces are in which they come. */
static void read_all(const unsigned char *bytes, size_t len, size_t piece, char *ret, size_t size)
{
	struct websocket_reader reader = { .max = 20 };
	enum websocket_code code = WEBSOCKET_NORMAL;
	size_t at = 0, out = 0;

	ret[0] = '\0';
	while (at < len) {
		const size_t part = len - at < piece ? len - at : piece;
		size_t used = 0;
		const enum websocket_took took =
		    websocket_take(&reader, (const char *)bytes + at, part, &used, &code);

		if (took == WEBSOCKET_WRONG) {
			snprintf(ret + out, size - out, "!%d", (int)code);
			break;
		}
		if (took == WEBSOCKET_MESSAGE)
			out += (size_t)snprintf(ret + out, size - out, "%d:%s ", (int)reader.opcode,
						reader.message);
		cr_assert(took == WEBSOCKET_MESSAGE || used == part);
		at += used;
	}
	websocket_reader_done(&reader);
}

Test(websocket, frames_are_read_whatever_their_pieces, .timeout = 60)
{
	static const struct {
		struct {
			unsigned int first;
			const char *payload;
		} frames[4];
		const char *wanted;
	} rows[] = {
		{ { { 0x82, "hello" } }, "2:hello " },
		{ { { 0x81, "" } }, "1: " },
		{ { { 0x01, "he" }, { 0x89, "ping" }, { 0x80, "llo" } }, "9:ping 1:hello " },
		{ { { 0x81, "a" }, { 0x82, "b" }, { 0x88, "" } }, "1:a 2:b 8: " },
		{ { { 0x82, "12345678901234567890" } }, "2:12345678901234567890 " },
		{ { { 0x82, "123456789012345678901" } }, "!1009" },
		{ { { 0x02, "12345678901" }, { 0x80, "1234567890" } }, "!1009" },
		{ { { 0x80, "a" } }, "!1002" },                /* nothing is continued */
		{ { { 0x01, "a" }, { 0x82, "b" } }, "!1002" }, /* something is */
		{ { { 0xc2, "a" } }, "!1002" },                /* a reserved bit */
		{ { { 0x83, "a" } }, "!1002" },                /* an opcode that there is not */
		{ { { 0x8b, "a" } }, "!1002" },
		{ { { 0x09, "a" } }, "!1002" }, /* a control frame in parts */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned char bytes[400];
		size_t len = 0;

		for (size_t j = 0; j < 4 && rows[i].frames[j].payload; j++) {
			const struct text one = frame(rows[i].frames[j].first, rows[i].frames[j].payload);

			memcpy(bytes + len, one.bytes, one.len);
			len += one.len;
		}
		for (size_t piece = 1; piece <= len; piece++) {
			char found[200];

			read_all(bytes, len, piece, found, sizeof(found));
			cr_expect_str_eq(found, rows[i].wanted, "row %zu in pieces of %zu: %s", i, piece,
					 found);
		}
	}
}

Test(websocket, a_head_that_is_not_the_shortest_or_has_no_mask_is_refused, .timeout = 60)
{
	static const struct {
		unsigned char bytes[16];
		size_t len;
	} rows[] = {
		{ { 0x82, 5, 'h', 'e', 'l', 'l', 'o' }, 7 },
		{ { 0x82, 254, 0, 5, 1, 2, 3, 4 }, 8 },
		{ { 0x82, 255, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4 }, 14 },
		{ { 0x82, 255, 128, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4 }, 14 },
		{ { 0x88, 254, 0, 126, 1, 2, 3, 4 }, 8 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char found[100];

		read_all(rows[i].bytes, rows[i].len, 3, found, sizeof(found));
		cr_expect_str_eq(found, "!1002", "row %zu: %s", i, found);
	}
}

Test(websocket, heads_are_written_in_the_shortest_form, .timeout = 60)
{
	unsigned char head[WEBSOCKET_HEAD_MAX];

	cr_expect(websocket_write_head(WEBSOCKET_BINARY, 125, head) == 2 && memcmp(head, "\x82\x7d", 2) == 0);
	cr_expect(websocket_write_head(WEBSOCKET_TEXT, 126, head) == 4 &&
		  memcmp(head, "\x81\x7e\0\x7e", 4) == 0);
	cr_expect(websocket_write_head(WEBSOCKET_TEXT, 65536, head) == 10 &&
		  memcmp(head, "\x81\x7f\0\0\0\0\0\1\0\0", 10) == 0);
}

Test(websocket, the_handshake_is_that_of_the_standard, .timeout = 60)
{
	char accept[WEBSOCKET_ACCEPT_SIZE];

	/* RFC 6455, section 1.3 */
	cr_expect(websocket_accept("dGhlIHNhbXBsZSBub25jZQ==", accept));
	cr_expect_str_eq(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
	cr_expect_not(websocket_accept(NULL, accept));
	cr_expect_not(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=", accept));
	cr_expect_not(websocket_accept("dGhlIHNhbXBsZSBub25jZQ!!", accept));
	cr_expect_not(websocket_accept("dGhlIHNhbXBsZSBub25jZTEy", accept));
}

Test(websocket, a_client_writes_what_a_server_reads, .timeout = 60)
{
	static const unsigned char mask[4] = { 9, 0, 255, 7 };
	static const size_t lengths[] = { 0, 1, 125, 126, 65535, 65536 };
	char *payload = malloc(65536), *frame = malloc(65536 + WEBSOCKET_HEAD_MAX);

	for (size_t i = 0; i < 65536; i++)
		payload[i] = (char)(i * 7);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct websocket_reader reader = { .max = 65536 };
		enum websocket_code code = WEBSOCKET_NORMAL;
		size_t used = 0;
		const size_t len = websocket_write_masked(WEBSOCKET_BINARY, payload, lengths[i], mask, frame);

		cr_expect(websocket_take(&reader, frame, len, &used, &code) == WEBSOCKET_MESSAGE &&
			      used == len && reader.opcode == WEBSOCKET_BINARY && reader.len == lengths[i] &&
			      memcmp(reader.message, payload, reader.len) == 0,
			  "%zu bytes", lengths[i]);
		websocket_reader_done(&reader);
	}
	free(payload);
	free(frame);
}

Test(websocket, a_client_reads_what_a_server_writes, .timeout = 60)
{
	static const char *const payloads[] = { "", "abc" };

	for (size_t i = 0; i < 2; i++) {
		for (int is_client = 0; is_client < 2; is_client++) {
			struct websocket_reader reader = { .max = 20, .is_client = is_client };
			unsigned char bytes[WEBSOCKET_HEAD_MAX + 20] = { 0 };
			enum websocket_code code = WEBSOCKET_NORMAL;
			const size_t len = strlen(payloads[i]);
			const size_t head_len = websocket_write_head(WEBSOCKET_TEXT, len, bytes);
			enum websocket_took took;
			size_t used = 0;

			memcpy(bytes + head_len, payloads[i], len);
			took = websocket_take(&reader, (const char *)bytes,
					      is_client ? head_len + len : sizeof(bytes), &used, &code);
			if (is_client)
				cr_expect(took == WEBSOCKET_MESSAGE &&
					  strcmp(reader.message, payloads[i]) == 0);
			else
				cr_expect(took == WEBSOCKET_WRONG && code == WEBSOCKET_BAD_FRAME);
			websocket_reader_done(&reader);
		}
	}
}
