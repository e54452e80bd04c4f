/*
 * child: wait for the end of a child process, for a limited time.
 *
 * A process that the kernel holds does not die of SIGKILL, so that no wait for a child may be without a limit. Any thread; the calls
 * may also be made between fork and exec, since they take no lock and no memory.
 */
#ifndef WARDER_BASE_CHILD_H
#define WARDER_BASE_CHILD_H

/* How long a child that was killed, or that has nothing left to do, is waited for. */
#define CHILD_PATIENCE_MS 6000

enum child_end {
	CHILD_ENDED,
	CHILD_LIVES,
	CHILD_TAKEN, /* this child is gone: other code has waited for it */
};

/* Wait until child `pid` has ended, for at most within_ms, and reap it. *ret_status, as of waitpid(2), is written with CHILD_ENDED
 * alone; or NULL. */
enum child_end child_wait(int pid, unsigned int within_ms, int *ret_status);

#endif
