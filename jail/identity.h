/*
 * identity: who a jail is on the host. Root launches map every jail's ids onto a range of its own, which owns
 * nothing on the host, so that an escape lands on nobody.
 *
 * Life: identity_lease() takes a free slot and makes its user namespace -> any number of consecutive runs
 * (a template keeps leased identities for reuse) -> identity_done() gives the slot back. Host side, any thread.
 */
#ifndef WARDER_JAIL_IDENTITY_H
#define WARDER_JAIL_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "jail/cgroup/clone.h"
#include "jail/inside/accounts.h"

/* Host ids 1879048192 to 2147483647: above the range that systemd-nspawn takes, below what 32-bit tools mistake for
 * negative. 4096 jails at once, 65536 ids each. */
#define IDENTITY_BASE  0x70000000u
#define IDENTITY_IDS   65536u
#define IDENTITY_SLOTS 4096u

/* A user namespace that maps one host owner onto the jail's user, for idmapped mounts. */
struct identity_owner {
	uid_t uid;
	gid_t gid;
	int user_ns_fd;
};

/* What a helper in the user namespace has written there and read back, after identity_check(). */
struct identity_limits {
	long error;       /* a negative errno, at `what` */
	const char *what; /* a file of /proc/sys/user */
	bool counts_all;  /* this kernel counts everything per user namespace */
};

struct identity {
	int lease_fd; /* holds the slot's lock; -1: none */
	uint32_t slot;
	uint32_t base;                  /* host id of the jail's id 0 */
	int user_ns_fd;                 /* maps 0..65535 onto base.. */
	struct identity_limits *limits; /* of user_ns_fd; owned; NULL: none were wanted */
	bool hangs;                     /* the helper that writes them, and uses their place for good */
	struct identity_owner owners[8];
	unsigned int owner_count;
	struct clone_helper helpers[9]; /* about to end, but still to be reaped */
	unsigned int helper_count;
};

#define IDENTITY_NONE                                                                                        \
	{                                                                                                    \
		.lease_fd = -1, .user_ns_fd = -1                                                             \
	}

/* makers NULL: no process enters the user namespace, which only maps ids, so it gets no limits. -1 with *err: CONFLICT when all slots are
 * taken. */
int identity_lease(const enum accounts_makers *makers, struct identity *ret, struct warder_error *err);
/* Wait until the helper has set the limits of the user namespace. False: a limit could not be set. */
bool identity_is_limited(struct identity *identity);
/* Wait until the helper has set the limits of the user namespace. Call it before untrusted code is in there. -1 with *err: a limit could not be
 * set. */
int identity_check(struct identity *identity, struct warder_error *err);
/* Descriptor (owned by the identity) of a user namespace that shows files of host owner uid:gid as the jail's
 * inside_uid:inside_gid in a mount with MOUNT_ATTR_IDMAP. -1 with *err. */
int identity_owner_ns(struct identity *identity, uid_t uid, gid_t gid, uint32_t inside_uid,
		      uint32_t inside_gid, struct warder_error *err);
/* Reap the helpers that made the user namespaces; they end by themselves, and are not worth waiting for on the way. */
void identity_reap(struct identity *identity);
void identity_done(struct identity *identity);
/* Remove the lease file if nobody holds a slot (a crash leaves it; it is empty). Returns whether it was there to remove. */
bool identity_clean(bool dry_run);

#endif
