/*
 * code: a piece of code in its language, streams passed through as by run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "runtime/cli/code_remote.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/functions.h"
#include "runtime/cli/heap.h"
#include "runtime/cli/report.h"
#include "runtime/cli/served.h"
#include "runtime/cli/term.h"
#include "runtime/code/code.h"
#include "runtime/session/session.h"

#define SOURCE_MOST ((size_t)16 << 20)
#define FILE_MOST   ((size_t)64 << 20)
#define INPUT_MOST  ((size_t)16 << 20)

struct session {
	struct report report;
	struct warder_session *place; /* that the code runs in; NULL: a jail of its own */
	struct args *args;
	struct warder_file files[REQUEST_LIST_MAX];
	size_t file_count;
	char *source;
	size_t source_len;
	char *input; /* owned; NULL: none */
	size_t input_len;
	int stdin_fd;                     /* owned; -1: none */
	const struct warder_spill *spill; /* the report's, or NULL */
};

static void session_done(struct session *session)
{
	for (size_t i = 0; i < session->file_count; i++)
		free((char *)(uintptr_t)session->files[i].bytes);
	free(session->source);
	free(session->input);
	fd_done(&session->stdin_fd);
	warder_session_free(session->place);
	report_done(&session->report);
}

static bool by_keeper(const struct session *session)
{
	return session->place && session_runs_by_keeper(session->place);
}

/* ---- what is asked of the library ---- */

static struct warder_code code_of(const struct session *session)
{
	const struct args *args = session->args;

	return (struct warder_code){
		.size = sizeof(struct warder_code),
		.language = args->code.language,
		.file_name = strcmp(args->rest[0], "-") == 0 ? NULL : args->rest[0],
		.source = session->source,
		.source_len = session->source_len,
		.files = session->files,
		.file_count = session->file_count,
		.flags = (args->code.check ? WARDER_CODE_CHECK_ONLY : 0u) |
			 (args->code.no_cache ? WARDER_CODE_NO_CACHE : 0u) |
			 (args->code.function ? WARDER_CODE_FUNCTION : 0u) |
			 (args->code.scan ? WARDER_CODE_SCAN : 0u) |
			 (args->code.scan_deny ? WARDER_CODE_SCAN_DENY : 0u) | CODE_PREPARE_LATER |
			 (by_keeper(session) ? CODE_FOR_KEEPER : 0u),
		.scan_rules = args->code.rules,
		.scan_audit = session->report.audit.fd < 0 ? NULL : args->audit,
		.cache = args->code.cache,
		.languages = args->code.languages,
		.on_stage = report_on_stage,
		.should_stop = ending_came,
		.session = session->place,
	};
}

/* ---- what it is given ---- */

/* SRC=DST, or SRC, which keeps its name. */
static int read_file(struct session *session, const char *value, struct warder_error *err)
{
	struct warder_file *file = &session->files[session->file_count];
	const char *equals = strrchr(value, '=');
	const char *slash = strrchr(value, '/');
	char *source = strndup(value, equals ? (size_t)(equals - value) : strlen(value));
	char *bytes = NULL;
	int status;

	if (!source)
		return error_no_memory(err, NULL);
	status = strcmp(source, "-") == 0 ? file_read_most(source, FILE_MOST, &bytes, &file->len, err)
					  : file_read_regular(source, FILE_MOST, &bytes, &file->len, err);
	free(source);
	if (status != 0)
		return error_context(err, "--file");
	file->path = equals ? equals + 1 : slash ? slash + 1 : value;
	file->bytes = bytes;
	session->file_count++;
	return 0;
}

static int read_input(struct session *session, struct warder_error *err)
{
	const char *input = session->args->code.input;

	if (!input)
		return 0;
	if (*input == '@')
		return file_read_regular(input + 1, INPUT_MOST, &session->input, &session->input_len, err);
	session->input = strdup(input);
	session->input_len = strlen(input);
	return session->input ? 0 : error_no_memory(err, NULL);
}

/* The source has taken what it came by; then there is nothing left for the code. */
static int open_stdin(struct session *session, struct warder_error *err)
{
	const char *path = session->args->code.standard_input;

	if (path && session->args->no_input)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "-n",
				 "-n gives an empty standard input, and --stdin another; give one of them");
	if (session->args->no_input || (!path && strcmp(session->args->rest[0], "-") == 0))
		return 0;
	session->stdin_fd = path ? open(path, O_RDONLY | O_CLOEXEC) : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (session->stdin_fd < 0)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "--stdin", errno,
				       "cannot read %.200s", path ? path : "standard input");
	return 0;
}

/* What the language's row has over the default preset. */
static int find_defaults(struct session *session, const struct languages *languages, struct warder_error *err)
{
	const struct warder_code code = code_of(session);
	const char *name, *found_by;

	if (code_language(languages, &code, &name, &found_by, err) != 0)
		return -1;
	session->args->defaults = languages_defaults(languages, name);
	return 0;
}

/* The policy: in a session it is the session's, which the flags may narrow. */
static int load_policy(struct session *session, const struct languages *languages, char **argv,
		       struct warder_error *err)
{
	struct args *args = session->args;

	if (!args->context.session)
		return find_defaults(session, languages, err) == 0 ? args_load(FLAG_CODE, argv, args, err)
								   : -1;
	return session_open_to_run(args->context.session, &session->place, err) == 0 &&
		       session_check_start_flags(args, err) == 0
		   ? session_load_policy(session->place, FLAG_CODE, argv, args, err)
		   : -1;
}

static bool is_remote(const struct args *args)
{
	return args->backend && backend_is_remote(args->backend);
}

static int load(struct session *session, char **argv, struct warder_error *err)
{
	struct args *args = session->args;
	struct languages *languages = NULL;
	int status;

	if (is_remote(args) && code_remote_check_flags(args, err) < 0)
		return -1;
	if (!args->rest[0])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "source",
				 "which code? warder code [FLAG...] FILE, or - for standard input");
	if (file_read_most(args->rest[0], SOURCE_MOST, &session->source, &session->source_len, err) != 0)
		return -1;
	if (languages_load(code_languages_path(args->code.languages), &languages, err) != 0)
		return -1;
	status = load_policy(session, languages, argv, err);
	languages_free(languages);
	if (status == 0)
		status = args_provide(args, err);
	for (size_t i = 0; i < args->code.files.count && status == 0; i++)
		status = read_file(session, args->code.files.items[i], err);
	if (status == 0)
		status = read_input(session, err);
	return status == 0 ? open_stdin(session, err) : -1;
}

/* ---- running ---- */

/* 0 with *ret; -1 with *err. */
static int call_in_session(struct session *session, struct warder_program *program,
			   const struct warder_call *call, struct warder_result **ret,
			   struct warder_error *err)
{
	const struct args *args = session->args;
	struct library_order order = { 0 };
	const struct remote_streams streams = { .input_fd = call->input_fd > 0 ? call->input_fd : -1,
						.output_fds = call->output_fds };
	struct remote_command command = {
		.terminal_fd = -1,
		.output_max = call->output_max,
		.streams = &streams,
		.no_receipt = !args->json && !args->receipt,
		.progress = args->progress,
		.on_line = report_progress(&session->report),
		.code = &order,
	};
	int status;

	if (code_order_in_session(program, call, &order, err) != 0)
		return -1;
	command.ceiling = args->ceiling ? &args->ceiling->policy : NULL;
	order.asked = args->ceiling ? &args->policy->policy : NULL;
	command.policy = order.policy;
	command.argv = order.launch.command.argv;
	status = session_run_command(&session->report, session->place, &command, ret, err);
	if (status > 0)
		status = error_set(err, WARDER_ERROR_CONFLICT, "name",
				   "session %.64s ended, and another has its name; try again",
				   args->context.session);
	if (status == 0 && code_order_finish(&order, *ret, err) != 0) {
		warder_result_free(*ret);
		status = -1;
	}
	code_order_done(&order);
	return status;
}

static int call(struct session *session, struct warder_program *program)
{
	static const int output_fds[] = { STDOUT_FILENO, STDERR_FILENO };
	struct args *args = session->args;
	const struct warder_collect collect = {
		.patterns = args->code.collect.items,
		.pattern_count = args->code.collect.count,
		.inline_bytes = args->json ? 0 : UINT64_MAX,
		.directory = spool_is_meant(args->code.artifacts) ? NULL : args->code.artifacts,
	};
	struct function_commands functions = { 0 };
	const struct warder_call call = {
		.size = sizeof(call),
		.argv = args->rest + 1,
		.input_fd = session->stdin_fd > 0 ? session->stdin_fd : 0,
		.json = session->input,
		.json_len = session->input_len,
		.last_line = args->code.last_line,
		.output_fds = args->json ? NULL : output_fds,
		.output_max = args->json ? 0 : args->output_max,
		.collect = args->json || args->code.artifacts ? &collect : NULL,
		.spill = session->spill,
		.should_stop = ending_came,
		.progress = args->progress,
		.on_progress = report_progress(&session->report),
		.functions = functions.rows,
		.function_count = args->functions.count,
	};
	const struct warder_options options = args_options(args, true);
	struct warder_result *result = NULL;
	struct warder_error err = { 0 };
	struct warder_run *run = NULL;
	int status;

	if (report_ended_early(&session->report))
		return 128 + ending_signal();
	status = by_keeper(session) ? call_in_session(session, program, &call, &result, &err)
				    : served_call(args, &options, program, &call, &result, &err);
	session->report.service = by_keeper(session) ? NULL : served_word();
	if (status == 0)
		return report_result(&session->report, result);
	if (heap_launch)
		heap_launch();
	if (status < 0 ||
	    (!code_is_prepared(program) && code_prepare(program, args->policy, &options, &err) != 0) ||
	    function_commands_take(args, &functions, &err) != 0 ||
	    warder_call(program, &call, &run, &err) != 0)
		status = -1;
	function_commands_done(&functions);
	if (status < 0) /* 127 would say that the code's program is missing, and not its session */
		return report_refuse(&session->report, &err,
				     session->place && strcmp(err.field, "name") == 0
					 ? EXIT_REFUSED
					 : error_exit_status(err.code));
	report_ports(args, run);
	status = report_wait(&session->report, run);
	warder_run_free(run);
	return status;
}

static int call_there(struct session *session)
{
	const struct warder_code code = code_of(session);
	const struct code_remote_call call = { .code = &code,
					       .argv = session->args->rest + 1,
					       .json = session->input,
					       .json_len = session->input_len,
					       .input_fd = session->stdin_fd > 0 ? session->stdin_fd : -1 };

	return code_remote(&session->report, &call);
}

static int build_and_call(struct session *session)
{
	const struct args *args = session->args;
	const struct warder_options options = args_options(args, true);
	const struct warder_code code = code_of(session);
	struct warder_program *program = NULL;
	struct warder_error err = { 0 };
	int status;

	if (warder_build(args->policy, &options, &code, &program, &err) != 0)
		return report_refuse(&session->report, &err, EXIT_REFUSED);
	status = warder_program_failed(program) || args->code.check
		     ? report_built(&session->report, warder_program_result(program),
				    warder_program_failed(program))
		     : call(session, program);
	warder_program_free(program);
	return status;
}

int code_command(struct args *args, char **argv)
{
	struct session session = { .args = args, .stdin_fd = -1 };
	struct warder_error err = { 0 };
	int status;

	if (args->context.name)
		return context_code(argv);
	report_catch_signals();
	if (report_open(args, &session.report, &err) != 0)
		return command_refuse(args, &err, EXIT_REFUSED);
	if (load(&session, argv, &err) != 0 ||
	    report_audit(&session.report, "code", args->context.session, &err) != 0 ||
	    report_spool(&session.report, &session.spill, &err) != 0)
		status = report_refuse(&session.report, &err, EXIT_REFUSED);
	else
		status = is_remote(args) ? call_there(&session) : build_and_call(&session);
	session_done(&session);
	return status;
}
