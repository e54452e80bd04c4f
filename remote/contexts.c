/*
 * contexts: the interpreter answers a piece with one JSON object a line; each becomes an event as soon as its line is whole.
 *
 * The last line says that the piece has ended. An answer without it is none: the connection may have been cut anywhere. A service may keep the
 * connection open behind that line.
 */
#include "remote/contexts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "remote/e2b.h"

#define ASK_MS  60000u
#define LOOK_MS 200
/* Before the headers of the answer; and without a line, if the service says from time to time that it is alive. */
#define SILENCE_MS 120000u
#define MUCH       "more than 16 MiB about a piece of code"
#define CLOSE_MS   2000 /* behind the last line, until the service closes the connection */

/* ---- requests about contexts ---- */

/* A request to the interpreter of the open sandbox. Returns whether it agrees; otherwise the call has its answer. */
static bool ask(struct call *call, const char *method, const char *path, const char *body,
		struct remote_answer *ret, char **ret_body)
{
	const struct exchange_order order = {
		.url = call->service->data_url,
		.method = method,
		.path = path,
		.ca_file = call->service->ca_file,
		.headers = call->service->headers,
		.body = body,
		.body_len = body ? strlen(body) : 0,
		.timeout_ms = ASK_MS,
		.most = REMOTE_JSON_MAX,
	};

	exchange_perform(&order, ret, ret_body);
	if (!service_is_good(ret))
		call_pass_refusal(call, ret, *ret_body, "context");
	return service_is_good(ret);
}

static bool open_interpreter(struct call *call)
{
	struct warder_error err = { 0 };

	if (!call_open_sandbox(call))
		return false;
	if (service_reach(call->service, SERVICE_CODE, &err) == 0)
		return true;
	call_put_error(call, &err);
	return false;
}

/* *ret is to be freed by json_free(). Returns whether the answer is JSON of that type; otherwise the call has its answer. */
static bool parse_answer(struct call *call, const char *body, size_t len, enum json_type type,
			 struct json_value **ret)
{
	struct warder_error err = { 0 };

	if (json_parse(body ? body : "", len, "answer", NULL, ret, &err) == 0 && (*ret)->type == type)
		return true;
	error_set(&err, WARDER_ERROR_UNAVAILABLE, "backend",
		  "the answer of the service's interpreter is not the JSON that the protocol has here");
	call_put_error(call, &err);
	return false;
}

static void write_row(struct json_writer *w, const struct json_value *context)
{
	const char *id = json_member_text(context, "id", "");

	if (!service_is_id(id))
		return;
	json_begin_object(w);
	json_key_string(w, "context", id);
	json_key_string(w, "id", id);
	json_key_string(w, "language", json_member_text(context, "language", ""));
	json_key_string(w, "cwd", json_member_text(context, "cwd", NULL));
	json_key_string(w, "state", "running");
	json_end_object(w);
}

void contexts_list(struct call *call)
{
	struct json_value *rows = NULL;
	struct json_writer w = { 0 };
	struct remote_answer answer;
	char *body = NULL;

	if (open_interpreter(call) && ask(call, "GET", "/contexts", NULL, &answer, &body) &&
	    parse_answer(call, body, answer.bytes, JSON_ARRAY, &rows)) {
		json_begin_array(&w);
		for (const struct json_value *row = rows->child; row; row = row->next)
			if (row->type == JSON_OBJECT)
				write_row(&w, row);
		json_end_array(&w);
		call_put(call, 200, json_take(&w));
	}
	json_free(rows);
	free(body);
}

static void put_id(struct call *call, const char *id)
{
	struct json_writer w = { 0 };
	struct warder_error err = { 0 };

	if (!service_is_id(id)) {
		error_set(&err, WARDER_ERROR_UNAVAILABLE, "backend",
			  "the service made a context without a valid \"id\"");
		call_put_error(call, &err);
		return;
	}
	json_begin_object(&w);
	json_key_string(&w, "id", id);
	call_put_object(call, &w);
}

void contexts_create(struct call *call)
{
	struct json_value *request = call_read_request(call), *made = NULL;
	struct json_writer w = { 0 };
	struct remote_answer answer;
	char *wish, *body = NULL;

	if (!request)
		return;
	json_begin_object(&w);
	json_key_string(&w, "language", json_member_text(request, "language", "python"));
	json_end_object(&w);
	wish = json_take(&w);
	json_free(request);
	if (!wish)
		call_put(call, 200, NULL);
	else if (open_interpreter(call) && ask(call, "POST", "/contexts", wish, &answer, &body) &&
		 parse_answer(call, body, answer.bytes, JSON_OBJECT, &made))
		put_id(call, json_member_text(made, "id", ""));
	json_free(made);
	free(wish);
	free(body);
}

/* A request that is answered with nothing. */
static void act(struct call *call, const char *method, const char *rest)
{
	char path[SERVICE_ID_MAX + 40];
	struct json_writer w = { 0 };
	struct remote_answer answer;
	char *body = NULL;

	snprintf(path, sizeof(path), "/contexts/%s%s", call->context, rest);
	if (open_interpreter(call) && ask(call, method, path, *rest ? "" : NULL, &answer, &body)) {
		json_begin_object(&w);
		call_put_object(call, &w);
	}
	free(body);
}

void contexts_restart(struct call *call)
{
	act(call, "POST", "/restart");
}

void contexts_delete(struct call *call)
{
	act(call, "DELETE", "");
}

/* ---- a piece ---- */

struct piece {
	FILE *events; /* the answer so far */
	char *text;   /* owned; of it */
	size_t text_len;
	char *line; /* owned; what came of a line */
	size_t line_len, line_room;
	size_t total;   /* bytes that came */
	size_t written; /* bytes of the events */
	uint64_t bytes[2], count;
	char *value, *error;                   /* owned JSON, or NULL */
	bool says_alive;                       /* a line came that says no more than that */
	bool begun;                            /* the headers of the answer came */
	uint64_t begun_us, heard_us, ended_us; /* ended: the last line came; 0: not yet */
	struct warder_error fault;             /* code 0: none */
};

static int fault(struct piece *piece, const char *what)
{
	return error_set(&piece->fault, WARDER_ERROR_UNAVAILABLE, "backend",
			 "the host sent %s; what the piece did is not known", what);
}

/* Takes the text, NULL included. The events may be longer than what came: JSON has more than one way to write a character. */
static void put_event(struct piece *piece, const char *name, char *json)
{
	const int len = json ? fprintf(piece->events, "event: %s\ndata: %s\n\n", name, json) : -1;

	piece->written += len > 0 ? (size_t)len : 0;
	if (len < 0)
		error_no_memory(&piece->fault, "backend");
	else if (piece->written > REMOTE_RESULT_MAX)
		fault(piece, MUCH);
	free(json);
}

static void take_output(struct piece *piece, int stream, const struct json_value *line)
{
	const char *text = json_member_text(line, "text", "");
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "stream", stream ? "stderr" : "stdout");
	json_key_uint(&w, "offset", piece->bytes[stream]);
	json_key_string(&w, "text", text);
	json_end_object(&w);
	piece->bytes[stream] += strlen(text);
	put_event(piece, "output", json_take(&w));
}

/* The media type of a field of a result; NULL: it has none. */
static const char *media_type(const char *field)
{
	static const struct {
		const char *field, *type;
	} rows[] = {
		{ "text", "text/plain" },        { "html", "text/html" },
		{ "markdown", "text/markdown" }, { "svg", "image/svg+xml" },
		{ "png", "image/png" },          { "jpeg", "image/jpeg" },
		{ "pdf", "application/pdf" },    { "latex", "text/latex" },
		{ "json", "application/json" },  { "javascript", "application/javascript" },
		{ "data", "e2b/data" },          { "chart", "e2b/chart" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		if (strcmp(rows[i].field, field) == 0)
			return rows[i].type;
	return NULL;
}

static void write_text(struct json_writer *w, const char *type, const struct json_value *value)
{
	char *text;

	if (value->type == JSON_NULL)
		return;
	text = value->type == JSON_STRING ? strdup(value->string) : json_text(value);
	if (text)
		json_key_string(w, type, text);
	else
		json_fail(w);
	free(text);
}

/* The bundle of a result, heap; NULL: no memory. *ret_empty: it has nothing. */
static char *write_bundle(const struct json_value *line, bool *ret_empty)
{
	const struct json_value *extra = json_member(line, "extra");
	struct json_writer w = { 0 };
	char *text;

	json_begin_object(&w);
	for (const struct json_value *member = line->child; member; member = member->next)
		if (media_type(member->key))
			write_text(&w, media_type(member->key), member);
	for (const struct json_value *member = extra && extra->type == JSON_OBJECT ? extra->child : NULL;
	     member; member = member->next)
		if (member->type == JSON_STRING && strchr(member->key, '/'))
			write_text(&w, member->key, member);
	json_end_object(&w);
	text = json_take(&w);
	*ret_empty = text && strcmp(text, "{}") == 0;
	return text;
}

static void take_result(struct piece *piece, const struct json_value *line)
{
	bool empty = false;
	char *bundle = write_bundle(line, &empty);

	if (empty) {
		free(bundle);
	} else if (!json_member_true(line, "is_main_result") || piece->value) {
		put_event(piece, "shown", bundle);
	} else if (bundle) {
		piece->value = bundle;
	} else {
		error_no_memory(&piece->fault, "backend");
	}
}

static void take_error(struct piece *piece, const struct json_value *line)
{
	struct json_writer w = { 0 };

	if (piece->error)
		return;
	json_begin_object(&w);
	json_key_string(&w, "name", json_member_text(line, "name", ""));
	json_key_string(&w, "value", json_member_text(line, "value", ""));
	json_key_string(&w, "traceback", json_member_text(line, "traceback", ""));
	json_end_object(&w);
	piece->error = json_take(&w);
	if (!piece->error)
		error_no_memory(&piece->fault, "backend");
}

/* The code of "\uXXXX" at `at`; -1: it is another text. */
static long read_escape(const char *at, const char *end)
{
	char digits[5] = "", *stop;
	long code;

	if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
		return -1;
	memcpy(digits, at + 2, 4);
	code = strtol(digits, &stop, 16);
	return *stop || digits[0] == '+' || digits[0] == '-' || digits[0] == ' ' ? -1 : code;
}

/* Programs write NUL and halves of characters, which JSON has escapes for, and no text of ours can hold. */
static void replace_bad_escapes(char *line, size_t len)
{
	const char *end = line + len;

	for (char *at = line; at < end; at++) {
		const long code = read_escape(at, end), next = code >= 0 ? read_escape(at + 6, end) : -1;
		const bool pair = code >= 0xd800 && code < 0xdc00 && next >= 0xdc00 && next < 0xe000;

		if (code == 0 || (code >= 0xd800 && code < 0xe000 && !pair))
			memcpy(at + 2, "fffd", 4);
		at += *at != '\\' ? 0 : code < 0 ? 1 : pair ? 11 : 5;
	}
}

static void take_line(struct piece *piece, char *line, size_t len)
{
	const struct json_limits limits = { .max_bytes = REMOTE_RESULT_MAX + 1, .max_values = 200000 };
	struct json_value *document = NULL;
	struct warder_error why = { 0 };
	const char *type;

	replace_bad_escapes(line, len);
	if (json_parse(line, len, "line", &limits, &document, &why) < 0 || document->type != JSON_OBJECT) {
		json_free(document);
		fault(piece, "a line that is no JSON object");
		return;
	}
	type = json_member_text(document, "type", "");
	if (strcmp(type, "keepalive") == 0)
		piece->says_alive = true;
	else if (piece->ended_us)
		fault(piece, "a line behind the end of the piece");
	else if (strcmp(type, "stdout") == 0 || strcmp(type, "stderr") == 0)
		take_output(piece, type[3] == 'e', document);
	else if (strcmp(type, "result") == 0)
		take_result(piece, document);
	else if (strcmp(type, "error") == 0)
		take_error(piece, document);
	else if (strcmp(type, "number_of_executions") == 0)
		piece->count = json_member_uint(document, "execution_count");
	else if (strcmp(type, "end_of_execution") == 0)
		piece->ended_us = clock_us();
	json_free(document);
}

static bool add(struct piece *piece, const char *bytes, size_t len)
{
	if (piece->line_len + len + 1 > piece->line_room) {
		const size_t room = 2 * (piece->line_len + len + 1);
		char *grown = realloc(piece->line, room);

		if (!grown) {
			error_no_memory(&piece->fault, "backend");
			return false;
		}
		piece->line = grown;
		piece->line_room = room;
	}
	memcpy(piece->line + piece->line_len, bytes, len);
	piece->line_len += len;
	return true;
}

static bool take(void *context, const char *bytes, size_t len)
{
	struct piece *piece = context;

	piece->heard_us = clock_us();
	piece->total += len;
	if (piece->total > REMOTE_RESULT_MAX)
		fault(piece, MUCH);
	while (!piece->fault.code && len) {
		const char *feed = memchr(bytes, '\n', len);
		const size_t part = feed ? (size_t)(feed - bytes) : len;

		if (!add(piece, bytes, part))
			break;
		bytes += part + (feed != NULL);
		len -= part + (feed != NULL);
		if (feed && piece->line_len)
			take_line(piece, piece->line, piece->line_len);
		if (feed)
			piece->line_len = 0;
	}
	return !piece->fault.code;
}

static uint64_t passed_ms(uint64_t since_us)
{
	return (clock_us() - since_us) / 1000;
}

/* How a piece that has not ended was given up; or NULL. */
static const char *look(struct piece *piece, uint64_t timeout_ms)
{
	if (piece->ended_us)
		return NULL;
	if (e2b_stopped())
		return "interrupted";
	if (timeout_ms && passed_ms(piece->begun_us) > timeout_ms)
		return "timedOut";
	if ((piece->says_alive || !piece->begun) && passed_ms(piece->heard_us) > SILENCE_MS)
		fault(piece, "nothing for 2 minutes");
	return NULL;
}

/* Until the answer or the piece has ended, or the piece is given up: the connection closes then, and the service interrupts the piece. Returns how it was
 * given up, or NULL. */
static const char *loop(struct piece *piece, CURLM *multi, struct exchange *exchange, uint64_t timeout_ms,
			struct remote_answer *ret, char **ret_body)
{
	const char *given_up = NULL;
	CURLcode done = CURLE_ABORTED_BY_CALLBACK;
	int running = 1, left;
	long status = 0;

	piece->begun_us = piece->heard_us = clock_us();
	while (running && !piece->fault.code && !(given_up = look(piece, timeout_ms)) &&
	       (!piece->ended_us || passed_ms(piece->ended_us) < CLOSE_MS)) {
		const CURLMsg *message;

		curl_multi_perform(multi, &running);
		curl_easy_getinfo(exchange_handle(exchange), CURLINFO_RESPONSE_CODE, &status);
		piece->begun = status != 0;
		while ((message = curl_multi_info_read(multi, &left)))
			if (message->msg == CURLMSG_DONE)
				done = message->data.result;
		if (running)
			curl_multi_poll(multi, NULL, 0, LOOK_MS, NULL);
	}
	curl_multi_remove_handle(multi, exchange_handle(exchange));
	exchange_finish(exchange, piece->ended_us ? CURLE_OK : done, ret, ret_body);
	/* The last line may lack its end. */
	if (!piece->fault.code && done == CURLE_OK && piece->line_len)
		take_line(piece, piece->line, piece->line_len);
	return given_up;
}

static const char *status_of(const struct piece *piece, const char *given_up)
{
	if (!given_up)
		return piece->error ? "failed" : "success";
	return strcmp(given_up, "timedOut") == 0 ? "timeout" : "failed";
}

static void put_end(struct piece *piece, const char *given_up)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_uint(&w, "piece", piece->count);
	json_key_string(&w, "status", status_of(piece, given_up));
	json_key_bool(&w, "interrupted", given_up && strcmp(given_up, "interrupted") == 0);
	json_key_bool(&w, "timedOut", given_up && strcmp(given_up, "timedOut") == 0);
	json_key_uint(&w, "wallUs", (piece->ended_us ? piece->ended_us : clock_us()) - piece->begun_us);
	json_key_uint(&w, "stdoutBytes", piece->bytes[0]);
	json_key_uint(&w, "stderrBytes", piece->bytes[1]);
	json_key(&w, "contextSays");
	json_begin_object(&w);
	if (!given_up) {
		json_key_string(&w, "status", piece->error ? "error" : "ok");
		json_key_uint(&w, "executionCount", piece->count);
		if (piece->value) {
			json_key(&w, "value");
			json_number(&w, piece->value);
		}
		if (piece->error) {
			json_key(&w, "error");
			json_number(&w, piece->error);
		}
	}
	json_end_object(&w);
	json_end_object(&w);
	put_event(piece, "end", json_take(&w));
}

/* The piece was sent: from here on, it may have run. */
static void answer(struct call *call, struct piece *piece, const char *given_up,
		   const struct remote_answer *got, const char *body)
{
	if (!given_up && !piece->fault.code && got->status && got->status != 200) {
		call_pass_refusal(call, got, body, "context");
		return;
	}
	if (!given_up && !piece->fault.code && !got->status)
		piece->fault = got->error;
	else if (!given_up && !piece->fault.code && !piece->ended_us)
		fault(piece, "an answer that ends before the piece does");
	if (!piece->fault.code)
		put_end(piece, given_up);
	if (fflush(piece->events) != 0)
		error_no_memory(&piece->fault, "backend");
	if (piece->fault.code) {
		call_put_error(call, &piece->fault);
		call->ret->sent = 1;
	} else {
		call_put(call, 200, strdup(piece->text));
	}
}

static char *write_wish(const struct json_value *request)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "code", json_member_text(request, "code", ""));
	json_key_string(&w, "context_id", json_member_text(request, "context", NULL));
	json_end_object(&w);
	return json_take(&w);
}

static void run(struct call *call, const struct json_value *request, const char *wish)
{
	struct piece piece = { 0 };
	const struct exchange_order order = {
		.url = call->service->data_url,
		.method = "POST",
		.path = "/execute",
		.ca_file = call->service->ca_file,
		.headers = call->service->headers,
		.body = wish,
		.body_len = strlen(wish),
		.most = REMOTE_JSON_MAX,
		.take = take,
		.context = &piece,
	};
	struct exchange *exchange = exchange_new(&order);
	CURLM *multi = curl_multi_init();
	struct remote_answer got = { 0 };
	const char *given_up = NULL;
	char *body = NULL;

	piece.events = open_memstream(&piece.text, &piece.text_len);
	if (!exchange || !multi || !piece.events ||
	    curl_multi_add_handle(multi, exchange_handle(exchange)) != CURLM_OK) {
		call_put(call, 200, NULL);
		if (exchange)
			exchange_finish(exchange, CURLE_ABORTED_BY_CALLBACK, &got, &body);
	} else {
		given_up = loop(&piece, multi, exchange, json_member_uint(request, "timeoutMs"), &got, &body);
		answer(call, &piece, given_up, &got, body);
	}
	curl_multi_cleanup(multi);
	if (piece.events)
		fclose(piece.events);
	free(piece.text);
	free(piece.line);
	free(piece.value);
	free(piece.error);
	free(body);
}

void contexts_run(struct call *call)
{
	struct json_value *request = call_read_request(call);
	char *wish = NULL;

	if (!request)
		return;
	e2b_catch();
	wish = write_wish(request);
	if (!wish)
		call_put(call, 200, NULL);
	else if (open_interpreter(call))
		run(call, request, wish);
	else if (!call->ret->status)
		call->ret->sent = 0; /* nothing about the piece */
	free(wish);
	json_free(request);
}
