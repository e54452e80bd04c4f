/*
 * context_remote: the keeper of the sandbox, on its host, runs the context; this command is a client of the host.
 *
 * A piece is one request with an idempotency key, which is repeated until its answer comes: the host keeps the piece for that, and runs it once.
 * In between, the lease is renewed. The answer has the events of the piece in their order, so that everything is printed as by a context here.
 */
#include "runtime/cli/context_remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/sse.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/remote_request.h"
#include "runtime/cli/run_e2b.h"
#include "runtime/cli/term.h"
#include "runtime/library/result_end.h"

#define INTERRUPTED_MS 3000 /* the longest wait in one request after an interrupt: a second signal may come */

bool context_remote_is(const char *session)
{
	struct warder_error err = { 0 };
	struct elsewhere found;
	const int got = elsewhere_read(session, &found, &err);

	return got == 0 || (got < 0 && err.code != WARDER_ERROR_INVALID_REQUEST);
}

/* A request about the contexts of the sandbox. */
static int ask(const struct remote_place *place, const char *rest, struct remote_asking *how, char **ret_text,
	       size_t *ret_len, struct warder_error *err)
{
	if (remote_place_ask(place, rest, how, ret_text, ret_len, err) == 0)
		return 0;
	return remote_place_is_gone(err) ? remote_place_say_gone(&place->session, err) : -1;
}

/* ---- rows ---- */

/* The name that a context got here, of a service of the kind e2b; or what the row has. names: of elsewhere_contexts(), or NULL. */
static const char *name_of(const struct json_value *row, const struct json_value *names)
{
	const char *id = json_member_text(row, "context", "");

	for (const struct json_value *one = names ? names->child : NULL; one; one = one->next)
		if (one->type == JSON_STRING && strcmp(one->string, id) == 0)
			return one->key;
	return id;
}

/* A row with the names of the session and the context here in place of the sandbox's. */
static void write_row(struct json_writer *w, const struct json_value *row, const char *session,
		      const char *name)
{
	json_begin_object(w);
	json_key_string(w, "session", session);
	json_key_string(w, "context", name);
	for (const struct json_value *member = row->child; member; member = member->next) {
		if (strcmp(member->key, "session") == 0 || strcmp(member->key, "context") == 0)
			continue;
		json_key(w, member->key);
		json_copy(w, member);
	}
	json_end_object(w);
}

static bool is_row(const struct json_value *row)
{
	struct warder_error ignored;

	return row->type == JSON_OBJECT &&
	       session_check_name(json_member_text(row, "context", ""), &ignored) == 0;
}

/* The contexts there, and their names here, if the host has none for them. *ret and *ret_names are to be freed by json_free(). */
static int fetch_rows(const struct remote_place *place, struct json_value **ret,
		      struct json_value **ret_names, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = REMOTE_JSON_MAX };
	struct remote_asking how = { 0 };
	char *text = NULL;
	size_t len = 0;
	int status = place->host.e2b ? elsewhere_contexts(place->session.name, ret_names, err) : 0;

	if (status == 0)
		status = ask(place, "/contexts", &how, &text, &len, err);
	if (status == 0)
		status = json_parse(text, len, place->session.backend, &limits, ret, err);
	free(text);
	return status;
}

int context_remote_list(const char *session, struct json_writer *w, struct warder_error *err)
{
	struct remote_place place = { 0 };
	struct json_value *rows = NULL, *names = NULL;
	int status = remote_place_open(session, &place, err);

	if (status == 0)
		status = fetch_rows(&place, &rows, &names, err);
	for (const struct json_value *row = rows ? rows->child : NULL; row && status == 0; row = row->next)
		if (is_row(row))
			write_row(w, row, session, name_of(row, names));
	json_free(rows);
	json_free(names);
	return status;
}

static int list_one(void *context, const char *name)
{
	struct warder_error err = { 0 };

	if (context_remote_list(name, context, &err) < 0)
		term_complain("the contexts of session %s are not listed: %s", name, err.text);
	return 0;
}

int context_remote_list_all(struct json_writer *w, struct warder_error *err)
{
	return elsewhere_each(list_one, w, err);
}

/* id: of the context on its host. */
static int find(const struct remote_place *place, const char *name, char id[ELSEWHERE_SANDBOX_MAX + 1],
		char **ret_row, struct warder_error *err)
{
	struct json_value *rows = NULL, *names = NULL;
	const struct json_value *found = NULL;
	struct json_writer w = { 0 };
	int status = fetch_rows(place, &rows, &names, err);

	for (const struct json_value *row = rows ? rows->child : NULL; row && status == 0; row = row->next)
		if (is_row(row) && strcmp(name_of(row, names), name) == 0)
			found = row;
	if (found) {
		snprintf(id, ELSEWHERE_SANDBOX_MAX + 1, "%s", json_member_text(found, "context", ""));
		write_row(&w, found, place->session.name, name);
	}
	json_free(rows);
	json_free(names);
	if (status < 0)
		return -1;
	if (!found)
		return remote_say_no_context(place->session.name, name, err);
	*ret_row = json_take(&w);
	return *ret_row ? 0 : error_no_memory(err, NULL);
}

int context_remote_open(const char *session, const char *name, struct remote_place *ret,
			char id[ELSEWHERE_SANDBOX_MAX + 1], char **ret_row, struct warder_error *err)
{
	if (session_check_name(name, err) < 0 || remote_place_open(session, ret, err) < 0)
		return -1;
	remote_place_renew(ret);
	return find(ret, name, id, ret_row, err);
}

/* ---- words ---- */

/* The host has no other policy for a context than that of the sandbox. */
static int check_flags(const struct args *args, struct warder_error *err)
{
	const struct remote_request_flag flags[] = {
		{ args->base, "--policy" },
		{ args->ceiling_path, "--ceiling" },
		{ args->output_max, "--max-output" },
		{ args->functions.count > 0, "--function-command" },
		{ 0 },
	};

	for (size_t i = 0; i < args->given.count; i++) {
		const char *flag = args->given.rows[i].flag;

		if (strcmp(flag, "--language") != 0 && strcmp(flag, "--json") != 0 &&
		    strcmp(flag, "--no-config") != 0)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag,
					 "%s: a context in a session on another machine has the policy of "
					 "the session; it can have --language of its own",
					 flag);
	}
	return remote_request_check_flags(flags, "local", err);
}

/* id: of the context on its host, which need not be its name. */
static int act(const struct remote_place *place, const char *id, const char *verb, struct warder_error *err)
{
	const bool ends = strcmp(verb, "delete") == 0;
	struct remote_asking how = { .method = ends ? "DELETE" : "POST",
				     .body = ends ? NULL : "{}",
				     .timeout_ms = 4 * REMOTE_QUESTION_MS,
				     .unstoppable = true };
	char rest[ELSEWHERE_SANDBOX_MAX + 32];

	snprintf(rest, sizeof(rest), "/contexts/%s%s%s", id, ends ? "" : "/", ends ? "" : verb);
	return ask(place, rest, &how, NULL, NULL, err);
}

/* A service of the kind e2b has made a context: give it its name, or delete it again. */
static int name_it(const struct remote_place *place, const char *name, const char *text, size_t len,
		   struct warder_error *err)
{
	char id[ELSEWHERE_SANDBOX_MAX + 1] = "";
	struct warder_error ignored;

	if (remote_place_take_id(text, len, place->session.backend, id, sizeof(id), err) < 0)
		return -1;
	if (elsewhere_name_context(place->session.name, name, id, err) == 0)
		return 0;
	act(place, id, "delete", &ignored);
	return -1;
}

static int start(const struct remote_place *place, const char *language, const char *name,
		 struct warder_error *err)
{
	struct remote_asking how = { .timeout_ms = 4 * REMOTE_QUESTION_MS };
	struct json_writer w = { 0 };
	char key[REMOTE_ID_LENGTH + 1];
	char *body, *text = NULL;
	size_t len = 0;
	int status;

	if (remote_draw_id(key, err) < 0)
		return -1;
	json_begin_object(&w);
	json_key_string(&w, "context", name);
	json_key_string(&w, "language", language ? language : "python");
	json_key_string(&w, "idempotencyKey", key);
	json_end_object(&w);
	body = remote_request_take(&w, err);
	if (!body)
		return -1;
	how.body = body;
	status = ask(place, "/contexts", &how, &text, &len, err);
	free(body);
	if (status == 0 && place->host.e2b)
		status = name_it(place, name, text, len, err);
	free(text);
	return status;
}

/* Whether the name is free here; a host of Warder knows the names itself. */
static int check_free(const struct remote_place *place, const char *name, struct warder_error *err)
{
	struct json_value *names = NULL;
	bool taken;

	if (!place->host.e2b)
		return 0;
	if (elsewhere_contexts(place->session.name, &names, err) < 0)
		return -1;
	taken = json_member(names, name);
	json_free(names);
	return taken ? error_set(err, WARDER_ERROR_CONFLICT, "context",
				 "session %.64s has a context %.64s already", place->session.name, name)
		     : 0;
}

int context_remote_create(const struct args *args, const char *session, const char *name,
			  struct warder_error *err)
{
	struct remote_place place = { 0 };
	int status;

	if (check_flags(args, err) < 0 || session_check_name(name, err) < 0 ||
	    remote_place_open(session, &place, err) < 0 || check_free(&place, name, err) < 0)
		return -1;
	remote_place_renew(&place);
	status = start(&place, args->code.language, name, err);
	remote_place_renew(&place);
	return status;
}

int context_remote_act(const char *session, const char *name, const char *verb, struct warder_error *err)
{
	struct remote_place place = { 0 };
	char id[ELSEWHERE_SANDBOX_MAX + 1];
	struct warder_error gone;
	char *row = NULL;
	int status = context_remote_open(session, name, &place, id, &row, err);

	free(row);
	if (status == 0) {
		status = act(&place, id, verb, err);
		remote_place_renew(&place);
	}
	/* A name whose context the service does not know any more is of no use either. */
	if (place.host.e2b && strcmp(verb, "delete") == 0 &&
	    (status == 0 || (err->code == WARDER_ERROR_NOT_FOUND && strcmp(err->field, "context") == 0)))
		elsewhere_name_context(session, name, NULL, &gone);
	return status;
}

/* ---- a piece ---- */

static char *write_piece(const struct context_remote_piece *piece, uint64_t timeout_us,
			 struct warder_error *err)
{
	struct json_writer w = { 0 };
	char key[REMOTE_ID_LENGTH + 1];

	if (memchr(piece->code, '\0', piece->len)) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "source",
			  "code for a context on another machine must be text, without NUL");
		return NULL;
	}
	if (remote_draw_id(key, err) < 0)
		return NULL;
	json_begin_object(&w);
	json_key_string(&w, "context", piece->context);
	if (timeout_us)
		json_key_uint(&w, "timeoutMs", (timeout_us + 999) / 1000);
	json_key_string(&w, "idempotencyKey", key);
	json_key(&w, "code");
	if (remote_request_text(&w, piece->code, "source", err) < 0) {
		json_writer_done(&w);
		return NULL;
	}
	json_end_object(&w);
	return remote_request_take(&w, err);
}

/* Send the request until its answer comes. As context_remote_run(). */
static int await_answer(const struct remote_place *place, const struct context_remote_piece *piece,
			const char *body, char **ret, size_t *ret_len, struct warder_error *err)
{
	struct remote_asking how = { .body = body, .accept = "text/event-stream", .large = true };
	uint64_t heard_ms = clock_us() / 1000;
	sig_atomic_t heeded = 0;

	for (;;) {
		if (*piece->signals > heeded) {
			struct warder_error ignored;

			if (heeded++ || ending_signal() != SIGINT)
				return 1;
			act(place, piece->context, "interrupt", &ignored);
		}
		how.timeout_ms = heeded ? INTERRUPTED_MS : remote_place_poll_ms(place);
		how.unstoppable = heeded > 0;
		if (remote_place_renew(place))
			heard_ms = clock_us() / 1000;
		if (ask(place, "/code", &how, ret, ret_len, err) == 0)
			return 0;
		if (*piece->signals == heeded &&
		    (err->sys_errno != ETIMEDOUT || remote_place_check_hope(place, heard_ms, err) < 0))
			return -1;
	}
}

/* A service of the kind e2b takes a piece once: the request waits for its end, and a signal ends the request, and with it the piece. As
 * context_remote_run(). */
static int ask_once(const struct remote_place *place, const char *body, uint64_t timeout_us, char **ret,
		    size_t *ret_len, struct warder_error *err)
{
	struct remote_keeping keeping = { 0 };
	struct remote_asking how = { .body = body, .large = true, .keeping = &keeping };
	int status;

	remote_place_start_keeping(place, timeout_us / 1000, &keeping);
	status = ask(place, "/code", &how, ret, ret_len, err);
	return status == 0 && ending_signal() && ending_signal() != SIGINT ? 1 : status;
}

/* The time limit of a piece on a service of the kind e2b, which knows none. -1 with *err: it is above that of the session. */
static int take_time(const struct remote_place *place, uint64_t *timeout_us, struct warder_error *err)
{
	owned_policy struct policy policy = { 0 };

	if (!place->host.e2b)
		return 0;
	if (remote_place_policy(&place->session, *timeout_us, &policy, err) < 0)
		return -1;
	*timeout_us = policy.limits.wall_time_us;
	return 0;
}

/* How the context ended, if it did. */
static void read_last(const struct json_value *data, struct remote_done *ret)
{
	const char *cause = json_member_text(data, "contextCause", NULL);
	const char *signal_name = json_member_text(data, "contextSignal", NULL);
	const struct json_value *code = json_member(data, "contextExitCode");
	struct jail_outcome *outcome = &ret->last.outcome;

	if (!cause)
		return;
	ret->end = strcmp(json_member_text(data, "status", ""), "rejected") == 0 ? CONTEXT_END_NOT_BEGUN
										 : CONTEXT_END_DIED;
	outcome->cause = JAIL_CAUSE_HOST;
	for (enum jail_cause known = 0; known < JAIL_CAUSE_COUNT; known++)
		if (strcmp(jail_cause_name(known), cause) == 0)
			outcome->cause = known;
	outcome->exit_code = code && code->is_uint && code->uint <= 255 ? (int)code->uint : -1;
	outcome->signal = signal_name ? result_signal_number(signal_name) : 0;
	snprintf(ret->why, sizeof(ret->why), "%s", json_member_text(data, "detail", ""));
}

/* *ret_said is heap. */
static void read_done(const struct json_value *data, struct remote_done *ret, char **ret_said)
{
	const struct json_value *said = json_member(data, "contextSays");
	struct json_writer w = { 0 };

	*ret = (struct remote_done){
		.piece = (uint32_t)json_member_uint(data, "piece"),
		.refused = (uint32_t)json_member_uint(data, "refusedFrames"),
		.interrupted = json_member_true(data, "interrupted"),
		.timed_out = json_member_true(data, "timedOut"),
		.cut = json_member_true(data, "saidTruncated"),
		.wall_us = json_member_uint(data, "wallUs"),
		.bytes = { json_member_uint(data, "stdoutBytes"), json_member_uint(data, "stderrBytes") },
	};
	read_last(data, ret);
	if (said)
		json_copy(&w, said);
	*ret_said = json_take(&w);
}

struct handing {
	int (*take)(void *context, struct remote_event *event, struct warder_error *err);
	void *context;
	struct warder_error *err;
	bool ended;
	int status;
};

static void hand_bytes(struct handing *to, const struct json_value *data)
{
	struct remote_event event = { .kind = REMOTE_BYTES,
				      .stream = sse_stream(data),
				      .offset = json_member_uint(data, "offset") };
	size_t len = 0;
	char *bytes = sse_bytes(data, &len);

	event.bytes = bytes;
	event.end = event.offset + len;
	if (bytes)
		to->status = to->take(to->context, &event, to->err);
	free(bytes);
}

static void hand_text(struct handing *to, enum remote_kind kind, const struct json_value *data)
{
	struct remote_event event = { .kind = kind };

	if (kind == REMOTE_DONE) {
		read_done(data, &event.done, &event.text);
		to->ended = true;
	} else {
		event.text = json_text(data);
	}
	event.text_len = event.text ? strlen(event.text) : 0;
	to->status = to->take(to->context, &event, to->err);
	free(event.text);
}

static void hand_event(void *context, const char *name, const struct json_value *data)
{
	struct handing *to = context;
	struct remote_event gap = { .kind = REMOTE_GAP,
				    .stream = sse_stream(data),
				    .offset = json_member_uint(data, "from"),
				    .end = json_member_uint(data, "to") };

	if (to->status < 0 || to->ended)
		return;
	if (strcmp(name, "output") == 0)
		hand_bytes(to, data);
	else if (strcmp(name, "gap") == 0)
		to->status = to->take(to->context, &gap, to->err);
	else if (strcmp(name, "shown") == 0)
		hand_text(to, REMOTE_SHOWN, data);
	else if (strcmp(name, "end") == 0)
		hand_text(to, REMOTE_DONE, data);
}

int context_remote_run(const struct remote_place *place, const struct context_remote_piece *piece,
		       int (*take)(void *context, struct remote_event *event, struct warder_error *err),
		       void *context, struct warder_error *err)
{
	struct handing to = { .take = take, .context = context, .err = err };
	uint64_t timeout_us = piece->timeout_us;
	char *body, *text = NULL;
	size_t len = 0;
	int status;

	if (take_time(place, &timeout_us, err) < 0)
		return -1;
	body = write_piece(piece, timeout_us, err);
	if (!body)
		return -1;
	status = place->host.e2b ? ask_once(place, body, timeout_us, &text, &len, err)
				 : await_answer(place, piece, body, &text, &len, err);
	free(body);
	remote_place_renew(place);
	if (status == 0) {
		status = sse_each(text, len, hand_event, &to, err);
		status = status < 0 ? status : to.status;
	}
	free(text);
	if (status == 0 && !to.ended)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
				 "%s: the answer has no end of the piece; how it ended is not known",
				 place->session.backend);
	return status;
}
