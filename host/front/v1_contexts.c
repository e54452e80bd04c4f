/*
 * The contexts of a sandbox, in Warder's own API: interpreters that keep their variables between pieces of code.
 *
 * A piece is answered with the object of `warder context run --json`, or, if the client accepts text/event-stream, with events as they come:
 * output, gap, shown, end. A client that leaves while its piece runs interrupts it. What the context says of itself stands in contextSays;
 * the rest is the keeper's word.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/text.h"
#include "host/front/envd.h"
#include "host/front/v1.h"
#include "runtime/session/frames.h"

#define LANGUAGE   "python"
#define STREAM_MAX ((size_t)1 << 20) /* bytes of a stream in an answer that comes in one piece */
#define SHOWN_MAX  ((size_t)8 << 20) /* of everything that is shown there */

enum context_call { CALL_LIST, CALL_CREATE, CALL_DELETE, CALL_RESTART, CALL_INTERRUPT, CALL_PIECE };

struct kept {
	char *bytes; /* owned */
	size_t len;
	bool missing;
};

struct context_visit {
	struct visit visit;
	enum context_call call;
	struct json_value *document;     /* of the body; or NULL */
	char name[SESSION_NAME_MAX + 1]; /* of the context */
	const char *language;
	bool may_create;  /* the context is made if it is not there */
	bool events;      /* the answer comes as events */
	bool asked, runs; /* the piece was sent; it runs, so far as can be seen */
	struct kept kept[2];
	struct json_writer shown; /* an array of bundles */
	size_t shown_bytes;
	bool shown_missing;
};

static struct context_visit *of_visit(struct visit *visit)
{
	return (struct context_visit *)(void *)visit;
}

static void fail(struct context_visit *context, const struct warder_error *err)
{
	if (context->visit.over)
		return;
	context->visit.over = true;
	if (context->visit.streams)
		exchange_abort(context->visit.x);
	else
		exchange_error(context->visit.x,
			       err->code == WARDER_ERROR_UNSUPPORTED_LANGUAGE ? 400 : link_status(err->code),
			       err);
}

static void reply(struct context_visit *context, unsigned int status, struct json_writer *w)
{
	context->visit.over = true;
	exchange_json(context->visit.x, status, json_take(w));
}

/* ---- the list ---- */

static bool is_there(const struct json_value *row)
{
	const struct json_value *released = json_member(row, "released");

	return json_member(row, "context") && strcmp(json_member_text(row, "state", ""), "ended") != 0 &&
	       !(released && released->boolean);
}

static void send_contexts(struct context_visit *context, const struct json_value *rows)
{
	struct json_writer w = { 0 };

	json_begin_array(&w);
	for (const struct json_value *row = rows->child; row; row = row->next)
		if (is_there(row))
			json_copy(&w, row);
	json_end_array(&w);
	reply(context, 200, &w);
}

/* ---- a piece ---- */

static void keep(struct kept *kept, const char *bytes, size_t len)
{
	const size_t room = STREAM_MAX - kept->len;
	const size_t part = len < room ? len : room;
	char *grown = part ? realloc(kept->bytes, kept->len + part) : NULL;

	kept->missing = kept->missing || part < len || (part && !grown);
	if (!grown)
		return;
	memcpy(grown + kept->len, bytes, part);
	kept->bytes = grown;
	kept->len += part;
}

/* What is kept for the client counts as a stream that it does not read. */
static void count_kept(struct context_visit *context)
{
	exchange_waits(context->visit.x, context->kept[0].len + context->kept[1].len + context->shown_bytes,
		       true);
}

static void send_event(struct context_visit *context, const char *name, struct json_writer *w)
{
	struct visit *visit = &context->visit;

	if (!v1_event(visit->x, name, NULL, w) && visit->channel && !visit->held) {
		visit->held = true;
		channel_hold(visit->channel, true);
	}
}

static void on_bytes(void *of, int stream, uint64_t offset, const char *bytes, size_t len)
{
	struct context_visit *context = of;
	struct json_writer w = { 0 };

	context->runs = true;
	if (!context->events) {
		keep(&context->kept[stream], bytes, len);
		count_kept(context);
		return;
	}
	v1_write_output(&w, stream, offset, bytes, len);
	send_event(context, "output", &w);
}

static void on_gap(void *of, int stream, uint64_t from, uint64_t to)
{
	struct context_visit *context = of;
	struct json_writer w = { 0 };

	if (!context->events) {
		context->kept[stream].missing = true;
		return;
	}
	v1_write_gap(&w, stream, from, to);
	send_event(context, "gap", &w);
}

static void take_bundle(struct context_visit *context, const struct json_value *bundle, size_t len)
{
	struct json_writer w = { 0 };

	if (context->events) {
		json_copy(&w, bundle);
		send_event(context, "shown", &w);
	} else if (len > SHOWN_MAX - context->shown_bytes) {
		context->shown_missing = true;
	} else {
		context->shown_bytes += len;
		json_copy(&context->shown, bundle);
		count_kept(context);
	}
}

static void on_shown(void *of, unsigned int type, const char *text)
{
	struct context_visit *context = of;
	struct json_value *bundle;
	struct warder_error err = { 0 };

	context->runs = true;
	if (type == FRAME_ASKS) {
		/* Nobody can be asked: input() finds the end of its input. */
		if (channel_ask(context->visit.channel, RECORD_CLOSE, 0, &err) < 0)
			fail(context, &err);
		return;
	}
	bundle = text ? said_bundle(text, strlen(text)) : NULL;
	if (bundle)
		take_bundle(context, bundle, strlen(text));
	json_free(bundle);
}

static void write_stream(struct json_writer *w, const char *name, const struct kept *kept, uint64_t bytes)
{
	json_key(w, name);
	json_begin_object(w);
	text_write(w, "text", kept->bytes ? kept->bytes : "", kept->len, kept->missing);
	json_key_uint(w, "bytesKept", kept->len);
	json_key_uint(w, "bytesTotal", bytes);
	json_key_bool(w, "truncated", kept->missing);
	json_end_object(w);
}

static void write_streams(struct context_visit *context, const struct remote_done *done,
			  struct json_writer *w)
{
	if (context->events) {
		json_key_uint(w, "stdoutBytes", done->bytes[0]);
		json_key_uint(w, "stderrBytes", done->bytes[1]);
	} else {
		write_stream(w, "stdout", &context->kept[0], done->bytes[0]);
		write_stream(w, "stderr", &context->kept[1], done->bytes[1]);
	}
}

/* What it has shown, in its order, and whether some of it is missing. */
static void write_shown(struct context_visit *context, struct json_writer *w)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX };
	struct json_value *rows = NULL;
	struct warder_error ignored;
	char *text;

	json_end_array(&context->shown);
	text = json_take(&context->shown);
	if (text && json_parse(text, strlen(text), "shown", &limits, &rows, &ignored) == 0) {
		json_key(w, "shown");
		json_copy(w, rows);
	}
	json_free(rows);
	free(text);
	if (context->shown_missing)
		json_key_bool(w, "shownTruncated", true);
}

static void write_end(struct context_visit *context, const struct remote_done *done, const struct said *said,
		      struct json_writer *w)
{
	json_begin_object(w);
	said_write_piece(w, context->visit.x->sandbox, context->name, done, said);
	write_streams(context, done, w);
	said_write_end(w, done);
	json_key(w, "contextSays");
	json_begin_object(w);
	said_write(w, said);
	if (!context->events)
		write_shown(context, w);
	json_end_object(w);
	json_end_object(w);
}

static void on_done(void *of, const struct record_done *record, const char *text)
{
	struct context_visit *context = of;
	struct remote_done done;
	struct json_writer w = { 0 };
	struct said said;

	context->runs = context->asked = false;
	remote_take_done(record, &done);
	said_parse(text ? text : "", text ? strlen(text) : 0, &said);
	write_end(context, &done, &said, &w);
	said_done(&said);
	if (context->events) {
		send_event(context, "end", &w);
		visit_end(&context->visit);
	} else {
		reply(context, 200, &w);
	}
}

static void run_piece(struct context_visit *context)
{
	const struct json_value *timeout = json_member(context->document, "timeoutMs");
	const char *code = json_member_text(context->document, "code", "");
	struct warder_error err = { 0 };

	context->asked = true;
	json_begin_array(&context->shown);
	if (channel_piece(
		context->visit.channel, code, strlen(code),
		timeout && timeout->is_uint && timeout->uint < UINT64_MAX / 1000 ? timeout->uint * 1000 : 0,
		&err) < 0)
		fail(context, &err);
}

/* ---- what the keeper says ---- */

static void start_context(struct context_visit *context)
{
	struct visit *visit = &context->visit;
	char *argv[] = { (char *)(uintptr_t)context->language, context->name, NULL };
	const struct channel_command command = { .policy = visit->policy, .argv = argv, .context = true };
	struct warder_error err = { 0 };

	if (channel_start(visit->channel, &command, &err) < 0)
		fail(context, &err);
}

static void look(struct context_visit *context)
{
	struct warder_error err = { 0 };

	if (channel_ask(context->visit.channel, RECORD_LIST, 0, &err) < 0)
		fail(context, &err);
}

static void act(struct context_visit *context, const struct json_value *row)
{
	static const enum record_type asks[] = { [CALL_DELETE] = RECORD_DELETE,
						 [CALL_RESTART] = RECORD_RESTART,
						 [CALL_INTERRUPT] = RECORD_INTERRUPT };
	struct warder_error err = { 0 };

	channel_choose(context->visit.channel, json_member_text(row, "id", ""));
	if (context->call == CALL_PIECE)
		run_piece(context);
	else if (channel_ask(context->visit.channel, asks[context->call], 0, &err) < 0)
		fail(context, &err);
}

static void take_rows(struct context_visit *context, const char *text)
{
	struct json_value *rows = visit_rows(&context->visit, text);
	const struct json_value *found = NULL;
	struct warder_error err = { 0 };

	if (!rows)
		return;
	for (const struct json_value *row = rows->child; row; row = row->next)
		if (is_there(row) && strcmp(json_member_text(row, "context", ""), context->name) == 0)
			found = row;
	if (context->call == CALL_LIST) {
		send_contexts(context, rows);
	} else if (found) {
		act(context, found);
	} else if (context->may_create) {
		start_context(context);
	} else {
		error_set(&err, WARDER_ERROR_NOT_FOUND, "context", "there is no context %s", context->name);
		fail(context, &err);
	}
	json_free(rows);
}

static void say_made(struct context_visit *context)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "context", context->name);
	json_key_string(&w, "language", context->language);
	json_key_string(&w, "id", channel_execution(context->visit.channel));
	json_key_string(&w, "sandbox", context->visit.x->sandbox);
	json_end_object(&w);
	reply(context, 201, &w);
}

static void answered_well(struct context_visit *context, enum record_type request, const char *text,
			  uint64_t pieces_before)
{
	if (request == RECORD_LIST) {
		take_rows(context, text);
	} else if (request == RECORD_START && context->call == CALL_CREATE) {
		say_made(context);
	} else if (request == RECORD_START && context->call == CALL_PIECE) {
		run_piece(context);
	} else if (request == RECORD_PIECE) {
		context->runs = pieces_before == 0;
		if (context->events)
			visit_begin_stream(&context->visit, "text/event-stream");
	} else if (request == RECORD_START || request == RECORD_DELETE || request == RECORD_INTERRUPT) {
		/* A restart is answered as the start that it is. */
		context->visit.over = true;
		exchange_empty(context->visit.x, 204);
	}
}

static void on_answered(void *of, enum record_type request, const struct record_answer *answer,
			const char *text)
{
	struct context_visit *context = of;

	if (!answer->failed)
		answered_well(context, request, text, answer->values[0]);
	else if (request == RECORD_START && context->call == CALL_PIECE &&
		 answer->error.code == WARDER_ERROR_CONFLICT)
		look(context); /* another call has made it meanwhile */
	else if (request != RECORD_CLOSE)
		fail(context, &answer->error);
}

static const struct channel_events context_events = { .answered = on_answered,
						      .bytes = on_bytes,
						      .gap = on_gap,
						      .shown = on_shown,
						      .done = on_done,
						      .lost = visit_lost };

/* ---- requests ---- */

static void done(struct visit *visit)
{
	struct context_visit *context = of_visit(visit);

	if (visit->channel && context->asked && context->runs)
		visit_leave(visit, RECORD_INTERRUPT, 0);
	for (int i = 0; i < 2; i++)
		free(context->kept[i].bytes);
	json_writer_done(&context->shown);
	json_free(context->document);
}

static void begin(struct visit *visit)
{
	struct context_visit *context = of_visit(visit);

	if (context->call == CALL_CREATE)
		start_context(context);
	else
		look(context);
}

static struct context_visit *context_new(struct exchange *x, enum context_call call)
{
	struct context_visit *context = (struct context_visit *)(void *)visit_new(x, sizeof(*context));

	if (!context)
		return NULL;
	context->call = call;
	context->language = LANGUAGE;
	context->visit.events = &context_events;
	context->visit.begin = begin;
	context->visit.done = done;
	return context;
}

static bool take_name(struct context_visit *context, const char *name)
{
	struct warder_error err = { 0 };

	if (session_check_name(name, &err) < 0) {
		snprintf(err.field, sizeof(err.field), "context");
		fail(context, &err);
		return false;
	}
	snprintf(context->name, sizeof(context->name), "%s", name);
	return true;
}

void v1_list_contexts(struct exchange *x)
{
	struct context_visit *context = context_new(x, CALL_LIST);

	if (context)
		visit_open(&context->visit);
}

/* Without a name, a context gets one that is drawn. */
static bool draw_name(struct context_visit *context)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number)) {
		visit_fail_http(&context->visit, 503, "there is no random number yet; try again");
		return false;
	}
	snprintf(context->name, sizeof(context->name), "c%016llx", (unsigned long long)number);
	return true;
}

void v1_create_context(struct exchange *x)
{
	struct context_visit *context = context_new(x, CALL_CREATE);
	const char *name;

	if (!context || exchange_object(x, &context->document) < 0)
		return;
	name = json_member_text(context->document, "context", NULL);
	context->language = json_member_text(context->document, "language", LANGUAGE);
	if (name ? take_name(context, name) : draw_name(context))
		visit_open(&context->visit);
}

void v1_run_piece(struct exchange *x)
{
	struct context_visit *context = context_new(x, CALL_PIECE);
	const char *accepts = exchange_header(x, "Accept");
	const char *name, *language;
	char made[SESSION_NAME_MAX + 1];

	if (!context || exchange_object(x, &context->document) < 0)
		return;
	name = json_member_text(context->document, "context", NULL);
	language = json_member_text(context->document, "language", NULL);
	context->events = accepts && strstr(accepts, "text/event-stream");
	context->may_create = !name;
	if (name && language) {
		visit_fail_http(&context->visit, 400,
				"\"context\" has a language already; leave \"language\" out");
		return;
	}
	context->language = language ? language : LANGUAGE;
	snprintf(made, sizeof(made), "default-%.40s", context->language);
	if (take_name(context, name ? name : made))
		visit_open(&context->visit);
}

static void about_one(struct exchange *x, enum context_call call)
{
	struct context_visit *context = context_new(x, call);

	if (context && take_name(context, x->args[1]))
		visit_open(&context->visit);
}

void v1_delete_context(struct exchange *x)
{
	about_one(x, CALL_DELETE);
}

void v1_restart_context(struct exchange *x)
{
	about_one(x, CALL_RESTART);
}

void v1_interrupt_context(struct exchange *x)
{
	about_one(x, CALL_INTERRUPT);
}
