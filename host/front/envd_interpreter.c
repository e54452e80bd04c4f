/*
 * envd_interpreter: E2B's code interpreter on the contexts of a sandbox's keeper.
 *
 * The id of a context is its name. Code without a context runs in "default-LANGUAGE", which is made when it is first needed. What a context
 * says of a piece is its own word; the end and its cause are the keeper's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "host/front/context.h"
#include "host/wire/fields.h"
#include "host/wire/interpreter.h"
#include "runtime/session/frames.h"

#define KEEPALIVE_MS 5000

struct interpreter_visit {
	struct context_visit context;
	struct interpreter_request request;
	struct interpreter_stream streams[2];
};

static struct interpreter_visit *of_context(struct context_visit *context)
{
	return (struct interpreter_visit *)(void *)context;
}

/* ---- contexts ---- */

/* The directory in which the sandbox's policy starts programs; heap. */
static char *directory_of(const struct visit *visit)
{
	struct json_value *policy = NULL;
	struct warder_error ignored;
	char *directory = NULL;

	if (json_parse(visit->policy, strlen(visit->policy), "policy", NULL, &policy, &ignored) == 0)
		directory = strdup(json_member_text(policy, "workingDirectory", "/"));
	json_free(policy);
	return directory;
}

static void send_context(struct context_visit *context, bool again)
{
	char *directory = directory_of(&context->visit);
	struct json_writer w = { 0 };

	interpreter_write_context(&w, context->name, context->language, directory);
	visit_reply(&context->visit, &w);
	free(directory);
}

static void send_contexts(struct context_visit *context, const struct json_value *rows)
{
	char *directory = directory_of(&context->visit);
	struct json_writer w = { 0 };

	json_begin_array(&w);
	for (const struct json_value *row = rows->child; row; row = row->next)
		if (context_is_there(row))
			interpreter_write_context(&w, json_member_text(row, "context", ""),
						  json_member_text(row, "language", ""), directory);
	json_end_array(&w);
	visit_reply(&context->visit, &w);
	free(directory);
}

/* ---- pieces of code ---- */

static void send_lines(struct context_visit *context, struct json_writer *w)
{
	const size_t len = w->len;

	if (len || w->failed)
		visit_send(&context->visit, json_take(w), len);
}

static void drop_request(struct interpreter_visit *interpreter)
{
	interpreter_request_done(&interpreter->request);
	exchange_keep(interpreter->context.visit.x, NULL, 0);
}

static void begun(struct context_visit *context)
{
	drop_request(of_context(context)); /* a piece may last for hours */
	visit_begin_stream(&context->visit, "application/x-ndjson");
	visit_keep_alive(&context->visit, KEEPALIVE_MS);
}

static void take_bytes(struct context_visit *context, int stream, uint64_t offset, const char *bytes,
		       size_t len)
{
	struct json_writer w = { 0 };

	interpreter_write_output(&w, &of_context(context)->streams[stream], stream, bytes, len,
				 clock_wall_ms() * 1000);
	send_lines(context, &w);
}

static void take_gap(struct context_visit *context, int stream, uint64_t from, uint64_t to)
{
	char text[120];

	snprintf(text, sizeof(text), "\nwarder: %llu bytes of %s are no longer kept\n",
		 (unsigned long long)(to - from), stream ? "standard error" : "standard output");
	take_bytes(context, 1, 0, text, strlen(text));
}

static void take_bundle(struct context_visit *context, const struct json_value *bundle, size_t len)
{
	struct json_writer w = { 0 };

	interpreter_write_result(&w, bundle, false);
	send_lines(context, &w);
}

static void write_said(struct json_writer *w, const char *text)
{
	struct said said = { 0 };

	if (!text || !said_parse(text, strlen(text), &said))
		interpreter_write_error(w, "WarderError", "the context did not say how the code ended", "");
	else if (said.value)
		interpreter_write_result(w, said.value, true);
	else if (!said.ok && said.error_name)
		interpreter_write_error(w, said.error_name, said.error_value, said.traceback);
	said_done(&said);
}

static void ended(struct context_visit *context, const struct record_done *end, const char *text)
{
	const uint64_t now_us = clock_wall_ms() * 1000;
	const char *why = end->why[0] ? end->why : end->last.detail;
	struct json_writer w = { 0 };

	for (int i = 0; i < 2; i++)
		interpreter_finish_output(&w, &of_context(context)->streams[i], i, now_us);
	if (end->piece)
		interpreter_write_count(&w, end->piece);
	if (end->end != CONTEXT_END_DONE)
		interpreter_write_error(&w, "ContextEnded", why, "");
	else if (end->timed_out)
		interpreter_write_error(&w, "TimeLimit", "the code was interrupted at its time limit", "");
	else
		write_said(&w, text);
	interpreter_write_end(&w);
	send_lines(context, &w);
	visit_end(&context->visit);
}

static void tick(struct visit *visit)
{
	struct json_writer w = { 0 };

	if (!visit->streams)
		return;
	interpreter_write_keepalive(&w);
	send_lines((struct context_visit *)(void *)visit, &w);
}

/* ---- requests ---- */

static void freed(struct context_visit *context)
{
	interpreter_request_done(&of_context(context)->request);
}

static struct interpreter_visit *interpreter_new(struct exchange *x, enum context_call call)
{
	static const struct context_form form = { .listed = send_contexts,
						  .created = send_context,
						  .begun = begun,
						  .bytes = take_bytes,
						  .gap = take_gap,
						  .shown = take_bundle,
						  .ended = ended,
						  .freed = freed };
	struct context_visit *context = context_new(x, sizeof(struct interpreter_visit), call, &form);

	if (context)
		context->visit.tick = tick;
	return context ? of_context(context) : NULL;
}

/* False: the client was answered. */
static bool keep_request(struct interpreter_visit *interpreter)
{
	const struct interpreter_request *request = &interpreter->request;

	if (exchange_keep(interpreter->context.visit.x, request->document,
			  fields_list_bytes(request->variables)))
		return true;
	drop_request(interpreter);
	return false;
}

static bool take_name(struct interpreter_visit *interpreter, const char *name)
{
	struct warder_error ignored = { 0 };

	if (context_set_name(&interpreter->context, name, &ignored) == 0)
		return true;
	visit_fail_http(&interpreter->context.visit, 404, "there is no such context");
	return false;
}

/* Name the context of a piece; or the client was answered. */
static bool check_execute(struct interpreter_visit *interpreter)
{
	const struct interpreter_request *request = &interpreter->request;

	if (request->variables && request->variables[0]) {
		visit_fail_http(
		    &interpreter->context.visit, 400,
		    "env_vars: a context has the variables of its sandbox; set others in the code");
		return false;
	}
	interpreter->context.code = request->code;
	if (request->language)
		interpreter->context.language = request->language;
	return request->context ? take_name(interpreter, request->context)
				: context_name_default(&interpreter->context);
}

void envd_execute(struct exchange *x)
{
	struct interpreter_visit *interpreter = interpreter_new(x, CALL_PIECE);
	struct warder_error err = { 0 };

	if (!interpreter)
		return;
	if (interpreter_parse_execute(x->body ? x->body : "", x->body_len, &interpreter->request, &err) < 0)
		context_fail(&interpreter->context, &err);
	else if (keep_request(interpreter) && check_execute(interpreter))
		visit_open(&interpreter->context.visit);
}

void envd_list_contexts(struct exchange *x)
{
	struct interpreter_visit *interpreter = interpreter_new(x, CALL_LIST);

	if (interpreter)
		visit_open(&interpreter->context.visit);
}

void envd_create_context(struct exchange *x)
{
	struct interpreter_visit *interpreter = interpreter_new(x, CALL_CREATE);
	struct warder_error err = { 0 };

	if (!interpreter || !context_draw_name(&interpreter->context))
		return;
	if (interpreter_parse_context(x->body ? x->body : "", x->body_len, &interpreter->request, &err) < 0) {
		context_fail(&interpreter->context, &err);
		return;
	}
	if (!keep_request(interpreter))
		return;
	if (interpreter->request.language)
		interpreter->context.language = interpreter->request.language;
	if (interpreter->request.directory)
		visit_fail_http(
		    &interpreter->context.visit, 400,
		    "cwd: contexts begin in the working directory of their sandbox; change it in the code");
	else
		visit_open(&interpreter->context.visit);
}

static void name_and_open(struct exchange *x, enum context_call call)
{
	struct interpreter_visit *interpreter = interpreter_new(x, call);

	if (interpreter && take_name(interpreter, x->args[0]))
		visit_open(&interpreter->context.visit);
}

void envd_restart_context(struct exchange *x)
{
	name_and_open(x, CALL_RESTART);
}

void envd_delete_context(struct exchange *x)
{
	name_and_open(x, CALL_DELETE);
}
