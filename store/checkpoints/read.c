/*
 * Each read is one transaction, so that a list is of one moment. What is too old is left out here, whether or not a write has
 * removed it yet.
 */
#include "store/checkpoints/checkpoints.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_DEFAULT 100

/* What every row is read from; ?1 is the age limit's time. */
#define FROM " FROM checkpoint AS c JOIN thread AS t ON t.key = c.thread WHERE c.created_ms >= ?1 "
#define COLUMNS                                                                                              \
	"SELECT c.id, t.name, c.parent, c.version, c.created_ms, c.metadata, c.bytes, c.parent_version, "
#define INTACT "c.digest IS " CHECKPOINTS_DIGEST
#define HEADS  COLUMNS "NULL, " INTACT FROM
#define WHOLE  COLUMNS "c.state, " INTACT " AND c.state_digest IS warder_digest(c.state)" FROM
#define ANY    COLUMNS "NULL, 1" FROM

enum column { ID, THREAD, PARENT, VERSION, CREATED, METADATA, BYTES, PARENT_VERSION, STATE, IS_INTACT };

struct list {
	struct warder_checkpoint **items;
	size_t count, capacity;
};

/* The row, verified. NULL with *err. */
static struct warder_checkpoint *checkpoint_of(struct warder_checkpoints *checkpoints, sqlite3_stmt *row,
					       struct warder_error *err)
{
	struct warder_checkpoint checkpoint = {
		.id = (const char *)sqlite3_column_text(row, ID),
		.thread = (const char *)sqlite3_column_text(row, THREAD),
		.parent = (const char *)sqlite3_column_text(row, PARENT),
		.version = (uint64_t)sqlite3_column_int64(row, VERSION),
		.created_ms = sqlite3_column_int64(row, CREATED),
		.metadata = (const char *)sqlite3_column_text(row, METADATA),
		.state_len = (size_t)sqlite3_column_int64(row, BYTES),
		.state = sqlite3_column_blob(row, STATE),
	};
	struct warder_checkpoint *found;

	if (!sqlite3_column_int(row, IS_INTACT) || !checkpoint.id || !checkpoint.thread ||
	    !checkpoint.metadata) {
		checkpoints_damaged(checkpoints, checkpoint.thread, checkpoint.id, err);
		return NULL;
	}
	/* The length that counts is that of what is there. */
	if (checkpoint.state)
		checkpoint.state_len = (size_t)sqlite3_column_bytes(row, STATE);
	found = checkpoints_copy(&checkpoint);
	if (!found)
		error_no_memory(err, NULL);
	return found;
}

static int append(struct list *list, struct warder_checkpoint *item, struct warder_error *err)
{
	if (!item)
		return -1;
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 16;
		void *grown = reallocarray(list->items, capacity, sizeof(*list->items));

		if (!grown) {
			warder_checkpoint_free(item);
			return error_no_memory(err, NULL);
		}
		list->items = grown;
		list->capacity = capacity;
	}
	list->items[list->count++] = item;
	return 0;
}

static int oldest_now(struct warder_checkpoints *checkpoints, int64_t *ret, struct warder_error *err)
{
	struct warder_checkpoint_limits limits;

	if (checkpoints_read_limits(checkpoints, &limits, err) != 0)
		return -1;
	*ret = checkpoints_oldest(&limits, checkpoints_now(checkpoints));
	return 0;
}

/* ---- one ---- */

static int not_found(const char *thread, const char *which, struct warder_error *err)
{
	if (!which)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "thread",
				 "checkpoint not found: the thread \"%.200s\" has none", thread);
	if (thread)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "checkpoint",
				 "checkpoint not found: \"%.128s\" in the thread \"%.128s\"", which, thread);
	return error_set(err, WARDER_ERROR_NOT_FOUND, "checkpoint", "checkpoint not found: \"%.128s\"",
			 which);
}

/* "@3" */
static int parse_version(const char *which, int64_t *ret, struct warder_error *err)
{
	char *end = NULL;

	*ret = which[1] >= '0' && which[1] <= '9' ? strtoll(which + 1, &end, 10) : 0;
	if (!end || *end || *ret <= 0 || *ret == LLONG_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "checkpoint",
				 "\"%.128s\" is not a version; write a number, as in @3", which);
	return 0;
}

int checkpoints_find(struct warder_checkpoints *checkpoints, const char *thread, const char *which,
		     enum checkpoints_part part, struct warder_checkpoint **ret, struct warder_error *err)
{
	static const char *const heads[] = {
		[CHECKPOINTS_HEAD] = HEADS, [CHECKPOINTS_WHOLE] = WHOLE, [CHECKPOINTS_ANY] = ANY
	};
	static const char *const tails[] = { "AND t.name = ?2 ORDER BY c.version DESC LIMIT 1",
					     "AND t.name = ?2 AND c.version = ?4",
					     "AND t.name = ?2 AND c.id = ?3", "AND c.id = ?3" };
	const bool by_version = which && which[0] == '@';
	const int kind = !which ? 0 : by_version ? 1 : thread ? 2 : 3;
	owned_stmt sqlite3_stmt *stmt = NULL;
	int64_t oldest, version = 0;
	char sql[1024];
	int found;

	if (by_version && parse_version(which, &version, err) != 0)
		return -1;
	snprintf(sql, sizeof(sql), "%s%s", heads[part], tails[kind]);
	if (oldest_now(checkpoints, &oldest, err) != 0 ||
	    database_prepare(&checkpoints->db, sql, &stmt, err) != 0)
		return -1;
	sqlite3_bind_int64(stmt, 1, oldest);
	sqlite3_bind_text(stmt, 2, thread, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, which, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 4, version);
	found = database_step(&checkpoints->db, stmt, err);
	if (found <= 0)
		return found < 0 ? -1 : not_found(thread, which, err);
	*ret = checkpoint_of(checkpoints, stmt, err);
	return *ret ? 0 : -1;
}

/* What names a checkpoint: at least one of the two, and a version only with its thread. */
static int check_name(const char *thread, const char *which, struct warder_error *err)
{
	if ((thread || !which) && checkpoints_check_thread(thread, err) != 0)
		return -1;
	if (!which)
		return 0;
	if (which[0] != '@')
		return checkpoints_check_id(which, "checkpoint", err);
	if (!thread)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "checkpoint",
				 "\"%.128s\" is a version, which needs its thread: name both", which);
	return 0;
}

int warder_checkpoint_get(struct warder_checkpoints *checkpoints, const char *thread, const char *which,
			  struct warder_checkpoint **ret, struct warder_error *err)
{
	int status;

	if (!ret)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `ret` is NULL");
	if (check_name(thread, which, err) != 0 || checkpoints_enter(checkpoints, err) != 0)
		return -1;
	status = database_begin_read(&checkpoints->db, err);
	if (status == 0)
		status = database_end(
		    &checkpoints->db,
		    checkpoints_find(checkpoints, thread, which, CHECKPOINTS_WHOLE, ret, err), err);
	checkpoints_leave(checkpoints);
	return status;
}

int warder_thread_load(struct warder_checkpoints *checkpoints, const char *thread, char **ret_state,
		       size_t *ret_len, struct warder_error *err)
{
	struct warder_checkpoint *head = NULL;

	if (!ret_state)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `ret_state` is NULL");
	if (warder_checkpoint_get(checkpoints, thread, NULL, &head, err) != 0 || !head)
		return -1;
	*ret_state = malloc(head->state_len + 1);
	if (*ret_state)
		memcpy(*ret_state, head->state, head->state_len + 1);
	if (ret_len)
		*ret_len = head->state_len;
	warder_checkpoint_free(head);
	return *ret_state ? 0 : error_no_memory(err, NULL);
}

/* Also one that is damaged. */
static int remove_one(struct warder_checkpoints *checkpoints, const char *thread, const char *which,
		      struct warder_error *err)
{
	struct warder_checkpoint *found = NULL;
	int failed;

	if (database_begin_freeing(&checkpoints->db, err) != 0)
		return -1;
	failed = checkpoints_find(checkpoints, thread, which, CHECKPOINTS_ANY, &found, err) != 0 ||
		 checkpoints_execute(checkpoints, "DELETE FROM checkpoint WHERE id = ?1", found->id, 0, 0,
				     err) != 0 ||
		 checkpoints_execute(checkpoints,
				     "DELETE FROM thread WHERE name = ?1 AND NOT EXISTS "
				     "(SELECT 1 FROM checkpoint WHERE thread = key)",
				     found->thread, 0, 0, err) != 0;
	warder_checkpoint_free(found);
	return database_end(&checkpoints->db, failed, err);
}

int warder_checkpoint_delete(struct warder_checkpoints *checkpoints, const char *thread, const char *which,
			     struct warder_error *err)
{
	int status;

	if (check_name(thread, which, err) != 0 || checkpoints_enter(checkpoints, err) != 0)
		return -1;
	status = remove_one(checkpoints, thread, which, err);
	if (status != 0 && database_use_reserve(&checkpoints->db, err))
		status = remove_one(checkpoints, thread, which, err);
	if (status == 0)
		database_shrink(&checkpoints->db);
	checkpoints_leave(checkpoints);
	return status;
}

/* ---- lists ---- */

/* An empty list where there is no *ret to free. */
static int hand_over(int status, struct list *list, struct warder_checkpoint ***ret, size_t *ret_count)
{
	if (status != 0) {
		warder_checkpoint_list_free(list->items, list->count);
		return -1;
	}
	*ret = list->items;
	*ret_count = list->count;
	return 0;
}

static int list_thread(struct warder_checkpoints *checkpoints, const char *thread,
		       const struct warder_checkpoint_query *query, struct list *list,
		       struct warder_error *err)
{
	static const char tail[] =
	    "AND t.name = ?2 AND c.created_ms >= ?3 AND c.created_ms <= ?4 AND c.version > ?5 "
	    "AND c.version < ?6 ORDER BY c.version DESC LIMIT ?7";
	const int64_t never = INT64_MAX;
	owned_stmt sqlite3_stmt *stmt = NULL;
	int64_t oldest;
	char sql[1024];
	int found;

	snprintf(sql, sizeof(sql), "%s%s", query->with_state ? WHOLE : HEADS, tail);
	if (oldest_now(checkpoints, &oldest, err) != 0 ||
	    database_prepare(&checkpoints->db, sql, &stmt, err) != 0)
		return -1;
	sqlite3_bind_int64(stmt, 1, oldest);
	sqlite3_bind_text(stmt, 2, thread, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, query->since_ms ? query->since_ms : INT64_MIN);
	sqlite3_bind_int64(stmt, 4, query->until_ms ? query->until_ms : never);
	sqlite3_bind_int64(stmt, 5, query->after_version < INT64_MAX ? (int64_t)query->after_version : never);
	sqlite3_bind_int64(stmt, 6,
			   query->before_version && query->before_version < INT64_MAX
			       ? (int64_t)query->before_version
			       : never);
	sqlite3_bind_int64(stmt, 7, query->limit ? (int64_t)query->limit : LIST_DEFAULT);
	while ((found = database_step(&checkpoints->db, stmt, err)) > 0) {
		if (append(list, checkpoint_of(checkpoints, stmt, err), err) != 0)
			return -1;
	}
	return found;
}

static int check_limit(uint64_t limit, struct warder_error *err)
{
	if (limit <= WARDER_CHECKPOINT_LIST_MAX)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "limit",
			 "%" PRIu64 " is too many at once; at most %d, and go on with before_version", limit,
			 WARDER_CHECKPOINT_LIST_MAX);
}

int warder_checkpoint_list(struct warder_checkpoints *checkpoints, const char *thread,
			   const struct warder_checkpoint_query *query, struct warder_checkpoint ***ret,
			   size_t *ret_count, struct warder_error *err)
{
	const struct warder_checkpoint_query all = { .size = sizeof(all) };
	struct list list = { 0 };
	int status;

	if (!query)
		query = &all;
	if (!ret || !ret_count || query->size != sizeof(*query))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "an argument is NULL, or the query has another size");
	if (checkpoints_check_thread(thread, err) != 0 || check_limit(query->limit, err) != 0 ||
	    checkpoints_enter(checkpoints, err) != 0)
		return -1;
	status = database_begin_read(&checkpoints->db, err);
	if (status == 0)
		status =
		    database_end(&checkpoints->db, list_thread(checkpoints, thread, query, &list, err), err);
	checkpoints_leave(checkpoints);
	return hand_over(status, &list, ret, ret_count);
}

/* All of the way at once: a walk along the versions of parents, each smaller than the one before. */
static int walk(struct warder_checkpoints *checkpoints, const struct warder_checkpoint *first, uint64_t limit,
		struct list *list, struct warder_error *err)
{
	static const char sql[] =
	    "WITH RECURSIVE way (thread, version) AS ("
	    " SELECT c.thread, c.version FROM checkpoint AS c WHERE c.id = ?2 UNION ALL"
	    " SELECT c.thread, c.parent_version FROM way JOIN checkpoint AS c USING (thread, version)"
	    " WHERE c.parent_version IS NOT NULL LIMIT ?3) " HEADS
	    "AND (c.thread, c.version) IN (SELECT thread, version FROM way) ORDER BY c.version DESC";
	owned_stmt sqlite3_stmt *stmt = NULL;
	int64_t oldest;
	int found;

	if (oldest_now(checkpoints, &oldest, err) != 0 ||
	    database_prepare(&checkpoints->db, sql, &stmt, err) != 0)
		return -1;
	sqlite3_bind_int64(stmt, 1, oldest);
	sqlite3_bind_text(stmt, 2, first->id, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, limit ? (int64_t)limit : LIST_DEFAULT);
	while ((found = database_step(&checkpoints->db, stmt, err)) > 0) {
		if (append(list, checkpoint_of(checkpoints, stmt, err), err) != 0)
			return -1;
	}
	return found;
}

int warder_checkpoint_history(struct warder_checkpoints *checkpoints, const char *thread, const char *which,
			      uint64_t limit, struct warder_checkpoint ***ret, size_t *ret_count,
			      struct warder_error *err)
{
	struct warder_checkpoint *first = NULL;
	struct list list = { 0 };
	int status;

	if (!ret || !ret_count)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "an argument is NULL");
	if (check_name(thread, which, err) != 0 || check_limit(limit, err) != 0 ||
	    checkpoints_enter(checkpoints, err) != 0)
		return -1;
	status = database_begin_read(&checkpoints->db, err);
	if (status == 0)
		status = database_end(
		    &checkpoints->db,
		    checkpoints_find(checkpoints, thread, which, CHECKPOINTS_HEAD, &first, err) != 0 ||
			walk(checkpoints, first, limit, &list, err) != 0,
		    err);
	checkpoints_leave(checkpoints);
	warder_checkpoint_free(first);
	return hand_over(status, &list, ret, ret_count);
}

/* ---- threads ---- */

struct threads {
	struct warder_thread *items; /* one block: items, then names; offsets while it grows */
	size_t count;
	char *names;
	size_t names_len;
};

/* The name is kept as its place among the names until all are there. */
static int add_thread(struct threads *threads, sqlite3_stmt *row)
{
	const size_t len = (size_t)sqlite3_column_bytes(row, 0) + 1;
	struct warder_thread *items = realloc(threads->items, (threads->count + 1) * sizeof(*items));
	char *names;

	if (!items)
		return -1;
	threads->items = items;
	names = realloc(threads->names, threads->names_len + len);
	if (!names)
		return -1;
	threads->names = names;
	memcpy(names + threads->names_len, sqlite3_column_text(row, 0), len);
	threads->names_len += len;
	items[threads->count++] = (struct warder_thread){
		.checkpoints = (uint64_t)sqlite3_column_int64(row, 1),
		.bytes = (uint64_t)sqlite3_column_int64(row, 2),
		.version = (uint64_t)sqlite3_column_int64(row, 3),
		.updated_ms = sqlite3_column_int64(row, 4),
	};
	return 0;
}

/* Items and names in one block. */
static struct warder_thread *join(struct threads *threads)
{
	const size_t items = threads->count * sizeof(*threads->items);
	struct warder_thread *block = realloc(threads->items, items + threads->names_len + 1);
	char *names = block ? (char *)block + items : NULL;

	if (!block)
		return NULL;
	threads->items = NULL;
	if (threads->names_len)
		memcpy(names, threads->names, threads->names_len);
	for (size_t i = 0; i < threads->count; i++) {
		block[i].name = names;
		names += strlen(names) + 1;
	}
	return block;
}

static int read_threads(struct warder_checkpoints *checkpoints, struct threads *threads,
			struct warder_error *err)
{
	static const char sql[] = "SELECT t.name, count(*), sum(c.bytes), max(c.version), c.created_ms, "
				  "total(NOT (" INTACT "))" FROM "GROUP BY t.key ORDER BY t.name";
	owned_stmt sqlite3_stmt *stmt = NULL;
	int64_t oldest;
	int found;

	if (oldest_now(checkpoints, &oldest, err) != 0 ||
	    database_prepare(&checkpoints->db, sql, &stmt, err) != 0)
		return -1;
	sqlite3_bind_int64(stmt, 1, oldest);
	while ((found = database_step(&checkpoints->db, stmt, err)) > 0) {
		if (sqlite3_column_int(stmt, 5))
			return checkpoints_damaged(checkpoints, (const char *)sqlite3_column_text(stmt, 0),
						   NULL, err);
		if (add_thread(threads, stmt) != 0)
			return error_no_memory(err, NULL);
	}
	return found;
}

int warder_thread_list(struct warder_checkpoints *checkpoints, struct warder_thread **ret, size_t *ret_count,
		       struct warder_error *err)
{
	struct threads threads = { 0 };
	struct warder_thread *block = NULL;
	int status;

	if (!ret || !ret_count)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "an argument is NULL");
	if (checkpoints_enter(checkpoints, err) != 0)
		return -1;
	status = read_threads(checkpoints, &threads, err);
	checkpoints_leave(checkpoints);
	if (status == 0)
		block = join(&threads);
	free(threads.items);
	free(threads.names);
	if (status != 0)
		return -1;
	if (!block)
		return error_no_memory(err, NULL);
	*ret = block;
	*ret_count = threads.count;
	return 0;
}

static int remove_thread(struct warder_checkpoints *checkpoints, const char *thread, int64_t *ret_removed,
			 struct warder_error *err)
{
	int failed;

	if (database_begin_freeing(&checkpoints->db, err) != 0)
		return -1;
	failed = checkpoints_execute(checkpoints,
				     "DELETE FROM checkpoint WHERE thread = "
				     "(SELECT key FROM thread WHERE name = ?1)",
				     thread, 0, 0, err);
	*ret_removed = sqlite3_changes(checkpoints->db.handle);
	if (failed == 0)
		failed =
		    checkpoints_execute(checkpoints, "DELETE FROM thread WHERE name = ?1", thread, 0, 0, err);
	return database_end(&checkpoints->db, failed, err);
}

int warder_thread_delete(struct warder_checkpoints *checkpoints, const char *thread, uint64_t *ret_removed,
			 struct warder_error *err)
{
	int64_t removed = 0;
	int status;

	if (checkpoints_check_thread(thread, err) != 0 || checkpoints_enter(checkpoints, err) != 0)
		return -1;
	status = remove_thread(checkpoints, thread, &removed, err);
	if (status != 0 && database_use_reserve(&checkpoints->db, err))
		status = remove_thread(checkpoints, thread, &removed, err);
	if (status == 0)
		database_shrink(&checkpoints->db);
	checkpoints_leave(checkpoints);
	if (status == 0 && ret_removed)
		*ret_removed = (uint64_t)removed;
	return status;
}
