/*
 * envd_process: the service process.Process: programs of a sandbox are executions of its keeper.
 *
 * A client of E2B knows a process by a number. Warder's executions have ids, because numbers repeat; the number is made of the id's first
 * digits, so that nothing has to be remembered. Output that the keeper has dropped is marked in standard error, or in the terminal.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "host/front/envd.h"
#include "host/wire/fields.h"
#include "host/wire/process.h"
#include "jail/jail.h"

struct process_visit {
	struct visit visit;
	enum process_call call;
	struct process_request request;
	uint64_t timeout_ms;
	bool terminal; /* of the execution */
	uint32_t pid;
	size_t input_at; /* bytes of the input that were written */
};

static struct process_visit *of_visit(struct visit *visit)
{
	return (struct process_visit *)(void *)visit;
}

/* ---- numbers ---- */

static uint32_t pid_of(const char *id)
{
	char digits[9];
	uint32_t pid;

	snprintf(digits, sizeof(digits), "%.8s", id);
	pid = (uint32_t)strtoul(digits, NULL, 16) & 0x7fffffff;
	return pid ? pid : 1;
}

static bool has_ended(const struct json_value *row)
{
	return strcmp(json_member_text(row, "state", ""), "ended") == 0;
}

/* Contexts and the agent are not processes of E2B's clients. */
static bool is_other(const struct json_value *row)
{
	return json_member(row, "context") || json_member(row, "agent");
}

static const struct json_value *find_row(const struct json_value *rows, uint32_t pid)
{
	for (const struct json_value *row = rows->child; row; row = row->next)
		if (pid_of(json_member_text(row, "id", "")) == pid && !is_other(row))
			return row;
	return NULL;
}

/* ---- List ---- */

static void list_row(struct json_writer *w, const struct json_value *row)
{
	const struct json_value *command = json_member(row, "command");
	const size_t count = command ? json_length(command) : 0;
	const char **argv = calloc(count + 2, sizeof(*argv));
	size_t i = 0;

	if (!argv) {
		json_fail(w);
		return;
	}
	for (const struct json_value *word = command ? command->child : NULL; word; word = word->next)
		argv[i++] = word->string;
	if (!argv[0])
		argv[0] = "";
	process_write_listed(
	    w, &(struct process_listed){ .pid = pid_of(json_member_text(row, "id", "")), .argv = argv });
	free(argv);
}

static void list(struct process_visit *process, const struct json_value *rows)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key(&w, "processes");
	json_begin_array(&w);
	for (const struct json_value *row = rows->child; row; row = row->next)
		if (!has_ended(row) && !is_other(row))
			list_row(&w, row);
	json_end_array(&w);
	json_end_object(&w);
	visit_reply(&process->visit, &w);
}

static void drop_request(struct process_visit *process)
{
	process_request_done(&process->request);
	exchange_keep(process->visit.x, NULL, 0);
}

/* ---- Start ---- */

static void start(struct process_visit *process)
{
	struct visit *visit = &process->visit;
	const struct process_request *request = &process->request;
	struct warder_error err = { 0 };
	const struct channel_command command = {
		.policy = visit->policy,
		.argv = request->argv,
		.environment = request->variables,
		.directory = request->directory,
		.timeout_us = process->timeout_ms * 1000,
		.input = request->has_terminal || request->input_mode != PROCESS_STDIN_CLOSED,
		.background = !request->has_terminal,
		.rows = request->has_terminal ? (request->size.rows ? request->size.rows : 24) : 0,
		.columns = request->has_terminal ? (request->size.columns ? request->size.columns : 80) : 0,
	};

	process->terminal = request->has_terminal;
	if (request->tag)
		visit_fail(visit, CONNECT_UNIMPLEMENTED, "tag: this host has no tags; use the pid");
	else if (channel_start(visit->channel, &command, &err) < 0)
		visit_error(visit, &err);
	visit_drop_policy(visit);
	drop_request(process);
}

/* The first message of the stream, and what the execution has written so far. */
static void send_start(struct process_visit *process)
{
	struct visit *visit = &process->visit;
	struct json_writer w = { 0 };

	process->pid = pid_of(channel_execution(visit->channel));
	visit_begin_stream(visit, "application/connect+json");
	process_write_start(&w, process->pid);
	visit_send_frame(visit, &w);
}

static void attach(struct process_visit *process)
{
	struct visit *visit = &process->visit;
	struct warder_error err = { 0 };

	if (channel_attach(visit->channel, (const uint64_t[2]){ 0, 0 }, &err) < 0)
		visit_error(visit, &err);
}

/* ---- the calls about one process ---- */

/* The next part of the input; or all is written. */
static void write_input(struct process_visit *process)
{
	const struct process_request *request = &process->request;
	struct visit *visit = &process->visit;
	struct warder_error err = { 0 };
	const size_t left = request->input_len - process->input_at;
	const size_t part = left < REMOTE_WRITE_MAX ? left : REMOTE_WRITE_MAX;

	if (!left) {
		visit_reply_nothing(visit);
		return;
	}
	process->input_at += part;
	if (channel_write(visit->channel, request->input + process->input_at - part, part, part < left,
			  &err) < 0)
		visit_error(visit, &err);
}

static void act(struct process_visit *process, const struct json_value *row)
{
	const struct process_request *request = &process->request;
	struct visit *visit = &process->visit;
	struct warder_error err = { 0 };
	int sent = 0;

	channel_choose(visit->channel, json_member_text(row, "id", ""));
	process->terminal = json_member_true(row, "terminal");
	switch (process->call) {
	case PROCESS_CONNECT:
		drop_request(process); /* a process may last for hours */
		attach(process);
		return;
	case PROCESS_SEND_INPUT:
		if (request->input_of_terminal != process->terminal)
			visit_fail(visit, CONNECT_INVALID_ARGUMENT,
				   process->terminal
				       ? "input: the process has a terminal; send pty, not stdin"
				       : "input: the process has no terminal; send stdin, not pty");
		else if (!json_member_true(row, "input"))
			visit_fail(visit, CONNECT_FAILED_PRECONDITION,
				   "input: the process's standard input is closed");
		else
			write_input(process);
		return;
	case PROCESS_CLOSE_STDIN:
		sent = channel_ask(visit->channel, RECORD_CLOSE, 0, &err);
		break;
	case PROCESS_SEND_SIGNAL:
		sent = channel_ask(visit->channel, RECORD_SIGNAL, (uint32_t)request->signal, &err);
		break;
	case PROCESS_UPDATE:
		if (!process->terminal)
			visit_fail(visit, CONNECT_FAILED_PRECONDITION, "pty: the process has no terminal");
		else
			sent =
			    channel_resize(visit->channel, request->size.rows, request->size.columns, &err);
		break;
	case PROCESS_START:
	case PROCESS_LIST:
	case PROCESS_STREAM_INPUT:
	case PROCESS_CALLS:
		break;
	}
	if (sent < 0)
		visit_error(visit, &err);
}

static void take_rows(struct process_visit *process, const char *text)
{
	struct visit *visit = &process->visit;
	struct json_value *rows = visit_rows(visit, text);
	const struct json_value *row;
	char why[80];

	if (!rows)
		return;
	row = find_row(rows, process->request.selector.pid);
	snprintf(why, sizeof(why), "process.pid: there is no process %u", process->request.selector.pid);
	if (process->call == PROCESS_LIST)
		list(process, rows);
	else if (process->request.selector.tag)
		visit_fail(visit, CONNECT_UNIMPLEMENTED, "process.tag: this host has no tags; use the pid");
	else if (!row || (has_ended(row) && process->call != PROCESS_CONNECT))
		visit_fail(visit, CONNECT_NOT_FOUND, why);
	else
		act(process, row);
	json_free(rows);
}

/* ---- what the keeper says ---- */

static void on_answered(void *of, enum record_type request, const struct record_answer *answer,
			const char *text)
{
	struct process_visit *process = of;
	struct visit *visit = &process->visit;

	if (answer->failed) {
		/* Of a process that has ended meanwhile. */
		if (request == RECORD_SIGNAL && answer->error.code == WARDER_ERROR_CONFLICT)
			visit_fail(visit, CONNECT_NOT_FOUND, answer->error.text);
		else
			visit_error(visit, &answer->error);
	} else if (request == RECORD_LIST) {
		take_rows(process, text);
	} else if (request == RECORD_START) {
		send_start(process);
		attach(process);
	} else if (request == RECORD_ATTACH) {
		process->terminal = answer->values[RECORD_ATTACHED_TERMINAL] == 1;
		if (process->call == PROCESS_CONNECT)
			send_start(process);
	} else if (request == RECORD_WRITE) {
		write_input(process);
	} else {
		visit_reply_nothing(visit);
	}
}

static void send_output(struct process_visit *process, enum process_output output, const char *bytes,
			size_t len)
{
	struct json_writer w = { 0 };

	process_write_data(&w, output, bytes, len);
	visit_send_frame(&process->visit, &w);
}

static void on_bytes(void *of, int stream, uint64_t offset, const char *bytes, size_t len)
{
	struct process_visit *process = of;

	send_output(process,
		    process->terminal ? PROCESS_TERMINAL
		    : stream          ? PROCESS_STDERR
				      : PROCESS_STDOUT,
		    bytes, len);
}

static void on_gap(void *of, int stream, uint64_t from, uint64_t to)
{
	struct process_visit *process = of;
	char text[120];

	snprintf(text, sizeof(text), "\r\nwarder: %llu bytes of %s are no longer kept\r\n",
		 (unsigned long long)(to - from), stream ? "standard error" : "the output");
	send_output(process, process->terminal ? PROCESS_TERMINAL : PROCESS_STDERR, text, strlen(text));
}

static void on_ended(void *of, const struct record_end *end, const char *json)
{
	struct process_visit *process = of;
	struct visit *visit = &process->visit;
	struct json_writer w = { 0 };

	if (end->cause == JAIL_CAUSE_WALL_TIME && process->timeout_ms) {
		visit_fail(visit, CONNECT_DEADLINE_EXCEEDED,
			   end->detail[0] ? end->detail : "the process was killed at its time limit");
		return;
	}
	process_write_end(&w, &(struct process_end){ .cause = jail_cause_name((enum jail_cause)end->cause),
						     .detail = end->detail[0] ? end->detail : NULL,
						     .exit_code = end->exit_code,
						     .signal = end->signal });
	visit_send_frame(visit, &w);
	visit_end_frames(visit);
}

static const struct channel_events process_events = {
	.answered = on_answered, .bytes = on_bytes, .gap = on_gap, .ended = on_ended, .lost = visit_lost
};

/* ---- requests ---- */

static void tick(struct visit *visit)
{
	struct json_writer w = { 0 };

	if (!visit->streams)
		return;
	process_write_keepalive(&w);
	visit_send_frame(visit, &w);
}

static void begin(struct visit *visit)
{
	struct process_visit *process = of_visit(visit);
	struct warder_error err = { 0 };

	if (process->call == PROCESS_START)
		start(process);
	else if (channel_list_briefly(visit->channel, &err) < 0)
		visit_error(visit, &err);
}

static void done(struct visit *visit)
{
	process_request_done(&of_visit(visit)->request);
}

/* The message of the body: in one frame, or the body itself. */
static int parse(struct process_visit *process, const struct exchange *x, struct warder_error *err)
{
	struct connect_reader reader = { .max = CONNECT_MESSAGE_MAX };
	const char *message = x->body ? x->body : "";
	size_t len = x->body_len;
	int status = 0;

	if (process_call_streams_request(process->call))
		status = visit_unframe(x, &reader, &message, &len, err);
	if (status == 0)
		status = process_parse(process->call, message, len, &process->request, err);
	connect_reader_done(&reader);
	return status;
}

/* False: the client was answered. */
static bool keep_request(struct process_visit *process)
{
	const struct process_request *request = &process->request;

	if (exchange_keep(process->visit.x, request->document,
			  fields_list_bytes(request->variables) + request->input_len))
		return true;
	drop_request(process);
	return false;
}

void envd_process(struct exchange *x)
{
	struct process_visit *process = (struct process_visit *)(void *)visit_new(x, sizeof(*process));
	struct warder_error err = { 0 };
	uint64_t keepalive_ms = 0;

	if (!process)
		return;
	process->visit.events = &process_events;
	process->visit.begin = begin;
	process->visit.done = done;
	process->visit.tick = tick;
	if (!process_call_find(strrchr(x->path, '/') + 1, &process->call)) {
		visit_fail(&process->visit, CONNECT_UNIMPLEMENTED, "there is no such call");
		return;
	}
	process->visit.frames = process_call_streams_answer(process->call);
	process->visit.needs_policy = process->call == PROCESS_START;
	if (parse(process, x, &err) < 0 ||
	    connect_parse_timeout(exchange_header(x, "Connect-Timeout-Ms"), &process->timeout_ms, &err) < 0 ||
	    connect_parse_keepalive(exchange_header(x, "Keepalive-Ping-Interval"), &keepalive_ms, &err) < 0) {
		visit_error(&process->visit, &err);
		drop_request(process);
	} else if (keep_request(process) && visit_check_user(&process->visit)) {
		if (process->visit.frames)
			visit_keep_alive(&process->visit, keepalive_ms);
		visit_open(&process->visit);
	}
}
