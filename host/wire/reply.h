/*
 * reply: a reader of the answer of an HTTP/1 server in a sandbox, which comes in pieces of any size.
 *
 * What the server says is its own word: the head is taken apart and checked, so that whoever passes it on writes it anew. It is more lenient
 * than the standard where no second reader can be misled: lines may end with a bare line feed. Refused are folded lines, control characters,
 * transfer encodings other than chunked, lengths that contradict each other, and heads that are too long. Up to REPLY_INTERIM_MAX interim
 * answers (100 to 199, except 101) are passed over.
 *
 * Life: reply_init() -> reply_take() for each piece, until it is over -> reply_finish() when the server has closed -> reply_done().
 * Source: RFC 9112.
 */
#ifndef WARDER_HOST_WIRE_REPLY_H
#define WARDER_HOST_WIRE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define REPLY_HEADERS_MAX    128
#define REPLY_INTERIM_MAX    16
#define REPLY_LENGTH_UNKNOWN UINT64_MAX

struct reply;

/* Receives the answer. The calls must not free the reply. */
struct reply_sink {
	void *context;
	/* The status and the headers are there. */
	void (*head)(void *context, const struct reply *reply);
	/* Bytes of the body; never 0. */
	void (*bytes)(void *context, const char *bytes, size_t len);
};

enum reply_state {
	REPLY_HEAD,
	REPLY_BODY,  /* `left` bytes */
	REPLY_CHUNK, /* the line with a chunk's size */
	REPLY_DATA,  /* `left` bytes of a chunk */
	REPLY_DATA_END,
	REPLY_TRAILER,
	REPLY_UNTIL_END, /* of the connection */
	REPLY_UPGRADED,  /* what follows is of another protocol, and not taken */
	REPLY_OVER,
	REPLY_FAILED,
};

struct reply_header {
	const char *name, *value; /* in the head */
};

struct reply {
	struct reply_sink sink;
	size_t head_max;
	bool bodiless; /* of a request with the method HEAD */
	bool upgrades; /* the request asked for another protocol */
	enum reply_state state;
	unsigned int status;
	unsigned int interim; /* answers that were passed over */
	uint64_t length;      /* of the body, as the server says; or REPLY_LENGTH_UNKNOWN */
	struct reply_header headers[REPLY_HEADERS_MAX];
	size_t header_count;
	uint64_t left;
	char *text; /* owned: of a head or a line that is not whole */
	size_t text_len, text_size;
	size_t line_at; /* where its last line begins */
};

/* head_max: bytes of a head, and of a trailer. */
void reply_init(struct reply *reply, size_t head_max, const struct reply_sink *sink);
/* Take a piece. *ret_used: so many bytes; all, unless the reply is over or upgraded. -1 with *err: nothing more is to be taken. */
int reply_take(struct reply *reply, const char *bytes, size_t len, size_t *ret_used,
	       struct warder_error *err);
/* The server sends no more. -1 with *err: something is missing. */
int reply_finish(struct reply *reply, struct warder_error *err);
void reply_done(struct reply *reply);

#endif
