/*
 * Whether this host can launch: a probe launches /bin/true. While one hangs, nothing else is launched.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/launcher/call.h"

#define PROBE_FRESH_US UINT64_C(5000000)
#define PROBE_STUCK_US UINT64_C(2000000)

static void probe_work(struct job *job)
{
	static char program[] = "true";
	static char *const argv[] = { program, NULL };
	struct call *call = (struct call *)(void *)job;
	const struct warder_command command = { .size = sizeof(command), .argv = argv };
	struct warder_error *err = &call->answer.error;
	struct warder_template *tmpl = NULL;
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	int done = warder_prepare(call->policy, NULL, &tmpl, err);

	if (done == 0)
		done = warder_launch(tmpl, &command, &run, err);
	if (done == 0)
		done = warder_wait(run, &result, err);
	if (done == 0 && warder_result_exit_code(result) != 0)
		done = error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the probe's program ended by %s",
				 warder_result_cause(result));
	call->answer.status = done == 0 ? 200 : 503;
	warder_result_free(result);
	warder_run_free(run);
	warder_template_free(tmpl);
}

static void answer_waiting(struct launcher *launcher, bool good)
{
	struct call *waiting = launcher->health.waiting;

	launcher->health.waiting = NULL;
	while (waiting) {
		struct call *call = waiting;

		waiting = call->next_run;
		call_answer(launcher, call, good ? 200 : 503, good ? NULL : &launcher->health.why);
	}
}

static void probe_finish(struct job *job, void *of)
{
	struct call *call = (struct call *)(void *)job;
	struct launcher *launcher = of;
	struct launcher_health *health = &launcher->health;

	health->probe = NULL;
	health->ended_us = clock_us();
	health->good = call->answer.status == 200;
	health->why = call->answer.error;
	call_free(call);
	answer_waiting(launcher, health->good);
}

static int begin_probe(struct launcher *launcher, struct warder_error *err)
{
	struct call *probe = calloc(1, sizeof(*probe));

	if (!probe)
		return error_no_memory(err, NULL);
	probe->fd = -1;
	probe->job.tenant = "";
	if (call_copy_policy(settings_template(&launcher->settings, "base"), &probe->policy, err) < 0) {
		call_free(probe);
		return -1;
	}
	probe->job.work = probe_work;
	probe->job.finish = probe_finish;
	launcher->health.probe = &probe->job;
	jobs_add(&launcher->jobs, &probe->job);
	return 0;
}

bool call_is_stuck(const struct launcher *launcher)
{
	const struct job *probe = launcher->health.probe;

	return probe && probe->began_us && clock_us() - probe->began_us >= PROBE_STUCK_US;
}

int call_say_stuck(struct warder_error *err)
{
	return error_set(
	    err, WARDER_ERROR_UNAVAILABLE, NULL,
	    "the last probe launch has not ended within 2 s: this host launches nothing until it has");
}

void call_answer_stuck(struct launcher *launcher)
{
	if (!launcher->health.waiting || !call_is_stuck(launcher))
		return;
	call_say_stuck(&launcher->health.why);
	answer_waiting(launcher, false);
}

int calls_health(struct context *context, struct call *call, struct warder_error *err)
{
	struct launcher *launcher = context->launcher;
	struct launcher_health *health = &launcher->health;

	if (call_is_stuck(launcher))
		return call_say_stuck(err);
	if (!health->probe && health->ended_us && clock_us() - health->ended_us < PROBE_FRESH_US) {
		call_answer(launcher, call, health->good ? 200 : 503, health->good ? NULL : &health->why);
		return 0;
	}
	if (!health->probe && begin_probe(launcher, err) < 0)
		return -1;
	call->next_run = health->waiting;
	health->waiting = call;
	return 0;
}
