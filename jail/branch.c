/*
 * A branch is adopted by number: the kernel names the sender of a message by its process id. So the number is pinned first, by a pidfd, and only
 * then the process is looked at: it must be a child of the jail's init, which only processes of the jail can be. Processes of other jails,
 * to which the code may have handed a descriptor, are refused by this.
 *
 * Nobody but init can wait for a branch. The kernel tells the exit status also to the holder of a pidfd, since Linux 6.15 and as soon as
 * init has reaped the process.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "jail/cgroup/cgroup.h"
#include "jail/run.h"
#include "jail/session.h"

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP 4 /* linux/pidfd.h; not in every libc */
#endif

#define LOOK_US       20000
#define OOM_SETTLE_US 1000000

/* linux/pidfd.h; not in every libc */
struct info {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t wait_status;
};
#define INFO_EXIT (1u << 3)
#define GET_INFO  _IOWR(0xff, 11, struct info)

struct jail_branch {
	struct cgroup_limits limits; /* of the plan */
	uint64_t cpu_time_us;
	int init_pid, init_fd; /* of the jail */
	int pid, fd;
	struct cgroup cgroup;
	uint64_t oom_until_us; /* an OOM event came: its kill may still have to be counted */
};

static bool is_dead(int pidfd)
{
	struct pollfd fd = { .fd = pidfd, .events = POLLIN };

	return poll(&fd, 1, 0) != 0;
}

/* ---- adoption ---- */

static int take_jail(struct jail_branch *branch, const struct jail_run *run, const struct jail_branch *other)
{
	branch->limits = run ? run->tmpl->plan.cgroup : other->limits;
	branch->cpu_time_us = run ? run->tmpl->plan.cpu_time_us : other->cpu_time_us;
	branch->init_pid = run ? run->init_pid : other->init_pid;
	branch->init_fd = fcntl(run ? run->init_fd : other->init_fd, F_DUPFD_CLOEXEC, 0);
	return branch->init_fd;
}

static int stranger(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_REJECTED, "context",
			 "the process that calls itself the branch is not a process that the context has "
			 "forked");
}

/* Its pidfd is open. */
static int check_parent(const struct jail_branch *branch, struct warder_error *err)
{
	char path[40];
	char text[1024];
	const char *parent;
	owned_fd int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", branch->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return stranger(err);
	text[n] = '\0';
	parent = strstr(text, "\nPPid:\t");
	if (!parent || atoi(parent + 7) != branch->init_pid || is_dead(branch->init_fd) ||
	    is_dead(branch->fd))
		return stranger(err);
	return 0;
}

static int move(const struct jail_joint *joint, struct jail_branch *branch, struct warder_error *err)
{
	struct cgroup_above above;

	if (cgroup_create(&joint->cgroup, &branch->limits, &branch->cgroup, err) < 0)
		return -1;
	cgroup_close_files(&branch->cgroup);
	cgroup_above_open(&joint->cgroup, &above);
	cgroup_above_begin(&branch->cgroup, &above);
	cgroup_above_done(&above);
	if (cgroup_move(&branch->cgroup, branch->pid, err) < 0 || cgroup_watch_oom(&branch->cgroup, err) < 0)
		return -1;
	return is_dead(branch->fd)
		   ? error_set(err, WARDER_ERROR_EXECUTION_FAILED, "context", "the branch ended at its start")
		   : 0;
}

static int adopt(const struct jail_joint *joint, struct jail_branch *branch, struct warder_error *err)
{
	branch->fd = (int)syscall(SYS_pidfd_open, branch->pid, 0);
	if (branch->fd < 0)
		return errno == ESRCH
			   ? stranger(err)
			   : error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "pidfd_open");
	return check_parent(branch, err) < 0 ? -1 : move(joint, branch, err);
}

int jail_branch_new(const struct jail_joint *joint, const struct jail_run *run,
		    const struct jail_branch *other, int pid, struct jail_branch **ret,
		    struct warder_error *err)
{
	struct jail_branch *branch = calloc(1, sizeof(*branch));

	if (!branch)
		return error_no_memory(err, NULL);
	cgroup_init(&branch->cgroup);
	branch->pid = pid;
	branch->fd = -1;
	if (take_jail(branch, run, other) < 0 ? (error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
								 "no descriptor left for the branch"),
						 true)
					      : adopt(joint, branch, err) < 0) {
		jail_branch_free(branch);
		return -1;
	}
	*ret = branch;
	return 0;
}

int jail_branch_fd(const struct jail_branch *branch)
{
	return branch->fd;
}

int jail_branch_oom_fd(const struct jail_branch *branch)
{
	return branch->cgroup.event_fd;
}

bool jail_branch_is(const struct jail_branch *branch, int pid)
{
	return branch->pid == pid && !is_dead(branch->fd);
}

/* ---- while it runs ---- */

/* Before Linux 6.9 a group is known by its number only, which is the branch's as long as the branch lives. */
bool jail_branch_signal(const struct jail_branch *branch, int signal)
{
	if (syscall(SYS_pidfd_send_signal, branch->fd, signal, NULL, PIDFD_SIGNAL_PROCESS_GROUP) == 0)
		return true;
	return errno == EINVAL && !is_dead(branch->fd) && kill(-branch->pid, signal) == 0;
}

void jail_branch_kill(struct jail_branch *branch)
{
	jail_branch_signal(branch, SIGKILL);
	syscall(SYS_pidfd_send_signal, branch->fd, SIGKILL, NULL, 0);
	if (!cgroup_kill(&branch->cgroup))
		cgroup_kill_each(&branch->cgroup, 0);
}

/* COUNT: the kernel has killed nobody for memory. */
static enum jail_cause find_oom(const struct jail_branch *branch)
{
	uint64_t kills = 0;
	bool own_limit = false;

	if (cgroup_oom(&branch->cgroup, &kills, &own_limit) < 0 || kills == 0)
		return JAIL_CAUSE_COUNT;
	return own_limit || cgroup_above_oom(&branch->cgroup) ? JAIL_CAUSE_MEMORY : JAIL_CAUSE_HOST;
}

/* An OOM event comes before the kernel has counted its kill: the looks go on for a while. */
bool jail_branch_check(struct jail_branch *branch, enum jail_cause *ret, uint64_t *ret_at_us)
{
	struct pollfd event = { .fd = branch->cgroup.event_fd, .events = POLLIN };
	const uint64_t now = clock_us();
	uint64_t used_us = 0;

	if (event.fd >= 0 && poll(&event, 1, 0) > 0) {
		cgroup_clear_event(&branch->cgroup);
		branch->oom_until_us = now + OOM_SETTLE_US;
	}
	*ret_at_us = now < branch->oom_until_us || branch->cpu_time_us != POLICY_UNLIMITED ? now + LOOK_US
											   : UINT64_MAX;
	*ret = now < branch->oom_until_us ? find_oom(branch) : JAIL_CAUSE_COUNT;
	if (*ret != JAIL_CAUSE_COUNT)
		return true;
	if (branch->cpu_time_us != POLICY_UNLIMITED && cgroup_cpu_usage(&branch->cgroup, &used_us) == 0 &&
	    used_us >= branch->cpu_time_us) {
		*ret = JAIL_CAUSE_CPU_TIME;
		return true;
	}
	return false;
}

void jail_branch_count(const struct jail_branch *branch, struct jail_counters *ret)
{
	run_counters(&branch->cgroup, ret);
}

/* ---- its end ---- */

static void describe(const struct jail_branch *branch, bool is_known, int status, struct jail_outcome *ret)
{
	if (is_dead(branch->init_fd)) {
		ret->cause = JAIL_CAUSE_SUPERVISOR;
		snprintf(ret->detail, sizeof(ret->detail),
			 "killed with the jail of the context that it was forked from");
	} else if (!is_known) {
		ret->cause = JAIL_CAUSE_HOST;
		snprintf(ret->detail, sizeof(ret->detail),
			 "it ended; this kernel does not tell how a branch has ended");
	} else if (WIFEXITED(status)) {
		ret->cause = JAIL_CAUSE_EXIT;
		ret->exit_code = WEXITSTATUS(status);
		snprintf(ret->detail, sizeof(ret->detail), "exited with %d", ret->exit_code);
	} else {
		ret->cause = WTERMSIG(status) == SIGSYS ? JAIL_CAUSE_SYSCALL : JAIL_CAUSE_SIGNAL;
		ret->signal = WTERMSIG(status);
		snprintf(ret->detail, sizeof(ret->detail), "ended by signal %d", ret->signal);
	}
}

static void describe_kill(const struct jail_branch *branch, enum jail_cause killed, struct jail_outcome *ret)
{
	const uint64_t memory = branch->limits.memory_bytes;
	char limit[32];

	ret->cause = killed;
	ret->signal = SIGKILL;
	if (killed == JAIL_CAUSE_MEMORY)
		snprintf(ret->detail, sizeof(ret->detail), "killed at the memory limit of %s",
			 policy_format_size(memory, limit, sizeof(limit)));
	else if (killed == JAIL_CAUSE_CPU_TIME)
		snprintf(ret->detail, sizeof(ret->detail), "killed after the CPU time of %s",
			 policy_format_time(branch->cpu_time_us, limit, sizeof(limit)));
	else if (killed == JAIL_CAUSE_OUTPUT)
		snprintf(ret->detail, sizeof(ret->detail), "killed for more output than the limit");
	else
		snprintf(ret->detail, sizeof(ret->detail), "%s",
			 killed == JAIL_CAUSE_HOST ? "killed by the OOM killer, at a limit above its own"
						   : "cancelled by the caller");
}

bool jail_branch_end(const struct jail_branch *branch, enum jail_cause killed, bool last,
		     struct jail_outcome *ret)
{
	struct info info = { .mask = INFO_EXIT };
	const bool answered = ioctl(branch->fd, GET_INFO, &info) == 0;
	const bool is_too_old = !answered; /* ESRCH: it is reaped, and the kernel does not know INFO_EXIT */
	const bool is_known = answered && (info.mask & INFO_EXIT);
	const enum jail_cause oom = find_oom(branch);

	if (!last && !is_known && !is_too_old)
		return false;
	*ret = (struct jail_outcome){ .exit_code = -1 };
	if (oom != JAIL_CAUSE_COUNT)
		killed = oom;
	if (killed != JAIL_CAUSE_COUNT)
		describe_kill(branch, killed, ret);
	else
		describe(branch, is_known, info.wait_status, ret);
	return true;
}

uint64_t jail_branch_remove(struct jail_branch *branch)
{
	struct warder_error ignored;

	return cgroup_remove_step(&branch->cgroup, &ignored) == CGROUP_BUSY ? branch->cgroup.remove_pause_us
									    : 0;
}

void jail_branch_free(struct jail_branch *branch)
{
	struct warder_error ignored;

	if (!branch)
		return;
	cgroup_remove(&branch->cgroup, &ignored);
	fd_done(&branch->fd);
	fd_done(&branch->init_fd);
	free(branch);
}
