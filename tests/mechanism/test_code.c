/* Pieces of code through the public functions: warder_build(), warder_call(). */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/warder.h"

struct place {
	char cache[128];
	struct warder_policy *policy;
	struct warder_error err;
};

static void place_init(struct place *place)
{
	static const char *const preferred[] = { "limits.memory", "limits.cpus", "limits.pids",
						 "limits.cpuTime", "limits.swap" };

	const char *files = getenv("WARDER_TEST_FILES"); /* removed by the runner, also if the test fails */

	snprintf(place->cache, sizeof(place->cache), "%s/warder-code-XXXXXX", files ? files : "/tmp");
	cr_assert(mkdtemp(place->cache));
	cr_assert_eq(warder_policy_preset("strict", &place->policy, &place->err), 0);
	/* Generous: six interpreters at a time, on a slow machine. */
	cr_assert_eq(warder_policy_set(place->policy, "limits.wallTime", "100s", &place->err), 0);
	cr_assert_eq(warder_policy_set(place->policy, "limits.cpuTime", "100s", &place->err), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(preferred) && geteuid() != 0; i++)
		cr_assert_eq(warder_policy_require(place->policy, preferred[i], 0, &place->err), 0);
}

static void place_done(struct place *place)
{
	char command[160];

	warder_policy_free(place->policy);
	snprintf(command, sizeof(command), "rm -rf %s", place->cache);
	cr_assert_eq(system(command), 0);
}

static int build(struct place *place, const char *language, const char *source, unsigned int flags,
		 struct warder_program **ret)
{
	const struct warder_code code = { .size = sizeof(code),
					  .language = language,
					  .source = source,
					  .source_len = strlen(source),
					  .flags = flags,
					  .cache = place->cache };

	memset(&place->err, 0, sizeof(place->err));
	return warder_build(place->policy, NULL, &code, ret, &place->err);
}

static struct warder_result *call(struct warder_program *program, const struct warder_call *how,
				  struct warder_error *err)
{
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;

	if (warder_call(program, how, &run, err) != 0)
		return NULL;
	if (warder_wait(run, &result, err) != 0)
		result = NULL;
	warder_run_free(run);
	return result;
}

static const char *printed(const struct warder_result *result)
{
	return result ? warder_result_output(result, WARDER_STDOUT, NULL, NULL) : "(no result)";
}

Test(code, one_build_many_calls, .timeout = 120)
{
	struct warder_program *program = NULL;
	struct place place;

	place_init(&place);
	cr_assert_eq(build(&place, "c",
			   "#include <stdio.h>\nint main(int c, char **v) { int a = 0; scanf(\"%d\", &a); "
			   "printf(\"%d %s\", a * 2, v[1]); return a; }",
			   0, &program),
		     0, "%s", place.err.text);
	cr_assert(!warder_program_failed(program));
	cr_expect_str_eq(warder_program_language(program), "c");
	for (int i = 0; i < 5; i++) {
		char input[16], expected[32];
		char *argv[] = { "word", NULL };
		const struct warder_call how = {
			.size = sizeof(how), .argv = argv, .input = input, .input_len = 1
		};
		struct warder_result *result;

		snprintf(input, sizeof(input), "%d", i);
		snprintf(expected, sizeof(expected), "%d word", i * 2);
		result = call(program, &how, &place.err);
		cr_expect_str_eq(printed(result), expected, "%s", place.err.text);
		cr_expect_eq(result ? warder_result_exit_code(result) : -1, i);
		warder_result_free(result);
	}
	warder_program_free(program);
	place_done(&place);
}

struct job {
	struct warder_program *program;
	int number, right;
};

static void *work(void *context)
{
	struct job *job = context;

	for (int i = 0; i < 5; i++) {
		char json[32], expected[64];
		struct warder_call how = { .size = sizeof(how), .json = json };
		struct warder_error err = { 0 };
		struct warder_result *result;

		how.json_len = (size_t)snprintf(json, sizeof(json), "{\"n\": %d}", job->number * 10 + i);
		snprintf(expected, sizeof(expected), "{\"twice\":%d}", 2 * (job->number * 10 + i));
		result = call(job->program, &how, &err);
		job->right += result && warder_result_value(result) &&
			      strcmp(warder_result_value(result), expected) == 0;
		warder_result_free(result);
	}
	return NULL;
}

Test(code, threads_share_a_program, .timeout = 120)
{
	struct warder_program *program = NULL;
	struct job jobs[6];
	pthread_t threads[6];
	struct place place;

	place_init(&place);
	cr_assert_eq(build(&place, "python",
			   "import json, os\nn = json.load(open(os.environ['WARDER_INPUT']))['n']\n"
			   "json.dump({'twice': 2 * n}, open(os.environ['WARDER_RESULT'], 'w'))\n",
			   0, &program),
		     0, "%s", place.err.text);
	for (int i = 0; i < 6; i++) {
		jobs[i] = (struct job){ program, i, 0 };
		cr_assert_eq(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
	}
	for (int i = 0; i < 6; i++) {
		pthread_join(threads[i], NULL);
		cr_expect_eq(jobs[i].right, 5, "thread %d: %d right", i, jobs[i].right);
	}
	warder_program_free(program);
	place_done(&place);
}

Test(code, what_does_not_compile_is_a_result, .timeout = 120)
{
	struct warder_program *program = NULL;
	struct warder_result *result;
	struct warder_run *run = NULL;
	struct place place;
	char *json;

	place_init(&place);
	cr_assert_eq(build(&place, "c", "int main(void) { return nothing; }", 0, &program), 0, "%s",
		     place.err.text);
	cr_expect(warder_program_failed(program));
	cr_expect_eq(warder_call(program, NULL, &run, &place.err), -1);
	cr_expect_eq(place.err.code, WARDER_ERROR_COMPILE_FAILED);
	result = warder_program_result(program);
	cr_assert_not_null(result);
	cr_expect_null(warder_program_result(program), "it is taken once");
	cr_expect_str_eq(warder_result_status(result), "compileFailed");
	json = warder_result_json(result);
	cr_expect(strstr(json, "\"diagnostics\":[{\"level\":\"error\""), "%s", json);
	free(json);
	warder_result_free(result);
	warder_program_free(program);
	place_done(&place);
}

Test(code, checked_code_is_not_run, .timeout = 120)
{
	struct warder_program *program = NULL;
	struct warder_run *run = NULL;
	struct place place;

	place_init(&place);
	cr_assert_eq(build(&place, "python", "open('/tmp/x', 'w')", WARDER_CODE_CHECK_ONLY, &program), 0);
	cr_expect(!warder_program_failed(program));
	cr_expect_eq(warder_call(program, NULL, &run, &place.err), -1);
	cr_expect(strstr(place.err.text, "only checked"), "%s", place.err.text);
	warder_program_free(program);
	cr_assert_eq(build(&place, "python", "def (", WARDER_CODE_CHECK_ONLY, &program), 0);
	cr_expect(warder_program_failed(program));
	warder_program_free(program);
	place_done(&place);
}

Test(code, wrong_use_is_refused, .timeout = 60)
{
	static const struct warder_file outside = { "../x", "x", 1, 0 };
	static const struct {
		struct warder_code code;
		uint32_t kind;
		const char *says;
	} rows[] = {
		{ { .size = 0 }, WARDER_ERROR_INVALID_REQUEST, "size" },
		{ { .size = sizeof(struct warder_code) }, WARDER_ERROR_INVALID_REQUEST, "code is required" },
		{ { .size = sizeof(struct warder_code),
		    .language = "python",
		    .source = " \n\t",
		    .source_len = 3 },
		  WARDER_ERROR_INVALID_REQUEST,
		  "code is required" },
		{ { .size = sizeof(struct warder_code), .language = "cobol", .source = "x", .source_len = 1 },
		  WARDER_ERROR_UNSUPPORTED_LANGUAGE,
		  "cobol" },
		{ { .size = sizeof(struct warder_code),
		    .language = "sh",
		    .source = "x",
		    .source_len = 1,
		    .files = &outside,
		    .file_count = 1 },
		  WARDER_ERROR_REJECTED,
		  "../x" },
	};
	struct warder_program *program = NULL;
	struct place place;

	place_init(&place);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };

		cr_expect_eq(warder_build(place.policy, NULL, &rows[i].code, &program, &err), -1, "row %zu",
			     i);
		cr_expect(strstr(err.text, rows[i].says), "row %zu: %s", i, err.text);
		cr_expect(err.code == rows[i].kind || rows[i].kind == WARDER_ERROR_REJECTED, "row %zu: %u", i,
			  err.code);
	}
	cr_expect_eq(warder_build(NULL, NULL, &rows[0].code, &program, &place.err), -1);
	cr_expect_eq(warder_build(place.policy, NULL, NULL, &program, &place.err), -1);
	cr_expect_eq(warder_call(NULL, NULL, NULL, &place.err), -1);
	place_done(&place);
}

Test(code, a_policy_without_languages_runs_nothing, .timeout = 60)
{
	struct warder_program *program = NULL;
	struct place place;

	place_init(&place);
	cr_assert_eq(warder_policy_set(place.policy, "languages", "ruby", &place.err), 0);
	cr_expect_eq(build(&place, "python", "1", 0, &program), -1);
	cr_expect_eq(place.err.code, WARDER_ERROR_UNSUPPORTED_LANGUAGE, "%s", place.err.text);
	cr_expect(strstr(place.err.text, "does not allow"), "%s", place.err.text);
	place_done(&place);
}

static void cancel(void *context, const char *stage, struct warder_run *run)
{
	warder_cancel(run);
}

Test(code, a_build_can_be_cancelled, .timeout = 120)
{
	static const char bomb[] =
	    "template<int N> struct F { static const long long v = F<N-1>::v + F<N-2>::v; };\n"
	    "template<> struct F<0> { static const long long v = 0; };\n"
	    "template<> struct F<1> { static const long long v = 1; };\n"
	    "int main() { return F<800>::v & 1; }\n";
	struct warder_program *program = NULL;
	struct warder_result *result;
	struct place place;
	struct warder_code code = { .size = sizeof(code),
				    .language = "c++",
				    .source = bomb,
				    .source_len = sizeof(bomb) - 1,
				    .on_stage = cancel };

	place_init(&place);
	code.cache = place.cache;
	cr_assert_eq(warder_build(place.policy, NULL, &code, &program, &place.err), 0, "%s", place.err.text);
	cr_expect(warder_program_failed(program));
	result = warder_program_result(program);
	cr_expect_str_eq(warder_result_cause(result), "cancelled");
	cr_expect_str_eq(warder_result_status(result), "killed");
	warder_result_free(result);
	warder_program_free(program);
	place_done(&place);
}

/* What on_input gives: lines, and then no more for a while. */
struct source {
	struct warder_run *run;
	unsigned asked, given;
};

static long give_lines(void *context, char *bytes, size_t size)
{
	struct source *source = context;
	const int len = source->given < 3 ? snprintf(bytes, size, "line %u\n", source->given) : -1;

	source->asked++;
	if (source->asked % 2)
		return 0; /* not yet: asked again after warder_run_input_ready() */
	source->given++;
	return len;
}

static void *say_ready(void *context)
{
	struct source *source = context;

	for (int i = 0; i < 200; i++) {
		usleep(10000);
		warder_run_input_ready(source->run);
	}
	return NULL;
}

Test(code, input_by_a_function, .timeout = 120)
{
	struct source source = { 0 };
	const struct warder_call how = { .size = sizeof(how), .on_input = give_lines, .context = &source };
	const struct warder_call both = {
		.size = sizeof(both), .on_input = give_lines, .context = &source, .input = "x", .input_len = 1
	};
	struct warder_program *program = NULL;
	struct warder_result *result = NULL;
	struct place place;
	pthread_t thread;

	place_init(&place);
	cr_assert_eq(build(&place, "c",
			   "#include <stdio.h>\nint main(void) { int c; while ((c = getchar()) != EOF) "
			   "putchar(c); return 4; }",
			   0, &program),
		     0, "%s", place.err.text);
	cr_assert_eq(warder_call(program, &how, &source.run, &place.err), 0, "%s", place.err.text);
	cr_assert_eq(pthread_create(&thread, NULL, say_ready, &source), 0);
	cr_assert_eq(warder_wait(source.run, &result, &place.err), 0, "%s", place.err.text);
	pthread_join(thread, NULL);
	cr_expect_str_eq(printed(result), "line 0\nline 1\nline 2\n");
	cr_expect_eq(warder_result_exit_code(result), 4);
	warder_result_free(result);
	warder_run_free(source.run);
	cr_expect_null(call(program, &both, &place.err));
	cr_expect(place.err.code == WARDER_ERROR_INVALID_REQUEST && strcmp(place.err.field, "on_input") == 0,
		  "%s", place.err.text);
	warder_program_free(program);
	place_done(&place);
}
