/*
 * executions: ps, logs, write, kill and wait. The keeper of an execution's session has everything; these commands ask it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/executions.h"
#include "runtime/cli/report.h"
#include "runtime/cli/term.h"
#include "runtime/library/result.h"

#define RETRY_US 100000

int executions_open(const struct request *request, struct remote **ret, struct warder_error *err)
{
	if (!request->rest[0])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "id",
				 "which execution? \"warder ps\" lists them");
	if (request->rest[1])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, request->rest[1],
				 "%.60s is one word too many; give one id", request->rest[1]);
	return remote_open(request->rest[0], ret, err);
}

int executions_write(const struct remote_event *event)
{
	const size_t len = (size_t)(event->end - event->offset);

	return file_write_all(event->stream ? STDERR_FILENO : STDOUT_FILENO, event->bytes, len);
}

void executions_tell_gap(const struct remote_event *event)
{
	term_complain("%llu bytes of standard %s are missing here: they left the spool before they were read",
		      (unsigned long long)(event->end - event->offset), event->stream ? "error" : "output");
}

int executions_tell_end(const struct remote_end *end)
{
	const enum jail_cause cause = end->outcome.cause;

	if (cause != JAIL_CAUSE_EXIT && cause != JAIL_CAUSE_SIGNAL)
		term_complain("%s: %s", jail_cause_name(cause), end->outcome.detail);
	return report_exit_status(&end->outcome, 0);
}

/* A keeper that lives, but closes every connection, is not asked without a pause. */
static int reconnect(struct remote *remote, struct warder_error *err)
{
	ending_sleep(RETRY_US);
	return remote_reconnect(remote, err);
}

int executions_come_back(struct remote *remote, const uint64_t next[2], struct remote_attached *ret,
			 struct warder_error *err)
{
	const int got = reconnect(remote, err);

	return got != 0 ? got : remote_attach(remote, next, ret, err);
}

int executions_tell_loss(const struct remote *remote)
{
	struct remote_end end = { .outcome = { .cause = JAIL_CAUSE_SUPERVISOR, .exit_code = -1 } };

	snprintf(end.outcome.detail, sizeof(end.outcome.detail),
		 "killed: the keeper of session %.64s is gone, and with it everything in the session",
		 remote_session(remote));
	return executions_tell_end(&end);
}

/* ---- ps ---- */

static void print_age(uint64_t us)
{
	const unsigned long long s = us / 1000000;
	char text[32];

	if (s < 60)
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
	const struct json_value *age = json_member(execution, "ageUs");
	const struct json_value *command = json_member(execution, "command");

	term_print(TERM_PLAIN, 18, json_member_text(execution, "id", ""));
	term_print(TERM_PLAIN, 18, json_member_text(execution, "session", ""));
	print_state(execution);
	print_age(age && age->is_uint ? age->uint : 0);
	print_counters(execution);
	for (const struct json_value *word = command ? command->child : NULL; word; word = word->next) {
		if (word != command->child)
			putchar(' ');
		if (word->type == JSON_STRING)
			term_show(stdout, word->string, strlen(word->string));
	}
	putchar('\n');
}

int ps_command(struct request *request, char **argv)
{
	struct warder_error err = { 0 };
	struct json_value *document = NULL;
	char *text;

	if (request->rest[0]) {
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, request->rest[0], "%.60s is one word too many",
			  request->rest[0]);
		return command_refuse(request, &err, EXIT_REFUSED);
	}
	text = remote_list(&err);
	if (text && request->json)
		puts(text);
	if (!text || json_parse(text, strlen(text), "executions",
				&(struct json_limits){ .max_bytes = SIZE_MAX }, &document, &err) != 0) {
		free(text);
		return command_refuse(request, &err, EXIT_REFUSED);
	}
	if (!request->json) {
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
		int stream;
		size_t len;
		char *bytes;
	} * pieces;
	size_t count;
};

static int tail_add(struct tail *tail, const struct remote_event *event, struct warder_error *err)
{
	struct tail_piece *grown = realloc(tail->pieces, (tail->count + 1) * sizeof(*grown));
	const size_t len = (size_t)(event->end - event->offset);
	char *bytes = grown ? malloc(len) : NULL;

	if (grown)
		tail->pieces = grown;
	if (!bytes)
		return error_no_memory(err, NULL);
	memcpy(bytes, event->bytes, len);
	grown[tail->count++] = (struct tail_piece){ event->stream, len, bytes };
	return 0;
}

/* Print the last `lines` of all pieces together. A newline at the very end ends the last line. */
static void tail_print(struct tail *tail, unsigned lines)
{
	size_t first = 0, skip = 0;
	unsigned found = 0;
	bool last = true;

	for (size_t i = tail->count; i-- > 0 && found < lines;) {
		for (size_t at = tail->pieces[i].len; at-- > 0;) {
			if (tail->pieces[i].bytes[at] == '\n' && !last && ++found == lines) {
				first = i;
				skip = at + 1;
				break;
			}
			last = false;
		}
	}
	for (size_t i = 0; i < tail->count; i++) {
		struct tail_piece *piece = &tail->pieces[i];
		const size_t from = i == first ? skip : 0;

		if (i >= first)
			file_write_all(piece->stream ? STDERR_FILENO : STDOUT_FILENO, piece->bytes + from,
				       piece->len - from);
		free(piece->bytes);
	}
	free(tail->pieces);
	*tail = (struct tail){ 0 };
}

static bool has_all(const uint64_t next[2], const struct remote_attached *attached)
{
	return next[0] >= attached->totals[0] && next[1] >= attached->totals[1];
}

/* 0: the next event comes from a new connection. */
static int come_back(struct remote *remote, const uint64_t next[2], struct warder_error *err)
{
	struct remote_attached attached;
	const int got = executions_come_back(remote, next, &attached, err);

	return got > 0 ? error_set(err, WARDER_ERROR_UNAVAILABLE, "name",
				   "the keeper of session %.64s has ended", remote_session(remote))
		       : got;
}

static int print_logs(const struct request *request, struct remote *remote, struct warder_error *err)
{
	uint64_t next[2] = { 0, 0 };
	unsigned lines = request->execution.lines;
	struct remote_attached attached;
	struct remote_event event = { .kind = REMOTE_NOTHING };
	struct tail tail = { 0 };
	int ret = 0;

	if (take_from(request->execution.from, next, err) < 0 ||
	    remote_attach(remote, next, &attached, err) < 0)
		return -1;
	while (ret == 0 && event.kind != REMOTE_END && !ending_signal()) {
		if (lines && has_all(next, &attached)) {
			tail_print(&tail, lines);
			lines = 0;
		}
		if (!request->execution.follow && has_all(next, &attached))
			break;
		ret = remote_next(remote, 200, &event, err);
		if (ret < 0)
			ret = come_back(remote, next, err);
		if (ret < 0 || event.kind == REMOTE_NOTHING || event.kind == REMOTE_END)
			continue;
		next[event.stream] = event.end;
		if (event.kind == REMOTE_GAP && !lines)
			executions_tell_gap(&event);
		else if (event.kind == REMOTE_BYTES && lines)
			ret = tail_add(&tail, &event, err);
		else if (event.kind == REMOTE_BYTES && executions_write(&event) < 0)
			ret = error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					      "the output cannot be written");
	}
	tail_print(&tail, lines ? lines : 1);
	return ret;
}

int logs_command(struct request *request, char **argv)
{
	struct warder_error err = { 0 };
	struct remote *remote = NULL;
	int ret;

	ending_catch(NULL);
	signal(SIGPIPE, SIG_IGN);
	ret = executions_open(request, &remote, &err);
	if (ret == 0)
		ret = print_logs(request, remote, &err);
	remote_free(remote);
	if (ret == 0)
		return ending_signal() ? 128 + ending_signal() : 0;
	return err.sys_errno == EPIPE ? 128 + SIGPIPE : command_refuse(request, &err, EXIT_REFUSED);
}

/* ---- write ---- */

static int write_input(struct remote *remote, struct warder_error *err)
{
	char bytes[REMOTE_WRITE_MAX];
	ssize_t n;

	while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0)
		if (remote_write(remote, bytes, (size_t)n, true, err) < 0)
			return -1;
	if (n < 0)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, NULL, errno,
				       "standard input cannot be read");
	return remote_write(remote, bytes, 0, false, err);
}

int write_command(struct request *request, char **argv)
{
	struct warder_error err = { 0 };
	struct remote *remote = NULL;
	int ret = executions_open(request, &remote, &err);

	if (ret == 0)
		ret = write_input(remote, &err);
	if (ret == 0 && request->execution.close)
		ret = remote_close_input(remote, &err);
	remote_free(remote);
	return ret == 0 ? 0 : command_refuse(request, &err, EXIT_REFUSED);
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

int kill_command(struct request *request, char **argv)
{
	struct warder_error err = { 0 };
	struct remote *remote = NULL;
	int number;
	int ret = take_signal(request->execution.signal, &number, &err);

	if (ret == 0)
		ret = executions_open(request, &remote, &err);
	if (ret == 0)
		ret = remote_signal(remote, number, &err);
	remote_free(remote);
	return ret == 0 ? 0 : command_refuse(request, &err, EXIT_REFUSED);
}

/* ---- wait ---- */

/* As remote_wait(), over as many connections as it takes. 2: the keeper is gone. */
static int wait_for_end(struct remote *remote, struct remote_end *ret, char **ret_json,
			struct warder_error *err)
{
	for (;;) {
		const int waited = remote_wait(remote, ending_came, ret, ret_json, err);
		const int got =
		    waited < 0 && err->code == WARDER_ERROR_UNAVAILABLE ? reconnect(remote, err) : waited;

		if (waited >= 0 || got < 0)
			return got;
		if (got > 0)
			return 2;
	}
}

int wait_command(struct request *request, char **argv)
{
	struct warder_error err = { 0 };
	struct remote *remote = NULL;
	struct remote_end end;
	char *json = NULL;
	int status;
	int ret;

	ending_catch(NULL);
	if (executions_open(request, &remote, &err) < 0)
		return command_refuse(request, &err, EXIT_REFUSED);
	ret = wait_for_end(remote, &end, &json, &err);
	if (ret == 2)
		status = executions_tell_loss(remote);
	else if (ret > 0)
		status = 128 + ending_signal();
	else if (ret < 0)
		status = command_refuse(request, &err, EXIT_REFUSED);
	else if (request->json && json)
		status = puts(json) < 0 ? EXIT_REFUSED : report_exit_status(&end.outcome, 0);
	else
		status = executions_tell_end(&end);
	free(json);
	remote_free(remote);
	return status;
}
