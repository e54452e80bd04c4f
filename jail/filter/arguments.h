/*
 * arguments: the values that the filter lets through where a call does many things. Private to this folder.
 *
 * ioctl, setsockopt and prctl are each a family of calls behind one number, and the kernel adds to them with every release. So the
 * filter lists the requests and options that programs use; everything else answers as on a kernel that does not have it. One row
 * per value: from which profile on it is let through, why that is harmless, and a program that needs it. The numbers are
 * written out, as those of the calls are; they are the same on x86_64 and aarch64. Constant data; any thread.
 */
#ifndef WARDER_JAIL_FILTER_ARGUMENTS_H
#define WARDER_JAIL_FILTER_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "jail/filter/syscalls.h"

enum argument_set {
	ARGUMENT_IOCTL, /* requests: argument 1 */
	ARGUMENT_PRCTL, /* options: argument 0 */
	/* Options of setsockopt, argument 2, one set for each level, which is argument 1. */
	ARGUMENT_SOL_SOCKET,
	ARGUMENT_SOL_IP,
	ARGUMENT_SOL_TCP,
	ARGUMENT_SOL_UDP,
	ARGUMENT_SOL_IPV6,
	ARGUMENT_SOL_NETLINK,
	ARGUMENT_SET_COUNT,
};

struct argument_value {
	uint32_t value;
	enum syscall_level level; /* the narrowest profile that lets it through */
	const char *name;         /* as the kernel's headers have it */
	const char *reason;       /* why it may be let through */
	const char *program;      /* one that needs it */
};

/* The rows of a set, without order. */
const struct argument_value *argument_values(enum argument_set set, size_t *ret_count);

#endif
