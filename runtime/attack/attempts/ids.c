/*
 * ids: namespaces, privileges, identities, and other processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/attack/attempts/attempts.h"

#define NR_PIDFD_SEND_SIGNAL 424
#define NR_PIDFD_OPEN        434
#define NR_CLONE3            435
#define NR_PIDFD_GETFD       438
#define NR_PROCESS_MADVISE   440
#define NR_PROCESS_MRELEASE  448

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* ---- namespaces ---- */

/* In a child: what succeeds must not change us. */
static int unshare_here(const struct attempt *self, const struct marks *marks)
{
	return answer_of(unshare(atoi(self->path)));
}

static int unshare_one(const struct attempt *self, const struct marks *marks)
{
	return marks->outside ? in_child(unshare_here, self, marks) : unshare_here(self, marks);
}

static int clone_user(const struct attempt *self, const struct marks *marks)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return answer_of(pid);
}

static int clone3_user(const struct attempt *self, const struct marks *marks)
{
	uint64_t args[11] = { CLONE_NEWUSER, [4] = SIGCHLD };
	long pid = syscall(NR_CLONE3, args, 64);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return answer_of(pid);
}

static int enter_namespace(const struct attempt *self, const struct marks *marks)
{
	char path[128];
	int fd = open(process_path(self, marks, path, sizeof(path)), O_RDONLY | O_CLOEXEC);

	return fd < 0 ? answer_hidden(fd) : answer_of(setns(fd, 0));
}

static int enter_by_pidfd(const struct attempt *self, const struct marks *marks)
{
	int fd = (int)syscall(NR_PIDFD_OPEN, getpid(), 0);

	return fd < 0 ? UNTRIED : answer_past(setns(fd, CLONE_NEWUTS), EINVAL);
}

/* ---- privileges ---- */

static int become_root(const struct attempt *self, const struct marks *marks)
{
	return answer_of(setresuid(0, 0, 0));
}

static int become_root_group(const struct attempt *self, const struct marks *marks)
{
	return answer_of(setresgid(0, 0, 0));
}

static int join_groups(const struct attempt *self, const struct marks *marks)
{
	const gid_t groups[] = { 0 };

	return answer_of(setgroups(1, groups));
}

/* A field of /proc/self/status: the part after the colon. */
static int read_status(const char *field, char *buf, size_t size)
{
	char text[8192];
	char *at;

	if (read_text("/proc/self/status", text, sizeof(text)) <= 0)
		return -1;
	at = strstr(text, field);
	if (!at)
		return -1;
	at += strlen(field);
	at += strspn(at, ": \t");
	at[strcspn(at, "\n")] = '\0';
	snprintf(buf, size, "%s", at);
	return 0;
}

/* Root has these two empty unless somebody fills them. */
static void inherit_capability(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) != 0)
		return;
	data[0].inheritable |= 1u << CAP_CHOWN;
	syscall(SYS_capset, &header, data);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0);
}

static int have_capabilities(const struct attempt *self, const struct marks *marks)
{
	char text[64];

	if (marks->outside)
		inherit_capability();

	if (read_status(self->path, text, sizeof(text)) != 0)
		return UNTRIED;
	note("%s %s", self->path + 1, text);
	return strtoull(text, NULL, 16) ? REACHED : CLEAN;
}

static int take_capabilities(const struct attempt *self, const struct marks *marks)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 1u << CAP_SYS_ADMIN, 1u << CAP_SYS_ADMIN, 0 } };

	return answer_of(syscall(SYS_capset, &header, data));
}

static int raise_ambient(const struct attempt *self, const struct marks *marks)
{
	inherit_capability();
	return answer_of(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0));
}

static int lack_no_new_privs(const struct attempt *self, const struct marks *marks)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? CLEAN : REACHED;
}

static int unlock_securebits(const struct attempt *self, const struct marks *marks)
{
	return answer_of(prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
}

/* One that has no number inside is shown as 65534, and is there all the same. */
static int have_groups(const struct attempt *self, const struct marks *marks)
{
	gid_t groups[64];
	int count = getgroups(64, groups);

	if (count < 0)
		return errno == EINVAL ? REACHED : errno;
	for (int i = 0; i < count; i++) {
		if (groups[i] != getgid()) {
			note("group %u", (unsigned)groups[i]);
			return REACHED;
		}
	}
	return CLEAN;
}

/* Root inside is nobody outside: no id inside leads to the host's 0. */
static int map_to_root(const struct attempt *self, const struct marks *marks)
{
	char text[4096];
	char *next = text;
	const char *line;
	unsigned inside, outer, count;
	int answer = UNTRIED;

	if (read_text(self->path, text, sizeof(text)) <= 0)
		return UNTRIED;
	while ((line = strsep(&next, "\n")) != NULL &&
	       sscanf(line, "%u %u %u", &inside, &outer, &count) == 3) {
		note("id %u inside is %u outside, %u of them", inside, outer, count);
		if (outer == 0)
			return REACHED;
		answer = CLEAN;
	}
	return answer;
}

/* The effective id of a program that has ended and was not waited for. With another one it is hidden from us. */
static unsigned last_id(pid_t pid)
{
	char path[64], text[4096];
	unsigned effective;
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	at = read_text(path, text, sizeof(text)) > 0 ? strstr(text, "Uid:") : NULL;
	return at && sscanf(at, "Uid: %*u %u", &effective) == 1 ? effective : 0;
}

/* What a set-user-ID program gains. It ends at once, and keeps its id. */
static int run_suid(const struct attempt *self, const struct marks *marks)
{
	static const char *const programs[] = { "/usr/bin/su", "/bin/su", "/usr/bin/newgrp",
						"/usr/bin/passwd" };
	size_t i = 0;
	siginfo_t info = { 0 };
	unsigned effective;
	pid_t pid;

	while (i < ARRAY_LENGTH(programs) && access(programs[i], X_OK) != 0)
		i++;
	if (i == ARRAY_LENGTH(programs) || geteuid() == 0) {
		note("there is no set-user-ID program, or its owner runs it");
		return UNTRIED;
	}
	pid = fork();
	if (pid == 0) {
		int null_fd = open("/dev/null", O_RDWR);

		for (int fd = 0; fd < 3; fd++)
			dup2(null_fd, fd);
		execl(programs[i], programs[i], "--help", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0)
		return UNTRIED;
	effective = last_id(pid);
	waitpid(pid, NULL, 0);
	note("%s ran as %u", programs[i], effective);
	if (info.si_code == CLD_EXITED && info.si_status == 127)
		return UNTRIED;
	return effective == geteuid() ? NO_EFFECT : REACHED;
}

/* Outside as a user who does not own it. */
static int run_suid_as_user(const struct attempt *self, const struct marks *marks)
{
	if (marks->outside && geteuid() == 0 &&
	    (setresgid(65533, 65533, 65533) != 0 || setresuid(65533, 65533, 65533) != 0))
		return UNTRIED;
	return run_suid(self, marks);
}

static int switch_to_keyring(const struct attempt *self, const struct marks *marks)
{
	return answer_of(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1));
}

static int join_keyring(const struct attempt *self, const struct marks *marks)
{
	return answer_of(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0));
}

static int add_to_keyring(const struct attempt *self, const struct marks *marks)
{
	return answer_of(syscall(SYS_add_key, "user", "warder-attempt", "x", 1, KEY_SPEC_PROCESS_KEYRING));
}

static int set_personality(const struct attempt *self, const struct marks *marks)
{
	return answer_of(personality((unsigned long)strtoul(self->path, NULL, 16)));
}

/* ---- the filter itself ---- */

#if defined(__x86_64__)
static int call_by_int80(const struct attempt *self, const struct marks *marks)
{
	long ret;

	if (marks->user_mode_linux) {
		note("User-mode Linux runs the 64-bit call of that number");
		return UNTRIED;
	}
	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(20L /* getpid */)
			 : "memory", "r8", "r9", "r10", "r11");
	return ret > 0 ? REACHED : ENOSYS;
}
#endif

/* A call that nothing but the filter refuses, and no profile lets pass. */
static int change_domain(void)
{
	return answer_of(personality(PER_LINUX32));
}

static int loosen_filter(const struct attempt *self, const struct marks *marks)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, all };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		return errno;
	return change_domain();
}

static void *change_in_thread(void *context)
{
	int *answer = context;

	*answer = change_domain();
	return NULL;
}

static int escape_by_thread(const struct attempt *self, const struct marks *marks)
{
	int answer = UNTRIED;
	pthread_t thread;

	if (pthread_create(&thread, NULL, change_in_thread, &answer) != 0)
		return UNTRIED;
	pthread_join(thread, NULL);
	return answer;
}

static int change_here(const struct attempt *self, const struct marks *marks)
{
	return change_domain();
}

static int escape_by_child(const struct attempt *self, const struct marks *marks)
{
	return in_child(change_here, self, marks);
}

/* A thread under a filter of its own, which asks us about each change of domain. */
struct asking {
	int listener, answer;
	int ready[2],
	    done[2]; /* closed when the filter is installed, and when the domain was changed or not */
};

static void *ask_and_change(void *context)
{
	struct asking *asking = context;
	struct sock_filter ask[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0 /* the number */),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, ask };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	asking->listener =
	    (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	asking->answer = asking->listener >= 0 ? UNTRIED : errno;
	close(asking->ready[1]);
	if (asking->listener >= 0)
		asking->answer = change_domain();
	close(asking->done[1]);
	return NULL;
}

/* Let it go on, if we are asked before it is done. */
static void let_pass(const struct asking *asking)
{
	struct pollfd either[2] = { { .fd = asking->listener, .events = POLLIN }, { .fd = asking->done[0] } };
	struct seccomp_notif question = { 0 };
	struct seccomp_notif_resp word = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	if (asking->listener < 0 || poll(either, 2, -1) < 1 || !(either[0].revents & POLLIN) ||
	    ioctl(asking->listener, SECCOMP_IOCTL_NOTIF_RECV, &question) != 0)
		return;
	word.id = question.id;
	ioctl(asking->listener, SECCOMP_IOCTL_NOTIF_SEND, &word);
}

static int answer_own_calls(const struct attempt *self, const struct marks *marks)
{
	struct asking asking = { -1, UNTRIED, { -1, -1 }, { -1, -1 } };
	pthread_t thread;
	char none;

	if (pipe(asking.ready) != 0 || pipe(asking.done) != 0 ||
	    pthread_create(&thread, NULL, ask_and_change, &asking) != 0)
		return UNTRIED;
	if (read(asking.ready[0], &none, 1) == 0)
		let_pass(&asking);
	if (asking.listener >= 0)
		close(asking.listener); /* what still waits for a word fails */
	pthread_join(thread, NULL);
	return asking.answer;
}

/* ---- other processes ---- */

static int target(const struct attempt *self, const struct marks *marks)
{
	if (self->path && strcmp(self->path, "init") == 0)
		return marks->outside ? marks->pid : 1;
	if (self->path && strcmp(self->path, "supervisor") == 0)
		return marks->supervisor;
	return marks->pid;
}

static int attach(const struct attempt *self, const struct marks *marks)
{
	int pid = target(self, marks);
	long ret = ptrace(PTRACE_SEIZE, pid, 0, 0);
	int answer = answer_of(ret);

	if (ret == 0) {
		ptrace(PTRACE_INTERRUPT, pid, 0, 0);
		waitpid(pid, NULL, __WALL);
		ptrace(PTRACE_DETACH, pid, 0, 0);
	}
	return answer;
}

static int trace_me(const struct attempt *self, const struct marks *marks)
{
	return answer_of(ptrace(PTRACE_TRACEME, 0, 0, 0));
}

/* Where a process has its memory: the first byte of a page that any has. */
static int read_memory(const struct attempt *self, const struct marks *marks)
{
	char byte;
	struct iovec local = { &byte, 1 };
	struct iovec remote = { (void *)(uintptr_t)0x400000, 1 };

	return answer_past(process_vm_readv(target(self, marks), &local, 1, &remote, 1, 0), EFAULT);
}

static int write_memory(const struct attempt *self, const struct marks *marks)
{
	char byte = 0;
	struct iovec local = { &byte, 1 };
	struct iovec remote = { (void *)(uintptr_t)8, 1 };

	return answer_past(process_vm_writev(target(self, marks), &local, 1, &remote, 1, 0), EFAULT);
}

static int open_process(const struct attempt *self, const struct marks *marks)
{
	int fd = (int)syscall(NR_PIDFD_OPEN, target(self, marks), 0);

	if (fd >= 0)
		close(fd);
	return answer_of(fd);
}

static int take_descriptor(const struct attempt *self, const struct marks *marks)
{
	int fd = (int)syscall(NR_PIDFD_OPEN, marks->outside ? marks->pid : 1, 0);

	return answer_past(syscall(NR_PIDFD_GETFD, fd, 0, 0), EBADF);
}

static int compare_processes(const struct attempt *self, const struct marks *marks)
{
	return answer_of(syscall(SYS_kcmp, getpid(), marks->outside ? marks->pid : 1, 1 /* KCMP_VM */, 0, 0));
}

static int advise_process(const struct attempt *self, const struct marks *marks)
{
	int fd = (int)syscall(NR_PIDFD_OPEN, marks->outside ? marks->pid : 1, 0);

	return answer_past(syscall(NR_PROCESS_MADVISE, fd, NULL, 0, MADV_PAGEOUT, 0), EINVAL);
}

static int signal_process(const struct attempt *self, const struct marks *marks)
{
	return answer_of(kill(target(self, marks), 0));
}

static int signal_by_pidfd(const struct attempt *self, const struct marks *marks)
{
	int fd = (int)syscall(NR_PIDFD_OPEN, marks->pid, 0);

	return fd < 0 ? errno : answer_of(syscall(NR_PIDFD_SEND_SIGNAL, fd, 0, NULL, 0));
}

/* Init has no handler for it, so the kernel drops what comes from inside, if it lets it be sent at all. */
static int kill_init(const struct attempt *self, const struct marks *marks)
{
	static const int signals[] = { SIGTERM, SIGKILL, SIGSTOP };

	for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
		if (kill(1, signals[i]) != 0)
			return errno;
	return kill(1, 0) == 0 ? NO_EFFECT : answer_of(-1);
}

static int signal_everybody(const struct attempt *self, const struct marks *marks)
{
	return answer_of(kill(-1, 0));
}

static int limit_process(const struct attempt *self, const struct marks *marks)
{
	struct rlimit limit;
	pid_t pid = target(self, marks);

	return answer_of(syscall(SYS_prlimit64, pid, RLIMIT_CPU, NULL, &limit)) == REACHED && !marks->outside
		   ? answer_of(syscall(SYS_prlimit64, pid, RLIMIT_CPU, &limit, NULL))
		   : answer_of(syscall(SYS_prlimit64, pid, RLIMIT_CPU, NULL, &limit));
}

static int pin_process(const struct attempt *self, const struct marks *marks)
{
	unsigned long set[16] = { 0 };
	long size = syscall(SYS_sched_getaffinity, 0, sizeof(set), set);

	return answer_of(syscall(SYS_sched_setaffinity, target(self, marks), size > 0 ? size : 8, set));
}

static int slow_process(const struct attempt *self, const struct marks *marks)
{
	return answer_of(setpriority(PRIO_PROCESS, (id_t)target(self, marks), 0));
}

static int slow_disk_of_process(const struct attempt *self, const struct marks *marks)
{
	return answer_of(syscall(SYS_ioprio_set, 1, marks->pid, 3 << 13));
}

/* Its process group, and all processes of its user. */
static int slow_init(const struct attempt *self, const struct marks *marks)
{
	const bool by_group = strcmp(self->path, "group") == 0;

	return answer_of(by_group ? setpriority(PRIO_PGRP, 1, 1) : setpriority(PRIO_USER, 0, 1));
}

static int slow_disk_of_init(const struct attempt *self, const struct marks *marks)
{
	const bool by_group = strcmp(self->path, "group") == 0;

	return answer_of(syscall(SYS_ioprio_set, by_group ? 2 : 3, by_group, 3 << 13));
}

/* A signal that the kernel sends for a descriptor, to whom the program names. */
static int signal_init_by_descriptor(const struct attempt *self, const struct marks *marks)
{
	int ends[2];

	if (pipe(ends) != 0)
		return UNTRIED;
	fcntl(ends[0], F_SETSIG, SIGKILL);
	if (fcntl(ends[0], F_SETOWN, 1) != 0 || fcntl(ends[0], F_SETFL, O_ASYNC) != 0)
		return errno;
	if (write(ends[1], "x", 1) != 1)
		return errno;
	usleep(20000);
	return NO_EFFECT; /* init is there, or we were not */
}

/* ---- more of the processor, more of the limits ---- */

static int raise_priority(const struct attempt *self, const struct marks *marks)
{
	return answer_of(setpriority(PRIO_PROCESS, 0, -10));
}

static int be_real_time(const struct attempt *self, const struct marks *marks)
{
	const struct sched_param param = { .sched_priority = 1 };

	return answer_of(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param));
}

static int be_deadline(const struct attempt *self, const struct marks *marks)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { 48, 6, 0, 0, 0, 10000000, 30000000, 30000000 };

	return answer_of(syscall(SYS_sched_setattr, 0, &attr, 0));
}

static int be_real_time_io(const struct attempt *self, const struct marks *marks)
{
	return answer_of(syscall(SYS_ioprio_set, 1, 0, 1 << 13));
}

/* Outside, a limit that was lowered before: the caller's own may be infinite. */
static int raise_limit(const struct attempt *self, const struct marks *marks)
{
	int resource = atoi(self->path);
	struct rlimit limit, after;

	if (getrlimit(resource, &limit) != 0)
		return UNTRIED;
	if (limit.rlim_max == RLIM_INFINITY && !marks->outside) {
		note("there is no limit to raise");
		return REACHED;
	}
	if (limit.rlim_max == RLIM_INFINITY) {
		limit.rlim_cur = limit.rlim_max = 4096;
		setrlimit(resource, &limit);
	}
	limit.rlim_max++;
	if (setrlimit(resource, &limit) != 0)
		return errno;
	return getrlimit(resource, &after) == 0 && after.rlim_max < limit.rlim_max ? NO_EFFECT : REACHED;
}

/* Numbers that are no soft limit of 1 any more; by several ways, of which one has a pointer whose lower half is 0. */
static void set_core_limit(const struct rlimit *to)
{
	struct rlimit old;
	struct rlimit *at = mmap((void *)((uintptr_t)1 << 32), 4096, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	setrlimit(RLIMIT_CORE, to);
	syscall(SYS_setrlimit, RLIMIT_CORE, to);
	syscall(SYS_prlimit64, 0, RLIMIT_CORE, to, &old);
	if (at == MAP_FAILED)
		return;
	*at = *to;
	syscall(SYS_prlimit64, 0, RLIMIT_CORE, at, NULL);
	syscall(SYS_prlimit64, 0, RLIMIT_CORE, at, &old);
}

/* The kernel makes no core dump at all where the soft limit is 1. At 0 there is no file, but a program of the host's still gets one,
 * if core_pattern names it. */
static int allow_core_dumps(const struct attempt *self, const struct marks *marks)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_CORE, &now) != 0)
		return UNTRIED;
	if (marks->outside) {
		now.rlim_cur = 1;
		if (setrlimit(RLIMIT_CORE, &now) != 0)
			return UNTRIED;
	}
	set_core_limit(&(struct rlimit){ 0, now.rlim_max });
	return getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_cur == 1 ? NO_EFFECT : REACHED;
}

static int allow_speculation(const struct attempt *self, const struct marks *marks)
{
	const unsigned long feature = (unsigned long)atoi(self->path);
	int now = prctl(PR_GET_SPECULATION_CTRL, feature, 0, 0, 0);

	if (now < 0 || !(now & PR_SPEC_PRCTL)) {
		note("this processor or kernel has no such control (%d)", now);
		return UNTRIED;
	}
	return answer_of(prctl(PR_SET_SPECULATION_CTRL, feature, PR_SPEC_ENABLE, 0, 0));
}

/* Who receives it on a local socket believes the kernel. */
static int pose_as_root(const struct attempt *self, const struct marks *marks)
{
	const struct ucred root = { .pid = getpid(), .uid = 0, .gid = 0 };
	union {
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr header;
	} control = { 0 };
	char byte = 0;
	struct msghdr message = { .msg_iov = &(struct iovec){ &byte, 1 },
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return UNTRIED;
	control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(root)),
					   .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_CREDENTIALS };
	memcpy(CMSG_DATA(&control.header), &root, sizeof(root));
	return answer_of(sendmsg(ends[0], &message, 0));
}

/* A descriptor of the user namespace that owns another: outside it may be the host's. */
static int find_owner(const struct attempt *self, const struct marks *marks)
{
	int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? answer_hidden(fd) : answer_of(ioctl(fd, 0xb701 /* NS_GET_USERNS */));
}

#define FILTER      "seccomp filter"
#define FILTER_ALSO "seccomp filter, namespace limits of zero, no capabilities"
#define NOBODY      "no capabilities in a user namespace"
#define PID         "pid namespace"

#define UNSHARE(name, flag, about)                                                                           \
	{                                                                                                    \
		name, "unshare a new " about " namespace", "EPERM", FILTER_ALSO,                             \
		    .run = unshare_one, .path = flag, .seen = "nsjail, minijail, runc's default",            \
		    .needs = NULL                                                                            \
	}

static const struct attempt rows[] = {
	{ "unshare-user", "unshare a new user namespace", "EPERM", FILTER_ALSO,
	  .seen = "nsjail, minijail, runc's default", .run = unshare_one, .path = "268435456",
	  .outside = OUTSIDE_PLAIN },
	UNSHARE("unshare-mount", "131072", "mount"),
	UNSHARE("unshare-pid", "536870912", "pid"),
	UNSHARE("unshare-network", "1073741824", "network"),
	UNSHARE("unshare-ipc", "134217728", "IPC"),
	UNSHARE("unshare-uts", "67108864", "UTS"),
	UNSHARE("unshare-cgroup", "33554432", "cgroup"),
	UNSHARE("unshare-time", "128", "time"),
	{ "clone-user-namespace", "clone into a new user namespace", "EPERM", FILTER_ALSO,
	  .seen = "CVE-2022-0185", .run = clone_user, .outside = OUTSIDE_PLAIN },
	{ "clone3-user-namespace", "the same by clone3, which no filter can look into", "ENOSYS", FILTER,
	  .seen = "CVE-2021-41133", .run = clone3_user, .outside = OUTSIDE_PLAIN },
	{ "enter-own-namespace", "setns into its own network namespace", "EPERM", FILTER,
	  .run = enter_namespace, .path = "/proc/self/ns/net" },
	{ "enter-init-namespace", "setns into the mount namespace of process 1", "hidden", PID ", hidepid",
	  .run = enter_namespace, .path = "/proc/1/ns/mnt", .outside = OUTSIDE_PLAIN },
	{ "enter-by-pidfd", "setns by a pidfd", "EPERM", FILTER, .run = enter_by_pidfd },

	{ "become-root", "setresuid to 0", "EPERM|EINVAL", NOBODY, .run = become_root },
	{ "become-root-group", "setresgid to 0", "EPERM|EINVAL", NOBODY, .run = become_root_group },
	{ "join-groups", "setgroups", "EPERM", NOBODY, .run = join_groups },
	{ "have-effective", "have an effective capability", "clean", NOBODY, .run = have_capabilities,
	  .path = "\nCapEff" },
	{ "have-permitted", "have a permitted capability", "clean", NOBODY, .run = have_capabilities,
	  .path = "\nCapPrm" },
	{ "have-bounding", "have a capability in the bounding set", "clean", NOBODY,
	  .seen = "isolate, minijail", .run = have_capabilities, .path = "\nCapBnd" },
	{ "have-inheritable", "have an inheritable capability", "clean", NOBODY, .seen = "CVE-2022-27650",
	  .run = have_capabilities, .path = "\nCapInh" },
	{ "have-ambient", "have an ambient capability", "clean", NOBODY, .run = have_capabilities,
	  .path = "\nCapAmb" },
	{ "take-capabilities", "capset of CAP_SYS_ADMIN", "EPERM", NOBODY, .run = take_capabilities },
	{ "raise-ambient", "raise an ambient capability", "EPERM", NOBODY ", locked secure bits",
	  .seen = "CVE-2022-27650", .run = raise_ambient },
	{ "lack-no-new-privs", "be without no_new_privs", "clean", "no_new_privs", .run = lack_no_new_privs },
	{ "unlock-securebits", "clear the secure bits", "EPERM", NOBODY, .run = unlock_securebits },
	{ "keep-groups", "keep one of the caller's groups", "clean", "supplementary groups dropped",
	  .seen = "isolate before 2.5", .allowed = "unprivileged", .run = have_groups,
	  .outside = OUTSIDE_PLAIN },
	{ "map-to-root", "be user 0 of the host under another number", "clean", "user namespace",
	  .seen = "bubblewrap, nsjail, runc as root", .run = map_to_root, .path = "/proc/self/uid_map",
	  .outside = OUTSIDE_PLAIN },
	{ "map-to-root-group", "be group 0 of the host under another number", "clean", "user namespace",
	  .run = map_to_root, .path = "/proc/self/gid_map", .outside = OUTSIDE_PLAIN },
	{ "run-suid-program", "run a set-user-ID program of /usr", "no-effect", "no_new_privs, nosuid",
	  .needs = "spawn", .run = run_suid_as_user, .outside = OUTSIDE_PLAIN },
	{ "pose-as-root", "send root's user number over a local socket", "EPERM|EINVAL", NOBODY,
	  .run = pose_as_root },
	{ "find-owner-of-namespace", "open the user namespace that owns its mount namespace", "ENOTTY",
	  FILTER, .run = find_owner },
	{ "wake-host", "have a timer that wakes a suspended host", "EPERM", NOBODY,
	  .call = { SYS_timerfd_create, { CLOCK_REALTIME_ALARM, 0 } } },
	{ "use-session-keyring", "reach the session keyring", "EPERM", FILTER, .seen = "isolate, bubblewrap",
	  .run = switch_to_keyring },
	{ "join-keyring", "join a session keyring", "EPERM", FILTER, .run = join_keyring },
	{ "add-key", "add a key, which outlives the run", "EPERM", FILTER, .seen = "isolate",
	  .run = add_to_keyring },
	{ "request-key", "request a key, which starts a program of the host's", "EPERM", FILTER,
	  .call = { SYS_request_key, { 0, 0, 0, 0 }, EFAULT } },
	{ "turn-off-aslr", "personality(ADDR_NO_RANDOMIZE)", "EPERM", FILTER, .allowed = "profile=compat",
	  .run = set_personality, .path = "0040000" },
	{ "make-memory-executable", "personality(READ_IMPLIES_EXEC)", "EPERM", FILTER, .run = set_personality,
	  .path = "0400000" },
	{ "be-32-bit", "personality(PER_LINUX32)", "EPERM", FILTER, .run = set_personality, .path = "8" },

#if defined(__x86_64__)
	{ "call-by-int80", "a system call of the 32-bit kind", "SIGSYS", FILTER,
	  .seen = "every sandbox measured but isolate", .run = call_by_int80 },
	{ "call-by-x32", "a system call of the x32 kind", "SIGSYS", FILTER,
	  .call = { 0x40000000 | SYS_getpid, { 0 } } },
#endif
	{ "loosen-filter", "install a filter that allows all, then do what is denied", "EINVAL|EPERM",
	  "seccomp filter: no own ones, and filters only add up", .run = loosen_filter },
	{ "escape-by-thread", "do what is denied in another thread", "EPERM",
	  "seccomp filter, inherited by threads", .run = escape_by_thread },
	{ "escape-by-child", "do what is denied in a child", "EPERM", "seccomp filter, inherited by children",
	  .needs = "spawn", .run = escape_by_child },

	{ "answer-own-calls", "install a filter that asks itself, and allow what is denied", "EINVAL|EPERM",
	  "seccomp filter: no own ones, and filters only add up", .run = answer_own_calls },

	{ "trace-host-process", "ptrace a process of the host", "EPERM|ESRCH", FILTER ", " PID, .run = attach,
	  .outside = OUTSIDE_PLAIN },
	{ "trace-init", "ptrace the jail's init", "EPERM", FILTER ", init is not dumpable", .run = attach,
	  .path = "init", .outside = OUTSIDE_PLAIN },
	{ "trace-itself", "be traced", "EPERM", FILTER, .allowed = "profile=compat|call=ptrace",
	  .run = trace_me },
	{ "read-host-memory", "read the memory of a process of the host", "EPERM|ESRCH", FILTER ", " PID,
	  .run = read_memory, .outside = OUTSIDE_PLAIN },
	{ "write-host-memory", "write the memory of a process of the host", "EPERM|ESRCH", FILTER ", " PID,
	  .run = write_memory, .outside = OUTSIDE_PLAIN },
	{ "read-init-memory", "read the memory of the jail's init", "EPERM", FILTER ", init is not dumpable",
	  .seen = "nsjail, runc", .run = read_memory, .path = "init", .outside = OUTSIDE_PLAIN },
	{ "open-host-process", "pidfd_open of a process of the host", "ESRCH", PID, .run = open_process,
	  .outside = OUTSIDE_PLAIN },
	{ "take-descriptor", "take a descriptor of the jail's init by pidfd_getfd", "EPERM", FILTER,
	  .seen = "bubblewrap, nsjail, runc", .run = take_descriptor, .outside = OUTSIDE_PLAIN },
	{ "compare-processes", "kcmp with the jail's init", "EPERM", FILTER, .run = compare_processes,
	  .outside = OUTSIDE_PLAIN },
	{ "advise-process", "process_madvise of the jail's init", "EPERM", FILTER, .run = advise_process,
	  .outside = OUTSIDE_PLAIN },
	{ "release-process", "process_mrelease", "EPERM", FILTER,
	  .call = { NR_PROCESS_MRELEASE, { -1, 0 }, EBADF } },
	{ "signal-host-process", "signal a process of the host", "ESRCH", PID, .run = signal_process,
	  .outside = OUTSIDE_PLAIN },
	{ "signal-supervisor", "signal the supervisor", "ESRCH", PID, .run = signal_process,
	  .path = "supervisor", .outside = OUTSIDE_PLAIN },
	{ "signal-by-pidfd", "signal a process of the host by pidfd", "ESRCH", PID, .run = signal_by_pidfd,
	  .outside = OUTSIDE_PLAIN },
	{ "kill-init", "end or stop the jail's init", "EPERM|no-effect", PID, .run = kill_init,
	  .not_outside = "it would end the host" },
	{ "signal-everybody", "signal every process there is", "ESRCH", PID, .run = signal_everybody,
	  .outside = OUTSIDE_PLAIN },
	{ "limit-host-process", "read the limits of a process of the host", "ESRCH", PID,
	  .run = limit_process, .outside = OUTSIDE_PLAIN },
	{ "limit-init", "set the limits of the jail's init", "EPERM", FILTER, .run = limit_process,
	  .path = "init", .outside = OUTSIDE_PLAIN },
	{ "pin-host-process", "set the processors of a process of the host", "ESRCH", PID, .run = pin_process,
	  .outside = OUTSIDE_PLAIN },
	{ "pin-init", "set the processors of the jail's init", "EPERM", FILTER, .run = pin_process,
	  .path = "init", .outside = OUTSIDE_PLAIN },
	{ "slow-host-process", "set the priority of a process of the host", "ESRCH", PID, .run = slow_process,
	  .outside = OUTSIDE_PLAIN },

	{ "slow-disk-of-host-process", "set the input and output class of a process of the host", "ESRCH",
	  PID, .run = slow_disk_of_process, .outside = OUTSIDE_PLAIN },

	{ "slow-init-by-group", "lower the priority of the process group of the jail's init", "EPERM", FILTER,
	  .run = slow_init, .path = "group", .not_outside = "it would slow the caller's own process group" },
	{ "slow-init-by-user", "lower the priority of all processes of its user", "EPERM", FILTER,
	  .run = slow_init, .path = "user", .not_outside = "it would slow all of the caller's processes" },
	{ "slow-disk-of-init-by-group", "lower the input and output class of the group of the jail's init",
	  "EPERM", FILTER, .run = slow_disk_of_init, .path = "group",
	  .not_outside = "it would slow the caller's own process group" },
	{ "slow-disk-of-init-by-user", "lower the input and output class of all processes of its user",
	  "EPERM", FILTER, .run = slow_disk_of_init, .path = "user",
	  .not_outside = "it would slow all of the caller's processes" },
	{ "signal-init-by-descriptor", "have the kernel kill the jail's init when a pipe is written to",
	  "EPERM|no-effect", PID, .run = signal_init_by_descriptor,
	  .not_outside = "it would signal the host's process 1" },

	{ "raise-priority", "a nice value of -10", "EACCES|EPERM", NOBODY, .run = raise_priority },
	{ "be-real-time", "a real-time scheduling class", "EPERM", NOBODY, .run = be_real_time },
	{ "be-deadline", "the deadline scheduling class", "EPERM", NOBODY, .run = be_deadline },
	{ "be-real-time-io", "a real-time input and output class", "EPERM", NOBODY, .run = be_real_time_io },
	{ "raise-open-files", "raise the hard limit of open files", "EPERM", NOBODY, .run = raise_limit,
	  .path = "7" },
	{ "raise-core-size", "raise the hard limit of core dumps", "no-effect", FILTER, .run = raise_limit,
	  .path = "4" },
	{ "allow-core-dumps", "lower the limit of core dumps, so that a program of the host's gets one",
	  "no-effect|SIGSYS", FILTER, .run = allow_core_dumps },
	{ "raise-locked-memory", "raise the hard limit of locked memory", "EPERM", NOBODY, .run = raise_limit,
	  .path = "8" },
	{ "allow-store-bypass", "turn speculative store bypass on", "EPERM", "prctl, forced",
	  .allowed = "speculation=off", .run = allow_speculation, .path = "0" },
	{ "allow-indirect-branch", "turn speculation of indirect branches on", "EPERM", "prctl, forced",
	  .allowed = "speculation=off", .run = allow_speculation, .path = "1" },
};

const struct attempt_group ids_group = GROUP("ids", rows);
