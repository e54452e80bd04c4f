/*
 * Damage, and what can be saved of a damaged file.
 *
 * A rescue reads each row by its number, so that a page that makes no sense costs only what lies on it. The numbers come from the table, from
 * both of its ends, and from an index: where one of these ways is broken, another leads on.
 */
#include "store/checkpoints/checkpoints.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REMEDY "\"warder checkpoint rescue DIR\" copies the good checkpoints into another store"

int checkpoints_damaged(struct warder_checkpoints *checkpoints, const char *thread, const char *id,
			struct warder_error *err)
{
	char shown_thread[160], shown_id[140];

	return error_set(err, WARDER_ERROR_UNAVAILABLE, CHECKPOINTS_FIELD,
			 "%.120s is damaged: %s%s of the thread %s is not as it was put; " REMEDY,
			 checkpoints->db.path, id ? "the checkpoint " : "a checkpoint",
			 id ? json_quote(id, shown_id, sizeof(shown_id)) : "",
			 thread ? json_quote(thread, shown_thread, sizeof(shown_thread)) : "(unknown)");
}

/* ---- verify ---- */

static int check_structure(struct warder_checkpoints *checkpoints, struct warder_error *err)
{
	owned_stmt sqlite3_stmt *stmt = NULL;
	const char *text;
	int found;

	if (database_prepare(&checkpoints->db, "PRAGMA integrity_check(1)", &stmt, err) != 0)
		return -1;
	found = database_step(&checkpoints->db, stmt, err);
	if (found < 0)
		return -1;
	text = found ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
	if (text && strcmp(text, "ok") == 0)
		return 0;
	return error_set(err, WARDER_ERROR_UNAVAILABLE, CHECKPOINTS_FIELD,
			 "%.150s is damaged (%.100s); " REMEDY, checkpoints->db.path,
			 text ? text : "it does not say where");
}

/* Each row belongs to a thread, and is as it was put. *ret counts. */
static int check_rows(struct warder_checkpoints *checkpoints, uint64_t *ret, struct warder_error *err)
{
	static const char sql[] =
	    "SELECT t.name, c.id, t.version >= c.version AND c.state_digest IS warder_digest(c.state) AND "
	    "c.digest IS " CHECKPOINTS_DIGEST
	    " FROM checkpoint AS c LEFT JOIN thread AS t ON t.key = c.thread";
	owned_stmt sqlite3_stmt *stmt = NULL;
	int found;

	*ret = 0;
	if (database_prepare(&checkpoints->db, sql, &stmt, err) != 0)
		return -1;
	while ((found = database_step(&checkpoints->db, stmt, err)) > 0) {
		if (!sqlite3_column_int(stmt, 2))
			return checkpoints_damaged(checkpoints, (const char *)sqlite3_column_text(stmt, 0),
						   (const char *)sqlite3_column_text(stmt, 1), err);
		++*ret;
	}
	return found;
}

int checkpoints_verify_small(struct warder_checkpoints *checkpoints, struct warder_error *err)
{
	int64_t page, pages;
	uint64_t count;

	if (database_number(&checkpoints->db, "PRAGMA page_size", 4096, &page, err) != 0 ||
	    database_number(&checkpoints->db, "PRAGMA page_count", 0, &pages, err) != 0)
		return -1;
	if (pages > CHECKPOINTS_VERIFIED_BYTES / page)
		return 0;
	return check_structure(checkpoints, err) != 0 || check_rows(checkpoints, &count, err) != 0 ? -1 : 0;
}

int warder_checkpoints_verify(struct warder_checkpoints *checkpoints, uint64_t *ret_count,
			      struct warder_error *err)
{
	uint64_t count = 0;
	int status;

	if (checkpoints_enter(checkpoints, err) != 0)
		return -1;
	status = database_begin_read(&checkpoints->db, err);
	if (status == 0)
		status = database_end(
		    &checkpoints->db,
		    check_structure(checkpoints, err) != 0 || check_rows(checkpoints, &count, err) != 0, err);
	checkpoints_leave(checkpoints);
	if (status == 0 && ret_count)
		*ret_count = count;
	return status;
}

/* ---- rescue ---- */

struct numbers {
	int64_t *items;
	size_t count, room;
};

static int add_number(struct numbers *numbers, int64_t number)
{
	if (numbers->count == numbers->room) {
		const size_t room = numbers->room ? numbers->room * 2 : 256;
		int64_t *items = reallocarray(numbers->items, room, sizeof(*items));

		if (!items)
			return -1;
		numbers->items = items;
		numbers->room = room;
	}
	numbers->items[numbers->count++] = number;
	return 0;
}

/* As far as this way leads. */
static int read_numbers(struct warder_checkpoints *from, const char *sql, struct numbers *numbers,
			struct warder_error *err)
{
	owned_stmt sqlite3_stmt *stmt = NULL;
	struct warder_error damage;

	if (database_prepare(&from->db, sql, &stmt, &damage) != 0)
		return 0;
	while (database_step(&from->db, stmt, &damage) > 0) {
		if (add_number(numbers, sqlite3_column_int64(stmt, 0)) != 0)
			return error_no_memory(err, NULL);
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int find_numbers(struct warder_checkpoints *from, struct numbers *ret, struct warder_error *err)
{
	size_t kept = 0;

	if (read_numbers(from, "SELECT rowid FROM checkpoint NOT INDEXED ORDER BY rowid", ret, err) != 0 ||
	    read_numbers(from, "SELECT rowid FROM checkpoint NOT INDEXED ORDER BY rowid DESC", ret, err) !=
		0 ||
	    read_numbers(from, "SELECT rowid FROM checkpoint INDEXED BY checkpoint_age", ret, err) != 0)
		return -1;
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(ret->items[0]), by_value);
	for (size_t i = 0; i < ret->count; i++) {
		if (i == 0 || ret->items[i] != ret->items[kept - 1])
			ret->items[kept++] = ret->items[i];
	}
	ret->count = kept;
	return 0;
}

/* Copy the columns of a row from the fourth on, as they are. */
static int insert_row(struct warder_checkpoints *to, sqlite3_stmt *row, int64_t thread,
		      struct warder_error *err)
{
	owned_stmt sqlite3_stmt *stmt = NULL;

	if (database_prepare(&to->db,
			     "INSERT INTO checkpoint (thread, version, id, parent, parent_version, "
			     "created_ms, metadata, bytes, state, state_digest, digest) VALUES "
			     "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
			     &stmt, err) != 0)
		return -1;
	sqlite3_bind_int64(stmt, 1, thread);
	for (int i = 2; i <= 11; i++)
		sqlite3_bind_value(stmt, i, sqlite3_column_value(row, i));
	return database_step(&to->db, stmt, err) < 0 ? -1 : 0;
}

static int enter_thread(struct warder_checkpoints *to, sqlite3_stmt *row, int64_t *ret_key,
			struct warder_error *err)
{
	owned_stmt sqlite3_stmt *stmt = NULL;

	if (database_prepare(
		&to->db,
		"INSERT INTO thread (name, version) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE "
		"SET version = max(version, excluded.version) RETURNING key",
		&stmt, err) != 0)
		return -1;
	sqlite3_bind_value(stmt, 1, sqlite3_column_value(row, 0));
	sqlite3_bind_value(stmt, 2, sqlite3_column_value(row, 2));
	if (database_step(&to->db, stmt, err) <= 0)
		return -1;
	*ret_key = sqlite3_column_int64(stmt, 0);
	return database_step(&to->db, stmt, err) < 0 ? -1 : 0;
}

/* 1: saved; 0: it is damaged; -1 with *err: it cannot be written. */
static int rescue_row(struct warder_checkpoints *from, struct warder_checkpoints *to, int64_t number,
		      struct warder_error *err)
{
	static const char sql[] =
	    "SELECT t.name, c.state_digest IS warder_digest(c.state) AND c.digest IS " CHECKPOINTS_DIGEST
	    ", c.version, c.id, c.parent, c.parent_version, c.created_ms, c.metadata, c.bytes, c.state, "
	    "c.state_digest, c.digest FROM checkpoint AS c NOT INDEXED JOIN thread AS t ON t.key = c.thread "
	    "WHERE c.rowid = ?1";
	owned_stmt sqlite3_stmt *stmt = NULL;
	struct warder_error damage;
	int64_t thread;

	if (database_prepare(&from->db, sql, &stmt, &damage) != 0)
		return 0;
	sqlite3_bind_int64(stmt, 1, number);
	if (database_step(&from->db, stmt, &damage) <= 0 || !sqlite3_column_int(stmt, 1))
		return 0;
	return enter_thread(to, stmt, &thread, err) != 0 || insert_row(to, stmt, thread, err) != 0 ? -1 : 1;
}

/* The limits too; where they cannot be read, none, so that nothing that was saved is removed. */
static int rescue_limits(struct warder_checkpoints *from, struct warder_checkpoints *to,
			 struct warder_error *err)
{
	struct warder_checkpoint_limits limits;
	struct warder_error damage;

	if (checkpoints_read_limits(from, &limits, &damage) != 0)
		limits = (struct warder_checkpoint_limits){ 0 };
	return checkpoints_write_limits(to, &limits, err);
}

static int rescue(struct warder_checkpoints *from, struct warder_checkpoints *to, uint64_t *ret_saved,
		  uint64_t *ret_lost, struct warder_error *err)
{
	struct numbers numbers = { 0 };
	int64_t there;
	int status = database_number(&to->db, "SELECT count(*) FROM checkpoint", 0, &there, err);

	if (status == 0 && there)
		status = error_set(err, WARDER_ERROR_CONFLICT, CHECKPOINTS_FIELD,
				   "%.200s has checkpoints already; name a new directory", to->db.path);
	if (status == 0)
		status = find_numbers(from, &numbers, err);
	for (size_t i = 0; i < numbers.count && status == 0; i++) {
		const int saved = rescue_row(from, to, numbers.items[i], err);

		*ret_saved += saved > 0;
		*ret_lost += saved == 0;
		status = saved < 0 ? -1 : 0;
	}
	free(numbers.items);
	return status == 0 ? rescue_limits(from, to, err) : -1;
}

int warder_checkpoints_rescue(struct warder_checkpoints *checkpoints, const char *store, uint64_t *ret_saved,
			      uint64_t *ret_lost, struct warder_error *err)
{
	struct warder_checkpoints *to = NULL;
	uint64_t saved = 0, lost = 0;
	int status;

	if (!store)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `store` is NULL");
	if (warder_checkpoints_open(store, &to, err) != 0)
		return -1;
	status = checkpoints_enter(checkpoints, err);
	if (status == 0) {
		status = database_begin(&to->db, err);
		if (status == 0)
			status = database_end(&to->db, rescue(checkpoints, to, &saved, &lost, err), err);
		checkpoints_leave(checkpoints);
	}
	warder_checkpoints_free(to);
	if (status == 0 && ret_saved)
		*ret_saved = saved;
	if (status == 0 && ret_lost)
		*ret_lost = lost;
	return status;
}
