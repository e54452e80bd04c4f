/*
 * The public functions of snapshots.
 */
#include <string.h>

#include "store/snapshots/snapshots.h"
#include "store/warder-store.h"
#include "store/workspaces/handle.h"

int warder_snapshot_make(const char *store, const char *id, int wait, uint64_t bytes_max,
			 char ret_snapshot[WARDER_SNAPSHOT_ID], struct warder_error *err)
{
	struct workspaces workspaces = WORKSPACES_NONE;
	struct workspace workspace = WORKSPACE_UNOPENED;
	struct snapshots snapshots = SNAPSHOTS_NONE;
	struct snapshot made;
	int status;

	if (!id || !ret_snapshot)
		return store_misuse("no id, or nowhere to put the snapshot's", err);
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
		return store_misuse("no snapshot, or nowhere to put the workspace", err);
	handle = workspace_handle_new(store, err);
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

static int with_snapshot(const char *store, const char *snapshot,
			 int (*act)(struct snapshots *snapshots, const char *id, struct warder_error *err),
			 struct warder_error *err)
{
	struct snapshots snapshots = SNAPSHOTS_NONE;
	int status;

	if (!snapshot)
		return store_misuse("no snapshot", err);
	status = snapshots_open(store, &snapshots, err);
	if (status == 0)
		status = act(&snapshots, snapshot, err);
	snapshots_done(&snapshots);
	return status;
}

int warder_snapshot_verify(const char *store, const char *snapshot, struct warder_error *err)
{
	return with_snapshot(store, snapshot, snapshots_verify, err);
}

int warder_snapshot_remove(const char *store, const char *snapshot, struct warder_error *err)
{
	return with_snapshot(store, snapshot, snapshots_remove, err);
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
