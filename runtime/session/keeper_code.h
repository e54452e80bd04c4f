/*
 * keeper_code: a piece of code as an execution: its files, its value, and the directory that is removed when it has
 * ended. Private to runtime/session/.
 *
 * Life: keeper_code_new() -> keeper_code_launch(), by the thread of the launch -> if the client takes the files itself,
 * keeper_code_hand_over() when the run has ended -> keeper_code_begin_removal() when it has taken them, or there is none,
 * and keeper_code_end_removal() once keeper_code_is_removed() -> keeper_code_report() if the client is gone ->
 * keeper_code_free().
 */
#ifndef WARDER_RUNTIME_SESSION_KEEPER_CODE_H
#define WARDER_RUNTIME_SESSION_KEEPER_CODE_H

#include "runtime/session/code_record.h"
#include "runtime/session/execution.h"

struct keeper_code {
	struct executions *all;
	struct code_record record;
	struct policy_subject subject;
	struct policy
	    *asked; /* owned; the policy that is compared with the ceiling, or NULL if there is none */
	struct rootfs_collect collect;
	int value_fd;     /* owned; -1: none */
	int spill_fds[2]; /* owned; -1: none */
	int tmp_fd;       /* owned: the session's /tmp; -1: it was not launched */
	bool handed;      /* the run has ended, and its client takes the files */
	pthread_t thread;
	bool removing;                /* there is the thread */
	atomic_bool removed;          /* which is about to end */
	struct warder_result *result; /* of the run, meanwhile; or NULL */
};

/* For an execution whose START has RECORD_CODE. *fds: the descriptors that come next; moved behind those of the code.
 * -1 with *err. */
int keeper_code_new(struct execution *execution, const int **fds, struct warder_error *err);
/* -1 with *err, and the directory is removed. */
int keeper_code_launch(struct execution *execution, struct warder_error *err);
/* The run has ended: leave its directory to a client that takes the files itself. False: the client does not. */
bool keeper_code_hand_over(struct keeper_code *code);
/* The run has ended with `result`, which gets the files, and is taken if the answer is true: the directory is being
 * removed, and all->launched_fd says when it is. False: that was done at once. NULL: nobody wants the files. */
bool keeper_code_begin_removal(struct keeper_code *code, struct warder_result *result);
bool keeper_code_is_removed(const struct keeper_code *code);
struct warder_result *keeper_code_end_removal(struct keeper_code *code);
/* Add to a result what the client would have added, as far as it is known. */
void keeper_code_report(const struct keeper_code *code, struct warder_result *result);
/* Accepts NULL. */
void keeper_code_free(struct keeper_code *code);

#endif
