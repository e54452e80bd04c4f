/*
 * What a run in a workspace needs besides its policy.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "rootfs/rootfs.h"
#include "store/workspaces/private.h"
#include "store/workspaces/sessions.h"

int workspace_own_length(const struct workspace *workspace)
{
	return (int)(strrchr(workspace->path, '/') - workspace->path);
}

static int add_mount(struct workspace *workspace, const struct workspace_input *input,
		     struct workspace_run *ret, size_t at, struct warder_error *err)
{
	char path[STORE_NAME_MAX + 8];
	owned_fd int fd = -1;
	struct stat st;
	int length;

	workspace_input_path(input->dst, path);
	if (strcmp(input->mode, "link") == 0)
		length = asprintf(&ret->mounts[at], "%s:%s/%s", input->resolved, ret->inside, input->dst);
	else
		length = asprintf(&ret->mounts[at], "%.*s/%s:%s/%s", workspace_own_length(workspace),
				  workspace->path, path, ret->inside, input->dst);
	if (length < 0) {
		ret->mounts[at] = NULL;
		return error_no_memory(err, NULL);
	}
	fd = workspace_seen(workspace, input->dst, O_PATH, err);
	if (fd < 0)
		return error_context(err, "input %s", input->dst);
	if (fstat(fd, &st) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "workspace", errno,
				       "the input %.200s cannot be looked at", input->dst);
	return workspace_placeholder(workspace, input->dst, S_ISDIR(st.st_mode), err);
}

/* Not by the descriptor of the workspace: others than runs hold that one's lock, too. */
int workspace_lock_runs(struct workspace *workspace, int how, struct warder_error *err)
{
	if (workspace->runs_fd < 0)
		workspace->runs_fd =
		    openat(workspace->dir_fd, "runs.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (workspace->runs_fd >= 0 && file_lock(workspace->runs_fd, how) == 0) {
		if (!(how & LOCK_EX) ||
		    workspace_await_sessions(workspace->id, workspace->path, false,
					     "stop it first, or stage without --read-only and --link",
					     err) == 0)
			return 0;
		flock(workspace->runs_fd, LOCK_SH);
		return -1;
	}
	if (workspace->runs_fd >= 0 && errno == EWOULDBLOCK) {
		flock(workspace->runs_fd, LOCK_SH); /* a change that fails gives back what was held before */
		return error_set(
		    err, WARDER_ERROR_CONFLICT, "workspace",
		    "a program runs in %.200s, and its read-only inputs cannot be changed until it has "
		    "ended; stage it before, or without --read-only and --link",
		    workspace->id);
	}
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "workspace", errno,
			       "the lock of its runs cannot be had");
}

static int add_mounts(struct workspace *workspace, struct workspace_run *ret, struct warder_error *err)
{
	struct workspace_metadata metadata;
	size_t at = 0;
	int status = 0;

	if (workspace_metadata_load(workspace, &metadata, err) != 0)
		return -1;
	for (size_t i = 0; i < metadata.input_count && status == 0; i++) {
		if (metadata.inputs[i].read_only)
			status = add_mount(workspace, &metadata.inputs[i], ret, at++, err);
	}
	workspace_metadata_done(&metadata);
	return status;
}

/* For a run, a directory that no other had before. For a session, the same one each time: so a second start has the same policy. */
static int add_run_dir(struct workspace *workspace, const char *session, struct workspace_run *ret,
		       struct warder_error *err)
{
	char random[STORE_NAME_MAX], stamp[40];
	const time_t now = time(NULL);
	owned_fd int fd = -1;
	struct tm parts;

	if (session) {
		snprintf(ret->run_dir, sizeof(ret->run_dir), "runs/session_%.64s", session);
		fd = workspace_directory(workspace, ret->run_dir, true, err);
		return fd < 0 ? -1 : 0;
	}
	if (!gmtime_r(&now, &parts) || !strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &parts))
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "the clock stands wrong");
	store_new_name("", random);
	snprintf(ret->run_dir, sizeof(ret->run_dir), "runs/run_%s_%.8s", stamp, random);
	fd = workspace_directory(workspace, ret->run_dir, true, err);
	return fd < 0 ? -1 : 0;
}

static int name_cwd(struct warder_error *err)
{
	snprintf(err->field, sizeof(err->field), "cwd");
	return -1;
}

static int take_cwd(struct workspace *workspace, const char *cwd, struct workspace_run *ret,
		    struct warder_error *err)
{
	const bool root = !cwd || !*cwd || strcmp(cwd, ".") == 0;
	char plain[PATH_MAX] = "";
	owned_fd int fd = -1;

	if (!root && path_check_relative(cwd, strlen(cwd), err) != 0)
		return name_cwd(err);
	if (!root)
		path_plain(cwd, plain);
	fd = workspace_directory(workspace, root ? "." : plain, true, err);
	if (fd < 0)
		return name_cwd(err);
	if (snprintf(ret->cwd, sizeof(ret->cwd), WORKSPACE_INSIDE "%s%s", root ? "" : "/", plain) >=
	    (int)sizeof(ret->cwd))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "cwd", "is too long");
	return 0;
}

int workspace_run_prepare(struct workspace *workspace, const char *inside, const char *cwd,
			  const char *session, struct workspace_run *ret, struct warder_error *err)
{
	static const char *const variables[][2] = { { "WORKSPACE_DIR", "" },
						    { "SKILLS_DIR", "/skills" },
						    { "WORK_DIR", "/work" },
						    { "OUTPUT_DIR", "/out" } };

	memset(ret, 0, sizeof(*ret));
	ret->inside = inside ? inside : WORKSPACE_INSIDE;
	if (workspace_lock_runs(workspace, LOCK_SH, err) != 0 || workspace_layout(workspace, err) != 0 ||
	    take_cwd(workspace, cwd, ret, err) != 0 || add_run_dir(workspace, session, ret, err) != 0 ||
	    add_mounts(workspace, ret, err) != 0) {
		workspace_run_done(ret);
		return -1;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(variables); i++)
		snprintf(ret->variables[i], sizeof(ret->variables[i]), "%s=" WORKSPACE_INSIDE "%s",
			 variables[i][0], variables[i][1]);
	snprintf(ret->variables[4], sizeof(ret->variables[4]), "RUN_DIR=" WORKSPACE_INSIDE "/%s",
		 ret->run_dir);
	return 0;
}

void workspace_run_done(struct workspace_run *run)
{
	for (size_t i = 0; i < WORKSPACE_INPUTS_MAX && run->mounts[i]; i++) {
		free(run->mounts[i]);
		run->mounts[i] = NULL;
	}
}
