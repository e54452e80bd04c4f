/*
 * git in a jail: it clones a repository of the host or of a server as an input. A repository is a program to whoever reads it (its
 * configuration, its hooks, what is hidden in its objects), so it is not read outside.
 * The jail reaches the server of the clone and nothing else; a repository of the host is mounted read-only, without network. The clone is a tree
 * that a jail has made, as any other in a workspace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "rootfs/rootfs.h"
#include "runtime/warder.h"
#include "store/jailed.h"
#include "store/workspaces/private.h"

static const char field[] = "from";

/* Everything that git would ask of the one who runs it; no file in the repository is asked. */
static const char configuration[] =
    "[safe]\n\tdirectory = *\n[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n"
    "[protocol]\n\tallow = never\n[protocol \"file\"]\n\tallow = always\n[protocol \"https\"]\n\tallow = "
    "always\n"
    "[uploadpack]\n\tpackObjectsHook =\n[gc]\n\tauto = 0\n";

/* ---- a clone ---- */

static int refuse(const struct workspace_source *source, struct warder_result *result,
		  struct warder_error *err)
{
	size_t len;
	uint64_t total;
	const char *said = warder_result_output(result, WARDER_STDERR, &len, &total);
	char text[200], shown[220];

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(said ? said : "", "\n"), said ? said : "");
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "%.100s cannot be cloned: git says %s",
			 source->path, json_quote(text, shown, sizeof(shown)));
}

static int clone_into(const char *root, const struct workspace_source *source, struct warder_error *err)
{
	const bool is_url = source->scheme == WORKSPACE_FROM_GIT_HTTPS;
	char branch[300], workspace[PATH_MAX + 16], repository[PATH_MAX + 32];
	const char *const argv[] = { "git",
				     "clone",
				     "--quiet",
				     "--no-hardlinks",
				     "--template=",
				     "--no-tags",
				     branch,
				     "--",
				     is_url ? source->path : WORKSPACE_INSIDE "/source",
				     WORKSPACE_INSIDE "/clone",
				     NULL };
	const char *const environment[] = { "HOME=" WORKSPACE_INSIDE "/home", "GIT_CONFIG_NOSYSTEM=1",
					    "GIT_TERMINAL_PROMPT=0", NULL };
	const char *const allow[] = { source->endpoint, NULL };
	const struct store_task task = { .field = field,
					 .workspace = workspace,
					 .read_only = is_url ? NULL : repository,
					 .allow = is_url ? allow : NULL,
					 .argv = argv,
					 .environment = environment };
	struct warder_result *result = NULL;
	int status;

	snprintf(branch, sizeof(branch), source->branch[0] ? "--branch=%s" : "--single-branch",
		 source->branch);
	snprintf(workspace, sizeof(workspace), "readWrite:%s", root);
	snprintf(repository, sizeof(repository), "%s:" WORKSPACE_INSIDE "/source", source->path);
	status = store_run_jailed(&task, &result, err);
	if (status == 0 && warder_result_exit_code(result) != 0)
		status = refuse(source, result, err);
	warder_result_free(result);
	return status;
}

/* The directory that the jail gets, with what has to be in it. */
static int make_root(struct workspace *workspace, const char *name, struct warder_error *err)
{
	owned_fd int fd = -1;
	owned_fd int home_fd = -1;

	if (mkdirat(workspace->dir_fd, name, 0755) == 0)
		fd = openat(workspace->dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || mkdirat(fd, "source", 0755) != 0 || mkdirat(fd, "home", 0755) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "there is no room for a clone");
	home_fd = openat(fd, "home", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return store_replace(home_fd, ".gitconfig", configuration, sizeof(configuration) - 1, 0644, err);
}

/* What the jail has left as the clone: a directory, whatever it was told to make. */
static int take_clone(struct workspace *workspace, const char *root, const char *name,
		      struct warder_error *err)
{
	owned_fd int root_fd =
	    openat(workspace->dir_fd, root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned_fd int fd =
	    root_fd < 0 ? -1 : openat(root_fd, "clone", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || renameat(root_fd, "clone", workspace->dir_fd, name) != 0 || syncfs(fd) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "the clone cannot be taken out");
	return 0;
}

int workspace_clone(struct workspace *workspace, const struct workspace_source *source, const char *name,
		    struct warder_error *err)
{
	char root[STORE_NAME_MAX], path[PATH_MAX];
	int status;

	store_new_name(".new-", root);
	snprintf(path, sizeof(path), "%.*s/%s", workspace_own_length(workspace), workspace->path, root);
	status = make_root(workspace, root, err);
	if (status == 0)
		status = clone_into(path, source, err);
	if (status == 0)
		status = take_clone(workspace, root, name, err);
	rootfs_remove_tree(workspace->dir_fd, root);
	return status;
}
