/*
 * In order: the host's network is left, the host becomes read-only, /proc one of the new pid namespace, and the rest grows in a tmpfs over a
 * directory that every host has. The root is a directory of that tmpfs. What lies directly in it (directories, links, the parts of
 * overlays, and files that no overlay covers) is made there; what is bound is mounted apart, each in a place by its number, for the
 * runtime to find: runtimes differ in what they make of the options of a bind, so that every mount has its flags and its owners before.
 */
#include "backends/container/layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/path.h"

#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_EMPTY_PATH 4 /* linux/mount.h, which some libc's sys/mount.h cannot stand beside */
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#define ATTR_RDONLY    1 /* MOUNT_ATTR_RDONLY, for the same reason */
#define PROC_FLAGS     (MS_NOSUID | MS_NODEV | MS_NOEXEC)
#define HYBRID         "/sys/fs/cgroup/unified"
#define SCRATCH        LAYOUT_DIR "/scratch"
#define BEHIND         LAYOUT_DIR "/behind"
#define SCRATCH_INSIDE LAYOUT_ROOT "/dev/shm" /* where the scratch tmpfs is while overlays are mounted */

int layout_fail(struct layout *layout, const char *what)
{
	if (!layout->text[0]) {
		const size_t len = strnlen(what, sizeof(layout->text) - 1);

		layout->error = errno;
		memcpy(layout->text, what, len);
		layout->text[len] = '\0';
	}
	return -1;
}

_Noreturn void layout_leave(int status)
{
	for (;;)
		syscall(SYS_exit_group, status);
}

size_t layout_number(char *to, size_t value)
{
	char digits[24];
	size_t n = 0, len = 0;

	do
		digits[n++] = (char)('0' + value % 10);
	while (value /= 10);
	while (n)
		to[len++] = digits[--n];
	to[len] = '\0';
	return len;
}

static int write_file(struct layout *layout, const char *path, const char *text, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	ssize_t n = fd < 0 ? -1 : write(fd, text, len);

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)len ? 0 : layout_fail(layout, path);
}

static int make_point(struct layout *layout, const char *path, bool directory)
{
	if (directory)
		return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : layout_fail(layout, path);
	return write_file(layout, path, "", 0, 0644);
}

/* ---- the root ---- */

/* The directories below LAYOUT_TMP on the way to a mount, as the container's /tmp is itself. */
static int make_way(struct layout *layout, char *path)
{
	for (char *slash = strchr(path + sizeof(LAYOUT_TMP), '/'); slash; slash = strchr(slash + 1, '/')) {
		int made;

		*slash = '\0';
		made = mkdir(path, 01777) == 0 ? chmod(path, 01777) : errno == EEXIST ? 0 : -1;
		*slash = '/';
		if (made < 0)
			return layout_fail(layout, path);
	}
	return 0;
}

/* Path of an entry below the root that is laid out. Targets are normalised and absolute. */
static int path_of(struct layout *layout, char *buf, size_t size, const char *target)
{
	const char *root = path_is_below_tmp(target) ? LAYOUT_DIR : LAYOUT_ROOT; /* LAYOUT_TMP, or the root */
	const size_t base = strlen(root);
	const size_t len = strlen(target);

	if (base + len + 1 > size) {
		errno = ENAMETOOLONG;
		return layout_fail(layout, target);
	}
	memcpy(buf, root, base);
	memcpy(buf + base, target, len + 1);
	return 0;
}

/* True below a mount of the plan: the mount point or file exists there already, or is made when that mount is made. */
static bool is_covered(const struct rootfs *rootfs, const struct rootfs_entry *entry)
{
	for (size_t i = 0; i < rootfs->count; i++) {
		const struct rootfs_entry *other = &rootfs->entries[i];

		if (other != entry && (other->kind == ROOTFS_BIND || other->kind == ROOTFS_OVERLAY) &&
		    path_within(other->target, entry->target))
			return true;
	}
	return false;
}

static int attach(struct layout *layout, size_t index)
{
	const struct rootfs_entry *entry = &layout->start->plan->rootfs.entries[index];
	char path[sizeof(LAYOUT_BINDS) + 24] = LAYOUT_BINDS "/";

	layout_number(path + sizeof(LAYOUT_BINDS), index);
	if (make_point(layout, path, entry->is_directory) < 0)
		return -1;
	if (syscall(SYS_move_mount, layout->trees[index], "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return layout_fail(layout, entry->target);
	return 0;
}

static int lay_entry(struct layout *layout, size_t index)
{
	const struct rootfs *rootfs = &layout->start->plan->rootfs;
	const struct rootfs_entry *entry = &rootfs->entries[index];
	char path[4200];

	if (path_of(layout, path, sizeof(path), entry->target) < 0)
		return -1;
	if (entry->kind == ROOTFS_BIND && path_is_below_tmp(entry->target) && !is_covered(rootfs, entry) &&
	    make_way(layout, path) < 0)
		return -1;
	switch (entry->kind) {
	case ROOTFS_DIRECTORY:
		return make_point(layout, path, true);
	case ROOTFS_SYMLINK:
		return symlink(entry->text, path) == 0 ? 0 : layout_fail(layout, path);
	case ROOTFS_FILE:
		return is_covered(rootfs, entry)
			   ? 0
			   : write_file(layout, path, entry->text, strlen(entry->text), 0644);
	case ROOTFS_OVERLAY:
		return make_point(layout, path, entry->is_directory);
	case ROOTFS_BIND:
		if (!is_covered(rootfs, entry) && make_point(layout, path, entry->is_directory) < 0)
			return -1;
		return attach(layout, index);
	}
	return -1;
}

/* One tmpfs for everything that the program may write, so that one size bounds all of it; seen twice, with flags of their own. */
static int lay_scratch(struct layout *layout)
{
	const struct jail_start *start = layout->start;
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	const unsigned long tmp = MS_NOSUID | MS_NODEV | (start->plan->rootfs.tmp_exec ? 0 : MS_NOEXEC);

	if (mkdir(SCRATCH, 0711) < 0 || mkdir(LAYOUT_TMP, 0711) < 0 || mkdir(LAYOUT_SHM, 0711) < 0 ||
	    mount("scratch", SCRATCH, "tmpfs", flags, start->scratch_options) < 0 ||
	    mkdir(SCRATCH "/tmp", 01777) < 0 || mkdir(SCRATCH "/shm", 01777) < 0 ||
	    mount(SCRATCH "/tmp", LAYOUT_TMP, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, LAYOUT_TMP, NULL, MS_REMOUNT | MS_BIND | tmp, NULL) < 0 ||
	    mount(SCRATCH "/shm", LAYOUT_SHM, NULL, MS_BIND, NULL) < 0)
		return layout_fail(layout, "the tmpfs of /tmp and /dev/shm");
	return 0;
}

/* A mount of its own, like every other, with the flags that it is to have. */
static int lay_authorities(struct layout *layout)
{
	const struct jail_start *start = layout->start;
	const unsigned long flags = MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
	char path[sizeof(LAYOUT_TRUST) + 24] = LAYOUT_TRUST;

	for (size_t i = 0; i < TRUST_COUNT; i++) {
		const struct trust_file *file = &start->trust.files[i];

		if (!file->bytes)
			continue;
		layout_number(path + sizeof(LAYOUT_TRUST) - 1, i);
		if (write_file(layout, path, file->bytes, file->len, 0644) < 0)
			return -1;
		if (mount(path, path, NULL, MS_BIND, NULL) < 0 ||
		    mount(NULL, path, NULL, MS_REMOUNT | flags, NULL) < 0)
			return layout_fail(layout, trust_path((enum trust_kind)i));
	}
	return 0;
}

/* ---- in a process of its own ---- */

/* Run it in a child with this mount namespace. A child that fails has written errno and a text into the pipe. */
static int in_child(struct layout *layout, int (*run)(struct layout *layout))
{
	int pipe_fds[2];
	int status = 0;
	int pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return layout_fail(layout, "a pipe");
	pid = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		if (run(layout) == 0)
			layout_leave(0);
		/* Without it the error is told as one that is not known. */
		layout_leave(write(pipe_fds[1], &layout->error, sizeof(layout->error)) > 0 &&
				     write(pipe_fds[1], layout->text, sizeof(layout->text)) > 0
				 ? 1
				 : 2);
	}
	close(pipe_fds[1]);
	errno = pid > 0 ? ETIMEDOUT : errno;
	if (pid > 0 && child_wait(pid, CHILD_PATIENCE_MS, &status) != CHILD_ENDED)
		status = -1;
	if (pid > 0 && status == 0) {
		close(pipe_fds[0]);
		return 0;
	}
	layout_fail(layout, "a process of its own for mounts and namespaces");
	fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK); /* one that still lives holds the other end */
	if (read(pipe_fds[0], &layout->error, sizeof(layout->error)) == sizeof(layout->error) &&
	    read(pipe_fds[0], layout->text, sizeof(layout->text)) < 0)
		layout->text[0] = '\0';
	close(pipe_fds[0]);
	return -1;
}

/* The container's root is this process's own, and all that it mounts there stays. */
static int mount_overlays(struct layout *layout)
{
	const char *what = LAYOUT_ROOT;
	long ret;

	if (chroot(LAYOUT_ROOT) < 0 || chdir("/") < 0)
		return layout_fail(layout, what);
	ret = jail_start_overlays(layout->start, layout->layers, &what);
	errno = ret < 0 ? (int)-ret : 0;
	return ret < 0 ? layout_fail(layout, what) : 0;
}

static int lay_overlays(struct layout *layout)
{
	if (!layout->start->plan->rootfs.overlay_count)
		return 0;
	if (make_point(layout, LAYOUT_ROOT "/dev", true) < 0 || make_point(layout, SCRATCH_INSIDE, true) < 0)
		return -1;
	if (mount(SCRATCH, SCRATCH_INSIDE, NULL, MS_BIND, NULL) < 0)
		return layout_fail(layout, SCRATCH_INSIDE);
	if (in_child(layout, mount_overlays) < 0)
		return -1;
	return umount2(SCRATCH_INSIDE, MNT_DETACH) == 0 ? 0 : layout_fail(layout, SCRATCH_INSIDE);
}

/* A cgroup namespace's root is where its maker is at the time: in the cgroups of the run, for a moment. */
static int make_cgroup_namespace(struct layout *layout)
{
	const struct jail_start *start = layout->start;

	for (size_t i = start->first_join; i < start->fd_count; i++)
		if (write(start->fds[i], "0", 1) != 1)
			return layout_fail(layout, "the run's cgroups");
	if (unshare(CLONE_NEWCGROUP) < 0 ||
	    mount("/proc/self/ns/cgroup", LAYOUT_CGROUP_NS, NULL, MS_BIND, NULL) < 0)
		return layout_fail(layout, "a cgroup namespace");
	return 0;
}

static int lay_namespaces(struct layout *layout)
{
	const struct jail_start *start = layout->start;
	char path[40] = "/proc/self/fd/";

	if ((start->plan->namespaces & CLONE_NEWCGROUP) &&
	    (make_point(layout, LAYOUT_CGROUP_NS, false) < 0 || in_child(layout, make_cgroup_namespace) < 0))
		return -1;
	if (start->network_fd < 0)
		return 0;
	layout_number(path + strlen(path), (size_t)start->network_fd);
	if (make_point(layout, LAYOUT_NETWORK_NS, false) < 0 ||
	    mount(path, LAYOUT_NETWORK_NS, NULL, MS_BIND, NULL) < 0)
		return layout_fail(layout, LAYOUT_NETWORK_NS);
	return 0;
}

/* ---- all of it ---- */

/* What a policy without the host's network runs has no more of it than the policy: not even to be changed. */
static int leave_network(struct layout *layout)
{
	const struct jail_start *start = layout->start;
	int ret;

	if (!(start->plan->namespaces & CLONE_NEWNET))
		return 0;
	ret = start->network_fd >= 0 ? setns(start->network_fd, CLONE_NEWNET) : unshare(CLONE_NEWNET);
	return ret == 0 ? 0 : layout_fail(layout, "a network namespace");
}

/* Nobody's business but ours, and nothing to be written to: runtimes make control groups, directories and files for their own books. */
static int seal_host(struct layout *layout)
{
	struct {
		uint64_t set, clear, propagation, userns_fd;
	} attr = { .set = ATTR_RDONLY };

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return layout_fail(layout, "a mount namespace");
	/* A runtime that wants one version of cgroups has nothing to do with either here, and is shown the first only. */
	if (layout->one_version && access(HYBRID "/cgroup.procs", F_OK) == 0 &&
	    mount("none", HYBRID, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k") < 0)
		return layout_fail(layout, HYBRID);
	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return layout_fail(layout, "the host as read-only mounts");
	if (mount("proc", "/proc", "proc", PROC_FLAGS, NULL) < 0)
		return layout_fail(layout, "/proc");
	return 0;
}

/* In a user namespace the kernel mounts a new /proc only where a whole one is to be seen: nothing on it, and not read-only. The sealed one
 * is none; another is mounted for the kernel's list alone, in a directory that is covered then, so that no path leads there. */
static int keep_whole_proc(struct layout *layout)
{
	if (mkdir(BEHIND, 0700) < 0 || mkdir(BEHIND "/proc", 0700) < 0 ||
	    mount("proc", BEHIND "/proc", "proc", PROC_FLAGS, NULL) < 0 ||
	    mount("none", BEHIND, "tmpfs", PROC_FLAGS | MS_RDONLY, "size=4k,mode=0") < 0)
		return layout_fail(layout, BEHIND);
	return 0;
}

/* An entry of /proc that is no process and could be written to. */
static int seal_entry(struct layout *layout, const char *name)
{
	char path[sizeof(layout->text)] = "/proc/";
	struct stat st;

	if (name[0] == '.' || (name[0] >= '0' && name[0] <= '9'))
		return 0;
	memcpy(path + 6, name, strlen(name) + 1);
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : layout_fail(layout, path);
	if (!S_ISDIR(st.st_mode) && !(S_ISREG(st.st_mode) && (st.st_mode & 0222)))
		return 0;
	return mount(path, path, NULL, MS_BIND, NULL) == 0 &&
		       mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | PROC_FLAGS, NULL) == 0
		   ? 0
		   : layout_fail(layout, path);
}

/* Its settings are those of the whole host: only what tells of processes stays writable, for runtimes set that. */
static int seal_proc(struct layout *layout)
{
	char buf[4096] __attribute__((aligned(8)));
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = fd < 0 ? layout_fail(layout, "/proc") : 0;
	long n = 0;

	while (ret == 0 && (n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long at = 0; ret == 0 && at < n;) {
			const struct dirent64 *entry = (const void *)(buf + at);

			ret = seal_entry(layout, entry->d_name);
			at += entry->d_reclen;
		}
	if (n < 0)
		ret = layout_fail(layout, "/proc");
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Engines set what they find of a network, in the mount namespace that they have: there is none, as there is no network. */
static int hide_network(struct layout *layout)
{
	if (!(layout->start->plan->namespaces & CLONE_NEWNET) ||
	    mount("none", "/proc/sys/net", "tmpfs", PROC_FLAGS | MS_RDONLY, "size=4k") == 0)
		return 0;
	return layout_fail(layout, "/proc/sys/net");
}

int layout_make(struct layout *layout)
{
	const struct rootfs *rootfs = &layout->start->plan->rootfs;

	if (leave_network(layout) < 0 || seal_host(layout) < 0)
		return -1;
	if (mount("warder", LAYOUT_DIR, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711,size=8m") < 0 ||
	    mkdir(LAYOUT_ROOT, 0755) < 0 || mkdir(LAYOUT_BINDS, 0711) < 0 || mkdir(LAYOUT_STATE, 0700) < 0)
		return layout_fail(layout, LAYOUT_DIR);
	if (keep_whole_proc(layout) < 0 || seal_proc(layout) < 0 || hide_network(layout) < 0 ||
	    lay_scratch(layout) < 0)
		return -1;
	for (size_t i = 0; i < rootfs->count; i++)
		if (lay_entry(layout, i) < 0)
			return -1;
	if (lay_overlays(layout) < 0 || lay_authorities(layout) < 0 || lay_namespaces(layout) < 0)
		return -1;
	return write_file(layout, LAYOUT_DIR "/config.json", layout->config, strlen(layout->config), 0600);
}
