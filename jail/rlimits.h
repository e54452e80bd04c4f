/*
 * rlimits: the policy fields that a resource limit enforces by itself, and resource limits as /proc/<pid>/limits shows them
 * (proc_pid_limits(5)). Read there and not with prlimit(2), which wants a capability over the jail's user namespace that even
 * root may lack. Pure.
 *
 * Capability, plan, read-back and receipt read the rows: a field with a row here is enforced on every host, with any backend
 * whose init is the jail's.
 */
#ifndef WARDER_JAIL_RLIMITS_H
#define WARDER_JAIL_RLIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

struct rlimit_row {
	enum policy_control control; /* of a field that is one number */
	int resource;                /* RLIMIT_* */
	const char *name;            /* "NOFILE" */
	const char *mechanism;       /* in the receipt */
};

/* i counts from 0; NULL after the last. */
const struct rlimit_row *rlimit_row_at(size_t i);
/* The value that the policy gives the row's field. */
uint64_t rlimit_row_value(const struct rlimit_row *row, const struct policy *policy);

/* The soft and hard limit of "NOFILE", "CORE", ... in the text; UINT64_MAX for "unlimited". 0; -1: not shown. */
int rlimits_find(const char *text, const char *name, uint64_t *ret_soft, uint64_t *ret_hard);

#endif
