/*
 * executions: what the commands about executions that outlive their callers share. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_EXECUTIONS_H
#define WARDER_RUNTIME_CLI_EXECUTIONS_H

#include "runtime/cli/flags.h"
#include "runtime/library/result.h"
#include "runtime/warder.h"

/* The one that the command names. -1 with *err. */
int executions_open(const struct args *args, struct warder_execution **ret, struct warder_error *err);
/* Bytes to the stream of this process. 0; -1 with errno. */
int executions_write(enum warder_stream stream, const char *bytes, size_t len);
void executions_tell_gap(enum warder_stream stream, uint64_t from, uint64_t to);
/* Say what ended it, unless it ended by itself. Returns the exit status. */
int executions_tell_end(const struct warder_result *result);
/* The same, or with --json the result. */
int executions_tell_waited(const struct args *args, const struct warder_result *result);

#endif
