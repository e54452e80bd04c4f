/* A small judge: build a solution once, run it on every test, four at a time in one thread, and print the verdicts.
 *     cc example-judge.c -lwarder && ./a.out solution.py '1 2' 3 '20 22' 42     (an input and the expected output, again and again) */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warder.h>

#define AT_ONCE 4

struct test {
	const char *input, *expected;
	struct warder_run *run; /* NULL: it waits for its turn, or is over */
	char verdict[32];
};

static int fail(const struct warder_error *err)
{
	fprintf(stderr, "%s: %s\n", warder_error_kind_name(err->code), err->text);
	return -1;
}

static char *read_file(const char *path, size_t *ret_len)
{
	static char bytes[65536];
	FILE *file = fopen(path, "r");

	*ret_len = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
	if (file)
		fclose(file);
	return file ? bytes : NULL;
}

static struct warder_program *build(const char *path, struct warder_error *err)
{
	struct warder_code code = { .size = sizeof(code), .file_name = path, .flags = WARDER_CODE_NO_CACHE };
	struct warder_program *program = NULL;
	struct warder_policy *policy = NULL;

	code.source = read_file(path, &code.source_len);
	if (!code.source) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	if (warder_policy_preset("strict", &policy, err) == 0 &&
	    warder_policy_set(policy, "limits.memory", "256MiB", err) == 0 &&
	    warder_policy_set(policy, "limits.wallTime", "5s", err) == 0)
		warder_build(policy, NULL, &code, &program, err);
	warder_policy_free(policy);
	return program;
}

static int start(struct test *test, struct warder_program *program)
{
	struct warder_call call = { .size = sizeof(call),
				    .input = test->input,
				    .input_len = strlen(test->input) };
	struct warder_error err;

	return warder_call(program, &call, &test->run, &err) == 0 ? 0 : fail(&err);
}

static void judge(struct test *test, const struct warder_result *result)
{
	struct warder_error err;
	size_t len;
	const char *output = warder_result_output(result, WARDER_STDOUT, &len, NULL);
	int same = warder_compare("tokens", test->expected, strlen(test->expected), output, len, &err);

	snprintf(test->verdict, sizeof(test->verdict), "%s", warder_result_verdict(result, same));
}

/* 1: the test is over. */
static int go_on(struct test *test)
{
	struct warder_result *result;
	struct warder_error err;
	int done = warder_run_dispatch(test->run, &result, &err);

	if (done == 0)
		return 0;
	if (done > 0) {
		judge(test, result);
		warder_result_free(result);
	} else {
		fail(&err);
		strcpy(test->verdict, "systemError");
	}
	warder_run_free(test->run);
	test->run = NULL;
	return 1;
}

static int run_all(struct test *tests, int count, struct warder_program *program)
{
	struct warder_error err;
	int next = 0, running = 0;

	while (next < count || running > 0) {
		struct pollfd fds[AT_ONCE];
		struct test *of[AT_ONCE];
		int n = 0;

		for (; next < count && running < AT_ONCE; next++, running++)
			if (start(&tests[next], program) != 0)
				return -1;
		for (int i = 0; i < next; i++) {
			if (!tests[i].run)
				continue;
			fds[n] = (struct pollfd){ .fd = warder_run_fd(tests[i].run, &err), .events = POLLIN };
			of[n++] = &tests[i];
		}
		poll(fds, (nfds_t)n, -1);
		for (int i = 0; i < n; i++)
			if (fds[i].revents)
				running -= go_on(of[i]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int count = (argc - 2) / 2, status = -1;
	struct test *tests = argc > 3 ? calloc((size_t)count, sizeof(*tests)) : NULL;
	struct warder_program *program;
	struct warder_error err;

	if (!tests)
		return EXIT_FAILURE;
	for (int i = 0; i < count; i++)
		tests[i] = (struct test){ .input = argv[2 + 2 * i], .expected = argv[3 + 2 * i] };
	program = build(argv[1], &err);
	if (!program)
		fail(&err);
	else if (warder_program_failed(program))
		printf("compileFailed\n");
	else
		status = run_all(tests, count, program);
	for (int i = 0; i < count && status == 0; i++)
		printf("%d %s\n", i + 1, tests[i].verdict);
	warder_program_free(program);
	free(tests);
	return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
