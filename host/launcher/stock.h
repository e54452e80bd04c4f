/*
 * stock: sandboxes that are parked before a client asks for them. Private to host/launcher/.
 *
 * A parked sandbox is a session without a name (runtime/session/session.h): jail and keeper are there, and the agent, unless the last sandboxes
 * of the kind ended without a use of it. The stock keeps some for each kind: a
 * tenant with a policy, which has the variables of the sandbox, too. A kind begins when the tenant creates a sandbox with the policy, is parked after
 * the second one, and ends when the tenant has not created one for a minute, or when there are too many kinds. It has at most as many as the
 * tenant created within a quarter of a second, half as many after each 10 s in which fewer were created, and at least one. So a tenant never gets
 * a sandbox that was parked for another one. A parked sandbox is handed out once, or ended.
 *
 * Zeroed at the start; main thread only, except for the jobs that park.
 */
#ifndef WARDER_HOST_LAUNCHER_STOCK_H
#define WARDER_HOST_LAUNCHER_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/warder.h"

struct call;
struct launcher;
struct sandbox;
struct session_parked;
struct stock_ending;
struct stock_kind;
struct stock_owner;

struct stock {
	struct stock_kind *kinds;
	size_t kind_count;
	uint64_t last_kind;          /* its number; they begin with 1 */
	struct stock_owner *owners;  /* the tenants of the kinds */
	struct stock_ending *ending; /* that were told to end, and have not yet */
	size_t parked, building;
	uint64_t taken_us;           /* when a sandbox was last created */
	uint64_t handed_out, missed; /* sandboxes that were parked; that were not */
	uint64_t failed;             /* that could not be parked */
	uint64_t told_us;            /* when the log last said why; 0: never */
	uint64_t tended_us;          /* when kinds, and the memory of this host, were last looked at */
	bool is_pressed;             /* then: it is short */
};

/* One for the call, which has the record of a new sandbox with the policy; or NULL. The caller's. *ret_kind is written if the sandbox is of
 * a kind. */
struct session_parked *stock_take(struct launcher *launcher, const struct call *call,
				  const struct warder_policy *policy, uint64_t *ret_kind);
/* A client is about to use the agent of a sandbox. */
void stock_agent_used(struct stock *stock, struct sandbox *sandbox);
/* A sandbox has ended. */
void stock_sandbox_ends(struct stock *stock, const struct sandbox *sandbox);
/* Park and end sandboxes. Returns the milliseconds until it is to be called again, at most 1000. */
int stock_tend(struct launcher *launcher);
/* End all, and wait until they are gone. No job runs any more. */
void stock_done(struct stock *stock);

#endif
