/*
 * seccomp: the system call filter as BPF bytes.
 *
 * seccomp_compile() turns a profile and its options into one classic BPF program; loading is one
 * seccomp(2) call by the payload (jail/inside). Pure computation: no system call, no global
 * state; host side, any thread. The program: foreign architecture -> kill process; x32 numbers -> kill process;
 * then a balanced tree over ranges of system call numbers; argument rules compare the low 32 bits only.
 */
#ifndef WARDER_JAIL_SECCOMP_H
#define WARDER_JAIL_SECCOMP_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/policy.h"

#define SECCOMP_PROGRAM_MAX 1024 /* instructions; the kernel's limit is 4096 */

struct seccomp_options {
	enum policy_syscall_profile profile;
	bool allow_spawn;       /* false: fork, vfork and clone without CLONE_THREAD are denied with EPERM */
	bool kill_on_violation; /* deny rows kill the process instead of failing with their errno */
	const char *const *deny;  /* names on top of the profile; may be NULL */
	size_t deny_count;
	const char *const *allow; /* names added to the profile */
	size_t allow_count;
};

struct seccomp_program {
	size_t count; /* instructions */
	struct sock_filter code[SECCOMP_PROGRAM_MAX];
};

/* Compile. -1 with *err: INVALID_REQUEST naming an unknown system call or one that is both allowed and
 * denied; UNSUPPORTED_POLICY for an architecture without tables. */
int seccomp_compile(const struct seccomp_options *options, struct seccomp_program *ret,
                    struct warder_error *err);

/* Number of a system call on this architecture, -1 if there is none of that name. */
int seccomp_number(const char *name);

/* The groups of calls that a profile denies, for the documents and `warder explain`.
 * Row i: NULL past the end. */
struct seccomp_group {
	const char *name;   /* "kernel modules" */
	const char *reason; /* why it is denied */
	const char *calls;  /* "init_module finit_module delete_module" */
	bool denied[3];     /* indexed by enum policy_syscall_profile */
};
const struct seccomp_group *seccomp_group(size_t i);

#endif
