/*
 * A thread has a row of its own for the number of its newest version, so that the next one is new also when the head was deleted.
 * A parent is kept by id, to be shown, and by version, to be followed: versions grow, so that no chain of parents has a ring, also
 * when an id was deleted and given again.
 */
#include "store/checkpoints/checkpoints.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "rootfs/rootfs.h"
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
};

const struct database_schema checkpoints_schema = {
	.application_id = 0x57434b50, /* "WCKP" */
	.steps = steps,
	.version = sizeof(steps) / sizeof(steps[0]),
};

int warder_checkpoints_open(const char *store, struct warder_checkpoints **ret, struct warder_error *err)
{
	struct warder_checkpoints *checkpoints;
	char path[ROOTFS_PLACE_MAX];
	owned_fd int fd = -1;

	if (!ret)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `ret` is NULL");
	fd = store_open(store, "checkpoints", path, err);
	if (fd < 0)
		return -1;
	checkpoints = calloc(1, sizeof(*checkpoints));
	if (!checkpoints)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "out of memory");
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
