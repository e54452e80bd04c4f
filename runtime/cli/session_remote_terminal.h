/*
 * session_remote_terminal: the terminal of an execution in a session on another machine. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_SESSION_REMOTE_TERMINAL_H
#define WARDER_RUNTIME_CLI_SESSION_REMOTE_TERMINAL_H

#include "runtime/cli/remote_place.h"
#include "runtime/library/reported.h"

/* The size of the terminal on standard input. */
void session_remote_terminal_size(unsigned int *ret_rows, unsigned int *ret_columns);
/* Standard output or standard error, by its number, so opened that a terminal or a pipe does not keep us waiting; the caller's. */
int session_remote_terminal_output(int stream);
/* The output that a terminal has shown. */
struct remote_shown {
	uint64_t bytes;
	uint64_t lost;             /* bytes that the host did not have any more */
	struct reported_came came; /* after the last loss; its tail is part of `kept` */
	char *kept;                /* owned by the caller */
};
/* Let the execution have the terminal of this process until it ends, or a signal ends this process. The lease is renewed meanwhile. *ret is set in any
 * case. -1 with *err: the program may still run. */
int session_remote_terminal(const struct remote_place *place, const char *execution, struct remote_shown *ret,
			    struct warder_error *err);

#endif
