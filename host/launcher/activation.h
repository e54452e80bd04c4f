/*
 * activation: what a service manager gives to the launcher: the socket that listens, and a place to report to. Private to host/launcher/.
 *
 * The protocols are those of sd_listen_fds(3) and sd_notify(3); no library is needed for them. Main thread only.
 */
#ifndef WARDER_HOST_LAUNCHER_ACTIVATION_H
#define WARDER_HOST_LAUNCHER_ACTIVATION_H

#include "base/error.h"

#define ACTIVATION_LISTEN "inherited" /* in place of an address */

/* Take the one socket that was passed. *ret_fd is the caller's. -1 with *err naming --listen: there is none, or it is not a stream socket of
 * IP or a Unix socket that listens. */
int activation_take(int *ret_fd, struct warder_error *err);
/* Tell the service manager, if there is one: "READY=1", "STOPPING=1". What cannot be sent is lost: the manager has a time limit of its own. */
void activation_tell(const char *state);

#endif
