/*
 * go_source: a piece of Go without a package clause, as the program that it stands for.
 *
 * Its imports stay imports. The rest is the body of main; with a function main at the top, it is the rest of the program. "fmt" is
 * imported unless the source does it. Line directives keep the lines and columns of the compiler's messages those of the source.
 * Pure, no global state, any thread. Private to runtime/code.
 */
#ifndef WARDER_RUNTIME_CODE_GO_SOURCE_H
#define WARDER_RUNTIME_CODE_GO_SOURCE_H

#include <stddef.h>

#include "base/error.h"

/* 1 with a program on the heap, for which messages name `file`; 0: the source has a package clause. -1 with *err (INVALID_REQUEST, the
 * text with line and remedy, for a named function without main; INTERNAL on want of memory). */
int go_source_complete(const char *file, const char *source, size_t len, char **ret, size_t *ret_len,
		       struct warder_error *err);

#endif
