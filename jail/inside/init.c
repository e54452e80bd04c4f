/*
 * init: pid 1 of a jail. A static program without libc, executed from a sealed memfd, so that nothing of the
 * supervisor's memory is in it. It enters what the host prepared, forks the payload, gives up every privilege, and
 * then only waits: for the payload's end, which it reports, or for the supervisor's death or the backstop deadline,
 * which end the jail. When it exits the kernel kills the whole pid namespace.
 *
 * Order, privileged launch (the namespaces belong to the initial user namespace, so that the jail's user has no
 * power over any of them, whatever it becomes):
 *   while the host's /proc is visible: cgroup, clock, oom score  ->  the prepared root  ->  overlays, mounts  ->  network,
 *   hostname, cgroup namespace  ->  the jail's user namespace, where "root" is an unprivileged host id.
 * Ordinary user: the user namespace came first, with the clone; the root is built here.
 *
 * Every blocking point also watches the supervisor's pidfd, so that a jail never outlives its supervisor.
 */
#include <asm/signal.h>
#include <linux/capability.h>
#include <linux/fcntl.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <linux/sockios.h>
#include <linux/time_types.h>
#include <linux/utsname.h>
#include <linux/wait.h>

#include <stdbool.h>

#include "base/array.h"
#include "jail/inside/accounts.h"
#include "jail/inside/inside.h"
#include "jail/inside/message.h"
#include "jail/inside/overlay.h"
#include "jail/inside/root.h"
#include "jail/inside/scratch.h"
#include "jail/inside/sockets.h"
#include "jail/inside/sys.h"
#include "jail/inside/tree.h"

/* struct ifreq as far as it is used; <linux/if.h> needs a libc. */
struct interface_request {
	char name[16];
	short flags;
	char rest[22];
};
#define INTERFACE_UP 1

#ifndef MNT_DETACH
#define MNT_DETACH 2
#endif
#define ENOENT_  2
#define EINTR_   4
#define EBADF_   9
#define EINVAL_  22
#define ENOSYS_  38
#define ENOTDIR_ 20

/* ---- steps ---- */

/* A caller's real-time class or raised priority is not the program's; a lowered one stays. */
static long drop_priority(void)
{
	const int none = 0;
	long policy = sys(sched_getscheduler, 0);

	if (policy != 0 && policy != 3 /* SCHED_BATCH */ && policy != 5 /* SCHED_IDLE */) {
		long ret = sys(sched_setscheduler, 0, 0 /* SCHED_OTHER */, &none);

		if (ret < 0)
			return ret;
	}
	/* Of the I/O classes as well; a kernel without them has none to reset. */
	if (sys(ioprio_get, 1 /* IOPRIO_WHO_PROCESS */, 0) >> 13 == 1 /* IOPRIO_CLASS_RT */)
		sys(ioprio_set, 1, 0, 0);
	/* getpriority(2) as a system call answers 20 minus the nice value. */
	return sys(getpriority, 0 /* PRIO_PROCESS */, 0) > 20 ? sys(setpriority, 0, 0, 0) : 0;
}

/* CLONE_CLEAR_SIGHAND leaves ignored signals ignored, and so does exec: the caller's SIGCHLD and SIGPIPE are meant. */
static void default_signals(void)
{
	uint64_t action[4] = { 0 }; /* SIG_DFL, no flags, no restorer, empty mask */

	for (int number = 1; number <= 64; number++)
		sys(rt_sigaction, number, action, 0, 8);
}

static long step_session(struct inside *in)
{
	long ret;

	const uint64_t all = ~0ull;

	default_signals();
	/* As it is from birth where we make it: init asks for its signals when it has the time. */
	if (in->block->flags & WIRE_CONTAINED)
		sys(rt_sigprocmask, 2 /* SIG_SETMASK */, &all, 0, sizeof(all));
	/* A caller without address randomisation (setarch -R, a debugger) is not to pass that on. */
	sys(personality, 0);
	sys(prctl, PR_SET_NAME, "warder-init", 0, 0, 0);
	sys(umask, 0);
	/* The caller's session keyring must not be reachable; a kernel without keyrings has none. */
	ret = sys(keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0);
	if (ret < 0 && ret != -ENOSYS_) {
		in->what = "session keyring";
		return ret;
	}
	in->what = "priority";
	ret = drop_priority();
	if (ret < 0)
		return ret;
	in->what = "";
	if (in->block->flags & WIRE_BARE)
		ret = sys(prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (ret < 0)
		return ret;
	ret = sys(setsid);
	/* The runtime has made it the leader of a session already. */
	return ret < 0 && !(in->block->flags & WIRE_CONTAINED) ? ret : 0;
}

/* Until the host has made the descriptor readable, or is dead. */
static void await_host(int fd)
{
	struct pollfd fds[2] = { { .fd = fd, .events = POLLIN },
				 { .fd = WIRE_FD_SUPERVISOR, .events = POLLIN } };
	long n;

	do
		n = sys(ppoll, fds, 2, 0, 0, 0);
	while (n == -EINTR_);
	if (n < 0 || !fds[0].revents)
		sys(exit_group, 125);
}

static long join_cgroup(int fd)
{
	const long ret = sys(write, fd, "0", 1);

	sys(close, fd);
	return ret < 0 ? ret : 0;
}

static long step_cgroup(struct inside *in)
{
	const int first = WIRE_FD_FIRST + (int)in->block->attach_count + (int)in->block->layer_count;
	int fds[MESSAGE_FDS_MAX];
	long count = in->block->join_count;
	long ret = 0;

	/* The host makes these cgroups meanwhile; if it cannot, it ends the jail. */
	if (in->block->flags & WIRE_JOINS_FOLLOW) {
		await_host(WIRE_FD_CONTROL);
		count = message_receive_fds(WIRE_FD_CONTROL, fds);
	} else {
		for (long i = 0; i < count; i++)
			fds[i] = first + (int)i;
	}
	for (long i = 0; i < count && ret == 0; i++)
		ret = join_cgroup(fds[i]);
	return count < 0 ? count : ret;
}

static long write_text(const char *path, const char *text, size_t len)
{
	long fd = sys(openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	long ret;

	if (fd < 0)
		return fd;
	ret = sys(write, fd, text, len);
	sys(close, fd);
	return ret < 0 ? ret : 0;
}

static size_t put_text(char *to, const char *text)
{
	size_t n = 0;

	while (text[n]) {
		to[n] = text[n];
		n++;
	}
	return n;
}

static size_t put_number(char *to, int64_t value)
{
	char digits[24];
	size_t n = 0;
	size_t len = 0;
	uint64_t left = value < 0 ? (uint64_t)-value : (uint64_t)value;

	do {
		digits[n++] = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if (value < 0)
		to[len++] = '-';
	while (n)
		to[len++] = digits[--n];
	return len;
}

/* The payload, forked later, is the first process of the new time namespace: offsets must be set before. */
static long step_clock(struct inside *in)
{
	char text[128];
	size_t n = 0;
	long ret;

	if (!(in->block->flags & WIRE_TIME_NS))
		return 0;
	ret = sys(unshare, CLONE_NEWTIME);
	if (ret < 0)
		return ret;
	n += put_text(text + n, "monotonic ");
	n += put_number(text + n, in->block->clock_offset);
	n += put_text(text + n, " 0\nboottime ");
	n += put_number(text + n, in->block->clock_offset);
	n += put_text(text + n, " 0\n");
	in->what = "/proc/self/timens_offsets";
	return write_text("/proc/self/timens_offsets", text, n);
}

/* The host's memory pressure takes the jail first. Raising needs no privilege. */
static long step_oom(struct inside *in)
{
	if (in->block->flags & WIRE_FRESH_USER_NS) {
		in->what = ACCOUNTS_PATH;
		in->sysctl_fd =
		    (int)sys(openat, AT_FDCWD, ACCOUNTS_PATH, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
		if (in->sysctl_fd < 0)
			return in->sysctl_fd;
	}
	in->what = "/proc/self/oom_score_adj";
	return write_text(in->what, "800", 3);
}

static int first_after_joins(const struct inside *in)
{
	return WIRE_FD_FIRST +
	       (int)(in->block->attach_count + in->block->layer_count + in->block->join_count);
}

static long step_root(struct inside *in)
{
	long ret;

	if (!(in->block->flags & WIRE_PRIVILEGED))
		return root_build(in->block, &in->what);
	/* The host ends a jail whose root cannot be built. */
	if (in->block->flags & WIRE_BUILDING) {
		const int built_fd = first_after_joins(in);

		await_host(built_fd);
		sys(close, built_fd);
	}
	ret = sys(setns, WIRE_FD_MOUNT_NS, CLONE_NEWNS);
	if (ret == 0 && (in->block->flags & WIRE_REUSABLE))
		ret = sys(unshare, CLONE_NEWNS);
	sys(close, WIRE_FD_MOUNT_NS);
	return ret;
}

static bool is_below_tmp(const char *path)
{
	return path[0] == '/' && path[1] == 't' && path[2] == 'm' && path[3] == 'p' && path[4] == '/';
}

/* What is made below /tmp on the way to a mount, the jail's user may use as /tmp itself. */
static long step_attach(struct inside *in)
{
	const struct wire_entry *entries = WIRE_AT(in->block, in->block->entries, const struct wire_entry);
	int next = WIRE_FD_FIRST;
	long root_fd;
	long ret = 0;

	root_fd = sys(openat, AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (root_fd < 0)
		return root_fd;
	for (uint32_t i = 0; i < in->block->entry_count && ret == 0; i++) {
		int fd = entries[i].fd;

		if (!(entries[i].flags & WIRE_ENTRY_LATE))
			continue;
		in->what = WIRE_AT(in->block, entries[i].target, char);
		if (entries[i].kind == WIRE_FILE)
			ret = tree_put_file((int)root_fd, in->what, WIRE_AT(in->block, entries[i].text, char),
					    entries[i].text_len);
		if (entries[i].kind != WIRE_BIND)
			continue;
		if (fd < 0)
			fd = next++;
		if (entries[i].flags & WIRE_ENTRY_MAKE)
			ret = tree_make_point((int)root_fd, in->what,
					      entries[i].flags & WIRE_ENTRY_IS_DIRECTORY,
					      is_below_tmp(in->what) ? 01777 : 0755);
		if (ret == 0)
			ret = tree_move((int)root_fd, fd, in->what);
		sys(close, fd);
	}
	sys(close, root_fd);
	return ret;
}

/* What is made for this launch lies in the scratch tmpfs, which may be written. */
static long seal_cover(const char *target)
{
	return sys(mount, 0, target, 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
		   0);
}

static long cover(struct inside *in, const struct wire_cover *cover)
{
	const char *target = WIRE_AT(in->block, cover->target, char);
	const char *source = WIRE_AT(in->block, cover->source, char);
	long ret = sys(mount, source, target, 0, MS_BIND, 0);

	in->what = target;
	/* Not in this kernel. */
	if (ret == -ENOENT_ || ret == -ENOTDIR_)
		return 0;
	return ret == 0 && cover->flags & WIRE_COVER_LAUNCH ? seal_cover(target) : ret;
}

/*
 * /proc is mounted read-only as a whole, which covers /proc/sys, sysrq-trigger, irq, bus and every per-process knob. The
 * block's covers hide what describes the host (jail/proc.c). In a session those that were made for its launch come along.
 *
 * A zygote's is whole and writable: the kernel lets the forks mount one of their own only where such a one can be seen, and they set
 * themselves up through it.
 */
static long step_proc(struct inside *in)
{
	const struct wire_cover *covers = WIRE_AT(in->block, in->block->covers, const struct wire_cover);
	const bool joins = in->block->flags & WIRE_JOINS;
	long ret;

	in->what = "/proc";
	ret = joins ? join_mount_proc(in)
		    : sys(mount, "proc", "/proc", "proc",
			  (in->block->flags & WIRE_ZYGOTE ? 0 : MS_RDONLY) | MS_NOSUID | MS_NODEV | MS_NOEXEC,
			  "hidepid=2");
	for (uint32_t i = 0; i < in->block->cover_count && ret == 0; i++)
		if (!(covers[i].flags & (WIRE_COVER_PART | (joins ? WIRE_COVER_LAUNCH : 0))))
			ret = cover(in, &covers[i]);
	return ret;
}

/* The files that describe this launch in /proc. */
static long write_covers(struct inside *in)
{
	const struct wire_cover *covers = WIRE_AT(in->block, in->block->covers, const struct wire_cover);
	long ret = sys(mkdirat, AT_FDCWD, WIRE_LAUNCH_PROC, 0711);

	for (uint32_t i = 0; i < in->block->cover_count && ret == 0; i++) {
		if (!(covers[i].flags & WIRE_COVER_LAUNCH))
			continue;
		in->what = WIRE_AT(in->block, covers[i].target, char);
		ret = tree_write_file(AT_FDCWD, WIRE_AT(in->block, covers[i].source, char),
				      WIRE_AT(in->block, covers[i].text, char), covers[i].text_len);
	}
	return ret;
}

/* One tmpfs for everything that the program may write outside its workspace, so that one size bounds all of it. */
static long step_scratch(struct inside *in)
{
	const char *options = WIRE_AT(in->block, in->block->scratch_options, const char);
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	long ret;

	in->what = "/tmp";
	ret = sys(mount, "scratch", WIRE_SCRATCH, "tmpfs", flags, options);
	if (ret == 0)
		ret = sys(mkdirat, AT_FDCWD, "/dev/shm/tmp", 01777);
	if (ret == 0)
		ret = sys(mkdirat, AT_FDCWD, "/dev/shm/shm", 01777);
	if (ret == 0)
		ret = sys(mount, "/dev/shm/tmp", "/tmp", 0, MS_BIND, 0);
	if (ret == 0 && (in->block->flags & WIRE_TMP_EXEC))
		ret = sys(mount, 0, "/tmp", 0, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, 0);
	return ret < 0 ? ret : write_covers(in);
}

static long step_overlays(struct inside *in)
{
	const int layer_fd = WIRE_FD_FIRST + (int)in->block->attach_count;

	return in->block->overlay_count ? overlays_mount(in->block, layer_fd, WIRE_FD_CONTROL, &in->what) : 0;
}

/* From here on the scratch tmpfs as a whole is out of reach. */
static long step_shm(struct inside *in)
{
	in->what = "/dev/shm";
	return sys(mount, "/dev/shm/shm", "/dev/shm", 0, MS_BIND, 0);
}

static long step_pts(struct inside *in)
{
	in->what = "/dev/pts";
	/* An execution's terminals are its own. The session itself may have none: then there is nothing to remove. */
	if (in->block->flags & WIRE_JOINS) {
		long ret = sys(umount2, "/dev/pts", MNT_DETACH);

		if (ret < 0 && ret != -EINVAL_ && ret != -ENOENT_)
			return ret;
	}
	return in->block->pts_options ? sys(mount, "devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
					    WIRE_AT(in->block, in->block->pts_options, const char))
				      : 0;
}

static long step_detach(struct inside *in)
{
	return in->block->flags & WIRE_PRIVILEGED ? 0 : root_detach();
}

static long step_whole(struct inside *in)
{
	return in->block->flags & WIRE_WHOLE_ROOT ? overlay_become_root(&in->what) : 0;
}

static long step_network(struct inside *in)
{
	const short up = in->block->flags & WIRE_LOOPBACK_UP ? INTERFACE_UP : 0;
	struct interface_request request = { .name = "lo" };
	long fd;
	long ret;

	if (!(in->block->flags & WIRE_OWN_NETWORK))
		return 0;
	if (in->block->flags & WIRE_PRIVILEGED) {
		ret = sys(setns, WIRE_FD_NET_NS, CLONE_NEWNET);
		if (ret < 0)
			return ret;
		sys(close, WIRE_FD_NET_NS);
	}
	in->what = "lo";
	fd = sys(socket, 2 /* AF_INET */, 2 | O_CLOEXEC /* SOCK_DGRAM */, 0);
	if (fd < 0)
		return fd;
	request.flags = up;
	ret = up ? sys(ioctl, fd, SIOCSIFFLAGS, &request) : 0;
	/* Read back that it is as planned. */
	if (ret == 0)
		ret = sys(ioctl, fd, SIOCGIFFLAGS, &request);
	if (ret == 0 && (request.flags & INTERFACE_UP) != up)
		ret = -EINVAL_;
	sys(close, fd);
	if (ret == 0 && in->block->flags & WIRE_EDGE)
		ret = sockets_make(in->block, first_after_joins(in) + !!(in->block->flags & WIRE_BUILDING),
				   &in->what);
	return ret;
}

/* A runtime has set it: the name is compared. */
static long check_hostname(const char *wanted)
{
	struct new_utsname now;
	long ret = sys(uname, &now);

	for (size_t i = 0; ret == 0; i++) {
		if (now.nodename[i] != wanted[i])
			ret = -EINVAL_;
		if (!wanted[i])
			break;
	}
	return ret;
}

static long step_hostname(struct inside *in)
{
	if (in->block->flags & WIRE_CONTAINED)
		return check_hostname(WIRE_AT(in->block, in->block->hostname, char));
	return sys(sethostname, WIRE_AT(in->block, in->block->hostname, char), in->block->hostname_len);
}

static long step_cgroup_ns(struct inside *in)
{
	return in->block->flags & WIRE_CGROUP_NS ? sys(unshare, CLONE_NEWCGROUP) : 0;
}

/* Not dumpable only now: the kernel gives /proc/self of such a process to an id that an ordinary user's jail lacks. */
static long step_user(struct inside *in)
{
	long ret;

	if (!(in->block->flags & WIRE_PRIVILEGED))
		return sys(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	ret = sys(setns, WIRE_FD_USER_NS, CLONE_NEWUSER);
	sys(close, WIRE_FD_USER_NS);
	if (ret == 0)
		ret = sys(setgroups, 0, 0);
	if (ret == 0)
		ret = sys(setresgid, 0, 0, 0);
	if (ret == 0)
		ret = sys(setresuid, 0, 0, 0);
	if (ret == 0)
		ret = sys(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	return ret;
}

static enum accounts_makers makers(const struct wire_block *block)
{
	return block->flags & WIRE_HOLDS    ? ACCOUNTS_INIT
	       : block->flags & WIRE_ZYGOTE ? ACCOUNTS_ZYGOTE
					    : ACCOUNTS_NOBODY;
}

/* Where root made the user namespace, a helper has done it in there. */
static long step_nesting(struct inside *in)
{
	bool counts_all = true;
	long ret = 0;

	if (in->sysctl_fd >= 0) {
		ret = accounts_limit(in->sysctl_fd, makers(in->block), &counts_all, &in->what);
		sys(close, in->sysctl_fd);
		in->sysctl_fd = -1;
	}
	if (counts_all)
		in->applied |= 1ull << WIRE_STEP_NESTING;
	return ret;
}

/* Dropped once, for init and everything it forks, while the capability to drop is there. The secure bits keep a uid 0
 * inside from meaning anything. */
static long step_bounding(struct inside *in)
{
	long ret = 0;

	if ((in->block->flags & WIRE_CONTAINED) && !(in->block->flags & WIRE_SETPCAP))
		return 0; /* no set has had anything from the start */
	for (int cap = 0; cap < 64; cap++) {
		ret = sys(prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
		if (ret == -EINVAL_)
			break;
		if (ret < 0)
			return ret;
	}
	/* Named one by one: newer headers count bits into "all" that older kernels refuse. */
	return sys(prctl, PR_SET_SECUREBITS,
		   SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		       SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
		       SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		   0, 0, 0);
}

long inside_prepare_fork(struct inside *in)
{
	return sys(pipe2, in->gate, O_CLOEXEC);
}

static long step_fork(struct inside *in)
{
	long ret = inside_prepare_fork(in);

	if (ret < 0)
		return ret;
	in->payload_pid = (int)sys(clone, SIGCHLD, 0, 0, 0, 0);
	if (in->payload_pid == 0)
		payload_main(in);
	return in->payload_pid < 0 ? in->payload_pid : 0;
}

static long step_init_drop(struct inside *in)
{
	long ret;

	/* Standard streams and everything else that init does not need are closed; a pipe's end must be seen. */
	sys(close_range, WIRE_FD_STDIN, WIRE_FD_PROGRESS, 0);
	sys(close, WIRE_FD_EXEC);
	sys(close, WIRE_FD_BLOCK);
	sys(close, in->gate[0]);
	if (in->block->flags & WIRE_BARE)
		return 0;
	/* In a crowd init stops the program, which may be another user. That of a zygote only waits. */
	ret = inside_keep_capabilities(
	    (in->block->flags & (WIRE_CROWDED | WIRE_ZYGOTE)) == WIRE_CROWDED ? 1u << CAP_KILL : 0);
	if (ret == 0)
		ret = sys(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return ret;
}

/* Where a step is done: in a jail of ours, in the container of an OCI runtime, where nothing is restricted. */
enum {
	IN_JAIL = 1,
	IN_CONTAINER = 2,
	IN_NOTHING = 4,
	IN_SESSION = 8, /* of ours, which is there */
	EVERYWHERE = 15,
};

static const struct step {
	enum wire_step id;
	unsigned int where;
	long (*run)(struct inside *in);
} steps[] = {
	{ WIRE_STEP_JOIN, IN_SESSION, join_session },
	{ WIRE_STEP_SESSION, EVERYWHERE, step_session },
	{ WIRE_STEP_CGROUP, EVERYWHERE, step_cgroup }, /* first: all that follows is charged to the jail */
	{ WIRE_STEP_CLOCK, IN_JAIL, step_clock },      /* before the root: needs the host's /proc */
	{ WIRE_STEP_OOM, IN_JAIL | IN_SESSION, step_oom }, /* before the root: needs the host's /proc */
	{ WIRE_STEP_ENTER, IN_SESSION, join_enter },
	{ WIRE_STEP_ROOT, IN_JAIL, step_root },
	{ WIRE_STEP_SCRATCH, IN_JAIL, step_scratch },
	{ WIRE_STEP_OVERLAYS, IN_JAIL, step_overlays }, /* after scratch: what is written lies there */
	/* after scratch, some of whose files cover its names; before detach: needs a visible /proc in a user namespace */
	{ WIRE_STEP_PROC, IN_JAIL | IN_SESSION, step_proc },
	{ WIRE_STEP_SHM, IN_JAIL, step_shm },
	{ WIRE_STEP_ATTACH, IN_JAIL, step_attach }, /* after the overlays: on some of which it lies */
	{ WIRE_STEP_PTS, IN_JAIL | IN_SESSION, step_pts },
	{ WIRE_STEP_DETACH, IN_JAIL, step_detach },
	{ WIRE_STEP_WHOLE, IN_JAIL, step_whole }, /* after detach, whose working directory it takes */
	{ WIRE_STEP_NETWORK, IN_JAIL, step_network },
	{ WIRE_STEP_HOSTNAME, IN_JAIL | IN_CONTAINER, step_hostname },
	/* after join-cgroup: its root is the cgroup of this moment */
	{ WIRE_STEP_CGROUP_NS, IN_JAIL | IN_SESSION, step_cgroup_ns },
	/* after everything that needs the host's privilege */
	{ WIRE_STEP_USER, IN_JAIL | IN_CONTAINER | IN_SESSION, step_user },
	{ WIRE_STEP_NESTING, IN_JAIL | IN_SESSION, step_nesting },
	{ WIRE_STEP_BOUNDING, IN_JAIL | IN_CONTAINER | IN_SESSION, step_bounding },
	{ WIRE_STEP_FORK, EVERYWHERE, step_fork },
	{ WIRE_STEP_INIT_DROP, EVERYWHERE, step_init_drop },
};
#define FORK_AT (ARRAY_LENGTH(steps) - 2)

/* ---- waiting ---- */

static uint64_t now_us(const struct inside *in)
{
	struct __kernel_timespec now = { 0 };

	sys(clock_gettime, 1 /* CLOCK_MONOTONIC */, &now);
	return (uint64_t)(now.tv_sec - in->block_clock_offset) * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void report_end(struct inside *in, int wait_status, const struct inside_rusage *usage)
{
	struct wire_message message = { .type = WIRE_ENDED, .wait_status = wait_status };

	message.end_us = now_us(in);
	message.applied = in->left_running;
	message.user_us = (uint64_t)usage->user_s * 1000000 + (uint64_t)usage->user_us;
	message.system_us = (uint64_t)usage->system_s * 1000000 + (uint64_t)usage->system_us;
	sys(write, WIRE_FD_CONTROL, &message, sizeof(message));
}

/* Reap everything that is dead; true when the payload was among it. */
static bool reap(struct inside *in)
{
	struct inside_rusage usage = { 0 };
	struct inside_rusage payload_usage = { 0 };
	int wait_status = 0;
	int payload_status = 0;
	bool ended = false;
	long pid;

	do {
		pid = sys(wait4, -1, &wait_status, WNOHANG | __WALL, &usage, 0);
		if (pid > 0 && pid == in->payload_pid) {
			ended = true;
			payload_status = wait_status;
			payload_usage = usage;
		}
	} while (pid > 0 || pid == -EINTR_);
	in->left_running = pid == 0;
	if (ended)
		report_end(in, payload_status, &payload_usage);
	return ended;
}

/* As long as something runs that the payload has left. The jail it is in ends it; nobody else waits for it. */
static void stay(struct inside *in, int signals)
{
	struct pollfd fd = { .fd = signals, .events = POLLIN };
	char drain[128] __attribute__((aligned(8)));

	sys(close, WIRE_FD_CONTROL);
	sys(close, WIRE_FD_SUPERVISOR);
	sys(close, WIRE_FD_BACKSTOP);
	while (in->left_running) {
		sys(ppoll, &fd, 1, 0, 0, 0);
		sys(read, signals, drain, sizeof(drain));
		reap(in);
	}
}

/* The process ids in a text, up to its end, each killed. */
static void kill_listed(const char *text, long len)
{
	int pid = 0;

	for (long i = 0; i < len; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			pid = pid * 10 + (text[i] - '0');
		} else if (pid > 0) {
			sys(kill, pid, SIGKILL);
			pid = 0;
		}
	}
}

/*
 * Without a pid namespace nothing dies with init. Whoever's parent has died becomes its child, so that all there is can be found
 * by killing children until there is none, which a program that forks all the time delays, but cannot prevent: killed is what
 * was there, and what it left is there the next time.
 */
static bool kill_children(void)
{
	const struct __kernel_timespec pause = { .tv_nsec = 1000000 };
	char text[4096];
	int wait_status;

	for (;;) {
		long fd = sys(openat, AT_FDCWD, "/proc/thread-self/children", O_RDONLY | O_CLOEXEC, 0);
		long len = fd < 0 ? fd : sys(read, fd, text, sizeof(text));
		long pid;

		if (fd >= 0)
			sys(close, fd);
		/* A number that is cut off at the end has no blank behind it. */
		kill_listed(text, len);
		do
			pid = sys(wait4, -1, &wait_status, WNOHANG | __WALL, 0, 0);
		while (pid > 0 || pid == -EINTR_);
		if (pid < 0 || fd < 0)
			return pid < 0;
		sys(nanosleep, &pause, 0);
	}
}

/* The supervisor is dead. A zygote ends by itself, and its forks, which die with this process, within a second: after the last, or after more
 * than that time. */
static void await_forks(void)
{
	const struct __kernel_timespec pause = { .tv_nsec = 20000000 };
	int wait_status;
	long pid;

	for (int i = 0; i < 100; i++) {
		do
			pid = sys(wait4, -1, &wait_status, WNOHANG | __WALL, 0, 0);
		while (pid > 0 || pid == -EINTR_);
		if (pid < 0)
			return;
		sys(nanosleep, &pause, 0);
	}
}

/*
 * The supervisor of many jails is dead, and all of them end. Each holds a filter, and some kernels deadlock if a thousand are freed at
 * once: so the jails end within a second, at random. Meanwhile nothing runs: the kernel stops all of the pid namespace in one go, which
 * no fork slips through, and nobody is left to continue anybody. Returns the status to end with.
 */
static int end_in_crowd(const struct inside *in)
{
	struct __kernel_timespec pause = { 0 };
	uint32_t random = 0;
	int wait_status = 0;
	int status = WIRE_EXIT_APART;

	if (sys(getpid) != 1)
		return 0;
	if (in->block->flags & WIRE_ZYGOTE) {
		await_forks();
		return status;
	}
	sys(kill, -1, SIGSTOP);
	if (sys(getrandom, &random, sizeof(random), 0) == sizeof(random))
		pause.tv_nsec = random % 1000000000;
	sys(nanosleep, &pause, 0);
	status += (int)(pause.tv_nsec / 100000000);
	while (sys(wait4, -1, &wait_status, WNOHANG | WUNTRACED | __WALL, 0, 0) > 0)
		if ((wait_status & 0xff) == 0x7f)
			return status + WIRE_EXIT_STOPPED;
	return status;
}

/*
 * The program of a jail in a crowd has ended; what it left goes on for a moment. A supervisor that lives kills init in its turn. One that
 * died may itself have ended the program, by a broken pipe, before its death can be seen here.
 */
static int wait_for_turn(const struct inside *in)
{
	struct pollfd fds[2] = { { .fd = WIRE_FD_SUPERVISOR, .events = POLLIN },
				 { .fd = WIRE_FD_BACKSTOP, .events = POLLIN } };
	long n;

	do
		n = sys(ppoll, fds, ARRAY_LENGTH(fds), 0, 0, 0);
	while (n == -EINTR_);
	return end_in_crowd(in);
}

/* The program can kill init: only this message shows that init has done its work. The supervisor removes the directory, after it
 * has taken out the files; unless it is dead. */
static void end_bare(struct inside *in)
{
	struct pollfd supervisor = { .fd = WIRE_FD_SUPERVISOR, .events = POLLIN };
	const struct wire_message emptied = { .type = WIRE_EMPTIED };
	struct __kernel_timespec now = { 0 };

	if (kill_children())
		sys(write, WIRE_FD_CONTROL, &emptied, sizeof(emptied));
	if (in->block->scratch && sys(ppoll, &supervisor, 1, &now, 0, 0) > 0)
		scratch_remove(WIRE_AT(in->block, in->block->scratch, char));
}

static void report_backstop(const struct inside *in)
{
	struct wire_message message = { .type = WIRE_BACKSTOP, .end_us = now_us(in) };

	sys(write, WIRE_FD_CONTROL, &message, sizeof(message));
}

static _Noreturn void wait_for_end(struct inside *in)
{
	const bool crowded = in->block->flags & WIRE_CROWDED;
	/* The host asks an init that restricts nothing to end, which would else only end itself. */
	const bool bare = in->block->flags & WIRE_BARE;
	uint64_t child = 1ull << (SIGCHLD - 1) | (bare ? 1ull << (SIGTERM - 1) : 0);
	long signals = sys(signalfd4, -1, &child, sizeof(child), O_CLOEXEC);
	struct pollfd fds[3] = { { .fd = WIRE_FD_SUPERVISOR, .events = POLLIN },
				 { .fd = (int)signals, .events = POLLIN },
				 { .fd = WIRE_FD_BACKSTOP, .events = POLLIN } };
	char drain[128]
	    __attribute__((aligned(8))); /* one struct signalfd_siginfo, which the number begins */
	int status = 0;

	if (signals < 0)
		inside_fail(in, WIRE_FD_CONTROL, WIRE_STEP_INIT_DROP, signals, "signalfd");
	/* Nothing untrusted runs before this: the payload reads it before it says that it is ready. */
	sys(write, in->gate[1], "", 1);
	sys(close, in->gate[1]);
	for (;;) {
		/* The forks of a zygote outlive it. */
		if (reap(in) && !(in->block->flags & WIRE_ZYGOTE)) {
			if (in->block->flags & WIRE_BACKGROUND)
				stay(in, (int)signals);
			else if (crowded)
				status = wait_for_turn(in);
			break;
		}
		if (sys(ppoll, fds, ARRAY_LENGTH(fds), 0, 0, 0) <= 0)
			continue;
		if (fds[2].revents)
			report_backstop(in);
		if (fds[0].revents || fds[2].revents) {
			if (crowded)
				status = end_in_crowd(in);
			break;
		}
		if (fds[1].revents && sys(read, signals, drain, sizeof(drain)) > 0 &&
		    *(uint32_t *)(void *)drain == SIGTERM)
			break;
	}
	if (bare)
		end_bare(in);
	sys(exit_group, status);
	__builtin_unreachable();
}

/* From the door to the numbers that they are to have. They come in ascending order, and none is below its number. */
static long place_fetched(const int *fds, int count)
{
	for (int i = 0; i < count; i++) {
		long ret = fds[i] == i ? sys(fcntl, i, F_SETFD, 0) : sys(dup3, fds[i], i, 0);

		if (ret < 0)
			return ret;
	}
	return sys(close_range, count, ~0u, 0);
}

/* Who started this could hand on no descriptors: they are fetched, in one message, from a socket in the root. */
static long fetch_fds(void)
{
	struct {
		uint16_t family;
		char path[sizeof(WIRE_DOOR)];
	} address = { 1 /* AF_UNIX */, WIRE_DOOR };
	int fds[MESSAGE_FDS_MAX];
	long fd = sys(socket, 1 /* AF_UNIX */, 5 /* SOCK_SEQPACKET */ | O_CLOEXEC, 0);
	long ret = fd < 0 ? fd : sys(connect, fd, &address, sizeof(address));

	if (ret == 0)
		ret = message_receive_fds((int)fd, fds);
	return ret < 0 ? ret : place_fetched(fds, (int)ret);
}

static long map_block(struct inside *in)
{
	long len = sys(lseek, WIRE_FD_BLOCK, 0, 2 /* SEEK_END */);
	long at;

	if (len == -EBADF_) {
		at = fetch_fds();
		if (at < 0)
			return at;
		len = sys(lseek, WIRE_FD_BLOCK, 0, 2);
	}
	if (len < (long)sizeof(struct wire_block))
		return -EINVAL_;
	at = sys(mmap, 0, len, 3 /* read, write */, 2 /* private */, WIRE_FD_BLOCK, 0);
	if (at < 0 && at > -4096)
		return at;
	in->block = (struct wire_block *)at;
	return in->block->magic == WIRE_MAGIC && in->block->size == (uint32_t)len ? 0 : -EINVAL_;
}

static void run_steps(struct inside *in, size_t first, size_t end)
{
	const unsigned int where = in->block->flags & WIRE_JOINS       ? IN_SESSION
				   : in->block->flags & WIRE_CONTAINED ? IN_CONTAINER
				   : in->block->flags & WIRE_BARE      ? IN_NOTHING
								       : IN_JAIL;

	for (size_t i = first; i < end; i++) {
		long ret;

		in->what = "";
		if (!(steps[i].where & where))
			continue;
		ret = inside_made_to_fail(in, steps[i].id, steps[i].run(in));
		if (ret < 0)
			inside_fail(in, WIRE_FD_CONTROL, steps[i].id, ret, in->what);
	}
}

void inside_begin(struct inside *in)
{
	long ret = map_block(in);

	if (ret < 0)
		inside_fail(in, WIRE_FD_CONTROL, WIRE_STEP_BLOCK, ret, "");
	/* Init of a jail stays in the host's time namespace; one that joins can only enter the session's as a whole, in a
	 * container it is born into it, and a fork of a zygote into the zygote's. */
	if (in->block->namespaces & CLONE_NEWTIME)
		in->block_clock_offset = in->block->clock_offset;
	run_steps(in, 0, FORK_AT);
}

_Noreturn void inside_go_on(struct inside *in)
{
	run_steps(in, FORK_AT + 1, ARRAY_LENGTH(steps));
	wait_for_end(in);
}

_Noreturn void inside_main(void)
{
	struct inside in = { .sysctl_fd = -1, .what = "" };

	inside_begin(&in);
	run_steps(&in, FORK_AT, FORK_AT + 1);
	inside_go_on(&in);
}

/* The kernel enters with the stack aligned to 16; a C function expects it as after a call. */
#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp,%ebp\n\tcall inside_main\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tbl inside_main\n");
#endif
