/*
 * judge: one program, built once, and many cases that it is run with.
 *
 *   document, or files --> build --> one worker for each case --> verdicts, in the order of the cases
 *
 * The build is this process's; each worker makes the template of its own run out of what was built (code_prepare()), so that it
 * happens once with and without a cache. What the program prints is compared as it comes, and not kept.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/text.h"
#include "runtime/cli/audit.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/config.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/report.h"
#include "runtime/cli/served.h"
#include "runtime/cli/term.h"
#include "runtime/cli/workers.h"
#include "runtime/code/code.h"
#include "runtime/judge/trial.h"
#include "runtime/library/result.h"

#define SOURCE_MOST   ((size_t)16 << 20)
#define EXPECTED_MOST ((size_t)64 << 20)
#define EXIT_REJECTED 1 /* not accepted */

_Static_assert(BATCH_MAX_PARALLEL == WORKERS_MAX, "what a document may ask for");

/* What a worker tells besides the case's object. */
struct note {
	struct audit_note audit;
	struct judged judged;
};

struct session {
	struct args *args;
	struct batch batch;
	char *document;        /* owned: of the source where cases are files */
	const char *directory; /* of cases that are files; NULL: they are in the batch */
	char **arguments;      /* of all cases that have none of their own; or NULL */
	struct warder_program *program;
	struct warder_result *built; /* owned; NULL: nothing was built */
	struct workers workers;
	struct audit audit;
	struct score score;
	int write_error;
};

/* ---- cases that are files ---- */

static int compare_names(const void *a, const void *b)
{
	return strverscmp(((const struct batch_case *)a)->name, ((const struct batch_case *)b)->name);
}

static bool has_ending(const char *name, const char *ending)
{
	const size_t len = strlen(name), ending_len = strlen(ending);

	return len > ending_len && strcmp(name + len - ending_len, ending) == 0;
}

/* NAME.in or NAME.out; heap. */
static char *path_of(const struct session *session, const char *name, const char *ending)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s%s", session->directory, name, ending) < 0 ? NULL : path;
}

static int add_case(struct session *session, const char *file, struct warder_error *err)
{
	struct batch *batch = &session->batch;
	struct batch_case *one = &batch->cases[batch->case_count];

	if (batch->case_count == BATCH_MAX_CASES)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--cases", "more than %d cases",
				 BATCH_MAX_CASES);
	one->name = strndup(file, strlen(file) - strlen(".in"));
	one->how = batch->how;
	batch->case_count++;
	return one->name ? 0 : error_no_memory(err, NULL);
}

static int has_partner(const struct session *session, const char *name, const char *ending,
		       const char *missing, struct warder_error *err)
{
	char *stem = strndup(name, strlen(name) - strlen(ending));
	char *path = stem ? path_of(session, stem, missing) : NULL;
	const int found = path ? access(path, R_OK) : -1;

	if (!path)
		error_no_memory(err, NULL);
	else if (found != 0)
		error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "--cases", errno, "%.200s, beside %.80s",
				path, name);
	free(stem);
	free(path);
	return found;
}

static int look_at(struct session *session, const char *name, struct warder_error *err)
{
	const bool compares = session->batch.how.mode != COMPARE_NONE;

	if (has_ending(name, ".in"))
		return compares && has_partner(session, name, ".in", ".out", err) != 0
			   ? -1
			   : add_case(session, name, err);
	return compares && has_ending(name, ".out") ? has_partner(session, name, ".out", ".in", err) : 0;
}

static int list_cases(struct session *session, struct warder_error *err)
{
	struct batch *batch = &session->batch;
	DIR *dir = opendir(session->directory);
	struct dirent *entry;
	int status = 0;

	if (!dir)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "--cases", errno,
				       "cannot read %.200s", session->directory);
	batch->cases = calloc(BATCH_MAX_CASES, sizeof(*batch->cases));
	if (!batch->cases)
		status = error_no_memory(err, NULL);
	while (status == 0 && (entry = readdir(dir)) != NULL)
		status = look_at(session, entry->d_name, err);
	closedir(dir);
	if (status == 0 && batch->case_count == 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--cases", "%.200s has no NAME.in",
				 session->directory);
	if (status == 0)
		qsort(batch->cases, batch->case_count, sizeof(*batch->cases), compare_names);
	return status;
}

/* ---- what is asked ---- */

static int load_files(struct session *session, struct warder_error *err)
{
	struct args *args = session->args;
	struct batch *batch = &session->batch;
	const char *how = args->tool.compare ? args->tool.compare : "lines";

	if (!args->rest[0])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "source",
				 "which code? warder judge --cases DIR [FLAG...] FILE");
	if (compare_parse(how, &batch->how, err) != 0)
		return error_context(err, "--compare");
	session->directory = args->tool.cases;
	session->arguments = args->rest + 1;
	if (file_read_most(args->rest[0], SOURCE_MOST, &session->document, &batch->snippet.code_len, err) !=
	    0)
		return -1;
	batch->snippet.code = session->document;
	batch->snippet.language = args->code.language;
	return list_cases(session, err);
}

static int load_document(struct session *session, struct warder_error *err)
{
	struct args *args = session->args;
	const char *path = args->rest[0] ? args->rest[0] : "-";
	char *text = NULL;
	size_t len = 0;
	int status;

	if (args->code.language || args->tool.compare)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST,
				 args->tool.compare ? "--compare" : "--language",
				 "the document says so; the flag is for --cases");
	if (args->rest[0] && args->rest[1])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, args->rest[1],
				 "one document at a time: warder judge [FLAG...] [FILE]");
	if (strcmp(path, "-") == 0 && args->base && strcmp(args->base, "-") == 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--policy",
				 "standard input is for the document; name a file");
	if (file_read_most(path, BATCH_MAX, &text, &len, err) != 0)
		return -1;
	status = batch_decode(text, len, &session->batch, err);
	/* Whoever knows only "warder code FILE" gives the code itself. */
	if (status < 0 && text[strspn(text, " \t\r\n")] != '{')
		error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "batch",
		    "%.80s is no JSON document; to judge a file of code, name a directory with its cases: "
		    "warder judge --cases DIR FILE",
		    strcmp(path, "-") == 0 ? "standard input" : path);
	free(text);
	return status;
}

static struct warder_code code_of(const struct session *session);

static int load_policy(struct session *session, char **argv, struct warder_error *err)
{
	struct args *args = session->args;
	const struct warder_code code = code_of(session);
	struct languages *languages = NULL;
	const char *name, *found_by;
	int status;

	if (languages_load(code_languages_path(args->code.languages), &languages, err) != 0)
		return -1;
	status = code_language(languages, &code, &name, &found_by, err);
	if (status == 0) {
		args->defaults = languages_defaults(languages, name);
		status = args_load(FLAG_JUDGE, argv, args, err);
	}
	languages_free(languages);
	return status;
}

static int load(struct session *session, char **argv, struct warder_error *err)
{
	struct args *args = session->args;

	if ((args->tool.cases ? load_files(session, err) : load_document(session, err)) != 0)
		return -1;
	if (load_policy(session, argv, err) != 0)
		return -1;
	if (snippet_check_environment(&session->batch.snippet, args->tool.granted.items,
				      args->tool.granted.count, err) != 0)
		return -1;
	session->batch.stop |= args->tool.stop;
	if (!args->tool.parallel)
		args->tool.parallel = session->batch.parallel;
	return batch_check(&session->batch, &args->policy->policy, args_parallel(args), err) == 0
		   ? audit_open(args, "judge", NULL, &session->audit, err)
		   : -1;
}

/* ---- the build ---- */

static struct warder_code code_of(const struct session *session)
{
	const struct args *args = session->args;
	const struct snippet *snippet = &session->batch.snippet;

	return (struct warder_code){
		.size = sizeof(struct warder_code),
		.language = snippet->language,
		.file_name = session->directory && strcmp(args->rest[0], "-") != 0 ? args->rest[0] : NULL,
		.source = snippet->code,
		.source_len = snippet->code_len,
		.files = snippet->files,
		.file_count = snippet->file_count,
		.flags = CODE_BUILD_ONLY | (args->code.no_cache ? WARDER_CODE_NO_CACHE : 0u),
		.cache = args->code.cache,
		.languages = args->code.languages,
		.on_stage = report_on_stage,
		.should_stop = ending_came,
	};
}

static int build(struct session *session, struct warder_error *err)
{
	const struct args *args = session->args;
	const struct warder_options options = args_options(args, false);
	const struct warder_code code = code_of(session);

	const int status = warder_build(args->policy, &options, &code, &session->program, err);

	if (status == 0)
		session->built = warder_program_result(session->program);
	if (status != 0 || warder_program_failed(session->program)) /* no case will have a line */
		audit_append(&session->audit, &(struct audit_run){ .policy = &args->policy->policy,
								   .argv = session->arguments,
								   .result = session->built,
								   .err = err });
	return status;
}

/* ---- in the worker: a case ---- */

/* With the text of the expected output, or a file's. */
static int init_trial(const struct session *session, size_t index, struct trial *ret,
		      struct warder_error *err)
{
	const struct batch_case *one = &session->batch.cases[index];
	const char *expected = one->expected ? one->expected : "";
	size_t len = strlen(expected);
	char *path, *text = NULL;
	int status = 0;

	if (session->directory && one->how.mode != COMPARE_NONE) {
		path = path_of(session, one->name, ".out");
		status =
		    path ? file_read_most(path, EXPECTED_MOST, &text, &len, err) : error_no_memory(err, NULL);
		free(path);
		expected = text;
	}
	if (status == 0)
		status = trial_init(&session->batch, index, expected, len, ret, err);
	free(text);
	return status;
}

static int open_input(const struct session *session, const struct batch_case *one, int *ret_fd,
		      struct warder_error *err)
{
	char *path;

	if (!session->directory)
		return 0;
	path = path_of(session, one->name, ".in");
	if (!path)
		return error_no_memory(err, NULL);
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*ret_fd < 0)
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--cases", errno, "cannot read %.200s", path);
	free(path);
	return *ret_fd < 0 ? -1 : 0;
}

/* What a case has printed, as SESSION/CASE/stdout: nothing of it is in the verdict. */
static void keep_output(const struct session *session, const struct spool *spool, size_t index,
			struct warder_result *result)
{
	char number[BATCH_NUMBER], *under = NULL;

	if (spool->open && asprintf(&under, "%s/", batch_name(&session->batch, index, number)) >= 0) {
		spool_keep(spool, under, true, result);
		free(under);
	}
}

static int run_case(const struct session *session, size_t index, struct spool *spool, struct trial *trial,
		    struct warder_result **ret, struct warder_error *err)
{
	const struct args *args = session->args;
	const struct batch_case *one = &session->batch.cases[index];
	const struct warder_options options = args_options(args, true);
	struct warder_policy policy = { 0 };
	struct warder_call call = { .size = sizeof(call), .should_stop = ending_came };
	owned_fd int input_fd = -1;
	int status;

	if (init_trial(session, index, trial, err) != 0 || open_input(session, one, &input_fd, err) != 0 ||
	    batch_policy(&session->batch, index, &args->policy->policy, &policy.policy, err) != 0 ||
	    code_derive(session->program, &policy, err) != 0 ||
	    spool_open(args->code.artifacts, args->code.artifact_bytes, spool, err) != 0)
		return -1;
	trial_fill(trial, &call);
	if (!call.argv)
		call.argv = session->arguments;
	call.input_fd = input_fd > 0 ? input_fd : 0;
	call.spill = spool->open ? &spool->spill : NULL;
	if (ending_signal())
		return -1;
	status = served_call(args, &options, session->program, &call, ret, err);
	if (status > 0)
		status = code_prepare(session->program, &policy, &options, err) == 0
			     ? report_call(args, session->program, &call, ret, err)
			     : -1;
	if (status == 0)
		keep_output(session, spool, index, *ret);
	return status;
}

static int tell_case(const struct session *session, const struct worker *worker, const struct trial *trial,
		     const struct warder_result *result, const struct warder_error *err)
{
	const struct note *note = worker->note;
	struct json_writer w = { 0 };
	char *text;
	int status;

	trial_write(trial, &note->judged, result, err, &w);
	if (result && session->args->code.artifacts)
		trial_write_output(result, &w);
	audit_write_member(&session->audit, &w);
	json_end_object(&w);
	text = json_take(&w);
	status = text ? file_write_all(worker->result_fd, text, strlen(text)) : -1;
	free(text);
	return status;
}

/* The policy of a case differs from the others' by its limits. */
static void append(struct session *session, size_t index, const struct warder_result *result,
		   const struct warder_error *err)
{
	const struct batch_case *one = &session->batch.cases[index];
	struct policy policy = { 0 };
	struct warder_error ignored;
	char number[BATCH_NUMBER];

	if (session->audit.fd < 0)
		return;
	batch_policy(&session->batch, index, &session->args->policy->policy, &policy, &ignored);
	audit_append(&session->audit, &(struct audit_run){ .policy = &policy,
							   .name = batch_name(&session->batch, index, number),
							   .argv = one->args ? one->args : session->arguments,
							   .result = result,
							   .err = err });
	policy_done(&policy);
}

static int work(void *context, const struct worker *worker)
{
	struct session *session = context;
	struct note *note = worker->note;
	struct trial trial = { .batch = &session->batch, .index = worker->index };
	struct spool spool = SPOOL_NONE;
	struct warder_result *result = NULL;
	struct warder_error err = { 0 };

	run_case(session, worker->index, &spool, &trial, &result, &err);
	trial_decide(&trial, result, &err, &note->judged);
	append(session, worker->index, result, &err);
	note->audit.unaudited = session->audit.failed;
	if (ending_signal() && (!result || note->judged.verdict == VERDICT_SKIPPED))
		return -1;
	return tell_case(session, worker, &trial, result, &err);
}

/* ---- telling ---- */

static void put(struct session *session, const char *text)
{
	if (!session->write_error && workers_write(&session->workers, STDOUT_FILENO, text, strlen(text)) != 0)
		session->write_error = errno;
}

/* Takes the text. */
static void put_json(struct session *session, struct json_writer *w)
{
	char *text = json_take(w);

	put(session, text ? text : "null");
	free(text);
}

static enum term_style style_of(enum verdict verdict)
{
	if (verdict == VERDICT_ACCEPTED)
		return TERM_GOOD;
	return verdict == VERDICT_SKIPPED ? TERM_DIM : TERM_BAD;
}

static void print_case(const struct session *session, size_t index, const struct judged *judged)
{
	char number[BATCH_NUMBER], quoted[80], amount[96] = "", memory[32] = "", text[sizeof(judged->text)];

	json_quote(batch_name(&session->batch, index, number), quoted, sizeof(quoted));
	quoted[strlen(quoted) - 1] = '\0';
	term_print(TERM_PLAIN, 16, term_clean(quoted + 1));
	printf(" ");
	term_print(style_of((enum verdict)judged->verdict), 12, verdict_name((enum verdict)judged->verdict));
	if (judged->memory_bytes != UINT64_MAX)
		snprintf(memory, sizeof(memory), "%.1f MiB", (double)judged->memory_bytes / (1 << 20));
	if (judged->wall_us != UINT64_MAX)
		snprintf(amount, sizeof(amount), "%7.0f ms %12s", (double)judged->wall_us / 1000, memory);
	if (amount[0] || judged->text[0])
		printf(" %-23s", amount);
	memcpy(text, judged->text, sizeof(text)); /* of the program's output, in part */
	printf("%s%s\n", text[0] ? "  " : "", term_clean(text));
	fflush(stdout);
}

/* A case without a worker that could speak for itself. `why` or NULL. */
static void tell_without(struct session *session, size_t index, enum verdict verdict,
			 const struct warder_error *why)
{
	struct judged judged = JUDGED_NOTHING(verdict);
	struct json_writer w = { 0 };

	snprintf(judged.text, sizeof(judged.text), "%s", why ? why->text : "");
	score_add(&session->score, index, &judged);
	if (!session->args->json) {
		print_case(session, index, &judged);
		return;
	}
	trial_write_without(&session->batch, index, verdict,
			    verdict == VERDICT_COMPILE_ERROR ? warder_result_cause(session->built)
			    : verdict == VERDICT_SKIPPED     ? jail_cause_name(JAIL_CAUSE_CANCELLED)
							     : jail_cause_name(JAIL_CAUSE_HOST),
			    why, &w);
	put(session, index ? "," : "");
	put_json(session, &w);
}

static void tell_death(struct session *session, const struct worker *worker)
{
	struct warder_error err = { 0 };

	workers_say_death(&session->workers, worker, &err);
	append(session, worker->index, NULL, &err);
	tell_without(session, worker->index, VERDICT_SYSTEM_ERROR, &err);
}

static void hand_out(struct session *session, struct worker *worker)
{
	const struct note *note = worker->note;

	if (worker->state == WORKER_DIED) {
		tell_death(session, worker);
		return;
	}
	score_add(&session->score, worker->index, &note->judged);
	session->audit.failed |= note->audit.unaudited;
	if (!session->args->json) {
		print_case(session, worker->index, &note->judged);
		return;
	}
	put(session, worker->index ? "," : "");
	if (!session->write_error && workers_pass_on(&session->workers, worker) != 0)
		session->write_error = errno;
}

static void begin_report(struct session *session)
{
	struct json_writer w = { 0 };
	char *built = session->built ? warder_result_json(session->built) : NULL;

	if (session->args->json) {
		json_begin_object(&w);
		json_key_string(&w, "language", warder_program_language(session->program));
		config_write_member(session->args->config, &w);
		json_key(&w, "build");
		json_number(&w, built ? built : "null");
		json_key(&w, "cases");
		put_json(session, &w);
		put(session, "[");
	} else if (session->built) {
		report_build(session->built);
	}
	free(built);
}

static void end_report(struct session *session)
{
	struct json_writer w = { 0 };
	char *text;

	if (!session->args->json) {
		term_print(style_of(session->score.verdict), 0, verdict_name(session->score.verdict));
		printf(": %zu of %zu cases accepted\n", session->score.counts[VERDICT_ACCEPTED],
		       session->batch.case_count);
		return;
	}
	json_begin_object(&w);
	score_write(&session->score, &session->batch, &w);
	json_end_object(&w);
	text = json_take(&w);
	put(session, "],");
	put(session, text ? text + 1 : "}");
	put(session, "\n");
	free(text);
}

/* ---- all cases ---- */

/* Whether that was the last one to be looked at. */
static bool hand_out_some(struct session *session, size_t *handed_out)
{
	struct worker *worker;

	while ((worker = workers_next(&session->workers)) != NULL) {
		if (worker->state == WORKER_DIED && ending_signal())
			return true;
		hand_out(session, worker);
		workers_release(&session->workers, worker);
		(*handed_out)++;
		if (session->write_error || session->audit.failed ||
		    (session->batch.stop && session->score.verdict != VERDICT_ACCEPTED))
			return true;
	}
	return ending_signal() || *handed_out == session->batch.case_count;
}

static int run_cases(struct session *session, struct warder_error *err)
{
	const struct note note = { .judged = JUDGED_NOTHING(VERDICT_SYSTEM_ERROR) };
	size_t started = 0, handed_out = 0;

	while (!hand_out_some(session, &handed_out)) {
		while (started < session->batch.case_count && workers_may_start(&session->workers) &&
		       !audit_misses_line(&session->audit, &session->workers)) {
			if (workers_start(&session->workers, work, session, &note, err) != 0)
				return -1;
			started++;
		}
		workers_wait(&session->workers, -1);
	}
	workers_end(&session->workers);
	for (; handed_out < session->batch.case_count && !session->write_error; handed_out++)
		tell_without(session, handed_out, VERDICT_SKIPPED, NULL);
	return 0;
}

static int judge_all(struct session *session, struct warder_error *err)
{
	const bool failed = warder_program_failed(session->program);
	int status = 0;

	if (workers_init(&session->workers, "case", args_parallel(session->args), true, sizeof(struct note),
			 err) != 0)
		return -1;
	begin_report(session);
	if (failed) {
		for (size_t i = 0; i < session->batch.case_count; i++)
			tell_without(session, i, VERDICT_COMPILE_ERROR, NULL);
	} else {
		status = run_cases(session, err);
	}
	if (status == 0)
		end_report(session);
	workers_done(&session->workers);
	return status;
}

/* ---- the command ---- */

static int exit_status(const struct session *session)
{
	if (ending_signal())
		return 128 + ending_signal();
	if (session->write_error == EPIPE)
		return 128 + SIGPIPE;
	if (session->write_error) {
		term_complain("the verdicts cannot be written: %s", strerror(session->write_error));
		return EXIT_REFUSED;
	}
	if (session->audit.failed)
		return EXIT_REFUSED;
	return session->score.verdict == VERDICT_ACCEPTED ? 0 : EXIT_REJECTED;
}

static void session_done(struct session *session)
{
	struct batch *batch = &session->batch;

	for (size_t i = 0; session->directory && i < batch->case_count; i++)
		free((char *)(uintptr_t)batch->cases[i].name);
	audit_done(&session->audit);
	warder_result_free(session->built);
	warder_program_free(session->program);
	batch_free(batch);
	free(session->document);
}

int judge_command(struct args *args, char **argv)
{
	struct session session = { .args = args, .audit = AUDIT_NONE };
	struct warder_error err = { 0 };
	int status;

	report_catch_signals();
	if (load(&session, argv, &err) != 0 || build(&session, &err) != 0 || judge_all(&session, &err) != 0)
		status = command_refuse(args, &err, EXIT_REFUSED);
	else
		status = exit_status(&session);
	session_done(&session);
	return status;
}
