/*
 * What programs that embed Warder call for workspaces, snapshots and artifacts: handles around the folders' own structs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "store/artifacts/artifacts.h"
#include "store/snapshots/snapshots.h"
#include "store/warder-store.h"
#include "store/workspaces/workspaces.h"

struct warder_workspace {
	struct workspace workspace;
	char *store; /* NULL: the default place */
};

static int no_memory(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INTERNAL, NULL, "out of memory");
}

static int misuse(const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "wrong call: %s", what);
}

/* ---- workspaces ---- */

static struct warder_workspace *new_handle(const char *store, struct warder_error *err)
{
	struct warder_workspace *handle = calloc(1, sizeof(*handle));

	if (handle) {
		handle->workspace = WORKSPACE_UNOPENED;
		handle->store = store ? strdup(store) : NULL;
	}
	if (handle && (!store || handle->store))
		return handle;
	free(handle);
	no_memory(err);
	return NULL;
}

int warder_workspace_open(const char *store, const char *id, struct warder_workspace **ret,
			  struct warder_error *err)
{
	struct workspaces workspaces = WORKSPACES_NONE;
	struct warder_workspace *handle;
	int status;

	if (!ret)
		return misuse("nowhere to put the workspace", err);
	handle = new_handle(store, err);
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
		return misuse("no id", err);
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
		return misuse("no workspace, path or content", err);
	return workspace_put_bytes(&handle->workspace, path, mode, bytes, len, err);
}

/* A file from where fd stands, of at most `most` bytes. */
static int read_whole(int fd, size_t most, const char *name, char **ret, size_t *ret_len,
		      struct warder_error *err)
{
	struct stat st;
	size_t used = 0;
	char *bytes;

	if (fstat(fd, &st) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "path", errno, "cannot be looked at");
	if ((uint64_t)st.st_size > most)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
				 "%.200s has %" PRIu64 " bytes; at most %zu were asked for", name,
				 (uint64_t)st.st_size, most);
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes)
		return no_memory(err);
	while (used < (size_t)st.st_size) {
		const ssize_t n = pread(fd, bytes + used, (size_t)st.st_size - used, (off_t)used);

		if (n <= 0)
			break;
		used += (size_t)n;
	}
	bytes[used] = '\0';
	*ret = bytes;
	*ret_len = used;
	return 0;
}

int warder_workspace_read(struct warder_workspace *handle, const char *path, size_t most, char **ret,
			  size_t *ret_len, struct warder_error *err)
{
	owned_fd int fd = -1;

	if (!handle || !path || !ret || !ret_len)
		return misuse("no workspace, path or place for the content", err);
	fd = workspace_file(&handle->workspace, path, err);
	return fd < 0 ? -1 : read_whole(fd, most, path, ret, ret_len, err);
}

int warder_workspace_patch(struct warder_workspace *handle, const char *patch, size_t len, int strip,
			   struct warder_error *err)
{
	struct workspace_patched *patched = NULL;
	size_t count;
	int status;

	if (!handle || !patch)
		return misuse("no workspace or patch", err);
	status = workspace_patch(&handle->workspace, patch, len, strip, false, &patched, &count, err);
	free(patched);
	return status;
}

int warder_workspace_stage(struct warder_workspace *handle, const struct warder_workspace_input *input,
			   struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;
	struct workspace_stage stage;
	int status;

	if (!handle || !input || input->size != sizeof(*input) || !input->from)
		return misuse("no workspace or input, or one without its size", err);
	stage = (struct workspace_stage){ .from = input->from,
					  .dst = input->to,
					  .link = input->link != 0,
					  .read_only = input->read_only != 0,
					  .pin = input->pin != 0 };
	status = artifacts_open(handle->store, &artifacts, err);
	if (status == 0)
		status = workspace_stage(&handle->workspace, &artifacts, &stage, NULL, err);
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
		no_memory(err);
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
	for (size_t i = 0; i < sizeof(run->variables) / sizeof(run->variables[0]) && status == 0; i++)
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
		return misuse("no workspace or policy", err);
	run = malloc(sizeof(*run));
	if (!run)
		return no_memory(err);
	status = workspace_run_prepare(&handle->workspace, cwd, run, err);
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
	return *ret_json ? 0 : no_memory(err);
}

int warder_workspace_collect(struct warder_workspace *handle, const struct warder_workspace_outputs *what,
			     char **ret_json, struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;
	struct workspace_collect asked;
	int status = 0;

	if (!handle || !what || what->size != sizeof(*what) || !ret_json ||
	    (!what->patterns && what->pattern_count))
		return misuse("no workspace or question, or one without its size", err);
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

/* ---- snapshots ---- */

int warder_snapshot_make(const char *store, const char *id, int wait, uint64_t bytes_max,
			 char ret_snapshot[WARDER_SNAPSHOT_ID], struct warder_error *err)
{
	struct workspaces workspaces = WORKSPACES_NONE;
	struct workspace workspace = WORKSPACE_UNOPENED;
	struct snapshots snapshots = SNAPSHOTS_NONE;
	struct snapshot made;
	int status;

	if (!id || !ret_snapshot)
		return misuse("no id, or nowhere to put the snapshot's", err);
	status = workspaces_open(store, &workspaces, err);
	if (status == 0)
		status = snapshots_open(store, &snapshots, err);
	if (status == 0)
		status = workspace_open(&workspaces, id, WORKSPACE_ALONE, wait != 0, &workspace, err);
	if (status == 0)
		status = snapshots_make(&snapshots, &workspace, bytes_max, &made, err);
	if (status == 0)
		memcpy(ret_snapshot, made.id, sizeof(made.id));
	workspace_done(&workspace);
	snapshots_done(&snapshots);
	workspaces_done(&workspaces);
	return status;
}

int warder_snapshot_resume(const char *store, const char *snapshot, const char *id,
			   struct warder_workspace **ret, struct warder_error *err)
{
	struct workspaces workspaces = WORKSPACES_NONE;
	struct snapshots snapshots = SNAPSHOTS_NONE;
	struct warder_workspace *handle;
	int status;

	if (!snapshot || !ret)
		return misuse("no snapshot, or nowhere to put the workspace", err);
	handle = new_handle(store, err);
	status = handle ? workspaces_open(store, &workspaces, err) : -1;
	if (status == 0)
		status = snapshots_open(store, &snapshots, err);
	if (status == 0)
		status = snapshots_resume(&snapshots, snapshot, &workspaces, id, &handle->workspace, err);
	snapshots_done(&snapshots);
	workspaces_done(&workspaces);
	if (status == 0)
		*ret = handle;
	else
		warder_workspace_free(handle);
	return status;
}

int warder_snapshot_verify(const char *store, const char *snapshot, struct warder_error *err)
{
	struct snapshots snapshots = SNAPSHOTS_NONE;
	int status;

	if (!snapshot)
		return misuse("no snapshot", err);
	status = snapshots_open(store, &snapshots, err);
	if (status == 0)
		status = snapshots_verify(&snapshots, snapshot, err);
	snapshots_done(&snapshots);
	return status;
}

int warder_snapshot_remove(const char *store, const char *snapshot, struct warder_error *err)
{
	struct snapshots snapshots = SNAPSHOTS_NONE;
	int status;

	if (!snapshot)
		return misuse("no snapshot", err);
	status = snapshots_open(store, &snapshots, err);
	if (status == 0)
		status = snapshots_remove(&snapshots, snapshot, err);
	snapshots_done(&snapshots);
	return status;
}

int warder_snapshot_prune(const char *store, const char *id, uint64_t keep, uint64_t max_age_s,
			  struct warder_error *err)
{
	struct snapshots snapshots = SNAPSHOTS_NONE;
	uint64_t removed;
	int status = snapshots_open(store, &snapshots, err);

	if (status == 0)
		status = snapshots_prune(&snapshots, id, keep, max_age_s, &removed, err);
	snapshots_done(&snapshots);
	return status;
}

/* ---- artifacts ---- */

int warder_artifact_save(const char *store, const char *name, const char *type, const char *bytes, size_t len,
			 uint64_t *ret_version, struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;
	struct artifact artifact = { 0 };
	int status;

	if (!name || (!bytes && len))
		return misuse("no name or content", err);
	status = artifacts_open(store, &artifacts, err);
	if (status == 0)
		status = artifacts_save_bytes(&artifacts, name, type, bytes, len, &artifact, err);
	if (status == 0 && ret_version)
		*ret_version = artifact.version;
	artifact_done(&artifact);
	artifacts_done(&artifacts);
	return status;
}

int warder_artifact_save_file(const char *store, const char *name, const char *type, int fd,
			      uint64_t bytes_max, uint64_t *ret_version, struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;
	struct artifact artifact = { 0 };
	int status;

	if (!name || fd < 0)
		return misuse("no name or file", err);
	status = artifacts_open(store, &artifacts, err);
	if (status == 0)
		status = artifacts_save(&artifacts, name, type, fd,
					bytes_max ? bytes_max : (uint64_t)16 << 30, &artifact, err);
	if (status == 0 && ret_version)
		*ret_version = artifact.version;
	artifact_done(&artifact);
	artifacts_done(&artifacts);
	return status;
}

static int read_artifact(struct artifacts *artifacts, const char *text, size_t most, char **ret,
			 size_t *ret_len, struct warder_error *err)
{
	owned_fd int fd = memfd_create("artifact", MFD_CLOEXEC);
	struct artifact_reference reference;
	struct artifact artifact;
	int status;

	if (fd < 0)
		return no_memory(err);
	if (artifact_reference_parse(text, &reference, err) != 0 ||
	    artifacts_find(artifacts, &reference, &artifact, err) != 0)
		return -1;
	if (artifact.content.size > most)
		status = error_set(err, WARDER_ERROR_INVALID_REQUEST, "artifact",
				   "%.200s has %" PRIu64 " bytes; at most %zu were asked for", text,
				   artifact.content.size, most);
	else
		status = artifacts_read(artifacts, &artifact, fd, err);
	artifact_done(&artifact);
	return status == 0 ? read_whole(fd, most, text, ret, ret_len, err) : -1;
}

int warder_artifact_read(const char *store, const char *reference, size_t most, char **ret, size_t *ret_len,
			 struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;
	int status;

	if (!reference || !ret || !ret_len)
		return misuse("no reference, or nowhere to put the content", err);
	status = artifacts_open(store, &artifacts, err);
	if (status == 0)
		status = read_artifact(&artifacts, reference, most, ret, ret_len, err);
	artifacts_done(&artifacts);
	return status;
}

int warder_artifact_remove(const char *store, const char *text, struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;
	struct artifact_reference reference;
	int status;

	if (!text)
		return misuse("no reference", err);
	if (artifact_reference_parse(text, &reference, err) != 0)
		return -1;
	status = artifacts_open(store, &artifacts, err);
	if (status == 0)
		status = artifacts_remove(&artifacts, &reference, NULL, err);
	artifacts_done(&artifacts);
	return status;
}
