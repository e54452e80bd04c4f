/* filesystem: requests and answers of filesystem.Filesystem (host/wire/filesystem.c). */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "host/wire/filesystem.h"

Test(filesystem, requests, .timeout = 20)
{
	static const struct {
		enum filesystem_call call;
		const char *json;
		const char *refusal; /* NULL: it is accepted */
	} rows[] = {
		{ FILESYSTEM_STAT, "{\"path\":\"/a\"}", NULL },
		{ FILESYSTEM_STAT, "{\"path\":\"\"}", "path: missing" },
		{ FILESYSTEM_STAT, "{}", "path: missing" },
		{ FILESYSTEM_STAT, "{\"path\":1}", "path: not a string" },
		{ FILESYSTEM_STAT, "null", "not a JSON object" },
		{ FILESYSTEM_MAKE_DIR, "{\"path\":\"a\"}", NULL },
		{ FILESYSTEM_MOVE, "{\"source\":\"a\",\"destination\":\"b\"}", NULL },
		{ FILESYSTEM_MOVE, "{\"source\":\"a\"}", "destination: missing" },
		{ FILESYSTEM_LIST_DIR, "{\"path\":\"a\",\"depth\":3}", NULL },
		{ FILESYSTEM_LIST_DIR, "{\"path\":\"a\",\"depth\":65}", "depth: more than 64" },
		{ FILESYSTEM_REMOVE, "{\"path\":\"a\"}", NULL },
		{ FILESYSTEM_WATCH_DIR, "{\"path\":\"a\",\"recursive\":true}", NULL },
		{ FILESYSTEM_WATCH_DIR, "{\"path\":\"a\",\"recursive\":1}", "recursive" },
		{ FILESYSTEM_CREATE_WATCHER, "{\"path\":\"a\",\"includeEntry\":true}", NULL },
		{ FILESYSTEM_GET_WATCHER_EVENTS, "{\"watcherId\":\"7\"}", NULL },
		{ FILESYSTEM_REMOVE_WATCHER, "{}", "watcherId: missing" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct filesystem_request request;
		struct warder_error err = { 0 };
		const int status =
		    filesystem_parse(rows[i].call, rows[i].json, strlen(rows[i].json), &request, &err);

		cr_expect_eq(status, rows[i].refusal ? -1 : 0, "%s: %s", rows[i].json, err.text);
		cr_expect(!rows[i].refusal || strstr(err.text, rows[i].refusal), "%s: %s", rows[i].json,
			  err.text);
		filesystem_request_done(&request);
	}
}

Test(filesystem, values, .timeout = 20)
{
	static const char move[] = "{\"source\":\"a\",\"destination\":\"b\"}";
	static const char list[] = "{\"path\":\"a\",\"depth\":0}";
	struct filesystem_request request;
	struct warder_error err;

	cr_assert_eq(filesystem_parse(FILESYSTEM_MOVE, move, sizeof(move) - 1, &request, &err), 0);
	cr_expect_str_eq(request.path, "a");
	cr_expect_str_eq(request.destination, "b");
	filesystem_request_done(&request);
	cr_assert_eq(filesystem_parse(FILESYSTEM_LIST_DIR, list, sizeof(list) - 1, &request, &err), 0);
	cr_expect_eq(request.depth, 1);
	filesystem_request_done(&request);
}

Test(filesystem, names, .timeout = 20)
{
	static const char *const names[] = { "Stat",          "MakeDir",          "Move",
					     "ListDir",       "Remove",           "WatchDir",
					     "CreateWatcher", "GetWatcherEvents", "RemoveWatcher" };

	cr_assert_eq(ARRAY_LENGTH(names), FILESYSTEM_CALLS);
	for (int i = 0; i < FILESYSTEM_CALLS; i++) {
		enum filesystem_call call = FILESYSTEM_CALLS;

		cr_expect(filesystem_call_find(names[i], &call) && (int)call == i, "%s", names[i]);
		cr_expect_eq(filesystem_call_streams(call), call == FILESYSTEM_WATCH_DIR);
	}
	cr_expect(!filesystem_call_find("", &(enum filesystem_call){ 0 }));
}

static void expect_text(struct json_writer *w, const char *wanted)
{
	char *text = json_take(w);

	cr_expect_str_eq(text, wanted, "%s", text);
	free(text);
}

Test(filesystem, answers, .timeout = 20)
{
	const struct filesystem_entry file = { .path = "/srv/a.txt",
					       .type = FILESYSTEM_FILE,
					       .size = UINT64_C(9007199254740993),
					       .mode = S_IFREG | 0640,
					       .owner = "user",
					       .group = "7",
					       .modified_s = 1700000000,
					       .modified_ns = 5 };
	const struct filesystem_entry link = { .path = "/",
					       .type = FILESYSTEM_DIRECTORY,
					       .mode = S_IFDIR | 0755,
					       .owner = "0",
					       .group = "0",
					       .modified_s = -1,
					       .link = "x" };
	struct json_writer w = { 0 };

	filesystem_write_entry(&w, &file);
	expect_text(&w, "{\"name\":\"a.txt\",\"type\":\"FILE_TYPE_FILE\",\"path\":\"/srv/"
			"a.txt\",\"size\":\"9007199254740993\","
			"\"mode\":416,\"permissions\":\"-rw-r-----\",\"owner\":\"user\",\"group\":\"7\","
			"\"modifiedTime\":\"2023-11-14T22:13:20.000000005Z\"}");
	filesystem_write_entry(&w, &link);
	expect_text(
	    &w, "{\"name\":\"/\",\"type\":\"FILE_TYPE_DIRECTORY\",\"path\":\"/\",\"size\":\"0\",\"mode\":493,"
		"\"permissions\":\"Lrwxr-xr-x\",\"owner\":\"0\",\"group\":\"0\","
		"\"modifiedTime\":\"1970-01-01T00:00:00.000000000Z\",\"symlinkTarget\":\"x\"}");
	filesystem_write_watch_start(&w);
	expect_text(&w, "{\"start\":{}}");
	filesystem_write_watch_event(&w, "d/a", FILESYSTEM_RENAMED, NULL);
	expect_text(&w, "{\"filesystem\":{\"name\":\"d/a\",\"type\":\"EVENT_TYPE_RENAME\"}}");
	filesystem_write_watch_keepalive(&w);
	expect_text(&w, "{\"keepalive\":{}}");
}
