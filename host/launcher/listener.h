/*
 * listener: the socket at which an execution host is reached: --listen. Private to host/launcher/.
 *
 * listener_open() before any thread -> the front accepts connections -> listener_remove() when the front has ended. Main thread.
 */
#ifndef WARDER_HOST_LAUNCHER_LISTENER_H
#define WARDER_HOST_LAUNCHER_LISTENER_H

#include "host/launcher/launcher.h"

#define LISTENER_UNIX "unix:" /* before the path of a Unix socket, in --listen and in a URL */

/* Listen. A Unix socket has mode 0600, unless --socket-mode says otherwise; one that nobody listens at is replaced. *ret_fd is the
 * caller's; url: for people, and for the Host header. -1 with *err naming --listen. */
int listener_open(const struct launcher_options *options, int *ret_fd, char *url, size_t size,
		  struct warder_error *err);
/* The form of --listen only. */
int listener_check(const struct launcher_options *options, struct warder_error *err);
/* Remove the file of a Unix socket, unless a process listens there. The descriptor is closed. */
void listener_remove(const struct launcher_options *options);

#endif
