/*
 * zygote: what forks.c, which makes and ends zygotes, shares with zygote.c, which gives them orders. Private to jail/.
 */
#ifndef WARDER_JAIL_ZYGOTE_H
#define WARDER_JAIL_ZYGOTE_H

#include "base/namespaces.h"
#include "jail/run.h"

struct jail_zygote {
	struct jail_run *run;
	atomic_uint users;
	atomic_uint forks;
	pthread_mutex_t lock; /* one order at a time */
	uint64_t ready_us;
	uint64_t namespaces[NAMESPACE_COUNT];
	int user_ns_fd;
	void (*end)(struct jail_zygote *zygote); /* nobody has a reference any more */
	void (*done)(void *context, const struct warder_error *left);
	void *context;
};

/* The number behind "\nName:" of a process's status; -1: it cannot be read. */
long zygote_status_number(int proc_fd, const char *name);

#endif
