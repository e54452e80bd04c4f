/*
 * join: the way of an init into a session that is there (the host's side and the reasons are in jail/joined.c).
 *
 * Helper and middle do nothing but enter and fork. The helper waits for middle, so that its end tells the host that init's descriptor
 * has been sent, or why not.
 *
 * A joiner is begun in the same way, in the place of an init, but stays in the session's pid namespace (jail/joiner.c). It has a copy of the
 * session's mounts, from which it has taken what is every execution's own: /proc and /dev/pts. The two or three covers of names in /proc that were
 * made for the session's launch wait at a name that each init's copy has free again when it has moved them.
 */
#include <asm/signal.h>
#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include <stdbool.h>

#include "base/array.h"
#include "jail/inside/inside.h"
#include "jail/inside/message.h"
#include "jail/inside/sys.h"

#define ENOENT_    2
#define EINTR_     4
#define EINVAL_    22
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
 * over all thread groups of the host; the first to take it waits for an RCU grace period (11 ms measured). A joiner stays in this pid namespace.
 * Returns only in what is begun. */
static void begin_init(struct inside *in)
{
	int init_fd = -1;
	const bool serves = in->block->flags & WIRE_SERVES;
	struct clone_args args = {
		.flags = CLONE_PIDFD | (serves ? 0 : CLONE_NEWPID),
		.exit_signal = SIGCHLD,
		.pidfd = (uint64_t)(uintptr_t)&init_fd,
	};
	long pid;

	if (in->block->flags & WIRE_LEAF && !serves) {
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
static long enter(struct inside *in)
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

/* ---- a joiner ---- */

/* Where covers wait. It is there in every root, because it covers names of /proc itself. */
#define STACK "/dev/null"

/* The last one first, so that the first one is on top. */
static long stack_covers(struct inside *in)
{
	int fds[COVERS_MAX];
	uint32_t count = 0;
	long ret = take_covers(in, fds, &count);

	while (count-- > 0) {
		if (fds[count] < 0)
			continue;
		if (ret == 0)
			ret = sys(move_mount, fds[count], "", AT_FDCWD, STACK, MOVE_MOUNT_F_EMPTY_PATH);
		in->stacked |= 1u << count;
		sys(close, fds[count]);
	}
	return ret;
}

static long unstack_covers(struct inside *in)
{
	const struct wire_cover *covers = WIRE_AT(in->block, in->block->covers, const struct wire_cover);
	uint32_t next = 0;
	long ret = 0;

	for (uint32_t i = 0; i < in->block->cover_count && next < COVERS_MAX && ret == 0; i++) {
		if (!(covers[i].flags & WIRE_COVER_LAUNCH))
			continue;
		in->what = WIRE_AT(in->block, covers[i].target, char);
		if (in->stacked & (1u << next))
			ret = sys(move_mount, AT_FDCWD, STACK, AT_FDCWD, in->what, 0);
		next++;
	}
	return ret;
}

static long strip_copy(struct inside *in)
{
	long ret = stack_covers(in);

	if (ret < 0)
		return ret;
	in->what = "/proc";
	ret = sys(umount2, "/proc", MNT_DETACH);
	if (ret < 0)
		return ret;
	in->what = "/dev/pts";
	ret = sys(umount2, "/dev/pts", MNT_DETACH);
	return ret < 0 && ret != -EINVAL_ && ret != -ENOENT_ ? ret : 0;
}

long join_enter(struct inside *in)
{
	const long ret = enter(in);

	return ret == 0 && in->block->flags & WIRE_SERVES ? strip_copy(in) : ret;
}

/* Above the numbers of what comes with an order, which are those that init's descriptors have. */
#define KEPT_FROM 64

_Static_assert(KEPT_FROM > WIRE_FORK_FDS_MAX, "an order's descriptors get the numbers from 0 on");

/* Waits for a message. False: the host's process is dead. */
static bool is_wanted(int socket, int supervisor)
{
	struct pollfd polled[2] = { { .fd = socket, .events = POLLIN },
				    { .fd = supervisor, .events = POLLIN } };
	long ret;

	do
		ret = sys(ppoll, polled, 2, 0, 0, 0);
	while (ret == -EINTR_);
	return ret > 0 && !polled[1].revents;
}

/* An order with its descriptors. Their number; 0: nobody orders any more. */
static long await_order(int socket, int supervisor, struct wire_fork *order)
{
	int fds[WIRE_FORK_FDS_MAX];
	size_t count = 0;

	if (!is_wanted(socket, supervisor) ||
	    message_receive(socket, order, sizeof(*order), false, fds, WIRE_FORK_FDS_MAX, &count) !=
		(long)sizeof(*order))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (fds[i] != (int)i)
			return 0;
	return (long)count;
}

static void answer(int socket, long pid, int pidfd)
{
	struct wire_message message = { .type = pid < 0 ? WIRE_FAILED : WIRE_JOINED,
					.step = WIRE_STEP_SERVE,
					.error = pid < 0 ? (int32_t)-pid : 0 };

	if (pid < 0)
		sys(write, socket, &message, sizeof(message));
	else if (message_send(socket, &message, sizeof(message), &pidfd, 1) < 0)
		sys(kill, pid, SIGKILL);
}

/* True in the init. It is the child of this process's parent, the session's init. */
static bool carry_out(int socket, const struct wire_fork *order, int count)
{
	const bool leaf = order->namespaces & CLONE_INTO_CGROUP;
	int pidfd = -1;
	struct clone_args args = {
		.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_PARENT | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
	};
	long pid;

	if (leaf) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)(count - 1);
	}
	pid = sys(clone3, &args, sizeof(args));
	if (pid == 0) {
		sys(close_range, count - leaf, ~0u, 0);
		return true;
	}
	/* First, so that the ends of what the host waits for are init's alone. */
	sys(close_range, 0, count - 1, 0);
	answer(socket, pid, pidfd);
	if (pid > 0)
		sys(close, pidfd);
	return false;
}

long join_serve(struct inside *in)
{
	const struct wire_message ready = { .type = WIRE_READY };
	const long socket = sys(fcntl, WIRE_FD_CONTROL, F_DUPFD_CLOEXEC, KEPT_FROM);
	const long supervisor = sys(fcntl, WIRE_FD_SUPERVISOR, F_DUPFD_CLOEXEC, KEPT_FROM);
	struct wire_message go;
	struct wire_fork order;
	long count;

	if (socket < 0 || supervisor < 0)
		return socket < 0 ? socket : supervisor;
	sys(munmap, in->block, in->block->size);
	in->block = 0;
	sys(close_range, 0, KEPT_FROM - 1, 0);
	/* After middle's words. */
	if (!is_wanted((int)socket, (int)supervisor) || sys(read, socket, &go, sizeof(go)) != sizeof(go))
		sys(exit_group, 125);
	sys(write, socket, &ready, sizeof(ready));
	while ((count = await_order((int)socket, (int)supervisor, &order)) > 0)
		if (carry_out((int)socket, &order, (int)count)) {
			in->served = true;
			return 0;
		}
	sys(exit_group, 0);
	__builtin_unreachable();
}

/* The new one is made while the session's is there, which a user namespace without one may not; then that one goes, with its
 * covers. */
long join_mount_proc(struct inside *in)
{
	int fds[COVERS_MAX];
	uint32_t count = 0;
	long ret;

	/* A joiner has taken the session's away, and root needs no other one to see. */
	if (in->served) {
		in->what = "/proc";
		/* "none", as a mount of mount_proc() has it. */
		ret = sys(mount, "none", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
			  "hidepid=2");
		return ret == 0 ? unstack_covers(in) : ret;
	}
	ret = take_covers(in, fds, &count);
	if (ret == 0)
		ret = mount_proc(in);
	if (ret == 0)
		ret = give_covers(in, fds, count);
	for (uint32_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			sys(close, fds[i]);
	return ret;
}
