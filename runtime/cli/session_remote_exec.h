/*
 * session_remote_exec: executions in a session on another machine. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_SESSION_REMOTE_EXEC_H
#define WARDER_RUNTIME_CLI_SESSION_REMOTE_EXEC_H

#include "runtime/cli/flags.h"
#include "runtime/cli/remote_place.h"

/* The word exec of such a session. Returns the exit status. */
int session_remote_exec_word(struct args *outer, const char *name, char **flags);
/* Run a program, and wait for its end. time_ms: its time limit on a service of the kind e2b; otherwise it has that of the session.
 * *ret_code: its exit status, or -1: it did not exit. *ret_said, heap or NULL: of an exit status that is not 0, its standard error; of -1, what ended it,
 * as far as the host says that. -1 with *err. */
int session_remote_run(const struct remote_place *place, const char *const *argv, uint64_t time_ms,
		       int *ret_code, char **ret_said, struct warder_error *err);

#endif
