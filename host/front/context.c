#include "host/front/context.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "runtime/session/frames.h"

static struct context_visit *of_visit(struct visit *visit)
{
	return (struct context_visit *)(void *)visit;
}

/* An unknown language is a wrong argument here. */
void context_fail(struct context_visit *context, const struct warder_error *err)
{
	visit_error_http(&context->visit,
			 err->code == WARDER_ERROR_UNSUPPORTED_LANGUAGE ? 400 : link_status(err->code), err);
}

bool context_is_there(const struct json_value *row)
{
	const struct json_value *released = json_member(row, "released");

	return json_member(row, "context") && strcmp(json_member_text(row, "state", ""), "ended") != 0 &&
	       !(released && released->boolean);
}

/* ---- requests to the keeper ---- */

static void look(struct context_visit *context)
{
	struct warder_error err = { 0 };

	/* Only a list that the client gets has counters: each costs the keeper 20 system calls. */
	if ((context->call == CALL_LIST ? channel_ask(context->visit.channel, RECORD_LIST, 0, &err)
					: channel_list_briefly(context->visit.channel, &err)) < 0)
		context_fail(context, &err);
}

static void start(struct context_visit *context)
{
	struct visit *visit = &context->visit;
	char *argv[] = { (char *)(uintptr_t)context->language, context->name, NULL };
	const struct channel_command command = {
		.policy = visit->policy, .argv = argv, .context = true, .id = context->id
	};
	struct warder_error err = { 0 };

	if (channel_start(visit->channel, &command, &err) < 0)
		context_fail(context, &err);
}

static void run_piece(struct context_visit *context)
{
	struct warder_error err = { 0 };

	context->asked = true;
	if (channel_piece(context->visit.channel, context->code, context->timeout_us, context->key, &err) < 0)
		context_fail(context, &err);
}

/* The piece of an earlier request with the key. */
static void repeat(struct context_visit *context)
{
	struct warder_error err = { 0 };

	if (channel_repeat(context->visit.channel, context->key, &err) < 0)
		context_fail(context, &err);
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
		context_fail(context, &err);
}

/* ---- what the keeper says ---- */

/* The context that an earlier request with the key has created; NULL: none has. *ret_same: that was the same request. */
static const struct json_value *find_created(const struct context_visit *context,
					     const struct json_value *rows, bool *ret_same)
{
	for (const struct json_value *row = rows->child; row; row = row->next) {
		const char *id = json_member_text(row, "id", "");

		*ret_same = strcmp(id, context->id) == 0;
		if (json_member(row, "context") && strncmp(id, context->id, REMOTE_ID_LENGTH / 2) == 0)
			return row;
	}
	return NULL;
}

/* Of a creation with a key. */
static void create_once(struct context_visit *context, const struct json_value *rows)
{
	bool same;
	const struct json_value *found = find_created(context, rows, &same);
	struct warder_error err = { 0 };

	if (!found) {
		start(context);
	} else if (!same) {
		error_set(&err, WARDER_ERROR_CONFLICT, "idempotencyKey",
			  "another request with this key has created context %.64s; use a new key",
			  json_member_text(found, "context", ""));
		context_fail(context, &err);
	} else {
		channel_choose(context->visit.channel, context->id);
		snprintf(context->name, sizeof(context->name), "%s", json_member_text(found, "context", ""));
		context->form->created(context, true);
	}
}

static void take_rows(struct context_visit *context, const char *text)
{
	struct json_value *rows = visit_rows(&context->visit, text);
	const struct json_value *found = NULL;
	struct warder_error err = { 0 };

	if (!rows)
		return;
	for (const struct json_value *row = rows->child; row; row = row->next)
		if (context_is_there(row) && strcmp(json_member_text(row, "context", ""), context->name) == 0)
			found = row;
	if (context->call == CALL_LIST) {
		context->form->listed(context, rows);
	} else if (context->call == CALL_CREATE) {
		create_once(context, rows);
	} else if (found) {
		act(context, found);
	} else if (context->may_create) {
		start(context);
	} else {
		error_set(&err, WARDER_ERROR_NOT_FOUND, "context", "there is no context %s", context->name);
		context_fail(context, &err);
	}
	json_free(rows);
}

static void answered_well(struct context_visit *context, enum record_type request, const char *text,
			  uint64_t pieces_before)
{
	if (request == RECORD_LIST) {
		take_rows(context, text);
	} else if (request == RECORD_START && context->call == CALL_CREATE) {
		context->form->created(context, false);
	} else if (request == RECORD_START && context->call == CALL_PIECE) {
		run_piece(context);
	} else if (request == RECORD_PIECE || request == RECORD_REPEAT) {
		context->runs = pieces_before == 0;
		visit_drop_policy(&context->visit);
		context->code = NULL; /* begun() may free it */
		context->form->begun(context);
	} else if (request == RECORD_START || request == RECORD_DELETE || request == RECORD_INTERRUPT) {
		/* A restart is answered as the start that it is. */
		context->visit.over = true;
		exchange_empty(context->visit.x, 204);
	}
}

/* Whether another call has made the context meanwhile. */
static bool came_second(const struct context_visit *context, const struct warder_error *err)
{
	return err->code == WARDER_ERROR_CONFLICT &&
	       (context->call == CALL_PIECE ||
		(context->call == CALL_CREATE && *context->id && strcmp(err->field, "id") == 0));
}

static void on_answered(void *of, enum record_type request, const struct record_answer *answer,
			const char *text)
{
	struct context_visit *context = of;

	if (!answer->failed)
		answered_well(context, request, text, answer->values[0]);
	else if ((request == RECORD_START && came_second(context, &answer->error)) ||
		 (request == RECORD_REPEAT && answer->error.code == WARDER_ERROR_NOT_FOUND))
		look(context);
	else if (request != RECORD_CLOSE)
		context_fail(context, &answer->error);
}

static void on_bytes(void *of, int stream, uint64_t offset, const char *bytes, size_t len)
{
	struct context_visit *context = of;

	context->runs = true;
	context->form->bytes(context, stream, offset, bytes, len);
}

static void on_gap(void *of, int stream, uint64_t from, uint64_t to)
{
	struct context_visit *context = of;

	context->runs = true;
	context->form->gap(context, stream, from, to);
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
			context_fail(context, &err);
		return;
	}
	bundle = text ? said_bundle(text, strlen(text)) : NULL;
	if (bundle)
		context->form->shown(context, bundle, strlen(text));
	json_free(bundle);
}

static void on_done(void *of, const struct record_done *end, const char *text)
{
	struct context_visit *context = of;

	context->runs = context->asked = false;
	context->form->ended(context, end, text);
}

static const struct channel_events context_events = { .answered = on_answered,
						      .bytes = on_bytes,
						      .gap = on_gap,
						      .shown = on_shown,
						      .done = on_done,
						      .lost = visit_lost };

/* ---- the call ---- */

static void begin(struct visit *visit)
{
	struct context_visit *context = of_visit(visit);

	if (context->call == CALL_CREATE && !*context->id)
		start(context);
	else if (context->call == CALL_PIECE && *context->key)
		repeat(context);
	else
		look(context);
}

/* A client that leaves while its piece runs interrupts it, unless it may ask again with a key. A piece that waits is dropped by the keeper. */
static void done(struct visit *visit)
{
	struct context_visit *context = of_visit(visit);

	if (visit->channel && context->asked && context->runs && !*context->key)
		visit_leave(visit, RECORD_INTERRUPT, 0);
	context->form->freed(context);
}

struct context_visit *context_new(struct exchange *x, size_t size, enum context_call call,
				  const struct context_form *form)
{
	struct context_visit *context = (struct context_visit *)(void *)visit_new(x, size);

	if (!context)
		return NULL;
	context->form = form;
	context->call = call;
	context->language = CONTEXT_LANGUAGE;
	context->visit.plain = context->visit.needs_policy = true;
	context->visit.events = &context_events;
	context->visit.begin = begin;
	context->visit.done = done;
	return context;
}

int context_set_name(struct context_visit *context, const char *name, struct warder_error *err)
{
	if (session_check_name(name, err) < 0) {
		snprintf(err->field, sizeof(err->field), "context");
		return -1;
	}
	snprintf(context->name, sizeof(context->name), "%s", name);
	return 0;
}

/* Half of it is of the client's key, and half of the request. */
void context_set_key(struct context_visit *context, const char *key)
{
	const char *body = context->visit.x->body;
	char digest[2][SHA256_HEX];

	link_digest(key, digest[0]);
	link_digest(body ? body : "", digest[1]);
	snprintf(context->key, sizeof(context->key), "%.*s%.*s", RECORD_KEY_LENGTH / 2, digest[0],
		 RECORD_KEY_LENGTH / 2, digest[1]);
	if (context->call == CALL_CREATE)
		snprintf(context->id, sizeof(context->id), "%.*s%.*s", REMOTE_ID_LENGTH / 2, digest[0],
			 REMOTE_ID_LENGTH / 2, digest[1]);
}

bool context_draw_name(struct context_visit *context)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number)) {
		visit_fail_http(&context->visit, 503, "there is no random number yet; try again");
		return false;
	}
	snprintf(context->name, sizeof(context->name), "c%016llx", (unsigned long long)number);
	return true;
}

bool context_name_default(struct context_visit *context)
{
	char name[SESSION_NAME_MAX + 1];
	struct warder_error err = { 0 };

	context->may_create = true;
	/* A language whose name is cut is unknown to the keeper, too. */
	snprintf(name, sizeof(name), "default-%.40s", context->language);
	if (context_set_name(context, name, &err) == 0)
		return true;
	error_set(&err, WARDER_ERROR_UNSUPPORTED_LANGUAGE, "language", "unknown language \"%.40s\"",
		  context->language);
	context_fail(context, &err);
	return false;
}
