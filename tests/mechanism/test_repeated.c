/*
 * The library for long: hundreds of preparations, launches and refusals in one process leave its heap, its descriptors and
 * its children as they were. Under the address sanitizer the leak sanitizer is asked as well.
 */
#include "base/array.h"
#include "tests/lib/library.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#define leaks() __lsan_do_recoverable_leak_check()
#else
#define leaks() 0
#endif

#define WARM_UP 10
#define CYCLES  200

struct use {
	size_t heap;
	int descriptors;
};

static struct use take_use(void)
{
	const struct use use = { .heap = mallinfo2().uordblks, .descriptors = library_descriptors() };

	return use;
}

struct cycles {
	void (*cycle)(void *context);
	void *context;
	int count;
};

static void *run_cycles(void *context)
{
	const struct cycles *cycles = context;

	for (int i = 0; i < cycles->count; i++)
		cycles->cycle(cycles->context);
	return NULL;
}

/* In a thread of its own: malloc gives back what it keeps for a thread when that ends. */
static void run_in_thread(const struct cycles *cycles)
{
	pthread_t thread;

	cr_assert(pthread_create(&thread, NULL, run_cycles, (void *)cycles) == 0);
	pthread_join(thread, NULL);
}

/* Cycles before the first measure let libc and the library make what they keep. */
static void repeat(void (*cycle)(void *context), void *context)
{
	struct use before, after;

	run_in_thread(&(struct cycles){ cycle, context, WARM_UP });
	before = take_use();
	run_in_thread(&(struct cycles){ cycle, context, CYCLES });
	after = take_use();
	/* Criterion's threads may have a block more; a block a cycle would be many times this. */
	cr_expect(after.heap < before.heap + 4 * CYCLES, "%zu bytes of heap, before %zu", after.heap,
		  before.heap);
	cr_expect(after.descriptors == before.descriptors, "%d descriptors, before %d", after.descriptors,
		  before.descriptors);
	cr_expect(wait(NULL) == -1 && errno == ECHILD, "a child is left");
	cr_expect(leaks() == 0, "the leak sanitizer found leaks");
}

static void launch_and_wait(struct warder_template *tmpl, const struct warder_command *command)
{
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	struct warder_error err;
	char *json = NULL;

	if (warder_launch(tmpl, command, &run, &err) != 0 || warder_wait(run, &result, &err) != 0)
		cr_expect(false, "%s", err.text);
	else
		json = warder_result_json(result);
	cr_expect(json && warder_result_exit_code(result) == 3);
	free(json);
	warder_result_free(result);
	warder_run_free(run);
}

static const struct warder_command ends_with_3 = {
	.size = sizeof(ends_with_3),
	.argv = (char *[]){ (char *)"sh", (char *)"-c", (char *)"cat; echo err >&2; exit 3", NULL },
	.environment = (char *[]){ (char *)"A=1", NULL },
	.input = "in",
	.input_len = 2,
};

static void prepare_and_launch(void *context)
{
	struct warder_template *tmpl = NULL;
	struct warder_policy *policy = library_policy();
	struct warder_error err;

	if (warder_prepare(policy, NULL, &tmpl, &err) != 0)
		cr_assert(false, "%s", err.text);
	warder_policy_free(policy);
	launch_and_wait(tmpl, &ends_with_3);
	warder_template_free(tmpl);
}

static struct warder_template *easy_template(void)
{
	struct warder_policy *policy = library_policy();
	struct warder_template *tmpl = NULL;
	struct warder_error err;

	if (warder_prepare(policy, NULL, &tmpl, &err) != 0) {
		cr_assert(err.code == WARDER_ERROR_UNSUPPORTED_POLICY, "%s", err.text);
		cr_skip_test("%s", err.text);
	}
	warder_policy_free(policy);
	return tmpl;
}

Test(repeated, preparations_and_launches, .timeout = 300)
{
	warder_template_free(easy_template()); /* where it cannot be had at all, the test is skipped */
	repeat(prepare_and_launch, NULL);
}

static void launch_again(void *context)
{
	struct warder_command command = ends_with_3;
	char *missing[] = { (char *)"no-such-program", NULL };
	char *endless[] = { (char *)"sleep", (char *)"50", NULL };
	struct warder_run *run = NULL;
	struct warder_error err;

	launch_and_wait(context, &command);
	command.argv = missing;
	cr_expect(warder_launch(context, &command, &run, &err) == -1 && err.code == WARDER_ERROR_NOT_FOUND);
	command.argv = endless;
	if (warder_launch(context, &command, &run, &err) != 0)
		cr_expect(false, "%s", err.text);
	warder_run_free(run); /* not waited for */
}

Test(repeated, launches_of_one_template, .timeout = 300)
{
	struct warder_template *tmpl = easy_template();

	repeat(launch_again, tmpl);
	warder_template_free(tmpl);
}

/* Refused by the ceiling, by this host, by the plan, by the parser. */
static void be_refused(void *context)
{
	static const struct {
		const char *path, *value;
		uint32_t kind;
	} rows[] = {
		{ "limits.wallTime", "1h", WARDER_ERROR_REJECTED },
		{ "filesystem.view", "image:none", WARDER_ERROR_INVALID_REQUEST },
		{ "filesystem.paths.readOnly", "/no/such/path", WARDER_ERROR_INVALID_REQUEST },
		{ "workingDirectory", "/nowhere", WARDER_ERROR_INVALID_REQUEST },
	};
	struct warder_policy *ceiling = library_policy();
	struct warder_policy *parsed = NULL;
	struct warder_error err;

	warder_policy_set(ceiling, "filesystem.paths.readOnly", "/", &err);
	warder_policy_set(ceiling, "filesystem.view", "image:none", &err);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_policy *policy = library_policy();
		const struct warder_options options = { .size = sizeof(options),
							.ceiling = i == 0 ? ceiling : NULL };
		struct warder_template *tmpl = NULL;

		cr_assert(warder_policy_set(policy, rows[i].path, rows[i].value, &err) == 0, "%s", err.text);
		cr_expect(warder_prepare(policy, &options, &tmpl, &err) == -1 && err.code == rows[i].kind,
			  "row %zu: %s", i, err.text);
		warder_policy_free(policy);
	}
	cr_expect(warder_policy_parse("{\"limits\": {\"memory\": \"1MiB\", \"pids\": []}}", 44, NULL, &parsed,
				      &err) == -1);
	cr_expect(warder_policy_set(ceiling, "network.allow", "no destination", &err) == -1);
	warder_policy_free(ceiling);
}

Test(repeated, refusals, .timeout = 300)
{
	warder_template_free(easy_template());
	repeat(be_refused, NULL);
}
