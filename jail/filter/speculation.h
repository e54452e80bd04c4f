/*
 * speculation: what the kernel says about its controls of store bypass and indirect branches (PR_GET_SPECULATION_CTRL,
 * prctl(2); Documentation/userspace-api/spec_ctrl.rst), and what it must say for syscalls.speculation to be enforced.
 * Pure; any thread.
 */
#ifndef WARDER_JAIL_FILTER_SPECULATION_H
#define WARDER_JAIL_FILTER_SPECULATION_H

#include <stdbool.h>
#include <stddef.h>

/* Whether both features can be forced off for a process, are off for everybody, or do not concern this processor. `bypass` and
 * `branch`: what prctl(PR_GET_SPECULATION_CTRL) returned for each, or a negative errno. If false, *ret (of `size` bytes) says
 * which feature it is, and how to boot. */
bool speculation_can_be_forced(int bypass, int branch, char *ret, size_t size);
/* Whether two values of /proc/<pid>/status, Speculation_Store_Bypass and SpeculationIndirectBranch, say that both are off. The
 * values end at a newline; NULL is a line that the kernel does not show, which counts as on. */
bool speculation_is_off(const char *bypass, const char *branch);

#endif
