/*
 * executions: ps, write, kill and wait. The keeper of an execution's session has everything; these commands ask it.
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

#define LOOK_MS 200

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
	term_print(TERM_PLAIN, 11, term_clean(text));
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
