/*
 * network: a jail's network namespace, made beside the launch. Making one is the dearest single step (0.37 ms), and it needs
 * nothing of the rest: a helper does it on another CPU meanwhile.
 *
 * Life: network_new() starts the helper -> network_finish() waits for it and yields the descriptor -> network_free().
 * The namespace belongs to the initial user namespace; only init, while it is privileged, enters it. It is used once, except where
 * parts of ended jails are used again (jail/parts.h): network_again() yields such a one. Host side.
 */
#ifndef WARDER_JAIL_NETWORK_H
#define WARDER_JAIL_NETWORK_H

#include <stdbool.h>

#include "base/error.h"
#include "jail/cgroup/clone.h"
#include "jail/inside/wire.h"

struct jail_plan;

struct network {
	int ns_fd; /* after network_finish(); -1 before */
	struct clone_helper helper;
	long result; /* written by the helper: descriptor or negative errno */
	bool hangs;  /* the helper does not end: *network stays for good */
	bool again;  /* an earlier jail had it */
};

/* Whether launches of the plan get a network namespace from a helper. */
bool network_has_helper(const struct jail_plan *plan);
/* Begun; NULL with *err. */
struct network *network_new(struct warder_error *err);
/* Made of a namespace that the caller has, which becomes its own; NULL: out of memory, and it stays the caller's. */
struct network *network_again(int ns_fd);
/* One look, which does not wait: whether network_finish() has an answer at once. */
bool network_is_made(struct network *network);
/* 0 with network->ns_fd open; -1 with *err. */
int network_finish(struct network *network, struct warder_error *err);
/* In any state, or NULL. Waits for the helper, unless that hangs in the kernel. */
void network_free(struct network *network);

/* Lead the network of a container that runs to its edge, as the init of a jail does it for itself: process `pid` is in its namespace, whose
 * lo is up, and nothing untrusted runs there yet. Needs root. edge_fd stays the caller's. 0; -1 with *err, also if the namespace is the
 * caller's own, where nothing is changed. */
int network_furnish(int pid, const struct wire_block *block, int edge_fd, struct warder_error *err);

#endif
