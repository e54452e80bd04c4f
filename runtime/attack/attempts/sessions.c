/*
 * sessions: executions of one session. The companion is a background process of an execution that has ended; the joiners are
 * executions that begin one after the other while the attempt runs, as nothing of the session's knows them. Outside the companion is a
 * child of the attempt's, and the joiners are it, too.
 *
 * A joiner is an attempt's victim and a witness: it says "fine" if it finds itself as it must be, and the driver takes nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/attack/attempts/attempts.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* asm-generic/socket.h, since Linux 6.5 */
#endif

#define MIB      ((size_t)1 << 20)
#define LAST_PID 700 /* of those that an execution may see: more than a session of the tests ever has */
#define SOCKET   "/tmp/warder-companion"
#define BEAT     "/tmp/warder-companion-beats"
#define JOINERS                                                                                              \
	"/tmp/warder-joiner" /* the joiners' working directory is a directory in it (attack_session.c) */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
	const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* ---- the companion ---- */

/* Most of what the policy gives, but not all: twice that is more. */
static uint64_t share(uint64_t limit)
{
	return limit * 3 / 5;
}

static void *touch(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; at != MAP_FAILED && i < bytes; i += 4096)
		at[i] = 1;
	return at == MAP_FAILED ? NULL : at;
}

static int listen_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (fd >= 0 && (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, 8) != 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void beat(void)
{
	static unsigned beats;
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", ++beats);
	int fd = open(BEAT, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, (size_t)length) != length)
		beats = 0;
	close(fd);
}

/* In a child that does nothing but be there, until its parent ends: also one that has ended already. */
static _Noreturn void be_there(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	for (;;)
		pause();
}

/* What the attempt of this name meets. */
static void take_share(const char *name, const struct marks *marks)
{
	const pid_t own = getpid();

	if (strcmp(name, "fork-beside-companion") == 0) {
		for (uint64_t i = 0; i < share(marks->pids); i++)
			if (fork() == 0)
				be_there(own);
	} else if (strcmp(name, "touch-memory-beside-companion") == 0) {
		touch((size_t)share(marks->memory));
	}
}

static void live(const char *name, const struct marks *marks, int ready_fd)
{
	int listen_fd = listen_at(SOCKET);
	/* The policy may grant none, to nobody. */
	const bool terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0 || errno == ENOENT;

	take_share(name, marks);
	beat();
	if (write(ready_fd, "", terminal) != 1)
		_exit(1);
	close(ready_fd);
	if (strcmp(name, "outlive-session") == 0)
		raise(SIGSTOP);
	for (;;) {
		struct timeval time = { .tv_usec = 20000 };
		fd_set set;

		FD_ZERO(&set);
		if (listen_fd >= 0)
			FD_SET(listen_fd, &set);
		/* What connects is kept, so that there is a peer. */
		if (select(listen_fd + 1, &set, NULL, NULL, &time) > 0)
			accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
		beat();
	}
}

/* Its pid when it has begun; -1 with errno. */
static pid_t begin_companion(const char *name, const struct marks *marks)
{
	int pipes[2];
	char byte;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (marks->outside)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		else
			setsid();
		close(pipes[0]);
		for (int fd = 0; fd < 3; fd++)
			dup2(null_fd, fd);
		live(name, marks, pipes[1]);
	}
	close(pipes[1]);
	if (pid > 0 && read(pipes[0], &byte, 1) != 1)
		pid = -1;
	close(pipes[0]);
	return pid;
}

/* Outside; inside it is none of ours. */
static void end_companion(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int companion_main(const char *name, const struct marks *marks)
{
	if (begin_companion(name, marks) < 0)
		return 1;
	puts("ready");
	return fflush(stdout) != 0;
}

/* ---- the joiner ---- */

static const char *wrong_descriptors(void)
{
	for (int fd = 3; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return "a descriptor besides its streams";
	return NULL;
}

static const char *wrong_status(void)
{
	static const char *const lines[] = { "NoNewPrivs:\t1\n", "CapPrm:\t0000000000000000\n",
					     "CapEff:\t0000000000000000\n", "CapBnd:\t0000000000000000\n",
					     "TracerPid:\t0\n" };
	char text[4096];

	if (read_text("/proc/self/status", text, sizeof(text)) <= 0)
		return "no status";
	for (size_t i = 0; i < ARRAY_LENGTH(lines); i++)
		if (!strstr(text, lines[i]))
			return lines[i];
	return strstr(text, "Seccomp:\t0\n") ? "no filter" : NULL;
}

static const char *wrong_limits(const struct marks *marks)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0 ||
	    (marks->open_files && files.rlim_max > marks->open_files))
		return "more open files than it is given";
	return NULL;
}

static const char *wrong_place(const struct marks *marks)
{
	char path[4096];
	char text[64];

	/* It may have been removed since it was entered. */
	if (getcwd(path, sizeof(path)) ? path[0] != '/' : errno != ENOENT)
		return "a working directory outside of the root";
	snprintf(path, sizeof(path), "../../../../../..%s/secret", marks->dir);
	if (marks->dir[0] && read_text(path, text, sizeof(text)) > 0)
		return "a working directory from which the host is reached";
	if (kill(getpid(), 0) != 0 || getppid() != 1)
		return "another parent than its init";
	return NULL;
}

int joiner_main(const struct marks *marks)
{
	const char *wrong = wrong_descriptors();

	if (!wrong)
		wrong = wrong_status();
	if (!wrong)
		wrong = wrong_limits(marks);
	if (!wrong)
		wrong = wrong_place(marks);
	printf("%s\n", wrong ? wrong : "fine");
	return fflush(stdout) != 0 || wrong;
}

/* ---- against processes ---- */

/* Of every process that may be there; outside of the companion alone. Each attack's best answer counts. */
static int attack_each(const struct marks *marks, pid_t companion, int (*attack)(pid_t pid))
{
	int answer = ESRCH;

	if (marks->outside)
		return attack(companion);
	for (pid_t pid = 2; pid < LAST_PID; pid++) {
		int one = pid == getpid() ? ESRCH : attack(pid);

		if (one == REACHED) {
			note("process %d", (int)pid);
			return REACHED;
		}
		if (one != ESRCH)
			answer = one;
	}
	return answer;
}

static int against(const struct attempt *self, const struct marks *marks, int (*attack)(pid_t pid),
		   uint64_t ms)
{
	const pid_t companion = marks->outside ? begin_companion(self->name, marks) : 0;
	const uint64_t end = now_ms() + (marks->outside ? 0 : ms);
	int answer;

	if (companion < 0)
		return UNTRIED;
	do
		answer = attack_each(marks, companion, attack);
	while (answer != REACHED && now_ms() < end);
	end_companion(companion);
	return answer;
}

static int send_signal(pid_t pid)
{
	return answer_of(kill(pid, 0));
}

static int trace(pid_t pid)
{
	return answer_of(ptrace(PTRACE_SEIZE, pid, NULL, NULL));
}

static int read_memory(pid_t pid)
{
	char byte;
	struct iovec local = { &byte, 1 };
	struct iovec remote = { (void *)(uintptr_t)0x400000, 1 };

	return answer_past(process_vm_readv(pid, &local, 1, &remote, 1, 0), EFAULT);
}

static int set_limit(pid_t pid)
{
	return answer_of(syscall(SYS_prlimit64, pid, RLIMIT_CORE, NULL, &(struct rlimit){ 0 }));
}

static int open_of(pid_t pid, const char *file, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return answer_hidden(fd);
	close(fd);
	return REACHED;
}

static int open_memory(pid_t pid)
{
	return open_of(pid, "mem", O_RDWR);
}

static int open_output(pid_t pid)
{
	return open_of(pid, "fd/1", O_WRONLY);
}

static int open_root(pid_t pid)
{
	return open_of(pid, "root", O_RDONLY | O_DIRECTORY);
}

#define AGAINST(title, attack)                                                                               \
	static int title##_companion(const struct attempt *self, const struct marks *marks)                  \
	{                                                                                                    \
		return against(self, marks, attack, 0);                                                      \
	}                                                                                                    \
	static int title##_joiners(const struct attempt *self, const struct marks *marks)                    \
	{                                                                                                    \
		return against(self, marks, attack, 700);                                                    \
	}
AGAINST(signal, send_signal)
AGAINST(trace, trace)
AGAINST(read, read_memory)
AGAINST(limit, set_limit)
AGAINST(memory, open_memory)
AGAINST(output, open_output)
AGAINST(root, open_root)

/* ---- by its socket: a descriptor of a process needs no name for it ---- */

static int take_descriptor(int pidfd)
{
	return answer_of(syscall(SYS_pidfd_getfd, pidfd, 0, 0));
}

static int signal_descriptor(int pidfd)
{
	return answer_of(syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0));
}

static int by_socket(int (*attack)(int pidfd))
{
	struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int pidfd = -1;
	socklen_t len = sizeof(pidfd);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		return errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
		return attack(pidfd);
	note("the kernel gives no descriptor of a socket's peer");
	return errno == ENOPROTOOPT ? UNTRIED : errno;
}

static int with_companion(const struct attempt *self, const struct marks *marks, int (*attack)(int pidfd))
{
	const pid_t companion = marks->outside ? begin_companion(self->name, marks) : 0;
	int answer = companion < 0 ? UNTRIED : by_socket(attack);

	end_companion(companion);
	return answer;
}

static int take_companions_descriptor(const struct attempt *self, const struct marks *marks)
{
	return with_companion(self, marks, take_descriptor);
}

static int signal_by_socket(const struct attempt *self, const struct marks *marks)
{
	return with_companion(self, marks, signal_descriptor);
}

static int open_terminal(pid_t pid)
{
	return answer_terminals();
}

static int find_terminal(const struct attempt *self, const struct marks *marks)
{
	return against(self, marks, open_terminal, 0);
}

/* ---- more than the session has ---- */

static int fork_beside(const struct attempt *self, const struct marks *marks)
{
	const pid_t companion = marks->outside && marks->pids ? begin_companion(self->name, marks) : 0;
	const pid_t own = getpid();
	pid_t pids[600];
	size_t count = 0;
	int answer = REACHED;

	if (!marks->pids || share(marks->pids) > ARRAY_LENGTH(pids) || companion < 0) {
		note("the limit of processes is too large to be reached here");
		return UNTRIED;
	}
	while (answer == REACHED && count < share(marks->pids)) {
		pid_t pid = fork();

		if (pid == 0)
			be_there(own);
		if (pid < 0)
			answer = errno;
		else
			pids[count++] = pid;
	}
	note("%zu processes", count);
	for (size_t i = 0; i < count; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	end_companion(companion);
	return answer;
}

/* Both have their share only if the companion still lives. */
static int touch_beside(const struct attempt *self, const struct marks *marks)
{
	const pid_t companion = marks->outside && marks->memory && marks->memory <= 1024 * MIB
				    ? begin_companion(self->name, marks)
				    : 0;
	char before[32] = "";
	char after[32] = "";
	void *at;

	if (!marks->memory || marks->memory > 1024 * MIB || companion < 0) {
		note("the limit of memory is too large to be reached here");
		return UNTRIED;
	}
	at = touch((size_t)share(marks->memory));
	read_text(BEAT, before, sizeof(before));
	for (int i = 0; i < 50 && strcmp(before, after[0] ? after : before) == 0; i++) {
		pause_ms(20);
		read_text(BEAT, after, sizeof(after));
	}
	end_companion(companion);
	return at && strcmp(before, after) != 0 ? REACHED : at ? NO_EFFECT : ENOMEM;
}

/* That it is gone with the session, the driver looks at; here it has stopped itself. */
static int outlive_session(const struct attempt *self, const struct marks *marks)
{
	return NO_EFFECT;
}

/* ---- what joiners come by ---- */

static void replace(int round)
{
	static const char *const links[] = { "/",
					     "/proc/1/root",
					     "/proc/1/cwd",
					     "/proc/self/fd/4",
					     "/proc/self/fd/6",
					     "/proc/self/fd/8",
					     "/proc/self/fd/11",
					     "../../../..",
					     "/proc/self/cwd",
					     JOINERS };
	const char *link = links[(size_t)round % (ARRAY_LENGTH(links))];
	const char *deep = JOINERS "/deep";

	unlink(deep);
	rmdir(deep);
	unlink(JOINERS);
	rmdir(JOINERS);
	switch (round / 10 % 4) {
	case 0:
		if (symlink(link, JOINERS) != 0)
			return;
		break;
	case 1:
		if (mkdir(JOINERS, 0700) == 0 && symlink(link, deep) == 0)
			return;
		break;
	case 2:
		if (mkdir(JOINERS, 0700) == 0 && mkfifo(deep, 0600) == 0)
			return;
		break;
	case 3:
		if (mkfifo(JOINERS, 0600) == 0)
			return;
		break;
	}
}

/* Their working directory, which is in a /tmp that both have. */
static int misplace_joiners(const struct attempt *self, const struct marks *marks)
{
	const uint64_t end = now_ms() + 1200;

	for (int round = 0; now_ms() < end; round++) {
		replace(round);
		pause_ms(2);
	}
	return NO_EFFECT;
}

/* As many files as the limit of one makes it. */
static int fill_before_joiners(const struct attempt *self, const struct marks *marks)
{
	static char block[65536];
	/* Not the last of the memory, which is limited besides. */
	const uint64_t most =
	    marks->memory && share(marks->memory) < marks->tmp ? share(marks->memory) : marks->tmp + MIB;
	uint64_t written = 0;

	if (!marks->tmp || marks->tmp > 256 * MIB) {
		note("/tmp is too large to be filled here");
		return UNTRIED;
	}
	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; i < 64 && written < most; i++) {
		char path[64];
		ssize_t n = 0;
		int fd;

		snprintf(path, sizeof(path), "/tmp/warder-full-%d", i);
		fd = open(path, MAKE_FILE, 0600);
		while (fd >= 0 && written < most && (n = write(fd, block, sizeof(block))) > 0)
			written += (uint64_t)n;
		if (fd < 0 || (n < 0 && errno != EFBIG))
			break;
		close(fd);
	}
	note("%llu KiB", (unsigned long long)(written >> 10));
	pause_ms(700);
	return written ? NO_EFFECT : errno;
}

#define PIDS "pid namespace of each execution"

#define BESIDE(title, about, answers, mechanism, needed, function)                                           \
	{                                                                                                    \
		.name = title, .what = about, .answer = answers, .by = mechanism, .needs = needed,           \
		.run = function                                                                              \
	}

static const struct attempt rows[] = {
	BESIDE("signal-companion", "signal a background process of an earlier execution", "ESRCH", PIDS,
	       "companion|spawn", signal_companion),
	BESIDE("trace-companion", "trace it", "EPERM|ESRCH|ENOSYS", "seccomp filter, " PIDS,
	       "companion|spawn", trace_companion),
	BESIDE("read-companions-memory", "read its memory", "EPERM|ESRCH|ENOSYS", "seccomp filter, " PIDS,
	       "companion|spawn", read_companion),
	BESIDE("limit-companion", "change its limits", "EPERM|ESRCH", PIDS, "companion|spawn",
	       limit_companion),
	BESIDE("open-companions-memory", "open its /proc/PID/mem", "hidden", PIDS ", a /proc of its own",
	       "companion|spawn", memory_companion),
	BESIDE("open-companions-output", "open its standard output", "hidden", PIDS ", a /proc of its own",
	       "companion|spawn", output_companion),
	BESIDE("open-companions-root", "open its root", "hidden", PIDS ", a /proc of its own",
	       "companion|spawn", root_companion),
	BESIDE("find-companions-terminal", "find its terminal", "hidden", "/dev/pts of each execution",
	       "companion|spawn", find_terminal),
	BESIDE("take-companions-descriptor", "take a descriptor of it, by a descriptor of its socket's peer",
	       "EPERM|ENOSYS", "seccomp filter", "companion|spawn", take_companions_descriptor),
	BESIDE("signal-companion-by-socket", "signal it by a descriptor of its socket's peer",
	       "EINVAL|EPERM|ENOSYS", PIDS, "companion|spawn", signal_by_socket),
	{ "fork-beside-companion", "have more processes together than the session has", "EAGAIN|limit:pids",
	  "limits.pids of the session", .allowed = "unlimited:limits.pids", .needs = "companion|spawn",
	  .run = fork_beside },
	{ "touch-memory-beside-companion", "have more memory together than the session has",
	  "limit:memory|no-effect|ENOMEM", "limits.memory of the session",
	  .allowed = "unlimited:limits.memory", .needs = "companion|spawn", .run = touch_beside },
	{ "outlive-session", "be stopped when the session ends", "no-effect", "cgroup, pid namespace",
	  .needs = "companion|spawn", .run = outlive_session,
	  .not_outside = "what comes of it is seen when the session has ended" },
	BESIDE("signal-joiners", "signal executions that begin", "ESRCH", PIDS, "joiners", signal_joiners),
	BESIDE("trace-joiners", "trace them", "EPERM|ESRCH|ENOSYS", "seccomp filter, " PIDS, "joiners",
	       trace_joiners),
	BESIDE("read-joiners-memory", "read their memory", "EPERM|ESRCH|ENOSYS", "seccomp filter, " PIDS,
	       "joiners", read_joiners),
	BESIDE("limit-joiners", "change their limits", "EPERM|ESRCH", PIDS, "joiners", limit_joiners),
	BESIDE("open-joiners-memory", "open their /proc/PID/mem", "hidden", PIDS ", a /proc of its own",
	       "joiners", memory_joiners),
	BESIDE("open-joiners-output", "open their standard output", "hidden", PIDS ", a /proc of its own",
	       "joiners", output_joiners),
	BESIDE("open-joiners-root", "open their root", "hidden", PIDS ", a /proc of its own", "joiners",
	       root_joiners),
	{ "misplace-joiners", "put links and pipes in the place of their working directory", "no-effect",
	  "resolved without privilege", .needs = "joiners", .run = misplace_joiners,
	  .not_outside = "what comes of it is seen in the executions" },
	{ "fill-before-joiners", "fill /tmp before they begin", "no-effect",
	  "nothing of a start is written there", .allowed = "unlimited:limits.memory", .needs = "joiners",
	  .run = fill_before_joiners, .not_outside = "what comes of it is seen in the executions" },
};

const struct attempt_group sessions_group = GROUP("sessions", rows);
