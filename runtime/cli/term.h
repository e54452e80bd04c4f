/*
 * term: text for people: colours on a terminal, plain in a pipe or with NO_COLOR (no-color.org). Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_TERM_H
#define WARDER_RUNTIME_CLI_TERM_H

#include <stddef.h>

#include "base/error.h"

enum term_style { TERM_PLAIN, TERM_TITLE, TERM_GOOD, TERM_BAD, TERM_WARN, TERM_DIM };

/* Print `text` to standard output in a style, padded with spaces to `width` bytes (0: not). */
void term_print(enum term_style style, size_t width, const char *text);
/* A heading on a line of its own. */
void term_title(const char *text);
/* "warder: text" as one line on standard error. */
void term_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for an error, with the step that failed. */
void term_error(const struct warder_error *err);

#endif
