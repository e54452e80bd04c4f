/*
 * The compiled filter against a plain reading of the table, of the rules, and of libseccomp's numbers.
 * Nothing is loaded here; tests/mechanism/test_seccomp_kernel.c does that.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
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
#include <unistd.h>

#include "jail/filter/arguments.h"
#include "jail/filter/seccomp.h"
#include "jail/filter/syscalls.h"
#include "tests/unit/jail/filter/bpf_vm.h"
#include "tests/unit/jail/filter/seccomp_model.h"

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

/* Looked up once for many verdicts: the table has hundreds of rows, and no order. */
static const struct syscall_row *row_of(const char *name)
{
	const struct syscall_row *row = syscall_find(name, NULL);

	cr_assert(row, "%s", name);
	return row;
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

/* Names of the generic header that are no call of a 64-bit kernel by that name. */
static bool is_other_name(const char *name)
{
	static const char *const names[] = { "fstatat",           "sync_file_range2", "arch_specific_syscall",
					     "syscalls",          "clock_gettime64",  "clock_settime64",
					     "clock_adjtime64",   "timer_gettime64",  "timer_settime64",
					     "timerfd_gettime64", "timerfd_settime64" };
	const size_t length = strlen(name);

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return length > 7 && strcmp(name + length - 7, "_time64") == 0;
}

/* A header of the kernel's: lines "#define __NR_name number". */
static void expect_numbers_of(const char *path, enum syscall_arch arch, size_t at_least)
{
	FILE *file = fopen(path, "re");
	char line[256], name[64];
	size_t compared = 0;
	int number;

	if (!file)
		cr_skip("because %s is missing", path);
	while (fgets(line, sizeof(line), file)) {
		const struct syscall_row *row;

		if (sscanf(line, "#define __NR_%63s %d", name, &number) != 2 &&
		    sscanf(line, "#define __NR3264_%63s %d", name, &number) != 2)
			continue;
		row = syscall_find(name, NULL);
		cr_expect(row || is_other_name(name), "%s is not in the table", name);
		if (row)
			cr_expect_eq(row->number[arch], number, "%s: %d, in %s %d", name, row->number[arch],
				     path, number);
		compared += row != NULL;
	}
	fclose(file);
	cr_expect_geq(compared, at_least, "%zu", compared);
}

Test(seccomp, numbers_agree_with_the_kernels_headers, .timeout = 10)
{
	expect_numbers_of("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", SYSCALL_X86_64, 350);
	expect_numbers_of("/usr/include/asm-generic/unistd.h", SYSCALL_AARCH64, 250);
}

/* Calls that libseccomp 2.5 does not know. */
static const struct {
	const char *name;
	int x86_64, aarch64;
} newer[] = {
	{ "uretprobe", 335, -1 },          { "uprobe", 336, -1 },
	{ "statmount", 457, 457 },         { "listmount", 458, 458 },
	{ "lsm_get_self_attr", 459, 459 }, { "lsm_set_self_attr", 460, 460 },
	{ "lsm_list_modules", 461, 461 },  { "mseal", 462, 462 },
	{ "setxattrat", 463, 463 },        { "getxattrat", 464, 464 },
	{ "listxattrat", 465, 465 },       { "removexattrat", 466, 466 },
	{ "open_tree_attr", 467, 467 },    { "file_getattr", 468, 468 },
	{ "file_setattr", 469, 469 },
};

Test(seccomp, numbers_newer_than_libseccomp, .timeout = 10)
{
	for (size_t i = 0; i < ARRAY_LENGTH(newer); i++) {
		const struct syscall_row *row = syscall_find(newer[i].name, NULL);

		cr_assert(row, "%s", newer[i].name);
		cr_expect_eq(row->number[SYSCALL_X86_64], newer[i].x86_64, "%s", newer[i].name);
		cr_expect_eq(row->number[SYSCALL_AARCH64], newer[i].aarch64, "%s", newer[i].name);
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

Test(seccomp, the_table_knows_calls_that_are_not_allowed, .timeout = 10)
{
	cr_expect_eq(syscall_find("mount", NULL)->number[SYSCALL_X86_64], 165);
	cr_expect_eq(syscall_find("read", NULL)->number[SYSCALL_X86_64], 0);
	cr_expect_null(syscall_find("no_such_call", NULL));
	cr_expect_null(syscall_find("", NULL));
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
	uint64_t value = interesting[(pick >> 8) % ARRAY_LENGTH(interesting)];

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

	return pick % 16 == 0 ? edges[(pick >> 8) % ARRAY_LENGTH(edges)] : (uint32_t)((pick >> 8) % 601);
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

		for (size_t j = 0; j < ARRAY_LENGTH(data.args); j++)
			data.args[j] = random_argument(&state);
		expect_same(&program, &index, arch, o, &data);
	}
}

static void compare_all(enum syscall_arch arch, size_t rounds)
{
	for (int i = 0; i < 24; i++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)(i / 8),
					     .network = i & 4 ? POLICY_NETWORK_LOOPBACK : POLICY_NETWORK_NONE,
					     .allow_spawn = i & 1,
					     .kill_on_violation = i & 2 };

		compare(arch, &o, rounds, 0x9e3779b97f4a7c15 + (uint64_t)i);
	}
}

Test(seccomp, same_as_the_table_on_x86_64, .timeout = 120)
{
	compare_all(SYSCALL_X86_64, 100000);
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
	struct seccomp_options o = { .allow = allow,
				     .allow_count = ARRAY_LENGTH(allow),
				     .deny = deny,
				     .deny_count = ARRAY_LENGTH(deny) };

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

		for (size_t j = 0; j < ARRAY_LENGTH(data.args); j++)
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
		  "landlock_restrict_self uretprobe uprobe statx faccessat2 close_range pidfd_open mseal "
		  "getxattrat "
		  "futex_wait map_shadow_stack epoll_pwait2 setuid setgroups sched_setaffinity mlock fork "
		  "vfork",
		  ALLOW, ALLOW, ALLOW },
		{ "splice tee", FAIL(EINVAL), FAIL(EINVAL), ALLOW },
		{ "sync syncfs", FAIL(ENOSYS), FAIL(ENOSYS), ALLOW },
		{ "shmget shmat semget semtimedop msgget msgrcv mq_open mq_notify", FAIL(ENOSYS), ALLOW,
		  ALLOW },
		{ "io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents inotify_init "
		  "inotify_init1 inotify_add_watch inotify_rm_watch flock",
		  FAIL(ENOSYS), FAIL(ENOSYS), ALLOW },
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
		for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
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

/* ---- every call, against a list of its own ---- */

static const struct {
	const char *answers; /* a letter for each profile */
	const char *names;
} call_rows[] = {
#define C(answers, names) { answers, names },
#include "tests/unit/jail/filter/seccomp_calls.txt"
#undef C
};

static const char *answers_of(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < ARRAY_LENGTH(call_rows); i++)
		for (const char *at = call_rows[i].names; *at;) {
			size_t this = strcspn(at, " ");

			if (this == length && strncmp(at, name, length) == 0)
				return call_rows[i].answers;
			at += this + (at[this] == ' ');
		}
	return NULL;
}

static uint32_t verdict_of(char letter)
{
	return letter == 'a'   ? ALLOW
	       : letter == 'i' ? FAIL(EINVAL)
	       : letter == 'p' ? FAIL(EPERM)
			       : FAIL(ENOSYS);
}

/* The name of a number that this library is too old for. */
static const char *newer_name(int number)
{
	for (size_t i = 0; i < ARRAY_LENGTH(newer); i++)
		if (newer[i].x86_64 == number)
			return newer[i].name;
	return NULL;
}

Test(seccomp, every_call, .timeout = 30)
{
	size_t compared = 0;

	for (int p = 0; p < 3; p++) {
		struct seccomp_program program;

		compile(AUDIT_ARCH_X86_64,
			&(struct seccomp_options){ .profile = (enum policy_syscall_profile)p,
						   .allow_spawn = true },
			&program);
		for (int number = 0; number < SYSCALL_NUMBERS; number++) {
			char *known = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, number);
			const char *name = known ? known : newer_name(number);
			const char *answers = name ? answers_of(name) : "nnn";
			uint32_t got =
			    run(&program, &(struct seccomp_data){ .nr = number, .arch = AUDIT_ARCH_X86_64 });

			cr_expect(answers, "%s (%d) is not in the list", name, number);
			if (answers && answers[p] != 'r') {
				cr_expect_eq(got, verdict_of(answers[p]), "%s (%d) in %s: %x",
					     name ? name : "no call", number, profile_names[p], got);
				compared++;
			}
			free(known);
		}
	}
	cr_expect_gt(compared, 3 * (SYSCALL_NUMBERS - 40));
}

Test(seccomp, programs_are_small, .timeout = 10)
{
	for (int i = 0; i < 3; i++) {
		struct seccomp_program program;

		compile(AUDIT_ARCH_X86_64,
			&(struct seccomp_options){ .profile = (enum policy_syscall_profile)i }, &program);
		cr_expect_leq(program.count, 345, "%s: %zu instructions", profile_names[i], program.count);
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
		for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
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
		{ "ioctl", { 0, TCGETS | HIGH }, S | D | C, 0 },
		{ "ioctl", { 0, SIOCGIFCONF }, S | D | C, 0 },
		{ "ioctl", { 0, SIOCATMARK }, D | C, ENOTTY },
		{ "ioctl", { 0, TIOCPKT }, C, ENOTTY },
		{ "ioctl", { 0, TIOCSTI }, 0, ENOTTY },
		{ "ioctl", { 0, TIOCSTI | HIGH }, 0, ENOTTY },
		{ "ioctl", { 0, TIOCSTI | 0xffffffff00000000ull }, 0, ENOTTY },
		{ "ioctl", { 0, TIOCLINUX }, 0, ENOTTY },
		{ "ioctl", { 0, TIOCCONS | HIGH }, 0, ENOTTY },
		{ "ioctl", { 0, TIOCSETD }, 0, ENOTTY },
		{ "ioctl", { 0, SIOCGIFBR }, 0, ENOTTY },
		{ "ioctl", { 0, SIOCSIFBR }, 0, ENOTTY },
		{ "ioctl", { 0, SIOCGIFVLAN }, 0, ENOTTY },
		{ "ioctl", { 0, SIOCSIFVLAN }, 0, ENOTTY },
		{ "ioctl", { 0, SIOCBRADDBR }, 0, ENOTTY },
		{ "ioctl", { 0, 0x8008662c }, 0, ENOTTY },
		{ "ioctl", { 0, SIOCPROTOPRIVATE }, 0, ENOTTY },
		{ "ioctl", { 0, SIOCDEVPRIVATE }, 0, ENOTTY },
		{ "setsockopt", { 0, SOL_SOCKET, SO_REUSEADDR }, S | D | C, 0 },
		{ "setsockopt", { 0, SOL_SOCKET | HIGH, SO_REUSEADDR | HIGH }, S | D | C, 0 },
		{ "setsockopt", { 0, SOL_SOCKET, SO_ATTACH_FILTER }, C, ENOPROTOOPT },
		{ "setsockopt", { 0, SOL_SOCKET, SO_ATTACH_FILTER | HIGH }, C, ENOPROTOOPT },
		{ "setsockopt", { 0, SOL_SOCKET | HIGH, SO_ATTACH_BPF }, C, ENOPROTOOPT },
		{ "setsockopt", { 0, SOL_SOCKET, 51 }, C, ENOPROTOOPT },
		{ "setsockopt", { 0, SOL_SOCKET, 52 }, C, ENOPROTOOPT },
		{ "setsockopt", { 0, SOL_SOCKET, 73 }, 0, ENOPROTOOPT },
		{ "setsockopt", { 0, SOL_SOCKET, SO_TIMESTAMP }, C, ENOPROTOOPT },
		{ "setsockopt", { 0, IPPROTO_TCP, 31 }, 0, ENOPROTOOPT },
		{ "setsockopt", { 0, IPPROTO_TCP, 1 }, S | D | C, 0 },
		{ "setsockopt", { 0, IPPROTO_IP, 64 }, 0, ENOPROTOOPT },
		{ "setsockopt", { 0, IPPROTO_IPV6, 64 }, 0, ENOPROTOOPT },
		{ "setsockopt", { 0, IPPROTO_IPV6, 26 }, S | D | C, 0 },
		{ "setsockopt", { 0, SOL_NETLINK, 11 }, D | C, ENOPROTOOPT },
		{ "setsockopt", { 0, 263, 26 }, 0, ENOPROTOOPT },
		{ "getsockopt", { 0, SOL_SOCKET, SO_ATTACH_FILTER }, S | D | C, 0 },
		{ "seccomp", { 0 }, C, EINVAL },
		{ "seccomp", { 1 }, C, EINVAL },
		{ "seccomp", { 1 | HIGH, 8 }, C, EINVAL },
		{ "seccomp", { 2 }, S | D | C, 0 },
		{ "seccomp", { 3 }, S | D | C, 0 },
		{ "seccomp", { 4 }, C, EINVAL },
		{ "prctl", { PR_SET_SECCOMP, 2 }, C, EINVAL },
		{ "prctl", { PR_SET_SECCOMP | HIGH, 1 }, C, EINVAL },
		{ "prctl", { PR_GET_SECCOMP }, S | D | C, 0 },
		{ "prctl", { 67 }, 0, EINVAL },
		{ "prctl", { 62 }, 0, EINVAL },
		{ "prctl", { 0x53564d41 }, S | D | C, 0 },
		{ "preadv2", { 0, 0, 0, 0, 0, 0 }, S | D | C, 0 },
		{ "preadv2", { 0, 0, 0, 0, 0, 1 }, S | D | C, 0 },
		{ "preadv2", { 0, 0, 0, 0, 0, 8 }, 0, EOPNOTSUPP },
		{ "preadv2", { 0, 0, 0, 0, 0, 9 | HIGH }, 0, EOPNOTSUPP },
		{ "preadv2", { 0, 0, 0, 0, 8, 0 }, S | D | C, 0 },
		{ "madvise", { 0, 0, MADV_MERGEABLE }, 0, EINVAL },
		{ "madvise", { 0, 0, MADV_DONTNEED }, S | D | C, 0 },
		{ "madvise", { 0, 0, MADV_PAGEOUT }, 0, 0 },
		{ "madvise", { 0, 0, MADV_PAGEOUT | HIGH }, 0, 0 },
		{ "fadvise64", { 0, 0, 0, POSIX_FADV_DONTNEED }, 0, 0 },
		{ "fadvise64", { 0, 0, 0, POSIX_FADV_DONTNEED | HIGH }, 0, 0 },
		{ "fadvise64", { 0, 0, 0, POSIX_FADV_SEQUENTIAL }, S | D | C, 0 },
		{ "splice", { 0 }, C, EINVAL },
		{ "tee", { 0 }, C, EINVAL },
		{ "sync", { 0 }, C, ENOSYS },
		{ "syncfs", { 0 }, C, ENOSYS },
		{ "fcntl", { 0, 1031, 65536 }, S | D | C, 0 },
		{ "fcntl", { 0, 1031, 65537 }, C, EPERM },
		{ "fcntl", { 0, 1031 | HIGH, 0xffffffff }, C, EPERM },
		{ "fcntl", { 0, 1032, 65537 }, S | D | C, 0 },
		{ "fcntl", { 0, 1036 }, C, ENOSYS },
		{ "fcntl", { 0, 1035 }, S | D | C, 0 },
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
		{ "socket", { AF_INET, SOCK_STREAM, IPPROTO_UDP }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET, SOCK_DGRAM, IPPROTO_TCP }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET6, SOCK_STREAM, IPPROTO_UDP }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET, SOCK_DGRAM, IPPROTO_ICMP }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6 }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET, SOCK_STREAM, 262 }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET, SOCK_STREAM, IPPROTO_SCTP }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET, SOCK_RAW, IPPROTO_TCP }, 0, EAFNOSUPPORT },
		{ "socket", { AF_INET, SOCK_PACKET }, 0, EAFNOSUPPORT },
		{ "socket", { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, C, EAFNOSUPPORT },
		{ "socket", { AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_ROUTE }, C, EAFNOSUPPORT },
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
		{ "prctl", { PR_SET_DUMPABLE, 1 }, S | D | C, 0 },
		{ "prctl", { PR_SET_MM | HIGH }, 0, EINVAL },
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
		for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
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

/* ---- every request, option and kind of socket ---- */

static const struct {
	uint32_t level;
	enum value_set set;
} option_levels[] = {
	{ 0, VALUE_SOL_IP },   { 1, VALUE_SOL_SOCKET }, { 6, VALUE_SOL_TCP },
	{ 17, VALUE_SOL_UDP }, { 41, VALUE_SOL_IPV6 },  { 270, VALUE_SOL_NETLINK },
};

/* Compares verdicts of one program on calls of x86_64. */
struct sweep {
	const struct seccomp_program *program;
	const struct seccomp_options *options;
	const struct index *index;
	size_t compared;
};

static void sweep_call(struct sweep *sweep, const struct syscall_row *call, uint64_t a0, uint64_t a1,
		       uint64_t a2)
{
	struct seccomp_data data = { .nr = call->number[SYSCALL_X86_64],
				     .arch = AUDIT_ARCH_X86_64,
				     .args = { a0, a1, a2 } };

	expect_same(sweep->program, sweep->index, SYSCALL_X86_64, sweep->options, &data);
	sweep->compared++;
}

/* A value, its neighbours, and the same with a high bit. */
static void sweep_value(struct sweep *sweep, const struct value_row *row)
{
	const struct syscall_row *ioctl_row = row_of("ioctl"), *prctl_row = row_of("prctl"),
				 *setsockopt_row = row_of("setsockopt");

	for (int64_t value = (int64_t)row->number - 1; value <= (int64_t)row->number + 1; value++) {
		const uint64_t wide = (uint64_t)value ^ HIGH;

		if (row->set == VALUE_IOCTL) {
			sweep_call(sweep, ioctl_row, 0, (uint32_t)value, 0);
			sweep_call(sweep, ioctl_row, 0, wide, 0);
		} else if (row->set == VALUE_PRCTL) {
			sweep_call(sweep, prctl_row, (uint32_t)value, 0, 0);
			sweep_call(sweep, prctl_row, wide, 0, 0);
		} else {
			for (size_t i = 0; i < ARRAY_LENGTH(option_levels); i++) {
				sweep_call(sweep, setsockopt_row, 0, option_levels[i].level, (uint32_t)value);
				sweep_call(sweep, setsockopt_row, 0, option_levels[i].level | HIGH, wide);
			}
		}
	}
}

static void sweep_numbers(struct sweep *sweep)
{
	const struct syscall_row *ioctl_row = row_of("ioctl"), *prctl_row = row_of("prctl"),
				 *setsockopt_row = row_of("setsockopt"), *socket_row = row_of("socket");
	uint64_t state = 0x2545f4914f6cdd1d;

	for (uint32_t value = 0; value < 0x10000; value++)
		sweep_call(sweep, ioctl_row, 0, value, 0);
	for (size_t i = 0; i < 100000; i++)
		sweep_call(sweep, ioctl_row, 0, next_random(&state), 0);
	for (uint32_t value = 0; value < 0x1000; value++)
		sweep_call(sweep, prctl_row, value, 0, 0);
	for (uint32_t level = 0; level < 0x200; level++)
		for (uint32_t option = 0; option < 0x140; option++)
			sweep_call(sweep, setsockopt_row, 0, level, option);
	for (uint32_t domain = 0; domain < 64; domain++)
		for (uint32_t type = 0; type < 16; type++)
			for (uint32_t protocol = 0; protocol < 0x110; protocol++)
				sweep_call(sweep, socket_row, domain, type | SOCK_CLOEXEC, protocol);
}

Test(seccomp, every_value, .timeout = 300)
{
	struct index index;

	index_arch(SYSCALL_X86_64, &index);
	for (int p = 0; p < 3; p++)
		for (int network = POLICY_NETWORK_NONE; network <= POLICY_NETWORK_HOST; network++) {
			struct seccomp_options o = { .profile = (enum policy_syscall_profile)p,
						     .network = (enum policy_network_mode)network,
						     .kill_on_violation = network & 1 };
			struct seccomp_program program;
			struct sweep sweep = { &program, &o, &index, 0 };

			compile(AUDIT_ARCH_X86_64, &o, &program);
			for (size_t i = 0; i < ARRAY_LENGTH(value_rows); i++)
				sweep_value(&sweep, &value_rows[i]);
			sweep_numbers(&sweep);
			cr_expect_gt(sweep.compared, 600000);
		}
}

Test(seccomp, values_are_sorted, .timeout = 10)
{
	for (size_t i = 1; i < ARRAY_LENGTH(value_rows); i++)
		cr_expect(value_rows[i - 1].set < value_rows[i].set ||
			      (value_rows[i - 1].set == value_rows[i].set &&
			       value_rows[i - 1].number < value_rows[i].number),
			  "%s", value_rows[i].name);
}

/* Rows of the product's table that the second opinion does not know by that name: a slip in a number shows here as well. */
Test(seccomp, values_have_names_reasons_and_programs, .timeout = 10)
{
	for (int set = 0; set < ARGUMENT_SET_COUNT; set++) {
		static const enum value_set model[] = {
			[ARGUMENT_IOCTL] = VALUE_IOCTL,           [ARGUMENT_PRCTL] = VALUE_PRCTL,
			[ARGUMENT_SOL_SOCKET] = VALUE_SOL_SOCKET, [ARGUMENT_SOL_IP] = VALUE_SOL_IP,
			[ARGUMENT_SOL_TCP] = VALUE_SOL_TCP,       [ARGUMENT_SOL_UDP] = VALUE_SOL_UDP,
			[ARGUMENT_SOL_IPV6] = VALUE_SOL_IPV6,     [ARGUMENT_SOL_NETLINK] = VALUE_SOL_NETLINK,
		};
		size_t count;
		const struct argument_value *rows = argument_values((enum argument_set)set, &count);

		cr_expect_gt(count, 0);
		for (size_t i = 0; i < count; i++) {
			const struct value_row *row = find_value(model[set], rows[i].value);

			cr_expect(*rows[i].reason && *rows[i].program, "%s", rows[i].name);
			cr_expect(row && strstr(row->name, rows[i].name), "%s is %s", rows[i].name,
				  row ? row->name : "not in the headers");
			for (size_t j = 0; j < i; j++)
				cr_expect_neq(rows[i].value, rows[j].value, "%s is there twice",
					      rows[i].name);
		}
	}
}

/* ---- libseccomp as the second compiler ---- */

#define ORACLE_MAX 4096

struct oracle {
	size_t count;
	struct sock_filter code[ORACLE_MAX];
};

/* What libseccomp makes of a context, which is not loaded. */
static void export_oracle(scmp_filter_ctx context, struct oracle *ret)
{
	int fd = memfd_create("oracle", MFD_CLOEXEC);
	ssize_t len;

	cr_assert_eq(seccomp_export_bpf(context, fd), 0);
	len = pread(fd, ret->code, sizeof(ret->code), 0);
	cr_assert(len > 0 && len < (ssize_t)sizeof(ret->code) && len % (ssize_t)sizeof(ret->code[0]) == 0);
	ret->count = (size_t)len / sizeof(ret->code[0]);
	close(fd);
	seccomp_release(context);
}

static scmp_filter_ctx new_oracle_by(uint32_t otherwise)
{
	scmp_filter_ctx context = seccomp_init(otherwise);

	cr_assert(context);
	cr_assert_eq(seccomp_arch_remove(context, SCMP_ARCH_NATIVE), 0);
	cr_assert_eq(seccomp_arch_add(context, SCMP_ARCH_X86_64), 0);
	return context;
}

static scmp_filter_ctx new_oracle(uint16_t otherwise)
{
	return new_oracle_by(SCMP_ACT_ERRNO(otherwise));
}

#define LOW(index, value) SCMP_CMP64(index, SCMP_CMP_MASKED_EQ, 0xffffffff, value)

static void must_add(int result)
{
	cr_assert_eq(result, 0, "libseccomp: %d", result);
}

static void oracle_values(enum policy_syscall_profile profile, const char *call, unsigned int argument,
			  enum value_set set, uint16_t otherwise, struct oracle *ret)
{
	scmp_filter_ctx context = new_oracle(otherwise);

	for (size_t i = 0; i < ARRAY_LENGTH(value_rows); i++)
		if (value_rows[i].set == set && value_is_allowed(set, value_rows[i].number, profile))
			must_add(seccomp_rule_add(context, SCMP_ACT_ALLOW, seccomp_syscall_resolve_name(call),
						  1, LOW(argument, value_rows[i].number)));
	export_oracle(context, ret);
}

static void oracle_options(enum policy_syscall_profile profile, struct oracle *ret)
{
	scmp_filter_ctx context = new_oracle(ENOPROTOOPT);

	for (size_t i = 0; i < ARRAY_LENGTH(value_rows); i++)
		for (size_t j = 0; j < ARRAY_LENGTH(option_levels); j++)
			if (value_rows[i].set == option_levels[j].set &&
			    value_is_allowed(value_rows[i].set, value_rows[i].number, profile))
				must_add(seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(setsockopt), 2,
							  LOW(1, option_levels[j].level),
							  LOW(2, value_rows[i].number)));
	export_oracle(context, ret);
}

static void oracle_sockets(const struct seccomp_options *o, struct oracle *ret)
{
	scmp_filter_ctx context = new_oracle(EAFNOSUPPORT);

#define TYPE(value) SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, 0xf, value)
	for (uint32_t type = 0; type < 16; type++)
		for (uint32_t protocol = 0; protocol < 20; protocol++) {
			if (protocol == 0 && socket_is_allowed(o, AF_UNIX, type, 0))
				must_add(seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
							  LOW(0, AF_UNIX), TYPE(type)));
			for (uint32_t domain = AF_UNIX + 1; domain < 64; domain++)
				if (socket_is_allowed(o, domain, type, protocol))
					must_add(seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(socket),
								  3, LOW(0, domain), TYPE(type),
								  LOW(2, protocol)));
		}
	export_oracle(context, ret);
}

static void expect_oracle(const struct seccomp_program *program, const struct oracle *oracle,
			  const struct syscall_row *call, uint64_t a0, uint64_t a1, uint64_t a2)
{
	struct seccomp_data data = { .nr = call->number[SYSCALL_X86_64],
				     .arch = AUDIT_ARCH_X86_64,
				     .args = { a0, a1, a2 } };
	uint32_t want = bpf_vm_run(oracle->code, oracle->count, &data, NULL);
	uint32_t got = run(program, &data);

	if (got != want)
		cr_assert_eq(got, want, "%s(%llx, %llx, %llx): got %x, libseccomp %x", call->name,
			     (unsigned long long)a0, (unsigned long long)a1, (unsigned long long)a2, got,
			     want);
}

Test(seccomp, values_agree_with_libseccomp, .timeout = 300)
{
	const struct syscall_row *ioctl_row = row_of("ioctl"), *prctl_row = row_of("prctl"),
				 *setsockopt_row = row_of("setsockopt"), *socket_row = row_of("socket");

	for (int i = 0; i < 6; i++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)(i / 2),
					     .network = i & 1 ? POLICY_NETWORK_LOOPBACK : POLICY_NETWORK_NONE,
					     .allow_spawn = true };
		struct seccomp_program program;
		static struct oracle requests, process, options, sockets;
		uint64_t state = 99;

		compile(AUDIT_ARCH_X86_64, &o, &program);
		oracle_values(o.profile, "ioctl", 1, VALUE_IOCTL, ENOTTY, &requests);
		oracle_values(o.profile, "prctl", 0, VALUE_PRCTL, EINVAL, &process);
		oracle_options(o.profile, &options);
		oracle_sockets(&o, &sockets);
		for (size_t j = 0; j < ARRAY_LENGTH(value_rows); j++)
			if (value_rows[j].set == VALUE_IOCTL)
				expect_oracle(&program, &requests, ioctl_row, 0, value_rows[j].number, 0);
			else
				expect_oracle(&program, &process, prctl_row, value_rows[j].number, 0, 0);
		for (uint32_t value = 0; value < 0x10000; value++) {
			expect_oracle(&program, &requests, ioctl_row, 0, value, 0);
			expect_oracle(&program, &requests, ioctl_row, 0, next_random(&state), 0);
			expect_oracle(&program, &process, prctl_row, value, 0, 0);
			expect_oracle(&program, &options, setsockopt_row, 0, value >> 7, value & 0x7f);
			expect_oracle(&program, &sockets, socket_row, value >> 10, value >> 5 & 0xf,
				      value & 0x1f);
		}
	}
}

/* Rules on arguments, written down once more as libseccomp says them: an argument under a mask equals a value, a call may have several
 * rules, and `otherwise` is the answer where none holds. */
/* clang-format off */
static const struct oracle_rule {
	const char *call;
	uint32_t otherwise, verdict;
	int profiles; /* bits */
	struct {
		unsigned int argument;
		uint64_t mask, value;
	} compare[2]; /* a mask of 0: none */
} oracle_rules[] = {
#define ALL (S | D | C)
#define NO  SCMP_ACT_ERRNO(EPERM)
#define YES SCMP_ACT_ALLOW
#define LOW_HALF 0xffffffff
#define TMPFILE  (O_TMPFILE & ~O_DIRECTORY)
#define SET_ID   (S_ISUID | S_ISGID)
/* Of preadv2(2), without RWF_NOWAIT. */
#define KNOWN_READ_FLAGS (RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_APPEND | 0x20 /* RWF_NOAPPEND */)
#define MODE(call, index) { call, NO, YES, ALL, { { index, SET_ID, 0 } } }
#define NODE(call, index, type) { call, NO, YES, ALL, { { index, SET_ID | S_IFMT, type } } }
#define FCNTL(command, error) { "fcntl", YES, SCMP_ACT_ERRNO(error), S | D, { { 1, LOW_HALF, command } } }
#define NOT_INIT(call, index) { call, YES, NO, ALL, { { index, LOW_HALF, 1 } } }
	{ "open", NO, YES, ALL, { { 1, O_CREAT | TMPFILE, 0 } } },
	MODE("open", 2),
	{ "openat", NO, YES, ALL, { { 2, O_CREAT | TMPFILE, 0 } } },
	MODE("openat", 3),
	MODE("creat", 1),
	MODE("chmod", 1),
	MODE("fchmod", 1),
	MODE("fchmodat", 2),
	MODE("mkdir", 1),
	MODE("mkdirat", 2),
	NODE("mknod", 1, 0),
	NODE("mknod", 1, S_IFREG),
	NODE("mknod", 1, S_IFIFO),
	NODE("mknod", 1, S_IFSOCK),
	NODE("mknodat", 2, 0),
	NODE("mknodat", 2, S_IFREG),
	NODE("mknodat", 2, S_IFIFO),
	NODE("mknodat", 2, S_IFSOCK),
	FCNTL(F_SETLEASE, ENOSYS),
	FCNTL(F_NOTIFY, ENOSYS),
	FCNTL(1036 /* F_SET_RW_HINT */, ENOSYS),
	{ "renameat2", NO, YES, ALL, { { 4, RENAME_WHITEOUT, 0 } } },
	{ "mmap", NO, YES, ALL, { { 3, MAP_HUGETLB, 0 } } },
	{ "memfd_create", NO, YES, ALL, { { 1, MFD_HUGETLB, 0 } } },
	{ "shmget", NO, YES, D | C, { { 2, SHM_HUGETLB, 0 } } },
	{ "personality", NO, YES, ALL, { { 0, LOW_HALF, PER_LINUX } } },
	{ "personality", NO, YES, ALL, { { 0, LOW_HALF, 0xffffffff } } },
	{ "personality", NO, YES, C, { { 0, LOW_HALF, ADDR_NO_RANDOMIZE } } },
	{ "madvise", YES, SCMP_ACT_ERRNO(EINVAL), ALL, { { 2, LOW_HALF, MADV_MERGEABLE } } },
	{ "madvise", YES, SCMP_ACT_ERRNO(0), ALL, { { 2, LOW_HALF, MADV_PAGEOUT } } },
	{ "fadvise64", YES, SCMP_ACT_ERRNO(0), ALL, { { 3, LOW_HALF, POSIX_FADV_DONTNEED } } },
	{ "setrlimit", YES, SCMP_ACT_ERRNO(0), ALL, { { 0, LOW_HALF, RLIMIT_CORE } } },
	{ "socketpair", SCMP_ACT_ERRNO(EAFNOSUPPORT), YES, ALL, { { 0, LOW_HALF, AF_UNIX } } },
	NOT_INIT("sched_setaffinity", 0),
	NOT_INIT("sched_setparam", 0),
	NOT_INIT("sched_setscheduler", 0),
	NOT_INIT("sched_setattr", 0),
	NOT_INIT("setpriority", 1),
	{ "setpriority", YES, NO, ALL, { { 0, LOW_HALF, PRIO_USER } } },
	NOT_INIT("ioprio_set", 1),
	{ "ioprio_set", YES, NO, ALL, { { 0, LOW_HALF, 3 /* IOPRIO_WHO_USER */ } } },
	MODE("fchmodat2", 2),
	{ "preadv2", SCMP_ACT_ERRNO(EOPNOTSUPP), YES, ALL, { { 5, LOW_HALF & ~(uint64_t)KNOWN_READ_FLAGS, 0 } } },
	{ "seccomp", SCMP_ACT_ERRNO(EINVAL), YES, S | D, { { 0, LOW_HALF, 2 /* SECCOMP_GET_ACTION_AVAIL */ } } },
	{ "seccomp", SCMP_ACT_ERRNO(EINVAL), YES, S | D, { { 0, LOW_HALF, 3 /* SECCOMP_GET_NOTIF_SIZES */ } } },
	NOT_INIT("prlimit64", 0),
};
/* clang-format on */

/* libseccomp may be older than the call. */
static int oracle_number(const char *call)
{
	const int number = seccomp_syscall_resolve_name(call);

	return number == __NR_SCMP_ERROR ? syscall_find(call, NULL)->number[SYSCALL_X86_64] : number;
}

static void add_rule(scmp_filter_ctx context, const struct oracle_rule *rule)
{
	struct scmp_arg_cmp compare[2];
	unsigned int count = 0;

	for (; count < 2 && rule->compare[count].mask; count++)
		compare[count] = SCMP_CMP64(rule->compare[count].argument, SCMP_CMP_MASKED_EQ,
					    rule->compare[count].mask, rule->compare[count].value);
	must_add(seccomp_rule_add_array(context, rule->verdict, oracle_number(rule->call), count, compare));
}

/* A new limit of RLIMIT_CORE, for any process but init: pretended, or denied where the old one is asked for as well. "But init" by
 * masks: bit 0 is clear, or one above is set. */
static void add_core_rules(scmp_filter_ctx context)
{
	for (unsigned int bit = 0; bit < 32; bit++)
		for (int old = 0; old < 2; old++) {
			const uint64_t mask = 1u << bit;
			const struct scmp_arg_cmp compare[] = {
				SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, mask, bit ? mask : 0),
				SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, LOW_HALF, RLIMIT_CORE),
				SCMP_CMP64(2, SCMP_CMP_NE, 0),
				SCMP_CMP64(3, old ? SCMP_CMP_NE : SCMP_CMP_EQ, 0),
			};

			must_add(seccomp_rule_add_array(context, old ? NO : SCMP_ACT_ERRNO(0),
							oracle_number("prlimit64"), 4, compare));
		}
}

/* "More than 64 KiB" of the low half, by masks: a bit above, or that of 64 KiB and one below. */
static void add_pipe_rules(scmp_filter_ctx context)
{
	for (unsigned int bit = 0; bit < 32; bit++) {
		const uint64_t mask = bit < 16 ? 0x10000 | 1u << bit : 1u << bit;
		struct oracle_rule rule = {
			"fcntl", YES, NO, S | D, { { 1, LOW_HALF, F_SETPIPE_SZ }, { 2, mask, mask } }
		};

		if (bit != 16)
			add_rule(context, &rule);
	}
}

/* False if the profile has no rule for the call. */
static bool oracle_rule_set(const char *call, int profile, struct oracle *ret)
{
	scmp_filter_ctx context = NULL;

	for (size_t i = 0; i < ARRAY_LENGTH(oracle_rules); i++) {
		const struct oracle_rule *rule = &oracle_rules[i];

		if (strcmp(rule->call, call) != 0 || !(rule->profiles & 1 << profile))
			continue;
		if (!context)
			context = new_oracle_by(rule->otherwise);
		add_rule(context, rule);
	}
	if (!context)
		return false;
	if (strcmp(call, "fcntl") == 0)
		add_pipe_rules(context);
	if (strcmp(call, "prlimit64") == 0)
		add_core_rules(context);
	export_oracle(context, ret);
	return true;
}

static void oracle_clone(bool allow_spawn, struct oracle *ret)
{
	const uint64_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
				    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
	const uint64_t thread = allow_spawn ? 0 : CLONE_THREAD;
	scmp_filter_ctx context = new_oracle(EPERM);

	must_add(seccomp_rule_add(context, YES, SCMP_SYS(clone), 1,
				  SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, namespaces | thread, thread)));
	export_oracle(context, ret);
}

static void expect_oracle_of(const struct seccomp_program *program, const struct oracle *oracle,
			     const struct syscall_row *call, const uint64_t *args)
{
	struct seccomp_data data = { .nr = call->number[SYSCALL_X86_64], .arch = AUDIT_ARCH_X86_64 };
	uint32_t want, got;

	memcpy(data.args, args, sizeof(data.args));
	want = bpf_vm_run(oracle->code, oracle->count, &data, NULL);
	got = run(program, &data);
	if (got != want)
		cr_assert_eq(got, want, "%s(%llx, %llx, %llx, %llx, %llx, %llx): got %x, libseccomp %x",
			     call->name, (unsigned long long)args[0], (unsigned long long)args[1],
			     (unsigned long long)args[2], (unsigned long long)args[3],
			     (unsigned long long)args[4], (unsigned long long)args[5], got, want);
}

/* All pairs of bits in one argument beside a value in another, then random ones. */
static void sweep_oracle(const struct seccomp_program *program, const struct oracle *oracle, const char *name)
{
	const struct syscall_row *call = row_of(name);
	static const uint64_t values[] = { 0,       F_SETPIPE_SZ, F_SETLEASE, F_NOTIFY,    1036,      O_CREAT,
					   TMPFILE, S_IFCHR,      04755,      RLIMIT_CORE, PRIO_USER, 3,
					   1,       AF_UNIX,      0xffffffff, 65536,       65537,     ~0ull };
	uint64_t state = 1234567;

	for (unsigned int high = 0; high < 64; high++)
		for (unsigned int low = 0; low <= high; low++)
			for (size_t i = 0; i < ARRAY_LENGTH(values); i++)
				for (unsigned int at = 0; at < 6; at++) {
					uint64_t args[6] = { 0 };

					args[at] = 1ull << high | 1ull << low;
					args[at ? at - 1 : 1] = values[i];
					expect_oracle_of(program, oracle, call, args);
				}
	for (size_t i = 0; i < 20000; i++) {
		uint64_t args[6];

		for (size_t j = 0; j < ARRAY_LENGTH(args); j++)
			args[j] = random_argument(&state);
		expect_oracle_of(program, oracle, call, args);
	}
}

Test(seccomp, argument_rules_agree_with_libseccomp, .timeout = 300)
{
	size_t compared = 0;

	for (int i = 0; i < 6; i++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)(i / 2),
					     .allow_spawn = i & 1 };
		static struct oracle oracle;
		struct seccomp_program program;

		compile(AUDIT_ARCH_X86_64, &o, &program);
		oracle_clone(o.allow_spawn, &oracle);
		sweep_oracle(&program, &oracle, "clone");
		for (size_t j = 0; o.allow_spawn && j < ARRAY_LENGTH(oracle_rules); j++) {
			const char *call = oracle_rules[j].call;

			if ((j > 0 && strcmp(oracle_rules[j - 1].call, call) == 0) ||
			    !oracle_rule_set(call, i / 2, &oracle))
				continue;
			sweep_oracle(&program, &oracle, call);
			compared++;
		}
	}
	cr_expect_gt(compared, 3 * 26);
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

		for (size_t j = 0; j < ARRAY_LENGTH(rows) * SYSCALL_ARCH_COUNT; j++) {
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
	uint32_t refused = strcmp(group->answer, "ENOSYS") == 0   ? FAIL(ENOSYS)
			   : strcmp(group->answer, "EINVAL") == 0 ? FAIL(EINVAL)
			   : kill                                 ? KILL
								  : FAIL(EPERM);
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
	for (size_t i = 0; i < ARRAY_LENGTH(never); i++) {
		struct seccomp_options o = { .profile = POLICY_SYSCALLS_COMPAT,
					     .allow = &never[i],
					     .allow_count = 1 };
		struct seccomp_program program;
		struct warder_error err = { 0 };

		cr_expect_eq(seccomp_compile(&o, &program, &err), -1, "%s", never[i]);
		cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST, "%s", never[i]);
		cr_expect_str_eq(err.field, "syscalls.allow[0]", "%s", never[i]);
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
	struct seccomp_options o = { .allow = names, .allow_count = ARRAY_LENGTH(names) };
	struct seccomp_program program;

	compile(AUDIT_ARCH_X86_64, &o, &program);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		cr_expect_eq(verdict(&program, names[i], NULL), ALLOW, "%s", names[i]);
}

Test(seccomp, own_filters_are_allowed_in_compat_alone, .timeout = 10)
{
	static const char *const name = "seccomp";

	for (int p = 0; p < 3; p++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)p,
					     .allow = &name,
					     .allow_count = 1 };
		struct seccomp_program program;
		struct warder_error err = { 0 };

		cr_expect_eq(seccomp_compile(&o, &program, &err), p == POLICY_SYSCALLS_COMPAT ? 0 : -1, "%s",
			     profile_names[p]);
	}
}

Test(seccomp, denied_groups_know_the_network, .timeout = 10)
{
	const struct seccomp_group *group;
	size_t seen = 0;

	for (size_t i = 0; (group = seccomp_group(i)); i++)
		for (int p = 0; p < 3; p++)
			for (int network = POLICY_NETWORK_NONE; network <= POLICY_NETWORK_HOST; network++) {
				struct seccomp_options o = { .profile = (enum policy_syscall_profile)p,
							     .network = (enum policy_network_mode)network };
				bool denied = seccomp_denies(group, o.profile, o.network);

				cr_expect(!denied || group->denied[p], "%s", group->name);
				if (strcmp(group->name, "routing queries") != 0)
					continue;
				seen++;
				cr_expect_eq(denied, !netlink_is_allowed(&o), "%s, network %d",
					     profile_names[p], network);
			}
	cr_expect_eq(seen, 3 * (POLICY_NETWORK_HOST - POLICY_NETWORK_NONE + 1));
}

Test(seccomp, allow_keeps_argument_rules, .timeout = 10)
{
	static const char *const names[] = { "ioctl", "clone", "shmget", "fork", "chmod" };
	static const uint64_t tiocsti[6] = { 0, TIOCSTI };
	static const uint64_t huge[6] = { 0, 0, SHM_HUGETLB };
	static const uint64_t user[6] = { CLONE_NEWUSER | CLONE_THREAD };
	static const uint64_t set_id[6] = { 0, 04755 };
	struct seccomp_options o = { .allow = names, .allow_count = ARRAY_LENGTH(names) };
	struct seccomp_program program;

	compile(AUDIT_ARCH_X86_64, &o, &program);
	cr_expect_eq(verdict(&program, "ioctl", tiocsti), FAIL(ENOTTY));
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
					     .deny_count = ARRAY_LENGTH(names) };
		struct seccomp_program program;

		compile(AUDIT_ARCH_X86_64, &o, &program);
		for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
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
		{ "unknown deny", "opne", NULL, "syscalls.deny[0]", "\"opne\"" },
		{ "unknown allow", NULL, "ptrac", "syscalls.allow[0]", "\"ptrac\"" },
		{ "empty name", "", NULL, "syscalls.deny[0]", "\"\"" },
		{ "case counts", "OpenAt", NULL, "syscalls.deny[0]", "\"OpenAt\"" },
		{ "both", "ptrace", "ptrace", "syscalls.allow[0]", "too" },
		{ "never", NULL, "mount", "syscalls.allow[0]", "no policy can allow" },
		{ "own filters", NULL, "seccomp", "syscalls.allow[0]",
		  "only with syscalls.profile \"compat\"" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
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
		cr_expect_str_eq(err.field, "syscalls.deny[0]", "%s", seccomp_launch_calls[i]);
		o.deny_count = 0;
		o.kill_on_violation = true;
		compile(AUDIT_ARCH_X86_64, &o, &program);
		cr_expect_eq(verdict(&program, seccomp_launch_calls[i], NULL), ALLOW, "%s",
			     seccomp_launch_calls[i]);
	}
}
