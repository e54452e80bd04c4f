/*
 * keeper_rules: other network rules for a keeper's session, given by a thread of their own, because an edge that hangs answers after seconds.
 * Private to runtime/session/.
 *
 * Life: keeper_rules_init() -> keeper_rules_begin() -> `fd` becomes readable -> keeper_rules_finish() -> ... -> keeper_rules_done(). Main
 * thread of the keeper. One change at a time.
 */
#ifndef WARDER_RUNTIME_SESSION_KEEPER_RULES_H
#define WARDER_RUNTIME_SESSION_KEEPER_RULES_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"
#include "policy/policy.h"
#include "runtime/library/preparation.h"

struct keeper_rules {
	int fd;    /* an eventfd */
	bool busy; /* a thread gives the session other rules; the rest belongs to it */
	pthread_t thread;
	const struct backend_sessions *sessions;
	void *session;
	struct policy policy; /* owned */
	uint64_t since_us;
	int done;
	struct warder_error err;
};

/* -1 with *err. */
int keeper_rules_init(struct keeper_rules *rules, struct warder_error *err);
/* Begin to give the session the rules of *policy, which is taken. -1 with *err (CONFLICT: another change goes on), and it is the caller's. */
int keeper_rules_begin(struct keeper_rules *rules, const struct backend_sessions *sessions, void *session,
		       const struct policy *policy, struct warder_error *err);
/* 0 with the policy whose rules hold now, the caller's; -1 with *err: the old ones stay, or the session has no network any more. */
int keeper_rules_finish(struct keeper_rules *rules, struct policy *ret, struct warder_error *err);
/* Wait for the thread, which ends within seconds. */
void keeper_rules_done(struct keeper_rules *rules);

#endif
