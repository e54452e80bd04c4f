/*
 * narrow: what a client asks of a sandbox's network, beside its template. Private to host/launcher/.
 *
 * {"allow": [...], "deny": [...], "none": true} are names, patterns, addresses and address blocks. `allow` leaves of each row of the policy what
 * one of its entries covers, with the row's ports; `deny` adds rows; `none` takes the network away. None of them can add anything: a destination
 * that the policy does not allow is refused by its name. In a policy a denied destination stays denied, whatever is allowed.
 *
 * Pure; any thread.
 */
#ifndef WARDER_HOST_LAUNCHER_NARROW_H
#define WARDER_HOST_LAUNCHER_NARROW_H

#include "base/error.h"
#include "base/json.h"
#include "runtime/warder.h"

/* Replace *policy by a narrower one. wish: or NULL. -1 with *err, which names the entry; *policy is as before. */
int narrow_network(struct warder_policy **policy, const struct json_value *wish, struct warder_error *err);
/* The same for a sandbox that runs, whose network.mode stays: `none` denies each destination that the policy allows. */
int narrow_running(struct warder_policy **policy, const struct json_value *wish, struct warder_error *err);

#endif
