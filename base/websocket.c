#include "base/websocket.h"

#include <stdlib.h>
#include <string.h>

#include "base/sha1.h"
#include "base/text.h"

/* ---- the head of a frame ---- */

/* Bytes of the head, as far as it can be seen. */
static size_t head_size(const struct websocket_reader *reader)
{
	const unsigned int len = reader->head_len < 2 ? 0 : reader->head[1] & 127;

	return 2 + (len == 127 ? 8 : len == 126 ? 2 : 0) + (reader->is_client ? 0 : 4);
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
	if (!reader->is_client)
		memcpy(reader->mask, head + reader->head_len - 4, 4);
	reader->at = 0;
	reader->final = head[0] & 128;
	reader->control = opcode & 8;
	reader->in_payload = true;
	if ((head[0] & 112) || !(head[1] & 128) != reader->is_client || !is_shortest(head, reader->left))
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

size_t websocket_write_masked(enum websocket_opcode opcode, const char *bytes, size_t len,
			      const unsigned char mask[4], char *to)
{
	unsigned char head[WEBSOCKET_HEAD_MAX];
	const size_t head_len = websocket_write_head(opcode, len, head);

	head[1] |= 128;
	memcpy(to, head, head_len);
	memcpy(to + head_len, mask, 4);
	for (size_t i = 0; i < len; i++)
		to[head_len + 4 + i] = (char)((unsigned char)bytes[i] ^ mask[i & 3]);
	return head_len + 4 + len;
}

/* ---- the handshake ---- */

bool websocket_accept(const char *key, char ret[WEBSOCKET_ACCEPT_SIZE])
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	unsigned char digest[SHA1_BYTES];
	struct sha1 sha;
	char text[24 + sizeof(guid)];
	size_t len = 0;
	char *bytes = key && strlen(key) == 24 ? text_unbase64(key, 24, &len) : NULL;
	char *encoded;

	free(bytes);
	if (len != 16)
		return false;
	memcpy(text, key, 24);
	memcpy(text + 24, guid, sizeof(guid));
	sha1_init(&sha);
	sha1_add(&sha, text, sizeof(text) - 1);
	sha1_digest(&sha, digest);
	encoded = text_base64((const char *)digest, sizeof(digest));
	if (!encoded)
		return false;
	memcpy(ret, encoded, WEBSOCKET_ACCEPT_SIZE);
	free(encoded);
	return true;
}
