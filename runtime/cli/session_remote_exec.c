/*
 * session_remote_exec: an execution there is started by one request, and others wait for its result and fetch its output. The lease is renewed
 * while that takes. A detached one is left when it has begun.
 */
#include "runtime/cli/session_remote_exec.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/execution_name.h"
#include "runtime/cli/remote_request.h"
#include "runtime/cli/remote_result.h"
#include "runtime/cli/run_e2b.h"
#include "runtime/cli/session_remote.h"
#include "runtime/cli/session_remote_terminal.h"
#include "runtime/cli/term.h"
#include "runtime/library/reported.h"

#define START_MS    120000 /* for a service to start a program of ours, and to answer after its end */
#define SAID_MAX    4096   /* bytes of what it says */
#define START_TRIES 3      /* that a host is asked to start a program, if its answers are lost */
#define AGAIN_MS    1000   /* between two of them */

/* The flags that an execution there can have; the session's policy is not changed by one. */
static int check_exec_flags(const struct args *args, struct warder_error *err)
{
	static const char *const known[] = {
		"--env",        "--env-from",    "--cwd",      "--timeout",  "--background",
		"--no-input",   "--json",        "--grace",    "--receipt",  "--audit",
		"--audit-argv", "--no-config",   "--terminal", "--recreate", "--on-recreate",
		"--detach",     "--interactive", "--keep",     "--log",
	};
	const struct remote_request_flag flags[] = {
		{ args->progress, "--progress" },
		{ args->functions.count > 0, "--function-command" },
		{ args->session.auto_start, "--auto-start" },
		{ args->base, "--policy" },
		{ 0 },
	};

	if (session_remote_check_recreate(args, err) < 0)
		return -1;
	for (size_t i = 0; i < args->given.count; i++) {
		bool is_known = false;

		for (size_t k = 0; k < ARRAY_LENGTH(known); k++)
			is_known |= strcmp(args->given.rows[i].flag, known[k]) == 0;
		if (!is_known)
			return error_set(
			    err, WARDER_ERROR_INVALID_REQUEST, args->given.rows[i].flag,
			    "%s: an execution in a session on another machine has the policy of the "
			    "session; leave it out. An execution can have --env, --env-from, --cwd, "
			    "--timeout, --background, --terminal, --detach, --grace, --recreate and "
			    "--on-recreate",
			    args->given.rows[i].flag);
	}
	return remote_request_check_flags(flags, "local", err);
}

static int write_directory(struct json_writer *w, const struct args *args, struct warder_error *err)
{
	if (!given_has(&args->given, "workingDirectory"))
		return 0;
	json_key(w, "cwd");
	return remote_request_text(w, args->policy->policy.working_directory, "workingDirectory", err);
}

/* Its input, or the size of its terminal, over which the input comes. That of a detached one is empty, or comes later. */
static int write_streams(struct json_writer *w, const struct args *args, struct warder_error *err)
{
	unsigned int rows, columns;

	if (!args->terminal && args->execution.detach) {
		json_key_bool(w, "input", args->execution.input);
		return 0;
	}
	if (!args->terminal)
		return remote_request_input(w, args->no_input ? -1 : STDIN_FILENO, err);
	session_remote_terminal_size(&rows, &columns);
	json_key_uint(w, "rows", rows);
	json_key_uint(w, "columns", columns);
	return 0;
}

/* With a key: the host starts the program once, however often it is asked. */
static char *write_execution(const struct args *args, struct warder_error *err)
{
	const struct policy *policy = &args->policy->policy;
	char key[REMOTE_ID_LENGTH + 1];
	struct json_writer w = { 0 };

	if (remote_draw_id(key, err) < 0)
		return NULL;
	json_begin_object(&w);
	json_key_string(&w, "idempotencyKey", key);
	if (given_has(&args->given, "limits.wallTime"))
		json_key_uint(&w, "timeoutMs", policy->limits.wall_time_us / 1000);
	json_key_bool(&w, "background", args->session.background);
	if (write_directory(&w, args, err) < 0 || remote_request_environment(&w, policy, err) < 0 ||
	    remote_request_texts(&w, "argv", args->rest, err) < 0 || write_streams(&w, args, err) < 0) {
		json_writer_done(&w);
		return NULL;
	}
	json_end_object(&w);
	return remote_request_take(&w, err);
}

/* An execution that was asked for. */
struct begun {
	char id[ELSEWHERE_SANDBOX_MAX + 1]; /* or "" */
	bool sent;                          /* the host may have done the last request */
	bool unsure;                        /* or one before that, whose answer was lost, or was 503 */
};

/* tries: more than 1 needs a key in the body, with which the host starts the program once. A gateway that answers 503 may have passed the request on. */
static int start_execution(const struct remote_place *place, const char *body, int tries, struct begun *ret,
			   struct warder_error *err)
{
	const bool keyless = tries == 1;
	char *text = NULL;
	size_t len = 0;
	int status = -1;

	*ret = (struct begun){ 0 };
	for (;;) {
		struct remote_asking how = { .body = body,
					     .timeout_ms = 4 * REMOTE_QUESTION_MS,
					     .once = keyless };

		status = remote_place_ask_patiently(place, "/executions", &how, &text, &len, err);
		ret->sent = how.sent && how.status != 429;
		ret->unsure |= how.unsure;
		if (status == 0 || !remote_place_is_lost(err) || --tries <= 0 || ending_signal())
			break;
		ret->unsure |= how.sent;
		poll(NULL, 0, AGAIN_MS);
	}
	if (status == 0)
		status =
		    remote_place_take_id(text, len, place->session.backend, ret->id, sizeof(ret->id), err);
	free(text);
	return status;
}

/* remote_result_collect() for an execution that has our terminal. */
static int attend(const struct remote_waiting *waiting, struct warder_result **ret, struct warder_error *err)
{
	const struct remote_terminal terminal = { .place = waiting->place, .execution = waiting->execution };
	struct remote_came came[2];
	bool ended = false;
	int status;

	remote_came_init(&came[0], 0);
	remote_came_init(&came[1], 0); /* a terminal has no standard error */
	status = session_remote_terminal(&terminal, &came[0], &ended, err);
	if (status == 0)
		status = remote_result_of_shown(waiting, came, ended, ret, err);
	remote_came_done(&came[0]);
	remote_came_done(&came[1]);
	return status;
}

/* Ask the host to start it; in a new sandbox, if the session has lost its own, and may have another. */
static int start_or_recover(const struct report *report, struct remote_place *place, const char *body,
			    struct begun *ret, struct warder_error *err)
{
	int status;

	remote_place_be_patient(place); /* standard input may have taken long */
	status = start_execution(place, body, START_TRIES, ret, err);
	if (status == 0 || ret->unsure || !remote_place_is_gone(err))
		return status;
	ret->sent = false; /* the host started nothing, whatever comes of the new sandbox */
	status = session_remote_recover(report->args, place, err);
	return status < 0 ? -1 : start_execution(place, body, START_TRIES, ret, err);
}

/* ---- detached ---- */

static int check_detached(const struct args *args, struct warder_error *err)
{
	const struct {
		bool given;
		const char *flag, *why;
	} flags[] = {
		{ args->execution.keep_us, "--keep", "how long a result is kept is for the host to say" },
		{ args->execution.log, "--log", "only a command that follows the program sees its output" },
		{ args->audit, "--audit", "only a command that follows the program sees its end" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++)
		if (flags[i].given)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, flags[i].flag,
					 "%s does not go with --detach in a session on another machine: %s; "
					 "leave it out",
					 flags[i].flag, flags[i].why);
	return 0;
}

/* The session is to stay for the time of the program and the idle time, also if later commands use it. */
static int leave(const struct remote_place *place, const struct begun *begun, uint64_t time_ms)
{
	const uint64_t now_ms = clock_wall_ms(), ends_ms = place->session.ends_ms;
	struct warder_error err = { 0 };
	char name[EXECUTION_NAME_SIZE];

	execution_name_write(&place->session, begun->id, name);
	if (elsewhere_keep_until(place->session.name,
				 time_ms < ends_ms - now_ms && now_ms < ends_ms ? now_ms + time_ms : ends_ms,
				 &err) < 0)
		term_complain("%s: %s", name, err.text);
	if (!remote_place_renew_for(place, time_ms) && !remote_place_renew_for(place, time_ms))
		execution_name_warn(&place->session, name);
	printf("%s\n", name);
	return 0;
}

/* Start it, leave it, and print its name. */
static int detach(const struct report *report, struct remote_place *place, struct warder_error *err)
{
	const struct args *args = report->args;
	const uint64_t asked_us =
	    given_has(&args->given, "limits.wallTime") ? args->policy->policy.limits.wall_time_us : 0;
	owned_policy struct policy policy = { 0 };
	struct begun begun = { 0 };
	char *body;
	int status;

	if (remote_place_policy(&place->session, asked_us, &policy, err) < 0)
		return -1;
	body = write_execution(args, err);
	if (!body)
		return -1;
	remote_place_renew_for(place, policy.limits.wall_time_us / 1000);
	status = start_or_recover(report, place, body, &begun, err);
	explicit_bzero(body, strlen(body));
	free(body);
	if (status == 0)
		return leave(place, &begun, policy.limits.wall_time_us / 1000);
	return begun.unsure || (begun.sent && err->code == WARDER_ERROR_UNAVAILABLE)
		   ? error_context(
			 err, "it is not known whether the program runs; \"warder ps %s\" lists what runs",
			 place->session.name)
		   : -1;
}

/* ---- followed ---- */

/* Returns the exit status, or -1 with *err: nothing ran. */
static int execute(struct report *report, struct remote_place *place, struct warder_error *err)
{
	const struct args *args = report->args;
	struct warder_result *result = NULL;
	struct begun begun = { 0 };
	const struct remote_waiting waiting = { .place = place,
						.execution = begun.id,
						.grace_us = args->grace_us };
	char *body;
	int status;

	if (report_ended_early(report))
		return 128 + ending_signal();
	if (place->host.e2b && args->terminal)
		return backend_remote_check_kind(&place->host, "a terminal", err);
	if (args->execution.detach)
		return check_detached(args, err) < 0 ? -1
		       : place->host.e2b             ? run_e2b_detach(report, place, err)
						     : detach(report, place, err);
	if (place->host.e2b)
		return run_e2b_execute(report, place, err);
	body = write_execution(args, err);
	if (!body)
		return -1;
	remote_place_renew(place);
	status = start_or_recover(report, place, body, &begun, err);
	explicit_bzero(body, strlen(body));
	free(body);
	if (status < 0) {
		if (!begun.unsure && (!begun.sent || err->code != WARDER_ERROR_UNAVAILABLE))
			return -1;
		result = remote_request_lost(place->session.backend, err);
	} else if ((args->terminal ? attend : remote_result_collect)(&waiting, &result, err) < 0) {
		result = remote_request_lost(place->session.backend, err);
	}
	remote_place_renew(place);
	return result ? remote_request_finish(report, "", result) : -1;
}

/* The request that starts `argv`, with nothing of its own; heap. */
static char *write_plain(const char *const *argv, bool e2b, uint64_t time_ms, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char *body;

	json_begin_object(&w);
	json_key(&w, "argv");
	json_begin_array(&w);
	for (; *argv; argv++)
		json_string(&w, *argv);
	json_end_array(&w);
	if (e2b) {
		json_key_uint(&w, "timeoutMs", time_ms);
		json_key_uint(&w, "stderrBytes", SAID_MAX);
	}
	json_end_object(&w);
	body = json_take(&w);
	if (!body)
		error_no_memory(err, NULL);
	return body;
}

/* Start the execution and wait for its result: one request to a service of the kind e2b, several to a host of Warder. */
static int run_to_end(const struct remote_place *place, const char *body, uint64_t time_ms,
		      char execution[ELSEWHERE_SANDBOX_MAX + 1], char **ret, size_t *ret_len,
		      struct warder_error *err)
{
	struct remote_keeping keeping = { 0 };
	struct remote_asking how = { .body = body, .timeout_ms = START_MS + time_ms, .keeping = &keeping };
	struct begun begun;
	const struct remote_waiting waiting = { .place = place, .execution = begun.id };

	if (place->host.e2b) {
		remote_place_start_keeping(place, time_ms, &keeping);
		return remote_place_ask(place, "/executions", &how, ret, ret_len, err);
	}
	if (start_execution(place, body, 1, &begun, err) < 0)
		return remote_place_is_gone(err) ? remote_place_say_gone(&place->session, err) : -1;
	memcpy(execution, begun.id, sizeof(begun.id));
	return remote_result_wait(&waiting, ret, ret_len, err);
}

/* Read the result. Of a host of Warder, standard error comes separately, and must be what the host has signed. */
static int read_result(const struct remote_place *place, const char *execution, const char *text, size_t len,
		       struct warder_result **ret, struct warder_error *err)
{
	struct reported_streams streams = { 0 };
	int status;

	if (place->host.e2b)
		return reported_read(text, len, place->session.backend, false, ret, err);
	remote_result_fetch_output(place, execution, &streams);
	status = reported_read_beside(text, len, place->session.backend, &streams, ret, err);
	free(streams.bytes[0]);
	free(streams.bytes[1]);
	return status;
}

/* A success says nothing more. *ret_code as in session_remote_run(). */
static int read_code(const struct remote_place *place, const char *text, size_t len, int *ret_code,
		     struct warder_error *err)
{
	struct json_value *document = NULL;
	const struct json_value *code;

	if (json_parse(text, len, place->session.backend, NULL, &document, err) < 0)
		return -1;
	code = json_member(document, "exitCode");
	*ret_code = code && code->is_uint && code->uint <= 255 ? (int)code->uint : -1;
	json_free(document);
	return 0;
}

int session_remote_run(const struct remote_place *place, const char *const *argv, uint64_t time_ms,
		       int *ret_code, char **ret_said, struct warder_error *err)
{
	char execution[ELSEWHERE_SANDBOX_MAX + 1];
	char *body = write_plain(argv, place->host.e2b, time_ms, err), *text = NULL;
	struct warder_result *result = NULL;
	size_t len = 0;
	int status = body ? run_to_end(place, body, time_ms, execution, &text, &len, err) : -1;

	*ret_said = NULL;
	if (status == 0)
		status = read_code(place, text, len, ret_code, err);
	if (status == 0 && *ret_code != 0)
		status = read_result(place, execution, text, len, &result, err);
	if (result && *ret_code < 0 && result->outcome.detail[0]) {
		*ret_said = strdup(result->outcome.detail);
	} else if (result) {
		*ret_said = result->outcome.output[JAIL_STDERR].bytes;
		result->outcome.output[JAIL_STDERR].bytes = NULL;
	}
	warder_result_free(result);
	free(text);
	free(body);
	return status;
}

/* The host may be busy. */
static int open_place(const char *name, struct remote_place *ret, struct warder_error *err)
{
	unsigned int times = 0;

	while (remote_place_open(name, ret, err) < 0)
		if (!remote_place_waits(ret, &times, err))
			return -1;
	return 0;
}

int session_remote_exec_word(struct args *outer, const char *name, char **flags)
{
	struct remote_place place = { 0 };
	struct args args;
	struct report report;
	struct warder_error err = { 0 };
	int status = -1;

	report_catch_signals();
	if (args_parse(FLAG_SESSION_EXEC, flags, &args, &err) != 0 || report_open(&args, &report, &err) != 0)
		return command_refuse(&args, &err, EXIT_REFUSED);
	args.json |= outer->json;
	if (!args.rest[0])
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "argv",
			  "which program? warder session exec NAME [FLAG...] -- PROGRAM");
	else if (args_check_terminal(&args, &err) == 0 &&
		 args_load(FLAG_SESSION_EXEC, flags, &args, &err) == 0 && args_provide(&args, &err) == 0 &&
		 check_exec_flags(&args, &err) == 0 &&
		 report_audit(&report, "session exec", name, &err) == 0 &&
		 open_place(name, &place, &err) == 0)
		status = execute(&report, &place, &err);
	if (status < 0 && remote_place_is_gone(&err))
		remote_place_say_gone(&place.session, &err);
	if (status < 0)
		status = report_refuse(&report, &err,
				       strcmp(err.field, "name") == 0 ? EXIT_REFUSED
								      : error_exit_status(err.code));
	report_done(&report);
	args_done(&args);
	return status;
}
