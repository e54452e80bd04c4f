/*
 * renewer: a child that renews the lease of a session on another machine, because a host that is slow to answer must not hold up what else this
 * process does. Private to cli/.
 *
 * Life: renewer_start() -> renewer_hear() whenever its descriptor is readable -> renewer_end().
 */
#ifndef WARDER_RUNTIME_CLI_RENEWER_H
#define WARDER_RUNTIME_CLI_RENEWER_H

#include <sys/types.h>

#include "runtime/cli/remote_place.h"

struct renewer {
	const struct remote_place *place;
	pid_t pid;
	int fd;            /* a byte for each time that the host answered the child; -1: there is no child */
	uint64_t heard_ms; /* when the host last answered anything, by clock_us() */
};

/* Fill *ret. It is for renewer_end() in any case. -1 with *err. */
int renewer_start(const struct remote_place *place, struct renewer *ret, struct warder_error *err);
/* Note the answers that came. A child that was killed is started anew. */
void renewer_hear(struct renewer *renewer);
void renewer_end(struct renewer *renewer);

#endif
