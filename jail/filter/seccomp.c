/*
 * seccomp: compiles profile and options into the filter.
 *
 * Why our own emitter. In libseccomp 2.5.4 one rule compares an argument at most once and the rules of a call are
 * joined by "or", so "every ioctl but these four" takes a rule for each part of what remains, or a second
 * filter. Debian's package knows no call newer than Linux 6.7 by name. And it tests every allowed number on its own,
 * while here neighbouring numbers with the same verdict form one range, and a balanced tree of comparisons finds
 * the range in about seven steps. The kernel checks, translates and tries out a program when it is loaded, so a short
 * one also loads sooner: measured for one set of 289 calls, 377 us as a linear list, 95 us as libseccomp's
 * tree, 50 us as a tree over ranges. Loading is on the path of every launch.
 *
 * Shape of the program:
 *
 *     load arch; another one -> kill            (int 0x80 and i386 programs bring their own numbers)
 *     load nr; x32 numbers -> kill              (x86_64; a second numbering of the same calls)
 *     tree over ranges of nr -> verdict, or -> argument block
 *     argument blocks, verdicts
 *
 * Number -1 is no x32 call: a tracer writes it to skip a call (compat), and programs use it to ask for ENOSYS.
 *
 * Arguments. The kernel reads an int or unsigned int argument from the low half of the register, while the
 * filter sees all 64 bits. A rule that compared 64 bits would be passed by setting a high bit
 * that the kernel then ignores. So only the low 32 bits are looked at; of the arguments that are 64
 * bits wide (flags of mmap and clone), every denied bit is in the low half. Whether a pointer is NULL is asked of all 64.
 * Sets that the kernel adds to (ioctl, setsockopt, prctl, sockets, device types, personality) are lists of what is allowed; the
 * first three are in arguments.c, and each becomes a tree over ranges as the call numbers do.
 *
 * Init (process 1 of the jail) runs without the filter and, in an ordinary user's jail, under the program's own user
 * id, so the kernel lets the program set its limits and its scheduling: RLIMIT_CPU of one second ends the jail, and
 * the result blames the host. The calls that name it by number are denied. Signals need no rule: from within, the
 * kernel delivers to init only those that it has a handler for.
 *
 * Core dumps. Where core_pattern begins with "|", the kernel starts that program of the host's, as root, for whatever crashes,
 * also where the limit of core dumps is 0; a limit of 1 is its own word for "never" (coredump.c). Jails have that limit, and a
 * program could lower it: setting it is not done, and answered with success, because programs with secrets to keep (agents of
 * keys) lower it and give up if that fails. None of them gets a core dump in any case.
 *
 * BPF programs. Those that a jailed program installs (filters of sockets, system call filters) take memory that has one limit for the
 * whole host and is charged to nobody, and freeing a thousand of them at once can stop a kernel (Linux 6.18) for good. So only
 * `compat` has them. Elsewhere seccomp and prctl answer as a kernel without filters does, which programs that restrict themselves
 * (man, OpenSSH) are ready for.
 *
 * Calls whose outcome depends on nr alone get through the kernel's bitmap of always-allowed calls (Linux 5.11)
 * and never run the program; so an argument rule costs all uses of its call some 20 ns, and there are few of them.
 *
 * Set-user-ID modes are denied because a read-write workspace belongs to a user of the host: a set-user-ID file made
 * there is one on the host, where nosuid does not apply. A directory's set-group-ID bit falls under the same
 * rule, for a filter cannot tell files from directories.
 */
#include "jail/filter/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/array.h"
#include "jail/filter/arguments.h"
#include "jail/filter/bpf.h"
#include "jail/filter/syscalls.h"

#define X32_BIT 0x40000000u
/* clone cannot ask for CLONE_NEWTIME: that bit is part of its exit signal. */
#define NAMESPACE_FLAGS                                                                                      \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |        \
	 CLONE_NEWNET)
#define SET_ID_BITS (S_ISUID | S_ISGID)
/* Flags of open that make a file, and with it look at the mode. */
#define MAKE_FLAGS (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

#define INIT_PID 1

/* Capacity of a pipe that is made: what a program may have without asking. */
#define PIPE_BYTES 65536
/* preadv2(2): whether data is in memory (RWF_NOWAIT) is not asked, nor what later kernels add. */
#define READ_FLAGS (RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_APPEND | 0x20u /* RWF_NOAPPEND */)
/* Most values of a set in arguments.c. */
#define VALUES_MAX 96
/* Single numbers that are compared one after the other: more of them make the program shorter and its longest way longer. */
#define SINGLES_MAX 3
/* Values that one load of bits decides, and from how many runs of values among them that is shorter than comparing. */
#define BITS       32u
#define WORTH_BITS 4

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#define NATIVE_ARCH 0
#endif

const char *const seccomp_launch_calls[] = {
	"write",      "read",   "poll",   "ppoll", "close",  "execve",       "execveat",        "exit",
	"exit_group", "getpid", "gettid", "kill",  "tgkill", "rt_sigreturn", "restart_syscall", NULL,
};

/* Where a call number leads: a verdict, or past the verdicts the block of a rule. */
enum target {
	TARGET_ALLOW,
	TARGET_ABSENT,
	TARGET_INVALID,
	TARGET_DENY,
	TARGET_RULE, /* + enum syscall_rule */
	TARGET_COUNT = TARGET_RULE + SYSCALL_RULE_COUNT,
};

struct compiler {
	const struct seccomp_options *options;
	enum syscall_arch arch;
	uint8_t target[SYSCALL_NUMBERS];
	struct bpf bpf;
};

/* One run of numbers that lead to the same place; the last one goes on to the end of all numbers. */
struct range {
	uint32_t first;
	size_t label;
};

/* ---- verdicts ---- */

static size_t allow(struct compiler *c)
{
	return bpf_return(&c->bpf, SECCOMP_RET_ALLOW);
}

static size_t fail(struct compiler *c, uint16_t error)
{
	return bpf_return(&c->bpf, SECCOMP_RET_ERRNO | error);
}

static size_t deny(struct compiler *c)
{
	if (c->options->kill_on_violation)
		return bpf_return(&c->bpf, SECCOMP_RET_KILL_PROCESS);
	return fail(c, EPERM);
}

/* ---- trees ---- */

/* Ranges that lead to the same place, with single numbers between them that do not: an odd number of ranges. */
struct group {
	const struct range *ranges;
	size_t count;
};

/* The longest group at the beginning of the ranges. */
static struct group first_group(const struct range *ranges, size_t count)
{
	struct group group = { ranges, 1 };

	while (group.count / 2 < SINGLES_MAX && group.count + 1 < count &&
	       ranges[group.count + 1].label == ranges[0].label &&
	       ranges[group.count + 1].first == ranges[group.count].first + 1)
		group.count += 2;
	return group;
}

static size_t emit_group(struct compiler *c, const struct group *group)
{
	size_t next = group->ranges[0].label;

	for (size_t i = 1; i < group->count; i += 2)
		next = bpf_branch(&c->bpf, BPF_JEQ, group->ranges[i].first, group->ranges[i].label, next);
	return next;
}

static size_t emit_groups(struct compiler *c, const struct group *groups, size_t count)
{
	size_t half = count / 2;
	size_t above, below;

	if (count == 1)
		return emit_group(c, groups);
	above = emit_groups(c, groups + half, count - half);
	below = emit_groups(c, groups, half);
	return bpf_branch(&c->bpf, BPF_JGE, groups[half].ranges[0].first, above, below);
}

/* A single number takes one comparison, a range that begins and ends somewhere two. */
static size_t emit_tree(struct compiler *c, const struct range *ranges, size_t count)
{
	struct group groups[SYSCALL_NUMBERS];
	size_t used = 0;

	for (size_t i = 0; i < count; i += groups[used++].count)
		groups[used] = first_group(&ranges[i], count - i);
	return emit_groups(c, groups, used);
}

/* Success without the call. */
static size_t pretend(struct compiler *c)
{
	return fail(c, 0);
}

/* ---- argument blocks: each is read from its last line to its first ---- */

/* Load the low half of an argument. */
static size_t argument(struct compiler *c, unsigned int index, size_t next)
{
	return bpf_load(&c->bpf, (uint32_t)(offsetof(struct seccomp_data, args) + index * sizeof(uint64_t)),
			next);
}

/* Go on at `yes` if the accumulator is one of the values, else at `no`. */
static size_t one_of(struct compiler *c, const uint32_t *values, size_t count, size_t yes, size_t no)
{
	for (size_t i = 0; i < count; i++)
		no = bpf_branch(&c->bpf, BPF_JEQ, values[i], yes, no);
	return no;
}

static size_t deny_values(struct compiler *c, unsigned int index, const uint32_t *values, size_t count)
{
	return argument(c, index, one_of(c, values, count, deny(c), allow(c)));
}

static size_t deny_bits(struct compiler *c, unsigned int index, uint32_t bits)
{
	return argument(c, index, bpf_branch(&c->bpf, BPF_JSET, bits, deny(c), allow(c)));
}

static size_t clone_rule(struct compiler *c)
{
	size_t next = allow(c);

	if (!c->options->allow_spawn)
		next = bpf_branch(&c->bpf, BPF_JSET, CLONE_THREAD, next, deny(c));
	return argument(c, 0, bpf_branch(&c->bpf, BPF_JSET, NAMESPACE_FLAGS, deny(c), next));
}

/* The values of a set that the profile lets through, in ascending order. Returns how many. Many rows are in order already: then
 * inserting each takes less time than sorting all. */
static size_t collect_values(const struct compiler *c, enum argument_set set, uint32_t *ret)
{
	size_t count, kept = 0;
	const struct argument_value *rows = argument_values(set, &count);

	for (size_t i = 0; i < count && kept < VALUES_MAX; i++) {
		size_t at = kept;

		if ((int)rows[i].level > (int)c->options->profile)
			continue;
		for (; at > 0 && ret[at - 1] > rows[i].value; at--)
			ret[at] = ret[at - 1];
		ret[at] = rows[i].value;
		kept++;
	}
	return kept;
}

/* Which of the values from `base` on, up to BITS of them, are in the list: as bits. Sets how many there are, and runs of them. */
static uint32_t as_bits(const uint32_t *values, size_t count, uint32_t base, size_t *ret_values,
			size_t *ret_runs)
{
	uint32_t bits = 0;

	*ret_values = *ret_runs = 0;
	for (size_t i = 0; i < count && values[i] - base < BITS; i++) {
		*ret_runs += i == 0 || values[i] != values[i - 1] + 1;
		*ret_values += 1;
		bits |= 1u << (values[i] - base);
	}
	return bits;
}

/* Add a range that begins at `first`: in place of one that begins there too, as part of one with the same label. Returns how many
 * there are. */
static size_t put_range(struct range *ranges, size_t count, uint32_t first, size_t label)
{
	if (count > 0 && ranges[count - 1].first == first)
		count--;
	if (count > 0 && ranges[count - 1].label == label)
		return count;
	ranges[count] = (struct range){ first, label };
	return count + 1;
}

/* Load an argument, go on at `yes` if its low half is in the set, else at `no`. Values that lie close together are one range whose
 * bits are looked up: five instructions, where each run of values would take one or two. */
static size_t in_set(struct compiler *c, unsigned int index, enum argument_set set, size_t yes, size_t no)
{
	uint32_t values[VALUES_MAX];
	struct range ranges[2 * VALUES_MAX + 1];
	size_t count = collect_values(c, set, values);
	size_t used = put_range(ranges, 0, 0, no);
	size_t members, runs;

	for (size_t i = 0; i < count; i += members) {
		uint32_t base = values[i] & ~(BITS - 1);
		uint32_t bits = as_bits(&values[i], count - i, base, &members, &runs);
		size_t label;

		if (runs < WORTH_BITS) {
			members = 1;
			used = put_range(ranges, used, values[i], yes);
			used = put_range(ranges, used, values[i] + 1, no);
			continue;
		}
		label = bpf_and(&c->bpf, BITS - 1, bpf_bit(&c->bpf, bits, yes, no));
		used = put_range(ranges, used, base, label);
		used = put_range(ranges, used, base + BITS, no);
	}
	return argument(c, index, emit_tree(c, ranges, used));
}

static size_t ioctl_rule(struct compiler *c)
{
	size_t no = fail(c, ENOTTY);

	return in_set(c, 1, ARGUMENT_IOCTL, allow(c), no);
}

static size_t prctl_rule(struct compiler *c)
{
	size_t no = fail(c, EINVAL);

	return in_set(c, 0, ARGUMENT_PRCTL, allow(c), no);
}

static size_t option_rule(struct compiler *c)
{
	static const struct {
		uint32_t level;
		enum argument_set set;
	} levels[] = {
		{ SOL_NETLINK, ARGUMENT_SOL_NETLINK }, { IPPROTO_UDP, ARGUMENT_SOL_UDP },
		{ IPPROTO_IPV6, ARGUMENT_SOL_IPV6 },   { IPPROTO_IP, ARGUMENT_SOL_IP },
		{ IPPROTO_TCP, ARGUMENT_SOL_TCP },     { SOL_SOCKET, ARGUMENT_SOL_SOCKET },
	};
	size_t blocks[ARRAY_LENGTH(levels)];
	size_t no = fail(c, ENOPROTOOPT);
	size_t yes = allow(c);
	size_t next = no;

	for (size_t i = 0; i < ARRAY_LENGTH(levels); i++)
		blocks[i] = in_set(c, 2, levels[i].set, yes, no);
	for (size_t i = 0; i < ARRAY_LENGTH(levels); i++)
		next = bpf_branch(&c->bpf, BPF_JEQ, levels[i].level, blocks[i], next);
	return argument(c, 1, next);
}

/* Only questions, outside compat. */
static size_t filter_rule(struct compiler *c)
{
	static const uint32_t questions[] = { SECCOMP_GET_ACTION_AVAIL, SECCOMP_GET_NOTIF_SIZES };

	return argument(c, 0, one_of(c, questions, 2, allow(c), fail(c, EINVAL)));
}

/* The kernel answers EPERM too to who asks for more than he may have, so this one never kills. */
static size_t fcntl_rule(struct compiler *c)
{
	static const uint32_t absent[] = { F_SETLEASE, F_NOTIFY, F_SET_RW_HINT };
	size_t big = fail(c, EPERM);
	size_t size = argument(c, 2, bpf_branch(&c->bpf, BPF_JGE, PIPE_BYTES + 1, big, allow(c)));
	size_t other = one_of(c, absent, ARRAY_LENGTH(absent), fail(c, ENOSYS), allow(c));

	return argument(c, 1, bpf_branch(&c->bpf, BPF_JEQ, F_SETPIPE_SZ, size, other));
}

static size_t read_rule(struct compiler *c)
{
	return argument(c, 5, bpf_branch(&c->bpf, BPF_JSET, ~READ_FLAGS, fail(c, EOPNOTSUPP), allow(c)));
}

/* Advice may be ignored, so a program cannot notice. MADV_PAGEOUT and POSIX_FADV_DONTNEED drop pages of files that the host and other
 * jails use. */
static size_t advice_rule(struct compiler *c)
{
	size_t other = bpf_branch(&c->bpf, BPF_JEQ, MADV_PAGEOUT, pretend(c), allow(c));

	return argument(c, 2, bpf_branch(&c->bpf, BPF_JEQ, MADV_MERGEABLE, fail(c, EINVAL), other));
}

static size_t file_advice_rule(struct compiler *c)
{
	return argument(c, 3, bpf_branch(&c->bpf, BPF_JEQ, POSIX_FADV_DONTNEED, pretend(c), allow(c)));
}

static bool has_netlink(const struct seccomp_options *o)
{
	switch (o->profile) {
	case POLICY_SYSCALLS_STRICT:
		return false;
	case POLICY_SYSCALLS_DEFAULT:
		return o->network != POLICY_NETWORK_NONE;
	case POLICY_SYSCALLS_COMPAT:
		break;
	}
	return true;
}

/* Load the type of a socket without its flags. */
static size_t socket_type(struct compiler *c, const uint32_t *types, size_t count, size_t yes, size_t no)
{
	return argument(c, 1, bpf_and(&c->bpf, 0xf, one_of(c, types, count, yes, no)));
}

/* For a protocol that does not belong to the type, the kernel starts modprobe, as root, to look for one that does. */
static size_t internet_rule(struct compiler *c, size_t yes, size_t no)
{
	static const uint32_t stream[] = { 0, IPPROTO_TCP };
	static const uint32_t datagram[] = { 0, IPPROTO_UDP };
	size_t as_stream = argument(c, 2, one_of(c, stream, 2, yes, no));
	size_t as_datagram = argument(c, 2, one_of(c, datagram, 2, yes, no));
	size_t other = bpf_branch(&c->bpf, BPF_JEQ, SOCK_DGRAM, as_datagram, no);

	other = bpf_branch(&c->bpf, BPF_JEQ, SOCK_STREAM, as_stream, other);
	return argument(c, 1, bpf_and(&c->bpf, 0xf, other));
}

static size_t socket_rule(struct compiler *c)
{
	static const uint32_t local[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	static const uint32_t netlink[] = { SOCK_RAW, SOCK_DGRAM };
	static const uint32_t families[] = { AF_INET, AF_INET6 };
	size_t no = fail(c, EAFNOSUPPORT);
	size_t yes = allow(c);
	size_t by_protocol, as_local, as_internet, as_netlink, other;

	by_protocol = argument(c, 2, bpf_branch(&c->bpf, BPF_JEQ, NETLINK_ROUTE, yes, no));
	as_netlink = socket_type(c, netlink, 2, by_protocol, no);
	as_internet = internet_rule(c, yes, no);
	as_local = socket_type(c, local, 3, yes, no);
	other = has_netlink(c->options) ? bpf_branch(&c->bpf, BPF_JEQ, AF_NETLINK, as_netlink, no) : no;
	other = one_of(c, families, 2, as_internet, other);
	return argument(c, 0, bpf_branch(&c->bpf, BPF_JEQ, AF_UNIX, as_local, other));
}

static size_t socketpair_rule(struct compiler *c)
{
	return argument(c, 0, bpf_branch(&c->bpf, BPF_JEQ, AF_UNIX, allow(c), fail(c, EAFNOSUPPORT)));
}

static size_t open_rule(struct compiler *c, unsigned int flags)
{
	size_t mode = deny_bits(c, flags + 1, SET_ID_BITS);

	return argument(c, flags, bpf_branch(&c->bpf, BPF_JSET, MAKE_FLAGS, mode, allow(c)));
}

static size_t mknod_rule(struct compiler *c, unsigned int mode)
{
	static const uint32_t types[] = { 0, S_IFREG, S_IFIFO, S_IFSOCK };
	size_t next = bpf_and(&c->bpf, S_IFMT, one_of(c, types, 4, allow(c), deny(c)));

	return argument(c, mode, bpf_branch(&c->bpf, BPF_JSET, SET_ID_BITS, deny(c), next));
}

/* 0xffffffff asks for the present one. */
static size_t personality_rule(struct compiler *c)
{
	static const uint32_t allowed[] = { 0, 0xffffffff, ADDR_NO_RANDOMIZE };
	size_t count = c->options->profile == POLICY_SYSCALLS_COMPAT ? 3 : 2;

	return argument(c, 0, one_of(c, allowed, count, allow(c), deny(c)));
}

/* Deny the jail's init as the process that argument `index` names. */
static size_t init_rule(struct compiler *c, unsigned int index)
{
	static const uint32_t denied[] = { INIT_PID };

	return deny_values(c, index, denied, 1);
}

/* Go on at `yes` if the pointer in argument `index` is NULL: of all its 64 bits. */
static size_t if_null(struct compiler *c, unsigned int index, size_t yes, size_t no)
{
	const uint32_t high =
	    (uint32_t)(offsetof(struct seccomp_data, args) + index * sizeof(uint64_t) + sizeof(uint32_t));
	size_t next = bpf_load(&c->bpf, high, bpf_branch(&c->bpf, BPF_JEQ, 0, yes, no));

	return argument(c, index, bpf_branch(&c->bpf, BPF_JEQ, 0, next, no));
}

/* setrlimit */
static size_t core_rule(struct compiler *c)
{
	return argument(c, 0, bpf_branch(&c->bpf, BPF_JEQ, RLIMIT_CORE, pretend(c), allow(c)));
}

/* prlimit64: resource in argument 1, its new value in 2, a place for the old one in 3, which a call that is not made leaves as
 * it is. */
static size_t limit_rule(struct compiler *c)
{
	size_t set = if_null(c, 3, pretend(c), deny(c));
	size_t core = if_null(c, 2, allow(c), set);
	size_t other = argument(c, 1, bpf_branch(&c->bpf, BPF_JEQ, RLIMIT_CORE, core, allow(c)));

	return argument(c, 0, bpf_branch(&c->bpf, BPF_JEQ, INIT_PID, deny(c), other));
}

/* ... as the process or the process group that argument 1 names, both of which are init's, or among all of a user's processes,
 * which argument 0 asks for: an ordinary user's jail has init among them. */
static size_t init_rule_but(struct compiler *c, uint32_t user)
{
	size_t by_id = init_rule(c, 1);

	return argument(c, 0, bpf_branch(&c->bpf, BPF_JEQ, user, deny(c), by_id));
}

/* The rules that only deny bits of one argument. */
static const struct {
	unsigned int argument;
	uint32_t bits;
} denied_bits[SYSCALL_RULE_COUNT] = {
	[SYSCALL_RULE_MODE_1] = { 1, SET_ID_BITS },     [SYSCALL_RULE_MODE_2] = { 2, SET_ID_BITS },
	[SYSCALL_RULE_RENAME] = { 4, RENAME_WHITEOUT }, [SYSCALL_RULE_MMAP] = { 3, MAP_HUGETLB },
	[SYSCALL_RULE_MEMFD] = { 1, MFD_HUGETLB },      [SYSCALL_RULE_SHMGET] = { 2, SHM_HUGETLB },
};

static size_t emit_rule(struct compiler *c, enum syscall_rule rule)
{
	switch (rule) {
	case SYSCALL_RULE_NONE:
	case SYSCALL_RULE_COUNT:
		break;
	case SYSCALL_RULE_SPAWN:
		return c->options->allow_spawn ? allow(c) : deny(c);
	case SYSCALL_RULE_CLONE:
		return clone_rule(c);
	case SYSCALL_RULE_IOCTL:
		return ioctl_rule(c);
	case SYSCALL_RULE_FCNTL:
		return c->options->profile == POLICY_SYSCALLS_COMPAT ? allow(c) : fcntl_rule(c);
	case SYSCALL_RULE_SECCOMP:
		return c->options->profile == POLICY_SYSCALLS_COMPAT ? allow(c) : filter_rule(c);
	case SYSCALL_RULE_SETSOCKOPT:
		return option_rule(c);
	case SYSCALL_RULE_PREADV2:
		return read_rule(c);
	case SYSCALL_RULE_MADVISE:
		return advice_rule(c);
	case SYSCALL_RULE_FADVISE:
		return file_advice_rule(c);
	case SYSCALL_RULE_SOCKET:
		return socket_rule(c);
	case SYSCALL_RULE_SOCKETPAIR:
		return socketpair_rule(c);
	case SYSCALL_RULE_MODE_1:
	case SYSCALL_RULE_MODE_2:
	case SYSCALL_RULE_RENAME:
	case SYSCALL_RULE_MMAP:
	case SYSCALL_RULE_MEMFD:
	case SYSCALL_RULE_SHMGET:
		return deny_bits(c, denied_bits[rule].argument, denied_bits[rule].bits);
	case SYSCALL_RULE_OPEN:
		return open_rule(c, 1);
	case SYSCALL_RULE_OPENAT:
		return open_rule(c, 2);
	case SYSCALL_RULE_MKNOD:
		return mknod_rule(c, 1);
	case SYSCALL_RULE_MKNODAT:
		return mknod_rule(c, 2);
	case SYSCALL_RULE_PERSONALITY:
		return personality_rule(c);
	case SYSCALL_RULE_PRCTL:
		return prctl_rule(c);
	case SYSCALL_RULE_PID:
		return init_rule(c, 0);
	case SYSCALL_RULE_LIMIT:
		return limit_rule(c);
	case SYSCALL_RULE_CORE:
		return core_rule(c);
	case SYSCALL_RULE_PRIORITY:
		return init_rule_but(c, PRIO_USER);
	case SYSCALL_RULE_IO_PRIORITY:
		return init_rule_but(c, IOPRIO_WHO_USER);
	}
	return allow(c);
}

static size_t emit_target(struct compiler *c, enum target target)
{
	switch ((int)target) {
	case TARGET_ALLOW:
		return allow(c);
	case TARGET_ABSENT:
		return fail(c, ENOSYS);
	case TARGET_INVALID:
		return fail(c, EINVAL);
	case TARGET_DENY:
		return deny(c);
	}
	return emit_rule(c, (enum syscall_rule)(target - TARGET_RULE));
}

/* ---- program ---- */

/* Split the numbers into ranges of equal target and write what they lead to. Returns how many. */
static size_t emit_ranges(struct compiler *c, struct range *ret)
{
	size_t labels[TARGET_COUNT];
	bool written[TARGET_COUNT] = { false };
	size_t count = 0;

	for (uint32_t nr = 0; nr < SYSCALL_NUMBERS; nr++) {
		uint8_t target = c->target[nr];

		if (nr > 0 && target == c->target[nr - 1])
			continue;
		if (!written[target])
			labels[target] = emit_target(c, target);
		written[target] = true;
		ret[count++] = (struct range){ nr, labels[target] };
	}
	return count;
}

static size_t emit_number_check(struct compiler *c, size_t tree)
{
	size_t kill = bpf_return(&c->bpf, SECCOMP_RET_KILL_PROCESS);

	if (c->arch != SYSCALL_X86_64)
		return tree;
	kill = bpf_branch(&c->bpf, BPF_JEQ, 0xffffffff, fail(c, ENOSYS), kill);
	return bpf_branch(&c->bpf, BPF_JGE, X32_BIT, kill, tree);
}

static void emit_program(struct compiler *c, uint32_t audit_arch)
{
	struct range ranges[SYSCALL_NUMBERS];
	size_t count = emit_ranges(c, ranges);
	size_t next = emit_number_check(c, emit_tree(c, ranges, count));
	size_t kill;

	next = bpf_load(&c->bpf, offsetof(struct seccomp_data, nr), next);
	kill = bpf_return(&c->bpf, SECCOMP_RET_KILL_PROCESS);
	next = bpf_branch(&c->bpf, BPF_JEQ, audit_arch, next, kill);
	bpf_load(&c->bpf, offsetof(struct seccomp_data, arch), next);
}

/* ---- profile and lists ---- */

static void set_target(struct compiler *c, const struct syscall_row *row, enum target target)
{
	if (row->number[c->arch] >= 0)
		c->target[row->number[c->arch]] = (uint8_t)target;
}

static enum target allowed_target(const struct syscall_row *row)
{
	return row->rule == SYSCALL_RULE_NONE ? TARGET_ALLOW : (enum target)(TARGET_RULE + row->rule);
}

static void apply_profile(struct compiler *c)
{
	static const enum target refusals[] = {
		[SYSCALL_ABSENT] = TARGET_ABSENT,
		[SYSCALL_INVALID] = TARGET_INVALID,
		[SYSCALL_DENIED] = TARGET_DENY,
	};
	const struct syscall_group *group;

	memset(c->target, TARGET_ABSENT, sizeof(c->target));
	for (size_t i = 0; (group = syscall_group(i)); i++)
		for (size_t j = 0; j < group->count; j++) {
			const struct syscall_row *row = &group->rows[j];

			if ((int)group->level <= (int)c->options->profile)
				set_target(c, row, allowed_target(row));
			else
				set_target(c, row, refusals[group->refusal]);
		}
}

static bool listed(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool needed_by_launch(const char *name)
{
	for (size_t i = 0; seccomp_launch_calls[i]; i++)
		if (strcmp(seccomp_launch_calls[i], name) == 0)
			return true;
	return false;
}

static int unknown_call(const char *field, const char *name, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			 "%s: \"%s\" is not a system call; names are those of the kernel, such as \"openat\"",
			 field, name);
}

static int apply_allow(struct compiler *c, struct warder_error *err)
{
	const struct seccomp_options *o = c->options;

	for (size_t i = 0; i < o->allow_count; i++) {
		const struct syscall_group *group;
		const struct syscall_row *row = syscall_find(o->allow[i], &group);
		char field[40];

		snprintf(field, sizeof(field), "syscalls.allow[%zu]", i);
		if (!row)
			return unknown_call(field, o->allow[i], err);
		if (group->level == SYSCALL_NEVER)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
					 "%s: no policy can allow \"%s\" (%s: %s)", field, row->name,
					 group->shown.name, group->shown.reason);
		if (row->rule == SYSCALL_RULE_SECCOMP && o->profile != POLICY_SYSCALLS_COMPAT)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
					 "%s: \"%s\" can be allowed only with syscalls.profile \"compat\": "
					 "the memory of a program's own filters is charged to nobody",
					 field, row->name);
		if (listed(row->name, o->deny, o->deny_count))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
					 "%s: \"%s\" is in syscalls.deny too; leave it out of one of them",
					 field, row->name);
		set_target(c, row, allowed_target(row));
	}
	return 0;
}

static int apply_deny(struct compiler *c, struct warder_error *err)
{
	const struct seccomp_options *o = c->options;

	for (size_t i = 0; i < o->deny_count; i++) {
		const struct syscall_row *row = syscall_find(o->deny[i], NULL);
		char field[40];

		snprintf(field, sizeof(field), "syscalls.deny[%zu]", i);
		if (!row)
			return unknown_call(field, o->deny[i], err);
		if (needed_by_launch(row->name))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
					 "%s: \"%s\" cannot be denied: no program starts or ends without it",
					 field, row->name);
		if (row->number[c->arch] >= 0 && c->target[row->number[c->arch]] != TARGET_ABSENT)
			set_target(c, row, TARGET_DENY);
	}
	return 0;
}

/* ---- interface ---- */

static int find_arch(uint32_t audit_arch, enum syscall_arch *ret)
{
	switch (audit_arch) {
	case AUDIT_ARCH_X86_64:
		*ret = SYSCALL_X86_64;
		return 0;
	case AUDIT_ARCH_AARCH64:
		*ret = SYSCALL_AARCH64;
		return 0;
	}
	return -1;
}

int seccomp_compile_for(uint32_t audit_arch, const struct seccomp_options *options,
			struct seccomp_program *ret, struct warder_error *err)
{
	struct compiler c = { .options = options };

	if (find_arch(audit_arch, &c.arch) < 0)
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "syscalls.profile",
				 "there is no system call filter for this architecture; "
				 "x86_64 and little-endian aarch64 have one");
	apply_profile(&c);
	if (apply_allow(&c, err) < 0 || apply_deny(&c, err) < 0)
		return -1;
	emit_program(&c, audit_arch);
	if (bpf_finish(&c.bpf, ret) < 0)
		return error_set(err, WARDER_ERROR_INTERNAL, "syscalls.profile",
				 "the system call filter is longer than %d instructions",
				 SECCOMP_PROGRAM_MAX);
	return 0;
}

int seccomp_compile(const struct seccomp_options *options, struct seccomp_program *ret,
		    struct warder_error *err)
{
	return seccomp_compile_for(NATIVE_ARCH, options, ret, err);
}

const char *seccomp_name(size_t i)
{
	const struct syscall_group *group;
	enum syscall_arch arch;

	if (find_arch(NATIVE_ARCH, &arch) < 0)
		return NULL;
	for (size_t g = 0; (group = syscall_group(g)); g++)
		for (size_t j = 0; j < group->count; j++)
			if (group->rows[j].number[arch] >= 0 && i-- == 0)
				return group->rows[j].name;
	return NULL;
}

bool seccomp_reaches(const struct seccomp_options *options, const char *name)
{
	const struct syscall_group *group;

	return syscall_find(name, &group) && !listed(name, options->deny, options->deny_count) &&
	       ((int)group->level <= (int)options->profile ||
		listed(name, options->allow, options->allow_count));
}

/* ---- what is denied, in words ---- */

#define EVERY_PROFILE                                                                                        \
	{                                                                                                    \
		true, true, true                                                                             \
	}
#define UP_TO_DEFAULT                                                                                        \
	{                                                                                                    \
		true, true, false                                                                            \
	}

static const struct seccomp_group argument_groups[] = {
	{ "namespaces by clone", "a new user namespace opens the parts of the kernel meant for root",
	  "clone(CLONE_NEW*)", "EPERM", EVERY_PROFILE, false },
	{ "other ioctl requests",
	  "some make the kernel load modules or type into terminals, and every driver adds more; what "
	  "terminals, files, and queries of the jail's own network need is allowed",
	  "ioctl(other)", "ENOTTY", EVERY_PROFILE, false },
	{ "other socket options",
	  "some attach programs, patch the running kernel or reserve memory; what servers and clients set is "
	  "allowed",
	  "setsockopt(other)", "ENOPROTOOPT", EVERY_PROFILE, false },
	{ "other process options",
	  "prctl rewrites what /proc shows, merges memory and installs filters; what libraries ask for is "
	  "allowed",
	  "prctl(other)", "EINVAL", EVERY_PROFILE, false },
	{ "own system call filters",
	  "their memory is charged to nobody, has one limit for the whole host, and freeing many at once can "
	  "stop a kernel; programs go on as on a kernel without filters",
	  "seccomp(SECCOMP_SET_MODE_STRICT) seccomp(SECCOMP_SET_MODE_FILTER) prctl(PR_SET_SECCOMP)", "EINVAL",
	  UP_TO_DEFAULT, false },
	{ "socket filters", "as own system call filters",
	  "setsockopt(SO_ATTACH_FILTER) setsockopt(SO_ATTACH_BPF) setsockopt(SO_ATTACH_REUSEPORT_CBPF) "
	  "setsockopt(SO_ATTACH_REUSEPORT_EBPF)",
	  "ENOPROTOOPT", UP_TO_DEFAULT, false },
	{ "other sockets",
	  "only local, TCP and UDP sockets and routing queries: protocols that few use are where kernel "
	  "errors are found",
	  "socket(other) socketpair(other)", "EAFNOSUPPORT", EVERY_PROFILE, false },
	{ "routing queries",
	  "a query can make the kernel load a module that the program names; the profile default allows them "
	  "unless network.mode is none, because listing interfaces needs them",
	  "socket(AF_NETLINK)", "EAFNOSUPPORT", UP_TO_DEFAULT, true },
	{ "set-user-ID and set-group-ID modes",
	  "a file made in a read-write workspace belongs to a user of the host and would be set-user-ID "
	  "there",
	  "chmod(+s) fchmod(+s) fchmodat(+s) fchmodat2(+s) open(+s) openat(+s) creat(+s) mkdir(+s) "
	  "mkdirat(+s) mknod(+s) "
	  "mknodat(+s)",
	  "EPERM", EVERY_PROFILE, false },
	{ "device nodes",
	  "a device is a way to the hardware or the kernel, and device 0:0 hides files where a directory is "
	  "a layer of an overlay; fifos, sockets and files are allowed",
	  "mknod(device) mknodat(device) renameat2(RENAME_WHITEOUT)", "EPERM", EVERY_PROFILE, false },
	{ "execution domains",
	  "turns off address randomisation or makes all memory executable; compat allows ADDR_NO_RANDOMIZE "
	  "for debuggers",
	  "personality(other)", "EPERM", EVERY_PROFILE, false },
	{ "huge pages", "taken from a pool of the host that the memory limit does not count",
	  "mmap(MAP_HUGETLB) memfd_create(MFD_HUGETLB) shmget(SHM_HUGETLB)", "EPERM", EVERY_PROFILE, false },
	{ "limits and scheduling of the jail's init",
	  "in an ordinary user's jail init has the program's own user id: a limit on its processor time "
	  "would end the jail from within, as if the host had failed; other processes are allowed",
	  "prlimit64(1) setpriority(PRIO_PROCESS,1) setpriority(PRIO_PGRP,1) setpriority(PRIO_USER) "
	  "sched_setscheduler(1) sched_setparam(1) sched_setattr(1) sched_setaffinity(1) "
	  "ioprio_set(IOPRIO_WHO_PROCESS,1) ioprio_set(IOPRIO_WHO_PGRP,1) ioprio_set(IOPRIO_WHO_USER)",
	  "EPERM", EVERY_PROFILE, false },
	{ "limit of core dumps",
	  "at 1 it is the kernel's word for no core dump at all; at any other value a host that has core "
	  "dumps piped starts that "
	  "program, as root, for a program that crashes; setting it succeeds and changes nothing",
	  "setrlimit(RLIMIT_CORE) prlimit64(RLIMIT_CORE)", "no effect", EVERY_PROFILE, false },
	{ "leases and directory notification",
	  "a lease on a workspace's file makes its readers on the host wait; notification and hints tell "
	  "what "
	  "others do with the files that all jails share",
	  "fcntl(F_SETLEASE) fcntl(F_NOTIFY) fcntl(F_SET_RW_HINT)", "ENOSYS", UP_TO_DEFAULT, false },
	{ "large pipes", "the pages of pipes are counted for a user of the host, not for a jail",
	  "fcntl(F_SETPIPE_SZ,65537)", "EPERM", UP_TO_DEFAULT, false },
	{ "reading only what is in memory", "tells which pages of shared files others have read",
	  "preadv2(RWF_NOWAIT)", "EOPNOTSUPP", EVERY_PROFILE, false },
	{ "merging memory",
	  "what is equal in two jails becomes one page, which writing to it tells by its time",
	  "madvise(MADV_MERGEABLE) prctl(PR_SET_MEMORY_MERGE)", "EINVAL", EVERY_PROFILE, false },
	{ "dropping cached pages",
	  "the host and other jails use the same pages, and the next reader waits for the disk",
	  "fadvise64(POSIX_FADV_DONTNEED) madvise(MADV_PAGEOUT)", "no effect", EVERY_PROFILE, false },
};

const struct seccomp_group *seccomp_group(size_t i)
{
	const struct syscall_group *group;

	for (size_t j = 0; (group = syscall_group(j)); j++)
		if (group->shown.name && i-- == 0)
			return &group->shown;
	return i < ARRAY_LENGTH(argument_groups) ? &argument_groups[i] : NULL;
}

bool seccomp_denies(const struct seccomp_group *group, enum policy_syscall_profile profile,
		    enum policy_network_mode network)
{
	bool spared =
	    group->unless_network && profile == POLICY_SYSCALLS_DEFAULT && network != POLICY_NETWORK_NONE;

	return group->denied[profile] && !spared;
}
