/*
 * Programs without a sandbox: a launch from the pool, whose result is the answer.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "host/input.h"
#include "host/launcher/artifact_spool.h"
#include "host/launcher/call.h"
#include "host/launcher/outputs.h"
#include "policy/policy.h"
#include "runtime/library/library.h"

#define LOOK_US UINT64_C(100000)

int call_sign(struct call *call, const char *name, struct warder_error *err)
{
	if (signing_sign(call->signing, name, call->request, call->request_len, &call->text, err) == 0)
		return 0;
	return call->began ? error_context(err, "the program ran") : -1;
}

int call_wait(struct call *call, struct warder_run *run, struct warder_error *err)
{
	struct warder_result *result = NULL;
	int done;

	call->began = true;
	while ((done = warder_wait_for(run, LOOK_US, &result, err)) == 0)
		if (atomic_load(&call->cancelled))
			warder_cancel(run);
	if (done > 0) {
		call->cause = warder_result_cause(result);
		if (call->spool && !atomic_load(&call->cancelled))
			artifact_spool_keep(call->spool, false, result);
		call->text = warder_result_json(result);
		if (!call->text)
			done = error_no_memory(err, NULL);
		else if (outputs_add_result(result, &call->text, err) < 0)
			done = -1;
	}
	warder_result_free(result);
	warder_run_free(run);
	/* Removing large files takes a while: it is done here, not when the main thread frees the call. */
	if (call->spool && (done <= 0 || atomic_load(&call->cancelled)))
		artifact_spool_drop(call->spool);
	return done > 0 ? 0 : -1;
}

static int run_program(struct call *call, struct warder_error *err)
{
	const struct warder_pool_key key = { .size = sizeof(key),
					     .policy = call->policy,
					     .tenant = call->tenant };
	struct warder_command command = { .size = sizeof(command) };
	struct warder_run *run = NULL;
	char **argv = NULL, *bytes = NULL;
	int done;

	if (input_take(call->document, &command.input, &command.input_len, &bytes, err) < 0)
		return -1;
	if (input_take_argv(call->document, &argv, err) < 0) {
		free(bytes);
		return -1;
	}
	command.argv = argv;
	call->launch_us = clock_us();
	done = call->spool ? artifact_spool_open(call->spool, "", &command.spill, err) : 0;
	if (done == 0)
		done = warder_pool_launch(call->pool, &key, &command, &run, err);
	call->launch_us = done == 0 ? clock_us() - call->launch_us : 0;
	if (done == 0)
		done = call_wait(call, run, err);
	free(argv);
	free(bytes);
	return done;
}

static void run_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;

	call->answer.status =
	    run_program(call, &call->answer.error) == 0 && call_sign(call, "run", &call->answer.error) == 0
		? 200
		: 0;
}

static void launch_finish(struct job *job, void *of)
{
	struct call *call = (struct call *)(void *)job;
	struct launcher *launcher = of;

	if (call->steps && call->steps->goes_on(launcher, call))
		return;
	call_forget_run(launcher, call);
	call_take_artifacts(launcher, call, call->answer.status == 200);
	if (call->answer.status == 200)
		memset(&call->answer.error, 0, sizeof(call->answer.error));
	else
		call->answer.status = link_status(call->answer.error.code);
	metrics_ended(&launcher->metrics, call->cause);
	if (call->answer.status != 200)
		metrics_refused(&launcher->metrics, call->answer.status);
	if (call->launch_us)
		metrics_launched(&launcher->metrics, METRICS_RUN, call->launch_us);
	else if (call->answer.status >= 500 && !call->began)
		launcher->metrics.failed[METRICS_RUN]++;
	call_finish_repeat(launcher, call, call->answer.status == 200 || call->began);
	call_finish(job, launcher);
}

static bool wants_artifacts(const struct json_value *document)
{
	const struct json_value *wanted = json_member(document, "artifacts");

	return wanted && wanted->type == JSON_BOOL && wanted->boolean;
}

int call_launch(struct context *context, struct call *call, void (*work)(struct job *job),
		struct warder_error *err)
{
	struct launcher *launcher = context->launcher;
	struct call_key key;
	const int found = call_find_repeat(context, call, &key, err);

	if (found != 0)
		return found < 0 ? -1 : 0;
	if (wants_artifacts(call->document)) {
		call->spool = artifact_spool_new(launcher->artifacts.directory_fd, context->tenant);
		if (!call->spool)
			return error_no_memory(err, NULL);
	}
	if ((call->steps && call->steps->admit(launcher, call, err) < 0) ||
	    call_choose_policy(context, call->document, &call->policy, err) < 0 ||
	    call_admit(launcher, context->tenant, &call->policy->policy, false, call, err) < 0 ||
	    call_begin_repeat(context, call, &key, err) < 0)
		return -1;
	call->request = malloc(context->len);
	if (!call->request) {
		call_finish_repeat(launcher, call, false);
		return error_no_memory(err, NULL);
	}
	memcpy(call->request, context->text, context->len);
	call->request_len = context->len;
	call->memory_bytes = call->policy->policy.limits.memory_bytes;
	call->cpu_milli = call->policy->policy.limits.cpu_milli;
	call->job.work = work;
	call->job.finish = launch_finish;
	call->job.kind = JOB_PROGRAM;
	call_add_run(launcher, call);
	jobs_add(&launcher->jobs, &call->job);
	return 0;
}

int calls_run(struct context *context, struct call *call, struct warder_error *err)
{
	static const char *const members[] = { "template",  "policy",         "env",
					       "argv",      "stdin",          "stdinBase64",
					       "artifacts", "idempotencyKey", NULL };

	return call_parse(context, call, members, err) < 0 || call_launch(context, call, run_work, err) < 0
		   ? -1
		   : 0;
}

void call_continue_runs(struct launcher *launcher)
{
	struct call *next;

	for (struct call *run = launcher->runs; run; run = next) {
		next = run->next_run;
		if (run->waits)
			launch_finish(&run->job, launcher);
	}
}
