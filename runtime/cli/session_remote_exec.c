/*
 * session_remote_exec: an execution there is started by one request, and others wait for its result and fetch its output. The lease is renewed
 * while that takes.
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
#include "runtime/cli/remote_events.h"
#include "runtime/cli/remote_request.h"
#include "runtime/cli/run_e2b.h"
#include "runtime/cli/session_remote.h"
#include "runtime/cli/session_remote_terminal.h"
#include "runtime/cli/term.h"
#include "runtime/library/reported.h"

#define START_MS 120000 /* for a service to start a program of ours, and to answer after its end */
#define SAID_MAX 4096   /* bytes of what it says */
#define BUSY_MS  120000 /* in which a host that refuses the result because it is busy is asked again */
#define AGAIN_MS 1000   /* between two of these requests */

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
			    "--timeout, --background, --terminal, --grace, --recreate and --on-recreate, and "
			    "in a session of the kind e2b also --detach",
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

/* Its input, or the size of its terminal, over which the input comes. */
static int write_streams(struct json_writer *w, const struct args *args, struct warder_error *err)
{
	unsigned int rows, columns;

	if (!args->terminal)
		return remote_request_input(w, args->no_input ? -1 : STDIN_FILENO, err);
	session_remote_terminal_size(&rows, &columns);
	json_key_uint(w, "rows", rows);
	json_key_uint(w, "columns", columns);
	return 0;
}

static char *write_execution(const struct args *args, struct warder_error *err)
{
	const struct policy *policy = &args->policy->policy;
	struct json_writer w = { 0 };

	json_begin_object(&w);
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

static int start_execution(const struct remote_place *place, const char *body,
			   char ret[ELSEWHERE_SANDBOX_MAX + 1], bool *ret_sent, struct warder_error *err)
{
	struct remote_asking how = { .body = body, .timeout_ms = 4 * REMOTE_QUESTION_MS };
	char *text = NULL;
	size_t len = 0;
	int status = remote_place_ask(place, "/executions", &how, &text, &len, err);

	*ret = '\0';
	*ret_sent = how.sent;
	if (status == 0)
		status = remote_place_take_id(text, len, place->session.backend, ret,
					      ELSEWHERE_SANDBOX_MAX + 1, err);
	free(text);
	return status;
}

static void send_signal(const struct remote_place *place, const char *execution, int number)
{
	struct warder_error ignored;
	char rest[160], body[40];
	struct remote_asking how = { .body = body, .unstoppable = true };

	snprintf(rest, sizeof(rest), "/executions/%s/signal", execution);
	snprintf(body, sizeof(body), "{\"signal\": %d}", number);
	remote_place_ask(place, rest, &how, NULL, NULL, &ignored);
}

struct waiting {
	uint64_t heard_ms; /* when the host last answered anything */
	uint64_t kill_ms;  /* after a signal: when SIGKILL follows */
	uint64_t
	    busy_ms; /* since when the host has refused each request because it was busy; 0: it has not */
	int signals; /* sent to the program */
};

static uint64_t now_ms(void)
{
	return clock_us() / 1000;
}

static uint64_t poll_ms(const struct remote_place *place, const struct waiting *waiting)
{
	const uint64_t most = remote_place_poll_ms(place), now = now_ms();

	if (waiting->signals != 1 || waiting->kill_ms > now + most)
		return most;
	return waiting->kill_ms > now ? waiting->kill_ms - now : 1;
}

/* Whether the request may succeed later. If the host is busy, wait a little before that. */
static bool may_repeat(struct waiting *waiting, const struct remote_asking *how,
		       const struct warder_error *err)
{
	if (how->status != 503 && how->status != 429) {
		waiting->busy_ms = 0;
		return err->sys_errno == ETIMEDOUT && waiting->signals < 2;
	}
	if (!waiting->busy_ms)
		waiting->busy_ms = now_ms();
	poll(NULL, 0, AGAIN_MS);
	return now_ms() - waiting->busy_ms < BUSY_MS;
}

/* Wait for the result; the lease is renewed as long as that takes. A signal goes to the program, and after the grace SIGKILL. */
static int wait_for_result(const struct remote_place *place, const char *execution, uint64_t grace_us,
			   char **ret, size_t *ret_len, struct warder_error *err)
{
	struct waiting waiting = { .heard_ms = now_ms() };
	char rest[160], nonce[REMOTE_ID_LENGTH + 1], claim[160];
	struct remote_asking how = { .signs = "execution", .nonce = claim };

	if (remote_draw_id(nonce, err) < 0)
		return -1;
	snprintf(rest, sizeof(rest), "/executions/%s?wait=1&nonce=%s", execution, nonce);
	snprintf(claim, sizeof(claim), "%s %s %s", place->session.sandbox, execution, nonce);
	for (;;) {
		how.timeout_ms = poll_ms(place, &waiting);
		how.unstoppable = waiting.signals > 0;
		if (remote_place_renew(place))
			waiting.heard_ms = now_ms();
		if (remote_place_ask(place, rest, &how, ret, ret_len, err) == 0)
			return 0;
		if (!waiting.signals && ending_signal()) {
			send_signal(place, execution, ending_signal());
			waiting.signals = 1;
			waiting.kill_ms = now_ms() + grace_us / 1000;
		} else if (!may_repeat(&waiting, &how, err)) {
			return -1;
		} else if (waiting.signals && now_ms() >= waiting.kill_ms) {
			send_signal(place, execution, SIGKILL);
			waiting.signals = 2;
		} else if (remote_place_check_hope(place, waiting.heard_ms, err) < 0) {
			return -1;
		}
	}
}

/* The output as it comes. */
struct output {
	struct reported_streams *streams;
	uint64_t from[2]; /* offset of the first byte */
};

static void append(struct reported_streams *to, int stream, const char *bytes, size_t len)
{
	char *grown = realloc(to->bytes[stream], to->len[stream] + len + 1);

	if (!grown)
		return;
	memcpy(grown + to->len[stream], bytes, len);
	to->bytes[stream] = grown;
	to->len[stream] += len;
	grown[to->len[stream]] = '\0';
}

static void take_event(void *context, const char *name, const struct json_value *data)
{
	struct output *output = context;
	const int stream = remote_events_stream(data);
	size_t len = 0;
	char *bytes = remote_events_bytes(data, &len);

	if (bytes && !output->streams->len[stream])
		output->from[stream] = json_member_uint(data, "offset");
	if (bytes)
		append(output->streams, stream, bytes, len);
	free(bytes);
}

/* Without the output, the result is still known. */
static void fetch_output(const struct remote_place *place, const char *execution, struct reported_streams *to)
{
	struct remote_asking how = { .large = true,
				     .timeout_ms = 4 * REMOTE_QUESTION_MS,
				     .unstoppable = true };
	struct output output = { .streams = to };
	struct warder_error err = { 0 };
	char *text = NULL;
	char rest[160];
	size_t len = 0;

	snprintf(rest, sizeof(rest), "/executions/%s/output?stdout=0&stderr=0", execution);
	if (remote_place_ask(place, rest, &how, &text, &len, &err) == 0) {
		remote_events_each(text, len, take_event, &output);
		reported_count(to, output.from);
	} else {
		to->lost = true;
		term_complain("the program has ended, but its output did not arrive: %s", err.text);
	}
	free(text);
}

static int collect(const struct remote_place *place, const char *execution, uint64_t grace_us,
		   struct warder_result **ret, struct warder_error *err)
{
	struct reported_streams streams = { 0 };
	char *result = NULL;
	size_t len = 0;
	int status = wait_for_result(place, execution, grace_us, &result, &len, err);

	if (status == 0) {
		fetch_output(place, execution, &streams);
		status = reported_read_beside(result, len, place->session.backend, &streams, ret, err);
	}
	free(streams.bytes[0]);
	free(streams.bytes[1]);
	free(result);
	return status;
}

/* The same of an execution that has our terminal, where its output has been shown. */
static int attend(const struct remote_place *place, const char *execution, uint64_t grace_us,
		  struct warder_result **ret, struct warder_error *err)
{
	struct reported_streams none = { 0 };
	const uint64_t offsets[2] = { 0 };
	struct remote_shown shown = { 0 };
	char *result = NULL;
	size_t len = 0;
	int status;

	reported_count(&none, offsets); /* a terminal has no standard error */
	status = session_remote_terminal(place, execution, &shown, err);
	none.came[0] = shown.came;
	if (status == 0)
		status = wait_for_result(place, execution, grace_us, &result, &len, err);
	if (status == 0)
		status = reported_read_beside(result, len, place->session.backend, &none, ret, err);
	free(shown.kept);
	free(result);
	if (status < 0)
		return -1;
	(*ret)->streamed = true;
	(*ret)->passed[WARDER_STDOUT] = shown.bytes;
	(*ret)->outcome.dropped[JAIL_STDOUT] = shown.lost;
	for (size_t i = 0; i < 2; i++)
		(*ret)->outcome.output[i].truncated = (*ret)->outcome.output[i].total > (*ret)->passed[i];
	return 0;
}

/* Returns the exit status, or -1 with *err: nothing ran. */
static int execute(struct report *report, struct remote_place *place, struct warder_error *err)
{
	struct warder_result *result = NULL;
	char execution[ELSEWHERE_SANDBOX_MAX + 1];
	bool sent = false;
	char *body;
	int status;

	if (report_ended_early(report))
		return 128 + ending_signal();
	if (place->host.e2b && report->args->terminal)
		return backend_remote_check_kind(&place->host, "a terminal", err);
	if (report->args->execution.detach)
		return run_e2b_detach(report, place, err);
	if (place->host.e2b)
		return run_e2b_execute(report, place, err);
	body = write_execution(report->args, err);
	if (!body)
		return -1;
	remote_place_renew(place);
	status = start_execution(place, body, execution, &sent, err);
	if (status < 0 && remote_place_is_gone(err)) {
		sent = false; /* the host started nothing, whatever comes of the new sandbox */
		status = session_remote_recover(report->args, place, err);
		if (status == 0)
			status = start_execution(place, body, execution, &sent, err);
	}
	explicit_bzero(body, strlen(body));
	free(body);
	if (status < 0) {
		if (!sent || err->code != WARDER_ERROR_UNAVAILABLE)
			return -1;
		result = remote_request_lost(place->session.backend, err);
	} else if ((report->args->terminal ? attend : collect)(place, execution, report->args->grace_us,
							       &result, err) < 0) {
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
	bool sent;

	if (place->host.e2b) {
		remote_place_start_keeping(place, time_ms, &keeping);
		return remote_place_ask(place, "/executions", &how, ret, ret_len, err);
	}
	if (start_execution(place, body, execution, &sent, err) < 0)
		return remote_place_is_gone(err) ? remote_place_say_gone(&place->session, err) : -1;
	return wait_for_result(place, execution, 0, ret, ret_len, err);
}

/* Read the result. Of a host of Warder, standard error comes separately, and must be what the host has signed. */
static int read_result(const struct remote_place *place, const char *execution, const char *text, size_t len,
		       struct warder_result **ret, struct warder_error *err)
{
	struct reported_streams streams = { 0 };
	int status;

	if (place->host.e2b)
		return reported_read(text, len, place->session.backend, false, ret, err);
	fetch_output(place, execution, &streams);
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
	if (result) {
		*ret_said = result->outcome.output[JAIL_STDERR].bytes;
		result->outcome.output[JAIL_STDERR].bytes = NULL;
	}
	warder_result_free(result);
	free(text);
	free(body);
	return status;
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
		 remote_place_open(name, &place, &err) == 0)
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
