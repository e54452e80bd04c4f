/* interpreter: requests of the code interpreter, and the lines of its answers (host/wire/interpreter.c). */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "host/wire/interpreter.h"

Test(interpreter, requests, .timeout = 20)
{
	static const struct {
		const char *json;
		const char *refusal; /* NULL: it is accepted */
	} rows[] = {
		{ "{\"code\":\"1\"}", NULL },
		{ "{\"code\":\"\",\"context_id\":null,\"language\":\"python\",\"env_vars\":{\"A\":\"b\"}}",
		  NULL },
		{ "{\"code\":\"1\",\"context_id\":\"x\"}", NULL },
		{ "{\"code\":\"1\",\"context_id\":\"x\",\"language\":\"python\"}",
		  "language: context_id is given" },
		{ "{}", "code: missing" },
		{ "{\"code\":1}", "code: not a string" },
		{ "{\"code\":\"1\",\"env_vars\":[]}", "env_vars: not an object" },
		{ "x", "message" },
	};
	struct interpreter_request request;
	struct warder_error err = { 0 };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const int status =
		    interpreter_parse_execute(rows[i].json, strlen(rows[i].json), &request, &err);

		cr_expect_eq(status, rows[i].refusal ? -1 : 0, "%s: %s", rows[i].json, err.text);
		cr_expect(!rows[i].refusal || strstr(err.text, rows[i].refusal), "%s: %s", rows[i].json,
			  err.text);
		interpreter_request_done(&request);
	}
	cr_expect_eq(interpreter_parse_context("", 0, &request, &err), 0);
	cr_expect_null(request.language);
	interpreter_request_done(&request);
	cr_expect_eq(interpreter_parse_context("{\"cwd\":1}", 9, &request, &err), -1);
}

static void expect_text(struct json_writer *w, const char *wanted)
{
	char *text = json_take(w);

	if (wanted)
		cr_expect_str_eq(text, wanted, "%s", text);
	free(text);
}

Test(interpreter, lines, .timeout = 20)
{
	struct json_writer w = { 0 };

	interpreter_write_count(&w, 3);
	interpreter_write_error(&w, "ValueError", "x", "Traceback\n  line");
	interpreter_write_keepalive(&w);
	interpreter_write_end(&w);
	expect_text(&w, "{\"type\":\"number_of_executions\",\"execution_count\":3}\n"
			"{\"type\":\"error\",\"name\":\"ValueError\",\"value\":\"x\",\"traceback\":"
			"\"Traceback\\n  line\"}\n"
			"{\"type\":\"keepalive\"}\n"
			"{\"type\":\"end_of_execution\"}\n");
	interpreter_write_context(&w, "a", "python", "/home");
	expect_text(&w, "{\"id\":\"a\",\"language\":\"python\",\"cwd\":\"/home\"}");
}

/* A character that comes in two parts is not broken; what is none becomes U+FFFD; no line for no text. */
Test(interpreter, output, .timeout = 20)
{
	struct interpreter_stream stream = { 0 };
	struct json_writer w = { 0 };

	interpreter_write_output(&w, &stream, false, "a\xe2\x82", 3, 2);
	interpreter_write_output(&w, &stream, false,
				 "\xac"
				 "b",
				 2, 3);
	interpreter_write_output(&w, &stream, false, "\xf0", 1, 3);
	expect_text(&w, "{\"type\":\"stdout\",\"text\":\"a\",\"timestamp\":2000}\n"
			"{\"type\":\"stdout\",\"text\":\"\xe2\x82\xac"
			"b\",\"timestamp\":3000}\n");
	cr_expect_eq(stream.held_len, 1);
	interpreter_finish_output(&w, &stream, true, 4);
	expect_text(&w, "{\"type\":\"stderr\",\"text\":\"\xef\xbf\xbd\",\"timestamp\":4000}\n");
	interpreter_write_output(&w, &stream, true, "\xff\x80\x80\x80", 4, 5);
	cr_expect_eq(stream.held_len, 0);
	expect_text(&w, NULL);
}

/* The longest text of a line that a sequence of characters in parts of one byte can have is that of one character. */
Test(interpreter, output_byte_by_byte, .timeout = 20)
{
	static const char text[] = "\xe2\x82\xac\xf0\x9f\x98\x80z\xc3\xa9";
	struct interpreter_stream stream = { 0 };
	struct json_writer w = { 0 };

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		interpreter_write_output(&w, &stream, false, text + i, 1, 0);
	expect_text(&w, "{\"type\":\"stdout\",\"text\":\"\xe2\x82\xac\",\"timestamp\":0}\n"
			"{\"type\":\"stdout\",\"text\":\"\xf0\x9f\x98\x80\",\"timestamp\":0}\n"
			"{\"type\":\"stdout\",\"text\":\"z\",\"timestamp\":0}\n"
			"{\"type\":\"stdout\",\"text\":\"\xc3\xa9\",\"timestamp\":0}\n");
}

Test(interpreter, results, .timeout = 20)
{
	static const struct {
		const char *bundle, *line;
	} rows[] = {
		{ "{\"text/plain\":\"'a'\"}", "\"text\":\"a\"" },
		{ "{\"text/plain\":\"\\\"a'\\\"\"}", "\"text\":\"a'\"" },
		{ "{\"text/plain\":\"'a\\\"\"}", "\"text\":\"'a\\\"\"" },
		{ "{\"text/plain\":\"'\"}", "\"text\":\"'\"" },
		{ "{\"text/plain\":\"[1]\"}", "\"text\":\"[1]\"" },
		{ "{\"image/png\":\"iVBO\",\"text/html\":\"<b>\"}", "\"png\":\"iVBO\",\"html\":\"<b>\"" },
		{ "{\"application/json\":\"{\\\"a\\\": [1.50]}\"}", "\"json\":{\"a\":[1.50]}" },
		{ "{\"application/json\":\"{\"}", "\"json\":\"{\"" },
		{ "{\"application/x-y\":\"1\",\"text/latex\":\"$x$\"}",
		  "\"latex\":\"$x$\",\"extra\":{\"application/x-y\":\"1\"}" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct json_value *bundle = NULL;
		struct json_writer w = { 0 };
		struct warder_error err;
		char wanted[256];

		cr_assert_eq(json_parse(rows[i].bundle, strlen(rows[i].bundle), "row", NULL, &bundle, &err),
			     0, "%s", err.text);
		interpreter_write_result(&w, bundle, i % 2);
		snprintf(wanted, sizeof(wanted), "{\"type\":\"result\",\"is_main_result\":%s,%s}\n",
			 i % 2 ? "true" : "false", rows[i].line);
		expect_text(&w, wanted);
		json_free(bundle);
	}
}
