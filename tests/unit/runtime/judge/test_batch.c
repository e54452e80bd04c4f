#include "base/array.h"
#include "runtime/judge/batch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/library/result.h"

#define CODE "\"code\":\"x\""

static int decode(const char *text, struct batch *ret, struct warder_error *err)
{
	memset(err, 0, sizeof(*err));
	return batch_decode(text, strlen(text), ret, err);
}

Test(batch, reads_everything, .timeout = 20)
{
	struct batch batch;
	struct warder_error err;

	cr_assert_eq(
	    decode(
		"{\"language\":\"c\",\"code\":\"x\",\"files\":[{\"name\":\"a.h\",\"content\":\"y\"}],"
		"\"limits\":{\"timeout\":2,\"cpuTime\":\"1s\",\"memory\":\"64MiB\"},\"compare\":\"tokens\","
		"\"stopOnFirstFailure\":true,\"parallel\":3,\"cases\":[{},{\"name\":\"n\",\"stdin\":\"i\","
		"\"args\":[\"a\"],\"expected\":\"o\",\"compare\":\"float:0.5\",\"timeout\":\"500ms\","
		"\"cpuTime\":1,\"memory\":1048576},{\"expected\":\"e\"}]}",
		&batch, &err),
	    0, "%s", err.text);
	cr_expect_str_eq(batch.snippet.language, "c");
	cr_expect_eq(batch.snippet.file_count, 1);
	cr_expect(batch.stop && batch.parallel == 3);
	cr_expect_str_eq(batch.limits.timeout, "2");
	cr_expect_str_eq(batch.limits.cpu_time, "1s");
	cr_expect_str_eq(batch.limits.memory, "64MiB");
	cr_assert_eq(batch.case_count, 3);
	cr_expect(!batch.cases[0].name && !batch.cases[0].input && !batch.cases[0].expected);
	cr_expect_eq(batch.cases[0].how.mode, COMPARE_NONE);
	cr_expect_str_eq(batch.cases[1].name, "n");
	cr_expect_str_eq(batch.cases[1].input, "i");
	cr_expect(strcmp(batch.cases[1].args[0], "a") == 0 && !batch.cases[1].args[1]);
	cr_expect_str_eq(batch.cases[1].expected, "o");
	cr_expect(batch.cases[1].how.mode == COMPARE_FLOAT && batch.cases[1].how.tolerance == 0.5);
	cr_expect_str_eq(batch.cases[1].limits.timeout, "500ms");
	cr_expect_str_eq(batch.cases[1].limits.cpu_time, "1");
	cr_expect_str_eq(batch.cases[1].limits.memory, "1048576");
	cr_expect_eq(batch.cases[2].how.mode, COMPARE_TOKENS);
	batch_free(&batch);
}

Test(batch, compares_lines_unless_told, .timeout = 20)
{
	struct batch batch;
	struct warder_error err;

	cr_assert_eq(decode("{" CODE
			    ",\"cases\":[{\"expected\":\"\"},{\"expected\":\"\",\"compare\":\"none\"}]}",
			    &batch, &err),
		     0);
	cr_expect_eq(batch.cases[0].how.mode, COMPARE_LINES);
	cr_expect_eq(batch.cases[1].how.mode, COMPARE_NONE);
	batch_free(&batch);
}

Test(batch, refuses, .timeout = 20)
{
	static const struct {
		const char *text, *field, *message;
	} rows[] = {
		{ "{" CODE "}", "cases", "it is missing" },
		{ "{\"cases\":[{}]}", "code", "it is missing" },
		{ "{" CODE ",\"cases\":[]}", "cases", "no case" },
		{ "{" CODE ",\"cases\":{}}", "cases", "an object where an array" },
		{ "{" CODE ",\"cases\":[1]}", "cases[0]", "a number where an object" },
		{ "{" CODE ",\"cases\":[{},{\"input\":1}]}", "cases[1].input", "unknown key" },
		{ "{" CODE ",\"cases\":[{\"stdin\":1}]}", "cases[0].stdin", "a number where a string" },
		{ "{" CODE ",\"cases\":[{\"name\":1}]}", "cases[0].name", "a number where a string" },
		{ "{" CODE ",\"cases\":[{\"expected\":null}]}", "cases[0].expected", "null where a string" },
		{ "{" CODE ",\"cases\":[{\"args\":[null]}]}", "cases[0].args[0]", "null where a string" },
		{ "{" CODE ",\"cases\":[{\"compare\":\"exact\"}]}", "cases[0]", "nothing to compare with" },
		{ "{" CODE ",\"cases\":[{\"expected\":\"\",\"compare\":\"fuzzy\"}]}", "cases[0].compare",
		  "\"fuzzy\" is not a comparison" },
		{ "{" CODE ",\"cases\":[{\"timeout\":true}]}", "cases[0].timeout", "a boolean where" },
		{ "{" CODE ",\"cases\":[{}],\"compare\":1}", "compare", "a number where a string" },
		{ "{" CODE ",\"cases\":[{}],\"limits\":[]}", "limits", "an array where an object" },
		{ "{" CODE ",\"cases\":[{}],\"limits\":{\"pids\":1}}", "limits.pids", "unknown key" },
		{ "{" CODE ",\"cases\":[{}],\"parallel\":0}", "parallel", "from 1 to 100" },
		{ "{" CODE ",\"cases\":[{}],\"parallel\":101}", "parallel", "from 1 to 100" },
		{ "{" CODE ",\"cases\":[{}],\"parallel\":1.5}", "parallel", "from 1 to 100" },
		{ "{" CODE ",\"cases\":[{}],\"stopOnFirstFailure\":1}", "stopOnFirstFailure",
		  "true or false" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct batch batch;
		struct warder_error err;

		cr_expect_eq(decode(rows[i].text, &batch, &err), -1, "%s", rows[i].text);
		cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST, "%s", rows[i].text);
		cr_expect_str_eq(err.field, rows[i].field, "%s: %s", rows[i].text, err.field);
		cr_expect(strstr(err.text, rows[i].message), "%s: %s", rows[i].text, err.text);
		batch_free(&batch);
	}
}

Test(batch, limits_only_narrow, .timeout = 20)
{
	static const struct {
		const char *members, *field; /* behind code; of the refusal, or NULL */
		uint64_t wall_us, cpu_us, memory;
	} rows[] = {
		/* base: 10 s, 5 s of CPU time, 128 MiB */
		{ "\"cases\":[{}]", NULL, 10000000, 5000000, 128 << 20 },
		{ "\"cases\":[{\"timeout\":1,\"memory\":\"1MiB\"}]", NULL, 1000000, 5000000, 1 << 20 },
		{ "\"limits\":{\"timeout\":2,\"cpuTime\":\"1s\"},\"cases\":[{}]", NULL, 2000000, 1000000,
		  128 << 20 },
		{ "\"limits\":{\"timeout\":2},\"cases\":[{\"timeout\":\"250ms\"}]", NULL, 250000, 5000000,
		  128 << 20 },
		{ "\"limits\":{\"timeout\":2},\"cases\":[{\"timeout\":3}]", NULL, 3000000, 5000000,
		  128 << 20 },
		{ "\"cases\":[{\"timeout\":11}]", "cases[0] limits.wallTime", 0, 0, 0 },
		{ "\"cases\":[{\"cpuTime\":6}]", "cases[0] limits.cpuTime", 0, 0, 0 },
		{ "\"cases\":[{\"memory\":\"129MiB\"}]", "cases[0] limits.memory", 0, 0, 0 },
		{ "\"cases\":[{\"memory\":\"unlimited\"}]", "cases[0] limits.memory", 0, 0, 0 },
		{ "\"cases\":[{\"timeout\":0}]", "cases[0] limits.wallTime", 0, 0, 0 },
		{ "\"cases\":[{\"timeout\":\"soon\"}]", "cases[0] limits.wallTime", 0, 0, 0 },
		{ "\"limits\":{\"memory\":\"1GiB\"},\"cases\":[{}]", "cases[0] limits.memory", 0, 0, 0 },
	};
	struct policy base = { 0 };
	struct warder_error err;

	cr_assert_eq(policy_preset("strict", &base, &err), 0);
	cr_assert_eq(policy_set(&base, "limits.wallTime", "10s", &err), 0);
	cr_assert_eq(policy_set(&base, "limits.cpuTime", "5s", &err), 0);
	cr_assert_eq(policy_set(&base, "limits.memory", "128MiB", &err), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct policy policy = { 0 };
		struct batch batch;
		char text[200];

		snprintf(text, sizeof(text), "{" CODE ",%s}", rows[i].members);
		cr_assert_eq(decode(text, &batch, &err), 0, "%s: %s", text, err.text);
		cr_expect_eq(batch_policy(&batch, 0, &base, &policy, &err), rows[i].field ? -1 : 0, "%s: %s",
			     text, err.text);
		if (rows[i].field) {
			cr_expect_str_eq(err.field, rows[i].field, "%s: %s", text, err.field);
		} else {
			cr_expect_eq(policy.limits.wall_time_us, rows[i].wall_us, "%s", text);
			cr_expect_eq(policy.limits.cpu_time_us, rows[i].cpu_us, "%s", text);
			cr_expect_eq(policy.limits.memory_bytes, rows[i].memory, "%s", text);
		}
		policy_done(&policy);
		batch_free(&batch);
	}
	policy_done(&base);
}

Test(verdict, follows_from_the_end, .timeout = 20)
{
	static const struct {
		enum jail_cause cause;
		int exit_code;
		bool truncated;
		const char *same, *other; /* verdicts when the output is the same, and when it is not */
	} rows[] = {
		{ JAIL_CAUSE_EXIT, 0, false, "accepted", "wrongAnswer" },
		{ JAIL_CAUSE_EXIT, 0, true, "outputLimit", "outputLimit" },
		{ JAIL_CAUSE_EXIT, 1, false, "runtimeError", "runtimeError" },
		{ JAIL_CAUSE_EXIT, 1, true, "runtimeError", "runtimeError" },
		{ JAIL_CAUSE_SIGNAL, -1, false, "runtimeError", "runtimeError" },
		{ JAIL_CAUSE_WALL_TIME, -1, false, "timeLimit", "timeLimit" },
		{ JAIL_CAUSE_CPU_TIME, -1, true, "timeLimit", "timeLimit" },
		{ JAIL_CAUSE_MEMORY, -1, false, "memoryLimit", "memoryLimit" },
		{ JAIL_CAUSE_PIDS, 1, false, "runtimeError", "runtimeError" },
		{ JAIL_CAUSE_OUTPUT, -1, true, "outputLimit", "outputLimit" },
		{ JAIL_CAUSE_DISK, 1, false, "runtimeError", "runtimeError" },
		{ JAIL_CAUSE_SYSCALL, -1, false, "runtimeError", "runtimeError" },
		{ JAIL_CAUSE_NETWORK, 1, false, "runtimeError", "runtimeError" },
		{ JAIL_CAUSE_CANCELLED, -1, false, "skipped", "skipped" },
		{ JAIL_CAUSE_SUPERVISOR, -1, false, "systemError", "systemError" },
		{ JAIL_CAUSE_HOST, -1, false, "systemError", "systemError" },
	};
	bool seen[JAIL_CAUSE_COUNT] = { false };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_result result = { .outcome = { .cause = rows[i].cause,
							     .exit_code = rows[i].exit_code } };

		result.outcome.output[JAIL_STDOUT].truncated = rows[i].truncated;
		cr_expect_str_eq(verdict_name(verdict_of(&result, true)), rows[i].same, "row %zu", i);
		cr_expect_str_eq(verdict_name(verdict_of(&result, false)), rows[i].other, "row %zu", i);
		cr_expect_str_eq(warder_result_verdict(&result, 1), rows[i].same, "row %zu", i);
		cr_expect_str_eq(warder_result_verdict(&result, -1), rows[i].other, "row %zu", i);
		seen[rows[i].cause] = true;
	}
	for (int cause = 0; cause < JAIL_CAUSE_COUNT; cause++)
		cr_expect(seen[cause], "%s", jail_cause_name((enum jail_cause)cause));
}
