/* Run shell commands that nobody has read, all at the same time, with one thread and epoll.
 *     cc example-epoll.c -lwarder && ./a.out 'echo one; sleep 1' 'echo two; exit 3' */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <warder.h>

struct job {
	const char *script;
	struct warder_run *run;
	int fd; /* of the run */
};

static int fail(const struct warder_error *err)
{
	fprintf(stderr, "%s: %s\n", warder_error_kind_name(err->code), err->text);
	return -1;
}

static int start(struct job *job, struct warder_template *tmpl, int loop_fd)
{
	char *argv[] = { "sh", "-c", (char *)job->script, NULL };
	struct warder_command command = { .size = sizeof(command), .argv = argv };
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = job };
	struct warder_error err;

	if (warder_launch(tmpl, &command, &job->run, &err) != 0)
		return fail(&err);
	job->fd = warder_run_fd(job->run, &err);
	if (job->fd >= 0 && epoll_ctl(loop_fd, EPOLL_CTL_ADD, job->fd, &event) == 0)
		return 0;
	warder_run_free(job->run);
	return job->fd < 0 ? fail(&err) : -1;
}

static void print(const struct job *job, const struct warder_result *result)
{
	size_t len;
	const char *output = warder_result_output(result, WARDER_STDOUT, &len, NULL);

	printf("%s: %s, %.3f s\n", job->script, warder_result_status(result),
	       (double)warder_result_wall_us(result) / 1e6);
	fwrite(output, 1, len, stdout);
}

/* 1: the job is done. 0: it goes on. */
static int go_on(struct job *job, int loop_fd)
{
	struct warder_result *result;
	struct warder_error err;
	int done = warder_run_dispatch(job->run, &result, &err);

	if (done == 0)
		return 0;
	if (done > 0) {
		print(job, result);
		warder_result_free(result);
	} else {
		fail(&err);
	}
	epoll_ctl(loop_fd, EPOLL_CTL_DEL, job->fd, NULL);
	warder_run_free(job->run);
	return 1;
}

static int run_all(struct job *jobs, int count, struct warder_template *tmpl)
{
	int loop_fd = epoll_create1(EPOLL_CLOEXEC), left = 0, failed = loop_fd < 0;

	for (int i = 0; i < count && !failed; i++)
		if (start(&jobs[i], tmpl, loop_fd) == 0)
			left++;
		else
			failed = 1;
	while (left > 0) {
		struct epoll_event events[16];
		int n = epoll_wait(loop_fd, events, 16, -1);

		if (n < 0 && errno != EINTR)
			break;
		for (int i = 0; i < n; i++)
			left -= go_on(events[i].data.ptr, loop_fd);
	}
	close(loop_fd);
	return failed ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct warder_policy *policy = NULL;
	struct warder_template *tmpl = NULL;
	struct job *jobs = calloc((size_t)argc, sizeof(*jobs));
	struct warder_error err;
	int status = -1;

	for (int i = 1; i < argc && jobs; i++)
		jobs[i - 1].script = argv[i];
	if (jobs && warder_policy_preset("strict", &policy, &err) == 0 &&
	    warder_policy_set(policy, "limits.wallTime", "10s", &err) == 0 &&
	    warder_prepare(policy, NULL, &tmpl, &err) == 0)
		status = run_all(jobs, argc - 1, tmpl);
	else if (jobs)
		fail(&err);
	warder_template_free(tmpl);
	warder_policy_free(policy);
	free(jobs);
	return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
