/*
 * The executions of a sandbox, in Warder's own API.
 *
 * A start with an idempotency key gets an id that is made from the key and the request: so the keeper, which has no two executions of one id,
 * starts it once, also when two requests come at once or the front dies between them. The id is free again when the keeper forgets the
 * execution, ten minutes after its end.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"
#include "host/front/exchange.h"
#include "host/front/v1.h"
#include "host/input.h"

/* What a handler about an execution keeps while it waits for the keeper. */
struct work {
	struct exchange *x;
	struct channel *channel;
	struct json_value *document; /* of the request; or NULL */
	const char *input;           /* of it: bytes that are to be written */
	size_t input_len, input_at;
	char *decoded; /* owned: the input, if it came in base64; or NULL */
	char *policy;  /* owned: the sandbox's, as JSON, until the start; or NULL */
	bool keeps_input, closing;
	bool is_signed;                                       /* the launcher has been asked for the result */
	char id[REMOTE_ID_LENGTH + 1];                        /* that the execution is to have; or "" */
	bool exists;                                          /* the same request has started it before */
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
	free(work->policy);
	free(work->decoded);
	free(work);
}

static void fail_work(struct work *work, const struct warder_error *err)
{
	exchange_error(work->x, link_status(err->code), err);
}

static void work_lost(void *owner)
{
	struct work *work = owner;

	if (!work->is_signed)
		exchange_fail(work->x, 404, "the sandbox has ended");
}

static void opened(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	struct work *work = x->data;
	struct json_value *sandbox = NULL;
	struct warder_error err = { 0 };
	char *policy = NULL;

	if (text && json_parse(text, strlen(text), "sandbox", NULL, &sandbox, &err) == 0 &&
	    json_member(sandbox, "policy"))
		policy = json_text(json_member(sandbox, "policy"));
	json_free(sandbox);
	if (!policy || *fd < 0) {
		exchange_fail(x, 500, "the launcher sent no sandbox");
	} else {
		work->channel = channel_new(x->front, fd_take(fd), answer->records, work->events, work);
		if (!work->channel)
			exchange_fail(x, 503, "no memory is left; try again");
		else
			work->begin(work, policy);
	}
	free(policy);
}

/* Open the sandbox, then call `begin`. The document is taken; `more` bytes are kept beside it. NULL: the client was answered. */
static struct work *begin_work(struct exchange *x, struct json_value *document, size_t more,
			       const struct channel_events *events,
			       void (*begin)(struct work *work, const char *policy))
{
	struct work *work = NULL;

	if (exchange_keep(x, document, more)) {
		work = calloc(1, sizeof(*work));
		if (!work)
			exchange_fail(x, 503, "no memory is left; try again");
	}
	if (!work) {
		json_free(document);
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

/* The program is started, which may wait for long before it takes its input. The rest of the request can be many times as long as its text. */
static void keep_input_alone(struct work *work)
{
	if (work->input && !work->decoded) {
		work->decoded = malloc(work->input_len + 1);
		if (!work->decoded)
			return;
		memcpy(work->decoded, work->input, work->input_len);
		work->input = work->decoded;
	}
	json_free(work->document);
	work->document = NULL;
	exchange_keep_less(work->x, work->input_len);
}

static void start_now(struct work *work)
{
	const struct json_value *document = work->document;
	const uint64_t timeout_ms = json_member_uint(document, "timeoutMs");
	const struct json_value *env = json_member(document, "env");
	char **argv = list_of(json_member(document, "argv"));
	char **variables = env && env->type == JSON_OBJECT ? variables_of(env) : NULL;
	struct warder_error err = { 0 };
	const struct channel_command command = {
		.policy = work->policy,
		.argv = argv,
		.environment = variables,
		.directory = json_member_text(document, "cwd", NULL),
		.timeout_us = timeout_ms < UINT64_MAX / 1000 ? timeout_ms * 1000 : 0,
		.input = work->input || work->keeps_input,
		.background = json_member_true(document, "background"),
		.rows = (uint16_t)json_member_uint(document, "rows"),
		.columns = (uint16_t)json_member_uint(document, "columns"),
		.id = work->id,
	};

	if (!argv || (env && env->type == JSON_OBJECT && !variables))
		exchange_fail(work->x, 503, "no memory is left; try again");
	else if (!argv[0])
		exchange_fail(work->x, 400, "\"argv\" must name a program");
	else if (channel_start(work->channel, &command, &err) < 0)
		fail_work(work, &err);
	free(argv);
	free_texts(variables);
	free(work->policy);
	work->policy = NULL;
	keep_input_alone(work);
}

/* The id of a request with an idempotency key: half of the key's digest, and half of the request's. */
static void derive_id(struct work *work, const char *key)
{
	char digest[SHA256_HEX];

	link_digest(key, digest);
	memcpy(work->id, digest, REMOTE_ID_LENGTH / 2);
	link_digest(work->x->body, digest);
	memcpy(work->id + REMOTE_ID_LENGTH / 2, digest, REMOTE_ID_LENGTH / 2);
}

static void begin_execution(struct work *work, const char *policy)
{
	struct warder_error err = { 0 };

	work->policy = strdup(policy);
	if (!work->policy)
		exchange_fail(work->x, 503, "no memory is left; try again");
	else if (!*work->id)
		start_now(work);
	else if (channel_list_briefly(work->channel, &err) < 0)
		fail_work(work, &err);
}

static void say_started(struct work *work)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "id", channel_execution(work->channel));
	json_key_string(&w, "sandbox", work->x->sandbox);
	json_end_object(&w);
	exchange_json(work->x, work->exists ? 200 : 201, json_take(&w));
}

/* The same request has started it before. open: its standard input is still open, or was at its end. That request may have been cut off before it
 * had sent all of the input, and what is missing is not sent twice. */
static void say_exists(struct work *work, bool open)
{
	struct warder_error err = { 0 };

	if (work->input && open) {
		error_set(
		    &err, WARDER_ERROR_CONFLICT, "idempotencyKey",
		    "this request has started execution %s before, and may have been cut off before the "
		    "program had all of its input; use a new key",
		    work->id);
		fail_work(work, &err);
		return;
	}
	work->exists = true;
	channel_choose(work->channel, work->id);
	say_started(work);
}

/* Nobody has ended the input of the program, which may have ended all the same. A keeper of an earlier version does not say so. */
static bool has_open_input(const struct json_value *row)
{
	const struct json_value *ended = json_member(row, "inputEnded");

	return json_member_true(row, "input") || (ended && !ended->boolean);
}

/* Whether an earlier request had the key. */
static void look_for_key(struct work *work, const char *text)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX };
	struct json_value *rows = NULL;
	struct warder_error err = { 0 };
	const struct json_value *found = NULL;
	const char *id;

	if (json_parse(text, strlen(text), "executions", &limits, &rows, &err) < 0) {
		fail_work(work, &err);
		return;
	}
	for (const struct json_value *row = rows->child; row && !found; row = row->next)
		if (strncmp(json_member_text(row, "id", ""), work->id, REMOTE_ID_LENGTH / 2) == 0)
			found = row;
	id = found ? json_member_text(found, "id", "") : "";
	if (!found) {
		start_now(work);
	} else if (strcmp(id, work->id) == 0) {
		say_exists(work, has_open_input(found));
	} else {
		error_set(&err, WARDER_ERROR_CONFLICT, "idempotencyKey",
			  "another request with this key has started execution %s; use a new key", id);
		fail_work(work, &err);
	}
	json_free(rows);
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

	if (request == RECORD_LIST && !answer->failed) {
		look_for_key(work, text ? text : "[]");
		return;
	}
	if (request == RECORD_START && answer->failed && *work->id &&
	    answer->error.code == WARDER_ERROR_CONFLICT && strcmp(answer->error.field, "id") == 0) {
		/* The same request, which came at the same time. */
		say_exists(work, true);
		return;
	}
	if ((request == RECORD_START || request == RECORD_LIST) && answer->failed) {
		fail_work(work, &answer->error);
		return;
	}
	/* A program that reads no more input has it all. */
	if (answer->failed)
		work->input = NULL;
	go_on(work);
}

static const struct channel_events of_start = { .answered = start_answered, .lost = work_lost };

struct program_input {
	const char *bytes; /* of the document, or `decoded`; or NULL */
	size_t len;
	char *decoded; /* heap, or NULL */
};

/* What the table of members cannot say. False: the exchange was answered. */
static bool check_start(struct exchange *x, const struct json_value *document, struct program_input *ret)
{
	const uint64_t rows = json_member_uint(document, "rows"),
		       columns = json_member_uint(document, "columns");
	const char *key = json_member_text(document, "idempotencyKey", NULL);
	struct warder_error err = { 0 };

	if ((rows == 0) != (columns == 0) || rows > V1_TERMINAL_MAX || columns > V1_TERMINAL_MAX)
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, rows ? "columns" : "rows",
			  "\"rows\" and \"columns\" of a terminal go together and are 1 to %d",
			  V1_TERMINAL_MAX);
	if (rows &&
	    (json_member_text(document, "stdin", NULL) || json_member_text(document, "stdinBase64", NULL)))
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "stdin",
			  "a program on a terminal has no \"stdin\"; write to its input");
	if (key)
		v1_check_key(key, &err);
	if (!err.code && input_take(document, &ret->bytes, &ret->len, &ret->decoded, &err) == 0)
		return true;
	exchange_error(x, 400, &err);
	return false;
}

void v1_start_execution(struct exchange *x)
{
	struct json_value *document;
	struct work *work;
	struct program_input input;
	const char *key;

	if (exchange_object(x, &document) < 0)
		return;
	if (!check_start(x, document, &input)) {
		json_free(document);
		return;
	}
	work = begin_work(x, document, input.decoded ? input.len : 0, &of_start, begin_execution);
	if (!work) {
		free(input.decoded);
		return;
	}
	key = json_member_text(document, "idempotencyKey", NULL);
	if (key)
		derive_id(work, key);
	work->keeps_input = json_member_true(document, "input") || json_member_uint(document, "rows");
	work->input = input.len ? input.bytes : NULL;
	work->input_len = input.len;
	work->decoded = input.decoded;
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

void v1_list_executions(struct exchange *x)
{
	begin_work(x, NULL, 0, &of_list, list_begin);
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
		exchange_fail(work->x, 404, "there is no such execution, or its record was removed");
	} else if (strcmp(json_member_text(found, "state", ""), "ended") == 0) {
		ask_result(work);
	} else {
		exchange_json(work->x, 200, json_text(found));
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

static void signed_result(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	exchange_json(x, 200, strdup(text ? text : "{}"));
}

/* The launcher asks the keeper again, and signs what that says. */
static void ask_signed(struct work *work, const char *nonce)
{
	char *text = NULL;

	work->is_signed = true;
	if (asprintf(&text, "%s %s", work->x->args[1], nonce) < 0)
		exchange_fail(work->x, 503, "no memory is left; try again");
	else
		exchange_ask(work->x, LINK_RESULT, 0, text, signed_result);
}

static void show_ended(void *owner, const struct record_end *end, const char *json)
{
	struct work *work = owner;
	const char *nonce = exchange_query(work->x, "nonce");

	if (json && nonce)
		ask_signed(work, nonce);
	else if (json)
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

void v1_show_execution(struct exchange *x)
{
	begin_work(x, NULL, 0, &of_show, show_begin);
}

/* ---- output ---- */

static void send_event(struct work *work, const char *name, struct json_writer *w)
{
	char id[48];

	snprintf(id, sizeof(id), "%" PRIu64 ",%" PRIu64, work->at[0], work->at[1]);
	if (!v1_event(work->x, name, id, w) && work->channel)
		channel_hold(work->channel, true);
}

static void output_bytes(void *owner, int stream, uint64_t offset, const char *bytes, size_t len)
{
	struct work *work = owner;
	struct json_writer w = { 0 };

	work->at[stream] = offset + len;
	v1_write_output(&w, stream, offset, bytes, len);
	send_event(work, "output", &w);
}

static void output_gap(void *owner, int stream, uint64_t from, uint64_t to)
{
	struct work *work = owner;
	struct json_writer w = { 0 };

	work->at[stream] = to;
	v1_write_gap(&w, stream, from, to);
	send_event(work, "gap", &w);
}

static void output_ended(void *owner, const struct record_end *end, const char *json)
{
	struct work *work = owner;
	struct json_writer w = { 0 };

	v1_write_end(&w, end);
	send_event(work, "end", &w);
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

void v1_show_output(struct exchange *x)
{
	begin_work(x, NULL, 0, &of_output, output_begin);
}

/* ---- signals and input ---- */

/* After the bytes, only their end is missing: 503 would invite the client to send them again. */
static void fail_done(struct work *work, enum record_type request, const struct warder_error *err)
{
	const unsigned int status = link_status(err->code);

	exchange_error(work->x, request == RECORD_CLOSE && status == 503 ? 502 : status, err);
}

static void done_answered(void *owner, enum record_type request, const struct record_answer *answer,
			  const char *text)
{
	struct work *work = owner;
	struct warder_error err = { 0 };

	if (answer->failed) {
		fail_done(work, request, &answer->error);
	} else if (request == RECORD_WRITE && json_member_true(work->document, "close")) {
		if (channel_ask(work->channel, RECORD_CLOSE, 0, &err) < 0)
			fail_done(work, RECORD_CLOSE, &err);
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

void v1_send_signal(struct exchange *x)
{
	struct json_value *document;

	if (exchange_object(x, &document) == 0)
		begin_work(x, document, 0, &of_done, signal_begin);
}

/* The bytes of the request into the work. -1 with *err. */
static int take_input(struct work *work, struct warder_error *err)
{
	const char *encoded = json_member_text(work->document, "base64", NULL);

	work->input = json_member_text(work->document, "text", encoded ? NULL : "");
	if (encoded && work->input)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "base64",
				 "\"text\" and \"base64\" are both given; leave one of them out");
	if (encoded)
		work->input = work->decoded = text_unbase64(encoded, strlen(encoded), &work->input_len);
	else
		work->input_len = strlen(work->input);
	return work->input ? 0
			   : error_set(err, WARDER_ERROR_INVALID_REQUEST, "base64",
				       "\"base64\" must be a text in base64, padded and without line breaks");
}

static void input_begin(struct work *work, const char *policy)
{
	struct warder_error err = { 0 };

	channel_choose(work->channel, work->x->args[1]);
	if (take_input(work, &err) < 0)
		fail_work(work, &err);
	else if (work->input_len > REMOTE_WRITE_MAX)
		exchange_fail(work->x, 413, "at most 32 KiB of input at a time");
	else if (channel_write(work->channel, work->input, work->input_len, false, &err) < 0)
		fail_work(work, &err);
}

void v1_send_input(struct exchange *x)
{
	struct json_value *document;

	if (exchange_object(x, &document) == 0)
		begin_work(x, document, strlen(json_member_text(document, "base64", "")), &of_done,
			   input_begin);
}

static void resize_begin(struct work *work, const char *policy)
{
	const uint64_t rows = json_member_uint(work->document, "rows");
	const uint64_t columns = json_member_uint(work->document, "columns");
	struct warder_error err = { 0 };

	channel_choose(work->channel, work->x->args[1]);
	if (!rows || !columns || rows > V1_TERMINAL_MAX || columns > V1_TERMINAL_MAX)
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "rows",
			  "\"rows\" and \"columns\" must be 1 to %d", V1_TERMINAL_MAX);
	if (err.code || channel_resize(work->channel, (uint16_t)rows, (uint16_t)columns, &err) < 0)
		fail_work(work, &err);
}

void v1_resize(struct exchange *x)
{
	struct json_value *document;

	if (exchange_object(x, &document) == 0)
		begin_work(x, document, 0, &of_done, resize_begin);
}
