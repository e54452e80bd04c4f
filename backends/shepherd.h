/*
 * shepherd: a process beside a container, for the time of its life. Private to backends/.
 *
 * Life: shepherd_start() forks it; it makes a mount namespace of its own, lays the bundle out in there, has the runtime create and start
 * the container, and tells its init -> it waits for shepherd_stop(), or for the end of whoever started it -> it has the runtime
 * delete the container, whatever state that is in, and ends, and with its mount namespace all that lay in there is gone.
 * It is the reaper of what the runtime leaves. Host side, any thread; what it runs after the fork makes no call that could wait for
 * a lock of another thread.
 */
#ifndef WARDER_BACKENDS_SHEPHERD_H
#define WARDER_BACKENDS_SHEPHERD_H

#include <stdbool.h>

#include "jail/jail.h"

struct shepherd;

struct shepherd_task {
	const char *runtime; /* path of the program */
	bool is_crun;       /* it takes --cgroup-manager, and cannot stand a hybrid of both cgroup versions */
	const char *config; /* of the bundle */
	const int *trees;   /* by entry of the plan's root: detached mounts of the binds, else -1 */
};

/* 0 with *ret, and the container's init as jail_starter's start(); -1 with *err: nothing is left. */
int shepherd_start(const struct shepherd_task *task, const struct jail_start *start, struct shepherd **ret,
		   int *ret_init_pid, int *ret_init_fd, struct warder_error *err);
/* The container's init is dead. Frees it. 0; -1 with *err: the runtime could not delete the container. */
int shepherd_stop(struct shepherd *shepherd, struct warder_error *err);

#endif
