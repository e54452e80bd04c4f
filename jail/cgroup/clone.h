/*
 * clone: starting a child that shares the caller's memory, without libc's fork machinery.
 *
 * A plain fork copies the page tables of the host application (4 to 5 ms at 256 MB); a child that shares memory and
 * executes or exits at once costs 0.05 ms. The function that runs in the child must only use the calls of
 * jail/inside/sys.h: libc's errno and locks belong to the parent's thread.
 */
#ifndef WARDER_JAIL_CGROUP_CLONE_H
#define WARDER_JAIL_CGROUP_CLONE_H

#include <linux/sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hang.h"

#define CLONE_STACK_BYTES 16384

/* For functions that run in a child while its parent goes on: a sanitizer's bookkeeping is the parent's thread's. */
#define CLONE_BESIDE __attribute__((no_sanitize("thread")))

/* clone3 with *args (stack fields are filled in here from `stack`, CLONE_STACK_BYTES long), running fn(arg) in the
 * child, which must not return. The stack must stay until the child has executed or exited. All signals are
 * to be blocked by the caller. Returns the child's pid or a negative errno. */
long clone_call(struct clone_args *args, void *stack, void (*fn)(void *arg), void *arg);

/* A child that works beside its maker: begun, then waited for. All zeros: none. */
struct clone_helper {
	int pid;
	void *stack; /* heap */
	bool watched;
	int pid_fd; /* once it is watched; owned, or -1 */
	uint64_t looked_us;
	struct hang hang;
	uint64_t
	    patience_us; /* set after clone_begin(): a hang only after so long, where that is more than HANG_US */
};

/* Start fn(arg) in a child that shares memory (CLONE_VM|flags). 0; a negative errno, and *helper is none. */
int clone_begin(struct clone_helper *helper, uint64_t flags, void (*fn)(void *arg), void *arg);
/* Wait for the helper's end. Afterwards *helper is empty, and a second call returns 0. Returns the exit status, or 255 if it was
 * killed or another thread waited for it. The status does not say how far fn() got: read what it wrote. CLONE_HANGS if it
 * hangs in the kernel: it may still write, so its stack is kept, and the caller must keep the argument of fn(), too. */
int clone_end(struct clone_helper *helper);
#define CLONE_HANGS 256
/* The same, and CLONE_HANGS also when it has not ended within that time. 0: no limit. */
int clone_end_within(struct clone_helper *helper, unsigned int within_ms);
/* One step of clone_end(), which does not wait. CLONE_LIVES: to be called again when helper->pid_fd is readable, and after CLONE_LOOK_MS. */
int clone_end_step(struct clone_helper *helper);
#define CLONE_LIVES 257
/* Wait until the next step is worth it, for at most CLONE_LOOK_MS. False: that time is over. */
bool clone_await(const struct clone_helper *helper);
/* Wait no longer for a helper, which goes on using its stack. Returns CLONE_HANGS. */
int clone_forget(struct clone_helper *helper);
#define CLONE_LOOK_MS 200

/* The same as one step, for short privileged work in other namespaces: fn() gets a copy of *arg, `size` bytes, which is copied
 * back. Returns the exit status (0..255) or a negative errno; -ETIMEDOUT, and *arg as it was: the child hangs in the kernel. */
int clone_run(uint64_t flags, void (*fn)(void *arg), void *arg, size_t size);

#endif
