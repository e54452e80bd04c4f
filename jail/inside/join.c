/*
 * join: the way of an init into a session that is there (the host's side and the reasons are in jail/joined.c).
 *
 * Helper and middle do nothing but enter and fork. The helper waits for middle, so that its end tells the host that init's descriptor
 * has been sent, or why not.
 */
#include <asm/signal.h>
#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include <stdbool.h>

#include "base/array.h"
#include "jail/inside/inside.h"
#include "jail/inside/message.h"
#include "jail/inside/sys.h"

#define ENOENT_    2
#define EINTR_     4
#define COVERS_MAX 8 /* of those that are made at a launch; a plan has fewer */

#ifndef MNT_DETACH
#define MNT_DETACH 2
#endif

/* Descriptors that follow those of the cgroups to join: the namespaces that have no fixed descriptor, and the leaf of cgroup v2. */
enum { JOIN_PID, JOIN_IPC, JOIN_UTS, JOIN_CGROUP, JOIN_TIME, JOIN_LEAF, JOIN_COUNT };

static int place_of(const struct inside *in, int which)
{
	return WIRE_FD_FIRST + (int)in->block->join_count + which;
}

static long send_init(int init_fd)
{
	struct wire_message message = { .type = WIRE_JOINED };

	return message_send(WIRE_FD_CONTROL, &message, sizeof(message), &init_fd, 1);
}

/* In middle: clone init into a pid namespace of its own, and into its leaf of cgroup v2. Moving it there later through cgroup.procs takes a lock
 * over all thread groups of the host; the first to take it waits for an RCU grace period (11 ms measured). Returns only in init. */
static void begin_init(struct inside *in)
{
	int init_fd = -1;
	struct clone_args args = {
		.flags = CLONE_NEWPID | CLONE_PIDFD,
		.exit_signal = SIGCHLD,
		.pidfd = (uint64_t)(uintptr_t)&init_fd,
	};
	long pid;

	if (in->block->flags & WIRE_LEAF) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)place_of(in, JOIN_LEAF);
	}
	pid = sys(clone3, &args, sizeof(args));
	if (pid == 0)
		return;
	in->what = "the init process of an execution";
	if (pid > 0)
		pid = send_init(init_fd);
	if (pid < 0)
		inside_fail(in, WIRE_FD_CONTROL, WIRE_STEP_JOIN, pid, in->what);
	sys(exit_group, 0);
	__builtin_unreachable();
}

long join_session(struct inside *in)
{
	int status = 0;
	long ret = 0;
	long pid;

	/* An ordinary user's is in the session's user namespace since before its exec (jail/spawn.c). */
	if (in->block->flags & WIRE_PRIVILEGED)
		ret = sys(prctl, 4 /* PR_SET_DUMPABLE */, 0, 0, 0, 0);
	if (ret == 0) {
		in->what = "pid namespace";
		ret = sys(setns, place_of(in, JOIN_PID), CLONE_NEWPID);
	}
	if (ret < 0)
		return ret;
	pid = sys(clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		begin_init(in);
		return 0;
	}
	if (pid < 0)
		return pid;
	while (sys(wait4, pid, &status, __WALL, 0, 0) == -EINTR_)
		;
	sys(exit_group, status ? 125 : 0);
	__builtin_unreachable();
}

/* The time namespace last of those that need privilege over it: from here on init's clock is the session's. */
long join_enter(struct inside *in)
{
	static const struct {
		const char *name;
		uint64_t flag;
		int which; /* or the number itself, negative */
	} rows[] = {
		{ "mount namespace", CLONE_NEWNS, -WIRE_FD_MOUNT_NS },
		{ "network namespace", CLONE_NEWNET, -WIRE_FD_NET_NS },
		{ "ipc namespace", CLONE_NEWIPC, JOIN_IPC },
		{ "uts namespace", CLONE_NEWUTS, JOIN_UTS },
		{ "time namespace", CLONE_NEWTIME, JOIN_TIME },
	};
	long ret = 0;

	for (unsigned int i = 0; i < ARRAY_LENGTH(rows) && ret == 0; i++) {
		int fd = rows[i].which < 0 ? -rows[i].which : place_of(in, rows[i].which);

		in->what = rows[i].name;
		if (in->block->namespaces & rows[i].flag)
			ret = sys(setns, fd, rows[i].flag);
	}
	for (int i = 0; i < JOIN_COUNT; i++)
		sys(close, place_of(in, i));
	sys(close, WIRE_FD_MOUNT_NS);
	sys(close, WIRE_FD_NET_NS);
	if (ret == 0) {
		in->what = "a copy of the mounts";
		ret = sys(unshare, CLONE_NEWNS);
	}
	return ret;
}

/* What covers names of the session's /proc and was made for its launch, as detached mounts, in the order of the block. A name that
 * the kernel does not have is -1. */
static long take_covers(struct inside *in, int *ret_fds, uint32_t *ret_count)
{
	const struct wire_cover *covers = WIRE_AT(in->block, in->block->covers, const struct wire_cover);

	for (uint32_t i = 0; i < in->block->cover_count; i++) {
		long fd;

		if (!(covers[i].flags & WIRE_COVER_LAUNCH) || *ret_count == COVERS_MAX)
			continue;
		in->what = WIRE_AT(in->block, covers[i].target, char);
		fd = sys(open_tree, AT_FDCWD, in->what, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		if (fd < 0 && fd != -ENOENT_)
			return fd;
		ret_fds[(*ret_count)++] = (int)fd;
	}
	return 0;
}

static long give_covers(struct inside *in, const int *fds, uint32_t count)
{
	const struct wire_cover *covers = WIRE_AT(in->block, in->block->covers, const struct wire_cover);
	uint32_t next = 0;
	long ret = 0;

	for (uint32_t i = 0; i < in->block->cover_count && next < count && ret == 0; i++) {
		if (!(covers[i].flags & WIRE_COVER_LAUNCH))
			continue;
		in->what = WIRE_AT(in->block, covers[i].target, char);
		if (fds[next] >= 0)
			ret = sys(move_mount, fds[next], "", AT_FDCWD, in->what, MOVE_MOUNT_F_EMPTY_PATH);
		next++;
	}
	return ret;
}

static long mount_proc(struct inside *in)
{
	long context = sys(fsopen, "proc", FSOPEN_CLOEXEC);
	long mount_fd = -1;
	long ret = context;

	in->what = "/proc";
	if (ret >= 0)
		ret = sys(fsconfig, context, FSCONFIG_SET_STRING, "hidepid", "2", 0);
	if (ret == 0)
		ret = sys(fsconfig, context, FSCONFIG_SET_FLAG, "ro", 0, 0);
	if (ret == 0)
		ret = sys(fsconfig, context, FSCONFIG_CMD_CREATE, 0, 0, 0);
	if (ret == 0)
		mount_fd = sys(fsmount, context, FSMOUNT_CLOEXEC,
			       MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (ret == 0)
		ret = mount_fd < 0 ? mount_fd : sys(umount2, "/proc", MNT_DETACH);
	if (ret == 0)
		ret = sys(move_mount, mount_fd, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH);
	if (mount_fd >= 0)
		sys(close, mount_fd);
	if (context >= 0)
		sys(close, context);
	return ret;
}

/* The new one is made while the session's is there, which a user namespace without one may not; then that one goes, with its
 * covers. */
long join_mount_proc(struct inside *in)
{
	int fds[COVERS_MAX];
	uint32_t count = 0;
	long ret = take_covers(in, fds, &count);

	if (ret == 0)
		ret = mount_proc(in);
	if (ret == 0)
		ret = give_covers(in, fds, count);
	for (uint32_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			sys(close, fds[i]);
	return ret;
}
