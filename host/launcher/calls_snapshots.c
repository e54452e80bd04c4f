/*
 * Snapshots of a sandbox's files: stored, listed, removed, and unpacked for a new sandbox.
 *
 * The tool does the work, step by step. On the way, the files are in a workspace of the tenant's store, which bears the name of the sandbox that they are
 * of or for. If this process dies meanwhile, the sweep of the next start removes the workspace. The keeper lets the programs of the
 * sandbox go on when the process that copies is gone, however it ends.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/fd.h"
#include "host/launcher/call.h"
#include "host/launcher/state.h"
#include "policy/policy.h"
#include "runtime/library/library.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:"
#define TREE         "tree" /* the directory in the workspace, beside those that each workspace has */

static void path_of_store(const struct call *call, char ret[PATH_MAX + SNAPSHOT_STORE_MAX])
{
	snprintf(ret, PATH_MAX + SNAPSHOT_STORE_MAX, "%s/%s", call->stores, call->store);
}

/* ---- a workspace on the way ---- */

/* argv: a command that prints a JSON object with the path of the workspace. *ret: heap. */
static int make_workspace(const struct tool *tool, const char *const *argv, char **ret,
			  struct warder_error *err)
{
	struct json_value *document = NULL;
	char *text = NULL;
	int done = tool_run(tool, argv, &text, err);

	if (done == 0)
		done = json_parse(text, strlen(text), "workspace", NULL, &document, err);
	if (done == 0 && asprintf(ret, "%s/" TREE, json_member_text(document, "path", "")) < 0)
		done = error_no_memory(err, NULL);
	json_free(document);
	free(text);
	return done;
}

static void remove_workspace(const struct call *call, const struct tool *tool, const char *store)
{
	const char *const argv[] = { "workspace", "remove",  call->sandbox, "--wait",
				     "--private", "--store", store,         NULL };
	struct warder_error ignored;

	tool_run(tool, argv, NULL, &ignored);
}

int call_unpack_snapshot(const struct call *call, char **ret_path, int *ret_fd, struct warder_error *err)
{
	char store[PATH_MAX + SNAPSHOT_STORE_MAX];
	const char *const argv[] = { "workspace", "resume", call->snapshot.id, call->sandbox, "--private",
				     "--store",   store,    "--json",          NULL };
	struct tool tool = { .program = call->program };

	path_of_store(call, store);
	if (snapshots_lock(call->stores, call->store, false, ret_fd, err) < 0)
		return -1;
	tool.hold_fd = *ret_fd;
	return make_workspace(&tool, argv, ret_path, err) < 0
		   ? error_context(err, "snapshot %.40s cannot be unpacked", call->snapshot.id)
		   : 0;
}

void call_drop_unpacked(const struct call *call, int lock_fd)
{
	const struct tool tool = { .program = call->program, .hold_fd = lock_fd };
	char store[PATH_MAX + SNAPSHOT_STORE_MAX];

	path_of_store(call, store);
	remove_workspace(call, &tool, store);
}

/* ---- sweep ---- */

struct sweep {
	struct job job;
	const char *state, *stores, *program;
	bool all;
	struct warder_error err;
};

static void sweep_work(struct job *job)
{
	struct sweep *sweep = (struct sweep *)(void *)job;

	snapshots_sweep_stores(sweep->state, sweep->stores, sweep->program, sweep->all, &sweep->err);
}

static void sweep_finish(struct job *job, void *of)
{
	struct sweep *sweep = (struct sweep *)(void *)job;
	struct launcher *launcher = of;
	const bool again = launcher->snapshots.sweep_again;

	if (sweep->err.code)
		launcher->options->log(sweep->err.text);
	free(sweep);
	snapshots_drop_swept(&launcher->snapshots);
	launcher->snapshots.sweeping = launcher->snapshots.sweep_again = false;
	if (again)
		calls_sweep_stores(launcher, false);
}

void calls_sweep_stores(struct launcher *launcher, bool all)
{
	struct snapshots *snapshots = &launcher->snapshots;
	struct sweep *sweep;

	snapshots->sweep_again = snapshots->sweeping;
	if (snapshots->sweeping)
		return;
	sweep = calloc(1, sizeof(*sweep));
	if (!sweep)
		return;
	*sweep = (struct sweep){
		.job = { .tenant = "", .kind = JOB_FILES, .work = sweep_work, .finish = sweep_finish },
		.state = launcher->options->state,
		.stores = snapshots->stores,
		.program = launcher->options->program,
		.all = all
	};
	snapshots->sweeping = true;
	jobs_add(&launcher->jobs, &sweep->job);
}

static bool has_tenant(const struct launcher *launcher, const char *store)
{
	char owned[SNAPSHOT_STORE_MAX];

	for (size_t i = 0; i < launcher->tenants.count; i++) {
		snapshot_store_name(&launcher->tenants.items[i], owned);
		if (strcmp(owned, store) == 0)
			return true;
	}
	return false;
}

void calls_sweep_orphans(struct launcher *launcher)
{
	for (size_t i = 0; i < launcher->snapshots.count; i++)
		if (!has_tenant(launcher, launcher->snapshots.items[i]->store)) {
			calls_sweep_stores(launcher, false);
			return;
		}
}

bool call_sweep_late(struct launcher *launcher, const struct call *call)
{
	const bool late = call->store[0] && !has_tenant(launcher, call->store);

	if (late)
		calls_sweep_stores(launcher, false);
	return late;
}

/* ---- store ---- */

/* What a snapshot takes on the disk, however small its files are: each of them is an inode and a block. */
#define ENTRY_BYTES 4096

static int take_made(struct call *call, const char *text, struct warder_error *err)
{
	struct snapshot *made = &call->snapshot;
	uint64_t entries = 0, manifest_bytes = 0;
	const struct {
		const char *key;
		uint64_t *number;
	} rows[] = {
		{ "entries", &entries },
		{ "bytes", &made->bytes },
		{ "manifestBytes", &manifest_bytes },
		{ "leftOut", &made->left_out },
		{ "attributesLost", &made->attributes_lost },
	};
	struct json_value *document = NULL;
	const char *id;
	bool good;

	if (json_parse(text, strlen(text), "snapshot", NULL, &document, err) < 0)
		return -1;
	id = json_member_text(document, "id", "");
	good = strlen(id) == SNAPSHOT_ID_LENGTH;
	if (good)
		memcpy(made->id, id, SNAPSHOT_ID_LENGTH + 1);
	for (size_t i = 0; i < ARRAY_LENGTH(rows) && good; i++) {
		const struct json_value *value = json_member(document, rows[i].key);

		good = value && value->is_uint;
		if (good)
			*rows[i].number = value->uint;
	}
	made->stored_bytes = made->bytes + manifest_bytes + entries * ENTRY_BYTES;
	json_free(document);
	return good ? 0 : error_set(err, WARDER_ERROR_INTERNAL, NULL, "the tool printed no snapshot");
}

/* From the sandbox into the workspace, and from there into the store. */
static int store_files(struct call *call, const struct tool *tool, const char *store,
		       struct warder_error *err)
{
	char most[24], size[24];
	const char *const create[] = { "workspace", "create", call->sandbox, "--private",
				       "--store",   store,    "--json",      NULL };
	const char *const keep[] = { "workspace", "snapshot",   call->sandbox, "--store", store, "--wait",
				     "--private", "--max-size", size,          "--json",  NULL };
	char *path = NULL, *text = NULL;
	int done = make_workspace(tool, create, &path, err);

	/* The store wants a size that is not 0. */
	snprintf(most, sizeof(most), "%" PRIu64, call->snapshot.bytes);
	snprintf(size, sizeof(size), "%" PRIu64, call->snapshot.bytes + 1);
	if (done == 0 && mkdir(path, 0700) < 0)
		done = error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--state", errno, "cannot make %.200s",
				       path);
	if (done == 0) {
		const char *const save[] = { "session", "save", call->sandbox, path, most, NULL };

		done = tool_run(tool, save, NULL, err);
	}
	if (done == 0)
		done = tool_run(tool, keep, &text, err);
	if (done == 0)
		done = take_made(call, text, err);
	free(path);
	free(text);
	return done;
}

/* Now it is a snapshot, unless it takes more than the tenant may store. */
static int keep_record(struct call *call, uint64_t most, struct warder_error *err)
{
	if (call->snapshot.stored_bytes > most)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "bytes", "it takes %" PRIu64 " bytes",
				 call->snapshot.stored_bytes);
	call->record = snapshot_record(&call->snapshot);
	if (!call->record)
		return error_no_memory(err, NULL);
	if (state_write(call->snapshots_fd, call->snapshot.id, call->record, err) < 0)
		return -1;
	call->answer.status = 201;
	return 0;
}

static void store_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	struct warder_error *err = &call->answer.error;
	struct tool tool = { .program = call->program };
	char store[PATH_MAX + SNAPSHOT_STORE_MAX];
	const char *const remove[] = { "snapshot", "remove", call->snapshot.id, "--private", "--store",
				       store,      NULL };
	const uint64_t most = call->snapshot.stored_bytes;
	struct warder_error ignored;
	owned_fd int lock_fd = -1;

	path_of_store(call, store);
	if (snapshots_lock(call->stores, call->store, false, &lock_fd, err) < 0)
		return;
	tool.hold_fd = lock_fd;
	if (store_files(call, &tool, store, err) == 0 && keep_record(call, most, err) < 0)
		tool_run(&tool, remove, NULL, &ignored);
	remove_workspace(call, &tool, store);
}

/* The files are more than the tenant may store now, before the copy or with what they take in the store. */
static void say_too_large(struct call *call, const struct snapshot *most)
{
	struct warder_error *err = &call->answer.error;

	error_set(
	    err, WARDER_ERROR_UNAVAILABLE, "snapshotBytes",
	    "the files of sandbox %s have more than %" PRIu64 " bytes, or take more than %" PRIu64
	    " in the store, and the tenant may store no more than that now; remove files, or a snapshot",
	    call->sandbox, most->bytes, most->stored_bytes);
	call->answer.status = 429;
	call->answer.retry_s = 5;
}

static void store_finish(struct job *job, void *of)
{
	struct call *call = (struct call *)(void *)job;
	struct launcher *launcher = of;
	struct sandbox *sandbox = sandboxes_find(&launcher->sandboxes, call->sandbox);
	struct json_writer w = { 0 };

	if (sandbox)
		sandbox->changing = false;
	if (call_sweep_late(launcher, call)) {
		error_set(&call->answer.error, WARDER_ERROR_REJECTED, NULL, "the tenant was revoked");
		call->answer.status = 401;
	}
	if (call->answer.status == 201) {
		memset(&call->answer.error, 0, sizeof(call->answer.error));
		*call->made = call->snapshot;
		snapshot_write(call->made, &w);
		call->text = json_take(&w);
		if (!call->text) {
			call->answer.status = 500;
			error_no_memory(&call->answer.error, NULL);
		}
	} else {
		if (strcmp(call->answer.error.field, "bytes") == 0)
			say_too_large(call, call->made);
		else if (!call->answer.status)
			call->answer.status = link_status(call->answer.error.code);
		metrics_refused(&launcher->metrics, call->answer.status);
		snapshots_forget(&launcher->snapshots, call->made);
	}
	call_finish_repeat(launcher, call, call->answer.status == 201);
	call_finish(job, launcher);
}

static int take_name(const struct context *context, const struct json_value *document, const char **ret,
		     struct warder_error *err)
{
	const struct json_value *value = json_member(document, "name");

	*ret = "";
	if (!value || value->type == JSON_NULL)
		return 0;
	if (value->type != JSON_STRING || !value->string[0] || strlen(value->string) > SNAPSHOT_NAME_MAX ||
	    strspn(value->string, NAME_LETTERS) != strlen(value->string))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "name",
		    "\"name\" must be a text of 1 to %d letters, digits, '.', '_', '-', '/' and ':'",
		    SNAPSHOT_NAME_MAX);
	*ret = value->string;
	return settings_template(&context->launcher->settings, value->string)
		   ? error_set(err, WARDER_ERROR_INVALID_REQUEST, "name",
			       "\"name\": there is a template %s; take another name", value->string)
		   : 0;
}

/* How many bytes the snapshot may have. No sandbox has more files than its /tmp takes, except those with holes. As much is for the copy on the way,
 * and for what small files take beside their bytes. */
static int admit(const struct context *context, struct call *call, struct snapshot *ret,
		 struct warder_error *err)
{
	const struct tenant_limits *limits = &context->tenant->limits;
	const uint64_t tmp_bytes = call->policy->policy.filesystem.tmp_bytes;
	uint64_t count, bytes, left;

	snapshots_use(&context->launcher->snapshots, call->store, &count, &bytes);
	if (count >= limits->snapshots)
		return call_refuse_share(call, 5, err, "snapshots", "snapshots", count, limits->snapshots);
	if (bytes >= limits->snapshot_bytes)
		return call_refuse_share(call, 5, err, "snapshotBytes", "MiB in its snapshots", bytes >> 20,
					 limits->snapshot_bytes >> 20);
	if (jobs_waiting(&context->launcher->jobs, context->tenant->name) >= limits->queue)
		return call_refuse_share(call, 1, err, "queue", "requests that wait", limits->queue,
					 limits->queue);
	left = limits->snapshot_bytes - bytes;
	ret->bytes = tmp_bytes < left ? tmp_bytes : left;
	ret->stored_bytes = tmp_bytes < left / 2 ? 2 * tmp_bytes : left;
	return 0;
}

int calls_store(struct context *context, struct call *call, struct warder_error *err)
{
	static const char *const members[] = { "name", "idempotencyKey", NULL };
	struct launcher *launcher = context->launcher;
	struct sandbox *sandbox = context->sandbox;
	struct call_key key;
	const char *name;
	int found;

	if (call_parse(context, call, members, err) < 0 || take_name(context, call->document, &name, err) < 0)
		return -1;
	found = call_find_repeat(context, call, &key, err);
	if (found != 0)
		return found < 0 ? -1 : 0;
	if (call_need_running(sandbox, call, err) < 0)
		return -1;
	if (sandbox->changing)
		return call_refuse_changing(sandbox, err);
	snapshot_store_name(context->tenant, call->store);
	if (warder_policy_parse(sandbox->policy, strlen(sandbox->policy), "sandbox", &call->policy, err) !=
		0 ||
	    admit(context, call, &call->snapshot, err) < 0 || call_begin_repeat(context, call, &key, err) < 0)
		return -1;
	call->made = snapshots_begin(&launcher->snapshots, call->store, err);
	if (!call->made) {
		call_finish_repeat(launcher, call, false);
		return -1;
	}
	call->made->bytes = call->snapshot.bytes;
	call->made->stored_bytes = call->snapshot.stored_bytes;
	call->snapshot.created_ms = call->made->created_ms;
	memcpy(call->snapshot.store, call->store, sizeof(call->store));
	snprintf(call->snapshot.name, sizeof(call->snapshot.name), "%s", name);
	memcpy(call->snapshot.sandbox, sandbox->id, sizeof(sandbox->id));
	memcpy(call->snapshot.template_name, sandbox->template_name, sizeof(sandbox->template_name));
	sandbox->changing = true;
	call->job.changes = call->sandbox;
	call->job.kind = JOB_FILES;
	call->job.work = store_work;
	call->job.finish = store_finish;
	jobs_add(&launcher->jobs, &call->job);
	return 0;
}

/* ---- list and remove ---- */

int calls_snapshots(struct context *context, struct call *call, struct warder_error *err)
{
	const struct snapshots *snapshots = &context->launcher->snapshots;
	struct json_writer w = { 0 };

	snapshot_store_name(context->tenant, call->store);
	json_begin_array(&w);
	for (size_t i = snapshots->count; i-- > 0;) {
		const struct snapshot *one = snapshots->items[i];

		if (one->id[0] && !one->going && strcmp(one->store, call->store) == 0)
			snapshot_write(one, &w);
	}
	json_end_array(&w);
	return call_say(context, call, json_take(&w), err);
}

/* If its files cannot be removed, it stays, and counts. If this process dies on the way, the sweep of the next start removes them. */
static void forget_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	struct warder_error *err = &call->answer.error;
	char store[PATH_MAX + SNAPSHOT_STORE_MAX];
	const char *const remove[] = { "snapshot", "remove", call->snapshot.id, "--private", "--store",
				       store,      NULL };
	struct tool tool = { .program = call->program };
	struct warder_error ignored;
	owned_fd int lock_fd = -1;

	path_of_store(call, store);
	call->record = snapshot_record(&call->snapshot);
	if (!call->record) {
		error_no_memory(err, NULL);
		return;
	}
	if (snapshots_lock(call->stores, call->store, false, &lock_fd, err) < 0 ||
	    state_remove(call->snapshots_fd, call->snapshot.id, err) < 0)
		return;
	tool.hold_fd = lock_fd;
	if (tool_run(&tool, remove, NULL, err) == 0)
		call->answer.status = 204;
	else
		state_write(call->snapshots_fd, call->snapshot.id, call->record, &ignored);
}

static void forget_finish(struct job *job, void *of)
{
	struct call *call = (struct call *)(void *)job;
	struct launcher *launcher = of;

	if (call_sweep_late(launcher, call) || call->answer.status == 204)
		snapshots_forget(&launcher->snapshots, call->made);
	else
		call->made->going = false;
	if (!call->answer.status)
		call->answer.status = link_status(call->answer.error.code);
	call_finish(job, launcher);
}

int calls_forget(struct context *context, struct call *call, struct warder_error *err)
{
	static const char *const members[] = { "id", NULL };
	const char *id;
	char shown[100];

	if (call_parse(context, call, members, err) < 0)
		return -1;
	id = json_member_text(call->document, "id", "");
	snapshot_store_name(context->tenant, call->store);
	call->made = snapshots_find(&context->launcher->snapshots, call->store, id);
	if (!call->made)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "id", "there is no snapshot %s",
				 json_quote(id, shown, sizeof(shown)));
	call->made->going = true;
	call->snapshot = *call->made;
	call->job.kind = JOB_FILES;
	call->job.work = forget_work;
	call->job.finish = forget_finish;
	jobs_add(&context->launcher->jobs, &call->job);
	return 0;
}
