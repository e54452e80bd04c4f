/*
 * The contexts of a sandbox, in Warder's own API: interpreters that keep their variables between pieces of code.
 *
 * A piece is answered with the object of `warder context run --json`, or, if the client accepts text/event-stream, with events as they come:
 * output, gap, shown, end. A client that leaves while its piece runs interrupts it, unless the request had an idempotency key: then the keeper
 * keeps the piece, and gives it to the same request when that comes again. What the context says of itself stands in contextSays;
 * the rest is the keeper's word.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/front/context.h"
#include "host/front/v1.h"
#include "runtime/session/frames.h"

#define STREAM_MAX ((size_t)1 << 20) /* bytes of a stream in an answer that comes in one piece */
#define SHOWN_MAX  ((size_t)8 << 20) /* of everything that is shown there */

struct kept {
	char *bytes; /* owned */
	size_t len;
	bool missing;
};

struct own_visit {
	struct context_visit context;
	struct json_value *document; /* of the body; or NULL */
	bool events;                 /* the answer comes as events */
	struct kept kept[2];
	struct json_writer shown; /* an array of bundles */
	size_t shown_bytes;
	bool shown_missing;
};

static struct own_visit *own_of(struct context_visit *context)
{
	return (struct own_visit *)(void *)context;
}

static void reply(struct context_visit *context, unsigned int status, struct json_writer *w)
{
	context->visit.over = true;
	exchange_json(context->visit.x, status, json_take(w));
}

/* ---- the list ---- */

static void send_contexts(struct context_visit *context, const struct json_value *rows)
{
	struct json_writer w = { 0 };

	json_begin_array(&w);
	for (const struct json_value *row = rows->child; row; row = row->next)
		if (context_is_there(row))
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
static void count_kept(struct own_visit *own)
{
	exchange_waits(own->context.visit.x, own->kept[0].len + own->kept[1].len + own->shown_bytes, true);
}

static void send_event(struct own_visit *own, const char *name, struct json_writer *w)
{
	struct visit *visit = &own->context.visit;

	if (!v1_event(visit->x, name, NULL, w) && visit->channel && !visit->held) {
		visit->held = true;
		channel_hold(visit->channel, true);
	}
}

static void drop_document(struct own_visit *own)
{
	json_free(own->document);
	own->document = NULL;
	exchange_keep(own->context.visit.x, NULL, 0);
}

static void begun(struct context_visit *context)
{
	struct own_visit *own = own_of(context);

	drop_document(own); /* a piece may last for hours */
	if (own->events)
		visit_begin_stream(&context->visit, "text/event-stream");
}

static void take_bytes(struct context_visit *context, int stream, uint64_t offset, const char *bytes,
		       size_t len)
{
	struct own_visit *own = own_of(context);
	struct json_writer w = { 0 };

	if (!own->events) {
		keep(&own->kept[stream], bytes, len);
		count_kept(own);
		return;
	}
	v1_write_output(&w, stream, offset, bytes, len);
	send_event(own, "output", &w);
}

static void take_gap(struct context_visit *context, int stream, uint64_t from, uint64_t to)
{
	struct own_visit *own = own_of(context);
	struct json_writer w = { 0 };

	if (!own->events) {
		own->kept[stream].missing = true;
		return;
	}
	v1_write_gap(&w, stream, from, to);
	send_event(own, "gap", &w);
}

static void take_bundle(struct context_visit *context, const struct json_value *bundle, size_t len)
{
	struct own_visit *own = own_of(context);
	struct json_writer w = { 0 };

	if (own->events) {
		json_copy(&w, bundle);
		send_event(own, "shown", &w);
	} else if (len > SHOWN_MAX - own->shown_bytes) {
		own->shown_missing = true;
	} else {
		own->shown_bytes += len;
		json_copy(&own->shown, bundle);
		count_kept(own);
	}
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

static void write_streams(struct own_visit *own, const struct remote_done *done, struct json_writer *w)
{
	if (own->events) {
		json_key_uint(w, "stdoutBytes", done->bytes[0]);
		json_key_uint(w, "stderrBytes", done->bytes[1]);
	} else {
		write_stream(w, "stdout", &own->kept[0], done->bytes[0]);
		write_stream(w, "stderr", &own->kept[1], done->bytes[1]);
	}
}

/* What it has shown, in its order, and whether some of it is missing. */
static void write_shown(struct own_visit *own, struct json_writer *w)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX };
	struct json_value *rows = NULL;
	struct warder_error ignored;
	char *text;

	json_end_array(&own->shown);
	text = json_take(&own->shown);
	if (text && json_parse(text, strlen(text), "shown", &limits, &rows, &ignored) == 0) {
		json_key(w, "shown");
		json_copy(w, rows);
	}
	json_free(rows);
	free(text);
	if (own->shown_missing)
		json_key_bool(w, "shownTruncated", true);
}

static void write_end(struct own_visit *own, const struct remote_done *done, const struct said *said,
		      struct json_writer *w)
{
	json_begin_object(w);
	said_write_piece(w, own->context.visit.x->sandbox, own->context.name, done, said);
	write_streams(own, done, w);
	said_write_end(w, done);
	json_key(w, "contextSays");
	json_begin_object(w);
	said_write(w, said);
	if (!own->events)
		write_shown(own, w);
	json_end_object(w);
	json_end_object(w);
}

static void ended(struct context_visit *context, const struct record_done *record, const char *text)
{
	struct own_visit *own = own_of(context);
	struct remote_done done;
	struct json_writer w = { 0 };
	struct said said;

	remote_take_done(record, &done);
	said_parse(text ? text : "", text ? strlen(text) : 0, &said);
	write_end(own, &done, &said, &w);
	said_done(&said);
	if (own->events) {
		send_event(own, "end", &w);
		visit_end(&context->visit);
	} else {
		reply(context, 200, &w);
	}
}

/* ---- requests ---- */

static void say_made(struct context_visit *context, bool again)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "context", context->name);
	json_key_string(&w, "language", context->language);
	json_key_string(&w, "id", channel_execution(context->visit.channel));
	json_key_string(&w, "sandbox", context->visit.x->sandbox);
	json_end_object(&w);
	reply(context, again ? 200 : 201, &w);
}

static void freed(struct context_visit *context)
{
	struct own_visit *own = own_of(context);

	for (int i = 0; i < 2; i++)
		free(own->kept[i].bytes);
	json_writer_done(&own->shown);
	json_free(own->document);
}

/* The document of the body. False: the client was answered. */
static bool take_document(struct own_visit *own)
{
	struct exchange *x = own->context.visit.x;

	if (exchange_object(x, &own->document) == 0 && exchange_keep(x, own->document, 0))
		return true;
	drop_document(own);
	return false;
}

static struct own_visit *own_new(struct exchange *x, enum context_call call)
{
	static const struct context_form form = { .listed = send_contexts,
						  .created = say_made,
						  .begun = begun,
						  .bytes = take_bytes,
						  .gap = take_gap,
						  .shown = take_bundle,
						  .ended = ended,
						  .freed = freed };

	return (struct own_visit *)(void *)context_new(x, sizeof(struct own_visit), call, &form);
}

static bool take_name(struct own_visit *own, const char *name)
{
	struct warder_error err = { 0 };

	if (context_set_name(&own->context, name, &err) == 0)
		return true;
	context_fail(&own->context, &err);
	return false;
}

/* The idempotency key of the body. False: the client was answered. */
static bool take_key(struct own_visit *own)
{
	const char *key = json_member_text(own->document, "idempotencyKey", NULL);
	struct warder_error err = { 0 };

	if (key && v1_check_key(key, &err) < 0) {
		context_fail(&own->context, &err);
		return false;
	}
	if (key)
		context_set_key(&own->context, key);
	return true;
}

void v1_list_contexts(struct exchange *x)
{
	struct own_visit *own = own_new(x, CALL_LIST);

	if (own)
		visit_open(&own->context.visit);
}

/* Without a name, a context gets one that is drawn. */
void v1_create_context(struct exchange *x)
{
	struct own_visit *own = own_new(x, CALL_CREATE);
	const char *name;

	if (!own || !take_document(own))
		return;
	name = json_member_text(own->document, "context", NULL);
	own->context.language = json_member_text(own->document, "language", CONTEXT_LANGUAGE);
	if (!take_key(own))
		return;
	if (name ? take_name(own, name) : context_draw_name(&own->context))
		visit_open(&own->context.visit);
}

/* The piece of a body. */
static void take_piece(struct own_visit *own)
{
	const struct json_value *timeout = json_member(own->document, "timeoutMs");
	const char *accepts = exchange_header(own->context.visit.x, "Accept");

	own->context.code = json_member_text(own->document, "code", "");
	if (timeout && timeout->is_uint && timeout->uint < UINT64_MAX / 1000)
		own->context.timeout_us = timeout->uint * 1000;
	own->events = accepts && strstr(accepts, "text/event-stream");
	json_begin_array(&own->shown);
}

void v1_run_piece(struct exchange *x)
{
	struct own_visit *own = own_new(x, CALL_PIECE);
	const char *name, *language;

	if (!own || !take_document(own))
		return;
	take_piece(own);
	if (!take_key(own))
		return;
	name = json_member_text(own->document, "context", NULL);
	language = json_member_text(own->document, "language", NULL);
	if (name && language) {
		visit_fail_http(&own->context.visit, 400,
				"\"context\" has a language already; leave \"language\" out");
		return;
	}
	if (language)
		own->context.language = language;
	if (name ? take_name(own, name) : context_name_default(&own->context))
		visit_open(&own->context.visit);
}

static void about_one(struct exchange *x, enum context_call call)
{
	struct own_visit *own = own_new(x, call);

	if (own && take_name(own, x->args[1]))
		visit_open(&own->context.visit);
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
