/*
 * The filter in the kernel: loaded in forked helpers, calls tried, errno or signal compared.
 * Works for any user. Every call tried is harmless should the filter let it through.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "jail/filter/seccomp.h"
#include "jail/filter/syscalls.h"
#include "tests/unit/jail/filter/bpf_vm.h"

/* Of this architecture; -1: it has no such call. */
static int call_number(const char *name)
{
	const struct syscall_row *row = syscall_find(name, NULL);

#if defined(__x86_64__)
	return row ? row->number[SYSCALL_X86_64] : -1;
#else
	return row ? row->number[SYSCALL_AARCH64] : -1;
#endif
}

#define NO_FILTER 250 /* exit status: the filter could not be loaded */
#define NO_SUCH   251 /* exit status: the program is not there */
#define KILLED    (-SIGSYS)

static const char *const profile_names[] = { "strict", "default", "compat" };

/* Cannot fail quietly: a helper without its filter ends. */
static void load(const struct seccomp_program *program)
{
	struct sock_fprog prog = { (unsigned short)program->count, (struct sock_filter *)program->code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		_exit(NO_FILTER);
}

static void compile(const struct seccomp_options *options, struct seccomp_program *ret)
{
	struct warder_error err = { 0 };

	cr_assert_eq(seccomp_compile(options, ret, &err), 0, "%s", err.text);
}

/* Exit status of a helper, or minus the signal that ended it. */
static int finish(pid_t pid)
{
	int status = 0;

	cr_assert_geq(pid, 0);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* errno of one call under the filter, 0 when it works, KILLED when it kills. */
static int attempt(const struct seccomp_program *program, long nr, const uint64_t *a)
{
	pid_t pid = fork();

	if (pid == 0) {
		load(program);
		_exit(syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]) == -1 ? errno : 0);
	}
	return finish(pid);
}

/* Exit status of `body` run under the filter. */
static int inside(const struct seccomp_options *options, int (*body)(void))
{
	struct seccomp_program program;
	pid_t pid;

	compile(options, &program);
	pid = fork();
	if (pid == 0) {
		load(&program);
		_exit(body());
	}
	return finish(pid);
}

static bool is_user_mode_linux(void)
{
	char text[4096] = "";
	FILE *file = fopen("/proc/cpuinfo", "re");

	if (file) {
		text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
		fclose(file);
	}
	return strstr(text, "User Mode Linux") != NULL;
}

#define HIGH (1ull << 32)
#define BAD  1 /* no valid address, no valid descriptor flag: EFAULT or EINVAL without a filter */

Test(seccomp_kernel, calls_under_default, .timeout = 60)
{
	static const struct {
		const char *call;
		uint64_t args[6];
		int want;        /* errno */
		int want_killed; /* the same with kill_on_violation */
	} rows[] = {
		{ "getpid", { 0 }, 0, 0 },
		{ "memfd_create", { (uintptr_t) "x", MFD_CLOEXEC }, 0, 0 },
		{ "memfd_create", { (uintptr_t) "x", MFD_HUGETLB | HIGH }, EPERM, KILLED },
		{ "socket", { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC }, 0, 0 },
		{ "socket", { AF_INET, SOCK_DGRAM }, 0, 0 },
		{ "socket", { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, EAFNOSUPPORT, EAFNOSUPPORT },
		{ "socket", { AF_NETLINK, SOCK_RAW, NETLINK_XFRM }, EAFNOSUPPORT, EAFNOSUPPORT },
		{ "socket", { AF_ALG | HIGH, SOCK_SEQPACKET }, EAFNOSUPPORT, EAFNOSUPPORT },
		{ "socket", { AF_VSOCK, SOCK_STREAM }, EAFNOSUPPORT, EAFNOSUPPORT },
		{ "socket", { AF_PACKET, SOCK_RAW }, EAFNOSUPPORT, EAFNOSUPPORT },
		{ "socket", { AF_INET, SOCK_RAW, 1 }, EAFNOSUPPORT, EAFNOSUPPORT },
		{ "socket", { AF_INET, SOCK_STREAM, 262 }, EAFNOSUPPORT, EAFNOSUPPORT },
		{ "ioctl", { (uint64_t)-1, TIOCSTI }, ENOTTY, ENOTTY },
		{ "ioctl", { (uint64_t)-1, TIOCSTI | HIGH }, ENOTTY, ENOTTY },
		{ "ioctl", { (uint64_t)-1, TIOCLINUX }, ENOTTY, ENOTTY },
		{ "ioctl", { (uint64_t)-1, SIOCGIFBR }, ENOTTY, ENOTTY },
		{ "ioctl", { (uint64_t)-1, SIOCGIFCONF }, EBADF, EBADF },
		{ "setsockopt", { (uint64_t)-1, SOL_SOCKET, SO_ATTACH_FILTER }, ENOPROTOOPT, ENOPROTOOPT },
		{ "setsockopt",
		  { (uint64_t)-1, SOL_SOCKET | HIGH, SO_ATTACH_BPF },
		  ENOPROTOOPT,
		  ENOPROTOOPT },
		{ "setsockopt", { (uint64_t)-1, SOL_SOCKET, SO_REUSEADDR }, EBADF, EBADF },
		{ "getsockopt", { (uint64_t)-1, SOL_SOCKET, SO_ATTACH_FILTER }, EBADF, EBADF },
		{ "seccomp", { SECCOMP_SET_MODE_FILTER, 0, BAD }, EINVAL, EINVAL },
		{ "seccomp",
		  { SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, BAD },
		  EINVAL,
		  EINVAL },
		{ "seccomp", { SECCOMP_GET_ACTION_AVAIL, 0, BAD }, EFAULT, EFAULT },
		{ "prctl", { PR_SET_SECCOMP, SECCOMP_MODE_FILTER, BAD }, EINVAL, EINVAL },
		{ "prctl", { PR_SET_DUMPABLE, 1 }, 0, 0 },
		{ "preadv2", { (uint64_t)-1, BAD, 1, 0, 0, RWF_NOWAIT }, EOPNOTSUPP, EOPNOTSUPP },
		{ "preadv2", { (uint64_t)-1, BAD, 1, 0, 0, 0 }, EBADF, EBADF },
		{ "madvise", { 0, 0, MADV_MERGEABLE }, EINVAL, EINVAL },
		{ "madvise", { 0, 0, MADV_DONTNEED }, 0, 0 },
		{ "splice", { (uint64_t)-1, 0, (uint64_t)-1 }, EINVAL, EINVAL },
		{ "tee", { (uint64_t)-1, (uint64_t)-1 }, EINVAL, EINVAL },
		{ "syncfs", { (uint64_t)-1 }, ENOSYS, ENOSYS },
		{ "fcntl", { (uint64_t)-1, F_SETPIPE_SZ, 65537 }, EPERM, EPERM },
		{ "fcntl", { (uint64_t)-1, F_SETPIPE_SZ, 65536 }, EBADF, EBADF },
		{ "fcntl", { (uint64_t)-1, F_SET_RW_HINT, BAD }, ENOSYS, ENOSYS },
		{ "ioctl", { (uint64_t)-1, TIOCSCTTY }, EBADF, EBADF },
		{ "fcntl", { (uint64_t)-1, F_GETLEASE }, EBADF, EBADF },
		{ "fcntl", { (uint64_t)-1, F_SETLEASE }, ENOSYS, ENOSYS },
		{ "fcntl", { (uint64_t)-1, F_NOTIFY }, ENOSYS, ENOSYS },
		{ "clone", { CLONE_NEWUSER | SIGCHLD }, EPERM, KILLED },
		{ "clone", { CLONE_NEWNET | HIGH }, EPERM, KILLED },
		{ "unshare", { CLONE_NEWUSER }, EPERM, KILLED },
		{ "setns", { (uint64_t)-1, 0 }, EPERM, KILLED },
		{ "clone3", { BAD, BAD }, ENOSYS, ENOSYS },
		{ "openat2", { BAD, BAD, BAD, BAD }, ENOSYS, ENOSYS },
		{ "mount", { BAD, BAD, BAD }, EPERM, KILLED },
		{ "umount2", { BAD }, EPERM, KILLED },
		{ "fsopen", { BAD, BAD }, EPERM, KILLED },
		{ "open_tree", { (uint64_t)-1, BAD, BAD }, EPERM, KILLED },
		{ "mount_setattr", { (uint64_t)-1, BAD, BAD }, EPERM, KILLED },
		{ "pivot_root", { BAD, BAD }, EPERM, KILLED },
		{ "chroot", { BAD }, EPERM, KILLED },
		{ "ptrace", { 0x4206, 0 }, EPERM, KILLED },
		{ "process_vm_readv", { 1, BAD, BAD, BAD, BAD, BAD }, EPERM, KILLED },
		{ "pidfd_getfd", { (uint64_t)-1, 0, 0 }, EPERM, KILLED },
		{ "keyctl", { 9999 }, EPERM, KILLED },
		{ "add_key", { BAD, BAD, BAD, BAD }, EPERM, KILLED },
		{ "bpf", { 9999 }, EPERM, KILLED },
		{ "perf_event_open", { BAD }, EPERM, KILLED },
		{ "userfaultfd", { BAD }, EPERM, KILLED },
		{ "io_uring_setup", { BAD, BAD }, EPERM, KILLED },
		{ "init_module", { BAD, BAD, BAD }, EPERM, KILLED },
		{ "kexec_load", { BAD, 99999, BAD, BAD }, EPERM, KILLED },
		{ "open_by_handle_at", { (uint64_t)-1, BAD, BAD }, EPERM, KILLED },
		{ "name_to_handle_at", { (uint64_t)-1, BAD, BAD, BAD }, EPERM, KILLED },
		{ "mbind", { BAD, BAD, BAD, BAD, BAD, BAD }, EPERM, KILLED },
		{ "modify_ldt", { 9999 }, EPERM, KILLED },
		{ "statmount", { BAD }, ENOSYS, ENOSYS },
		{ "cachestat", { (uint64_t)-1 }, ENOSYS, ENOSYS },
		{ "io_setup", { 0, BAD }, ENOSYS, ENOSYS },
		{ "personality", { 0xffffffff }, 0, 0 },
		{ "personality", { ADDR_NO_RANDOMIZE }, EPERM, KILLED },
		{ "personality", { PER_LINUX32 }, EPERM, KILLED },
		{ "prctl", { PR_SET_MM }, EINVAL, EINVAL },
		{ "prlimit64", { 1, RLIMIT_CPU }, EPERM, KILLED },
		{ "prlimit64", { 1 | HIGH, RLIMIT_CPU }, EPERM, KILLED },
		{ "prlimit64", { 0, RLIMIT_CPU }, 0, 0 },
		{ "prlimit64", { INT_MAX, RLIMIT_CPU }, ESRCH, ESRCH },
		{ "prlimit64", { 0, RLIMIT_CORE, BAD, 0 }, 0, 0 },
		{ "prlimit64", { 0, RLIMIT_CORE, HIGH, BAD }, EPERM, KILLED },
		{ "prlimit64", { 0, RLIMIT_CORE, 0, BAD }, EFAULT, EFAULT },
		{ "setrlimit", { RLIMIT_CORE, BAD }, 0, 0 },
		{ "setrlimit", { RLIMIT_STACK, BAD }, EFAULT, EFAULT },
		{ "sched_setaffinity", { 1, sizeof(long), BAD }, EPERM, KILLED },
		{ "sched_setaffinity", { 0, sizeof(long), BAD }, EFAULT, EFAULT },
		{ "sched_setparam", { 1, 0 }, EPERM, KILLED },
		{ "sched_setparam", { 0, 0 }, EINVAL, EINVAL },
		{ "sched_setscheduler", { 1, (uint64_t)-1, BAD }, EPERM, KILLED },
		{ "sched_setscheduler", { 0, (uint64_t)-1, BAD }, EINVAL, EINVAL },
		{ "sched_setattr", { 1, 0, 0 }, EPERM, KILLED },
		{ "sched_setattr", { 0, 0, 0 }, EINVAL, EINVAL },
		{ "setpriority", { PRIO_PROCESS, INT_MAX, 0 }, ESRCH, ESRCH },
		{ "setpriority", { PRIO_PROCESS, 0, 19 }, 0, 0 },
		{ "ioprio_set", { 1, 1, 0xffff }, EPERM, KILLED },
		{ "chmod", { BAD, 04755 }, EPERM, KILLED },
		{ "chmod", { BAD, 0755 }, EFAULT, EFAULT },
		{ "fchmod", { (uint64_t)-1, 02755 }, EPERM, KILLED },
		{ "openat", { (uint64_t)-1, BAD, O_CREAT | O_WRONLY, 04755 }, EPERM, KILLED },
		{ "openat", { (uint64_t)-1, BAD, O_TMPFILE | O_WRONLY, 04755 | HIGH }, EPERM, KILLED },
		{ "openat", { (uint64_t)-1, BAD, O_CREAT | O_WRONLY, 0755 }, EFAULT, EFAULT },
		{ "mknodat", { (uint64_t)-1, BAD, S_IFCHR | 0600, 0x103 }, EPERM, KILLED },
		{ "mknodat", { (uint64_t)-1, BAD, S_IFIFO | 0600 }, EFAULT, EFAULT },
		{ "renameat2", { (uint64_t)-1, BAD, (uint64_t)-1, BAD, RENAME_WHITEOUT }, EPERM, KILLED },
		{ "renameat2",
		  { (uint64_t)-1, BAD, (uint64_t)-1, BAD, RENAME_NOREPLACE | HIGH },
		  EFAULT,
		  EFAULT },
		{ "mmap", { 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0 }, 0, 0 },
		{ "mmap",
		  { 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, (uint64_t)-1, 0 },
		  EPERM,
		  KILLED },
	};

	for (int kill = 0; kill < 2; kill++) {
		struct seccomp_options o = { .profile = POLICY_SYSCALLS_DEFAULT,
					     .allow_spawn = true,
					     .kill_on_violation = kill };
		struct seccomp_program program;

		compile(&o, &program);
		for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
			int want = kill ? rows[i].want_killed : rows[i].want;
			long nr = call_number(rows[i].call);
			int got = nr < 0 ? want : attempt(&program, nr, rows[i].args);

			cr_expect_eq(got, want, "row %zu, %s, kill %d: %d, want %d", i, rows[i].call, kill,
				     got, want);
		}
	}
}

/* What a row cannot hold: pid 1 keeps its nice value should the filter let the call through. */
static int init_keeps_its_priority(void)
{
	errno = 0;
	return setpriority(PRIO_PROCESS, 1, getpriority(PRIO_PROCESS, 1)) == -1 ? errno : 0;
}

/* Without the filter root gets 0; another user EPERM, which only the killed helper tells from the filter's. */
Test(seccomp_kernel, priority_of_init, .timeout = 30)
{
	for (int p = 0; p < 3; p++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)p };

		cr_expect_eq(inside(&o, init_keeps_its_priority), EPERM, "%s", profile_names[p]);
		o.kill_on_violation = true;
		cr_expect_eq(inside(&o, init_keeps_its_priority), KILLED, "%s", profile_names[p]);
	}
}

/* A refused call that hangs up the terminal if it is not: the only one without an argument to spoil. */
static bool is_safe(long nr)
{
	return nr != call_number("vhangup");
}

/* Call every number that the program refuses with an errno; the first whose errno is another one + 1, else 0. */
static long first_difference(const struct seccomp_program *program)
{
	for (long nr = 0; nr <= 600; nr++) {
		struct seccomp_data data = {
			.nr = (int)nr,
#if defined(__x86_64__)
			.arch = AUDIT_ARCH_X86_64,
#else
			.arch = AUDIT_ARCH_AARCH64,
#endif
			.args = { BAD, BAD, BAD, BAD, BAD, BAD }
		};
		uint32_t verdict = bpf_vm_run(program->code, program->count, &data, NULL);

		if ((verdict & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ERRNO || !is_safe(nr))
			continue;
		errno = 0;
		if (syscall(nr, BAD, BAD, BAD, BAD, BAD, BAD) != -1 ||
		    errno != (int)(verdict & SECCOMP_RET_DATA))
			return nr + 1;
	}
	return 0;
}

Test(seccomp_kernel, every_refused_number, .timeout = 60)
{
	for (int i = 0; i < 6; i++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)(i / 2),
					     .allow_spawn = i & 1 };
		struct seccomp_program program;
		long difference = -1;
		int ends[2];
		pid_t pid;

		compile(&o, &program);
		cr_assert_eq(pipe(ends), 0);
		pid = fork();
		if (pid == 0) {
			load(&program);
			difference = first_difference(&program);
			_exit(write(ends[1], &difference, sizeof(difference)) != sizeof(difference));
		}
		close(ends[1]);
		cr_expect_eq(read(ends[0], &difference, sizeof(difference)), sizeof(difference));
		close(ends[0]);
		cr_expect_eq(finish(pid), 0, "%s", profile_names[o.profile]);
		cr_expect_eq(difference, 0, "number %ld in %s", difference - 1, profile_names[o.profile]);
	}
}

/* ---- numberings ---- */

#if defined(__x86_64__)
static int call_i386(void)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
	return result > 0 ? 0 : 1;
}

static int call_x32(void)
{
	return syscall(0x40000000 + SYS_getpid) == -1 ? errno : 0;
}

Test(seccomp_kernel, foreign_numberings_kill, .timeout = 30)
{
	for (int p = 0; p < 3; p++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)p, .allow_spawn = true };

		cr_expect_eq(inside(&o, call_x32), KILLED, "x32 in %s", profile_names[p]);
		if (is_user_mode_linux())
			fprintf(stderr,
				"skipped: int 0x80 (User Mode Linux runs the 64-bit call of that number)\n");
		else
			cr_expect_eq(inside(&o, call_i386), KILLED, "int 0x80 in %s", profile_names[p]);
	}
}
#endif

static int call_minus_one(void)
{
	return syscall(-1) == -1 ? errno : 0;
}

Test(seccomp_kernel, minus_one_is_not_killed, .timeout = 10)
{
	cr_expect_eq(inside(&(struct seccomp_options){ .kill_on_violation = true }, call_minus_one), ENOSYS);
}

/* ---- processes and threads ---- */

static void *nothing(void *arg)
{
	return arg;
}

static int thread_works(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL);
}

static int fork_fails(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid == -1 ? errno : 0;
}

static int spawn_fails(void)
{
	char name[] = "/bin/true";
	char *argv[] = { name, NULL };
	char *environment[] = { NULL };
	pid_t pid;

	return posix_spawn(&pid, name, NULL, NULL, argv, environment);
}

Test(seccomp_kernel, threads_without_processes, .timeout = 30)
{
	for (int p = 0; p < 3; p++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)p };

		cr_expect_eq(inside(&o, thread_works), 0, "%s", profile_names[p]);
		cr_expect_eq(inside(&o, fork_fails), EPERM, "%s", profile_names[p]);
		cr_expect_eq(inside(&o, spawn_fails), EPERM, "%s", profile_names[p]);
		o.allow_spawn = true;
		cr_expect_eq(inside(&o, fork_fails), 0, "%s", profile_names[p]);
		cr_expect_eq(inside(&o, spawn_fails), 0, "%s", profile_names[p]);
	}
}

/* ---- it stays on ---- */

static int status_shows_it(void)
{
	char text[8192] = "";
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	return !(len > 0 && strstr(text, "\nSeccomp:\t2\n") && strstr(text, "\nNoNewPrivs:\t1\n"));
}

static int install_filter(void)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = { 1, &all };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0 ? 0 : errno;
}

/* Only compat lets a program have one at all. */
static int own_filter_loosens_nothing(void)
{
	if (install_filter() != 0)
		return 1;
	return syscall(call_number("userfaultfd"), BAD) == -1 && errno == EPERM ? 0 : 2;
}

static int attach_filter(void)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0xffffffff);
	struct sock_fprog prog = { 1, &all };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) == 0 ? 0 : errno;
}

static int child_has_it(void)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(syscall(call_number("userfaultfd"), BAD) == -1 && errno == EPERM ? 0 : 1);
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

Test(seccomp_kernel, it_stays_on, .timeout = 30)
{
	for (int p = 0; p < 3; p++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)p, .allow_spawn = true };

		cr_expect_eq(inside(&o, status_shows_it), 0, "%s", profile_names[p]);
		cr_expect_eq(inside(&o, child_has_it), 0, "%s", profile_names[p]);
	}
}

/* One filter of one instruction at most, each in a process that ends before the next begins. */
Test(seccomp_kernel, own_filters, .timeout = 30)
{
	for (int p = 0; p < 2; p++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)p, .allow_spawn = true };

		cr_expect_eq(inside(&o, install_filter), EINVAL, "%s", profile_names[p]);
		cr_expect_eq(inside(&o, attach_filter), ENOPROTOOPT, "%s", profile_names[p]);
	}
	cr_expect_eq(inside(&(struct seccomp_options){ .profile = POLICY_SYSCALLS_COMPAT },
			    own_filter_loosens_nothing),
		     0);
}

/* ---- programs ---- */

static int run_program(const struct seccomp_program *program, const char *const *argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		load(program);
		execvp(argv[0], (char *const *)argv);
		_exit(errno == ENOENT ? NO_SUCH : 1);
	}
	return finish(pid);
}

#define PYTHON                                                                                               \
	"import multiprocessing, subprocess, threading, asyncio, sqlite3, socket, os, pty\n"                 \
	"t = threading.Thread(target=print); t.start(); t.join()\n"                                          \
	"assert subprocess.run(['true']).returncode == 0\n"                                                  \
	"async def m(): return await (await asyncio.create_subprocess_exec('true')).wait()\n"                \
	"assert asyncio.run(m()) == 0\n"                                                                     \
	"p = multiprocessing.get_context('fork').Process(target=abs, args=(1,)); p.start(); p.join()\n"      \
	"assert p.exitcode == 0\n"                                                                           \
	"c = sqlite3.connect(':memory:'); c.execute('create table t(a)')\n"                                  \
	"a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'\n"                               \
	"os.close(pty.openpty()[0])\n"

#define NODE                                                                                                 \
	"const { Worker } = require('worker_threads');"                                                      \
	"new Worker('1', { eval: true }).on('exit', (code) => {"                                             \
	"  require('child_process').execFileSync('true'); process.exit(code); });"

#define SHELL "x=$(seq 1 100 | sort -n | tail -n 1); [ \"$x\" = 100 ] && (true & wait) && echo ok >/dev/null"

#define C_PROGRAM                                                                                            \
	"command -v gcc >/dev/null || exit 0; echo 'int main(void) { return 0; }' | gcc -x c -S -o "         \
	"/dev/null - 2>&1"

/* Under the narrowest profile, where the slightest violation kills. */
Test(seccomp_kernel, programs_run_under_strict, .timeout = 120)
{
	static const char *const programs[][4] = {
		{ "sh", "-c", SHELL },  { "bash", "-c", SHELL },   { "python3", "-c", PYTHON },
		{ "node", "-e", NODE }, { "sh", "-c", C_PROGRAM }, { "perl", "-e", "exit(`echo 7` != 7)" },
	};
	struct seccomp_options o = { .profile = POLICY_SYSCALLS_STRICT,
				     .allow_spawn = true,
				     .kill_on_violation = true };
	struct seccomp_program program;

	compile(&o, &program);
	for (size_t i = 0; i < ARRAY_LENGTH(programs); i++) {
		int got = run_program(&program, programs[i]);

		if (got == NO_SUCH)
			fprintf(stderr, "skipped: %s is not installed\n", programs[i][0]);
		else
			cr_expect_eq(got, 0, "%s: %d", programs[i][0], got);
	}
}
