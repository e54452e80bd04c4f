/*
 * executions_remote: ps, logs, attach, write, kill and wait for executions in sessions on other machines. Private to cli/.
 *
 * Each returns the exit status. args->rest[0] is the name of an execution, as execution_name_is() says, or of a session.
 */
#ifndef WARDER_RUNTIME_CLI_EXECUTIONS_REMOTE_H
#define WARDER_RUNTIME_CLI_EXECUTIONS_REMOTE_H

#include "runtime/cli/flags.h"

/* The executions of a session, as the JSON of `warder ps`: heap. NULL with *err. */
char *executions_remote_list(const char *session, struct warder_error *err);
int executions_remote_logs(const struct args *args);
int executions_remote_attach(const struct args *args);
int executions_remote_write(const struct args *args);
int executions_remote_kill(const struct args *args, int number);
int executions_remote_wait(const struct args *args);

#endif
