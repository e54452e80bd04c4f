/*
 * front: the process that speaks HTTP, as the launcher sees it: a run of warder-front in a jail. Private to host/launcher/.
 *
 * Life: zeroed -> front_start() -> front_look() whenever run_fd can be read -> front_stop(). A front that has ended is started again.
 */
#ifndef WARDER_HOST_LAUNCHER_FRONT_H
#define WARDER_HOST_LAUNCHER_FRONT_H

#include <stdbool.h>

#include "base/error.h"
#include "host/link.h"
#include "runtime/warder.h"

struct front {
	int listen_fd;      /* owned: the socket that accepts HTTP, for each front */
	int certificate_fd; /* owned: a memory file with the certificate and its key; -1: plain HTTP */
	int fd;             /* owned: the launcher's end of its socket to the front; -1 while no front runs */
	int run_fd;         /* of the run */
	bool ready;         /* it has said so */
	uint64_t generation; /* which front it is: answers to an earlier one are dropped */
	uint64_t ended_us;   /* when the last one ended */
	struct warder_run *run;
	struct warder_template *tmpl;
	struct link_welcome welcome;
	uint64_t memory_bytes; /* of its jail */
};

/* Start one. listen_fd, welcome and memory_bytes are filled. -1 with *err. */
int front_start(struct front *front, struct warder_error *err);
/* Whether it has ended; then a line about its end is in *ret_end (heap, or NULL), and another one may be started. */
bool front_look(struct front *front, char **ret_end);
void front_stop(struct front *front);

#endif
