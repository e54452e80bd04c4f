/*
 * executions_tell: what the commands about executions print.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/executions.h"
#include "runtime/cli/report.h"
#include "runtime/cli/term.h"

int executions_write(enum warder_stream stream, const char *bytes, size_t len)
{
	return file_write_all(stream == WARDER_STDERR ? STDERR_FILENO : STDOUT_FILENO, bytes, len);
}

void executions_tell_gap(enum warder_stream stream, uint64_t from, uint64_t to)
{
	term_complain("%llu bytes of standard %s are missing here: they left the spool before they were read",
		      (unsigned long long)(to - from), stream == WARDER_STDERR ? "error" : "output");
}

/* The file of --log, if it does not have all output. */
static void tell_log(const char *text)
{
	struct json_value *document = NULL;
	const struct json_value *log, *missing;
	struct warder_error ignored = { 0 };

	if (!text || json_parse(text, strlen(text), "result", &(struct json_limits){ .max_bytes = SIZE_MAX },
				&document, &ignored) != 0)
		return;
	log = json_member(document, "log");
	missing = log ? json_member(log, "missing") : NULL;
	if (missing && missing->is_uint && missing->uint)
		term_complain("the file of --log lacks %llu bytes: %s", (unsigned long long)missing->uint,
			      json_member_text(log, "error", "unknown error"));
	json_free(document);
}

int executions_tell_end(const struct warder_result *result)
{
	const struct jail_outcome *outcome = &result->outcome;

	if (outcome->cause != JAIL_CAUSE_EXIT && outcome->cause != JAIL_CAUSE_SIGNAL)
		term_complain("%s: %s", jail_cause_name(outcome->cause), outcome->detail);
	tell_log(result->document);
	return report_exit_status(outcome, 0);
}

int executions_tell_waited(const struct args *args, const struct warder_result *result)
{
	char *json = args->json ? warder_result_json(result) : NULL;
	const int status = !json            ? executions_tell_end(result)
			   : puts(json) < 0 ? EXIT_REFUSED
					    : report_exit_status(&result->outcome, 0);

	free(json);
	return status;
}
