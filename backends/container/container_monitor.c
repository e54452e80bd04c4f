/*
 * A runtime without a daemon is a program that makes a container, starts it, and ends. After that there is nobody, so that a supervisor that
 * dies would leave the container, and a runtime that hangs would hang the supervisor. The monitor stands between:
 *
 *   supervisor                        monitor                              container
 *   fork, with a pid and a       ---> layout: tmpfs with root, binds,
 *   mount namespace                   config.json, state
 *                                     RUNTIME run --detach             --->  init (waits for nobody: reports
 *                                     flags of its mounts                    to the supervisor itself; the
 *   pidfd of init                <--- STARTED                                program waits for the read-back)
 *   ... the run ...                   waits
 *   init is dead, or is killed
 *   by its pidfd and cgroup
 *   kill                         ---> (dead, and all of its namespaces)
 *
 * Whichever of them dies: init watches the supervisor by its pidfd and ends the container with it; the monitor sees the end of its
 * socket and ends; and as the first process of a pid namespace it takes every other process there with it, a runtime that hangs or
 * a container that was made and never started included. So nobody is asked to delete a container: its state, its mounts and its
 * processes are all in namespaces that end, and outside a runtime can make nothing (backends/container/layout.h).
 *
 * After the fork only system calls are made: another thread of the host may have held any lock.
 */
#include "backends/container/container_monitor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/container/bundle.h"
#include "base/array.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hang.h"
#include "base/pidfd.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#define START_TIMEOUT_MS 30000
#define DIE_TIMEOUT_MS   8000
#define LOOK_MS          200
#define WATCH_MAX        16
#define WATCH_DEPTH      4
#define END_TIMEOUT_MS   1000
#define ID               "warder" /* of the container: its state lies where nobody else's does */
#define ARGS_MAX         20

/* The processes that the monitor and the runtime have started, as far as they were looked at. */
struct watch {
	struct {
		int pid; /* 0: free */
		struct hang hang;
	} rows[WATCH_MAX];
};

struct container_monitor {
	int pidfd;
	int socket; /* ours */
	struct watch watch;
	uint64_t give_up_us; /* it was killed, and is waited for until then; 0: it was not */
};

enum word {
	WORD_FAILED,  /* text: what could not be done */
	WORD_STARTED, /* with a pidfd of the container's init */
};

struct message {
	enum word word;
	int error; /* errno, or 0 */
	char text[sizeof(((struct layout *)NULL)->text)];
};

/* What the forked process works with; its copy of the supervisor's memory. */
struct work {
	const struct container_monitor_task *task;
	const struct jail_start *start;
	struct layout layout; /* keeps what failed */
	int socket;
	char preserve[12];
};

/* ---- running the runtime ---- */

static int take_fds(const int *fds, size_t count)
{
	int high[64] = { 0 };

	if (count > ARRAY_LENGTH(high))
		return -1;
	for (size_t i = 0; i < count; i++) {
		high[i] = fcntl(fds[i], F_DUPFD, 128);
		if (high[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < count; i++)
		if (dup2(high[i], (int)i) < 0)
			return -1;
	return (int)syscall(SYS_close_range, (int)count, ~0u, 0);
}

int container_monitor_spawn(struct layout *layout, const char *const *argv, const char *const *environment,
			    const int *fds, size_t fd_count, int *ret_pid)
{
	const int pid = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	int pidfd;

	if (pid < 0)
		return layout_fail(layout, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chdir("/") == 0 && take_fds(fds, fd_count) == 0)
			syscall(SYS_execve, argv[0], argv, environment);
		layout_leave(126);
	}
	*ret_pid = pid;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return pidfd >= 0 ? pidfd : layout_fail(layout, "pidfd_open");
}

int container_monitor_run(struct layout *layout, int socket, const char *const *argv,
			  const char *const *environment, const int *given, size_t given_count)
{
	int pid = 0;
	struct pollfd fds[2] = { { .fd = container_monitor_spawn(layout, argv, environment, given,
								 given_count, &pid),
				   .events = POLLIN },
				 { .fd = socket, .events = POLLIN } };
	int status = 0;
	int n;

	if (fds[0].fd < 0)
		return -1;
	do
		n = poll(fds, 2, START_TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	if (!(fds[0].revents & POLLIN))
		kill(pid, SIGKILL);
	close(fds[0].fd);
	if (child_wait(pid, CHILD_PATIENCE_MS, &status) == CHILD_ENDED)
		return status;
	errno = ETIMEDOUT;
	return layout_fail(layout, "a program of the runtime that does not die");
}

static size_t head(const struct work *work, const char **argv)
{
	size_t n = 0;

	argv[n++] = work->task->runtime;
	argv[n++] = work->task->options;
	argv[n++] = "--log";
	argv[n++] = LAYOUT_LOG;
	argv[n++] = "--root";
	argv[n++] = LAYOUT_STATE;
	return n;
}

/* How it ended, and on the same line what it wrote into its log: text of a program that is trusted no more than needed. */
int container_monitor_fail_log(struct layout *layout, const char *path, const char *what, int status)
{
	char *text = layout->text;
	const size_t size = sizeof(layout->text);
	const bool killed = WIFSIGNALED(status);
	size_t len = strlen(what);
	ssize_t n;
	int fd;

	if (status < 0)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);

	layout->error = 0;
	memcpy(text, what, len);
	if (status) {
		memcpy(text + len, killed ? " (signal " : " (exit status ", killed ? 9 : 14);
		len += killed ? 9 : 14;
		len += layout_number(text + len, (size_t)(killed ? WTERMSIG(status) : WEXITSTATUS(status)));
		text[len++] = ')';
	}
	n = fd < 0 ? 0 : read(fd, text + len + 2, size - len - 3);
	if (fd >= 0)
		close(fd);
	text[len + (n > 0 ? 2 + (size_t)n : 0)] = '\0';
	if (n > 0)
		memcpy(text + len, ": ", 2);
	for (char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = ' ';
	return -1;
}

/* The number that the runtime says; whose it is will be seen by what it answers. */
static int read_pid(struct work *work)
{
	char text[12] = "";
	int fd = open(LAYOUT_PID_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	long pid = 0;

	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		pid = pid * 10 + (text[i] - '0');
	if (pid > 1 && pid < 1 << 30)
		return (int)pid;
	errno = 0;
	return layout_fail(&work->layout, "run names no process as the container's first");
}

/* The runtime had the program's streams for a while. */
static bool has_written(const struct work *work)
{
	for (int fd = 1; fd <= 2; fd++) {
		int bytes = 0;

		if (ioctl(work->start->fds[fd], FIONREAD, &bytes) == 0 && bytes > 0)
			return true;
	}
	return false;
}

static int run(struct work *work)
{
	static const char *const environment[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", NULL
	};
	const struct jail_start *start = work->start;
	const char *argv[ARGS_MAX];
	size_t n = head(work, argv);
	int status;

	argv[n++] = "run";
	argv[n++] = "--detach";
	argv[n++] = "--bundle";
	argv[n++] = LAYOUT_DIR;
	argv[n++] = "--pid-file";
	argv[n++] = LAYOUT_PID_FILE;
	argv[n++] = "--preserve-fds";
	argv[n++] = work->preserve;
	argv[n++] = ID;
	argv[n] = NULL;
	status = container_monitor_run(&work->layout, work->socket, argv, environment, start->fds,
				       start->fd_count);
	if (status != 0)
		return container_monitor_fail_log(&work->layout, LAYOUT_LOG, "run failed", status);
	return has_written(work) ? container_monitor_fail_log(&work->layout, LAYOUT_LOG,
							      "run wrote to the program's output", 0)
				 : 0;
}

/* In the container's mount namespace, of which the monitor's user is the owner's owner. */
static _Noreturn void tighten_main(int ns_fd, unsigned int terminals)
{
	const unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NOEXEC | MS_RDONLY;
	const char *path;

	if (setns(ns_fd, CLONE_NEWNS) < 0)
		layout_leave(1);
	/* What is no mount, or not there, stays as it is; what should be one is looked at by the read-back. */
	for (size_t i = 0; (path = bundle_loose(i)); i++)
		mount(NULL, path, NULL, flags, NULL);
	/* Only now, when nobody but init is there: runtimes write to it what the process is to be. */
	if (mount(NULL, "/proc", NULL, flags | MS_NODEV, NULL) < 0)
		layout_leave(1);
	unlink("/dev/core"); /* a link of crun's to what is masked */
	if (!terminals)
		unlink("/dev/ptmx"); /* runtimes make it, although there is no /dev/pts */
	layout_leave(0);
}

/* Runtimes lay their masks and nodes without the flags that a jail's have: these are set from outside, while the container waits. */
static int tighten(struct work *work, int init_pid)
{
	char path[48] = "/proc/";
	size_t len = 6 + layout_number(path + 6, (size_t)init_pid);
	int status = 0;
	int fd, pid;

	memcpy(path + len, "/ns/mnt", 8);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return layout_fail(&work->layout, "the container's mount namespace");
	pid = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		tighten_main(fd, work->start->plan->rootfs.terminals);
	close(fd);
	if (pid > 0 && child_wait(pid, CHILD_PATIENCE_MS, &status) != CHILD_ENDED) {
		errno = ETIMEDOUT;
		status = -1;
	}
	return pid > 0 && status == 0 ? 0 : layout_fail(&work->layout, "the flags of the container's mounts");
}

/* ---- the monitor ---- */

/* `fd`: goes along, unless it is negative. */
static void say(const struct work *work, enum word word, int fd)
{
	struct message message = { .word = word, .error = work->layout.error };

	memcpy(message.text, work->layout.text, sizeof(message.text));
	fd_send(work->socket, &message, sizeof(message), &fd, fd >= 0 ? 1 : 0, 0);
}

/* The lowest of the descriptors that is at least `from`, or `next` if that is lower. */
static unsigned int lowest(const int *fds, size_t count, unsigned int from, unsigned int next)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= (int)from && (unsigned int)fds[i] < next)
			next = (unsigned int)fds[i];
	return next;
}

/* Close everything but what is still needed; the host's descriptors, also other runs' pipes, are none of ours. */
static void close_others(const struct work *work)
{
	const struct jail_start *given = work->start;
	const int own[] = { work->socket, given->network_fd };
	unsigned int from = 0;

	for (;;) {
		unsigned int next = lowest(own, 2, from, ~0u);

		next = lowest(given->fds, given->fd_count, from, next);
		next = lowest(work->layout.trees, given->plan->rootfs.count, from, next);
		next = lowest(work->layout.layers, work->layout.layer_count, from, next);
		if (next > from)
			syscall(SYS_close_range, from, next - 1, 0);
		if (next == ~0u)
			return;
		from = next + 1;
	}
}

static void close_fds(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void close_given(const struct work *work)
{
	close_fds(work->start->fds, work->start->fd_count);
	close_fds(work->layout.trees, work->start->plan->rootfs.count);
	close_fds(work->layout.layers, work->layout.layer_count);
	close_fds(&work->start->network_fd, 1);
}

static void quiet_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A process that ends has no namespaces any more a moment before its end is told. */
static bool is_dead(int pidfd)
{
	struct pollfd fd = { .fd = pidfd, .events = POLLIN };

	return poll(&fd, 1, END_TIMEOUT_MS) == 1;
}

/* "NAME SECONDS 0" for both clocks that can be moved. Returns the length. */
static size_t write_offsets(char *text, int64_t seconds)
{
	static const char *const clocks[] = { "monotonic ", "boottime " };
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(clocks); i++) {
		memcpy(text + len, clocks[i], strlen(clocks[i]));
		len += strlen(clocks[i]);
		if (seconds < 0)
			text[len++] = '-';
		len += layout_number(text + len, (size_t)(seconds < 0 ? -seconds : seconds));
		memcpy(text + len, " 0\n", 3);
		len += 3;
	}
	return len;
}

/* Runtimes know little of clocks: what is forked from here on is in a time namespace with them, and the container as well. */
static int set_clocks(struct work *work)
{
	char text[96];
	const size_t len = write_offsets(text, work->start->clock_offset);
	int fd;
	ssize_t n;

	if (!(work->start->plan->namespaces & CLONE_NEWTIME))
		return 0;
	if (unshare(CLONE_NEWTIME) < 0)
		return layout_fail(&work->layout, "a time namespace");
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : write(fd, text, len);
	if (fd >= 0)
		close(fd);
	return n == (ssize_t)len ? 0 : layout_fail(&work->layout, "the clocks of a time namespace");
}

/* The container's init, by a pidfd; -1. */
static int bring_up(struct work *work)
{
	int pid, fd;

	if (layout_make(&work->layout) < 0 || set_clocks(work) < 0)
		return -1;
	if (work->task->up) {
		fd = work->task->up(work->task, &work->layout, work->socket);
		close_given(work);
		return fd;
	}
	if (run(work) < 0)
		return -1;
	/* The container has them now; a pipe's end must be seen. */
	close_given(work);
	pid = read_pid(work);
	if (pid < 0)
		return -1;
	/* Nobody but this process reaps here: the number is still its own. */
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return layout_fail(&work->layout, "the container's init");
	/* An init that has ended already has told the supervisor why. */
	if (tighten(work, pid) < 0 && !is_dead(fd))
		return -1;
	return fd;
}

#ifdef __SANITIZE_THREAD__
void __tsan_ignore_thread_begin(void); /* the sanitizer's own */
#endif

/* The thread sanitizer does not see that this is another process, for which other threads of the host do nothing any more. */
static void leave_threads(void)
{
#ifdef __SANITIZE_THREAD__
	__tsan_ignore_thread_begin();
#endif
}

static _Noreturn void container_monitor_main(struct work *work)
{
	struct pollfd fd = { .fd = work->socket, .events = POLLIN };
	int init_fd;

	leave_threads();
	setsid();
	quiet_signals();
	umask(0);
	prctl(PR_SET_NAME, "warder-monitor");
	close_others(work);
	init_fd = bring_up(work);
	say(work, init_fd < 0 ? WORD_FAILED : WORD_STARTED, init_fd);
	/* The end of the socket is the supervisor's. */
	while (init_fd >= 0 && poll(&fd, 1, -1) < 0)
		;
	layout_leave(0);
}

/* ---- the supervisor's side ---- */

static struct hang *row_of(struct watch *watch, int pid)
{
	for (size_t i = 0; i < WATCH_MAX; i++) {
		if (watch->rows[i].pid != pid && watch->rows[i].pid != 0)
			continue;
		watch->rows[i].pid = pid;
		return &watch->rows[i].hang;
	}
	return NULL;
}

static int look_at_children(struct watch *watch, const char *list, int depth);

/* Which of a process and its descendants hangs in the kernel; 0: none. */
static int find_hanging(struct watch *watch, int pid, int depth)
{
	struct hang *row = row_of(watch, pid);
	char path[64];
	DIR *tasks;
	const struct dirent *task;
	int found = row && hang_look(row, pid) ? pid : 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = found || depth == WATCH_DEPTH ? NULL : opendir(path);
	while (tasks && !found && (task = readdir(tasks))) {
		char list[96];

		snprintf(list, sizeof(list), "%s/%.20s/children", path, task->d_name);
		found = look_at_children(watch, list, depth + 1);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

static int look_at_children(struct watch *watch, const char *list, int depth)
{
	FILE *file = fopen(list, "re");
	int found = 0;
	int pid;

	while (file && !found && fscanf(file, "%d", &pid) == 1)
		found = find_hanging(watch, pid, depth);
	if (file)
		fclose(file);
	return found;
}

static bool is_dying(struct container_monitor *monitor, int *ret_hanging)
{
	const uint64_t now = clock_us();

	if (!monitor->give_up_us) {
		syscall(SYS_pidfd_send_signal, monitor->pidfd, SIGKILL, NULL, 0);
		monitor->give_up_us = now + DIE_TIMEOUT_MS * UINT64_C(1000);
		return true;
	}
	*ret_hanging = find_hanging(&monitor->watch, pidfd_number(monitor->pidfd), 0);
	return !*ret_hanging && now < monitor->give_up_us;
}

int container_monitor_stop(struct container_monitor *monitor, bool stuck, int *ret_fd,
			   struct warder_error *err)
{
	struct pollfd fd = { .fd = monitor->pidfd, .events = POLLIN };
	const int pid = pidfd_number(monitor->pidfd);
	int hanging = 0;
	bool dead = poll(&fd, 1, 0) == 1;
	siginfo_t info;

	if (!dead && is_dying(monitor, &hanging) && !stuck) {
		*ret_fd = monitor->pidfd;
		return JAIL_STOPPING;
	}
	/* An application that waits for any child may have reaped it. */
	waitid(P_PIDFD, (id_t)monitor->pidfd, &info, WEXITED | WNOHANG | __WALL);
	fd_done(&monitor->socket);
	fd_done(&monitor->pidfd);
	free(monitor);
	if (dead)
		return 0;
	return error_set(
	    err, WARDER_ERROR_INTERNAL, "backend",
	    "a process of the container (%d) does not die: the kernel holds it. Left behind: it, and "
	    "process %d with its namespaces",
	    hanging ? hanging : pid, pid);
}

/* The same until it is over. */
static int end_monitor(struct container_monitor *monitor, struct warder_error *err)
{
	struct pollfd fd = { .fd = monitor->pidfd, .events = POLLIN };
	int stopped;

	while ((stopped = container_monitor_stop(monitor, false, &fd.fd, err)) == JAIL_STOPPING)
		poll(&fd, 1, LOOK_MS);
	return stopped;
}

/* 1 with *ret and *ret_fd; 0: the end. */
static int receive(int socket, struct message *ret, int *ret_fd)
{
	const ssize_t n = fd_receive(socket, ret, sizeof(*ret), ret_fd, 1, 0);

	if (n <= 0)
		return 0;
	ret->text[sizeof(ret->text) - 1] = '\0';
	return n == sizeof(*ret);
}

/* Its word has come: 1; it does not come in time: 0; -1 with *err: it will not come, or is not wanted any more. */
static int await_word(struct container_monitor *monitor, const struct jail_start *start,
		      struct warder_error *err)
{
	const uint64_t deadline = clock_us() + (2 * START_TIMEOUT_MS + 5000) * UINT64_C(1000);
	struct pollfd fd = { .fd = monitor->socket, .events = POLLIN };
	const int pid = pidfd_number(monitor->pidfd);
	char where[80];
	int hanging;

	while (poll(&fd, 1, LOOK_MS) != 1) {
		if (jail_start_is_cancelled(start))
			return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
					 "the launch was cancelled while the runtime made the container");
		hanging = find_hanging(&monitor->watch, pid, 0);
		if (hanging)
			return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
					 "host: the runtime does not go on: the kernel holds process %d%s",
					 hanging, hang_where(hanging, where, sizeof(where)));
		if (clock_us() >= deadline)
			return 0;
	}
	return 1;
}

static int wait_started(struct container_monitor *monitor, const struct jail_start *start, int *ret_init_fd,
			struct warder_error *err)
{
	struct message message = { .word = WORD_FAILED };
	const int n = await_word(monitor, start, err);

	if (n < 0)
		return -1;
	if (n != 1 || !receive(monitor->socket, &message, ret_init_fd))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "the runtime %s",
				 n == 1 ? "was ended from outside" : "does not answer");
	if (message.word == WORD_STARTED && *ret_init_fd >= 0)
		return 0;
	if (message.error)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "backend", message.error,
				       "the container's bundle: %s", message.text);
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "the runtime: %s", message.text);
}

static int fork_container_monitor(struct work *work, struct container_monitor *monitor,
				  struct warder_error *err)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD | CLONE_NEWPID | CLONE_NEWNS,
		.pidfd = (uint64_t)(uintptr_t)&monitor->pidfd,
		.exit_signal = SIGCHLD,
	};
	sigset_t all, before;
	long pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		container_monitor_main(work);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "backend", errno, "cannot fork");
	return 0;
}

int container_monitor_start(const struct container_monitor_task *task, struct container_monitor **ret,
			    int *ret_init_pid, int *ret_init_fd, struct warder_error *err)
{
	struct work work = { .task = task, .start = task->layout.start, .layout = task->layout };
	struct container_monitor *monitor = calloc(1, sizeof(*monitor));
	struct warder_error left;
	int pair[2];
	int init_fd = -1;

	if (!monitor)
		return error_no_memory(err, NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		free(monitor);
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "socketpair");
	}
	monitor->socket = pair[0];
	work.socket = pair[1];
	snprintf(work.preserve, sizeof(work.preserve), "%d", (int)work.start->fd_count - 3);
	if (fork_container_monitor(&work, monitor, err) < 0) {
		close(pair[0]);
		close(pair[1]);
		free(monitor);
		return -1;
	}
	close(pair[1]);
	if (wait_started(monitor, work.start, &init_fd, err) < 0) {
		fd_done(&init_fd);
		if (end_monitor(monitor, &left) < 0)
			snprintf(err->text + strlen(err->text), sizeof(err->text) - strlen(err->text), "; %s",
				 left.text);
		return -1;
	}
	*ret_init_pid = pidfd_number(init_fd);
	*ret_init_fd = init_fd;
	*ret = monitor;
	return 0;
}
