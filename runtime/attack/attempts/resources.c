/*
 * resources: more than the policy gives. Every attempt is bounded where nothing stops it: it goes a little
 * over the limit that it was told, and is not tried where that would be much.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "runtime/attack/attempts/attempts.h"

#define MIB ((uint64_t)1 << 20)

#define PROCESSES_MAX 600
#define MEMORY_MAX    (1024 * MIB)
#define FILES_MAX     40000

/* What the attempts write. */
static char chunk[MIB];

static int too_much(const char *what, uint64_t limit)
{
	note("the policy's limit of %s is %llu: reaching it would burden the host", what,
	     (unsigned long long)limit);
	return UNTRIED;
}

static void end_children(const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		kill(pids[i], SIGKILL);
	for (size_t i = 0; i < count; i++)
		waitpid(pids[i], NULL, 0);
}

/* How: 'f'ork, 'v'fork-like (the parent goes on when the child has its own session), 's'ession of its own. */
static pid_t start_child(char how)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (how == 's')
		setsid();
	for (;;)
		pause();
}

static int start_many(const struct attempt *self, const struct marks *marks)
{
	const uint64_t wanted = marks->pids + 8;
	pid_t pids[PROCESSES_MAX];
	size_t count = 0;
	int answer = REACHED;

	if (!marks->pids || wanted > PROCESSES_MAX)
		return too_much("processes", marks->pids);
	while (count < wanted) {
		pid_t pid = start_child(self->path[0]);

		if (pid < 0) {
			answer = errno;
			break;
		}
		pids[count++] = pid;
	}
	note("%zu processes", count);
	end_children(pids, count);
	return answer;
}

static void *wait_for_ever(void *context)
{
	for (;;)
		pause();
	return NULL;
}

static int start_threads(const struct attempt *self, const struct marks *marks)
{
	const uint64_t wanted = marks->pids + 8;
	pthread_attr_t attr;
	pthread_t thread;

	if (!marks->pids || wanted > PROCESSES_MAX)
		return too_much("processes", marks->pids);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (uint64_t i = 0; i < wanted; i++) {
		int error = pthread_create(&thread, &attr, wait_for_ever, NULL);

		if (error) {
			note("%llu threads", (unsigned long long)i);
			return error;
		}
	}
	return REACHED;
}

/* ---- memory ---- */

/* 0 if the limit is one that can be tried; the amount that goes over it in *ret. */
static int memory_to_take(const struct marks *marks, uint64_t *ret)
{
	*ret = marks->memory + 8 * MIB;
	if (!marks->memory || marks->memory > MEMORY_MAX)
		return too_much("memory", marks->memory);
	if (marks->available < *ret + 256 * MIB) {
		note("the host has too little memory to spare");
		return UNTRIED;
	}
	return 0;
}

static int touch_memory(const struct attempt *self, const struct marks *marks)
{
	uint64_t wanted;
	char *at;

	if (memory_to_take(marks, &wanted) != 0)
		return UNTRIED;
	at = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return errno;
	madvise(at, wanted, MADV_NOHUGEPAGE);
	for (uint64_t i = 0; i < wanted; i += 4096)
		at[i] = 1;
	munmap(at, wanted);
	return REACHED;
}

static int fill_memfd(const struct attempt *self, const struct marks *marks)
{
	uint64_t wanted;
	int fd;

	if (memory_to_take(marks, &wanted) != 0)
		return UNTRIED;
	/* Several, each smaller than the largest file that the policy allows. */
	while (wanted) {
		uint64_t size = wanted;

		if (marks->file_size && size > marks->file_size)
			size = marks->file_size;
		fd = (int)syscall(SYS_memfd_create, "warder-attempt", 0);
		if (fd < 0)
			return errno;
		wanted -= size;
		for (; size; size -= size < MIB ? size : MIB)
			if (write(fd, chunk, size < MIB ? size : MIB) < 0)
				return errno;
	}
	return REACHED;
}

/* Keeps what it has taken until everybody has his, or nobody is left who could. */
static _Noreturn void take_and_hold(uint64_t bytes, int done_fd, int hold_fd)
{
	char *at =
	    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char none;

	for (uint64_t i = 0; at != MAP_FAILED && i < bytes; i += 4096)
		at[i] = 1;
	if (write(done_fd, "", 1) != 1)
		_exit(1);
	close(done_fd);
	while (read(hold_fd, &none, 1) > 0)
		;
	_exit(at == MAP_FAILED);
}

/* Two processes, each within the limit. */
static int touch_memory_together(const struct attempt *self, const struct marks *marks)
{
	int done[2], hold[2];
	int status = 0;
	int answer = REACHED;
	uint64_t wanted;
	pid_t pids[2];
	char each;

	if (memory_to_take(marks, &wanted) != 0)
		return UNTRIED;
	if (pipe(done) != 0 || pipe(hold) != 0)
		return errno;
	for (size_t i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			close(hold[1]);
			take_and_hold(wanted / 2, done[1], hold[0]);
		}
	}
	close(done[1]);
	for (int i = 0; i < 2 && read(done[0], &each, 1) == 1; i++)
		;
	close(hold[1]);
	for (size_t i = 0; i < 2; i++)
		if (waitpid(pids[i], &status, 0) < 0 || status != 0)
			answer = ENOMEM;
	close(done[0]);
	close(hold[0]);
	return answer;
}

/* Buffers of the kernel's: bounded by the number of descriptors, or counted as memory of whoever fills
 * them. */
static int fill_buffers(const struct attempt *self, const struct marks *marks)
{
	const bool is_pipe = strcmp(self->path, "pipe") == 0;
	uint64_t wanted, held = 0;

	if (memory_to_take(marks, &wanted) != 0)
		return UNTRIED;
	while (held < wanted) {
		ssize_t n;
		int ends[2];

		if (is_pipe ? pipe2(ends, O_NONBLOCK)
			    : socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends)) {
			note("%llu MiB held", (unsigned long long)(held / MIB));
			return errno;
		}
		while ((n = write(ends[1], chunk, 65536)) > 0)
			held += (uint64_t)n;
	}
	return REACHED;
}

/* ---- files ---- */

/* Write below a directory until the disk is full: REACHED once more than the policy's size lies there. */
static int fill_directory(const struct attempt *self, const struct marks *marks)
{
	uint64_t left = marks->tmp + 8 * MIB;
	int answer = REACHED;
	char path[128];
	int count = 0;

	if (!marks->tmp || marks->tmp > MEMORY_MAX / 2)
		return too_much("/tmp", marks->tmp);
	while (left && answer == REACHED && count < 4096) {
		uint64_t size = left < 16 * MIB ? left : 16 * MIB;
		int fd;

		snprintf(path, sizeof(path), "%s/warder-attempt-%d", self->path, count++);
		fd = open(path, MAKE_FILE, 0600);
		if (fd < 0)
			answer = errno;
		left -= size;
		for (; size && answer == REACHED; size -= size < MIB ? size : MIB)
			if (write(fd, chunk, size < MIB ? size : MIB) < 0)
				answer = errno;
		close(fd);
	}
	while (count > 0) {
		snprintf(path, sizeof(path), "%s/warder-attempt-%d", self->path, --count);
		unlink(path);
	}
	return answer;
}

static int make_many_files(const struct attempt *self, const struct marks *marks)
{
	int answer = REACHED;
	struct statvfs about;
	char path[64];
	int count = 0;

	if (statvfs("/tmp", &about) == 0 && about.f_files > FILES_MAX)
		return too_much("files in /tmp", about.f_files);
	if (mkdir("/tmp/warder-attempt-many", 0700) != 0)
		return UNTRIED;
	while (answer == REACHED && count < FILES_MAX) {
		snprintf(path, sizeof(path), "/tmp/warder-attempt-many/%d", count);
		if (mknod(path, S_IFREG | 0600, 0) != 0)
			answer = errno;
		else
			count++;
	}
	note("%d files", count);
	while (count > 0) {
		snprintf(path, sizeof(path), "/tmp/warder-attempt-many/%d", --count);
		unlink(path);
	}
	rmdir("/tmp/warder-attempt-many");
	return answer;
}

/* A hole, which costs nothing where it is not stopped. */
static int write_beyond_file_size(const struct attempt *self, const struct marks *marks)
{
	int answer, fd;

	if (!marks->file_size)
		return UNTRIED;
	signal(SIGXFSZ, SIG_IGN);
	fd = open("/tmp/warder-attempt-hole", MAKE_FILE, 0600);
	if (fd < 0)
		return UNTRIED;
	answer = answer_of(pwrite(fd, "x", 1, (off_t)marks->file_size));
	close(fd);
	unlink("/tmp/warder-attempt-hole");
	return answer;
}

static int open_many(const struct attempt *self, const struct marks *marks)
{
	struct rlimit limit;

	if (!marks->open_files || marks->open_files > 65536)
		return too_much("open files", marks->open_files);
	/* The soft limit is anybody's to raise. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	for (uint64_t i = 0; i < marks->open_files; i++)
		if (open("/dev/null", O_RDONLY) < 0)
			return errno;
	return REACHED;
}

/* A tree so deep that who removes it must not recurse. */
static int nest_directories(const struct attempt *self, const struct marks *marks)
{
	int depth = 0;

	if (chdir("/tmp") != 0)
		return UNTRIED;
	while (depth < 500 && mkdir("warder-attempt-deep", 0700) == 0 && chdir("warder-attempt-deep") == 0)
		depth++;
	note("%d directories deep", depth);
	if (marks->outside) {
		while (depth-- > 0 && chdir("..") == 0)
			rmdir("warder-attempt-deep");
		return REACHED;
	}
	return depth ? NO_EFFECT : UNTRIED;
}

/* Attributes of a file, which take memory of the kernel's. */
static int fill_attributes(const struct attempt *self, const struct marks *marks)
{
	const uint64_t most = marks->tmp + 8 * MIB;
	const size_t size = 60000;
	int answer = REACHED;
	uint64_t held = 0;
	int fd;

	if (!marks->tmp || marks->tmp > MEMORY_MAX / 2)
		return too_much("/tmp", marks->tmp);
	fd = open("/tmp/warder-attempt", MAKE_FILE, 0600);
	if (fd < 0)
		return UNTRIED;
	for (unsigned i = 0; held < most && answer == REACHED; i++, held += size) {
		char name[32];

		snprintf(name, sizeof(name), "user.warder%u", i);
		if (fsetxattr(fd, name, chunk, size, 0) != 0)
			answer = held || errno != EOPNOTSUPP ? errno : UNTRIED;
	}
	note("%llu MiB held", (unsigned long long)(held / MIB));
	close(fd);
	unlink("/tmp/warder-attempt");
	return answer;
}

#define PENDING_MAX 4096 /* signals and timers: more than a jail may have, and less than a user may outside */

/* Each takes memory of the kernel's until it is taken away. */
static int arm_timers(const struct attempt *self, const struct marks *marks)
{
	int id;

	for (int i = 0; i < PENDING_MAX; i++)
		if (syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &id) != 0)
			return errno;
	return REACHED;
}

static int queue_signals(const struct attempt *self, const struct marks *marks)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < PENDING_MAX; i++)
		if (sigqueue(getpid(), SIGRTMIN, (union sigval){ 0 }) != 0)
			return errno;
	return REACHED;
}

/* Descriptors that were sent and are not received: nobody has them, and they are there. 250 in a message. */
static int send_descriptors(const struct attempt *self, const struct marks *marks)
{
	const uint64_t most = marks->open_files + 500;
	union {
		char bytes[CMSG_SPACE(250 * sizeof(int))];
		struct cmsghdr header;
	} control = { 0 };
	char byte = 0;
	struct msghdr message = { .msg_iov = &(struct iovec){ &byte, 1 },
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int ends[2];

	if (!marks->open_files || marks->open_files > 4096)
		return too_much("open files", marks->open_files);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
		return errno;
	control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(250 * sizeof(int)),
					   .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS };
	for (uint64_t sent = 0; sent < most; sent += 250)
		if (sendmsg(ends[0], &message, 0) < 0)
			return errno;
	return REACHED;
}

/* Pages that cannot be taken away, also not from whoever needs them more. */
static int lock_memory(const struct attempt *self, const struct marks *marks)
{
	const size_t size = 9 * MIB;
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? UNTRIED : answer_of(mlock(at, size));
}

/* ---- output and time ---- */

static int flood_output(const struct attempt *self, const struct marks *marks)
{
	const int stream = self->path[0] - '0';

	memset(chunk, 'x', MIB);
	for (int i = 0; i < 4; i++)
		if (write(stream, chunk, MIB) < 0)
			return errno;
	return NO_EFFECT;
}

static int sleep_for_ever(const struct attempt *self, const struct marks *marks)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 1; i < 65; i++)
		signal(i, SIG_IGN);
	if (fork() == 0) {
		setsid();
		sleep(20);
		_exit(0);
	}
	sleep(20);
	return REACHED;
}

static int stop_itself(const struct attempt *self, const struct marks *marks)
{
	kill(getpid(), SIGSTOP);
	sleep(20);
	return REACHED;
}

/* Four children, so that no single one has used much. */
static int open_terminal(const struct attempt *self, const struct marks *marks)
{
	const int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	return answer_hidden(fd);
}

/* To erase a tab, the kernel goes through the whole line before it, in a thread of its own. */
static int work_on_terminal(const struct attempt *self, const struct marks *marks)
{
	const int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	char line[4000], erase[512], echo[4096];
	size_t written = 0;
	struct timespec now;
	time_t end;

	if (fd < 0)
		return answer_hidden(fd);
	memset(line, 'x', sizeof(line));
	for (size_t i = 0; i < sizeof(erase); i++)
		erase[i] = i % 2 ? 0x7f : '\t';
	if (write(fd, line, sizeof(line)) < 0)
		return errno;
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + 1;
	while (now.tv_sec <= end && written < (1u << 20)) {
		const ssize_t n = write(fd, erase, sizeof(erase));

		written += n > 0 ? (size_t)n : 0;
		while (read(fd, echo, sizeof(echo)) > 0)
			;
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	close(fd);
	return written > sizeof(line) ? REACHED : NO_EFFECT;
}

static int burn_processor(const struct attempt *self, const struct marks *marks)
{
	time_t end = time(NULL) + 20;

	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			break;
	signal(SIGXCPU, SIG_IGN);
	while (time(NULL) < end)
		;
	return REACHED;
}

#define PIDS   "limits.pids (cgroup)"
#define MEMORY "limits.memory (cgroup)"
#define SIZE   "tmpfs of fixed size"

#define NOT_COUNTED "outside nobody counts the output"
#define NO_DEADLINE "outside there is no deadline, and it would sleep for 20 seconds"

static const struct attempt rows[] = {
	{ "fork-many", "start more processes than the policy allows", "limit:pids", PIDS,
	  .seen = "every sandbox measured, by default", .allowed = "unlimited:limits.pids",
	  .needs = "spawn|storm", .run = start_many, .path = "fork" },
	{ "fork-many-sessions", "the same, each in a session of its own", "limit:pids", PIDS,
	  .allowed = "unlimited:limits.pids", .needs = "spawn|storm", .run = start_many, .path = "session" },
	{ "start-many-threads", "start more threads than the policy allows", "limit:pids", PIDS,
	  .allowed = "unlimited:limits.pids", .needs = "storm", .run = start_threads },
	{ "touch-much-memory", "use more memory than the policy allows", "limit:memory", MEMORY,
	  .allowed = "unlimited:limits.memory", .run = touch_memory },
	{ "touch-memory-together", "the same by two processes together", "limit:memory", MEMORY,
	  .allowed = "unlimited:limits.memory", .needs = "spawn", .run = touch_memory_together },
	{ "fill-memory-files", "the same by files in memory", "limit:memory", MEMORY,
	  .allowed = "unlimited:limits.memory", .run = fill_memfd },
	{ "fill-pipes", "the same by buffers of pipes", "limit:memory|EMFILE|EPERM|ENFILE",
	  MEMORY ", limits.openFiles", .allowed = "unlimited:limits.memory", .run = fill_buffers,
	  .path = "pipe", .not_outside = "the caller's number of open files bounds it as well" },
	{ "fill-sockets", "the same by buffers of sockets", "limit:memory|EMFILE|ENFILE",
	  MEMORY ", limits.openFiles", .allowed = "unlimited:limits.memory", .run = fill_buffers,
	  .path = "socket", .not_outside = "the caller's number of open files bounds it as well" },
	{ "send-many-descriptors", "have more files open by sending their descriptors", "ETOOMANYREFS",
	  "RLIMIT_NOFILE", .allowed = "unlimited:limits.openFiles", .run = send_descriptors },
	{ "arm-many-timers", "make timers without end", "EAGAIN", "RLIMIT_SIGPENDING", .run = arm_timers },
	{ "queue-many-signals", "send itself signals without end", "EAGAIN", "RLIMIT_SIGPENDING",
	  .run = queue_signals },
	{ "lock-much-memory", "lock 9 MiB of memory", "ENOMEM|EPERM", "RLIMIT_MEMLOCK", .run = lock_memory },
	{ "fill-attributes", "write more into a file's attributes than /tmp may hold", "ENOSPC|limit:memory",
	  SIZE, .run = fill_attributes },
	{ "fill-tmp", "write more to /tmp than the policy allows", "ENOSPC|limit:memory", SIZE,
	  .run = fill_directory, .path = "/tmp" },
	{ "fill-shm", "write more to /dev/shm than the policy allows", "ENOSPC|limit:memory", SIZE,
	  .run = fill_directory, .path = "/dev/shm" },
	{ "make-many-files", "make files in /tmp without end", "ENOSPC", "tmpfs with a fixed number of files",
	  .run = make_many_files, .not_outside = "thousands of files would burden the host" },
	{ "write-beyond-file-size", "write a file larger than the policy allows", "EFBIG", "RLIMIT_FSIZE",
	  .allowed = "unlimited:limits.fileSize", .run = write_beyond_file_size },
	{ "open-many-files", "open more files than the policy allows", "EMFILE", "RLIMIT_NOFILE",
	  .allowed = "unlimited:limits.openFiles", .run = open_many },
	{ "nest-directories", "leave a tree of 500 directories", "no-effect", "the tmpfs goes with the jail",
	  .run = nest_directories },
	{ "flood-stdout", "write 4 MiB to standard output", "limit:output", "kept output is bounded",
	  .allowed = "output>=4MiB", .run = flood_output, .path = "1", .not_outside = NOT_COUNTED },
	{ "flood-stderr", "write 4 MiB to standard error", "limit:output", "kept output is bounded",
	  .allowed = "output>=4MiB", .run = flood_output, .path = "2", .not_outside = NOT_COUNTED },
	{ "sleep-for-ever", "ignore all signals and outlive the deadline, with a child", "limit:wallTime",
	  "deadline of the supervisor", .needs = "spawn|short", .run = sleep_for_ever,
	  .not_outside = NO_DEADLINE },
	{ "stop-itself", "be stopped at the deadline", "limit:wallTime", "deadline of the supervisor",
	  .needs = "short", .run = stop_itself, .not_outside = NO_DEADLINE },
	{ "open-terminal", "open a pseudo-terminal", "hidden", "no devpts", .allowed = "terminals",
	  .run = open_terminal },
	{ "work-on-terminal", "have threads of the kernel work for it, uncounted", "hidden", "no devpts",
	  .allowed = "terminals", .run = work_on_terminal },
	{ "burn-processor", "use more CPU time than the policy allows, by four processes", "limit:cpuTime",
	  "CPU accounting of the cgroup", .allowed = "unlimited:limits.cpuTime", .needs = "spawn|thrifty",
	  .run = burn_processor, .not_outside = "it would burn the host's processors for 20 seconds" },
};

const struct attempt_group resources_group = GROUP("resources", rows);
