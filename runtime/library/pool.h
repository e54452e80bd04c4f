/*
 * pool: the life of a jail in a pool, and when the host is short of memory. Private to runtime/library/; the pool itself is
 * behind warder_pool_*() of warder.h.
 *
 *   BUILDING -> READY -> TAKEN -> CHECKED -> RUNNING -> ENDED -> CLEANING -> GONE
 *   READY -> STALE -> CLEANING    a source of its mounts is another object by now
 *   TAKEN -> STALE -> CLEANING    so is a file that its program has loaded
 *   TAKEN, CHECKED -> BROKEN -> CLEANING    it does not live, or is not as it was parked, or does not take its program. If certainly
 *                                           nothing of the program has run, the launch takes another jail
 *   READY -> CLEANING    nobody has used it for long, the pool is full or drained, the host is short of memory
 *   BUILDING -> GONE    it could not be built: nothing is left
 * Nothing leads back: a jail never runs two programs.
 */
#ifndef WARDER_RUNTIME_LIBRARY_POOL_H
#define WARDER_RUNTIME_LIBRARY_POOL_H

#include <stdbool.h>

#include "runtime/library/library.h"

/* X(id, name) */
#define POOL_STATES(X)                                                                                       \
	X(BUILDING, "building")                                                                              \
	X(READY, "ready")                                                                                    \
	X(TAKEN, "taken")                                                                                    \
	X(CHECKED, "checked")                                                                                \
	X(RUNNING, "running")                                                                                \
	X(ENDED, "ended")                                                                                    \
	X(STALE, "stale")                                                                                    \
	X(BROKEN, "broken")                                                                                  \
	X(CLEANING, "cleaning")                                                                              \
	X(GONE, "gone")

enum pool_state {
#define X(id, name) POOL_##id,
	POOL_STATES(X)
#undef X
	    POOL_STATE_COUNT,
};

const char *pool_state_name(enum pool_state state);
/* Whether a jail in `from` may come into `to`. */
bool pool_may_move(enum pool_state from, enum pool_state to);

/* What a thread of the pool does next, and the state that decides. */
enum pool_work { POOL_WORK_NONE, POOL_WORK_PARK, POOL_WORK_CLEAN };
struct pool_look {
	bool is_short;      /* a key in use has no jail ready */
	bool is_wanting;    /* a key has fewer jails than it is to have */
	bool is_resting;    /* a jail has just been handed out */
	bool is_helper;     /* the thread is not the first one */
	unsigned int ended; /* jails to remove */
};
/* The threads need the processors that a program and its caller need, so they wait for a moment after a hand-out. A key without a
 * ready jail is filled without delay, by all threads. Ended jails wait, up to 8 (ENDED_MOST). */
enum pool_work pool_choose_work(const struct pool_look *look);
/* Of the text of /proc/meminfo: less than a tenth of the memory is available. False for a text that does not tell. */
bool pool_is_pressed(const char *meminfo);
/* Of this host. */
bool pool_is_pressed_now(void);

/* The open descriptors of this process, and how many the soft limit (ulimit -n) allows. */
struct pool_descriptors {
	uint64_t open, most;
};
/* Of a jail. Measured: a further one takes 28, and up to 35 with parts and an interpreter; the first of a key 39, or 45 with an interpreter. With a fork server, the first takes 88, because the zygote is a jail, too. */
#define POOL_DESCRIPTORS 45u
struct pool_descriptors pool_count_descriptors(void);
/* Whether one more jail may be parked while `building` others are: half of the descriptors are left to the rest of the process. */
bool pool_may_park(const struct pool_descriptors *have, unsigned int building);
/* Whether a launch without a parked jail has enough of them. */
bool pool_may_launch(const struct pool_descriptors *have);

/* The arguments of a launch for callers in runtime/: those of the public functions, and some more. */
struct pool_asked {
	const struct warder_pool_key *key;
	const struct policy_subject *subject; /* of the run, part of the key; NULL: a program */
	uint64_t code_bytes;                  /* for the receipt; 0: a program */
	bool merged;                          /* the key's program has one pipe for both outputs */
	/* One of these two. The first has neither `parked` nor `release`: if a jail dies before the program begins, it serves another launch. */
	const struct library_launch *launch;
	const struct warder_command *command;
	const char *work; /* for a program that has started; or NULL */
	size_t work_len;
};

/* ---- what the jails of a key have in common: pool_kind.c ---- */

/* Whatever a template depends on, except the objects that its sources lead to, which are compared at each hand-out, and what the hand-out
 * itself gives. The pool is this process's, so that no other build of the library uses it. */
struct pool_kind {
	char *text; /* owned; all but the policies */
	bool has_ceiling;
	struct policy policy; /* without what the hand-out gives */
	struct policy ceiling;
};
/* The policies are borrowed: free the text alone. -1 with *err. */
int pool_kind_of(const struct pool_asked *asked, const struct warder_pool_key *key,
		 const struct warder_options *options, char *const *program, uint64_t mount_changes,
		 struct pool_kind *ret, struct warder_error *err);
bool pool_kind_equal(const struct pool_kind *a, const struct pool_kind *b);
/* A copy that owns all of it. -1 with *err. */
int pool_kind_copy(const struct pool_kind *from, struct pool_kind *ret, struct warder_error *err);
void pool_kind_done(struct pool_kind *kind);

/* ---- launches ---- */

/* As warder_pool_launch() and warder_pool_code(). */
int pool_launch(struct warder_pool *pool, const struct pool_asked *asked, struct warder_run **ret,
		struct warder_error *err);

#endif
