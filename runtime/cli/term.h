/*
 * term: text for people: colours on a terminal, plain in a pipe or with NO_COLOR (no-color.org). Private to cli/.
 *
 * Much of that text comes from code, documents and arguments that nobody trusts. What a terminal would obey instead of showing it
 * (control characters, those that change the direction of text, and bytes that are no UTF-8) is a question mark in everything that is
 * printed here, or an escape where the text is all that a command prints.
 */
#ifndef WARDER_RUNTIME_CLI_TERM_H
#define WARDER_RUNTIME_CLI_TERM_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

enum term_style { TERM_PLAIN, TERM_TITLE, TERM_GOOD, TERM_BAD, TERM_WARN, TERM_DIM };

/* Print `text` to standard output in a style, padded with spaces to `width` bytes (0: not). */
void term_print(enum term_style style, size_t width, const char *text);
/* Write `len` bytes, with their newlines and tabs, to a descriptor; no stdio. */
void term_write(int fd, const char *text, size_t len);
/* Write `len` bytes, with their newlines and tabs; what a terminal would obey becomes \xHH or \uHHHH. */
void term_show(FILE *to, const char *text, size_t len);
/* Make a line of text harmless where it stands; returns it. */
char *term_clean(char *text);
/* A heading on a line of its own. */
void term_title(const char *text);
/* Print a text and a newline, and free it. NULL stands for one that could not be made: -1 with *err. */
int term_put(char *text, struct warder_error *err);
/* "warder: text" as one line on standard error. */
void term_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for an error, with the step that failed. */
void term_error(const struct warder_error *err);

#endif
