/*
 * A pool of parked jails: see pool.h for the life of one.
 *
 * One lock guards the lists. Jails are made and removed without it. A thread that looks for a jail to make holds it while it counts the
 * open descriptors: one stat(), or before Linux 6.2 the reading of a directory. Threads of the pool build and remove, so that a hand-out
 * waits for neither. The first thread does all of this alone, in the pauses between hand-outs. If a key has no
 * jail left, the others help, because callers may be waiting. A jail that was taken belongs to its caller until it is broken or given back.
 *
 * A key's template may be replaced (its sources are other objects by now): each jail holds the one that it was made of. pool_kind.c compares
 * keys.
 *
 * A jail is gone when its removal succeeded, which includes that its init was waited for and that the kernel let its cgroups be removed:
 * it does so only when no process is in them. Drain waits for that.
 */
#include "runtime/library/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "runtime/library/interpreters.h"
#include "runtime/library/library.h"
#include "runtime/library/nursery.h"
#include "runtime/library/preparation.h"

#define JAIL_BYTES    ((uint64_t)448 << 10)              /* measured: kernel objects, page tables, stacks */
#define PROGRAM_BYTES (JAIL_BYTES + ((uint64_t)8 << 20)) /* until one has been measured */
#define FILL_US       UINT64_C(30000000)
#define TRY_AGAIN_US  UINT64_C(1000000)
#define MAINTAIN_US   UINT64_C(1000000)
#define CHANGES_MOST                                                                                         \
	3u /* in a row of the files that a key's program loads, before the key rests for TRY_AGAIN_US */
#define DIED          2  /* of hand_out() */
#define DIED_MOST     3u /* jails that may die in one launch before they have begun its program */
#define FORK_AGAIN_US UINT64_C(2000000) /* after the first fork that failed; doubled each time */
#define FORK_DOUBLED  8u                /* times at most: about 8.5 minutes */
#define REST_US                                                                                              \
	UINT64_C(3000) /* after a hand-out: the usual time of a short program, its caller's included */
#define THREADS_MAX 4u

/* A jail, from BUILDING to GONE. */
struct slot {
	struct slot *next;
	enum pool_state state;
	struct key *key;              /* in BUILDING and READY, else NULL */
	struct warder_template *tmpl; /* a reference */
	struct jail_run *run;         /* NULL while it is being built */
	char **program;               /* owned; that was started in it; or NULL */
	struct nursery *nursery;      /* in BUILDING: a reference, of the key's; or NULL */
	bool is_trial;                /* in BUILDING: it has the key's trial */
	uint64_t bytes;               /* that it takes while it is parked */
	uint64_t begun_us;            /* clock when a thread began to build it */
	bool is_removed_now;          /* in CLEANING: by the thread */
};

struct key {
	struct key *next;
	struct pool_kind kind;        /* owned */
	struct warder_template *tmpl; /* a reference */
	char **program;               /* owned; to be started in advance; or NULL */
	struct nursery *nursery;      /* a reference: the program is forked; or NULL */
	bool never_forks; /* the nursery cannot: the next request gives each jail a program of its own */
	struct warder_template
	    *trial; /* with trial_nursery, for the next jail that a thread parks, which is forked; or NULL */
	struct nursery *trial_nursery;
	bool forks_later;       /* it could be forked, and is not */
	unsigned int refusals;  /* times in a row that no jail could be forked */
	uint64_t fork_again_us; /* clock at which a request prepares a trial; 0: none is due */
	bool merged;            /* its outputs are one pipe */
	uint64_t bytes;         /* of each jail: what the last one took */
	unsigned int wanted;    /* jails to keep parked */
	unsigned int callers;   /* in a launch or a fill: no other key takes its place */
	uint64_t used_us;       /* clock of the last use */
	unsigned int failures;  /* to park a jail */
	uint64_t failed_us;     /* clock of the last, or 0 */
	unsigned int changes;   /* in a row: of files that its program had loaded, found at a hand-out */
	uint64_t changed_us;    /* clock of the last find */
	struct warder_error why;
};

struct warder_pool {
	struct warder_pool_options options; /* without zeros */
	int owner_pid;
	pthread_mutex_t lock;
	pthread_cond_t work;    /* there is some for the first thread */
	pthread_cond_t help;    /* for the others */
	pthread_cond_t ready;   /* a jail is ready */
	pthread_cond_t changed; /* a jail is ready, or gone */
	pthread_t threads[THREADS_MAX];
	unsigned int thread_count;
	uint64_t handed_us; /* clock of the last hand-out */
	struct key *keys;
	struct slot *slots;
	unsigned int dropping; /* threads that drop parts, keys or zygotes */
	unsigned int callers;  /* in a launch or a fill */
	unsigned int draining; /* drains: nobody enters meanwhile, and no key comes */
	unsigned int slotless; /* runs that were launched because no jail was ready */
	bool stopping, pressed;
	bool
	    dozes; /* the first thread wakes up by itself after REST_US, and need not be woken up for less than a waiting caller */
	int mounts_fd;          /* this process's mount table, whose changes the kernel reports; or -1 */
	uint64_t mount_changes; /* that were seen */
	bool has_failed;        /* to remove something */
	struct warder_error failure;
	uint64_t parked, handed_out, launched, stale, changing, broken, evicted, removed;
	struct jail_parts_counts parts;
	struct nursery_counts nurseries;
	struct warder_error
	    fork_refused; /* why the last key that could have been forked was not; zeroed: none was refused */
};

static int error_drained(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_CONFLICT, NULL, "the pool was drained meanwhile; try again");
}

/* ---- jails and keys; under the lock ---- */

static void move_to(struct warder_pool *pool, struct slot *slot, enum pool_state state)
{
	if (!pool_may_move(slot->state, state))
		abort();
	slot->state = state;
	if (state != POOL_BUILDING && state != POOL_READY)
		slot->key = NULL;
	if (state == POOL_CLEANING && !pool->dozes)
		pthread_cond_signal(&pool->work);
	if (state == POOL_READY || state == POOL_GONE)
		pthread_cond_broadcast(&pool->changed);
	if (state != POOL_READY || !slot->key)
		return;
	/* A jail serves one caller, but a caller with another key cannot use it. */
	if (pool->keys->next)
		pthread_cond_broadcast(&pool->ready);
	else
		pthread_cond_signal(&pool->ready);
}

static unsigned int count_of(const struct warder_pool *pool, const struct key *key, enum pool_state state)
{
	unsigned int count = 0;

	for (const struct slot *slot = pool->slots; slot; slot = slot->next)
		count += slot->state == state && (!key || slot->key == key);
	return count;
}

static unsigned int parked_of(const struct warder_pool *pool, const struct key *key)
{
	return count_of(pool, key, POOL_BUILDING) + count_of(pool, key, POOL_READY);
}

static unsigned int most_of(const struct warder_pool *pool, unsigned int most)
{
	return pool->pressed ? (most + 1) / 2 : most;
}

static uint64_t bytes_parked(const struct warder_pool *pool)
{
	uint64_t bytes = 0;

	for (const struct slot *slot = pool->slots; slot; slot = slot->next)
		if (slot->state == POOL_BUILDING || slot->state == POOL_READY)
			bytes += slot->bytes;
	for (const struct key *key = pool->keys; key; key = key->next)
		bytes += nursery_bytes(key->nursery);
	return bytes;
}

static bool fits(const struct warder_pool *pool, unsigned int jails, uint64_t bytes)
{
	return jails <= most_of(pool, pool->options.jails) &&
	       bytes <= pool->options.memory_bytes / (pool->pressed ? 2 : 1);
}

/* Why there is no room for so many jails of so many bytes, of which `others` are parked for other keys. */
static int error_no_room(const struct warder_pool *pool, unsigned int jails, unsigned int others,
			 uint64_t bytes, struct warder_error *err)
{
	const char *half = pool->pressed ? "; now half of it, because the host is short of memory" : "";
	char theirs[48] = "";

	if (others)
		snprintf(theirs, sizeof(theirs), ", %u of them for other keys", others);
	if (jails > most_of(pool, pool->options.jails))
		return error_set(
		    err, WARDER_ERROR_UNAVAILABLE, "count",
		    "that would be %u parked jails%s, and the pool parks at most %u (jails%s); ask "
		    "for fewer, or set jails to more",
		    jails, theirs, pool->options.jails, half);
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "count",
			 "%u parked jails%s would take %" PRIu64 " KiB, and the limit is %" PRIu64
			 " KiB (memory_bytes%s); ask for fewer, or set memory_bytes to more",
			 jails, theirs, bytes >> 10, pool->options.memory_bytes >> 10, half);
}

static unsigned int wanted_of(const struct warder_pool *pool, const struct key *key)
{
	const unsigned int most = most_of(pool, pool->options.jails_a_key);

	return key->wanted < most ? key->wanted : most;
}

static struct slot *find_slot(const struct warder_pool *pool, const struct key *key, enum pool_state state)
{
	for (struct slot *slot = pool->slots; slot; slot = slot->next)
		if (slot->state == state && (!key || slot->key == key) && !slot->is_removed_now)
			return slot;
	return NULL;
}

/* Those that a thread removes already are not among them. */
static unsigned int count_ended(const struct warder_pool *pool)
{
	unsigned int count = 0;

	for (const struct slot *slot = pool->slots; slot; slot = slot->next)
		count += slot->state == POOL_CLEANING && !slot->is_removed_now;
	return count;
}

static void unlink_slot(struct warder_pool *pool, const struct slot *slot)
{
	struct slot **at = &pool->slots;

	while (*at != slot)
		at = &(*at)->next;
	*at = slot->next;
}

static struct key *find_key(const struct warder_pool *pool, const struct pool_kind *kind)
{
	struct key *key = pool->keys;

	while (key && !pool_kind_equal(&key->kind, kind))
		key = key->next;
	return key;
}

/* Its parked jails end as `state` or are cleaned at once; those that are being built, when they are ready. */
static void give_up(struct warder_pool *pool, const struct key *key, enum pool_state state)
{
	for (struct slot *slot = pool->slots; slot; slot = slot->next) {
		if (slot->key != key)
			continue;
		slot->key = NULL;
		if (slot->state != POOL_READY)
			continue;
		if (state == POOL_STALE) {
			pool->stale++;
			move_to(pool, slot, POOL_STALE);
		}
		move_to(pool, slot, POOL_CLEANING);
	}
}

/* To be freed without the lock: the template may take a while. */
static struct key *take_key(struct warder_pool *pool, struct key *key)
{
	struct key **at = &pool->keys;

	give_up(pool, key, POOL_CLEANING);
	while (*at != key)
		at = &(*at)->next;
	*at = key->next;
	pthread_cond_broadcast(&pool->ready);
	pthread_cond_broadcast(&pool->changed);
	pthread_cond_signal(&pool->work);
	return key;
}

static void free_key(struct key *key)
{
	if (!key)
		return;
	nursery_drop(key->nursery);
	nursery_drop(key->trial_nursery);
	warder_template_free(key->trial);
	warder_template_free(key->tmpl);
	interpreters_free(key->program, text_count(key->program));
	pool_kind_done(&key->kind);
	free(key);
}

/* with_jails: one that has a jail ready. Otherwise one that nobody uses now. */
static struct key *least_used(const struct warder_pool *pool, const struct key *except, bool with_jails)
{
	struct key *least = NULL;

	for (struct key *key = pool->keys; key; key = key->next)
		if (key != except && (!least || key->used_us < least->used_us) &&
		    (with_jails ? count_of(pool, key, POOL_READY) > 0 : key->callers == 0))
			least = key;
	return least;
}

/* ---- the threads ---- */

static void free_slot(struct slot *slot)
{
	interpreters_free(slot->program, text_count(slot->program));
	free(slot);
}

/* What holds jails or cgroups is dropped without the lock, which is held before and after: the kernel may take its time. A drain waits for that. */
static void begin_dropping(struct warder_pool *pool)
{
	pool->dropping++;
	pthread_mutex_unlock(&pool->lock);
}

static void end_dropping(struct warder_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->dropping--;
	pthread_cond_broadcast(&pool->changed);
}

/* The first one is kept for the next drain. The lock is held. */
static void note_left(struct warder_pool *pool, const struct warder_error *left)
{
	if (pool->has_failed)
		return;
	pool->has_failed = true;
	pool->failure = *left;
}

static void clean(struct warder_pool *pool, struct slot *slot)
{
	struct warder_error err;
	int removed;

	slot->is_removed_now = true;
	pthread_mutex_unlock(&pool->lock);
	removed = jail_run_remove(slot->run, &err);
	warder_template_free(slot->tmpl);
	pthread_mutex_lock(&pool->lock);
	if (removed != 0)
		note_left(pool, &err);
	pool->removed++;
	unlink_slot(pool, slot);
	move_to(pool, slot, POOL_GONE);
	free_slot(slot);
}

/* Without the lock. -1 with *err; *left has a code if something of the jail could not be removed. */
static int park(struct slot *slot, bool merged, struct warder_error *left, struct warder_error *err)
{
	if (slot->nursery) {
		if (nursery_park(slot->nursery, library_jail_template(slot->tmpl), slot->program, merged,
				 &slot->run, err) != 0)
			return -1;
		slot->bytes = JAIL_BYTES + jail_warm_bytes(slot->run);
		return 0;
	}
	if (jail_park(library_jail_template(slot->tmpl), &slot->run, err) != 0)
		return -1;
	if (!slot->program)
		return 0;
	if (jail_warm(slot->run, slot->program, merged, err) == 0) {
		slot->bytes = JAIL_BYTES + jail_warm_bytes(slot->run);
		return 0;
	}
	jail_run_remove(slot->run, left);
	slot->run = NULL;
	return -1;
}

/* The lock is held. Until the next trial, each jail has a program of its own. */
static void refuse_fork(struct warder_pool *pool, struct key *key, const struct warder_error *err)
{
	const unsigned int doubled = key->refusals < FORK_DOUBLED ? key->refusals : FORK_DOUBLED;

	key->forks_later = true;
	key->refusals++;
	key->fork_again_us = clock_us() + (FORK_AGAIN_US << doubled);
	pool->fork_refused = *err;
}

/* The lock is held. A nursery that has forked no jail yet may never do so: a host may refuse user namespaces in a user namespace, and a Python may
 * lack ctypes. Or a module was half written, or the machine too busy. */
static void note_failure(struct warder_pool *pool, const struct slot *slot, const struct warder_error *err)
{
	struct key *key = slot->key;

	if (slot->is_trial) {
		refuse_fork(pool, key, err);
		return;
	}
	key->failures++;
	key->failed_us = clock_us();
	key->why = *err;
	/* A program with threads is the caller's own choice; too little memory passes. */
	if (slot->nursery && slot->nursery == key->nursery && !nursery_has_forked(slot->nursery) &&
	    err->code != WARDER_ERROR_UNSUPPORTED_POLICY && err->sys_errno != ENOMEM) {
		key->never_forks = true;
		refuse_fork(pool, key, err);
	}
	pthread_cond_broadcast(&pool->ready); /* for the reason */
}

/* That may take a while, and end a zygote. Both may be NULL. The lock is held before and after. */
static void leave_sources(struct warder_pool *pool, struct warder_template *tmpl, struct nursery *nursery)
{
	if (!tmpl && !nursery)
		return;
	begin_dropping(pool);
	nursery_drop(nursery);
	warder_template_free(tmpl);
	end_dropping(pool);
}

/* The lock is held. What the slot's jail is made of. */
static void take_sources(struct slot *slot, struct key *key, bool tries)
{
	slot->is_trial = tries && key->trial;
	if (!slot->is_trial) {
		slot->tmpl = library_template_hold(key->tmpl);
		slot->nursery = nursery_hold(key->nursery);
		return;
	}
	slot->tmpl = key->trial;
	slot->nursery = key->trial_nursery;
	key->trial = NULL;
	key->trial_nursery = NULL;
}

/* The lock is held. The trial has succeeded: further jails are forked, too. Those that are parked already stay. Returns the template that is to be
 * freed without the lock. */
static struct warder_template *adopt(struct key *key, const struct slot *slot)
{
	struct warder_template *before = key->tmpl;

	key->tmpl = library_template_hold(slot->tmpl);
	key->nursery = nursery_hold(slot->nursery);
	key->forks_later = false;
	key->refusals = 0;
	return before;
}

/* The lock is held before and after, and the key may be gone then. tries: a jail that waits for a trial to fork may be this one. -1 with *err. */
static int build(struct warder_pool *pool, struct key *key, bool tries, struct warder_error *err)
{
	struct slot *slot = calloc(1, sizeof(*slot));
	struct warder_template *before = NULL;
	struct warder_error left = { 0 };
	const bool merged = key->merged;
	struct nursery *nursery;
	int parked;

	if (!slot || (key->program && !(slot->program = interpreters_copy(key->program, err)))) {
		free(slot);
		key->failures++;
		key->failed_us = clock_us();
		error_no_memory(err, NULL);
		key->why = *err;
		return -1;
	}
	slot->bytes = key->bytes;
	slot->begun_us = clock_us();
	slot->state = POOL_BUILDING;
	slot->key = key;
	take_sources(slot, key, tries);
	nursery = slot->nursery;
	slot->next = pool->slots;
	pool->slots = slot;
	pthread_mutex_unlock(&pool->lock);
	parked = park(slot, merged, &left, err);
	if (parked != 0)
		warder_template_free(slot->tmpl);
	pthread_mutex_lock(&pool->lock);
	if (parked == 0) {
		const bool wanted = slot->key != NULL; /* the key may be gone, or stale */

		pool->parked++;
		if (wanted) {
			slot->key->failed_us = 0;
			slot->key->bytes = slot->bytes;
		}
		if (wanted && slot->is_trial)
			before = adopt(slot->key, slot);
		slot->nursery = NULL;
		move_to(pool, slot, POOL_READY);
		if (!wanted)
			move_to(pool, slot, POOL_CLEANING);
		leave_sources(pool, before, nursery);
		return 0;
	}
	if (left.code)
		note_left(pool, &left);
	if (slot->key)
		note_failure(pool, slot, err);
	unlink_slot(pool, slot);
	move_to(pool, slot, POOL_GONE);
	free_slot(slot);
	leave_sources(pool, before, nursery);
	return -1;
}

/* The files of its program change faster than jails are handed out. */
static bool is_changing(const struct key *key, uint64_t now)
{
	return key->changes >= CHANGES_MOST && now - key->changed_us < TRY_AGAIN_US;
}

/* For the next request, which has the policy that it takes, a key that never forks is made anew. */
static bool may_try(const struct key *key, uint64_t now)
{
	if (key->never_forks || is_changing(key, now))
		return false;
	return !key->failed_us || now - key->failed_us >= TRY_AGAIN_US;
}

static bool is_short(const struct warder_pool *pool, const struct key *key, uint64_t now)
{
	return parked_of(pool, key) < wanted_of(pool, key) && may_try(key, now) &&
	       !count_of(pool, key, POOL_READY);
}

static bool has_short(const struct warder_pool *pool)
{
	const uint64_t now = clock_us();
	const struct key *key = pool->keys;

	while (key && !is_short(pool, key, now))
		key = key->next;
	return key != NULL;
}

/* For a fill, which ends with this reason. */
static void lack_room(struct warder_pool *pool, struct key *key)
{
	if (key->callers == 0 || count_of(pool, NULL, POOL_BUILDING))
		return;
	key->failures++;
	error_no_room(pool, parked_of(pool, NULL) + 1, parked_of(pool, NULL) - parked_of(pool, key),
		      bytes_parked(pool) + key->bytes, &key->why);
	pthread_cond_broadcast(&pool->changed);
}

/* As if it had been tried. */
static void lack_descriptors(struct warder_pool *pool, struct key *key, const struct pool_descriptors *have)
{
	key->failures++;
	key->failed_us = clock_us();
	error_set(&key->why, WARDER_ERROR_UNAVAILABLE, "jails",
		  "this process has %" PRIu64
		  " open descriptors, a parked jail takes up to %u, and parked jails "
		  "may not fill more than half of the limit of %" PRIu64
		  "; park fewer jails, or raise the limit (ulimit -n)",
		  have->open, POOL_DESCRIPTORS, have->most);
	pthread_cond_broadcast(&pool->changed); /* a fill ends with this reason */
}

static struct key *find_with_parts(const struct warder_pool *pool)
{
	struct key *key = pool->keys;

	while (key && !jail_template_has_parts(library_jail_template(key->tmpl)))
		key = key->next;
	return key;
}

/* They hold descriptors. The lock is held before and after, but not meanwhile: the kernel may take its time to remove a cgroup. False: there
 * was none. */
static bool drop_parts(struct warder_pool *pool)
{
	const struct key *key = find_with_parts(pool);
	struct warder_template *tmpl = key ? library_template_hold(key->tmpl) : NULL;

	if (!tmpl)
		return false;
	begin_dropping(pool);
	jail_template_drop_parts(library_jail_template(tmpl));
	warder_template_free(tmpl);
	end_dropping(pool);
	return true;
}

/* A key that has fewer jails than it is to have (`only_short`: and none ready), and for which there is room. One without any may have that
 * of another. NULL with *ret_drop: first, parts are to be dropped. */
static struct key *find_wanting(struct warder_pool *pool, bool only_short, bool *ret_drop)
{
	const uint64_t now = clock_us();

	*ret_drop = false;
	for (struct key *key = pool->keys; key; key = key->next) {
		struct pool_descriptors have;
		const struct key *other;
		bool may;

		if (!may_try(key, now) || parked_of(pool, key) >= wanted_of(pool, key) ||
		    (only_short && !is_short(pool, key, now)))
			continue;
		have = pool_count_descriptors();
		may = pool_may_park(&have, count_of(pool, NULL, POOL_BUILDING));
		if (!may && find_with_parts(pool)) {
			*ret_drop = true;
			return NULL;
		}
		if (may && fits(pool, parked_of(pool, NULL) + 1, bytes_parked(pool) + key->bytes))
			return key;
		other = parked_of(pool, key) ? NULL : least_used(pool, key, true);
		if (!other && !may)
			lack_descriptors(pool, key, &have);
		else if (!other)
			lack_room(pool, key);
		if (!other)
			continue;
		pool->evicted++;
		move_to(pool, find_slot(pool, other, POOL_READY), POOL_CLEANING);
		return key;
	}
	return NULL;
}

/* Jails beyond the limits, which memory pressure halves. */
static void shed(struct warder_pool *pool)
{
	for (struct key *key = pool->keys; key; key = key->next) {
		while (count_of(pool, key, POOL_READY) > wanted_of(pool, key)) {
			pool->evicted++;
			move_to(pool, find_slot(pool, key, POOL_READY), POOL_CLEANING);
		}
	}
	while (count_of(pool, NULL, POOL_READY) &&
	       !fits(pool, count_of(pool, NULL, POOL_READY), bytes_parked(pool))) {
		pool->evicted++;
		move_to(pool, find_slot(pool, least_used(pool, NULL, true), POOL_READY), POOL_CLEANING);
	}
}

static void maintain(struct warder_pool *pool)
{
	struct key *oldest;

	pthread_mutex_unlock(&pool->lock);
	const bool pressed = pool_is_pressed_now();
	pthread_mutex_lock(&pool->lock);
	pool->pressed = pressed;
	shed(pool);
	while ((oldest = least_used(pool, NULL, false)) &&
	       clock_us() - oldest->used_us >= pool->options.idle_us) {
		pool->evicted += count_of(pool, oldest, POOL_READY);
		oldest = take_key(pool, oldest);
		begin_dropping(pool);
		free_key(oldest);
		end_dropping(pool);
	}
}

static void wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t at_us)
{
	const struct timespec at = { .tv_sec = (time_t)(at_us / 1000000),
				     .tv_nsec = (long)(at_us % 1000000) * 1000 };

	pthread_cond_timedwait(condition, lock, &at);
}

/* Do one piece of work. The lock is held, and released during the work. False: there was none. */
static bool work(struct warder_pool *pool, bool is_helper)
{
	struct slot *dead = find_slot(pool, NULL, POOL_CLEANING);
	struct pool_look look = {
		.is_short = !pool->stopping && has_short(pool),
		.is_wanting = !pool->stopping, /* perhaps */
		.is_resting = pool->keys && clock_us() < pool->handed_us + REST_US,
		.is_helper = is_helper,
		.ended = count_ended(pool),
	};
	enum pool_work choice = pool_choose_work(&look);
	struct key *key = NULL;
	struct warder_error ignored;
	bool drop = false;

	if (choice == POOL_WORK_PARK)
		key = find_wanting(pool, look.is_short, &drop);
	if (drop)
		return drop_parts(pool);
	if (choice == POOL_WORK_PARK && !key) {
		look.is_short = look.is_wanting = false; /* the pool has no room */
		choice = pool_choose_work(&look);
	}
	/* Not without room: the threads would wake one another for nothing. */
	if (look.is_short && choice != POOL_WORK_NONE)
		pthread_cond_signal(&pool->help);
	switch (choice) {
	case POOL_WORK_NONE:
		return false;
	case POOL_WORK_PARK:
		build(pool, key, true, &ignored);
		break;
	case POOL_WORK_CLEAN:
		clean(pool, dead);
		break;
	}
	return true;
}

static uint64_t rest_until(const struct warder_pool *pool, uint64_t maintain_us)
{
	const uint64_t rested_us = pool->handed_us + REST_US;

	return rested_us > clock_us() && rested_us < maintain_us ? rested_us : maintain_us;
}

static void *tend(void *arg)
{
	struct warder_pool *pool = arg;
	uint64_t maintain_us = clock_us() + MAINTAIN_US;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		if (clock_us() >= maintain_us) {
			maintain(pool);
			maintain_us = clock_us() + MAINTAIN_US;
			continue;
		}
		if (work(pool, false))
			continue;
		if (pool->stopping)
			break;
		if (pool->keys) {
			const uint64_t until = rest_until(pool, maintain_us);

			pool->dozes = until != maintain_us;
			wait_until(&pool->work, &pool->lock, until);
			pool->dozes = false;
		} else {
			pthread_cond_wait(&pool->work, &pool->lock);
		}
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static void *help(void *arg)
{
	struct warder_pool *pool = arg;

	pthread_mutex_lock(&pool->lock);
	while (!pool->stopping)
		if (!work(pool, true))
			pthread_cond_wait(&pool->help, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* ---- keys ---- */

/* A parked jail does not get the mounts that come later, nor loses those that go. */
static uint64_t count_mount_changes(struct warder_pool *pool)
{
	struct pollfd changed = { .fd = pool->mounts_fd, .events = POLLPRI };
	uint64_t count;

	pthread_mutex_lock(&pool->lock);
	if (poll(&changed, 1, 0) > 0)
		pool->mount_changes++;
	count = pool->mount_changes;
	pthread_mutex_unlock(&pool->lock);
	return count;
}

/* What a key's jails begin with. */
enum origin { ORIGIN_OWN, ORIGIN_FORKED, ORIGIN_ZYGOTE };

static int prepare(struct warder_pool *pool, const struct warder_pool_key *key,
		   const struct warder_options *options, const struct policy_subject *subject,
		   enum origin origin, struct warder_template **ret, struct warder_error *err)
{
	const struct preparation_options how = { .ceiling =
						     options->ceiling ? &options->ceiling->policy : NULL,
						 .cgroup_parent = options->cgroup_parent,
						 .builds_image = options->builds_image,
						 .backend = options->backend,
						 .backends = options->backends,
						 .zygote = origin == ORIGIN_ZYGOTE,
						 .forked = origin == ORIGIN_FORKED,
						 .subject = subject };

	if (library_prepare(&key->policy->policy, &how, options->single_use, ret, err) < 0)
		return -1;
	/* A key has one tenant, and each of its templates has parts of its own. */
	if (!pool->options.parts || origin != ORIGIN_OWN ||
	    jail_template_reuse(library_jail_template(*ret), &pool->parts, err) == 0)
		return 0;
	warder_template_free(*ret);
	*ret = NULL;
	return -1;
}

/* The key's zygotes are jails of their own, of the same policy. The words become the nursery's or are freed. NULL with *err. */
static struct nursery *new_nursery(struct warder_pool *pool, const struct warder_pool_key *key,
				   const struct warder_options *options, const struct policy_subject *subject,
				   char **words, struct warder_error *err)
{
	struct warder_template *zygote;

	if (!words)
		return NULL;
	if (prepare(pool, key, options, subject, ORIGIN_ZYGOTE, &zygote, err) == 0)
		return nursery_new(zygote, words, &pool->nurseries, err);
	interpreters_free(words, text_count(words));
	return NULL;
}

/* Its jails are forked if they can be: a jail that cannot has a program of its own, which shares less. */
static int begin_key(struct warder_pool *pool, struct key *made, const struct pool_asked *asked,
		     const struct warder_pool_key *key, const struct warder_options *options,
		     char *const *program, struct warder_error *err)
{
	bool forked = pool->options.fork_server && interpreters_fork(program);
	struct warder_error refused;

	if (forked &&
	    (prepare(pool, key, options, asked->subject, ORIGIN_FORKED, &made->tmpl, &refused) != 0 ||
	     !(made->nursery = new_nursery(pool, key, options, asked->subject,
					   interpreters_zygote_words(program, &refused), &refused)))) {
		if (refused.code != WARDER_ERROR_UNSUPPORTED_POLICY) {
			*err = refused;
			return -1;
		}
		pthread_mutex_lock(&pool->lock);
		pool->fork_refused = refused;
		pthread_mutex_unlock(&pool->lock);
		warder_template_free(made->tmpl);
		made->tmpl = NULL;
		forked = false;
	}
	return forked ? 0 : prepare(pool, key, options, asked->subject, ORIGIN_OWN, &made->tmpl, err);
}

/* A key that is not in the list yet. The program becomes its own. NULL with *err, and the program is as before. */
static struct key *new_key(struct warder_pool *pool, const struct pool_asked *asked,
			   const struct warder_pool_key *key, const struct warder_options *options,
			   const struct pool_kind *kind, char **program, struct warder_error *err)
{
	struct key *made = calloc(1, sizeof(*made));

	if (!made) {
		error_no_memory(err, NULL);
		return NULL;
	}
	if (pool_kind_copy(kind, &made->kind, err) != 0 ||
	    begin_key(pool, made, asked, key, options, program, err) != 0) {
		free_key(made);
		return NULL;
	}
	made->program = program;
	made->merged = asked->merged;
	made->bytes = program ? PROGRAM_BYTES : JAIL_BYTES;
	made->used_us = clock_us();
	return made;
}

/* Keys in a row. */
static void free_keys(struct key *keys)
{
	while (keys) {
		struct key *next = keys->next;

		free_key(keys);
		keys = next;
	}
}

/* Put it into the list. Returns the keys to be freed: itself if another thread was quicker, or those that it replaces. If all are in use, there
 * are more than the option allows until the next one comes. */
static struct key *link_key(struct warder_pool *pool, struct key *made)
{
	struct key *replaced = NULL, *least;
	unsigned int count = 1;

	if (find_key(pool, &made->kind))
		return made;
	for (const struct key *other = pool->keys; other; other = other->next)
		count++;
	for (; count > pool->options.keys && (least = least_used(pool, NULL, false)); count--) {
		pool->evicted += count_of(pool, least, POOL_READY);
		take_key(pool, least)->next = replaced;
		replaced = least;
	}
	made->next = pool->keys;
	pool->keys = made;
	return replaced;
}

static struct key *use_key(struct key *key)
{
	key->callers++;
	key->used_us = clock_us();
	return key;
}

/* The key of that kind, in use until leave_pool(). The program becomes the key's or is freed. Takes the lock, which the caller holds afterwards if
 * it succeeded. */
static struct key *enter_key(struct warder_pool *pool, const struct pool_asked *asked,
			     const struct warder_pool_key *key, const struct warder_options *options,
			     const struct pool_kind *kind, char **program, struct warder_error *err)
{
	struct key *found, *made, *unused;

	pthread_mutex_lock(&pool->lock);
	found = find_key(pool, kind);
	if (found) {
		use_key(found);
		interpreters_free(program, text_count(program));
		return found;
	}
	pthread_mutex_unlock(&pool->lock);
	made = new_key(pool, asked, key, options, kind, program, err);
	if (!made) {
		interpreters_free(program, text_count(program));
		return NULL;
	}
	pthread_mutex_lock(&pool->lock);
	unused = pool->draining ? made : link_key(pool, made);
	found = find_key(pool, kind);
	if (found)
		use_key(found);
	if (!unused)
		return found;
	pthread_mutex_unlock(&pool->lock);
	free_keys(unused);
	pthread_mutex_lock(&pool->lock);
	found = find_key(pool, kind);
	if (found)
		return found;
	pthread_mutex_unlock(&pool->lock);
	error_drained(err);
	return NULL;
}

static int check_pool(const struct warder_pool *pool, struct warder_error *err)
{
	if (pool->owner_pid != getpid())
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "the pool belongs to process %d, which this one was forked from",
				 pool->owner_pid);
	return 0;
}

/* 0 with the words of the program that is to be started in advance, or NULL; -1 with *err. */
static int take_program(const struct warder_pool_key *key, char ***ret, struct warder_error *err)
{
	if (key->program && key->interpreter)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "interpreter",
				 "program and interpreter are both given; give one of them");
	if (key->imports && !key->interpreter)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "imports",
				 "imports are given without an interpreter; set interpreter");
	if (!key->program && !key->interpreter)
		return 0;
	*ret = key->interpreter ? interpreters_words(key->interpreter, key->imports, err)
				: interpreters_copy(key->program, err);
	return *ret ? 0 : -1;
}

/* A launch or a fill begins. 0; -1 with *err. */
static int enter_pool(struct warder_pool *pool, struct warder_error *err)
{
	bool drains;

	if (check_pool(pool, err) != 0)
		return -1;
	pthread_mutex_lock(&pool->lock);
	drains = pool->draining;
	pool->callers += !drains;
	pthread_mutex_unlock(&pool->lock);
	return drains
		   ? error_set(err, WARDER_ERROR_CONFLICT, NULL,
			       "the pool is being drained; try again when warder_pool_drain() has returned")
		   : 0;
}

/* It ends. The lock is held if it had a key, and not held afterwards. Frees what open_key() made. */
static void leave_pool(struct warder_pool *pool, bool had_key, struct pool_kind *kind)
{
	struct key *key;

	if (!had_key)
		pthread_mutex_lock(&pool->lock);
	/* It is the same one, or gone: no key comes before a drain has seen all callers leave. */
	key = had_key ? find_key(pool, kind) : NULL;
	if (key)
		key->callers--;
	if (--pool->callers == 0)
		pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	free(kind->text);
}

/* Without the lock: the code may be long. */
static int check_code(char *const *program, const struct pool_asked *asked, struct warder_error *err)
{
	return !asked->work || interpreters_take(program, asked->work, asked->work_len)
		   ? 0
		   : error_set(err, WARDER_ERROR_INVALID_REQUEST, "code",
			       "code for a parked Python must be UTF-8, without NUL and without a line that "
			       "names its coding; give it as a file to warder_launch()");
}

/* The caller holds the lock if it is not NULL. Afterwards: leave_pool(). */
static struct key *open_key(struct warder_pool *pool, const struct pool_asked *asked, struct pool_kind *kind,
			    struct warder_error *err)
{
	struct warder_pool_key known;
	struct warder_options options = { .size = sizeof(options) };
	char **program = NULL;

	kind->text = NULL;
	if (library_take(&known, sizeof(known), asked->key, asked->key->size, "warder_pool_key", err) != 0)
		return NULL;
	if (!known.policy) {
		error_no_argument(err, "key->policy");
		return NULL;
	}
	if (known.options && library_take(&options, sizeof(options), known.options, known.options->size,
					  "warder_options", err) != 0)
		return NULL;
	options.size = sizeof(options);
	if (options.single_use) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "single_use",
			  "single_use is 1, and a pool uses a template many times; set it to 0");
		return NULL;
	}
	/* The policy that the jails were parked for may have given less. */
	if (preparation_check(&known.policy->policy, options.ceiling ? &options.ceiling->policy : NULL,
			      err) != 0)
		return NULL;
	if (take_program(&known, &program, err) != 0)
		return NULL;
	if (check_code(program, asked, err) != 0 ||
	    pool_kind_of(asked, &known, &options, program, count_mount_changes(pool), kind, err) != 0) {
		interpreters_free(program, text_count(program));
		return NULL;
	}
	return enter_key(pool, asked, &known, &options, kind, program, err);
}

/* ---- public ---- */

static int check_options(const struct warder_pool_options *options, struct warder_error *err)
{
	if ((unsigned int)options->empty > WARDER_POOL_FAIL)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "empty",
				 "empty is %d; use WARDER_POOL_LAUNCH, _WAIT or _FAIL", (int)options->empty);
	if (options->parts != 0 && options->parts != 1)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "parts", "parts is %d; use 0 or 1",
				 options->parts);
	if (options->fork_server != 0 && options->fork_server != 1)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "fork_server",
				 "fork_server is %d; use 0 or 1", options->fork_server);
	if (options->memory_bytes && options->memory_bytes < JAIL_BYTES)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "memory_bytes",
				 "memory_bytes is %" PRIu64 ", and a parked jail takes %" PRIu64
				 "; set it to more, or to 0",
				 options->memory_bytes, JAIL_BYTES);
	return 0;
}

/* As many as there are processors, but only the first must start. */
static int start_threads(struct warder_pool *pool)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&pool->threads[0], NULL, tend, pool);
	for (pool->thread_count = 1;
	     ret == 0 && pool->thread_count < THREADS_MAX && (long)pool->thread_count < processors;
	     pool->thread_count++)
		if (pthread_create(&pool->threads[pool->thread_count], NULL, help, pool) != 0)
			break;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

int warder_pool_new(const struct warder_pool_options *options, struct warder_pool **ret,
		    struct warder_error *err)
{
	struct warder_pool_options known = { 0 };
	pthread_condattr_t monotonic;
	struct warder_pool *pool;
	int error;

	if (!ret)
		return error_no_argument(err, "ret");
	if (options &&
	    library_take(&known, sizeof(known), options, options->size, "warder_pool_options", err) != 0)
		return -1;
	if (check_options(&known, err) != 0)
		return -1;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return error_no_memory(err, NULL);
	pool->options = known;
	pool->options.jails_a_key = known.jails_a_key ? known.jails_a_key : 4;
	pool->options.keys = known.keys ? known.keys : 16;
	pool->options.jails = known.jails ? known.jails : 64;
	pool->options.memory_bytes = known.memory_bytes ? known.memory_bytes : UINT64_C(64) << 20;
	pool->options.idle_us = known.idle_us ? known.idle_us : 60 * UINT64_C(1000000);
	pool->options.wait_us = known.wait_us ? known.wait_us : 10 * UINT64_C(1000000);
	pool->owner_pid = getpid();
	pool->mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->work, &monotonic);
	pthread_cond_init(&pool->help, &monotonic);
	pthread_cond_init(&pool->ready, &monotonic);
	pthread_cond_init(&pool->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	error = start_threads(pool);
	if (error) {
		fd_done(&pool->mounts_fd);
		free(pool);
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, error,
				       "cannot start the first thread of the pool");
	}
	*ret = pool;
	return 0;
}

static void give_back(void *owner, struct jail_run *jail, struct warder_template *tmpl)
{
	struct warder_pool *pool = owner;

	pthread_mutex_lock(&pool->lock);
	pool->slotless -= !jail;
	for (struct slot *slot = pool->slots; slot; slot = slot->next) {
		if (slot->state != POOL_RUNNING || slot->run != jail)
			continue;
		move_to(pool, slot, POOL_ENDED);
		move_to(pool, slot, POOL_CLEANING);
	}
	begin_dropping(pool);
	warder_template_free(tmpl); /* the jail's own reference goes with the jail */
	end_dropping(pool);
	pthread_mutex_unlock(&pool->lock);
}

/* What the caller asks for, in the form of open_key(), which has checked it. */
static void take_asked(const struct pool_asked *asked, struct warder_pool_key *key,
		       struct warder_options *options)
{
	struct warder_error ignored;

	*options = (struct warder_options){ .size = sizeof(*options) };
	library_take(key, sizeof(*key), asked->key, asked->key->size, "warder_pool_key", &ignored);
	if (key->options)
		library_take(options, sizeof(*options), key->options, key->options->size, "warder_options",
			     &ignored);
}

/* If the key could not fork some time ago, and it is time: a thread tries again with the next jail that it parks. So no caller waits for that. The lock is
 * held before and after. */
static void prepare_trial(struct warder_pool *pool, const struct pool_asked *asked,
			  const struct pool_kind *kind)
{
	struct key *key = find_key(pool, kind);
	struct warder_template *own, *trial = NULL;
	struct nursery *nursery = NULL;
	struct warder_options options;
	struct warder_pool_key known;
	struct warder_error err = { 0 };
	char **words;

	if (!key || key->nursery || !key->fork_again_us || clock_us() < key->fork_again_us)
		return;
	key->fork_again_us = 0;
	words = interpreters_zygote_words(key->program, &err);
	own = library_template_hold(key->tmpl);
	pthread_mutex_unlock(&pool->lock);
	take_asked(asked, &known, &options);
	nursery = new_nursery(pool, &known, &options, asked->subject, words, &err);
	if (nursery && prepare(pool, &known, &options, asked->subject, ORIGIN_FORKED, &trial, &err) != 0) {
		nursery_drop(nursery);
		nursery = NULL;
	}
	pthread_mutex_lock(&pool->lock);
	key = find_key(pool, kind);
	if (key && !nursery) {
		refuse_fork(pool, key, &err);
	} else if (key && key->tmpl == own) {
		/* refresh() comes next, without a pause: it sees changes of the sources up to here. */
		warder_template_free(own); /* not the last reference */
		key->trial = trial;
		key->trial_nursery = nursery;
		return;
	}
	leave_sources(pool, trial, nursery);
	leave_sources(pool, own, NULL);
}

/* Of a key whose sources have changed, or which cannot fork, the jails and the template are given up. The lock is held before and after. False: gone. */
static bool refresh(struct warder_pool *pool, const struct pool_asked *asked, const struct pool_kind *kind,
		    struct warder_error *err)
{
	struct warder_options options;
	struct warder_pool_key known;
	struct warder_template *fresh = NULL;
	struct warder_template *tmpl, *trial = NULL;
	struct nursery *nursery, *fresh_nursery = NULL, *trial_nursery = NULL;
	struct key *key = find_key(pool, kind);
	bool stale, never_forks;
	int prepared = 0;

	if (!key)
		return error_drained(err) == 0;
	tmpl = library_template_hold(key->tmpl);
	nursery = nursery_hold(key->nursery);
	never_forks = key->never_forks;
	pthread_mutex_unlock(&pool->lock);
	take_asked(asked, &known, &options);
	stale = never_forks || jail_template_is_stale(library_jail_template(tmpl));
	if (stale)
		prepared = prepare(pool, &known, &options, asked->subject,
				   nursery && !never_forks ? ORIGIN_FORKED : ORIGIN_OWN, &fresh, err);
	if (stale && prepared == 0 && nursery && !never_forks) {
		fresh_nursery = new_nursery(pool, &known, &options, asked->subject,
					    interpreters_copy(nursery_program(nursery), err), err);
		prepared = fresh_nursery ? 0 : -1;
	}
	pthread_mutex_lock(&pool->lock);
	key = find_key(pool, kind);
	if (stale && key && key->tmpl == tmpl) {
		give_up(pool, key, POOL_STALE);
		if (prepared == 0) {
			warder_template_free(key->tmpl); /* not the last reference: tmpl */
			key->tmpl = fresh;
			fresh = NULL;
			if (nursery) {
				nursery_drop(key->nursery); /* nor this */
				key->nursery = fresh_nursery;
				fresh_nursery = NULL;
				key->never_forks = false;
			}
			key->failed_us = 0;
		}
		/* Also if a jail that is being built is the trial: it is given up, too. */
		if (!never_forks && key->forks_later) { /* other files, another chance */
			trial = key->trial;
			trial_nursery = key->trial_nursery;
			key->trial = NULL;
			key->trial_nursery = NULL;
			key->refusals = 0;
			key->fork_again_us = clock_us();
		}
	}
	pthread_mutex_unlock(&pool->lock);
	nursery_drop(trial_nursery);
	warder_template_free(trial);
	nursery_drop(fresh_nursery);
	nursery_drop(nursery);
	warder_template_free(fresh);
	warder_template_free(tmpl);
	pthread_mutex_lock(&pool->lock);
	if (prepared != 0)
		return false;
	return find_key(pool, kind) || error_drained(err) == 0;
}

/* Until the key has so many; the lock is held. The key is found again each time: it may have gone. */
static int await_jails(struct warder_pool *pool, const struct pool_asked *asked, const struct pool_kind *kind,
		       unsigned int count, struct warder_error *err)
{
	const uint64_t until = clock_us() + FILL_US;
	const struct key *key = find_key(pool, kind);
	unsigned int failures = key->failures;

	while (key && count_of(pool, key, POOL_READY) < count) {
		if (key->never_forks) {
			if (!refresh(pool, asked, kind, err))
				return -1;
			key = find_key(pool, kind);
			failures = key->failures;
			pthread_cond_signal(&pool->work);
		}
		if (key->failures != failures) {
			*err = key->why;
			return -1;
		}
		if (clock_us() >= until)
			return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
					 "the pool has %u of %u jails ready after 30 s",
					 count_of(pool, key, POOL_READY), count);
		wait_until(&pool->changed, &pool->lock, until);
		key = find_key(pool, kind);
	}
	return key ? 0 : error_drained(err);
}

/* That a jail of the key takes. An interpreter takes more, which is known when one has been parked. */
static uint64_t least_bytes(const struct key *key)
{
	return key->bytes == PROGRAM_BYTES ? JAIL_BYTES : key->bytes;
}

int warder_pool_fill(struct warder_pool *pool, const struct warder_pool_key *given, unsigned int count,
		     struct warder_error *err)
{
	const struct pool_asked asked = { .key = given };
	struct pool_kind kind;
	struct key *key;
	int filled;

	if (!pool || !given)
		return error_no_argument(err, pool ? "key" : "pool");
	if (count > pool->options.jails_a_key)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "count",
				 "count is %u, and the pool parks at most %u jails a key (jails_a_key)",
				 count, pool->options.jails_a_key);
	if (enter_pool(pool, err) != 0)
		return -1;
	key = open_key(pool, &asked, &kind, err);
	if (!key) {
		filled = -1;
	} else if (!fits(pool, count, count * least_bytes(key))) {
		filled = error_no_room(pool, count, 0, count * least_bytes(key), err);
	} else {
		key->wanted = count;
		key->failed_us = 0;
		pthread_cond_signal(&pool->work);
		filled = await_jails(pool, &asked, &kind, count, err);
	}
	leave_pool(pool, key != NULL, &kind);
	return filled;
}

/* The program of a key's policy into a parked jail, or (NULL) into a new one of the template. */
static int launch_given(struct warder_pool *pool, struct jail_run *jail, struct warder_template *tmpl,
			const struct pool_asked *asked, struct warder_run **ret, struct warder_error *err)
{
	struct library_launch launch;
	struct library_parked parked = { .jail = jail,
					 .give_back = give_back,
					 .pool_owner = pool,
					 .work = asked->work,
					 .work_len = asked->work_len };
	struct jail_given given;
	char **environment;
	int launched;

	if (jail_given_of(library_jail_template(tmpl), &asked->key->policy->policy, environ, &environment,
			  &given, err) != 0)
		return -1;
	given.code_bytes = asked->code_bytes;
	parked.given = &given;
	if (asked->launch) {
		launch = *asked->launch;
		launch.parked = &parked;
		launched = library_launch(tmpl, &launch, ret, err);
	} else {
		launched = library_launch_command(tmpl, asked->command, &parked, 0, ret, err);
	}
	jail_given_free(environment);
	return launched;
}

/* The lock is held. One change makes all jails stale that were begun before it was found. */
static void note_change(const struct slot *slot, struct key *key)
{
	if (!key || slot->begun_us < key->changed_us)
		return;
	key->changes++;
	key->changed_us = clock_us();
}

/* 0 with *ret: launched. 1 with *err: it is broken. DIED with *err: it died, and has certainly not begun the program. -1 with *err, of the
 * command. The lock is held before and after. */
static int hand_out(struct warder_pool *pool, struct slot *slot, const struct pool_asked *asked,
		    const struct pool_kind *kind, struct warder_run **ret, struct warder_error *err)
{
	struct warder_template *tmpl = slot->tmpl;
	struct key *key;
	int launched;
	bool died;

	pool->handed_us = clock_us();
	move_to(pool, slot, POOL_TAKEN);
	pthread_mutex_unlock(&pool->lock);
	if (slot->program && jail_warm_is_stale(slot->run)) {
		error_set(err, WARDER_ERROR_UNAVAILABLE, "program",
			  "a file that the parked program had loaded has changed");
		pthread_mutex_lock(&pool->lock);
		pool->stale++;
		note_change(slot, find_key(pool, kind));
		move_to(pool, slot, POOL_STALE);
		move_to(pool, slot, POOL_CLEANING);
		return 1;
	}
	if (jail_recheck(slot->run, err) != 0) {
		pthread_mutex_lock(&pool->lock);
		pool->broken++;
		move_to(pool, slot, POOL_BROKEN);
		move_to(pool, slot, POOL_CLEANING);
		return 1;
	}
	pthread_mutex_lock(&pool->lock);
	move_to(pool, slot, POOL_CHECKED);
	pthread_mutex_unlock(&pool->lock);
	launched = launch_given(pool, slot->run, tmpl, asked, ret, err);
	pthread_mutex_lock(&pool->lock);
	if (launched == 0) {
		key = find_key(pool, kind);
		if (key)
			key->changes = 0;
		pool->handed_out++;
		move_to(pool, slot, POOL_RUNNING);
		/* It is replaced when its program has ended, or with the next maintenance. Where few are left, it is replaced soon. */
		if (!pool->dozes && key && 2 * count_of(pool, key, POOL_READY) < key->wanted)
			pthread_cond_signal(&pool->work);
		return 0;
	}
	died = jail_died_unused(slot->run);
	pool->broken += died;
	move_to(pool, slot, POOL_BROKEN);
	move_to(pool, slot, POOL_CLEANING);
	return died ? DIED : -1;
}

/* Remove a jail that has ended, else parts that wait for a jail, or else a parked one. The lock is held before and after, but not all the time. False: there is none. */
static bool spare_one(struct warder_pool *pool)
{
	struct slot *slot = find_slot(pool, NULL, POOL_CLEANING);

	if (!slot && drop_parts(pool))
		return true;
	if (!slot) {
		const struct key *key = least_used(pool, NULL, true);

		if (!key)
			return false;
		slot = find_slot(pool, key, POOL_READY);
		pool->evicted++;
		move_to(pool, slot, POOL_CLEANING);
	}
	clean(pool, slot);
	return true;
}

/* Give up parked jails until a launch has enough descriptors. Without the lock. */
static void spare_descriptors(struct warder_pool *pool)
{
	struct pool_descriptors have = pool_count_descriptors();

	while (!pool_may_launch(&have)) {
		bool spared;

		pthread_mutex_lock(&pool->lock);
		spared = spare_one(pool);
		pthread_mutex_unlock(&pool->lock);
		if (!spared)
			return;
		have = pool_count_descriptors();
	}
}

static int refuse_changing(struct warder_pool *pool, const struct key *key, struct warder_error *err)
{
	pool->changing++;
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "program",
			 "files that the program loads have changed %u times in a row after it was started; "
			 "the pool starts it again after a second",
			 key->changes);
}

/* What an empty pool does. 1: look again. `broken`: why the last jail was not handed out, or NULL. The lock is held before and after. */
static int do_without(struct warder_pool *pool, struct key *key, const struct pool_asked *asked,
		      const struct warder_error *broken, uint64_t until, struct warder_run **ret,
		      struct warder_error *err)
{
	struct warder_template *tmpl;
	int launched;

	switch (pool->options.empty) {
	case WARDER_POOL_LAUNCH:
		if (asked->work && is_changing(key, clock_us()))
			return refuse_changing(pool, key, err);
		if (asked->work) { /* the next look finds it, unless somebody else was quicker */
			if (build(pool, key, false, err) != 0)
				return -1;
			pool->launched++;
			return 1;
		}
		pool->launched++;
		tmpl = library_template_hold(key->tmpl);
		pthread_mutex_unlock(&pool->lock);
		launched = launch_given(pool, NULL, tmpl, asked, ret, err);
		warder_template_free(tmpl);
		pthread_mutex_lock(&pool->lock);
		pool->slotless += launched == 0;
		return launched;
	case WARDER_POOL_WAIT:
		if (clock_us() >= until ||
		    (key->failed_us && key->why.code == WARDER_ERROR_UNSUPPORTED_POLICY)) {
			if (clock_us() >= until && is_changing(key, clock_us()))
				return refuse_changing(pool, key, err);
			if (key->failed_us) /* to park one: that is why */
				*err = key->why;
			return key->failed_us ? -1
					      : error_set(err, WARDER_ERROR_UNAVAILABLE, "wait_us",
							  "no parked jail was ready within %" PRIu64 " us",
							  pool->options.wait_us);
		}
		pthread_cond_signal(&pool->work);
		pthread_cond_signal(&pool->help);
		wait_until(&pool->ready, &pool->lock, until);
		return 1;
	case WARDER_POOL_FAIL:
		break;
	}
	if (broken) {
		*err = *broken;
		return -1;
	}
	return error_set(
	    err, WARDER_ERROR_UNAVAILABLE, "empty",
	    "no parked jail is ready; warder_pool_fill() parks some, and WARDER_POOL_LAUNCH does "
	    "without");
}

/* Callers in runtime/ have compared their code with the policy. */
static int check_size(const struct pool_asked *asked, struct warder_error *err)
{
	const uint64_t limit = asked->key->policy->policy.limits.code_bytes;
	char most[32];

	if (!asked->command || asked->code_bytes <= limit)
		return 0;
	return error_set(err, WARDER_ERROR_REJECTED, "limits.code",
			 "limits.code: the code has %" PRIu64
			 " bytes, and the policy allows %s; shorten it, or raise limits.code",
			 asked->code_bytes, policy_format_size(limit, most, sizeof(most)));
}

static int check_way(const struct key *key, const struct pool_asked *asked, struct warder_error *err)
{
	if (!key->program == !asked->work)
		return check_size(asked, err);
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "program", "%s",
			 asked->work ? "the key names no program that runs code; set interpreter, or use "
				       "warder_pool_launch()"
				     : "the key's program is started in advance; use warder_pool_code()");
}

/* Until a jail has the program, or there is nothing more to try. The lock is held before and after. */
static int launch_of(struct warder_pool *pool, const struct pool_asked *asked, const struct pool_kind *kind,
		     struct warder_run **ret, struct warder_error *err)
{
	const uint64_t until = clock_us() + pool->options.wait_us;
	struct warder_error why;
	bool was_broken = false, looks = true;
	unsigned int failures = 0, died = 0;

	for (;;) {
		struct slot *slot;
		struct key *key;
		int launched;

		/* Not each time: sources that change all the time would let no jail be handed out. But a jail may have failed because of a change. */
		key = find_key(pool, kind);
		if (looks || (key && key->never_forks)) {
			prepare_trial(pool, asked, kind);
			if (!refresh(pool, asked, kind, err))
				return -1;
			key = find_key(pool, kind);
		}
		if (!key)
			return error_drained(err);
		failures = key->failures;
		key->used_us = clock_us();
		slot = find_slot(pool, key, POOL_READY);
		launched = slot ? hand_out(pool, slot, asked, kind, ret, err)
				: do_without(pool, key, asked, was_broken ? &why : NULL, until, ret, err);
		if (launched == DIED) /* somebody who kills each of them would keep the caller here */
			launched = ++died < DIED_MOST ? 1 : -1;
		/* With a Python of its own, the jail may be made after all. */
		key = slot || launched >= 0 ? NULL : find_key(pool, kind);
		if (key && key->never_forks)
			continue;
		if (launched != 1)
			return launched;
		key = find_key(pool, kind);
		looks = key && key->failures != failures;
		if (slot) {
			was_broken = true;
			why = *err;
		}
	}
}

int pool_launch(struct warder_pool *pool, const struct pool_asked *asked, struct warder_run **ret,
		struct warder_error *err)
{
	struct pool_kind kind;
	struct key *key;
	int launched = -1;

	if (!pool || !asked->key || !ret)
		return error_no_argument(err, !pool ? "pool" : !asked->key ? "key" : "ret");
	if (enter_pool(pool, err) != 0)
		return -1;
	spare_descriptors(pool);
	key = open_key(pool, asked, &kind, err);
	if (key && check_way(key, asked, err) == 0) {
		if (!key->wanted) {
			key->wanted = pool->options.jails_a_key;
			pthread_cond_signal(&pool->work);
		}
		launched = launch_of(pool, asked, &kind, ret, err);
		if (launched < 0) /* it may have been woken up for a jail that others wait for */
			pthread_cond_broadcast(&pool->ready);
	}
	leave_pool(pool, key != NULL, &kind);
	return launched;
}

int warder_pool_launch(struct warder_pool *pool, const struct warder_pool_key *key,
		       const struct warder_command *command, struct warder_run **ret,
		       struct warder_error *err)
{
	if (!command)
		return error_no_argument(err, "command");
	return pool_launch(pool, &(struct pool_asked){ .key = key, .command = command }, ret, err);
}

static bool takes_environment(const struct warder_command *command)
{
	return command->size >= offsetof(struct warder_command, environment) + sizeof(command->environment) &&
	       command->environment && command->environment[0];
}

int warder_pool_code(struct warder_pool *pool, const struct warder_pool_key *key, const char *code,
		     size_t len, const struct warder_command *command, struct warder_run **ret,
		     struct warder_error *err)
{
	if (!code || !command)
		return error_no_argument(err, code ? "command" : "code");
	if (takes_environment(command))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "environment",
				 "environment cannot be given to a program that has started already; use "
				 "warder_pool_launch() or warder_launch()");
	return pool_launch(
	    pool,
	    &(struct pool_asked){
		.key = key, .command = command, .code_bytes = len, .work = code, .work_len = len },
	    ret, err);
}

int warder_pool_drain(struct warder_pool *pool, struct warder_error *err)
{
	unsigned int running;
	int drained = 0;

	if (!pool)
		return error_no_argument(err, "pool");
	if (check_pool(pool, err) != 0)
		return -1;
	pthread_mutex_lock(&pool->lock);
	pool->draining++;
	while (pool->keys) {
		struct key *key = take_key(pool, pool->keys);

		begin_dropping(pool);
		free_key(key);
		end_dropping(pool);
	}
	/* A caller in a launch or a fill sees that its key is gone, or cannot enter one. Until then it may hold jails and templates. */
	while (pool->callers || count_of(pool, NULL, POOL_BUILDING) || count_of(pool, NULL, POOL_CLEANING) ||
	       pool->dropping)
		pthread_cond_wait(&pool->changed, &pool->lock);
	pool->draining--;
	running = count_of(pool, NULL, POOL_RUNNING) + pool->slotless;
	if (running) {
		drained = error_set(err, WARDER_ERROR_CONFLICT, NULL,
				    "%u run(s) of the pool have not been freed (warder_run_free)", running);
	} else if (pool->has_failed) {
		*err = pool->failure;
		pool->has_failed = false;
		drained = -1;
	} else if (atomic_load(&pool->parts.failed)) {
		*err = pool->parts.failure;
		atomic_store(&pool->parts.failed, false);
		atomic_store(&pool->parts.failing, false);
		drained = -1;
	} else if (atomic_load(&pool->nurseries.failed)) {
		*err = pool->nurseries.failure;
		atomic_store(&pool->nurseries.failed, false);
		atomic_store(&pool->nurseries.failing, false);
		drained = -1;
	}
	pthread_mutex_unlock(&pool->lock);
	return drained;
}

static void add_parts(struct json_writer *w, struct jail_parts_counts *parts)
{
	json_key_uint(w, "partsReused", atomic_load(&parts->reused[JAIL_PART_NETWORK]));
	json_key_uint(w, "cgroupsReused", atomic_load(&parts->reused[JAIL_PART_CGROUP]));
	json_key(w, "partsRefused");
	json_begin_object(w);
	for (size_t i = 0; i < JAIL_PARTS_REASONS; i++)
		json_key_uint(w, jail_parts_reason(i), atomic_load(&parts->refused[i]));
	json_end_object(w);
}

char *warder_pool_stats(struct warder_pool *pool)
{
	struct json_writer w = { 0 };
	unsigned int keys = 0;

	if (!pool || pool->owner_pid != getpid())
		return NULL;
	pthread_mutex_lock(&pool->lock);
	for (const struct key *key = pool->keys; key; key = key->next)
		keys++;
	json_begin_object(&w);
	json_key_uint(&w, "keys", keys);
	json_key(&w, "states");
	json_begin_object(&w);
	for (int state = 0; state < POOL_GONE; state++)
		json_key_uint(&w, pool_state_name((enum pool_state)state),
			      count_of(pool, NULL, (enum pool_state)state));
	json_end_object(&w);
	json_key_uint(&w, "parked", pool->parked);
	json_key_uint(&w, "handedOut", pool->handed_out);
	json_key_uint(&w, "launched", pool->launched);
	json_key_uint(&w, "stale", pool->stale);
	json_key_uint(&w, "changing", pool->changing);
	json_key_uint(&w, "zygotes", atomic_load(&pool->nurseries.zygotes));
	json_key_uint(&w, "forked", atomic_load(&pool->nurseries.forked));
	json_key(&w, "forkRefused");
	if (pool->fork_refused.code)
		json_string(&w, pool->fork_refused.text);
	else
		json_null(&w);
	json_key_uint(&w, "broken", pool->broken);
	json_key_uint(&w, "evicted", pool->evicted);
	json_key_uint(&w, "removed", pool->removed);
	json_key_bool(&w, "pressed", pool->pressed);
	add_parts(&w, &pool->parts);
	json_end_object(&w);
	pthread_mutex_unlock(&pool->lock);
	return json_take(&w);
}

void warder_pool_free(struct warder_pool *pool)
{
	struct warder_error ignored;

	if (!pool || pool->owner_pid != getpid())
		return;
	warder_pool_drain(pool, &ignored);
	pthread_mutex_lock(&pool->lock);
	pool->stopping = true;
	pthread_cond_signal(&pool->work);
	pthread_cond_broadcast(&pool->help);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned int i = 0; i < pool->thread_count; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->help);
	pthread_cond_destroy(&pool->ready);
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->lock);
	fd_done(&pool->mounts_fd);
	free(pool);
}
