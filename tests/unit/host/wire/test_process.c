/* process: requests and events of process.Process (host/wire/process.c). */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "host/wire/process.h"

Test(process, start, .timeout = 20)
{
	static const char json[] =
	    "{\"process\":{\"cmd\":\"/bin/"
	    "bash\",\"args\":[\"-l\",\"-c\",\"ls\"],\"envs\":{\"A\":\"1\",\"B\":\"\"},\"cwd\":\"/x\"},"
	    "\"pty\":{\"size\":{\"cols\":80,\"rows\":\"24\"}},\"tag\":\"t\",\"stdin\":false,\"unknown\":[1]}";
	struct process_request request;
	struct warder_error err;

	cr_assert_eq(process_parse(PROCESS_START, json, sizeof(json) - 1, &request, &err), 0, "%s", err.text);
	cr_expect_str_eq(request.argv[0], "/bin/bash");
	cr_expect_str_eq(request.argv[3], "ls");
	cr_expect_null(request.argv[4]);
	cr_expect_str_eq(request.variables[0], "A=1");
	cr_expect_str_eq(request.variables[1], "B=");
	cr_expect_null(request.variables[2]);
	cr_expect_str_eq(request.directory, "/x");
	cr_expect_str_eq(request.tag, "t");
	cr_expect(request.has_terminal && request.size.rows == 24 && request.size.columns == 80);
	cr_expect_eq(request.input_mode, PROCESS_STDIN_CLOSED);
	process_request_done(&request);
	process_request_done(&request);
}

Test(process, requests, .timeout = 20)
{
	static const struct {
		enum process_call call;
		const char *json;
		const char *refusal; /* NULL: it is accepted */
	} rows[] = {
		{ PROCESS_START, "{\"process\":{\"cmd\":\"x\"}}", NULL },
		{ PROCESS_START,
		  "{\"process\":{\"cmd\":\"x\",\"args\":null,\"cwd\":null},\"pty\":null,\"tag\":null}",
		  NULL },
		{ PROCESS_START, "{}", "process: missing" },
		{ PROCESS_START, "[]", "not a JSON object" },
		{ PROCESS_START, "", "message" },
		{ PROCESS_START, "{\"process\":{}}", "cmd: missing" },
		{ PROCESS_START, "{\"process\":{\"cmd\":5}}", "cmd: not a string" },
		{ PROCESS_START, "{\"process\":{\"cmd\":\"x\",\"args\":\"y\"}}", "process.args" },
		{ PROCESS_START, "{\"process\":{\"cmd\":\"x\",\"args\":[1]}}", "process.args" },
		{ PROCESS_START, "{\"process\":{\"cmd\":\"x\",\"envs\":{\"A=B\":\"1\"}}}", "envs" },
		{ PROCESS_START, "{\"process\":{\"cmd\":\"x\",\"envs\":{\"\":\"1\"}}}", "envs" },
		{ PROCESS_START, "{\"process\":{\"cmd\":\"x\",\"envs\":{\"A\":1}}}", "envs" },
		{ PROCESS_START, "{\"process\":{\"cmd\":\"x\"},\"pty\":{\"size\":{\"rows\":65536}}}",
		  "rows: more than" },
		{ PROCESS_START, "{\"process\":{\"cmd\":\"x\"},\"pty\":{\"size\":{\"rows\":-1}}}",
		  "rows: not a whole" },
		{ PROCESS_START, "{\"process\":{\"cmd\":\"x\"},\"stdin\":\"yes\"}", "stdin" },
		{ PROCESS_START, "{\"process\":{\"cmd\":\"a\\u0000b\"}}", "message" },
		{ PROCESS_CONNECT, "{\"process\":{\"pid\":5}}", NULL },
		{ PROCESS_CONNECT, "{\"process\":{\"tag\":\"t\"}}", NULL },
		{ PROCESS_CONNECT, "{\"process\":{}}", "neither or both" },
		{ PROCESS_CONNECT, "{\"process\":{\"pid\":5,\"tag\":\"t\"}}", "neither or both" },
		{ PROCESS_CONNECT, "{\"process\":{\"pid\":4294967296}}", "pid" },
		{ PROCESS_LIST, "{}", NULL },
		{ PROCESS_SEND_INPUT, "{\"process\":{\"pid\":5},\"input\":{\"stdin\":\"aGk=\"}}", NULL },
		{ PROCESS_SEND_INPUT, "{\"process\":{\"pid\":5},\"input\":{\"pty\":\"\"}}", NULL },
		{ PROCESS_SEND_INPUT, "{\"process\":{\"pid\":5},\"input\":{\"stdin\":\"a\"}}", "base64" },
		{ PROCESS_SEND_INPUT, "{\"process\":{\"pid\":5},\"input\":{}}", "input" },
		{ PROCESS_SEND_INPUT, "{\"process\":{\"pid\":5}}", "input" },
		{ PROCESS_STREAM_INPUT, "{\"start\":{\"process\":{\"pid\":5}}}", NULL },
		{ PROCESS_STREAM_INPUT, "{\"data\":{\"input\":{\"stdin\":\"aGk=\"}}}", NULL },
		{ PROCESS_STREAM_INPUT, "{\"keepalive\":{}}", NULL },
		{ PROCESS_STREAM_INPUT, "{}", "not one of" },
		{ PROCESS_STREAM_INPUT, "{\"keepalive\":{},\"data\":{}}", "not one of" },
		{ PROCESS_CLOSE_STDIN, "{\"process\":{\"pid\":5}}", NULL },
		{ PROCESS_SEND_SIGNAL, "{\"process\":{\"pid\":5},\"signal\":\"SIGNAL_SIGKILL\"}", NULL },
		{ PROCESS_SEND_SIGNAL, "{\"process\":{\"pid\":5},\"signal\":15}", NULL },
		{ PROCESS_SEND_SIGNAL, "{\"process\":{\"pid\":5},\"signal\":\"SIGNAL_UNSPECIFIED\"}",
		  "signal" },
		{ PROCESS_SEND_SIGNAL, "{\"process\":{\"pid\":5}}", "signal" },
		{ PROCESS_UPDATE, "{\"process\":{\"pid\":5},\"pty\":{\"size\":{\"cols\":1,\"rows\":1}}}",
		  NULL },
		{ PROCESS_UPDATE, "{\"process\":{\"pid\":5}}", "pty: missing" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct process_request request;
		struct warder_error err = { 0 };
		const int status =
		    process_parse(rows[i].call, rows[i].json, strlen(rows[i].json), &request, &err);

		cr_expect_eq(status, rows[i].refusal ? -1 : 0, "%s: %s", rows[i].json, err.text);
		cr_expect(!rows[i].refusal || strstr(err.text, rows[i].refusal), "%s: %s", rows[i].json,
			  err.text);
		cr_expect(status == 0 || err.code == WARDER_ERROR_INVALID_REQUEST, "%s", rows[i].json);
		process_request_done(&request);
	}
}

Test(process, values, .timeout = 20)
{
	static const char input[] = "{\"data\":{\"input\":{\"pty\":\"aAA=\"}}}";
	static const char signal[] = "{\"process\":{\"tag\":\"t\"},\"signal\":\"SIGNAL_SIGTERM\"}";
	struct process_request request;
	struct warder_error err;

	cr_assert_eq(process_parse(PROCESS_STREAM_INPUT, input, sizeof(input) - 1, &request, &err), 0);
	cr_expect(request.part == PROCESS_PART_INPUT && request.input_of_terminal && request.input_len == 2 &&
		  memcmp(request.input, "h\0", 2) == 0);
	process_request_done(&request);
	cr_assert_eq(process_parse(PROCESS_SEND_SIGNAL, signal, sizeof(signal) - 1, &request, &err), 0);
	cr_expect_eq(request.signal, SIGTERM);
	cr_expect_str_eq(request.selector.tag, "t");
	process_request_done(&request);
}

Test(process, names, .timeout = 20)
{
	static const char *const names[] = { "Start",       "Connect",    "List",       "SendInput",
					     "StreamInput", "CloseStdin", "SendSignal", "Update" };

	cr_assert_eq(ARRAY_LENGTH(names), PROCESS_CALLS);
	for (int i = 0; i < PROCESS_CALLS; i++) {
		enum process_call call = PROCESS_CALLS;

		cr_expect(process_call_find(names[i], &call) && (int)call == i, "%s", names[i]);
	}
	cr_expect(!process_call_find("start", &(enum process_call){ 0 }));
	cr_expect(process_call_streams_answer(PROCESS_CONNECT) &&
		  !process_call_streams_answer(PROCESS_LIST) &&
		  process_call_streams_request(PROCESS_STREAM_INPUT));
}

static void expect_text(struct json_writer *w, const char *wanted)
{
	char *text = json_take(w);

	cr_expect_str_eq(text, wanted, "%s", text);
	free(text);
}

Test(process, events, .timeout = 20)
{
	static const struct {
		struct process_end end;
		const char *json;
	} ends[] = {
		{ { "exit", NULL, 0, 0 },
		  "{\"event\":{\"end\":{\"exitCode\":0,\"exited\":true,\"status\":\"exit status "
		  "0\",\"warder\":{\"cause\":\"exit\"}}}}" },
		{ { "exit", NULL, 3, 0 },
		  "{\"event\":{\"end\":{\"exitCode\":3,\"exited\":true,\"status\":\"exit status "
		  "3\",\"error\":\"exit status 3\","
		  "\"warder\":{\"cause\":\"exit\"}}}}" },
		{ { "signal", NULL, 0, SIGTERM },
		  "{\"event\":{\"end\":{\"exitCode\":-1,\"exited\":false,\"status\":\"signal: "
		  "terminated\",\"error\":\"signal: terminated\","
		  "\"warder\":{\"cause\":\"signal\"}}}}" },
		{ { "memory", "more than 64MiB (limits.memory)", 0, 0 },
		  "{\"event\":{\"end\":{\"exitCode\":-1,\"exited\":false,\"status\":\"signal: killed\","
		  "\"error\":\"killed: more than 64MiB (limits.memory)\","
		  "\"warder\":{\"cause\":\"memory\",\"detail\":\"more than 64MiB (limits.memory)\"}}}}" },
		{ { "supervisor", NULL, 0, 0 },
		  "{\"event\":{\"end\":{\"exitCode\":-1,\"exited\":false,\"status\":\"signal: "
		  "killed\",\"error\":\"killed: supervisor\","
		  "\"warder\":{\"cause\":\"supervisor\"}}}}" },
	};
	static const char *const argv[] = { "/bin/sh", "-c", "x", NULL };
	struct json_writer w = { 0 };

	process_write_start(&w, 7);
	expect_text(&w, "{\"event\":{\"start\":{\"pid\":7}}}");
	process_write_data(&w, PROCESS_TERMINAL, "h\0", 2);
	expect_text(&w, "{\"event\":{\"data\":{\"pty\":\"aAA=\"}}}");
	process_write_keepalive(&w);
	expect_text(&w, "{\"event\":{\"keepalive\":{}}}");
	for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
		process_write_end(&w, &ends[i].end);
		expect_text(&w, ends[i].json);
	}
	process_write_listed(&w, &(struct process_listed){ .pid = 1, .tag = "t", .argv = argv });
	expect_text(
	    &w,
	    "{\"pid\":1,\"tag\":\"t\",\"config\":{\"cmd\":\"/bin/sh\",\"args\":[\"-c\",\"x\"],\"envs\":{}}}");
}
