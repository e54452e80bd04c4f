/*
 * line_log: a file that several processes append lines to, such as an audit log.
 *
 * Life: line_log_open() -> line_log_append() any number of times -> close the descriptor. Any process; two
 * threads of one process must not append at the same time.
 * Each line is one write(2) at the end of the file, so the lines of several writers never mix. While a line is written, the file is
 * locked with fcntl(2): a line for which the disk has no room is taken away again, as a whole.
 */
#ifndef WARDER_BASE_LINE_LOG_H
#define WARDER_BASE_LINE_LOG_H

#include <stddef.h>

#include "base/error.h"

/* Open the file for appending, and make it with mode 0600 if there is none. Refused: a symbolic link, a file that is not a regular one,
 * that another user owns, that group or others may write to, or that has a second name. *ret_fd is the caller's. -1 with *err
 * (UNAVAILABLE), field = `field`; the text names the path and the remedy. */
int line_log_open(const char *path, const char *field, int *ret_fd, struct warder_error *err);
/* Append one line of `len` bytes, which ends with a newline. -1 with *err (UNAVAILABLE), field = `field`: nothing of the line is in the
 * file, except where it allows only appending; the text says so. */
int line_log_append(int fd, const char *path, const char *field, const char *line, size_t len,
		    struct warder_error *err);

#endif
