/*
 * seccomp_model: what the filter answers, by a plain reading of the table and of the rules: the second opinion that a compiled
 * program is compared with. Numbers of its own where the product uses the system's names.
 */
#ifndef WARDER_TESTS_SECCOMP_MODEL_H
#define WARDER_TESTS_SECCOMP_MODEL_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/array.h"
#include "jail/filter/seccomp.h"
#include "jail/filter/syscalls.h"

#define ALLOW       SECCOMP_RET_ALLOW
#define KILL        SECCOMP_RET_KILL_PROCESS
#define FAIL(error) (SECCOMP_RET_ERRNO | (error))

static const uint32_t audit_archs[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };

static inline bool is_one_of(uint32_t value, const uint32_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (values[i] == value)
			return true;
	return false;
}

/* ---- values ---- */

enum value_set {
	VALUE_IOCTL,
	VALUE_PRCTL,
	VALUE_SOL_SOCKET,
	VALUE_SOL_IP,
	VALUE_SOL_TCP,
	VALUE_SOL_UDP,
	VALUE_SOL_IPV6,
	VALUE_SOL_NETLINK,
};

static const struct value_row {
	enum value_set set;
	uint32_t number;
	char profile; /* the narrowest one that lets it through; '-': none */
	const char *name;
} value_rows[] = {
#define V(set, number, profile, name) { VALUE_##set, number, profile, name },
#include "tests/unit/jail/filter/seccomp_values.txt"
#undef V
};

/* The row of a number, or NULL: the file is sorted. */
static inline const struct value_row *find_value(enum value_set set, uint32_t number)
{
	size_t low = 0, high = ARRAY_LENGTH(value_rows);

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct value_row *row = &value_rows[middle];

		if (row->set == set && row->number == number)
			return row;
		if (row->set < set || (row->set == set && row->number < number))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static inline bool value_is_allowed(enum value_set set, uint32_t number, enum policy_syscall_profile profile)
{
	const struct value_row *row = find_value(set, number);

	return row && (row->profile == 's' || (row->profile == 'd' && profile != POLICY_SYSCALLS_STRICT) ||
		       (row->profile == 'c' && profile == POLICY_SYSCALLS_COMPAT));
}

static inline bool option_is_allowed(uint32_t level, uint32_t option, enum policy_syscall_profile profile)
{
	switch (level) {
	case 1:
		return value_is_allowed(VALUE_SOL_SOCKET, option, profile);
	case 0:
		return value_is_allowed(VALUE_SOL_IP, option, profile);
	case 6:
		return value_is_allowed(VALUE_SOL_TCP, option, profile);
	case 17:
		return value_is_allowed(VALUE_SOL_UDP, option, profile);
	case 41:
		return value_is_allowed(VALUE_SOL_IPV6, option, profile);
	case 270:
		return value_is_allowed(VALUE_SOL_NETLINK, option, profile);
	}
	return false;
}

/* ---- rules ---- */

static inline bool netlink_is_allowed(const struct seccomp_options *o)
{
	return o->profile == POLICY_SYSCALLS_COMPAT ||
	       (o->profile == POLICY_SYSCALLS_DEFAULT && o->network != POLICY_NETWORK_NONE);
}

static inline bool socket_is_allowed(const struct seccomp_options *o, uint32_t domain, uint32_t type,
				     uint32_t protocol)
{
	type &= 0xf;
	switch (domain) {
	case AF_UNIX:
		return type == SOCK_STREAM || type == SOCK_DGRAM || type == SOCK_SEQPACKET;
	case AF_INET:
	case AF_INET6:
		return (type == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP)) ||
		       (type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP));
	case AF_NETLINK:
		return (type == SOCK_RAW || type == SOCK_DGRAM) && protocol == NETLINK_ROUTE &&
		       netlink_is_allowed(o);
	}
	return false;
}

static inline bool mode_is_plain(uint32_t mode)
{
	return (mode & 06000) == 0;
}

static inline bool open_is_allowed(uint32_t flags, uint32_t mode)
{
	return (flags & (0100 | 020000000)) == 0 || mode_is_plain(mode);
}

static inline bool node_is_allowed(uint32_t mode)
{
	static const uint32_t types[] = { 0, S_IFREG, S_IFIFO, S_IFSOCK };

	return mode_is_plain(mode) && is_one_of(mode & 0170000, types, ARRAY_LENGTH(types));
}

static inline bool clone_is_allowed(uint32_t flags, bool allow_spawn)
{
	return (flags & 0x7e020000) == 0 && (allow_spawn || (flags & 0x10000) != 0);
}

static inline bool personality_is_allowed(uint32_t domain, enum policy_syscall_profile profile)
{
	return domain == 0 || domain == 0xffffffff ||
	       (profile == POLICY_SYSCALLS_COMPAT && domain == 0x40000);
}

#define DONE  (-2) /* success, without the call */
#define LIMIT (-3) /* EPERM, as the kernel's own limit: it never kills */

static inline int fcntl_error(uint32_t command, uint32_t value)
{
	if (command == 1024 || command == 1026 || command == 1036)
		return ENOSYS;
	return command == 1031 && value > 65536 ? LIMIT : 0;
}

/* Of prlimit64 and a limit of core dumps: by its pointers. */
static inline int core_error(uint64_t new_limit, uint64_t old_limit)
{
	return new_limit == 0 ? 0 : old_limit == 0 ? DONE : EPERM;
}

/* errno of a rule on the low halves of the arguments, of pointers on all of them; 0: allowed; or DONE. */
static inline int rule_error(enum syscall_rule rule, const struct seccomp_options *o, const uint32_t *a,
			     const uint64_t *whole)
{
	switch (rule) {
	case SYSCALL_RULE_NONE:
	case SYSCALL_RULE_COUNT:
		return 0;
	case SYSCALL_RULE_SPAWN:
		return o->allow_spawn ? 0 : EPERM;
	case SYSCALL_RULE_CLONE:
		return clone_is_allowed(a[0], o->allow_spawn) ? 0 : EPERM;
	case SYSCALL_RULE_IOCTL:
		return value_is_allowed(VALUE_IOCTL, a[1], o->profile) ? 0 : ENOTTY;
	case SYSCALL_RULE_SETSOCKOPT:
		return option_is_allowed(a[1], a[2], o->profile) ? 0 : ENOPROTOOPT;
	case SYSCALL_RULE_SECCOMP:
		return o->profile == POLICY_SYSCALLS_COMPAT || a[0] == 2 || a[0] == 3 ? 0 : EINVAL;
	case SYSCALL_RULE_FCNTL:
		return o->profile == POLICY_SYSCALLS_COMPAT ? 0 : fcntl_error(a[1], a[2]);
	case SYSCALL_RULE_PREADV2:
		return a[5] & ~0x37u ? EOPNOTSUPP : 0;
	case SYSCALL_RULE_FADVISE:
		return a[3] == 4 ? DONE : 0;
	case SYSCALL_RULE_MADVISE:
		return a[2] == 12 ? EINVAL : a[2] == 21 ? DONE : 0;
	case SYSCALL_RULE_SOCKET:
		return socket_is_allowed(o, a[0], a[1], a[2]) ? 0 : EAFNOSUPPORT;
	case SYSCALL_RULE_SOCKETPAIR:
		return a[0] == AF_UNIX ? 0 : EAFNOSUPPORT;
	case SYSCALL_RULE_MODE_1:
		return mode_is_plain(a[1]) ? 0 : EPERM;
	case SYSCALL_RULE_MODE_2:
		return mode_is_plain(a[2]) ? 0 : EPERM;
	case SYSCALL_RULE_OPEN:
		return open_is_allowed(a[1], a[2]) ? 0 : EPERM;
	case SYSCALL_RULE_OPENAT:
		return open_is_allowed(a[2], a[3]) ? 0 : EPERM;
	case SYSCALL_RULE_MKNOD:
		return node_is_allowed(a[1]) ? 0 : EPERM;
	case SYSCALL_RULE_MKNODAT:
		return node_is_allowed(a[2]) ? 0 : EPERM;
	case SYSCALL_RULE_RENAME:
		return a[4] & 4 ? EPERM : 0;
	case SYSCALL_RULE_PERSONALITY:
		return personality_is_allowed(a[0], o->profile) ? 0 : EPERM;
	case SYSCALL_RULE_MMAP:
		return a[3] & 0x40000 ? EPERM : 0;
	case SYSCALL_RULE_MEMFD:
		return a[1] & 4 ? EPERM : 0;
	case SYSCALL_RULE_SHMGET:
		return a[2] & 04000 ? EPERM : 0;
	case SYSCALL_RULE_PRCTL:
		return value_is_allowed(VALUE_PRCTL, a[0], o->profile) ? 0 : EINVAL;
	case SYSCALL_RULE_PID:
		return a[0] == 1 ? EPERM : 0;
	case SYSCALL_RULE_LIMIT:
		return a[0] == 1 ? EPERM : a[1] == 4 ? core_error(whole[2], whole[3]) : 0;
	case SYSCALL_RULE_CORE:
		return a[0] == 4 ? DONE : 0;
	case SYSCALL_RULE_PRIORITY:
		return a[0] == 2 || a[1] == 1 ? EPERM : 0;
	case SYSCALL_RULE_IO_PRIORITY:
		return a[0] == 3 || a[1] == 1 ? EPERM : 0;
	}
	return -1;
}

/* Rows by number. */
struct index {
	const struct syscall_row *rows[SYSCALL_NUMBERS];
	const struct syscall_group *groups[SYSCALL_NUMBERS];
};

static inline void index_arch(enum syscall_arch arch, struct index *ret)
{
	const struct syscall_group *group;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; (group = syscall_group(i)); i++)
		for (size_t j = 0; j < group->count; j++)
			if (group->rows[j].number[arch] >= 0) {
				ret->rows[group->rows[j].number[arch]] = &group->rows[j];
				ret->groups[group->rows[j].number[arch]] = group;
			}
}

static inline bool in_list(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

static inline int call_error(const struct index *index, const struct seccomp_options *o,
			     const struct seccomp_data *data)
{
	static const int refusals[] = {
		[SYSCALL_ABSENT] = ENOSYS, [SYSCALL_INVALID] = EINVAL, [SYSCALL_DENIED] = EPERM
	};
	uint32_t nr = (uint32_t)data->nr;
	uint32_t low[6];
	uint64_t whole[6];

	if (nr >= SYSCALL_NUMBERS || !index->rows[nr])
		return ENOSYS;
	for (size_t i = 0; i < 6; i++) {
		whole[i] = data->args[i];
		low[i] = (uint32_t)whole[i];
	}
	if ((int)index->groups[nr]->level > (int)o->profile &&
	    !in_list(index->rows[nr]->name, o->allow, o->allow_count))
		return refusals[index->groups[nr]->refusal];
	if (in_list(index->rows[nr]->name, o->deny, o->deny_count))
		return EPERM;
	return rule_error(index->rows[nr]->rule, o, low, whole);
}

static inline uint32_t expected(const struct index *index, enum syscall_arch arch,
				const struct seccomp_options *o, const struct seccomp_data *data)
{
	uint32_t nr = (uint32_t)data->nr;
	int error;

	if (data->arch != audit_archs[arch])
		return KILL;
	if (arch == SYSCALL_X86_64 && nr >= 0x40000000 && nr != 0xffffffff)
		return KILL;
	error = call_error(index, o, data);
	if (error == 0)
		return ALLOW;
	if (error == DONE)
		return FAIL(0);
	if (error == LIMIT)
		return FAIL(EPERM);
	return error == EPERM && o->kill_on_violation ? KILL : FAIL((uint32_t)error);
}

#endif
