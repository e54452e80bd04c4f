/*
 * session_remote_terminal: the terminal of an execution in a session on another machine. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_SESSION_REMOTE_TERMINAL_H
#define WARDER_RUNTIME_CLI_SESSION_REMOTE_TERMINAL_H

#include "runtime/cli/detach_keys.h"
#include "runtime/cli/remote_came.h"
#include "runtime/cli/remote_place.h"

/* The size of the terminal on standard input. */
void session_remote_terminal_size(unsigned int *ret_rows, unsigned int *ret_columns);
/* Standard output or standard error, by its number, so opened that a terminal or a pipe does not keep us waiting; the caller's. */
int session_remote_terminal_output(int stream);
/* Let an execution have the terminal of this process. */
struct remote_terminal {
	const struct remote_place *place;
	const char *execution;    /* as the host has it */
	struct detach_keys *keys; /* that leave the program; or NULL */
	bool redraws;             /* the program is to draw its screen again */
};
/* Until it ends, the keys are typed, or a signal ends this process. The lease is renewed meanwhile. *came has the offset at which the output begins. *ret_ended: the
 * program has ended. -1 with *err: it may still run. */
int session_remote_terminal(const struct remote_terminal *how, struct remote_came *came, bool *ret_ended,
			    struct warder_error *err);

#endif
