/*
 * progress: how far long work is, on a terminal. Private to cli/.
 *
 * One line on standard error, written again at most ten times a second, and taken away at the end; nothing where that
 * is no terminal.
 */
#ifndef WARDER_STORE_CLI_PROGRESS_H
#define WARDER_STORE_CLI_PROGRESS_H

#include <stdint.h>

struct progress {
	const char *what; /* "importing" */
	uint64_t shown_us;
	int width; /* of the line that stands there; 0: none */
};

/* `done` of `total` bytes; total 0: not known. */
void progress_show(struct progress *progress, uint64_t done, uint64_t total);
/* Take the line away. */
void progress_end(struct progress *progress);

#endif
