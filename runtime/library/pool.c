/*
 * A pool of parked jails: see pool.h for the life of one, and pool_inside.h for the files of a pool.
 *
 * One lock guards the lists. Jails are made and removed without it. Threads of the pool build and remove, so that a hand-out waits for
 * neither. A jail that was taken belongs to its caller until it is broken or given back.
 *
 * A jail is gone when its removal succeeded, which includes that its init was waited for and that the kernel let its cgroups be removed:
 * it does so only when no process is in them. Drain waits for that.
 */
#include "runtime/library/pool.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "runtime/library/pool_inside.h"

#define FILL_US   UINT64_C(30000000)
#define DIED      2  /* of hand_out() */
#define DIED_MOST 3u /* jails that may die in one launch before they have begun its program */

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
	error = pool_start_threads(pool);
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
	for (struct pool_slot *slot = pool->slots; slot; slot = slot->next) {
		if (slot->state != POOL_RUNNING || slot->run != jail)
			continue;
		pool_move(pool, slot, POOL_ENDED);
		pool_move(pool, slot, POOL_CLEANING);
	}
	pool_begin_dropping(pool);
	warder_template_free(tmpl); /* the jail's own reference goes with the jail */
	pool_end_dropping(pool);
	pthread_mutex_unlock(&pool->lock);
}

/* Until the key has so many; the lock is held. The key is found again each time: it may have gone. */
static int await_jails(struct warder_pool *pool, const struct pool_asked *asked, const struct pool_kind *kind,
		       unsigned int count, struct warder_error *err)
{
	const uint64_t until = clock_us() + FILL_US;
	const struct pool_key *key = pool_find_key(pool, kind);
	unsigned int failures = key->failures;

	while (key && pool_count_jails(pool, key, POOL_READY) < count) {
		if (key->never_forks) {
			if (!pool_refresh(pool, asked, kind, err))
				return -1;
			key = pool_find_key(pool, kind);
			failures = key->failures;
			pthread_cond_signal(&pool->work);
			continue; /* it may be ready already */
		}
		if (key->failures != failures) {
			*err = key->why;
			return -1;
		}
		if (clock_us() >= until)
			return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
					 "the pool has %u of %u jails ready after 30 s",
					 pool_count_jails(pool, key, POOL_READY), count);
		pool_wait_until(&pool->changed, &pool->lock, until);
		key = pool_find_key(pool, kind);
	}
	return key ? 0 : pool_was_drained(err);
}

/* That a jail of the key takes. An interpreter takes more, which is known when one has been parked. */
static uint64_t least_bytes(const struct pool_key *key)
{
	return key->bytes == PROGRAM_BYTES ? JAIL_BYTES : key->bytes;
}

int warder_pool_fill(struct warder_pool *pool, const struct warder_pool_key *given, unsigned int count,
		     struct warder_error *err)
{
	const struct pool_asked asked = { .key = given };
	struct pool_kind kind;
	struct pool_key *key;
	bool entered;
	int filled;

	if (!pool || !given)
		return error_no_argument(err, pool ? "key" : "pool");
	if (count > pool->options.jails_a_key)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "count",
				 "count is %u, and the pool parks at most %u jails a key (jails_a_key)",
				 count, pool->options.jails_a_key);
	if (pool_enter(pool, err) != 0)
		return -1;
	key = pool_open_key(pool, &asked, &kind, err);
	entered = key != NULL;
	if (!key) {
		filled = -1;
	} else if (!pool_fits(pool, count, count * least_bytes(key))) {
		filled = pool_no_room(pool, count, 0, count * least_bytes(key), false, err);
	} else {
		key->wanted = count;
		key->failed_us = 0;
		key->fills++;
		pthread_cond_signal(&pool->work);
		filled = await_jails(pool, &asked, &kind, count, err);
		key = pool_find_key(pool, &kind); /* the same, or gone */
		if (key)
			key->fills--;
	}
	pool_leave(pool, entered, &kind);
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
static void note_change(const struct pool_slot *slot, struct pool_key *key)
{
	if (!key || slot->begun_us < key->changed_us)
		return;
	key->changes++;
	key->changed_us = clock_us();
}

/* 0 with *ret: launched. 1 with *err: it is broken. DIED with *err: it died, and has certainly not begun the program. -1 with *err, of the
 * command. The lock is held before and after. */
static int hand_out(struct warder_pool *pool, struct pool_slot *slot, const struct pool_asked *asked,
		    const struct pool_kind *kind, struct warder_run **ret, struct warder_error *err)
{
	struct warder_template *tmpl = slot->tmpl;
	struct pool_key *key;
	int launched;
	bool died;

	pool->handed_us = clock_us();
	pool_move(pool, slot, POOL_TAKEN);
	pthread_mutex_unlock(&pool->lock);
	if (slot->program && jail_warm_is_stale(slot->run)) {
		error_set(err, WARDER_ERROR_UNAVAILABLE, "program",
			  "a file that the parked program had loaded has changed");
		pthread_mutex_lock(&pool->lock);
		pool->stale++;
		note_change(slot, pool_find_key(pool, kind));
		pool_move(pool, slot, POOL_STALE);
		pool_move(pool, slot, POOL_CLEANING);
		return 1;
	}
	if (jail_recheck(slot->run, err) != 0) {
		pthread_mutex_lock(&pool->lock);
		pool->broken++;
		pool_move(pool, slot, POOL_BROKEN);
		pool_move(pool, slot, POOL_CLEANING);
		return 1;
	}
	pthread_mutex_lock(&pool->lock);
	pool_move(pool, slot, POOL_CHECKED);
	pthread_mutex_unlock(&pool->lock);
	launched = launch_given(pool, slot->run, tmpl, asked, ret, err);
	pthread_mutex_lock(&pool->lock);
	if (launched == 0) {
		key = pool_find_key(pool, kind);
		if (key)
			key->changes = 0;
		pool->handed_out++;
		pool_move(pool, slot, POOL_RUNNING);
		/* It is replaced when its program has ended, or with the next maintenance. Where few are left, it is replaced soon. */
		if (pool->has_blocked ||
		    (!pool->dozes && key && 2 * pool_count_jails(pool, key, POOL_READY) < key->wanted))
			pthread_cond_signal(&pool->work);
		return 0;
	}
	died = jail_died_unused(slot->run);
	pool->broken += died;
	pool_move(pool, slot, POOL_BROKEN);
	pool_move(pool, slot, POOL_CLEANING);
	return died ? DIED : -1;
}

/* Remove a jail that has ended, else parts that wait for a jail, or else a parked one. The lock is held before and after, but not all the time. False: there is none. */
static bool spare_one(struct warder_pool *pool)
{
	struct pool_slot *slot = pool_find_slot(pool, NULL, POOL_CLEANING);

	if (!slot && pool_drop_parts(pool))
		return true;
	if (!slot) {
		const struct pool_key *key = pool_least_used(pool, true);

		if (!key)
			return false;
		slot = pool_find_slot(pool, key, POOL_READY);
		pool->evicted++;
		pool_move(pool, slot, POOL_CLEANING);
	}
	pool_clean(pool, slot);
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

static int refuse_changing(struct warder_pool *pool, const struct pool_key *key, struct warder_error *err)
{
	pool->changing++;
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "program",
			 "files that the program loads have changed %u times in a row after it was started; "
			 "the pool starts it again after a second",
			 key->changes);
}

/* What an empty pool does. 1: look again. `broken`: why the last jail was not handed out, or NULL. The lock is held before and after. */
static int do_without(struct warder_pool *pool, struct pool_key *key, const struct pool_asked *asked,
		      const struct warder_error *broken, uint64_t until, struct warder_run **ret,
		      struct warder_error *err)
{
	struct warder_template *tmpl;
	int launched;

	switch (pool->options.empty) {
	case WARDER_POOL_LAUNCH:
		if (asked->work && pool_is_changing(key, clock_us()))
			return refuse_changing(pool, key, err);
		if (asked->work) { /* the next look finds it, unless somebody else was quicker */
			if (pool_build(pool, key, false, err) != 0)
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
			if (clock_us() >= until && pool_is_changing(key, clock_us()))
				return refuse_changing(pool, key, err);
			if (key->failed_us || key->lacks_room) /* to park one: that is why */
				broken = &key->why;
			if (!broken)
				return error_set(err, WARDER_ERROR_UNAVAILABLE, "wait_us",
						 "no parked jail was ready within %" PRIu64 " us",
						 pool->options.wait_us);
			*err = *broken;
			return -1;
		}
		pthread_cond_signal(&pool->work);
		pthread_cond_signal(&pool->help);
		pool_wait_until(&pool->ready, &pool->lock, until);
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

static int check_way(const struct pool_key *key, const struct pool_asked *asked, struct warder_error *err)
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
		struct pool_slot *slot;
		struct pool_key *key;
		int launched;

		/* Not each time: sources that change all the time would let no jail be handed out. But a jail may have failed because of a change. A
		 * thread may find during the look, without the lock, that the key never forks: then no thread makes a jail before another look. */
		key = pool_find_key(pool, kind);
		while (looks || (key && key->never_forks)) {
			looks = false;
			pool_prepare_trial(pool, asked, kind);
			if (!pool_refresh(pool, asked, kind, err))
				return -1;
			key = pool_find_key(pool, kind);
		}
		if (!key)
			return pool_was_drained(err);
		failures = key->failures;
		key->used_us = clock_us();
		slot = pool_find_slot(pool, key, POOL_READY);
		if (slot)
			key->served_us = key->used_us;
		launched = slot ? hand_out(pool, slot, asked, kind, ret, err)
				: do_without(pool, key, asked, was_broken ? &why : NULL, until, ret, err);
		if (launched == DIED) /* somebody who kills each of them would keep the caller here */
			launched = ++died < DIED_MOST ? 1 : -1;
		/* With a Python of its own, the jail may be made after all. */
		key = slot || launched >= 0 ? NULL : pool_find_key(pool, kind);
		if (key && key->never_forks)
			continue;
		if (launched != 1)
			return launched;
		key = pool_find_key(pool, kind);
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
	struct pool_key *key;
	int launched = -1;

	if (!pool || !asked->key || !ret)
		return error_no_argument(err, !pool ? "pool" : !asked->key ? "key" : "ret");
	if (pool_enter(pool, err) != 0)
		return -1;
	spare_descriptors(pool);
	key = pool_open_key(pool, asked, &kind, err);
	if (key && check_way(key, asked, err) == 0) {
		if (!key->wanted) {
			key->wanted = pool->options.jails_a_key;
			pthread_cond_signal(&pool->work);
		}
		launched = launch_of(pool, asked, &kind, ret, err);
		if (launched < 0) /* it may have been woken up for a jail that others wait for */
			pthread_cond_broadcast(&pool->ready);
	}
	pool_leave(pool, key != NULL, &kind);
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
	if (pool_check(pool, err) != 0)
		return -1;
	pthread_mutex_lock(&pool->lock);
	pool->draining++;
	while (pool->keys) {
		struct pool_key *key = pool_take_key(pool, pool->keys);

		pool_begin_dropping(pool);
		pool_free_key(key);
		pool_end_dropping(pool);
	}
	/* A caller in a launch or a fill sees that its key is gone, or cannot enter one. Until then it may hold jails and templates. */
	while (pool->callers || pool_count_jails(pool, NULL, POOL_BUILDING) ||
	       pool_count_jails(pool, NULL, POOL_CLEANING) || pool->dropping)
		pthread_cond_wait(&pool->changed, &pool->lock);
	pool->draining--;
	running = pool_count_jails(pool, NULL, POOL_RUNNING) + pool->slotless;
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
	for (const struct pool_key *key = pool->keys; key; key = key->next)
		keys++;
	json_begin_object(&w);
	json_key_uint(&w, "keys", keys);
	json_key(&w, "states");
	json_begin_object(&w);
	for (int state = 0; state < POOL_GONE; state++)
		json_key_uint(&w, pool_state_name((enum pool_state)state),
			      pool_count_jails(pool, NULL, (enum pool_state)state));
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
