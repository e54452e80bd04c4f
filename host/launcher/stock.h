/*
 * stock: sandboxes that are parked before a client asks for them. Private to host/launcher/.
 *
 * A parked sandbox is a session without a name (runtime/session/session.h): jail, keeper and agent are there. The stock keeps some for each kind: a
 * tenant with a policy. A kind begins when the tenant creates a sandbox with the policy, and ends when the tenant has not done so for a minute.
 * It has as many as the tenant created within a quarter of a second, and at least one. So a tenant never gets a sandbox that was parked for
 * another one. A parked sandbox is handed out once, or ended.
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
struct session_parked;
struct stock_ending;
struct stock_kind;

struct stock {
	struct stock_kind *kinds;
	struct stock_ending *ending; /* that were told to end, and have not yet */
	size_t parked, building;
	uint64_t taken_us;           /* when a sandbox was last created */
	uint64_t handed_out, missed; /* sandboxes that were parked; that were not */
	uint64_t looked_us;          /* when the memory of this host was last looked at */
	bool is_pressed;             /* then: it is short */
};

/* One for the call, which creates a sandbox with the policy, or NULL. The caller's. */
struct session_parked *stock_take(struct launcher *launcher, const struct call *call,
				  const struct warder_policy *policy);
/* Park and end sandboxes. Returns the milliseconds until it is to be called again, at most 1000. */
int stock_tend(struct launcher *launcher);
/* End all, and wait until they are gone. No job runs any more. */
void stock_done(struct stock *stock);

#endif
