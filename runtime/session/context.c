/*
 * context: the public calls about contexts, over remote.c.
 *
 * A handle has two connections to the keeper. `runner` runs pieces and gets their events, so that it is busy while one runs. `control` asks
 * for one thing after the other meanwhile.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "runtime/library/library.h"
#include "runtime/session/attachment.h"
#include "runtime/session/session.h"

#define EVENTS 64 /* of the keeper, in one dispatch */

struct warder_context {
	char *name;
	struct remote *control, *runner; /* runner: NULL until it is needed */
	struct warder_piece piece;       /* size 0: none runs */
};

/* ---- life ---- */

void warder_context_free(struct warder_context *context)
{
	if (!context)
		return;
	remote_free(context->runner);
	remote_free(context->control);
	free(context->name);
	free(context);
}

/* `control` is taken. */
static int make(struct remote *control, const char *name, struct warder_context **ret,
		struct warder_error *err)
{
	struct warder_context *context = calloc(1, sizeof(*context));

	if (!context) {
		remote_free(control);
		return error_no_memory(err, NULL);
	}
	context->control = control;
	context->name = strdup(name);
	if (!context->name) {
		warder_context_free(context);
		return error_no_memory(err, NULL);
	}
	*ret = context;
	return 0;
}

int warder_context_create(struct warder_session *session, const char *name,
			  const struct warder_context_options *options, struct warder_context **ret,
			  struct warder_error *err)
{
	struct warder_context_options known = { 0 };
	struct remote_command command;
	struct remote *remote;

	if (!session || !name || !ret)
		return error_no_argument(err, !session ? "session" : !name ? "name" : "ret");
	if ((options && library_take(&known, sizeof(known), options, options->size, "warder_context_options",
				     err) != 0) ||
	    session_check_granted(&session->spec.policy, known.ceiling ? &known.ceiling->policy : NULL,
				  err) != 0)
		return -1;
	command = (struct remote_command){
		.policy = known.policy ? &known.policy->policy : &session->spec.policy,
		.ceiling = known.ceiling ? &known.ceiling->policy : NULL,
		.argv = (char *[]){ (char *)(uintptr_t)(known.language ? known.language : "python"),
				    (char *)(uintptr_t)name, NULL },
		.context = true,
		.terminal_fd = -1,
		.output_max = known.output_max,
	};
	return remote_start(session->spec.name, NULL, &command, &remote, err) < 0
		   ? -1
		   : make(remote, name, ret, err);
}

int warder_context_open(const char *session, const char *name, struct warder_context **ret,
			struct warder_error *err)
{
	struct remote *remote;

	if (!session || !name || !ret)
		return error_no_argument(err, !session ? "session" : !name ? "name" : "ret");
	return remote_open_context(session, name, &remote, NULL, err) < 0 ? -1 : make(remote, name, ret, err);
}

const char *warder_context_name(const struct warder_context *context)
{
	return context ? context->name : "";
}

char *warder_context_json(const struct warder_context *context, struct warder_error *err)
{
	struct remote *remote = NULL;
	char *row = NULL;

	if (!context) {
		error_no_argument(err, "context");
		return NULL;
	}
	if (remote_open_context(remote_session(context->control), context->name, &remote, &row, err) < 0)
		return NULL;
	remote_free(remote);
	if (!row)
		error_no_memory(err, NULL);
	return row;
}

/* ---- a piece ---- */

/* A lost connection is of no use any more: the next piece gets another one. */
static int lose(struct warder_context *context)
{
	remote_free(context->runner);
	context->runner = NULL;
	context->piece = (struct warder_piece){ 0 };
	return -1;
}

static int check_idle(const struct warder_context *context, struct warder_error *err)
{
	return context->piece.size == 0
		   ? 0
		   : error_set(err, WARDER_ERROR_CONFLICT, "context",
			       "a piece of this handle of context %s has not ended", context->name);
}

int warder_context_begin(struct warder_context *context, const struct warder_piece *piece,
			 struct warder_error *err)
{
	struct warder_piece known;

	if (!context || !piece || !piece->code)
		return error_no_argument(err, !context ? "context" : !piece ? "piece" : "piece->code");
	if (library_take(&known, sizeof(known), piece, piece->size, "warder_piece", err) != 0 ||
	    check_idle(context, err) != 0)
		return -1;
	if (!context->runner && remote_again(context->control, &context->runner, err) < 0)
		return -1;
	if (remote_piece(context->runner, known.code, known.code_len ? known.code_len : strlen(known.code),
			 known.timeout_us, known.at_once != 0, err) < 0)
		return err->code == WARDER_ERROR_UNAVAILABLE ? lose(context) : -1;
	context->piece = known;
	context->piece.code = NULL; /* the keeper has it */
	return 0;
}

int warder_context_answer(struct warder_context *context, const char *line, size_t len,
			  struct warder_error *err)
{
	return context ? remote_answer(context->control, line, len, err) : error_no_argument(err, "context");
}

int warder_context_interrupt(struct warder_context *context, struct warder_error *err)
{
	return context ? remote_interrupt(context->control, err) : error_no_argument(err, "context");
}

/* The piece may have ended, or have been interrupted, meanwhile. */
static int ask(struct warder_context *context, const struct remote_event *event, struct warder_error *err)
{
	const struct warder_piece *piece = &context->piece;

	if (piece->on_ask) {
		piece->on_ask(piece->context, event->text ? event->text : "", event->text_len);
		return 0;
	}
	return remote_answer(context->control, NULL, 0, err) < 0 && err->code != WARDER_ERROR_CONFLICT ? -1
												       : 0;
}

static void show(const struct warder_piece *piece, const struct remote_event *event)
{
	struct json_value *bundle = piece->on_shown ? said_bundle(event->text, event->text_len) : NULL;

	if (bundle)
		piece->on_shown(piece->context, event->text, event->text_len);
	json_free(bundle);
}

/* The call fails with this: the piece goes on. */
static int hand_on(struct warder_context *context, const struct remote_event *event, struct warder_error *err)
{
	const struct warder_piece *piece = &context->piece;
	const enum warder_stream stream = event->stream ? WARDER_STDERR : WARDER_STDOUT;
	int refused = 0;

	if (event->kind == REMOTE_ASKS)
		return ask(context, event, err);
	if (event->kind == REMOTE_SHOWN)
		show(piece, event);
	else if (event->kind == REMOTE_GAP && piece->on_gap)
		piece->on_gap(piece->context, stream, event->offset, event->end);
	else if (event->kind == REMOTE_BYTES && piece->on_output)
		refused = piece->on_output(piece->context, stream, event->offset, event->bytes,
					   (size_t)(event->end - event->offset));
	return refused ? error_set(err, WARDER_ERROR_EXECUTION_FAILED, "on_output", "on_output returned %d",
				   refused)
		       : 0;
}

static char *write_end(const struct warder_context *context, const struct remote_done *done,
		       const struct said *said, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char *json;

	json_begin_object(&w);
	said_write_piece(&w, remote_session(context->control), context->name, done, said);
	json_key_uint(&w, "stdoutBytes", done->bytes[0]);
	json_key_uint(&w, "stderrBytes", done->bytes[1]);
	said_write_end(&w, done);
	json_key(&w, "contextSays");
	json_begin_object(&w);
	said_write(&w, said);
	json_end_object(&w);
	json_end_object(&w);
	json = json_take(&w);
	if (!json)
		error_no_memory(err, NULL);
	return json;
}

/* 1; -1 with *err. */
static int end(struct warder_context *context, const struct remote_event *event,
	       struct warder_piece_end *ret_end, char **ret_json, struct warder_error *err)
{
	const struct remote_done *done = &event->done;
	struct warder_piece_end known;
	struct said said;
	int ret = 1;

	context->piece = (struct warder_piece){ 0 };
	said_parse(event->text, event->text_len, &said);
	known = (struct warder_piece_end){ .status = said_status(done, &said),
					   .interrupted = done->interrupted,
					   .piece = done->piece,
					   .wall_us = done->wall_us,
					   .bytes = { done->bytes[0], done->bytes[1] } };
	if (ret_json) {
		*ret_json = write_end(context, done, &said, err);
		ret = *ret_json ? 1 : -1;
	}
	said_done(&said);
	if (ret == 1 && ret_end &&
	    library_give(ret_end, ret_end->size, &known, sizeof(known), "warder_piece_end", err) != 0)
		ret = -1;
	return ret;
}

/* Of wait_ms, only the first event is waited for. */
static int step(struct warder_context *context, int wait_ms, struct warder_piece_end *ret_end,
		char **ret_json, struct warder_error *err)
{
	if (context->piece.size == 0)
		return error_set(
		    err, WARDER_ERROR_CONFLICT, "context",
		    "no piece of this handle of context %s runs; warder_context_begin() begins one",
		    context->name);
	for (int i = 0; i < EVENTS; i++) {
		struct remote_event event;
		int ret;

		if (remote_next(context->runner, i == 0 ? wait_ms : 0, &event, err) < 0)
			return lose(context);
		if (event.kind == REMOTE_NOTHING)
			return 0;
		ret = event.kind == REMOTE_DONE ? end(context, &event, ret_end, ret_json, err)
						: hand_on(context, &event, err);
		free(event.text);
		if (ret != 0)
			return ret;
	}
	return 0;
}

int warder_context_fd(struct warder_context *context, struct warder_error *err)
{
	if (!context)
		return error_no_argument(err, "context");
	if (!context->runner && remote_again(context->control, &context->runner, err) < 0)
		return -1;
	return remote_fd(context->runner);
}

int warder_context_dispatch(struct warder_context *context, struct warder_piece_end *ret_end, char **ret_json,
			    struct warder_error *err)
{
	return context ? step(context, 0, ret_end, ret_json, err) : error_no_argument(err, "context");
}

int warder_context_wait_for(struct warder_context *context, uint64_t timeout_us,
			    struct warder_piece_end *ret_end, char **ret_json, struct warder_error *err)
{
	const uint64_t begin = clock_us();
	const uint64_t until = timeout_us < UINT64_MAX - begin ? begin + timeout_us : UINT64_MAX;
	uint64_t now = begin;

	if (!context)
		return error_no_argument(err, "context");
	for (;;) {
		const uint64_t left = until - now;
		const int got =
		    step(context, left > 1000000 ? 1000 : (int)((left + 999) / 1000), ret_end, ret_json, err);

		now = clock_us();
		if (got != 0 || now >= until)
			return got;
	}
}

/* ---- the interpreter ---- */

int warder_context_restart(struct warder_context *context, struct warder_error *err)
{
	if (!context)
		return error_no_argument(err, "context");
	if (check_idle(context, err) != 0 || remote_restart(context->control, err) < 0)
		return -1;
	remote_free(context->runner); /* it is of the interpreter that has ended */
	context->runner = NULL;
	return 0;
}

int warder_context_delete(struct warder_context *context, struct warder_error *err)
{
	return context ? remote_delete(context->control, err) : error_no_argument(err, "context");
}

int warder_context_fork(struct warder_context *context, const char *branch, unsigned int flags,
			struct warder_context **ret, struct warder_error *err)
{
	struct remote *remote = NULL;

	if (!context || !branch || !ret)
		return error_no_argument(err, !context ? "context" : !branch ? "branch" : "ret");
	if (flags & ~(unsigned int)WARDER_FORK_KEEP_SEED)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "unknown flags %#x", flags);
	if (check_idle(context, err) != 0 || remote_again(context->control, &remote, err) < 0)
		return -1;
	if (remote_fork(remote, branch, (flags & WARDER_FORK_KEEP_SEED) != 0, err) < 0) {
		remote_free(remote);
		return -1;
	}
	return make(remote, branch, ret, err);
}
