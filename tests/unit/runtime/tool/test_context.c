#include "base/array.h"
#include "runtime/tool/context.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tests/lib/context_json.h"

static struct context *read_text(const char *json)
{
	struct context *context = NULL;
	struct warder_error err = { 0 };

	cr_assert(context_read(json, strlen(json), &context, &err) == 0, "%.200s: %s", json, err.text);
	return context;
}

static void record(struct context *context, const char *invocation, const char *out, const char *errors)
{
	const struct context_run run = { .code = span_of("code"),
					 .out = span_of(out),
					 .err = span_of(errors) };
	struct warder_error err = { 0 };

	cr_assert(context_record(context, invocation, &run, &err) == 0, "%s", err.text);
}

static void expect_json(const struct context *context, const char *expected, const char *label)
{
	char *json = context_json(context);

	cr_expect_str_eq(json, expected, "%s: %s", label, json);
	free(json);
}

/* ---- merge patches (RFC 7396) ---- */

static void write_patched(struct json_writer *w, const struct json_value *target,
			  const struct json_value *patch);

static void write_members(struct json_writer *w, const struct json_value *target,
			  const struct json_value *patch)
{
	for (const struct json_value *old = target ? target->child : NULL; old; old = old->next) {
		const struct json_value *changed = patch ? json_member(patch, old->key) : NULL;

		if (changed && changed->type == JSON_NULL)
			continue;
		json_key(w, old->key);
		write_patched(w, old, changed);
	}
	for (const struct json_value *added = patch ? patch->child : NULL; added; added = added->next) {
		if (added->type == JSON_NULL || (target && json_member(target, added->key)))
			continue;
		json_key(w, added->key);
		write_patched(w, NULL, added);
	}
}

/* `target` changed by `patch`; a NULL patch changes nothing. */
static void write_patched(struct json_writer *w, const struct json_value *target,
			  const struct json_value *patch)
{
	const struct json_value *value = patch ? patch : target;

	if (value->type == JSON_OBJECT) {
		json_begin_object(w);
		write_members(w, target && target->type == JSON_OBJECT ? target : NULL, patch);
		json_end_object(w);
	} else if (value->type == JSON_ARRAY) {
		json_begin_array(w);
		for (const struct json_value *each = value->child; each; each = each->next)
			write_patched(w, NULL, each);
		json_end_array(w);
	} else if (value->type == JSON_STRING) {
		json_string(w, value->string);
	} else if (value->type == JSON_NUMBER) {
		json_number(w, value->string);
	} else if (value->type == JSON_BOOL) {
		json_bool(w, value->boolean);
	} else {
		json_null(w);
	}
}

static char *patched(const char *target, const char *patch)
{
	const struct json_limits limits = { .max_bytes = CONTEXT_MAX_JSON };
	struct json_value *old = NULL, *change = NULL;
	struct warder_error err = { 0 };
	struct json_writer w = { 0 };

	cr_assert(json_parse(target, strlen(target), "target", &limits, &old, &err) == 0, "%s", err.text);
	cr_assert(json_parse(patch, strlen(patch), "patch", &limits, &change, &err) == 0, "%s", err.text);
	write_patched(&w, old, change);
	json_free(old);
	json_free(change);
	return json_take(&w);
}

/* ---- tests ---- */

static const char full[] =
    "{\"executionId\":\"e\",\"inputFiles\":[{\"name\":\"a.csv\",\"contentType\":\"text/"
    "csv\",\"content\":\"a,b\",\"encoding\":"
    "\"utf-8\"},{\"name\":\"b\",\"contentType\":\"\",\"base64\":\"/wA=\",\"encoding\":\"base64\"}],"
    "\"processedFiles\":[\"a.csv\"],\"errorCounts\":{\"i\":2},\"results\":{\"h\":[{\"code\":\"c\",\"stdout\":"
    "\"o\","
    "\"stderr\":\"\",\"failed\":false,\"truncated\":false,\"timeMs\":1}],\"i\":[{\"code\":\"d\",\"stdout\":"
    "\"\","
    "\"stderr\":\"e\",\"failed\":true,\"truncated\":true,\"timeMs\":18446744073709551615}]}}";
static const char empty[] = "{\"inputFiles\":[],\"processedFiles\":[],\"errorCounts\":{},\"results\":{}}";

Test(context, is_written_as_it_was_read, .timeout = 20)
{
	static const char *const rows[][2] = { { full, full },
					       { empty, empty },
					       { "", empty },
					       { "{}", empty },
					       { "{\"executionId\":null}", empty } };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct context *context = read_text(rows[i][0]);
		char *delta = context_delta_json(context);

		expect_json(context, rows[i][1], "written");
		cr_expect_str_eq(delta, "{}", "nothing changed");
		free(delta);
		context_free(context);
	}
}

/* NULL: there is none. */
static void expect_id(const struct context *context, const char *id)
{
	char *json = context_json(context), wanted[64] = "\"executionId\":";

	if (id)
		snprintf(wanted, sizeof(wanted), "{\"executionId\":\"%s\",", id);
	cr_expect((strstr(json, wanted) != NULL) == (id != NULL), "%s", json);
	free(json);
}

Test(context, what_was_read, .timeout = 20)
{
	struct context *context = read_text(full);
	const struct context_file *file = context_file(context, "b");

	expect_id(context, "e");
	cr_expect(file && file->content.len == 2 && memcmp(file->content.at, "\xff\0", 2) == 0);
	cr_expect(context_file_at(context, 1) == file && !context_file_at(context, 2));
	cr_expect_null(context_file(context, "c"));
	cr_expect(context_is_processed(context, "a.csv") && !context_is_processed(context, "b"));
	cr_expect(context_errors(context, "i") == 2 && context_errors(context, "h") == 0);
	cr_expect_str_eq(context_run_at(context, "i", 0)->code.at, "d");
	cr_expect_null(context_run_at(context, "i", 1));
	cr_expect_null(context_run_at(context, "x", 0));
	context_free(context);
}

Test(context, failures_in_a_row, .timeout = 20)
{
	static const struct {
		bool failed;
		const char *err;
		uint64_t errors;
		bool runs_again;
	} rows[] = {
		{ true, "", 1, true },     { false, "warn", 2, false }, { false, "", 0, true },
		{ true, "boom", 1, true }, { true, "", 2, false },
	};
	struct context *context = read_text("");

	cr_expect(context_should_run(context, "i", 2) && !context_should_run(context, "i", 0));
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct context_run run = { .failed = rows[i].failed, .err = span_of(rows[i].err) };
		struct warder_error err = { 0 };

		cr_assert(context_record(context, "i", &run, &err) == 0);
		cr_expect(context_errors(context, "i") == rows[i].errors, "row %zu", i);
		cr_expect(context_should_run(context, "i", 2) == rows[i].runs_again, "row %zu", i);
	}
	/* Another invocation, another count. */
	cr_expect(context_errors(context, "j") == 0 && context_should_run(context, "j", 1));
	context_free(context);
}

Test(context, ids_and_files, .timeout = 20)
{
	const struct context_file one = { "a", "text/csv", { "12", 2 } }, other = { "a", NULL, { "3", 1 } };
	struct context *context = read_text("");
	struct warder_error err = { 0 };

	expect_id(context, NULL);
	cr_assert(context_set_execution_id(context, "s", &err) == 0);
	expect_id(context, "s");
	cr_assert(context_set_execution_id(context, NULL, &err) == 0);
	expect_id(context, NULL);
	cr_assert(context_add_file(context, &one, &err) == 0 && context_add_file(context, &other, &err) == 0);
	cr_expect(context_file_at(context, 0)->content.at[0] == '3' && !context_file_at(context, 1));
	context_clear_files(context);
	cr_expect_null(context_file_at(context, 0));
	cr_assert(context_add_processed(context, "p", &err) == 0 &&
		  context_add_processed(context, "p", &err) == 0);
	expect_json(context,
		    "{\"inputFiles\":[],\"processedFiles\":[\"p\"],\"errorCounts\":{},\"results\":{}}",
		    "once");
	context_free(context);
}

Test(context, none_is_empty, .timeout = 20)
{
	const struct context_file file = { "a", NULL, { "", 0 } };
	const struct context_run run = { .failed = true };
	struct warder_error err = { 0 };

	cr_expect(context_errors(NULL, "i") == 0 && context_should_run(NULL, "i", 1));
	cr_expect(!context_file(NULL, "a") && !context_file_at(NULL, 0) && !context_is_processed(NULL, "a"));
	cr_expect(!context_run_at(NULL, "i", 0) && !context_json(NULL) && !context_delta_json(NULL));
	cr_expect(context_record(NULL, "i", &run, &err) == -1 && context_add_file(NULL, &file, &err) == -1);
	cr_expect(context_add_processed(NULL, "a", &err) == -1 &&
		  context_set_execution_id(NULL, "a", &err) == -1);
	cr_expect_str_eq(err.text, "there is no context");
	context_clear_files(NULL);
	context_free(NULL);
}

Test(context, texts_are_cut_and_made_text, .timeout = 20)
{
	const size_t len = CONTEXT_MAX_TEXT + 1;
	char *bytes = malloc(len);
	struct context *context = read_text("");
	const struct context_run run = { .code = { bytes, len }, .out = { "a\0\xff", 3 }, .err = { "", 0 } };
	struct warder_error err = { 0 };
	char *json;

	memset(bytes, '\xff', len);
	cr_assert(context_record(context, "i", &run, &err) == 0);
	cr_expect(context_run_at(context, "i", 0)->truncated);
	cr_expect(context_run_at(context, "i", 0)->code.len <= CONTEXT_MAX_TEXT);
	cr_expect_str_eq(context_run_at(context, "i", 0)->out.at, "a\xef\xbf\xbd\xef\xbf\xbd");
	json = context_json(context);
	context_free(context);
	context = read_text(json); /* what is written is within the limits of what is read */
	expect_json(context, json, "again");
	context_free(context);
	free(json);
	free(bytes);
}

Test(context, the_oldest_results_make_room, .timeout = 60)
{
	struct context *context = read_text("");
	char id[16], *text = malloc(CONTEXT_MAX_TEXT + 1), *json, *again;

	for (unsigned i = 0; i < CONTEXT_MAX_RUNS + 3; i++) {
		snprintf(id, sizeof(id), "%u", i);
		record(context, "many", id, "");
	}
	cr_expect_str_eq(context_run_at(context, "many", 0)->out.at, "3");
	cr_expect_str_eq(context_run_at(context, "many", CONTEXT_MAX_RUNS - 1)->out.at, "18");
	cr_expect_null(context_run_at(context, "many", CONTEXT_MAX_RUNS));
	for (unsigned i = 0; i < CONTEXT_MAX_INVOCATIONS; i++) {
		snprintf(id, sizeof(id), "%u", i);
		record(context, id, "", i ? "" : "failed");
	}
	cr_expect_null(context_run_at(context, "many", 0), "the oldest invocation is gone");
	cr_expect_not_null(context_run_at(context, "0", 0));
	record(context, "0", "", "failed"); /* and is the newest now */
	record(context, "new", "", "");
	cr_expect(context_errors(context, "0") == 2 && !context_run_at(context, "1", 0));
	memset(text, 'x', CONTEXT_MAX_TEXT);
	text[CONTEXT_MAX_TEXT] = '\0';
	for (unsigned i = 0; i < CONTEXT_MAX_TEXTS / CONTEXT_MAX_TEXT + 5; i++) {
		snprintf(id, sizeof(id), "%u", 1000 + i);
		record(context, id, text, "");
	}
	cr_expect(!context_run_at(context, "0", 0) && !context_run_at(context, "1000", 0));
	cr_expect(context_errors(context, "0") == 2, "its count stays");
	cr_expect_not_null(context_run_at(context, "1068", 0));
	json = context_json(context);
	context_free(context);
	context = read_text(json);
	again = context_json(context);
	/* Criterion hangs over texts of megabytes that it is to tell of. */
	cr_expect(again && strcmp(again, json) == 0, "it is written as it was read");
	context_free(context);
	free(again);
	free(json);
	free(text);
}

/* What a session keeps, changed by the delta, is what the context became. */
static void expect_delta(struct context *context, const char *before, const char *label)
{
	char *delta = context_delta_json(context), *after = context_json(context);
	char *merged = patched(*before ? before : "{}", delta);
	struct context *again = read_text(merged);

	/* Members of an object have no order; the order of invocations is that of what was there first. */
	for (const char *id = "abcdefgh"; *id; id++) {
		const char name[] = { *id, '\0' };

		cr_expect(context_errors(again, name) == context_errors(context, name), "%s: %s: %s", label,
			  name, delta);
		for (size_t i = 0; i <= CONTEXT_MAX_RUNS; i++) {
			const struct context_run *one = context_run_at(context, name, i);
			const struct context_run *two = context_run_at(again, name, i);

			cr_expect(!one == !two && (!one || strcmp(one->out.at, two->out.at) == 0),
				  "%s: %s: %s", label, name, delta);
		}
	}
	cr_expect(strlen(merged) == strlen(after) || !*before, "%s: %s and %s", label, merged, after);
	context_free(again);
	free(delta);
	free(after);
	free(merged);
}

Test(context, deltas, .timeout = 60)
{
	static const char *const starts[] = { full, empty, "" };

	for (size_t start = 0; start < 3; start++) {
		for (unsigned steps = 0; steps < 3 * 3 * 3 * 3; steps++) {
			struct context *context = read_text(starts[start]);
			const struct context_file file = { "n", "t", { "x", 1 } };
			struct warder_error err = { 0 };
			char label[40];

			snprintf(label, sizeof(label), "start %zu, steps %u", start, steps);
			record(context, steps % 3 == 0 ? "h" : "i", "new", steps % 3 == 1 ? "bad" : "");
			if (steps / 3 % 3 == 1)
				cr_assert(context_set_execution_id(context, "f", &err) == 0);
			if (steps / 3 % 3 == 2)
				cr_assert(context_set_execution_id(context, NULL, &err) == 0);
			if (steps / 9 % 3 == 1)
				cr_assert(context_add_file(context, &file, &err) == 0);
			if (steps / 9 % 3 == 2)
				context_clear_files(context);
			if (steps / 27 % 3 == 1)
				cr_assert(context_add_processed(context, "n", &err) == 0);
			if (steps / 27 % 3 == 2)
				record(context, "g", "g", "");
			expect_delta(context, starts[start], label);
			context_free(context);
		}
	}
}

/* What was read and then had to make room is taken away by the delta. */
Test(context, a_delta_takes_away, .timeout = 60)
{
	struct context *context = read_text(full);
	char id[16], *delta, *merged;

	for (unsigned i = 0; i < 3 * CONTEXT_MAX_INVOCATIONS; i++) {
		snprintf(id, sizeof(id), "%u", i);
		record(context, id, "", "");
	}
	cr_expect(!context_run_at(context, "h", 0) && context_errors(context, "i") == 0);
	delta = context_delta_json(context);
	cr_expect(strstr(delta, "\"h\":null") && strstr(delta, "\"errorCounts\":{\"i\":null}"), "%.400s",
		  delta);
	merged = patched(full, delta);
	context_free(context);
	context = read_text(merged);
	cr_expect(!context_run_at(context, "h", 0) && context_errors(context, "i") == 0);
	cr_expect_not_null(context_run_at(context, "383", 0));
	record(context, "h", "back", "");
	cr_expect_str_eq(context_run_at(context, "h", 0)->out.at, "back");
	context_free(context);
	free(delta);
	free(merged);
}

Test(context, refuses_and_names_what_it_refuses, .timeout = 20)
{
	static const struct {
		const char *json, *text;
	} rows[] = {
		{ "[]", "context:1: context must be an object, not an array" },
		{ "{\"executionID\":\"e\"}",
		  "context has no member \"executionID\"; did you mean \"executionId\"?" },
		{ "{\"executionId\":1}", "executionId must be a string, not a number" },
		{ "{\"executionId\":\"\"}", "executionId is empty" },
		{ "{\n\"inputFiles\":{}}", "context:2: inputFiles must be an array" },
		{ "{\"inputFiles\":[1]}", "inputFiles must be an object" },
		{ "{\"inputFiles\":[{}]}", "inputFiles.name is empty" },
		{ "{\"inputFiles\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", "a second file of this name" },
		{ "{\"inputFiles\":[{\"name\":\"a\",\"size\":1}]}", "inputFiles has no member \"size\"" },
		{ "{\"inputFiles\":[{\"name\":\"a\",\"content\":\"\",\"encoding\":\"latin1\"}]}",
		  "encoding must be" },
		{ "{\"inputFiles\":[{\"name\":\"a\",\"content\":\"\",\"encoding\":\"base64\"}]}",
		  "a file has base64" },
		{ "{\"inputFiles\":[{\"name\":\"a\",\"base64\":\"\"}]}", "a file has base64" },
		{ "{\"inputFiles\":[{\"name\":\"a\",\"base64\":\"x\",\"encoding\":\"base64\"}]}",
		  "not base64" },
		{ "{\"processedFiles\":[1]}", "processedFiles must be names" },
		{ "{\"processedFiles\":[\"\"]}", "processedFiles is empty" },
		{ "{\"errorCounts\":{\"i\":-1}}", "errorCounts must be a whole number below 2^32" },
		{ "{\"errorCounts\":{\"i\":4294967296}}", "errorCounts must be a whole number below 2^32" },
		{ "{\"errorCounts\":{\"\":1}}", "errorCounts is empty" },
		{ "{\"results\":{\"i\":{}}}", "results must be arrays of results" },
		{ "{\"results\":{\"i\":[{\"code\":1}]}}", "code must be a string" },
		{ "{\"results\":{\"i\":[{\"failed\":0}]}}", "failed must be a boolean" },
		{ "{\"results\":{\"i\":[{\"timeMs\":0.5}]}}", "timeMs must be a whole number" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct context *context = NULL;
		struct warder_error err = { 0 };

		cr_expect(context_read(rows[i].json, strlen(rows[i].json), &context, &err) == -1, "%s",
			  rows[i].json);
		cr_expect(strstr(err.text, rows[i].text), "%s: %s", rows[i].json, err.text);
		cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST, "%s", rows[i].json);
	}
}

/* `count` copies of `piece`, joined by commas, after `before` and before `after`; %u is the number of the copy. */
static char *many(const char *before, const char *piece, size_t count, const char *after)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	fputs(before, to);
	for (size_t i = 0; i < count; i++) {
		const char *number = strstr(piece, "%u");

		fputs(i ? "," : "", to);
		if (number)
			fprintf(to, "%.*s%zu%s", (int)(number - piece), piece, i, number + 2);
		else
			fputs(piece, to);
	}
	fputs(after, to);
	fclose(to);
	return text;
}

Test(context, limits_of_what_is_read, .timeout = 60)
{
	static char text[CONTEXT_MAX_TEXT + 32] = "{\"code\":\"";
	const struct {
		const char *before, *piece, *after;
		size_t most;
	} rows[] = {
		{ "{\"inputFiles\":[", "{\"name\":\"%u\"}", "]}", CONTEXT_MAX_FILES },
		{ "{\"processedFiles\":[", "\"%u\"", "]}", CONTEXT_MAX_PROCESSED },
		{ "{\"errorCounts\":{", "\"%u\":1", "}}", CONTEXT_MAX_INVOCATIONS },
		{ "{\"results\":{\"i\":[", "{}", "]}}", CONTEXT_MAX_RUNS },
		{ "{\"results\":{\"i\":[", text, "]}}", 0 },
	};

	memset(text + strlen(text), 'x', CONTEXT_MAX_TEXT + 1);
	strcat(text, "\"}");
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		for (size_t more = 0; more < 2; more++) {
			char *json = many(rows[i].before, rows[i].piece, rows[i].most + more, rows[i].after);
			struct context *context = NULL;
			struct warder_error err = { 0 };

			cr_expect(context_read(json, strlen(json), &context, &err) == (more ? -1 : 0),
				  "row %zu: %s", i, err.text);
			if (!more)
				context_free(context);
			free(json);
		}
	}
}

Test(context, limit_of_all_files, .timeout = 20)
{
	char *bytes = calloc(1, CONTEXT_MAX_FILE_BYTES);
	const struct context_file most = { "a", NULL, { bytes, CONTEXT_MAX_FILE_BYTES - 1 } };
	const struct context_file one = { "b", NULL, { bytes, 1 } }, two = { "b", NULL, { bytes, 2 } };
	struct context *context = read_text("");
	struct warder_error err = { 0 };

	cr_expect(context_add_file(context, &most, &err) == 0 && context_add_file(context, &one, &err) == 0);
	cr_expect(context_add_file(context, &two, &err) == -1);
	cr_expect(strstr(err.text, "b has 2 bytes; all files together"), "%s", err.text);
	cr_expect(context_file(context, "b")->content.len == 1, "it stays as it was");
	cr_expect(context_add_file(context, &most, &err) == 0, "in place of itself");
	context_clear_files(context);
	cr_expect(context_add_file(context, &most, &err) == 0);
	context_free(context);
	free(bytes);
}
