#include "host/launcher/jobs.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"

#define STACK_BYTES ((size_t)512 << 10)
#define WAIT_MS     100

int jobs_init(struct jobs *jobs, struct warder_error *err)
{
	*jobs = (struct jobs){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	if (jobs->fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot make an eventfd");
	pthread_mutex_init(&jobs->lock, NULL);
	return 0;
}

static void put_done(struct job *job)
{
	struct jobs *jobs = job->jobs;
	const uint64_t one = 1;

	pthread_mutex_lock(&jobs->lock);
	job->next = jobs->done;
	jobs->done = job;
	pthread_mutex_unlock(&jobs->lock);
	/* It fails only when the count is at its end, and then the descriptor is readable anyway. */
	(void)!write(jobs->fd, &one, sizeof(one));
}

static void *work_thread(void *arg)
{
	struct job *job = arg;

	job->work(job);
	put_done(job);
	return NULL;
}

static bool begin(struct job *job)
{
	pthread_attr_t detached;
	pthread_t thread;
	int failed;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&detached, STACK_BYTES);
	failed = pthread_create(&thread, &detached, work_thread, job);
	pthread_attr_destroy(&detached);
	return failed == 0;
}

size_t jobs_running(const struct jobs *jobs, const char *tenant)
{
	size_t count = 0;

	for (size_t i = 0; i < jobs->running_count; i++)
		count += strcmp(jobs->running[i]->tenant, tenant) == 0;
	return count;
}

static const struct {
	size_t most, a_tenant;
} limits[JOB_KINDS] = {
	[JOB_SHORT] = { JOBS_MAX + JOBS_OWN_MAX, JOBS_A_TENANT },
	[JOB_PROGRAM] = { JOBS_PROGRAMS_MAX, JOBS_A_TENANT },
	[JOB_FILES] = { JOBS_FILES_MAX, JOBS_FILES_A_TENANT },
};

/* Whether one more may run beside those that do. */
static bool has_room(const struct jobs *jobs, const struct job *job)
{
	size_t tenants = 0, kind = 0, both = 0;

	for (size_t i = 0; i < jobs->running_count; i++) {
		const struct job *one = jobs->running[i];

		tenants += one->tenant[0] != '\0';
		kind += one->kind == job->kind;
		both += one->kind == job->kind && strcmp(one->tenant, job->tenant) == 0;
	}
	return jobs->running_count < ARRAY_LENGTH(jobs->running) && (!job->tenant[0] || tenants < JOBS_MAX) &&
	       kind < limits[job->kind].most && both < limits[job->kind].a_tenant;
}

/* A job before it that changes the same thing is not finished. */
static bool must_wait(const struct jobs *jobs, const struct job *job)
{
	for (size_t i = 0; job->changes && i < jobs->running_count; i++)
		if (jobs->running[i]->changes && strcmp(jobs->running[i]->changes, job->changes) == 0)
			return true;
	return false;
}

static size_t running_of_kind(const struct jobs *jobs, const struct job *job)
{
	size_t count = 0;

	for (size_t i = 0; i < jobs->running_count; i++)
		count +=
		    jobs->running[i]->kind == job->kind && strcmp(jobs->running[i]->tenant, job->tenant) == 0;
	return count;
}

/* The place of the pointer to the job that is to begin next; NULL: none may. It is that of the tenant with the fewest running jobs of
 * its kind, so that a tenant with many programs gets its turn at files, too; among these, with the fewest in all. */
static struct job **choose(struct jobs *jobs)
{
	struct job **best = NULL;
	size_t best_of_kind = 0, best_running = 0;

	for (struct job **at = &jobs->queued; *at; at = &(*at)->next) {
		const size_t running = jobs_running(jobs, (*at)->tenant);
		const size_t of_kind = running_of_kind(jobs, *at);

		if (running >= JOBS_A_TENANT || !has_room(jobs, *at) || must_wait(jobs, *at))
			continue;
		if (!best || of_kind < best_of_kind || (of_kind == best_of_kind && running < best_running)) {
			best = at;
			best_of_kind = of_kind;
			best_running = running;
		}
	}
	return best;
}

static void begin_more(struct jobs *jobs)
{
	for (;;) {
		struct job **at = choose(jobs);
		struct job *job = at ? *at : NULL;

		if (!job)
			return;
		*at = job->next;
		job->next = NULL;
		if (!job->began_us)
			job->began_us = clock_us();
		/* Without a thread, it waits until another job has ended, and its clock runs. */
		if (!begin(job)) {
			job->next = jobs->queued;
			jobs->queued = job;
			return;
		}
		jobs->running[jobs->running_count++] = job;
	}
}

void jobs_add(struct jobs *jobs, struct job *job)
{
	struct job **at = &jobs->queued;

	job->jobs = jobs;
	job->next = NULL;
	job->began_us = 0;
	while (*at)
		at = &(*at)->next;
	*at = job;
	begin_more(jobs);
}

size_t jobs_waiting(const struct jobs *jobs, const char *tenant)
{
	size_t count = 0;

	for (const struct job *job = jobs->queued; job; job = job->next)
		count += strcmp(job->tenant, tenant) == 0;
	return count;
}

static void forget(struct jobs *jobs, const struct job *job)
{
	for (size_t i = 0; i < jobs->running_count; i++)
		if (jobs->running[i] == job) {
			jobs->running[i] = jobs->running[--jobs->running_count];
			return;
		}
}

static void finish(struct jobs *jobs, void *launcher)
{
	struct job *done;
	uint64_t count;

	(void)!read(jobs->fd, &count, sizeof(count));
	pthread_mutex_lock(&jobs->lock);
	done = jobs->done;
	jobs->done = NULL;
	pthread_mutex_unlock(&jobs->lock);
	while (done) {
		struct job *job = done;

		done = job->next;
		forget(jobs, job);
		job->finish(job, launcher);
	}
}

void jobs_finish(struct jobs *jobs, void *launcher)
{
	finish(jobs, launcher);
	begin_more(jobs);
}

void jobs_drain(struct jobs *jobs, void *launcher)
{
	struct pollfd ready = { .fd = jobs->fd, .events = POLLIN };

	jobs->queued = NULL;
	while (jobs->running_count)
		if (poll(&ready, 1, WAIT_MS) > 0)
			finish(jobs, launcher);
	close(jobs->fd);
	pthread_mutex_destroy(&jobs->lock);
}
