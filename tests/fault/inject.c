#include "tests/fault/inject.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * The errors are those that a host short of something gives: descriptors, memory, space, processes, or a signal in between.
 * Left out are calls that cannot fail that way and whose failure nobody could act on (close, exit, munmap, the
 * masks of signals, kill), and brk, which has no error.
 */
#define ERRORS_MAX 4

struct call {
	long number;
	const char *name;
	struct {
		int number;
		const char *name;
	} errors[ERRORS_MAX];
};

#define E(name)                                                                                              \
	{                                                                                                    \
		name, #name                                                                                  \
	}
#define C(name) SYS_##name, #name

static const struct call calls[] = {
	{ C(openat), { E(EMFILE), E(ENFILE), E(ENOMEM), E(EINTR) } },
	{ C(open_tree), { E(EMFILE), E(ENOMEM) } },
	{ C(move_mount), { E(ENOMEM) } },
	{ C(mount_setattr), { E(ENOMEM), E(EMFILE) } },
	{ C(fsopen), { E(EMFILE), E(ENOMEM) } },
	{ C(fsconfig), { E(ENOMEM) } },
	{ C(fsmount), { E(EMFILE), E(ENOMEM), E(ENOSPC) } },
	{ C(mount), { E(ENOMEM), E(ENOSPC) } },
	{ C(umount2), { E(ENOMEM), E(EBUSY) } },
	{ C(pivot_root), { E(ENOMEM) } },
	{ C(openat2), { E(EMFILE), E(ENFILE), E(ENOMEM), E(EAGAIN) } },
	{ C(clone3), { E(EAGAIN), E(ENOMEM), E(ENOSPC) } },
	{ C(clone), { E(EAGAIN), E(ENOMEM) } },
	{ C(fork), { E(EAGAIN), E(ENOMEM) } },
	{ C(vfork), { E(EAGAIN), E(ENOMEM) } },
	{ C(unshare), { E(ENOMEM), E(ENOSPC) } },
	{ C(setns), { E(ENOMEM), E(EPERM) } },
	{ C(execve), { E(ENOMEM), E(EAGAIN) } },
	{ C(execveat), { E(ENOMEM), E(EAGAIN) } },
	{ C(mkdir), { E(ENOSPC), E(ENOMEM), E(EDQUOT) } },
	{ C(mkdirat), { E(ENOSPC), E(ENOMEM), E(EDQUOT) } },
	{ C(rmdir), { E(EBUSY), E(ENOMEM) } },
	{ C(unlink), { E(ENOMEM), E(EBUSY) } },
	{ C(unlinkat), { E(ENOMEM), E(EBUSY) } },
	{ C(symlinkat), { E(ENOSPC), E(ENOMEM) } },
	{ C(mknodat), { E(ENOSPC), E(ENOMEM) } },
	{ C(getdents64), { E(ENOMEM) } },
	{ C(readlink), { E(ENOMEM) } },
	{ C(readlinkat), { E(ENOMEM) } },
	{ C(access), { E(ENOMEM) } },
	{ C(faccessat), { E(ENOMEM) } },
	{ C(faccessat2), { E(ENOMEM) } },
	{ C(stat), { E(ENOMEM) } },
	{ C(fstat), { E(ENOMEM) } },
	{ C(newfstatat), { E(ENOMEM) } },
	{ C(statx), { E(ENOMEM) } },
	{ C(statfs), { E(ENOMEM) } },
	{ C(fstatfs), { E(ENOMEM) } },
	{ C(getxattr), { E(ENOMEM) } },
	{ C(read), { E(EINTR), E(ENOMEM), E(EIO) } },
	{ C(pread64), { E(EINTR), E(ENOMEM) } },
	{ C(preadv2), { E(EINTR), E(ENOMEM), E(EAGAIN) } },
	{ C(write), { E(EINTR), E(ENOSPC), E(ENOMEM) } },
	{ C(sendto), { E(EINTR), E(ENOMEM), E(EAGAIN) } },
	{ C(recvfrom), { E(EINTR), E(ENOMEM), E(EAGAIN) } },
	{ C(sendmsg), { E(EINTR), E(ENOMEM) } },
	{ C(recvmsg), { E(EINTR), E(ENOMEM), E(EAGAIN) } },
	{ C(poll), { E(EINTR), E(ENOMEM) } },
	{ C(ppoll), { E(EINTR), E(ENOMEM) } },
	{ C(wait4), { E(EINTR) } },
	{ C(waitid), { E(EINTR) } },
	{ C(memfd_create), { E(EMFILE), E(ENFILE), E(ENOMEM) } },
	{ C(pipe2), { E(EMFILE), E(ENFILE) } },
	{ C(socket), { E(EMFILE), E(ENFILE), E(ENOMEM) } },
	{ C(socketpair), { E(EMFILE), E(ENFILE), E(ENOMEM) } },
	{ C(setsockopt), { E(ENOMEM) } },
	{ C(eventfd2), { E(EMFILE), E(ENFILE), E(ENOMEM) } },
	{ C(signalfd4), { E(EMFILE), E(ENFILE), E(ENOMEM) } },
	{ C(epoll_create1), { E(EMFILE), E(ENFILE), E(ENOMEM) } },
	{ C(epoll_ctl), { E(ENOMEM), E(ENOSPC) } },
	{ C(pidfd_open), { E(EMFILE), E(ENFILE), E(ENOMEM) } },
	{ C(dup3), { E(EMFILE), E(EINTR) } },
	{ C(close_range), { E(ENOMEM), E(EMFILE) } },
	{ C(fcntl), { E(EMFILE), E(ENOMEM) } },
	{ C(ioctl), { E(ENOMEM), E(EINTR) } },
	{ C(fchown), { E(ENOSPC), E(EDQUOT) } },
	{ C(lseek), { E(ENOMEM) } },
	{ C(mmap), { E(ENOMEM), E(EAGAIN) } },
	{ C(prctl), { E(ENOMEM) } },
	{ C(capset), { E(EPERM) } },
	{ C(capget), { E(ENOMEM) } },
	{ C(setresuid), { E(EAGAIN) } },
	{ C(setresgid), { E(EPERM) } },
	{ C(setgroups), { E(ENOMEM) } },
	{ C(setsid), { E(EPERM) } },
	{ C(sethostname), { E(ENOMEM) } },
	{ C(chdir), { E(ENOMEM) } },
	{ C(fchdir), { E(ENOMEM) } },
	{ C(keyctl), { E(ENOMEM), E(EDQUOT) } },
	{ C(prlimit64), { E(EPERM), E(ENOMEM) } },
	{ C(seccomp), { E(ENOMEM) } },
	{ C(landlock_create_ruleset), { E(EMFILE), E(ENOMEM) } },
	{ C(landlock_add_rule), { E(ENOMEM) } },
	{ C(landlock_restrict_self), { E(ENOMEM) } },
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

const char *inject_who_name(enum inject_who who)
{
	static const char *const names[INJECT_WHO_COUNT] = { "supervisor", "helper", "init", "payload" };

	return names[who];
}

void inject_begin(void)
{
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
		_exit(99);
	raise(SIGSTOP);
}

#if defined(__x86_64__)

static const struct call *find(long number)
{
	for (size_t i = 0; i < CALLS; i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

static volatile sig_atomic_t late;

static void on_timer(int number)
{
	late = 1;
}

struct traced {
	pid_t pid;
	enum inject_who who;
	bool inside;   /* between the entry of a system call and its end */
	bool replaced; /* its end is to show another result */
	long result;
	unsigned long long change; /* its end is to have another byte there, or 0 */
	bool started;              /* its first stop, which the kernel makes for the tracer, is over */
};

#define TRACED_MAX 64

struct tracer {
	const struct inject *what;
	struct inject_report *report;
	pid_t main_pid;
	struct traced all[TRACED_MAX];
	size_t count;
};

static struct traced *lookup(struct tracer *tracer, pid_t pid)
{
	for (size_t i = 0; i < tracer->count; i++)
		if (tracer->all[i].pid == pid)
			return &tracer->all[i];
	if (tracer->count == TRACED_MAX)
		abort();
	tracer->all[tracer->count] =
	    (struct traced){ .pid = pid, .who = INJECT_HELPER, .started = pid == tracer->main_pid };
	return &tracer->all[tracer->count++];
}

static void forget(struct tracer *tracer, pid_t pid)
{
	for (size_t i = 0; i < tracer->count; i++)
		if (tracer->all[i].pid == pid)
			tracer->all[i] = tracer->all[--tracer->count];
}

static unsigned int errors_of(const struct call *call)
{
	unsigned int count = 0;

	while (count < ERRORS_MAX && call->errors[count].number)
		count++;
	return count;
}

/* The path that an openat names, or that of the descriptor of a write or pread64; "" of others. */
static void file_of(pid_t pid, const struct user_regs_struct *regs, char *ret, size_t size)
{
	const long number = (long)regs->orig_rax;
	ssize_t length = 0;
	char link[64];
	long word;

	if (number == SYS_openat) {
		for (; (size_t)length + sizeof(word) < size; length += (ssize_t)sizeof(word)) {
			word = ptrace(PTRACE_PEEKDATA, pid, regs->rsi + (unsigned long long)length, 0);
			memcpy(ret + length, &word, sizeof(word));
			if (memchr(ret + length, '\0', sizeof(word)))
				return;
		}
	} else if (number == SYS_write || number == SYS_pread64) {
		snprintf(link, sizeof(link), "/proc/%d/fd/%llu", (int)pid, regs->rdi);
		length = readlink(link, ret, size - 1);
	}
	ret[length > 0 ? length : 0] = '\0';
}

static bool has_name(const char *path, const char *beginning)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, beginning, strlen(beginning)) == 0;
}

static bool can_go_wrong(enum inject_fault fault, long number)
{
	switch (fault) {
	case INJECT_ERROR:
		return true;
	case INJECT_ABSENT:
		return number == SYS_openat;
	case INJECT_SHORT:
		return number == SYS_write || number == SYS_pread64;
	case INJECT_LIE:
		return number == SYS_write;
	case INJECT_CHANGED:
		return number == SYS_pread64;
	case INJECT_FAULT_COUNT:
		break;
	}
	return false;
}

static void answer(struct traced *traced, struct user_regs_struct *regs, long result)
{
	traced->replaced = true;
	traced->result = result;
	regs->orig_rax = (unsigned long long)-1;
}

/* Let the call go wrong. Returns in what way, for people. */
static const char *go_wrong(const struct inject *what, const struct call *call, struct traced *traced,
			    struct user_regs_struct *regs)
{
	unsigned int choice = what->choice % errors_of(call);

	switch (what->fault) {
	case INJECT_ERROR:
	case INJECT_FAULT_COUNT:
		break;
	case INJECT_ABSENT:
		answer(traced, regs, -ENOENT);
		return "ENOENT";
	case INJECT_SHORT:
		regs->rdx = call->number == SYS_write ? regs->rdx - 1 : 1;
		return "a short count";
	case INJECT_LIE:
		answer(traced, regs, (long)regs->rdx);
		return "success without effect";
	case INJECT_CHANGED:
		traced->change = regs->rsi;
		return "another byte";
	}
	answer(traced, regs, -call->errors[choice].number);
	return call->errors[choice].name;
}

/* Entry of a call: count it, and replace or kill when its turn has come. False when the process was killed. */
static bool enter(struct tracer *tracer, struct traced *traced)
{
	const struct inject *what = tracer->what;
	struct inject_report *report = tracer->report;
	struct user_regs_struct regs;
	const struct call *call;
	char file[sizeof(report->file)] = "";
	int kind;

	if (*what->stop || ptrace(PTRACE_GETREGS, traced->pid, 0, &regs) < 0)
		return true;
	call = find((long)regs.orig_rax);
	if (!what->kill && !call)
		return true;
	if (what->kill && traced->pid != tracer->main_pid)
		return true;
	kind = call ? (int)(call - calls) * INJECT_WHO_COUNT + (int)traced->who : 0;
	if (what->kind >= 0 && !what->kill && kind != what->kind)
		return true;
	if (what->file && can_go_wrong(what->fault, call->number))
		file_of(traced->pid, &regs, file, sizeof(file));
	if (what->file && !has_name(file, what->file))
		return true;
	if (report->calls < INJECT_LOG_MAX)
		report->log[report->calls] = (unsigned short)kind;
	if (traced->who == INJECT_INIT && !report->spawned)
		report->spawned = report->calls;
	report->calls++;
	if (report->calls != what->at)
		return true;
	report->injected = true;
	report->call = call ? call->name : "another call";
	report->who = traced->who;
	if (what->kill) {
		report->error = "SIGKILL";
		kill(traced->pid, SIGKILL);
		return false;
	}
	memcpy(report->file, file, sizeof(file));
	report->error = go_wrong(what, call, traced, &regs);
	ptrace(PTRACE_SETREGS, traced->pid, 0, &regs);
	return true;
}

static void leave(struct traced *traced)
{
	struct user_regs_struct regs;

	if (traced->replaced && ptrace(PTRACE_GETREGS, traced->pid, 0, &regs) == 0) {
		regs.rax = (unsigned long long)traced->result;
		ptrace(PTRACE_SETREGS, traced->pid, 0, &regs);
	}
	if (traced->change)
		ptrace(PTRACE_POKEDATA, traced->pid, traced->change,
		       ptrace(PTRACE_PEEKDATA, traced->pid, traced->change, 0) ^ 1);
	traced->replaced = false;
	traced->change = 0;
}

static void handle_event(struct tracer *tracer, struct traced *traced, int event)
{
	unsigned long message = 0;
	enum inject_who who = traced->who;

	ptrace(PTRACE_GETEVENTMSG, traced->pid, 0, &message);
	if (event == PTRACE_EVENT_EXEC) {
		if (who == INJECT_HELPER)
			traced->who = INJECT_INIT;
	} else if (message) {
		lookup(tracer, (pid_t)message)->who =
		    who == INJECT_SUPERVISOR ? INJECT_HELPER : INJECT_PAYLOAD;
	}
}

static void handle_stop(struct tracer *tracer, pid_t pid, int status)
{
	struct traced *traced = lookup(tracer, pid);
	const int number = WSTOPSIG(status);
	const int event = status >> 16;
	int deliver = 0;

	if (number == (SIGTRAP | 0x80)) {
		traced->inside = !traced->inside;
		if (traced->inside && !enter(tracer, traced))
			return;
		if (!traced->inside)
			leave(traced);
	} else if (event) {
		const bool program = event == PTRACE_EVENT_EXEC && traced->who == INJECT_PAYLOAD;

		handle_event(tracer, traced, event);
		if (program) { /* no longer ours: the untrusted program */
			ptrace(PTRACE_DETACH, pid, 0, 0);
			forget(tracer, pid);
			return;
		}
	} else if (number == SIGSTOP && !traced->started) {
		traced->started = true;
	} else {
		deliver = number;
	}
	ptrace(PTRACE_SYSCALL, pid, 0, deliver);
}

static void arm(timer_t timer, int seconds)
{
	const struct itimerspec when = { .it_value = { .tv_sec = seconds },
					 .it_interval = { .tv_nsec = seconds ? 100000000 : 0 } };

	late = 0;
	timer_settime(timer, 0, &when, NULL);
}

void inject_trace(pid_t pid, const struct inject *what, struct inject_report *ret)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL |
			     (what->follow ? PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
						 PTRACE_O_TRACEEXEC
					   : 0);
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2 };
	const struct sigaction action = { .sa_handler = on_timer };
	struct tracer tracer = { .what = what, .report = ret, .main_pid = pid };
	timer_t timer;
	int status = 0;

	*ret = (struct inject_report){ .call = "", .error = "" };
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFSTOPPED(status)) {
		ret->wait_status = status;
		return;
	}
	sigaction(SIGUSR2, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
		abort();
	arm(timer, what->seconds);
	ptrace(PTRACE_SETOPTIONS, pid, 0, options);
	lookup(&tracer, pid)->who = INJECT_SUPERVISOR;
	ptrace(PTRACE_SYSCALL, pid, 0, 0);
	while (tracer.count) {
		pid_t who = waitpid(-1, &status, __WALL);

		if (late) {
			ret->hung = true;
			for (size_t i = 0; i < tracer.count; i++)
				kill(tracer.all[i].pid, SIGKILL);
			arm(timer, what->seconds);
		}
		if (who < 0 && errno == ECHILD)
			break;
		if (who < 0)
			continue;
		if (WIFSTOPPED(status)) {
			handle_stop(&tracer, who, status);
			continue;
		}
		if (who == pid)
			ret->wait_status = status;
		forget(&tracer, who);
	}
	arm(timer, 0);
	timer_delete(timer);
}

#else

void inject_trace(pid_t pid, const struct inject *what, struct inject_report *ret)
{
	int status = 0;

	*ret = (struct inject_report){ .call = "", .error = "" };
	while (waitpid(pid, &status, WUNTRACED) < 0 && errno == EINTR)
		;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

#endif
