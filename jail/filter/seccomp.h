/*
 * seccomp: the system call filter as BPF bytes.
 *
 * seccomp_compile() turns a profile and its options into one classic BPF program; loading is one
 * seccomp(2) call by the payload (jail/inside). Pure computation: no system call, no global
 * state; host side, any thread. The program: foreign architecture -> kill process; x32 numbers -> kill process;
 * then a balanced tree over ranges of system call numbers; argument rules compare the low 32 bits only.
 *
 * What a call that is not allowed answers:
 *   ENOSYS        numbers that Warder does not know, and calls that a program does well without (clone3, openat2,
 *                 kernel AIO, what `strict` leaves out): libraries then fall back. Never kills.
 *   EPERM         calls and argument values that are denied. Kills the process when kill_on_violation, except for the size of a
 *                 pipe, which the kernel refuses in the same way.
 *   EAFNOSUPPORT  sockets of other kinds; ENOTTY, ENOPROTOOPT, EINVAL, EOPNOTSUPP: requests, options and flags that a kernel may
 *                 lack. Programs try all of these on the chance that they are there, so they never kill.
 */
#ifndef WARDER_JAIL_FILTER_SECCOMP_H
#define WARDER_JAIL_FILTER_SECCOMP_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/policy.h"

#define SECCOMP_PROGRAM_MAX 1024 /* instructions; the kernel's limit is 4096 */

struct seccomp_options {
	enum policy_syscall_profile profile;
	enum policy_network_mode network; /* with POLICY_NETWORK_NONE `default` has no netlink sockets */
	bool allow_spawn;        /* false: fork, vfork and clone without CLONE_THREAD are denied with EPERM */
	bool kill_on_violation;  /* what would fail with EPERM kills the process instead (SIGSYS) */
	const char *const *deny; /* names on top of the profile; may be NULL. What answers ENOSYS stays so. */
	size_t deny_count;
	const char *const *allow; /* names added to the profile; argument rules stay. May be NULL. */
	size_t allow_count;
};

struct seccomp_program {
	size_t count; /* instructions */
	struct sock_filter code[SECCOMP_PROGRAM_MAX];
};

/* Compile for this machine. -1 with *err: INVALID_REQUEST (field syscalls.deny or syscalls.allow) naming a
 * system call that is unknown, both allowed and denied, denied though every launch needs it, or one that no
 * policy can allow; UNSUPPORTED_POLICY for an architecture without tables. */
int seccomp_compile(const struct seccomp_options *options, struct seccomp_program *ret,
		    struct warder_error *err);

/* As seccomp_compile, for an architecture given as AUDIT_ARCH_* (AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64). */
int seccomp_compile_for(uint32_t audit_arch, const struct seccomp_options *options,
			struct seccomp_program *ret, struct warder_error *err);

/* Name of the i-th call of the tables that this architecture has; NULL past the end. */
const char *seccomp_name(size_t i);
/* Whether a program gets to make the call at all, with some arguments or with every. */
bool seccomp_reaches(const struct seccomp_options *options, const char *name);

/* What the payload calls between loading the filter and the program's first instruction, and what delivers its
 * signals and its end. No policy can deny these. NULL-terminated. */
extern const char *const seccomp_launch_calls[];

/* What the profiles deny, for the documents and `warder explain`. Row i: NULL past the end.
 * Whole calls come first, then argument values ("ioctl(TIOCSTI)"). */
struct seccomp_group {
	const char *name;    /* "kernel modules" */
	const char *reason;  /* why it is denied */
	const char *calls;   /* "init_module finit_module delete_module", separated by one space */
	const char *answer;  /* an errno's name, or "no effect" */
	bool denied[3];      /* indexed by enum policy_syscall_profile */
	bool unless_network; /* the profile default denies it only where network.mode is none */
};
const struct seccomp_group *seccomp_group(size_t i);

/* Whether a group is denied under a profile with a network. */
bool seccomp_denies(const struct seccomp_group *group, enum policy_syscall_profile profile,
		    enum policy_network_mode network);

#endif
