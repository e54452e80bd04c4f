/*
 * pool_inside: what the files of a pool have in common: its jails and keys, in lists under one lock. Private to these files.
 *
 *   pool.c          the public functions: fill, hand-out, launch, drain
 *   pool_keys.c     a key from its first use, and what happens to it when its sources change
 *   pool_threads.c  the threads: they make jails and remove them
 *   pool_lists.c    the lists: they are looked at and changed
 * Each of them calls only those below it. The lock is held before and after each function that does not say otherwise.
 */
#ifndef WARDER_RUNTIME_LIBRARY_POOL_INSIDE_H
#define WARDER_RUNTIME_LIBRARY_POOL_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/library/library.h"
#include "runtime/library/nursery.h"
#include "runtime/library/pool.h"

#define JAIL_BYTES    ((uint64_t)448 << 10)              /* measured: kernel objects, page tables, stacks */
#define PROGRAM_BYTES (JAIL_BYTES + ((uint64_t)8 << 20)) /* until one has been measured */
#define TRY_AGAIN_US  UINT64_C(1000000)
#define THREADS_MAX   4u

/* A jail, from BUILDING to GONE. */
struct pool_slot {
	struct pool_slot *next;
	enum pool_state state;
	struct pool_key *key;         /* in BUILDING and READY, else NULL */
	struct warder_template *tmpl; /* a reference */
	struct jail_run *run;         /* NULL while it is being built */
	char **program;               /* owned; that was started in it; or NULL */
	struct nursery *nursery;      /* in BUILDING: a reference, of the key's; or NULL */
	bool is_trial;                /* in BUILDING: it has the key's trial */
	/* In BUILDING: it began without room. When it is ready, the pool removes jails of other keys. */
	bool is_beyond;
	bool is_too_large;   /* in BUILDING: the zygotes leave too little room for jails */
	uint64_t bytes;      /* that it takes while it is parked */
	uint64_t begun_us;   /* clock when a thread began to build it */
	bool is_removed_now; /* in CLEANING: by the thread */
};

struct pool_key {
	struct pool_key *next;
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
	unsigned int fills;     /* of these, the fills */
	uint64_t used_us;       /* clock of the last use */
	uint64_t served_us;     /* clock of the last jail that a caller took */
	unsigned int failures;  /* to park a jail */
	uint64_t failed_us;     /* clock of the last, or 0 */
	bool is_proven;         /* the last jail that was tried could be made */
	bool goes_beyond;       /* the next jail begins without room */
	/* In a row: failures to park its first jail because something was missing that jails of other keys may have held. These lost a
	 * jail each time. */
	unsigned int shortages;
	uint64_t made_way_us; /* clock of the last of these; 0: the next attempt has ended */
	bool
	    zygote_fits; /* a zygote of the nursery was found to leave room for jails: so it counts, and stays */
	bool
	    lacks_room; /* the last jail that callers wait for was not tried, for want of room: `why` says it */
	unsigned int changes; /* in a row: of files that its program had loaded, found at a hand-out */
	uint64_t changed_us;  /* clock of the last find */
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
	struct pool_key *keys;
	struct pool_slot *slots;
	unsigned int dropping; /* threads that drop parts, keys or zygotes */
	unsigned int callers;  /* in a launch or a fill */
	unsigned int draining; /* drains: nobody enters meanwhile, and no key comes */
	unsigned int slotless; /* runs that were launched because no jail was ready */
	bool stopping, pressed;
	bool has_blocked; /* a key gets no jail until launches of another one have left */
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

/* ---- pool_lists.c ---- */

/* -1 with *err: the key is gone. Without the lock, too. */
int pool_was_drained(struct warder_error *err);
/* Bring a jail into another state, and wake up whoever waits for that. */
void pool_move(struct warder_pool *pool, struct pool_slot *slot, enum pool_state state);
/* The jails of a key (NULL: of all keys) in a state; those that are ready or being built (of all keys: without those that began without room); and the
 * bytes that all of these take. */
unsigned int pool_count_jails(const struct warder_pool *pool, const struct pool_key *key,
			      enum pool_state state);
unsigned int pool_count_parked(const struct warder_pool *pool, const struct pool_key *key);
uint64_t pool_bytes(const struct warder_pool *pool);
/* What the zygotes of all keys take, and another one (NULL: none), which may be that of a key. */
uint64_t pool_zygote_bytes(const struct warder_pool *pool, const struct nursery *other);
/* The most that they may take: jails need room, too. */
uint64_t pool_zygote_room(const struct warder_pool *pool);
/* Whether there is room for so many jails of so many bytes. */
bool pool_fits(const struct warder_pool *pool, unsigned int jails, uint64_t bytes);
/* The end of an error about a limit, which memory pressure may halve. */
const char *pool_half(const struct warder_pool *pool);
/* -1 with *err: why there is none. `others` of the jails are parked for other keys. The bytes may be those of the zygotes, too. */
int pool_no_room(const struct warder_pool *pool, unsigned int jails, unsigned int others, uint64_t bytes,
		 bool with_zygotes, struct warder_error *err);
/* The jails that a key is to have now. */
unsigned int pool_wanted(const struct warder_pool *pool, const struct pool_key *key);
/* A jail of a key (NULL: of any) in a state, which no thread removes already; or NULL. */
struct pool_slot *pool_find_slot(const struct warder_pool *pool, const struct pool_key *key,
				 enum pool_state state);
struct pool_key *pool_find_key(const struct warder_pool *pool, const struct pool_kind *kind);
/* Its parked jails end as `state` or are cleaned at once; those that are being built, when they are ready. */
void pool_give_up(struct warder_pool *pool, const struct pool_key *key, enum pool_state state);
/* Out of the list. To be freed without the lock: the template may take a while. */
struct pool_key *pool_take_key(struct warder_pool *pool, struct pool_key *key);
/* Without the lock. NULL is fine. */
void pool_free_key(struct pool_key *key);
/* with_jails: one that has a jail ready. Otherwise one that nobody uses now. NULL: there is none. */
struct pool_key *pool_least_used(const struct warder_pool *pool, bool with_jails);
/* What holds jails or cgroups is dropped between these two, without the lock: the kernel may take its time. A drain waits for that. */
void pool_begin_dropping(struct warder_pool *pool);
void pool_end_dropping(struct warder_pool *pool);
/* The files of its program change faster than jails are handed out. */
bool pool_is_changing(const struct pool_key *key, uint64_t now);

/* ---- pool_threads.c ---- */

/* Start as many as there are processors, of which only the first must start. 0; a positive errno. Without the lock. */
int pool_start_threads(struct warder_pool *pool);
/* Make a jail. The key may be gone afterwards. tries: a jail that waits for a trial to fork may be this one. -1 with *err. */
int pool_build(struct warder_pool *pool, struct pool_key *key, bool tries, struct warder_error *err);
/* Remove a jail. Not locked meanwhile. */
void pool_clean(struct warder_pool *pool, struct pool_slot *slot);
/* Until the next trial, each jail of the key has a program of its own. */
void pool_refuse_fork(struct warder_pool *pool, struct pool_key *key, const struct warder_error *err);
/* Drop them, which may take a while, and end a zygote. Both may be NULL. Not locked meanwhile. */
void pool_leave_sources(struct warder_pool *pool, struct warder_template *tmpl, struct nursery *nursery);
/* Parts that wait for a jail hold descriptors. Not locked meanwhile: the kernel may take its time to remove a cgroup. False: there was
 * none. */
bool pool_drop_parts(struct warder_pool *pool);
void pool_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t at_us);

/* ---- pool_keys.c ---- */

/* -1 with *err: the pool is that of another process. Without the lock. */
int pool_check(const struct warder_pool *pool, struct warder_error *err);
/* A launch or a fill begins. 0; -1 with *err. Takes the lock for itself. */
int pool_enter(struct warder_pool *pool, struct warder_error *err);
/* It ends. The lock is held if it had a key, and not held afterwards. Frees what pool_open_key() made. */
void pool_leave(struct warder_pool *pool, bool had_key, struct pool_kind *kind);
/* The key of what is asked for, in use until pool_leave(). Without the lock, which the caller holds afterwards unless it is NULL, with
 * *err. */
struct pool_key *pool_open_key(struct warder_pool *pool, const struct pool_asked *asked,
			       struct pool_kind *kind, struct warder_error *err);
/* If the key could not fork some time ago, and it is time: a thread tries again with the next jail that it parks. So no caller waits for
 * that. */
void pool_prepare_trial(struct warder_pool *pool, const struct pool_asked *asked,
			const struct pool_kind *kind);
/* Of a key whose sources have changed, or which cannot fork, the jails and the template are given up. False with *err: the key is gone, or
 * no other template could be made. */
bool pool_refresh(struct warder_pool *pool, const struct pool_asked *asked, const struct pool_kind *kind,
		  struct warder_error *err);

#endif
