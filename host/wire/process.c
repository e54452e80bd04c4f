#include "host/wire/process.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "host/wire/fields.h"

enum member {
	MEMBER_CONFIG = 1,
	MEMBER_SELECTOR = 2,
	MEMBER_INPUT = 4,
	MEMBER_SIGNAL = 8,
	MEMBER_SIZE = 16,
};

static const struct row {
	const char *name;
	unsigned members;
	bool streams_request, streams_answer;
} rows[PROCESS_CALLS] = {
	[PROCESS_START] = { "Start", MEMBER_CONFIG, true, true },
	[PROCESS_CONNECT] = { "Connect", MEMBER_SELECTOR, true, true },
	[PROCESS_LIST] = { "List", 0, false, false },
	[PROCESS_SEND_INPUT] = { "SendInput", MEMBER_SELECTOR | MEMBER_INPUT, false, false },
	[PROCESS_STREAM_INPUT] = { "StreamInput", 0, true, true },
	[PROCESS_CLOSE_STDIN] = { "CloseStdin", MEMBER_SELECTOR, false, false },
	[PROCESS_SEND_SIGNAL] = { "SendSignal", MEMBER_SELECTOR | MEMBER_SIGNAL, false, false },
	[PROCESS_UPDATE] = { "Update", MEMBER_SELECTOR | MEMBER_SIZE, false, false },
};

/* The enumeration Signal of the service. */
static const struct {
	const char *name;
	uint64_t number;
	int signal;
} signals[] = {
	{ "SIGNAL_SIGTERM", 15, SIGTERM },
	{ "SIGNAL_SIGKILL", 9, SIGKILL },
};

bool process_call_find(const char *name, enum process_call *ret)
{
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		if (strcmp(name, rows[i].name) == 0) {
			*ret = (enum process_call)i;
			return true;
		}
	}
	return false;
}

bool process_call_streams_request(enum process_call call)
{
	return rows[call].streams_request;
}

bool process_call_streams_answer(enum process_call call)
{
	return rows[call].streams_answer;
}

/* ---- requests ---- */

static int parse_argv(const struct json_value *config, struct process_request *ret, struct warder_error *err)
{
	const struct json_value *args = fields_member(config, "args");
	size_t count = 0;

	if (args && (args->type != JSON_ARRAY || json_length(args) > PROCESS_ARGS_MAX))
		return fields_refuse("process.args", "not a list of at most 4096 texts", err);
	ret->argv = calloc((args ? json_length(args) : 0) + 2, sizeof(*ret->argv));
	if (!ret->argv)
		return error_no_memory(err, "process.args");
	ret->argv[count++] = (char *)ret->command;
	for (const struct json_value *arg = args ? args->child : NULL; arg; arg = arg->next) {
		if (arg->type != JSON_STRING)
			return fields_refuse("process.args", "not a list of at most 4096 texts", err);
		ret->argv[count++] = arg->string;
	}
	return 0;
}

/* {"pty": {"size": {"cols", "rows"}}} */
static int parse_size(struct process_request *ret, struct warder_error *err)
{
	const struct json_value *pty, *size = NULL;
	uint64_t rows_wanted = 0, columns = 0;

	if (fields_object(ret->document, "pty", &pty, err) < 0 ||
	    fields_object(pty, "size", &size, err) < 0 ||
	    fields_uint(size, "rows", PROCESS_SIDE_MAX, &rows_wanted, err) < 0 ||
	    fields_uint(size, "cols", PROCESS_SIDE_MAX, &columns, err) < 0)
		return -1;
	ret->has_terminal = pty != NULL;
	ret->size = (struct process_size){ (uint16_t)rows_wanted, (uint16_t)columns };
	return 0;
}

static int parse_config(struct process_request *ret, struct warder_error *err)
{
	const struct json_value *config;
	bool open = false;

	if (fields_object(ret->document, "process", &config, err) < 0)
		return -1;
	if (!config)
		return fields_refuse("process", "missing", err);
	if (fields_required_text(config, "cmd", &ret->command, err) < 0 ||
	    fields_text(config, "cwd", &ret->directory, err) < 0 ||
	    fields_text(ret->document, "tag", &ret->tag, err) < 0 ||
	    fields_bool(ret->document, "stdin", &open, err) < 0 ||
	    fields_variables(config, "envs", &ret->variables, err) < 0 || parse_argv(config, ret, err) < 0 ||
	    parse_size(ret, err) < 0)
		return -1;
	if (ret->directory && !*ret->directory)
		ret->directory = NULL;
	if (ret->tag && !*ret->tag)
		ret->tag = NULL;
	if (fields_member(ret->document, "stdin"))
		ret->input_mode = open ? PROCESS_STDIN_OPEN : PROCESS_STDIN_CLOSED;
	return 0;
}

static int parse_selector(const struct json_value *object, struct process_request *ret,
			  struct warder_error *err)
{
	const struct json_value *selector;
	uint64_t pid = 0;

	if (fields_object(object, "process", &selector, err) < 0 ||
	    fields_text(selector, "tag", &ret->selector.tag, err) < 0 ||
	    fields_uint(selector, "pid", UINT32_MAX, &pid, err) < 0)
		return -1;
	if (!fields_member(selector, "pid") == !ret->selector.tag)
		return fields_refuse("process", "names neither or both of pid and tag", err);
	ret->selector.pid = (uint32_t)pid;
	return 0;
}

/* {"input": {"stdin"}} or {"input": {"pty"}} */
static int parse_input(const struct json_value *object, struct process_request *ret, struct warder_error *err)
{
	const struct json_value *input;

	if (fields_object(object, "input", &input, err) < 0)
		return -1;
	ret->input_of_terminal = fields_member(input, "pty") != NULL;
	if (ret->input_of_terminal == (fields_member(input, "stdin") != NULL))
		return fields_refuse("input", "has neither or both of stdin and pty", err);
	return fields_bytes(input, ret->input_of_terminal ? "pty" : "stdin", &ret->input, &ret->input_len,
			    err);
}

static int parse_signal(struct process_request *ret, struct warder_error *err)
{
	const struct json_value *signal = fields_member(ret->document, "signal");

	for (size_t i = 0; signal && i < ARRAY_LENGTH(signals); i++) {
		if ((signal->type == JSON_STRING && strcmp(signal->string, signals[i].name) == 0) ||
		    (signal->type == JSON_NUMBER && signal->is_uint && signal->uint == signals[i].number)) {
			ret->signal = signals[i].signal;
			return 0;
		}
	}
	return fields_refuse("signal", "neither SIGNAL_SIGTERM nor SIGNAL_SIGKILL", err);
}

/* One of {"start": {"process"}}, {"data": {"input"}}, {"keepalive": {}}. */
static int parse_part(struct process_request *ret, struct warder_error *err)
{
	const struct json_value *start, *data, *keepalive;

	if (fields_object(ret->document, "start", &start, err) < 0 ||
	    fields_object(ret->document, "data", &data, err) < 0 ||
	    fields_object(ret->document, "keepalive", &keepalive, err) < 0)
		return -1;
	if (!!start + !!data + !!keepalive != 1)
		return fields_refuse("message", "not one of start, data and keepalive", err);
	ret->part = start ? PROCESS_PART_BEGIN : data ? PROCESS_PART_INPUT : PROCESS_PART_KEEPALIVE;
	if (start)
		return parse_selector(start, ret, err);
	return data ? parse_input(data, ret, err) : 0;
}

static int parse_members(enum process_call call, struct process_request *ret, struct warder_error *err)
{
	const unsigned members = rows[call].members;

	if (call == PROCESS_STREAM_INPUT)
		return parse_part(ret, err);
	if (((members & MEMBER_CONFIG) && parse_config(ret, err) < 0) ||
	    ((members & MEMBER_SELECTOR) && parse_selector(ret->document, ret, err) < 0) ||
	    ((members & MEMBER_INPUT) && parse_input(ret->document, ret, err) < 0) ||
	    ((members & MEMBER_SIGNAL) && parse_signal(ret, err) < 0) ||
	    ((members & MEMBER_SIZE) && parse_size(ret, err) < 0))
		return -1;
	if ((members & MEMBER_SIZE) && !ret->has_terminal)
		return fields_refuse("pty", "missing", err);
	return 0;
}

int process_parse(enum process_call call, const char *json, size_t len, struct process_request *ret,
		  struct warder_error *err)
{
	*ret = (struct process_request){ 0 };
	if (fields_parse(json, len, &ret->document, err) < 0)
		return -1;
	if (parse_members(call, ret, err) < 0) {
		process_request_done(ret);
		return -1;
	}
	return 0;
}

void process_request_done(struct process_request *request)
{
	free(request->argv);
	fields_list_free(request->variables);
	free(request->input);
	json_free(request->document);
	*request = (struct process_request){ 0 };
}

/* ---- answers ---- */

static void begin_event(struct json_writer *w, const char *kind)
{
	json_begin_object(w);
	json_key(w, "event");
	json_begin_object(w);
	json_key(w, kind);
	json_begin_object(w);
}

static void end_event(struct json_writer *w)
{
	json_end_object(w);
	json_end_object(w);
	json_end_object(w);
}

void process_write_start(struct json_writer *w, uint32_t pid)
{
	begin_event(w, "start");
	json_key_uint(w, "pid", pid);
	end_event(w);
}

void process_write_data(struct json_writer *w, enum process_output output, const char *bytes, size_t len)
{
	static const char *const names[] = {
		[PROCESS_STDOUT] = "stdout",
		[PROCESS_STDERR] = "stderr",
		[PROCESS_TERMINAL] = "pty",
	};
	char *text = text_base64(bytes, len);

	if (!text) {
		json_fail(w);
		return;
	}
	begin_event(w, "data");
	json_key_string(w, names[output], text);
	end_event(w);
	free(text);
}

void process_write_keepalive(struct json_writer *w)
{
	begin_event(w, "keepalive");
	end_event(w);
}

/* "signal: killed" */
static void name_signal(int number, char *buf, size_t size)
{
	const char *name = strsignal(number);

	snprintf(buf, size, "signal: %s", name ? name : "unknown");
	buf[8] = (char)tolower((unsigned char)buf[8]);
}

void process_write_end(struct json_writer *w, const struct process_end *end)
{
	const bool exited = strcmp(end->cause, "exit") == 0;
	const bool signalled = strcmp(end->cause, "signal") == 0;
	char status[64];
	char error[600];

	if (exited)
		snprintf(status, sizeof(status), "exit status %d", end->exit_code);
	else
		name_signal(signalled ? end->signal : SIGKILL, status, sizeof(status));
	if (exited || signalled)
		snprintf(error, sizeof(error), "%s", status);
	else
		snprintf(error, sizeof(error), "killed: %s", end->detail ? end->detail : end->cause);
	begin_event(w, "end");
	json_key(w, "exitCode");
	json_int(w, exited ? end->exit_code : -1);
	json_key_bool(w, "exited", exited);
	json_key_string(w, "status", status);
	if (!exited || end->exit_code != 0)
		json_key_string(w, "error", error);
	json_key(w, "warder");
	json_begin_object(w);
	json_key_string(w, "cause", end->cause);
	if (end->detail)
		json_key_string(w, "detail", end->detail);
	json_end_object(w);
	end_event(w);
}

void process_write_listed(struct json_writer *w, const struct process_listed *process)
{
	json_begin_object(w);
	json_key_uint(w, "pid", process->pid);
	if (process->tag)
		json_key_string(w, "tag", process->tag);
	json_key(w, "config");
	json_begin_object(w);
	json_key_string(w, "cmd", process->argv[0]);
	json_key(w, "args");
	json_begin_array(w);
	for (size_t i = 1; process->argv[i]; i++)
		json_string(w, process->argv[i]);
	json_end_array(w);
	json_key(w, "envs");
	json_begin_object(w);
	json_end_object(w);
	if (process->directory)
		json_key_string(w, "cwd", process->directory);
	json_end_object(w);
	json_end_object(w);
}
