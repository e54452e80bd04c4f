/*
 * container_monitor: a process beside a container, for the time of its life. Private to backends/.
 *
 * Life: container_monitor_start() forks it, as the first process of a pid namespace and into a mount namespace; it lays the bundle out in there
 * (backends/container/layout.h), has the runtime run the container, and hands its init over -> it waits for container_monitor_stop(), or for
 * the end of whoever started it -> it ends, and with it, by the kernel, every process of its pid namespace, the container's among
 * them, and every mount. Whatever the runtime does or fails to do, and whoever is killed when, nothing of it is left.
 * Host side, any thread; what it runs after the fork makes no call that could wait for a lock of another thread.
 */
#ifndef WARDER_BACKENDS_CONTAINER_CONTAINER_MONITOR_H
#define WARDER_BACKENDS_CONTAINER_CONTAINER_MONITOR_H

#include <stdbool.h>

#include "backends/container/layout.h"
#include "jail/jail.h"

struct container_monitor;

struct container_monitor_task {
	const char *runtime; /* path of the program */
	const char *options; /* one argument before its command */
	struct layout layout;
	/* Instead of a runtime, in the monitor, when all is laid out; or NULL. Returns a pidfd of the container's
	 * init; -1 with layout_fail(). `socket` becomes readable with the supervisor's end. */
	int (*up)(const struct container_monitor_task *task, struct layout *layout, int socket);
	const void *engine; /* up()'s own */
};

/* Only in the monitor: run a program with these descriptors as 0, 1, 2, ... to its end, or to the end of the supervisor's patience, or of
 * the supervisor. Returns its wait status, 0 if it ended well; -1 with layout_fail(). */
int container_monitor_run(struct layout *layout, int socket, const char *const *argv,
			  const char *const *environment, const int *fds, size_t fd_count);
/* The same without waiting: a pidfd; -1 with layout_fail(). It ends with the monitor at the latest. */
int container_monitor_spawn(struct layout *layout, const char *const *argv, const char *const *environment,
			    const int *fds, size_t fd_count, int *ret_pid);
/* As what failed, on one line: `what`, how it ended (container_monitor_run()'s; 0: nothing of that), and what it wrote into the file. Returns -1. */
int container_monitor_fail_log(struct layout *layout, const char *path, const char *what, int status);

/* 0 with *ret, and the container's init as jail_starter's start(); -1 with *err: nothing is left. */
int container_monitor_start(const struct container_monitor_task *task, struct container_monitor **ret,
			    int *ret_init_pid, int *ret_init_fd, struct warder_error *err);
/* Ends it and all that is in its namespaces, as jail_starter's stop(); it is freed unless JAIL_STOPPING is returned. -1 with *err:
 * something there does not die. */
int container_monitor_stop(struct container_monitor *monitor, bool stuck, int *ret_fd,
			   struct warder_error *err);

#endif
