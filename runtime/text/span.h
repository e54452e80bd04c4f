/*
 * span: bytes that belong to another owner.
 *
 * Never NUL-terminated by promise, may hold NUL; empty is {NULL, 0} or any pointer with length 0.
 */
#ifndef WARDER_RUNTIME_TEXT_SPAN_H
#define WARDER_RUNTIME_TEXT_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct span {
	const char *at;
	size_t len;
};

static inline struct span span_of(const char *text)
{
	return (struct span){ text, text ? strlen(text) : 0 };
}

static inline bool span_is(struct span span, const char *text)
{
	return strlen(text) == span.len && (span.len == 0 || memcmp(span.at, text, span.len) == 0);
}

/* The same letters, whether large or small (ASCII). */
static inline bool span_is_word(struct span span, const char *text)
{
	return strlen(text) == span.len && (span.len == 0 || strncasecmp(span.at, text, span.len) == 0);
}

#endif
