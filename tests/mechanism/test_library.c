/*
 * The public functions, used as a host program uses them: in its own process, next to other threads, for long.
 */
#include "base/array.h"
#include "tests/lib/library.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

static struct warder_template *easy_template(void)
{
	struct warder_policy *policy = library_policy();
	struct warder_template *tmpl = library_prepare(policy);

	warder_policy_free(policy);
	return tmpl;
}

/* Run a shell script; NULL, with a failed expectation, if it could not be run. */
static struct warder_result *shell(struct warder_template *tmpl, const char *script,
				   struct warder_command *command)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	struct warder_error err;

	command->size = sizeof(*command);
	command->argv = argv;
	if (warder_launch(tmpl, command, &run, &err) != 0 || warder_wait(run, &result, &err) != 0)
		cr_expect(false, "%s: %s", script, err.text);
	warder_run_free(run);
	return result;
}

static void expect_output(struct warder_template *tmpl, const char *script, struct warder_command command,
			  const char *wanted)
{
	struct warder_result *result = shell(tmpl, script, &command);

	if (result)
		cr_expect_str_eq(warder_result_output(result, WARDER_STDOUT, NULL, NULL), wanted, "%s",
				 script);
	warder_result_free(result);
}

Test(library, a_template_serves_many_runs, .timeout = 120)
{
	struct warder_template *tmpl = easy_template();
	char *environment[] = { (char *)"WORD=spoken", NULL };

	expect_output(tmpl, "echo $((6 * 7))", (struct warder_command){ 0 }, "42\n");
	expect_output(tmpl, "cat", (struct warder_command){ .input = "a\nb", .input_len = 3 }, "a\nb");
	expect_output(tmpl, "cat", (struct warder_command){ 0 }, "");
	expect_output(tmpl, "echo $WORD", (struct warder_command){ .environment = environment }, "spoken\n");
	expect_output(tmpl, "ls /tmp; touch /tmp/trace", (struct warder_command){ 0 }, "");
	expect_output(tmpl, "ls /tmp", (struct warder_command){ 0 }, "");
	warder_template_free(tmpl);
}

Test(library, standard_input_from_a_descriptor, .timeout = 60)
{
	struct warder_template *tmpl = easy_template();
	int ends[2];

	cr_assert(pipe(ends) == 0);
	cr_assert(write(ends[1], "piped", 5) == 5);
	close(ends[1]);
	expect_output(tmpl, "cat", (struct warder_command){ .input_fd = ends[0] }, "piped");
	close(ends[0]);
	warder_template_free(tmpl);
}

static int count_bytes(void *context, enum warder_stream stream, const char *bytes, size_t len)
{
	size_t *counts = context;

	counts[stream] += len;
	return 0;
}

/* One chunk is taken, the second is not. */
static int refuse_bytes(void *context, enum warder_stream stream, const char *bytes, size_t len)
{
	size_t *taken = context;

	if (*taken)
		return 1;
	*taken = len;
	return 0;
}

/* Whether the result's JSON says so of standard output. */
static bool says(const struct warder_result *result, const char *counts)
{
	char *json = warder_result_json(result);
	bool found = json && strstr(json, counts);

	free(json);
	return found;
}

Test(library, output_as_it_comes, .timeout = 60)
{
	struct warder_template *tmpl = easy_template();
	size_t counts[2] = { 0 }, kept = 1;
	struct warder_command counting = { .on_output = count_bytes, .context = counts };
	size_t taken = 0;
	struct warder_command refusing = { .on_output = refuse_bytes, .context = &taken };
	struct warder_result *result = shell(tmpl, "head -c 3000000 /dev/zero; echo err >&2", &counting);
	uint64_t total = 0;
	char counts_text[64];

	warder_result_output(result, WARDER_STDOUT, &kept, &total);
	cr_expect(counts[WARDER_STDOUT] == 1 << 20, "only what is within the limit: %zu",
		  counts[WARDER_STDOUT]);
	cr_expect(counts[WARDER_STDERR] == 4);
	cr_expect(kept == 0 && total == 3000000);
	cr_expect(says(result, "\"stdout\":{\"bytesKept\":1048576,\"bytesTotal\":3000000,\"truncated\":true,"
			       "\"bytesDropped\":0}"));
	warder_result_free(result);
	result = shell(tmpl, "while :; do echo; sleep 1; done", &refusing);
	cr_expect_str_eq(warder_result_status(result), "killed");
	cr_expect_str_eq(warder_result_cause(result), "supervisor");
	snprintf(counts_text, sizeof(counts_text), "\"stdout\":{\"bytesKept\":%zu,", taken);
	cr_expect(taken && says(result, counts_text), "what was taken");
	warder_result_free(result);
	warder_template_free(tmpl);
}

static void *cancel_soon(void *run)
{
	usleep(300000);
	warder_cancel(run);
	return NULL;
}

Test(library, a_run_is_cancelled_from_another_thread, .timeout = 60)
{
	struct warder_template *tmpl = easy_template();
	char *argv[] = { (char *)"sleep", (char *)"50", NULL };
	struct warder_command command = { .size = sizeof(command), .argv = argv };
	struct warder_result *result = NULL, *again = NULL;
	struct warder_run *run = NULL;
	struct warder_error err;
	pthread_t thread;

	cr_assert(warder_launch(tmpl, &command, &run, &err) == 0, "%s", err.text);
	cr_assert(pthread_create(&thread, NULL, cancel_soon, run) == 0);
	cr_assert(warder_wait(run, &result, &err) == 0, "%s", err.text);
	pthread_join(thread, NULL);
	cr_expect_str_eq(warder_result_cause(result), "cancelled");
	cr_expect(warder_wait(run, &again, &err) == -1 && err.code == WARDER_ERROR_CONFLICT,
		  "a run is waited for once");
	warder_cancel(run); /* too late, and harmless */
	warder_run_free(run);
	warder_template_free(tmpl);
	cr_expect_str_eq(warder_result_status(result), "killed", "a result outlives its run and template");
	warder_result_free(result);
}

Test(library, a_run_that_is_not_waited_for_is_ended, .timeout = 60)
{
	struct warder_template *tmpl = easy_template();
	char *argv[] = { (char *)"sleep", (char *)"50", NULL };
	struct warder_command command = { .size = sizeof(command), .argv = argv };
	struct warder_run *run = NULL;
	struct warder_error err;
	int before;

	expect_output(tmpl, "", (struct warder_command){ 0 },
		      ""); /* the first run makes what the template keeps */
	before = library_descriptors();
	cr_assert(warder_launch(tmpl, &command, &run, &err) == 0, "%s", err.text);
	warder_run_free(run);
	cr_expect(library_descriptors() == before);
	warder_template_free(tmpl);
}

struct worker {
	pthread_t thread;
	struct warder_template *tmpl;
	int right;
};

static void *work(void *context)
{
	struct worker *worker = context;

	for (int i = 0; i < 10; i++) {
		struct warder_command command = { .input = "x", .input_len = 1 };
		char script[32];
		struct warder_result *result;

		snprintf(script, sizeof(script), "cat; exit %d", i);
		result = shell(worker->tmpl, script, &command);
		worker->right += result && warder_result_exit_code(result) == i &&
				 strcmp(warder_result_output(result, WARDER_STDOUT, NULL, NULL), "x") == 0;
		warder_result_free(result);
	}
	return NULL;
}

/* 50 runs, five at a time, of two templates. The host's own wait() sees no child, and nothing stays open. */
/* ---- event loops ---- */

static struct warder_run *launched(struct warder_template *tmpl, const char *script,
				   struct warder_command *command)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct warder_run *run = NULL;
	struct warder_error err;

	command->size = sizeof(*command);
	command->argv = argv;
	cr_assert_eq(warder_launch(tmpl, command, &run, &err), 0, "%s", err.text);
	return run;
}

static int add_output(void *context, enum warder_stream stream, const char *bytes, size_t len)
{
	strncat(context, bytes, len);
	return 0;
}

/* Runs of one template; each takes its output by a callback, and some are stopped. */
Test(library, one_thread_drives_many_runs, .timeout = 120)
{
	enum { RUNS = 12 };
	struct warder_template *tmpl = easy_template();
	struct warder_run *runs[RUNS];
	char outputs[RUNS][64] = { 0 };
	const int loop_fd = epoll_create1(EPOLL_CLOEXEC);
	struct warder_error err;
	int left = RUNS;

	for (int i = 0; i < RUNS; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = (uint32_t)i };
		struct warder_command command = { .on_output = add_output, .context = outputs[i] };
		char script[80];
		int fd;

		snprintf(script, sizeof(script), i % 3 ? "echo a%d; sleep 0.1; echo b" : "echo a%d; sleep 50",
			 i);
		runs[i] = launched(tmpl, script, &command);
		fd = warder_run_fd(runs[i], &err);
		cr_assert(fd >= 0 && fd == warder_run_fd(runs[i], &err), "%s", err.text);
		cr_assert_eq(epoll_ctl(loop_fd, EPOLL_CTL_ADD, fd, &event), 0);
		if (i % 3 == 0)
			warder_stop(runs[i], 15, 10000000);
	}
	while (left) {
		struct warder_result *result = NULL;
		struct epoll_event event;
		char expected[64], *json;
		int i, done;

		cr_assert_eq(epoll_wait(loop_fd, &event, 1, 60000), 1);
		i = (int)event.data.u32;
		done = warder_run_dispatch(runs[i], &result, &err);
		cr_assert(done >= 0, "%s", err.text);
		if (!done)
			continue;
		snprintf(expected, sizeof(expected), i % 3 ? "a%d\nb\n" : "a%d\n", i);
		cr_expect(i % 3 == 0 || strcmp(outputs[i], expected) == 0, "%d: %s", i, outputs[i]);
		cr_expect_eq(warder_result_signal(result), i % 3 ? 0 : 15, "%d: %d", i,
			     warder_result_signal(result));
		json = warder_result_json(result);
		cr_expect(json != NULL);
		free(json);
		warder_result_free(result);
		cr_expect_eq(warder_run_fd(runs[i], &err), -1);
		cr_expect_eq(err.code, WARDER_ERROR_CONFLICT, "%s", err.text);
		warder_run_free(runs[i]);
		left--;
	}
	close(loop_fd);
	warder_template_free(tmpl);
}

/* Nobody looked in time: what the program did after its wall time is no success. */
Test(library, a_program_that_ends_after_its_wall_time_is_no_success, .timeout = 60)
{
	struct warder_policy *policy = library_policy();
	struct warder_command command = { 0 };
	struct warder_result *result = NULL;
	struct warder_template *tmpl;
	struct warder_run *run;
	struct warder_error err;

	cr_assert(warder_policy_set(policy, "limits.wallTime", "300ms", &err) == 0, "%s", err.text);
	tmpl = library_prepare(policy);
	warder_policy_free(policy);
	run = launched(tmpl, "sleep 0.5; echo late", &command);
	usleep(1800000); /* init ends it by itself after 2.3 s */
	cr_assert_eq(warder_wait(run, &result, &err), 0, "%s", err.text);
	cr_expect_str_eq(warder_result_status(result), "timeout");
	cr_expect_str_eq(warder_result_cause(result), "wallTime");
	cr_expect_eq(warder_result_exit_code(result), -1);
	cr_expect_str_eq(warder_result_output(result, WARDER_STDOUT, NULL, NULL), "late\n");
	warder_result_free(result);
	warder_run_free(run);
	warder_template_free(tmpl);
}

/* Every way to wait may follow every other one. */
Test(library, a_wait_with_a_limit, .timeout = 60)
{
	struct warder_template *tmpl = easy_template();
	struct warder_command command = { 0 };
	struct warder_run *run = launched(tmpl, "echo a; sleep 1; echo b; exit 5", &command);
	struct warder_result *result = NULL;
	struct warder_error err;

	cr_expect_eq(warder_wait_for(run, 0, &result, &err), 0);
	cr_expect_eq(warder_wait_for(run, 100000, &result, &err), 0);
	cr_expect_eq(warder_run_dispatch(run, &result, &err), 0);
	cr_expect_null(result);
	cr_assert_eq(warder_wait_for(run, 60000000, &result, &err), 1, "%s", err.text);
	cr_expect_eq(warder_result_exit_code(result), 5);
	cr_expect_str_eq(warder_result_output(result, WARDER_STDOUT, NULL, NULL), "a\nb\n");
	warder_result_free(result);
	cr_expect_eq(warder_wait_for(run, 0, &result, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_CONFLICT, "%s", err.text);
	cr_expect_str_eq(err.text, "the run has been waited for already");
	warder_run_free(run);

	run = launched(tmpl, "echo a; sleep 0.3; exit 6", &command);
	cr_expect_eq(warder_wait_for(run, 1000, &result, &err), 0);
	cr_assert_eq(warder_wait(run, &result, &err), 0, "%s", err.text);
	cr_expect_eq(warder_result_exit_code(result), 6);
	warder_result_free(result);
	warder_run_free(run);

	/* Freed before its end, with output that nobody took. */
	run = launched(tmpl, "echo a; sleep 50", &command);
	cr_expect_eq(warder_wait_for(run, 200000, &result, &err), 0);
	warder_run_free(run);
	warder_template_free(tmpl);
}

struct nested {
	struct warder_run *run;
	uint32_t code;
};

static int wait_inside(void *context, enum warder_stream stream, const char *bytes, size_t len)
{
	struct nested *nested = context;
	struct warder_result *result = NULL;
	struct warder_error err;

	nested->code = warder_run_dispatch(nested->run, &result, &err) < 0 ? err.code : 0;
	return 0;
}

static int free_inside(void *context, enum warder_stream stream, const char *bytes, size_t len)
{
	struct nested *nested = context;

	warder_run_free(nested->run);
	nested->run = NULL;
	return 0;
}

Test(library, a_dispatch_inside_a_dispatch_is_refused, .timeout = 60)
{
	struct warder_template *tmpl = easy_template();
	struct nested nested = { 0 };
	struct warder_command command = { .on_output = wait_inside, .context = &nested };
	struct warder_run *run = nested.run = launched(tmpl, "echo a; sleep 0.2", &command);
	struct warder_result *result = NULL;
	struct warder_error err;

	cr_assert_eq(warder_wait_for(run, 60000000, &result, &err), 1, "%s", err.text);
	cr_expect_eq(nested.code, WARDER_ERROR_CONFLICT);
	warder_result_free(result);
	warder_run_free(run);

	/* Freed there, it is seen to its end. */
	command.on_output = free_inside;
	run = nested.run = launched(tmpl, "echo a; sleep 50", &command);
	cr_assert_eq(warder_wait_for(run, 60000000, &result, &err), 1, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "cancelled");
	warder_result_free(result);
	warder_template_free(tmpl);
}

Test(library, threads_share_templates, .timeout = 200)
{
	struct warder_template *tmpls[2];
	struct worker workers[5];
	int before, right = 0;

	warder_template_free(easy_template()); /* what is opened once for the process */
	before = library_descriptors();
	for (size_t i = 0; i < 2; i++)
		tmpls[i] = easy_template();
	for (size_t i = 0; i < 5; i++) {
		workers[i] = (struct worker){ .tmpl = tmpls[i % 2] };
		cr_assert(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
	}
	for (size_t i = 0; i < 5; i++) {
		pthread_join(workers[i].thread, NULL);
		right += workers[i].right;
	}
	cr_expect(right == 50, "%d of 50", right);
	cr_expect(wait(NULL) == -1 && errno == ECHILD, "a child of the library's is visible");
	warder_template_free(tmpls[0]);
	warder_template_free(tmpls[1]);
	cr_expect(library_descriptors() == before, "%d descriptors, before %d", library_descriptors(),
		  before);
}

/* A forked child has a copy of every descriptor of that moment, also of files that a root in the making has open. */
static void *fork_on(void *arg)
{
	atomic_bool *done = arg;
	pid_t pids[16] = { 0 };

	for (size_t i = 0; !atomic_load(done); i = (i + 1) % 16) {
		if (pids[i] > 0)
			waitpid(pids[i], NULL, 0);
		pids[i] = fork();
		if (pids[i] == 0) {
			usleep(3000);
			_exit(0);
		}
		usleep(
		    500); /* leave the processor to the preparations, which need more of it on a busy host */
	}
	for (size_t i = 0; i < 16; i++)
		if (pids[i] > 0)
			waitpid(pids[i], NULL, 0);
	return NULL;
}

Test(library, prepares_while_another_thread_forks, .timeout = 120)
{
	struct warder_policy *policy = library_policy();
	atomic_bool done = false;
	pthread_t thread;

	cr_assert(pthread_create(&thread, NULL, fork_on, &done) == 0);
	for (int i = 0; i < 100; i++) {
		struct warder_template *tmpl = NULL;
		struct warder_error err;

		if (warder_prepare(policy, NULL, &tmpl, &err) != 0)
			cr_expect(err.code == WARDER_ERROR_UNSUPPORTED_POLICY, "preparation %d: %s", i,
				  err.text);
		warder_template_free(tmpl);
	}
	atomic_store(&done, true);
	pthread_join(thread, NULL);
	warder_policy_free(policy);
}

Test(library, a_wrong_use_is_an_error, .timeout = 60)
{
	struct warder_template *tmpl = easy_template();
	char *nothing[] = { NULL };
	char *empty[] = { (char *)"", NULL };
	char *missing[] = { (char *)"no-such-program", NULL };
	const struct {
		struct warder_command command;
		enum warder_error_kind kind;
	} rows[] = {
		{ { 0 }, WARDER_ERROR_INVALID_REQUEST },
		{ { .size = sizeof(struct warder_command) }, WARDER_ERROR_INVALID_REQUEST },
		{ { .size = sizeof(struct warder_command), .argv = nothing }, WARDER_ERROR_INVALID_REQUEST },
		{ { .size = sizeof(struct warder_command), .argv = empty }, WARDER_ERROR_INVALID_REQUEST },
		{ { .size = sizeof(struct warder_command), .argv = missing }, WARDER_ERROR_NOT_FOUND },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_run *run = NULL;
		struct warder_error err = { 0 };

		cr_expect(warder_launch(tmpl, &rows[i].command, &run, &err) == -1, "row %zu", i);
		cr_expect(err.code == rows[i].kind, "row %zu: %s", i, err.text);
		cr_expect_null(run, "row %zu", i);
	}
	warder_template_free(tmpl);
}

/* A caller built against a header whose struct ended after argv. */
/* Of descriptors, inputs and the environment: refused before anything starts, and the member is named. */
Test(library, streams_that_cannot_be, .timeout = 60)
{
	const int read_only_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const int write_only_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const int closed[2] = { 1, 12345 }, negative[2] = { 1, -1 }, reading[2] = { read_only_fd, 2 };
	char *no_value[] = { (char *)"A=1", (char *)"NOEQ", NULL };
	char *no_name[] = { (char *)"=x", NULL };
	const struct row {
		struct warder_command command;
		const char *field;
	} rows[] = {
		{ { .input_fd = -5 }, "input_fd" },
		{ { .input_fd = 12345 }, "input_fd" },
		{ { .input_fd = write_only_fd }, "input_fd" },
		{ { .input = "x", .input_len = 1, .input_fd = read_only_fd }, "input_fd" },
		{ { .input_len = 5 }, "input" },
		{ { .environment = no_value }, "environment" },
		{ { .environment = no_name }, "environment" },
		{ { .output_fds = closed }, "output_fds" },
		{ { .output_fds = negative }, "output_fds" },
		{ { .output_fds = reading }, "output_fds" },
		{ { .output_max = 5 }, "output_max" },
	};
	struct warder_template *tmpl = easy_template();
	char *argv[] = { (char *)"true", NULL };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_command command = rows[i].command;
		struct warder_error err = { 0 };
		struct warder_run *run = NULL;

		command.size = sizeof(command);
		command.argv = argv;
		cr_expect_eq(warder_launch(tmpl, &command, &run, &err), -1, "row %zu", i);
		cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST, "row %zu", i);
		cr_expect_str_eq(err.field, rows[i].field, "row %zu: %s", i, err.text);
		warder_run_free(run);
	}
	cr_expect_str_eq(warder_result_status(NULL), "");
	cr_expect_str_eq(warder_result_cause(NULL), "");
	cr_expect_eq(warder_result_exit_code(NULL), -1);
	cr_expect_null(warder_result_json(NULL));
	close(read_only_fd);
	close(write_only_fd);
	warder_template_free(tmpl);
}

Test(library, an_older_caller_passes_a_shorter_struct, .timeout = 60)
{
	struct warder_template *tmpl = easy_template();
	char *argv[] = { (char *)"cat", NULL };
	struct warder_command command = { .size = offsetof(struct warder_command, environment),
					  .argv = argv };
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	struct warder_error err;

	command.input = "never looked at";
	command.input_len = 15;
	cr_assert(warder_launch(tmpl, &command, &run, &err) == 0, "%s", err.text);
	cr_assert(warder_wait(run, &result, &err) == 0, "%s", err.text);
	cr_expect_str_eq(warder_result_output(result, WARDER_STDOUT, NULL, NULL), "");
	warder_result_free(result);
	warder_run_free(run);
	warder_template_free(tmpl);
}

Test(library, a_run_without_a_receipt, .timeout = 60)
{
	static const char *const wanted[] = { "\"receipt\":{", "\"receipt\":null" };
	struct warder_template *tmpl = easy_template();

	for (int without = 0; without < 2; without++) {
		struct warder_command command = { .no_receipt = without };
		struct warder_result *result = shell(tmpl, "true", &command);
		char *json = result ? warder_result_json(result) : NULL;

		cr_expect(json && strstr(json, wanted[without]), "%s", json ? json : "");
		free(json);
		warder_result_free(result);
	}
	warder_template_free(tmpl);
}

static void expect_refusal(struct warder_policy *policy, const struct warder_policy *ceiling, uint32_t kind)
{
	const struct warder_options options = { .size = sizeof(options), .ceiling = ceiling };
	struct warder_template *tmpl = NULL;
	struct warder_error err = { 0 };

	cr_expect(warder_prepare(policy, &options, &tmpl, &err) == -1);
	cr_expect(err.code == kind, "%s", err.text);
	cr_expect_null(strstr(err.text, "symbolic link"), "%s", err.text);
	cr_expect_null(tmpl);
}

Test(library, policies_that_are_refused, .timeout = 60)
{
	struct warder_policy *policy = library_policy(), *ceiling = library_policy();
	struct warder_error err;

	cr_assert(warder_policy_set(ceiling, "limits.wallTime", "5s", &err) == 0);
	expect_refusal(policy, ceiling, WARDER_ERROR_REJECTED);
	cr_expect(warder_policy_set(policy, "limits.wallTime", "soon", &err) == -1);
	cr_expect_str_eq(err.field, "limits.wallTime");
	cr_assert(warder_policy_set(policy, "limits.wallTime", "5s", &err) == 0);
	cr_assert(warder_policy_set(policy, "filesystem.view", "image:none", &err) == 0);
	expect_refusal(policy, NULL, WARDER_ERROR_INVALID_REQUEST);
	cr_expect(warder_policy_require(policy, "limits.memori", 1, &err) == -1);
	cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST);
	warder_policy_free(policy);
	warder_policy_free(ceiling);
	warder_policy_free(NULL);
	warder_template_free(NULL);
	warder_run_free(NULL);
}

Test(library, what_a_ceiling_grants_is_told, .timeout = 20)
{
	struct warder_policy *policy = library_policy(), *ceiling = NULL;
	struct warder_error err;
	char *json = NULL;

	cr_assert(warder_policy_preset("strict", &ceiling, &err) == 0);
	cr_assert(warder_policy_set(ceiling, "limits.wallTime", "1s", &err) == 0);
	cr_assert(warder_policy_set(policy, "limits.wallTime", "2s", &err) == 0);
	cr_assert(warder_policy_granted(policy, ceiling, &json, &err) == 0, "%s", err.text);
	cr_expect(strncmp(json, "{\"granted\":false,\"most\":{", 25) == 0, "%s", json);
	cr_expect(strstr(json, "{\"field\":\"limits.wallTime\",\"grant\":\"lowered\",\"asked\":\"2s\","
			       "\"most\":\"1s\",\"violations\":[{\"field\":\"limits.wallTime\",\"message\":"),
		  "%s", json);
	free(json);
	cr_assert(warder_policy_granted(NULL, NULL, &json, &err) == 0, "%s", err.text);
	cr_expect(strncmp(json, "{\"granted\":null,\"most\":null,\"fields\":[{", 39) == 0, "%s", json);
	free(json);
	warder_policy_free(policy);
	warder_policy_free(ceiling);
}

static char *const *provide_rows(void *context, struct warder_error *err)
{
	if (!context)
		snprintf(err->text, sizeof(err->text), "the vault is closed");
	return context;
}

Test(library, a_source_fills_variables_that_are_missing, .timeout = 20)
{
	struct warder_policy *policy = library_policy();
	char *rows[] = { (char *)"LIBRARY_MISSING=filled", (char *)"LIBRARY_THERE=filled", NULL };
	struct warder_error err = { 0 };
	char *json;

	setenv("LIBRARY_THERE", "there", 1);
	cr_assert(warder_policy_set(policy, "environment.mode", "allowList", &err) == 0);
	cr_assert(warder_policy_set(policy, "environment.names", "LIBRARY_MISSING", &err) == 0);
	cr_assert(warder_policy_set(policy, "environment.names", "LIBRARY_THERE", &err) == 0);
	cr_expect(warder_policy_provide(policy, provide_rows, NULL, &err) == 1);
	cr_expect_str_eq(err.text, "the vault is closed");
	cr_expect(warder_policy_provide(policy, provide_rows, rows, &err) == 0, "%s", err.text);
	json = warder_policy_json(policy);
	cr_expect(strstr(json, "\"LIBRARY_MISSING\": \"filled\"") && !strstr(json, "\"LIBRARY_THERE\": "),
		  "%s", json);
	free(json);
	warder_policy_free(policy);
}

Test(library, a_policy_goes_out_and_in, .timeout = 20)
{
	struct warder_policy *policy = library_policy(), *copy = NULL;
	struct warder_error err;
	char *json, *again;

	cr_assert(warder_policy_set(policy, "environment.set.NAME", "value", &err) == 0);
	json = warder_policy_json(policy);
	cr_expect(strstr(json, "\"limits.memory\": \"preferred\"") &&
		  strstr(json, "\"limits.stack\": \"required\""));
	cr_assert(warder_policy_parse(json, strlen(json), NULL, &copy, &err) == 0, "%s", err.text);
	again = warder_policy_json(copy);
	cr_expect_str_eq(json, again);
	cr_expect(warder_policy_parse("{", 1, "here", &copy, &err) == -1);
	cr_expect(strncmp(err.text, "here:1:", 7) == 0, "%s", err.text);
	free(json);
	free(again);
	warder_policy_free(policy);
	warder_policy_free(copy);
}
