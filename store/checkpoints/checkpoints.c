/*
 * A thread has a row of its own for the number of its newest version, so that the next one is new also when the head was deleted.
 * A parent is kept by id, to be shown, and by version, to be followed: versions grow, so that no chain of parents has a ring, also
 * when an id was deleted and given again.
 *
 * A row has two digests: of its state, and of all the rest with that one, so that a list can be verified without reading states.
 * SQLite computes them where it writes and compares them where it reads, by a function of ours. Its own checks find a page that makes
 * no sense; these find one byte of a state.
 */
#include "store/checkpoints/checkpoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "rootfs/rootfs.h"
#include "store/digest.h"
#include "store/store.h"

static const char *const steps[] = {
	"CREATE TABLE setting (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	"INSERT INTO setting VALUES ('perThread', 100), ('maxAgeMs', 86400000), ('maxBytes', 1073741824);"
	"CREATE TABLE thread (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL) "
	"STRICT;"
	"CREATE TABLE checkpoint ("
	" thread INTEGER NOT NULL REFERENCES thread (key) ON DELETE CASCADE,"
	" version INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, parent TEXT, parent_version INTEGER,"
	" created_ms INTEGER NOT NULL, metadata TEXT NOT NULL, bytes INTEGER NOT NULL, state BLOB NOT NULL,"
	" UNIQUE (thread, version)) STRICT;"
	"CREATE INDEX checkpoint_age ON checkpoint (created_ms);",
	/* What is there gets the digests of what it is now. */
	"ALTER TABLE checkpoint ADD COLUMN state_digest TEXT;"
	"ALTER TABLE checkpoint ADD COLUMN digest TEXT;"
	"UPDATE checkpoint SET state_digest = warder_digest(state);"
	"UPDATE checkpoint AS c SET digest = (SELECT " CHECKPOINTS_DIGEST
	" FROM thread AS t WHERE t.key = c.thread);",
};

/* With OLD_PROTOCOLS (runtime/session/records.h) a program makes a file of the version before, and cannot use its rows. */
#ifdef OLD_PROTOCOLS
#define VERSION (ARRAY_LENGTH(steps) - 1)
#else
#define VERSION ARRAY_LENGTH(steps)
#endif

static void add_value(struct digest *digest, sqlite3_value *value)
{
	const int type = sqlite3_value_type(value);
	const void *bytes = type == SQLITE_BLOB ? sqlite3_value_blob(value) : sqlite3_value_text(value);
	const size_t len = (size_t)sqlite3_value_bytes(value);
	char head[48];

	snprintf(head, sizeof(head), "%d %zu", type, len);
	digest_add_text(digest, head);
	if (len)
		digest_add(digest, bytes, len);
}

/* warder_digest(VALUE...): SHA-256 over the type, length and bytes of each. */
static void sql_digest(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct digest digest;
	char hex[DIGEST_HEX];

	digest_init(&digest);
	for (int i = 0; i < count; i++)
		add_value(&digest, values[i]);
	if (digest_hex(&digest, hex) != 0)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_text(context, hex, -1, SQLITE_TRANSIENT);
}

static int add_functions(sqlite3 *handle)
{
	return sqlite3_create_function(handle, "warder_digest", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
				       sql_digest, NULL, NULL);
}

const struct database_schema checkpoints_schema = {
	.add_functions = add_functions,
	.application_id = 0x57434b50, /* "WCKP" */
	.steps = steps,
	.version = VERSION,
};

int warder_checkpoints_open(const char *store, struct warder_checkpoints **ret, struct warder_error *err)
{
	struct warder_checkpoints *checkpoints;
	char path[ROOTFS_PRIVATE_DIR_MAX];
	owned_fd int fd = -1;

	if (!ret)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `ret` is NULL");
	fd = store_open(store, "checkpoints", path, err);
	if (fd < 0)
		return -1;
	checkpoints = calloc(1, sizeof(*checkpoints));
	if (!checkpoints)
		return error_no_memory(err, NULL);
	if (database_open(path, CHECKPOINTS_FILE, CHECKPOINTS_FIELD, &checkpoints_schema, &checkpoints->db,
			  err) != 0) {
		free(checkpoints);
		return -1;
	}
	pthread_mutex_init(&checkpoints->lock, NULL);
	checkpoints->owner = getpid();
	*ret = checkpoints;
	return 0;
}

void warder_checkpoints_free(struct warder_checkpoints *checkpoints)
{
	if (!checkpoints || checkpoints->owner != getpid())
		return;
	database_done(&checkpoints->db);
	pthread_mutex_destroy(&checkpoints->lock);
	free(checkpoints);
}

int checkpoints_enter(struct warder_checkpoints *checkpoints, struct warder_error *err)
{
	if (!checkpoints)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "the argument `checkpoints` is NULL");
	if (checkpoints->owner != getpid())
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, NULL,
		    "the checkpoints were opened by the parent process; open them again after fork");
	pthread_mutex_lock(&checkpoints->lock);
	return 0;
}

void checkpoints_leave(struct warder_checkpoints *checkpoints)
{
	pthread_mutex_unlock(&checkpoints->lock);
}

int64_t checkpoints_now(const struct warder_checkpoints *checkpoints)
{
	struct timespec now;

	if (checkpoints->now_ms)
		return checkpoints->now_ms;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
