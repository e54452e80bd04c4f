/*
 * framed: the answer of a streaming call of the Connect protocol, cut into its messages. Private to remote/.
 *
 * Life: zeroed -> framed_take() for each piece of the answer -> framed_done(). Pure; any thread.
 * Source: https://connectrpc.com/docs/protocol
 */
#ifndef WARDER_REMOTE_FRAMED_H
#define WARDER_REMOTE_FRAMED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define FRAMED_HEAD        5
#define FRAMED_MESSAGE_MAX ((size_t)4 << 20)

struct framed {
	unsigned char head[FRAMED_HEAD];
	size_t head_len;
	char *message; /* owned */
	size_t len;
};

/* Take the next bytes of the answer. Calls found() with each complete message; `last` is true for the message that ends the answer. -1 with *err
 * if a frame is not valid, or if found() returned -1. After that, do not call this function again. */
int framed_take(struct framed *framed, const char *bytes, size_t len,
		int (*found)(void *context, bool last, const char *message, size_t len,
			     struct warder_error *err),
		void *context, struct warder_error *err);
/* The message, which it frees, in a frame: heap. NULL without memory, also if the message is NULL. */
char *framed_write(char *message, size_t *ret_len);
void framed_done(struct framed *framed);

#endif
