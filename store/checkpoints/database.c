/*
 * SQLite's locks are POSIX locks, which a process loses when it closes any descriptor of the file. So the file is made by
 * mknod(2), which opens nothing, and never opened but by SQLite, which knows of this.
 *
 * The change to WAL mode and the steps of the schema are made while the directory is locked: SQLite does not wait by itself
 * where two connections want to change the mode of a new file at once. Once that is done nobody takes the lock any more.
 */
#include "store/checkpoints/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define WAL_KEPT_BYTES "4194304" /* what a large write leaves of the log beside the file */

/* ---- errors ---- */

static bool is_full(int code, int sys_errno)
{
	bool from_system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;

	return (code & 0xff) == SQLITE_FULL || (from_system && (sys_errno == ENOSPC || sys_errno == EDQUOT));
}

int database_fail(struct database *db, struct warder_error *err)
{
	const int code = sqlite3_extended_errcode(db->handle);
	const int sys_errno = db->handle ? sqlite3_system_errno(db->handle) : 0;
	const char *text = db->handle ? sqlite3_errmsg(db->handle) : "out of memory";

	if (is_full(code, sys_errno)) {
		error_set(
		    err, WARDER_ERROR_UNAVAILABLE, db->field,
		    "storage full: %.200s has reached its size limit, or its file system is full; delete "
		    "what is not needed, or raise the limit",
		    db->path);
		err->sys_errno = ENOSPC;
		return -1;
	}
	switch (code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return error_set(err, WARDER_ERROR_CONFLICT, db->field,
				 "%.200s is in use by somebody else for more than %d seconds; try again",
				 db->path, DATABASE_BUSY_MS / 1000);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return error_set(err, WARDER_ERROR_UNAVAILABLE, db->field,
				 "%.200s is damaged (%.80s); put it aside, and a new one is made", db->path,
				 text);
	case SQLITE_NOMEM:
		return error_set(err, WARDER_ERROR_INTERNAL, db->field, "out of memory");
	default:
		return sys_errno ? error_set_errno(err, WARDER_ERROR_UNAVAILABLE, db->field, sys_errno,
						   "%.200s: %.80s", db->path, text)
				 : error_set(err, WARDER_ERROR_UNAVAILABLE, db->field, "%.200s: %.80s",
					     db->path, text);
	}
}

/* ---- statements ---- */

int database_run(struct database *db, const char *sql, struct warder_error *err)
{
	return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : database_fail(db, err);
}

int database_prepare(struct database *db, const char *sql, sqlite3_stmt **ret, struct warder_error *err)
{
	return sqlite3_prepare_v2(db->handle, sql, -1, ret, NULL) == SQLITE_OK ? 0 : database_fail(db, err);
}

int database_step(struct database *db, sqlite3_stmt *stmt, struct warder_error *err)
{
	switch (sqlite3_step(stmt)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return database_fail(db, err);
	}
}

int database_number(struct database *db, const char *sql, int64_t missing, int64_t *ret,
		    struct warder_error *err)
{
	owned_stmt sqlite3_stmt *stmt = NULL;
	int found;

	if (database_prepare(db, sql, &stmt, err) != 0)
		return -1;
	found = database_step(db, stmt, err);
	if (found < 0)
		return -1;
	*ret = found ? sqlite3_column_int64(stmt, 0) : missing;
	return 0;
}

int database_begin(struct database *db, struct warder_error *err)
{
	return database_run(db, "BEGIN IMMEDIATE", err);
}

int database_begin_read(struct database *db, struct warder_error *err)
{
	return database_run(db, "BEGIN", err);
}

int database_end(struct database *db, int failed, struct warder_error *err)
{
	if (failed == 0 && database_run(db, "COMMIT", err) == 0)
		return 0;
	/* Of some errors SQLite rolls back by itself. */
	if (!sqlite3_get_autocommit(db->handle))
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

/* ---- opening ---- */

static int unmade(struct database *db, int error, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, db->field, error, "%.200s cannot be made%s",
			       db->path, error == ENOSPC || error == EDQUOT ? ": storage full" : "");
}

static int open_directory(const char *directory, const char *name, struct database *db,
			  struct warder_error *err)
{
	owned_fd int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if ((size_t)snprintf(db->path, sizeof(db->path), "%s/%s", directory, name) >= sizeof(db->path))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, db->field, "the path is too long");
	if (fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, db->field, errno, "%.200s", directory);
	/* The second of them whatever the umask says. */
	if (mknodat(fd, name, S_IFREG | 0600, 0) == 0) {
		if (fchmodat(fd, name, 0600, 0) != 0 || fsync(fd) != 0)
			return unmade(db, errno, err);
	} else if (errno != EEXIST) {
		return unmade(db, errno, err);
	}
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid())
		return error_set(err, WARDER_ERROR_UNAVAILABLE, db->field,
				 "%.200s is no regular file of the caller's; remove it", db->path);
	return fd_take(&fd);
}

static int lock_directory(struct database *db, int fd, struct warder_error *err)
{
	for (uint64_t end = clock_us() + DATABASE_BUSY_MS * UINT64_C(1000);;) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, db->field, errno,
					       "%.200s: lock", db->path);
		if (clock_us() >= end)
			return error_set(err, WARDER_ERROR_CONFLICT, db->field,
					 "%.200s is being set up by somebody else for too long; try again",
					 db->path);
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
}

static int connect_file(struct database *db, struct warder_error *err)
{
	const int flags =
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;

	if (sqlite3_open_v2(db->path, &db->handle, flags, NULL) != SQLITE_OK)
		return database_fail(db, err);
	sqlite3_busy_timeout(db->handle, DATABASE_BUSY_MS);
	/* The file may have been written by somebody who means harm; its schema shall run nothing. */
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	return database_run(db,
			    "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY;"
			    "PRAGMA cell_size_check=ON; PRAGMA journal_size_limit=" WAL_KEPT_BYTES,
			    err);
}

/* What is known of the file without writing to it; within a transaction, so that it is of one moment. */
static int look(struct database *db, const struct database_schema *schema, int64_t *ret_version,
		struct warder_error *err)
{
	int64_t id, tables;

	if (database_number(db, "PRAGMA user_version", 0, ret_version, err) != 0 ||
	    database_number(db, "PRAGMA application_id", 0, &id, err) != 0 ||
	    database_number(db, "SELECT count(*) FROM sqlite_schema", 0, &tables, err) != 0)
		return -1;
	if (id != schema->application_id && (id != 0 || *ret_version != 0 || tables != 0))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, db->field,
				 "%.200s is a database of another application; name another store", db->path);
	if (*ret_version < 0 || *ret_version > schema->version)
		return error_set(
		    err, WARDER_ERROR_UNAVAILABLE, db->field,
		    "%.200s has the schema version %lld, and this version of Warder knows %d at the "
		    "most; use a newer one",
		    db->path, (long long)*ret_version, schema->version);
	return 0;
}

static int take_steps(struct database *db, const struct database_schema *schema, int64_t from,
		      struct warder_error *err)
{
	char pragma[96];

	for (int64_t i = from; i < schema->version; i++) {
		if (database_run(db, schema->steps[i], err) != 0)
			return error_context(err, "schema version %d", (int)i + 1);
	}
	snprintf(pragma, sizeof(pragma), "PRAGMA application_id=%d; PRAGMA user_version=%d",
		 schema->application_id, schema->version);
	return database_run(db, pragma, err);
}

static int look_once(struct database *db, const struct database_schema *schema, int64_t *ret_version,
		     struct warder_error *err)
{
	if (database_begin_read(db, err) != 0)
		return -1;
	return database_end(db, look(db, schema, ret_version, err), err);
}

/* With the directory locked. */
static int set_up(struct database *db, const struct database_schema *schema, struct warder_error *err)
{
	int64_t version;

	/* Only of a file without tables; it has to come before the mode. */
	if (database_run(db, "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL", err) != 0 ||
	    database_begin(db, err) != 0)
		return -1;
	if (look(db, schema, &version, err) != 0)
		return database_end(db, -1, err);
	return database_end(db, version < schema->version ? take_steps(db, schema, version, err) : 0, err);
}

int database_open(const char *directory, const char *name, const char *field,
		  const struct database_schema *schema, struct database *ret, struct warder_error *err)
{
	owned_fd int fd = -1;
	int64_t version;

	*ret = (struct database){ .field = field };
	fd = open_directory(directory, name, ret, err);
	if (fd < 0)
		return -1;
	if (connect_file(ret, err) == 0 && look_once(ret, schema, &version, err) == 0 &&
	    (version == schema->version ||
	     (lock_directory(ret, fd, err) == 0 && set_up(ret, schema, err) == 0)))
		return 0;
	database_done(ret);
	return -1;
}

void database_done(struct database *db)
{
	sqlite3_close_v2(db->handle);
	db->handle = NULL;
}
