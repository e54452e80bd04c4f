/*
 * Inputs of a workspace.
 *
 * What a program may change is copied into the tree. What it may only read is not in the tree at all: it lies in the workspace's
 * directory "inputs", which no jail ever sees as a whole, and each run mounts it, read-only, on a placeholder in the tree. A mode could be
 * changed by root in the jail; and had it its place in the tree, a program could put a link there, which the next run would
 * mount. An input that is linked is mounted from where it is on the host.
 *
 * A placeholder that is removed or replaced loses its mount in every jail. The jail that has it mounted cannot do that, nor move a
 * directory above it (rootfs/plan.c holds these). A jail that began before it was staged could: so there is none (workspace_lock_runs()).
 *
 * The content is made whole under a temporary name, then gets its place by a rename, then is recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "rootfs/rootfs.h"
#include "store/workspaces/private.h"

#define ARTIFACT_URL_MAX (ARTIFACTS_NAME_MAX + 32)

struct staging {
	struct workspace *workspace;
	struct artifacts *artifacts;
	const struct workspace_input_options *asked;
	struct workspace_source source;
	char dst[PATH_MAX];
	char resolved[PATH_MAX];
	uint64_t version;
	bool read_only, link, known; /* known: something was staged there before */
	bool mounted;                /* runs have, or had, it or something in it mounted */
	char temporary[STORE_NAME_MAX];
	bool is_directory;
};

static int failed(const char *what, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "from", errno, "%s", what);
}

/* ---- content ---- */

/* Copy what fd is: a file, or a directory with all that is in it. */
static int copy_open(struct staging *staging, int fd, struct warder_error *err)
{
	struct workspace *workspace = staging->workspace;
	owned_fd int to_fd = -1;
	struct stat st;

	if (fstat(fd, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "from",
				 "%.200s is neither a file nor a directory", staging->asked->from);
	staging->is_directory = S_ISDIR(st.st_mode);
	if (!staging->is_directory)
		return workspace_copy_file(workspace, fd, staging->temporary,
					   !staging->read_only        ? st.st_mode & 0777
					   : (st.st_mode & 0111) != 0 ? 0755
								      : 0644,
					   err);
	if (mkdirat(workspace->dir_fd, staging->temporary, 0700) != 0)
		return failed("there is no room for a directory", err);
	to_fd =
	    openat(workspace->dir_fd, staging->temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to_fd < 0 || workspace_copy_tree(fd, to_fd, staging->read_only, err) != 0)
		return to_fd < 0 ? failed("a directory cannot be opened", err) : -1;
	if (fchmod(to_fd, staging->read_only ? 0755 : st.st_mode & 0777) != 0 || syncfs(to_fd) != 0)
		return failed("the copied files cannot be written to the disk", err);
	return 0;
}

static int take_host(struct staging *staging, struct warder_error *err)
{
	owned_fd int fd = workspace_open_host(staging->source.path, O_RDONLY | O_NONBLOCK | O_NOCTTY, err);
	struct stat st;

	snprintf(staging->resolved, sizeof(staging->resolved), "%s", staging->source.path);
	if (fd < 0)
		return -1;
	if (!staging->link)
		return copy_open(staging, fd, err);
	if (fstat(fd, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "from",
				 "%.200s is neither a file nor a directory", staging->asked->from);
	staging->is_directory = S_ISDIR(st.st_mode);
	return 0;
}

static int take_tree(struct staging *staging, struct warder_error *err)
{
	owned_fd int fd =
	    workspace_seen(staging->workspace, staging->source.path, O_RDONLY | O_NONBLOCK | O_NOCTTY, err);

	snprintf(staging->resolved, sizeof(staging->resolved), "%s", staging->source.path);
	return fd < 0 ? -1 : copy_open(staging, fd, err);
}

static int find_pinned(struct staging *staging, struct warder_error *err)
{
	struct workspace_metadata metadata;
	char prefix[ARTIFACT_URL_MAX];

	if (workspace_metadata_load(staging->workspace, &metadata, err) != 0)
		return -1;
	snprintf(prefix, sizeof(prefix), "artifact://%s@", staging->source.artifact.name);
	for (size_t i = 0; i < metadata.input_count; i++) {
		const struct workspace_input *input = &metadata.inputs[i];

		if (strcmp(input->dst, staging->dst) == 0 &&
		    strncmp(input->resolved, prefix, strlen(prefix)) == 0)
			staging->source.artifact.version = input->version;
	}
	workspace_metadata_done(&metadata);
	return 0;
}

static int take_artifact(struct staging *staging, struct warder_error *err)
{
	struct artifact artifact;
	owned_fd int fd = -1;
	int status;

	if (!staging->artifacts)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "from", "there is no store of artifacts");
	if (staging->asked->pin && !staging->source.artifact.version && find_pinned(staging, err) != 0)
		return -1;
	if (artifacts_find(staging->artifacts, &staging->source.artifact, &artifact, err) != 0)
		return -1;
	staging->version = artifact.version;
	snprintf(staging->resolved, sizeof(staging->resolved), "artifact://%s@%llu", artifact.name,
		 (unsigned long long)artifact.version);
	fd = openat(staging->workspace->dir_fd, staging->temporary,
		    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		status = failed("there is no room for a file", err);
	else
		status = artifacts_read(staging->artifacts, &artifact, fd, err);
	artifact_done(&artifact);
	if (status == 0 && (fchmod(fd, 0644) != 0 || fsync(fd) != 0))
		status = failed("an artifact cannot be brought to the disk", err);
	return status;
}

static int take_git(struct staging *staging, struct warder_error *err)
{
	snprintf(staging->resolved, sizeof(staging->resolved), "%s", staging->source.path);
	staging->is_directory = true;
	return workspace_clone(staging->workspace, &staging->source, staging->temporary, err);
}

static int take_content(struct staging *staging, struct warder_error *err)
{
	switch (staging->source.scheme) {
	case WORKSPACE_FROM_HOST:
		return take_host(staging, err);
	case WORKSPACE_FROM_WORKSPACE:
	case WORKSPACE_FROM_SKILL:
		return take_tree(staging, err);
	case WORKSPACE_FROM_ARTIFACT:
		return take_artifact(staging, err);
	case WORKSPACE_FROM_GIT:
	case WORKSPACE_FROM_GIT_HTTPS:
		return take_git(staging, err);
	}
	return -1;
}

/* ---- place ---- */

/* Give what lies under the temporary name its place; what is there is removed. */
static int replace(struct staging *staging, int parent_fd, const char *name, struct warder_error *err)
{
	struct workspace *workspace = staging->workspace;

	if (renameat2(workspace->dir_fd, staging->temporary, parent_fd, name, RENAME_NOREPLACE) == 0)
		return store_sync(parent_fd, staging->dst, err);
	if (errno != EEXIST ||
	    renameat2(workspace->dir_fd, staging->temporary, parent_fd, name, RENAME_EXCHANGE) != 0)
		return failed("the input cannot get its place", err);
	/* What was there has the temporary name now. */
	rootfs_remove_tree(workspace->dir_fd, staging->temporary);
	return store_sync(parent_fd, staging->dst, err);
}

static int move_beside(struct staging *staging, struct warder_error *err)
{
	char path[STORE_NAME_MAX + 8];
	owned_fd int fd = -1;

	if (mkdirat(staging->workspace->dir_fd, "inputs", 0700) != 0 && errno != EEXIST)
		return failed("the directory of inputs cannot be made", err);
	fd = openat(staging->workspace->dir_fd, "inputs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return failed("the directory of inputs cannot be opened", err);
	return replace(staging, fd, strchr(workspace_input_path(staging->dst, path), '/') + 1, err);
}

static int move_into_tree(struct staging *staging, struct warder_error *err)
{
	char plain[PATH_MAX];
	const char *name;
	owned_fd int parent_fd = -1;

	parent_fd = staging->mounted
			? workspace_any_parent(staging->workspace, staging->dst, true, plain, &name, err)
			: workspace_parent(staging->workspace, staging->dst, true, plain, &name, err);
	return parent_fd < 0 ? -1 : replace(staging, parent_fd, name, err);
}

/* What a run would have had mounted, or will have, is not in the tree. */
static void clear_target(struct staging *staging)
{
	struct warder_error ignored;
	char plain[PATH_MAX];
	const char *name;
	owned_fd int parent_fd =
	    workspace_any_parent(staging->workspace, staging->dst, false, plain, &name, &ignored);

	if (parent_fd >= 0)
		workspace_delete_in(staging->workspace, parent_fd, name, &ignored);
}

/* What is not an input of before is not removed for a new one. */
static int check_free(struct staging *staging, struct warder_error *err)
{
	char plain[PATH_MAX];
	const char *name;
	owned_fd int parent_fd = -1;
	struct stat st;

	if (staging->known)
		return 0;
	parent_fd = workspace_parent(staging->workspace, staging->dst, false, plain, &name, err);
	if (parent_fd < 0)
		return err->sys_errno == ENOENT ? 0 : -1;
	if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	return error_set(err, WARDER_ERROR_CONFLICT, "to",
			 "there is something at %.200s that was not staged; remove it, or give another place",
			 staging->dst);
}

/* ---- record ---- */

static void look_up(struct staging *staging, const struct workspace_metadata *metadata)
{
	for (size_t i = 0; i < metadata->input_count; i++) {
		const struct workspace_input *input = &metadata->inputs[i];

		staging->known |= strcmp(input->dst, staging->dst) == 0;
		staging->mounted |= input->read_only && path_within(staging->dst, input->dst);
	}
}

/* "skills/NAME" itself: a skill. */
static int record_skill(struct staging *staging, struct workspace_metadata *metadata, const char *now,
			struct warder_error *err)
{
	static const char prefix[] = "skills/";
	char digest[SHA256_HEX], when[40];
	struct workspace_skill skill = {
		.rel_path = staging->dst, .digest = digest, .staged_at = when, .mounted = staging->read_only
	};

	if (strncmp(staging->dst, prefix, sizeof(prefix) - 1) != 0 ||
	    strchr(staging->dst + sizeof(prefix) - 1, '/') || !staging->is_directory)
		return 0;
	snprintf(when, sizeof(when), "%s", now);
	skill.name = staging->dst + sizeof(prefix) - 1;
	if (workspace_digest(staging->workspace, staging->dst, digest, err) != 0)
		return -1;
	return workspace_metadata_skill(metadata, &skill, err);
}

static int record(void *context, struct workspace_metadata *metadata, struct warder_error *err)
{
	struct staging *staging = context;
	char now[40], from[PATH_MAX], mode[8];
	const struct workspace_input input = {
		.from = from,
		.dst = staging->dst,
		.resolved = staging->resolved,
		.mode = mode,
		.ts = store_time(time(NULL), now),
		.version = staging->version,
		.read_only = staging->read_only,
	};

	snprintf(from, sizeof(from), "%s", staging->asked->from);
	snprintf(mode, sizeof(mode), "%s", staging->link ? "link" : "copy");
	if (workspace_metadata_input(metadata, &input, err) != 0)
		return -1;
	return 0;
}

static int record_digest(void *context, struct workspace_metadata *metadata, struct warder_error *err)
{
	char now[40];

	return record_skill(context, metadata, store_time(time(NULL), now), err);
}

static int give_record(struct staging *staging, struct workspace_input *ret, struct warder_error *err)
{
	struct workspace_metadata metadata;

	if (workspace_metadata_load(staging->workspace, &metadata, err) != 0)
		return -1;
	*ret = (struct workspace_input){ 0 };
	for (size_t i = 0; i < metadata.input_count; i++) {
		if (strcmp(metadata.inputs[i].dst, staging->dst) == 0) {
			*ret = metadata.inputs[i];
			metadata.inputs[i] = (struct workspace_input){ 0 };
		}
	}
	workspace_metadata_done(&metadata);
	return 0;
}

/* ---- door ---- */

static const char *last_component(const struct workspace_source *source)
{
	const char *path = source->scheme == WORKSPACE_FROM_ARTIFACT ? source->artifact.name : source->path;
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int choose_target(struct staging *staging, struct warder_error *err)
{
	char wanted[PATH_MAX];
	struct workspace_metadata metadata;
	int length = snprintf(wanted, sizeof(wanted), "%s%s", staging->asked->dst ? "" : "work/inputs/",
			      staging->asked->dst ? staging->asked->dst : last_component(&staging->source));

	if (length >= (int)sizeof(wanted) || strchr(wanted, ':'))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "to",
				 "an input's place is shorter than 4096 bytes and has no colon in it");
	if (path_check_relative(wanted, strlen(wanted), err) != 0) {
		snprintf(err->field, sizeof(err->field), "to");
		return -1;
	}
	path_plain(wanted, staging->dst);
	if (workspace_metadata_load(staging->workspace, &metadata, err) != 0)
		return -1;
	look_up(staging, &metadata);
	workspace_metadata_done(&metadata);
	return check_free(staging, err);
}

static int stage(struct staging *staging, struct warder_error *err)
{
	if (take_content(staging, err) != 0)
		return -1;
	if (staging->read_only) {
		if (!staging->link && move_beside(staging, err) != 0)
			return -1;
		if (staging->known) /* it may have been another kind of thing */
			clear_target(staging);
		if (workspace_placeholder(staging->workspace, staging->dst, staging->is_directory, err) != 0)
			return -1;
	} else if (move_into_tree(staging, err) != 0) {
		return -1;
	}
	if (workspace_metadata_change(staging->workspace, record, staging, err) != 0)
		return -1;
	/* Once it is recorded, what is seen there is what the digest is of. */
	return workspace_metadata_change(staging->workspace, record_digest, staging, err);
}

int workspace_stage(struct workspace *workspace, struct artifacts *artifacts,
		    const struct workspace_input_options *asked, struct workspace_input *ret,
		    struct warder_error *err)
{
	struct staging staging = { .workspace = workspace, .artifacts = artifacts, .asked = asked };
	int status;

	if (strlen(asked->from) >= PATH_MAX || workspace_source_parse(asked->from, &staging.source, err) != 0)
		return -1;
	/* Only the host has something that no jail can swap. */
	if (asked->link && staging.source.scheme != WORKSPACE_FROM_HOST)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "--link",
		    "%.200s: --link mounts a file or directory of the host, and takes only host:///PATH; "
		    "with --read-only instead, a copy is mounted that no program can change",
		    asked->from);
	staging.link = asked->link;
	staging.read_only = asked->read_only || asked->link;
	store_new_name(".new-", staging.temporary);
	if (choose_target(&staging, err) != 0)
		return -1;
	if ((staging.read_only || staging.mounted) &&
	    workspace_lock_runs(workspace, LOCK_EX | LOCK_NB, err) != 0)
		return -1;
	status = stage(&staging, err);
	fd_done(&workspace->runs_fd);
	if (status != 0)
		rootfs_remove_tree(workspace->dir_fd, staging.temporary);
	return status == 0 && ret ? give_record(&staging, ret, err) : status;
}
