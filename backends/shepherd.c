/*
 * A runtime without a daemon is a program that is run three times: create, start, delete. Between these there is nobody, so that a
 * supervisor that dies would leave the container, and a runtime that hangs would hang the supervisor. The shepherd stands between:
 *
 *   supervisor                        shepherd                              container
 *   fork                         ---> own mount namespace: tmpfs with
 *                                     root, binds, config.json, state
 *                                     RUNTIME create, RUNTIME start    --->  init (waits for nobody: reports
 *   pid of init, pidfd           <--- STARTED, pid                           to the supervisor itself)
 *   ... the run ...                   waits
 *   init is dead, or is killed
 *   by its pidfd and cgroup
 *   stop                         ---> RUNTIME delete --force
 *   waits, and kills it after a while
 *
 * Whichever of them dies: init watches the supervisor by its pidfd and ends the container with it; the shepherd sees the end of its
 * socket and deletes the container; without a shepherd the supervisor still has init's pidfd and the cgroup, and the mounts are
 * gone with their namespace. What a runtime makes outside is a cgroup per hierarchy, which bears the run's name.
 *
 * After the fork only system calls are made: another thread of the host may have held any lock.
 */
#include "backends/shepherd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/bundle.h"
#include "base/fd.h"
#include "base/path.h"

#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_EMPTY_PATH 4 /* linux/mount.h, which some libc's sys/mount.h cannot stand beside */
#endif
#define START_TIMEOUT_MS  30000
#define DELETE_TIMEOUT_MS 10000
#define STATE             BUNDLE_PLACE "/state"
#define LOG               BUNDLE_PLACE "/log"
#define PID_FILE          BUNDLE_PLACE "/pid"
#define CONFIG            BUNDLE_PLACE "/config.json"
#define HYBRID            "/sys/fs/cgroup/unified"
#define ID_MAX            112
#define ARGS_MAX          20

struct shepherd {
	int pid, pidfd;
	int socket; /* ours */
};

enum word {
	WORD_FAILED, /* text: what could not be done */
	WORD_STARTED,
	WORD_LEFT, /* the container could not be deleted */
};

struct message {
	enum word word;
	int pid;   /* of the container's init */
	int error; /* errno, or 0 */
	char text[320];
};

/* What the forked process works with; its copy of the supervisor's memory. */
struct work {
	const struct shepherd_task *task;
	const struct jail_start *start;
	const struct rootfs *rootfs;
	int socket;
	char id[ID_MAX];
	char preserve[12];
	struct message message;
};

/* ---- inside the shepherd ---- */

static int fail(struct work *work, const char *what)
{
	if (!work->message.text[0]) {
		const size_t len = strnlen(what, sizeof(work->message.text) - 1);

		work->message.error = errno;
		memcpy(work->message.text, what, len);
		work->message.text[len] = '\0';
	}
	return -1;
}

static int write_file(struct work *work, const char *path, const char *text, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	ssize_t n = fd < 0 ? -1 : write(fd, text, len);

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)len ? 0 : fail(work, path);
}

/* Path of an entry below the root that is laid out. Targets are normalised and absolute. */
static int place(struct work *work, char *buf, size_t size, const char *target)
{
	const size_t base = sizeof(BUNDLE_ROOT) - 1;
	const size_t len = strlen(target);

	if (base + len + 1 > size) {
		errno = ENAMETOOLONG;
		return fail(work, target);
	}
	memcpy(buf, BUNDLE_ROOT, base);
	memcpy(buf + base, target, len + 1);
	return 0;
}

static int make_point(struct work *work, const char *path, bool directory)
{
	if (directory)
		return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : fail(work, path);
	return write_file(work, path, "", 0, 0644);
}

/* Beneath a mount of the plan the place is there already. */
static bool beneath_a_bind(const struct rootfs *rootfs, const struct rootfs_entry *entry)
{
	for (size_t i = 0; i < rootfs->count; i++)
		if (&rootfs->entries[i] != entry && rootfs->entries[i].kind == ROOTFS_BIND &&
		    path_within(rootfs->entries[i].target, entry->target))
			return true;
	return false;
}

static size_t put_number(char *to, size_t value)
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

static int attach(struct work *work, size_t index)
{
	const struct rootfs_entry *entry = &work->rootfs->entries[index];
	char path[sizeof(BUNDLE_BINDS) + 24] = BUNDLE_BINDS "/";

	put_number(path + sizeof(BUNDLE_BINDS), index);
	if (make_point(work, path, entry->is_directory) < 0)
		return -1;
	if (syscall(SYS_move_mount, work->task->trees[index], "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) <
	    0)
		return fail(work, entry->target);
	return 0;
}

static int lay_entry(struct work *work, size_t index)
{
	const struct rootfs_entry *entry = &work->rootfs->entries[index];
	char path[4200];

	if (place(work, path, sizeof(path), entry->target) < 0)
		return -1;
	switch (entry->kind) {
	case ROOTFS_DIRECTORY:
		return make_point(work, path, true);
	case ROOTFS_SYMLINK:
		return symlink(entry->text, path) == 0 ? 0 : fail(work, path);
	case ROOTFS_FILE:
		return write_file(work, path, entry->text, strlen(entry->text), 0644);
	case ROOTFS_BIND:
		if (!beneath_a_bind(work->rootfs, entry) && make_point(work, path, entry->is_directory) < 0)
			return -1;
		return attach(work, index);
	case ROOTFS_OVERLAY:
		break;
	}
	errno = EINVAL;
	return fail(work, entry->target);
}

/* One tmpfs for everything that the program may write, so that one size bounds all of it; seen twice, with flags of their own. */
static int lay_scratch(struct work *work)
{
	static const char whole[] = BUNDLE_PLACE "/scratch";
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	const unsigned long tmp = MS_NOSUID | MS_NODEV | (work->rootfs->tmp_exec ? 0 : MS_NOEXEC);

	if (mkdir(whole, 0711) < 0 || mkdir(BUNDLE_TMP, 0711) < 0 || mkdir(BUNDLE_SHM, 0711) < 0 ||
	    mount("scratch", whole, "tmpfs", flags, work->start->scratch_options) < 0 ||
	    mkdir(BUNDLE_PLACE "/scratch/tmp", 01777) < 0 || mkdir(BUNDLE_PLACE "/scratch/shm", 01777) < 0 ||
	    mount(BUNDLE_PLACE "/scratch/tmp", BUNDLE_TMP, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, BUNDLE_TMP, NULL, MS_REMOUNT | MS_BIND | tmp, NULL) < 0 ||
	    mount(BUNDLE_PLACE "/scratch/shm", BUNDLE_SHM, NULL, MS_BIND, NULL) < 0)
		return fail(work, "the tmpfs of /tmp and /dev/shm");
	return 0;
}

/* crun wants one version of cgroups. It has nothing to do with them here, and is shown the first only. */
static int hide_hybrid(struct work *work)
{
	if (!work->task->is_crun || access(HYBRID "/cgroup.procs", F_OK) < 0)
		return 0;
	return mount("none", HYBRID, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k") == 0
		   ? 0
		   : fail(work, HYBRID);
}

static int lay_out(struct work *work)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return fail(work, "a mount namespace");
	if (hide_hybrid(work) < 0)
		return -1;
	if (mount("warder", BUNDLE_PLACE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711,size=4m") < 0 ||
	    mkdir(BUNDLE_ROOT, 0755) < 0 || mkdir(BUNDLE_BINDS, 0711) < 0 || mkdir(STATE, 0700) < 0)
		return fail(work, BUNDLE_PLACE);
	if (lay_scratch(work) < 0)
		return -1;
	for (size_t i = 0; i < work->rootfs->count; i++)
		if (lay_entry(work, i) < 0)
			return -1;
	return write_file(work, CONFIG, work->task->config, strlen(work->task->config), 0600);
}

/* ---- running the runtime ---- */

/* The child's descriptors become those of init, from 0 on, or /dev/null. */
static int take_fds(const struct work *work, bool of_init)
{
	const int count = of_init ? (int)work->start->fd_count : 3;
	int high[64];

	if (count > (int)(sizeof(high) / sizeof(high[0])))
		return -1;
	for (int i = 0; i < count; i++) {
		high[i] = of_init ? fcntl(work->start->fds[i], F_DUPFD, 128) : open("/dev/null", O_RDWR);
		if (!of_init && high[i] >= 0) {
			int fd = high[i];

			high[i] = fcntl(fd, F_DUPFD, 128);
			close(fd);
		}
		if (high[i] < 0)
			return -1;
	}
	for (int i = 0; i < count; i++)
		if (dup2(high[i], i) < 0)
			return -1;
	return (int)syscall(SYS_close_range, count, ~0u, 0);
}

/* Run it to its end, or to the end of the supervisor's patience, or of the supervisor. 0 if it ended well. */
static int run(struct work *work, const char *const *argv, bool of_init, int timeout_ms)
{
	static const char *const environment[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", NULL
	};
	const int pid = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	struct pollfd fds[2] = { { .fd = -1, .events = POLLIN },
				 { .fd = of_init ? work->socket : -1, .events = POLLIN } };
	int status = 0;
	int n;

	if (pid < 0)
		return fail(work, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (take_fds(work, of_init) == 0)
			syscall(SYS_execve, argv[0], argv, environment);
		_exit(126);
	}
	fds[0].fd = (int)syscall(SYS_pidfd_open, pid, 0);
	do
		n = poll(fds, 2, timeout_ms);
	while (n < 0 && errno == EINTR);
	if (!(fds[0].revents & POLLIN))
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	close(fds[0].fd);
	return status == 0 ? 0 : -1;
}

static size_t head(const struct work *work, const char **argv)
{
	size_t n = 0;

	argv[n++] = work->task->runtime;
	if (work->task->is_crun)
		argv[n++] = "--cgroup-manager=disabled";
	argv[n++] = "--log";
	argv[n++] = LOG;
	argv[n++] = "--root";
	argv[n++] = STATE;
	return n;
}

static int fail_runtime(struct work *work, const char *what)
{
	int fd = open(LOG, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, work->message.text + 24, sizeof(work->message.text) - 25);

	work->message.error = 0;
	memset(work->message.text, ' ', 24);
	memcpy(work->message.text, what, strlen(what));
	if (n < 0)
		n = 0;
	work->message.text[24 + n] = '\0';
	for (char *c = work->message.text; *c; c++)
		if (*c == '\n' || *c == '\r' || *c == '\t')
			*c = ' ';
	if (fd >= 0)
		close(fd);
	return -1;
}

static int read_pid(struct work *work)
{
	char text[16] = "";
	int fd = open(PID_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	int pid = 0;

	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		pid = pid * 10 + (text[i] - '0');
	return pid > 1 ? pid : fail(work, PID_FILE);
}

static int create(struct work *work)
{
	const char *argv[ARGS_MAX];
	size_t n = head(work, argv);

	argv[n++] = "create";
	argv[n++] = "--bundle";
	argv[n++] = BUNDLE_PLACE;
	argv[n++] = "--pid-file";
	argv[n++] = PID_FILE;
	argv[n++] = "--preserve-fds";
	argv[n++] = work->preserve;
	argv[n++] = work->id;
	argv[n] = NULL;
	return run(work, argv, true, START_TIMEOUT_MS) == 0 ? 0 : fail_runtime(work, "create:");
}

/* In the container's mount namespace, of which the shepherd's user is the owner's owner. */
static _Noreturn void tighten_main(int ns_fd)
{
	const unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NOEXEC;
	const char *path;
	bool read_only_too;

	if (setns(ns_fd, CLONE_NEWNS) < 0)
		_exit(1);
	/* What is no mount, or not there, stays as it is; what should be one is looked at by the read-back. */
	for (size_t i = 0; (path = bundle_loose(i, &read_only_too)); i++)
		mount(NULL, path, NULL, flags | (read_only_too ? MS_RDONLY : 0), NULL);
	unlink("/dev/core"); /* a link of crun's to what is masked */
	_exit(0);
}

/* Runtimes lay their masks and nodes without the flags that a jail's have: these are set from outside, while the container waits. */
static int tighten(struct work *work, int init_pid)
{
	char path[48] = "/proc/";
	size_t len = 6 + put_number(path + 6, (size_t)init_pid);
	int status = 0;
	int fd, pid;

	memcpy(path + len, "/ns/mnt", 8);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(work, "the container's mount namespace");
	pid = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		tighten_main(fd);
	close(fd);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0 ? 0 : fail(work, "the flags of the container's mounts");
}

static int start(struct work *work)
{
	const char *argv[ARGS_MAX];
	size_t n = head(work, argv);

	argv[n++] = "start";
	argv[n++] = work->id;
	argv[n] = NULL;
	return run(work, argv, false, START_TIMEOUT_MS) == 0 ? 0 : fail_runtime(work, "start:");
}

static int delete (struct work *work)
{
	const char *argv[ARGS_MAX];
	size_t n = head(work, argv);

	argv[n++] = "delete";
	argv[n++] = "--force";
	argv[n++] = work->id;
	argv[n] = NULL;
	return run(work, argv, false, DELETE_TIMEOUT_MS);
}

static void say(struct work *work, enum word word)
{
	work->message.word = word;
	send(work->socket, &work->message, sizeof(work->message), MSG_NOSIGNAL);
}

/* Close everything but what is still needed; the host's descriptors, also other runs' pipes, are none of ours. */
static void close_others(const struct work *work)
{
	const struct jail_start *given = work->start;
	unsigned int from = 0;

	for (;;) {
		unsigned int next = ~0u;

		for (size_t i = 0; i < given->fd_count; i++)
			if (given->fds[i] >= (int)from && (unsigned int)given->fds[i] < next)
				next = (unsigned int)given->fds[i];
		for (size_t i = 0; i < work->rootfs->count; i++)
			if (work->task->trees[i] >= (int)from && (unsigned int)work->task->trees[i] < next)
				next = (unsigned int)work->task->trees[i];
		if (work->socket >= (int)from && (unsigned int)work->socket < next)
			next = (unsigned int)work->socket;
		if (next > from)
			syscall(SYS_close_range, from, next - 1, 0);
		if (next == ~0u)
			return;
		from = next + 1;
	}
}

static void close_given(const struct work *work)
{
	for (size_t i = 0; i < work->start->fd_count; i++)
		close(work->start->fds[i]);
	for (size_t i = 0; i < work->rootfs->count; i++)
		if (work->task->trees[i] >= 0)
			close(work->task->trees[i]);
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

static int bring_up(struct work *work)
{
	int pid;

	if (lay_out(work) < 0 || create(work) < 0)
		return -1;
	/* The container has them now; a pipe's end must be seen. */
	close_given(work);
	pid = read_pid(work);
	if (pid < 0 || tighten(work, pid) < 0 || start(work) < 0)
		return -1;
	work->message.pid = pid;
	return 0;
}

static _Noreturn void shepherd_main(struct work *work)
{
	struct pollfd fd = { .fd = work->socket, .events = POLLIN };
	bool up;

	setsid();
	quiet_signals();
	umask(0);
	prctl(PR_SET_NAME, "warder-shepherd");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	close_others(work);
	up = bring_up(work) == 0;
	say(work, up ? WORD_STARTED : WORD_FAILED);
	/* A word or the end: both mean that it is over. */
	while (up && poll(&fd, 1, -1) < 0)
		;
	if (delete (work) < 0 && up)
		say(work, WORD_LEFT);
	while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
		;
	_exit(0);
}

/* ---- the supervisor's side ---- */

static int wait_gone(struct shepherd *shepherd)
{
	struct pollfd fd = { .fd = shepherd->pidfd, .events = POLLIN };
	siginfo_t info;
	int n;

	do
		n = poll(&fd, 1, 2 * DELETE_TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		syscall(SYS_pidfd_send_signal, shepherd->pidfd, SIGKILL, NULL, 0);
	waitid(P_PIDFD, (id_t)shepherd->pidfd, &info, WEXITED | __WALL);
	return n == 1 ? 0 : -1;
}

int shepherd_stop(struct shepherd *shepherd, struct warder_error *err)
{
	struct message message = { .word = WORD_STARTED };
	bool left = false;
	int gone;

	shutdown(shepherd->socket, SHUT_WR);
	gone = wait_gone(shepherd);
	while (recv(shepherd->socket, &message, sizeof(message), MSG_DONTWAIT) == sizeof(message))
		left |= message.word == WORD_LEFT;
	fd_done(&shepherd->socket);
	fd_done(&shepherd->pidfd);
	free(shepherd);
	if (gone == 0 && !left)
		return 0;
	return error_set(
	    err, WARDER_ERROR_INTERNAL, "backend",
	    "the runtime did not delete the container; \"warder doctor --clean\" removes what is left");
}

static int wait_started(struct shepherd *shepherd, struct message *ret, struct warder_error *err)
{
	struct pollfd fd = { .fd = shepherd->socket, .events = POLLIN };
	int n;

	do
		n = poll(&fd, 1, 2 * START_TIMEOUT_MS + 5000);
	while (n < 0 && errno == EINTR);
	if (n == 1 && recv(shepherd->socket, ret, sizeof(*ret), 0) == sizeof(*ret)) {
		ret->text[sizeof(ret->text) - 1] = '\0';
		return 0;
	}
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "the runtime %s",
			 n == 1 ? "was ended from outside" : "does not answer");
}

static int open_init(const struct message *message, int *ret_pid, int *ret_fd, struct warder_error *err)
{
	int fd;

	if (message->word != WORD_STARTED && message->error)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "backend", message->error,
				       "the container's bundle: %s", message->text);
	if (message->word != WORD_STARTED)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "the runtime: %s", message->text);
	/* The shepherd has not reaped it: the number is still its own. */
	fd = (int)syscall(SYS_pidfd_open, message->pid, 0);
	if (fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "backend", errno,
				       "the container's init is gone");
	*ret_pid = message->pid;
	*ret_fd = fd;
	return 0;
}

static int fork_shepherd(struct work *work, struct shepherd *shepherd, struct warder_error *err)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&shepherd->pidfd,
		.exit_signal = SIGCHLD,
	};
	sigset_t all, before;
	long pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		shepherd_main(work);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "backend", errno, "cannot fork");
	shepherd->pid = (int)pid;
	return 0;
}

int shepherd_start(const struct shepherd_task *task, const struct jail_start *given, struct shepherd **ret,
		   int *ret_init_pid, int *ret_init_fd, struct warder_error *err)
{
	struct work work = { .task = task, .start = given, .rootfs = &given->plan->rootfs };
	struct shepherd *shepherd = calloc(1, sizeof(*shepherd));
	struct message message = { 0 };
	struct warder_error ignored;
	int pair[2];

	if (!shepherd)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "no memory for the container");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		free(shepherd);
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "socketpair");
	}
	shepherd->socket = pair[0];
	work.socket = pair[1];
	snprintf(work.id, sizeof(work.id), "%s", given->name);
	snprintf(work.preserve, sizeof(work.preserve), "%d", (int)given->fd_count - 3);
	if (fork_shepherd(&work, shepherd, err) < 0) {
		close(pair[0]);
		close(pair[1]);
		free(shepherd);
		return -1;
	}
	close(pair[1]);
	if (wait_started(shepherd, &message, err) < 0 ||
	    open_init(&message, ret_init_pid, ret_init_fd, err) < 0) {
		shepherd_stop(shepherd, &ignored);
		return -1;
	}
	*ret = shepherd;
	return 0;
}
