/*
 * Joining is entering a place that belongs to somebody hostile. What is taken care of:
 *
 * - What joins is init's own program out of a sealed memfd, with nothing of the caller's memory in it: there is nothing to overwrite by
 *   /proc/self/exe, and nothing to read.
 * - Namespaces are entered by descriptors that the session's keeper opened while its init waited, never by pid or name.
 * - Processes of the session live in pid namespaces beside the new one. Nobody who runs code of others lives in the session's own, so that
 *   none of them can name the process that joins: not to trace it, not to signal it, not to open its /proc.
 * - The session's mount namespace is left at once for a copy, whose /proc is taken away and made anew, of the new pid namespace. Its
 *   root is read-only, so that /proc and /dev are what they were. Every other path is resolved after the privileges are dropped.
 * - The payload keeps its streams and nothing else.
 *
 * Three processes: a pid namespace can only be begun from within the one above, which is entered by a fork.
 *
 *   helper (here)    begun in the session's user namespace, if the caller is no root; enters its pid namespace, for its child
 *   middle           is there, and begins the new one
 *   init             the rest; when middle ends, the session's init becomes its parent, and reaps it
 */
#include "jail/joined.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hang.h"
#include "base/namespaces.h"
#include "base/pidfd.h"
#include "jail/receipt.h"
#include "jail/spawn.h"

#ifndef NS_GET_PARENT
#define NS_GET_PARENT _IO(0xb7, 0x2) /* linux/nsfs.h */
#endif

#define JOIN_TIMEOUT_MS 30000
#define JOIN_LOOK_MS    100

/* ---- what stays open for the executions of a template ---- */

struct joined_session {
	uint64_t namespaces[JAIL_JOINT_TIME + 1]; /* the session's; 0: the host's, which it shares */
	struct cgroup_above above;
	_Atomic int files[JOINED_FILES]; /* of an execution; -1: not open */
};

static int unreadable(const char *name, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
			       "read-back: cannot look at the %s namespace", name);
}

struct joined_session *joined_session_new(const struct jail_template *tmpl, struct warder_error *err)
{
	const struct jail_joint *joint = tmpl->plan.joint;
	struct joined_session *session = calloc(1, sizeof(*session));

	if (!session) {
		error_no_memory(err, NULL);
		return NULL;
	}
	for (int i = 0; i < JOINED_FILES; i++)
		atomic_init(&session->files[i], -1);
	session->above = (struct cgroup_above)CGROUP_ABOVE_NONE;
	for (int i = 0; i <= JAIL_JOINT_TIME; i++) {
		const struct namespace_kind *kind = joined_kind((enum jail_joint_fd)i);
		struct stat st;

		if (!(joint->namespaces & kind->flag))
			continue;
		if (fstat(joint->fds[i], &st) < 0) {
			unreadable(kind->file, err);
			joined_session_free(session);
			return NULL;
		}
		session->namespaces[i] = st.st_ino;
	}
	cgroup_above_open(&tmpl->host->cgroup, &session->above);
	return session;
}

void joined_session_free(struct joined_session *session)
{
	if (!session)
		return;
	cgroup_above_done(&session->above);
	for (int i = 0; i < JOINED_FILES; i++)
		if (session->files[i] >= 0)
			close(session->files[i]);
	free(session);
}

void joined_begin_cgroup(struct jail_run *run)
{
	struct cgroup_above *above = &run->tmpl->joined->above;

	cgroup_above_begin(&run->cgroup, above);
	if (!run->tmpl->reusable)
		cgroup_above_done(above);
}

const char *joined_file_name(enum joined_file file)
{
	static const char *const names[] = {
		[JOINED_ROUTE] = "net/route",       [JOINED_ROUTE_V6] = "net/ipv6_route",
		[JOINED_FIB_TRIE] = "net/fib_trie", [JOINED_UID_MAP] = "uid_map",
		[JOINED_GID_MAP] = "gid_map",
	};

	return names[file];
}

int joined_file(const struct jail_run *run, enum joined_file file)
{
	return run_is_joined(run) ? atomic_load(&run->tmpl->joined->files[file]) : -1;
}

void joined_keep_files(struct jail_run *run)
{
	struct joined_session *session = run->tmpl->joined;

	for (int i = 0; i < JOINED_FILES && run->tmpl->reusable; i++) {
		const uint64_t of = i < JOINED_UID_MAP ? CLONE_NEWNET : CLONE_NEWUSER;
		int none = -1;
		int fd;

		if (!(run->tmpl->plan.joint->namespaces & of) || atomic_load(&session->files[i]) >= 0)
			continue;
		fd = openat(run->proc_fd, joined_file_name((enum joined_file)i), O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && !atomic_compare_exchange_strong(&session->files[i], &none, fd))
			close(fd); /* another thread's is there */
	}
}

/* ---- start ---- */

static int failed(const struct wire_message *message, struct warder_error *err)
{
	char detail[sizeof(message->detail) + 1] = "";

	memcpy(detail, message->detail, sizeof(message->detail));
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, message->error,
			       "cannot join the session: %s", detail);
}

bool jail_session_has_ended(const struct jail_joint *joint, int wait_ms)
{
	struct pollfd fd = { .fd = joint->fds[JAIL_JOINT_INIT], .events = POLLIN };

	return poll(&fd, 1, wait_ms) != 0;
}

static int ended(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "name", "the session has ended; start it again");
}

static int without_init(const siginfo_t *end, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			 "cannot join the session: the helper gave no init (it %s %d)",
			 end->si_code == CLD_EXITED ? "ended with the exit code" : "was ended by the signal",
			 end->si_status);
}

/* The helper's word: a descriptor of init, or why not. An init whose program fails at once may say that the program has ended before the
 * helper speaks; its socket is closed then, which tells as much. */
static int receive_init(struct jail_run *run, const siginfo_t *end, int *ret_pidfd, struct warder_error *err)
{
	struct wire_message message;
	ssize_t n;

	do {
		fd_done(ret_pidfd);
		message = (struct wire_message){ 0 };
		n = fd_receive(run->control[0], &message, sizeof(message), ret_pidfd, 1, MSG_DONTWAIT);
	} while (n == sizeof(message) && message.type == WIRE_ENDED);
	if (n == sizeof(message) && message.type == WIRE_FAILED)
		return failed(&message, err);
	if (n == 0 || (n < 0 && errno == EAGAIN))
		return without_init(end, err);
	if (n < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot join the session: the answer of the helper");
	if (n != sizeof(message) || message.type != WIRE_JOINED || *ret_pidfd < 0)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "cannot join the session: the helper's answer of %zd bytes has no init", n);
	return 0;
}

/* Whether it has ended within the time, hung in the kernel, or was not wanted any more. */
static bool has_ended(const struct jail_run *run, int helper_pid, int helper_fd)
{
	struct pollfd fd = { .fd = helper_fd, .events = POLLIN };
	const uint64_t deadline = clock_us() + JOIN_TIMEOUT_MS * 1000ull;
	struct hang hang = { 0 };

	while (poll(&fd, 1, JOIN_LOOK_MS) <= 0)
		if (hang_look(&hang, helper_pid) || clock_us() >= deadline ||
		    (run->command.should_stop && run->command.should_stop(run->command.stop_context)))
			return false;
	return true;
}

/* The helper ends after its message: who waits for its end has both. One that is killed has a second to die. */
static int wait_helper(const struct jail_run *run, int helper_pid, int helper_fd, siginfo_t *ret_end,
		       struct warder_error *err)
{
	struct pollfd fd = { .fd = helper_fd, .events = POLLIN };
	const bool ended = has_ended(run, helper_pid, helper_fd);

	if (!ended) {
		syscall(SYS_pidfd_send_signal, helper_fd, SIGKILL, NULL, 0);
		poll(&fd, 1, 1000);
	}
	waitid(P_PIDFD, (id_t)helper_fd, ret_end, WEXITED | WNOHANG | __WALL);
	return ended ? 0
		     : error_set(
			   err, WARDER_ERROR_UNAVAILABLE, NULL,
			   "the session was not joined (within %d s, or until a signal, or before the host's "
			   "kernel hung)",
			   JOIN_TIMEOUT_MS / 1000);
}

int joined_session_fd(const struct jail_run *run)
{
	return run->tmpl->plan.joint->fds[JAIL_JOINT_INIT];
}

int joined_start(struct jail_run *run, const int *fds, size_t fd_count, int *ret_pid, int *ret_pidfd,
		 struct warder_error *err)
{
	const struct jail_joint *joint = run->tmpl->plan.joint;
	struct spawn spawn = { .cgroup_fd = -1,
			       .image_fd = run->tmpl->image_fd,
			       .enters_user_ns = !run->tmpl->plan.privileged };
	owned_fd int helper_fd = -1;
	owned_fd int init_fd = -1;
	siginfo_t end = { 0 };
	int helper_pid;

	if (jail_session_has_ended(joint, 0))
		return ended(err);
	for (size_t i = 0; i < fd_count; i++)
		spawn_set_fd(&spawn, (int)i, fds[i]);
	spawn_set_fd(&spawn, WIRE_FD_MOUNT_NS, joint->fds[JAIL_JOINT_MNT]);
	spawn_set_fd(&spawn, WIRE_FD_USER_NS, joint->fds[JAIL_JOINT_USER]);
	/* In the place of what the session does not have: something that is there anyway; the flags tell. */
	for (int i = JAIL_JOINT_NET; i <= JAIL_JOINT_TIME; i++) {
		const int number = i == JAIL_JOINT_NET ? WIRE_FD_NET_NS : spawn.fd_count;

		spawn_set_fd(&spawn, number, joint->fds[i] >= 0 ? joint->fds[i] : run->tmpl->supervisor_fd);
	}
	spawn_set_fd(&spawn, spawn.fd_count,
		     run->cgroup.join_v2_fd >= 0 ? run->cgroup.join_v2_fd : run->tmpl->supervisor_fd);
	if (spawn_init(&spawn, &helper_pid, &helper_fd, err) < 0) {
		if (helper_fd >= 0)
			wait_helper(run, helper_pid, helper_fd, &end, &(struct warder_error){ 0 });
		return -1;
	}
	if (wait_helper(run, helper_pid, helper_fd, &end, err) < 0 ||
	    receive_init(run, &end, &init_fd, err) < 0)
		return jail_session_has_ended(joint, 0) ? ended(err) : -1;
	*ret_pid = pidfd_number(init_fd);
	*ret_pidfd = fd_take(&init_fd);
	return 0;
}

/* ---- read-back ---- */

const struct namespace_kind *joined_kind(enum jail_joint_fd fd)
{
	static const uint64_t flags[] = {
		[JAIL_JOINT_MNT] = CLONE_NEWNS,        [JAIL_JOINT_USER] = CLONE_NEWUSER,
		[JAIL_JOINT_NET] = CLONE_NEWNET,       [JAIL_JOINT_PID] = CLONE_NEWPID,
		[JAIL_JOINT_IPC] = CLONE_NEWIPC,       [JAIL_JOINT_UTS] = CLONE_NEWUTS,
		[JAIL_JOINT_CGROUP] = CLONE_NEWCGROUP, [JAIL_JOINT_TIME] = CLONE_NEWTIME,
	};

	return namespace_kind(flags[fd]);
}

static int differs(const char *name, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			 "read-back: the %s namespace is not the session's; the program was not started",
			 name);
}

static int check_pid(struct jail_run *run, uint64_t session, struct warder_error *err)
{
	owned_fd int own_fd = openat(run->proc_fd, "ns/pid", O_RDONLY | O_CLOEXEC);
	owned_fd int parent_fd = own_fd < 0 ? -1 : ioctl(own_fd, NS_GET_PARENT);
	struct stat parent;

	if (parent_fd < 0 || fstat(parent_fd, &parent) < 0)
		return unreadable("pid", err);
	return parent.st_ino == session ? 0 : differs("pid", err);
}

/* The pid namespace is below the session's. That of mounts is a copy, neither the session's nor the host's; what is in it, the mount table
 * shows. So is that of cgroups, rooted at the execution's leaves: what it reads of them names nothing of the host. The others are the session's. */
static int check_namespace(struct jail_run *run, enum jail_joint_fd which, uint64_t session,
			   struct warder_error *err)
{
	const struct namespace_kind *kind = joined_kind(which);
	uint64_t own;

	if (which == JAIL_JOINT_PID)
		return check_pid(run, session, err);
	if (namespace_number(run->proc_fd, kind->link, &own) < 0)
		return unreadable(kind->file, err);
	if (which != JAIL_JOINT_MNT && which != JAIL_JOINT_CGROUP)
		return own == session ? 0 : differs(kind->file, err);
	return own == session || own == run->tmpl->own_namespaces[kind - namespace_kinds]
		   ? error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			       "read-back: the %s namespace is not the execution's own; the program was not "
			       "started",
			       kind->file)
		   : 0;
}

int joined_check_namespaces(struct jail_run *run, struct warder_error *err)
{
	const struct jail_joint *joint = run->tmpl->plan.joint;
	char list[80] = "";

	for (int i = 0; i <= JAIL_JOINT_TIME; i++) {
		const struct namespace_kind *kind = joined_kind((enum jail_joint_fd)i);

		if (!(joint->namespaces & kind->flag))
			continue;
		if (check_namespace(run, (enum jail_joint_fd)i, run->tmpl->joined->namespaces[i], err) < 0)
			return -1;
		if (i != JAIL_JOINT_PID && i != JAIL_JOINT_MNT && i != JAIL_JOINT_CGROUP)
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", *list ? " " : "",
				 kind->file);
	}
	receipt_layer(run, "namespaces", true, "setns, unshare", "/proc/<pid>/ns/*; NS_GET_PARENT",
		      "the session's: %s; mnt: a copy; pid: below it%s", list,
		      joint->namespaces & CLONE_NEWCGROUP ? "; cgroup: its own" : "");
	return 0;
}
