/*
 * mounts: compares what is mounted in a jail with the plan: the mount table, and the objects behind it.
 */
#ifndef WARDER_JAIL_MOUNTS_H
#define WARDER_JAIL_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/mountinfo.h"
#include "rootfs/rootfs.h"

/* `text`: the NUL-terminated content of /proc/<pid>/mountinfo (proc_pid_mountinfo(5)). Every mount must be one of the plan's
 * with at least the plan's flags, come with a recursive bind of the plan, or cover a name of /proc as its row says (jail/proc.h); and every mount of
 * the plan, and what covers a name that every kernel has, must be there. Of the jail's own file systems, types and places are compared too; what a bind of the plan
 * shows is for mounts_compare(). Pure. Returns the number of mounts; -1 with *err naming the first that differs. */
int mounts_check(const char *text, const struct rootfs *rootfs, struct warder_error *err);

struct mounts_owners {
	size_t mapped, unmapped;
};
/* How many binds of a field, read-only or not, the table shows as idmapped, and how many not. `text` as above. Pure. */
void mounts_count_owners(const char *text, const struct rootfs *rootfs, enum policy_field field,
			 bool read_only, struct mounts_owners *ret);

/* Whether a mount is what an entry, a part of an overlay, is to be: of an overlay of these directories (overlay_directories()), and of the
 * same file system as the parts before, whose device is noted in *device (zeroed before the first). */
bool mounts_is_part(const struct mountinfo *mount, const struct rootfs_entry *entry, const char *directories,
		    struct mountinfo_text *device);

/* Whether a devpts has room for exactly `terminals`: its options have "max=<terminals>". */
bool mounts_has_terminals(const struct mountinfo *mount, unsigned int terminals);

/* Whether each bind of the plan shows the object that the plan was made with; root_fd: the jail's root. For a jail in which
 * nothing untrusted has run. Returns the number of binds; -1 with *err naming the first that differs. */
int mounts_compare(int root_fd, const struct rootfs *rootfs, struct warder_error *err);

#endif
