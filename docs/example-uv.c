/* Run shell commands in jails from a program that has an event loop already, here libuv. Output is printed as it comes; a timer of the
 * application's stops what takes longer than a second.
 *     cc example-uv.c -lwarder -luv && ./a.out 'for i in 1 2 3; do echo $i; sleep 0.1; done' 'echo slow; sleep 60' */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>
#include <warder.h>

struct job {
	const char *script;
	struct warder_run *run;
	uv_poll_t poll;
	uv_timer_t timer;
};

static int failures;

static void fail(const struct warder_error *err)
{
	fprintf(stderr, "%s: %s\n", warder_error_kind_name(err->code), err->text);
	failures++;
}

static int on_output(void *context, enum warder_stream stream, const char *bytes, size_t len)
{
	fwrite(bytes, 1, len, stream == WARDER_STDERR ? stderr : stdout);
	return fflush(stdout);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct job *job = poll->data;
	struct warder_result *result;
	struct warder_error err;
	int done = warder_run_dispatch(job->run, &result, &err);

	if (done == 0)
		return;
	if (done > 0) {
		printf("%s: %s (%s)\n", job->script, warder_result_status(result),
		       warder_result_cause(result));
		warder_result_free(result);
	} else {
		fail(&err);
	}
	uv_close((uv_handle_t *)&job->poll, NULL);
	uv_close((uv_handle_t *)&job->timer, NULL);
	warder_run_free(job->run);
}

static void on_timeout(uv_timer_t *timer)
{
	struct job *job = timer->data;

	warder_stop(job->run, SIGTERM,
		    500000); /* takes effect in a dispatch, which the descriptor asks for */
}

static void start(struct job *job, struct warder_template *tmpl, uv_loop_t *loop)
{
	char *argv[] = { "sh", "-c", (char *)job->script, NULL };
	struct warder_command command = { .size = sizeof(command), .argv = argv, .on_output = on_output };
	struct warder_error err;
	int fd;

	if (warder_launch(tmpl, &command, &job->run, &err) != 0) {
		fail(&err);
		return;
	}
	fd = warder_run_fd(job->run, &err);
	if (fd < 0) {
		fail(&err);
		warder_run_free(job->run);
		return;
	}
	job->poll.data = job->timer.data = job;
	uv_poll_init(loop, &job->poll, fd);
	uv_poll_start(&job->poll, UV_READABLE, on_ready);
	uv_timer_init(loop, &job->timer);
	uv_timer_start(&job->timer, on_timeout, 1000, 0);
}

int main(int argc, char **argv)
{
	struct warder_policy *policy = NULL;
	struct warder_template *tmpl = NULL;
	uv_loop_t *loop = uv_default_loop();
	struct job *jobs = calloc((size_t)argc, sizeof(*jobs));
	struct warder_error err;

	if (jobs && warder_policy_preset("strict", &policy, &err) == 0 &&
	    warder_prepare(policy, NULL, &tmpl, &err) == 0) {
		for (int i = 1; i < argc; i++) {
			jobs[i - 1].script = argv[i];
			start(&jobs[i - 1], tmpl, loop);
		}
		uv_run(loop, UV_RUN_DEFAULT);
	} else if (jobs) {
		fail(&err);
	}
	uv_loop_close(loop);
	warder_template_free(tmpl);
	warder_policy_free(policy);
	free(jobs);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
