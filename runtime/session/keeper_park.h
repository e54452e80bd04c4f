/*
 * keeper_park: a session that is parked: its jail is there, and it waits for its name. Private to runtime/session/.
 *
 * Nobody can connect to it. It ends when the process that started it does, or closes its end of the socket.
 */
#ifndef WARDER_RUNTIME_SESSION_KEEPER_PARK_H
#define WARDER_RUNTIME_SESSION_KEEPER_PARK_H

#include "runtime/session/execution.h"

/* Start the agent, and wait until it runs. If it does not, the session's first client starts another one. -1 with *err, also if the session is to
 * end meanwhile. */
int keeper_park_agent(struct executions *all, int signal_fd, struct warder_error *err);
/* Wait for the name; *ret is heap. -1 with *err: the session is to end. */
int keeper_park_wait(struct executions *all, int signal_fd, char **ret, struct warder_error *err);

#endif
