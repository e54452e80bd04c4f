/*
 * kernel: parts of the kernel that nobody's program needs and that errors are found in.
 *
 * Most rows are one system call whose arguments a later check refuses: who gets that far has reached it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <termios.h>
#include <unistd.h>

#include "runtime/attack/attempts/attempts.h"

#define NR_IO_URING_SETUP    425
#define NR_IO_URING_ENTER    426
#define NR_IO_URING_REGISTER 427
#define NR_QUOTACTL_FD       443
#define NR_MEMFD_SECRET      447
#define NR_CACHESTAT         451
#define NR_STATMOUNT         457
#define NR_LISTMOUNT         458

#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#define SO_ATTACH_REUSEPORT_EBPF 52
#endif
#ifndef MFD_HUGETLB
#define MFD_HUGETLB 4u
#endif

static int set_hostname(const struct attempt *self, const struct marks *marks)
{
	struct utsname names;

	uname(&names);
	return answer_of(sethostname(names.nodename, strlen(names.nodename)));
}

static int set_domainname(const struct attempt *self, const struct marks *marks)
{
	struct utsname names;

	uname(&names);
	return answer_of(setdomainname(names.domainname, strlen(names.domainname)));
}

/* Nothing is set: a time that is refused after the check of privilege. */
static int set_clock(const struct attempt *self, const struct marks *marks)
{
	const long time[2] = { 0, -1 };

	return answer_past(syscall(SYS_clock_settime, 0, time), EINVAL);
}

static int set_time_of_day(const struct attempt *self, const struct marks *marks)
{
	const long time[2] = { 0, -1 };

	return answer_past(syscall(SYS_settimeofday, time, NULL), EINVAL);
}

static int open_perf(const struct attempt *self, const struct marks *marks)
{
	unsigned char attr[128] = { 1 /* PERF_TYPE_SOFTWARE */, [4] = 112 };

	attr[40] = 0x61; /* disabled, without the kernel and the hypervisor */
	return answer_of(syscall(SYS_perf_event_open, attr, 0, -1, -1, 0));
}

static int setup_ring(const struct attempt *self, const struct marks *marks)
{
	unsigned char parameters[128] = { 0 };

	return answer_of(syscall(NR_IO_URING_SETUP, 1, parameters));
}

static int read_clock_state(const struct attempt *self, const struct marks *marks)
{
	unsigned char timex[512] = { 0 };

	return answer_of(syscall(SYS_adjtimex, timex));
}

/* ---- memory ---- */

static int splice_memory(const struct attempt *self, const struct marks *marks)
{
	int pipes[2];
	struct {
		const void *base;
		size_t len;
	} vector = { "x", 1 };

	return pipe(pipes) != 0 ? UNTRIED : answer_of(syscall(SYS_vmsplice, pipes[1], &vector, 1, 0));
}

static int huge_memfd(const struct attempt *self, const struct marks *marks)
{
	return answer_of(syscall(SYS_memfd_create, "huge", MFD_HUGETLB));
}

/* Not through libc: musl turns EPERM into ENOMEM here. */
static int huge_map(const struct attempt *self, const struct marks *marks)
{
	long at = syscall(SYS_mmap, NULL, 2 << 20, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);

	return at == -1 ? answer_past(-1, ENOMEM) : REACHED;
}

static int huge_segment(const struct attempt *self, const struct marks *marks)
{
	int id = shmget(IPC_PRIVATE, 2 << 20, IPC_CREAT | 0600 | 04000 /* SHM_HUGETLB */);

	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	return answer_past(id, ENOMEM);
}

static int make_shared_segment(const struct attempt *self, const struct marks *marks)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);

	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	return answer_of(id);
}

/* ---- terminals ---- */

/* A terminal of our own, made the controlling one, so that outside the kernel would take the character. */
static int own_terminal(void)
{
	int master_fd, fd;

	setsid();
	master_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master_fd < 0 || grantpt(master_fd) != 0 || unlockpt(master_fd) != 0)
		return -1;
	fd = open(ptsname(master_fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		ioctl(fd, TIOCSCTTY, 0);
	return fd;
}

/* The policy may grant none: then there is nothing to attack. */
static int no_terminal(void)
{
	return errno == ENOENT ? HIDDEN : UNTRIED;
}

static int push_character(const struct attempt *self, const struct marks *marks)
{
	char c = 'x';
	int fd = own_terminal();

	return fd < 0 ? no_terminal() : answer_of(ioctl(fd, TIOCSTI, &c));
}

/* The kernel looks at the low half of the request only; a filter that compares all of it does not see this
 * one. */
static int push_character_wide(const struct attempt *self, const struct marks *marks)
{
	char c = 'x';
	int fd = own_terminal();

	return fd < 0 ? no_terminal() : answer_of(syscall(SYS_ioctl, fd, (1ul << 32) | TIOCSTI, &c));
}

/* TIOCLINUX is refused by other terminals than consoles, TIOCCONS by who is no administrator: both are asked of no descriptor. */
static int terminal_request(const struct attempt *self, const struct marks *marks)
{
	int line = 0;
	int fd;
	char c = 6; /* TIOCL_GETSHIFTSTATE */

	if (strcmp(self->path, "linux") == 0)
		return answer_past(ioctl(-1, TIOCLINUX, &c), EBADF);
	if (strcmp(self->path, "console") == 0)
		return answer_past(ioctl(-1, TIOCCONS, 0), EBADF);
	fd = own_terminal();
	return fd < 0 ? no_terminal() : answer_of(ioctl(fd, TIOCSETD, &line));
}

/* Outside of one that it makes itself: the caller may have none. */
static int take_controlling_terminal(const struct attempt *self, const struct marks *marks)
{
	int fd;

	if (marks->outside && own_terminal() < 0)
		return UNTRIED;
	fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

	return answer_hidden(fd);
}

/* ---- sockets ---- */

static void let_group_ping(void)
{
	int fd = open("/proc/sys/net/ipv4/ping_group_range", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, "0 0", 3) != 3)
			note("ping_group_range cannot be set");
		close(fd);
	}
}

static int open_ping_socket(const struct attempt *self, const struct marks *marks)
{
	/* Which groups may ping is a setting of the network namespace, which is a new one here. */
	if (marks->outside)
		let_group_ping();
	return answer_of(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 1));
}

/* ---- what is allowed to most programs, and lets two of them talk ---- */

static int lock_shared_file(const struct attempt *self, const struct marks *marks)
{
	int fd = open(host_file(), O_RDONLY | O_CLOEXEC);

	return fd < 0 ? UNTRIED : answer_of(syscall(SYS_flock, fd, 2 | 4 /* LOCK_EX, LOCK_NB */));
}

static int lease_shared_file(const struct attempt *self, const struct marks *marks)
{
	int fd = open(host_file(), O_RDONLY | O_CLOEXEC);
	int answer = fd < 0 ? UNTRIED : answer_of(fcntl(fd, F_SETLEASE, F_RDLCK));

	close(fd);
	return answer;
}

static int watch_directory(const struct attempt *self, const struct marks *marks)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? UNTRIED : answer_of(fcntl(fd, F_NOTIFY, 1 /* DN_ACCESS */));
}

/* More than a jail gets, fewer than a user has. */
static int hold_watchers(const struct attempt *self, const struct marks *marks)
{
#ifdef SYS_inotify_init1
	for (int i = 0; i < 40; i++)
		if (syscall(SYS_inotify_init1, 0) < 0)
			return errno;
	return REACHED;
#else
	return UNTRIED;
#endif
}

static int watch_files(const struct attempt *self, const struct marks *marks)
{
#ifdef SYS_inotify_init1
	int fd = (int)syscall(SYS_inotify_init1, 0);

	if (fd < 0)
		return errno;
	return answer_of(syscall(SYS_inotify_add_watch, fd, "/", 1));
#else
	return UNTRIED;
#endif
}

/* ---- programs, and what else a socket can be told ---- */

/* One program of one instruction, which ends with the socket: never more than one at a time. */
static int attach_program(const struct attempt *self, const struct marks *marks)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, 0xffffffff) };
	struct sock_fprog program = { 1, all };
	bool shared = strcmp(self->path, "shared") == 0;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int one = 1;
	int answer = UNTRIED;

	if (fd >= 0 && (!shared || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) == 0))
		answer =
		    answer_of(setsockopt(fd, SOL_SOCKET, shared ? SO_ATTACH_REUSEPORT_CBPF : SO_ATTACH_FILTER,
					 &program, sizeof(program)));
	if (fd >= 0)
		close(fd);
	return answer;
}

/* A descriptor that is none: whoever is told so could have attached a program. */
static int attach_loaded(const struct attempt *self, const struct marks *marks)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int none = -1;

	return answer_past(
	    setsockopt(fd, SOL_SOCKET,
		       strcmp(self->path, "shared") == 0 ? SO_ATTACH_REUSEPORT_EBPF : SO_ATTACH_BPF, &none,
		       sizeof(none)),
	    EBADF);
}

/* In a child, which ends with it. */
static int install_program(const struct attempt *self, const struct marks *marks)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, all };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (strcmp(self->path, "prctl") == 0)
		return answer_of(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
	return answer_of(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				 strcmp(self->path, "listener") == 0 ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0,
				 &program));
}

static int time_packets(const struct attempt *self, const struct marks *marks)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int one = 1;
	int answer = answer_of(setsockopt(fd, SOL_SOCKET, SO_TIMESTAMP, &one, sizeof(one)));

	close(fd);
	return answer;
}

/* A request that makes the kernel load a module on any socket; of no descriptor, so that whoever gets that far loads none. */
static int ask_module(const struct attempt *self, const struct marks *marks)
{
	return answer_past(ioctl(-1, strtoul(self->path, NULL, 16), 0), EBADF);
}

/* Of ext4, and of any file system that says so. */
static int identify_file_system(const struct attempt *self, const struct marks *marks)
{
	unsigned int uuid[8] = { 16 };
	int fd = open(host_file(), O_RDONLY | O_CLOEXEC);
	int answer = fd < 0 ? UNTRIED : answer_of(ioctl(fd, 0x8008662cul /* EXT4_IOC_GETFSUUID */, uuid));

	if (answer == ENOTTY)
		answer = answer_of(ioctl(fd, 0x80111500ul /* FS_IOC_GETFSUUID */, uuid));
	if (fd >= 0)
		close(fd);
	return answer;
}

static int read_from_memory(const struct attempt *self, const struct marks *marks)
{
	char byte;
	struct {
		void *base;
		size_t len;
	} vector = { &byte, 1 };
	int fd = open(host_file(), O_RDONLY | O_CLOEXEC);
	int answer =
	    fd < 0 ? UNTRIED
		   : answer_past(syscall(SYS_preadv2, fd, &vector, 1, 0, 0, 8 /* RWF_NOWAIT */), EAGAIN);

	if (fd >= 0)
		close(fd);
	return answer;
}

static int merge_memory(const struct attempt *self, const struct marks *marks)
{
	void *at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? UNTRIED : answer_of(madvise(at, 65536, 12 /* MADV_MERGEABLE */));
}

static int widen_pipe(const struct attempt *self, const struct marks *marks)
{
	int pipes[2];

	return pipe(pipes) != 0 ? UNTRIED : answer_of(fcntl(pipes[1], F_SETPIPE_SZ, 131072));
}

/* A hint that the inode keeps: none, which is what it has. */
static int hint_at_shared_file(const struct attempt *self, const struct marks *marks)
{
	uint64_t hint = 0;
	int fd = open(host_file(), O_RDONLY | O_CLOEXEC);
	int answer = fd < 0 ? UNTRIED : answer_of(fcntl(fd, 1036 /* F_SET_RW_HINT */, &hint));

	close(fd);
	return answer;
}

#define FILTER "seccomp filter"

#define CALL(name, about, expected, see, ...)                                                                \
	{                                                                                                    \
		name, about, expected, FILTER, .seen = see, .call = __VA_ARGS__                              \
	}
#define COMPAT(name, about, expected, calls, ...)                                                            \
	{                                                                                                    \
		name, about, expected, FILTER, .allowed = "profile=compat|" calls, .call = __VA_ARGS__       \
	}
#define NAMED(name, about, expected, calls, ...)                                                             \
	{                                                                                                    \
		name, about, expected, FILTER, .allowed = calls, .call = __VA_ARGS__                         \
	}
#define SOCKET(name, kind, see, family, type, protocol)                                                      \
	{                                                                                                    \
		name, "open a socket of kind " kind, "EAFNOSUPPORT", FILTER,                                 \
		    .seen = see, .outside = OUTSIDE_PLAIN, .call = {                                         \
			    SYS_socket,                                                                      \
			    { family, (type) | SOCK_CLOEXEC, protocol }                                      \
		    }                                                                                        \
	}

static const struct attempt rows[] = {
	CALL("bpf", "load a BPF program or map", "EPERM", "CVE-2021-3490", { SYS_bpf, { 0, 0, 0 }, EINVAL }),
	{ "perf-event-open", "perf_event_open", "EPERM", FILTER,
	  .seen = "CVE-2013-2094; bubblewrap, nsjail, isolate", .run = open_perf },
	CALL("userfaultfd", "userfaultfd", "EPERM", "bubblewrap, nsjail, isolate",
	     { SYS_userfaultfd, { 1 } }),
	{ "io-uring-setup", "io_uring_setup", "EPERM", FILTER, .seen = "CVE-2022-29582; firejail 0.9.72",
	  .run = setup_ring },
	CALL("io-uring-enter", "io_uring_enter", "EPERM", NULL,
	     { NR_IO_URING_ENTER, { -1, 0, 0, 0, 0, 0 }, EBADF }),
	CALL("io-uring-register", "io_uring_register", "EPERM", NULL,
	     { NR_IO_URING_REGISTER, { -2, 0, 0, 1 }, EBADF }),
	NAMED("fanotify-init", "fanotify_init", "EPERM", "call=fanotify_init",
	      { SYS_fanotify_init, { 0x200 /* FAN_REPORT_FID */, 0 } }),
	/* Of no length: a module that is whole would be loaded. */
	CALL("init-module", "load a kernel module", "EPERM", NULL, { SYS_init_module, { 0, 0, 0 }, ENOEXEC }),
	CALL("finit-module", "load a kernel module from a file", "EPERM", NULL,
	     { SYS_finit_module, { -1, 0, 0 }, EBADF }),
	CALL("delete-module", "unload a kernel module", "EPERM", NULL,
	     { SYS_delete_module, { 0, 0 }, EFAULT }),
	CALL("kexec-load", "load another kernel", "EPERM", NULL,
	     { SYS_kexec_load, { 0, 99, 0, -1 }, EINVAL }),
#ifdef SYS_kexec_file_load
	CALL("kexec-file-load", "load another kernel from a file", "EPERM", NULL,
	     { SYS_kexec_file_load, { -1, -1, 0, 0, -1 }, EINVAL }),
#endif
	CALL("reboot", "reboot", "EPERM", NULL, { SYS_reboot, { 0, 0, 0, 0 }, EINVAL }),
	CALL("swap-on", "swapon", "EPERM", NULL, { SYS_swapon, { 0, -1 }, EINVAL }),
	CALL("swap-off", "swapoff", "EPERM", NULL, { SYS_swapoff, { 0 }, EFAULT }),
	CALL("accounting", "acct", "EPERM", NULL, { SYS_acct, { 1 }, EFAULT }),
	CALL("quota", "quotactl", "EPERM", NULL, { SYS_quotactl, { 0x800003, 0, 0, 0 }, EINVAL }),
	CALL("quota-by-descriptor", "quotactl_fd", "EPERM", NULL, { NR_QUOTACTL_FD, { -1, 0, 0, 0 }, EBADF }),
	{ "set-clock", "clock_settime", "EPERM", FILTER, .run = set_clock },
	{ "set-time-of-day", "settimeofday", "EPERM", FILTER, .run = set_time_of_day },
	{ "tune-clock", "adjtimex", "EPERM", FILTER, .allowed = "call=adjtimex", .run = read_clock_state },
	{ "set-hostname", "sethostname", "EPERM", FILTER, .run = set_hostname },
	{ "set-domainname", "setdomainname", "EPERM", FILTER, .run = set_domainname },
#if defined(__x86_64__)
	CALL("port-privilege", "iopl", "EPERM", NULL, { SYS_iopl, { 9 }, EINVAL }),
	CALL("port-permission", "ioperm", "EPERM", NULL, { SYS_ioperm, { -1, 1, 0 }, EINVAL }),
	NAMED("modify-ldt", "modify_ldt", "EPERM", "call=modify_ldt", { SYS_modify_ldt, { 0, 0, 0 } }),
#endif
#ifdef SYS_sysfs
	CALL("ask-file-systems", "sysfs, a call that nobody needs any more", "ENOSYS", NULL,
	     { SYS_sysfs, { 3, 0, 0 } }),
	CALL("ask-mounted", "ustat, another", "ENOSYS", NULL, { SYS_ustat, { 0, 0 }, EINVAL }),
#endif
	COMPAT("bind-memory", "mbind", "EPERM", "call=mbind", { SYS_mbind, { 0, 0, 0, 0, 0, 0 } }),
	COMPAT("memory-policy", "set_mempolicy", "EPERM", "call=set_mempolicy",
	       { SYS_set_mempolicy, { 0, 0, 0 } }),
	NAMED("migrate-pages", "migrate_pages", "EPERM", "call=migrate_pages",
	      { SYS_migrate_pages, { 0, 64, 1, 1 }, EFAULT }),
	NAMED("move-pages", "move_pages", "EPERM", "call=move_pages",
	      { SYS_move_pages, { 0, 0, 0, 0, 0, 0 } }),
	COMPAT("kernel-aio", "io_setup", "ENOSYS", "call=io_setup", { SYS_io_setup, { 0, 0 }, EFAULT }),
	{ "lend-pages", "vmsplice", "EPERM", FILTER, .allowed = "call=vmsplice", .run = splice_memory },
	NAMED("secret-memory", "memfd_secret", "EPERM", "call=memfd_secret", { NR_MEMFD_SECRET, { 0 } }),
	NAMED("remap-file-pages", "remap_file_pages", "EPERM", "call=remap_file_pages",
	      { SYS_remap_file_pages, { 0, 0, 0, 0, 0 }, EINVAL }),
	NAMED("query-page-cache", "cachestat", "ENOSYS", "call=cachestat",
	      { NR_CACHESTAT, { -1, 0, 0, 0 }, EBADF }),
	NAMED("query-mounts", "statmount", "ENOSYS", "call=statmount",
	      { NR_STATMOUNT, { 0, 0, 0, 0 }, EFAULT }),
	NAMED("list-mounts", "listmount", "ENOSYS", "call=listmount",
	      { NR_LISTMOUNT, { 0, 0, 0, 0 }, EFAULT }),
	{ "hang-up", "vhangup", "EPERM", FILTER, .call = { SYS_vhangup, { 0 } },
	  .not_outside = "it would hang up the caller's terminal" },
	CALL("rewrite-proc", "prctl(PR_SET_MM)", "EINVAL", NULL,
	     { SYS_prctl, { PR_SET_MM, PR_SET_MM_MAP_SIZE, 0, 0, 0 }, EFAULT }),
	{ "huge-memfd", "a memfd of huge pages, which no memory limit counts", "EPERM", FILTER,
	  .seen = "every sandbox measured", .run = huge_memfd },
	{ "huge-map", "map huge pages", "EPERM", FILTER, .run = huge_map },
	{ "huge-segment", "a System V segment of huge pages", "EPERM|ENOSYS", FILTER, .run = huge_segment },
	{ "shared-segment", "a System V segment", "ENOSYS", FILTER, .allowed = "profile=default|call=shmget",
	  .run = make_shared_segment },

	{ "push-character", "TIOCSTI: type into a terminal", "ENOTTY|hidden", FILTER,
	  .seen = "CVE-2017-5226; isolate, firejail", .run = push_character, .outside = OUTSIDE_PLAIN },
	{ "push-character-wide", "TIOCSTI with a high bit that the kernel ignores", "ENOTTY|hidden", FILTER,
	  .seen = "CVE-2019-10063", .run = push_character_wide, .outside = OUTSIDE_PLAIN },
	{ "paste-selection", "TIOCLINUX: paste into a console", "ENOTTY", FILTER, .seen = "CVE-2023-28100",
	  .run = terminal_request, .path = "linux", .outside = OUTSIDE_PLAIN },
	{ "take-console", "TIOCCONS: take the console's output", "ENOTTY", FILTER, .run = terminal_request,
	  .path = "console", .outside = OUTSIDE_PLAIN },
	{ "line-discipline", "TIOCSETD: change a terminal's driver", "ENOTTY|hidden", FILTER,
	  .run = terminal_request, .path = "discipline", .outside = OUTSIDE_PLAIN },
	{ "open-callers-terminal", "open /dev/tty", "ENXIO", "a session of its own",
	  .seen = "isolate, firejail", .run = take_controlling_terminal, .outside = OUTSIDE_PLAIN },

	SOCKET("socket-packet", "packet", "CVE-2020-14386", AF_PACKET, SOCK_RAW, 0),
	SOCKET("socket-vsock", "vsock", "CVE-2021-26708; bubblewrap, nsjail", AF_VSOCK, SOCK_STREAM, 0),
	SOCKET("socket-alg", "alg", NULL, AF_ALG, SOCK_SEQPACKET, 0),
	SOCKET("socket-xdp", "xdp", NULL, AF_XDP, SOCK_RAW, 0),
	SOCKET("socket-key", "key", NULL, AF_KEY, SOCK_RAW, 2),
	SOCKET("socket-can", "can", NULL, AF_CAN, SOCK_RAW, 1),
	SOCKET("socket-bluetooth", "bluetooth", NULL, AF_BLUETOOTH, SOCK_RAW, 1),
	SOCKET("socket-tipc", "tipc", NULL, AF_TIPC, SOCK_DGRAM, 0),
	SOCKET("socket-kcm", "kcm", NULL, AF_KCM, SOCK_DGRAM, 0),
	SOCKET("socket-smc", "smc", NULL, AF_SMC, SOCK_STREAM, 0),
	SOCKET("socket-rds", "rds", NULL, AF_RDS, SOCK_SEQPACKET, 0),
	{ "socket-raw-icmp", "open a socket of kind raw-icmp", "EAFNOSUPPORT", FILTER,
	  .outside = OUTSIDE_NETWORK, .call = { SYS_socket, { AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1 } } },
	SOCKET("socket-raw-ip6", "raw-ip6", NULL, AF_INET6, SOCK_RAW, 58),
	{ "socket-ping", "open a socket of kind ping", "EAFNOSUPPORT", FILTER, .run = open_ping_socket,
	  .outside = OUTSIDE_NETWORK },
	SOCKET("socket-mptcp", "mptcp", NULL, AF_INET, SOCK_STREAM, 262),
	SOCKET("socket-sctp", "sctp", NULL, AF_INET, SOCK_STREAM, 132),
	SOCKET("netlink-netfilter", "netfilter", "CVE-2022-32250; runc, isolate", AF_NETLINK, SOCK_RAW,
	       NETLINK_NETFILTER),
	SOCKET("netlink-xfrm", "xfrm", "CVE-2017-7184; runc, isolate", AF_NETLINK, SOCK_RAW, NETLINK_XFRM),
	SOCKET("netlink-audit", "audit", NULL, AF_NETLINK, SOCK_RAW, NETLINK_AUDIT),
	SOCKET("netlink-generic", "generic", NULL, AF_NETLINK, SOCK_RAW, NETLINK_GENERIC),
	SOCKET("netlink-uevent", "uevent", NULL, AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT),
	SOCKET("netlink-diag", "diag", NULL, AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG),
	{ "netlink-route",
	  "open a netlink socket for routing queries, one of which loads a module that it names",
	  "EAFNOSUPPORT", FILTER, .seen = "bubblewrap, nsjail, runc", .allowed = "netlink",
	  .outside = OUTSIDE_PLAIN,
	  .call = { SYS_socket, { AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE } } },
	{ "attach-socket-filter", "attach a BPF program to a socket: memory that is charged to nobody",
	  "ENOPROTOOPT", FILTER, .seen = "every sandbox measured", .allowed = "profile=compat",
	  .run = attach_program, .path = "own" },
	{ "attach-port-filter", "the same for all sockets of a port", "ENOPROTOOPT", FILTER,
	  .allowed = "profile=compat", .run = attach_program, .path = "shared" },
	{ "attach-loaded-program", "attach a loaded BPF program to a socket", "ENOPROTOOPT", FILTER,
	  .allowed = "profile=compat", .run = attach_loaded, .path = "own" },
	{ "attach-loaded-port-program", "the same for all sockets of a port", "ENOPROTOOPT", FILTER,
	  .allowed = "profile=compat", .run = attach_loaded, .path = "shared" },
	{ "install-own-filter", "install a system call filter: memory that is charged to nobody", "EINVAL",
	  FILTER, .seen = "every sandbox measured", .allowed = "profile=compat", .run = install_program,
	  .path = "seccomp" },
	{ "install-own-filter-prctl", "the same by prctl", "EINVAL", FILTER, .allowed = "profile=compat",
	  .run = install_program, .path = "prctl" },
	{ "install-listener", "install a filter that asks another process", "EINVAL", FILTER,
	  .allowed = "profile=compat", .run = install_program, .path = "listener" },
	{ "time-packets", "have packets timed, which patches the running kernel", "ENOPROTOOPT", FILTER,
	  .allowed = "profile=compat", .run = time_packets },
	{ "load-bridge-module", "SIOCGIFBR: make the kernel load a module, as root", "ENOTTY", FILTER,
	  .seen = "bubblewrap, nsjail, runc", .run = ask_module, .path = "8940" },
	{ "load-bridge-module-by-setting", "SIOCSIFBR, likewise", "ENOTTY", FILTER, .run = ask_module,
	  .path = "8941" },
	{ "load-vlan-module", "SIOCGIFVLAN, likewise", "ENOTTY", FILTER, .seen = "bubblewrap, nsjail, runc",
	  .run = ask_module, .path = "8982" },
	{ "load-vlan-module-by-setting", "SIOCSIFVLAN, likewise", "ENOTTY", FILTER, .run = ask_module,
	  .path = "8983" },
	{ "make-bridge", "SIOCBRADDBR, likewise", "ENOTTY", FILTER, .run = ask_module, .path = "89a0" },
	{ "remove-bridge", "SIOCBRDELBR, likewise", "ENOTTY", FILTER, .run = ask_module, .path = "89a1" },
	{ "load-module-by-protocol",
	  "open a TCP socket of the protocol UDP: make the kernel look for a module, as root", "EAFNOSUPPORT",
	  FILTER, .outside = OUTSIDE_PLAIN,
	  .call = { SYS_socket, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 17 }, EPROTONOSUPPORT } },
	{ "load-module-by-protocol-6", "the same by IPv6", "EAFNOSUPPORT", FILTER, .outside = OUTSIDE_PLAIN,
	  .call = { SYS_socket, { AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 6 }, EPROTONOSUPPORT } },
	{ "identify-file-system", "ask for the identity of the host's file system", "ENOTTY", FILTER,
	  .run = identify_file_system },
	{ "socket-packet-wide", "a packet socket with a high bit that the kernel ignores", "EAFNOSUPPORT",
	  FILTER, .seen = "CVE-2019-7303", .outside = OUTSIDE_PLAIN,
	  .call = { SYS_socket, { (1l << 32) | AF_PACKET, SOCK_RAW, 0 } } },

	{ "lock-shared-file", "flock a file that all jails share", "ENOSYS", FILTER,
	  .seen = "bubblewrap, nsjail, runc", .allowed = "profile=compat|call=flock", .run = lock_shared_file,
	  .not_outside = "a program of the host would wait" },
	{ "lease-shared-file", "take a lease on a shared file", "ENOSYS", FILTER, .allowed = "profile=compat",
	  .run = lease_shared_file },
	{ "read-from-memory", "be told whether a shared file is in memory (RWF_NOWAIT)", "EOPNOTSUPP", FILTER,
	  .run = read_from_memory },
	{ "merge-memory", "have equal memory merged, which tells what others have", "EINVAL", FILTER,
	  .run = merge_memory },
	{ "widen-pipe", "a pipe of more than 64 KiB, which is counted for a user of the host", "EPERM",
	  "64 KiB a pipe, by the " FILTER, .allowed = "profile=compat", .run = widen_pipe },
	{ "hint-at-shared-file", "leave a hint at a shared file", "ENOSYS", FILTER,
	  .allowed = "profile=compat", .run = hint_at_shared_file },
	COMPAT("move-pages-to-pipe", "splice", "EINVAL", "call=splice",
	       { SYS_splice, { -1, 0, -1, 0, 1, 0 }, EBADF }),
	COMPAT("share-pages-of-pipes", "tee", "EINVAL", "call=tee", { SYS_tee, { -1, -1, 1, 0 }, EBADF }),
	COMPAT("write-out-file-system", "syncfs: make the host write out what others wrote", "ENOSYS",
	       "call=syncfs", { SYS_syncfs, { -1 }, EBADF }),
	{ "watch-directory", "be told what others do in a directory (F_NOTIFY)", "ENOSYS", FILTER,
	  .allowed = "profile=compat", .run = watch_directory },
	{ "watch-files", "be told what others do with files (inotify)", "ENOSYS", FILTER,
	  .allowed = "profile=compat|call=inotify_add_watch", .run = watch_files },
	{ "hold-watchers", "take 40 of the inotify instances of its user", "ENOSYS|EMFILE",
	  FILTER ", limits of the user namespace", .run = hold_watchers },
};

const struct attempt_group kernel_group = GROUP("kernel", rows);
