/*
 * multipart: a reader of multipart/form-data bodies (RFC 7578) that come in pieces of any size, for uploads of files.
 *
 * Nothing of a body is kept except the head of the part that is being read, so memory is bounded by the size of the struct. The bytes of
 * a part are passed on as they come. What differs from the standard is refused: a body without its closing boundary, a part without a
 * name, folded header lines, a transfer encoding, filename* and too long heads. Bytes before the first boundary are passed over up to
 * MULTIPART_HEAD_MAX; bytes behind the closing boundary are ignored.
 *
 * Life: multipart_init() -> multipart_take() for each piece -> multipart_finish() when the body has ended. It owns no memory.
 * Pure functions without global state; any thread.
 */
#ifndef WARDER_HOST_WIRE_MULTIPART_H
#define WARDER_HOST_WIRE_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/error.h"

#define MULTIPART_HEAD_MAX     16384 /* bytes of the head of a part */
#define MULTIPART_BOUNDARY_MAX 70
#define MULTIPART_PARTS_MAX    4096

/* Receives the parts. Each function returns 0, or -1 with *err, which multipart_take() passes on. */
struct multipart_sink {
	void *context;
	/* A part begins. filename: as sent, UTF-8; NULL if there is none. Both are valid during the call. */
	int (*begin)(void *context, const char *name, const char *filename, struct warder_error *err);
	/* More bytes of it; never 0. */
	int (*bytes)(void *context, const char *bytes, size_t len, struct warder_error *err);
	int (*end)(void *context, struct warder_error *err);
};

enum multipart_state {
	MULTIPART_PREAMBLE,
	MULTIPART_BOUNDARY_END, /* behind a boundary: a line end, or "--" */
	MULTIPART_HEAD,
	MULTIPART_BYTES,
	MULTIPART_EPILOGUE,
	MULTIPART_FAILED,
};

struct multipart {
	struct multipart_sink sink;
	enum multipart_state state;
	char delimiter[4 + MULTIPART_BOUNDARY_MAX + 1]; /* CR LF "--" boundary */
	size_t delimiter_len;
	size_t matched; /* bytes of the delimiter that have come and are not passed on yet */
	size_t skipped; /* bytes of the preamble, or of the line behind a boundary */
	char last;      /* the byte before, behind a boundary: '-', CR or 0 */
	size_t parts;
	char head[MULTIPART_HEAD_MAX + 1];
	size_t head_len;
};

/* content_type: the header, with the boundary. -1 with *err (INVALID_REQUEST). */
int multipart_init(struct multipart *parser, const char *content_type, const struct multipart_sink *sink,
		   struct warder_error *err);
/* -1 with *err, of the body (INVALID_REQUEST) or of the sink; then nothing more is to be given to the parser. */
int multipart_take(struct multipart *parser, const char *bytes, size_t len, struct warder_error *err);
/* -1 with *err: the body has ended before its closing boundary. */
int multipart_finish(const struct multipart *parser, struct warder_error *err);

#endif
