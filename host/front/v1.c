/*
 * v1: Warder's own API. Bodies and answers are JSON; a result is that of `warder run --json`.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"
#include "host/front/envd.h"
#include "host/front/front.h"
#include "host/front/openapi.h"

/* ---- questions to the launcher whose answer goes to the client as it is ---- */

static void pass_on(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	if (text)
		exchange_json(x, answer->status, strdup(text));
	else
		exchange_empty(x, answer->status);
}

static void health_answer(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	exchange_empty(x, 204);
}

/* A request that names a sandbox asks about it. */
static void health(struct exchange *x)
{
	if (*x->sandbox) {
		envd_health(x);
		return;
	}
	exchange_ask(x, LINK_HEALTH, 0, NULL, health_answer);
}

static void show_host(struct exchange *x)
{
	exchange_ask(x, LINK_HOST, 0, NULL, pass_on);
}

static void show_capabilities(struct exchange *x)
{
	exchange_ask(x, LINK_CONTROLS, 0, NULL, pass_on);
}

static void list_sandboxes(struct exchange *x)
{
	exchange_ask(x, LINK_LIST, 0, NULL, pass_on);
}

/* The launcher parses the body: the front only hands it on. */
static void hand_on(struct exchange *x, enum link_call call)
{
	exchange_ask(x, call, 0, x->body_len ? strdup(x->body) : NULL, pass_on);
}

static void create_sandbox(struct exchange *x)
{
	hand_on(x, LINK_CREATE);
}

static void run_program(struct exchange *x)
{
	hand_on(x, LINK_RUN);
}

static void show_sandbox(struct exchange *x)
{
	exchange_ask(x, LINK_SHOW, 0, NULL, pass_on);
}

static void remove_sandbox(struct exchange *x)
{
	exchange_ask(x, LINK_REMOVE, 0, NULL, pass_on);
}

static void set_timeout(struct exchange *x)
{
	struct json_value *document;
	const struct json_value *value;

	if (exchange_object(x, &document) < 0)
		return;
	value = json_member(document, "timeoutMs");
	if (!value || !value->is_uint)
		exchange_fail(x, 400, "\"timeoutMs\" must be a whole number of milliseconds");
	else
		exchange_ask(x, LINK_TIMEOUT, (value->uint + 999) / 1000, NULL, pass_on);
	json_free(document);
}

static void pause_sandbox(struct exchange *x)
{
	exchange_ask(x, LINK_PAUSE, 0, NULL, pass_on);
}

static void resume_sandbox(struct exchange *x)
{
	struct json_value *document;
	const struct json_value *value;

	if (exchange_object(x, &document) < 0)
		return;
	value = json_member(document, "timeoutMs");
	if (value && !value->is_uint)
		exchange_fail(x, 400, "\"timeoutMs\" must be a whole number of milliseconds");
	else
		exchange_ask(x, LINK_RESUME, value ? (value->uint + 999) / 1000 : 0, NULL, pass_on);
	json_free(document);
}

/* ---- executions ---- */

/* What a handler about an execution keeps while it waits for the keeper. */
struct work {
	struct exchange *x;
	struct channel *channel;
	struct json_value *document; /* of the request; or NULL */
	const char *input;           /* of it: bytes that are to be written */
	size_t input_len, input_at;
	bool keeps_input, closing;
	uint64_t at[2];                                       /* offsets that the client has */
	void (*begin)(struct work *work, const char *policy); /* the channel is there */
	const struct channel_events *events;
};

static void work_free(struct exchange *x)
{
	struct work *work = x->data;

	x->data = NULL;
	x->gone = NULL;
	if (!work)
		return;
	channel_free(work->channel);
	json_free(work->document);
	free(work);
}

static void fail_work(struct work *work, const struct warder_error *err)
{
	exchange_error(work->x, link_status(err->code), err);
}

static void work_lost(void *owner)
{
	struct work *work = owner;

	exchange_fail(work->x, 404, "the sandbox has ended");
}

static void opened(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	struct work *work = x->data;
	struct json_value *sandbox = NULL;
	struct warder_error err = { 0 };
	struct json_writer w = { 0 };
	char *policy = NULL;

	if (text && json_parse(text, strlen(text), "sandbox", NULL, &sandbox, &err) == 0 &&
	    json_member(sandbox, "policy")) {
		json_copy(&w, json_member(sandbox, "policy"));
		policy = json_take(&w);
	}
	json_free(sandbox);
	if (!policy || *fd < 0) {
		exchange_fail(x, 500, "the launcher sent no sandbox");
	} else {
		work->channel = channel_new(x->front, fd_take(fd), work->events, work);
		if (!work->channel)
			exchange_fail(x, 503, "no memory is left; try again");
		else
			work->begin(work, policy);
	}
	free(policy);
}

/* Open the sandbox, then call `begin`. The document is taken. NULL: the client was answered. */
static struct work *begin_work(struct exchange *x, struct json_value *document,
			       const struct channel_events *events,
			       void (*begin)(struct work *work, const char *policy))
{
	struct work *work = calloc(1, sizeof(*work));

	if (!work) {
		json_free(document);
		exchange_fail(x, 503, "no memory is left; try again");
		return NULL;
	}
	work->x = x;
	work->events = events;
	work->document = document;
	work->begin = begin;
	x->data = work;
	x->gone = work_free;
	exchange_ask(x, LINK_OPEN, 0, NULL, opened);
	return work;
}

/* ---- start ---- */

/* The texts of an array as a list; NULL: it is none. The caller frees the array. */
static char **list_of(const struct json_value *array)
{
	char **list =
	    array && array->type == JSON_ARRAY ? calloc(json_length(array) + 1, sizeof(*list)) : NULL;
	size_t i = 0;

	for (const struct json_value *one = list ? array->child : NULL; one; one = one->next) {
		if (one->type != JSON_STRING) {
			free(list);
			return NULL;
		}
		list[i++] = one->string;
	}
	return list;
}

static void free_texts(char **texts)
{
	for (size_t i = 0; texts && texts[i]; i++)
		free(texts[i]);
	free(texts);
}

/* The members of an object as "NAME=value"; NULL: it is no object of texts. */
static char **variables_of(const struct json_value *object)
{
	char **texts = calloc(json_length(object) + 1, sizeof(*texts));
	size_t i = 0;

	for (const struct json_value *one = texts ? object->child : NULL; one; one = one->next) {
		if (one->type != JSON_STRING || !one->key[0] || strchr(one->key, '=') ||
		    asprintf(&texts[i], "%s=%s", one->key, one->string) < 0) {
			texts[i] = NULL;
			free_texts(texts);
			return NULL;
		}
		i++;
	}
	return texts;
}

static bool is_true(const struct json_value *document, const char *key)
{
	const struct json_value *value = json_member(document, key);

	return value && value->type == JSON_BOOL && value->boolean;
}

static void begin_execution(struct work *work, const char *policy)
{
	const struct json_value *document = work->document;
	const struct json_value *timeout = json_member(document, "timeoutMs");
	const struct json_value *env = json_member(document, "env");
	char **argv = list_of(json_member(document, "argv"));
	char **variables = env ? variables_of(env) : NULL;
	struct warder_error err = { 0 };
	const struct channel_command command = {
		.policy = policy,
		.argv = argv,
		.environment = variables,
		.directory = json_member_text(document, "cwd", NULL),
		.timeout_us = timeout && timeout->is_uint && timeout->uint < UINT64_MAX / 1000
				  ? timeout->uint * 1000
				  : 0,
		.input = work->input || work->keeps_input,
		.background = is_true(document, "background"),
	};

	if (!argv || !argv[0])
		exchange_fail(work->x, 400, "\"argv\" must be an array of texts, the program first");
	else if (env && !variables)
		exchange_fail(work->x, 400, "\"env\" must be an object of texts");
	else if (channel_start(work->channel, &command, &err) < 0)
		fail_work(work, &err);
	free(argv);
	free_texts(variables);
}

static void say_started(struct work *work)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "id", channel_execution(work->channel));
	json_key_string(&w, "sandbox", work->x->sandbox);
	json_end_object(&w);
	exchange_json(work->x, 201, json_take(&w));
}

/* The next part of the input, or its end, or the answer. */
static void go_on(struct work *work)
{
	struct warder_error err = { 0 };
	size_t len = work->input_len - work->input_at;

	if (len > REMOTE_WRITE_MAX)
		len = REMOTE_WRITE_MAX;
	if (work->input && len) {
		if (channel_write(work->channel, work->input + work->input_at, len, false, &err) < 0)
			fail_work(work, &err);
		work->input_at += len;
	} else if (work->input && !work->keeps_input && !work->closing) {
		work->closing = true;
		if (channel_ask(work->channel, RECORD_CLOSE, 0, &err) < 0)
			fail_work(work, &err);
	} else {
		say_started(work);
	}
}

static void start_answered(void *owner, enum record_type request, const struct record_answer *answer,
			   const char *text)
{
	struct work *work = owner;

	if (request == RECORD_START && answer->failed) {
		fail_work(work, &answer->error);
		return;
	}
	/* A program that reads no more input has it all. */
	if (answer->failed)
		work->input = NULL;
	go_on(work);
}

static const struct channel_events of_start = { .answered = start_answered, .lost = work_lost };

static void start_execution(struct exchange *x)
{
	struct json_value *document;
	struct work *work;

	if (exchange_object(x, &document) < 0)
		return;
	work = begin_work(x, document, &of_start, begin_execution);
	if (!work)
		return;
	work->keeps_input = is_true(document, "input");
	work->input = json_member_text(document, "stdin", NULL);
	work->input_len = work->input ? strlen(work->input) : 0;
}

/* ---- look ---- */

static void list_begin(struct work *work, const char *policy)
{
	struct warder_error err = { 0 };

	if (channel_ask(work->channel, RECORD_LIST, 0, &err) < 0)
		fail_work(work, &err);
}

static void list_answered(void *owner, enum record_type request, const struct record_answer *answer,
			  const char *text)
{
	struct work *work = owner;

	if (answer->failed || !text)
		fail_work(work, &answer->error);
	else
		exchange_json(work->x, 200, strdup(text));
}

static const struct channel_events of_list = { .answered = list_answered, .lost = work_lost };

static void list_executions(struct exchange *x)
{
	begin_work(x, NULL, &of_list, list_begin);
}

static void ask_result(struct work *work)
{
	struct warder_error err = { 0 };

	channel_choose(work->channel, work->x->args[1]);
	if (channel_ask(work->channel, RECORD_RESULT, 0, &err) < 0)
		fail_work(work, &err);
}

/* One that runs is described; of one that has ended, the client gets the result. */
static void show_row(struct work *work, const char *text)
{
	struct json_value *rows = NULL;
	struct warder_error err = { 0 };
	struct json_writer w = { 0 };
	const struct json_value *found = NULL;

	if (json_parse(text, strlen(text), "executions", &(const struct json_limits){ .max_bytes = SIZE_MAX },
		       &rows, &err) < 0) {
		fail_work(work, &err);
		return;
	}
	for (const struct json_value *row = rows->child; row; row = row->next)
		if (strcmp(json_member_text(row, "id", ""), work->x->args[1]) == 0)
			found = row;
	if (!found) {
		exchange_fail(work->x, 404, "there is no such execution (any more)");
	} else if (strcmp(json_member_text(found, "state", ""), "ended") == 0) {
		ask_result(work);
	} else {
		json_copy(&w, found);
		exchange_json(work->x, 200, json_take(&w));
	}
	json_free(rows);
}

static void show_answered(void *owner, enum record_type request, const struct record_answer *answer,
			  const char *text)
{
	struct work *work = owner;

	if (answer->failed)
		fail_work(work, &answer->error);
	else if (request == RECORD_LIST)
		show_row(work, text ? text : "[]");
}

static void show_ended(void *owner, const struct record_end *end, const char *json)
{
	struct work *work = owner;

	if (json)
		exchange_json(work->x, 200, strdup(json));
	else
		exchange_fail(work->x, 500, "the execution has ended, and its result is lost");
}

static const struct channel_events of_show = { .answered = show_answered,
					       .ended = show_ended,
					       .lost = work_lost };

static void show_begin(struct work *work, const char *policy)
{
	if (exchange_query(work->x, "wait"))
		ask_result(work);
	else
		list_begin(work, policy);
}

static void show_execution(struct exchange *x)
{
	begin_work(x, NULL, &of_show, show_begin);
}

/* ---- output ---- */

static void send_event(struct work *work, const char *name, char *json)
{
	char head[120];
	bool room;

	if (!json)
		return;
	snprintf(head, sizeof(head), "event: %s\nid: %" PRIu64 ",%" PRIu64 "\ndata: ", name, work->at[0],
		 work->at[1]);
	exchange_write(work->x, head, strlen(head));
	exchange_write(work->x, json, strlen(json));
	room = exchange_write(work->x, "\n\n", 2);
	free(json);
	if (!room && work->channel)
		channel_hold(work->channel, true);
}

static const char *const streams[] = { "stdout", "stderr" };

static void output_bytes(void *owner, int stream, uint64_t offset, const char *bytes, size_t len)
{
	struct work *work = owner;
	struct json_writer w = { 0 };

	work->at[stream] = offset + len;
	json_begin_object(&w);
	json_key_string(&w, "stream", streams[stream]);
	json_key_uint(&w, "offset", offset);
	text_write(&w, "text", bytes, len, false);
	json_end_object(&w);
	send_event(work, "output", json_take(&w));
}

static void output_gap(void *owner, int stream, uint64_t from, uint64_t to)
{
	struct work *work = owner;
	struct json_writer w = { 0 };

	work->at[stream] = to;
	json_begin_object(&w);
	json_key_string(&w, "stream", streams[stream]);
	json_key_uint(&w, "from", from);
	json_key_uint(&w, "to", to);
	json_end_object(&w);
	send_event(work, "gap", json_take(&w));
}

static void output_ended(void *owner, const struct record_end *end, const char *json)
{
	struct work *work = owner;
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key(&w, "exitCode");
	json_int(&w, end->exit_code);
	json_key(&w, "signal");
	json_int(&w, end->signal);
	json_key_string(&w, "detail", end->detail);
	json_end_object(&w);
	send_event(work, "end", json_take(&w));
	exchange_end(work->x);
}

static void output_answered(void *owner, enum record_type request, const struct record_answer *answer,
			    const char *text)
{
	struct work *work = owner;

	if (answer->failed)
		fail_work(work, &answer->error);
	else
		exchange_stream(work->x, 200, "text/event-stream");
}

static void output_lost(void *owner)
{
	struct work *work = owner;

	exchange_fail(work->x, 404, "the sandbox has ended");
	exchange_end(work->x);
}

static const struct channel_events of_output = { .answered = output_answered,
						 .bytes = output_bytes,
						 .gap = output_gap,
						 .ended = output_ended,
						 .lost = output_lost };

static void output_room(struct exchange *x)
{
	struct work *work = x->data;

	if (work && work->channel)
		channel_hold(work->channel, false);
}

static uint64_t number_of(const char *text)
{
	return text ? strtoull(text, NULL, 10) : 0;
}

static void output_begin(struct work *work, const char *policy)
{
	const char *last = exchange_header(work->x, "Last-Event-ID");
	struct warder_error err = { 0 };

	if (!last || sscanf(last, "%" SCNu64 ",%" SCNu64, &work->at[0], &work->at[1]) != 2) {
		work->at[0] = number_of(exchange_query(work->x, "stdout"));
		work->at[1] = number_of(exchange_query(work->x, "stderr"));
	}
	work->x->room = output_room;
	channel_choose(work->channel, work->x->args[1]);
	if (channel_attach(work->channel, work->at, &err) < 0)
		fail_work(work, &err);
}

static void show_output(struct exchange *x)
{
	begin_work(x, NULL, &of_output, output_begin);
}

/* ---- signals and input ---- */

static void done_answered(void *owner, enum record_type request, const struct record_answer *answer,
			  const char *text)
{
	struct work *work = owner;
	struct warder_error err = { 0 };

	if (answer->failed) {
		fail_work(work, &answer->error);
	} else if (request == RECORD_WRITE && is_true(work->document, "close")) {
		if (channel_ask(work->channel, RECORD_CLOSE, 0, &err) < 0)
			fail_work(work, &err);
	} else {
		exchange_empty(work->x, 204);
	}
}

static const struct channel_events of_done = { .answered = done_answered, .lost = work_lost };

static void signal_begin(struct work *work, const char *policy)
{
	const struct json_value *value = json_member(work->document, "signal");
	struct warder_error err = { 0 };

	channel_choose(work->channel, work->x->args[1]);
	if (value && (!value->is_uint || value->uint < 1 || value->uint > (uint64_t)SIGRTMAX))
		exchange_fail(work->x, 400, "\"signal\" must be the number of a signal");
	else if (channel_ask(work->channel, RECORD_SIGNAL, value ? (uint32_t)value->uint : SIGTERM, &err) < 0)
		fail_work(work, &err);
}

static void send_signal(struct exchange *x)
{
	struct json_value *document;

	if (exchange_object(x, &document) == 0)
		begin_work(x, document, &of_done, signal_begin);
}

static void input_begin(struct work *work, const char *policy)
{
	const char *text = json_member_text(work->document, "text", "");
	struct warder_error err = { 0 };

	channel_choose(work->channel, work->x->args[1]);
	if (strlen(text) > REMOTE_WRITE_MAX)
		exchange_fail(work->x, 413, "at most 32 KiB of input at a time");
	else if (channel_write(work->channel, text, strlen(text), false, &err) < 0)
		fail_work(work, &err);
}

static void send_input(struct exchange *x)
{
	struct json_value *document;

	if (exchange_object(x, &document) == 0)
		begin_work(x, document, &of_done, input_begin);
}

static void describe_api(struct exchange *x)
{
	exchange_json(x, 200, openapi_json());
}

const struct route routes_v1[] = {
	{ "GET", "/v1/openapi.json", NULL, ROUTE_OPEN, describe_api, "this description" },
	{ "GET", "/health", NULL, ROUTE_OPEN | ROUTE_SANDBOX, health,
	  "whether this host can launch programs" },
	{ "GET", "/v1/host", "read", 0, show_host, "this host, and what the tenant may use of it" },
	{ "GET", "/v1/capabilities", "read", 0, show_capabilities,
	  "what a jail of this host can enforce, control by control" },
	{ "GET", "/v1/sandboxes", "read", 0, list_sandboxes, "the tenant's sandboxes" },
	{ "POST", "/v1/sandboxes", "sandboxes", 0, create_sandbox, "create a sandbox" },
	{ "GET", "/v1/sandboxes/{id}", "sandboxes", 0, show_sandbox,
	  "a sandbox, with its tokens and its policy" },
	{ "DELETE", "/v1/sandboxes/{id}", "sandboxes", 0, remove_sandbox, "end a sandbox" },
	{ "POST", "/v1/sandboxes/{id}/timeout", "sandboxes", 0, set_timeout, "set when a sandbox ends" },
	{ "POST", "/v1/sandboxes/{id}/pause", "sandboxes", 0, pause_sandbox,
	  "stop all programs of a sandbox" },
	{ "POST", "/v1/sandboxes/{id}/resume", "sandboxes", 0, resume_sandbox,
	  "let the programs of a sandbox go on" },
	{ "GET", "/v1/sandboxes/{id}/executions", "sandboxes", 0, list_executions,
	  "the executions of a sandbox" },
	{ "POST", "/v1/sandboxes/{id}/executions", "sandboxes", 0, start_execution,
	  "start a program in a sandbox" },
	{ "GET", "/v1/sandboxes/{id}/executions/{execution}", "sandboxes", 0, show_execution,
	  "an execution, or its result with receipt and cause" },
	{ "GET", "/v1/sandboxes/{id}/executions/{execution}/output", "sandboxes", 0, show_output,
	  "the output from an offset on, as server-sent events" },
	{ "POST", "/v1/sandboxes/{id}/executions/{execution}/signal", "sandboxes", 0, send_signal,
	  "send a signal to an execution" },
	{ "POST", "/v1/sandboxes/{id}/executions/{execution}/input", "sandboxes", 0, send_input,
	  "write to the input of an execution" },
	{ "POST", "/v1/run", "run", 0, run_program, "run a program in a jail of its own" },
	{ 0 },
};
