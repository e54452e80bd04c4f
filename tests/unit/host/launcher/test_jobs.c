#include <criterion/criterion.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "host/launcher/jobs.h"

struct step {
	struct job job;
	atomic_bool begun, may_end;
	bool finished;
};

static void pause_ms(long ms)
{
	nanosleep(&(const struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static void work(struct job *job)
{
	struct step *step = (struct step *)(void *)job;

	atomic_store(&step->begun, true);
	while (!atomic_load(&step->may_end))
		pause_ms(1);
}

static void finish(struct job *job, void *launcher)
{
	((struct step *)(void *)job)->finished = true;
}

static void await_begin(struct step *step)
{
	while (!atomic_load(&step->begun))
		pause_ms(1);
}

static void end(struct jobs *jobs, struct step *step)
{
	struct pollfd ready = { .fd = jobs->fd, .events = POLLIN };

	atomic_store(&step->may_end, true);
	while (!step->finished && poll(&ready, 1, -1) > 0)
		jobs_finish(jobs, NULL);
}

Test(jobs, jobs_that_change_one_thing_run_one_after_the_other, .timeout = 60)
{
	struct jobs jobs;
	struct warder_error err;
	struct step steps[] = {
		{ .job = { .changes = "a" } },
		{ .job = { .changes = "a" } },
		{ .job = { .changes = "b" } },
		{ .job = { .changes = NULL } },
	};

	cr_assert_eq(jobs_init(&jobs, &err), 0);
	for (size_t i = 0; i < 4; i++) {
		steps[i].job.tenant = "tenant";
		steps[i].job.work = work;
		steps[i].job.finish = finish;
		jobs_add(&jobs, &steps[i].job);
	}
	await_begin(&steps[0]);
	await_begin(&steps[2]);
	await_begin(&steps[3]);
	pause_ms(100);
	cr_expect_not(atomic_load(&steps[1].begun), "it waits for the first job");
	cr_expect_eq(jobs_waiting(&jobs, "tenant"), 1);
	end(&jobs, &steps[2]);
	pause_ms(100);
	cr_expect_not(atomic_load(&steps[1].begun), "the end of another job does not begin it");
	end(&jobs, &steps[0]);
	await_begin(&steps[1]);
	atomic_store(&steps[1].may_end, true);
	atomic_store(&steps[3].may_end, true);
	jobs_drain(&jobs, NULL);
	cr_expect(steps[1].finished && steps[3].finished);
}
