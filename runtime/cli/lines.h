/*
 * lines: documents out of a descriptor, one a line. Private to cli/.
 *
 * The buffer grows with the longest line and is used again; who is given a line may use it until the next call. A line over the
 * limit is not kept: it is told of, and read over. Blank lines are left out.
 *
 * Life: lines_init() -> lines_next(), and where that has none lines_read() -> lines_done().
 */
#ifndef WARDER_RUNTIME_CLI_LINES_H
#define WARDER_RUNTIME_CLI_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct lines {
	size_t most; /* bytes of a line */
	bool whole;  /* everything up to the end of file is one line */
	char *buf;   /* owned */
	size_t cap, start, end;
	size_t seen;  /* up to here there is no end of a line */
	bool dropped; /* the line at hand is over the limit, and its bytes are gone */
	bool at_end;  /* of the file */
	bool finished;
	size_t number; /* of the line that was given last, from 1; blank ones count */
};

void lines_init(struct lines *lines, size_t most, bool whole);
void lines_done(struct lines *lines);
/* Read once what there is. 0, also at the end of the file; -1 with *err. */
int lines_read(struct lines *lines, int fd, struct warder_error *err);
/* The next line without its end. False: lines_read() first, or, with lines->at_end, there is none any more. *ret_text NULL:
 * it was longer than the limit. */
bool lines_next(struct lines *lines, const char **ret_text, size_t *ret_len);

#endif
