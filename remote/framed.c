/*
 * framed: a byte of flags, the length in 4 bytes, and the message. Memory is taken for one message at a time, and its length is checked first.
 */
#include "remote/framed.h"

#include <stdlib.h>
#include <string.h>

#define FLAG_COMPRESSED 1
#define FLAG_LAST       2

static int begin_message(struct framed *framed, size_t *ret_len, struct warder_error *err)
{
	const unsigned char *head = framed->head;
	const size_t len = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];

	if (head[0] & FLAG_COMPRESSED)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
				 "the host sent a compressed message");
	if (head[0] & ~FLAG_LAST)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
				 "the host sent a message with the flags %u", head[0]);
	if (len > FRAMED_MESSAGE_MAX)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
				 "the host sent a message of more than 4 MiB");
	if (!framed->message)
		framed->message = malloc(len + 1);
	if (!framed->message)
		return error_no_memory(err, "backend");
	*ret_len = len;
	return 0;
}

static size_t take_part(char *to, size_t have, size_t most, const char *bytes, size_t len)
{
	const size_t part = most - have < len ? most - have : len;

	memcpy(to + have, bytes, part);
	return part;
}

int framed_take(struct framed *framed, const char *bytes, size_t len,
		int (*found)(void *context, bool last, const char *message, size_t len,
			     struct warder_error *err),
		void *context, struct warder_error *err)
{
	while (len) {
		size_t used = take_part((char *)framed->head, framed->head_len, FRAMED_HEAD, bytes, len);
		size_t expected = 0;

		framed->head_len += used;
		bytes += used;
		len -= used;
		if (framed->head_len < FRAMED_HEAD)
			return 0;
		if (begin_message(framed, &expected, err) < 0)
			return -1;
		used = take_part(framed->message, framed->len, expected, bytes, len);
		framed->len += used;
		bytes += used;
		len -= used;
		if (framed->len < expected)
			return 0;
		framed->message[expected] = '\0';
		if (found(context, framed->head[0] & FLAG_LAST, framed->message, expected, err) < 0)
			return -1;
		framed_done(framed);
	}
	return 0;
}

char *framed_write(char *message, size_t *ret_len)
{
	const size_t len = message ? strlen(message) : 0;
	char *frame = message ? malloc(FRAMED_HEAD + len) : NULL;

	if (frame) {
		frame[0] = 0;
		for (int i = 0; i < 4; i++)
			frame[1 + i] = (char)(len >> (24 - 8 * i));
		memcpy(frame + FRAMED_HEAD, message, len);
		*ret_len = FRAMED_HEAD + len;
	}
	free(message);
	return frame;
}

void framed_done(struct framed *framed)
{
	free(framed->message);
	*framed = (struct framed){ 0 };
}
