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

#include "jail/seccomp.h"
#include "jail/syscalls.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

static inline bool socket_is_allowed(uint32_t domain, uint32_t type, uint32_t protocol)
{
	type &= 0xf;
	switch (domain) {
	case AF_UNIX:
		return type == SOCK_STREAM || type == SOCK_DGRAM || type == SOCK_SEQPACKET;
	case AF_INET:
	case AF_INET6:
		return (type == SOCK_STREAM || type == SOCK_DGRAM) &&
		       (protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP);
	case AF_NETLINK:
		return (type == SOCK_RAW || type == SOCK_DGRAM) && protocol == NETLINK_ROUTE;
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

	return mode_is_plain(mode) && is_one_of(mode & 0170000, types, COUNT(types));
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

#define DONE (-2) /* success, without the call */

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
		return a[1] == 0x5412 || a[1] == 0x541c || a[1] == 0x541d || a[1] == 0x5423 ? EPERM : 0;
	case SYSCALL_RULE_FCNTL:
		return o->profile != POLICY_SYSCALLS_COMPAT && (a[1] == 1024 || a[1] == 1026) ? ENOSYS : 0;
	case SYSCALL_RULE_SOCKET:
		return socket_is_allowed(a[0], a[1], a[2]) ? 0 : EAFNOSUPPORT;
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
		return a[0] == 35 ? EPERM : 0;
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
		return index->groups[nr]->refusal == SYSCALL_ABSENT ? ENOSYS : EPERM;
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
	return error == EPERM && o->kill_on_violation ? KILL : FAIL((uint32_t)error);
}

#endif
