#include "host/wire/websocket.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- the head of a frame ---- */

/* Bytes of the head, as far as it can be seen. */
static size_t head_size(const struct websocket_reader *reader)
{
	const unsigned int len = reader->head_len < 2 ? 0 : reader->head[1] & 127;

	return 2 + (len == 127 ? 8 : len == 126 ? 2 : 0) + 4;
}

static uint64_t payload_of(const unsigned char *head)
{
	const unsigned int len = head[1] & 127;
	const size_t count = len == 127 ? 8 : len == 126 ? 2 : 0;
	uint64_t value = 0;

	for (size_t i = 0; i < count; i++)
		value = value << 8 | head[2 + i];
	return count ? value : len;
}

/* The shortest form is the only one. */
static bool is_shortest(const unsigned char *head, uint64_t len)
{
	const unsigned int form = head[1] & 127;

	return form < 126 || (form == 126 ? len > 125 : len > 65535 && !(len >> 63));
}

static enum websocket_code begin_data(struct websocket_reader *reader, enum websocket_opcode opcode)
{
	if ((opcode == WEBSOCKET_CONTINUATION) != (reader->begun != WEBSOCKET_CONTINUATION))
		return WEBSOCKET_BAD_FRAME;
	if (reader->left > reader->max - reader->parts_len)
		return WEBSOCKET_TOO_LONG;
	if (opcode != WEBSOCKET_CONTINUATION)
		reader->begun = opcode;
	return WEBSOCKET_NORMAL;
}

static enum websocket_code begin_frame(struct websocket_reader *reader)
{
	const unsigned char *head = reader->head;
	const enum websocket_opcode opcode = (enum websocket_opcode)(head[0] & 15);

	reader->left = payload_of(head);
	memcpy(reader->mask, head + reader->head_len - 4, 4);
	reader->at = 0;
	reader->final = head[0] & 128;
	reader->control = opcode & 8;
	reader->in_payload = true;
	if ((head[0] & 112) || !(head[1] & 128) || !is_shortest(head, reader->left))
		return WEBSOCKET_BAD_FRAME;
	if (!reader->control)
		return opcode > WEBSOCKET_BINARY ? WEBSOCKET_BAD_FRAME : begin_data(reader, opcode);
	reader->opcode = opcode;
	reader->control_len = 0;
	return opcode <= WEBSOCKET_PONG && reader->final && reader->left <= WEBSOCKET_CONTROL_MAX
		   ? WEBSOCKET_NORMAL
		   : WEBSOCKET_BAD_FRAME;
}

/* ---- the payload ---- */

static char *room_for(struct websocket_reader *reader, size_t len)
{
	char *grown;

	if (reader->control) {
		reader->control_len += len;
		return reader->control_bytes + reader->control_len - len;
	}
	grown = realloc(reader->parts, reader->parts_len + len + 1);
	if (!grown)
		return NULL;
	reader->parts = grown;
	reader->parts_len += len;
	return grown + reader->parts_len - len;
}

static bool take_payload(struct websocket_reader *reader, const char *bytes, size_t len)
{
	char *to = room_for(reader, len);

	if (!to)
		return false;
	for (size_t i = 0; i < len; i++)
		to[i] = (char)((unsigned char)bytes[i] ^ reader->mask[reader->at++ & 3]);
	reader->left -= len;
	return true;
}

/* The frame is whole. Whether a message is. */
static bool end_frame(struct websocket_reader *reader)
{
	reader->in_payload = false;
	reader->head_len = 0;
	if (reader->control) {
		reader->message = reader->control_bytes;
		reader->len = reader->control_len;
	} else if (reader->final) {
		reader->opcode = reader->begun;
		reader->message = reader->parts;
		reader->len = reader->parts_len;
		reader->begun = WEBSOCKET_CONTINUATION;
		reader->told = true;
	} else {
		return false;
	}
	reader->message[reader->len] = '\0';
	return true;
}

/* The last message has been read. */
static void forget_told(struct websocket_reader *reader)
{
	if (!reader->told)
		return;
	reader->told = false;
	reader->parts_len = 0;
}

enum websocket_took websocket_take(struct websocket_reader *reader, const char *bytes, size_t len,
				   size_t *ret_used, enum websocket_code *ret_code)
{
	size_t used = 0;

	forget_told(reader);
	while (used < len || (reader->in_payload && !reader->left)) {
		size_t part;

		if (!reader->in_payload) {
			reader->head[reader->head_len++] = (unsigned char)bytes[used++];
			if (reader->head_len < 2 || reader->head_len < head_size(reader))
				continue;
			*ret_code = begin_frame(reader);
			if (*ret_code != WEBSOCKET_NORMAL)
				return WEBSOCKET_WRONG;
		}
		part = reader->left < len - used ? (size_t)reader->left : len - used;
		if (!take_payload(reader, bytes + used, part)) {
			*ret_code = WEBSOCKET_INTERNAL;
			return WEBSOCKET_WRONG;
		}
		used += part;
		if (!reader->left && end_frame(reader)) {
			*ret_used = used;
			return WEBSOCKET_MESSAGE;
		}
	}
	*ret_used = used;
	return WEBSOCKET_MORE;
}

void websocket_reader_done(struct websocket_reader *reader)
{
	free(reader->parts);
	reader->parts = NULL;
}

size_t websocket_write_head(enum websocket_opcode opcode, uint64_t len, unsigned char ret[WEBSOCKET_HEAD_MAX])
{
	const size_t count = len > 65535 ? 8 : len > 125 ? 2 : 0;

	ret[0] = (unsigned char)(128 | opcode);
	ret[1] = (unsigned char)(count == 8 ? 127 : count == 2 ? 126 : len);
	for (size_t i = 0; i < count; i++)
		ret[2 + i] = (unsigned char)(len >> 8 * (count - 1 - i));
	return 2 + count;
}

/* ---- the handshake ---- */

#define SHA1_BYTES 20

static uint32_t rotate(uint32_t value, int by)
{
	return value << by | value >> (32 - by);
}

static void sha1_block(uint32_t state[5], const unsigned char *block)
{
	static const uint32_t constants[] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };
	uint32_t words[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];

	for (int i = 0; i < 16; i++)
		words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
			   (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 80; i++)
		words[i] = rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
	for (int i = 0; i < 80; i++) {
		const uint32_t mixed = i < 20              ? (b & c) | (~b & d)
				       : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d)
							   : b ^ c ^ d;
		const uint32_t next = rotate(a, 5) + mixed + e + constants[i / 20] + words[i];

		e = d;
		d = c;
		c = rotate(b, 30);
		b = a;
		a = next;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

/* The digest of FIPS 180-4, which the handshake of WebSocket needs and nothing else here: it protects nothing. At most 119 bytes. */
static void sha1(const char *text, size_t len, unsigned char ret[SHA1_BYTES])
{
	uint32_t state[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	unsigned char padded[128] = { 0 };
	const size_t size = len < 56 ? 64 : 128;

	memcpy(padded, text, len);
	padded[len] = 128;
	padded[size - 2] = (unsigned char)(len * 8 >> 8);
	padded[size - 1] = (unsigned char)(len * 8);
	for (size_t at = 0; at < size; at += 64)
		sha1_block(state, padded + at);
	for (size_t i = 0; i < SHA1_BYTES; i++)
		ret[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
}

bool websocket_accept(const char *key, char ret[WEBSOCKET_ACCEPT_SIZE])
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	unsigned char digest[SHA1_BYTES];
	char text[24 + sizeof(guid)];
	size_t len = 0;
	char *bytes = key && strlen(key) == 24 ? text_unbase64(key, 24, &len) : NULL;
	char *encoded;

	free(bytes);
	if (len != 16)
		return false;
	memcpy(text, key, 24);
	memcpy(text + 24, guid, sizeof(guid));
	sha1(text, sizeof(text) - 1, digest);
	encoded = text_base64((const char *)digest, sizeof(digest));
	if (!encoded)
		return false;
	memcpy(ret, encoded, WEBSOCKET_ACCEPT_SIZE);
	free(encoded);
	return true;
}
