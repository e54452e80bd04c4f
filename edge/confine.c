/*
 * The edge reads what strangers send, from inside the jail and from the network. If it is taken over, the attacker has: the host's network,
 * which is what it is for; the sockets it holds; and nothing else. Its root is an empty read-only tmpfs, it has no capability and no way to
 * get one, it cannot execute a program, start a process, or open a file, and it is a user that owns nothing.
 *
 * Order: the mount namespace needs privilege, so it comes before the identity; the filter is last.
 */
#include "edge/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* What serving needs. Everything else kills the process, and the jail then has no network. */
static const int allowed[] = {
	/* sockets: made by the resolver and for connections; taken from listeners */
	SYS_accept4,
	SYS_bind,
	SYS_connect,
	SYS_getpeername,
	SYS_getsockname,
	SYS_getsockopt,
	SYS_setsockopt,
	SYS_shutdown,
	SYS_socket,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_sendto,
	SYS_sendmsg,
	/* descriptors */
	SYS_close,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_fcntl,
	SYS_ioctl,
	SYS_read,
	SYS_readv,
	SYS_write,
	SYS_writev,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
	SYS_poll,
#endif
	SYS_ppoll,
	/* memory */
	SYS_brk,
	SYS_madvise,
	SYS_mmap,
	SYS_mremap,
	SYS_munmap,
	/* time, random numbers, locks of libc, the end */
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_exit,
	SYS_exit_group,
	SYS_futex,
	SYS_getpid,
	SYS_getrandom,
	SYS_gettimeofday,
	SYS_restart_syscall,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	/* the resolver looks for its files in an empty root: it finds none */
	SYS_newfstatat,
	SYS_openat,
#ifdef __SANITIZE_ADDRESS__
	/* the sanitizer, which also prints what it finds */
	SYS_getrlimit,
	SYS_gettid,
	SYS_mprotect,
	SYS_prctl,
	SYS_prlimit64,
	SYS_readlink,
	SYS_rt_sigaction,
	SYS_sched_yield,
	SYS_sigaltstack,
	SYS_tgkill,
#endif
};

#ifdef __SANITIZE_ADDRESS__
/* Looking for leaks at the end takes a process of its own, and the sanitizer's shadow is more data than any limit. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#define DATA_MAX RLIM_INFINITY
#else
#define DATA_MAX ((rlim_t)256 << 20)
#endif

static int filter(void)
{
	struct sock_filter code[2 * ARRAY_LENGTH(allowed) + 8];
	struct sock_fprog program = { .filter = code };
	unsigned short n = 0;

	code[n++] =
	    (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_LENGTH(allowed); i++) {
		code[n++] =
		    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)allowed[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program.len = n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int leave_files(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	if (mount("edge", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,mode=0555") < 0)
		return -1;
	if (chdir("/tmp") < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
		return -1;
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return -1;
	return chdir("/");
}

/* None can be gained again, whatever is executed. */
static int empty_bounding_set(void)
{
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL)
			return -1;
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	return (int)syscall(SYS_capset, &header, none);
}

static int limit_resources(void)
{
	static const struct {
		int resource;
		rlim_t most;
	} limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_DATA, DATA_MAX },
		{ RLIMIT_MEMLOCK, 0 },
	};
	struct rlimit files;

	for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
		struct rlimit limit;

		if (getrlimit(limits[i].resource, &limit) < 0)
			return -1;
		if (limit.rlim_max > limits[i].most)
			limit.rlim_max = limits[i].most;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(limits[i].resource, &limit) < 0)
			return -1;
	}
	/* Two for each connection, and the listeners. */
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return -1;
	files.rlim_cur = files.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files);
}

int confine(uint32_t uid, uint32_t gid, const char **ret_what)
{
	const bool privileged = geteuid() == 0;
	const unsigned int namespaces = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;

	*ret_what = "its limits";
	if (limit_resources() < 0)
		return -1;
	*ret_what = "its namespaces";
	if (unshare(privileged ? namespaces : namespaces | CLONE_NEWUSER) < 0)
		return -1;
	*ret_what = "its empty root";
	if (leave_files() < 0)
		return -1;
	*ret_what = "its capabilities";
	if (empty_bounding_set() < 0)
		return -1;
	*ret_what = "its user";
	if (privileged &&
	    (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0))
		return -1;
	*ret_what = "its capabilities";
	if (drop_capabilities() < 0)
		return -1;
	/* A stopped process does not see that its supervisor has died. Not SIGKILL: the signal also comes when only the thread ends that started
	 * this process. After the change of user, which clears it. */
	*ret_what = "its signal at the supervisor's end";
	if (prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0) < 0)
		return -1;
	*ret_what = "its filter";
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return filter();
}
