/*
 * The library under many threads at once. Also built with the thread sanitizer (make tsan), which sees two threads meet
 * also where nothing went wrong this time: so the threads begin together and use what may be shared, all of it.
 */
#include "base/array.h"
#include "tests/lib/library.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS  3

/* What every thread of a test is given. Expectations are the main thread's: the others count. */
struct shared {
	pthread_barrier_t start;
	const struct warder_policy *policy;
	struct warder_template *tmpl;
	struct warder_pool *pool;
	const char *name; /* of a backend, or of a session of everybody's */
	atomic_int right, number;
	_Atomic(struct warder_run *) run;
};

/* Start `body` in THREADS threads and wait for all. */
static void in_threads(struct shared *shared, void *(*body)(void *shared))
{
	pthread_t threads[THREADS];

	cr_assert(pthread_barrier_init(&shared->start, NULL, THREADS) == 0);
	for (size_t i = 0; i < THREADS; i++)
		cr_assert(pthread_create(&threads[i], NULL, body, shared) == 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&shared->start);
}

static struct warder_run *launch(struct warder_template *tmpl, const char *script,
				 struct warder_command *command)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct warder_run *run = NULL;
	struct warder_error err;

	command->size = sizeof(*command);
	command->argv = argv;
	if (warder_launch(tmpl, command, &run, &err) != 0)
		fprintf(stderr, "launch: %s\n", err.text);
	return run;
}

/* Wait for a run and free it; the result is the caller's. */
static struct warder_result *finish(struct warder_run *run)
{
	struct warder_result *result = NULL;
	struct warder_error err;

	if (run && warder_wait(run, &result, &err) != 0)
		fprintf(stderr, "wait: %s\n", err.text);
	warder_run_free(run);
	return result;
}

/* Whether a run answers what was given to it, by result, receipt and JSON. */
static int echoes(struct warder_template *tmpl, int number)
{
	char text[16];
	struct warder_command command = { .input = text };
	struct warder_result *result;
	char *json;
	int right;

	command.input_len = (size_t)snprintf(text, sizeof(text), "%d", number);
	result = finish(launch(tmpl, "cat", &command));
	json = result ? warder_result_json(result) : NULL;
	right = json && strstr(json, "\"receipt\"") &&
		strcmp(warder_result_output(result, WARDER_STDOUT, NULL, NULL), text) == 0;
	free(json);
	warder_result_free(result);
	return right;
}

static void *use_shared_template(void *context)
{
	struct shared *shared = context;

	pthread_barrier_wait(&shared->start);
	for (int i = 0; i < ROUNDS; i++)
		shared->right += echoes(shared->tmpl, i);
	return NULL;
}

Test(threads, share_a_template, .timeout = 200)
{
	struct warder_policy *policy = library_policy();
	struct shared shared = { .tmpl = library_prepare(policy) };

	warder_policy_free(policy);
	in_threads(&shared, use_shared_template);
	cr_expect(shared.right == THREADS * ROUNDS, "%d of %d", shared.right, THREADS * ROUNDS);
	warder_template_free(shared.tmpl);
}

/* The first preparation of the process, which probes the host, happens in all threads at once. */
static void *prepare_own_template(void *context)
{
	struct shared *shared = context;

	pthread_barrier_wait(&shared->start);
	for (int i = 0; i < ROUNDS; i++) {
		const struct warder_options options = { .size = sizeof(options), .single_use = i % 2 };
		struct warder_template *tmpl = NULL;
		struct warder_error err;

		if (warder_prepare(shared->policy, &options, &tmpl, &err) != 0)
			fprintf(stderr, "prepare: %s\n", err.text);
		else
			shared->right += echoes(tmpl, i);
		warder_template_free(tmpl);
	}
	return NULL;
}

Test(threads, prepare_their_own_templates_of_one_policy, .timeout = 200)
{
	struct warder_policy *policy = library_policy();
	struct shared shared = { .policy = policy };

	in_threads(&shared, prepare_own_template);
	cr_expect(shared.right == THREADS * ROUNDS, "%d of %d", shared.right, THREADS * ROUNDS);
	warder_policy_free(policy);
}

/* A template's root is built beside what other threads start: no child of theirs may hold a file of it open. */
static void *prepare_or_launch(void *context)
{
	struct shared *shared = context;
	const int prepares = pthread_barrier_wait(&shared->start) == PTHREAD_BARRIER_SERIAL_THREAD;

	for (int i = 0; i < 10 * ROUNDS; i++) {
		struct warder_template *tmpl = NULL;
		struct warder_error err;

		if (!prepares)
			shared->right += echoes(shared->tmpl, i);
		else if (warder_prepare(shared->policy, NULL, &tmpl, &err) == 0)
			shared->right++;
		else
			fprintf(stderr, "prepare: %s\n", err.text);
		warder_template_free(tmpl);
	}
	return NULL;
}

Test(threads, prepare_while_others_launch, .timeout = 300)
{
	struct warder_policy *policy = library_policy();
	struct shared shared = { .policy = policy, .tmpl = library_prepare(policy) };

	in_threads(&shared, prepare_or_launch);
	cr_expect(shared.right == THREADS * 10 * ROUNDS, "%d of %d", shared.right, THREADS * 10 * ROUNDS);
	warder_template_free(shared.tmpl);
	warder_policy_free(policy);
}

static void *make_own_policy(void *context)
{
	struct shared *shared = context;

	pthread_barrier_wait(&shared->start);
	for (int i = 0; i < 20; i++) {
		struct warder_policy *policy = library_policy();
		struct warder_policy *copy = NULL;
		struct warder_error err;
		char *json = warder_policy_json(policy);

		if (json && warder_policy_parse(json, strlen(json), NULL, &copy, &err) == 0)
			shared->right +=
			    warder_policy_set(copy, "limits.memory", "no size", &err) == -1 && err.field[0];
		free(json);
		warder_policy_free(copy);
		warder_policy_free(policy);
	}
	return NULL;
}

Test(threads, make_policies, .timeout = 60)
{
	struct shared shared = { 0 };

	in_threads(&shared, make_own_policy);
	cr_expect(shared.right == THREADS * 20, "%d of %d", shared.right, THREADS * 20);
}

/* Bytes of the stream, added up by the thread that waits. */
static int count_bytes(void *context, enum warder_stream stream, const char *bytes, size_t len)
{
	size_t *counts = context;

	counts[stream] += len;
	return 0;
}

static void *take_output(void *context)
{
	struct shared *shared = context;

	pthread_barrier_wait(&shared->start);
	for (int i = 0; i < ROUNDS; i++) {
		size_t counts[2] = { 0 };
		struct warder_command command = { .on_output = count_bytes, .context = counts };
		struct warder_result *result =
		    finish(launch(shared->tmpl, "head -c 300000 /dev/zero; echo err >&2", &command));

		shared->right += result && counts[WARDER_STDOUT] == 300000 && counts[WARDER_STDERR] == 4;
		warder_result_free(result);
	}
	return NULL;
}

Test(threads, take_output_as_it_comes, .timeout = 200)
{
	struct warder_policy *policy = library_policy();
	struct shared shared = { .tmpl = library_prepare(policy) };

	warder_policy_free(policy);
	in_threads(&shared, take_output);
	cr_expect(shared.right == THREADS * ROUNDS, "%d of %d", shared.right, THREADS * ROUNDS);
	warder_template_free(shared.tmpl);
}

/* All threads but one cancel the run that the one waits for, before, while and after it ends. */
static void *cancel_or_wait(void *context)
{
	struct shared *shared = context;
	const int waits = pthread_barrier_wait(&shared->start) == PTHREAD_BARRIER_SERIAL_THREAD;
	struct warder_command command = { 0 };
	struct warder_result *result = NULL;
	struct warder_error err;
	struct warder_run *run;

	if (!waits) {
		while (!(run = shared->run))
			usleep(1000);
		for (int i = 0; i < 50; i++) {
			warder_cancel(run);
			usleep(100);
		}
	} else {
		run = launch(shared->tmpl, "sleep 50", &command);
		shared->run = run;
		if (run && warder_wait(run, &result, &err) == 0)
			shared->right += strcmp(warder_result_cause(result), "cancelled") == 0;
		warder_result_free(result);
	}
	/* The run may be freed after the last cancel. */
	pthread_barrier_wait(&shared->start);
	if (waits)
		warder_run_free(run);
	return NULL;
}

Test(threads, cancel_from_outside, .timeout = 120)
{
	struct warder_policy *policy = library_policy();
	struct shared shared = { .tmpl = library_prepare(policy) };

	warder_policy_free(policy);
	for (int i = 0; i < ROUNDS; i++) {
		shared.run = NULL;
		in_threads(&shared, cancel_or_wait);
	}
	cr_expect(shared.right == ROUNDS, "%d of %d", shared.right, ROUNDS);
	warder_template_free(shared.tmpl);
}

/* Launched by one thread, waited for by another, freed by a third. */
static void *wait_for(void *run)
{
	struct warder_result *result = NULL;
	struct warder_error err;

	if (warder_wait(run, &result, &err) != 0)
		fprintf(stderr, "wait: %s\n", err.text);
	return result;
}

Test(threads, hand_a_run_on, .timeout = 60)
{
	struct warder_policy *policy = library_policy();
	struct warder_template *tmpl = library_prepare(policy);
	struct warder_command command = { 0 };
	struct warder_run *run = launch(tmpl, "exit 7", &command);
	void *result = NULL;
	pthread_t thread;

	warder_policy_free(policy);
	cr_assert(run);
	cr_assert(pthread_create(&thread, NULL, wait_for, run) == 0);
	cr_assert(pthread_join(thread, &result) == 0);
	cr_expect(result && warder_result_exit_code(result) == 7);
	warder_result_free(result);
	warder_run_free(run);
	warder_template_free(tmpl);
}

/* ---- sessions ---- */

/* A session, new or found, in which something is run. */
static int works(const char *name, const struct shared *shared, int number)
{
	char tool[PATH_MAX];
	const struct warder_session_options options = { .size = sizeof(options),
							.policy = shared->policy,
							.program = library_tool(tool, sizeof(tool)) };
	struct warder_session *session = NULL;
	struct warder_template *tmpl = NULL;
	struct warder_error err;
	char *json = NULL;
	int right = 0;

	if (warder_session_start(name, &options, &session, &err) == 0 &&
	    warder_session_prepare(session, NULL, 0, &tmpl, &err) == 0) {
		json = warder_session_json(session);
		right = json && strstr(json, name) && echoes(tmpl, number);
	} else {
		fprintf(stderr, "%s: %s\n", name, err.text);
	}
	free(json);
	warder_template_free(tmpl);
	warder_session_free(session);
	return right;
}

/* A session of one's own, begun and ended, beside executions in everybody's. */
static void *use_sessions(void *context)
{
	struct shared *shared = context;
	const int number = shared->number++;
	struct warder_error err;
	char own[80], *list;

	snprintf(own, sizeof(own), "%s-%d", shared->name, number);
	pthread_barrier_wait(&shared->start);
	for (int i = 0; i < ROUNDS; i++) {
		shared->right += works(shared->name, shared, number) && works(own, shared, number);
		list = warder_session_list(&err);
		shared->right += list && strstr(list, own) && strstr(list, shared->name);
		free(list);
		shared->right +=
		    warder_session_stop(own, &err) == 0 && warder_session_is_running(own, &err) == 0;
	}
	return NULL;
}

/* Of all that end it at once one does, and nobody says so before it has ended. */
static void *stop_session(void *context)
{
	struct shared *shared = context;
	struct warder_error err;

	pthread_barrier_wait(&shared->start);
	shared->right += warder_session_stop(shared->name, &err) == 0 || err.code == WARDER_ERROR_NOT_FOUND;
	shared->right += warder_session_is_running(shared->name, &err) == 0;
	return NULL;
}

Test(threads, sessions, .init = library_begin_sessions, .fini = library_end_sessions, .timeout = 300)
{
	struct warder_policy *policy = library_policy();
	char name[40], tool[PATH_MAX];
	struct shared shared = { .policy = policy, .name = name };

	if (!library_tool(tool, sizeof(tool)))
		library_skip("there is no command line tool beside this program");
	warder_template_free(library_prepare(policy));
	snprintf(name, sizeof(name), "threads-%d", (int)getpid());
	in_threads(&shared, use_sessions);
	cr_expect(shared.right == THREADS * ROUNDS * 3, "%d of %d", shared.right, THREADS * ROUNDS * 3);
	shared.right = 0;
	in_threads(&shared, stop_session);
	cr_expect(shared.right == THREADS * 2, "%d of %d", shared.right, THREADS * 2);
	warder_policy_free(policy);
}

/* Whoever read the description of one session does not get into the next one of its name. */
Test(threads, a_session_is_no_other_of_its_name, .init = library_begin_sessions, .fini = library_end_sessions,
     .timeout = 120)
{
	struct warder_policy *policy = library_policy();
	char name[40], tool[PATH_MAX];
	const struct warder_session_options options = { .size = sizeof(options),
							.policy = policy,
							.program = library_tool(tool, sizeof(tool)) };
	struct warder_session *first = NULL, *second = NULL;
	struct warder_template *tmpl = NULL;
	struct warder_error err = { 0 };
	int prepared;

	if (!options.program)
		library_skip("there is no command line tool beside this program");
	snprintf(name, sizeof(name), "threads-%d", (int)getpid());
	cr_assert_eq(warder_session_start(name, &options, &first, &err), 0, "%s", err.text);
	cr_expect_eq(warder_session_stop(name, &err), 0, "%s", err.text);
	cr_assert_eq(warder_session_start(name, &options, &second, &err), 0, "%s", err.text);
	prepared = warder_session_prepare(first, NULL, 0, &tmpl, &err);
	cr_expect_eq(prepared, -1, "it joined another one");
	cr_expect(prepared < 0 && err.code == WARDER_ERROR_CONFLICT &&
		      strstr(err.text, "another has its name"),
		  "%s", err.text);
	warder_template_free(tmpl);
	tmpl = NULL;
	cr_expect_eq(warder_session_prepare(second, NULL, 0, &tmpl, &err), 0, "%s", err.text);
	cr_expect(tmpl && echoes(tmpl, 3));
	warder_template_free(tmpl);
	cr_expect_eq(warder_session_stop(name, &err), 0, "%s", err.text);
	warder_session_free(first);
	warder_session_free(second);
	warder_policy_free(policy);
}

/* ---- backends ---- */

/* What is there and what it can enforce, and a run by it where it can. */
static int describes_and_runs(const char *name, const struct shared *shared, int number)
{
	const struct warder_options options = { .size = sizeof(options), .backend = name };
	struct warder_template *tmpl = NULL;
	struct warder_error err;
	char *json = NULL, *words = NULL;
	int right;

	right = warder_backend_json(name, shared->policy, NULL, &json, &err) == 0 &&
		warder_backend_for_model(name, shared->policy, NULL, &words, &err) == 0 && strstr(json, name);
	free(json);
	free(words);
	if (right && shared->name && strcmp(name, shared->name) == 0 &&
	    warder_prepare(shared->policy, &options, &tmpl, &err) == 0)
		right = echoes(tmpl, number);
	warder_template_free(tmpl);
	return right;
}

static void *use_backends(void *context)
{
	struct shared *shared = context;
	const int number = shared->number++;
	const char *name;
	int right = 1;

	pthread_barrier_wait(&shared->start);
	for (size_t i = 0; (name = warder_backend_name(i)); i++)
		right &= describes_and_runs(name, shared, number);
	shared->right += right;
	return NULL;
}

Test(threads, backends, .timeout = 300)
{
	static const char *const run[] = { "local", "crun", "runc" };
	struct warder_policy *policy = library_policy();
	struct shared shared = { .policy = policy };

	warder_template_free(library_prepare(policy));
	for (size_t i = 0; i < ARRAY_LENGTH(run); i++) {
		shared.name = run[i];
		shared.right = 0;
		in_threads(&shared, use_backends);
		cr_expect(shared.right == THREADS, "%s: %d of %d", run[i], shared.right, THREADS);
	}
	warder_policy_free(policy);
}

/* ---- a pool ---- */

/* Whether a launch of the pool's answers what was given to it. Tenants share no jail. */
static int answers(struct warder_pool *pool, const struct warder_pool_key *key, int number)
{
	char *argv[] = { (char *)"cat", NULL };
	char text[16];
	struct warder_command command = { .size = sizeof(command), .argv = argv, .input = text };
	struct warder_result *result;
	struct warder_run *run = NULL;
	struct warder_error err;
	int right;

	command.input_len = (size_t)snprintf(text, sizeof(text), "%d", number);
	if (warder_pool_launch(pool, key, &command, &run, &err) != 0)
		fprintf(stderr, "pool: %s\n", err.text);
	result = finish(run);
	right = result && strcmp(warder_result_output(result, WARDER_STDOUT, NULL, NULL), text) == 0;
	warder_result_free(result);
	return right;
}

/* Launches for a tenant of everybody's and one of each thread's, fills, and statistics. */
static void *use_pool(void *context)
{
	struct shared *shared = context;
	const int number = shared->number++;
	struct warder_pool_key key = { .size = sizeof(key), .policy = shared->policy };
	struct warder_error err;
	char own[16];

	snprintf(own, sizeof(own), "%d", number);
	pthread_barrier_wait(&shared->start);
	for (int i = 0; i < 2 * ROUNDS; i++) {
		char *stats;
		int right;

		key.tenant = i % 2 ? own : "all";
		right = answers(shared->pool, &key, 10 * number + i);
		if (i % 3 == number % 3 && warder_pool_fill(shared->pool, &key, 1, &err) != 0) {
			fprintf(stderr, "fill: %s\n", err.text);
			right = 0;
		}
		stats = warder_pool_stats(shared->pool);
		shared->right += right && stats && strstr(stats, "\"handedOut\"");
		free(stats);
	}
	return NULL;
}

/* In every reaction to an empty pool that launches; then the pool is as empty as at first. */
Test(threads, share_a_pool, .timeout = 300)
{
	static const enum warder_pool_empty reactions[] = { WARDER_POOL_LAUNCH, WARDER_POOL_WAIT };
	struct warder_policy *policy = library_policy();
	struct shared shared = { .policy = policy };
	struct warder_error err;

	warder_template_free(library_prepare(policy));
	for (size_t i = 0; i < ARRAY_LENGTH(reactions); i++) {
		const struct warder_pool_options options = { .size = sizeof(options),
							     .keys = THREADS + 1,
							     .jails_a_key = 2,
							     .jails = 12,
							     .empty = reactions[i],
							     .wait_us = 60 * UINT64_C(1000000) };

		cr_assert(warder_pool_new(&options, &shared.pool, &err) == 0, "%s", err.text);
		shared.right = shared.number = 0;
		in_threads(&shared, use_pool);
		cr_expect(shared.right == THREADS * 2 * ROUNDS, "%zu: %d of %d", i, shared.right,
			  THREADS * 2 * ROUNDS);
		cr_expect(warder_pool_drain(shared.pool, &err) == 0, "%s", err.text);
		cr_expect_eq(library_pool_stat(shared.pool, "keys"), 0);
		warder_pool_free(shared.pool);
	}
	warder_policy_free(policy);
}
