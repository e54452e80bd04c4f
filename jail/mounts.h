/*
 * mounts: compares the jail's mount table, as the kernel shows it, with the plan. Pure, apart from the text it is given.
 */
#ifndef WARDER_JAIL_MOUNTS_H
#define WARDER_JAIL_MOUNTS_H

#include <stddef.h>

#include "base/error.h"
#include "rootfs/rootfs.h"

/* `text`: the NUL-terminated content of /proc/<pid>/mountinfo (proc_pid_mountinfo(5)); it is cut up. Every mount must be one of
 * the plan's, with at least the plan's flags, or lie beneath a bind of the plan or beneath /proc (masks); and every
 * mount of the plan must be there. Returns the number of mounts; -1 with *err naming the first that differs. */
int mounts_check(char *text, const struct rootfs *rootfs, struct warder_error *err);

#endif
