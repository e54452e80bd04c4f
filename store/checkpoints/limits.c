/*
 * Limits are rows of the database: one process with other settings cannot remove what the others want to keep.
 *
 * What is too old is hidden from every read, and removed by the next write. The size is kept by SQLite itself, which grows the
 * file to so many pages and then says that it is full; what a put removes makes room before it writes.
 */
#include "base/array.h"
#include "store/checkpoints/checkpoints.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LEAST_BYTES   65536
#define MOST          ((uint64_t)1 << 62)
#define NO_PAGE_LIMIT 4294967294 /* what SQLite has at the most */

static const struct setting {
	const char *name;
	size_t offset;
} settings[] = {
	{ "perThread", offsetof(struct warder_checkpoint_limits, per_thread) },
	{ "maxAgeMs", offsetof(struct warder_checkpoint_limits, max_age_ms) },
	{ "maxBytes", offsetof(struct warder_checkpoint_limits, max_bytes) },
};

#define SETTINGS (ARRAY_LENGTH(settings))

static uint64_t *setting_of(struct warder_checkpoint_limits *limits, const struct setting *setting)
{
	return (uint64_t *)(void *)((char *)limits + setting->offset);
}

int checkpoints_execute(struct warder_checkpoints *checkpoints, const char *sql, const char *text,
			int64_t first, int64_t second, struct warder_error *err)
{
	owned_stmt sqlite3_stmt *stmt = NULL;

	if (database_prepare(&checkpoints->db, sql, &stmt, err) != 0)
		return -1;
	/* A statement that has fewer of them says so, which is no failure. */
	sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, first);
	sqlite3_bind_int64(stmt, 3, second);
	return database_step(&checkpoints->db, stmt, err) < 0 ? -1 : 0;
}

int checkpoints_read_limits(struct warder_checkpoints *checkpoints, struct warder_checkpoint_limits *ret,
			    struct warder_error *err)
{
	owned_stmt sqlite3_stmt *stmt = NULL;
	int found;

	*ret = (struct warder_checkpoint_limits){ .size = sizeof(*ret) };
	if (database_prepare(&checkpoints->db, "SELECT name, value FROM setting", &stmt, err) != 0)
		return -1;
	while ((found = database_step(&checkpoints->db, stmt, err)) > 0) {
		for (size_t i = 0; i < SETTINGS; i++) {
			if (strcmp((const char *)sqlite3_column_text(stmt, 0), settings[i].name) == 0)
				*setting_of(ret, &settings[i]) = (uint64_t)sqlite3_column_int64(stmt, 1);
		}
	}
	return found;
}

int checkpoints_write_limits(struct warder_checkpoints *checkpoints, struct warder_checkpoint_limits *limits,
			     struct warder_error *err)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		if (checkpoints_execute(checkpoints, "INSERT OR REPLACE INTO setting VALUES (?1, ?2)",
					settings[i].name, (int64_t)*setting_of(limits, &settings[i]), 0,
					err) != 0)
			return -1;
	}
	return 0;
}

int64_t checkpoints_oldest(const struct warder_checkpoint_limits *limits, int64_t now_ms)
{
	return limits->max_age_ms ? now_ms - (int64_t)limits->max_age_ms : INT64_MIN;
}

int checkpoints_expire(struct warder_checkpoints *checkpoints, const struct warder_checkpoint_limits *limits,
		       struct warder_error *err)
{
	const int64_t oldest = checkpoints_oldest(limits, checkpoints_now(checkpoints));
	int removed;

	if (checkpoints_execute(checkpoints, "DELETE FROM checkpoint WHERE created_ms < ?2", NULL, oldest, 0,
				err) != 0)
		return -1;
	removed = sqlite3_changes(checkpoints->db.handle);
	if (removed > 0 &&
	    database_run(&checkpoints->db,
			 "DELETE FROM thread WHERE key NOT IN (SELECT DISTINCT thread FROM checkpoint)",
			 err) != 0)
		return -1;
	return 0;
}

int checkpoints_bound(struct warder_checkpoints *checkpoints, const struct warder_checkpoint_limits *limits,
		      struct warder_error *err)
{
	int64_t page;
	char sql[64];
	int64_t most = NO_PAGE_LIMIT;

	if (database_number(&checkpoints->db, "PRAGMA page_size", 4096, &page, err) != 0)
		return -1;
	if (limits->max_bytes && (int64_t)limits->max_bytes / page < most)
		most = (int64_t)limits->max_bytes / page;
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count=%" PRId64, most);
	return database_run(&checkpoints->db, sql, err);
}

int warder_checkpoints_limits(struct warder_checkpoints *checkpoints, struct warder_checkpoint_limits *ret,
			      struct warder_error *err)
{
	struct warder_checkpoint_limits limits;
	int status;

	if (!ret || ret->size < sizeof(ret->size))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "limits", "the limits have no size");
	if (checkpoints_enter(checkpoints, err) != 0)
		return -1;
	status = checkpoints_read_limits(checkpoints, &limits, err);
	checkpoints_leave(checkpoints);
	if (status != 0)
		return -1;
	limits.size = ret->size;
	memcpy(ret, &limits, ret->size < sizeof(limits) ? ret->size : sizeof(limits));
	return 0;
}

static int check_limits(const struct warder_checkpoint_limits *limits, struct warder_error *err)
{
	if (!limits || limits->size != sizeof(*limits))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "limits", "the limits have another size");
	if (limits->max_bytes && limits->max_bytes < LEAST_BYTES)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "max-bytes",
				 "%" PRIu64 " bytes are too few; at least %d, or 0 for no limit",
				 limits->max_bytes, LEAST_BYTES);
	if (limits->per_thread > MOST || limits->max_age_ms > MOST || limits->max_bytes > MOST)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "limits",
				 "a limit is too large; 0 means no limit");
	return 0;
}

/* What is over the limits now: too old, or too far behind its thread's head. */
static int apply(struct warder_checkpoints *checkpoints, struct warder_checkpoint_limits *limits,
		 struct warder_error *err)
{
	if (checkpoints_write_limits(checkpoints, limits, err) != 0)
		return -1;
	if (limits->per_thread &&
	    checkpoints_execute(
		checkpoints,
		"DELETE FROM checkpoint WHERE rowid IN (SELECT rowid FROM (SELECT rowid, row_number() "
		"OVER (PARTITION BY thread ORDER BY version DESC) AS place FROM checkpoint) "
		"WHERE place > ?2)",
		NULL, (int64_t)limits->per_thread, 0, err) != 0)
		return -1;
	return checkpoints_expire(checkpoints, limits, err);
}

static int count_all(struct warder_checkpoints *checkpoints, int64_t *ret, struct warder_error *err)
{
	return database_number(&checkpoints->db, "SELECT count(*) FROM checkpoint", 0, ret, err);
}

static int limit(struct warder_checkpoints *checkpoints, struct warder_checkpoint_limits *limits,
		 int64_t *ret_before, int64_t *ret_after, struct warder_error *err)
{
	if (database_begin_freeing(&checkpoints->db, err) != 0)
		return -1;
	return database_end(&checkpoints->db,
			    count_all(checkpoints, ret_before, err) != 0 ||
				apply(checkpoints, limits, err) != 0 ||
				count_all(checkpoints, ret_after, err) != 0,
			    err);
}

int warder_checkpoints_set_limits(struct warder_checkpoints *checkpoints,
				  const struct warder_checkpoint_limits *limits, uint64_t *ret_removed,
				  struct warder_error *err)
{
	struct warder_checkpoint_limits own;
	int64_t before = 0, after = 0;
	int status;

	if (check_limits(limits, err) != 0 || checkpoints_enter(checkpoints, err) != 0)
		return -1;
	own = *limits;
	status = limit(checkpoints, &own, &before, &after, err);
	if (status != 0 && database_use_reserve(&checkpoints->db, err))
		status = limit(checkpoints, &own, &before, &after, err);
	if (status == 0 && before != after)
		database_shrink(&checkpoints->db);
	checkpoints_leave(checkpoints);
	if (status == 0 && ret_removed)
		*ret_removed = (uint64_t)(before - after);
	return status;
}
