/*
 * nursery: the zygotes of one key of a pool with a fork server, one after the other. Private to runtime/library/.
 *
 * Life: nursery_new() -> nursery_park() for each jail -> nursery_drop(). Any thread. A zygote forks at most NURSERY_FORKS jails and lives for at
 * most NURSERY_US, and at most NURSERY_LIVING of its jails exist at once, because all of them would end with it; then, or when a file that it
 * has loaded changes, or it dies, the next jail is forked by a new one. The old one ends with the last of its jails.
 */
#ifndef WARDER_RUNTIME_LIBRARY_NURSERY_H
#define WARDER_RUNTIME_LIBRARY_NURSERY_H

#include <stdatomic.h>

#include "jail/jail.h"
#include "runtime/warder.h"

#define NURSERY_FORKS  1000u
#define NURSERY_LIVING JAIL_ZYGOTE_LIVING
#define NURSERY_US     UINT64_C(600000000)

struct nursery;

/* Of all pools of one process. */
struct nursery_counts {
	atomic_uint_fast64_t zygotes, forked;
	atomic_bool failing,
	    failed; /* something of a zygote could not be removed; `failed`: and `failure` says why */
	struct warder_error failure;
};

/* `zygote`: the template of the zygotes, which becomes the nursery's in any case. `program`: the words that start one. NULL with *err. */
struct nursery *nursery_new(struct warder_template *zygote, char **program, struct nursery_counts *counts,
			    struct warder_error *err);
struct nursery *nursery_hold(struct nursery *nursery);
void nursery_drop(struct nursery *nursery);
/* Fork a jail of the template and park its program, `program`, which must exist as long as the jail. -1 with *err. */
int nursery_park(struct nursery *nursery, struct jail_template *tmpl, char *const *program, bool merged,
		 struct jail_run **ret, struct warder_error *err);
/* Whether a jail was ever parked. */
bool nursery_has_forked(const struct nursery *nursery);
/* Test hook: other limits than NURSERY_FORKS, NURSERY_LIVING and NURSERY_US. */
void nursery_limit(struct nursery *nursery, unsigned int forks, unsigned int living, uint64_t us);
/* The words that start its zygotes. */
char *const *nursery_program(const struct nursery *nursery);
/* The memory that the present zygote takes. One that was replaced has been forgotten: it would leave no room for jails as long as one of its jails
 * runs. */
uint64_t nursery_bytes(const struct nursery *nursery);

#endif
