/*
 * contained: compares what is mounted in a container that somebody else's runtime has made with the plan. Private to jail/.
 *
 * A runtime lays the same things out in its own way (the places for /dev, masks and nodes differ from one to the next), so that
 * this asks what must hold, where jail/mounts.h knows each mount of a jail's own.
 */
#ifndef WARDER_JAIL_CONTAINED_H
#define WARDER_JAIL_CONTAINED_H

#include <stdbool.h>

#include "base/error.h"
#include "jail/trust.h"
#include "rootfs/rootfs.h"

/* `text` is /proc/<pid>/mountinfo, `own` this process's. The root is read-only; every mount is a bind of the plan, or came with one (the
 * host has the same beneath its source), with at least the plan's flags; or a part of an overlay of the plan; or /proc, /dev, /dev/pts, /tmp
 * or /dev/shm, with the flags that a jail's own have; or a node in /dev; or lies over something beneath /proc and cannot be written. Nothing
 * else is there, nothing is linked to the host, and nothing of the plan is missing. Where the program sees files with
 * the authority of the run (`trust`, or NULL), they may be mounted over the host's. Pure. Returns the number of mounts; -1 with *err naming the first that is not so. */
int contained_check_mounts(const char *text, const char *own, const struct rootfs *rootfs,
			   const struct trust *trust, struct warder_error *err);
/* Whether everything that is to be covered (jail_start_masked()) and exists in the container, whose root is root_fd, is: by a null
 * device or an empty directory, or, where that is enough, by anything that cannot be written. For a container in which nothing untrusted
 * has run. 0; -1 with *err naming the first that is not. */
int contained_check_masks(const char *text, int root_fd, struct warder_error *err);

#endif
