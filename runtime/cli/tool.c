/*
 * tool: requests as JSON in, results as JSON out.
 *
 *   standard input --lines--> one worker for each request --memory file--> standard output
 *
 * Whatever is wrong with a request is told in its result, and only there. The worker decodes it, too: what a request costs in
 * memory is gone with its process, and here only its line was kept while it was read.
 *
 * Policies. The one that the flags make is what a request gets, and the most that it may ask for. The operator's ceiling is held
 * against that policy at the start, against what a request asks in its place once more.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "runtime/cli/audit.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/config.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/lines.h"
#include "runtime/cli/report.h"
#include "runtime/cli/served.h"
#include "runtime/cli/term.h"
#include "runtime/cli/tool_context.h"
#include "runtime/cli/workers.h"
#include "runtime/code/code.h"
#include "runtime/library/preparation.h"
#include "runtime/library/result.h"
#include "runtime/tool/context.h"
#include "runtime/tool/request.h"
#include "runtime/tool/schema.h"
#include "runtime/tool/scopes.h"
#include "runtime/tool/stats.h"

/* What a worker tells besides its result. */
struct note {
	struct audit_note audit;
	char id[AGENT_REQUEST_ID_MAX + 1]; /* JSON; "null" before it is known */
	uint32_t outcome;                  /* enum stats_outcome */
	uint64_t duration_us;
	uint64_t line;
};

struct session {
	struct args *args;
	char **argv;
	struct scopes scopes;
	struct workers workers;
	struct lines lines;
	struct stats stats;
	int stats_dir_fd;
	struct audit audit;
	const char *text; /* of the line that the next worker is for; NULL: it was too long */
	size_t len;
	int write_error;
};

/* A request on its way, in its worker. */
struct job {
	struct session *session;
	struct note *note;
	struct agent_request asked;
	struct policy policy;
	bool own_policy;
	bool narrowed; /* `policy` is the request's */
	bool decoded;  /* `asked` is whole */
	unsigned attempts;
};

/* ---- in the worker: what is asked ---- */

/* A check that is found in the cache would have nothing to tell. */
static struct warder_code code_of(const struct job *job)
{
	const struct args *args = job->session->args;
	const struct agent_request *asked = &job->asked;

	return (struct warder_code){
		.size = sizeof(struct warder_code),
		.language = asked->snippet.language ? asked->snippet.language : args->tool.default_language,
		.source = asked->snippet.code,
		.source_len = asked->snippet.code_len,
		.files = asked->snippet.files,
		.file_count = asked->snippet.file_count,
		.flags = (asked->check ? WARDER_CODE_CHECK_ONLY | WARDER_CODE_NO_CACHE : 0u) |
			 (asked->function ? WARDER_CODE_FUNCTION : 0u) | CODE_PREPARE_LATER |
			 (args->code.no_cache ? WARDER_CODE_NO_CACHE : 0u),
		.cache = args->code.cache,
		.languages = args->code.languages,
		.on_stage = report_on_stage,
		.should_stop = ending_came,
	};
}

/* The flags' policy again, where the language's row has something to say below it. */
static int load_defaults(struct job *job, const struct languages *languages, const char *language,
			 struct warder_error *err)
{
	struct args *args = job->session->args;

	args->defaults = languages_defaults(languages, language);
	if (args->base || !args->defaults)
		return 0;
	args_unload(args);
	if (args_load(FLAG_TOOL, job->session->argv, args, err) != 0)
		return -1;
	return request_drop_workspace(&args->policy->policy, err);
}

/* The request's choice, if it has one; judge() has looked whether it may. */
static const char *backend_of(const struct job *job)
{
	return job->asked.backend ? job->asked.backend : job->session->args->backend;
}

/* Of the backend that will run it; auto has to choose first. */
static enum policy_isolation isolation_of(const struct job *job)
{
	const struct args *args = job->session->args;
	const char *name = backend_of(job);
	const struct backend *backend;
	enum policy_isolation isolation = POLICY_ISOLATION_NAMESPACE_JAIL;
	struct preparation trial = { 0 };
	struct warder_error ignored = { 0 };

	if (name && strcmp(name, BACKEND_AUTO) == 0) {
		preparation_build(&job->policy,
				  &(struct preparation_options){ .cgroup_parent = args->cgroup_parent,
								 .backend = name,
								 .backends = args->backends },
				  &trial, &ignored);
		isolation = trial.backend ? trial.backend->isolation : isolation;
		preparation_done(&trial);
	} else if (name && (backend = backend_find(name, &ignored)) != NULL) {
		isolation = backend->isolation;
	}
	return isolation;
}

static int check_scopes(const struct job *job, const char *language, struct warder_error *err)
{
	const bool all = !job->session->args->tool.scopes && !job->asked.has_scopes;
	const enum policy_isolation isolation = all ? POLICY_ISOLATION_NAMESPACE_JAIL : isolation_of(job);

	if (scopes_check(&job->session->scopes, language, &job->policy, isolation, err) != 0)
		return error_context(err, "the operator's scopes");
	return job->asked.has_scopes
		   ? scopes_check(&job->asked.scopes, language, &job->policy, isolation, err)
		   : 0;
}

/* Within the flags' policy it is by request_narrow(); but a directory of that one may have been granted by the name of a link. */
static int check_ceiling(const struct job *job, struct warder_error *err)
{
	const struct args *args = job->session->args;
	struct preparation trial = { 0 };
	int status;

	if (!job->own_policy || !args->ceiling)
		return 0;
	status = preparation_build(&job->policy,
				   &(struct preparation_options){ .ceiling = &args->ceiling->policy,
								  .cgroup_parent = args->cgroup_parent,
								  .backend = backend_of(job),
								  .backends = args->backends },
				   &trial, err);
	preparation_done(&trial);
	return status == 0 || err->code != WARDER_ERROR_REJECTED ? 0 : -1;
}

static int judge(struct job *job, struct warder_error *err)
{
	const struct args *args = job->session->args;
	const struct warder_code code = code_of(job);
	struct languages *languages = NULL;
	const char *language = NULL, *found_by;
	int status;

	if (job->asked.backend &&
	    preparation_check_choice(job->asked.backend, args->backend, args->backends, err) != 0)
		return -1;
	if (languages_load(code_languages_path(args->code.languages), &languages, err) != 0)
		return -1;
	status = code_language(languages, &code, &language, &found_by, err);
	if (status == 0)
		status = load_defaults(job, languages, language, err);
	if (status == 0)
		status = request_narrow(&job->asked, &args->policy->policy, &job->policy, err);
	job->narrowed = status == 0;
	job->own_policy = job->asked.preset || job->asked.policy;
	if (status == 0)
		status = check_scopes(job, language, err);
	languages_free(languages);
	return status == 0 ? check_ceiling(job, err) : -1;
}

/* A request of a stream stands on one line, which the message names. */
static int refuse_line(const struct job *job, struct warder_error *err)
{
	static const char first[] = "request:1:";
	char text[sizeof(err->text)];

	if (job->session->args->tool.stream && strncmp(err->text, first, strlen(first)) == 0) {
		snprintf(text, sizeof(text), "request:%llu:%s", (unsigned long long)job->note->line,
			 err->text + strlen(first));
		strcpy(err->text, text);
	}
	return -1;
}

static int decode(struct job *job, struct warder_error *err)
{
	const struct session *session = job->session;
	int status;

	if (!session->text) {
		strcpy(job->asked.id, "null");
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "request",
				 "the request is larger than %zu MiB", AGENT_REQUEST_MAX >> 20);
	}
	status = request_decode(session->text, session->len, &job->asked, err);
	strcpy(job->note->id, job->asked.id);
	if (status != 0)
		return refuse_line(job, err);
	job->decoded = true;
	if (tool_context_check(&job->asked, err) != 0 ||
	    snippet_check_environment(&job->asked.snippet, session->args->tool.granted.items,
				      session->args->tool.granted.count, err) != 0 ||
	    judge(job, err) != 0)
		return -1;
	return tool_context_begin(&job->asked, err);
}

/* ---- in the worker: running it ---- */

static int call(struct job *job, struct warder_program *program, const struct warder_policy *policy,
		const struct warder_options *options, const struct spool *spool, struct warder_result **ret,
		struct warder_error *err)
{
	const struct agent_request *asked = &job->asked;
	const struct warder_collect collect = { .patterns = asked->collect_count
								? (const char *const *)asked->collect
								: NULL,
						.pattern_count = asked->collect_count };
	const struct warder_call call = {
		.size = sizeof(call),
		.argv = asked->args,
		.input = asked->standard_input,
		.input_len = asked->standard_input ? strlen(asked->standard_input) : 0,
		.environment = asked->snippet.environment,
		.json = asked->input,
		.json_len = asked->input ? strlen(asked->input) : 0,
		.last_line = asked->last_line,
		.collect = !asked->has_collect || asked->collect_count ? &collect : NULL,
		.spill = spool->open ? &spool->spill : NULL,
		.should_stop = ending_came,
	};
	int status = served_call(job->session->args, options, program, &call, ret, err);

	if (status > 0)
		status = code_is_prepared(program) || code_prepare(program, policy, options, err) == 0
			     ? report_call(job->session->args, program, &call, ret, err)
			     : -1;
	if (status == 0)
		spool_keep(spool, "", false, *ret);
	return status;
}

static int call_spooled(struct job *job, struct warder_program *program, const struct warder_policy *policy,
			const struct warder_options *options, struct warder_result **ret,
			struct warder_error *err)
{
	const struct args_code *flags = &job->session->args->code;
	struct spool spool;
	int status;

	if (spool_open(flags->artifacts, flags->artifact_bytes, &spool, err) != 0)
		return -1;
	status = call(job, program, policy, options, &spool, ret, err);
	spool_done(&spool);
	return status;
}

static int attempt(struct job *job, struct warder_result **ret, struct warder_error *err)
{
	const struct args *args = job->session->args;
	const struct agent_request *asked = &job->asked;
	const struct warder_policy policy = { job->policy };
	const struct warder_options options = {
		.size = sizeof(options),
		.ceiling = job->own_policy ? args->policy : args->ceiling,
		.cgroup_parent = args->cgroup_parent,
		.backend = backend_of(job),
		.backends = args->backends,
		.single_use = 1,
	};
	const struct warder_code code = code_of(job);
	struct warder_program *program = NULL;
	int status = 0;

	if (warder_build(&policy, &options, &code, &program, err) != 0)
		return -1;
	if (warder_program_failed(program) || asked->check)
		*ret = warder_program_result(program);
	else if (ending_signal())
		status = error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "a signal came before the start");
	else
		status = call_spooled(job, program, &policy, &options, ret, err);
	warder_program_free(program);
	return status;
}

static bool is_worth_another(const struct warder_error *err)
{
	return err->code == WARDER_ERROR_UNAVAILABLE || err->code == WARDER_ERROR_INTERNAL ||
	       err->code == WARDER_ERROR_CONFLICT;
}

static int run_attempts(struct job *job, struct warder_result **ret, struct warder_error *err)
{
	for (;;) {
		*err = (struct warder_error){ 0 };
		job->attempts++;
		if (attempt(job, ret, err) == 0)
			return 0;
		if (job->attempts >= job->asked.attempts || !is_worth_another(err) || ending_signal())
			return -1;
		ending_sleep(job->asked.delay_us);
	}
}

/* ---- in the worker: what is told ---- */

/* The members that go before those of the result. */
static char *begin_line(const struct job *job, const struct warder_result *result)
{
	struct warder_error err = { 0 };
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key(&w, "id");
	json_number(&w, job->asked.id);
	if (job->asked.identity) /* "identity" of a result is the jail's user */
		json_key_string(&w, "requestIdentity", job->asked.identity);
	json_key_uint(&w, "line", job->note->line);
	json_key_uint(&w, "attempts", job->attempts);
	config_write_member(job->session->args->config, &w);
	audit_write_member(&job->session->audit, &w);
	request_write_clamped(&job->asked, &w);
	if (job->decoded) /* also of a request that is refused: it is not to forget its failures */
		context_write(job->asked.context, &w);
	if (result && strcmp(warder_result_status(result), "compileFailed") == 0) {
		error_set(&err, WARDER_ERROR_COMPILE_FAILED, "code", "the code does not compile");
		result_write_error(&err, NULL, &w);
	}
	json_end_object(&w);
	return json_take(&w);
}

/* The line: `first` and `second`, which are objects, as one. Takes both. */
static int write_line(int fd, char *first, char *second)
{
	int status = -1;

	if (first && second) {
		first[strlen(first) - 1] = ',';
		if (file_write_all(fd, first, strlen(first)) == 0 &&
		    file_write_all(fd, second + 1, strlen(second + 1)) == 0)
			status = file_write_all(fd, "\n", 1);
	}
	free(first);
	free(second);
	return status;
}

static enum stats_outcome outcome_of(const char *status)
{
	if (strcmp(status, "success") == 0)
		return STATS_SUCCESS;
	return strcmp(status, "timeout") == 0 ? STATS_TIMEOUT : STATS_FAILED;
}

static int tell_result(const struct job *job, int fd, const struct warder_result *result)
{
	job->note->outcome = outcome_of(warder_result_status(result));
	return write_line(fd, begin_line(job, result), warder_result_json(result));
}

static int tell_error(const struct job *job, int fd, const struct warder_error *err)
{
	job->note->outcome = STATS_REJECTED;
	return write_line(fd, begin_line(job, NULL), result_error_json(err, job->asked.violations));
}

/* What a signal has ended is not told of: nobody knows how it would have come out. */
static bool is_cut_off(const struct warder_result *result)
{
	return ending_signal() && (!result || result->outcome.cause == JAIL_CAUSE_CANCELLED);
}

static void append(struct job *job, const struct warder_result *result, const struct warder_error *err)
{
	struct audit *audit = &job->session->audit;

	audit_append(audit, &(struct audit_run){ .policy = job->narrowed ? &job->policy : NULL,
						 .identity = job->asked.identity,
						 .id = job->asked.id,
						 .argv = job->asked.args,
						 .result = result,
						 .err = err });
	job->note->audit.unaudited = audit->failed;
}

static int work(void *context, const struct worker *worker)
{
	struct session *session = context;
	struct job job = { .session = session, .note = worker->note };
	struct warder_result *result = NULL;
	struct warder_error err = { 0 };
	const uint64_t start = clock_us();
	int status;

	status = decode(&job, &err);
	if (status == 0)
		status = run_attempts(&job, &result, &err);
	append(&job, status == 0 ? result : NULL, &err);
	if (is_cut_off(result))
		return -1;
	if (status == 0)
		status = tool_context_end(&job.asked, result, &err);
	job.note->duration_us = clock_us() - start;
	return status == 0 ? tell_result(&job, worker->result_fd, result)
			   : tell_error(&job, worker->result_fd, &err);
}

/* ---- in the parent ---- */

/* A worker that was killed cannot speak for itself. */
static int tell_death(struct session *session, const struct worker *worker)
{
	const struct note *note = worker->note;
	struct warder_error err = { 0 };
	struct json_writer w = { 0 };
	char *text;
	int status = -1;

	workers_say_death(&session->workers, worker, &err);
	audit_append(&session->audit, &(struct audit_run){ .id = note->id, .err = &err });
	json_begin_object(&w);
	json_key(&w, "id");
	json_number(&w, note->id);
	json_key_uint(&w, "line", note->line);
	json_key_uint(&w, "attempts", 1);
	json_key_string(&w, "status", "rejected");
	result_write_error(&err, NULL, &w);
	json_end_object(&w);
	text = json_take(&w);
	if (text && workers_write(&session->workers, STDOUT_FILENO, text, strlen(text)) == 0)
		status = workers_write(&session->workers, STDOUT_FILENO, "\n", 1);
	free(text);
	return status;
}

static void hand_out(struct session *session, struct worker *worker)
{
	const struct note *note = worker->note;
	int status = 0;

	if (worker->state == WORKER_FINISHED) {
		status = workers_pass_on(&session->workers, worker);
		stats_count(&session->stats, (enum stats_outcome)note->outcome, note->duration_us);
		session->audit.failed |= note->audit.unaudited;
	} else if (!ending_signal()) {
		status = tell_death(session, worker);
		stats_count(&session->stats, STATS_FAILED, 0);
	}
	if (status != 0)
		session->write_error = errno ? errno : EIO;
	workers_release(&session->workers, worker);
}

static void hand_out_all(struct session *session)
{
	struct worker *worker;

	while (!session->write_error && (worker = workers_next(&session->workers)) != NULL)
		hand_out(session, worker);
}

/* False: there is none any more. */
static bool start_some(struct session *session, struct warder_error *err)
{
	struct note note = { .id = "null" };

	while (workers_may_start(&session->workers)) {
		if (audit_misses_line(&session->audit, &session->workers))
			return false;
		if (!lines_next(&session->lines, &session->text, &session->len))
			return !session->lines.at_end;
		note.line = session->lines.number;
		if (workers_start(&session->workers, work, session, &note, err) != 0)
			return false;
	}
	return true;
}

/* Until every request has its result, a signal comes, or nobody takes the results. */
static int serve(struct session *session, struct warder_error *err)
{
	bool more = true;

	while (!ending_signal() && !session->write_error) {
		bool wants_more;

		if (more)
			more = start_some(session, err);
		if (err->code)
			return -1;
		hand_out_all(session);
		if (session->write_error || (!more && workers_idle(&session->workers)))
			break;
		wants_more = more && workers_may_start(&session->workers);
		if (workers_wait(&session->workers, wants_more ? STDIN_FILENO : -1) &&
		    lines_read(&session->lines, STDIN_FILENO, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- statistics ---- */

static int tell_stats(struct session *session, struct warder_error *err)
{
	const char *path = session->args->tool.stats;
	struct stats_numbers numbers;
	struct json_writer w = { 0 };
	char *text, *line = NULL;
	int status = 0;

	if (!path && !session->args->tool.stream)
		return 0;
	stats_snapshot(&session->stats, &numbers);
	stats_write(&numbers, &w);
	text = json_take(&w);
	if (!text || asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	free(text);
	if (!line)
		return error_no_memory(err, NULL);
	if (session->stats_dir_fd >= 0)
		status = file_replace(session->stats_dir_fd, path, line, strlen(line), err);
	else
		file_write_all(STDERR_FILENO, line, strlen(line));
	free(line);
	return status;
}

/* ---- the command ---- */

static int open_session(struct session *session, struct warder_error *err)
{
	struct args *args = session->args;
	const struct args_tool *tool = &args->tool;
	struct spool trial;

	if (args->rest[0])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, args->rest[0],
				 "requests come on standard input: warder tool [FLAG...]");
	if (args->base && strcmp(args->base, "-") == 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--policy",
				 "standard input is for requests; name a file");
	session->scopes = SCOPES_ALL;
	if (tool->scopes) {
		session->scopes = (struct scopes){ 0 };
		if (scopes_add_list(&session->scopes, tool->scopes, err) != 0)
			return error_context(err, "--scopes");
	}
	if (args_load(FLAG_TOOL, session->argv, args, err) != 0 ||
	    request_drop_workspace(&args->policy->policy, err) != 0)
		return -1;
	if (args->ceiling && policy_check_ceiling(&args->ceiling->policy, &args->policy->policy, err) != 0)
		return -1;
	if (spool_open(args->code.artifacts, 0, &trial, err) != 0)
		return -1;
	spool_done(&trial); /* each request has its own */
	if (!tool->schema && audit_open(args, "tool", NULL, &session->audit, err) != 0)
		return -1;
	if (tool->stats && strcmp(tool->stats, "-") != 0 &&
	    file_open_private_dir(tool->stats, &session->stats_dir_fd, err) != 0)
		return -1;
	return 0;
}

static int exit_status(const struct session *session, int status, const struct warder_error *err)
{
	if (ending_signal())
		return 128 + ending_signal();
	if (session->write_error == EPIPE)
		return 128 + SIGPIPE;
	if (session->write_error)
		term_complain("the results cannot be written: %s", strerror(session->write_error));
	else if (status != 0)
		term_error(err);
	return status != 0 || session->write_error || session->audit.failed ? EXIT_REFUSED : 0;
}

static int serve_all(struct session *session)
{
	const struct args_tool *tool = &session->args->tool;
	struct warder_error err = { 0 }, stats_err = { 0 };
	int status;

	if (workers_init(&session->workers, "request", args_parallel(session->args), !tool->unordered,
			 sizeof(struct note), &err) != 0)
		return command_refuse(session->args, &err, EXIT_REFUSED);
	lines_init(&session->lines, AGENT_REQUEST_MAX, !tool->stream);
	stats_init(&session->stats);
	status = serve(session, &err);
	workers_end(&session->workers);
	hand_out_all(session);
	if (tell_stats(session, &stats_err) != 0 && status == 0) {
		err = stats_err;
		status = -1;
	}
	status = exit_status(session, status, &err);
	stats_done(&session->stats);
	lines_done(&session->lines);
	workers_done(&session->workers);
	return status;
}

/* No request is read. */
static int print_schema(const struct session *session)
{
	const struct args *args = session->args;
	const struct job job = { .session = (struct session *)(uintptr_t)session,
				 .policy = args->policy->policy };
	struct warder_error err = { 0 };
	char *text = schema_write(args->tool.schema, &job.policy, isolation_of(&job), &err);

	if (!text)
		return command_refuse(args, &err, EXIT_REFUSED);
	puts(text);
	free(text);
	return 0;
}

int tool_command(struct args *args, char **argv)
{
	struct session session = { .args = args, .argv = argv, .stats_dir_fd = -1, .audit = AUDIT_NONE };
	struct warder_error err = { 0 };
	int status;

	if (open_session(&session, &err) != 0)
		status = command_refuse(args, &err, EXIT_REFUSED);
	else
		status = args->tool.schema ? print_schema(&session) : serve_all(&session);
	fd_done(&session.stats_dir_fd);
	audit_done(&session.audit);
	return status;
}
