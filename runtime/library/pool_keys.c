/*
 * pool_keys: the keys of a pool, from the first use of one.
 *
 * A key's template may be replaced (its sources are other objects by now): each jail holds the one that it was made of. pool_kind.c compares
 * keys.
 */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "runtime/library/interpreters.h"
#include "runtime/library/pool_inside.h"
#include "runtime/library/preparation.h"

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
static int begin_key(struct warder_pool *pool, struct pool_key *made, const struct pool_asked *asked,
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
static struct pool_key *new_key(struct warder_pool *pool, const struct pool_asked *asked,
				const struct warder_pool_key *key, const struct warder_options *options,
				const struct pool_kind *kind, char **program, struct warder_error *err)
{
	struct pool_key *made = calloc(1, sizeof(*made));

	if (!made) {
		error_no_memory(err, NULL);
		return NULL;
	}
	if (pool_kind_copy(kind, &made->kind, err) != 0 ||
	    begin_key(pool, made, asked, key, options, program, err) != 0) {
		pool_free_key(made);
		return NULL;
	}
	made->program = program;
	made->merged = asked->merged;
	made->bytes = program ? PROGRAM_BYTES : JAIL_BYTES;
	made->used_us = made->served_us = clock_us();
	return made;
}

/* Keys in a row. */
static void free_keys(struct pool_key *keys)
{
	while (keys) {
		struct pool_key *next = keys->next;

		pool_free_key(keys);
		keys = next;
	}
}

/* Put it into the list. Returns the keys to be freed: itself if another thread was quicker, or those that it replaces. If all are in use, there
 * are more than the option allows until the next one comes. */
static struct pool_key *link_key(struct warder_pool *pool, struct pool_key *made)
{
	struct pool_key *replaced = NULL, *least;
	unsigned int count = 1;

	if (pool_find_key(pool, &made->kind))
		return made;
	for (const struct pool_key *other = pool->keys; other; other = other->next)
		count++;
	for (; count > pool->options.keys && (least = pool_least_used(pool, false)); count--) {
		pool->evicted += pool_count_jails(pool, least, POOL_READY);
		pool_take_key(pool, least)->next = replaced;
		replaced = least;
	}
	made->next = pool->keys;
	pool->keys = made;
	return replaced;
}

static struct pool_key *use_key(struct pool_key *key)
{
	key->callers++;
	key->used_us = clock_us();
	return key;
}

/* The key of that kind, in use until pool_leave(). The program becomes the key's or is freed. Takes the lock, which the caller holds afterwards if
 * it succeeded. */
static struct pool_key *enter_key(struct warder_pool *pool, const struct pool_asked *asked,
				  const struct warder_pool_key *key, const struct warder_options *options,
				  const struct pool_kind *kind, char **program, struct warder_error *err)
{
	struct pool_key *found, *made, *unused;

	pthread_mutex_lock(&pool->lock);
	found = pool_find_key(pool, kind);
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
	found = pool_find_key(pool, kind);
	if (found)
		use_key(found);
	if (!unused)
		return found;
	pthread_mutex_unlock(&pool->lock);
	free_keys(unused);
	pthread_mutex_lock(&pool->lock);
	found = pool_find_key(pool, kind);
	if (found)
		return found;
	pthread_mutex_unlock(&pool->lock);
	pool_was_drained(err);
	return NULL;
}

int pool_check(const struct warder_pool *pool, struct warder_error *err)
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

int pool_enter(struct warder_pool *pool, struct warder_error *err)
{
	bool drains;

	if (pool_check(pool, err) != 0)
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

void pool_leave(struct warder_pool *pool, bool had_key, struct pool_kind *kind)
{
	struct pool_key *key;

	if (!had_key)
		pthread_mutex_lock(&pool->lock);
	/* It is the same one, or gone: no key comes before a drain has seen all callers leave. */
	key = had_key ? pool_find_key(pool, kind) : NULL;
	if (key && --key->callers == 0 && pool->has_blocked)
		pthread_cond_signal(&pool->work);
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

struct pool_key *pool_open_key(struct warder_pool *pool, const struct pool_asked *asked,
			       struct pool_kind *kind, struct warder_error *err)
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

/* ---- a key whose sources have changed, or that could not fork ---- */

/* What the caller asks for, in the form of pool_open_key(), which has checked it. */
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

void pool_prepare_trial(struct warder_pool *pool, const struct pool_asked *asked,
			const struct pool_kind *kind)
{
	struct pool_key *key = pool_find_key(pool, kind);
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
	key = pool_find_key(pool, kind);
	if (key && !nursery) {
		pool_refuse_fork(pool, key, &err);
	} else if (key && key->tmpl == own) {
		/* pool_refresh() comes next, without a pause: it sees changes of the sources up to here. */
		warder_template_free(own); /* not the last reference */
		key->trial = trial;
		key->trial_nursery = nursery;
		return;
	}
	pool_leave_sources(pool, trial, nursery);
	pool_leave_sources(pool, own, NULL);
}

bool pool_refresh(struct warder_pool *pool, const struct pool_asked *asked, const struct pool_kind *kind,
		  struct warder_error *err)
{
	struct warder_options options;
	struct warder_pool_key known;
	struct warder_template *fresh = NULL;
	struct warder_template *tmpl, *trial = NULL;
	struct nursery *nursery, *fresh_nursery = NULL, *trial_nursery = NULL;
	struct pool_key *key = pool_find_key(pool, kind);
	bool stale, never_forks;
	int prepared = 0;

	if (!key)
		return pool_was_drained(err) == 0;
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
	key = pool_find_key(pool, kind);
	if (stale && key && key->tmpl == tmpl) {
		pool_give_up(pool, key, POOL_STALE);
		if (prepared == 0) {
			warder_template_free(key->tmpl); /* not the last reference: tmpl */
			key->tmpl = fresh;
			fresh = NULL;
			if (nursery) {
				nursery_drop(key->nursery); /* nor this */
				key->nursery = fresh_nursery;
				fresh_nursery = NULL;
				key->never_forks = false;
				key->zygote_fits = false;
			}
			key->failed_us = 0;
			key->bytes =
			    key->program ? PROGRAM_BYTES : JAIL_BYTES; /* with other files, perhaps */
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
	return pool_find_key(pool, kind) || pool_was_drained(err) == 0;
}
