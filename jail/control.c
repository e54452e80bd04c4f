/*
 * control: what other threads ask of a run while it is supervised: signals for its program, and what it uses. Nothing here touches what the
 * supervision closes; numbers of processes and paths of cgroups stay what they are as long as the run is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/run.h"

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP 4 /* linux/pidfd.h; not in every libc */
#endif

/* Whether a directory of /proc is that of a child of the jail's init. */
static bool is_inits_child(const struct jail_run *run, int proc_fd)
{
	owned_fd int fd = openat(proc_fd, "status", O_RDONLY | O_CLOEXEC);
	char text[1024];
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *parent;

	if (n <= 0)
		return false;
	text[n] = 0;
	parent = strstr(text, "\nPPid:\t");
	return parent && atoi(parent + 7) == run->init_pid;
}

/* To the process group that the program leads; init has no right to do that. A process that has got the program's number meanwhile is
 * one of the jail's, or is left alone. Before Linux 6.9 a group is known by its number only. */
bool jail_signal(const struct jail_run *run, int signal)
{
	owned_fd int fd = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", run->program_pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* serves as its pidfd */
	if (fd < 0 || !is_inits_child(run, fd))
		return false;
	if (syscall(SYS_pidfd_send_signal, fd, signal, NULL, PIDFD_SIGNAL_PROCESS_GROUP) == 0)
		return true;
	return errno == EINVAL && kill(-run->program_pid, signal) == 0;
}

void run_counters(const struct cgroup *cgroup, struct jail_counters *ret)
{
	struct cgroup_counts counts;

	cgroup_count(cgroup, &counts);
	*ret = (struct jail_counters){
		.cpu_us = counts.cpu_us,
		.memory_bytes = counts.memory_bytes,
		.memory_peak_bytes = counts.memory_peak_bytes,
		.processes = counts.processes,
		.read_bytes = counts.read_bytes,
		.written_bytes = counts.written_bytes,
	};
}

void jail_count(const struct jail_run *run, struct jail_counters *ret)
{
	run_counters(&run->cgroup, ret);
	if (ret->processes != UINT64_MAX && ret->processes != 0)
		ret->processes--; /* init */
}
