/*
 * executions_remote: the host of the session that the name has is asked, and no other.
 *
 * A service of the kind e2b stores neither output nor results: what it does not promise is refused with that reason.
 */
#include "runtime/cli/executions_remote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/execution_elsewhere.h"
#include "runtime/cli/executions.h"

#define INPUT_PART ((size_t)256 << 10) /* of one request */

struct opened {
	struct execution_name name;
	struct remote_place place;
};

static int open_session(const char *session, struct remote_place *ret, struct warder_error *err)
{
	const int found = elsewhere_read(session, &ret->session, err);

	if (found > 0)
		return error_set(
		    err, WARDER_ERROR_NOT_FOUND, "name",
		    "session %.64s does not run on another machine; an execution of this machine "
		    "is named by its id alone",
		    session);
	if (found < 0 || remote_place_find_host(ret, err) < 0)
		return -1;
	return ret->host.e2b
		   ? 0
		   : error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "backend",
			       "%s is a host of the kind warder; executions that are detached work on "
			       "services of the kind e2b and on this machine only",
			       ret->session.backend);
}

static int open_named(const struct args *args, struct opened *ret, struct warder_error *err)
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

static int say_ended(const struct opened *opened, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_NOT_FOUND, "id",
			 "%s does not run: it has ended, or there was none; %s says nothing about a "
			 "program that has ended",
			 opened->name.text, opened->place.session.backend);
}

/* What a refusal means to the user. Returns -1. */
static int explain(const struct opened *opened, struct warder_error *err)
{
	if (remote_place_is_gone(err))
		return remote_place_say_gone(&opened->place.session, err);
	if (err->code == WARDER_ERROR_NOT_FOUND && strcmp(err->field, "execution") == 0)
		return say_ended(opened, err);
	return -1;
}

static int ask_about(const struct opened *opened, const char *word, const char *body,
		     struct warder_error *err)
{
	struct remote_asking how = { .body = body, .timeout_ms = 4 * REMOTE_QUESTION_MS };
	char rest[160];

	snprintf(rest, sizeof(rest), "/executions/%s/%s", opened->name.id, word);
	return remote_place_ask(&opened->place, rest, &how, NULL, NULL, err) == 0 ? 0 : explain(opened, err);
}

/* ---- ps ---- */

static void add_row(struct json_writer *w, const struct elsewhere *session, const struct json_value *row)
{
	const struct json_value *command = json_member(row, "command");
	char text[EXECUTION_NAME_SIZE];

	execution_name_write(session, json_member_text(row, "id", ""), text);
	json_begin_object(w);
	json_key_string(w, "id", text);
	json_key_string(w, "session", session->name);
	json_key_string(w, "state", json_member_text(row, "state", ""));
	if (command) {
		json_key(w, "command");
		json_copy(w, command);
	}
	json_end_object(w);
}

/* What runs there: an array of objects, to be freed by json_free(). NULL with *err. */
static struct json_value *ask_list(const struct remote_place *place, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX };
	struct remote_asking how = { .large = true };
	struct json_value *document = NULL;
	char *text = NULL;
	size_t len = 0;

	if (remote_place_ask(place, "/executions", &how, &text, &len, err) == 0)
		json_parse(text, len, place->session.backend, &limits, &document, err);
	else if (remote_place_is_gone(err))
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

/* ---- logs ---- */

int executions_remote_logs(const struct args *args)
{
	struct opened opened = { 0 };
	struct warder_error err = { 0 };

	if (open_named(args, &opened, &err) == 0)
		error_set(
		    &err, WARDER_ERROR_UNSUPPORTED_POLICY, "id",
		    "logs %s: a service of the kind e2b does not keep output; \"warder attach -n %s\" shows "
		    "it from then on",
		    opened.name.text, opened.name.text);
	return command_refuse(args, &err, EXIT_REFUSED);
}

/* ---- write ---- */

static char *write_body(const char *bytes, size_t len, bool close, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char *encoded = text_base64(bytes, len), *body;

	json_begin_object(&w);
	json_key_string(&w, "base64", encoded);
	json_key_bool(&w, "close", close);
	json_end_object(&w);
	body = encoded ? json_take(&w) : NULL;
	if (!encoded)
		json_writer_done(&w);
	free(encoded);
	if (!body)
		error_no_memory(err, NULL);
	return body;
}

static int send_input(const struct opened *opened, const char *bytes, size_t len, bool close,
		      struct warder_error *err)
{
	char *body = write_body(bytes, len, close, err);
	const int status = body ? ask_about(opened, "input", body, err) : -1;

	free(body);
	return status;
}

/* There is nothing to send, but an execution that is not there is an error all the same. */
static int check_runs(const struct opened *opened, struct warder_error *err)
{
	struct json_value *document = ask_list(&opened->place, err);
	const struct json_value *row = document ? document->child : NULL;
	const bool known = document;

	while (row && strcmp(json_member_text(row, "id", ""), opened->name.id) != 0)
		row = row->next;
	json_free(document);
	return !known ? -1 : row ? 0 : say_ended(opened, err);
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

/* Each request has a part, as it comes, and the last one also closes. */
static int write_all(const struct opened *opened, bool close, struct warder_error *err)
{
	char *bytes = malloc(INPUT_PART);
	bool end = false, sent = false;
	int status = bytes ? 0 : error_no_memory(err, NULL);

	while (status == 0 && !end) {
		const ssize_t len = fill(bytes, INPUT_PART, &end);
		const bool sends = len > 0 || (close && end);

		if (len < 0)
			status = error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, NULL, errno,
						 "standard input cannot be read");
		else if (sends)
			status = send_input(opened, bytes, (size_t)len, close && end, err);
		else if (!sent)
			status = check_runs(opened, err);
		sent = sent || sends;
	}
	free(bytes);
	return status;
}

int executions_remote_write(const struct args *args)
{
	struct opened opened = { 0 };
	struct warder_error err = { 0 };

	return open_named(args, &opened, &err) == 0 && write_all(&opened, args->execution.close, &err) == 0
		   ? 0
		   : command_refuse(args, &err, EXIT_REFUSED);
}

/* ---- kill ---- */

int executions_remote_kill(const struct args *args, int number)
{
	struct opened opened = { 0 };
	struct warder_error err = { 0 };
	char body[40];

	snprintf(body, sizeof(body), "{\"signal\": %d}", number);
	return open_named(args, &opened, &err) == 0 && ask_about(&opened, "signal", body, &err) == 0
		   ? 0
		   : command_refuse(args, &err, EXIT_REFUSED);
}

/* ---- attach, wait ---- */

/* As execution_elsewhere_follow(). The result is for warder_result_free() before *opened is gone. */
static int follow(const struct args *args, bool output, bool input, struct opened *opened,
		  struct warder_result **ret, struct warder_error *err)
{
	const struct execution_elsewhere how = {
		.place = &opened->place, .name = &opened->name, .output = output, .input = input
	};
	int ended;

	ending_catch(NULL);
	signal(SIGPIPE, SIG_IGN);
	if (open_named(args, opened, err) < 0)
		return -1;
	ended = execution_elsewhere_follow(&how, ret, err);
	return ended < 0 ? explain(opened, err) : ended;
}

int executions_remote_attach(const struct args *args)
{
	struct opened opened = { 0 };
	struct warder_error err = { 0 };
	struct warder_result *result = NULL;
	const int ended = follow(args, true, !args->no_input, &opened, &result, &err);
	int status = 128 + ending_signal();

	if (ended < 0)
		return err.sys_errno == EPIPE ? 128 + SIGPIPE : command_refuse(args, &err, EXIT_REFUSED);
	if (ended > 0)
		status = executions_tell_end(result);
	warder_result_free(result);
	return status;
}

int executions_remote_wait(const struct args *args)
{
	struct opened opened = { 0 };
	struct warder_error err = { 0 };
	struct warder_result *result = NULL;
	const int ended = follow(args, false, false, &opened, &result, &err);
	int status;

	if (ended < 0)
		return command_refuse(args, &err, EXIT_REFUSED);
	status = ended > 0 ? executions_tell_waited(args, result) : 128 + ending_signal();
	warder_result_free(result);
	return status;
}
