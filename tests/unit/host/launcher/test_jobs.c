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

static void add_one(struct jobs *jobs, struct step *step, const char *tenant, enum job_kind kind)
{
	*step = (struct step){ .job = { .tenant = tenant, .kind = kind, .work = work, .finish = finish } };
	jobs_add(jobs, &step->job);
}

Test(jobs, files_of_snapshots_leave_threads_for_the_rest, .timeout = 60)
{
	static const char *const tenants[] = { "a", "b", "c", "d", "e", "f" };
	struct step files[6 * (JOBS_FILES_A_TENANT + 1)], other, own;
	struct jobs jobs;
	struct warder_error err;
	size_t begun = 0;

	cr_assert_eq(jobs_init(&jobs, &err), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		add_one(&jobs, &files[i], tenants[i / (JOBS_FILES_A_TENANT + 1)], JOB_FILES);
	cr_expect_eq(jobs_running(&jobs, "a"), JOBS_FILES_A_TENANT);
	cr_expect_eq(jobs_waiting(&jobs, "a"), 1);
	cr_expect_eq(jobs_waiting(&jobs, "f"), JOBS_FILES_A_TENANT + 1, "there are JOBS_FILES_MAX already");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		begun += files[i].job.began_us != 0;
	cr_expect_eq(begun, JOBS_FILES_MAX, "the clock of one that waits does not run");
	add_one(&jobs, &other, "a", JOB_SHORT);
	add_one(&jobs, &own, "", JOB_SHORT);
	await_begin(&other);
	await_begin(&own);
	end(&jobs, &files[0]);
	await_begin(&files[4 * (JOBS_FILES_A_TENANT + 1)]); /* of the tenant with none */
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		atomic_store(&files[i].may_end, true);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		end(&jobs, &files[i]);
	end(&jobs, &other);
	end(&jobs, &own);
	jobs_drain(&jobs, NULL);
}

Test(jobs, a_tenant_with_many_programs_gets_its_turn_at_files, .timeout = 60)
{
	static const char *const tenants[] = { "a", "b", "c", "d" };
	struct step files[4 * (JOBS_FILES_A_TENANT + 1)], programs[JOBS_FILES_A_TENANT + 2], mine;
	const size_t count = sizeof(files) / sizeof(files[0]), many = sizeof(programs) / sizeof(programs[0]);
	struct jobs jobs;
	struct warder_error err;

	cr_assert_eq(jobs_init(&jobs, &err), 0);
	for (size_t i = 0; i < count; i++)
		add_one(&jobs, &files[i], tenants[i / (JOBS_FILES_A_TENANT + 1)], JOB_FILES);
	for (size_t i = 0; i < many; i++)
		add_one(&jobs, &programs[i], "e", JOB_SHORT);
	add_one(&jobs, &mine, "e", JOB_FILES);
	end(&jobs, &files[0]);
	cr_expect_neq(mine.job.began_us, 0, "another tenant's fifth began before the first of this one");
	for (size_t i = 0; i < count; i++)
		atomic_store(&files[i].may_end, true);
	for (size_t i = 0; i < many; i++)
		atomic_store(&programs[i].may_end, true);
	atomic_store(&mine.may_end, true);
	jobs_drain(&jobs, NULL);
}

Test(jobs, the_hosts_own_begin_beside_all_of_the_tenants, .timeout = 60)
{
	static const char *const tenants[] = { "a", "b", "c" };
	static struct step steps[3 * JOBS_A_TENANT];
	struct step own;
	struct jobs jobs;
	struct warder_error err;

	cr_assert_eq(jobs_init(&jobs, &err), 0);
	for (size_t i = 0; i < 3 * JOBS_A_TENANT; i++)
		add_one(&jobs, &steps[i], tenants[i % 3], JOB_SHORT);
	cr_expect_eq(jobs.running_count, JOBS_MAX);
	add_one(&jobs, &own, "", JOB_SHORT);
	cr_expect_neq(own.job.began_us, 0, "it waits for a tenant's");
	for (size_t i = 0; i < 3 * JOBS_A_TENANT; i++)
		atomic_store(&steps[i].may_end, true);
	end(&jobs, &own);
	for (size_t i = 0; i < 3 * JOBS_A_TENANT; i++)
		end(&jobs, &steps[i]);
	jobs_drain(&jobs, NULL);
}
