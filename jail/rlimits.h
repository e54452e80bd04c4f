/*
 * rlimits: resource limits as /proc/<pid>/limits shows them (proc_pid_limits(5)). Read there and not with prlimit(2), which
 * wants a capability over the jail's user namespace that even root may lack. Pure.
 */
#ifndef WARDER_JAIL_RLIMITS_H
#define WARDER_JAIL_RLIMITS_H

#include <stdint.h>

/* The soft and hard limit of "NOFILE", "CORE", ... in the text; UINT64_MAX for "unlimited". 0; -1: not shown. */
int rlimits_find(const char *text, const char *name, uint64_t *ret_soft, uint64_t *ret_hard);

#endif
