/*
 * The library used wrongly, as far as runtime/warder.h has an answer: an error instead of a crash, and nothing left.
 */
#include <pthread.h>

#include "tests/fault/stage.h"

#include "base/array.h"
#include "runtime/warder.h"

static struct warder_policy *easy_policy(void)
{
	static const char *const fields[] = { "limits.memory", "limits.swap", "limits.pids", "limits.cpus",
					      "limits.cpuTime" };
	struct warder_policy *policy = NULL;
	struct warder_error err;

	cr_assert_eq(warder_policy_preset("strict", &policy, &err), 0, "%s", err.text);
	for (size_t i = 0; i < ARRAY_LENGTH(fields); i++)
		cr_assert_eq(warder_policy_require(policy, fields[i], 0, &err), 0, "%s", err.text);
	return policy;
}

static struct warder_template *easy_template(struct stage *stage)
{
	const struct warder_options options = { .size = sizeof(options), .cgroup_parent = stage->parent };
	struct warder_policy *policy = easy_policy();
	struct warder_template *tmpl = NULL;
	struct warder_error err;

	cr_assert_eq(warder_prepare(policy, &options, &tmpl, &err), 0, "%s", err.text);
	warder_policy_free(policy);
	return tmpl;
}

static char *sleeping[] = { "sleep", "1000", NULL };
static char *talking[] = { "yes", NULL };

static struct warder_run *launch(struct warder_template *tmpl, struct warder_command command)
{
	struct warder_run *run = NULL;
	struct warder_error err;

	command.size = sizeof(command);
	cr_assert_eq(warder_launch(tmpl, &command, &run, &err), 0, "%s", err.text);
	return run;
}

#define EXPECT_REFUSED(call, kind)                                                                           \
	do {                                                                                                 \
		memset(&err, 0, sizeof(err));                                                                \
		cr_expect((call) == -1 && err.code == (kind) && *err.text, "%s: %s", #call, err.text);       \
	} while (0)

Test(misuse, nothing_where_something_must_be, .timeout = 60)
{
	struct stage *stage = stage_new();
	struct warder_template *tmpl = easy_template(stage);
	struct warder_policy *policy = easy_policy();
	struct warder_command command = { .size = sizeof(command), .argv = sleeping };
	struct warder_command unsized = { .argv = sleeping };
	struct warder_options options = { 0 };
	struct warder_template *other = NULL;
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	struct warder_error err;
	const uint32_t invalid = WARDER_ERROR_INVALID_REQUEST;

	EXPECT_REFUSED(warder_policy_preset(NULL, &policy, &err), invalid);
	EXPECT_REFUSED(warder_policy_preset("strict", NULL, &err), invalid);
	EXPECT_REFUSED(warder_policy_parse(NULL, 0, NULL, &policy, &err), invalid);
	EXPECT_REFUSED(warder_policy_set(NULL, "limits.wallTime", "1s", &err), invalid);
	EXPECT_REFUSED(warder_policy_set(policy, NULL, "1s", &err), invalid);
	EXPECT_REFUSED(warder_policy_set(policy, "limits.wallTime", NULL, &err), invalid);
	EXPECT_REFUSED(warder_policy_require(policy, NULL, 1, &err), invalid);
	EXPECT_REFUSED(warder_policy_granted(policy, NULL, NULL, &err), invalid);
	EXPECT_REFUSED(warder_policy_provide(policy, NULL, NULL, &err), invalid);
	EXPECT_REFUSED(warder_prepare(NULL, NULL, &other, &err), invalid);
	EXPECT_REFUSED(warder_prepare(policy, NULL, NULL, &err), invalid);
	EXPECT_REFUSED(warder_prepare(policy, &options, &other, &err), invalid);
	EXPECT_REFUSED(warder_launch(NULL, &command, &run, &err), invalid);
	EXPECT_REFUSED(warder_launch(tmpl, NULL, &run, &err), invalid);
	EXPECT_REFUSED(warder_launch(tmpl, &command, NULL, &err), invalid);
	EXPECT_REFUSED(warder_launch(tmpl, &unsized, &run, &err), invalid);
	EXPECT_REFUSED(warder_wait(NULL, &result, &err), invalid);
	cr_expect_null(warder_policy_json(NULL));
	warder_cancel(NULL);
	warder_policy_free(NULL);
	warder_template_free(NULL);
	warder_run_free(NULL);
	warder_result_free(NULL);
	cr_expect(!run && !result && !other);
	warder_policy_free(policy);
	warder_template_free(tmpl);
	stage_done(stage);
}

struct waiter {
	struct warder_run *run;
	struct warder_result *result;
	struct warder_error err;
	int ret;
	volatile bool begun;
};

static void *wait_in_thread(void *context)
{
	struct waiter *waiter = context;

	waiter->begun = true;
	waiter->ret = warder_wait(waiter->run, &waiter->result, &waiter->err);
	return NULL;
}

/* One of them gets the result, the others are told. */
Test(misuse, many_wait_for_one_run, .timeout = 120)
{
	struct stage *stage = stage_new();
	struct warder_template *tmpl = easy_template(stage);
	const long rounds = stage_amount(2, 10, 200);

	for (long round = 0; round < rounds; round++) {
		struct waiter waiters[4] = { 0 };
		pthread_t threads[4];
		struct warder_run *run = launch(tmpl, (struct warder_command){ .argv = sleeping });
		int results = 0;

		for (size_t i = 0; i < 4; i++) {
			waiters[i].run = run;
			cr_assert_eq(pthread_create(&threads[i], NULL, wait_in_thread, &waiters[i]), 0);
		}
		usleep(1000);
		warder_cancel(run);
		for (size_t i = 0; i < 4; i++) {
			pthread_join(threads[i], NULL);
			results += waiters[i].ret == 0;
			cr_expect(waiters[i].ret == 0 || waiters[i].err.code == WARDER_ERROR_CONFLICT, "%s",
				  waiters[i].err.text);
			if (waiters[i].ret == 0)
				cr_expect_str_eq(warder_result_cause(waiters[i].result), "cancelled");
			warder_result_free(waiters[i].result);
		}
		cr_expect_eq(results, 1, "%d results", results);
		warder_run_free(run);
	}
	warder_template_free(tmpl);
	stage_done(stage);
}

/* The one who waits still gets a result. The template goes first of all. */
Test(misuse, freed_while_another_thread_waits, .timeout = 60)
{
	struct stage *stage = stage_new();
	struct warder_template *tmpl = easy_template(stage);
	struct warder_run *run = launch(tmpl, (struct warder_command){ .argv = sleeping });
	struct waiter waiter = { .run = run };
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, wait_in_thread, &waiter), 0);
	while (!waiter.begun)
		usleep(1000);
	usleep(300000); /* it waits by now */
	warder_template_free(tmpl);
	warder_run_free(run);
	pthread_join(thread, NULL);
	cr_expect_eq(waiter.ret, 0, "%s", waiter.err.text);
	if (waiter.ret == 0)
		cr_expect_str_eq(warder_result_cause(waiter.result), "cancelled");
	warder_result_free(waiter.result);
	stage_done(stage);
}

static int free_on_output(void *context, enum warder_stream stream, const char *bytes, size_t len)
{
	struct warder_run **run = context;

	if (*run)
		warder_run_free(*run);
	*run = NULL;
	return 0;
}

Test(misuse, freed_by_its_own_output, .timeout = 60)
{
	struct stage *stage = stage_new();
	struct warder_template *tmpl = easy_template(stage);
	struct warder_run *context = NULL;
	struct warder_run *run = launch(
	    tmpl,
	    (struct warder_command){ .argv = talking, .on_output = free_on_output, .context = &context });
	struct warder_result *result = NULL;
	struct warder_error err;

	context = run;
	cr_expect_eq(warder_wait(run, &result, &err), 0, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "cancelled");
	warder_result_free(result);
	warder_template_free(tmpl);
	stage_done(stage);
}

Test(misuse, a_template_freed_before_its_runs, .timeout = 60)
{
	struct stage *stage = stage_new();
	struct warder_template *tmpl = easy_template(stage);
	struct warder_run *first = launch(tmpl, (struct warder_command){ .argv = sleeping });
	struct warder_run *second = launch(tmpl, (struct warder_command){ .argv = sleeping });
	struct warder_result *result = NULL;
	struct warder_error err;

	warder_template_free(tmpl);
	warder_cancel(first);
	cr_expect_eq(warder_wait(first, &result, &err), 0, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "cancelled");
	warder_result_free(result);
	warder_run_free(first);
	warder_run_free(second);
	stage_done(stage);
}

/* A fork that frees what it thinks is its own leaves its parent's jail, cgroups and id range alone. */
Test(misuse, used_by_a_fork, .timeout = 60)
{
	struct stage *stage = stage_new();
	struct warder_template *tmpl = easy_template(stage);
	struct warder_run *run = launch(tmpl, (struct warder_command){ .argv = sleeping });
	struct warder_result *result = NULL;
	struct warder_error err;
	struct inventory before;
	char text[1200];
	int status = 0;
	pid_t pid;

	usleep(100000);
	while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
		; /* a host may, and inventory_settle() does: the helper that made the next network namespace */
	inventory_take(&stage->scope, &before);
	pid = fork();
	if (pid == 0) {
		const struct warder_command command = { .size = sizeof(command), .argv = sleeping };
		struct warder_run *other = NULL;
		int bad = 0;

		bad |= warder_wait(run, &result, &err) == 0 || err.code != WARDER_ERROR_INVALID_REQUEST;
		bad |= warder_launch(tmpl, &command, &other, &err) == 0 ||
		       err.code != WARDER_ERROR_INVALID_REQUEST;
		warder_run_free(run);
		warder_template_free(tmpl);
		_exit(bad);
	}
	waitpid(pid, &status, 0);
	cr_expect_eq(status, 0, "status %x", (unsigned int)status);
	cr_expect(inventory_settle(&stage->scope, &before, true, STAGE_SETTLE_S, text, sizeof(text)) >= 0,
		  "the fork's doing: %s", text);
	inventory_done(&before);
	warder_cancel(run);
	cr_expect_eq(warder_wait(run, &result, &err), 0, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "cancelled");
	warder_result_free(result);
	warder_run_free(run);
	warder_template_free(tmpl);
	stage_done(stage);
}
