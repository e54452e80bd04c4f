/*
 * interpreter: the messages of E2B's code interpreter, which runs pieces of code in contexts.
 *
 * The answer of POST /execute is newline-separated JSON, one object a line, never an empty line. A result is a MIME bundle in which each
 * known media type has a field of its own, and the others stand in "extra".
 *
 * Life of a request: interpreter_parse_...() -> use -> interpreter_request_done(). Texts of a request point into its document. A writer
 * function appends one line. Pure functions without global state; any thread.
 */
#ifndef WARDER_HOST_WIRE_INTERPRETER_H
#define WARDER_HOST_WIRE_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

struct interpreter_request {
	struct json_value *document;                /* owned */
	const char *code;                           /* of /execute */
	const char *context, *language, *directory; /* or NULL */
	char **variables;                           /* of /execute: owned list and texts, "NAME=value" */
};

/* {"code", "context_id" or "language", "env_vars"}. -1 with *err (INVALID_REQUEST); *ret is then zeroed. */
int interpreter_parse_execute(const char *json, size_t len, struct interpreter_request *ret,
			      struct warder_error *err);
/* {"language", "cwd"}; an empty body is an empty object. */
int interpreter_parse_context(const char *json, size_t len, struct interpreter_request *ret,
			      struct warder_error *err);
void interpreter_request_done(struct interpreter_request *request);

/* ---- lines of the answer ---- */

/* The end of a stream's bytes that have been written so far, if it is an unfinished character. Zeroed at the beginning. */
struct interpreter_stream {
	char held[4];
	size_t held_len;
};

void interpreter_write_count(struct json_writer *w, uint64_t count);
/* Bytes of standard output or error. An unfinished character at their end waits for the next call; bytes that are not UTF-8 become U+FFFD.
 * Writes nothing if there is nothing to say. time_us: since the epoch. */
void interpreter_write_output(struct json_writer *w, struct interpreter_stream *stream, bool is_error,
			      const char *bytes, size_t len, uint64_t time_us);
/* The stream has ended: bytes that wait are written. */
void interpreter_finish_output(struct json_writer *w, struct interpreter_stream *stream, bool is_error,
			       uint64_t time_us);
/* bundle: an object of texts by media type. is_main: it is the value of the last expression. */
void interpreter_write_result(struct json_writer *w, const struct json_value *bundle, bool is_main);
void interpreter_write_error(struct json_writer *w, const char *name, const char *value,
			     const char *traceback);
void interpreter_write_keepalive(struct json_writer *w);
void interpreter_write_end(struct json_writer *w);
/* {"id", "language", "cwd"}, without a line end. */
void interpreter_write_context(struct json_writer *w, const char *id, const char *language,
			       const char *directory);

#endif
