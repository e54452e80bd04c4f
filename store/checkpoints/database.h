/*
 * database: one SQLite file that many processes use at once. Private to checkpoints/.
 *
 * Life: database_open() -> statements, within database_begin() and database_commit() where several belong together ->
 * database_done(). The file is in WAL mode: readers never wait for the one that writes; writers wait for each other,
 * DATABASE_BUSY_MS at the most. What a commit has acknowledged is on the disk.
 * Beside the file lies a reserve, which is given up where the file system is full: even to read or delete, SQLite writes a log first.
 * A connection belongs to the process that opened it and to one thread at a time (the caller has a lock for that).
 */
#ifndef WARDER_STORE_CHECKPOINTS_DATABASE_H
#define WARDER_STORE_CHECKPOINTS_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/error.h"

#define DATABASE_BUSY_MS 15000

struct database_schema {
	int application_id;       /* of SQLite's header: whose file it is */
	const char *const *steps; /* step i makes version i + 1 out of version i */
	int version;              /* number of steps */
	int (*add_functions)(
	    sqlite3 *handle); /* SQL functions that steps and statements use; or NULL. An SQLite code */
};

struct database {
	sqlite3 *handle;   /* NULL: closed */
	const char *field; /* what errors call it; a literal */
	char path[4096];
	bool
	    full; /* the reserve was given up for this connection: database_begin() refuses, only what frees room goes on */
	bool keeps_reserve; /* it is too small for what was tried, the change of a schema */
};

/* Open `name` in the directory, which must be there and be the caller's alone (mode 0700); it is made, with mode 0600, if it
 * is missing, and brought to the schema's version if it is older, in one transaction. Before that it is copied to "NAME.vVERSION", with
 * the older version. -1 with *err (UNAVAILABLE): newer than the schema, another application's, damaged, unreadable, no space. *ret is closed then. */
int database_open(const char *directory, const char *name, const char *field,
		  const struct database_schema *schema, struct database *ret, struct warder_error *err);
void database_done(struct database *db);

/* Run SQL without parameters and results. 0; -1 with *err. */
int database_run(struct database *db, const char *sql, struct warder_error *err);
/* Prepare one statement; the caller finalizes it (owned_stmt). 0; -1 with *err. */
int database_prepare(struct database *db, const char *sql, sqlite3_stmt **ret, struct warder_error *err);
/* 1: a row; 0: no more; -1 with *err. */
int database_step(struct database *db, sqlite3_stmt *stmt, struct warder_error *err);
/* The first column of the first row of a statement without parameters; `missing` if there is none. 0; -1 with *err. */
int database_number(struct database *db, const char *sql, int64_t missing, int64_t *ret,
		    struct warder_error *err);
/* Begin a transaction that writes; other writers wait. 0; -1 with *err (CONFLICT: another process writes for too long; UNAVAILABLE with
 * ENOSPC: the file system is full). */
int database_begin(struct database *db, struct warder_error *err);
/* Begin what frees room: also on the reserve. */
int database_begin_freeing(struct database *db, struct warder_error *err);
/* Whether *err says that the file system is full and there was a reserve, which is given up: what frees room is to be tried again. */
bool database_use_reserve(struct database *db, const struct warder_error *err);
/* Make sure that the file itself has room for so many bytes more, whatever becomes of the log; within a transaction. -1 with *err
 * (UNAVAILABLE with ENOSPC). */
int database_make_room(struct database *db, uint64_t bytes, struct warder_error *err);
/* Give pages that are free back to the file system, as far as there is room to do that; what stays is used by the next put. */
void database_shrink(struct database *db);
/* Begin what reads one state of the whole, whatever is written meanwhile. */
int database_begin_read(struct database *db, struct warder_error *err);
/* End with `failed` 0: commit, -1 with *err if that is not possible, and nothing has changed; else roll back, *err stays, -1. */
int database_end(struct database *db, int failed, struct warder_error *err);
/* The error of the last call as one of ours. A file system or file that is full: UNAVAILABLE with ENOSPC and a text that begins
 * with "storage full". -1. */
int database_fail(struct database *db, struct warder_error *err);

static inline void database_stmt_done(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}

#define owned_stmt __attribute__((cleanup(database_stmt_done)))

#endif
