/*
 * overlay: the writable overlays of a jail, mounted by its init at every launch. No libc.
 *
 * An overlay's upper and work directories lie in the jail's scratch tmpfs, so that one size bounds all that the program
 * writes, and all of it is gone with the jail. Its lower layers are detached mounts, restricted and with their ids mapped
 * by the host's side (of an ordinary user: by root_build()), attached here only until the overlay holds them.
 */
#ifndef WARDER_JAIL_INSIDE_OVERLAY_H
#define WARDER_JAIL_INSIDE_OVERLAY_H

#include "jail/inside/wire.h"

/* Mount every overlay of the block, attach its parts where the entries say, and send a descriptor of each one's directory over
 * the socket. While the scratch tmpfs is mounted as a whole at WIRE_SCRATCH. `layer_fd`: the first descriptor of the layers that have none
 * in the block. Returns 0, or a negative errno with *ret_what naming the object. */
long overlays_mount(struct wire_block *block, int layer_fd, int socket_fd, const char **ret_what);
/* The overlay at WIRE_WHOLE becomes the root, with the jail's own file systems in it. When all of these are mounted. */
long overlay_become_root(const char **ret_what);

#endif
