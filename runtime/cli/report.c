/*
 * report: how a run goes on once it has started, and what is told of its end.
 *
 * Signals. SIGINT, SIGTERM, SIGHUP and SIGQUIT go to the program, not to Warder: the handler has them sent to its process group. If it
 * lives after the grace, or at a second signal, the supervisor takes the jail down, and Warder exits with 128 plus the signal. A signal that came before the start is seen before and after the launch; what is ignored when Warder
 * starts (nohup, a background job) stays ignored.
 * A reader that goes away ends the run like SIGPIPE would have ended the program: silently, with 141.
 */
#include "runtime/cli/report.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "runtime/cli/changes_text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/config.h"
#include "runtime/cli/delegate.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/term.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/violations.h"
#include "runtime/library/result.h"
#include "runtime/service/service.h"
#include "runtime/session/session.h"

static struct warder_run *volatile running;
static volatile int serving_fd = -1;
static struct session_run *volatile owned;

/* How long the program has to end by itself after a signal; 0: it is ended at once, as a check or a build is. */
static volatile uint64_t grace_us;

static void cancel_run(void)
{
	if (serving_fd >= 0)
		service_stop(serving_fd, ending_signal(), grace_us);
	else if (owned)
		session_run_stop(owned, ending_signal(), grace_us);
	else if (running && grace_us)
		warder_stop(running, ending_signal(), grace_us);
	else if (running)
		warder_cancel(running);
}

void report_catch_signals(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL); /* the caller's limit: told as an error of the write */
	ending_catch(cancel_run);
}

/* ---- the end, for people and as an exit status ---- */

static const char *const stream_names[] = { "stdout", "stderr" };

bool report_dropped(const struct warder_result *result)
{
	bool dropped = false;

	for (size_t i = 0; i < 2; i++) {
		if (!result->outcome.dropped[i] || result->outcome.receiver_errno)
			continue;
		term_complain("%s: %llu of %llu bytes were dropped: the reader did not take them in time",
			      stream_names[i], (unsigned long long)result->outcome.dropped[i],
			      (unsigned long long)result->outcome.output[i].total);
		dropped = true;
	}
	return dropped;
}

static void tell_output(const struct report *report, const struct warder_result *result)
{
	const struct jail_output *output = result->outcome.output;
	char text[32];

	term_complain("killed: more than %s on %s (--max-output)",
		      policy_format_size(report->args->output_max, text, sizeof(text)),
		      output[JAIL_STDOUT].truncated ? "standard output" : "standard error");
}

/* Limits that the program met and that did not end it. Those that it may have handled are reported only if it failed. */
static void tell_limits(const struct jail_outcome *outcome, const struct policy *policy)
{
	const bool failed = outcome->exit_code != 0;
	char text[32];

	if (outcome->hit[JAIL_CAUSE_PIDS])
		term_complain("limit of %s processes reached (limits.pids)",
			      policy_format_count(policy->limits.pids_max, text, sizeof(text)));
	if (failed && outcome->file_size_hit)
		term_complain("a file reached %s (limits.fileSize)",
			      policy_format_size(policy->limits.file_size_bytes, text, sizeof(text)));
	if (failed && outcome->hit[JAIL_CAUSE_DISK])
		term_complain("/tmp is full (filesystem.tmp)");
	if (failed && outcome->hit[JAIL_CAUSE_NETWORK] && !outcome->network)
		term_complain("packets had no route out of the jail (network.mode)");
}

/* What an allow-list of the network refused, and the death of the process that connects. */
static void tell_network(const struct jail_outcome *outcome, bool learned)
{
	const struct edge_report *report = outcome->network;
	char text[300];

	if (!report)
		return;
	for (uint32_t i = 0; i < report->row_count; i++) {
		const struct edge_refusal *row = &report->rows[i];

		term_complain("refused: %s: %s%s%s (%llu time%s)",
			      jail_refusal_destination(row, text, sizeof(text)),
			      jail_refusal_text(row->reason, learned), *row->detail ? ": " : "", row->detail,
			      (unsigned long long)row->count, row->count == 1 ? "" : "s");
	}
	if (report->unlisted)
		term_complain("refused: %llu more connections", (unsigned long long)report->unlisted);
	if (outcome->edge_died)
		term_complain("warder-edge died before the program's end; from then on no connection passed");
}

/* What a run with network.mode "learn" used, and the policy that allows exactly that. */
static void tell_learned(const struct learned *learned)
{
	char *json = policy_encode(&learned->policy);

	for (uint32_t i = 0; i < learned->use_count; i++) {
		const struct edge_use *use = &learned->uses[i];

		term_complain("used: %s port %u (%llu time%s)%s", use->destination, use->port,
			      (unsigned long long)use->count, use->count == 1 ? "" : "s",
			      learned->replayed && !learned->needed[i] ? "; the replay did not need it" : "");
	}
	if (learned->left_out)
		term_complain("used: %llu more connections, to destinations that the policy has no room for",
			      (unsigned long long)learned->left_out);
	if (learned->replay_fault[0])
		term_complain("no replay: %s", learned->replay_fault);
	else if (learned->replayed && learned->signal)
		term_complain("the replay was ended by signal %d", learned->signal);
	else if (learned->replayed)
		term_complain("the replay ended with status %d", learned->exit_code);
	term_complain("this policy allows exactly that:");
	if (json) {
		file_write_all(STDERR_FILENO, json, strlen(json));
		file_write_all(STDERR_FILENO, "\n", 1);
	}
	free(json);
}

/* One line for what ended the program, or for a limit that it lived with; nothing when it ended by itself. */
static void tell_cause(const struct jail_outcome *outcome, const struct policy *policy)
{
	char text[32];

	/* The limit of a session on another machine is not in the policy of this command. Not all that was too late was killed. */
	if (outcome->cause == JAIL_CAUSE_WALL_TIME && policy->limits.wall_time_us != POLICY_UNLIMITED &&
	    strncmp(outcome->detail, "ended", 5) != 0)
		term_complain("killed after %s (limits.wallTime)",
			      policy_format_time(policy->limits.wall_time_us, text, sizeof(text)));
	else if (outcome->cause == JAIL_CAUSE_CPU_TIME && policy->limits.cpu_time_us != POLICY_UNLIMITED)
		term_complain("killed after %s of CPU time (limits.cpuTime)",
			      policy_format_time(policy->limits.cpu_time_us, text, sizeof(text)));
	else if (outcome->cause == JAIL_CAUSE_MEMORY && !outcome->sessions_limit)
		term_complain("memory limit of %s reached (limits.memory)",
			      policy_format_size(policy->limits.memory_bytes, text, sizeof(text)));
	else if (outcome->cause != JAIL_CAUSE_EXIT && outcome->cause != JAIL_CAUSE_SIGNAL)
		term_complain("%s: %s", jail_cause_name(outcome->cause), outcome->detail);
	else
		tell_limits(outcome, policy);
}

/* Most programs write to a pipe when a block is full or when they end, and what they still hold is lost with them. Who looks at a
 * terminal does not expect that. */
static void tell_silence(const struct report *report, const struct warder_result *result)
{
	const enum jail_cause cause = result->outcome.cause;

	if ((cause == JAIL_CAUSE_WALL_TIME || cause == JAIL_CAUSE_CPU_TIME) && !result->code &&
	    !report->args->terminal && result->outcome.output[JAIL_STDOUT].total == 0 &&
	    isatty(STDOUT_FILENO))
		term_complain("it printed nothing; a program without a terminal may hold back its output: "
			      "-t gives it one");
}

static void tell(const struct report *report, const struct warder_result *result)
{
	if ((report->write_error == EPIPE || ending_signal()) && !result->outcome.left_behind)
		return;
	tell_network(&result->outcome, result->learned != NULL);
	if (result->learned)
		tell_learned(result->learned);
	if (report->write_error)
		term_complain("the program's output cannot be written: %s", strerror(report->write_error));
	else if (result->outcome.cause == JAIL_CAUSE_OUTPUT)
		tell_output(report, result);
	else
		tell_cause(&result->outcome, &report->args->policy->policy);
	tell_silence(report, result);
}

int report_exit_status(const struct jail_outcome *outcome, int write_error)
{
	switch (outcome->cause) {
	case JAIL_CAUSE_WALL_TIME:
	case JAIL_CAUSE_CPU_TIME:
		return 124;
	case JAIL_CAUSE_CANCELLED:
	case JAIL_CAUSE_SUPERVISOR:
		if (ending_signal())
			return 128 + ending_signal();
		return 128 + (write_error == EPIPE ? SIGPIPE : SIGKILL);
	case JAIL_CAUSE_MEMORY:
	case JAIL_CAUSE_OUTPUT:
		return 128 + SIGKILL;
	case JAIL_CAUSE_HOST:
		return 128 + (ending_signal() ? ending_signal() : SIGKILL);
	case JAIL_CAUSE_EXIT:
	case JAIL_CAUSE_SIGNAL:
	case JAIL_CAUSE_PIDS:
	case JAIL_CAUSE_DISK:
	case JAIL_CAUSE_SYSCALL:
	case JAIL_CAUSE_NETWORK:
	case JAIL_CAUSE_COUNT:
		break;
	}
	if (outcome->exit_code >= 0)
		return outcome->exit_code;
	return 128 + (outcome->signal > 0 ? outcome->signal : SIGKILL);
}

/* ---- a build ---- */

/* What the compiler said, for people: not in the form that it was asked for, which is for programs. Whether it was all. */
static bool show_diagnostics(const struct warder_result *result)
{
	const char *text = result->code ? result->code->diagnostics : NULL;
	const struct json_limits limits = { .max_bytes = 16 << 20 };
	struct json_value *list = NULL;
	struct warder_error err;
	bool shown = false;

	if (!text || json_parse(text, strlen(text), "diagnostics", &limits, &list, &err) != 0)
		return false;
	for (const struct json_value *item = list->child; item; item = item->next) {
		const struct json_value *rendered = json_member(item, "rendered");

		if (rendered && rendered->type == JSON_STRING)
			term_write(STDERR_FILENO, rendered->string, strlen(rendered->string));
		if (rendered && rendered->type == JSON_STRING)
			shown = file_write_all(STDERR_FILENO, "\n", 1) == 0;
	}
	json_free(list);
	return shown && !result->code->diagnostics_unreadable;
}

void report_build(const struct warder_result *result)
{
	const bool unreadable = result->code && result->code->diagnostics_unreadable;

	if (show_diagnostics(result) || (!unreadable && strcmp(warder_result_status(result), "success") == 0))
		return;
	for (int stream = WARDER_STDOUT; stream <= WARDER_STDERR; stream++) {
		size_t len;
		const char *text = warder_result_output(result, (enum warder_stream)stream, &len, NULL);

		term_write(STDERR_FILENO, text, len);
	}
}

/* ---- the run ---- */

static int print_json(const struct report *report, struct warder_result *result, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char *config = NULL, *json;
	int status = -1;

	if (report->args->config) {
		config_write(report->args->config, &w);
		config = json_take(&w);
	}
	result->config = config;
	result->audit = report->audit.told;
	result->service = report->service;
	json = warder_result_json(result);
	result->config = result->audit = result->service = NULL;
	free(config);
	if (!json)
		return error_no_memory(err, NULL);
	if (file_write_all(STDOUT_FILENO, json, strlen(json)) == 0 &&
	    file_write_all(STDOUT_FILENO, "\n", 1) == 0)
		status = 0;
	else
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "the result cannot be written");
	free(json);
	return status;
}

/* Takes the text, which is NULL without memory. */
static int write_receipt(const struct report *report, char *json, struct warder_error *err)
{
	const char *path = report->args->receipt;
	int status = 0;

	if (!json)
		return error_no_memory(err, NULL);
	if (strcmp(path, "-") == 0) {
		file_write_all(STDERR_FILENO, json, strlen(json));
		file_write_all(STDERR_FILENO, "\n", 1);
	} else {
		status = file_replace(report->receipt_dir_fd, path, json, strlen(json), err);
	}
	free(json);
	return status;
}

static void append(struct report *report, const struct warder_result *result, const struct warder_error *why)
{
	const struct args *args = report->args;

	audit_append(&report->audit,
		     &(struct audit_run){ .policy = args->policy ? &args->policy->policy : NULL,
					  .argv = args->rest,
					  .result = result,
					  .err = why });
}

char *report_audit_head(const struct report *report)
{
	const struct args *args = report->args;

	return report->audit.fd < 0
		   ? NULL
		   : audit_head(&report->audit,
				&(struct audit_run){ .policy = args->policy ? &args->policy->policy : NULL,
						     .argv = args->rest });
}

/* The exit status, or 125 if it is success and a line of the audit file is missing. */
static int final_status(const struct report *report, int status)
{
	return status == 0 && report->audit.failed ? EXIT_REFUSED : status;
}

/* Nothing ran: an older receipt in that place must not pass for this one's. */
void report_refusal(struct report *report, const struct warder_error *why)
{
	struct warder_error err = { 0 }, told = *why;
	char *violations = NULL;

	append(report, NULL, why);
	if (report->receipt_dir_fd < 0)
		return;
	delegate_amend(report->args, &told);
	violations = violations_json(report->args, why);
	if (write_receipt(report, result_error_json(&told, violations), &err) != 0)
		term_error(&err);
	free(violations);
}

int report_refuse(struct report *report, const struct warder_error *why, int status)
{
	report_refusal(report, why);
	/* A signal also ends what is not running yet. */
	return command_refuse(report->args, why, ending_signal() ? 128 + ending_signal() : status);
}

/* "what: in the store as NAME@VERSION", and why not. Whether it is kept whole. */
static bool tell_reference(const char *what, const struct result_reference *reference)
{
	const struct json_limits limits = { .max_bytes = 1 << 20 };
	struct json_value *artifact = NULL;
	const struct json_value *name, *version;
	struct warder_error err;
	char quoted[600], shown[128];

	json_quote(what, shown, sizeof(shown));
	if (reference->artifact && json_parse(reference->artifact, strlen(reference->artifact), "artifact",
					      &limits, &artifact, &err) == 0) {
		name = json_member(artifact, "name");
		version = json_member(artifact, "version");
		if (name && name->type == JSON_STRING && version && version->is_uint)
			term_complain("%s: %s is kept as %s, version %llu", shown,
				      reference->truncated ? "the beginning" : "all of it",
				      json_quote(name->string, quoted, sizeof(quoted)),
				      (unsigned long long)version->uint);
	}
	json_free(artifact);
	if (reference->fault)
		term_complain("%s: %s", shown, reference->fault);
	return reference->artifact && !reference->truncated && !reference->fault;
}

/* What went to the store. Whether something did not. */
static bool tell_references(const struct warder_result *result)
{
	const struct rootfs_collection *files = &result->outcome.collected;
	bool missing = false;

	for (size_t i = 0; i < 2; i++) {
		const struct result_reference *reference = &result->streams[i];

		if (reference->artifact || reference->fault)
			missing |= !tell_reference(stream_names[i], reference);
	}
	for (size_t i = 0; result->references && i < files->count; i++) {
		if (files->items[i].taken == ROOTFS_TAKEN_HELD)
			missing |= !tell_reference(files->items[i].path, &result->references[i]);
	}
	return missing;
}

/* Patterns that no file matches. They do not change the exit status: a program may leave a file out. */
static void tell_patterns(const struct report *report, const struct rootfs_collection *files)
{
	const struct args_code *code = &report->args->code;
	char shown[128];

	for (size_t i = 0; i < code->collect.count; i++) {
		const char *pattern = code->collect.items[i];
		size_t row = 0;

		while (row < files->count && !rootfs_match(pattern, files->items[row].path))
			row++;
		if (row == files->count)
			term_complain("--collect %s: no file matches; \"*\" matches the files of the working "
				      "directory, and \"DIR/**\" all files below DIR",
				      json_quote(pattern, shown, sizeof(shown)));
	}
}

/* Files that were asked for, and are not where they should be. */
static bool tell_files(const struct warder_result *result)
{
	const struct rootfs_collection *files = &result->outcome.collected;
	bool missing = files->limits_hit || files->fault[0];

	for (size_t i = 0; i < files->count; i++) {
		char name[128];

		if (files->items[i].taken != ROOTFS_TAKEN_NOT)
			continue;
		term_complain("%s is not kept: %s", json_quote(files->items[i].path, name, sizeof(name)),
			      files->items[i].why);
		missing = true;
	}
	if (files->fault[0])
		term_complain("files are missing: %s", files->fault);
	else if (files->limits_hit)
		term_complain(
		    "files are missing: there is a limit of their number, of the size of each and of all");
	return missing;
}

/* Tell how it ended; the exit status. Who asked for a result or a receipt and gets none must not go on as if all was
 * well. */
/* Tell of an end. Returns the exit status. */
static int finish(const struct report *report, struct warder_result *result)
{
	struct warder_error err = { 0 };
	bool missing = false;
	int status = 0;

	if (!result->outcome.collected.limits_hit && !result->outcome.collected.fault[0])
		tell_patterns(report, &result->outcome.collected);
	if (report->args->json) {
		status = print_json(report, result, &err);
	} else {
		tell(report, result);
		missing = report_dropped(result);
		missing |= tell_files(result);
		missing |= tell_references(result);
		if (result->changes && (report->args->changes.dry_run || result->changes->fault[0]))
			changes_print(stderr, result->changes, NULL);
	}
	if (status == 0 && report->args->receipt)
		status = write_receipt(report, result_receipt_json(result), &err);
	if (status == 0) {
		status = report_exit_status(&result->outcome, report->write_error);
		return final_status(report, status == 0 && missing ? EXIT_REFUSED : status);
	}
	term_error(&err);
	return EXIT_REFUSED;
}

/* Does not wait for a terminal whose output is stopped: the line is in the result, too. */
static void show_progress(void *context, const char *line)
{
	struct pollfd terminal = { .fd = STDERR_FILENO, .events = POLLOUT };

	if (poll(&terminal, 1, 0) == 1 && terminal.revents == POLLOUT)
		term_complain("progress: %.200s", line);
}

void (*report_progress(const struct report *report))(void *context, const char *line)
{
	return isatty(STDERR_FILENO) && !report->args->terminal ? show_progress : NULL;
}

void report_running(struct warder_run *run)
{
	running = run;
	if (run && ending_signal())
		cancel_run();
}

void report_serving(uint64_t grace, int service_fd)
{
	grace_us = grace;
	serving_fd = service_fd;
	if (service_fd >= 0 && ending_signal())
		cancel_run();
}

void report_grace(uint64_t grace)
{
	grace_us = grace;
}

void report_owned(struct session_run *run)
{
	owned = run;
	if (run && ending_signal())
		cancel_run();
}

void report_ports(const struct args *args, const struct warder_run *run)
{
	const struct policy_published *list = &args->policy->policy.network.publish;

	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].host_port == 0)
			term_complain("%s:%u leads to port %u of the jail (network.publish)",
				      list->items[i].address, warder_run_published(run, i),
				      list->items[i].jail_port);
}

int report_call(const struct args *args, struct warder_program *program, const struct warder_call *call,
		struct warder_result **ret, struct warder_error *err)
{
	struct warder_run *run = NULL;
	int status;

	if (warder_call(program, call, &run, err) != 0)
		return -1;
	report_ports(args, run);
	report_running(run);
	status = warder_wait(run, ret, err);
	report_running(NULL);
	warder_run_free(run); /* also the temporary directory that a run without a root has */
	return status;
}

void report_on_stage(void *context, const char *stage, struct warder_run *run)
{
	report_running(run);
}

int report_wait(struct report *report, struct warder_run *run)
{
	struct warder_result *result = NULL;
	struct warder_error err = { 0 };
	int status;

	grace_us = report->args->grace_us;
	report_running(run);
	status = warder_wait(run, &result, &err);
	report_running(NULL);
	terminal_end(); /* before anything is told */
	if (status != 0)
		return report_refuse(report, &err, EXIT_REFUSED);
	return report_result(report, result);
}

void report_keep(struct report *report, struct warder_result *result)
{
	spool_keep(&report->spool, "", !report->args->json, result);
}

int report_result(struct report *report, struct warder_result *result)
{
	int status;

	report->write_error = result->outcome.receiver_errno;
	if (report->passed_over[0])
		memcpy(result->passed_over, report->passed_over, sizeof(result->passed_over));
	report_keep(report, result);
	if (report->replay && result->learned && !ending_signal())
		report->replay(report, result->learned);
	append(report, result, NULL);
	status = finish(report, result);
	warder_result_free(result);
	return status;
}

/* The exit status of a compiler is not passed on. */
int report_built(struct report *report, struct warder_result *result, bool failed)
{
	const struct args *args = report->args;
	const bool refused = result && strcmp(warder_result_status(result), "compileFailed") == 0;
	int status = 0;

	if (result)
		append(report, result, NULL);
	if (result && !args->json)
		report_build(result);
	if (refused && !args->json)
		term_complain("the code does not compile");
	if (result && (args->json || args->receipt || (failed && !refused)))
		status = finish(report, result);
	warder_result_free(result);
	return refused ? EXIT_REFUSED : final_status(report, status);
}

int report_open(const struct args *args, struct report *ret, struct warder_error *err)
{
	*ret =
	    (struct report){ .args = args, .receipt_dir_fd = -1, .spool = SPOOL_NONE, .audit = AUDIT_NONE };
	if (!args->receipt || strcmp(args->receipt, "-") == 0)
		return 0;
	if (file_open_private_dir(args->receipt, &ret->receipt_dir_fd, err) == 0)
		return 0;
	snprintf(err->field, sizeof(err->field), "--receipt");
	return error_context(err, "--receipt");
}

int report_spool(struct report *report, const struct warder_spill **ret, struct warder_error *err)
{
	const struct args_code *code = &report->args->code;

	if (spool_open(code->artifacts, code->artifact_bytes, &report->spool, err) != 0)
		return -1;
	*ret = report->spool.open ? &report->spool.spill : NULL;
	return 0;
}

int report_audit(struct report *report, const char *which, const char *session, struct warder_error *err)
{
	return report->audit.args ? 0 : audit_open(report->args, which, session, &report->audit, err);
}

void report_done(struct report *report)
{
	audit_done(&report->audit);
	spool_done(&report->spool);
	fd_done(&report->receipt_dir_fd);
}

bool report_ended_early(struct report *report)
{
	struct warder_error err = { 0 };

	if (!ending_signal())
		return false;
	error_set(&err, WARDER_ERROR_UNAVAILABLE, NULL, "a signal came before the start");
	report_refusal(report, &err);
	return true;
}
