/*
 * format: a result as text, for a model to read, and back.
 *
 * Life: fill a struct format_result, or format_result_read() it from the JSON of a result -> format_block(), _inline() or _text()
 * -> format_result_done(). format_extract() takes out of a text what format_block() put between delimiters.
 * Output is whatever a program wrote: it may hold any byte, and look like anything. It cannot end its block.
 * Limits: AGENT_MAX_TEXT_BYTES of JSON or text, AGENT_MAX_BLOCKS bodies and files. Time is linear.
 * Pure; any thread.
 */
#ifndef WARDER_RUNTIME_TEXT_FORMAT_H
#define WARDER_RUNTIME_TEXT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/text/delimiters.h"
#include "runtime/text/span.h"

enum format_status {
	FORMAT_SUCCESS, /* exited with 0 */
	FORMAT_FAILED,  /* anything else but */
	FORMAT_TIMEOUT, /* out of time */
};

struct format_stream {
	struct span bytes;
	uint64_t total; /* bytes written, if more than were kept; else 0 */
};

struct format_file {
	struct span name;
	uint64_t size_bytes; /* UINT64_MAX: not known */
	bool omitted;        /* it was there, but is not kept */
};

struct format_result {
	enum format_status status;
	int exit_code; /* -1: it did not exit by itself */
	struct format_stream out, err;
	struct span error; /* why there is no exit code, or no run; empty where the exit code says all */
	const struct format_file *files;
	size_t file_count;
	struct format_memory
	    *memory; /* what format_result_read() made; NULL in a struct that was filled by hand */
};

/* Read a result as `warder run --json` or `warder code --json` prints it. Of its members status, exitCode, stdout, stderr,
 * artifacts, error, detail, and of code that does not compile its diagnostics count; others are ignored. A stream is an object, or a string. *ret is the caller's (format_result_done).
 * -1 with *err (INVALID_REQUEST). */
int format_result_read(const char *json, size_t len, struct format_result *ret, struct warder_error *err);
void format_result_done(struct format_result *result);

/* All below return heap, NUL-terminated, that the caller frees; *ret_len is without the NUL. */

/* Between delimiters; NULL: those of a fence with the word tool_output. Where the output holds something like the end of
 * such a fence, a longer one is used; with delimiters that cannot grow it is refused.
 * NULL with *err (INVALID_REQUEST, INTERNAL). */
char *format_block(const struct format_result *result, const struct delimiters *delimiters, size_t *ret_len,
		   struct warder_error *err);
/* One short text without delimiters: the output, or what went wrong. NULL: no memory. */
char *format_inline(const struct format_result *result, size_t *ret_len);
/* For the part of a conversation that holds a result: errors, the end of time, output, names of files. NULL: no memory. */
char *format_text(const struct format_result *result, size_t *ret_len);

/* How that part is marked: "OK", "FAILED" (also when something was written to standard error) or
 * "DEADLINE_EXCEEDED". */
const char *format_outcome(const struct format_result *result);

struct format_bodies {
	struct span *items; /* in the text */
	size_t count;
	bool has_unclosed; /* the last start has no end; nothing behind it was looked at */
};

/* What stands between the delimiters (NULL: as format_block), in the order of the text; a longer fence ends with as
 * long a one. *ret is the caller's (format_bodies_done). -1 with *err (INVALID_REQUEST, INTERNAL). */
int format_extract(const char *text, size_t len, const struct delimiters *delimiters,
		   struct format_bodies *ret, struct warder_error *err);
void format_bodies_done(struct format_bodies *bodies);

#endif
