/*
 * terminal: the pseudo-terminal that a program has in the place of its three streams, as its master's holder sees it. Private to jail/.
 *
 * Life: TERMINAL_NONE -> the payload makes it and sends its master, which becomes master_fd -> terminal_open() -> terminal_copy_size()
 * at each change -> terminal_done(). What is read from and written to the master goes the way of the other streams. One thread at a time.
 */
#ifndef WARDER_JAIL_TERMINAL_H
#define WARDER_JAIL_TERMINAL_H

#include "base/error.h"

struct terminal {
	int master_fd; /* owned, or -1 */
	int slave_fd; /* owned, or -1: as long as it is open, a program that closes its own may open it again */
};
#define TERMINAL_NONE                                                                                        \
	{                                                                                                    \
		.master_fd = -1, .slave_fd = -1                                                              \
	}

/* Whether the caller's descriptor is a terminal, open for reading. 0; -1 with *err (INVALID_REQUEST). */
int terminal_check(int caller_fd, struct warder_error *err);
/* Check that master_fd is the master of a pseudo-terminal, and give it the settings and the size of the caller's terminal. It does not
 * block afterwards. 0; -1 with *err. */
int terminal_open(struct terminal *terminal, int caller_fd, struct warder_error *err);
/* Nothing happens where there is no terminal, or the caller's has no size any more. */
void terminal_copy_size(const struct terminal *terminal, int caller_fd);
void terminal_done(struct terminal *terminal);

#endif
