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

#include "base/clock.h"
#include "base/fd.h"
#include "jail/backstop.h"
#include "jail/run.h"

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP 4 /* linux/pidfd.h; not in every libc */
#endif

/* ---- wishes, which the supervision looks at when it wakes ---- */

static void wake(const struct jail_run *run)
{
	const uint64_t one = 1;
	int saved = errno;

	if (write(run->cancel_fd, &one, sizeof(one)) < 0)
		errno = saved; /* a full counter wakes as well */
}

void jail_cancel(struct jail_run *run)
{
	atomic_store(&run->cancelled, true);
	wake(run);
}

void jail_stop(struct jail_run *run, int signal, uint64_t grace_us)
{
	int none = 0;

	atomic_store(&run->stop_grace_us, grace_us);
	if (!atomic_compare_exchange_strong(&run->stop_signal, &none, signal))
		atomic_store(&run->cancelled, true);
	wake(run);
}

void jail_input_ready(struct jail_run *run)
{
	atomic_store(&run->input_ready, true);
	wake(run);
}

bool jail_input_is_over(const struct jail_run *run)
{
	return input_is_over(&run->input);
}

void jail_hold_output(struct jail_run *run, bool held)
{
	atomic_store(&run->output_held, held);
	wake(run);
}

void jail_copy_output(struct jail_run *run,
		      void (*on_copy)(void *context, enum jail_stream stream, const char *bytes, size_t len),
		      void *context)
{
	run->on_copy = on_copy;
	run->copy_context = context;
}

void jail_resize(struct jail_run *run)
{
	atomic_store(&run->resized, true);
	wake(run);
}

void jail_pause_clock(struct jail_run *run, bool paused)
{
	const uint64_t since_us = atomic_load(&run->paused_at_us);

	/* In this order: the supervision must not see a clock that goes on and has not stood still. */
	if (since_us)
		atomic_fetch_add(&run->paused_us, clock_us() - since_us);
	if (paused && !since_us)
		run->backstop_left_us = backstop_pause(run->backstop_fd);
	if (!paused && since_us)
		backstop_go_on(run->backstop_fd, run->backstop_left_us);
	atomic_store(&run->paused_at_us, paused ? clock_us() : 0);
	wake(run);
}

void jail_extend(struct jail_run *run, uint64_t us)
{
	atomic_fetch_add(&run->extend_us, us);
	wake(run);
}

/* ---- the network ---- */

uint16_t jail_run_published(const struct jail_run *run, size_t row)
{
	return row < run->edge.published_count ? run->edge.published[row] : 0;
}

int jail_run_replace_rules(struct jail_run *run, const struct policy *policy, uint64_t *ret_since_us,
			   struct warder_error *err)
{
	int ret;

	pthread_mutex_lock(&run->edge_lock);
	ret = run_edge_replace(&run->edge, &run->tmpl->plan.policy, policy, ret_since_us, err);
	pthread_mutex_unlock(&run->edge_lock);
	return ret;
}

void jail_run_end_network(struct jail_run *run)
{
	pthread_mutex_lock(&run->edge_lock);
	if (run->edge.pid)
		syscall(SYS_pidfd_send_signal, run->edge.pid_fd, SIGKILL, NULL, 0);
	pthread_mutex_unlock(&run->edge_lock);
}

/* ---- signals, counters ---- */

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
