/* See nursery.h. */
#include <stdatomic.h>

#include "runtime/library/nursery.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/text.h"
#include "runtime/library/interpreters.h"
#include "runtime/library/library.h"

struct nursery {
	pthread_mutex_t lock;
	atomic_uint
	    owners; /* the key, and jails in the making: with the last, the present zygote is given up */
	atomic_uint users; /* these, and each zygote */
	struct warder_template *tmpl;
	char **program;
	struct nursery_counts *counts;
	unsigned int forks_most; /* of each zygote; so are the next two */
	unsigned int living_most;
	uint64_t us_most;
	atomic_bool has_forked;
	struct jail_zygote *zygote; /* the present one; or NULL */
	atomic_uint_fast64_t bytes;
};

struct nursery *nursery_new(struct warder_template *zygote, char **program, struct nursery_counts *counts,
			    struct warder_error *err)
{
	struct nursery *nursery = calloc(1, sizeof(*nursery));

	if (!nursery) {
		warder_template_free(zygote);
		interpreters_free(program, text_count(program));
		error_no_memory(err, NULL);
		return NULL;
	}
	pthread_mutex_init(&nursery->lock, NULL);
	atomic_init(&nursery->owners, 1);
	atomic_init(&nursery->users, 1);
	nursery->tmpl = zygote;
	nursery->program = program;
	nursery->counts = counts;
	nursery_limit(nursery, NURSERY_FORKS, NURSERY_LIVING, NURSERY_US);
	return nursery;
}

void nursery_limit(struct nursery *nursery, unsigned int forks, unsigned int living, uint64_t us)
{
	nursery->forks_most = forks;
	nursery->living_most = living;
	nursery->us_most = us;
}

struct nursery *nursery_hold(struct nursery *nursery)
{
	if (nursery) {
		atomic_fetch_add(&nursery->owners, 1);
		atomic_fetch_add(&nursery->users, 1);
	}
	return nursery;
}

static void leave(struct nursery *nursery)
{
	if (atomic_fetch_sub(&nursery->users, 1) > 1)
		return;
	warder_template_free(nursery->tmpl);
	interpreters_free(nursery->program, text_count(nursery->program));
	pthread_mutex_destroy(&nursery->lock);
	free(nursery);
}

/* Something of a zygote, or of a fork, could not be removed. The first one is kept. */
static void note_left(struct nursery_counts *counts, const struct warder_error *left)
{
	if (atomic_exchange(&counts->failing, true))
		return;
	counts->failure = *left;
	atomic_store(&counts->failed, true);
}

static void note_end(void *context, const struct warder_error *left)
{
	struct nursery *nursery = context;

	if (left)
		note_left(nursery->counts, left);
	leave(nursery);
}

static void retire(struct nursery *nursery)
{
	struct jail_zygote *old = nursery->zygote;

	nursery->zygote = NULL;
	atomic_store(&nursery->bytes, 0);
	jail_zygote_drop(old);
}

void nursery_drop(struct nursery *nursery)
{
	if (!nursery)
		return;
	if (atomic_fetch_sub(&nursery->owners, 1) == 1)
		retire(nursery);
	leave(nursery);
}

static bool may_fork(const struct nursery *nursery)
{
	uint64_t age_us = 0;

	return jail_zygote_forks(nursery->zygote, &age_us) < nursery->forks_most &&
	       age_us < nursery->us_most && jail_zygote_living(nursery->zygote) < nursery->living_most &&
	       !jail_zygote_is_stale(nursery->zygote);
}

/* One that can fork is there, and is new if *ret_new; -1 with *err. */
static int ensure(struct nursery *nursery, bool *ret_new, struct warder_error *err)
{
	if (nursery->zygote && !may_fork(nursery))
		retire(nursery);
	*ret_new = !nursery->zygote;
	if (nursery->zygote)
		return 0;
	atomic_fetch_add(&nursery->users, 1);
	if (jail_zygote_new(library_jail_template(nursery->tmpl), nursery->program, note_end, nursery,
			    &nursery->zygote, err) != 0)
		return -1;
	atomic_store(&nursery->bytes, jail_zygote_bytes(nursery->zygote));
	atomic_fetch_add(&nursery->counts->zygotes, 1);
	return 0;
}

static int fork_one(struct nursery *nursery, struct jail_template *tmpl, char *const *program, bool merged,
		    struct jail_run **ret, struct warder_error *err)
{
	struct warder_error left;

	if (jail_fork(tmpl, nursery->zygote, ret, err) != 0)
		return -1;
	if (jail_warm(*ret, program, merged, err) == 0) {
		/* Only now: the fork has noted its files, so that a later change is seen there. */
		if (!jail_zygote_is_stale(nursery->zygote))
			return 0;
		error_set(err, WARDER_ERROR_UNAVAILABLE, "program",
			  "the zygote died, or a file that it had loaded has changed");
	}
	if (jail_run_remove(*ret, &left) != 0)
		note_left(nursery->counts, &left);
	*ret = NULL;
	return -1;
}

int nursery_park(struct nursery *nursery, struct jail_template *tmpl, char *const *program, bool merged,
		 struct jail_run **ret, struct warder_error *err)
{
	bool is_new = false;
	int parked = -1;

	pthread_mutex_lock(&nursery->lock);
	/* The second time with a new one: the present one may have died. */
	while (parked != 0 && !is_new) {
		if (ensure(nursery, &is_new, err) != 0)
			break;
		parked = fork_one(nursery, tmpl, program, merged, ret, err);
		if (parked != 0)
			retire(nursery);
	}
	if (parked == 0) {
		atomic_fetch_add(&nursery->counts->forked, 1);
		atomic_store(&nursery->has_forked, true);
	}
	pthread_mutex_unlock(&nursery->lock);
	return parked;
}

bool nursery_has_forked(const struct nursery *nursery)
{
	return atomic_load(&nursery->has_forked);
}

char *const *nursery_program(const struct nursery *nursery)
{
	return nursery->program;
}

uint64_t nursery_bytes(const struct nursery *nursery)
{
	return nursery ? atomic_load(&nursery->bytes) : 0;
}
