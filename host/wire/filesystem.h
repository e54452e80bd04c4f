/*
 * filesystem: the messages of the service filesystem.Filesystem, by which E2B's clients look at and change files of a sandbox.
 *
 * A table has one row per call: its name and the members of its request. Life of a request: filesystem_parse() -> use ->
 * filesystem_request_done(). Texts of a request point into its document. Pure functions without global state; any thread.
 */
#ifndef WARDER_HOST_WIRE_FILESYSTEM_H
#define WARDER_HOST_WIRE_FILESYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

#define FILESYSTEM_DEPTH_MAX 64

enum filesystem_call {
	FILESYSTEM_STAT,
	FILESYSTEM_MAKE_DIR,
	FILESYSTEM_MOVE,
	FILESYSTEM_LIST_DIR,
	FILESYSTEM_REMOVE,
	FILESYSTEM_WATCH_DIR,
	FILESYSTEM_CREATE_WATCHER,
	FILESYSTEM_GET_WATCHER_EVENTS,
	FILESYSTEM_REMOVE_WATCHER,
	FILESYSTEM_CALLS,
};

struct filesystem_request {
	struct json_value *document;     /* owned */
	const char *path;                /* of Move: the source */
	const char *destination;         /* of Move */
	unsigned depth;                  /* of ListDir: at least 1 */
	bool recursive, include_entries; /* of WatchDir, CreateWatcher */
	const char *watcher;             /* of GetWatcherEvents, RemoveWatcher */
};

/* By the last part of its path, "ListDir". False: there is none. */
bool filesystem_call_find(const char *name, enum filesystem_call *ret);
/* Whether request and answer come in frames. */
bool filesystem_call_streams(enum filesystem_call call);
/* -1 with *err (INVALID_REQUEST); *ret is then zeroed. */
int filesystem_parse(enum filesystem_call call, const char *json, size_t len, struct filesystem_request *ret,
		     struct warder_error *err);
void filesystem_request_done(struct filesystem_request *request);

/* ---- answers ---- */

enum filesystem_type { FILESYSTEM_OTHER, FILESYSTEM_FILE, FILESYSTEM_DIRECTORY };

struct filesystem_entry {
	const char *path; /* absolute; the name is its last part */
	enum filesystem_type type;
	uint64_t size;
	uint32_t mode;             /* of stat(2), with the bits of the type */
	const char *owner, *group; /* names, or numbers as text */
	int64_t modified_s;        /* since the epoch */
	uint32_t modified_ns;
	const char *
	    link; /* the target of a symbolic link; NULL: it is none. Type and mode are those of the link's target */
};

/* An EntryInfo. */
void filesystem_write_entry(struct json_writer *w, const struct filesystem_entry *entry);

enum filesystem_event {
	FILESYSTEM_CREATED,
	FILESYSTEM_WRITTEN,
	FILESYSTEM_REMOVED,
	FILESYSTEM_RENAMED,
	FILESYSTEM_MODE,
	FILESYSTEM_EVENTS,
};

/* {"name", "type"}; name is relative to the watched directory. entry: or NULL. */
void filesystem_write_event(struct json_writer *w, const char *name, enum filesystem_event event,
			    const struct filesystem_entry *entry);
/* Messages of WatchDir: the first one, one for an event, one that keeps the connection alive. */
void filesystem_write_watch_start(struct json_writer *w);
void filesystem_write_watch_event(struct json_writer *w, const char *name, enum filesystem_event event,
				  const struct filesystem_entry *entry);
void filesystem_write_watch_keepalive(struct json_writer *w);

#endif
