/*
 * show: print stored data for people: times and table cells. Private to cli/.
 */
#ifndef WARDER_STORE_CLI_SHOW_H
#define WARDER_STORE_CLI_SHOW_H

#include <stddef.h>
#include <stdint.h>

#include "store/cli/command.h"

/* "2026-11-21 19:02:03Z"; buf of at least 32 bytes. Returns buf. */
char *show_time(int64_t ms, char *buf, size_t len);
/* The value of a flag as milliseconds since 1970: such a number, or "2026-11-21T19:02:03Z", also with a fraction of milliseconds, or
 * without a time of the day; 0 if it was not given. -1 with *err. */
int show_parse_time(const struct options *options, const char *flag, int64_t *ret_ms,
		    struct warder_error *err);
/* Print a text from the store in a column: harmless on a terminal, padded to width characters, cut to `most` with "..." (0: not cut). */
void show_cell(const char *text, size_t width, size_t most);
/* Open a regular file for reading, without blocking on a named pipe. -1 with *err. */
int show_open_file(const char *path, struct warder_error *err);

#endif
