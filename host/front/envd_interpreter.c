/*
 * envd_interpreter: E2B's code interpreter on the contexts of a sandbox's keeper.
 *
 * The id of a context is its name. Code without a context runs in "default-LANGUAGE", which is made when it is first needed. What a context
 * says of a piece is its own word; the end and its cause are the keeper's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "host/front/envd.h"
#include "host/wire/interpreter.h"
#include "runtime/session/frames.h"

#define LANGUAGE     "python"
#define KEEPALIVE_MS 5000

enum interpreter_call { CALL_EXECUTE, CALL_LIST, CALL_CREATE, CALL_RESTART, CALL_DELETE };

struct interpreter_visit {
	struct visit visit;
	enum interpreter_call call;
	struct interpreter_request request;
	char name[SESSION_NAME_MAX + 1]; /* of the context */
	bool runs;                       /* the piece has begun, so far as can be seen */
	bool asked;                      /* for the piece */
	struct interpreter_stream streams[2];
};

static struct interpreter_visit *of_visit(struct visit *visit)
{
	return (struct interpreter_visit *)(void *)visit;
}

static const char *language_of(const struct interpreter_visit *interpreter)
{
	return interpreter->request.language ? interpreter->request.language : LANGUAGE;
}

/* The errors of this service are texts with a status of HTTP. */
static void fail(struct interpreter_visit *interpreter, unsigned int status, const char *message)
{
	visit_fail_http(&interpreter->visit, status, message);
}

static void fail_with(struct interpreter_visit *interpreter, const struct warder_error *err)
{
	/* An unknown language is a wrong argument for this service. */
	fail(interpreter, err->code == WARDER_ERROR_UNSUPPORTED_LANGUAGE ? 400 : link_status(err->code),
	     err->text);
}

/* ---- contexts ---- */

static const struct json_value *find_context(const struct json_value *rows, const char *name)
{
	for (const struct json_value *row = rows->child; row; row = row->next) {
		const struct json_value *released = json_member(row, "released");

		if (strcmp(json_member_text(row, "context", ""), name) == 0 &&
		    strcmp(json_member_text(row, "state", ""), "ended") != 0 &&
		    !(released && released->boolean))
			return row;
	}
	return NULL;
}

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

static void send_context(struct interpreter_visit *interpreter)
{
	char *directory = directory_of(&interpreter->visit);
	struct json_writer w = { 0 };

	interpreter_write_context(&w, interpreter->name, language_of(interpreter), directory);
	visit_reply(&interpreter->visit, &w);
	free(directory);
}

static void send_contexts(struct interpreter_visit *interpreter, const struct json_value *rows)
{
	char *directory = directory_of(&interpreter->visit);
	struct json_writer w = { 0 };

	json_begin_array(&w);
	for (const struct json_value *row = rows->child; row; row = row->next) {
		const char *name = json_member_text(row, "context", NULL);

		if (name && find_context(rows, name) == row)
			interpreter_write_context(&w, name, json_member_text(row, "language", ""), directory);
	}
	json_end_array(&w);
	visit_reply(&interpreter->visit, &w);
	free(directory);
}

static void start_context(struct interpreter_visit *interpreter)
{
	struct visit *visit = &interpreter->visit;
	char *argv[] = { (char *)language_of(interpreter), interpreter->name, NULL };
	const struct channel_command command = { .policy = visit->policy, .argv = argv, .context = true };
	struct warder_error err = { 0 };

	if (channel_start(visit->channel, &command, &err) < 0)
		fail_with(interpreter, &err);
}

/* ---- pieces of code ---- */

static void send_lines(struct interpreter_visit *interpreter, struct json_writer *w)
{
	const size_t len = w->len;

	if (len || w->failed)
		visit_send(&interpreter->visit, json_take(w), len);
}

static void run_piece(struct interpreter_visit *interpreter)
{
	struct visit *visit = &interpreter->visit;
	const char *code = interpreter->request.code;
	struct warder_error err = { 0 };

	interpreter->asked = true;
	if (channel_piece(visit->channel, code, strlen(code), 0, &err) < 0)
		fail_with(interpreter, &err);
}

static void send_output(struct interpreter_visit *interpreter, int stream, const char *bytes, size_t len)
{
	struct json_writer w = { 0 };

	interpreter->runs = true;
	interpreter_write_output(&w, &interpreter->streams[stream], stream, bytes, len,
				 clock_wall_ms() * 1000);
	send_lines(interpreter, &w);
}

static void on_bytes(void *of, int stream, uint64_t offset, const char *bytes, size_t len)
{
	send_output(of, stream, bytes, len);
}

static void on_gap(void *of, int stream, uint64_t from, uint64_t to)
{
	char text[120];

	snprintf(text, sizeof(text), "\nwarder: %llu bytes of %s are no longer kept\n",
		 (unsigned long long)(to - from), stream ? "standard error" : "standard output");
	send_output(of, 1, text, strlen(text));
}

static void on_shown(void *of, unsigned int type, const char *text)
{
	struct interpreter_visit *interpreter = of;
	struct json_value *bundle;
	struct json_writer w = { 0 };
	struct warder_error err = { 0 };

	interpreter->runs = true;
	if (type == FRAME_ASKS) {
		/* Nobody can be asked: input() finds the end of its input. */
		if (channel_ask(interpreter->visit.channel, RECORD_CLOSE, 0, &err) < 0)
			fail_with(interpreter, &err);
		return;
	}
	bundle = text ? said_bundle(text, strlen(text)) : NULL;
	if (bundle)
		interpreter_write_result(&w, bundle, false);
	json_free(bundle);
	send_lines(interpreter, &w);
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

static void on_done(void *of, const struct record_done *end, const char *text)
{
	struct interpreter_visit *interpreter = of;
	const uint64_t now_us = clock_wall_ms() * 1000;
	const char *why = end->why[0] ? end->why : end->last.detail;
	struct json_writer w = { 0 };

	interpreter->runs = interpreter->asked = false;
	for (int i = 0; i < 2; i++)
		interpreter_finish_output(&w, &interpreter->streams[i], i, now_us);
	if (end->piece)
		interpreter_write_count(&w, end->piece);
	if (end->end != CONTEXT_END_DONE)
		interpreter_write_error(&w, "ContextEnded", why, "");
	else if (end->timed_out)
		interpreter_write_error(&w, "TimeLimit", "the code was interrupted at its time limit", "");
	else
		write_said(&w, text);
	interpreter_write_end(&w);
	send_lines(interpreter, &w);
	visit_end(&interpreter->visit);
}

static void tick(struct visit *visit)
{
	struct json_writer w = { 0 };

	if (!visit->streams)
		return;
	interpreter_write_keepalive(&w);
	send_lines(of_visit(visit), &w);
}

/* ---- what the keeper says ---- */

static void act(struct interpreter_visit *interpreter, const struct json_value *row)
{
	struct visit *visit = &interpreter->visit;
	const bool restart = interpreter->call == CALL_RESTART;
	struct warder_error err = { 0 };

	channel_choose(visit->channel, json_member_text(row, "id", ""));
	if (interpreter->call == CALL_EXECUTE)
		run_piece(interpreter);
	else if (channel_ask(visit->channel, restart ? RECORD_RESTART : RECORD_DELETE, 0, &err) < 0)
		fail_with(interpreter, &err);
}

static void take_rows(struct interpreter_visit *interpreter, const char *text)
{
	struct json_value *rows = visit_rows(&interpreter->visit, text);
	const struct json_value *row;
	char why[120];

	if (!rows)
		return;
	row = find_context(rows, interpreter->name);
	snprintf(why, sizeof(why), "there is no context %s", interpreter->name);
	if (interpreter->call == CALL_LIST)
		send_contexts(interpreter, rows);
	else if (row)
		act(interpreter, row);
	else if (interpreter->call == CALL_EXECUTE && !interpreter->request.context)
		start_context(interpreter);
	else
		fail(interpreter, 404, why);
	json_free(rows);
}

static void look(struct interpreter_visit *interpreter)
{
	struct warder_error err = { 0 };

	if (channel_ask(interpreter->visit.channel, RECORD_LIST, 0, &err) < 0)
		fail_with(interpreter, &err);
}

/* A request of ours was answered well. */
static void go_on(struct interpreter_visit *interpreter, enum record_type request, const char *text,
		  uint64_t pieces_before)
{
	struct visit *visit = &interpreter->visit;

	if (request == RECORD_LIST) {
		take_rows(interpreter, text);
	} else if (request == RECORD_START && interpreter->call == CALL_CREATE) {
		send_context(interpreter);
	} else if (request == RECORD_START && interpreter->call == CALL_EXECUTE) {
		run_piece(interpreter);
	} else if (request == RECORD_PIECE) {
		interpreter->runs = pieces_before == 0;
		visit_begin_stream(visit, "application/x-ndjson");
		visit_keep_alive(visit, KEEPALIVE_MS);
	} else if (request == RECORD_START || request == RECORD_DELETE) {
		/* A restart is answered as the start that it is. */
		visit->over = true;
		exchange_empty(visit->x, 204);
	}
}

static void on_answered(void *of, enum record_type request, const struct record_answer *answer,
			const char *text)
{
	struct interpreter_visit *interpreter = of;

	if (!answer->failed)
		go_on(interpreter, request, text, answer->values[0]);
	else if (request == RECORD_START && interpreter->call == CALL_EXECUTE &&
		 answer->error.code == WARDER_ERROR_CONFLICT)
		look(interpreter); /* another call has made it meanwhile */
	else if (request != RECORD_CLOSE)
		fail_with(interpreter, &answer->error);
}

static const struct channel_events interpreter_events = { .answered = on_answered,
							  .bytes = on_bytes,
							  .gap = on_gap,
							  .shown = on_shown,
							  .done = on_done,
							  .lost = visit_lost };

/* ---- requests ---- */

/* A client that leaves while its code runs interrupts it. Code that waits is dropped by the keeper. */
static void done(struct visit *visit)
{
	struct interpreter_visit *interpreter = of_visit(visit);

	if (visit->channel && interpreter->asked && interpreter->runs)
		visit_leave(visit, RECORD_INTERRUPT, 0);
	interpreter_request_done(&interpreter->request);
}

static void begin(struct visit *visit)
{
	struct interpreter_visit *interpreter = of_visit(visit);

	if (interpreter->call == CALL_CREATE)
		start_context(interpreter);
	else
		look(interpreter);
}

static struct interpreter_visit *interpreter_new(struct exchange *x, enum interpreter_call call)
{
	struct interpreter_visit *interpreter =
	    (struct interpreter_visit *)(void *)visit_new(x, sizeof(*interpreter));

	if (!interpreter)
		return NULL;
	interpreter->call = call;
	interpreter->visit.events = &interpreter_events;
	interpreter->visit.begin = begin;
	interpreter->visit.done = done;
	interpreter->visit.tick = tick;
	return interpreter;
}

static bool take_name(struct interpreter_visit *interpreter, const char *name)
{
	struct warder_error err = { 0 };

	if (session_check_name(name, &err) < 0) {
		fail(interpreter, 404, "there is no such context");
		return false;
	}
	snprintf(interpreter->name, sizeof(interpreter->name), "%s", name);
	return true;
}

static bool check_execute(struct interpreter_visit *interpreter)
{
	const struct interpreter_request *request = &interpreter->request;
	char name[SESSION_NAME_MAX + 1];

	if (request->variables && request->variables[0]) {
		fail(interpreter, 400,
		     "env_vars: a context has the variables of its sandbox; set others in the code");
		return false;
	}
	if (request->context)
		return take_name(interpreter, request->context);
	if (strlen(language_of(interpreter)) > 32) {
		fail(interpreter, 400, "language: unknown");
		return false;
	}
	snprintf(name, sizeof(name), "default-%s", language_of(interpreter));
	return take_name(interpreter, name);
}

void envd_execute(struct exchange *x)
{
	struct interpreter_visit *interpreter = interpreter_new(x, CALL_EXECUTE);
	struct warder_error err = { 0 };

	if (!interpreter)
		return;
	if (interpreter_parse_execute(x->body ? x->body : "", x->body_len, &interpreter->request, &err) < 0)
		fail_with(interpreter, &err);
	else if (check_execute(interpreter))
		visit_open(&interpreter->visit);
}

void envd_list_contexts(struct exchange *x)
{
	struct interpreter_visit *interpreter = interpreter_new(x, CALL_LIST);

	if (interpreter)
		visit_open(&interpreter->visit);
}

void envd_create_context(struct exchange *x)
{
	struct interpreter_visit *interpreter = interpreter_new(x, CALL_CREATE);
	struct warder_error err = { 0 };
	uint64_t number = 0;

	if (!interpreter)
		return;
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number)) {
		fail(interpreter, 503, "there is no random number yet; try again");
		return;
	}
	snprintf(interpreter->name, sizeof(interpreter->name), "c%016llx", (unsigned long long)number);
	if (interpreter_parse_context(x->body ? x->body : "", x->body_len, &interpreter->request, &err) < 0)
		fail_with(interpreter, &err);
	else if (interpreter->request.directory)
		fail(interpreter, 400,
		     "cwd: contexts begin in the working directory of their sandbox; change it in the code");
	else
		visit_open(&interpreter->visit);
}

static void name_and_open(struct exchange *x, enum interpreter_call call)
{
	struct interpreter_visit *interpreter = interpreter_new(x, call);

	if (interpreter && take_name(interpreter, x->args[0]))
		visit_open(&interpreter->visit);
}

void envd_restart_context(struct exchange *x)
{
	name_and_open(x, CALL_RESTART);
}

void envd_delete_context(struct exchange *x)
{
	name_and_open(x, CALL_DELETE);
}
