/*
 * executions_remote: commands ask the host of the session that the name has, and no other.
 *
 * A host of the kind warder stores output and results for a while, and signs the results. A service of the kind e2b stores neither, so
 * commands that need them are refused with this reason.
 */
#include "runtime/cli/executions_remote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/detach_keys.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/execution_elsewhere.h"
#include "runtime/cli/executions.h"
#include "runtime/cli/remote_request.h"
#include "runtime/cli/remote_result.h"
#include "runtime/cli/session_remote_terminal.h"

#define E2B_INPUT_PART  ((size_t)256 << 10) /* of one request */
#define HOST_INPUT_PART ((size_t)32 << 10)

static int open_session(const char *session, struct remote_place *ret, struct warder_error *err)
{
	const int found = elsewhere_read(session, &ret->session, err);
	unsigned int times = 0;

	if (found > 0)
		return error_set(
		    err, WARDER_ERROR_NOT_FOUND, "name",
		    "session %.64s does not run on another machine; an execution of this machine "
		    "is named by its id alone",
		    session);
	if (found < 0)
		return -1;
	while (remote_place_find_host(ret, err) < 0)
		if (!remote_place_waits(ret, &times, err))
			return -1;
	return 0;
}

int executions_remote_open(const struct args *args, struct executions_remote *ret, struct warder_error *err)
{
	if (args->rest[1])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, args->rest[1],
				 "%.60s is one word too many; give one id", args->rest[1]);
	if (execution_name_take(args->rest[0], &ret->name, err) < 0)
		return -1;
	return open_session(ret->name.session, &ret->place, err) < 0
		   ? -1
		   : execution_name_check(&ret->name, &ret->place.session, err);
}

static int say_ended(const struct executions_remote *opened, struct warder_error *err)
{
	return opened->place.host.e2b
		   ? error_set(err, WARDER_ERROR_NOT_FOUND, "id",
			       "%s does not run: it has ended, or there was none; %s says nothing about a "
			       "program that has ended",
			       opened->name.text, opened->place.session.backend)
		   : error_set(err, WARDER_ERROR_NOT_FOUND, "id",
			       "%s has no execution %s; \"warder ps %s\" lists its executions",
			       opened->place.session.backend, opened->name.text, opened->name.session);
}

/* A host of the kind warder says the same of an execution that it does not know. */
static bool has_sandbox(const struct remote_place *place)
{
	struct remote_asking how = { 0 };
	struct warder_error ignored;

	return !place->host.e2b && remote_place_ask(place, "", &how, NULL, NULL, &ignored) == 0;
}

int executions_remote_explain(const struct executions_remote *opened, struct warder_error *err)
{
	const bool gone = remote_place_is_gone(err);

	if ((gone && has_sandbox(&opened->place)) ||
	    (err->code == WARDER_ERROR_NOT_FOUND && strcmp(err->field, "execution") == 0))
		return say_ended(opened, err);
	if (gone)
		return remote_place_say_gone(&opened->place.session, err);
	return error_context(err, "%s", opened->name.text);
}

/* `how` has the body, and how long that takes. */
static int ask_about(const struct executions_remote *opened, const char *word, struct remote_asking *how,
		     struct warder_error *err)
{
	char rest[160];

	snprintf(rest, sizeof(rest), "/executions/%s/%s", opened->name.id, word);
	return remote_place_ask_patiently(&opened->place, rest, how, NULL, NULL, err) < 0
		   ? executions_remote_explain(opened, err)
		   : 0;
}

/* ---- ps ---- */

/* The row of the host, except for its own names. A row without a valid id is left out. */
static void add_row(struct json_writer *w, const struct elsewhere *session, const struct json_value *row)
{
	const char *id = json_member_text(row, "id", "");
	char text[EXECUTION_NAME_SIZE];

	if (!elsewhere_is_id(id))
		return;
	execution_name_write(session, id, text);
	json_begin_object(w);
	json_key_string(w, "id", text);
	json_key_string(w, "session", session->name);
	for (const struct json_value *member = row->child; member; member = member->next) {
		if (strcmp(member->key, "id") == 0 || strcmp(member->key, "session") == 0)
			continue;
		json_key(w, member->key);
		json_copy(w, member);
	}
	json_end_object(w);
}

/* What runs there: an array of objects, to be freed by json_free(). NULL with *err. */
static struct json_value *ask_list(const struct remote_place *place, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX, .max_values = REMOTE_LIST_VALUES_MAX };
	struct remote_asking how = { .large = true };
	struct json_value *document = NULL;
	char *text = NULL;
	size_t len = 0;

	if (remote_place_ask_patiently(place, "/executions", &how, &text, &len, err) == 0) {
		if (json_parse(text, len, place->session.backend, &limits, &document, err) == 0 &&
		    document->type != JSON_ARRAY) {
			json_free(document);
			document = NULL;
			error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
				  "%s: the list of executions is not an array", place->session.backend);
		}
	} else if (remote_place_is_gone(err))
		remote_place_say_gone(&place->session, err);
	free(text);
	return document;
}

char *executions_remote_list(const char *session, struct warder_error *err)
{
	struct remote_place place = { 0 };
	struct json_value *document = NULL;
	struct json_writer w = { 0 };

	if (open_session(session, &place, err) == 0)
		document = ask_list(&place, err);
	if (document) {
		json_begin_array(&w);
		for (const struct json_value *row = document->child; row; row = row->next)
			add_row(&w, &place.session, row);
		json_end_array(&w);
	}
	json_free(document);
	return err->code ? NULL : json_take(&w);
}

struct json_value *executions_remote_row(const struct executions_remote *opened, struct warder_error *err)
{
	struct json_value *list = ask_list(&opened->place, err), *row = NULL;

	for (struct json_value **at = list ? &list->child : NULL; at && *at && !row; at = &(*at)->next)
		if (strcmp(json_member_text(*at, "id", ""), opened->name.id) == 0) {
			row = *at;
			*at = row->next;
			row->next = NULL;
			break;
		}
	if (!list)
		error_context(err, "%s", opened->name.text);
	else if (!row)
		say_ended(opened, err);
	json_free(list);
	return row;
}

/* ---- write ---- */

/* Of the session's lifetime. */
static uint64_t left_ms(const struct elsewhere *session)
{
	const uint64_t now_ms = clock_wall_ms();

	return session->ends_ms > now_ms ? session->ends_ms - now_ms : 1;
}

/* A gateway that answers so may have passed the request on. Returns -1. */
static int say_unsure(const struct remote_asking *how, const char *what, struct warder_error *err)
{
	if (how->sent && !how->undone &&
	    (remote_place_is_lost(err) || (how->status >= 502 && how->status <= 504)))
		error_context(err, "it is not known whether %s arrived", what);
	return -1;
}

/* A host of the kind warder answers when the program has taken it, however long that takes. */
static int send_input(const struct executions_remote *opened, const char *bytes, size_t len, bool close,
		      struct warder_error *err)
{
	struct remote_keeping keeping = { .place = &opened->place, .renewed_ms = clock_us() / 1000 };
	char *body = remote_input_body(bytes, len, close);
	struct remote_asking how = { .body = body, .timeout_ms = 4 * REMOTE_QUESTION_MS, .once = len > 0 };
	int status;

	if (!opened->place.host.e2b) {
		how.keeping = &keeping;
		how.timeout_ms = left_ms(&opened->place.session);
	}
	status = body ? ask_about(opened, "input", &how, err) : error_no_memory(err, NULL);
	free(body);
	return status < 0 ? say_unsure(&how, "the input", err) : 0;
}

/* There is nothing to send, but an execution that is not there is an error all the same. */
static int check_runs(const struct executions_remote *opened, struct warder_error *err)
{
	struct json_value *row = executions_remote_row(opened, err);
	const int status = row ? 0 : -1;

	json_free(row);
	return status;
}

static bool more_waits(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, 0) > 0;
}

/* What is there, as much as there is room for. *ret_end: the end came. -1 with errno. */
static ssize_t fill(char *to, size_t size, bool *ret_end)
{
	size_t len = 0;

	while (len < size && !*ret_end && (!len || more_waits())) {
		const ssize_t n = read(STDIN_FILENO, to + len, size - len);

		if (n < 0 && errno != EINTR)
			return -1;
		*ret_end = n == 0;
		len += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)len;
}

/* A service of the kind e2b gets the end of the input by itself: it can be asked for that twice, and not for bytes. */
static int send_part(const struct executions_remote *opened, const char *bytes, size_t len, bool close,
		     struct warder_error *err)
{
	if (len && close && opened->place.host.e2b)
		return send_input(opened, bytes, len, false, err) < 0 ? -1
								      : send_input(opened, "", 0, true, err);
	return send_input(opened, bytes, len, close, err);
}

/* Each request has a part, as it comes, and the last one also closes. */
static int write_all(struct executions_remote *opened, bool close, struct warder_error *err)
{
	const size_t part = opened->place.host.e2b ? E2B_INPUT_PART : HOST_INPUT_PART;
	char *bytes = malloc(part);
	bool end = false, sent = false;
	int status = bytes ? 0 : error_no_memory(err, NULL);

	while (status == 0 && !end) {
		const ssize_t len = fill(bytes, part, &end);
		const bool sends = len > 0 || (close && end);

		remote_place_be_patient(&opened->place);
		if (len < 0)
			status = error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, NULL, errno,
						 "standard input cannot be read");
		else if (sends)
			status = send_part(opened, bytes, (size_t)len, close && end, err);
		else if (!sent)
			status = check_runs(opened, err);
		sent = sent || sends;
	}
	free(bytes);
	return status;
}

int executions_remote_write(const struct args *args)
{
	struct executions_remote opened = { 0 };
	struct warder_error err = { 0 };

	return executions_remote_open(args, &opened, &err) == 0 &&
		       write_all(&opened, args->execution.close, &err) == 0
		   ? 0
		   : command_refuse(args, &err, EXIT_REFUSED);
}

/* ---- kill ---- */

int executions_remote_kill(const struct args *args, int number)
{
	struct executions_remote opened = { 0 };
	struct warder_error err = { 0 };
	char body[40];
	struct remote_asking how = { .body = body, .timeout_ms = 4 * REMOTE_QUESTION_MS, .once = true };

	snprintf(body, sizeof(body), "{\"signal\": %d}", number);
	return executions_remote_open(args, &opened, &err) == 0 &&
		       (ask_about(&opened, "signal", &how, &err) == 0 ||
			say_unsure(&how, "the signal", &err) == 0)
		   ? 0
		   : command_refuse(args, &err, EXIT_REFUSED);
}

/* ---- attach, wait ---- */

int executions_remote_refuse(const struct args *args, const struct warder_error *err)
{
	if (ending_signal() && err->code == WARDER_ERROR_UNAVAILABLE)
		return 128 + ending_signal();
	return command_refuse(args, err, EXIT_REFUSED);
}

static void catch_signals(void)
{
	ending_catch(NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* execution_elsewhere_follow(). The result is for warder_result_free() before *how is gone. */
static int follow(const struct executions_remote *opened, struct execution_elsewhere *how,
		  struct warder_result **ret, struct warder_error *err)
{
	int ended;

	how->place = &opened->place;
	how->name = &opened->name;
	ended = execution_elsewhere_follow(how, ret, err);
	return ended < 0 ? executions_remote_explain(opened, err) : ended;
}

/* The signed result of a host of the kind warder. status: of a function of remote_result.h. As follow(). */
static int take_result(const struct executions_remote *opened, int status, struct warder_result **ret,
		       struct warder_error *err)
{
	if (status >= 0)
		return status == 0;
	if (err->code != WARDER_ERROR_UNAVAILABLE)
		return executions_remote_explain(opened, err);
	*ret = remote_request_lost(opened->place.session.backend, err);
	return *ret ? 1 : -1;
}

/* Lend it our terminal, from the output on that it has now. As follow(); also 0 if the keys were typed. */
static int lend(const struct executions_remote *opened, uint64_t from, struct detach_keys *keys,
		struct warder_result **ret, struct warder_error *err)
{
	const struct remote_waiting waiting = { .place = &opened->place,
						.execution = opened->name.id,
						.leaves = true };
	const struct remote_terminal terminal = {
		.place = &opened->place, .execution = opened->name.id, .keys = keys, .redraws = true
	};
	struct remote_came came[2];
	bool ended = false;
	int status;

	remote_came_init(&came[0], from);
	remote_came_init(&came[1], 0);
	status = session_remote_terminal(&terminal, &came[0], &ended, err);
	if (status < 0)
		status = executions_remote_explain(opened, err);
	else if (ended)
		status =
		    take_result(opened, remote_result_of_shown(&waiting, came, true, ret, err), ret, err);
	remote_came_done(&came[0]);
	remote_came_done(&came[1]);
	return status;
}

/* On a host of the kind warder. As lend(). */
static int attach_there(const struct args *args, const struct executions_remote *opened,
			struct detach_keys *keys, struct warder_result **ret, struct warder_error *err)
{
	struct json_value *row = executions_remote_row(opened, err);
	const bool terminal = json_member_true(row, "terminal");
	struct execution_elsewhere how = { .output = true,
					   .input = !args->no_input && json_member_true(row, "input"),
					   .keeps_input = terminal };
	const uint64_t from = json_member_uint(row, "stdoutBytes");

	if (!row)
		return -1;
	json_free(row);
	return terminal && how.input && isatty(STDIN_FILENO) ? lend(opened, from, keys, ret, err)
							     : follow(opened, &how, ret, err);
}

int executions_remote_attach(const struct args *args)
{
	struct executions_remote opened = { 0 };
	struct execution_elsewhere how = { .output = true, .input = !args->no_input };
	struct detach_keys keys = { 0 };
	struct warder_error err = { 0 };
	struct warder_result *result = NULL;
	int ended, status;

	catch_signals();
	ended = detach_keys_take(args->execution.detach_keys, &keys, &err) < 0 ||
			executions_remote_open(args, &opened, &err) < 0
		    ? -1
		: opened.place.host.e2b ? follow(&opened, &how, &result, &err)
					: attach_there(args, &opened, &keys, &result, &err);
	if (ended < 0)
		return err.sys_errno == EPIPE ? 128 + SIGPIPE : executions_remote_refuse(args, &err);
	status = ended > 0 ? executions_tell_end(result) : keys.detached ? 0 : 128 + ending_signal();
	if (ended == 0 && keys.detached)
		detach_keys_tell(opened.name.text);
	warder_result_free(result);
	return status;
}

/* Wait for the end of one whose output nobody sees here: it is compared all the same. */
static int collect(const struct executions_remote *opened, struct warder_result **ret,
		   struct warder_error *err)
{
	const struct remote_waiting waiting = { .place = &opened->place,
						.execution = opened->name.id,
						.leaves = true };
	const int status = remote_result_collect(&waiting, ret, err);

	for (int i = 0; status == 0 && i < 2; i++)
		(*ret)->passed[i] = (*ret)->outcome.output[i].len;
	if (status == 0)
		(*ret)->streamed = true;
	return take_result(opened, status, ret, err);
}

int executions_remote_wait(const struct args *args)
{
	struct executions_remote opened = { 0 };
	struct execution_elsewhere how = { 0 };
	struct warder_error err = { 0 };
	struct warder_result *result = NULL;
	int ended, status;

	catch_signals();
	ended = executions_remote_open(args, &opened, &err) < 0 ? -1
		: opened.place.host.e2b                         ? follow(&opened, &how, &result, &err)
								: collect(&opened, &result, &err);
	if (ended < 0)
		return executions_remote_refuse(args, &err);
	status = ended > 0 ? executions_tell_waited(args, result) : 128 + ending_signal();
	warder_result_free(result);
	return status;
}
