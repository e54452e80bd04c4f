/*
 * hang: whether a process makes no progress in the kernel.
 *
 * A process in state D is woken by no signal, and dies only when the kernel lets it go. One look proves nothing, since a
 * process that reads from a disk is often in state D. A process that is in that state at every look, and that the kernel never
 * ran in between, hangs.
 *
 * Life: zeroed, then hang_look() again and again for one process. Any thread; no state of its own.
 */
#ifndef WARDER_BASE_HANG_H
#define WARDER_BASE_HANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HANG_US 4000000 /* so long without progress is a hang */

struct hang {
	uint64_t since_us; /* of the first look that saw the state; 0: the last look did not */
	uint64_t switches; /* how often the process had given up its processor by then */
};

/* Look at process `pid` (0: there is none). True: it has hung for HANG_US. */
bool hang_look(struct hang *hang, int pid);
/* Whether the process is stopped, by SIGSTOP or a debugger. Somebody can let it go on, so that it does not hang. */
bool hang_is_stopped(int pid);
/* The same without a debugger, or another tracer, which stops a process often and for a short time. */
bool hang_is_stopped_by_signal(int pid);
/* Where in the kernel the process waits, as " in <function>", or "" where the kernel does not say. Returns ret. */
const char *hang_where(int pid, char *ret, size_t size);

#endif
