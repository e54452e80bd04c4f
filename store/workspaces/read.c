/*
 * What a run sees of the tree, read-only inputs included: one file, or a list.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "rootfs/rootfs.h"
#include "store/workspaces/private.h"

#define ENTRIES_MAX 4000000 /* in one directory that is listed: more is an attack on who lists it */

int workspace_file(struct workspace *workspace, const char *path, struct warder_error *err)
{
	owned_fd int fd = -1;
	char plain[PATH_MAX], shown[96];
	struct stat st;

	if (path_check_relative(path, strlen(path), err) != 0)
		return workspace_name_path(err);
	path_plain(path, plain);
	fd = workspace_seen(workspace, plain, O_RDONLY | O_NONBLOCK | O_NOCTTY, err);
	if (fd < 0)
		return workspace_name_path(err);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path", "%s is not a regular file",
				 json_quote(plain, shown, sizeof(shown)));
	return fd_take(&fd);
}

/* ---- listing ---- */

struct listing {
	int (*call)(void *context, const struct workspace_item *item, struct warder_error *err);
	void *context;
	struct warder_error *err;
	int depth_max;
	bool cut;
};

static int list_level(struct listing *listing, int dir_fd, const char *path, int depth);

static char type_of(mode_t mode)
{
	return S_ISREG(mode) ? 'f' : S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : 'o';
}

static int list_entry(struct listing *listing, int dir_fd, const char *path, const char *name, int depth)
{
	char *joined = NULL;
	struct stat st;
	int status;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0; /* gone meanwhile */
	if (asprintf(&joined, "%s%s%s", path, *path ? "/" : "", name) < 0)
		return error_no_memory(listing->err, NULL);
	status = listing->call(listing->context,
			       &(struct workspace_item){ joined, type_of(st.st_mode), st.st_mode & 07777,
							 S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
							 st.st_mtime },
			       listing->err);
	if (status == 0 && S_ISDIR(st.st_mode) &&
	    (depth < listing->depth_max ||
	     depth == WORKSPACE_DEPTH_MAX)) /* only to see whether it has anything in it */
		status = list_level(listing, dir_fd, joined, depth);
	free(joined);
	return status;
}

static void free_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

static int read_names(DIR *dir, char ***ret, size_t *ret_count, struct warder_error *err)
{
	const struct dirent *item;
	char **names = NULL;
	size_t count = 0;

	while ((item = readdir(dir)) != NULL) {
		char **grown = names;

		if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
			continue;
		if (count % 64 == 0)
			grown = reallocarray(names, count + 64, sizeof(char *));
		if (grown)
			names = grown;
		if (!grown || count == ENTRIES_MAX || !(names[count] = strdup(item->d_name))) {
			free_names(names, count);
			return error_no_memory(err, NULL);
		}
		count++;
	}
	if (names)
		qsort(names, count, sizeof(char *), text_order);
	*ret = names;
	*ret_count = count;
	return 0;
}

/* `path` is the directory's own; its last component is opened in dir_fd, or dir_fd itself for depth 0. Bounded by depth_max. */
static int list_level(struct listing *listing, int dir_fd, const char *path, int depth)
{
	const char *slash = strrchr(path, '/'), *name = depth ? (slash ? slash + 1 : path) : ".";
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	char **names = NULL;
	size_t count = 0;
	int status = 0;

	if (!dir) {
		fd_done(&fd);
		/* Gone meanwhile, or no directory any more; else it is closed to us. */
		listing->cut |= errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
		return 0;
	}
	if (read_names(dir, &names, &count, listing->err) != 0) {
		closedir(dir);
		return -1;
	}
	if (depth == WORKSPACE_DEPTH_MAX)
		listing->cut |= count > 0;
	for (size_t i = 0; i < count && status == 0 && depth < WORKSPACE_DEPTH_MAX; i++)
		status = list_entry(listing, dirfd(dir), path, names[i], depth + 1);
	free_names(names, count);
	closedir(dir);
	return status;
}

int workspace_list(struct workspace *workspace, const char *path, int depth,
		   int (*call)(void *context, const struct workspace_item *item, struct warder_error *err),
		   void *context, bool *ret_cut, struct warder_error *err)
{
	struct listing listing = { call, context, err, depth, false };
	char plain[PATH_MAX] = "";
	owned_fd int fd = -1;
	int status;

	if (!workspace_is_tree(path)) {
		if (path_check_relative(path, strlen(path), err) != 0)
			return workspace_name_path(err);
		path_plain(path, plain);
		fd = workspace_seen(workspace, plain, O_RDONLY | O_DIRECTORY, err);
	} else {
		fd = workspace_directory(workspace, ".", false, err);
	}
	if (fd < 0)
		return workspace_name_path(err);
	status = list_level(&listing, fd, plain, 0);
	*ret_cut = listing.cut;
	return status;
}
