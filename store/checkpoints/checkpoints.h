/*
 * checkpoints: states of threads, in one SQLite file. The door of this folder; its functions are those of warder-store.h.
 *
 * Life: warder_checkpoints_open() -> any number of calls, from any thread -> warder_checkpoints_free(). Each call takes the handle's
 * lock, and is one transaction.
 *
 * put.c writes, read.c reads, limits.c removes what is too much, compare.c tells two states apart, verify.c finds damage and saves what
 * is whole, checkpoint.c is one checkpoint.
 */
#ifndef WARDER_STORE_CHECKPOINTS_CHECKPOINTS_H
#define WARDER_STORE_CHECKPOINTS_CHECKPOINTS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/json.h"
#include "store/checkpoints/database.h"
#include "store/warder-store.h"

struct warder_checkpoints {
	struct database db;
	pthread_mutex_t lock;
	pid_t owner;
	int64_t now_ms; /* what the time is, for tests; 0: the host's clock */
};

extern const struct database_schema checkpoints_schema;
#define CHECKPOINTS_FILE  "checkpoints.db"
#define CHECKPOINTS_FIELD "checkpoints"
/* SQL: what the digest of row c of `checkpoint`, in thread t, has to be. */
#define CHECKPOINTS_DIGEST                                                                                   \
	"warder_digest(t.name, c.version, c.id, c.parent, c.parent_version, c.created_ms, c.metadata, "      \
	"c.bytes, c.state_digest)"

/* Take the lock. -1 with *err: NULL, or a handle of the parent process. */
int checkpoints_enter(struct warder_checkpoints *checkpoints, struct warder_error *err);
void checkpoints_leave(struct warder_checkpoints *checkpoints);
int64_t checkpoints_now(const struct warder_checkpoints *checkpoints);

/* ---- checkpoint.c ---- */
int checkpoints_check_thread(const char *thread, struct warder_error *err);
int checkpoints_check_id(const char *id, const char *field, struct warder_error *err);
/* Is it JSON within the limits? -1 with *err, field "state". */
int checkpoints_parse_state(const char *state, size_t len, struct json_value **ret, struct warder_error *err);
/* Metadata as it is kept, on one line: with "rollbackFrom" in the end, if that is not NULL, in place of what the text has of that
 * name; without it a text that has it is refused. The caller frees *ret. */
int checkpoints_metadata(const char *text, const char *rollback_from, char **ret, struct warder_error *err);
/* A new id: the time in UTC, and 48 random bits. */
#define CHECKPOINTS_NEW_ID 40
void checkpoints_new_id(int64_t now_ms, char ret[CHECKPOINTS_NEW_ID]);
/* One block of memory with copies of all texts. NULL on want of memory. */
struct warder_checkpoint *checkpoints_copy(const struct warder_checkpoint *from);

/* ---- limits.c: within a transaction ---- */
int checkpoints_write_limits(struct warder_checkpoints *checkpoints, struct warder_checkpoint_limits *limits,
			     struct warder_error *err);
int checkpoints_read_limits(struct warder_checkpoints *checkpoints, struct warder_checkpoint_limits *ret,
			    struct warder_error *err);
/* The time before which nothing is found. */
int64_t checkpoints_oldest(const struct warder_checkpoint_limits *limits, int64_t now_ms);
/* Remove what is too old, in all threads, and the threads that have nothing left. */
int checkpoints_expire(struct warder_checkpoints *checkpoints, const struct warder_checkpoint_limits *limits,
		       struct warder_error *err);
/* Let the file grow to its limit, and no further. */
int checkpoints_bound(struct warder_checkpoints *checkpoints, const struct warder_checkpoint_limits *limits,
		      struct warder_error *err);
/* Run a statement with a text and two numbers as ?1, ?2, ?3 (what it does not have is not bound). */
int checkpoints_execute(struct warder_checkpoints *checkpoints, const char *sql, const char *text,
			int64_t first, int64_t second, struct warder_error *err);

/* ---- read.c: within a transaction ---- */
enum checkpoints_part {
	CHECKPOINTS_HEAD,  /* without the state; verified */
	CHECKPOINTS_WHOLE, /* with the state; verified */
	CHECKPOINTS_ANY,   /* without the state, and not verified: to be removed */
};

/* As warder_checkpoint_get(). */
int checkpoints_find(struct warder_checkpoints *checkpoints, const char *thread, const char *which,
		     enum checkpoints_part part, struct warder_checkpoint **ret, struct warder_error *err);

/* ---- verify.c ---- */
/* *err (UNAVAILABLE) for a checkpoint whose digest is another one. -1. */
int checkpoints_damaged(struct warder_checkpoints *checkpoints, const char *thread, const char *id,
			struct warder_error *err);
/* Before a put, within its transaction: all of a file of at most CHECKPOINTS_VERIFIED_BYTES. -1 with *err: it is damaged. */
#define CHECKPOINTS_VERIFIED_BYTES (4 << 20)
int checkpoints_verify_small(struct warder_checkpoints *checkpoints, struct warder_error *err);

/* ---- compare.c ---- */
/* What differs between two values, as the member "changes" and "truncated" of an object that is open; whether they are the same. */
bool checkpoints_differences(const struct json_value *from, const struct json_value *to,
			     struct json_writer *w);

#endif
