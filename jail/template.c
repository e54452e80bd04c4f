/*
 * A privileged template owns a mount namespace in which the root is finished: built by a throw-away child, kept alive
 * by a descriptor. A launch enters it (or, when it is to be used again, a copy of it), so that no host mount is ever
 * in the jail's namespace, not even for the moment between clone and pivot, and no launch pays for building it.
 *
 * The root of a template for a single launch is built beside that launch's first steps, up to where init enters it.
 * The next launch's network namespace is always in the making beside what this process does.
 *
 * Sources become detached mount trees here, while this process still knows them by descriptor; flags are set
 * recursively before a tree is attached anywhere.
 */
#include "jail/template.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/namespaces.h"
#include "jail/cgroup/clone.h"
#include "jail/environment.h"
#include "jail/inside/root.h"
#include "jail/inside/sys.h"
#include "jail/joined.h"
#include "jail/parts.h"
#include "jail/spawn.h"

static int read_own_namespaces(struct jail_template *tmpl, struct warder_error *err)
{
	owned_fd int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < NAMESPACE_COUNT; i++) {
		if (!(tmpl->plan.namespaces & namespace_kinds[i].flag))
			continue;
		if (namespace_number(self, namespace_kinds[i].link, &tmpl->own_namespaces[i]) < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					       "cannot read /proc/self/%s (is /proc mounted?)",
					       namespace_kinds[i].link);
	}
	return 0;
}

static int set_attributes(int tree_fd, const struct rootfs_entry *entry, struct warder_error *err)
{
	/* Private: what the host mounts beneath the source later would otherwise appear in the jail. */
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
				   .propagation = MS_PRIVATE };

	if (entry->read_only)
		attr.attr_set |= MOUNT_ATTR_RDONLY;
	if (entry->no_exec)
		attr.attr_set |= MOUNT_ATTR_NOEXEC;
	if (syscall(SYS_mount_setattr, tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, policy_field_path(entry->field), errno,
				       "cannot set the mount flags of %s", entry->source);
	return 0;
}

static int map_owner(int tree_fd, const struct rootfs_entry *entry, struct identity *identity, uint32_t uid,
		     uint32_t gid, struct warder_error *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
	int ns_fd = identity_owner_ns(identity, entry->owner_uid, entry->owner_gid, uid, gid, err);

	if (ns_fd < 0)
		return -1;
	attr.userns_fd = (uint64_t)ns_fd;
	if (syscall(SYS_mount_setattr, tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) == 0)
		return 0;
	if (entry->read_only && (errno == EINVAL || errno == EPERM))
		return 0; /* readable as far as its modes let everybody read; nothing is granted by it */
	return error_set_errno(
	    err, WARDER_ERROR_UNSUPPORTED_POLICY, policy_field_path(entry->field), errno,
	    "the file system of %s has no idmapped mounts, so that the jail's user cannot own "
	    "its files; use a directory on ext4, xfs, btrfs or (from Linux 6.3) tmpfs, or readOnly",
	    entry->source);
}

int template_clone_tree(const struct rootfs_entry *entry, struct identity *identity, uint32_t uid,
			uint32_t gid, struct warder_error *err)
{
	owned_fd int tree_fd =
	    (int)syscall(SYS_open_tree, entry->source_fd, "",
			 AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, policy_field_path(entry->field), errno,
				       "cannot clone the mount of %s", entry->source);
	if (set_attributes(tree_fd, entry, err) < 0)
		return -1;
	if (entry->owner_mapped && map_owner(tree_fd, entry, identity, uid, gid, err) < 0)
		return -1;
	return fd_take(&tree_fd);
}

/* ---- the prepared root ---- */

static const char making_namespace[] = "unshare";

/* Begins with our descriptors, so that the namespace's is ours, and goes on with a table of its own: a file of the root
 * that is open for writing in a child which another thread forks just then would keep the root from becoming read-only. */
static CLONE_BESIDE void build_root(void *arg)
{
	struct template_root *root = arg;
	const char *what = making_namespace;
	const uint64_t one = 1;
	long ret = sys(unshare, CLONE_NEWNS);
	long ns_fd = -1;

	if (ret == 0) {
		what = "/proc/self/ns/mnt";
		ns_fd = sys(openat, AT_FDCWD, what, O_RDONLY | O_CLOEXEC, 0);
		ret = ns_fd < 0 ? ns_fd : sys(unshare, CLONE_FILES);
	}
	root->ns_fd = ns_fd < 0 ? -1 : ns_fd;
	if (ret == 0)
		ret = root_build(root->block, &what);
	if (ret == 0)
		ret = root_detach();
	if (ret == 0 && root->built_fd >= 0)
		ret = sys(write, root->built_fd, &one, sizeof(one)) == sizeof(one) ? 0 : -EIO;
	/* Last, and all at once: a builder that is killed before has failed. */
	root->what = what;
	root->error = ret;
	sys(exit_group, 0);
}

/* Trees of all entries that are not attached launch by launch. They stay open only while the root is built. Without detached
 * mounts there are none, and the builder opens the sources. */
static int open_trees(struct jail_template *tmpl, struct warder_error *err)
{
	struct wire_entry *entries =
	    WIRE_AT(tmpl->block.bytes, block_header(&tmpl->block)->entries, struct wire_entry);

	for (size_t i = 0; i < tmpl->plan.rootfs.count && !tmpl->plan.old_mounts; i++) {
		if (entries[i].kind != WIRE_BIND || (entries[i].flags & WIRE_ENTRY_LATE))
			continue;
		entries[i].fd = template_clone_tree(&tmpl->plan.rootfs.entries[i], NULL, 0, 0, err);
		if (entries[i].fd < 0)
			return -1;
	}
	return 0;
}

static void close_trees(struct jail_template *tmpl)
{
	struct wire_entry *entries =
	    WIRE_AT(tmpl->block.bytes, block_header(&tmpl->block)->entries, struct wire_entry);

	for (size_t i = 0; i < tmpl->plan.rootfs.count; i++) {
		if (tmpl->plan.old_mounts)
			entries[i].fd = -1; /* the builder's, and gone with it */
		fd_done(&entries[i].fd);
	}
}

static int begin_root(struct jail_template *tmpl, struct warder_error *err)
{
	int ret;

	if (open_trees(tmpl, err) < 0) {
		close_trees(tmpl);
		return -1;
	}
	/* An error until the helper says otherwise: it may be killed half-way. */
	tmpl->root = (struct template_root){ .block = block_header(&tmpl->block),
					     .what = "killed half-way",
					     .error = -EINTR,
					     .ns_fd = -1,
					     .built_fd = tmpl->reusable ? -1 : eventfd(0, EFD_CLOEXEC) };
	/* It makes its namespace itself: a copy of all of the host's mounts takes its time. */
	ret = clone_begin(&tmpl->root.helper, CLONE_FILES, build_root, &tmpl->root);
	if (ret == 0)
		return 0;
	close_trees(tmpl);
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "filesystem.view", -ret,
			       "cannot start the builder of the root");
}

int template_finish_root(struct jail_template *tmpl, struct warder_error *err)
{
	struct template_root *root = &tmpl->root;

	if (!root->helper.pid && !root->hangs)
		return 0;
	root->hangs = root->hangs || clone_end(&root->helper) == CLONE_HANGS;
	if (root->hangs) {
		error_set(
		    err, WARDER_ERROR_UNAVAILABLE, "filesystem.view",
		    "cannot build the root: the kernel hangs in it (a file system that does not answer?)");
		snprintf(err->step, sizeof(err->step), "build-root");
		return -1;
	}
	close_trees(tmpl);
	tmpl->mount_ns_fd = (int)root->ns_fd;
	if (root->error == 0)
		return 0;
	fd_done(&tmpl->mount_ns_fd); /* it may still hold mounts of the host */
	if (root->what == making_namespace)
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "filesystem.view", (int)-root->error,
				"cannot make a mount namespace (needs user.max_mnt_namespaces > 0)");
	else
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "filesystem.view", (int)-root->error,
				"cannot build the root: %s", root->what);
	snprintf(err->step, sizeof(err->step), "build-root");
	return -1;
}

int template_enter_root(struct jail_template *tmpl, struct warder_error *err)
{
	struct template_root *root = &tmpl->root;

	/* Not even begun, or without a means to tell when it is finished. */
	if (root->helper.pid && (root->ns_fd < 0 || root->built_fd < 0))
		return template_finish_root(tmpl, err);
	if (root->helper.pid)
		tmpl->mount_ns_fd = (int)root->ns_fd;
	return 0;
}

static int realise(struct jail_template *tmpl, struct warder_error *err)
{
	/* What a session has mounted is there, whatever its sources' names lead to by now. */
	if (!tmpl->plan.joint && rootfs_open(&tmpl->plan.rootfs, err) < 0)
		return -1;
	if (read_own_namespaces(tmpl, err) < 0)
		return -1;
	tmpl->image_fd = spawn_image(err);
	if (tmpl->image_fd < 0)
		return -1;
	tmpl->supervisor_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (tmpl->supervisor_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "pidfd_open (needs Linux 5.3)");
	if (block_from_plan(&tmpl->block, &tmpl->plan, tmpl->reusable, err) < 0)
		return -1;
	if (tmpl->plan.joint && (tmpl->joined = joined_session_new(tmpl, err)) == NULL)
		return -1;
	if (!tmpl->plan.privileged || tmpl->plan.starter)
		return 0;
	if (begin_root(tmpl, err) < 0)
		return -1;
	/* A single launch goes on meanwhile, and waits for it before the spawn. */
	return tmpl->reusable ? template_finish_root(tmpl, err) : 0;
}

int jail_prepare(struct jail_plan *plan, struct jail_host *host, bool reusable, struct jail_template **ret,
		 struct warder_error *err)
{
	const uint64_t start = clock_us();
	struct jail_template *tmpl = calloc(1, sizeof(*tmpl));

	if (!tmpl)
		return error_no_memory(err, NULL);
	tmpl->plan = *plan;
	memset(plan, 0, sizeof(*plan));
	tmpl->host = host;
	tmpl->owner_pid = getpid();
	tmpl->reusable = reusable;
	tmpl->image_fd = -1;
	tmpl->mount_ns_fd = -1;
	tmpl->root.built_fd = -1;
	tmpl->supervisor_fd = -1;
	pthread_mutex_init(&tmpl->lock, NULL);
	if (network_has_helper(&tmpl->plan)) {
		tmpl->ahead = host->network;
		host->network = NULL;
	}
	template_begin_network(tmpl);
	if (realise(tmpl, err) < 0) {
		strcpy(err->step, "prepare");
		jail_template_free(tmpl);
		return -1;
	}
	if (reusable)
		template_settle_network(tmpl, true);
	tmpl->prepare_us = clock_us() - start;
	*ret = tmpl;
	return 0;
}

int jail_template_reuse(struct jail_template *tmpl, struct jail_parts_counts *counts,
			struct warder_error *err)
{
	return tmpl->parts ? 0 : parts_begin(tmpl, counts, &tmpl->parts, err);
}

bool jail_template_has_parts(struct jail_template *tmpl)
{
	return tmpl->parts && parts_has_any(tmpl->parts);
}

bool jail_template_drop_parts(struct jail_template *tmpl)
{
	return tmpl->parts && parts_drop(tmpl->parts);
}

void jail_template_free(struct jail_template *tmpl)
{
	struct warder_error ignored;

	if (!tmpl)
		return;
	template_finish_root(tmpl, &ignored);
	if (tmpl->root.hangs)
		return;
	network_free(tmpl->ahead);
	parts_done(tmpl->parts);
	watch_free(tmpl->watch);
	for (unsigned int i = 0; i < tmpl->pool_count; i++)
		identity_done(&tmpl->pool[i]);
	free(tmpl->pool);
	fd_done(&tmpl->image_fd);
	fd_done(&tmpl->mount_ns_fd);
	fd_done(&tmpl->root.built_fd);
	fd_done(&tmpl->supervisor_fd);
	joined_session_free(tmpl->joined);
	block_done(&tmpl->block);
	jail_plan_done(&tmpl->plan);
	pthread_mutex_destroy(&tmpl->lock);
	free(tmpl);
}

void template_trim(struct jail_template *tmpl)
{
	block_done(&tmpl->block);
	rootfs_done(&tmpl->plan.rootfs);
	environment_free(tmpl->plan.environment);
	tmpl->plan.environment = NULL;
	free(tmpl->plan.filter);
	free(tmpl->plan.capabilities);
	tmpl->plan.filter = NULL;
	tmpl->plan.capabilities = NULL;
}

const struct jail_plan *jail_template_plan(const struct jail_template *tmpl)
{
	return &tmpl->plan;
}

void template_begin_network(struct jail_template *tmpl)
{
	struct warder_error ignored;

	if (!network_has_helper(&tmpl->plan) || (tmpl->parts && parts_has_spare(tmpl->parts)))
		return;
	pthread_mutex_lock(&tmpl->lock);
	if (!tmpl->ahead)
		tmpl->ahead = network_new(&ignored);
	pthread_mutex_unlock(&tmpl->lock);
}

bool template_settle_network(struct jail_template *tmpl, bool wait)
{
	struct warder_error ignored;
	bool made;

	pthread_mutex_lock(&tmpl->lock);
	made = !tmpl->ahead || wait || network_is_made(tmpl->ahead);
	if (tmpl->ahead && made && network_finish(tmpl->ahead, &ignored) < 0) {
		network_free(tmpl->ahead); /* the next launch tries again, and tells */
		tmpl->ahead = NULL;
	}
	pthread_mutex_unlock(&tmpl->lock);
	return made;
}

struct network *template_take_network(struct jail_template *tmpl, struct part *ret_part,
				      struct warder_error *err)
{
	struct network *network;

	if (tmpl->parts && parts_take(tmpl->parts, ret_part)) {
		network = network_again(ret_part->ns_fd);
		if (network) {
			ret_part->ns_fd = -1;
			return network;
		}
		part_done(ret_part);
	}
	pthread_mutex_lock(&tmpl->lock);
	network = tmpl->ahead;
	tmpl->ahead = NULL;
	pthread_mutex_unlock(&tmpl->lock);
	return network ? network : network_new(err);
}

int template_take_identity(struct jail_template *tmpl, struct identity *ret, struct warder_error *err)
{
	const enum accounts_makers makers = tmpl->plan.holds    ? ACCOUNTS_INIT
					    : tmpl->plan.zygote ? ACCOUNTS_ZYGOTE
								: ACCOUNTS_NOBODY;
	bool taken = false;

	pthread_mutex_lock(&tmpl->lock);
	if (tmpl->pool_count) {
		*ret = tmpl->pool[--tmpl->pool_count];
		taken = true;
	}
	pthread_mutex_unlock(&tmpl->lock);
	/* The init of a container is in a user namespace that its runtime makes. */
	return taken ? 0 : identity_lease(tmpl->plan.starter ? NULL : &makers, ret, err);
}

void template_give_identity(struct jail_template *tmpl, struct identity *identity)
{
	bool kept = false;
	bool usable;

	if (identity->lease_fd < 0)
		return;
	usable = identity_is_limited(identity);
	pthread_mutex_lock(&tmpl->lock);
	if (tmpl->reusable && usable && !tmpl->pool)
		tmpl->pool = calloc(TEMPLATE_POOL, sizeof(*tmpl->pool));
	if (usable && tmpl->pool && tmpl->pool_count < TEMPLATE_POOL) {
		tmpl->pool[tmpl->pool_count++] = *identity;
		kept = true;
	}
	pthread_mutex_unlock(&tmpl->lock);
	if (kept)
		*identity = (struct identity)IDENTITY_NONE;
	else
		identity_done(identity);
}

struct watch *template_watch(struct jail_template *tmpl)
{
	struct watch *watch;

	pthread_mutex_lock(&tmpl->lock);
	if (!tmpl->watch)
		tmpl->watch = watch_new();
	watch = tmpl->watch;
	pthread_mutex_unlock(&tmpl->lock);
	return watch;
}
