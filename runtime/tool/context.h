/*
 * context: what an agent remembers of the code that it ran, as one JSON value that a session keeps.
 *
 * Life: context_read() what the session has, or nothing -> ask, change -> context_write() the whole, and
 * what changed since it was read -> context_free().
 * An invocation is one turn of a conversation; it has a number of failures in a row and the results of its runs. What would
 * go over a limit is refused, but for results: the oldest make room, because a conversation has no end.
 * Pure; one thread at a time. A NULL context is empty, and cannot be changed.
 *
 *	{"executionId": "id",
 *	 "inputFiles": [{"name", "contentType", "content" or "base64", "encoding"}...],
 *	 "processedFiles": ["name"...],
 *	 "errorCounts": {"invocation": 1...},
 *	 "results": {"invocation": [{"code", "stdout", "stderr", "failed", "truncated", "timeMs"}...]...}}
 *
 * Every member may be missing; a member that is not known is refused.
 */
#ifndef WARDER_RUNTIME_TOOL_CONTEXT_H
#define WARDER_RUNTIME_TOOL_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "runtime/text/span.h"

#define CONTEXT_MAX_JSON        ((size_t)64 << 20)
#define CONTEXT_MAX_NAME        255 /* bytes of an id or the name of a file */
#define CONTEXT_MAX_FILES       256
#define CONTEXT_MAX_FILE_BYTES  ((size_t)4 << 20) /* of all files together */
#define CONTEXT_MAX_PROCESSED   1024
#define CONTEXT_MAX_INVOCATIONS 128
#define CONTEXT_MAX_RUNS        16                 /* of one invocation */
#define CONTEXT_MAX_TEXT        ((size_t)64 << 10) /* of a run's code, output or errors; the rest is cut off */
#define CONTEXT_MAX_TEXTS       ((size_t)4 << 20)  /* of all of them together */

struct context;
struct decoder;
struct json_value;
struct json_writer;

struct context_file {
	const char *name, *content_type;
	struct span content;
};

struct context_run {
	struct span code, out, err; /* bytes that are no text are kept as U+FFFD */
	bool failed;
	bool truncated;   /* one of the texts was cut */
	uint64_t time_ms; /* when it ended, since 1970 */
};

/* Read a context; of length 0 it is empty. *ret is the caller's. -1 with *err (INVALID_REQUEST, INTERNAL). */
int context_read(const char *json, size_t len, struct context **ret, struct warder_error *err);
/* The same for a value inside of another document; the field of an error is its path there, its text has the line. */
int context_decode(struct decoder *d, const struct json_value *value, struct context **ret);
void context_free(struct context *context);

/* Set the id under which state is kept between runs; NULL: none. What is passed is copied, here and below; -1 with *err (INVALID_REQUEST, INTERNAL). */
int context_set_execution_id(struct context *context, const char *id, struct warder_error *err);

/* Add a file for later runs, in place of one of the same name. */
int context_add_file(struct context *context, const struct context_file *file, struct warder_error *err);
void context_clear_files(struct context *context);
/* File i, in the order in which they were added; NULL past the end. */
const struct context_file *context_file_at(const struct context *context, size_t i);
/* NULL: there is none of that name. */
const struct context_file *context_file(const struct context *context, const char *name);

/* Remember that a file was looked at, and need not be again. */
int context_add_processed(struct context *context, const char *name, struct warder_error *err);
bool context_is_processed(const struct context *context, const char *name);

/* Add a result. A run that failed or wrote to its standard error counts as a failure; any other sets the count to 0. */
int context_record(struct context *context, const char *invocation, const struct context_run *run,
		   struct warder_error *err);
/* Failures in a row. */
uint64_t context_errors(const struct context *context, const char *invocation);
/* Result i of an invocation, the oldest first; NULL past the end. Good until the context changes. */
const struct context_run *context_run_at(const struct context *context, const char *invocation, size_t i);
/* Whether to run once more: there were fewer failures than attempts. */
bool context_should_run(const struct context *context, const char *invocation, uint64_t max_attempts);

/* The whole as the member "context" of the object that is open, and as "contextDelta" what changed since it was read, a merge
 * patch (RFC 7396): applied to what was read it gives the whole. Nothing where there is no context. */
void context_write(const struct context *context, struct json_writer *w);

#endif
