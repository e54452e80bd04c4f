/*
 * inside: what the parts of the jail's init share. Private to this folder.
 */
#ifndef WARDER_JAIL_INSIDE_INSIDE_H
#define WARDER_JAIL_INSIDE_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jail/inside/wire.h"

struct inside {
	struct wire_block *block;   /* private mapping; read only by convention, except argv and envp */
	int64_t block_clock_offset; /* of the clock that init itself sees */
	int sysctl_fd; /* the host's /proc/sys/user until no-nesting; -1: nothing is to be limited */
	int gate[2];   /* pipe: init has given up its privileges */
	int payload_pid;
	const char *what;  /* object of the current step, for its error */
	bool left_running; /* children besides the payload's */
	uint64_t applied;  /* bits 1 << step of optional layers that are on */
};

/* The kernel's struct rusage, as far as it is read. */
struct inside_rusage {
	long user_s, user_us, system_s, system_us;
	long rest[14];
};

/* Report a failed step on the descriptor (WIRE_FD_CONTROL or WIRE_FD_EXEC) and exit. `error` is a negative errno (failure.c). */
_Noreturn void inside_fail(const struct inside *in, int fd, enum wire_step step, long error,
			   const char *detail);
/* The result of the step that has just run: `ret`, unless the test hook wants another, or that the process ends without a word
 * (failure.c). */
long inside_made_to_fail(const struct inside *in, enum wire_step step, long ret);
/* Permitted and effective: these bits alone (1 << CAP_KILL), or none. Ambient, inheritable: empty. The bounding set is since before
 * the fork (capabilities.c). */
long inside_keep_capabilities(uint32_t kept);
/* In the helper of a launch into a session: begin its init there (join.c). Returns in that init; the helper, and what stands between
 * the two, end. A negative errno: nothing was begun. */
long join_session(struct inside *in);
/* In that init: the session's namespaces, and a copy of its mounts. */
long join_enter(struct inside *in);
/* There: a /proc of the new pid namespace in the place of the session's, with those of its covers that its launch made. */
long join_mount_proc(struct inside *in);
/* Init, in three parts: all that comes before the fork of the payload; what the fork needs; the rest, which waits for the payload's end.
 * The first two report what fails, and exit. */
void inside_begin(struct inside *in);
long inside_prepare_fork(struct inside *in);
_Noreturn void inside_go_on(struct inside *in);
/* The payload's side, in the forked child: apply every restriction and wait for the host's word. Of a fork of a zygote, the next thing is
 * the work that the child was forked for: only the program's streams are left open. */
void payload_restrict(struct inside *in);
/* The same, and execute. */
_Noreturn void payload_main(struct inside *in);
_Noreturn void inside_main(void);

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);

#endif
