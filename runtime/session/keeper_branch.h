/*
 * keeper_branch: a context that another context has forked. Private to runtime/session/.
 *
 * A branch is an execution without a run. Its process stays in the jail of the context from which it was forked, and so all contexts of such
 * a family are one trust domain. Its descriptors are made by the keeper: a channel, and a pipe for each output. They reach the loop of the
 * forking context behind a FRAME_FORK, in a message of their own. The loop forks twice, so that init becomes the parent of the branch, and says
 * FRAME_FORKED; the branch says FRAME_READY in its own channel. This message has its sender's process id from the kernel. When both have come,
 * the keeper looks whose process that is, moves it into a cgroup leaf of its own (jail_branch_new()), and supervises it.
 *
 * If the first context ends and branches live, its jail stays until the last one has ended.
 *
 * Life: keeper_branch_new() -> STARTING -> RUNNING, or FAILED -> ENDED -> keeper_branch_free(). Only in the keeper's main thread.
 */
#ifndef WARDER_RUNTIME_SESSION_KEEPER_BRANCH_H
#define WARDER_RUNTIME_SESSION_KEEPER_BRANCH_H

#include "runtime/session/execution.h"
#include "runtime/session/frames.h"

/* What the owner of branches does; both get the branch's execution. */
struct keeper_branch_owner {
	bool (*on_message)(void *execution); /* the channel has one. Returns whether to go on watching it */
	void (*on_end)(struct execution *execution); /* it has ended, or failed */
};

/* Make `execution`, which has a context, a branch of `from`, and ask the loop of that to fork. `owner` is constant. -1 with *err. */
int keeper_branch_new(struct execution *execution, struct execution *from, bool keeps_seed,
		      const struct keeper_branch_owner *owner, struct warder_error *err);
/* Also of an execution that is no branch. */
void keeper_branch_free(struct execution *execution);
/* Do what is ready. */
void keeper_branch_dispatch(struct execution *execution);
/* Go on with all of them. Returns the clock at which something is due, or UINT64_MAX. */
uint64_t keeper_branches_step(struct executions *all);

/* A READY or another first message has come from process `pid` in the channel of one that is STARTING. */
void keeper_branch_ready(struct execution *execution, int pid);
/* The loop of `from` says that it has forked, or (text not empty) why not. False: nobody has asked. */
bool keeper_branch_forked(struct execution *from, const char *text);
/* `from` has ended. One that it was to fork fails. */
void keeper_branch_orphan(struct execution *from);
/* Whether branches live in the jail of this run. */
bool keeper_branches_stay(void *execution);
/* The name of the context that it was forked from, and the id of the first context of the family. */
const char *keeper_branch_of(const struct execution *execution);
const char *keeper_branch_family(const struct execution *execution);

/* To the program's process group, also of an execution that is no branch. False: it has ended, or has not begun. */
bool keeper_branch_signal(const struct execution *execution, int number);
void keeper_branch_kill(struct execution *execution);
void keeper_branch_count(const struct execution *execution, struct jail_counters *ret);

#endif
