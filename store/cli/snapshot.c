/*
 * snapshot: workspaces as they were, on the command line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "policy/policy.h"
#include "runtime/cli/term.h"
#include "store/cli/command.h"
#include "store/cli/progress.h"
#include "store/cli/show.h"
#include "store/snapshots/snapshots.h"

static struct progress shown;
static uint64_t done_bytes;

static void show_bytes(void *context, uint64_t len)
{
	(void)context;
	done_bytes += len;
	progress_show(&shown, done_bytes, 0);
}

static int open_both(const struct options *options, const char *what, struct snapshots *snapshots,
		     struct workspaces *workspaces, struct warder_error *err)
{
	if (snapshots_open(option(options, "--store"), snapshots, err) != 0)
		return -1;
	shown.what = what;
	snapshots->on_bytes = show_bytes;
	return workspaces ? workspaces_open(option(options, "--store"), workspaces, err) : 0;
}

static int retention(const struct options *options, uint64_t *ret_keep, uint64_t *ret_age_s,
		     struct warder_error *err)
{
	const char *age = option(options, "--keep-for");
	uint64_t age_us = 0;
	long long keep;

	if (option_number(options, "--keep", 1, 1000000, 0, &keep, err) != 0)
		return -1;
	if (age && policy_parse_time(age, &age_us, err) != 0)
		return error_context(err, "--keep-for");
	*ret_keep = (uint64_t)keep;
	*ret_age_s = age_us / 1000000;
	if (age && !*ret_age_s)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--keep-for",
				 "\"%.40s\" is less than a second", age);
	return 0;
}

static void write_snapshot(struct json_writer *w, const struct snapshot *snapshot)
{
	json_begin_object(w);
	json_key_string(w, "id", snapshot->id);
	json_key_string(w, "workspace", snapshot->workspace);
	json_key_string(w, "createdAt", snapshot->created);
	json_key_uint(w, "entries", snapshot->entries);
	json_key_uint(w, "bytes", snapshot->bytes);
	json_key_uint(w, "leftOut", snapshot->left_out);
	json_end_object(w);
}

/* For an execution host, which tells its client of everything. */
static int print_private(const struct snapshot *snapshot, struct warder_error *err)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "id", snapshot->id);
	json_key_uint(&w, "entries", snapshot->entries);
	json_key_uint(&w, "bytes", snapshot->bytes);
	json_key_uint(&w, "manifestBytes", snapshot->manifest_bytes);
	json_key_uint(&w, "leftOut", snapshot->left_out);
	json_key_uint(&w, "attributesLost", snapshot->attributes);
	json_end_object(&w);
	return term_put(json_take(&w), err);
}

static int print_made(const struct snapshot *snapshot, bool json, struct warder_error *err)
{
	struct json_writer w = { 0 };

	if (snapshot->attributes)
		term_complain("%" PRIu64 " lost extended attributes (user.*) that cannot be kept",
			      snapshot->attributes);
	if (snapshot->left_out)
		term_complain("%" PRIu64 " left out: sockets and devices are not kept", snapshot->left_out);
	if (json) {
		write_snapshot(&w, snapshot);
		return term_put(json_take(&w), err);
	}
	puts(snapshot->id);
	return 0;
}

static int make(const struct options *options, struct warder_error *err)
{
	struct snapshots snapshots = SNAPSHOTS_NONE;
	struct workspaces workspaces = WORKSPACES_NONE;
	struct workspace workspace = WORKSPACE_UNOPENED;
	const char *size = option(options, "--max-size");
	uint64_t keep, age_s, most = 0, removed;
	struct snapshot snapshot;
	int status = retention(options, &keep, &age_s, err);

	if (status == 0 && size && policy_parse_size(size, &most, err) != 0)
		status = error_context(err, "--max-size");
	if (status == 0)
		status = open_both(options, "snapshot", &snapshots, &workspaces, err);
	workspaces.is_private = option_given(options, FLAG_PRIVATE);
	if (status == 0)
		status = workspace_open(&workspaces, options->operands[0], WORKSPACE_ALONE,
					option_given(options, "--wait"), &workspace, err);
	if (status == 0)
		status = snapshots_make(&snapshots, &workspace, most, &snapshot, err);
	progress_end(&shown);
	if (status == 0 && (keep || age_s))
		status = snapshots_prune(&snapshots, snapshot.workspace, keep, age_s, &removed, err);
	if (status == 0)
		status = workspaces.is_private ? print_private(&snapshot, err)
					       : print_made(&snapshot, option_given(options, "--json"), err);
	workspace_done(&workspace);
	workspaces_done(&workspaces);
	snapshots_done(&snapshots);
	return status;
}

static int print_resumed(const struct workspace *workspace, bool json, struct warder_error *err)
{
	struct json_writer w = { 0 };

	if (!json) {
		printf("%s %s\n", workspace->id, workspace->path);
		return 0;
	}
	json_begin_object(&w);
	json_key_string(&w, "id", workspace->id);
	json_key_string(&w, "path", workspace->path);
	json_end_object(&w);
	return term_put(json_take(&w), err);
}

static int resume(const struct options *options, struct warder_error *err)
{
	struct snapshots snapshots = SNAPSHOTS_NONE;
	struct workspaces workspaces = WORKSPACES_NONE;
	struct workspace workspace = WORKSPACE_UNOPENED;
	int status = open_both(options, "resuming", &snapshots, &workspaces, err);

	if (status == 0)
		status = snapshots_resume(&snapshots, options->operands[0], &workspaces, options->operands[1],
					  &workspace, err);
	progress_end(&shown);
	if (status == 0)
		status = print_resumed(&workspace, option_given(options, "--json"), err);
	if (workspace.mended[0])
		term_complain("%s", workspace.mended);
	workspace_done(&workspace);
	workspaces_done(&workspaces);
	snapshots_done(&snapshots);
	return status;
}

static int print_snapshot(void *context, const struct snapshot *snapshot, struct warder_error *err)
{
	(void)err;
	if (context) {
		write_snapshot(context, snapshot);
		return 0;
	}
	printf("%s %s %8" PRIu64 " %14" PRIu64 " ", snapshot->id, snapshot->created, snapshot->entries,
	       snapshot->bytes);
	show_cell(snapshot->workspace, 0, 0);
	putchar('\n');
	return 0;
}

static int list(const struct options *options, struct warder_error *err)
{
	const bool json = option_given(options, "--json");
	struct snapshots snapshots = SNAPSHOTS_NONE;
	struct json_writer w = { 0 };
	int status = open_both(options, "", &snapshots, NULL, err);

	json_begin_array(&w);
	if (status == 0)
		status =
		    snapshots_each(&snapshots, options->operands[0], print_snapshot, json ? &w : NULL, err);
	json_end_array(&w);
	snapshots_done(&snapshots);
	if (status == 0 && json)
		return term_put(json_take(&w), err);
	json_writer_done(&w);
	return status;
}

struct verifying {
	struct snapshots *snapshots;
	size_t count;
};

static int verify_each(void *context, const struct snapshot *snapshot, struct warder_error *err)
{
	struct verifying *verifying = context;

	verifying->count++;
	return snapshots_verify(verifying->snapshots, snapshot->id, err) == 0
		   ? 0
		   : error_context(err, "%s", snapshot->id);
}

static int verify(const struct options *options, struct warder_error *err)
{
	struct snapshots snapshots = SNAPSHOTS_NONE;
	struct verifying verifying = { &snapshots, 0 };
	int status = open_both(options, "verifying", &snapshots, NULL, err);

	if (status == 0 && !options->operand_count)
		status = snapshots_each(&snapshots, NULL, verify_each, &verifying, err);
	for (size_t i = 0; i < options->operand_count && status == 0; i++, verifying.count++)
		status = snapshots_verify(&snapshots, options->operands[i], err);
	progress_end(&shown);
	if (status == 0)
		printf("%zu as they were made\n", verifying.count);
	snapshots_done(&snapshots);
	return status;
}

static int remove_some(const struct options *options, struct warder_error *err)
{
	struct snapshots snapshots = SNAPSHOTS_NONE;
	int status = open_both(options, "", &snapshots, NULL, err);

	snapshots.is_patient = option_given(options, FLAG_PRIVATE);
	if (status == 0 && !options->operand_count)
		status = snapshots_sweep(&snapshots, err);
	for (size_t i = 0; i < options->operand_count && status == 0; i++)
		status = snapshots_remove(&snapshots, options->operands[i], err);
	snapshots_done(&snapshots);
	return status;
}

static int prune(const struct options *options, struct warder_error *err)
{
	struct snapshots snapshots = SNAPSHOTS_NONE;
	uint64_t keep, age_s, removed = 0;
	int status = retention(options, &keep, &age_s, err);

	if (status == 0 && !keep && !age_s)
		status =
		    error_set(err, WARDER_ERROR_INVALID_REQUEST, "prune", "give --keep, --keep-for, or both");
	if (status == 0)
		status = open_both(options, "", &snapshots, NULL, err);
	if (status == 0)
		status = snapshots_prune(&snapshots, options->operands[0], keep, age_s, &removed, err);
	if (status == 0)
		printf("%" PRIu64 " removed\n", removed);
	snapshots_done(&snapshots);
	return status;
}

#define MAKE_DETAILS                                                                                         \
	"Refused while a program runs in the workspace; with --wait, the command waits until it has "        \
	"ended.\n"                                                                                           \
	"Equal content is stored once for all snapshots. --keep and --keep-for remove older snapshots of "   \
	"the same\nworkspace.\n"

const struct command snapshot_commands[] = {
	{ "workspace", "snapshot", "--store --json --wait --max-size --keep --keep-for " FLAG_PRIVATE, "ID",
	  1, 1, "store a copy of a workspace, and print the id of the snapshot", MAKE_DETAILS,
	  "warder workspace create job-7 && warder workspace snapshot job-7", make, true },
	{ "workspace", "resume", "--store --json " FLAG_PRIVATE, "SNAPSHOT [ID]", 1, 2,
	  "make a new workspace from a snapshot, and print its id and path", NULL, NULL, resume, true },
	{ "snapshot", "list", "--store --json", "[WORKSPACE]", 0, 1, "list the snapshots, oldest first", NULL,
	  "warder snapshot list", list, true },
	{ "snapshot", "verify", "--store", "[SNAPSHOT...]", 0, OPTIONS_MAX,
	  "check that snapshots are unchanged", NULL, "warder snapshot verify", verify, true },
	{ "snapshot", "remove", "--store " FLAG_PRIVATE, "SNAPSHOT...", 1, OPTIONS_MAX, "remove snapshots",
	  NULL, NULL, remove_some, true },
	{ "snapshot", "sweep", "--store " FLAG_PRIVATE, NULL, 0, 0, NULL, NULL, NULL, remove_some, true },
	{ "snapshot", "prune", "--store --keep --keep-for", "[WORKSPACE]", 0, 1,
	  "remove old snapshots of one workspace, or of all", NULL, "warder snapshot prune --keep 5", prune,
	  true },
	{ 0 },
};
