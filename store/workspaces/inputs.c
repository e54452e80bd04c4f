/*
 * Read-only inputs as a run sees them: where their content lies, and what it is mounted on. stage.c says why they are not in the tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "rootfs/rootfs.h"
#include "store/workspaces/private.h"

static int failed(const char *what, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "from", errno, "%s", what);
}

char *workspace_input_path(const char *dst, char *buf)
{
	char safe[STORE_NAME_MAX];

	snprintf(buf, STORE_NAME_MAX + 8, "inputs/%s", store_safe_name(dst, safe));
	return buf;
}

int workspace_open_host(const char *path, uint64_t flags, struct warder_error *err)
{
	owned_fd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char shown[96];
	int fd;

	if (root_fd < 0)
		return failed("/ cannot be opened", err);
	fd = path_open_no_links(root_fd, path[1] ? path + 1 : ".", flags, err);
	if (fd < 0 && err->sys_errno == ELOOP)
		return error_set(err, WARDER_ERROR_REJECTED, "from",
				 "%s is or leads through a symbolic link; name the place itself (realpath)",
				 json_quote(path, shown, sizeof(shown)));
	if (fd < 0)
		return error_set_errno(err, err->code, "from", err->sys_errno, "cannot open %s",
				       json_quote(path, shown, sizeof(shown)));
	return fd;
}

static int open_input(struct workspace *workspace, const struct workspace_input *input, const char *rest,
		      uint64_t flags, struct warder_error *err)
{
	char path[STORE_NAME_MAX + 8];
	owned_fd int fd =
	    strcmp(input->mode, "link") == 0
		? workspace_open_host(input->resolved, *rest ? O_PATH | O_DIRECTORY : flags, err)
		: path_open_no_links(workspace->dir_fd, workspace_input_path(input->dst, path),
				     *rest ? O_PATH | O_DIRECTORY : flags, err);

	return fd < 0 || !*rest ? fd_take(&fd) : path_open_beneath(fd, rest, flags, err);
}

int workspace_seen(struct workspace *workspace, const char *path, uint64_t flags, struct warder_error *err)
{
	struct workspace_metadata metadata;
	const struct workspace_input *input = NULL;
	int fd;

	if (workspace_metadata_load(workspace, &metadata, err) != 0)
		return -1;
	for (size_t i = 0; i < metadata.input_count && !input; i++) {
		if (metadata.inputs[i].read_only && path_within(metadata.inputs[i].dst, path))
			input = &metadata.inputs[i];
	}
	if (input)
		fd = open_input(workspace, input,
				path + strlen(input->dst) + (path[strlen(input->dst)] == '/'), flags, err);
	else
		fd = path_open_beneath(workspace->files_fd, path, flags, err);
	workspace_metadata_done(&metadata);
	return fd;
}

static int make_empty(struct workspace *workspace, const char *dst, struct warder_error *err)
{
	char plain[PATH_MAX];
	const char *name;
	owned_fd int parent_fd = workspace_any_parent(workspace, dst, true, plain, &name, err), fd = -1;

	if (parent_fd < 0)
		return -1;
	fd = openat(parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, 0644) != 0)
		return failed("the place of an input cannot be made", err);
	return 0;
}

int workspace_placeholder(struct workspace *workspace, const char *dst, bool is_directory,
			  struct warder_error *err)
{
	owned_fd int fd = path_open_no_links(workspace->files_fd, dst, O_PATH, err);
	char shown[96];
	struct stat st;

	if (fd < 0 && err->sys_errno == ENOENT) {
		if (!is_directory)
			return make_empty(workspace, dst, err);
		fd = workspace_directory(workspace, dst, true, err);
		return fd < 0 ? -1 : 0;
	}
	if (fd >= 0 && fstat(fd, &st) == 0 && (bool)S_ISDIR(st.st_mode) == is_directory)
		return 0;
	return error_set(err, WARDER_ERROR_CONFLICT, "workspace",
			 "a program has put something else at %s, where an input is to be mounted; remove it",
			 json_quote(dst, shown, sizeof(shown)));
}
