#include "host/wire/filesystem.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "host/wire/fields.h"

enum member {
	MEMBER_PATH = 1,
	MEMBER_MOVE = 2,
	MEMBER_DEPTH = 4,
	MEMBER_WATCH = 8,
	MEMBER_WATCHER = 16,
};

static const struct {
	const char *name;
	unsigned members;
	bool streams;
} rows[FILESYSTEM_CALLS] = {
	[FILESYSTEM_STAT] = { "Stat", MEMBER_PATH, false },
	[FILESYSTEM_MAKE_DIR] = { "MakeDir", MEMBER_PATH, false },
	[FILESYSTEM_MOVE] = { "Move", MEMBER_MOVE, false },
	[FILESYSTEM_LIST_DIR] = { "ListDir", MEMBER_PATH | MEMBER_DEPTH, false },
	[FILESYSTEM_REMOVE] = { "Remove", MEMBER_PATH, false },
	[FILESYSTEM_WATCH_DIR] = { "WatchDir", MEMBER_PATH | MEMBER_WATCH, true },
	[FILESYSTEM_CREATE_WATCHER] = { "CreateWatcher", MEMBER_PATH | MEMBER_WATCH, false },
	[FILESYSTEM_GET_WATCHER_EVENTS] = { "GetWatcherEvents", MEMBER_WATCHER, false },
	[FILESYSTEM_REMOVE_WATCHER] = { "RemoveWatcher", MEMBER_WATCHER, false },
};

bool filesystem_call_find(const char *name, enum filesystem_call *ret)
{
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		if (strcmp(name, rows[i].name) == 0) {
			*ret = (enum filesystem_call)i;
			return true;
		}
	}
	return false;
}

bool filesystem_call_streams(enum filesystem_call call)
{
	return rows[call].streams;
}

/* ---- requests ---- */

static int parse_members(unsigned members, struct filesystem_request *ret, struct warder_error *err)
{
	const struct json_value *document = ret->document;
	uint64_t depth = 0;

	if (((members & MEMBER_PATH) && fields_required_text(document, "path", &ret->path, err) < 0) ||
	    ((members & MEMBER_MOVE) &&
	     (fields_required_text(document, "source", &ret->path, err) < 0 ||
	      fields_required_text(document, "destination", &ret->destination, err) < 0)) ||
	    ((members & MEMBER_DEPTH) &&
	     fields_uint(document, "depth", FILESYSTEM_DEPTH_MAX, &depth, err) < 0) ||
	    ((members & MEMBER_WATCH) &&
	     (fields_bool(document, "recursive", &ret->recursive, err) < 0 ||
	      fields_bool(document, "includeEntry", &ret->include_entries, err) < 0)) ||
	    ((members & MEMBER_WATCHER) &&
	     fields_required_text(document, "watcherId", &ret->watcher, err) < 0))
		return -1;
	ret->depth = depth ? (unsigned)depth : 1;
	return 0;
}

int filesystem_parse(enum filesystem_call call, const char *json, size_t len, struct filesystem_request *ret,
		     struct warder_error *err)
{
	*ret = (struct filesystem_request){ 0 };
	if (fields_parse(json, len, &ret->document, err) < 0)
		return -1;
	if (parse_members(rows[call].members, ret, err) < 0) {
		filesystem_request_done(ret);
		return -1;
	}
	return 0;
}

void filesystem_request_done(struct filesystem_request *request)
{
	json_free(request->document);
	*request = (struct filesystem_request){ 0 };
}

/* ---- answers ---- */

/* "-rw-r--r--", with 'd' for a directory and 'L' for a symbolic link. */
static void write_permissions(struct json_writer *w, uint32_t mode, bool link)
{
	static const char letters[] = "rwxrwxrwx";
	char text[11] = "----------";

	text[0] = link ? 'L' : S_ISDIR(mode) ? 'd' : '-';
	for (int i = 0; i < 9; i++)
		if (mode >> (8 - i) & 1)
			text[1 + i] = letters[i];
	json_key_string(w, "permissions", text);
}

/* Years from 1970 to 9999, which is all that the format has room for and files may have. */
static void write_time(struct json_writer *w, int64_t seconds, uint32_t ns)
{
	const int64_t most = INT64_C(253402300799);
	const time_t time = (time_t)(seconds < 0 ? 0 : seconds > most ? most : seconds);
	struct tm parts;
	char text[64];

	gmtime_r(&time, &parts);
	snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%09uZ", parts.tm_year + 1900,
		 parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, ns % 1000000000);
	json_key_string(w, "modifiedTime", text);
}

void filesystem_write_entry(struct json_writer *w, const struct filesystem_entry *entry)
{
	static const char *const types[] = {
		[FILESYSTEM_OTHER] = "FILE_TYPE_UNSPECIFIED",
		[FILESYSTEM_FILE] = "FILE_TYPE_FILE",
		[FILESYSTEM_DIRECTORY] = "FILE_TYPE_DIRECTORY",
	};
	const char *slash = strrchr(entry->path, '/');
	char size[24];

	snprintf(size, sizeof(size), "%llu", (unsigned long long)entry->size);
	json_begin_object(w);
	json_key_string(w, "name", slash && slash[1] ? slash + 1 : entry->path);
	json_key_string(w, "type", types[entry->type]);
	json_key_string(w, "path", entry->path);
	json_key_string(w, "size", size);
	json_key_uint(w, "mode", entry->mode & 07777);
	write_permissions(w, entry->mode, entry->link != NULL);
	json_key_string(w, "owner", entry->owner);
	json_key_string(w, "group", entry->group);
	write_time(w, entry->modified_s, entry->modified_ns);
	if (entry->link)
		json_key_string(w, "symlinkTarget", entry->link);
	json_end_object(w);
}

void filesystem_write_event(struct json_writer *w, const char *name, enum filesystem_event event,
			    const struct filesystem_entry *entry)
{
	static const char *const types[FILESYSTEM_EVENTS] = {
		[FILESYSTEM_CREATED] = "EVENT_TYPE_CREATE", [FILESYSTEM_WRITTEN] = "EVENT_TYPE_WRITE",
		[FILESYSTEM_REMOVED] = "EVENT_TYPE_REMOVE", [FILESYSTEM_RENAMED] = "EVENT_TYPE_RENAME",
		[FILESYSTEM_MODE] = "EVENT_TYPE_CHMOD",
	};

	json_begin_object(w);
	json_key_string(w, "name", name);
	json_key_string(w, "type", types[event]);
	if (entry) {
		json_key(w, "entry");
		filesystem_write_entry(w, entry);
	}
	json_end_object(w);
}

static void write_empty(struct json_writer *w, const char *key)
{
	json_begin_object(w);
	json_key(w, key);
	json_begin_object(w);
	json_end_object(w);
	json_end_object(w);
}

void filesystem_write_watch_start(struct json_writer *w)
{
	write_empty(w, "start");
}

void filesystem_write_watch_event(struct json_writer *w, const char *name, enum filesystem_event event,
				  const struct filesystem_entry *entry)
{
	json_begin_object(w);
	json_key(w, "filesystem");
	filesystem_write_event(w, name, event, entry);
	json_end_object(w);
}

void filesystem_write_watch_keepalive(struct json_writer *w)
{
	write_empty(w, "keepalive");
}
