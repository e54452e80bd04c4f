/*
 * peer: the user at the other end of a connection of the Unix socket that this host listens at. Private to host/launcher/.
 *
 * The front accepts the connections, and may lie. So nothing is taken from it except the descriptor, and the kernel answers the rest.
 */
#ifndef WARDER_HOST_LAUNCHER_PEER_H
#define WARDER_HOST_LAUNCHER_PEER_H

#include "base/error.h"

/* The uid of the process that has connected. -1 with *err (REJECTED), which says why nobody is known by this connection: it is not one of
 * listen_fd, its process has ended, or its uid is peer_overflow_uid(). Or the process is in another network namespace, in a pid namespace
 * that is neither the host's nor below it, or in a user namespace with another map of user ids. */
int peer_uid(int listen_fd, int fd, uint32_t *ret, struct warder_error *err);
/* The uid that stands for every user without a number here. */
uint32_t peer_overflow_uid(void);

#endif
