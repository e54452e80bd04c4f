/*
 * template: what a plan becomes once kernel objects are made for it. Private to jail/: launch.c fills jails from it.
 */
#ifndef WARDER_JAIL_TEMPLATE_H
#define WARDER_JAIL_TEMPLATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/namespaces.h"
#include "jail/block.h"
#include "jail/cgroup/clone.h"
#include "jail/identity.h"
#include "jail/jail.h"
#include "jail/network.h"
#include "jail/parts.h"
#include "jail/watch.h"

#define TEMPLATE_POOL 64 /* leased identities kept for the next launch */

/* The root of a privileged template in the making: a helper builds it beside what this process does. */
struct template_root {
	struct clone_helper helper;
	struct wire_block *block;
	long error; /* the helper's: a negative errno at `what` */
	const char *what;
	_Atomic long ns_fd; /* -1 until the helper has opened it, which it does first */
	bool hangs;         /* the helper does not end: the template stays for good */
	int built_fd; /* eventfd: becomes readable when the root is finished, never if that failed; or -1 */
};

struct joined_session;

struct jail_template {
	struct jail_plan plan;
	const struct jail_host *host;
	bool reusable;
	int owner_pid;       /* the process whose life the jails are tied to */
	atomic_bool used;    /* a template that is not reusable has been launched */
	atomic_bool cleaned; /* leftovers of dead supervisors have been looked for */
	atomic_bool parks;   /* jail_park() has found that its jails can be parked */
	struct block block;  /* what every launch's block begins with */
	int image_fd;        /* the init program */
	struct template_root root;
	int mount_ns_fd;   /* the prepared root, privileged launches; -1 otherwise */
	int supervisor_fd; /* pidfd of this process */
	uint64_t
	    own_namespaces[NAMESPACE_COUNT]; /* this process's, which no jail may have; as namespace_kinds */
	/* Test hook: the step that reports EIO after it has run. enum wire_step, or WIRE_STEP_COUNT + a row of the launch; 0: none. With
	 * WIRE_DIES: the wire_step after which its process ends without a word. */
	uint32_t fail_step;
	uint64_t prepare_us;
	pthread_mutex_t lock;  /* guards what follows */
	struct network *ahead; /* network namespace in the making for the next launch, or NULL */
	struct parts *parts;   /* of ended jails; NULL: none is used again. Set before the first launch */
	struct watch *watch;   /* template_watch(); or NULL; owned */
	struct identity *pool; /* of TEMPLATE_POOL, from the first that is given back; owned */
	unsigned int pool_count;
	/* What stays of the session that its launches join, from the preparation on, with locks of its own; or NULL; owned. */
	struct joined_session *joined;
};

/* Free what only a launch needs. */
void template_trim(struct jail_template *tmpl);
/* Wait until the root is built, if it is still in the making. 0, also for a template without; -1 with *err. */
int template_finish_root(struct jail_template *tmpl, struct warder_error *err);
/* Have its mount namespace in tmpl->mount_ns_fd, which is finished only when that is done or root.built_fd tells. -1 with *err. */
int template_enter_root(struct jail_template *tmpl, struct warder_error *err);
/* Take a leased identity out of the pool, or lease one. Give it back, or end it: nobody sets again the limits of one where that has failed. */
int template_take_identity(struct jail_template *tmpl, struct identity *ret, struct warder_error *err);
void template_give_identity(struct jail_template *tmpl, struct identity *identity);
/* Start making the namespace of the next launch, unless one is in the making; what fails is left to that launch. */
void template_begin_network(struct jail_template *tmpl);
/* So that no helper is left between launches: whether the one in the making is made, or with `wait`, until it is. */
bool template_settle_network(struct jail_template *tmpl, bool wait);
/* One of an earlier jail, whose files are then in *ret_part, the one in the making, or a new one; the caller owns it (network_free), and the
 * files. NULL with *err. */
struct network *template_take_network(struct jail_template *tmpl, struct part *ret_part,
				      struct warder_error *err);
/* The watch over files that programs of its parked jails have loaded, made at the first call. NULL: there is none. */
struct watch *template_watch(struct jail_template *tmpl);
/* A detached, flagged clone of an entry's source, owner-mapped when the entry asks for it. */
int template_clone_tree(const struct rootfs_entry *entry, struct identity *identity, uint32_t uid,
			uint32_t gid, struct warder_error *err);

#endif
