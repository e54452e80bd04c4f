/*
 * The public functions of workspaces.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/json.h"
#include "store/artifacts/artifacts.h"
#include "store/warder-store.h"
#include "store/workspaces/handle.h"

struct warder_workspace *workspace_handle_new(const char *store, struct warder_error *err)
{
	struct warder_workspace *handle = calloc(1, sizeof(*handle));

	if (handle) {
		handle->workspace = WORKSPACE_UNOPENED;
		handle->store = store ? strdup(store) : NULL;
	}
	if (handle && (!store || handle->store))
		return handle;
	free(handle);
	error_no_memory(err, NULL);
	return NULL;
}

int warder_workspace_open(const char *store, const char *id, struct warder_workspace **ret,
			  struct warder_error *err)
{
	struct workspaces workspaces = WORKSPACES_NONE;
	struct warder_workspace *handle;
	int status;

	if (!ret)
		return store_misuse("nowhere to put the workspace", err);
	handle = workspace_handle_new(store, err);
	status = handle ? workspaces_open(store, &workspaces, err) : -1;
	if (status == 0)
		status = workspace_create(&workspaces, id, &handle->workspace, err);
	workspaces_done(&workspaces);
	if (status == 0)
		*ret = handle;
	else
		warder_workspace_free(handle);
	return status;
}

void warder_workspace_free(struct warder_workspace *handle)
{
	if (!handle)
		return;
	workspace_done(&handle->workspace);
	free(handle->store);
	free(handle);
}

const char *warder_workspace_id(const struct warder_workspace *handle)
{
	return handle->workspace.id;
}

const char *warder_workspace_path(const struct warder_workspace *handle)
{
	return handle->workspace.path;
}

int warder_workspace_remove(const char *store, const char *id, int wait, struct warder_error *err)
{
	struct workspaces workspaces = WORKSPACES_NONE;
	int status;

	if (!id)
		return store_misuse("no id", err);
	if (workspaces_open(store, &workspaces, err) != 0)
		return -1;
	status = workspace_remove(&workspaces, id, wait != 0, err);
	workspaces_done(&workspaces);
	return status < 0 ? -1 : 0;
}

int warder_workspace_put(struct warder_workspace *handle, const char *path, unsigned int mode,
			 const char *bytes, size_t len, struct warder_error *err)
{
	if (!handle || !path || (!bytes && len))
		return store_misuse("no workspace, path or content", err);
	return workspace_put_bytes(&handle->workspace, path, mode, bytes, len, err);
}

int warder_workspace_read(struct warder_workspace *handle, const char *path, size_t most, char **ret,
			  size_t *ret_len, struct warder_error *err)
{
	owned_fd int fd = -1;

	if (!handle || !path || !ret || !ret_len)
		return store_misuse("no workspace, path or place for the content", err);
	fd = workspace_file(&handle->workspace, path, err);
	return fd < 0 ? -1 : store_take_bytes(fd, most, path, ret, ret_len, err);
}

int warder_workspace_patch(struct warder_workspace *handle, const char *patch, size_t len, int strip,
			   struct warder_error *err)
{
	struct workspace_patch_report report = { 0 };
	int status;

	if (!handle || !patch)
		return store_misuse("no workspace or patch", err);
	status = workspace_patch(&handle->workspace, patch, len, strip, false, &report, err);
	workspace_patch_report_done(&report);
	return status;
}

int warder_workspace_stage(struct warder_workspace *handle, const struct warder_workspace_input *input,
			   struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;
	struct workspace_input_options asked;
	int status;

	if (!handle || !input || input->size != sizeof(*input) || !input->from)
		return store_misuse("no workspace or input, or one without its size", err);
	asked = (struct workspace_input_options){ .from = input->from,
						  .dst = input->to,
						  .link = input->link != 0,
						  .read_only = input->read_only != 0,
						  .pin = input->pin != 0 };
	status = artifacts_open(handle->store, &artifacts, err);
	if (status == 0)
		status = workspace_stage(&handle->workspace, &artifacts, &asked, NULL, err);
	artifacts_done(&artifacts);
	return status;
}

/* ---- runs ---- */

/* The variables that a policy sets already, out of its document; to be given to json_free(). */
static struct json_value *read_policy(const struct warder_policy *policy, const struct json_value **ret_set,
				      struct warder_error *err)
{
	char *text = warder_policy_json(policy);
	struct json_value *root = NULL;
	const struct json_value *environment;

	if (!text) {
		error_no_memory(err, NULL);
		return NULL;
	}
	if (json_parse(text, strlen(text), "policy", NULL, &root, err) == 0) {
		environment = json_member(root, "environment");
		*ret_set = environment ? json_member(environment, "set") : NULL;
	}
	free(text);
	return root;
}

/* "NAME=VALUE", if the policy has no such variable yet. */
static int set_variable(struct warder_policy *policy, const struct json_value *set, const char *variable,
			struct warder_error *err)
{
	const int len = (int)strcspn(variable, "=");
	char name[64], path[128];

	snprintf(name, sizeof(name), "%.*s", len, variable);
	if (set && json_member(set, name))
		return 0;
	snprintf(path, sizeof(path), "environment.set.%s", name);
	return warder_policy_set(policy, path, variable + len + 1, err);
}

static int show(struct warder_policy *policy, const struct workspace *workspace,
		const struct workspace_run *run, struct warder_error *err)
{
	const struct json_value *set = NULL;
	struct json_value *root = read_policy(policy, &set, err);
	char text[PATH_MAX + 16];
	int status = root ? 0 : -1;

	snprintf(text, sizeof(text), "readWrite:%s", workspace->path);
	if (status == 0)
		status = warder_policy_set(policy, "filesystem.workspace", text, err);
	for (size_t i = 0; run->mounts[i] && status == 0; i++)
		status = warder_policy_set(policy, "filesystem.paths.readOnly", run->mounts[i], err);
	for (size_t i = 0; i < ARRAY_LENGTH(run->variables) && status == 0; i++)
		status = set_variable(policy, set, run->variables[i], err);
	json_free(root);
	return status == 0 ? warder_policy_set(policy, "workingDirectory", run->cwd, err) : -1;
}

int warder_workspace_policy(struct warder_workspace *handle, const char *cwd, struct warder_policy *policy,
			    struct warder_error *err)
{
	struct workspace_run *run;
	int status;

	if (!handle || !policy)
		return store_misuse("no workspace or policy", err);
	run = malloc(sizeof(*run));
	if (!run)
		return error_no_memory(err, NULL);
	status = workspace_run_prepare(&handle->workspace, NULL, cwd, NULL, run, err);
	if (status == 0) {
		status = show(policy, &handle->workspace, run, err);
		workspace_run_done(run);
	}
	free(run);
	return status;
}

/* ---- outputs ---- */

static int collect(struct warder_workspace *handle, const struct workspace_collect *what, char **ret_json,
		   struct warder_error *err)
{
	struct workspace_outputs outputs;
	struct json_writer w = { 0 };

	if (workspace_collect(&handle->workspace, what, &outputs, err) != 0)
		return -1;
	workspace_outputs_write(&outputs, &w);
	workspace_outputs_done(&outputs);
	*ret_json = json_take(&w);
	return *ret_json ? 0 : error_no_memory(err, NULL);
}

int warder_workspace_collect(struct warder_workspace *handle, const struct warder_workspace_outputs *what,
			     char **ret_json, struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;
	struct workspace_collect asked;
	int status = 0;

	if (!handle || !what || what->size != sizeof(*what) || !ret_json ||
	    (!what->patterns && what->pattern_count))
		return store_misuse("no workspace or question, or one without its size", err);
	asked = (struct workspace_collect){ .globs = what->patterns,
					    .glob_count = what->pattern_count,
					    .files_max = what->files_max,
					    .file_bytes = what->file_bytes,
					    .total_bytes = what->total_bytes,
					    .inlined = !what->save,
					    .artifacts = what->save ? &artifacts : NULL,
					    .name_template = what->name_template,
					    .strict = what->strict != 0 };
	if (what->save)
		status = artifacts_open(handle->store, &artifacts, err);
	if (status == 0)
		status = collect(handle, &asked, ret_json, err);
	artifacts_done(&artifacts);
	return status;
}
