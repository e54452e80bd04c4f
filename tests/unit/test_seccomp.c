/*
 * The compiled filter against a plain reading of the table, of the rules, and of libseccomp's numbers.
 * Nothing is loaded here; tests/mechanism/test_seccomp_kernel.c does that.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "jail/seccomp.h"
#include "jail/syscalls.h"
#include "tests/unit/bpf_vm.h"
#include "tests/unit/seccomp_model.h"

#define HIGH (1ull << 32)

static const uint32_t oracle_archs[] = { SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64 };
static const char *const profile_names[] = { "strict", "default", "compat" };

static void compile(uint32_t arch, const struct seccomp_options *options, struct seccomp_program *ret)
{
	struct warder_error err = { 0 };

	cr_assert_eq(seccomp_compile_for(arch, options, ret, &err), 0, "%s", err.text);
}

static uint32_t run(const struct seccomp_program *program, const struct seccomp_data *data)
{
	return bpf_vm_run(program->code, program->count, data, NULL);
}

/* Verdict on a call of x86_64 with these arguments. */
static uint32_t verdict(const struct seccomp_program *program, const char *name, const uint64_t *args)
{
	const struct syscall_row *row = syscall_find(name, NULL);
	struct seccomp_data data = { .arch = AUDIT_ARCH_X86_64 };

	cr_assert(row, "%s", name);
	data.nr = row->number[SYSCALL_X86_64];
	if (args)
		memcpy(data.args, args, sizeof(data.args));
	return run(program, &data);
}

/* ---- the table ---- */

Test(seccomp, numbers_agree_with_libseccomp, .timeout = 30)
{
	const struct syscall_group *group;
	size_t compared = 0;

	for (size_t i = 0; (group = syscall_group(i)); i++)
		for (size_t j = 0; j < group->count; j++)
			for (int arch = 0; arch < SYSCALL_ARCH_COUNT; arch++) {
				const struct syscall_row *row = &group->rows[j];
				int number = seccomp_syscall_resolve_name_arch(oracle_archs[arch], row->name);

				if (number == __NR_SCMP_ERROR)
					continue;
				compared++;
				cr_expect_eq(row->number[arch], number < 0 ? -1 : number,
					     "%s on architecture %d: %d, libseccomp %d", row->name, arch,
					     row->number[arch], number);
			}
	cr_expect_gt(compared, 700);
}

Test(seccomp, every_call_of_libseccomp_is_in_the_table, .timeout = 30)
{
	for (int arch = 0; arch < SYSCALL_ARCH_COUNT; arch++)
		for (int number = 0; number < SYSCALL_NUMBERS; number++) {
			char *name = seccomp_syscall_resolve_num_arch(oracle_archs[arch], number);

			cr_expect(!name || syscall_find(name, NULL), "%s (%d)", name ? name : "", number);
			free(name);
		}
}

Test(seccomp, numbers_newer_than_libseccomp, .timeout = 10)
{
	static const struct {
		const char *name;
		int x86_64, aarch64;
	} rows[] = {
		{ "uretprobe", 335, -1 },          { "uprobe", 336, -1 },
		{ "statmount", 457, 457 },         { "listmount", 458, 458 },
		{ "lsm_get_self_attr", 459, 459 }, { "lsm_set_self_attr", 460, 460 },
		{ "lsm_list_modules", 461, 461 },  { "mseal", 462, 462 },
		{ "setxattrat", 463, 463 },        { "getxattrat", 464, 464 },
		{ "listxattrat", 465, 465 },       { "removexattrat", 466, 466 },
		{ "open_tree_attr", 467, 467 },    { "file_getattr", 468, 468 },
		{ "file_setattr", 469, 469 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct syscall_row *row = syscall_find(rows[i].name, NULL);

		cr_assert(row, "%s", rows[i].name);
		cr_expect_eq(row->number[SYSCALL_X86_64], rows[i].x86_64, "%s", rows[i].name);
		cr_expect_eq(row->number[SYSCALL_AARCH64], rows[i].aarch64, "%s", rows[i].name);
	}
}

Test(seccomp, rows_are_unique, .timeout = 10)
{
	const char *owner[SYSCALL_ARCH_COUNT][SYSCALL_NUMBERS] = { { NULL } };
	const struct syscall_group *group;

	for (size_t i = 0; (group = syscall_group(i)); i++)
		for (size_t j = 0; j < group->count; j++)
			for (int arch = 0; arch < SYSCALL_ARCH_COUNT; arch++) {
				const struct syscall_row *row = &group->rows[j];
				int number = row->number[arch];

				cr_expect_eq(syscall_find(row->name, NULL), row, "%s is there twice",
					     row->name);
				cr_assert_lt(number, SYSCALL_NUMBERS - 1, "%s", row->name);
				if (number < 0)
					continue;
				cr_expect_null(owner[arch][number], "%s and %s are both %d", row->name,
					       owner[arch][number] ? owner[arch][number] : "", number);
				owner[arch][number] = row->name;
			}
}

Test(seccomp, number_knows_calls_that_are_not_allowed, .timeout = 10)
{
	cr_expect_eq(seccomp_number("mount"), syscall_find("mount", NULL)->number[SYSCALL_X86_64]);
	cr_expect_eq(seccomp_number("read"), 0);
	cr_expect_eq(seccomp_number("no_such_call"), -1);
	cr_expect_eq(seccomp_number(""), -1);
}

/* ---- the program against a plain reading ---- */

/* xorshift; a fixed seed makes a failure repeatable. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t random_argument(uint64_t *state)
{
	static const uint32_t interesting[] = {
		0,          1,           2,       3,          4,          5,          6,          8,
		10,         16,          17,      35,         128,        132,        262,        0x5412,
		0x541c,     0x541d,      0x5423,  0x540e,     1024,       1026,       1025,       0100,
		02,         020200000,   04000,   02000,      06777,      0644,       0755,       0100644,
		0020644,    0060644,     0010644, 0140644,    0104755,    0x7e020000, 0x10000000, 0x20000,
		0x00010000, 0x003d0f00,  0x11,    0x01200011, 0x40000,    0x22,       0x40022,    0xffffffff,
		0x80000,    0x80000 | 1, 0x800,   0x80803,    0x80000000, 0x02000000,
	};
	uint64_t pick = next_random(state);
	uint64_t value = interesting[(pick >> 8) % COUNT(interesting)];

	switch (pick % 8) {
	case 0:
		return next_random(state);
	case 1:
		return next_random(state) & 0xffffffff;
	case 2:
		return value ^ (1ull << (next_random(state) % 64));
	case 3:
	case 4:
		return value | (next_random(state) << 32);
	}
	return value;
}

static uint32_t random_number(uint64_t *state)
{
	static const uint32_t edges[] = { 511,        512,        513,        1000,
					  4096,       0x3fffffff, 0x40000000, 0x40000001,
					  0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff };
	uint64_t pick = next_random(state);

	return pick % 16 == 0 ? edges[(pick >> 8) % COUNT(edges)] : (uint32_t)((pick >> 8) % 601);
}

static void expect_same(const struct seccomp_program *program, const struct index *index,
			enum syscall_arch arch, const struct seccomp_options *o,
			const struct seccomp_data *data)
{
	uint32_t want = expected(index, arch, o, data);
	uint32_t got = run(program, data);

	if (got != want)
		cr_assert_eq(
		    got, want,
		    "arch %d profile %d spawn %d kill %d: nr %u args %llx %llx %llx %llx: got %x, want %x",
		    arch, o->profile, o->allow_spawn, o->kill_on_violation, (uint32_t)data->nr,
		    (unsigned long long)data->args[0], (unsigned long long)data->args[1],
		    (unsigned long long)data->args[2], (unsigned long long)data->args[3], got, want);
}

/* Every number once, then `rounds` random calls. */
static void compare(enum syscall_arch arch, const struct seccomp_options *o, size_t rounds, uint64_t seed)
{
	struct seccomp_program program;
	struct index index;
	uint64_t state = seed;

	compile(audit_archs[arch], o, &program);
	cr_assert(bpf_vm_valid(program.code, program.count));
	index_arch(arch, &index);
	for (int nr = 0; nr <= 600; nr++)
		expect_same(&program, &index, arch, o,
			    &(struct seccomp_data){ .nr = nr, .arch = audit_archs[arch] });
	for (size_t i = 0; i < rounds; i++) {
		struct seccomp_data data = { .nr = (int)random_number(&state), .arch = audit_archs[arch] };

		for (size_t j = 0; j < COUNT(data.args); j++)
			data.args[j] = random_argument(&state);
		expect_same(&program, &index, arch, o, &data);
	}
}

static void compare_all(enum syscall_arch arch, size_t rounds)
{
	for (int i = 0; i < 12; i++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)(i / 4),
					     .allow_spawn = i & 1,
					     .kill_on_violation = i & 2 };

		compare(arch, &o, rounds, 0x9e3779b97f4a7c15 + (uint64_t)i);
	}
}

Test(seccomp, same_as_the_table_on_x86_64, .timeout = 120)
{
	compare_all(SYSCALL_X86_64, 200000);
}

Test(seccomp, same_as_the_table_on_aarch64, .timeout = 120)
{
	compare_all(SYSCALL_AARCH64, 50000);
}

Test(seccomp, same_as_the_table_with_lists, .timeout = 120)
{
	static const char *const allow[] = { "ptrace", "fork", "shmget", "cachestat", "modify_ldt", "flock" };
	static const char *const deny[] = { "openat", "socket", "clone",    "fcntl",
					    "clone3", "mount",  "io_setup", "open" };
	struct seccomp_options o = {
		.allow = allow, .allow_count = COUNT(allow), .deny = deny, .deny_count = COUNT(deny)
	};

	for (int i = 0; i < 12; i++) {
		o.profile = (enum policy_syscall_profile)(i / 4);
		o.allow_spawn = i & 1;
		o.kill_on_violation = i & 2;
		compare(SYSCALL_X86_64, &o, 20000, 77 + (uint64_t)i);
		compare(SYSCALL_AARCH64, &o, 20000, 77 + (uint64_t)i);
	}
}

Test(seccomp, wider_profiles_allow_at_least_as_much, .timeout = 60)
{
	struct seccomp_program programs[3];
	uint64_t state = 4711;

	for (int i = 0; i < 3; i++)
		compile(AUDIT_ARCH_X86_64,
			&(struct seccomp_options){ .profile = (enum policy_syscall_profile)i,
						   .allow_spawn = true },
			&programs[i]);
	for (size_t i = 0; i < 60 * 520; i++) {
		struct seccomp_data data = { .nr = (int)(i % 520), .arch = AUDIT_ARCH_X86_64 };

		for (size_t j = 0; j < COUNT(data.args); j++)
			data.args[j] = random_argument(&state);
		for (int k = 0; k < 2; k++)
			if (run(&programs[k], &data) == ALLOW)
				cr_assert_eq(run(&programs[k + 1], &data), ALLOW,
					     "nr %d: %s allows, %s does not", data.nr, profile_names[k],
					     profile_names[k + 1]);
	}
}

/* Written out once more, so that a slip in the table is seen. */
Test(seccomp, profiles_hold_what_they_should, .timeout = 10)
{
	static const struct {
		const char *calls;
		uint32_t strict, by_default, compat;
	} rows[] = {
		{ "read write close execve wait4 futex mprotect brk rt_sigreturn getrandom rseq membarrier "
		  "seccomp "
		  "landlock_restrict_self uretprobe uprobe statx faccessat2 close_range pidfd_open mseal "
		  "getxattrat "
		  "futex_wait map_shadow_stack epoll_pwait2 setuid setgroups sched_setaffinity mlock fork "
		  "vfork",
		  ALLOW, ALLOW, ALLOW },
		{ "shmget shmat semget semtimedop msgget msgrcv mq_open mq_notify inotify_init1 "
		  "inotify_add_watch flock",
		  FAIL(ENOSYS), ALLOW, ALLOW },
		{ "io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents", FAIL(ENOSYS),
		  FAIL(ENOSYS), ALLOW },
		{ "ptrace process_vm_readv process_vm_writev mbind set_mempolicy get_mempolicy "
		  "set_mempolicy_home_node name_to_handle_at",
		  FAIL(EPERM), FAIL(EPERM), ALLOW },
		{ "kcmp pidfd_getfd process_madvise process_mrelease migrate_pages move_pages vmsplice "
		  "memfd_secret "
		  "remap_file_pages modify_ldt adjtimex clock_adjtime fanotify_init fanotify_mark",
		  FAIL(EPERM), FAIL(EPERM), FAIL(EPERM) },
		{ "cachestat statmount listmount lsm_get_self_attr file_getattr file_setattr uselib ustat "
		  "sysfs "
		  "lookup_dcookie epoll_wait_old clone3 openat2",
		  FAIL(ENOSYS), FAIL(ENOSYS), FAIL(ENOSYS) },
	};

	for (int p = 0; p < 3; p++) {
		struct seccomp_program program;

		compile(AUDIT_ARCH_X86_64,
			&(struct seccomp_options){ .profile = (enum policy_syscall_profile)p,
						   .allow_spawn = true },
			&program);
		for (size_t i = 0; i < COUNT(rows); i++) {
			uint32_t wants[] = { rows[i].strict, rows[i].by_default, rows[i].compat };
			char *words = strdup(rows[i].calls);
			char *rest = words;

			for (char *word; (word = strsep(&rest, " "));)
				cr_expect_eq(verdict(&program, word, NULL), wants[p], "%s in %s", word,
					     profile_names[p]);
			free(words);
		}
	}
}

Test(seccomp, programs_are_small, .timeout = 10)
{
	for (int i = 0; i < 3; i++) {
		struct seccomp_program program;

		compile(AUDIT_ARCH_X86_64,
			&(struct seccomp_options){ .profile = (enum policy_syscall_profile)i }, &program);
		cr_expect_leq(program.count, 256, "%s: %zu instructions", profile_names[i], program.count);
	}
}

/* ---- architecture ---- */

Test(seccomp, foreign_numberings_are_killed, .timeout = 10)
{
	static const struct {
		const char *label;
		uint32_t arch, nr, want;
	} rows[] = {
		{ "i386", AUDIT_ARCH_I386, 20, KILL },
		{ "aarch64 on x86_64", AUDIT_ARCH_AARCH64, 63, KILL },
		{ "no architecture", 0, 0, KILL },
		{ "lowest x32 number", AUDIT_ARCH_X86_64, 0x40000000, KILL },
		{ "x32 execve", AUDIT_ARCH_X86_64, 0x40000000 + 520, KILL },
		{ "sign bit", AUDIT_ARCH_X86_64, 0x80000000, KILL },
		{ "last but one", AUDIT_ARCH_X86_64, 0xfffffffe, KILL },
		{ "-1 is no call", AUDIT_ARCH_X86_64, 0xffffffff, FAIL(ENOSYS) },
		{ "highest below x32", AUDIT_ARCH_X86_64, 0x3fffffff, FAIL(ENOSYS) },
		{ "unknown", AUDIT_ARCH_X86_64, 1000, FAIL(ENOSYS) },
		{ "just above the newest", AUDIT_ARCH_X86_64, 470, FAIL(ENOSYS) },
		{ "gap", AUDIT_ARCH_X86_64, 400, FAIL(ENOSYS) },
	};

	for (int kill = 0; kill < 2; kill++) {
		struct seccomp_program program;

		compile(AUDIT_ARCH_X86_64, &(struct seccomp_options){ .kill_on_violation = kill }, &program);
		for (size_t i = 0; i < COUNT(rows); i++)
			cr_expect_eq(run(&program, &(struct seccomp_data){ .nr = (int)rows[i].nr,
									   .arch = rows[i].arch }),
				     rows[i].want, "%s", rows[i].label);
	}
}

Test(seccomp, unknown_architecture_is_refused, .timeout = 10)
{
	struct seccomp_program program;
	struct warder_error err = { 0 };

	cr_expect_eq(seccomp_compile_for(AUDIT_ARCH_S390X, &(struct seccomp_options){ 0 }, &program, &err),
		     -1);
	cr_expect_eq(err.code, WARDER_ERROR_UNSUPPORTED_POLICY);
	cr_expect_str_eq(err.field, "syscalls.profile");
}

/* ---- argument rules, one by one ---- */

#define S (1 << POLICY_SYSCALLS_STRICT)
#define D (1 << POLICY_SYSCALLS_DEFAULT)
#define C (1 << POLICY_SYSCALLS_COMPAT)

Test(seccomp, arguments, .timeout = 30)
{
	static const struct {
		const char *call;
		uint64_t args[6];
		int allowed; /* profiles */
		int error;   /* elsewhere */
	} rows[] = {
		{ "clone", { CLONE_VM | CLONE_THREAD | CLONE_SIGHAND }, S | D | C, 0 },
		{ "clone", { SIGCHLD }, S | D | C, 0 },
		{ "clone", { CLONE_NEWNS }, 0, EPERM },
		{ "clone", { CLONE_NEWCGROUP }, 0, EPERM },
		{ "clone", { CLONE_NEWUTS }, 0, EPERM },
		{ "clone", { CLONE_NEWIPC }, 0, EPERM },
		{ "clone", { CLONE_NEWUSER }, 0, EPERM },
		{ "clone", { CLONE_NEWPID | CLONE_THREAD }, 0, EPERM },
		{ "clone", { CLONE_NEWNET | HIGH }, 0, EPERM },
		{ "clone3", { 0 }, 0, ENOSYS },
		{ "unshare", { CLONE_NEWUSER }, 0, EPERM },
		{ "unshare", { 0 }, 0, EPERM },
		{ "ioctl", { 0, TCGETS }, S | D | C, 0 },
		{ "ioctl", { 0, FIOCLEX }, S | D | C, 0 },
		{ "ioctl", { 0, TIOCSCTTY }, S | D | C, 0 },
		{ "ioctl", { 0, TIOCSTI }, 0, EPERM },
		{ "ioctl", { 0, TIOCSTI | HIGH }, 0, EPERM },
		{ "ioctl", { 0, TIOCSTI | 0xffffffff00000000ull }, 0, EPERM },
		{ "ioctl", { 0, TIOCLINUX }, 0, EPERM },
		{ "ioctl", { 0, TIOCCONS | HIGH }, 0, EPERM },
		{ "ioctl", { 0, TIOCSETD }, 0, EPERM },
		{ "fcntl", { 0, F_SETLK }, S | D | C, 0 },
		{ "fcntl", { 0, F_OFD_SETLKW }, S | D | C, 0 },
		{ "fcntl", { 0, F_GETLEASE }, S | D | C, 0 },
		{ "fcntl", { 0, F_SETLEASE }, C, ENOSYS },
		{ "fcntl", { 0, F_SETLEASE | HIGH }, C, ENOSYS },
		{ "fcntl", { 0, F_NOTIFY }, C, ENOSYS },
		{ "socket", { AF_UNIX, SOCK_STREAM }, S | D | C, 0 },
		{ "socket", { AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK }, S | D | C, 0 },
		{ "socket", { AF_UNIX, SOCK_SEQPACKET }, S | D | C, 0 },
		{ "socket", { AF_UNIX, SOCK_RAW }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET, SOCK_STREAM }, S | D | C, 0 },
		{ "socket", { AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP }, S | D | C, 0 },
		{ "socket", { AF_INET, SOCK_STREAM, IPPROTO_TCP }, S | D | C, 0 },
		{ "socket", { AF_INET, SOCK_DGRAM, IPPROTO_ICMP }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6 }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET, SOCK_STREAM, 262 }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET, SOCK_STREAM, IPPROTO_SCTP }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET, SOCK_RAW, IPPROTO_TCP }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET, SOCK_PACKET }, 0, EAFNOSUPPORT },
		{ "socket", { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, S | D | C, 0 },
		{ "socket", { AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_ROUTE }, S | D | C, 0 },
		{ "socket", { AF_NETLINK, SOCK_RAW, NETLINK_XFRM }, 0, EAFNOSUPPORT },
		{ "socket", { AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER }, 0, EAFNOSUPPORT },
		{ "socket", { AF_NETLINK, SOCK_RAW, NETLINK_AUDIT }, 0, EAFNOSUPPORT },
		{ "socket", { AF_NETLINK, SOCK_RAW, NETLINK_GENERIC }, 0, EAFNOSUPPORT },
		{ "socket", { AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT }, 0, EAFNOSUPPORT },
		{ "socket", { AF_PACKET, SOCK_RAW }, 0, EAFNOSUPPORT },
		{ "socket", { AF_ALG, SOCK_SEQPACKET }, 0, EAFNOSUPPORT },
		{ "socket", { AF_ALG | HIGH, SOCK_SEQPACKET }, 0, EAFNOSUPPORT },
		{ "socket", { AF_VSOCK, SOCK_STREAM }, 0, EAFNOSUPPORT },
		{ "socket", { AF_XDP, SOCK_RAW }, 0, EAFNOSUPPORT },
		{ "socket", { AF_KEY, SOCK_RAW }, 0, EAFNOSUPPORT },
		{ "socket", { AF_UNSPEC, SOCK_STREAM }, 0, EAFNOSUPPORT },
		{ "socketpair", { AF_UNIX, SOCK_STREAM }, S | D | C, 0 },
		{ "socketpair", { AF_TIPC, SOCK_STREAM }, 0, EAFNOSUPPORT },
		{ "chmod", { 0, 0777 }, S | D | C, 0 },
		{ "chmod", { 0, 01777 }, S | D | C, 0 },
		{ "chmod", { 0, 04755 }, 0, EPERM },
		{ "chmod", { 0, 02755 | HIGH }, 0, EPERM },
		{ "fchmod", { 0, 04000 }, 0, EPERM },
		{ "fchmod", { 0, 0644 }, S | D | C, 0 },
		{ "fchmodat", { 0, 0, 06755 }, 0, EPERM },
		{ "fchmodat", { 04000, 04000, 0755 }, S | D | C, 0 },
		{ "fchmodat2", { 0, 0, 04755, 0x1000 }, 0, EPERM },
		{ "open", { 0, O_WRONLY | O_CREAT, 0644 }, S | D | C, 0 },
		{ "open", { 0, O_WRONLY | O_CREAT, 04755 }, 0, EPERM },
		{ "open", { 0, (O_WRONLY | O_CREAT) | HIGH, 04755 | HIGH }, 0, EPERM },
		{ "open", { 0, O_RDONLY, 04755 }, S | D | C, 0 },
		{ "open", { 0, O_RDONLY | O_DIRECTORY, 04755 }, S | D | C, 0 },
		{ "openat", { 0, 0, O_RDWR | O_TMPFILE, 02755 }, 0, EPERM },
		{ "openat", { 0, 0, O_RDWR | O_CREAT | O_EXCL, 04755 }, 0, EPERM },
		{ "openat", { 0, 0, O_RDWR | O_CREAT | O_EXCL, 0600 }, S | D | C, 0 },
		{ "openat2", { 0 }, 0, ENOSYS },
		{ "creat", { 0, 04755 }, 0, EPERM },
		{ "mkdir", { 0, 0755 }, S | D | C, 0 },
		{ "mkdir", { 0, 02755 }, 0, EPERM },
		{ "mkdirat", { 0, 0, 04755 }, 0, EPERM },
		{ "mknod", { 0, S_IFIFO | 0600 }, S | D | C, 0 },
		{ "mknod", { 0, S_IFREG | 0600 }, S | D | C, 0 },
		{ "mknod", { 0, S_IFSOCK | 0600 }, S | D | C, 0 },
		{ "mknod", { 0, 0600 }, S | D | C, 0 },
		{ "mknod", { 0, S_IFCHR | 0600 }, 0, EPERM },
		{ "mknod", { 0, S_IFCHR | 0600 | HIGH }, 0, EPERM },
		{ "mknod", { 0, S_IFBLK | 0600 }, 0, EPERM },
		{ "mknod", { 0, S_IFREG | 04755 }, 0, EPERM },
		{ "mknodat", { 0, 0, S_IFBLK | 0600 | 0x10000 }, 0, EPERM },
		{ "mknodat", { 0, 0, S_IFIFO | 0600 }, S | D | C, 0 },
		{ "renameat2", { 0, 0, 0, 0, RENAME_EXCHANGE }, S | D | C, 0 },
		{ "renameat2", { 0, 0, 0, 0, RENAME_WHITEOUT }, 0, EPERM },
		{ "personality", { 0 }, S | D | C, 0 },
		{ "personality", { 0xffffffff }, S | D | C, 0 },
		{ "personality", { ~0ull }, S | D | C, 0 },
		{ "personality", { ADDR_NO_RANDOMIZE }, C, EPERM },
		{ "personality", { ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC }, 0, EPERM },
		{ "personality", { READ_IMPLIES_EXEC | HIGH }, 0, EPERM },
		{ "personality", { PER_LINUX32 }, 0, EPERM },
		{ "memfd_create", { 0, MFD_CLOEXEC }, S | D | C, 0 },
		{ "memfd_create", { 0, MFD_CLOEXEC | MFD_HUGETLB }, 0, EPERM },
		{ "mmap", { 0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS }, S | D | C, 0 },
		{ "mmap", { 0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS }, S | D | C, 0 },
		{ "mmap", { 0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | HIGH }, 0, EPERM },
		{ "shmget", { 0, 4096, 0600 }, D | C, ENOSYS },
		{ "shmget", { 0, 4096, 0600 | SHM_HUGETLB }, 0, -1 },
		{ "prctl", { PR_SET_NAME }, S | D | C, 0 },
		{ "prctl", { PR_SET_SECCOMP }, S | D | C, 0 },
		{ "prctl", { PR_SET_DUMPABLE, 1 }, S | D | C, 0 },
		{ "prctl", { PR_SET_MM | HIGH }, 0, EPERM },
		{ "prlimit64", { 1, RLIMIT_CPU }, 0, EPERM },
		{ "prlimit64", { 1 | HIGH, RLIMIT_CPU }, 0, EPERM },
		{ "prlimit64", { 0, RLIMIT_CPU, 1, 1 }, S | D | C, 0 },
		{ "prlimit64", { 2, 1 }, S | D | C, 0 },
		{ "prlimit64", { 0, RLIMIT_CORE, 0, 1 }, S | D | C, 0 },
		{ "prlimit64", { 0, RLIMIT_CORE, 1, 0 }, 0, 0 },
		{ "prlimit64", { 0, RLIMIT_CORE | HIGH, HIGH, 0 }, 0, 0 },
		{ "prlimit64", { 2, RLIMIT_CORE, 1, HIGH }, 0, EPERM },
		{ "prlimit64", { 1, RLIMIT_CORE, 1, 0 }, 0, EPERM },
		{ "setrlimit", { RLIMIT_CORE, 1 }, 0, 0 },
		{ "setrlimit", { RLIMIT_CORE | HIGH, 1 }, 0, 0 },
		{ "setrlimit", { RLIMIT_CPU, 1 }, S | D | C, 0 },
		{ "prlimit64", { HIGH, 1 }, S | D | C, 0 },
		{ "prlimit64", { (uint32_t)-1, 1 }, S | D | C, 0 },
		{ "sched_setaffinity", { 1 }, 0, EPERM },
		{ "sched_setaffinity", { 1 | HIGH }, 0, EPERM },
		{ "sched_setaffinity", { 0, 1 }, S | D | C, 0 },
		{ "sched_setparam", { 1 }, 0, EPERM },
		{ "sched_setparam", { 3, 1 }, S | D | C, 0 },
		{ "sched_setscheduler", { 1, SCHED_IDLE }, 0, EPERM },
		{ "sched_setscheduler", { 0, SCHED_FIFO }, S | D | C, 0 },
		{ "sched_setattr", { 1 }, 0, EPERM },
		{ "sched_setattr", { 0, 1, 1 }, S | D | C, 0 },
		{ "sched_getaffinity", { 1 }, S | D | C, 0 },
		{ "setpriority", { PRIO_PROCESS, 1 }, 0, EPERM },
		{ "setpriority", { PRIO_PROCESS | HIGH, 1 | HIGH, 19 }, 0, EPERM },
		{ "setpriority", { PRIO_PROCESS, 0, 1 }, S | D | C, 0 },
		{ "setpriority", { PRIO_PROCESS, 11 }, S | D | C, 0 },
		{ "setpriority", { PRIO_PGRP, 0 }, S | D | C, 0 },
		{ "setpriority", { PRIO_PGRP, 11 }, S | D | C, 0 },
		{ "setpriority", { PRIO_PGRP, 1 }, 0, EPERM },
		{ "setpriority", { PRIO_PGRP | HIGH, 1 | HIGH }, 0, EPERM },
		{ "setpriority", { PRIO_USER, 0 }, 0, EPERM },
		{ "setpriority", { PRIO_USER | HIGH, 1000 }, 0, EPERM },
		{ "getpriority", { PRIO_PROCESS, 1 }, S | D | C, 0 },
		{ "ioprio_set", { 1, 1 }, 0, EPERM },
		{ "ioprio_set", { 1 | HIGH, 1 | HIGH, 1 }, 0, EPERM },
		{ "ioprio_set", { 1, 0, 1 }, S | D | C, 0 },
		{ "ioprio_set", { 1, 11 }, S | D | C, 0 },
		{ "ioprio_set", { 2, 11 }, S | D | C, 0 },
		{ "ioprio_set", { 2, 1 }, 0, EPERM },
		{ "ioprio_set", { 3, 0 }, 0, EPERM },
		{ "ioprio_set", { 3 | HIGH, 1000 }, 0, EPERM },
		{ "ioprio_get", { 1, 1 }, S | D | C, 0 },
	};

	for (int p = 0; p < 3; p++) {
		struct seccomp_program program;

		compile(AUDIT_ARCH_X86_64,
			&(struct seccomp_options){ .profile = (enum policy_syscall_profile)p,
						   .allow_spawn = true },
			&program);
		for (size_t i = 0; i < COUNT(rows); i++) {
			uint32_t got = verdict(&program, rows[i].call, rows[i].args);

			if (rows[i].error == -1)
				cr_expect_neq(got, ALLOW, "row %zu, %s in %s", i, rows[i].call,
					      profile_names[p]);
			else
				cr_expect_eq(
				    got, rows[i].allowed & (1 << p) ? ALLOW : FAIL((uint32_t)rows[i].error),
				    "row %zu, %s(%llx, %llx, %llx, %llx) in %s: %x", i, rows[i].call,
				    (unsigned long long)rows[i].args[0], (unsigned long long)rows[i].args[1],
				    (unsigned long long)rows[i].args[2], (unsigned long long)rows[i].args[3],
				    profile_names[p], got);
		}
	}
}

Test(seccomp, processes_can_be_denied_without_denying_threads, .timeout = 10)
{
	static const uint64_t thread[6] = { 0x3d0f00 };
	static const uint64_t process[6] = { 0x01200011 };
	static const uint64_t spawn[6] = { CLONE_VM | CLONE_VFORK | SIGCHLD };

	for (int p = 0; p < 3; p++)
		for (int kill = 0; kill < 2; kill++) {
			struct seccomp_program program;
			uint32_t denied = kill ? KILL : FAIL(EPERM);

			compile(AUDIT_ARCH_X86_64,
				&(struct seccomp_options){ .profile = (enum policy_syscall_profile)p,
							   .kill_on_violation = kill },
				&program);
			cr_expect_eq(verdict(&program, "clone", thread), ALLOW, "%s", profile_names[p]);
			cr_expect_eq(verdict(&program, "clone", process), denied, "%s", profile_names[p]);
			cr_expect_eq(verdict(&program, "clone", spawn), denied, "%s", profile_names[p]);
			cr_expect_eq(verdict(&program, "fork", NULL), denied, "%s", profile_names[p]);
			cr_expect_eq(verdict(&program, "vfork", NULL), denied, "%s", profile_names[p]);
			cr_expect_eq(verdict(&program, "clone3", NULL), FAIL(ENOSYS), "%s", profile_names[p]);
			cr_expect_eq(verdict(&program, "execve", NULL), ALLOW, "%s", profile_names[p]);
		}
}

Test(seccomp, init_is_out_of_reach_in_every_program, .timeout = 10)
{
	static const struct {
		const char *call;
		uint64_t args[6];
	} rows[] = {
		{ "prlimit64", { 1, RLIMIT_CPU } }, { "sched_setaffinity", { 1 } },
		{ "sched_setparam", { 1 } },        { "sched_setscheduler", { 1 } },
		{ "sched_setattr", { 1 } },         { "setpriority", { PRIO_PROCESS, 1 } },
		{ "ioprio_set", { 1, 1 } },
	};

	for (int i = 0; i < 12; i++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)(i / 4),
					     .allow_spawn = i & 1,
					     .kill_on_violation = i & 2 };

		for (size_t j = 0; j < COUNT(rows) * SYSCALL_ARCH_COUNT; j++) {
			enum syscall_arch arch = (enum syscall_arch)(j % SYSCALL_ARCH_COUNT);
			const char *call = rows[j / SYSCALL_ARCH_COUNT].call;
			struct seccomp_data data = { .arch = audit_archs[arch],
						     .nr = syscall_find(call, NULL)->number[arch] };
			struct seccomp_program program;

			memcpy(data.args, rows[j / SYSCALL_ARCH_COUNT].args, sizeof(data.args));
			o.allow = &call;
			o.allow_count = 1;
			compile(audit_archs[arch], &o, &program);
			cr_expect_eq(run(&program, &data), o.kill_on_violation ? KILL : FAIL(EPERM),
				     "%s on architecture %d in %s", call, arch, profile_names[o.profile]);
		}
	}
}

/* ---- groups ---- */

/* Each word of a group's calls that is a whole call. */
static void expect_group(const struct seccomp_group *group, const struct seccomp_program *program,
			 bool denied, bool kill)
{
	uint32_t refused = strcmp(group->answer, "ENOSYS") == 0 ? FAIL(ENOSYS) : kill ? KILL : FAIL(EPERM);
	char *words = strdup(group->calls);
	char *rest = words;

	for (char *word; (word = strsep(&rest, " "));) {
		uint32_t got;

		cr_expect_neq(*word, '\0', "%s: stray space", group->name);
		if (strchr(word, '(') || syscall_find(word, NULL)->number[SYSCALL_X86_64] < 0)
			continue;
		got = verdict(program, word, NULL);
		cr_expect(denied ? got == refused : got == ALLOW, "%s (%s): %x", word, group->name, got);
	}
	free(words);
}

Test(seccomp, groups_say_what_the_program_does, .timeout = 120)
{
	const struct seccomp_group *group;
	size_t count = 0;

	for (int i = 0; i < 6; i++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)(i / 2),
					     .allow_spawn = true,
					     .kill_on_violation = i & 1 };
		struct seccomp_program program;

		compile(AUDIT_ARCH_X86_64, &o, &program);
		for (size_t j = 0; (group = seccomp_group(j)); j++) {
			expect_group(group, &program, group->denied[o.profile], o.kill_on_violation);
			cr_expect(group->denied[POLICY_SYSCALLS_STRICT], "%s", group->name);
			cr_expect(*group->reason, "%s", group->name);
			count++;
		}
	}
	cr_expect_gt(count, 6 * 30);
}

/* Written out once more, so that a slip in the table is seen. */
static const char *const never[] = {
	"mount",
	"umount2",
	"pivot_root",
	"chroot",
	"open_tree",
	"move_mount",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"mount_setattr",
	"open_tree_attr",
	"setns",
	"unshare",
	"clone3",
	"openat2",
	"bpf",
	"perf_event_open",
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"delete_module",
	"open_by_handle_at",
	"keyctl",
	"add_key",
	"request_key",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	"userfaultfd",
	"reboot",
	"swapon",
	"swapoff",
	"quotactl",
	"quotactl_fd",
	"acct",
	"settimeofday",
	"clock_settime",
	"sethostname",
	"setdomainname",
	"iopl",
	"ioperm",
	"syslog",
};

Test(seccomp, never_is_never, .timeout = 10)
{
	for (size_t i = 0; i < COUNT(never); i++) {
		struct seccomp_options o = { .profile = POLICY_SYSCALLS_COMPAT,
					     .allow = &never[i],
					     .allow_count = 1 };
		struct seccomp_program program;
		struct warder_error err = { 0 };

		cr_expect_eq(seccomp_compile(&o, &program, &err), -1, "%s", never[i]);
		cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST, "%s", never[i]);
		cr_expect_str_eq(err.field, "syscalls.allow", "%s", never[i]);
		cr_expect(strstr(err.text, "no policy can allow") && strstr(err.text, never[i]), "%s",
			  err.text);
		o.allow_count = 0;
		compile(AUDIT_ARCH_X86_64, &o, &program);
		cr_expect_neq(verdict(&program, never[i], NULL), ALLOW, "%s", never[i]);
	}
}

/* ---- lists ---- */

Test(seccomp, allow_adds_calls, .timeout = 10)
{
	static const char *const names[] = {
		"ptrace",    "process_vm_readv", "flock",    "inotify_init1", "mbind",      "cachestat",
		"statmount", "io_submit",        "vmsplice", "kcmp",          "modify_ldt", "read"
	};
	struct seccomp_options o = { .allow = names, .allow_count = COUNT(names) };
	struct seccomp_program program;

	compile(AUDIT_ARCH_X86_64, &o, &program);
	for (size_t i = 0; i < COUNT(names); i++)
		cr_expect_eq(verdict(&program, names[i], NULL), ALLOW, "%s", names[i]);
}

Test(seccomp, allow_keeps_argument_rules, .timeout = 10)
{
	static const char *const names[] = { "ioctl", "clone", "shmget", "fork", "chmod" };
	static const uint64_t tiocsti[6] = { 0, TIOCSTI };
	static const uint64_t huge[6] = { 0, 0, SHM_HUGETLB };
	static const uint64_t user[6] = { CLONE_NEWUSER | CLONE_THREAD };
	static const uint64_t set_id[6] = { 0, 04755 };
	struct seccomp_options o = { .allow = names, .allow_count = COUNT(names) };
	struct seccomp_program program;

	compile(AUDIT_ARCH_X86_64, &o, &program);
	cr_expect_eq(verdict(&program, "ioctl", tiocsti), FAIL(EPERM));
	cr_expect_eq(verdict(&program, "clone", user), FAIL(EPERM));
	cr_expect_eq(verdict(&program, "shmget", huge), FAIL(EPERM));
	cr_expect_eq(verdict(&program, "shmget", NULL), ALLOW);
	cr_expect_eq(verdict(&program, "fork", NULL), FAIL(EPERM));
	cr_expect_eq(verdict(&program, "chmod", set_id), FAIL(EPERM));
}

Test(seccomp, deny_removes_calls, .timeout = 10)
{
	static const char *const names[] = { "socket", "openat", "clone", "getuid",
					     "mount",  "clone3", "getuid" };

	for (int kill = 0; kill < 2; kill++) {
		struct seccomp_options o = { .profile = POLICY_SYSCALLS_COMPAT,
					     .allow_spawn = true,
					     .kill_on_violation = kill,
					     .deny = names,
					     .deny_count = COUNT(names) };
		struct seccomp_program program;

		compile(AUDIT_ARCH_X86_64, &o, &program);
		for (size_t i = 0; i < COUNT(names); i++)
			cr_expect_eq(verdict(&program, names[i], NULL),
				     strcmp(names[i], "clone3") == 0 ? FAIL(ENOSYS)
				     : kill                          ? KILL
								     : FAIL(EPERM),
				     "%s", names[i]);
		cr_expect_eq(verdict(&program, "geteuid", NULL), ALLOW);
	}
}

Test(seccomp, bad_lists_are_refused, .timeout = 10)
{
	static const struct {
		const char *label, *deny, *allow, *field, *text;
	} rows[] = {
		{ "unknown deny", "opne", NULL, "syscalls.deny", "\"opne\"" },
		{ "unknown allow", NULL, "ptrac", "syscalls.allow", "\"ptrac\"" },
		{ "empty name", "", NULL, "syscalls.deny", "\"\"" },
		{ "case counts", "OpenAt", NULL, "syscalls.deny", "\"OpenAt\"" },
		{ "both", "ptrace", "ptrace", "syscalls.allow", "too" },
		{ "never", NULL, "mount", "syscalls.allow", "no policy can allow" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct seccomp_options o = { .deny = &rows[i].deny,
					     .deny_count = rows[i].deny != NULL,
					     .allow = &rows[i].allow,
					     .allow_count = rows[i].allow != NULL };
		struct seccomp_program program;
		struct warder_error err = { 0 };

		cr_expect_eq(seccomp_compile(&o, &program, &err), -1, "%s", rows[i].label);
		cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST, "%s", rows[i].label);
		cr_expect_str_eq(err.field, rows[i].field, "%s", rows[i].label);
		cr_expect(strstr(err.text, rows[i].text), "%s: %s", rows[i].label, err.text);
	}
}

Test(seccomp, what_launch_needs_is_always_allowed, .timeout = 10)
{
	for (size_t i = 0; seccomp_launch_calls[i]; i++) {
		struct seccomp_options o = { .deny = &seccomp_launch_calls[i], .deny_count = 1 };
		struct seccomp_program program;
		struct warder_error err = { 0 };

		cr_expect_eq(seccomp_compile(&o, &program, &err), -1, "%s", seccomp_launch_calls[i]);
		cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST, "%s", seccomp_launch_calls[i]);
		cr_expect_str_eq(err.field, "syscalls.deny", "%s", seccomp_launch_calls[i]);
		o.deny_count = 0;
		o.kill_on_violation = true;
		compile(AUDIT_ARCH_X86_64, &o, &program);
		cr_expect_eq(verdict(&program, seccomp_launch_calls[i], NULL), ALLOW, "%s",
			     seccomp_launch_calls[i]);
	}
}
