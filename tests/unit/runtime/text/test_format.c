#include "base/array.h"
#include "runtime/text/format.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct format_file files[] = { { { "a.csv", 5 }, 3 }, { { "b\n`", 3 }, UINT64_MAX } };

/* A result as a test wants to write it. */
struct given {
	enum format_status status;
	int exit_code;
	const char *out, *err, *error;
	size_t files;
	uint64_t total; /* of the output */
};

static struct format_result result_of(const struct given *given)
{
	return (struct format_result){
		.status = given->status,
		.exit_code = given->exit_code,
		.out = { span_of(given->out), given->total },
		.err = { span_of(given->err), 0 },
		.error = span_of(given->error),
		.files = files,
		.file_count = given->files,
	};
}

Test(format, block, .timeout = 20)
{
	static const struct {
		const char *label;
		struct given given;
		const char *text;
	} rows[] = {
		{ "output", { FORMAT_SUCCESS, 0, "hi" }, "```tool_output\nhi\n\n```" },
		{ "a line of output", { FORMAT_SUCCESS, 0, "hi\n" }, "```tool_output\nhi\n\n```" },
		{ "nothing", { FORMAT_SUCCESS, 0 }, "```tool_output\n\n```" },
		{ "a warning is not told", { FORMAT_SUCCESS, 0, "o", "warn" }, "```tool_output\no\n\n```" },
		{ "error and output",
		  { FORMAT_FAILED, 1, "part", "boom" },
		  "```tool_output\nError: boom\npart\n\n```" },
		{ "no run",
		  { FORMAT_FAILED, 1, NULL, NULL, "no python" },
		  "```tool_output\nExecution error: no python\n\n```" },
		{ "both errors",
		  { FORMAT_FAILED, -1, NULL, "boom\n", "killed" },
		  "```tool_output\nError: boom\nExecution error: killed\n\n```" },
		{ "only a status",
		  { FORMAT_FAILED, 3 },
		  "```tool_output\nExecution error: exit status 3\n\n```" },
		{ "not even a status",
		  { FORMAT_FAILED, -1 },
		  "```tool_output\nExecution error: no exit status\n\n```" },
		{ "time",
		  { FORMAT_TIMEOUT, -1, "part" },
		  "```tool_output\nExecution timed out\npart\n\n```" },
		{ "a file",
		  { FORMAT_SUCCESS, 0, NULL, NULL, NULL, 1 },
		  "```tool_output\n\n[Generated 1 output file(s)]\n- a.csv (3 bytes)\n\n```" },
		{ "files",
		  { FORMAT_SUCCESS, 0, "o", NULL, NULL, 2 },
		  "```tool_output\no\n\n[Generated 2 output file(s)]\n- a.csv (3 bytes)\n- b?`\n\n```" },
		{ "cut",
		  { FORMAT_SUCCESS, 0, "ab", .total = 9 },
		  "```tool_output\nab\n[stdout cut: 2 of 9 bytes]\n\n```" },
		{ "all of it was kept",
		  { FORMAT_SUCCESS, 0, "ab", .total = 2 },
		  "```tool_output\nab\n\n```" },
		{ "the end inside",
		  { FORMAT_SUCCESS, 0, "a\n```\nb" },
		  "````tool_output\na\n```\nb\n\n````" },
		{ "the end first", { FORMAT_SUCCESS, 0, "`````" }, "``````tool_output\n`````\n\n``````" },
		{ "an end for CommonMark",
		  { FORMAT_SUCCESS, 0, "a\r   ````x" },
		  "`````tool_output\na\r   ````x\n\n`````" },
		{ "no end",
		  { FORMAT_SUCCESS, 0, "a ```\n    ```\n``" },
		  "```tool_output\na ```\n    ```\n``\n\n```" },
		{ "other marks are no end", { FORMAT_SUCCESS, 0, "~~~~" }, "```tool_output\n~~~~\n\n```" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct format_result result = result_of(&rows[i].given);
		struct warder_error err = { 0 };
		size_t len = 0;
		char *text = format_block(&result, NULL, &len, &err);

		cr_assert_not_null(text, "%s: %s", rows[i].label, err.text);
		cr_expect_str_eq(text, rows[i].text, "%s: %s", rows[i].label, text);
		cr_expect(len == strlen(text), "%s", rows[i].label);
		free(text);
	}
}

Test(format, block_between_other_delimiters, .timeout = 20)
{
	static const struct {
		const char *label;
		struct delimiters delimiters;
		const char *out;
		const char *text; /* NULL: refused */
	} rows[] = {
		{ "tags", { "<out>", "</out>" }, "a", "<out>a\n</out>" },
		{ "the end inside", { "<out>", "</out>" }, "a</out>b", NULL },
		{ "the end by what stands before it", { "<", "\n\n" }, "a", NULL },
		{ "tildes", { "~~~~out\n", "\n~~~~" }, "~~~~", "~~~~~out\n~~~~\n\n~~~~~" },
		{ "shorter tildes inside", { "~~~~out\n", "\n~~~~" }, "~~~", "~~~~out\n~~~\n\n~~~~" },
		{ "ends on the same line", { "```out\n", "```" }, "a```", NULL },
		{ "starts on the same line", { "```", "\n```" }, "\n```", NULL },
		{ "ends differ", { "```out\n", "\n````" }, "\n````", NULL },
		{ "more behind the end", { "```out\n", "\n```x" }, "\n```x", NULL },
		{ "empty", { "", "x" }, "a", NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct format_result result = { .out = { span_of(rows[i].out), 0 } };
		struct warder_error err = { 0 };
		size_t len = 0;
		char *text = format_block(&result, &rows[i].delimiters, &len, &err);

		if (rows[i].text)
			cr_expect_str_eq(text ? text : err.text, rows[i].text, "%s", rows[i].label);
		else
			cr_expect(!text && err.code == WARDER_ERROR_INVALID_REQUEST, "%s: %s", rows[i].label,
				  text);
		free(text);
	}
}

Test(format, inline_text, .timeout = 20)
{
	static const struct {
		struct given given;
		const char *text;
	} rows[] = {
		{ { FORMAT_SUCCESS, 0, " \n hi\n" }, "hi" },
		{ { FORMAT_SUCCESS, 0, "o", "warn" }, "o" },
		{ { FORMAT_SUCCESS, 0 }, "Execution completed successfully" },
		{ { FORMAT_SUCCESS, 0, " \n" }, "Execution completed successfully" },
		{ { FORMAT_FAILED, 1, "o", "boom\n" }, "error: boom" },
		{ { FORMAT_FAILED, 1, "o", NULL, "no python" }, "execution failed: no python" },
		{ { FORMAT_FAILED, 1, "o", "boom", "x" }, "error: boom" },
		{ { FORMAT_FAILED, 1 }, "Execution failed" },
		{ { FORMAT_TIMEOUT, -1, "o", "boom" }, "execution failed: timed out" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct format_result result = result_of(&rows[i].given);
		size_t len = 0;
		char *text = format_inline(&result, &len);

		cr_expect_str_eq(text, rows[i].text, "row %zu", i);
		cr_expect(len == strlen(text), "row %zu", i);
		free(text);
	}
}

Test(format, text_for_a_model, .timeout = 20)
{
	static const struct {
		const char *label;
		struct given given;
		const char *text, *outcome;
	} rows[] = {
		{ "nothing", { FORMAT_SUCCESS, 0 }, "", "OK" },
		{ "output", { FORMAT_SUCCESS, 0, "hi" }, "Code execution result:\nhi\n", "OK" },
		{ "a line of output", { FORMAT_SUCCESS, 0, "hi\n" }, "Code execution result:\nhi\n\n", "OK" },
		{ "error", { FORMAT_FAILED, 1, NULL, "boom" }, "Code execution error:\nboom\n", "FAILED" },
		{ "a warning",
		  { FORMAT_SUCCESS, 0, NULL, "warn" },
		  "Code execution error:\nwarn\n",
		  "FAILED" },
		{ "time", { FORMAT_TIMEOUT, -1 }, "Code execution timed out\n", "DEADLINE_EXCEEDED" },
		{ "both",
		  { FORMAT_FAILED, 1, "o", "e" },
		  "Code execution error:\ne\nCode execution result:\no\n",
		  "FAILED" },
		{ "a file", { FORMAT_SUCCESS, 0, NULL, NULL, NULL, 1 }, "Saved artifacts:\n`a.csv`", "OK" },
		{ "all of it, and time wins",
		  { FORMAT_TIMEOUT, -1, "o", "e", NULL, 2 },
		  "Code execution error:\ne\nCode execution timed out\nCode execution result:\no\n"
		  "Saved artifacts:\n`a.csv`,`b?``",
		  "DEADLINE_EXCEEDED" },
		{ "no output of a failure",
		  { FORMAT_FAILED, 3 },
		  "Code execution error:\nexit status 3\n",
		  "FAILED" },
		{ "killed",
		  { FORMAT_FAILED, -1, NULL, "e", "out of memory" },
		  "Code execution error:\ne\nout of memory\n",
		  "FAILED" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct format_result result = result_of(&rows[i].given);
		size_t len = 0;
		char *text = format_text(&result, &len);

		cr_expect_str_eq(text, rows[i].text, "%s: %s", rows[i].label, text);
		cr_expect_str_eq(format_outcome(&result), rows[i].outcome, "%s", rows[i].label);
		free(text);
	}
}

/* The bodies of a text, each between bars; the caller frees. */
static char *bodies_of(const char *text, size_t len, const struct delimiters *delimiters, bool *ret_unclosed)
{
	struct format_bodies bodies = { 0 };
	struct warder_error err = { 0 };
	char *copy = malloc(len ? len : 1), *joined = malloc(len + 4), *to = joined;

	memcpy(copy, text, len);
	cr_assert(format_extract(copy, len, delimiters, &bodies, &err) == 0, "%s", err.text);
	for (size_t i = 0; i < bodies.count; i++)
		to += sprintf(to, "%.*s|", (int)bodies.items[i].len, bodies.items[i].at);
	*to = '\0';
	*ret_unclosed = bodies.has_unclosed;
	format_bodies_done(&bodies);
	free(copy);
	return joined;
}

Test(format, extracts_bodies, .timeout = 20)
{
	static const struct delimiters tags = { "<o>", "</o>", NULL };
	static const struct {
		const char *label, *text;
		const struct delimiters *delimiters;
		const char *bodies;
		bool unclosed;
	} rows[] = {
		{ "none", "hi", NULL, "" },
		{ "one", "```tool_output\nhi\n\n```", NULL, "hi\n|" },
		{ "empty", "```tool_output\n\n```", NULL, "|" },
		{ "nothing between", "```tool_output\n```", NULL, "|" },
		{ "two", "a\n```tool_output\n1\n```\nb\n```tool_output\n2\n```\n", NULL, "1|2|" },
		{ "another word", "```python\n1\n```", NULL, "" },
		{ "longer", "````tool_output\n```\n1\n```\n````", NULL, "```\n1\n```|" },
		{ "unclosed", "```tool_output\n1\n", NULL, "", true },
		{ "unclosed behind one", "```tool_output\n1\n```\n````tool_output\n```", NULL, "1|", true },
		{ "tags", "<o>1</o> <o></o><o>2", &tags, "1||", true },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		bool unclosed = false;
		char *bodies = bodies_of(rows[i].text, strlen(rows[i].text), rows[i].delimiters, &unclosed);

		cr_expect_str_eq(bodies, rows[i].bodies, "%s", rows[i].label);
		cr_expect(unclosed == rows[i].unclosed, "%s", rows[i].label);
		free(bodies);
	}
}

/* Every text of up to seven of the bytes that matter comes back as it was. */
Test(format, comes_back, .timeout = 120)
{
	static const char bytes[] = "`\n\r ~x";
	static const struct delimiters delimiters[] = { { "```tool_output\n", "\n```", NULL },
							{ "~~~\n", "\n~~~", NULL } };
	const size_t base = sizeof(bytes) - 1;

	for (size_t number = 0; number < 6 * 6 * 6 * 6 * 6 * 6 * 6; number++) {
		const struct delimiters *used = &delimiters[number % 2];
		char out[8];
		size_t used_bytes = 0, len = 0;
		struct format_result result = { 0 };
		struct format_bodies bodies = { 0 };
		struct warder_error err = { 0 };
		char *text;

		for (size_t rest = number; rest; rest /= base)
			out[used_bytes++] = bytes[rest % base];
		result.out.bytes = (struct span){ out, used_bytes };
		text = format_block(&result, used, &len, &err);
		cr_assert_not_null(text);
		cr_assert(format_extract(text, len, used, &bodies, &err) == 0);
		cr_assert(bodies.count == 1 && !bodies.has_unclosed, "%zu: %s", number, text);
		cr_assert(bodies.items[0].len - used_bytes <= 1 &&
			      memcmp(bodies.items[0].at, out, used_bytes) == 0,
			  "%zu: %s", number, text);
		format_bodies_done(&bodies);
		free(text);
	}
}

Test(format, reads_a_result, .timeout = 20)
{
	static const struct {
		const char *label, *json, *text, *outcome;
	} rows[] = {
		{ "success",
		  "{\"status\":\"success\",\"cause\":\"exit\",\"exitCode\":0,\"signal\":null,"
		  "\"stdout\":{\"text\":\"hi\\n\",\"encoding\":\"utf-8\",\"bytesKept\":3,\"bytesTotal\":3,"
		  "\"truncated\":false},\"stderr\":{\"text\":\"\"},\"artifacts\":[],\"receipt\":{},"
		  "\"detail\":\"\"}",
		  "Code execution result:\nhi\n\n", "OK" },
		{ "base64",
		  "{\"status\":\"success\",\"stdout\":{\"base64\":\"YYA=\",\"encoding\":\"base64\"}}",
		  "Code execution result:\na\x80\n", "OK" },
		{ "strings", "{\"status\":\"failed\",\"exitCode\":2,\"stdout\":\"o\",\"stderr\":\"e\"}",
		  "Code execution error:\ne\nCode execution result:\no\n", "FAILED" },
		{ "cut",
		  "{\"status\":\"success\",\"stdout\":{\"text\":\"ab\",\"bytesKept\":2,\"bytesTotal\":9}}",
		  "Code execution result:\nab\n[stdout cut: 2 of 9 bytes]\n", "OK" },
		{ "exit status", "{\"status\":\"failed\",\"cause\":\"exit\",\"exitCode\":3,\"detail\":\"x\"}",
		  "Code execution error:\nexit status 3\n", "FAILED" },
		{ "killed",
		  "{\"status\":\"killed\",\"cause\":\"memory\",\"exitCode\":null,\"detail\":\"killed at the "
		  "limit\"}",
		  "Code execution error:\nkilled at the limit\n", "FAILED" },
		{ "no detail", "{\"status\":\"failed\",\"cause\":\"pids\",\"exitCode\":1}",
		  "Code execution error:\npids\n", "FAILED" },
		{ "time",
		  "{\"status\":\"timeout\",\"cause\":\"wallTime\",\"exitCode\":null,\"detail\":\"killed\"}",
		  "Code execution timed out\n", "DEADLINE_EXCEEDED" },
		{ "rejected",
		  "{\"status\":\"rejected\",\"error\":{\"kind\":\"invalidRequest\",\"message\":\"no\"}}",
		  "Code execution error:\nno\n", "FAILED" },
		{ "an error as a string", "{\"status\":\"rejected\",\"error\":\"no\"}",
		  "Code execution error:\nno\n", "FAILED" },
		{ "compile", "{\"status\":\"compileFailed\",\"exitCode\":1,\"stderr\":{\"text\":\"bad\"}}",
		  "Code execution error:\nbad\n", "FAILED" },
		{ "diagnostics",
		  "{\"status\":\"compileFailed\",\"exitCode\":1,\"stderr\":{\"text\":\"[{}]\"},"
		  "\"diagnostics\":["
		  "{\"message\":\"bad\",\"rendered\":\"main.c:1:1: error: "
		  "bad\"},{\"message\":\"worse\",\"rendered\":null}]}",
		  "Code execution error:\nmain.c:1:1: error: bad\nworse\n\n", "FAILED" },
		{ "diagnostics of code that runs",
		  "{\"status\":\"success\",\"exitCode\":0,\"stdout\":\"o\",\"diagnostics\":[{\"message\":"
		  "\"unused\"}]}",
		  "Code execution result:\no\n", "OK" },
		{ "artifacts that are not kept",
		  "{\"status\":\"success\",\"artifacts\":[{\"name\":\"a\",\"omitted\":\"too "
		  "large\"},{\"name\":\"b\"}]}",
		  "Saved artifacts:\n`b`", "OK" },
		{ "artifacts",
		  "{\"status\":\"success\",\"artifacts\":[{\"name\":\"a.csv\",\"sizeBytes\":3,"
		  "\"contentType\":"
		  "\"text/csv\"},{\"name\":\"b\"}]}",
		  "Saved artifacts:\n`a.csv`,`b`", "OK" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };
		struct format_result result;
		size_t len = 0;
		char *text;

		cr_assert(format_result_read(rows[i].json, strlen(rows[i].json), &result, &err) == 0,
			  "%s: %s", rows[i].label, err.text);
		text = format_text(&result, &len);
		cr_expect_str_eq(text, rows[i].text, "%s: %s", rows[i].label, text);
		cr_expect_str_eq(format_outcome(&result), rows[i].outcome, "%s", rows[i].label);
		format_result_done(&result);
		free(text);
	}
}

Test(format, refuses_what_is_no_result, .timeout = 20)
{
	static const struct {
		const char *json, *text;
	} rows[] = {
		{ "", "result:1" },
		{ "[]", "result:1: result must be an object, not an array" },
		{ "{}", "there is no status; give a result" },
		{ "{\"status\":1}", "status must be a string, not a number" },
		{ "{\"status\":\"good\"}", "there is no status \"good\"; known: success" },
		{ "{\"status\":\"failed\",\n\"exitCode\":\"1\"}",
		  "result:2: exitCode must be a whole number" },
		{ "{\"status\":\"failed\",\"exitCode\":-1}", "exitCode must be a whole number" },
		{ "{\"status\":\"failed\",\"stdout\":1}", "stdout must be an object or a string" },
		{ "{\"status\":\"failed\",\"stdout\":{\"text\":1}}", "stdout must be a string" },
		{ "{\"status\":\"failed\",\"stderr\":{\"base64\":\"a\"}}", "stderr.base64 is not base64" },
		{ "{\"status\":\"failed\",\"error\":[]}", "error must be an object or a string" },
		{ "{\"status\":\"compileFailed\",\"diagnostics\":[1]}", "diagnostics must be objects" },
		{ "{\"status\":\"compileFailed\",\"diagnostics\":[{\"message\":1}]}", "diagnostics must be" },
		{ "{\"status\":\"failed\",\"artifacts\":{}}", "artifacts must be an array" },
		{ "{\"status\":\"failed\",\"artifacts\":[{}]}", "artifacts must be objects with a name" },
		{ "{\"status\":\"failed\",\"artifacts\":[{\"name\":\"a\",\"sizeBytes\":-1}]}",
		  "artifacts.sizeBytes must be a whole number" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };
		struct format_result result = { 0 };

		cr_expect(format_result_read(rows[i].json, strlen(rows[i].json), &result, &err) == -1,
			  "row %zu", i);
		cr_expect(strstr(err.text, rows[i].text), "row %zu: %s", i, err.text);
		cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST, "row %zu", i);
	}
}
