/* store/checkpoints: threads, limits, going back, comparing, and files that are not as they should be. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "store/checkpoints/checkpoints.h"

static char store[64];
static struct warder_checkpoints *all;
static struct warder_error err;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void set_up(void)
{
	strcpy(store, "/tmp/warder-checkpoints-XXXXXX");
	cr_assert(mkdtemp(store));
	cr_assert_eq(warder_checkpoints_open(store, &all, &err), 0, "%s", err.text);
}

static void tear_down(void)
{
	warder_checkpoints_free(all);
	nftw(store, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(checkpoints, .init = set_up, .fini = tear_down, .timeout = 60);

static const char *file_path(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/checkpoints/%s", store, CHECKPOINTS_FILE);
	return path;
}

/* Its version; 0: refused. */
static uint64_t put(const char *thread, const char *state)
{
	uint64_t version = 0;

	return warder_thread_save(all, thread, state, strlen(state), &version, &err) == 0 ? version : 0;
}

static void expect_state(const char *thread, const char *which, const char *state)
{
	struct warder_checkpoint *found = NULL;
	int status = warder_checkpoint_get(all, thread, which, &found, &err);

	cr_expect(status == 0 && strcmp(found->state, state) == 0 && found->state_len == strlen(state),
		  "%s %s: %s", thread, which ? which : "head", status == 0 ? found->state : err.text);
	warder_checkpoint_free(found);
}

static void expect_missing(const char *thread, const char *which)
{
	struct warder_checkpoint *found = NULL;

	cr_expect_eq(warder_checkpoint_get(all, thread, which, &found, &err), -1, "%s %s", thread, which);
	cr_expect_eq(err.code, WARDER_ERROR_NOT_FOUND, "%s", err.text);
	cr_expect(strstr(err.text, "checkpoint not found"), "%s", err.text);
}

static void set_limits(uint64_t per_thread, uint64_t max_age_ms, uint64_t max_bytes)
{
	const struct warder_checkpoint_limits limits = { sizeof(limits), per_thread, max_age_ms, max_bytes };

	cr_assert_eq(warder_checkpoints_set_limits(all, &limits, NULL, &err), 0, "%s", err.text);
}

/* The versions of a list as "3 2 1", which is freed. */
static const char *versions(struct warder_checkpoint **list, size_t count)
{
	static char text[512];
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count && at < sizeof(text) - 24; i++)
		at +=
		    (size_t)sprintf(text + at, "%s%llu", i ? " " : "", (unsigned long long)list[i]->version);
	warder_checkpoint_list_free(list, count);
	return text;
}

static const char *listed(const struct warder_checkpoint_query *query)
{
	struct warder_checkpoint **list = NULL;
	size_t count = 0;

	if (warder_checkpoint_list(all, "t", query, &list, &count, &err) != 0)
		return err.text;
	return versions(list, count);
}

Test(checkpoints, a_state_comes_back_byte_for_byte)
{
	static const char *const rows[] = {
		"{}",   "null", " [1, 2.50e1,\t\"\\u00e9\u00e9\"]\n\n", "{\"b\": 1, \"a\": {\"x\": []}}",
		"\"\"", "-0.0",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		cr_expect_eq(put("t", rows[i]), i + 1, "%s: %s", rows[i], err.text);
		expect_state("t", NULL, rows[i]);
	}
	expect_state("t", "@3", rows[2]);
	expect_missing("t", "@7");
	expect_missing("other", NULL);
	expect_missing(NULL, "other");
}

Test(checkpoints, what_is_refused)
{
	static char longest[WARDER_CHECKPOINT_THREAD_MAX + 2];
	struct {
		const char *thread, *id, *metadata, *state, *parent, *field;
	} rows[] = {
		{ "", NULL, NULL, "{}", NULL, "thread" },
		{ NULL, NULL, NULL, "{}", NULL, "thread" },
		{ "\xff", NULL, NULL, "{}", NULL, "thread" },
		{ longest, NULL, NULL, "{}", NULL, "thread" },
		{ "t", "", NULL, "{}", NULL, "id" },
		{ "t", "@1", NULL, "{}", NULL, "id" },
		{ "t", "a\nb", NULL, "{}", NULL, "id" },
		{ "t", "\xc3", NULL, "{}", NULL, "id" },
		{ "t", longest, NULL, "{}", NULL, "id" },
		{ "t", NULL, "[]", "{}", NULL, "metadata" },
		{ "t", NULL, "{", "{}", NULL, "metadata" },
		{ "t", NULL, "{\"rollbackFrom\": 1}", "{}", NULL, "metadata" },
		{ "t", NULL, NULL, "", NULL, "state" },
		{ "t", NULL, NULL, "{} {}", NULL, "state" },
		{ "t", NULL, NULL, "{\"a\": 1, \"a\": 2}", NULL, "state" },
		{ "t", NULL, NULL, "\"\xff\"", NULL, "state" },
		{ "t", NULL, NULL, NULL, NULL, "state" },
		{ "t", NULL, NULL, "{}", "@1", "parent" },
	};

	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct warder_checkpoint_options options = { sizeof(options), rows[i].id,
								   rows[i].parent, rows[i].metadata };
		const size_t len = rows[i].state ? strlen(rows[i].state) : 0;

		err = (struct warder_error){ 0 };
		cr_expect_eq(
		    warder_checkpoint_put(all, rows[i].thread, rows[i].state, len, &options, NULL, &err), -1,
		    "row %zu", i);
		cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strcmp(err.field, rows[i].field) == 0,
			  "row %zu: %s: %s", i, err.field, err.text);
	}
	longest[WARDER_CHECKPOINT_THREAD_MAX] = '\0';
	cr_expect_eq(put(longest, "1"), 1, "%s", err.text);
}

Test(checkpoints, threads_are_texts_and_not_paths)
{
	static const char *const rows[] = { "../../etc/passwd", "/",      ".",    "a\nb",
					    "' OR 1=1 --",      "\u00e9", "%s%n", " " };
	struct warder_thread *threads = NULL;
	struct stat st;
	size_t count;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_eq(put(rows[i], "1"), 1, "%s: %s", rows[i], err.text);
	cr_assert_eq(warder_thread_list(all, &threads, &count, &err), 0);
	cr_expect_eq(count, ARRAY_LENGTH(rows));
	for (size_t i = 0; i < count; i++) {
		cr_expect(threads[i].checkpoints == 1 && threads[i].version == 1 && threads[i].bytes == 1);
		cr_expect(i == 0 || strcmp(threads[i - 1].name, threads[i].name) < 0, "%s", threads[i].name);
	}
	free(threads);
	cr_expect(stat(file_path(), &st) == 0 && (st.st_mode & 07777) == 0600, "%o", (unsigned)st.st_mode);
}

Test(checkpoints, lists_are_newest_first)
{
	static const struct {
		const char *label, *expected;
		struct warder_checkpoint_query query;
	} rows[] = {
		{ "all", "5 4 3 2 1", { .size = sizeof(rows[0].query) } },
		{ "the newest", "5 4", { .size = sizeof(rows[0].query), .limit = 2 } },
		{ "before is exclusive", "2 1", { .size = sizeof(rows[0].query), .before_version = 3 } },
		{ "after is exclusive", "5 4", { .size = sizeof(rows[0].query), .after_version = 3 } },
		{ "a page", "3", { .size = sizeof(rows[0].query), .before_version = 4, .limit = 1 } },
		{ "since is inclusive", "5 4 3", { .size = sizeof(rows[0].query), .since_ms = 1300 } },
		{ "until is inclusive", "3 2 1", { .size = sizeof(rows[0].query), .until_ms = 1300 } },
		{ "nothing", "", { .size = sizeof(rows[0].query), .since_ms = 1301, .until_ms = 1399 } },
		{ "beyond all numbers",
		  "5 4 3 2 1",
		  { .size = sizeof(rows[0].query), .before_version = UINT64_MAX } },
		{ "after all", "", { .size = sizeof(rows[0].query), .after_version = UINT64_MAX } },
	};
	struct warder_checkpoint_query many = { .size = sizeof(many),
						.limit = WARDER_CHECKPOINT_LIST_MAX + 1 };

	set_limits(0, 0, 0);
	for (uint64_t i = 1; i <= 5; i++) {
		all->now_ms = (int64_t)(1000 + 100 * i);
		cr_assert_eq(put("t", "{}"), i);
		cr_assert(put("other", "{}"));
	}
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_str_eq(listed(&rows[i].query), rows[i].expected, "%s: %s", rows[i].label,
				 listed(&rows[i].query));
	cr_expect(strstr(listed(&many), "too many"), "%s", err.text);
}

Test(checkpoints, a_thread_keeps_its_newest)
{
	set_limits(3, 0, 0);
	for (uint64_t i = 1; i <= 5; i++)
		cr_expect_eq(put("t", "{}"), i);
	cr_expect_str_eq(listed(NULL), "5 4 3");
	cr_expect_eq(put("u", "{}"), 1);
	set_limits(2, 0, 0);
	cr_expect_str_eq(listed(NULL), "5 4", "a limit holds at once");
	set_limits(1, 0, 0);
	cr_expect_eq(put("t", "{}"), 6);
	cr_expect_str_eq(listed(NULL), "6");
	expect_state("u", NULL, "{}");
}

Test(checkpoints, a_hundred_and_a_day_by_default)
{
	struct warder_checkpoint_limits limits = { .size = sizeof(limits) };
	struct warder_checkpoint_query query = { .size = sizeof(query), .limit = 1000 };
	struct warder_checkpoint **list = NULL;
	size_t count = 0;

	cr_assert_eq(warder_checkpoints_limits(all, &limits, &err), 0);
	cr_expect(limits.per_thread == 100 && limits.max_age_ms == 86400000 && limits.max_bytes == 1 << 30);
	for (int i = 0; i < 103; i++)
		cr_assert(put("t", "{}"), "%s", err.text);
	cr_assert_eq(warder_checkpoint_list(all, "t", &query, &list, &count, &err), 0);
	cr_expect_eq(count, 100);
	cr_expect_eq(list[99]->version, 4);
	warder_checkpoint_list_free(list, count);
	all->now_ms = checkpoints_now(all) + 86400000 + 1;
	expect_missing("t", NULL);
}

Test(checkpoints, age_holds_for_reads_and_writes)
{
	struct warder_thread *threads = NULL;
	int64_t rows;
	size_t count;

	set_limits(0, 1000, 0);
	all->now_ms = 10000;
	cr_expect_eq(put("t", "1"), 1);
	all->now_ms = 10600;
	cr_expect_eq(put("t", "2"), 2);
	all->now_ms = 11000;
	cr_expect_str_eq(listed(NULL), "2 1", "not older than that");
	all->now_ms = 11001;
	cr_expect_str_eq(listed(NULL), "2");
	expect_missing("t", "@1");
	cr_expect_eq(warder_checkpoint_rollback(all, "t", "@1", NULL, &err), -1);
	cr_expect_eq(warder_checkpoint_delete(all, "t", "@1", &err), -1);
	cr_assert_eq(database_number(&all->db, "SELECT count(*) FROM checkpoint", 0, &rows, &err), 0);
	cr_expect_eq(rows, 2, "a read removes nothing");
	all->now_ms = 12000;
	expect_missing("t", NULL);
	cr_assert_eq(warder_thread_list(all, &threads, &count, &err), 0);
	cr_expect_eq(count, 0);
	free(threads);
	cr_expect_eq(put("u", "3"), 1);
	cr_assert_eq(database_number(&all->db, "SELECT count(*) FROM checkpoint", 0, &rows, &err), 0);
	cr_expect_eq(rows, 1, "a write removes what is too old");
}

Test(checkpoints, back_to_an_old_state)
{
	const struct warder_checkpoint_options named = { sizeof(named), "first", NULL, "{\"step\": 1}" };
	struct warder_checkpoint *made = NULL, **list = NULL;
	size_t count = 0;

	cr_assert_eq(warder_checkpoint_put(all, "t", " [1]", 4, &named, NULL, &err), 0, "%s", err.text);
	put("t", "[2]");
	put("t", "[3]");
	put("other", "[4]");
	cr_assert_eq(warder_checkpoint_rollback(all, "t", "@1", &made, &err), 0, "%s", err.text);
	cr_expect(made->version == 4 && strcmp(made->parent, "first") == 0, "%s", made->parent);
	cr_expect_str_eq(made->metadata, "{\"step\":1,\"rollbackFrom\":\"first\"}");
	expect_state("t", NULL, " [1]");
	cr_expect_str_eq(listed(NULL), "4 3 2 1", "nothing is lost");
	cr_assert_eq(warder_checkpoint_history(all, "t", NULL, 0, &list, &count, &err), 0);
	cr_expect_str_eq(versions(list, count), "4 1");
	/* Once more: the metadata name the source of this one alone. */
	cr_assert_eq(put("t", "[5]"), 5);
	warder_checkpoint_free(made);
	cr_assert_eq(warder_checkpoint_rollback(all, "t", "@4", &made, &err), 0, "%s", err.text);
	cr_expect(strstr(made->metadata, made->parent) && !strstr(made->metadata, "first"), "%s",
		  made->metadata);
	warder_checkpoint_free(made);
	cr_expect_eq(warder_checkpoint_rollback(all, "other", "first", NULL, &err), -1, "of another thread");
	cr_expect_eq(err.code, WARDER_ERROR_NOT_FOUND, "%s", err.text);
}

Test(checkpoints, parents_and_ids)
{
	struct warder_checkpoint_options options = { sizeof(options), "a", NULL, NULL };
	struct warder_checkpoint *made = NULL, **list = NULL;
	size_t count = 0;

	cr_assert_eq(warder_checkpoint_put(all, "t", "1", 1, &options, NULL, &err), 0);
	cr_expect_eq(warder_checkpoint_put(all, "u", "1", 1, &options, NULL, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_CONFLICT, "%s", err.text);
	options.id = "b";
	cr_assert_eq(warder_checkpoint_put(all, "t", "2", 1, &options, &made, &err), 0);
	cr_expect_str_eq(made->parent, "a", "the head");
	warder_checkpoint_free(made);
	options.id = NULL;
	options.parent = "a";
	cr_assert_eq(warder_checkpoint_put(all, "t", "3", 1, &options, &made, &err), 0);
	cr_expect_str_eq(made->parent, "a");
	warder_checkpoint_free(made);
	cr_expect_eq(warder_checkpoint_put(all, "u", "3", 1, &options, NULL, &err), -1, "of another thread");
	cr_expect_eq(err.code, WARDER_ERROR_NOT_FOUND, "%s", err.text);
	/* An id that comes back does not make a ring of parents. */
	cr_assert_eq(warder_checkpoint_delete(all, NULL, "a", &err), 0, "%s", err.text);
	options.id = "a";
	options.parent = "b";
	cr_assert_eq(warder_checkpoint_put(all, "t", "4", 1, &options, NULL, &err), 0);
	cr_assert_eq(warder_checkpoint_history(all, NULL, "a", 0, &list, &count, &err), 0, "%s", err.text);
	cr_expect_str_eq(versions(list, count), "4 2", "up to the one that is gone");
}

Test(checkpoints, deleting)
{
	uint64_t removed = 0;

	for (int i = 1; i <= 3; i++)
		put("t", "{}");
	cr_expect_eq(warder_checkpoint_delete(all, "t", "@3", &err), 0, "%s", err.text);
	cr_expect_eq(put("t", "{}"), 4, "no version comes twice");
	cr_expect_str_eq(listed(NULL), "4 2 1");
	cr_expect_eq(warder_checkpoint_delete(all, "t", "@3", &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_NOT_FOUND, "%s", err.text);
	cr_expect_eq(warder_thread_delete(all, "t", &removed, &err), 0);
	cr_expect_eq(removed, 3);
	cr_expect_str_eq(listed(NULL), "");
	cr_expect_eq(warder_thread_delete(all, "t", &removed, &err), 0, "unknown is no error");
	cr_expect_eq(removed, 0);
	cr_expect_eq(put("t", "{}"), 1);
}

Test(checkpoints, comparing)
{
	static const struct {
		const char *from, *to, *changes;
	} rows[] = {
		{ "{\"a\": 1, \"b\": [1, 2]}", "{\"b\":[1,2],\"a\":1}", "[]" },
		{ "1", "1.0", "[{\"path\":\"\",\"change\":\"changed\",\"old\":1,\"new\":1.0}]" },
		{ "[1, 2]", "[1, 3, null]",
		  "[{\"path\":\"/1\",\"change\":\"changed\",\"old\":2,\"new\":3},"
		  "{\"path\":\"/2\",\"change\":\"added\",\"new\":null}]" },
		{ "{\"a/b\": {\"~\": true}}", "{\"a/b\": {}}",
		  "[{\"path\":\"/a~1b/~0\",\"change\":\"removed\",\"old\":true}]" },
		{ "{\"b\": 1, \"a\": 1}", "{\"c\": 1, \"a\": \"1\"}",
		  "[{\"path\":\"/a\",\"change\":\"changed\",\"old\":1,\"new\":\"1\"},"
		  "{\"path\":\"/b\",\"change\":\"removed\",\"old\":1},{\"path\":\"/"
		  "c\",\"change\":\"added\",\"new\":1}]" },
		{ "{}", "[]", "[{\"path\":\"\",\"change\":\"changed\",\"old\":{},\"new\":[]}]" },
	};
	char expected[600], from[24], to[24], *json = NULL;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		cr_assert(put("t", rows[i].from) && put("t", rows[i].to));
		snprintf(expected, sizeof(expected), "\"changes\":%s,\"truncated\":false,\"same\":%s}",
			 rows[i].changes, i == 0 ? "true" : "false");
		snprintf(from, sizeof(from), "@%zu", 2 * i + 1);
		snprintf(to, sizeof(to), "@%zu", 2 * i + 2);
		cr_assert_eq(warder_checkpoint_compare(all, "t", from, to, &json, &err), 0, "%s", err.text);
		cr_expect(strstr(json, expected), "row %zu: %s", i, json);
		free(json);
	}
	cr_expect_eq(warder_checkpoint_compare(all, "t", "@1", "@99", &json, &err), -1);
}

/* What would be gigabytes of text, because every change repeats a long name. */
Test(checkpoints, a_comparison_is_bounded)
{
	struct json_writer from = { 0 }, to = { 0 };
	char *name = malloc(1000001), *json = NULL;

	memset(name, 'x', 1000000);
	name[1000000] = '\0';
	for (int side = 0; side < 2; side++) {
		struct json_writer *w = side ? &to : &from;

		json_begin_object(w);
		json_key(w, name);
		json_begin_array(w);
		for (int i = 0; i < 9000; i++)
			json_uint(w, (uint64_t)side);
		json_end_array(w);
		json_end_object(w);
		cr_assert(put("t", w->text), "%s", err.text);
		json_writer_done(w);
	}
	cr_assert_eq(warder_checkpoint_compare(all, "t", "@1", "@2", &json, &err), 0, "%s", err.text);
	cr_expect(strlen(json) < 80 << 20 && strstr(json + strlen(json) - 40, "\"truncated\":true"));
	free(json);
	free(name);
}

Test(checkpoints, a_full_store_says_so_and_keeps_what_it_has)
{
	static char state[30002];
	uint64_t last = 0;

	memset(state, 'x', sizeof(state) - 1);
	state[0] = state[30000] = '"';
	state[30001] = '\0';
	set_limits(0, 0, 400000);
	for (uint64_t made; (made = put("t", state)) != 0 && made < 100;)
		last = made;
	cr_expect(last > 5 && last < 14, "%d", (int)last);
	cr_expect(err.code == WARDER_ERROR_UNAVAILABLE && err.sys_errno == ENOSPC &&
		      strstr(err.text, "storage full"),
		  "%s", err.text);
	expect_state("t", NULL, state);
	/* With a limit of checkpoints the old ones make room. */
	set_limits(4, 0, 400000);
	for (int i = 0; i < 30; i++)
		cr_assert(put("t", state), "%d: %s", i, err.text);
	set_limits(0, 0, 0);
	for (int i = 0; i < 30; i++)
		cr_assert(put("t", state), "%d: %s", i, err.text);
}

Test(checkpoints, limits_are_the_stores)
{
	struct warder_checkpoint_limits limits = { .size = sizeof(limits) };
	struct warder_checkpoints *again = NULL;

	set_limits(7, 0, 65536);
	cr_assert_eq(warder_checkpoints_open(store, &again, &err), 0, "%s", err.text);
	cr_assert_eq(warder_checkpoints_limits(again, &limits, &err), 0);
	cr_expect(limits.per_thread == 7 && limits.max_age_ms == 0 && limits.max_bytes == 65536);
	limits.max_bytes = 65535;
	cr_expect_eq(warder_checkpoints_set_limits(again, &limits, NULL, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST, "%s", err.text);
	warder_checkpoints_free(again);
}

/* ---- files ---- */

static void expect_unusable(const char *what)
{
	struct warder_checkpoints *again = NULL;

	cr_expect_eq(warder_checkpoints_open(store, &again, &err), -1, "%s", what);
	cr_expect(err.code == WARDER_ERROR_UNAVAILABLE && strstr(err.text, what), "%s: %s", what, err.text);
}

Test(checkpoints, what_is_newer_foreign_or_damaged_is_left_alone)
{
	int fd;

	cr_assert(put("t", "{}"));
	cr_assert_eq(database_run(&all->db, "PRAGMA user_version=99", &err), 0);
	expect_unusable("schema version 99");
	cr_assert_eq(database_run(&all->db, "PRAGMA user_version=1; PRAGMA application_id=5", &err), 0);
	expect_unusable("another application");
	warder_checkpoints_free(all);
	all = NULL;
	fd = open(file_path(), O_WRONLY);
	cr_assert_eq(pwrite(fd, "SQLite no more, and this is not", 31, 0), 31);
	close(fd);
	expect_unusable("damaged");
	cr_assert_eq(unlink(file_path()), 0);
	cr_assert_eq(symlink("/etc/passwd", file_path()), 0);
	expect_unusable("not a regular file");
}

Test(checkpoints, a_file_that_was_cut_off_is_no_crash)
{
	static char state[20002];

	memset(state, 'x', sizeof(state) - 1);
	state[0] = state[20000] = '"';
	state[20001] = '\0';
	for (int i = 0; i < 10; i++)
		cr_assert(put("t", state));
	warder_checkpoints_free(all);
	all = NULL;
	cr_assert_eq(truncate(file_path(), 3 * 4096), 0);
	if (warder_checkpoints_open(store, &all, &err) == 0) {
		char *text = NULL;

		cr_expect_eq(warder_thread_load(all, "t", &text, NULL, &err), -1);
	}
	cr_expect(err.code == WARDER_ERROR_UNAVAILABLE, "%s", err.text);
}

Test(checkpoints, a_schema_grows_by_steps_or_not_at_all)
{
	static const char *const steps[] = { "CREATE TABLE a (x INTEGER)",
					     "ALTER TABLE a ADD COLUMN y INTEGER DEFAULT 7",
					     "CREATE TABLE b (x); INSERT INTO nothing VALUES (1)" };
	struct database_schema schema = { 42, steps, 1 };
	struct database db;
	int64_t value = 0;

	cr_assert_eq(database_open(store, "x.db", "x", &schema, &db, &err), 0, "%s", err.text);
	cr_assert_eq(database_run(&db, "INSERT INTO a VALUES (1)", &err), 0);
	database_done(&db);
	schema.version = 3;
	cr_expect_eq(database_open(store, "x.db", "x", &schema, &db, &err), -1);
	cr_expect(strstr(err.text, "schema version 3"), "%s", err.text);
	schema.version = 1;
	cr_assert_eq(database_open(store, "x.db", "x", &schema, &db, &err), 0, "nothing has changed: %s",
		     err.text);
	database_done(&db);
	schema.version = 2;
	cr_assert_eq(database_open(store, "x.db", "x", &schema, &db, &err), 0, "%s", err.text);
	cr_expect(database_number(&db, "SELECT x + y FROM a", 0, &value, &err) == 0 && value == 8, "%s",
		  err.text);
	database_done(&db);
}

/* ---- many ---- */

static void *put_many(void *context)
{
	struct warder_error own;

	for (int i = 0; i < 50; i++) {
		if (warder_thread_save(all, context, "{\"a\": 1}", 8, NULL, &own) != 0)
			return "put failed";
	}
	return NULL;
}

Test(checkpoints, one_handle_in_many_threads)
{
	pthread_t threads[8];
	void *failed;

	set_limits(0, 0, 0);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, put_many, i % 2 ? "odd" : "even"), 0);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], &failed);
		cr_expect_null(failed, "%s", (char *)failed);
	}
	expect_state("odd", "@200", "{\"a\": 1}");
	expect_missing("odd", "@201");
}

static int in_a_fork(void)
{
	struct warder_checkpoints *own = NULL;

	if (warder_thread_save(all, "t", "1", 1, NULL, &err) == 0 || err.code != WARDER_ERROR_INVALID_REQUEST)
		return 1;
	warder_checkpoints_free(all);
	if (warder_checkpoints_open(store, &own, &err) != 0 ||
	    warder_thread_save(own, "t", "2", 1, NULL, &err) != 0)
		return 2;
	warder_checkpoints_free(own);
	return 0;
}

Test(checkpoints, a_fork_opens_its_own)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(in_a_fork());
	waitpid(pid, &status, 0);
	cr_expect_eq(status, 0, "%d", status);
	expect_state("t", "@1", "2");
	cr_expect_eq(put("t", "3"), 2);
}
