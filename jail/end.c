/*
 * The end of a jail: its turn among the jails of the process, the kill, and what is said of one that does not die.
 *
 * Nothing here waits: RUN_WAITS says that the call is to be repeated when run->wait is over.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "jail/cgroup/ends.h"
#include "jail/inside/sys.h"
#include "jail/run.h"

#define KILL_AGAIN_US 100000
#define EMPTY_LOOK_US 2000
#define QUICK_BYTES   (UINT64_C(4) << 20)
#define QUICK_FILES   256

/* ---- the kill ---- */

bool run_has_turn(struct jail_run *run)
{
	if (run->counted && !run->had_turn)
		run->turn_us = ends_turn_us();
	run->had_turn = true;
	return clock_us() >= run->turn_us;
}

void run_begin_end(struct jail_run *run, uint64_t patience_us)
{
	if (!run->give_up_us)
		run->give_up_us = clock_us() + patience_us;
}

/* An init that restricts nothing has no pid namespace that dies with it: it kills what it has started, wherever that has gone, and
 * then ends. The program may have stopped it. */
void run_signal(struct jail_run *run)
{
	if (run_is_bare(run)) {
		syscall(SYS_pidfd_send_signal, run->init_fd, SIGTERM, NULL, 0);
		syscall(SYS_pidfd_send_signal, run->init_fd, SIGCONT, NULL, 0);
		return;
	}
	cgroup_kill(&run->cgroup);
	syscall(SYS_pidfd_send_signal, run->init_fd, SIGKILL, NULL, 0);
}

/* The processes in a list of the kernel's, at most a few of them by number; how many there are. */
static int list_processes(int dir_fd, const char *file, char *ret, size_t size)
{
	owned_fd int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
	FILE *list = fd < 0 ? NULL : fdopen(fd, "r");
	size_t used = 0;
	int count = 0;
	int pid;

	*ret = 0;
	if (!list)
		return 0;
	fd_take(&fd);
	for (; fscanf(list, "%d", &pid) == 1; count++)
		if (count < 4 && used < size)
			used += (size_t)snprintf(ret + used, size - used, count ? " %d" : "%d", pid);
	if (count > 4 && used < size)
		snprintf(ret + used, size - used, " and %d more", count - 4);
	fclose(list);
	return count;
}

/* The jail's processes: of its cgroup; of an init that restricts nothing, its children; at least init. */
static void list_jail(const struct jail_run *run, char *ret, size_t size)
{
	char path[64];

	for (int h = 0; h < CGROUP_HIERARCHIES_MAX; h++)
		if (run->cgroup.used[h] && list_processes(run->cgroup.dir_fd[h], "cgroup.procs", ret, size))
			return;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", run->init_pid, run->init_pid);
	if (!run_is_bare(run) || !list_processes(AT_FDCWD, path, ret, size))
		snprintf(ret, size, "%d", run->init_pid);
}

/* Says what stays behind of a jail that does not die. While its cgroup is open, and its init there. */
static void name_rest(struct jail_run *run)
{
	const struct cgroup_host *host = run->cgroup.host;
	char pids[80];
	char group[200] = "";
	char mounts[64] = "";

	list_jail(run, pids, sizeof(pids));
	for (size_t h = 0; host && h < host->hierarchy_count && !*group; h++)
		if (run->cgroup.used[h])
			snprintf(group, sizeof(group), ", cgroup %.90s/%.95s", host->hierarchies[h].base,
				 run->cgroup.name);
	if (!run_is_bare(run))
		snprintf(mounts, sizeof(mounts), ", mounts (/proc/%d/mountinfo)", run->init_pid);
	snprintf(run->left, sizeof(run->left),
		 "the jail does not die: the kernel holds it. Left behind: processes %s%s%s. If they end, "
		 "\"warder doctor "
		 "--clean\" removes the rest",
		 pids, group, mounts);
}

/* Without a pid namespace that ends with init: an init that was killed has not killed what it started, as its cgroup tells. */
static bool is_populated(const struct jail_run *run)
{
	const int h = run->cgroup.host ? run->cgroup.host->v2 : -1;
	char ignored[80];

	return run_is_bare(run) && h >= 0 && run->cgroup.used[h] &&
	       list_processes(run->cgroup.dir_fd[h], "cgroup.procs", ignored, sizeof(ignored));
}

static int give_up(struct jail_run *run)
{
	run->stuck = true;
	name_rest(run);
	/* One that restricts nothing does not hang itself; a child of its does. */
	cgroup_kill(&run->cgroup);
	syscall(SYS_pidfd_send_signal, run->init_fd, SIGKILL, NULL, 0);
	return -1;
}

int run_kill(struct jail_run *run)
{
	struct pollfd init = { .fd = run->init_fd, .events = POLLIN };
	siginfo_t info;

	if (run->stuck)
		return -1;
	if (run->init_fd < 0 || run->reaped || run->kept)
		return 0;
	run->init_died = run->init_died || poll(&init, 1, 0) == 1;
	if (!run->init_died && !run_has_turn(run))
		return run_wait_for(run, run->init_fd, run->turn_us);
	run_begin_end(run, RUN_PATIENCE_US);
	if (!run->init_died)
		run_signal(run);
	if (!run->init_died || is_populated(run)) {
		if (clock_us() >= run->give_up_us)
			return give_up(run);
		if (!run->init_died)
			return run_wait_for(run, run->init_fd, clock_us() + KILL_AGAIN_US);
		cgroup_kill(&run->cgroup);
		return run_wait_for(run, -1, clock_us() + EMPTY_LOOK_US);
	}
	/* A host that waits for any child, or ignores SIGCHLD, may have reaped it. */
	waitid(P_PIDFD, (id_t)run->init_fd, &info, WEXITED | __WALL);
	run->reaped = true;
	return 0;
}

int run_stop_starter(struct jail_run *run)
{
	struct warder_error err;
	int stopped = 0;
	int fd = -1;

	if (run->started)
		stopped = run->tmpl->plan.starter->stop(run->started, run->stuck, &fd, &err);
	if (stopped == JAIL_STOPPING)
		return run_wait_for(run, fd, clock_us() + JAIL_STOPPING_LOOK_US);
	run->started = NULL;
	if (stopped == 0 || run->stuck)
		return 0;
	run->stuck = true;
	snprintf(run->left, sizeof(run->left), "%s", err.text);
	return 0;
}

/* ---- the mounts ---- */

static CLONE_BESIDE void leave_root(void *arg)
{
	int *mount_ns_fd = arg;
	const int fd = *mount_ns_fd;

	*mount_ns_fd = -1;
	sys(close, fd);
	sys(exit_group, 0);
}

/* Nobody but this process has the jail's mounts any more. Whether to end them here takes no longer than to have a process do it meanwhile:
 * all of them together take 0.2 ms, and files in /tmp their time. An overlay may have to look into its layers. */
static bool is_quickly_left(const struct jail_run *run)
{
	struct statfs fs;

	if (run->scratch_fd < 0 || run->tmpl->plan.rootfs.overlay_count || fstatfs(run->scratch_fd, &fs) < 0)
		return false;
	return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize <= QUICK_BYTES &&
	       fs.f_files - fs.f_ffree <= QUICK_FILES;
}

void run_leave_root(struct jail_run *run)
{
	/* Else the release closes the descriptor. For that of one that was parked, nobody waits. */
	if (run->mount_ns_fd >= 0 && !run->parked && !is_quickly_left(run))
		clone_begin(&run->leaver, CLONE_FILES, leave_root, &run->mount_ns_fd);
}
