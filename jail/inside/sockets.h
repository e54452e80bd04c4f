/*
 * sockets: what leads from a jail's network namespace to its edge. No libc: compiled for the init, which is in the namespace, and for a
 * helper of the host, which enters that of a container.
 */
#ifndef WARDER_JAIL_INSIDE_SOCKETS_H
#define WARDER_JAIL_INSIDE_SOCKETS_H

#include "jail/inside/wire.h"

/* Make the addresses, routes and sockets of the caller's network namespace, whose lo is up, for the block's rows. The sockets are sent over
 * edge_fd, which is closed. Needs CAP_NET_ADMIN, CAP_NET_RAW and CAP_NET_BIND_SERVICE there. Returns 0, or a negative errno with
 * *ret_what naming the object. */
long sockets_make(const struct wire_block *block, int edge_fd, const char **ret_what);

#endif
