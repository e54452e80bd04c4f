/*
 * One put is one transaction: what is too old goes, the oldest of the thread go, and the new head comes, or nothing happens. What goes
 * goes first, so that its pages take the new state also where the file may not grow.
 */
#include "store/checkpoints/checkpoints.h"

#include <stdlib.h>
#include <string.h>

#define ID_ATTEMPTS 8

/* A checkpoint that is to come, and where it belongs. */
struct addition {
	struct warder_checkpoint checkpoint; /* id NULL: to be made */
	int64_t thread_key;
	int64_t parent_version; /* 0: no parent */
};

/* The thread's row, made if it is missing. The key in addition->thread_key, the version counted up. */
static int enter_thread(struct warder_checkpoints *checkpoints, struct addition *addition,
			struct warder_error *err)
{
	owned_stmt sqlite3_stmt *stmt = NULL;
	int found;

	if (database_prepare(&checkpoints->db,
			     "INSERT INTO thread (name, version) VALUES (?1, 1) "
			     "ON CONFLICT (name) DO UPDATE SET version = version + 1 RETURNING key, version",
			     &stmt, err) != 0)
		return -1;
	sqlite3_bind_text(stmt, 1, addition->checkpoint.thread, -1, SQLITE_STATIC);
	found = database_step(&checkpoints->db, stmt, err);
	if (found <= 0)
		return -1;
	addition->thread_key = sqlite3_column_int64(stmt, 0);
	addition->checkpoint.version = (uint64_t)sqlite3_column_int64(stmt, 1);
	/* To its end: only then it is done. */
	return database_step(&checkpoints->db, stmt, err) < 0 ? -1 : 0;
}

/* Leave room for one more. */
static int trim_thread(struct warder_checkpoints *checkpoints, const struct warder_checkpoint_limits *limits,
		       int64_t thread_key, struct warder_error *err)
{
	if (limits->per_thread == 0)
		return 0;
	return checkpoints_execute(
	    checkpoints,
	    "DELETE FROM checkpoint WHERE thread = ?2 AND version <= (SELECT version FROM "
	    "checkpoint WHERE thread = ?2 ORDER BY version DESC LIMIT 1 OFFSET ?3)",
	    NULL, thread_key, (int64_t)limits->per_thread - 1, err);
}

/* 1: the id is taken; 0 done; -1 with *err. */
static int insert(struct warder_checkpoints *checkpoints, const struct addition *addition,
		  struct warder_error *err)
{
	const struct warder_checkpoint *checkpoint = &addition->checkpoint;
	owned_stmt sqlite3_stmt *stmt = NULL;

	if (database_prepare(
		&checkpoints->db,
		"INSERT INTO checkpoint (thread, version, id, parent, parent_version, created_ms, "
		"metadata, bytes, state, state_digest, digest) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
		"own, warder_digest(?10, ?2, ?3, ?4, ?5, ?6, ?7, ?8, own) FROM (SELECT "
		"warder_digest(?9) AS own)",
		&stmt, err) != 0)
		return -1;
	sqlite3_bind_int64(stmt, 1, addition->thread_key);
	sqlite3_bind_int64(stmt, 2, (int64_t)checkpoint->version);
	sqlite3_bind_text(stmt, 3, checkpoint->id, -1, SQLITE_STATIC);
	if (checkpoint->parent) {
		sqlite3_bind_text(stmt, 4, checkpoint->parent, -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 5, addition->parent_version);
	}
	sqlite3_bind_int64(stmt, 6, checkpoint->created_ms);
	sqlite3_bind_text(stmt, 7, checkpoint->metadata, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 8, (int64_t)checkpoint->state_len);
	sqlite3_bind_blob64(stmt, 9, checkpoint->state, checkpoint->state_len, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 10, checkpoint->thread, -1, SQLITE_STATIC);
	switch (sqlite3_step(stmt)) {
	case SQLITE_DONE:
		return 0;
	case SQLITE_CONSTRAINT_UNIQUE:
		return 1;
	default:
		return database_fail(&checkpoints->db, err);
	}
}

/* With a new id, which is written to `id`. As insert(). */
static int insert_with_new_id(struct warder_checkpoints *checkpoints, struct addition *addition,
			      char id[CHECKPOINTS_NEW_ID], struct warder_error *err)
{
	int taken = 1;

	addition->checkpoint.id = id;
	for (int i = 0; i < ID_ATTEMPTS && taken > 0; i++) {
		checkpoints_new_id(addition->checkpoint.created_ms, id);
		taken = insert(checkpoints, addition, err);
	}
	return taken;
}

/* 0: *ret is the checkpoint without its state; -1 with *err. */
static int insert_as_asked(struct warder_checkpoints *checkpoints, const struct addition *asked,
			   struct warder_checkpoint **ret, struct warder_error *err)
{
	struct addition addition = *asked;
	char id[CHECKPOINTS_NEW_ID];
	int taken = addition.checkpoint.id ? insert(checkpoints, &addition, err)
					   : insert_with_new_id(checkpoints, &addition, id, err);

	if (taken > 0)
		return error_set(
		    err, WARDER_ERROR_CONFLICT, "id",
		    "there is a checkpoint with the id \"%.128s\" already; name another one, or none",
		    addition.checkpoint.id);
	if (taken < 0)
		return -1;
	addition.checkpoint.state = NULL;
	*ret = checkpoints_copy(&addition.checkpoint);
	return *ret ? 0 : error_no_memory(err, NULL);
}

/* The parent: the one that is named, which has to be in the thread, or the head, if there is one. *ret may be NULL afterwards. */
static int find_parent(struct warder_checkpoints *checkpoints, const char *thread, const char *named,
		       struct warder_checkpoint **ret, struct warder_error *err)
{
	struct warder_error why;

	*ret = NULL;
	if (checkpoints_find(checkpoints, thread, named, CHECKPOINTS_WHOLE, ret, &why) == 0)
		return 0;
	if (why.code == WARDER_ERROR_NOT_FOUND && !named)
		return 0;
	*err = why;
	return named && why.code == WARDER_ERROR_NOT_FOUND ? error_context(err, "parent") : -1;
}

/* Within the transaction. */
static int add(struct warder_checkpoints *checkpoints, struct addition *addition,
	       const struct warder_checkpoint *parent, struct warder_checkpoint **ret,
	       struct warder_error *err)
{
	struct warder_checkpoint_limits limits;

	if (parent) {
		addition->checkpoint.parent = parent->id;
		addition->parent_version = (int64_t)parent->version;
	}
	addition->checkpoint.created_ms = checkpoints_now(checkpoints);
	if (checkpoints_read_limits(checkpoints, &limits, err) != 0 ||
	    checkpoints_bound(checkpoints, &limits, err) != 0 ||
	    checkpoints_expire(checkpoints, &limits, err) != 0 ||
	    enter_thread(checkpoints, addition, err) != 0 ||
	    trim_thread(checkpoints, &limits, addition->thread_key, err) != 0 ||
	    database_make_room(&checkpoints->db, addition->checkpoint.state_len, err) != 0)
		return -1;
	return insert_as_asked(checkpoints, addition, ret, err);
}

static int put_as_head(struct warder_checkpoints *checkpoints, struct addition *addition,
		       const char *parent_id, struct warder_checkpoint **ret, struct warder_error *err)
{
	struct warder_checkpoint *parent = NULL;
	int failed;

	if (database_begin(&checkpoints->db, err) != 0)
		return -1;
	failed = checkpoints_verify_small(checkpoints, err) != 0 ||
		 find_parent(checkpoints, addition->checkpoint.thread, parent_id, &parent, err) != 0 ||
		 add(checkpoints, addition, parent, ret, err) != 0;
	warder_checkpoint_free(parent);
	return database_end(&checkpoints->db, failed, err);
}

/* Hand the checkpoint on, or free it where there is nobody to take it or nothing was put. */
static int finish(int status, struct warder_checkpoint *made, struct warder_checkpoint **ret)
{
	if (status == 0 && ret)
		*ret = made;
	else
		warder_checkpoint_free(made);
	return status;
}

static int check_options(const struct warder_checkpoint_options *options, struct warder_error *err)
{
	if (options->size != sizeof(*options))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "options",
				 "the options have another size");
	if (options->id && checkpoints_check_id(options->id, "id", err) != 0)
		return -1;
	return options->parent ? checkpoints_check_id(options->parent, "parent", err) : 0;
}

int warder_checkpoint_put(struct warder_checkpoints *checkpoints, const char *thread, const char *state,
			  size_t state_len, const struct warder_checkpoint_options *options,
			  struct warder_checkpoint **ret, struct warder_error *err)
{
	const struct warder_checkpoint_options none = { .size = sizeof(none) };
	struct warder_checkpoint *made = NULL;
	struct json_value *value = NULL;
	char *metadata = NULL;
	int status;

	if (!options)
		options = &none;
	if (checkpoints_check_thread(thread, err) != 0 || check_options(options, err) != 0 ||
	    checkpoints_parse_state(state, state_len, &value, err) != 0)
		return -1;
	json_free(value);
	if (checkpoints_metadata(options->metadata ? options->metadata : "{}", NULL, &metadata, err) != 0)
		return -1;
	status = checkpoints_enter(checkpoints, err);
	if (status == 0) {
		struct addition addition = { .checkpoint = { .id = options->id,
							     .thread = thread,
							     .metadata = metadata,
							     .state = state,
							     .state_len = state_len } };

		status = put_as_head(checkpoints, &addition, options->parent, &made, err);
		checkpoints_leave(checkpoints);
	}
	free(metadata);
	return finish(status, made, ret);
}

/* Within the transaction. */
static int add_again(struct warder_checkpoints *checkpoints, const struct warder_checkpoint *target,
		     struct warder_checkpoint **ret, struct warder_error *err)
{
	struct addition addition = { .checkpoint = { .thread = target->thread,
						     .state = target->state,
						     .state_len = target->state_len } };
	char *metadata = NULL;
	int status;

	if (checkpoints_metadata(target->metadata, target->id, &metadata, err) != 0)
		return -1;
	addition.checkpoint.metadata = metadata;
	status = add(checkpoints, &addition, target, ret, err);
	free(metadata);
	return status;
}

int warder_checkpoint_rollback(struct warder_checkpoints *checkpoints, const char *thread, const char *which,
			       struct warder_checkpoint **ret, struct warder_error *err)
{
	struct warder_checkpoint *target = NULL, *made = NULL;
	int status;

	if (!which)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "checkpoint",
				 "no checkpoint is named to go back to");
	if (checkpoints_check_thread(thread, err) != 0 || checkpoints_enter(checkpoints, err) != 0)
		return -1;
	status = database_begin(&checkpoints->db, err);
	if (status == 0) {
		int failed =
		    checkpoints_verify_small(checkpoints, err) != 0 ||
		    checkpoints_find(checkpoints, thread, which, CHECKPOINTS_WHOLE, &target, err) != 0 ||
		    add_again(checkpoints, target, &made, err) != 0;

		status = database_end(&checkpoints->db, failed, err);
	}
	checkpoints_leave(checkpoints);
	warder_checkpoint_free(target);
	return finish(status, made, ret);
}

int warder_thread_save(struct warder_checkpoints *checkpoints, const char *thread, const char *state,
		       size_t state_len, uint64_t *ret_version, struct warder_error *err)
{
	struct warder_checkpoint *made = NULL;

	if (warder_checkpoint_put(checkpoints, thread, state, state_len, NULL, &made, err) != 0 || !made)
		return -1;
	if (ret_version)
		*ret_version = made->version;
	warder_checkpoint_free(made);
	return 0;
}
