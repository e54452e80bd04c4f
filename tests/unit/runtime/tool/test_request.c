#include "base/array.h"
#include "runtime/tool/request.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/request_free.h"

#define BASE "\"language\":\"python\",\"code\":\"x\""

/* Decode a copy that ends exactly where it ends. */
static int decode(const char *text, struct agent_request *ret, struct warder_error *err)
{
	const size_t len = strlen(text);
	char *copy = malloc(len ? len : 1);
	int status;

	memcpy(copy, text, len);
	memset(err, 0, sizeof(*err));
	status = request_decode(copy, len, ret, err);
	free(copy);
	return status;
}

Test(request, reads_everything, .timeout = 20)
{
	struct agent_request request;
	struct warder_error err;

	cr_assert_eq(
	    decode("{\"id\":\"a\\u00e4\",\"language\":\"py\",\"code\":\"print(1)\",\"stdin\":\"in\","
		   "\"input\":{\"b\":[1.50,null]},\"args\":[\"-x\",\"y z\"],\"files\":[{\"name\":"
		   "\"d/a.bin\",\"content\":\"AAEC\",\"encoding\":\"base64\"},{\"name\":\"t\","
		   "\"content\":\"\"}],\"timeoutSecs\":2.5,\"memory\":\"64MiB\",\"collect\":[\"*.csv\"],"
		   "\"policy\":{\"version\":1},\"scopes\":[\"code:network\"],\"retries\":{\"attempts\":3,"
		   "\"delayMs\":250},\"lastLine\":true,\"check\":false,\"function\":true}",
		   &request, &err),
	    0, "%s", err.text);
	cr_expect_str_eq(request.id, "\"a\xc3\xa4\"");
	cr_expect_str_eq(request.snippet.language, "py");
	cr_expect_str_eq(request.snippet.code, "print(1)");
	cr_expect_eq(request.snippet.code_len, 8);
	cr_expect_str_eq(request.standard_input, "in");
	cr_expect_str_eq(request.input, "{\"b\":[1.50,null]}");
	cr_expect(strcmp(request.args[0], "-x") == 0 && strcmp(request.args[1], "y z") == 0 &&
		  !request.args[2]);
	cr_assert_eq(request.snippet.file_count, 2);
	cr_expect_str_eq(request.snippet.files[0].path, "d/a.bin");
	cr_expect_eq(request.snippet.files[0].len, 3);
	cr_expect_arr_eq(request.snippet.files[0].bytes, "\0\1\2", 3);
	cr_expect_eq(request.snippet.files[1].len, 0);
	cr_expect_eq(request.timeout_us, 2500000);
	cr_expect_str_eq(request.memory, "64MiB");
	cr_expect(request.has_collect && request.collect_count == 1 &&
		  strcmp(request.collect[0], "*.csv") == 0);
	cr_expect_str_eq(request.policy, "{\"version\":1}");
	cr_expect(request.has_scopes && request.scopes.granted == SCOPE_NETWORK);
	cr_expect(request.attempts == 3 && request.delay_us == 250000);
	cr_expect(request.last_line && !request.check && request.function);
	cr_expect_eq(request.clamped, 0);
	request_free(&request);
}

Test(request, has_defaults, .timeout = 20)
{
	struct agent_request request;
	struct warder_error err;

	cr_assert_eq(decode("{\"code\":\"x\"}", &request, &err), 0);
	cr_expect_str_eq(request.id, "null");
	cr_expect(!request.snippet.language && !request.standard_input && !request.input && !request.args);
	cr_expect(request.timeout_us == 30000000 && request.attempts == 1 && request.delay_us == 0);
	cr_expect(!request.has_collect && !request.has_scopes && !request.policy && !request.preset);
	request_free(&request);
}

Test(request, code_may_be_bytes, .timeout = 20)
{
	struct agent_request request;
	struct warder_error err;

	cr_assert_eq(decode("{\"encoding\":\"base64\",\"code\":\"AGFzbQEAAAA=\",\"language\":\"wasm\"}",
			    &request, &err),
		     0);
	cr_expect_eq(request.snippet.code_len, 8);
	cr_expect_arr_eq(request.snippet.code, "\0asm\1\0\0\0", 8);
	request_free(&request);
}

Test(request, refuses, .timeout = 20)
{
	static const struct {
		const char *text, *field, *message, *id;
	} rows[] = {
		{ "", "request", "the document ends", "null" },
		{ "{" BASE "} x", "request", "the end of the document", "null" },
		{ "[1]", "request", "an array where an object", "null" },
		{ "\"x\"", "request", "a string where an object", "null" },
		{ "{" BASE ",\"code\":\"y\"}", "request", "given twice", "null" },
		{ "{\"id\":7,\"language\":\"python\"}", "code", "it is missing", "7" },
		{ "{\"id\":\"i\"," BASE ",\"codes\":1}", "codes", "did you mean \"code\"", "\"i\"" },
		{ "{\"id\":\"i\"," BASE ",\"a\\nb\":1}", "a?b", "unknown key", "\"i\"" },
		{ "{\"id\":[]," BASE "}", "id", "an array where a string or a number", "null" },
		{ "{" BASE ",\"stdin\":null}", "stdin", "null where a string", "null" },
		{ "{\"language\":1,\"code\":\"x\"}", "language", "a number where a string", "null" },
		{ "{\"code\":\" \\t\\r\\n\"}", "code", "empty source code: code is required", "null" },
		{ "{\"code\":\"\"}", "code", "empty source code", "null" },
		{ "{\"code\":1}", "code", "a number where a string", "null" },
		{ "{\"code\":\"a=\",\"encoding\":\"base64\"}", "code", "no base64", "null" },
		{ "{" BASE ",\"encoding\":\"latin1\"}", "encoding", "\"utf-8\", \"base64\"", "null" },
		{ "{" BASE ",\"args\":\"x\"}", "args", "a string where an array", "null" },
		{ "{" BASE ",\"args\":[\"a\",2]}", "args[1]", "a number where a string", "null" },
		{ "{" BASE ",\"files\":{}}", "files", "an object where an array", "null" },
		{ "{" BASE ",\"files\":[{\"content\":\"\"}]}", "files[0].name", "it is missing", "null" },
		{ "{" BASE ",\"files\":[{\"name\":\"a\"}]}", "files[0].content", "it is missing", "null" },
		{ "{" BASE ",\"files\":[{\"name\":\"a\",\"content\":\"\"},{\"name\":\"b\",\"content\":\"x\","
		  "\"encoding\":\"base64\"}]}",
		  "files[1].content", "no base64", "null" },
		{ "{" BASE ",\"files\":[{\"name\":\"a\",\"content\":\"\",\"mime\":\"x\"}]}", "files[0].mime",
		  "unknown key", "null" },
		{ "{" BASE ",\"timeoutSecs\":\"5\"}", "timeoutSecs", "a string where a number", "null" },
		{ "{" BASE ",\"memory\":true}", "memory", "a boolean where a size", "null" },
		{ "{" BASE ",\"memory\":\"64MB\"}", "memory", "64MB", "null" },
		{ "{" BASE ",\"collect\":[1]}", "collect[0]", "a number where a string", "null" },
		{ "{" BASE ",\"policy\":[]}", "policy", "an array where a policy", "null" },
		{ "{" BASE ",\"scopes\":\"code:execute\"}", "scopes", "a string where an array", "null" },
		{ "{" BASE ",\"scopes\":[\"x\",\"code:executed\"]}", "scopes[1]",
		  "did you mean \"code:execute\"", "null" },
		{ "{" BASE ",\"retries\":3}", "retries", "a number where an object", "null" },
		{ "{" BASE ",\"retries\":{}}", "retries.attempts", "it is missing", "null" },
		{ "{" BASE ",\"retries\":{\"attempts\":\"3\"}}", "retries.attempts",
		  "a string where a number", "null" },
		{ "{" BASE ",\"retries\":{\"attempts\":3,\"delay\":1}}", "retries.delay",
		  "did you mean \"delayMs\"", "null" },
		{ "{" BASE ",\"lastLine\":1}", "lastLine", "a number where true or false", "null" },
		{ "{" BASE ",\"check\":\"yes\"}", "check", "a string where true or false", "null" },
		{ "{" BASE ",\"function\":null}", "function", "null where true or false", "null" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct agent_request request;
		struct warder_error err;

		cr_expect_eq(decode(rows[i].text, &request, &err), -1, "%s", rows[i].text);
		cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST, "%s", rows[i].text);
		cr_expect_str_eq(err.field, rows[i].field, "%s: %s", rows[i].text, err.field);
		cr_expect(strstr(err.text, rows[i].message), "%s: %s", rows[i].text, err.text);
		cr_expect_str_eq(request.id, rows[i].id, "%s: %s", rows[i].text, request.id);
		request_free(&request);
	}
}

Test(request, refuses_too_many, .timeout = 20)
{
	static const struct {
		const char *before, *each, *after, *field;
		size_t most;
	} rows[] = {
		{ "{" BASE ",\"args\":[\"\"", ",\"\"", "]}", "args", REQUEST_MAX_ARGS },
		{ "{" BASE ",\"collect\":[\"\"", ",\"\"", "]}", "collect", REQUEST_MAX_PATTERNS },
		{ "{" BASE ",\"scopes\":[\"\"", ",\"\"", "]}", "scopes", REQUEST_MAX_SCOPES },
		{ "{" BASE ",\"files\":[{\"name\":\"a\",\"content\":\"\"}",
		  ",{\"name\":\"a\",\"content\":\"\"}", "]}", "files", SNIPPET_MAX_FILES },
		{ "{" BASE ",\"input\":[0", ",0", "]}", "request", AGENT_REQUEST_VALUES - 4 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const size_t each = strlen(rows[i].each);
		char *text = malloc(200 + each * rows[i].most);

		for (size_t more = 0; more < 2; more++) {
			struct agent_request request;
			struct warder_error err;
			char *at = stpcpy(text, rows[i].before);

			for (size_t n = 1; n < rows[i].most + more; n++)
				at = stpcpy(at, rows[i].each);
			strcpy(at, rows[i].after);
			cr_expect_eq(decode(text, &request, &err), more ? -1 : 0, "%s: %zu more: %s",
				     rows[i].field, more, err.text);
			cr_expect(!more || strcmp(err.field, rows[i].field) == 0, "%s", err.field);
			request_free(&request);
		}
		free(text);
	}
}

Test(request, clamps, .timeout = 20)
{
	static const struct {
		const char *members;
		uint64_t timeout_us, delay_us;
		unsigned attempts, clamped;
	} rows[] = {
		{ "\"timeoutSecs\":1", 1000000, 0, 1, 0 },
		{ "\"timeoutSecs\":300", 300000000, 0, 1, 0 },
		{ "\"timeoutSecs\":0", 1000000, 0, 1, REQUEST_CLAMP_TIMEOUT },
		{ "\"timeoutSecs\":-5", 1000000, 0, 1, REQUEST_CLAMP_TIMEOUT },
		{ "\"timeoutSecs\":0.999", 1000000, 0, 1, REQUEST_CLAMP_TIMEOUT },
		{ "\"timeoutSecs\":300.1", 300000000, 0, 1, REQUEST_CLAMP_TIMEOUT },
		{ "\"timeoutSecs\":1e300", 300000000, 0, 1, REQUEST_CLAMP_TIMEOUT },
		{ "\"retries\":{\"attempts\":5,\"delayMs\":10000}", 30000000, 10000000, 5, 0 },
		{ "\"retries\":{\"attempts\":6,\"delayMs\":10001}", 30000000, 10000000, 5,
		  REQUEST_CLAMP_ATTEMPTS | REQUEST_CLAMP_DELAY },
		{ "\"retries\":{\"attempts\":0,\"delayMs\":-1}", 30000000, 0, 1,
		  REQUEST_CLAMP_ATTEMPTS | REQUEST_CLAMP_DELAY },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct agent_request request;
		struct warder_error err;
		char text[200];

		snprintf(text, sizeof(text), "{" BASE ",%s}", rows[i].members);
		cr_assert_eq(decode(text, &request, &err), 0, "%s: %s", text, err.text);
		cr_expect_eq(request.timeout_us, rows[i].timeout_us, "%s", text);
		cr_expect_eq(request.delay_us, rows[i].delay_us, "%s", text);
		cr_expect_eq(request.attempts, rows[i].attempts, "%s", text);
		cr_expect_eq(request.clamped, rows[i].clamped, "%s", text);
		request_free(&request);
	}
}

#define DOCUMENT(rest) ",\"policy\":{\"version\":1,\"limits\":{\"wallTime\":\"20s\"" rest "}"

Test(request, narrows_the_policy, .timeout = 20)
{
	static const struct {
		const char *members; /* behind code */
		const char *field;   /* of the refusal; NULL: none */
		uint64_t wall_us, memory;
		unsigned clamped;
	} rows[] = {
		/* base: 10 s, 128 MiB */
		{ "", NULL, 10000000, 128 << 20, 0 },
		{ ",\"timeoutSecs\":5", NULL, 5000000, 128 << 20, 0 },
		{ ",\"timeoutSecs\":10", NULL, 10000000, 128 << 20, 0 },
		{ ",\"timeoutSecs\":11", NULL, 10000000, 128 << 20, REQUEST_CLAMP_TIMEOUT },
		{ ",\"memory\":1048576", NULL, 10000000, 1 << 20, 0 },
		{ ",\"memory\":\"128MiB\"", NULL, 10000000, 128 << 20, 0 },
		{ ",\"memory\":\"129MiB\"", "limits.memory", 0, 0, 0 },
		{ DOCUMENT(",\"memory\":\"16MiB\"}") ",\"timeoutSecs\":4", NULL, 4000000, 16 << 20, 0 },
		{ DOCUMENT(",\"memory\":\"16MiB\"}"), "limits.wallTime", 0, 0, 0 },
		{ DOCUMENT("}") ",\"timeoutSecs\":4", "limits.memory", 0, 0, 0 },
		{ DOCUMENT("}") ",\"timeoutSecs\":4,\"memory\":\"1MiB\"", NULL, 4000000, 1 << 20, 0 },
		{ DOCUMENT(",\"memory\":\"1MiB\"},\"network\":{\"mode\":\"host\"}") ",\"timeoutSecs\":4",
		  "network.mode", 0, 0, 0 },
		{ DOCUMENT(",\"memoris\":1}"), "policy.limits.memoris", 0, 0, 0 },
		{ ",\"policy\":\"none\"", "policy", 0, 0, 0 },
		{ ",\"policy\":\"strict\",\"memory\":\"1MiB\",\"timeoutSecs\":3", NULL, 3000000, 1 << 20, 0 },
	};
	struct policy base = { 0 };
	struct warder_error err;

	cr_assert_eq(policy_preset("strict", &base, &err), 0);
	cr_assert_eq(policy_set(&base, "limits.wallTime", "10s", &err), 0);
	cr_assert_eq(policy_set(&base, "limits.memory", "128MiB", &err), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct agent_request request;
		struct policy policy = { 0 };
		char text[300];

		snprintf(text, sizeof(text), "{" BASE "%s}", rows[i].members);
		cr_assert_eq(decode(text, &request, &err), 0, "%s: %s", text, err.text);
		cr_expect_eq(request_narrow(&request, &base, &policy, &err), rows[i].field ? -1 : 0, "%s: %s",
			     text, err.text);
		if (rows[i].field) {
			cr_expect_str_eq(err.field, rows[i].field, "%s: %s", text, err.field);
		} else {
			cr_expect_eq(policy.limits.wall_time_us, rows[i].wall_us, "%s", text);
			cr_expect_eq(request.timeout_us, rows[i].wall_us, "%s", text);
			cr_expect_eq(policy.limits.memory_bytes, rows[i].memory, "%s", text);
			cr_expect_eq(request.clamped, rows[i].clamped, "%s", text);
			cr_expect_eq(policy_check_ceiling(&base, &policy, &err), 0, "%s: %s", text, err.text);
		}
		policy_done(&policy);
		request_free(&request);
	}
	policy_done(&base);
}
