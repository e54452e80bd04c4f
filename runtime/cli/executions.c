/*
 * executions: ps, logs, write, kill and wait. The keeper of an execution's session has everything; these commands ask it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/execution_name.h"
#include "runtime/cli/executions.h"
#include "runtime/cli/executions_remote.h"
#include "runtime/cli/report.h"
#include "runtime/cli/term.h"
#include "runtime/library/result.h"
#include "runtime/library/result_end.h"

#define LOOK_MS       200
#define YIELD_LOOK_MS 25
#define QUIET_US      UINT64_C(75000)

int executions_open(const struct args *args, struct warder_execution **ret, struct warder_error *err)
{
	if (!args->rest[0])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "id",
				 "which execution? \"warder ps\" lists them");
	if (args->rest[1])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, args->rest[1],
				 "%.60s is one word too many; give one id", args->rest[1]);
	return warder_execution_open(args->rest[0], ret, err);
}

/* ---- ps ---- */

/* NULL: it is not known. */
static void print_age(const struct json_value *us)
{
	const unsigned long long s = us && us->is_uint ? us->uint / 1000000 : 0;
	char text[32];

	if (!us)
		snprintf(text, sizeof(text), "-");
	else if (s < 60)
		snprintf(text, sizeof(text), "%llus", s);
	else if (s < 3600)
		snprintf(text, sizeof(text), "%llum%02llus", s / 60, s % 60);
	else
		snprintf(text, sizeof(text), "%lluh%02llum", s / 3600, s / 60 % 60);
	term_print(TERM_PLAIN, 9, text);
}

static void print_state(const struct json_value *execution)
{
	const struct json_value *code = json_member(execution, "exitCode");
	const char *state = json_member_text(execution, "state", "");
	char text[64];

	if (strcmp(state, "ended") != 0)
		snprintf(text, sizeof(text), "%s", state);
	else if (code && code->is_uint)
		snprintf(text, sizeof(text), "exited %llu", (unsigned long long)code->uint);
	else
		snprintf(text, sizeof(text), "%s", json_member_text(execution, "cause", "ended"));
	term_print(TERM_PLAIN, 11, text);
}

/* NULL: the execution has ended, or the host does not count it. */
static const struct json_value *counter(const struct json_value *execution, const char *key)
{
	const struct json_value *counters = json_member(execution, "counters");
	const struct json_value *value = counters ? json_member(counters, key) : NULL;

	return value && value->is_uint ? value : NULL;
}

static void print_bytes(const struct json_value *value)
{
	char text[32] = "-";

	if (value && value->uint < UINT64_C(1000) << 20)
		snprintf(text, sizeof(text), "%.1fM", (double)value->uint / (1 << 20));
	else if (value)
		snprintf(text, sizeof(text), "%.1fG", (double)value->uint / (1 << 30));
	term_print(TERM_PLAIN, 8, text);
}

static void print_counters(const struct json_value *execution)
{
	const struct json_value *cpu = counter(execution, "cpuTimeUs");
	const struct json_value *processes = counter(execution, "processes");
	char text[32] = "-";

	if (cpu)
		snprintf(text, sizeof(text), "%.2fs", (double)cpu->uint / 1e6);
	term_print(TERM_PLAIN, 9, text);
	print_bytes(counter(execution, "memoryBytes"));
	print_bytes(counter(execution, "memoryPeakBytes"));
	if (processes)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)processes->uint);
	term_print(TERM_PLAIN, 6, processes ? text : "-");
}

static void print_execution(const struct json_value *execution)
{
	const struct json_value *command = json_member(execution, "command");

	term_print(TERM_PLAIN, 18, json_member_text(execution, "id", ""));
	term_print(TERM_PLAIN, 18, json_member_text(execution, "session", ""));
	print_state(execution);
	print_age(json_member(execution, "ageUs"));
	print_counters(execution);
	for (const struct json_value *word = command ? command->child : NULL; word; word = word->next) {
		if (word != command->child)
			putchar(' ');
		if (word->type == JSON_STRING)
			term_show(stdout, word->string, strlen(word->string));
	}
	putchar('\n');
}

/* The executions of one session. */
static char *list_of(const char *session, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX };
	struct elsewhere elsewhere;
	struct warder_session *here = NULL;
	struct json_value *document = NULL;
	struct json_writer w = { 0 };
	char *text;
	const int found = elsewhere_read(session, &elsewhere, err);

	if (found <= 0)
		return found == 0 ? executions_remote_list(session, err) : NULL;
	if (warder_session_open(session, &here, err) < 0)
		return NULL;
	warder_session_free(here);
	text = warder_execution_list(err);
	if (!text || json_parse(text, strlen(text), "executions", &limits, &document, err) < 0) {
		free(text);
		return NULL;
	}
	json_begin_array(&w);
	for (const struct json_value *one = document->child; one; one = one->next)
		if (strcmp(json_member_text(one, "session", ""), session) == 0)
			json_copy(&w, one);
	json_end_array(&w);
	json_free(document);
	free(text);
	return json_take(&w);
}

int ps_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };
	struct json_value *document = NULL;
	char *text;

	if (args->rest[0] && args->rest[1]) {
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, args->rest[1], "%.60s is one word too many",
			  args->rest[1]);
		return command_refuse(args, &err, EXIT_REFUSED);
	}
	text = args->rest[0] ? list_of(args->rest[0], &err) : warder_execution_list(&err);
	if (text && args->json)
		puts(text);
	if (!text || json_parse(text, strlen(text), "executions",
				&(struct json_limits){ .max_bytes = SIZE_MAX }, &document, &err) != 0) {
		free(text);
		return command_refuse(args, &err, EXIT_REFUSED);
	}
	if (!args->json) {
		term_title("ID                SESSION           STATE      AGE      CPU      MEMORY  PEAK    "
			   "PROCS COMMAND");
		for (const struct json_value *item = document->child; item; item = item->next)
			print_execution(item);
	}
	json_free(document);
	free(text);
	return 0;
}

/* ---- logs ---- */

/* OUT or OUT,ERR. */
static int take_from(const char *text, uint64_t ret[2], struct warder_error *err)
{
	const char *at = text;

	for (int i = 0; text && i < 2 && *at; i++) {
		char *end;

		errno = 0;
		ret[i] = strtoull(at, &end, 10);
		if (end == at || *at < '0' || *at > '9' || errno ||
		    (*end && (*end != ',' || i == 1 || !end[1])))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--from",
					 "--from %.60s: write a number of bytes, or two as in 100,0", text);
		at = *end ? end + 1 : end;
	}
	return 0;
}

/* Output that is kept until it is known which are the last lines. */
struct tail {
	struct tail_piece {
		enum warder_stream stream;
		size_t len;
		char *bytes;
	} * pieces;
	size_t count;
};

static int tail_add(struct tail *tail, enum warder_stream stream, const char *bytes, size_t len)
{
	struct tail_piece *grown = realloc(tail->pieces, (tail->count + 1) * sizeof(*grown));
	char *copy = grown ? malloc(len) : NULL;

	if (grown)
		tail->pieces = grown;
	if (!copy)
		return ENOMEM;
	memcpy(copy, bytes, len);
	grown[tail->count++] = (struct tail_piece){ stream, len, copy };
	return 0;
}

/* Where the last `lines` of all pieces together begin: a piece, and a byte in it. A newline at the very end ends the last line. */
static size_t tail_begin(const struct tail *tail, unsigned lines, size_t *ret_skip)
{
	unsigned found = 0;
	bool last = true;

	*ret_skip = 0;
	for (size_t i = tail->count; i-- > 0;) {
		for (size_t at = tail->pieces[i].len; at-- > 0;) {
			if (tail->pieces[i].bytes[at] == '\n' && !last && ++found == lines) {
				*ret_skip = at + 1;
				return i;
			}
			last = false;
		}
	}
	return 0;
}

static void tail_done(struct tail *tail)
{
	for (size_t i = 0; i < tail->count; i++)
		free(tail->pieces[i].bytes);
	free(tail->pieces);
	*tail = (struct tail){ 0 };
}

/* Print the last `lines` (0: all). */
static void tail_print(struct tail *tail, unsigned lines)
{
	size_t skip;

	for (size_t i = tail_begin(tail, lines, &skip); i < tail->count; i++, skip = 0)
		executions_write(tail->pieces[i].stream, tail->pieces[i].bytes + skip,
				 tail->pieces[i].len - skip);
	tail_done(tail);
}

struct logs {
	struct warder_execution *execution;
	struct warder_attached attached;
	uint64_t next[2]; /* of each stream */
	unsigned
	    lines; /* that are to be printed when everything before the command is there; 0: all come at once */
	bool json; /* all is kept until the end */
	struct tail tail;
	uint64_t missing[2]; /* of each stream, what left the spool before it was read */
	uint64_t last_us;    /* clock of the last output; 0: none came */
	int failed;          /* errno of standard output or error */
};

static int log_output(void *context, enum warder_stream stream, uint64_t offset, const char *bytes,
		      size_t len)
{
	struct logs *logs = context;

	logs->next[stream] = offset + len;
	logs->last_us = clock_us();
	if (logs->lines || logs->json)
		logs->failed = tail_add(&logs->tail, stream, bytes, len);
	else if (executions_write(stream, bytes, len) < 0)
		logs->failed = errno;
	return logs->failed;
}

static void log_gap(void *context, enum warder_stream stream, uint64_t from, uint64_t to)
{
	struct logs *logs = context;

	logs->next[stream] = to;
	logs->missing[stream] += to - from;
	if (!logs->lines && !logs->json)
		executions_tell_gap(stream, from, to);
}

static bool has_all(const struct logs *logs)
{
	return logs->next[0] >= logs->attached.bytes[0] && logs->next[1] >= logs->attached.bytes[1];
}

/* 1: the execution has ended, and all of it is printed; 0; -1 with *err. */
static int print_more(struct logs *logs, int wait_ms, struct warder_error *err)
{
	struct pollfd ready = { .fd = warder_execution_fd(logs->execution, err), .events = POLLIN };
	struct warder_result *result = NULL;
	int ended;

	if (ready.fd < 0)
		return -1;
	poll(&ready, 1, wait_ms);
	ended = warder_execution_dispatch(logs->execution, &result, err);
	if (logs->failed)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, logs->failed,
				       "the output cannot be written");
	if (ended > 0 && result->outcome.cause == JAIL_CAUSE_SUPERVISOR && !result->document)
		ended =
		    error_set(err, WARDER_ERROR_UNAVAILABLE, "name", "the keeper of session %.64s has ended",
			      warder_execution_session(logs->execution));
	warder_result_free(result);
	return ended;
}

/* The last `lines` (0: all) of a stream; and how many bytes of it come before them. */
static void write_stream(struct json_writer *w, const char *key, const struct logs *logs,
			 enum warder_stream stream, size_t first, size_t skip)
{
	const struct tail *tail = &logs->tail;
	char *bytes = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&bytes, &len);

	for (size_t i = first; file && i < tail->count; i++, skip = 0)
		if (tail->pieces[i].stream == stream)
			fwrite(tail->pieces[i].bytes + skip, 1, tail->pieces[i].len - skip, file);
	if (file)
		fclose(file);
	json_key(w, key);
	json_begin_object(w);
	json_key_uint(w, "offset", logs->next[stream] - len);
	json_key_uint(w, "nextOffset", logs->next[stream]);
	json_key_uint(w, "missing", logs->missing[stream]);
	text_write(w, "text", bytes ? bytes : "", len, false);
	json_end_object(w);
	free(bytes);
}

static void print_json(const struct args *args, struct logs *logs, bool ended)
{
	struct json_writer w = { 0 };
	char *text;
	size_t skip;
	const size_t first = tail_begin(&logs->tail, args->execution.lines, &skip);

	json_begin_object(&w);
	json_key_string(&w, "id", warder_execution_id(logs->execution));
	json_key_bool(&w, "ended", ended);
	write_stream(&w, "stdout", logs, WARDER_STDOUT, first, skip);
	write_stream(&w, "stderr", logs, WARDER_STDERR, first, skip);
	json_end_object(&w);
	text = json_take(&w);
	if (text)
		puts(text);
	free(text);
	tail_done(&logs->tail);
}

/* True when `logs` can return. With --yield, that is when no output has come for a while, or when the time is over. */
static bool is_enough(const struct args *args, const struct logs *logs, uint64_t began_us)
{
	const uint64_t now = clock_us();

	if (args->execution.follow || !has_all(logs))
		return false;
	return !args->execution.yield_us || now - began_us >= args->execution.yield_us ||
	       (logs->last_us && now - logs->last_us >= QUIET_US);
}

static int print_logs(const struct args *args, struct logs *logs, struct warder_error *err)
{
	struct warder_attach attach = {
		.size = sizeof(attach), .on_output = log_output, .on_gap = log_gap, .context = logs
	};
	const uint64_t began_us = clock_us();
	int ret = 0;

	logs->attached.size = sizeof(logs->attached);
	logs->lines = args->execution.lines;
	logs->json = args->json;
	if (take_from(args->execution.from, attach.from, err) < 0 ||
	    warder_execution_attach(logs->execution, &attach, &logs->attached, err) < 0)
		return -1;
	memcpy(logs->next, attach.from, sizeof(logs->next));
	while (ret == 0 && !ending_signal()) {
		if (logs->lines && !logs->json && has_all(logs)) {
			tail_print(&logs->tail, logs->lines);
			logs->lines = 0;
		}
		if (is_enough(args, logs, began_us))
			break;
		ret = print_more(logs, args->execution.yield_us ? YIELD_LOOK_MS : LOOK_MS, err);
	}
	if (ret >= 0 && logs->json)
		print_json(args, logs, ret > 0 || logs->attached.ended);
	tail_print(&logs->tail, logs->lines ? logs->lines : 1);
	return ret < 0 ? -1 : 0;
}

int logs_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };
	struct logs logs = { 0 };
	int ret;

	if (args->rest[0] && execution_name_is(args->rest[0]))
		return executions_remote_logs(args);
	ending_catch(NULL);
	signal(SIGPIPE, SIG_IGN);
	ret = executions_open(args, &logs.execution, &err);
	if (ret == 0)
		ret = print_logs(args, &logs, &err);
	warder_execution_free(logs.execution);
	if (ret == 0)
		return ending_signal() ? 128 + ending_signal() : 0;
	return err.sys_errno == EPIPE ? 128 + SIGPIPE : command_refuse(args, &err, EXIT_REFUSED);
}

/* ---- write ---- */

static int write_input(struct warder_execution *execution, struct warder_error *err)
{
	char bytes[32768];
	ssize_t n;

	while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0)
		if (warder_execution_write(execution, bytes, (size_t)n, true, err) < 0)
			return -1;
	if (n < 0)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, NULL, errno,
				       "standard input cannot be read");
	return warder_execution_write(execution, NULL, 0, false, err);
}

int write_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };
	struct warder_execution *execution = NULL;
	int ret;

	if (args->rest[0] && execution_name_is(args->rest[0]))
		return executions_remote_write(args);
	ret = executions_open(args, &execution, &err);
	if (ret == 0)
		ret = write_input(execution, &err);
	if (ret == 0 && args->execution.close)
		ret = warder_execution_close_input(execution, &err);
	warder_execution_free(execution);
	return ret == 0 ? 0 : command_refuse(args, &err, EXIT_REFUSED);
}

/* ---- kill ---- */

static int take_signal(const char *text, int *ret, struct warder_error *err)
{
	char name[16], *end;
	long number;

	*ret = SIGTERM;
	if (!text)
		return 0;
	number = strtol(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && number > 0 && number <= SIGRTMAX) {
		*ret = (int)number;
		return 0;
	}
	for (int i = 1; i <= SIGRTMAX; i++) {
		result_signal_name(i, name, sizeof(name));
		if (strcasecmp(text, name) == 0 ||
		    (strncmp(name, "SIG", 3) == 0 && strcasecmp(text, name + 3) == 0)) {
			*ret = i;
			return 0;
		}
	}
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--signal",
			 "--signal %.40s: no such signal; use a name such as TERM, or a number from 1 to "
			 "%d",
			 text, SIGRTMAX);
}

int kill_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };
	struct warder_execution *execution = NULL;
	int number;
	int ret = take_signal(args->execution.signal, &number, &err);

	if (ret == 0 && args->rest[0] && execution_name_is(args->rest[0]))
		return executions_remote_kill(args, number);
	if (ret == 0)
		ret = executions_open(args, &execution, &err);
	if (ret == 0)
		ret = warder_execution_signal(execution, number, &err);
	warder_execution_free(execution);
	return ret == 0 ? 0 : command_refuse(args, &err, EXIT_REFUSED);
}

/* ---- wait ---- */

static int wait_for_end(struct warder_execution *execution, struct warder_result **ret,
			struct warder_error *err)
{
	int ended = 0;

	while (ended == 0 && !ending_signal())
		ended = warder_execution_wait_for(execution, LOOK_MS * 1000, ret, err);
	return ended;
}

int wait_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };
	struct warder_execution *execution = NULL;
	struct warder_result *result = NULL;
	int status;
	int ret;

	if (args->rest[0] && execution_name_is(args->rest[0]))
		return executions_remote_wait(args);
	ending_catch(NULL);
	if (executions_open(args, &execution, &err) < 0)
		return command_refuse(args, &err, EXIT_REFUSED);
	ret = wait_for_end(execution, &result, &err);
	if (ret == 0)
		status = 128 + ending_signal();
	else if (ret < 0)
		status = command_refuse(args, &err, EXIT_REFUSED);
	else
		status = executions_tell_waited(args, result);
	warder_result_free(result);
	warder_execution_free(execution);
	return status;
}
