/*
 * root: builds the jail's root file system in the caller's own mount namespace. Runs in a throw-away child of
 * a privileged host process (once per template), or in the init of an ordinary user's jail (every launch).
 * No libc: compiled for both.
 */
#ifndef WARDER_JAIL_INSIDE_ROOT_H
#define WARDER_JAIL_INSIDE_ROOT_H

#include <stddef.h>

#include "jail/inside/wire.h"

/* Build the tree of the block's entries and pivot into it. Entries without a tree descriptor get one, opened by path (of a
 * privileged block: left to the end of the process). The old root stays mounted on top of the new one, with the
 * working directory in it, until root_detach(). Returns 0, or a negative errno with *ret_what naming the object. */
long root_build(struct wire_block *block, const char **ret_what);
/* Another root, mounted in the present one, which is given up with all that is mounted in it. */
long root_become(int root_fd);
/* Detach the old root; after this no host path is reachable. */
long root_detach(void);
#endif
