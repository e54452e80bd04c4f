/*
 * Files of the tree, while a jail may be changing it.
 *
 * Two rules. Every path is given to the kernel as one piece, to be opened beneath the tree's descriptor (path_open_beneath()); what was
 * opened is looked at through its descriptor and never by its name again. And a new file is written beside the tree, where no
 * jail reaches, and gets its place by a rename into a directory that is held open: a link in that place is
 * replaced, not written through. A directory that a jail moves meanwhile can only have gone elsewhere in its own tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "rootfs/rootfs.h"
#include "store/workspaces/private.h"

static int failed(const char *path, const char *what, struct warder_error *err)
{
	char shown[96];

	return error_set_errno(err,
			       errno == EISDIR || errno == EEXIST || errno == ENOTEMPTY
				   ? WARDER_ERROR_CONFLICT
				   : WARDER_ERROR_UNAVAILABLE,
			       "path", errno, "%s %s", json_quote(path, shown, sizeof(shown)), what);
}

/* ---- directories ---- */

/* One more level: the directory `path`, whose last component is missing below parent_fd. */
static int add_level(struct workspace *workspace, int parent_fd, const char *path, struct warder_error *err)
{
	const char *slash = strrchr(path, '/');
	owned_fd int fd = -1;
	bool made = mkdirat(parent_fd, slash ? slash + 1 : path, 0700) == 0;

	if (!made && errno != EEXIST)
		return failed(path, "cannot be made", err);
	fd = path_open_beneath(workspace->files_fd, path, O_RDONLY | O_DIRECTORY, err);
	if (fd >= 0 && made && fchmod(fd, 0755) != 0)
		return failed(path, "cannot be made", err);
	return fd_take(&fd);
}

/* Each part of the path is asked for from the tree on: one of them may be a link. */
static int open_levels(struct workspace *workspace, char *path, bool make, struct warder_error *err)
{
	owned_fd int at_fd = path_open_beneath(workspace->files_fd, ".", O_RDONLY | O_DIRECTORY, err);
	char *slash = path;

	while (at_fd >= 0 && slash) {
		int next_fd;

		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		next_fd = path_open_beneath(workspace->files_fd, path, O_RDONLY | O_DIRECTORY, err);
		if (next_fd < 0 && err->sys_errno == ENOENT && make)
			next_fd = add_level(workspace, at_fd, path, err);
		if (slash)
			*slash = '/';
		fd_done(&at_fd);
		at_fd = next_fd;
	}
	return fd_take(&at_fd);
}

static bool fd_path(int fd, char *ret)
{
	char link[40];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, ret, PATH_MAX - 1);
	ret[len > 0 ? len : 0] = '\0';
	return len > 0;
}

bool workspace_is_tree(const char *path)
{
	return !*path || strcmp(path, ".") == 0;
}

int workspace_name_path(struct warder_error *err)
{
	if (!err->field[0])
		snprintf(err->field, sizeof(err->field), "path");
	return -1;
}

int workspace_directory(struct workspace *workspace, const char *path, bool make, struct warder_error *err)
{
	char plain[PATH_MAX];
	int fd;

	if (workspace_is_tree(path)) {
		fd = path_open_beneath(workspace->files_fd, ".", O_RDONLY | O_DIRECTORY, err);
		return fd >= 0 ? fd : workspace_name_path(err);
	}
	if (path_check_relative(path, strlen(path), err) != 0)
		return workspace_name_path(err);
	path_plain(path, plain);
	fd = make ? open_levels(workspace, plain, true, err)
		  : path_open_beneath(workspace->files_fd, plain, O_RDONLY | O_DIRECTORY, err);
	return fd >= 0 ? fd : workspace_name_path(err);
}

int workspace_any_parent(struct workspace *workspace, const char *path, bool make, char *plain,
			 const char **ret_name, struct warder_error *err)
{
	char *slash;
	int fd;

	if (path_check_relative(path, strlen(path), err) != 0)
		return workspace_name_path(err);
	path_plain(path, plain);
	slash = strrchr(plain, '/');
	*ret_name = slash ? slash + 1 : plain;
	if (!slash)
		return workspace_directory(workspace, ".", false, err);
	*slash = '\0';
	fd = open_levels(workspace, plain, make, err);
	*slash = '/';
	return fd >= 0 ? fd : workspace_name_path(err);
}

/* Where a name in an open directory lies in the tree, whatever links led there. false: it lies there no more. */
static bool true_path(struct workspace *workspace, int parent_fd, const char *name, char *ret)
{
	char tree[PATH_MAX], parent[PATH_MAX];
	size_t len;

	if (!fd_path(workspace->files_fd, tree) || !fd_path(parent_fd, parent) || !path_within(tree, parent))
		return false;
	len = strlen(tree);
	len += parent[len] == '/';
	return snprintf(ret, PATH_MAX, "%s%s%s", parent + len, parent[len] ? "/" : "", name) < PATH_MAX;
}

/* A change of what an input is mounted on would take the mount away from programs that run. */
static int check_changeable(struct workspace *workspace, int parent_fd, const char *name,
			    struct warder_error *err)
{
	struct workspace_metadata metadata;
	char path[PATH_MAX], shown[96];
	int status = 0;

	if (workspace_metadata_load(workspace, &metadata, err) != 0)
		return err->sys_errno == ENOENT ? 0 : -1;
	if (!true_path(workspace, parent_fd, name, path))
		metadata.input_count = 0;
	for (size_t i = 0; i < metadata.input_count && status == 0; i++) {
		const struct workspace_input *input = &metadata.inputs[i];

		if (input->read_only && (path_within(input->dst, path) || path_within(path, input->dst)))
			status = error_set(
			    err, WARDER_ERROR_CONFLICT, "path",
			    "%s is, or leads to, the read-only input %.200s; stage another one there",
			    json_quote(path, shown, sizeof(shown)), input->dst);
	}
	workspace_metadata_done(&metadata);
	return status;
}

int workspace_parent(struct workspace *workspace, const char *path, bool make, char *plain,
		     const char **ret_name, struct warder_error *err)
{
	owned_fd int fd = workspace_any_parent(workspace, path, make, plain, ret_name, err);

	if (fd < 0 || check_changeable(workspace, fd, *ret_name, err) != 0)
		return -1;
	return fd_take(&fd);
}

/* ---- files ---- */

/* Give a file without a name its place. */
static int name_file(struct workspace *workspace, const char *name, int fd, uint32_t mode, const char *path,
		     struct warder_error *err)
{
	char plain[PATH_MAX];
	const char *last;
	owned_fd int parent_fd = workspace_parent(workspace, path, true, plain, &last, err);
	int status = 0;

	if (parent_fd < 0)
		status = -1;
	else if (fchmod(fd, mode ? mode & 0777 : 0644) != 0 || fsync(fd) != 0 ||
		 renameat(workspace->dir_fd, name, parent_fd, last) != 0 || fsync(parent_fd) != 0)
		status = failed(plain, "cannot be written", err);
	if (status != 0)
		unlinkat(workspace->dir_fd, name, 0);
	return status;
}

/* A slash at the end is what one writes of a directory. */
static int check_file_name(const char *path, struct warder_error *err)
{
	const size_t len = strlen(path);
	char shown[96];

	if (len && path[len - 1] != '/')
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
			 "%s names a directory; write the name of a file behind it",
			 json_quote(path, shown, sizeof(shown)));
}

/* A file for what is to stand at the path, under a name of its own. */
static int begin_file(struct workspace *workspace, const char *path, char *ret_name, struct warder_error *err)
{
	if (path_check_relative(path, strlen(path), err) != 0 || check_file_name(path, err) != 0)
		return workspace_name_path(err);
	return workspace_new_file(workspace, ret_name, err);
}

int workspace_put(struct workspace *workspace, const char *path, uint32_t mode, int fd,
		  struct warder_error *err)
{
	char name[STORE_NAME_MAX];
	owned_fd int to_fd = begin_file(workspace, path, name, err);

	if (to_fd < 0)
		return -1;
	if (workspace_copy_bytes(fd, to_fd) != 0) {
		failed(path, "cannot be copied", err);
		unlinkat(workspace->dir_fd, name, 0);
		return -1;
	}
	return name_file(workspace, name, to_fd, mode, path, err);
}

int workspace_put_bytes(struct workspace *workspace, const char *path, uint32_t mode, const char *bytes,
			size_t len, struct warder_error *err)
{
	char name[STORE_NAME_MAX];
	owned_fd int to_fd = begin_file(workspace, path, name, err);

	if (to_fd < 0)
		return -1;
	if (file_write_all(to_fd, bytes, len) != 0) {
		failed(path, "cannot be written", err);
		unlinkat(workspace->dir_fd, name, 0);
		return -1;
	}
	return name_file(workspace, name, to_fd, mode, path, err);
}

/* Out of the tree first, so that nobody is at work in what is removed. */
int workspace_delete_in(struct workspace *workspace, int parent_fd, const char *name,
			struct warder_error *err)
{
	char trash[STORE_NAME_MAX];

	store_new_name(".new-", trash);
	if (renameat(parent_fd, name, workspace->dir_fd, trash) != 0 ||
	    rootfs_remove_tree(workspace->dir_fd, trash) != 0)
		return failed(name, "cannot be removed", err);
	return 0;
}
