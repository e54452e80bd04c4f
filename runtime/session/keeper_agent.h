/*
 * keeper_agent: the agent of a session: a program of Warder's that looks at files for clients outside, and watches them. Private to
 * runtime/session/.
 *
 * The agent is an execution of its own with the session's policy, except that it has AGENT_MEMORY_BYTES and AGENT_PIDS of its own, beside
 * the session's limits, and the system calls of the profile `default` and of inotify(7). It is started when a client first wants to speak to it, and again
 * if it has ended. The keeper hands each client one end of a socket whose other end the agent gets, and never reads what they say.
 * What the agent says is the word of the session's jail, and of nobody else.
 *
 * Its cgroup is not below the session's. Memory that a program allocates in a tmpfs is charged to the program, so the agent must write no files:
 * it would take its few bytes, and what is left of them after its end would count for nobody.
 *
 * Only in the keeper's main thread, except keeper_agent_launch().
 */
#ifndef WARDER_RUNTIME_SESSION_KEEPER_AGENT_H
#define WARDER_RUNTIME_SESSION_KEEPER_AGENT_H

#include "runtime/library/library.h"
#include "runtime/session/execution.h"

#define AGENT_PROGRAM      "warder-agent"
#define AGENT_MEMORY_BYTES (UINT64_C(8) << 20)
#define AGENT_PIDS         8

struct keeper_agent {
	int fd;         /* our end of its channel: it gets a message with a descriptor for each client */
	int program_fd; /* its end, until it is launched; or -1 */
	int file_fd;    /* the program itself, until it is launched; or -1 */
};

/* A connection to the agent. *ret_fd is the caller's. 1: no agent lives; -1 with *err: UNAVAILABLE. */
int keeper_agent_connect(struct executions *all, int *ret_fd, struct warder_error *err);
/* The execution is an agent, and has no words yet: fill it. -1 with *err. */
int keeper_agent_new(struct execution *execution, struct warder_error *err);
/* In the thread of its launch. */
int keeper_agent_launch(struct execution *execution, struct warder_error *err);
/* It was launched, or failed. */
void keeper_agent_launched(struct execution *execution);
void keeper_agent_free(struct keeper_agent *agent);

#endif
