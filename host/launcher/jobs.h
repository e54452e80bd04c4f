/*
 * jobs: work that may wait (for a disk, a jail, a sandbox), each in a thread of its own. Private to host/launcher/.
 *
 * Life: a job is heap memory that begins with a struct job -> jobs_add() queues it -> a thread calls work() -> jobs_finish(), in the main thread,
 * calls finish(), which frees it. At most JOBS_MAX run at a time, and JOBS_A_TENANT of a tenant; fewer of those kinds that may take long. JOBS_OWN_MAX
 * threads more are for the host's own jobs alone. A tenant's jobs of a kind begin in their order; the next job to begin is that of the
 * tenant with the fewest running ones of its kind, so that no tenant holds up another. Of the jobs that change one thing, one runs at a time.
 */
#ifndef WARDER_HOST_LAUNCHER_JOBS_H
#define WARDER_HOST_LAUNCHER_JOBS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define JOBS_MAX            96
#define JOBS_PROGRAMS_MAX   64
#define JOBS_FILES_MAX      16
#define JOBS_A_TENANT       48
#define JOBS_FILES_A_TENANT 4
#define JOBS_OWN_MAX        8

enum job_kind {
	JOB_SHORT,
	JOB_PROGRAM, /* it runs as long as a client's program */
	JOB_FILES,   /* it takes as long as the disk needs for the files of snapshots */
	JOB_KINDS,
};

struct job {
	const char *tenant;  /* whose share it takes; "" for the host's own */
	const char *changes; /* the name of what it changes, or NULL */
	enum job_kind kind;
	void (*work)(struct job *job);                   /* in a thread: uses nothing of the main thread's */
	void (*finish)(struct job *job, void *launcher); /* in the main thread */
	/* The rest belongs to jobs.c. */
	struct jobs *jobs;
	struct job *next;
	uint64_t began_us; /* main thread; 0: it waits */
};

struct jobs {
	int fd; /* an eventfd: readable when jobs_finish() has something to do */
	pthread_mutex_t lock;
	struct job *done;   /* under the lock */
	struct job *queued; /* oldest first */
	struct job *running[JOBS_MAX + JOBS_OWN_MAX];
	size_t running_count;
};

int jobs_init(struct jobs *jobs, struct warder_error *err);
void jobs_add(struct jobs *jobs, struct job *job);
/* How many of a tenant's jobs run; how many wait. */
size_t jobs_running(const struct jobs *jobs, const char *tenant);
size_t jobs_waiting(const struct jobs *jobs, const char *tenant);
/* Finish the jobs that are done, and begin others. */
void jobs_finish(struct jobs *jobs, void *launcher);
/* Wait until no job runs; those that have not begun are dropped without being finished. */
void jobs_drain(struct jobs *jobs, void *launcher);

#endif
