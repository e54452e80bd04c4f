/*
 * drive: a workspace from its manifest to its end, on the command line.
 *
 * The driver provisions a workspace, starts a session in it, runs the program, ends the session, stores a snapshot if it was asked to, and
 * removes the workspace unless it is to stay. What was begun is ended whatever fails on the way. The first error in the order provision, start,
 * execution, snapshot, stop is the driver's; later ones are its cleanupErrors. (The session ends before the snapshot, so that nothing writes
 * meanwhile.)
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/places.h"
#include "runtime/cli/term.h"
#include "store/artifacts/artifacts.h"
#include "store/cli/command.h"
#include "store/cli/drive.h"
#include "store/snapshots/snapshots.h"
#include "store/warder-store.h"
#include "store/workspaces/manifest.h"

#define LOOK_US UINT64_C(200000)

enum step { STEP_PROVISION, STEP_START, STEP_EXECUTION, STEP_SNAPSHOT, STEP_STOP, STEPS };

static const struct {
	const char *name, *component, *code;
} steps[STEPS] = {
	[STEP_PROVISION] = { "provision", "workspace", "provisionFailed" },
	[STEP_START] = { "start", "session", "startFailed" },
	[STEP_EXECUTION] = { "execution", "program", "executionFailed" },
	[STEP_SNAPSHOT] = { "snapshot", "workspace", "snapshotFailed" },
	[STEP_STOP] = { "stop", "session", "stopFailed" },
};

struct drive {
	const struct options *options;
	struct manifest manifest;
	struct workspaces workspaces;
	struct artifacts artifacts;
	struct workspace workspace;
	char id[WORKSPACE_ID_MAX], session_name[80];
	struct warder_policy *policy, *ceiling;
	struct warder_workspace *shown;
	struct warder_session *session;
	struct warder_result *result;
	struct snapshot snapshot;
	bool has_snapshot;
	bool failed[STEPS];
	struct warder_error errors[STEPS];
};

/* Notes the error of a step. Returns whether it succeeded. */
static bool note(struct drive *drive, enum step which, int status)
{
	drive->failed[which] |= status != 0;
	return status == 0;
}

int drive_find_warder(char *buf, struct warder_error *err)
{
	static const char *const places[] = { "", "../../bin/" };
	char self[PATH_MAX], path[PATH_MAX + 32];
	const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "warder", errno, "/proc/self/exe");
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		snprintf(path, sizeof(path), "%s/%swarder", self, places[i]);
		if (realpath(path, buf) && access(buf, X_OK) == 0)
			return 0;
	}
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "warder", "is not installed: looked in %.200s", self);
}

/* ---- provision ---- */

static int read_manifest(struct drive *drive, struct warder_error *err)
{
	char *text = NULL;
	size_t len;
	int status;

	if (file_read_most(drive->options->operands[0], MANIFEST_BYTES_MAX, &text, &len, err) != 0)
		return -1;
	status = manifest_parse(text, len, drive->options->operands[0], &drive->manifest, err);
	free(text);
	return status;
}

static int provision(struct drive *drive, struct warder_error *err)
{
	const char *store = option(drive->options, "--store");

	if (workspaces_open(store, &drive->workspaces, err) != 0 ||
	    artifacts_open(store, &drive->artifacts, err) != 0 ||
	    manifest_provision(&drive->manifest, &drive->workspaces, &drive->artifacts, &drive->workspace,
			       err) != 0)
		return -1;
	snprintf(drive->id, sizeof(drive->id), "%s", drive->workspace.id);
	return 0;
}

/* ---- start ---- */

static int load_policy(struct drive *drive, struct warder_error *err)
{
	const struct json_value *asked = drive->manifest.policy;
	char *text;
	int status;

	if (!asked || asked->type == JSON_STRING)
		return warder_policy_preset(asked ? asked->string : MANIFEST_PRESET, &drive->policy, err);
	text = json_text(asked);
	if (!text)
		return error_no_memory(err, NULL);
	status = warder_policy_parse(text, strlen(text), "policy", &drive->policy, err);
	free(text);
	return status;
}

/* Whether the policy's network leads anywhere. */
static bool reaches_out(const struct warder_policy *policy)
{
	char *text = warder_policy_json(policy);
	struct json_value *document = NULL;
	struct warder_error ignored;
	const char *mode = "none";
	bool reaches;

	if (text && json_parse(text, strlen(text), "policy", NULL, &document, &ignored) == 0 &&
	    json_member(document, "network"))
		mode = json_member_text(json_member(document, "network"), "mode", mode);
	reaches = strcmp(mode, "none") != 0 && strcmp(mode, "loopback") != 0;
	json_free(document);
	free(text);
	return reaches;
}

/* Python finds the installed packages first, and then those of the policy's own path. */
static int add_python_path(struct warder_policy *policy, struct warder_error *err)
{
	static const char *const path[] = { "environment", "set" };
	char *text = warder_policy_json(policy), *value = NULL;
	struct json_value *document = NULL;
	const struct json_value *variables;
	const char *before;
	int status = text ? json_parse(text, strlen(text), "policy", NULL, &document, err)
			  : error_no_memory(err, NULL);

	variables = document;
	for (size_t i = 0; i < ARRAY_LENGTH(path) && variables; i++)
		variables = json_member(variables, path[i]);
	before = variables ? json_member_text(variables, "PYTHONPATH", "") : "";
	if (status == 0 && asprintf(&value, "%s%s%s", MANIFEST_PYTHON, *before ? ":" : "", before) < 0) {
		value = NULL;
		status = error_no_memory(err, NULL);
	}
	if (status == 0)
		status = warder_policy_set(policy, "environment.set.PYTHONPATH", value, err);
	json_free(document);
	free(value);
	free(text);
	return status;
}

/* Packages need a way to their index, and Python has to find them. */
static int add_packages(struct drive *drive, struct warder_error *err)
{
	const struct manifest *manifest = &drive->manifest;

	if (manifest->fetched && !reaches_out(drive->policy))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "packages",
		    "the package %.100s is fetched from an index, and the manifest's policy has no "
		    "network; allow the index, such as \"network\": {\"mode\": \"allow\", \"allow\": "
		    "[{\"host\": \"@pypi\"}]}, or put the file into the workspace and name it \"./FILE\"",
		    manifest->fetched);
	return manifest->python ? add_python_path(drive->policy, err) : 0;
}

/* The operator's, if there is one. */
static int load_ceiling(struct drive *drive, struct warder_error *err)
{
	char *text = NULL;
	size_t len;
	int status;

	if (access(CEILING_PATH, F_OK) != 0)
		return 0;
	if (file_read(CEILING_PATH, &text, &len, err) != 0)
		return -1;
	status = warder_policy_parse(text, len, CEILING_PATH, &drive->ceiling, err);
	free(text);
	return status;
}

static int start(struct drive *drive, struct warder_error *err)
{
	const char *store = option(drive->options, "--store");
	char warder[PATH_MAX];
	struct warder_session_options how = { .size = sizeof(how),
					      .setup = drive->manifest.setup,
					      .setup_count = drive->manifest.setup_count,
					      .lifetime_us = drive->manifest.timeout_us,
					      .program = warder };

	store_new_name("drive-", drive->session_name);
	if (drive_find_warder(warder, err) != 0 || load_policy(drive, err) != 0 ||
	    add_packages(drive, err) != 0 || load_ceiling(drive, err) != 0 ||
	    warder_workspace_open(store, drive->id, &drive->shown, err) != 0 ||
	    warder_workspace_policy(drive->shown, NULL, drive->policy, err) != 0)
		return -1;
	how.policy = drive->policy;
	how.ceiling = drive->ceiling;
	return warder_session_start(drive->session_name, &how, &drive->session, err);
}

/* ---- execution ---- */

static int wait_for(struct warder_run *run, struct warder_result **ret, struct warder_error *err)
{
	int got;

	while ((got = warder_wait_for(run, LOOK_US, ret, err)) == 0)
		if (ending_signal())
			warder_cancel(run);
	return got > 0 ? 0 : -1;
}

static int execute(struct drive *drive, struct warder_error *err)
{
	static const int output_fds[] = { STDOUT_FILENO, STDERR_FILENO };
	const bool json = option_given(drive->options, "--json");
	const struct warder_command command = { .size = sizeof(command),
						.argv = drive->options->program,
						.output_fds = json ? NULL : output_fds,
						.should_stop = ending_came };
	struct warder_template *tmpl = NULL;
	struct warder_run *run = NULL;
	int status;

	if (ending_signal())
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "a signal came before the program began");
	status = warder_session_prepare(drive->session, NULL, 0, &tmpl, err);
	if (status == 0)
		status = warder_launch(tmpl, &command, &run, err);
	if (status == 0)
		status = wait_for(run, &drive->result, err);
	warder_run_free(run);
	warder_template_free(tmpl);
	return status;
}

/* ---- the end ---- */

static int take_snapshot(struct drive *drive, struct warder_error *err)
{
	struct snapshots snapshots = SNAPSHOTS_NONE;
	struct workspace alone = WORKSPACE_UNOPENED;
	int status = snapshots_open(option(drive->options, "--store"), &snapshots, err);

	if (status == 0)
		status = workspace_open(&drive->workspaces, drive->id, WORKSPACE_ALONE, false, &alone, err);
	if (status == 0)
		status = snapshots_make(&snapshots, &alone, 0, &drive->snapshot, err);
	drive->has_snapshot = status == 0;
	workspace_done(&alone);
	snapshots_done(&snapshots);
	return status;
}

/* The locks of this process on the workspace. */
static void let_go(struct drive *drive)
{
	warder_workspace_free(drive->shown);
	drive->shown = NULL;
	workspace_done(&drive->workspace);
	drive->workspace = WORKSPACE_UNOPENED;
}

static int stop(struct drive *drive, struct warder_error *err)
{
	const int status = warder_session_stop(drive->session_name, err);

	return status != 0 && err->code == WARDER_ERROR_NOT_FOUND ? 0 : status; /* its time was over */
}

static int remove_workspace(struct drive *drive, struct warder_error *err)
{
	return workspace_remove(&drive->workspaces, drive->id, false, err) < 0 ? -1 : 0;
}

static void run_steps(struct drive *drive)
{
	struct warder_error *errors = drive->errors;

	if (!note(drive, STEP_PROVISION, provision(drive, &errors[STEP_PROVISION])))
		return;
	if (note(drive, STEP_START, start(drive, &errors[STEP_START]))) {
		note(drive, STEP_EXECUTION, execute(drive, &errors[STEP_EXECUTION]));
		note(drive, STEP_STOP, stop(drive, &errors[STEP_STOP]));
	}
	let_go(drive);
	if (option_given(drive->options, "--snapshot") && !drive->failed[STEP_START])
		note(drive, STEP_SNAPSHOT, take_snapshot(drive, &errors[STEP_SNAPSHOT]));
	/* What could not be stored stays, to be stored again. */
	if (!option_given(drive->options, "--keep-workspace") && !drive->failed[STEP_SNAPSHOT] &&
	    !drive->failed[STEP_STOP])
		note(drive, STEP_STOP, remove_workspace(drive, &errors[STEP_STOP]));
}

/* ---- the report ---- */

static void write_error(const struct drive *drive, enum step which, struct json_writer *w)
{
	json_begin_object(w);
	json_key_string(w, "stage", steps[which].name);
	json_key_string(w, "component", steps[which].component);
	json_key_string(w, "category", warder_error_kind_name(drive->errors[which].code));
	json_key_string(w, "code", steps[which].code);
	json_key_string(w, "message", drive->errors[which].text);
	json_end_object(w);
}

/* STEPS if no step failed. A program that fails is reported separately. */
static enum step first_error(const struct drive *drive)
{
	for (int i = 0; i < STEPS; i++)
		if (drive->failed[i])
			return (enum step)i;
	return STEPS;
}

static bool program_failed(const struct drive *drive)
{
	return drive->result && strcmp(warder_result_status(drive->result), "success") != 0;
}

static int print_json(const struct drive *drive, struct warder_error *err)
{
	const enum step first = program_failed(drive) ? STEPS : first_error(drive);
	char *result = drive->result ? warder_result_json(drive->result) : NULL;
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "workspace", drive->id[0] ? drive->id : NULL);
	json_key_bool(&w, "kept",
		      drive->id[0] && (drive->failed[STEP_STOP] || drive->failed[STEP_SNAPSHOT] ||
				       option_given(drive->options, "--keep-workspace")));
	json_key_string(&w, "snapshot", drive->has_snapshot ? drive->snapshot.id : NULL);
	json_key(&w, "error");
	if (first < STEPS)
		write_error(drive, first, &w);
	else
		json_null(&w);
	json_key(&w, "cleanupErrors");
	json_begin_array(&w);
	for (int i = 0; i < STEPS; i++)
		if (drive->failed[i] && (enum step)i != first)
			write_error(drive, (enum step)i, &w);
	json_end_array(&w);
	json_key(&w, "result");
	if (result)
		json_number(&w, result);
	else
		json_null(&w);
	json_end_object(&w);
	free(result);
	return term_put(json_take(&w), err);
}

static void print_text(const struct drive *drive)
{
	for (int i = 0; i < STEPS; i++)
		if (drive->failed[i])
			term_complain("%s: %s", steps[i].name, drive->errors[i].text);
	if (drive->result && program_failed(drive) && warder_result_exit_code(drive->result) < 0)
		term_complain("the program ended: %s", warder_result_cause(drive->result));
	if (drive->has_snapshot)
		puts(drive->snapshot.id);
	if (drive->id[0] && option_given(drive->options, "--keep-workspace"))
		puts(drive->id);
}

/* The program's, as of `warder run`; 125: something else failed. */
static int exit_status(const struct drive *drive)
{
	const int code = drive->result ? warder_result_exit_code(drive->result) : -1;

	if (ending_signal())
		return 128 + ending_signal();
	if (!program_failed(drive))
		return first_error(drive) < STEPS ? EXIT_REFUSED : 0;
	if (code > 0)
		return code;
	return strcmp(warder_result_status(drive->result), "timeout") == 0 ? 124
	       : warder_result_signal(drive->result) > 0 ? 128 + warder_result_signal(drive->result)
							 : 137;
}

int drive_command(const struct options *options, struct warder_error *err)
{
	static struct drive drive;
	int status;

	if (!options->program || !options->program[0])
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "drive",
		    "the program is missing; write \"warder workspace drive [FLAG...] MANIFEST -- "
		    "PROGRAM [ARGUMENT...]\"");
	drive.options = options;
	drive.workspaces = WORKSPACES_NONE;
	drive.artifacts = ARTIFACTS_NONE;
	drive.workspace = WORKSPACE_UNOPENED;
	if (read_manifest(&drive, err) != 0)
		return -1;
	ending_catch(NULL);
	run_steps(&drive);
	status = exit_status(&drive);
	if (!option_given(options, "--json"))
		print_text(&drive);
	else if (print_json(&drive, err) != 0)
		status = -1;
	let_go(&drive);
	warder_session_free(drive.session);
	warder_result_free(drive.result);
	warder_policy_free(drive.policy);
	warder_policy_free(drive.ceiling);
	artifacts_done(&drive.artifacts);
	workspaces_done(&drive.workspaces);
	manifest_done(&drive.manifest);
	return status;
}

/* ---- provision alone ---- */

int provision_command(const struct options *options, struct warder_error *err)
{
	struct drive drive = { .options = options,
			       .workspaces = WORKSPACES_NONE,
			       .artifacts = ARTIFACTS_NONE,
			       .workspace = WORKSPACE_UNOPENED };
	struct json_writer w = { 0 };
	int status = read_manifest(&drive, err);

	if (status == 0)
		status = provision(&drive, err);
	if (status == 0 && option_given(options, "--json")) {
		json_begin_object(&w);
		json_key_string(&w, "id", drive.workspace.id);
		json_key_string(&w, "path", drive.workspace.path);
		json_end_object(&w);
		status = term_put(json_take(&w), err);
	} else if (status == 0) {
		printf("%s %s\n", drive.workspace.id, drive.workspace.path);
	}
	workspace_done(&drive.workspace);
	artifacts_done(&drive.artifacts);
	workspaces_done(&drive.workspaces);
	manifest_done(&drive.manifest);
	return status;
}
