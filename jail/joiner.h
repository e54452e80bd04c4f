/*
 * joiner: a process that stays in a session, for a template that executes more than one program there, and begins the init of each
 * execution. Private to jail/; the other way into a session is in joined.c.
 *
 * Life: joiner_init() -> joiner_start() for an execution, which begins the process -> joiner_done(), which ends it. Any thread.
 */
#ifndef WARDER_JAIL_JOINER_H
#define WARDER_JAIL_JOINER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/error.h"

struct jail_run;

/* What the kernel passes from a thread to a process that it starts, and a policy may leave as it is. */
struct joiner_inherited {
	int nice, scheduler, io_priority;
	long timer_slack_ns;
	uint64_t processors[16];
	struct rlimit limits[RLIM_NLIMITS];
};

/* Start the process in the session, with this end of a socket; our_fd is the other. 0 with its pidfd, the caller's; -1 with *err: nothing of it
 * lives on. */
typedef int joiner_begin(const struct jail_run *run, int its_fd, int our_fd, int *ret_pidfd,
			 struct warder_error *err);

struct joiner {
	joiner_begin *begin;
	pthread_mutex_t lock; /* guards the rest, and is held until an order is answered */
	bool wanted;          /* an execution has gone the other way: the next one begins the process */
	bool unusable;        /* it could not be begun, so that no other is */
	int socket_fd;        /* -1: there is no process */
	int pid_fd, pid;
	int owner_pid;                 /* of this process, whose forks do not end it */
	_Atomic uint64_t mount_number; /* of its mount namespace; without the lock */
	struct joiner_inherited inherited;
};

#define JOINER_NOT_HERE 1

void joiner_init(struct joiner *joiner, joiner_begin *begin);
/* Have it begin an init with these descriptors, in the order of enum wire_fd. 0 with *ret_pidfd, the caller's; JOINER_NOT_HERE: nothing is
 * begun, go the other way; -1 with *err: what was begun dies with its sockets. */
int joiner_start(struct joiner *joiner, struct jail_run *run, const int *fds, size_t fd_count, int *ret_pidfd,
		 struct warder_error *err);
/* The number of its mount namespace, in which no execution may be; 0: it does not live. */
uint64_t joiner_mount_number(const struct joiner *joiner);
/* End it, and wait for that for at most a second. */
void joiner_done(struct joiner *joiner);

#endif
