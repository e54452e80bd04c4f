/*
 * progress: the lines of JSON in which a program says how far it has come. Private to jail/.
 *
 * Life: jail_progress_new(), in the outcome of a run whose command asks for it -> jail_progress_take() with whatever the program wrote to its
 * descriptor -> jail_progress_end() at the end of file -> freed with the outcome. No call blocks, unless the receiver does.
 */
#ifndef WARDER_JAIL_PROGRESS_H
#define WARDER_JAIL_PROGRESS_H

#include "jail/jail.h"

/* Heap, with the receiver of `command`; NULL: no memory. */
struct jail_progress *jail_progress_new(const struct jail_command *command);
/* Bytes as they come, at the time now_us. */
void jail_progress_take(struct jail_progress *progress, const char *bytes, size_t len, uint64_t now_us);
/* What stands behind the last newline is a line, too. */
void jail_progress_end(struct jail_progress *progress, uint64_t now_us);

#endif
