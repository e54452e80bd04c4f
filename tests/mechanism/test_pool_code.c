/*
 * Pools whose jails start a program in advance: the program gets what the command gives, is not used when stale, and runs its code once.
 */
#include "tests/lib/library.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct warder_error err;
static struct warder_policy *policy;
static struct warder_pool *pool;
static struct warder_pool_key key;

/* Its code is a script; the file that it names stands for what it has loaded. */
static char *shell_program[] = {
	"sh", "-c", "printf '%s\\n\\n' \"$1\" >&3; code=$(cat <&4); eval \"$code\"", "sh", "/etc/passwd", NULL
};

static void set(const char *field, const char *value)
{
	cr_assert(warder_policy_set(policy, field, value, &err) == 0, "%s: %s", field, err.text);
}

static void begin(enum warder_pool_empty empty)
{
	const struct warder_pool_options options = { .size = sizeof(options), .empty = empty };

	policy = library_policy();
	key = (struct warder_pool_key){ .size = sizeof(key), .policy = policy };
	cr_assert(warder_pool_new(&options, &pool, &err) == 0, "%s", err.text);
}

/* False: there is no such program here. */
static bool fill(unsigned int count)
{
	if (warder_pool_fill(pool, &key, count, &err) == 0)
		return true;
	cr_assert(err.code == WARDER_ERROR_UNSUPPORTED_POLICY || err.code == WARDER_ERROR_NOT_FOUND, "%s: %s",
		  err.step, err.text);
	return false;
}

static void end(void)
{
	char pattern[80];
	glob_t found;

	cr_expect(warder_pool_drain(pool, &err) == 0, "%s", err.text);
	warder_pool_free(pool);
	warder_policy_free(policy);
	snprintf(pattern, sizeof(pattern), "/sys/fs/cgroup{/*/*,/*,}/warder-%d-*", getpid());
	cr_expect(glob(pattern, GLOB_BRACE, NULL, &found) == GLOB_NOMATCH);
	globfree(&found);
}

static struct warder_result *run(const char *code, struct warder_command command)
{
	struct warder_result *result = NULL;
	struct warder_run *started = NULL;

	command.size = sizeof(command);
	if (warder_pool_code(pool, &key, code, strlen(code), &command, &started, &err) == 0)
		cr_expect(warder_wait(started, &result, &err) == 0, "%s: %s", code, err.text);
	warder_run_free(started);
	return result;
}

static const char *output(const struct warder_result *result, enum warder_stream stream)
{
	return warder_result_output(result, stream, NULL, NULL);
}

Test(pool_code, a_program_gets_its_code_input_and_time, .timeout = 60)
{
	const struct timespec longer = { .tv_sec = 2, .tv_nsec = 700000000 };
	struct warder_result *result;
	char *json;

	begin(WARDER_POOL_FAIL);
	key.program = shell_program;
	set("limits.wallTime", "500ms"); /* init's own deadline is 2 s later */
	if (!fill(1))
		cr_skip_test("%s", err.text);
	nanosleep(&longer, NULL);
	result = run("read x; echo got $x; echo no >&2; exit 3",
		     (struct warder_command){ .input = "in\n", .input_len = 3 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), "got in\n");
	cr_expect_str_eq(output(result, WARDER_STDERR), "no\n");
	cr_expect(warder_result_exit_code(result) == 3 && warder_result_wall_us(result) < 500000);
	json = warder_result_json(result);
	cr_expect(strstr(json, "\"parkedUs\":") && strstr(json, "\"requested\":\"500ms\""));
	free(json);
	warder_result_free(result);
	cr_expect(library_pool_stat(pool, "handedOut") == 1);
	fill(1);
	result = run("sleep 30", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "wallTime");
	warder_result_free(result);
	end();
}

Test(pool_code, input_comes_from_a_descriptor, .timeout = 60)
{
	struct warder_result *result;
	int ends[2];

	begin(WARDER_POOL_LAUNCH);
	key.program = shell_program;
	if (!fill(1))
		cr_skip_test("%s", err.text);
	cr_assert(pipe2(ends, O_CLOEXEC) == 0 && write(ends[1], "a\nb\n", 4) == 4);
	close(ends[1]);
	result = run("cat", (struct warder_command){ .input_fd = ends[0] });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), "a\nb\n");
	warder_result_free(result);
	close(ends[0]);
	/* Without one, it is at its end. */
	result = run("cat; echo end", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), "end\n");
	warder_result_free(result);
	end();
}

Test(pool_code, a_file_that_it_loaded_makes_it_stale, .timeout = 60)
{
	char dir[] = "/var/tmp/warder-loaded.XXXXXX";
	char *program[] = { shell_program[0], shell_program[1], shell_program[2], "sh", NULL, NULL };
	struct warder_result *result;
	char path[64];
	FILE *file;

	begin(WARDER_POOL_LAUNCH);
	cr_assert(mkdtemp(dir) != NULL && chmod(dir, 0755) == 0);
	snprintf(path, sizeof(path), "%s/module", dir);
	program[4] = path;
	set("filesystem.paths.readOnly", dir);
	key.program = program;
	for (int i = 0; i < 2; i++) {
		file = fopen(path, "we");
		fputs(i ? "second version" : "first", file);
		fclose(file);
		if (i == 0 && !fill(1))
			cr_skip_test("%s", err.text);
		result = run("echo ran", (struct warder_command){ 0 });
		cr_assert(result, "%s", err.text);
		cr_expect_str_eq(output(result, WARDER_STDOUT), "ran\n");
		warder_result_free(result);
		cr_expect(i == 0 ? library_pool_stat(pool, "stale") == 0
				 : library_pool_stat(pool, "stale") >= 1,
			  "%ld", library_pool_stat(pool, "stale"));
		if (i == 0)
			fill(1);
	}
	end();
	unlink(path);
	rmdir(dir);
}

Test(pool_code, python, .timeout = 60)
{
	static const char *const imports[] = { "json", NULL };
	struct warder_result *result;

	begin(WARDER_POOL_LAUNCH);
	key.interpreter = "python";
	key.imports = imports;
	if (!fill(1))
		cr_skip_test("%s", err.text);
	result = run("import sys\nseen = 'x' in globals()\nx = 1\n"
		     "print(seen, __name__, sys.argv, sys.stdin.read())\nsys.exit(3)",
		     (struct warder_command){ .input = "in", .input_len = 2 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), "False __main__ ['<code>'] in\n");
	cr_expect(warder_result_exit_code(result) == 3);
	warder_result_free(result);
	fill(1);
	result = run("def f():\n  raise ValueError('no')\nf()", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect(warder_result_exit_code(result) == 1);
	cr_expect_str_eq(output(result, WARDER_STDERR),
			 "Traceback (most recent call last):\n  File \"<code>\", line 3, in <module>\n"
			 "  File \"<code>\", line 2, in f\nValueError: no\n");
	warder_result_free(result);
	end();
}

Test(pool_code, node, .timeout = 60)
{
	struct warder_result *result;

	begin(WARDER_POOL_LAUNCH);
	key.interpreter = "node";
	set("limits.pids", "64");
	set("limits.memory", "1GiB");
	if (!fill(1))
		cr_skip_test("%s", err.text);
	result = run("const fs = require('fs'); console.log(6 * 7, typeof w); process.exitCode = 5",
		     (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), "42 undefined\n");
	cr_expect(warder_result_exit_code(result) == 5);
	warder_result_free(result);
	end();
}

Test(pool_code, what_it_cannot_do_is_refused, .timeout = 60)
{
	static char *ends_early[] = { "sh", "-c", "echo broken >&2", NULL };
	static char *environment[] = { "A=1", NULL };
	struct warder_run *started;
	char *argv[] = { "true", NULL };
	const struct warder_command command = { .size = sizeof(command), .argv = argv };

	begin(WARDER_POOL_FAIL);
	key.program = shell_program;
	if (!fill(1))
		cr_skip_test("%s", err.text);
	cr_expect(warder_pool_launch(pool, &key, &command, &started, &err) == -1 &&
		      err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "warder_pool_code()"),
		  "%s", err.text);
	cr_expect_null(run("true", (struct warder_command){ .environment = environment }));
	cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "environment"), "%s",
		  err.text);
	key.interpreter = "python";
	cr_expect_null(run("true", (struct warder_command){ 0 }));
	cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "interpreter"), "%s",
		  err.text);
	key.program = NULL;
	key.interpreter = "cobol";
	cr_expect_null(run("true", (struct warder_command){ 0 }));
	cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "\"cobol\""), "%s", err.text);
	key.interpreter = NULL;
	cr_expect_null(run("true", (struct warder_command){ 0 }));
	cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "warder_pool_launch()"), "%s",
		  err.text);
	key.program = ends_early;
	cr_expect(warder_pool_fill(pool, &key, 1, &err) == -1);
	cr_expect(err.code == WARDER_ERROR_EXECUTION_FAILED && strstr(err.text, "broken"), "%s", err.text);
	end();
}
