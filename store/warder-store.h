/*
 * warder-store: what stays when a run is over, for programs that embed Warder. Link with -lwarder-store -lwarder.
 *
 * Every function that can fail returns NULL or -1 and writes to *err, as those of warder.h do.
 */
#ifndef WARDER_STORE_WARDER_STORE_H
#define WARDER_STORE_WARDER_STORE_H

#include <warder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- checkpoints of threads ----
 *
 * A thread is a series of checkpoints under one name: of a conversation, a job, an agent. A checkpoint is never changed; the newest
 * one is the thread's head. Its state is any JSON document, kept byte for byte.
 * All of a store is one SQLite file, which any number of processes may use at once; what a function has acknowledged with 0 is on
 * the disk. A handle may be used from several threads, which wait for each other; a child that was forked needs its own.
 */
struct warder_checkpoints;

#define WARDER_CHECKPOINT_STATE_MAX                                                                          \
	(16u << 20) /* bytes of a state; also at most 64 levels and a million values */
#define WARDER_CHECKPOINT_METADATA_MAX (64u << 10) /* bytes of metadata */
#define WARDER_CHECKPOINT_THREAD_MAX   512         /* bytes of a thread's name: any UTF-8 */
#define WARDER_CHECKPOINT_ID_MAX       128 /* bytes of an id: printable UTF-8 that does not begin with "@" */
#define WARDER_CHECKPOINT_LIST_MAX     10000

struct warder_checkpoint {
	const char *id;     /* unique in the store */
	const char *thread; /* its name */
	const char
	    *parent; /* id of the one that it came from, which may have been removed since; NULL: the first */
	uint64_t version; /* 1, 2, ... in its thread; none is given twice while the thread has checkpoints */
	int64_t created_ms;   /* since 1970, by the host's clock */
	const char *metadata; /* a JSON object on one line */
	const char *state; /* as it was put, NUL-terminated; NULL in lists that were asked for without it */
	size_t state_len;  /* its bytes, also without it */
};

/* The limits belong to the store, not to the handle: they hold for everybody. */
struct warder_checkpoint_limits {
	size_t size;         /* sizeof(struct warder_checkpoint_limits) */
	uint64_t per_thread; /* checkpoints; a put removes the oldest beyond it. Default 100; 0: no limit */
	uint64_t
	    max_age_ms; /* older ones are no longer found, and removed by the next put. Default 24 hours; 0: no limit */
	uint64_t
	    max_bytes; /* of the file, at least 64 KiB; beyond it the storage is full. Default 1 GiB; 0: no limit */
};

struct warder_checkpoint_options {
	size_t size;          /* sizeof(struct warder_checkpoint_options) */
	const char *id;       /* NULL: a new one is made */
	const char *parent;   /* id of a checkpoint of the same thread; NULL: the thread's head */
	const char *metadata; /* a JSON object without "rollbackFrom"; NULL: {} */
};

struct warder_checkpoint_query {
	size_t size;             /* sizeof(struct warder_checkpoint_query) */
	uint64_t limit;          /* the newest so many, at most WARDER_CHECKPOINT_LIST_MAX; 0: 100 */
	int64_t since_ms;        /* made then or later; 0: any */
	int64_t until_ms;        /* made then or earlier; 0: any */
	uint64_t after_version;  /* newer than that; 0: any */
	uint64_t before_version; /* older than that (to go on where a list ended); 0: any */
	int with_state;
};

struct warder_thread {
	const char *name;
	uint64_t checkpoints;
	uint64_t bytes;     /* of their states */
	uint64_t version;   /* of the head */
	int64_t updated_ms; /* when the head was made */
};

/* Open the checkpoints of a store, making them if they are missing. `store`: an absolute path; NULL: $WARDER_STORE or the user's own
 * place. -1 (UNAVAILABLE): somebody else may write there, or it is damaged, or was written by a newer version. */
WARDER_API int warder_checkpoints_open(const char *store, struct warder_checkpoints **ret,
				       struct warder_error *err);
/* Does nothing in a child of the process that opened it. */
WARDER_API void warder_checkpoints_free(struct warder_checkpoints *checkpoints);

WARDER_API int warder_checkpoints_limits(struct warder_checkpoints *checkpoints,
					 struct warder_checkpoint_limits *ret, struct warder_error *err);
/* Apply other limits, from now on and to what is there; ret_removed (may be NULL) checkpoints were over them. A file
 * that is larger than max_bytes already does not grow. */
WARDER_API int warder_checkpoints_set_limits(struct warder_checkpoints *checkpoints,
					     const struct warder_checkpoint_limits *limits,
					     uint64_t *ret_removed, struct warder_error *err);

/* Put a checkpoint at the head of a thread. options may be NULL. ret may be NULL, else it is the checkpoint without its state, to be
 * freed. -1: INVALID_REQUEST (thread, state, metadata, id), NOT_FOUND (the parent), CONFLICT (the id is taken, or somebody
 * writes for a quarter of a minute), UNAVAILABLE with sys_errno ENOSPC ("storage full": nothing has changed). */
WARDER_API int warder_checkpoint_put(struct warder_checkpoints *checkpoints, const char *thread,
				     const char *state, size_t state_len,
				     const struct warder_checkpoint_options *options,
				     struct warder_checkpoint **ret, struct warder_error *err);
/* By id in the whole store, or with a thread by id, by "@3" for version 3, or by NULL for the head. The caller frees *ret. -1
 * (NOT_FOUND): there is none, or it is too old. */
WARDER_API int warder_checkpoint_get(struct warder_checkpoints *checkpoints, const char *thread,
				     const char *which, struct warder_checkpoint **ret,
				     struct warder_error *err);
/* The checkpoints of a thread, newest first. query may be NULL. An unknown thread has none. The caller frees the list. */
WARDER_API int warder_checkpoint_list(struct warder_checkpoints *checkpoints, const char *thread,
				      const struct warder_checkpoint_query *query,
				      struct warder_checkpoint ***ret, size_t *ret_count,
				      struct warder_error *err);
/* How a checkpoint came about: it, its parent, the parent's parent, at most `limit` of them (0: 100), until there is none or one
 * that has been removed. `which` as of get. Without states. -1 (NOT_FOUND): there is not even the first. */
WARDER_API int warder_checkpoint_history(struct warder_checkpoints *checkpoints, const char *thread,
					 const char *which, uint64_t limit, struct warder_checkpoint ***ret,
					 size_t *ret_count, struct warder_error *err);
/* Remove one. -1 (NOT_FOUND). */
WARDER_API int warder_checkpoint_delete(struct warder_checkpoints *checkpoints, const char *thread,
					const char *which, struct warder_error *err);
/* Go back to an older checkpoint: a new head with its state and metadata, whose parent is the old one, and whose metadata names it as
 * "rollbackFrom". Nothing is removed but what is over the limits. As put. */
WARDER_API int warder_checkpoint_rollback(struct warder_checkpoints *checkpoints, const char *thread,
					  const char *which, struct warder_checkpoint **ret,
					  struct warder_error *err);
/* What differs between the states of two checkpoints, as JSON on one line, to be freed with free():
 * {"from": ID, "to": ID, "same": false, "truncated": false, "changes": [{"path": "/a/0", "change": "added"|"removed"|"changed",
 * "old": ..., "new": ...}]}. Paths are JSON pointers (RFC 6901). Arrays are compared place by place, numbers as they
 * are written. After 10000 changes the rest is left out. */
WARDER_API int warder_checkpoint_compare(struct warder_checkpoints *checkpoints, const char *thread,
					 const char *from, const char *to, char **ret_json,
					 struct warder_error *err);
/* The checkpoint as a JSON document, with its state if it has it; the caller frees it with free(). NULL on want of memory. */
WARDER_API char *warder_checkpoint_json(const struct warder_checkpoint *checkpoint);
WARDER_API void warder_checkpoint_free(struct warder_checkpoint *checkpoint);
WARDER_API void warder_checkpoint_list_free(struct warder_checkpoint **list, size_t count);

/* Put a state as it is after what the thread has; ret_version may be NULL. As put. */
WARDER_API int warder_thread_save(struct warder_checkpoints *checkpoints, const char *thread,
				  const char *state, size_t state_len, uint64_t *ret_version,
				  struct warder_error *err);
/* The state of the head, NUL-terminated; the caller frees it with free(). ret_len may be NULL. -1 (NOT_FOUND). */
WARDER_API int warder_thread_load(struct warder_checkpoints *checkpoints, const char *thread,
				  char **ret_state, size_t *ret_len, struct warder_error *err);
/* All threads that have a checkpoint, by name. The list is one block, to be freed with free(). */
WARDER_API int warder_thread_list(struct warder_checkpoints *checkpoints, struct warder_thread **ret,
				  size_t *ret_count, struct warder_error *err);
/* Remove a thread with all its checkpoints; ret_removed may be NULL. An unknown thread has none, which is no error. */
WARDER_API int warder_thread_delete(struct warder_checkpoints *checkpoints, const char *thread,
				    uint64_t *ret_removed, struct warder_error *err);

#ifdef __cplusplus
}
#endif

#endif
