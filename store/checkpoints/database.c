/*
 * SQLite's locks are POSIX locks, which a process loses when it closes any descriptor of the file. So the file is made by
 * mknod(2), which opens nothing, and never opened but by SQLite, which knows of this.
 *
 * The change to WAL mode and the steps of the schema are made while the directory is locked: SQLite does not wait by itself
 * where two connections want to change the mode of a new file at once. Once that is done nobody takes the lock any more.
 *
 * On a full file system SQLite can do nothing, not even read: each connection has an index of the log (32 KiB) beside the file, and a
 * deletion goes through the log. So RESERVE_BYTES are kept in a file of their own. Who finds no room to open the file or to delete
 * removes that, goes on, and makes it again when it closes; such a connection takes no new state, which would eat the reserve.
 * A new state has its room in the file before it is written to the log, so that the log can always be emptied into the file.
 */
#include "store/checkpoints/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define WAL_KEPT_BYTES "4194304" /* what a large write leaves of the log beside the file */
#define RESERVE_BYTES  262144    /* the log's index, and a deletion of some thousand pages */
#define RESERVE_SUFFIX ".reserve"
#define SHRINK_PAGES   "8" /* each moves with its parents */
#define SPARE_PAGES    16
#define CHUNK_BYTES    4096 /* by which the file grows: with less SQLite takes no hint */

/* ---- errors ---- */

static bool is_full(int code, int sys_errno)
{
	bool from_system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;

	return (code & 0xff) == SQLITE_FULL || (from_system && (sys_errno == ENOSPC || sys_errno == EDQUOT));
}

static int storage_full(struct database *db, struct warder_error *err)
{
	error_set(err, WARDER_ERROR_UNAVAILABLE, db->field,
		  "storage full: %.200s has reached its size limit, or its file system is full; delete "
		  "what is not needed, or raise the limit",
		  db->path);
	err->sys_errno = ENOSPC;
	return -1;
}

int database_fail(struct database *db, struct warder_error *err)
{
	const int code = sqlite3_extended_errcode(db->handle);
	const int sys_errno = db->handle ? sqlite3_system_errno(db->handle) : 0;
	const char *text = db->handle ? sqlite3_errmsg(db->handle) : "out of memory";

	if (is_full(code, sys_errno))
		return storage_full(db, err);
	switch (code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return error_set(err, WARDER_ERROR_CONFLICT, db->field,
				 "another process has used %.200s for more than %d seconds; try again",
				 db->path, DATABASE_BUSY_MS / 1000);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return error_set(err, WARDER_ERROR_UNAVAILABLE, db->field,
				 "%.200s is damaged (%.80s); \"warder checkpoint rescue DIR\" saves what is "
				 "whole into another store",
				 db->path, text);
	case SQLITE_NOMEM:
		return error_no_memory(err, db->field);
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

int database_begin_freeing(struct database *db, struct warder_error *err)
{
	return database_run(db, "BEGIN IMMEDIATE", err);
}

int database_begin(struct database *db, struct warder_error *err)
{
	return db->full ? storage_full(db, err) : database_begin_freeing(db, err);
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
				 "%.200s is not a regular file of the caller; remove it", db->path);
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
					 "another process takes too long to set up %.200s; try again",
					 db->path);
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
}

/* The file may have been written by somebody who means harm; its schema shall run nothing. */
static int harden(struct database *db, struct warder_error *err)
{
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	return database_run(db, "PRAGMA cell_size_check=ON", err);
}

static int connect_file(struct database *db, const struct database_schema *schema, struct warder_error *err)
{
	const int flags =
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;

	if (sqlite3_open_v2(db->path, &db->handle, flags, NULL) != SQLITE_OK)
		return database_fail(db, err);
	sqlite3_busy_timeout(db->handle, DATABASE_BUSY_MS);
	sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_CHUNK_SIZE, &(int){ CHUNK_BYTES });
	if (schema->add_functions && schema->add_functions(db->handle) != SQLITE_OK)
		return database_fail(db, err);
	if (harden(db, err) != 0)
		return -1;
	return database_run(db,
			    "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY;"
			    "PRAGMA journal_size_limit=" WAL_KEPT_BYTES,
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

/* By a connection of its own, which reads what is committed; the transaction of `db` keeps others from writing meanwhile. */
static int write_copy(struct database *db, const char *path, struct warder_error *err)
{
	struct database reader = { .field = db->field };
	char *sql = sqlite3_mprintf("VACUUM INTO %Q", path);
	int status = -1;

	memcpy(reader.path, db->path, sizeof(reader.path));
	if (!sql)
		error_no_memory(err, db->field);
	else if (sqlite3_open_v2(db->path, &reader.handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW,
				 NULL) != SQLITE_OK)
		database_fail(&reader, err);
	else if (harden(&reader, err) == 0)
		status = database_run(&reader, sql, err);
	sqlite3_close_v2(reader.handle);
	sqlite3_free(sql);
	return status;
}

static int settle(const char *made, const char *path)
{
	owned_fd int fd = open(made, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && fsync(fd) == 0 ? rename(made, path) : -1;
}

/* Copy the file to one beside it, whose name ends with the schema's version: an older Warder can use the copy. */
static int copy(struct database *db, int64_t version, struct warder_error *err)
{
	char path[sizeof(db->path) + 24], made[sizeof(path) + 8];
	int status;

	snprintf(path, sizeof(path), "%s.v%lld", db->path, (long long)version);
	snprintf(made, sizeof(made), "%s.new", path);
	unlink(made);
	/* SQLite takes an empty file; its own would have the mode that the umask says. */
	status = mknod(made, S_IFREG | 0600, 0) == 0 ? write_copy(db, made, err) : unmade(db, errno, err);
	if (status == 0 && settle(made, path) != 0)
		status = unmade(db, errno, err);
	if (status != 0)
		unlink(made);
	return status;
}

/* A change of the schema needs the file's size for the copy, and again for the log. */
static int check_room(struct database *db, int64_t version, struct warder_error *err)
{
	int64_t page, pages, unused;
	uint64_t need, has;
	struct statvfs st;

	if (database_number(db, "PRAGMA page_size", 4096, &page, err) != 0 ||
	    database_number(db, "PRAGMA page_count", 0, &pages, err) != 0 ||
	    database_number(db, "PRAGMA freelist_count", 0, &unused, err) != 0)
		return -1;
	need = (uint64_t)(pages - unused) * (uint64_t)page * 2 + RESERVE_BYTES;
	if (statvfs(db->path, &st) != 0)
		return 0;
	has = (uint64_t)st.f_bavail * st.f_frsize;
	if (has >= need)
		return 0;
	error_set(
	    err, WARDER_ERROR_UNAVAILABLE, db->field,
	    "storage full: %.200s has the older schema version %lld; to change it, Warder needs %llu free "
	    "bytes in the file system, which has %llu",
	    db->path, (long long)version, (unsigned long long)need, (unsigned long long)has);
	err->sys_errno = ENOSPC;
	return -1;
}

static int take_steps(struct database *db, const struct database_schema *schema, int64_t from,
		      struct warder_error *err)
{
	char pragma[96];

	if (from > 0 && check_room(db, from, err) != 0)
		return -1;
	if (from > 0 && copy(db, from, err) != 0)
		return error_context(err, "a copy of the file of schema version %d", (int)from);
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
	int64_t version = 0;
	int status;

	/* Only of a file without tables; it has to come before the mode. */
	if (database_run(db, "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL", err) != 0 ||
	    database_begin_freeing(db, err) != 0)
		return -1;
	status = look(db, schema, &version, err);
	if (status == 0 && version < schema->version)
		status = take_steps(db, schema, version, err);
	status = database_end(db, status, err);
	db->keeps_reserve = status != 0 && version > 0;
	return status;
}

/* ---- the reserve ---- */

/* The path, of PATH bytes; NULL: it is too long, and there is none. */
static const char *reserve_path(const struct database *db, char buf[static sizeof(db->path)])
{
	const int len = snprintf(buf, sizeof(db->path), "%s" RESERVE_SUFFIX, db->path);

	return len > 0 && (size_t)len < sizeof(db->path) ? buf : NULL;
}

/* Where there is room for it and none. All of it, or none. */
static void make_reserve(const struct database *db)
{
	char buf[sizeof(db->path)];
	const char *path = reserve_path(db, buf);
	owned_fd int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;

	if (fd >= 0 && (posix_fallocate(fd, 0, RESERVE_BYTES) != 0 || fsync(fd) != 0))
		unlink(path);
}

static bool remove_reserve(struct database *db)
{
	char buf[sizeof(db->path)];
	const char *path = reserve_path(db, buf);

	if (db->full || db->keeps_reserve || !path || unlink(path) != 0)
		return false;
	db->full = true;
	return true;
}

/* Debian's SQLite writes zeros over what is deleted, through the log; for that there is no room now. */
static void save_room(struct database *db)
{
	if (db->handle)
		sqlite3_exec(db->handle, "PRAGMA secure_delete=OFF", NULL, NULL, NULL);
}

bool database_use_reserve(struct database *db, const struct warder_error *err)
{
	if (err->sys_errno != ENOSPC || !remove_reserve(db))
		return false;
	save_room(db);
	return true;
}

/* What moves goes through the log: on the reserve a few pages at a time. */
void database_shrink(struct database *db)
{
	struct warder_error ignored;
	int64_t before, left = 1;

	if (!db->full) {
		sqlite3_exec(db->handle, "PRAGMA incremental_vacuum", NULL, NULL, NULL);
		return;
	}
	do {
		before = left;
		sqlite3_exec(db->handle, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
		sqlite3_exec(db->handle, "PRAGMA incremental_vacuum(" SHRINK_PAGES ")", NULL, NULL, NULL);
		if (database_number(db, "PRAGMA freelist_count", 0, &left, &ignored) != 0)
			break;
	} while (left && left != before);
	sqlite3_exec(db->handle, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
}

int database_make_room(struct database *db, uint64_t bytes, struct warder_error *err)
{
	int64_t page, pages, unused, most;
	sqlite3_int64 size;

	if (database_number(db, "PRAGMA page_size", 4096, &page, err) != 0 ||
	    database_number(db, "PRAGMA page_count", 0, &pages, err) != 0 ||
	    database_number(db, "PRAGMA freelist_count", 0, &unused, err) != 0 ||
	    database_number(db, "PRAGMA max_page_count", 0, &most, err) != 0)
		return -1;
	/* Pages have a little less room than their size, and the tables and indexes grow as well. */
	size = (sqlite3_int64)(bytes / (uint64_t)page * (uint64_t)page / 64 * 65) + SPARE_PAGES * page;
	if (size <= unused * page)
		return 0;
	size += (pages - unused) * page;
	/* At its limit the insertion says so itself. */
	if (size > most * page)
		size = most * page;
	return sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_SIZE_HINT, &size) == SQLITE_OK
		   ? 0
		   : storage_full(db, err);
}

static int open_once(struct database *db, const struct database_schema *schema, int fd,
		     struct warder_error *err)
{
	int64_t version;

	if (connect_file(db, schema, err) == 0 && look_once(db, schema, &version, err) == 0 &&
	    (version == schema->version ||
	     (lock_directory(db, fd, err) == 0 && set_up(db, schema, err) == 0)))
		return 0;
	sqlite3_close_v2(db->handle);
	db->handle = NULL;
	return -1;
}

int database_open(const char *directory, const char *name, const char *field,
		  const struct database_schema *schema, struct database *ret, struct warder_error *err)
{
	owned_fd int fd = -1;
	int status;

	*ret = (struct database){ .field = field };
	fd = open_directory(directory, name, ret, err);
	if (fd < 0)
		return -1;
	status = open_once(ret, schema, fd, err);
	if (status != 0 && err->sys_errno == ENOSPC && remove_reserve(ret)) {
		status = open_once(ret, schema, fd, err);
		save_room(ret);
	}
	/* Also if it was given up in vain. */
	if ((status == 0) != ret->full)
		make_reserve(ret);
	return status;
}

void database_done(struct database *db)
{
	sqlite3_close_v2(db->handle);
	db->handle = NULL;
	if (db->full)
		make_reserve(db);
}
