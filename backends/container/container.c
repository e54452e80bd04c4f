/*
 * container: the programs that carry out the OCI runtime specification, without a daemon. What they cannot do, or what could not be
 * read back from the kernel, is missing from the capabilities.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/container/bundle.h"
#include "backends/container/container_monitor.h"
#include "backends/rows.h"
#include "base/array.h"
#include "base/fd.h"

static const char *const directories[] = { "/usr/bin",        "/usr/sbin", "/usr/local/bin",
					   "/usr/local/sbin", "/bin",      "/sbin" };

struct runtime {
	struct jail_starter starter; /* first: what start() is given leads here */
	const char *name;
	const char *options; /* that has it leave control groups alone */
	bool one_version;    /* it cannot stand a hybrid of both versions of cgroups */
};

/* ---- the program ---- */

/* Nobody but root can have put it there. */
static bool is_trusted(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 && !(st.st_mode & 022) &&
	       (st.st_mode & 0111);
}

bool container_program(const char *name, char *path, size_t size)
{
	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
		snprintf(path, size, "%s/%s", directories[i], name);
		if (is_trusted(path))
			return true;
	}
	return false;
}

static bool why_not(const struct backend *backend, const struct jail_host *host, char *text, size_t size)
{
	const struct jail_feature_state *mounts = &host->features[JAIL_FEATURE_MOUNT_API];
	char path[128];

	/* What it says of itself is not what the kernel shows: processes of gVisor are threads of a kernel that is a program. */
	if (strcmp(backend->program, "runsc") == 0)
		snprintf(
		    text, size,
		    container_program(backend->program, path, sizeof(path))
			? "runsc's programs run on a kernel of its own, from which this version reads "
			  "nothing back; use crun, runc or local"
			: "there is no runsc in /usr/bin, /usr/sbin, ... (no package of Debian has it), and "
			  "this version does not drive it; use crun, runc or local");
	else if (!host->privileged)
		snprintf(
		    text, size,
		    "%s is driven as root only: an ordinary user cannot give its mounts owners and flags "
		    "before it runs; run warder as root, or use local",
		    backend->name);
	else if (!container_program(backend->program, path, sizeof(path)))
		snprintf(
		    text, size,
		    "there is no %s in /usr/bin, /usr/sbin, ...; install Debian's package %s, or use local",
		    backend->program, backend->program);
	else if (mounts->tried && !mounts->there)
		snprintf(text, size, "detached mounts: %.120s", mounts->detail);
	else
		return false;
	return true;
}

/* ---- start, stop ---- */

/* As layout.h has them. */
struct mounts {
	int *trees, *layers;
	size_t tree_count, layer_count;
};

static void close_fds(int *fds, size_t count)
{
	for (size_t i = 0; fds && i < count; i++)
		fd_done(&fds[i]);
	free(fds);
}

static void close_mounts(struct mounts *mounts)
{
	close_fds(mounts->trees, mounts->tree_count);
	close_fds(mounts->layers, mounts->layer_count);
}

static int open_trees(const struct jail_start *start, struct mounts *mounts, struct warder_error *err)
{
	const struct rootfs *rootfs = &start->plan->rootfs;

	while (mounts->tree_count < rootfs->count) {
		int *tree = &mounts->trees[mounts->tree_count++];

		*tree = -1;
		if (rootfs->entries[mounts->tree_count - 1].kind != ROOTFS_BIND)
			continue;
		*tree = jail_start_tree(start, mounts->tree_count - 1, err);
		if (*tree < 0)
			return -1;
	}
	return 0;
}

static int open_layers(const struct jail_start *start, struct mounts *mounts, struct warder_error *err)
{
	const struct rootfs *rootfs = &start->plan->rootfs;

	for (size_t i = 0; i < rootfs->overlay_count; i++)
		for (size_t j = 0; j < rootfs->overlays[i].layer_count; j++) {
			int *layer = &mounts->layers[mounts->layer_count++];

			*layer = jail_start_layer(start, i, j, err);
			if (*layer < 0)
				return -1;
		}
	return 0;
}

static int open_mounts(const struct jail_start *start, struct mounts *mounts, struct warder_error *err)
{
	const struct rootfs *rootfs = &start->plan->rootfs;
	size_t layers = 1;

	for (size_t i = 0; i < rootfs->overlay_count; i++)
		layers += rootfs->overlays[i].layer_count;
	mounts->trees = calloc(rootfs->count + 1, sizeof(*mounts->trees));
	mounts->layers = calloc(layers, sizeof(*mounts->layers));
	if (!mounts->trees || !mounts->layers)
		return error_no_memory(err, NULL);
	return open_trees(start, mounts, err) < 0 ? -1 : open_layers(start, mounts, err);
}

int container_start(struct container_monitor_task *task, void **ret_started, int *ret_init_pid,
		    int *ret_init_fd, struct warder_error *err)
{
	struct mounts mounts = { 0 };
	struct container_monitor *monitor = NULL;
	int ret = open_mounts(task->layout.start, &mounts, err);

	task->layout.trees = mounts.trees;
	task->layout.layers = mounts.layers;
	task->layout.layer_count = mounts.layer_count;
	if (ret == 0)
		ret = container_monitor_start(task, &monitor, ret_init_pid, ret_init_fd, err);
	close_mounts(&mounts);
	*ret_started = monitor;
	return ret;
}

int container_stop(void *started, bool stuck, int *ret_fd, struct warder_error *err)
{
	return container_monitor_stop(started, stuck, ret_fd, err);
}

static int start(const struct jail_starter *starter, const struct jail_start *start, void **ret_started,
		 int *ret_init_pid, int *ret_init_fd, struct warder_error *err)
{
	const struct runtime *runtime = (const struct runtime *)(const void *)starter;
	char path[128];
	struct container_monitor_task task = { .runtime = path, .options = runtime->options };
	char *config;
	int ret;

	if (!container_program(runtime->name, path, sizeof(path)))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "%s is gone", runtime->name);
	config = bundle_config(start);
	if (!config)
		return error_no_memory(err, NULL);
	task.layout =
	    (struct layout){ .start = start, .config = config, .one_version = runtime->one_version };
	ret = container_start(&task, ret_started, ret_init_pid, ret_init_fd, err);
	free(config);
	return ret;
}

/* Both make a cgroup of their own, wherever they are told to. A container of ours is in those of the run instead, by its init, and the host is
 * read-only to the runtime: crun is told so, and runc takes it as somebody who may not make any. */
static const struct runtime runtimes[] = {
	{ { POLICY_ISOLATION_CONTAINER_EPHEMERAL, false, 1, true, start, container_stop },
	  "crun",
	  "--cgroup-manager=disabled",
	  true },
	{ { POLICY_ISOLATION_CONTAINER_EPHEMERAL, false, 1, true, start, container_stop },
	  "runc",
	  "--rootless=true",
	  false },
};

/* ---- the rows of the table ---- */

/* What the runtime does instead of the launch itself; all else is done by the same hands as in a jail of ours. */
static const struct instead {
	enum policy_control control;
	const char *mechanism;
} instead[] = {
	{ POLICY_CONTROL_NETWORK_NONE, "own network namespace, its only interface down, entered by %s" },
	{ POLICY_CONTROL_NETWORK_LOOPBACK, "own network namespace with loopback only, made by %s" },
	{ POLICY_CONTROL_NETWORK_ALLOW,
	  "own network namespace without a way out, made by %s; warder-edge connects for it" },
	{ POLICY_CONTROL_VIEW_HOST, "root of %s: read-only tmpfs, prepared read-only binds" },
	{ POLICY_CONTROL_VIEW_DIRECTORY, "root of %s: read-only tmpfs, prepared read-only binds" },
	{ POLICY_CONTROL_VIEW_IMAGE,
	  "overlay in the root of %s: idmapped read-only layers, private upper one" },
	{ POLICY_CONTROL_WORKSPACE_OVERLAY,
	  "overlay in the root of %s over the directory, private upper layer in its /tmp" },
	{ POLICY_CONTROL_WORKSPACE_NONE, "root of %s without any workspace" },
	{ POLICY_CONTROL_IDENTITY, "user namespace of %s onto an unprivileged id range of its own" },
};

void container_capabilities(const struct backend *backend, const struct jail_host *host,
			    const struct policy *policy, struct policy_capabilities *ret)
{
	char text[192];

	jail_capabilities(host, policy, ret);
	snprintf(ret->backend, sizeof(ret->backend), "%s", backend->name);
	ret->isolation = backend->isolation;
	for (size_t i = 0; i < ARRAY_LENGTH(instead); i++) {
		struct policy_capability *row = &ret->controls[instead[i].control];
		const char *gap = strstr(instead[i].mechanism, "%s");

		if (row->enforced)
			snprintf(row->mechanism, sizeof(row->mechanism), "%.*s%s%s",
				 (int)(gap - instead[i].mechanism), instead[i].mechanism, backend->name,
				 gap + 2);
	}
	policy_capability_refused(ret, POLICY_CONTROL_NETWORK_LEARN,
				  "only the backend local learns; leave out --backend, or --net learn");
	for (int i = 0; why_not(backend, host, text, sizeof(text)) && i < POLICY_CONTROL_COUNT; i++)
		policy_capability_refused(ret, (enum policy_control)i, "%s", text);
}

int container_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
		    struct warder_error *err)
{
	char text[192];

	if (why_not(backend, host, text, sizeof(text)))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "%s", text);
	return jail_check(host, policy, err);
}

int container_shape(const struct backend *backend, const struct jail_host *host, struct jail_plan *plan,
		    struct warder_error *err)
{
	if (plan->rootfs.whole)
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "filesystem.view",
				 "only the backend local builds images; use it");
	for (size_t i = 0; i < ARRAY_LENGTH(runtimes); i++)
		if (strcmp(runtimes[i].name, backend->program) == 0)
			plan->starter = &runtimes[i].starter;
	return 0;
}
