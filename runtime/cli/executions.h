/*
 * executions: what the commands about executions that outlive their callers share. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_EXECUTIONS_H
#define WARDER_RUNTIME_CLI_EXECUTIONS_H

#include "runtime/cli/flags.h"
#include "runtime/session/session.h"

/* The one that the command names. -1 with *err. */
int executions_open(const struct request *request, struct remote **ret, struct warder_error *err);
/* Bytes to the stream of this process. 0; -1 with errno. */
int executions_write(const struct remote_event *event);
void executions_tell_gap(const struct remote_event *event);
/* Say what ended it, unless it ended by itself. Returns the exit status. */
int executions_tell_end(const struct remote_end *end);
/* The connection is lost: connect again, and attach at `next` of each stream. 0; 1: the keeper is gone; -1 with *err. */
int executions_come_back(struct remote *remote, const uint64_t next[2], struct remote_attached *ret,
			 struct warder_error *err);
/* The keeper died. Returns the exit status. */
int executions_tell_loss(const struct remote *remote);

#endif
