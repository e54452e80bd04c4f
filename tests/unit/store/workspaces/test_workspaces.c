/* store/workspaces, artifacts and snapshots through the library: what the commands' transcripts do not show. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json.h"
#include "store/snapshots/manifest.h"
#include "store/workspaces/patch_text.h"
#include "store/workspaces/workspaces.h"
#include "store/warder-store.h"

static char store[64];
static struct warder_workspace *job;
static struct warder_error err;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void set_up(void)
{
	strcpy(store, "/tmp/warder-workspaces-XXXXXX");
	cr_assert(mkdtemp(store));
	cr_assert_eq(warder_workspace_open(store, "job", &job, &err), 0, "%s", err.text);
}

static void tear_down(void)
{
	warder_workspace_free(job);
	nftw(store, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(workspaces, .init = set_up, .fini = tear_down, .timeout = 60);

static bool refused(int status, enum warder_error_kind kind, const char *says)
{
	return status == -1 && err.code == kind && strstr(err.text, says);
}

static const char *path_of(const char *path)
{
	static char joined[5000];

	snprintf(joined, sizeof(joined), "%s/%s", warder_workspace_path(job), path);
	return joined;
}

Test(workspaces, knows_an_id_again)
{
	struct warder_workspace *again = NULL, *empty = NULL, *anon = NULL, *made = NULL;

	cr_assert_eq(warder_workspace_open(store, "job", &again, &err), 0);
	cr_expect_str_eq(warder_workspace_path(again), warder_workspace_path(job));
	cr_assert_eq(warder_workspace_open(store, "", &empty, &err), 0);
	cr_assert_eq(warder_workspace_open(store, "anon", &anon, &err), 0);
	cr_expect_str_eq(warder_workspace_path(empty), warder_workspace_path(anon));
	cr_assert_eq(warder_workspace_open(store, NULL, &made, &err), 0);
	cr_expect_eq(strncmp(warder_workspace_id(made), "ws-", 3), 0);
	warder_workspace_free(again);
	warder_workspace_free(empty);
	warder_workspace_free(anon);
	warder_workspace_free(made);
	warder_workspace_free(NULL);
}

Test(workspaces, puts_and_reads)
{
	static const char bytes[] = "a\0b";
	char *got = NULL;
	size_t len = 0;
	struct stat st;

	umask(077);
	cr_assert_eq(warder_workspace_put(job, "x/./y/../b", 0, bytes, 3, &err), 0, "%s", err.text);
	cr_assert_eq(warder_workspace_read(job, "x/b", 3, &got, &len, &err), 0, "%s", err.text);
	cr_expect(len == 3 && memcmp(got, bytes, 4) == 0);
	free(got);
	cr_assert_eq(stat(path_of("x/b"), &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0644);
	cr_assert_eq(stat(path_of("x"), &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0755);
	cr_assert_eq(warder_workspace_put(job, "x/b", 04755, NULL, 0, &err), 0);
	cr_assert_eq(stat(path_of("x/b"), &st), 0);
	cr_expect(st.st_mode == (S_IFREG | 0755) && st.st_size == 0);
	cr_assert_eq(warder_workspace_put(job, "x/b", 0, bytes, 3, &err), 0);
	cr_expect(refused(warder_workspace_read(job, "x/b", 2, &got, &len, &err),
			  WARDER_ERROR_INVALID_REQUEST, "has 3 bytes; at most 2"));
	cr_expect(refused(warder_workspace_read(job, "x/c", 2, &got, &len, &err), WARDER_ERROR_NOT_FOUND,
			  "cannot open"));
	cr_assert_eq(mkfifo(path_of("p"), 0600), 0);
	cr_expect(refused(warder_workspace_read(job, "p", 2, &got, &len, &err), WARDER_ERROR_INVALID_REQUEST,
			  "not a regular file"));
}

Test(workspaces, paths_stay_inside)
{
	static const struct {
		const char *path;
		enum warder_error_kind kind;
	} rows[] = {
		{ "", WARDER_ERROR_INVALID_REQUEST },
		{ " ", WARDER_ERROR_INVALID_REQUEST },
		{ ".", WARDER_ERROR_INVALID_REQUEST },
		{ "..", WARDER_ERROR_INVALID_REQUEST },
		{ "a/b/../../../x", WARDER_ERROR_INVALID_REQUEST },
		{ "/etc/passwd", WARDER_ERROR_INVALID_REQUEST },
		{ "\\Windows", WARDER_ERROR_INVALID_REQUEST },
		{ "C:\\x", WARDER_ERROR_INVALID_REQUEST },
		{ "out/evil/x", WARDER_ERROR_REJECTED },
		{ "up/x", WARDER_ERROR_REJECTED },
	};

	cr_assert_eq(symlink("/tmp", path_of("out/evil")), 0);
	cr_assert_eq(symlink("../..", path_of("up")), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *got;
		size_t len;

		cr_expect(refused(warder_workspace_put(job, rows[i].path, 0, "x", 1, &err), rows[i].kind, ""),
			  "put %s: %s", rows[i].path, err.text);
		cr_expect(
		    refused(warder_workspace_read(job, rows[i].path, 1, &got, &len, &err), rows[i].kind, ""),
		    "read %s: %s", rows[i].path, err.text);
	}
}

Test(workspaces, records_inputs_and_pins_versions)
{
	struct warder_workspace_input input = { .size = sizeof(input),
						.from = "artifact://data.csv",
						.pin = 1 };
	char *got = NULL;
	uint64_t version;
	size_t len;

	cr_assert_eq(warder_artifact_save(store, "data.csv", NULL, "one", 3, &version, &err), 0, "%s",
		     err.text);
	cr_assert_eq(warder_workspace_stage(job, &input, &err), 0, "%s", err.text);
	cr_assert_eq(warder_artifact_save(store, "data.csv", NULL, "two", 3, &version, &err), 0);
	cr_expect_eq(version, 2);
	cr_assert_eq(warder_workspace_stage(job, &input, &err), 0);
	cr_assert_eq(warder_workspace_read(job, "work/inputs/data.csv", 10, &got, &len, &err), 0);
	cr_expect_str_eq(got, "one");
	free(got);
	input.pin = 0;
	cr_assert_eq(warder_workspace_stage(job, &input, &err), 0);
	cr_assert_eq(warder_workspace_read(job, "work/inputs/data.csv", 10, &got, &len, &err), 0);
	cr_expect_str_eq(got, "two");
	free(got);
	cr_assert_eq(warder_workspace_read(job, "metadata.json", 100000, &got, &len, &err), 0);
	cr_expect(strstr(got, "\"resolved\": \"artifact://data.csv@2\"") && strstr(got, "\"version\": 2"));
	free(got);
	input.size = 1;
	cr_expect(
	    refused(warder_workspace_stage(job, &input, &err), WARDER_ERROR_INVALID_REQUEST, "wrong call"));
}

Test(workspaces, are_shown_by_a_policy)
{
	struct warder_workspace_input input = { .size = sizeof(input),
						.from = "host:///etc/passwd",
						.read_only = 1 };
	struct warder_policy *policy = NULL;
	char *text;

	cr_assert_eq(warder_policy_preset("agent", &policy, &err), 0);
	cr_assert_eq(warder_policy_set(policy, "environment.set.WORK_DIR", "mine", &err), 0);
	cr_assert_eq(warder_workspace_stage(job, &input, &err), 0, "%s", err.text);
	cr_assert_eq(warder_workspace_policy(job, "work/new", policy, &err), 0, "%s", err.text);
	text = warder_policy_json(policy);
	cr_expect(strstr(text, "/files\"") && strstr(text, ":/workspace/work/inputs/passwd\""), "%s", text);
	cr_expect(strstr(text, "\"WORK_DIR\": \"mine\"") &&
		  strstr(text, "\"OUTPUT_DIR\": \"/workspace/out\""));
	cr_expect(strstr(text, "\"RUN_DIR\": \"/workspace/runs/run_"));
	cr_expect(strstr(text, "\"workingDirectory\": \"/workspace/work/new\""));
	cr_expect_eq(access(path_of("work/new"), F_OK), 0);
	free(text);
	cr_expect(refused(warder_workspace_policy(job, "../x", policy, &err), WARDER_ERROR_INVALID_REQUEST,
			  "path traversal"));
	warder_policy_free(policy);
}

Test(workspaces, collect_what_cannot_be_read_is_told)
{
	static const char *const patterns[] = { "out/*", "", "  ", "out/a" };
	struct warder_workspace_outputs what = { .size = sizeof(what),
						 .patterns = patterns,
						 .pattern_count = ARRAY_LENGTH(patterns) };
	char *json = NULL;

	cr_assert_eq(warder_workspace_put(job, "out/a", 0, "a", 1, &err), 0);
	cr_assert_eq(warder_workspace_put(job, "out/b", 0, "b", 1, &err), 0);
	/* Root reads everything, whatever the mode. */
	cr_assert_eq(chmod(path_of("out/a"), geteuid() ? 0 : 0644), 0);
	cr_assert_eq(warder_workspace_collect(job, &what, &json, &err), 0, "%s", err.text);
	cr_expect(
	    strstr(json, geteuid()
			     ? "\"path\":\"out/a\",\"size\":0,\"contentType\":\"application/octet-stream\","
			       "\"truncated\":false,\"error\":\"it cannot be read\""
			     : "\"path\":\"out/a\",\"size\":1"),
	    "%s", json);
	cr_expect(strstr(json, "\"content\":\"b\""));
	free(json);
	what.name_template = "x/";
	cr_expect(refused(warder_workspace_collect(job, &what, &json, &err), WARDER_ERROR_INVALID_REQUEST,
			  "no store of artifacts"));
}

Test(workspaces, snapshots_want_it_alone)
{
	char id[WARDER_SNAPSHOT_ID];
	struct warder_workspace *other = NULL;

	cr_expect(
	    refused(warder_snapshot_make(store, "job", 0, 0, id, &err), WARDER_ERROR_CONFLICT, "in use"));
	cr_expect(refused(warder_workspace_remove(store, "job", 0, &err), WARDER_ERROR_CONFLICT, "in use"));
	warder_workspace_free(job);
	job = NULL;
	cr_assert_eq(warder_snapshot_make(store, "job", 0, 0, id, &err), 0, "%s", err.text);
	cr_expect_eq(warder_snapshot_verify(store, id, &err), 0, "%s", err.text);
	cr_assert_eq(warder_snapshot_resume(store, id, NULL, &other, &err), 0, "%s", err.text);
	cr_expect_str_neq(warder_workspace_id(other), "job");
	warder_workspace_free(other);
	cr_expect_eq(warder_snapshot_remove(store, id, &err), 0);
	cr_expect(refused(warder_snapshot_verify(store, id, &err), WARDER_ERROR_NOT_FOUND, "no snapshot"));
	cr_expect(refused(warder_snapshot_verify(store, "../x", &err), WARDER_ERROR_INVALID_REQUEST,
			  "not the id of a snapshot"));
	cr_expect_eq(warder_workspace_remove(store, "job", 0, &err), 0);
	cr_expect_eq(warder_workspace_remove(store, "job", 0, &err), 0);
}

Test(workspaces, globs)
{
	static const struct {
		const char *glob, *expected;
	} rows[] = {
		{ "$WORKSPACE_DIR/a", "a" },
		{ "${WORKSPACE_DIR}", "" },
		{ "$SKILLS_DIR/**", "skills/**" },
		{ "${WORK_DIR}/x y", "work/x y" },
		{ " $OUTPUT_DIR/*.csv ", "out/*.csv" },
		{ "$OUTPUT_DIRX/a", "$OUTPUT_DIRX/a" },
		{ "./a", "a" },
		{ "/workspace/out/a", "out/a" },
		{ "  ", "" },
	};
	char buf[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_str_eq(workspace_glob(rows[i].glob, buf), rows[i].expected, "%s", rows[i].glob);
}

Test(workspaces, prefixes_of_a_patch_are_known)
{
	static const struct {
		const char *patch;
		int strip;
	} rows[] = {
		{ "diff --git a/x b/x\n", 1 },
		{ "diff --git a/a b b/a b\n", 1 },
		{ "diff --git \"a/q\\\"\" \"b/q\\\"\"\n", 1 },
		{ "diff --git i/x w/x\n", 1 },
		{ "diff --git x x\n", 0 },
		{ "diff --git dir/x dir/x\n", 0 },
		{ "diff --git a/x a/x\n", -1 },
		{ "diff --git a/x c/x\n", -1 },
		{ "diff --git xa/x b/x\n", -1 },
		{ "diff --git a/x by/x\n", -1 },
		{ "diff --git xa/x xb/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n", -1 },
		{ "diff --git a/x b/x\n--- a/x\n+++ x\n@@ -1 +1 @@\n", -1 },
		{ "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- x\n+++ x\n", 1 },
		{ "diff --git a/x b/x\nold mode 100644\ndiff --git x x\n", 1 },
		{ "diff -git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n", 1 },
		{ "@@ words\ndiff --git x x\n", 0 },
		{ "--- /dev/null\n+++ z/x\n", -1 },
		{ "--- /dev/null\n+++ dir/x\n", 0 },
		{ "--- a/x\n+++ b/x\n", 1 },
		{ "--- /dev/null\n+++ b/x\n", 1 },
		{ "--- a/x\n+++ /dev/null\n", 1 },
		{ "--- x\n+++ x\n", 0 },
		{ "text\n--- x\ntext\n--- a/x\n+++ b/x\n", 1 },
		{ "", 1 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_eq(patch_strip(rows[i].patch, strlen(rows[i].patch)), rows[i].strip, "%s",
			     rows[i].patch);
}

Test(workspaces, pairs_of_a_patch_are_read_from_headers_only)
{
	static const char patch[] = "rename from not\nrename to this\n"
				    "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"
				    "diff --git \"a/q\\303\\274\" b/z\ncopy from \"q\\303\\274\"\ncopy to z\n"
				    "--- a/q\n+++ b/z\n@@ -1 +1 @@\nrename from no\nrename to none\n";
	struct patch_pairs pairs;

	cr_assert_eq(patch_read_pairs(patch, strlen(patch), 1, &pairs, &err), 0, "%s", err.text);
	cr_assert_eq(pairs.count, 2);
	cr_expect_str_eq(pairs.items[0].from, "x");
	cr_expect_str_eq(pairs.items[0].to, "y");
	cr_expect(!pairs.items[0].is_copy && pairs.items[1].is_copy);
	cr_expect_str_eq(pairs.items[1].from, "q\303\274");
	cr_expect_str_eq(pairs.items[1].to, "z");
	patch_pairs_done(&pairs);
}

Test(workspaces, what_git_says_of_a_patch_is_read)
{
	static const char text[] = "Checking patch a...\nHunk #2 succeeded at 12 (offset -3 lines).\n"
				   "Checking patch \"t\\tb\"...\nHunk #1 succeeded at 2 (offset 1 line).\n"
				   "warning: b has type 100755, expected 100644\n"
				   "Checking patch x => y...\n"
				   "error: patch failed: x:1\nerror: x: patch does not apply\n";
	struct patch_said said;

	cr_assert_eq(patch_read_said(text, strlen(text), &said, &err), 0, "%s", err.text);
	cr_assert(said.name_count == 3 && said.hunk_count == 2 && said.warning_count == 1);
	cr_expect_str_eq(said.names[1], "t\tb");
	cr_expect_str_eq(said.names[2], "x => y");
	cr_expect(said.hunks[0].number == 2 && said.hunks[0].line == 12 && said.hunks[0].offset == -3);
	cr_expect_str_eq(said.hunks[1].name, "t\tb");
	cr_expect_str_eq(said.warnings[0], "b has type 100755, expected 100644");
	cr_expect_str_eq(said.fault, "patch failed: x:1; x: patch does not apply");
	patch_said_done(&said);
}

Test(workspaces, artifacts_are_read_as_they_were_saved)
{
	char *got = NULL;
	uint64_t version;
	size_t len;

	cr_assert_eq(warder_artifact_save(store, "a/b", NULL, "x\0y", 3, &version, &err), 0, "%s", err.text);
	cr_expect_eq(version, 1);
	cr_assert_eq(warder_artifact_read(store, "a/b@1", 3, &got, &len, &err), 0, "%s", err.text);
	cr_expect(len == 3 && memcmp(got, "x\0y", 3) == 0);
	free(got);
	cr_expect(refused(warder_artifact_read(store, "a/b", 2, &got, &len, &err),
			  WARDER_ERROR_INVALID_REQUEST, "at most 2"));
	cr_expect_eq(warder_artifact_remove(store, "a/b", &err), 0);
	cr_expect(refused(warder_artifact_read(store, "a/b", 9, &got, &len, &err), WARDER_ERROR_NOT_FOUND,
			  "no artifact"));
}

#define LINE "{\"type\":\"directory\",\"path\":\"files/a\",\"mode\":493,\"seconds\":1,\"nanoseconds\":2"

Test(manifest, an_owner_and_attributes_may_be_there, .timeout = 30)
{
	static const struct row {
		const char *rest;
		bool good, owned;
		size_t attributes;
	} rows[] = {
		{ "}", true, false, 0 },
		{ ",\"uid\":5,\"gid\":6}", true, true, 0 },
		{ ",\"uid\":5,\"gid\":6,\"attributes\":{\"user.x\":\"MQ==\",\"user.y\":\"\"}}", true, true,
		  2 },
		{ ",\"uid\":5}", false, false, 0 },
		{ ",\"uid\":-1,\"gid\":6}", false, false, 0 },
		{ ",\"uid\":4294967295,\"gid\":6}", false, false, 0 },
		{ ",\"attributes\":{\"trusted.x\":\"MQ==\"}}", false, false, 0 },
		{ ",\"attributes\":{\"security.capability\":\"MQ==\"}}", false, false, 0 },
		{ ",\"attributes\":{\"user.x\":1}}", false, false, 0 },
		{ ",\"attributes\":{\"user.x\":\"?\"}}", false, false, 0 },
		{ ",\"attributes\":[]}", false, false, 0 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct manifest_entry entry = { 0 };
		struct json_value *object = NULL;
		char line[512];

		snprintf(line, sizeof(line), LINE "%s", rows[i].rest);
		cr_assert_eq(json_parse(line, strlen(line), "line", NULL, &object, &err), 0, "%s", line);
		cr_expect_eq(manifest_entry_decode(object, &entry, &err) == 0, rows[i].good, "%s",
			     rows[i].rest);
		json_free(object);
		cr_expect_eq(entry.owned, rows[i].owned, "%s", rows[i].rest);
		cr_expect_eq(entry.attribute_count, rows[i].attributes, "%s", rows[i].rest);
		manifest_entry_done(&entry);
	}
}
