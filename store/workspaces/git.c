/*
 * git in a jail: it clones a repository of the host as an input, and applies patches (patch.c). A repository is a program to whoever
 * reads it (its configuration, its hooks, what is hidden in its objects), and a patch is text from anywhere: neither is read
 * outside. Without network; the repository is mounted read-only; the clone is a tree that a jail has made, as any other in a workspace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "rootfs/rootfs.h"
#include "runtime/warder.h"
#include "store/workspaces/private.h"

static const char field[] = "from";

/* Everything that git would ask of the one who runs it; no file in the repository is asked. */
static const char configuration[] =
    "[safe]\n\tdirectory = *\n[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n"
    "[protocol]\n\tallow = never\n[protocol \"file\"]\n\tallow = always\n"
    "[uploadpack]\n\tpackObjectsHook =\n[gc]\n\tauto = 0\n";

static const struct {
	const char *path, *value;
} settings[] = {
	{ "limits.wallTime", "10m" },
	{ "limits.cpuTime", "10m" },
	{ "limits.memory", "1GiB" },
	{ "limits.cpus", "2" },
	{ "limits.fileSize", "4GiB" },
	{ "environment.set.PATH", "/usr/bin:/bin" },
	{ "environment.set.GIT_CONFIG_NOSYSTEM", "1" },
	{ "environment.set.GIT_TERMINAL_PROMPT", "0" },
	{ "environment.set.LC_ALL", "C" },
	{ "output.stderr", "16MiB" },
};

/* What an ordinary user without a delegated cgroup has not; the clone is his own work. */
static const char *const preferred[] = { "limits.cpuTime", "limits.memory", "limits.cpus", "limits.pids" };

static int make_policy(const struct git_task *task, struct warder_policy **ret, struct warder_error *err)
{
	struct warder_policy *policy = NULL;
	int status = warder_policy_preset("agent", &policy, err);

	for (size_t i = 0; i < ARRAY_LENGTH(settings) && status == 0; i++)
		status = warder_policy_set(policy, settings[i].path, settings[i].value, err);
	for (size_t i = 0; i < ARRAY_LENGTH(preferred) && status == 0; i++)
		status = warder_policy_require(policy, preferred[i], 0, err);
	if (status == 0)
		status = warder_policy_set(policy, "filesystem.workspace", task->workspace, err);
	if (status == 0 && task->read_only)
		status = warder_policy_set(policy, "filesystem.paths.readOnly", task->read_only, err);
	if (status == 0)
		*ret = policy;
	else
		warder_policy_free(policy);
	return status;
}

int workspace_git(const struct git_task *task, struct warder_result **ret, struct warder_error *err)
{
	const struct warder_options options = { .size = sizeof(options), .single_use = 1 };
	const struct warder_command command = { .size = sizeof(command),
						.argv = (char *const *)(uintptr_t)task->argv,
						.environment = (char *const *)(uintptr_t)task->environment,
						.input = task->input,
						.input_len = task->input_len,
						.changes_directory = task->changes_directory };
	struct warder_policy *policy = NULL;
	struct warder_template *tmpl = NULL;
	struct warder_run *run = NULL;
	int status = make_policy(task, &policy, err);

	if (status == 0)
		status = warder_prepare(policy, &options, &tmpl, err);
	if (status == 0)
		status = warder_launch(tmpl, &command, &run, err);
	if (status == 0)
		status = warder_wait(run, ret, err);
	if (status != 0 && err->code == WARDER_ERROR_NOT_FOUND)
		error_set(err, WARDER_ERROR_UNAVAILABLE, task->field, "git is not on this host; install it");
	warder_run_free(run);
	warder_template_free(tmpl);
	warder_policy_free(policy);
	return status;
}

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
	char branch[300], workspace[PATH_MAX + 16], repository[PATH_MAX + 32];
	const char *const argv[] = {
		"git",       "clone", "--quiet", "--no-hardlinks",           "--template=",
		"--no-tags", branch,  "--",      WORKSPACE_INSIDE "/source", WORKSPACE_INSIDE "/clone",
		NULL
	};
	const char *const environment[] = { "HOME=" WORKSPACE_INSIDE "/home", NULL };
	const struct git_task task = { .field = field,
				       .workspace = workspace,
				       .read_only = repository,
				       .argv = argv,
				       .environment = environment };
	struct warder_result *result = NULL;
	int status;

	snprintf(branch, sizeof(branch), source->branch[0] ? "--branch=%s" : "--single-branch",
		 source->branch);
	snprintf(workspace, sizeof(workspace), "readWrite:%s", root);
	snprintf(repository, sizeof(repository), "%s:" WORKSPACE_INSIDE "/source", source->path);
	status = workspace_git(&task, &result, err);
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
