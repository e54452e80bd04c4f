/*
 * pool_lists: the jails and keys of a pool, in two lists under its lock.
 *
 * Nothing here waits for a jail or the kernel, except pool_free_key().
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "runtime/library/interpreters.h"
#include "runtime/library/pool_inside.h"

#define CHANGES_MOST                                                                                         \
	3u /* in a row of the files that a key's program loads, before the key rests for TRY_AGAIN_US */

int pool_was_drained(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_CONFLICT, NULL, "the pool was drained meanwhile; try again");
}

void pool_move(struct warder_pool *pool, struct pool_slot *slot, enum pool_state state)
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

unsigned int pool_count_jails(const struct warder_pool *pool, const struct pool_key *key,
			      enum pool_state state)
{
	unsigned int count = 0;

	for (const struct pool_slot *slot = pool->slots; slot; slot = slot->next)
		count += slot->state == state && (!key || slot->key == key);
	return count;
}

unsigned int pool_count_parked(const struct warder_pool *pool, const struct pool_key *key)
{
	unsigned int count = 0;

	for (const struct pool_slot *slot = pool->slots; slot; slot = slot->next)
		count += (slot->state == POOL_BUILDING || slot->state == POOL_READY) &&
			 (key ? slot->key == key : !slot->is_beyond);
	return count;
}

static unsigned int most_of(const struct warder_pool *pool, unsigned int most)
{
	return pool->pressed ? (most + 1) / 2 : most;
}

uint64_t pool_zygote_bytes(const struct warder_pool *pool, const struct nursery *other)
{
	uint64_t bytes = nursery_bytes(other);

	/* The next request ends a zygote that never forks, which may be too large for the pool. */
	for (const struct pool_key *key = pool->keys; key; key = key->next)
		bytes += !key->zygote_fits || key->never_forks || key->nursery == other
			     ? 0
			     : nursery_bytes(key->nursery);
	return bytes;
}

uint64_t pool_bytes(const struct warder_pool *pool)
{
	uint64_t bytes = pool_zygote_bytes(pool, NULL);

	for (const struct pool_slot *slot = pool->slots; slot; slot = slot->next)
		if ((slot->state == POOL_BUILDING || slot->state == POOL_READY) && !slot->is_beyond)
			bytes += slot->bytes;
	return bytes;
}

static uint64_t most_bytes(const struct warder_pool *pool)
{
	return pool->options.memory_bytes / (pool->pressed ? 2 : 1);
}

uint64_t pool_zygote_room(const struct warder_pool *pool)
{
	return most_bytes(pool) / 4 * 3;
}

bool pool_fits(const struct warder_pool *pool, unsigned int jails, uint64_t bytes)
{
	return jails <= most_of(pool, pool->options.jails) && bytes <= most_bytes(pool);
}

const char *pool_half(const struct warder_pool *pool)
{
	return pool->pressed ? "; now half of it, because the host is short of memory" : "";
}

int pool_no_room(const struct warder_pool *pool, unsigned int jails, unsigned int others, uint64_t bytes,
		 bool with_zygotes, struct warder_error *err)
{
	const char *half = pool_half(pool);
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
			 "%u parked jail%s%s%s%s would take %" PRIu64 " KiB, and the limit is %" PRIu64
			 " KiB (memory_bytes%s); ask for fewer, or set memory_bytes to more",
			 jails, jails == 1 ? "" : "s", theirs, others ? "," : "",
			 with_zygotes ? " and the zygotes" : "", bytes >> 10,
			 pool->options.memory_bytes >> 10, half);
}

unsigned int pool_wanted(const struct warder_pool *pool, const struct pool_key *key)
{
	const unsigned int most = most_of(pool, pool->options.jails_a_key);

	return key->wanted < most ? key->wanted : most;
}

struct pool_slot *pool_find_slot(const struct warder_pool *pool, const struct pool_key *key,
				 enum pool_state state)
{
	for (struct pool_slot *slot = pool->slots; slot; slot = slot->next)
		if (slot->state == state && (!key || slot->key == key) && !slot->is_removed_now)
			return slot;
	return NULL;
}

struct pool_key *pool_find_key(const struct warder_pool *pool, const struct pool_kind *kind)
{
	struct pool_key *key = pool->keys;

	while (key && !pool_kind_equal(&key->kind, kind))
		key = key->next;
	return key;
}

void pool_give_up(struct warder_pool *pool, const struct pool_key *key, enum pool_state state)
{
	for (struct pool_slot *slot = pool->slots; slot; slot = slot->next) {
		if (slot->key != key)
			continue;
		slot->key = NULL;
		if (slot->state != POOL_READY)
			continue;
		if (state == POOL_STALE) {
			pool->stale++;
			pool_move(pool, slot, POOL_STALE);
		}
		pool_move(pool, slot, POOL_CLEANING);
	}
}

struct pool_key *pool_take_key(struct warder_pool *pool, struct pool_key *key)
{
	struct pool_key **at = &pool->keys;

	pool_give_up(pool, key, POOL_CLEANING);
	while (*at != key)
		at = &(*at)->next;
	*at = key->next;
	pthread_cond_broadcast(&pool->ready);
	pthread_cond_broadcast(&pool->changed);
	pthread_cond_signal(&pool->work);
	return key;
}

void pool_free_key(struct pool_key *key)
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

struct pool_key *pool_least_used(const struct warder_pool *pool, bool with_jails)
{
	struct pool_key *least = NULL;

	for (struct pool_key *key = pool->keys; key; key = key->next)
		if ((!least || key->used_us < least->used_us) &&
		    (with_jails ? pool_count_jails(pool, key, POOL_READY) > 0 : key->callers == 0))
			least = key;
	return least;
}

void pool_begin_dropping(struct warder_pool *pool)
{
	pool->dropping++;
	pthread_mutex_unlock(&pool->lock);
}

void pool_end_dropping(struct warder_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->dropping--;
	pthread_cond_broadcast(&pool->changed);
}

bool pool_is_changing(const struct pool_key *key, uint64_t now)
{
	return key->changes >= CHANGES_MOST && now - key->changed_us < TRY_AGAIN_US;
}
