/*
 * delimiters: a start and an end that somebody agreed on with a model, such as "```tool_code\n" and "\n```".
 * Pure; any thread.
 */
#ifndef WARDER_RUNTIME_TEXT_DELIMITERS_H
#define WARDER_RUNTIME_TEXT_DELIMITERS_H

#include <stddef.h>

#include "base/error.h"

#define DELIMITERS_MAX_BYTES 64

/* The most text that is looked through for them, and the most that is found. */
#define AGENT_MAX_TEXT_BYTES ((size_t)16 << 20)
#define AGENT_MAX_BLOCKS     10000

struct delimiters {
	const char *start, *end; /* compared byte by byte */
	const char *language;    /* of the code between them; NULL: to be inferred from `start` */
};

/* Neither may be empty or longer than DELIMITERS_MAX_BYTES. -1 with *err (INVALID_REQUEST). */
int delimiters_check(const struct delimiters *delimiters, struct warder_error *err);
/* Whether `len` bytes are few enough to be looked through. -1 with *err (INVALID_REQUEST). */
int delimiters_check_text(size_t len, struct warder_error *err);
/* Whether there is room for one more beside `count` that were found. -1 with *err (INVALID_REQUEST). */
int delimiters_check_room(size_t count, struct warder_error *err);

#endif
