/* store/workspaces, artifacts and snapshots through the library: what the commands' transcripts do not show. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/snapshots/manifest.h"
#include "store/workspaces/patch_text.h"
#include "store/workspaces/workspaces.h"
#include "store/warder-store.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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
			  "no regular file"));
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
	for (size_t i = 0; i < COUNT(rows); i++) {
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
						 .pattern_count = COUNT(patterns) };
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
			  "no snapshot's id"));
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

	for (size_t i = 0; i < COUNT(rows); i++)
		cr_expect_str_eq(workspace_glob(rows[i].glob, buf), rows[i].expected, "%s", rows[i].glob);
}

Test(workspaces, patches_are_exact)
{
	static const struct {
		const char *old, *patch, *expected; /* expected NULL: refused */
	} rows[] = {
		{ "a\n", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n", "b\n" },
		{ "a", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n", NULL },
		{ "a", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "b\n" },
		{ "a\n", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "b" },
		{ "a\nb\n", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+x\n\\ No newline at end of file\n", NULL },
		{ "a\nb\nc\n", "--- f\n+++ f\n@@ -1,0 +2 @@\n+x\n@@ -3 +4 @@\n-c\n+d\n", "a\nx\nb\nd\n" },
		{ "a\nb\nc\n", "--- f\n+++ f\n@@ -3 +3 @@\n-c\n+d\n@@ -1 +1 @@\n-a\n+x\n", NULL },
		{ "a\r\n", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n", NULL },
		{ "", "--- f\n+++ f\n@@ -0,0 +1 @@\n+x\n", "x\n" },
		{ "a\n", "--- f\n+++ f\n@@ -5 +5 @@\n-a\n+b\n", NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct patch patch;
		char *new = NULL;
		size_t len;
		int status;

		cr_assert_eq(patch_parse(rows[i].patch, strlen(rows[i].patch), 0, &patch, &err), 0,
			     "row %zu: %s", i, err.text);
		status =
		    patch_apply(&patch, &patch.files[0], rows[i].old, strlen(rows[i].old), &new, &len, &err);
		cr_expect(rows[i].expected ? status == 0 && strcmp(new, rows[i].expected) == 0
					   : status == -1 && err.code == WARDER_ERROR_CONFLICT,
			  "row %zu: %d %s", i, status, status ? err.text : new);
		free(new);
		patch_done(&patch);
	}
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

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct manifest_entry entry = { 0 };
		char line[512];

		snprintf(line, sizeof(line), LINE "%s", rows[i].rest);
		cr_expect_eq(manifest_entry_parse(line, strlen(line), &entry, &err) == 0, rows[i].good, "%s",
			     rows[i].rest);
		cr_expect_eq(entry.owned, rows[i].owned, "%s", rows[i].rest);
		cr_expect_eq(entry.attribute_count, rows[i].attributes, "%s", rows[i].rest);
		manifest_entry_done(&entry);
	}
}
