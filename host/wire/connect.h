/*
 * connect: the framing and the error codes of the Connect protocol, which E2B's clients speak to a sandbox.
 *
 * A unary call is a JSON body each way; its error is an HTTP status with {"code", "message"}. A streaming call sends frames: a byte of
 * flags, the length of the message (4 bytes, big-endian), and the message as JSON. Each answer ends with a frame of its own, also after
 * an error, and its HTTP status is always 200. Compressed frames are refused; a server need not offer compression.
 *
 * Life of a reader: zeroed with `max` set -> connect_take() for each piece of the body -> connect_reader_done(). Pure functions without global state; any thread.
 * Source: https://connectrpc.com/docs/protocol
 */
#ifndef WARDER_HOST_WIRE_CONNECT_H
#define WARDER_HOST_WIRE_CONNECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

#define CONNECT_HEAD        5
#define CONNECT_MESSAGE_MAX ((size_t)1 << 20) /* bytes of one message from a client */

enum connect_code {
	CONNECT_CANCELED = 1,
	CONNECT_UNKNOWN,
	CONNECT_INVALID_ARGUMENT,
	CONNECT_DEADLINE_EXCEEDED,
	CONNECT_NOT_FOUND,
	CONNECT_ALREADY_EXISTS,
	CONNECT_PERMISSION_DENIED,
	CONNECT_RESOURCE_EXHAUSTED,
	CONNECT_FAILED_PRECONDITION,
	CONNECT_ABORTED,
	CONNECT_OUT_OF_RANGE,
	CONNECT_UNIMPLEMENTED,
	CONNECT_INTERNAL,
	CONNECT_UNAVAILABLE,
	CONNECT_DATA_LOSS,
	CONNECT_UNAUTHENTICATED,
	CONNECT_CODES,
};

/* As a client reads it: "not_found". */
const char *connect_code_name(enum connect_code code);
/* The HTTP status of a unary error. */
int connect_code_status(enum connect_code code);
/* The code for an error of Warder's. */
enum connect_code connect_code_of(uint32_t error_kind);

/* ---- frames from a client ---- */

struct connect_reader {
	size_t max; /* bytes of a message; longer ones are refused */
	unsigned char head[CONNECT_HEAD];
	size_t head_len;
	char *message; /* owned; NUL-terminated when it is whole */
	size_t len, size;
	bool whole; /* the next byte begins another frame */
};

enum connect_found {
	CONNECT_BROKEN = -1, /* with *err; nothing more is to be read */
	CONNECT_PART,        /* all bytes are used */
	CONNECT_MESSAGE,     /* reader->message, reader->len, until the next call */
};

/* Take bytes up to the end of the next frame. *ret_used is set unless the stream is broken: call again with the other bytes. Memory
 * grows with the bytes that came, not with the length that a frame claims. */
enum connect_found connect_take(struct connect_reader *reader, const char *bytes, size_t len,
				size_t *ret_used, struct warder_error *err);
void connect_reader_done(struct connect_reader *reader);

/* The headers Connect-Timeout-Ms and Keepalive-Ping-Interval (seconds). A header that is missing (NULL) or 0 is 0: none. -1 with *err:
 * not a number of up to 10 digits. */
int connect_parse_timeout(const char *value, uint64_t *ret_ms, struct warder_error *err);
int connect_parse_keepalive(const char *value, uint64_t *ret_ms, struct warder_error *err);

/* ---- answers ---- */

/* A frame with the writer's JSON; empties the writer. Heap; NULL: no memory. */
char *connect_frame(struct json_writer *w, size_t *ret_len);
/* The frame that ends a stream, with an error unless `code` is 0. Heap; NULL: no memory. */
char *connect_end_frame(enum connect_code code, const char *message, size_t *ret_len);
/* The body of a unary error. */
void connect_write_error(struct json_writer *w, enum connect_code code, const char *message);

#endif
