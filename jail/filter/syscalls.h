/*
 * syscalls: the table of system calls behind the filter. Private to this folder.
 *
 * One row per call: its name, its number on each architecture, and the argument rule that watches it. Rows are
 * gathered into groups; a group holds the verdict (from which profile on its calls are allowed, and what they
 * answer where they are not) and the reason. Constant data; any thread.
 */
#ifndef WARDER_JAIL_FILTER_SYSCALLS_H
#define WARDER_JAIL_FILTER_SYSCALLS_H

#include <stddef.h>
#include <stdint.h>

#include "jail/filter/seccomp.h"

enum syscall_arch {
	SYSCALL_X86_64,
	SYSCALL_AARCH64,
	SYSCALL_ARCH_COUNT,
};

/* Numbers in the table lie below this on every architecture. */
#define SYSCALL_NUMBERS 512

/* The narrowest profile that allows a group. The first three equal enum policy_syscall_profile, so that each
 * profile allows at least what the narrower one does. */
enum syscall_level {
	SYSCALL_STRICT,
	SYSCALL_DEFAULT,
	SYSCALL_COMPAT,
	SYSCALL_NAMED, /* by no profile, but a policy may name the call in syscalls.allow */
	SYSCALL_NEVER,
};

enum syscall_refusal {
	SYSCALL_ABSENT,  /* ENOSYS */
	SYSCALL_INVALID, /* EINVAL */
	SYSCALL_DENIED,  /* EPERM, or the process is killed */
};

/* What looks at the arguments of an allowed call; seccomp.c has the instructions. */
enum syscall_rule {
	SYSCALL_RULE_NONE,
	SYSCALL_RULE_SPAWN,       /* fork, vfork: makes a process */
	SYSCALL_RULE_CLONE,       /* namespaces; processes */
	SYSCALL_RULE_IOCTL,       /* requests of arguments.c */
	SYSCALL_RULE_SETSOCKOPT,  /* options of arguments.c, by level */
	SYSCALL_RULE_PRCTL,       /* options of arguments.c */
	SYSCALL_RULE_SECCOMP,     /* no filters of one's own, not in compat */
	SYSCALL_RULE_FCNTL,       /* leases, directory notification, hints, large pipes; not in compat */
	SYSCALL_RULE_PREADV2,     /* flags */
	SYSCALL_RULE_MADVISE,     /* no merging of memory, no dropping of pages */
	SYSCALL_RULE_FADVISE,     /* no dropping of cached pages */
	SYSCALL_RULE_SOCKET,      /* domain, type, protocol; the network */
	SYSCALL_RULE_SOCKETPAIR,  /* domain */
	SYSCALL_RULE_MODE_1,      /* no set-user-ID mode in argument 1 */
	SYSCALL_RULE_MODE_2,      /* ... in argument 2 */
	SYSCALL_RULE_OPEN,        /* ... when a file is made */
	SYSCALL_RULE_OPENAT,      /* the same, one argument later */
	SYSCALL_RULE_MKNOD,       /* no device, no set-user-ID mode */
	SYSCALL_RULE_MKNODAT,     /* the same, one argument later */
	SYSCALL_RULE_RENAME,      /* no whiteout, which is a device, is left behind */
	SYSCALL_RULE_PERSONALITY, /* execution domain */
	SYSCALL_RULE_MMAP,        /* huge pages */
	SYSCALL_RULE_MEMFD,
	SYSCALL_RULE_SHMGET,
	SYSCALL_RULE_PID,         /* argument 0 is not the jail's init */
	SYSCALL_RULE_LIMIT,       /* the same, and no limit of core dumps is set */
	SYSCALL_RULE_CORE,        /* argument 0 is not that limit */
	SYSCALL_RULE_PRIORITY,    /* argument 1 is not init or its group, argument 0 not all of a user */
	SYSCALL_RULE_IO_PRIORITY, /* the same, with another number for a user */
	SYSCALL_RULE_COUNT,
};

struct syscall_row {
	const char *name;
	int16_t number[SYSCALL_ARCH_COUNT]; /* -1: the architecture has no such call */
	enum syscall_rule rule;
};

struct syscall_group {
	struct seccomp_group shown;
	enum syscall_level level;
	enum syscall_refusal refusal;
	const struct syscall_row *rows;
	size_t count;
};

/* Group i, in the order of the table; NULL past the end. */
const struct syscall_group *syscall_group(size_t i);

/* The row of a call, or NULL if the name is unknown. `ret_group` may be NULL. */
const struct syscall_row *syscall_find(const char *name, const struct syscall_group **ret_group);

#endif
