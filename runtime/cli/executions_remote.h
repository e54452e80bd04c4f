/*
 * executions_remote: ps, attach, write, kill and wait for executions in sessions on other machines. Private to cli/.
 *
 * Each returns the exit status. args->rest[0] is the name of an execution, as execution_name_is() says, or of a session.
 */
#ifndef WARDER_RUNTIME_CLI_EXECUTIONS_REMOTE_H
#define WARDER_RUNTIME_CLI_EXECUTIONS_REMOTE_H

#include "runtime/cli/execution_name.h"
#include "runtime/cli/flags.h"
#include "runtime/cli/remote_place.h"

/* The executions of a session, as the JSON of `warder ps`: heap. NULL with *err. */
char *executions_remote_list(const char *session, struct warder_error *err);
int executions_remote_attach(const struct args *args);
int executions_remote_write(const struct args *args);
int executions_remote_kill(const struct args *args, int number);
int executions_remote_wait(const struct args *args);

/* The execution that the command names. */
struct executions_remote {
	struct execution_name name;
	struct remote_place place;
};
/* -1 with *err. */
int executions_remote_open(const struct args *args, struct executions_remote *ret, struct warder_error *err);
/* What the host says of it in its list: an object, to be freed by json_free(). NULL with *err. */
struct json_value *executions_remote_row(const struct executions_remote *opened, struct warder_error *err);
/* *err is what a request about it gave: what that means to the user. Returns -1. */
int executions_remote_explain(const struct executions_remote *opened, struct warder_error *err);
/* The exit status of a command that only looks, and failed with *err, which this reports. A signal that ends a request ends the command as at any
 * other time. */
int executions_remote_refuse(const struct args *args, const struct warder_error *err);

#endif
