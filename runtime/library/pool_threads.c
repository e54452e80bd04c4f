/*
 * pool_threads: the threads of a pool, which make jails and remove them.
 *
 * The first thread does all of this alone, in the pauses between hand-outs. If a key has no jail left, the others help, because callers may
 * be waiting. A thread that looks for a jail to make holds the lock while it counts the open descriptors: one stat(), or before Linux 6.2
 * the reading of a directory.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "runtime/library/interpreters.h"
#include "runtime/library/pool_inside.h"

#define MAINTAIN_US    UINT64_C(1000000)
#define FORK_AGAIN_US  UINT64_C(2000000) /* after the first fork that failed; doubled each time */
#define FORK_DOUBLED   8u                /* times at most: about 8.5 minutes */
#define SHORTAGES_MOST 4u                /* failures in a row for which other keys lose a jail each */
#define REST_US                                                                                              \
	UINT64_C(3000) /* after a hand-out: the usual time of a short program, its caller's included */

/* Those that a thread removes already are not among them. */
static unsigned int count_ended(const struct warder_pool *pool)
{
	unsigned int count = 0;

	for (const struct pool_slot *slot = pool->slots; slot; slot = slot->next)
		count += slot->state == POOL_CLEANING && !slot->is_removed_now;
	return count;
}

static void unlink_slot(struct warder_pool *pool, const struct pool_slot *slot)
{
	struct pool_slot **at = &pool->slots;

	while (*at != slot)
		at = &(*at)->next;
	*at = slot->next;
}

static void free_slot(struct pool_slot *slot)
{
	interpreters_free(slot->program, text_count(slot->program));
	free(slot);
}

/* The first one is kept for the next drain. The lock is held. */
static void note_left(struct warder_pool *pool, const struct warder_error *left)
{
	if (pool->has_failed)
		return;
	pool->has_failed = true;
	pool->failure = *left;
}

void pool_clean(struct warder_pool *pool, struct pool_slot *slot)
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
	pool_move(pool, slot, POOL_GONE);
	free_slot(slot);
}

/* Whether the zygotes leave too little room for jails. If not, the zygote of the slot's key counts from now on. The slot's may be a trial's. The
 * lock is held. */
static bool is_too_large(const struct warder_pool *pool, const struct pool_slot *slot, uint64_t jail_bytes,
			 struct warder_error *err)
{
	const uint64_t bytes = pool_zygote_bytes(pool, slot->nursery), most = pool_zygote_room(pool);
	struct pool_key *key = slot->key;

	if (!key || (key->nursery == slot->nursery && key->zygote_fits))
		return false;
	if (bytes <= most && pool_fits(pool, 1, bytes + jail_bytes)) {
		key->zygote_fits = key->zygote_fits || key->nursery == slot->nursery;
		return false;
	}
	if (bytes > most)
		error_set(err, WARDER_ERROR_UNAVAILABLE, "fork_server",
			  "the zygotes of all keys would take %" PRIu64 " KiB, and the limit is %" PRIu64
			  " KiB (three quarters of memory_bytes%s); set memory_bytes to more",
			  bytes >> 10, most >> 10, pool_half(pool));
	else
		error_set(err, WARDER_ERROR_UNAVAILABLE, "fork_server",
			  "the zygotes of all keys and one jail would take %" PRIu64
			  " KiB, and the limit is %" PRIu64 " KiB (memory_bytes%s); set memory_bytes to more",
			  (bytes + jail_bytes) >> 10, pool->options.memory_bytes >> 10, pool_half(pool));
	return true;
}

/* Not if the pool would have to remove its jails because of the zygote. */
static int park_fork(struct warder_pool *pool, struct pool_slot *slot, bool merged, uint64_t *ret_bytes,
		     struct warder_error *left, struct warder_error *err)
{
	if (nursery_park(slot->nursery, library_jail_template(slot->tmpl), slot->program, merged, &slot->run,
			 err) != 0)
		return -1;
	*ret_bytes = JAIL_BYTES + jail_warm_bytes(slot->run);
	pthread_mutex_lock(&pool->lock);
	slot->is_too_large = is_too_large(pool, slot, *ret_bytes, err);
	pthread_mutex_unlock(&pool->lock);
	if (!slot->is_too_large)
		return 0;
	jail_run_remove(slot->run, left);
	slot->run = NULL;
	return -1;
}

/* Without the lock. *ret_bytes: what the jail takes. -1 with *err; *left has a code if something of the jail could not be removed. */
static int park(struct warder_pool *pool, struct pool_slot *slot, bool merged, uint64_t *ret_bytes,
		struct warder_error *left, struct warder_error *err)
{
	if (slot->nursery)
		return park_fork(pool, slot, merged, ret_bytes, left, err);
	if (jail_park(library_jail_template(slot->tmpl), &slot->run, err) != 0)
		return -1;
	if (!slot->program)
		return 0;
	if (jail_warm(slot->run, slot->program, merged, err) == 0) {
		*ret_bytes = JAIL_BYTES + jail_warm_bytes(slot->run);
		return 0;
	}
	jail_run_remove(slot->run, left);
	slot->run = NULL;
	return -1;
}

void pool_refuse_fork(struct warder_pool *pool, struct pool_key *key, const struct warder_error *err)
{
	const unsigned int doubled = key->refusals < FORK_DOUBLED ? key->refusals : FORK_DOUBLED;

	key->forks_later = true;
	key->refusals++;
	key->fork_again_us = clock_us() + (FORK_AGAIN_US << doubled);
	pool->fork_refused = *err;
}

void pool_leave_sources(struct warder_pool *pool, struct warder_template *tmpl, struct nursery *nursery)
{
	if (!tmpl && !nursery)
		return;
	pool_begin_dropping(pool);
	nursery_drop(nursery);
	warder_template_free(tmpl);
	pool_end_dropping(pool);
}

/* The lock is held. What the slot's jail is made of. */
static void take_sources(struct pool_slot *slot, struct pool_key *key, bool tries)
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
static struct warder_template *adopt(struct pool_key *key, const struct pool_slot *slot)
{
	struct warder_template *before = key->tmpl;

	key->tmpl = library_template_hold(slot->tmpl);
	key->nursery = nursery_hold(slot->nursery);
	key->zygote_fits = true;
	key->forks_later = false;
	key->refusals = 0;
	return before;
}

/* ---- room ---- */

/* The number of jails of a key that give way to the first jail of another one: all but the last. The last gives way to a key that was used later, or for
 * which a caller waits, but not if a caller waits for the jail itself: else two keys would take it from one another for ever. */
static unsigned int count_given(const struct warder_pool *pool, const struct pool_key *key,
				const struct pool_key *wanting)
{
	const unsigned int ready = pool_count_jails(pool, key, POOL_READY);
	const bool gives_last = key->callers == 0 && (wanting->callers || key->used_us < wanting->used_us);

	return key == wanting || !ready ? 0 : gives_last ? ready : ready - 1;
}

/* The least used key that gives one. A key's last jail goes only if no key can give another one. */
static const struct pool_key *find_giver(const struct warder_pool *pool, const struct pool_key *wanting)
{
	const struct pool_key *found = NULL;
	bool found_last = false;

	for (const struct pool_key *key = pool->keys; key; key = key->next) {
		const bool is_last = pool_count_jails(pool, key, POOL_READY) == 1;

		if (count_given(pool, key, wanting) &&
		    (!found || (is_last == found_last ? key->used_us < found->used_us : found_last))) {
			found = key;
			found_last = is_last;
		}
	}
	return found;
}

/* Whether so many jails of the key have room beside those that are parked. */
static bool fits_more(const struct warder_pool *pool, const struct pool_key *key, unsigned int more)
{
	return pool_fits(pool, pool_count_parked(pool, NULL) + more, pool_bytes(pool) + more * key->bytes);
}

/* What the first so many jails of a key take that are ready: make_way() removes them in this order. */
static uint64_t bytes_of_ready(const struct warder_pool *pool, const struct pool_key *key, unsigned int count)
{
	uint64_t bytes = 0;

	for (const struct pool_slot *slot = pool->slots; slot && count; slot = slot->next)
		if (slot->key == key && slot->state == POOL_READY) {
			bytes += slot->bytes;
			count--;
		}
	return bytes;
}

/* Whether they would have room without all jails that give way. */
static bool can_make_way(const struct warder_pool *pool, const struct pool_key *wanting, unsigned int more)
{
	unsigned int jails = pool_count_parked(pool, NULL) + more;
	uint64_t bytes = pool_bytes(pool) + more * wanting->bytes, given = 0;

	for (const struct pool_key *key = pool->keys; key; key = key->next) {
		const unsigned int count = count_given(pool, key, wanting);

		jails -= count;
		given += bytes_of_ready(pool, key, count);
	}
	return find_giver(pool, wanting) && pool_fits(pool, jails, bytes > given ? bytes - given : 0);
}

/* Remove at least one jail of another key until they have room. Only if they can. */
static void make_way(struct warder_pool *pool, const struct pool_key *wanting, unsigned int more)
{
	const struct pool_key *giver = can_make_way(pool, wanting, more) ? find_giver(pool, wanting) : NULL;

	while (giver) {
		pool->evicted++;
		pool_move(pool, pool_find_slot(pool, giver, POOL_READY), POOL_CLEANING);
		giver = fits_more(pool, wanting, more) ? NULL : find_giver(pool, wanting);
	}
}

/* A jail for which there was no room is ready. Room may have become free meanwhile. If the others cannot make way, shed() removes jails. */
static void settle(struct warder_pool *pool, struct pool_slot *slot)
{
	const struct pool_descriptors have = pool_count_descriptors();

	slot->is_beyond = false;
	if (!pool_may_park(&have, 0) || !fits_more(pool, slot->key, 0))
		make_way(pool, slot->key, 0);
}

/* Whether parked jails may hold what was missing. */
static bool is_shortage(const struct warder_error *err)
{
	if (err->code == WARDER_ERROR_UNSUPPORTED_POLICY)
		return false;
	return err->sys_errno == EMFILE || err->sys_errno == ENFILE || err->sys_errno == EAGAIN ||
	       err->sys_errno == ENOMEM;
}

/* For the first jail of a key, which could not be made. True: another key has lost a jail, so the next try may succeed. Until then, others get
 * no new jails: see is_hindered(). Not again and again: what is missing may be what no jail holds. */
static bool make_way_for_shortage(struct warder_pool *pool, struct pool_key *key)
{
	if (pool_count_parked(pool, key) || key->shortages >= SHORTAGES_MOST || !can_make_way(pool, key, 1))
		return false;
	key->shortages++;
	key->made_way_us = key->failed_us;
	make_way(pool, key, 1);
	return true;
}

/* The lock is held. A nursery that has forked no jail yet may never do so: a host may refuse user namespaces in a user namespace, and a Python may
 * lack ctypes. Or a module was half written, or the machine too busy. */
static void note_failure(struct warder_pool *pool, const struct pool_slot *slot,
			 const struct warder_error *err)
{
	struct pool_key *key = slot->key;

	if (slot->is_trial) {
		pool_refuse_fork(pool, key, err);
		return;
	}
	key->failed_us = clock_us();
	key->is_proven = false;
	key->why = *err;
	key->made_way_us = 0;
	/* A program with threads is the caller's own choice; too little memory passes. */
	if (slot->nursery && slot->nursery == key->nursery &&
	    (slot->is_too_large || !nursery_has_forked(slot->nursery)) &&
	    err->code != WARDER_ERROR_UNSUPPORTED_POLICY && err->sys_errno != ENOMEM) {
		key->never_forks = true;
		pool_refuse_fork(pool, key, err);
	} else if (is_shortage(err) &&
		   (pool_count_jails(pool, key, POOL_BUILDING) || make_way_for_shortage(pool, key))) {
		return; /* another one may succeed: now, or at the next try */
	}
	key->failures++;
	pthread_cond_broadcast(&pool->ready); /* for the reason */
}

/* ---- jails ---- */

int pool_build(struct warder_pool *pool, struct pool_key *key, bool tries, struct warder_error *err)
{
	struct pool_slot *slot = calloc(1, sizeof(*slot));
	struct warder_template *before = NULL;
	struct warder_error left = { 0 };
	const bool merged = key->merged, goes_beyond = key->goes_beyond;
	uint64_t bytes = key->bytes;
	struct nursery *nursery;
	int parked;

	key->goes_beyond = false;
	key->lacks_room = false;
	if (!slot || (key->program && !(slot->program = interpreters_copy(key->program, err)))) {
		free(slot);
		key->failures++;
		key->failed_us = clock_us();
		error_no_memory(err, NULL);
		key->why = *err;
		pthread_cond_broadcast(&pool->changed);
		return -1;
	}
	slot->bytes = bytes;
	slot->begun_us = clock_us();
	slot->state = POOL_BUILDING;
	slot->key = key;
	slot->is_beyond = goes_beyond;
	take_sources(slot, key, tries);
	nursery = slot->nursery;
	slot->next = pool->slots;
	pool->slots = slot;
	pthread_mutex_unlock(&pool->lock);
	parked = park(pool, slot, merged, &bytes, &left, err);
	if (parked != 0)
		warder_template_free(slot->tmpl);
	pthread_mutex_lock(&pool->lock);
	if (parked == 0) {
		const bool wanted = slot->key != NULL; /* the key may be gone, or stale */

		pool->parked++;
		slot->bytes = bytes;
		if (wanted) {
			slot->key->failed_us = 0;
			slot->key->shortages = 0;
			slot->key->made_way_us = 0;
			slot->key->is_proven = true;
			slot->key->bytes = slot->bytes;
		}
		if (wanted && slot->is_beyond)
			settle(pool, slot);
		if (wanted && slot->is_trial)
			before = adopt(slot->key, slot);
		slot->nursery = NULL;
		pool_move(pool, slot, POOL_READY);
		if (!wanted)
			pool_move(pool, slot, POOL_CLEANING);
		pool_leave_sources(pool, before, nursery);
		return 0;
	}
	if (left.code)
		note_left(pool, &left);
	unlink_slot(pool, slot);
	if (slot->key)
		note_failure(pool, slot, err);
	pool_move(pool, slot, POOL_GONE);
	free_slot(slot);
	pool_leave_sources(pool, before, nursery);
	return -1;
}

/* For the next request, which has the policy that it takes, a key that never forks is made anew. */
static bool may_try(const struct pool_key *key, uint64_t now)
{
	if (key->never_forks || pool_is_changing(key, now))
		return false;
	return !key->failed_us || now - key->failed_us >= TRY_AGAIN_US;
}

static bool is_short(const struct warder_pool *pool, const struct pool_key *key, uint64_t now)
{
	return pool_count_parked(pool, key) < pool_wanted(pool, key) && may_try(key, now) &&
	       !pool_count_jails(pool, key, POOL_READY);
}

static bool has_short(const struct warder_pool *pool)
{
	const uint64_t now = clock_us();
	const struct pool_key *key = pool->keys;

	while (key && !is_short(pool, key, now))
		key = key->next;
	return key != NULL;
}

/* Whether launches of another key are about to take its jail, or to leave it. */
static bool is_blocked(const struct warder_pool *pool, const struct pool_key *wanting)
{
	const struct pool_key *key = pool->keys;

	while (key &&
	       (key == wanting || key->callers == key->fills || !pool_count_jails(pool, key, POOL_READY)))
		key = key->next;
	return key != NULL;
}

/* A fill ends with the reason that the key has none. */
static void lack_room(struct warder_pool *pool, struct pool_key *key)
{
	if (key->callers == 0 || pool_count_jails(pool, NULL, POOL_BUILDING))
		return;
	key->failures++;
	key->lacks_room = true;
	pool_no_room(pool, pool_count_parked(pool, NULL) + 1,
		     pool_count_parked(pool, NULL) - pool_count_parked(pool, key),
		     pool_bytes(pool) + key->bytes, pool_zygote_bytes(pool, NULL) > 0, &key->why);
	pthread_cond_broadcast(&pool->changed);
}

/* The same, as if it had been tried. */
static void lack_descriptors(struct warder_pool *pool, struct pool_key *key,
			     const struct pool_descriptors *have)
{
	key->failures++;
	key->failed_us = clock_us();
	error_set(&key->why, WARDER_ERROR_UNAVAILABLE, "jails",
		  "this process has %" PRIu64
		  " open descriptors, a parked jail takes up to %u, and parked jails "
		  "may not fill more than half of the limit of %" PRIu64
		  "; park fewer jails, or raise the limit (ulimit -n)",
		  have->open, POOL_DESCRIPTORS, have->most);
	pthread_cond_broadcast(&pool->changed);
}

static struct pool_key *find_with_parts(const struct warder_pool *pool)
{
	struct pool_key *key = pool->keys;

	while (key && !jail_template_has_parts(library_jail_template(key->tmpl)))
		key = key->next;
	return key;
}

bool pool_drop_parts(struct warder_pool *pool)
{
	const struct pool_key *key = find_with_parts(pool);
	struct warder_template *tmpl = key ? library_template_hold(key->tmpl) : NULL;

	if (!tmpl)
		return false;
	pool_begin_dropping(pool);
	jail_template_drop_parts(library_jail_template(tmpl));
	warder_template_free(tmpl);
	pool_end_dropping(pool);
	return true;
}

/* Whether a jail of the key may be made now. If it has none, another key may lose one for it: now, or when it has been made, if it is not known
 * whether a jail of this key can be made, and enough descriptors are free to try. *ret_drop: first, parts are to be dropped. */
static bool make_room(struct warder_pool *pool, struct pool_key *key, bool *ret_drop)
{
	const struct pool_descriptors have = pool_count_descriptors();
	const bool may = pool_may_park(&have, pool_count_jails(pool, NULL, POOL_BUILDING));

	*ret_drop = !may && find_with_parts(pool);
	if (*ret_drop)
		return false;
	if (may && fits_more(pool, key, 1))
		return true;
	if (!pool_count_parked(pool, key) && can_make_way(pool, key, 1)) {
		key->goes_beyond = !key->is_proven && pool_may_launch(&have);
		if (!key->goes_beyond)
			make_way(pool, key, 1);
		return true;
	}
	if (key->callers && is_blocked(pool, key))
		pool->has_blocked = true;
	else if (may)
		lack_room(pool, key);
	else
		lack_descriptors(pool, key, &have);
	return false;
}

static bool wants(const struct warder_pool *pool, const struct pool_key *key, uint64_t now)
{
	return may_try(key, now) && pool_count_parked(pool, key) < pool_wanted(pool, key);
}

/* Of the keys with fills that have not ended, or with callers and no jail, the one whose callers have got none for the longest time. */
static struct pool_key *find_neediest(const struct warder_pool *pool, uint64_t now)
{
	struct pool_key *found = NULL;

	for (struct pool_key *key = pool->keys; key; key = key->next)
		if ((key->fills ? wants(pool, key, now) : key->callers && is_short(pool, key, now)) &&
		    (!found || key->served_us < found->served_us))
			found = key;
	return found;
}

/* Whether the next jail of this key would take what was just freed for another one. Callers of this key need not wait for that. */
static bool is_hindered(const struct warder_pool *pool, const struct pool_key *key, uint64_t now)
{
	const struct pool_key *other = pool->keys;

	while (other && (!other->made_way_us || now - other->made_way_us >= 2 * TRY_AGAIN_US))
		other = other->next;
	return other && !key->shortages && !key->callers;
}

/* A key that has fewer jails than it is to have (`only_short`: and none ready), and for which there is room. NULL with *ret_drop: first, parts are to be
 * dropped. */
static struct pool_key *find_wanting(struct warder_pool *pool, bool only_short, bool *ret_drop)
{
	const uint64_t now = clock_us();
	struct pool_key *neediest = find_neediest(pool, now);

	*ret_drop = false;
	pool->has_blocked = false;
	if (neediest && make_room(pool, neediest, ret_drop))
		return neediest;
	for (struct pool_key *key = pool->keys; key && !*ret_drop; key = key->next) {
		if (key == neediest || !wants(pool, key, now) || is_hindered(pool, key, now) ||
		    (only_short && !is_short(pool, key, now)))
			continue;
		if (make_room(pool, key, ret_drop))
			return key;
	}
	return NULL;
}

/* A key with a jail that has no room even alone; else the least used key. */
static struct pool_key *find_shed(const struct warder_pool *pool)
{
	struct pool_key *key = pool->keys;

	while (key && (pool_fits(pool, 1, key->bytes + pool_zygote_bytes(pool, NULL)) ||
		       !pool_count_jails(pool, key, POOL_READY)))
		key = key->next;
	return key ? key : pool_least_used(pool, true);
}

/* Jails beyond the limits, which memory pressure halves. */
static void shed(struct warder_pool *pool)
{
	for (struct pool_key *key = pool->keys; key; key = key->next) {
		while (pool_count_jails(pool, key, POOL_READY) > pool_wanted(pool, key)) {
			pool->evicted++;
			pool_move(pool, pool_find_slot(pool, key, POOL_READY), POOL_CLEANING);
		}
	}
	while (pool_count_jails(pool, NULL, POOL_READY) &&
	       !pool_fits(pool, pool_count_jails(pool, NULL, POOL_READY), pool_bytes(pool))) {
		pool->evicted++;
		pool_move(pool, pool_find_slot(pool, find_shed(pool), POOL_READY), POOL_CLEANING);
	}
}

/* Not locked meanwhile. */
static void drop_key(struct warder_pool *pool, struct pool_key *key)
{
	pool->evicted += pool_count_jails(pool, key, POOL_READY);
	key = pool_take_key(pool, key);
	pool_begin_dropping(pool);
	pool_free_key(key);
	pool_end_dropping(pool);
}

/* If the zygotes leave too little room for jails: the least used key with one, which nobody uses now. Else NULL. */
static struct pool_key *find_zygote_to_drop(const struct warder_pool *pool)
{
	struct pool_key *least = NULL;

	if (pool_zygote_bytes(pool, NULL) <= pool_zygote_room(pool))
		return NULL;
	for (struct pool_key *key = pool->keys; key; key = key->next)
		if (key->callers == 0 && key->zygote_fits && !key->never_forks &&
		    nursery_bytes(key->nursery) && (!least || key->used_us < least->used_us))
			least = key;
	return least;
}

static void maintain(struct warder_pool *pool)
{
	struct pool_key *key;

	pthread_mutex_unlock(&pool->lock);
	const bool pressed = pool_is_pressed_now();
	pthread_mutex_lock(&pool->lock);
	pool->pressed = pressed;
	while ((key = find_zygote_to_drop(pool)))
		drop_key(pool, key);
	shed(pool);
	while ((key = pool_least_used(pool, false)) && clock_us() - key->used_us >= pool->options.idle_us)
		drop_key(pool, key);
}

void pool_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t at_us)
{
	const struct timespec at = { .tv_sec = (time_t)(at_us / 1000000),
				     .tv_nsec = (long)(at_us % 1000000) * 1000 };

	pthread_cond_timedwait(condition, lock, &at);
}

/* Do one piece of work. The lock is held, and released during the work. False: there was none. */
static bool work(struct warder_pool *pool, bool is_helper)
{
	struct pool_slot *dead = pool_find_slot(pool, NULL, POOL_CLEANING);
	struct pool_look look = {
		.is_short = !pool->stopping && has_short(pool),
		.is_wanting = !pool->stopping, /* perhaps */
		.is_resting = pool->keys && clock_us() < pool->handed_us + REST_US,
		.is_helper = is_helper,
		.ended = count_ended(pool),
	};
	enum pool_work choice = pool_choose_work(&look);
	struct pool_key *key = NULL;
	struct warder_error ignored;
	bool drop = false;

	if (choice == POOL_WORK_PARK)
		key = find_wanting(pool, look.is_short, &drop);
	if (choice == POOL_WORK_PARK && !key && !drop && look.is_short) {
		look.is_short = false; /* there is no room for these */
		choice = pool_choose_work(&look);
		if (choice == POOL_WORK_PARK)
			key = find_wanting(pool, false, &drop);
	}
	if (drop)
		return pool_drop_parts(pool);
	if (choice == POOL_WORK_PARK && !key) {
		look.is_wanting = false;
		choice = pool_choose_work(&look);
	}
	/* Not without room: the threads would wake one another for nothing. */
	if (look.is_short && choice != POOL_WORK_NONE)
		pthread_cond_signal(&pool->help);
	switch (choice) {
	case POOL_WORK_NONE:
		return false;
	case POOL_WORK_PARK:
		pool_build(pool, key, true, &ignored);
		break;
	case POOL_WORK_CLEAN:
		pool_clean(pool, dead);
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
			pool_wait_until(&pool->work, &pool->lock, until);
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

int pool_start_threads(struct warder_pool *pool)
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
