/*
 * Measures the time from a piece of code to its first output and to its result, in ways that take turns: in an interpreter that a pool has
 * started in advance; for Python, in one that the pool's fork server has forked in advance; and in a new interpreter in a new jail from a template.
 * The floor of the first two is the same interpreter, and the same fork, in no jail (tests/bench/bare.h).
 * Prints median and 99th percentile in microseconds.
 *
 *   code [ITERATIONS [FILE [FORKED]]]
 *
 * FILE gets the same figures, one object of JSON for each piece of code. FORKED is the path of forked.so (tests/bench/forked.c); without it, there is
 * no fork in no jail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/warder.h"
#include "tests/bench/bare.h"

#define MOST 1000
#define PARKED                                                                                               \
	2 /* one is handed out, and one stays: a pool that has none left makes one at once, beside the code */

struct contest {
	const char *title, *interpreter, *program, *flag, *code, *output;
	const char *const *imports;
};

struct times {
	double output[MOST], result[MOST];
	int count;
};

static uint64_t began_ns, output_ns;
static char got[64];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int take(void *context, enum warder_stream stream, const char *bytes, size_t len)
{
	if (!output_ns)
		output_ns = now_ns();
	snprintf(got, sizeof(got), "%.*s", (int)len, bytes);
	return 0;
}

static _Noreturn void fail(const char *what, const struct warder_error *err)
{
	fprintf(stderr, "code: %s: %s\n", what, err->text);
	exit(1);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void show(const char *title, const char *how, struct times *times)
{
	qsort(times->output, (size_t)times->count, sizeof(double), compare);
	qsort(times->result, (size_t)times->count, sizeof(double), compare);
	printf("%-14s %-8s %9.0f %9.0f %10.0f %9.0f\n", title, how, times->output[times->count / 2],
	       times->output[times->count * 99 / 100], times->result[times->count / 2],
	       times->result[times->count * 99 / 100]);
}

static void write_times(FILE *file, const char *how, const struct times *times)
{
	fprintf(file, ", \"%s\": {\"outputP50Us\": %.0f, \"outputP99Us\": %.0f, \"resultP50Us\": %.0f}", how,
		times->output[times->count / 2], times->output[times->count * 99 / 100],
		times->result[times->count / 2]);
}

static void settle(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

static void note(const struct contest *contest, int status, struct times *times)
{
	times->result[times->count] = (double)(now_ns() - began_ns) / 1000;
	times->output[times->count++] = (double)(output_ns - began_ns) / 1000;
	if (strcmp(got, contest->output) != 0 || status != 0) {
		fprintf(stderr, "code: %s wrote \"%s\"\n", contest->title, got);
		exit(1);
	}
}

static void finish(const struct contest *contest, struct warder_run *run, struct times *times)
{
	struct warder_result *result;
	struct warder_error err;

	if (warder_wait(run, &result, &err) != 0)
		fail(contest->title, &err);
	note(contest, warder_result_exit_code(result), times);
	warder_result_free(result);
	warder_run_free(run);
	settle();
}

static void run_bare(const struct contest *contest, const char *forked, struct times *times)
{
	struct bare bare;
	ssize_t len;

	if (bare_start(contest->interpreter, contest->imports, forked, &bare) < 0) {
		fprintf(stderr, "code: %s does not start without a jail\n", contest->title);
		exit(1);
	}
	settle();
	began_ns = now_ns();
	len = bare_run(&bare, contest->code, got, sizeof(got) - 1);
	output_ns = now_ns();
	got[len > 0 ? len : 0] = '\0';
	note(contest, bare_end(&bare), times);
	settle();
}

/* A host without the interpreter, or the module, has no row. */
static void measure(const struct contest *contest, const struct warder_policy *policy, int iterations,
		    const char *forked, FILE *file)
{
	struct warder_pool_options options = { .size = sizeof(options), .empty = WARDER_POOL_WAIT };
	const int ways = strcmp(contest->interpreter, "python") == 0 ? 2 : 1;
	static const char *const names[] = { "parked", "forked" }, *const bare_names[] = { "bare",
											   "bareFork" };
	const int bare_ways = ways == 2 && forked ? 2 : 1;
	const struct warder_pool_key key = { .size = sizeof(key),
					     .policy = policy,
					     .interpreter = contest->interpreter,
					     .imports = contest->imports };
	char *argv[] = { (char *)contest->program, (char *)contest->flag, (char *)contest->code, NULL };
	const struct warder_command cold_command = { .size = sizeof(cold_command),
						     .argv = argv,
						     .on_output = take };
	const struct warder_command command = { .size = sizeof(command), .on_output = take };
	static struct times cold, parked[2], bare[2];
	struct warder_template *tmpl;
	struct warder_pool *pools[2] = { NULL, NULL };
	struct warder_error err;
	struct warder_run *run;

	cold.count = parked[0].count = parked[1].count = bare[0].count = bare[1].count = 0;
	if (warder_prepare(policy, NULL, &tmpl, &err) != 0)
		fail(contest->title, &err);
	for (int way = 0; way < ways; way++) {
		options.fork_server = way;
		if (warder_pool_new(&options, &pools[way], &err) != 0)
			fail(contest->title, &err);
		if (warder_pool_fill(pools[way], &key, PARKED, &err) == 0)
			continue;
		printf("%-14s not measured: %s\n", contest->title, err.text);
		iterations = 0;
	}
	for (int i = 0; i < iterations; i++) {
		began_ns = now_ns();
		output_ns = 0;
		if (warder_launch(tmpl, &cold_command, &run, &err) != 0)
			fail(contest->title, &err);
		finish(contest, run, &cold);
		for (int way = 0; way < ways; way++) {
			if (warder_pool_fill(pools[way], &key, PARKED, &err) != 0)
				fail(contest->title, &err);
			settle();
			began_ns = now_ns();
			output_ns = 0;
			if (warder_pool_code(pools[way], &key, contest->code, strlen(contest->code), &command,
					     &run, &err) != 0)
				fail(contest->title, &err);
			finish(contest, run, &parked[way]);
		}
		for (int way = 0; way < bare_ways; way++)
			run_bare(contest, way ? forked : NULL, &bare[way]);
	}
	if (iterations) {
		show(contest->title, "cold", &cold);
		for (int way = 0; way < ways; way++)
			show("", names[way], &parked[way]);
		for (int way = 0; way < bare_ways; way++)
			show("", bare_names[way], &bare[way]);
	}
	if (iterations && file) {
		fprintf(file, "{\"name\": \"%s\"", contest->title);
		write_times(file, "cold", &cold);
		for (int way = 0; way < ways; way++)
			write_times(file, names[way], &parked[way]);
		for (int way = 0; way < bare_ways; way++)
			write_times(file, bare_names[way], &bare[way]);
		fputs("}\n", file);
	}
	for (int way = 0; way < ways; way++)
		warder_pool_free(pools[way]);
	warder_template_free(tmpl);
}

int main(int argc, char **argv)
{
	static const char *const numpy[] = { "numpy", NULL };
	static const struct contest contests[] = {
		{ "python", "python", "python3", "-c", "print(6*7)", "42\n", NULL },
		{ "python, numpy", "python", "python3", "-c",
		  "import numpy as np\na=np.arange(16.0).reshape(4,4)\nprint((a@a).sum())", "3920.0\n",
		  numpy },
		{ "node", "node", "node", "-e", "process.stdout.write(String(6*7)+'\\n')", "42\n", NULL },
	};
	const int asked = argc > 1 ? atoi(argv[1]) : 50;
	const int iterations = asked < 1 ? 1 : asked > MOST ? MOST : asked;
	FILE *file = argc > 2 ? fopen(argv[2], "we") : NULL;
	struct warder_policy *policy;
	struct warder_error err;

	if (argc > 2 && !file) {
		perror(argv[2]);
		return 1;
	}
	if (warder_policy_preset("strict", &policy, &err) != 0 ||
	    warder_policy_set(policy, "limits.memory", "1GiB", &err) != 0)
		fail("policy", &err);
	printf("%d pieces of code each way, alternately; microseconds\n\n", iterations);
	printf("%-14s %-8s %9s %9s %10s %9s\n", "", "", "output", "p99", "result", "p99");
	for (size_t i = 0; i < sizeof(contests) / sizeof(contests[0]); i++)
		measure(&contests[i], policy, iterations, argc > 3 ? argv[3] : NULL, file);
	warder_policy_free(policy);
	return file && fclose(file) != 0;
}
