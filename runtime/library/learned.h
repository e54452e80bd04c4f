/*
 * learned: the policy that a run with network.mode "learn" ends with. Private to runtime/.
 *
 * Life: learned_new() when the run is over -> learned_replayed(), if the program ran again under that policy -> learned_free().
 */
#ifndef WARDER_RUNTIME_LIBRARY_LEARNED_H
#define WARDER_RUNTIME_LIBRARY_LEARNED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "jail/jail.h"
#include "policy/policy.h"

struct learned {
	struct policy policy; /* the run's, with exactly the used destinations in network.allow */
	struct edge_use *uses;
	uint32_t use_count;
	uint64_t left_out; /* connections to destinations that the policy has no room for */
	bool replayed;
	int exit_code, signal;      /* of the replay, as in struct jail_outcome */
	char replay_fault[600];     /* "", or why there was no replay */
	bool needed[EDGE_USES_MAX]; /* by row of uses: the replay connected to it */
};

/* `ran`: the policy of the run; `report` may be NULL. *ret is the caller's. -1 with *err: no memory. */
int learned_new(const struct policy *ran, const struct edge_report *report, struct learned **ret,
		struct warder_error *err);
/* The same of the policy that learned_new() made, as JSON, and its left_out. -1 with *err: it is no policy. */
int learned_read(const char *policy, size_t len, uint64_t left_out, const struct edge_report *report,
		 struct learned **ret, struct warder_error *err);
/* Note what the replay ended with, and which destinations it connected to. */
void learned_replayed(struct learned *learned, const struct jail_outcome *outcome);
/* The member "learned": {policy, used: [{destination, port, connections, needed}], notListed, replay: {exitCode, signal, error}};
 * `needed` and `replay` only after a replay. */
void learned_write(struct json_writer *w, const struct learned *learned);
/* Accepts NULL. */
void learned_free(struct learned *learned);

#endif
