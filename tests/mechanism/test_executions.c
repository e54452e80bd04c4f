/*
 * executions: input callbacks of runs, and executions that the keeper of a session supervises, through warder.h alone; and what copies of a
 * session's files do to them.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "runtime/session/attachment.h"
#include "tests/lib/library.h"

#define BYTES 300000u /* more than a pipe holds */

/* What a callback has got or has to give. */
struct traffic {
	struct warder_run *run;
	struct warder_execution *execution;
	char *given;
	size_t at, len;
	atomic_size_t allowed; /* bytes that on_input may give by now */
	bool stays_open;
	atomic_uint calls_without;
	char *out;
	size_t out_len;
	uint64_t gap;
	int refuse;
};

static char letter(size_t i)
{
	return (char)('a' + i * 7 % 26);
}

static void traffic_init(struct traffic *traffic, size_t len, size_t allowed)
{
	*traffic = (struct traffic){ .given = malloc(len + 1), .len = len, .out = malloc(2 * BYTES) };
	cr_assert(traffic->given && traffic->out);
	for (size_t i = 0; i < len; i++)
		traffic->given[i] = letter(i);
	atomic_init(&traffic->allowed, allowed);
}

static void traffic_done(struct traffic *traffic)
{
	free(traffic->given);
	free(traffic->out);
}

static long give(void *context, char *bytes, size_t size)
{
	struct traffic *traffic = context;
	const size_t allowed = atomic_load(&traffic->allowed) - traffic->at;
	const size_t len = allowed < size ? allowed : size;

	if (traffic->at == traffic->len && !traffic->stays_open)
		return -1;
	traffic->calls_without += len == 0;
	memcpy(bytes, traffic->given + traffic->at, len);
	traffic->at += len;
	return (long)len;
}

static int take(void *context, enum warder_stream stream, const char *bytes, size_t len)
{
	struct traffic *traffic = context;

	if (stream == WARDER_STDOUT && traffic->out_len + len <= 2 * BYTES)
		memcpy(traffic->out + traffic->out_len, bytes, len);
	traffic->out_len += stream == WARDER_STDOUT ? len : 0;
	return 0;
}

static int take_at(void *context, enum warder_stream stream, uint64_t offset, const char *bytes, size_t len)
{
	struct traffic *traffic = context;

	take(context, stream, bytes, len);
	return traffic->refuse;
}

static void note_gap(void *context, enum warder_stream stream, uint64_t from, uint64_t to)
{
	struct traffic *traffic = context;

	traffic->gap += to - from;
}

static bool is_all(const struct traffic *traffic)
{
	return traffic->out_len == traffic->len && memcmp(traffic->out, traffic->given, traffic->len) == 0;
}

/* Input that comes later, from another thread: when the function was asked once and had none. */
static void *allow_more(void *context)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct traffic *traffic = context;

	for (int i = 0; i < 3000 && atomic_load(&traffic->calls_without) == 0; i++)
		nanosleep(&pause, NULL);
	for (size_t allowed = BYTES / 4; allowed <= BYTES; allowed += BYTES / 4) {
		nanosleep(&pause, NULL);
		atomic_store(&traffic->allowed, allowed);
		if (traffic->run)
			warder_run_input_ready(traffic->run);
		else
			warder_execution_input_ready(traffic->execution);
	}
	return NULL;
}

/* ---- runs ---- */

Test(input, a_function_gives_what_there_is_and_is_asked_again, .timeout = 120)
{
	char *argv[] = { "cat", NULL };
	struct warder_policy *policy = library_policy();
	struct warder_template *tmpl;
	struct traffic traffic;
	struct warder_command command = { .size = sizeof(command),
					  .argv = argv,
					  .on_output = take,
					  .on_input = give,
					  .context = &traffic };
	struct warder_result *result = NULL;
	struct warder_error err;
	pthread_t thread;

	traffic_init(&traffic, BYTES, 0);
	cr_assert_eq(warder_policy_set(policy, "output.stdout", "1MiB", &err), 0, "%s", err.text);
	tmpl = library_prepare(policy);
	cr_assert_eq(warder_launch(tmpl, &command, &traffic.run, &err), 0, "%s", err.text);
	cr_assert_eq(pthread_create(&thread, NULL, allow_more, &traffic), 0);
	cr_expect_eq(warder_wait(traffic.run, &result, &err), 0, "%s", err.text);
	pthread_join(thread, NULL);
	cr_expect_str_eq(warder_result_status(result), "success");
	cr_expect(is_all(&traffic), "%zu bytes of %zu came back", traffic.out_len, traffic.len);
	cr_expect(traffic.calls_without >= 1);
	warder_result_free(result);
	warder_run_free(traffic.run);
	warder_template_free(tmpl);
	warder_policy_free(policy);
	traffic_done(&traffic);
}

static long too_much(void *context, char *bytes, size_t size)
{
	return (long)size + 1;
}

Test(input, a_program_that_reads_no_more_and_wrong_answers, .timeout = 120)
{
	char *argv[] = { "sh", "-c", "exec <&-; sleep 0.3; exit 3", NULL };
	struct warder_policy *policy = library_policy();
	struct warder_template *tmpl = library_prepare(policy);
	struct traffic traffic;
	struct warder_command command = {
		.size = sizeof(command), .argv = argv, .on_input = give, .context = &traffic
	};
	struct warder_result *result = NULL;
	struct warder_error err;

	traffic_init(&traffic, BYTES, BYTES);
	traffic.stays_open = true;
	cr_assert_eq(warder_launch(tmpl, &command, &traffic.run, &err), 0, "%s", err.text);
	cr_assert_eq(warder_wait(traffic.run, &result, &err), 0, "%s", err.text);
	cr_expect_eq(warder_result_exit_code(result), 3);
	warder_result_free(result);
	warder_run_free(traffic.run);

	argv[2] = "sleep 5";
	command.on_input = too_much;
	cr_assert_eq(warder_launch(tmpl, &command, &traffic.run, &err), 0, "%s", err.text);
	cr_assert_eq(warder_wait(traffic.run, &result, &err), 0, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "supervisor");
	warder_result_free(result);
	warder_run_free(traffic.run);

	command.input = "both";
	command.input_len = 4;
	cr_expect_eq(warder_launch(tmpl, &command, &traffic.run, &err), -1);
	cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strcmp(err.field, "on_input") == 0, "%s",
		  err.text);
	warder_template_free(tmpl);
	warder_policy_free(policy);
	traffic_done(&traffic);
}

/* ---- executions ---- */

struct stage {
	struct warder_policy *policy;
	char name[40];
	struct warder_session *session;
	struct warder_error err;
};

static void stage_begin(struct stage *stage)
{
	char tool[PATH_MAX];
	struct warder_session_options options = { .size = sizeof(options),
						  .program = library_tool(tool, sizeof(tool)) };

	*stage = (struct stage){ 0 };
	if (!options.program)
		library_skip("there is no command line tool beside this program");
	stage->policy = library_policy();
	cr_assert_eq(warder_policy_set(stage->policy, "devices.terminals", "2", &stage->err), 0);
	warder_template_free(library_prepare(stage->policy));
	options.policy = stage->policy;
	snprintf(stage->name, sizeof(stage->name), "executions-%d", (int)getpid());
	cr_assert_eq(warder_session_start(stage->name, &options, &stage->session, &stage->err), 0, "%s",
		     stage->err.text);
}

static void stage_end(struct stage *stage)
{
	struct warder_error ignored;

	warder_session_stop(stage->name, &ignored);
	warder_session_free(stage->session);
	warder_policy_free(stage->policy);
}

static struct warder_execution *start_shell(struct stage *stage, const char *script,
					    const struct warder_execution_command *more)
{
	char *argv[] = { "sh", "-c", (char *)(uintptr_t)script, NULL };
	struct warder_execution_command command = *more;
	struct warder_execution *execution = NULL;

	command.size = sizeof(command);
	command.argv = argv;
	cr_assert_eq(warder_execution_start(stage->session, &command, &execution, &stage->err), 0, "%s",
		     stage->err.text);
	return execution;
}

static const struct warder_execution_command plain = { 0 };
static const struct warder_execution_command with_input = { .keep_input = 1 };

static void await(struct warder_execution *execution, struct warder_error *err)
{
	struct pollfd ready = { .fd = warder_execution_fd(execution, err), .events = POLLIN };

	cr_assert(ready.fd >= 0, "%s", err->text);
	cr_assert_eq(poll(&ready, 1, 60000), 1, "nothing to do");
}

/* By its descriptor, to the end. */
static struct warder_result *follow(struct warder_execution *execution, struct warder_error *err)
{
	struct warder_result *result = NULL;
	int ended = 0;

	while (ended == 0) {
		await(execution, err);
		ended = warder_execution_dispatch(execution, &result, err);
	}
	cr_assert_eq(ended, 1, "%s", err->text);
	return result;
}

Test(executions, input_and_output_by_callbacks, .init = library_begin_sessions, .fini = library_end_sessions,
     .timeout = 120)
{
	struct stage stage;
	struct traffic traffic;
	struct warder_attach attach = {
		.size = sizeof(attach), .on_output = take_at, .on_input = give, .context = &traffic
	};
	struct warder_attached state = { .size = sizeof(state) };
	struct warder_result *result;
	uint64_t total = 0;
	char *json;
	pthread_t thread;

	stage_begin(&stage);
	traffic_init(&traffic, BYTES, 0);
	traffic.execution = start_shell(&stage, "cat; exit 5", &with_input);
	cr_assert_eq(warder_execution_attach(traffic.execution, &attach, &state, &stage.err), 0, "%s",
		     stage.err.text);
	cr_expect(state.input && !state.ended && !state.terminal && state.bytes[0] == 0);
	cr_assert_eq(pthread_create(&thread, NULL, allow_more, &traffic), 0);
	result = follow(traffic.execution, &stage.err);
	pthread_join(thread, NULL);
	cr_expect_eq(warder_result_exit_code(result), 5);
	cr_expect(is_all(&traffic), "%zu bytes of %zu came back", traffic.out_len, traffic.len);
	warder_result_output(result, WARDER_STDOUT, NULL, &total);
	cr_expect_eq(total, BYTES);
	cr_expect(warder_result_wall_us(result) > 0);
	json = warder_result_json(result);
	cr_expect(json && strstr(json, "\"receipt\"") && strstr(json, "\"exitCode\":5"), "%s", json);
	free(json);
	warder_result_free(result);
	/* The result is kept, and can be had again. */
	cr_expect_eq(warder_execution_wait_for(traffic.execution, UINT64_MAX, &result, &stage.err), 1);
	cr_expect_eq(warder_result_exit_code(result), 5);
	warder_result_free(result);
	warder_execution_free(traffic.execution);
	traffic_done(&traffic);
	stage_end(&stage);
}

Test(executions, another_handle_finds_it_and_acts, .init = library_begin_sessions,
     .fini = library_end_sessions, .timeout = 120)
{
	struct stage stage;
	struct traffic traffic;
	struct warder_attach attach = {
		.size = sizeof(attach), .from = { 2, 0 }, .on_output = take_at, .context = &traffic
	};
	struct warder_counters counters = { .size = sizeof(counters) };
	struct warder_execution *first, *second = NULL;
	struct warder_result *result = NULL;
	char id[32], *list;

	stage_begin(&stage);
	traffic_init(&traffic, 0, 0);
	first = start_shell(&stage,
			    "cat; trap 'echo heard; exit 9' TERM; echo ready; while :; do sleep 0.05; done",
			    &with_input);
	snprintf(id, sizeof(id), "%s", warder_execution_id(first));
	cr_expect_str_eq(warder_execution_session(first), stage.name);
	cr_expect_eq(warder_execution_wait_for(first, 50000, &result, &stage.err), 0, "it has ended");
	warder_execution_free(first);
	cr_assert_eq(warder_execution_open(id, &second, &stage.err), 0, "%s", stage.err.text);
	list = warder_execution_list(&stage.err);
	cr_expect(list && strstr(list, id), "%s", list ? list : stage.err.text);
	free(list);
	cr_expect_eq(warder_execution_write(second, "one", 3, 1, &stage.err), 0, "%s", stage.err.text);
	cr_expect_eq(warder_execution_write(second, "two\n", 4, 0, &stage.err), 0, "%s", stage.err.text);
	cr_expect_eq(warder_execution_close_input(second, &stage.err), 0, "%s", stage.err.text);
	cr_expect_eq(warder_execution_write(second, "x", 1, 0, &stage.err), -1);
	cr_expect_eq(stage.err.code, WARDER_ERROR_CONFLICT, "%s", stage.err.text);
	cr_expect_eq(warder_execution_counters(second, &counters, &stage.err), 0, "%s", stage.err.text);
	cr_expect(counters.processes >= 1);
	cr_expect_eq(warder_execution_resize(second, 10, 20, &stage.err), -1);
	cr_expect_eq(stage.err.code, WARDER_ERROR_INVALID_REQUEST, "%s", stage.err.text);
	for (uint64_t written = 0; written < 13;) { /* "onetwo\nready\n" */
		struct warder_attached state = { .size = sizeof(state) };
		struct warder_attach look = { .size = sizeof(look) };

		first = NULL;
		cr_assert_eq(warder_execution_open(id, &first, &stage.err), 0);
		cr_assert_eq(warder_execution_attach(first, &look, &state, &stage.err), 0, "%s",
			     stage.err.text);
		written = state.bytes[0];
		warder_execution_free(first);
	}
	cr_expect_eq(warder_execution_signal(second, SIGTERM, &stage.err), 0, "%s", stage.err.text);
	cr_assert_eq(warder_execution_attach(second, &attach, NULL, &stage.err), 0, "%s", stage.err.text);
	result = follow(second, &stage.err);
	cr_expect_eq(warder_result_exit_code(result), 9);
	cr_expect(traffic.out_len == 17 && memcmp(traffic.out, "etwo\nready\nheard\n", 17) == 0, "%.*s",
		  (int)traffic.out_len, traffic.out);
	warder_result_free(result);
	cr_expect_eq(warder_execution_signal(second, SIGTERM, &stage.err), -1);
	cr_expect_eq(stage.err.code, WARDER_ERROR_CONFLICT, "%s", stage.err.text);
	warder_execution_free(second);
	traffic_done(&traffic);
	stage_end(&stage);
}

/* The newest 4 MiB are kept; what is missing is named. */
Test(executions, gaps_and_refused_output, .init = library_begin_sessions, .fini = library_end_sessions,
     .timeout = 120)
{
	struct stage stage;
	struct traffic traffic;
	struct warder_attach attach = {
		.size = sizeof(attach), .on_output = take_at, .on_gap = note_gap, .context = &traffic
	};
	struct warder_execution *execution;
	struct warder_result *result = NULL;
	int got;

	stage_begin(&stage);
	traffic_init(&traffic, 0, 0);
	execution = start_shell(&stage, "head -c 9000000 /dev/zero", &plain);
	cr_assert_eq(warder_execution_wait_for(execution, UINT64_MAX, &result, &stage.err), 1, "%s",
		     stage.err.text);
	warder_result_free(result);
	cr_assert_eq(warder_execution_attach(execution, &attach, NULL, &stage.err), 0, "%s", stage.err.text);
	traffic.refuse = 1;
	got = warder_execution_dispatch(execution, &result, &stage.err);
	while (got == 0) {
		await(execution, &stage.err);
		got = warder_execution_dispatch(execution, &result, &stage.err);
	}
	cr_expect(got == -1 && stage.err.code == WARDER_ERROR_EXECUTION_FAILED, "%d: %s", got,
		  stage.err.text);
	traffic.refuse = 0;
	result = follow(execution, &stage.err);
	cr_expect(traffic.gap > 4000000 && traffic.gap + traffic.out_len == 9000000,
		  "%zu bytes, a gap of %llu", traffic.out_len, (unsigned long long)traffic.gap);
	warder_result_free(result);
	warder_execution_free(execution);
	traffic_done(&traffic);
	stage_end(&stage);
}

/* The keeper drops a reader that takes nothing, and then forgets what has ended. */
Test(executions, a_reader_that_comes_too_late_is_told_so, .init = library_begin_sessions,
     .fini = library_end_sessions, .timeout = 120)
{
	static const struct warder_execution_command kept_no_longer = { .keep_us = 1 };
	const struct timespec pause = { .tv_nsec = 100000000 };
	struct stage stage;
	struct traffic traffic;
	struct warder_attach attach = { .size = sizeof(attach), .on_output = take_at, .context = &traffic };
	struct warder_result *result;
	bool known = true;
	char *json;

	stage_begin(&stage);
	traffic_init(&traffic, 0, 0);
	traffic.execution = start_shell(&stage, "sleep 2; head -c 1000000 /dev/zero", &kept_no_longer);
	cr_assert_eq(warder_execution_attach(traffic.execution, &attach, NULL, &stage.err), 0, "%s",
		     stage.err.text);
	while (known) {
		json = warder_execution_list(&stage.err);
		cr_assert_not_null(json, "%s", stage.err.text);
		known = strstr(json, warder_execution_id(traffic.execution)) != NULL;
		free(json);
		nanosleep(&pause, NULL);
	}
	result = follow(traffic.execution, &stage.err);
	cr_expect(traffic.out_len < 1000000);
	cr_expect_str_eq(warder_result_cause(result), "supervisor");
	json = warder_result_json(result);
	cr_expect(json && strstr(json, "has forgotten the execution"), "%s", json);
	free(json);
	warder_result_free(result);
	warder_execution_free(traffic.execution);
	traffic_done(&traffic);
	stage_end(&stage);
}

Test(executions, a_terminal_has_the_size_that_it_is_given, .init = library_begin_sessions,
     .fini = library_end_sessions, .timeout = 120)
{
	const struct warder_execution_command terminal = { .terminal = 1, .rows = 11, .columns = 77 };
	struct stage stage;
	struct traffic traffic;
	struct warder_attach attach = { .size = sizeof(attach), .on_output = take_at, .context = &traffic };
	struct warder_execution *execution;
	struct warder_result *result;

	stage_begin(&stage);
	traffic_init(&traffic, 0, 0);
	execution = start_shell(&stage, "stty size; read x; stty size", &terminal);
	cr_expect_eq(warder_execution_resize(execution, 12, 78, &stage.err), 0, "%s", stage.err.text);
	cr_expect_eq(warder_execution_write(execution, "\n", 1, 0, &stage.err), 0, "%s", stage.err.text);
	cr_assert_eq(warder_execution_attach(execution, &attach, NULL, &stage.err), 0, "%s", stage.err.text);
	result = follow(execution, &stage.err);
	traffic.out[traffic.out_len] = '\0';
	cr_expect(strstr(traffic.out, "12 78"), "%s", traffic.out);
	cr_expect_eq(warder_result_exit_code(result), 0);
	warder_result_free(result);
	warder_execution_free(execution);
	traffic_done(&traffic);
	stage_end(&stage);
}

Test(executions, wrong_use_is_an_error, .init = library_begin_sessions, .fini = library_end_sessions,
     .timeout = 120)
{
	char *argv[] = { "sleep", "60", NULL };
	const struct warder_execution_command wrong[] = {
		{ .size = sizeof(wrong[0]) },
		{ .size = sizeof(wrong[0]), .argv = argv, .flags = 8 },
		{ .size = sizeof(wrong[0]), .argv = argv, .id = "short" },
		{ .size = sizeof(wrong[0]), .argv = argv, .terminal = 1, .rows = 10 },
		{ .size = 1, .argv = argv },
	};
	struct stage stage;
	struct warder_attach beyond = { .size = sizeof(beyond), .from = { 1, 0 } };
	struct warder_attach attach = { .size = sizeof(attach) };
	struct warder_execution *execution = NULL;
	struct warder_result *result = NULL;

	stage_begin(&stage);
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
		cr_expect_eq(warder_execution_start(stage.session, &wrong[i], &execution, &stage.err), -1,
			     "%zu", i);
		cr_expect_eq(stage.err.code, WARDER_ERROR_INVALID_REQUEST, "%zu: %s", i, stage.err.text);
	}
	cr_expect_eq(warder_execution_open("0000000000000000", &execution, &stage.err), -1);
	cr_expect_eq(stage.err.code, WARDER_ERROR_NOT_FOUND, "%s", stage.err.text);
	execution = start_shell(&stage, "sleep 60", &plain);
	cr_expect_eq(warder_execution_attach(execution, &beyond, NULL, &stage.err), -1);
	cr_expect_eq(stage.err.code, WARDER_ERROR_INVALID_REQUEST, "%s", stage.err.text);
	cr_expect_eq(warder_execution_attach(execution, &attach, NULL, &stage.err), 0, "%s", stage.err.text);
	cr_expect_eq(warder_execution_attach(execution, &attach, NULL, &stage.err), -1);
	cr_expect_eq(stage.err.code, WARDER_ERROR_CONFLICT, "%s", stage.err.text);
	cr_expect_eq(warder_session_extend(stage.name, 1000000, &stage.err), 0, "%s", stage.err.text);
	/* The end of the session is the end of its executions. */
	cr_expect_eq(warder_session_stop(stage.name, &stage.err), 0, "%s", stage.err.text);
	cr_expect_eq(warder_execution_wait_for(execution, UINT64_MAX, &result, &stage.err), 1, "%s",
		     stage.err.text);
	cr_expect_str_eq(warder_result_status(result), "killed");
	warder_result_free(result);
	cr_expect_eq(warder_execution_signal(execution, SIGTERM, &stage.err), -1);
	cr_expect_eq(stage.err.code, WARDER_ERROR_UNAVAILABLE, "%s", stage.err.text);
	warder_execution_free(execution);
	warder_execution_free(NULL);
	stage_end(&stage);
}

/* ---- sessions that are paused, and that last longer ---- */

static uint64_t bytes_so_far(const char *id, struct warder_error *err)
{
	struct warder_attached state = { .size = sizeof(state) };
	struct warder_attach look = { .size = sizeof(look) };
	struct warder_execution *execution = NULL;

	cr_assert_eq(warder_execution_open(id, &execution, err), 0, "%s", err->text);
	cr_assert_eq(warder_execution_attach(execution, &look, &state, err), 0, "%s", err->text);
	warder_execution_free(execution);
	return state.bytes[0];
}

static void await_bytes(const char *id, uint64_t more_than, struct warder_error *err)
{
	while (bytes_so_far(id, err) <= more_than)
		usleep(10000);
}

static uint64_t remaining_us(const char *name)
{
	static const char key[] = "\"remainingUs\":";
	struct warder_session *session = NULL;
	struct warder_error err;
	char *text;
	uint64_t us;

	cr_assert_eq(warder_session_open(name, &session, &err), 0, "%s", err.text);
	text = warder_session_json(session);
	cr_assert(text && strstr(text, key));
	us = strtoull(strstr(text, key) + sizeof(key) - 1, NULL, 10);
	free(text);
	warder_session_free(session);
	return us;
}

/* Its processes die at once, and its end is known when init, which is paused as well, goes on. */
static void kill_while_paused(struct stage *stage, struct warder_execution *execution)
{
	struct warder_result *result = NULL;

	cr_assert_eq(warder_session_pause(stage->name, &stage->err), 0, "%s", stage->err.text);
	cr_expect_eq(warder_execution_signal(execution, SIGKILL, &stage->err), 0, "%s", stage->err.text);
	cr_expect_eq(warder_execution_wait_for(execution, 300000, &result, &stage->err), 0,
		     "its end is known during the pause");
	cr_expect_eq(warder_session_resume(stage->name, &stage->err), 0, "%s", stage->err.text);
	cr_assert_eq(warder_execution_wait_for(execution, 60000000, &result, &stage->err), 1, "%s",
		     stage->err.text);
	cr_expect_str_eq(warder_result_cause(result), "signal");
	warder_result_free(result);
}

Test(executions, pause_and_resume, .init = library_begin_sessions, .fini = library_end_sessions,
     .timeout = 120)
{
	char *argv[] = { "true", NULL };
	const struct warder_execution_command another = { .size = sizeof(another), .argv = argv };
	struct warder_execution *execution, *refused = NULL;
	struct stage stage;
	uint64_t before = 0;
	const char *id;

	stage_begin(&stage);
	cr_expect_eq(warder_session_resume(stage.name, &stage.err), -1);
	cr_expect_eq(stage.err.code, WARDER_ERROR_CONFLICT, "%s", stage.err.text);
	execution = start_shell(&stage, "while :; do echo x; sleep 0.02; done", &plain);
	id = warder_execution_id(execution);
	await_bytes(id, 0, &stage.err);
	if (warder_session_pause(stage.name, &stage.err) != 0) {
		cr_expect_eq(stage.err.code, WARDER_ERROR_UNAVAILABLE, "%s", stage.err.text);
		warder_execution_free(execution);
		stage_end(&stage);
		library_skip("%s", stage.err.text);
	}
	/* The keeper still reads the output from before. */
	for (int i = 0; i < 60 && bytes_so_far(id, &stage.err) != before; i++) {
		before = bytes_so_far(id, &stage.err);
		usleep(300000);
	}
	cr_expect_eq(bytes_so_far(id, &stage.err), before, "it goes on");
	cr_expect_eq(warder_session_pause(stage.name, &stage.err), -1);
	cr_expect_eq(stage.err.code, WARDER_ERROR_CONFLICT, "%s", stage.err.text);
	cr_expect_eq(warder_execution_start(stage.session, &another, &refused, &stage.err), -1);
	cr_expect_eq(stage.err.code, WARDER_ERROR_CONFLICT, "%s", stage.err.text);
	cr_assert_eq(warder_session_resume(stage.name, &stage.err), 0, "%s", stage.err.text);
	await_bytes(id, before, &stage.err);
	kill_while_paused(&stage, execution);
	warder_execution_free(execution);
	cr_expect_eq(warder_session_pause("no-such", &stage.err), -1);
	cr_expect_eq(stage.err.code, WARDER_ERROR_NOT_FOUND, "%s", stage.err.text);
	stage_end(&stage);
}

/* The wall time stands still in a pause: the supervisor's, and that of the execution's init. */
Test(executions, a_pause_longer_than_the_wall_time, .init = library_begin_sessions,
     .fini = library_end_sessions, .timeout = 120)
{
	struct warder_execution_command limited = { 0 };
	struct warder_result *result = NULL;
	struct warder_execution *execution;
	struct stage stage;
	uint64_t before;

	stage_begin(&stage);
	cr_assert_eq(warder_policy_set(stage.policy, "limits.wallTime", "4s", &stage.err), 0);
	limited.policy = stage.policy;
	execution = start_shell(&stage, "while :; do echo x; sleep 0.02; done", &limited);
	await_bytes(warder_execution_id(execution), 0, &stage.err);
	if (warder_session_pause(stage.name, &stage.err) != 0) {
		cr_expect_eq(stage.err.code, WARDER_ERROR_UNAVAILABLE, "%s", stage.err.text);
		warder_execution_free(execution);
		stage_end(&stage);
		library_skip("%s", stage.err.text);
	}
	sleep(8); /* init's limit is two seconds behind the supervisor's */
	before = bytes_so_far(warder_execution_id(execution), &stage.err);
	cr_assert_eq(warder_session_resume(stage.name, &stage.err), 0, "%s", stage.err.text);
	await_bytes(warder_execution_id(execution), before, &stage.err);
	cr_expect_eq(warder_execution_wait_for(execution, UINT64_MAX, &result, &stage.err), 1, "%s",
		     stage.err.text);
	cr_expect_str_eq(warder_result_status(result), "timeout");
	cr_expect(warder_result_wall_us(result) < 8000000, "%llu us",
		  (unsigned long long)warder_result_wall_us(result));
	warder_result_free(result);
	warder_execution_free(execution);
	stage_end(&stage);
}

/* A copy stops the programs; another one may come before it has ended. */
Test(executions, two_copies_at_once, .init = library_begin_sessions, .fini = library_end_sessions,
     .timeout = 120)
{
	struct warder_execution *execution;
	struct attachment *first, *second;
	struct stage stage;
	uint64_t before;
	const char *id;

	stage_begin(&stage);
	execution = start_shell(&stage, "while :; do echo x; sleep 0.02; done", &plain);
	id = warder_execution_id(execution);
	await_bytes(id, 0, &stage.err);
	first = session_attach(&stage.session->spec, SESSION_SAVE, &stage.err);
	if (!first) {
		cr_expect_eq(stage.err.code, WARDER_ERROR_UNAVAILABLE, "%s", stage.err.text);
		cr_expect(strstr(stage.err.text, "can pause a session"), "%s", stage.err.text);
		warder_execution_free(execution);
		stage_end(&stage);
		library_skip("%s", stage.err.text);
	}
	second = session_attach(&stage.session->spec, SESSION_COPY, &stage.err);
	cr_assert(second, "%s", stage.err.text);
	session_detach(first);
	cr_expect_eq(warder_session_resume(stage.name, &stage.err), -1, "it is being copied");
	session_detach(second);
	/* Of the output before the copy, no more than a pipe holds is still to come. */
	before = bytes_so_far(id, &stage.err);
	for (int i = 0; i < 6000 && bytes_so_far(id, &stage.err) < before + 200; i++)
		usleep(10000);
	cr_expect_geq(bytes_so_far(id, &stage.err), before + 200, "its programs do not go on");
	warder_execution_free(execution);
	stage_end(&stage);
}

Test(executions, a_longer_lifetime, .init = library_begin_sessions, .fini = library_end_sessions,
     .timeout = 120)
{
	const uint64_t hour_us = UINT64_C(3600000000);
	struct stage stage;
	uint64_t before;

	stage_begin(&stage);
	before = remaining_us(stage.name);
	cr_expect_eq(warder_session_extend(stage.name, hour_us, &stage.err), 0, "%s", stage.err.text);
	cr_expect_gt(remaining_us(stage.name), before + hour_us / 2);
	cr_expect_eq(warder_session_extend(stage.name, 24 * 30 * hour_us, &stage.err), -1);
	cr_expect_eq(stage.err.code, WARDER_ERROR_INVALID_REQUEST, "%s", stage.err.text);
	cr_expect_eq(warder_session_extend("no-such", hour_us, &stage.err), -1);
	cr_expect_eq(stage.err.code, WARDER_ERROR_NOT_FOUND, "%s", stage.err.text);
	stage_end(&stage);
}
