/*
 * result: the outcome of a run in words and as JSON.
 *
 * A status says what a caller does next, a cause what happened; the status follows from the cause by one table,
 * and only `exit` needs the exit code as well. What the program brought on itself (a signal, a limit of processes
 * or disk, a refused call or destination) is `failed`; what ended it from outside is `killed`, memory included,
 * because the kernel's OOM killer is no event inside the program.
 * Names and order of the members are a contract, documented in warder(1): members are added, never renamed.
 * What the kernel does not tell is null, never 0.
 */
#include "runtime/library/result.h"

#include <stdio.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/mime.h"
#include "rootfs/changes/changes.h"
#include "base/text.h"
#include "runtime/library/result_end.h"

static const char *const statuses[JAIL_CAUSE_COUNT] = {
	[JAIL_CAUSE_EXIT] = "failed", /* or "success" */
	[JAIL_CAUSE_SIGNAL] = "failed",     [JAIL_CAUSE_WALL_TIME] = "timeout",
	[JAIL_CAUSE_CPU_TIME] = "timeout",  [JAIL_CAUSE_MEMORY] = "killed",
	[JAIL_CAUSE_PIDS] = "failed",       [JAIL_CAUSE_OUTPUT] = "killed",
	[JAIL_CAUSE_DISK] = "failed",       [JAIL_CAUSE_SYSCALL] = "failed",
	[JAIL_CAUSE_NETWORK] = "failed",    [JAIL_CAUSE_CANCELLED] = "killed",
	[JAIL_CAUSE_SUPERVISOR] = "killed", [JAIL_CAUSE_HOST] = "killed",
};

struct warder_result *result_new(void)
{
	struct warder_result *result = malloc(sizeof(*result));

	if (!result)
		return NULL;
	memset(result, 0, offsetof(struct warder_result, receipt));
	policy_receipt_init(&result->receipt);
	return result;
}

/* ---- accessors ---- */

const char *warder_result_status(const struct warder_result *result)
{
	const struct jail_outcome *outcome;

	if (!result)
		return "";
	outcome = &result->outcome;
	if (outcome->cause == JAIL_CAUSE_EXIT && outcome->exit_code == 0)
		return "success";
	if (result->code && result->code->build_failed && strcmp(statuses[outcome->cause], "failed") == 0)
		return "compileFailed";
	return statuses[outcome->cause];
}

const char *warder_result_cause(const struct warder_result *result)
{
	if (!result)
		return "";
	if (result->code && result->code->trap[0])
		return "trap";
	return jail_cause_name(result->outcome.cause);
}

const char *warder_result_backend(const struct warder_result *result)
{
	return result ? result->backend : "";
}

const char *warder_result_passed_over(const struct warder_result *result)
{
	return result && result->passed_over[0] ? result->passed_over : NULL;
}

const char *warder_result_isolation(const struct warder_result *result)
{
	return result ? policy_isolation_name(result->receipt.isolation) : "";
}

int warder_result_exit_code(const struct warder_result *result)
{
	return result ? result->outcome.exit_code : -1;
}

int warder_result_signal(const struct warder_result *result)
{
	return result ? result->outcome.signal : 0;
}

const char *warder_result_output(const struct warder_result *result, enum warder_stream stream,
				 size_t *ret_len, uint64_t *ret_total)
{
	static const struct jail_output nothing;
	const struct jail_output *output =
	    result ? &result->outcome.output[stream == WARDER_STDERR] : &nothing;

	if (ret_len)
		*ret_len = output->bytes ? output->len : 0;
	if (ret_total)
		*ret_total = result && result->unmeasured ? UINT64_MAX : output->total;
	return output->bytes ? output->bytes : "";
}

uint64_t warder_result_spilled(const struct warder_result *result, enum warder_stream stream, int *ret_errno)
{
	const enum jail_stream of = stream == WARDER_STDERR ? JAIL_STDERR : JAIL_STDOUT;

	if (ret_errno)
		*ret_errno = result ? result->outcome.spill_errno[of] : 0;
	return result ? result->outcome.spilled[of] : 0;
}

int warder_result_held(const struct warder_result *result, size_t n, const char **ret_path,
		       uint64_t *ret_size)
{
	static const struct rootfs_collection nothing;
	const struct rootfs_collection *files = result ? &result->outcome.collected : &nothing;

	for (size_t i = 0; i < files->count; i++) {
		if (files->items[i].taken != ROOTFS_TAKEN_HELD || n-- > 0)
			continue;
		*ret_path = files->items[i].path;
		*ret_size = files->items[i].size;
		return files->items[i].fd;
	}
	return -1;
}

uint64_t warder_result_wall_us(const struct warder_result *result)
{
	return !result ? 0 : result->unmeasured ? UINT64_MAX : result->outcome.wall_us;
}

uint64_t warder_result_cpu_us(const struct warder_result *result)
{
	return result ? result->outcome.cpu_us : 0;
}

uint64_t warder_result_memory_peak(const struct warder_result *result)
{
	return result ? result->outcome.memory_peak_bytes : UINT64_MAX;
}

void result_code_free(struct result_code *code)
{
	if (!code)
		return;
	for (size_t i = 0; i < code->stage_count; i++)
		free(code->stages[i].receipt);
	free(code->language);
	free(code->diagnostics);
	free(code->scan);
	free(code->output);
	free(code->saved_to);
	free(code);
}

static void result_reference_done(struct result_reference *reference)
{
	free(reference->artifact);
	free(reference->fault);
	*reference = (struct result_reference){ 0 };
}

static void references_free(struct warder_result *result)
{
	for (size_t i = 0; i < 2; i++)
		result_reference_done(&result->streams[i]);
	for (size_t i = 0; result->references && i < result->outcome.collected.count; i++)
		result_reference_done(&result->references[i]);
	free(result->references);
}

void warder_result_free(struct warder_result *result)
{
	if (!result)
		return;
	references_free(result);
	jail_outcome_done(&result->outcome);
	learned_free(result->learned);
	free(result->functions);
	result_code_free(result->code);
	if (result->changes)
		changes_done(result->changes);
	free(result->changes);
	free(result->changes_kept);
	free(result->reported_network);
	free(result->document);
	free(result);
}

/* ---- JSON ---- */

static void write_progress(struct json_writer *w, const struct jail_progress *progress)
{
	if (!progress)
		return;
	json_key(w, "progress");
	json_begin_object(w);
	json_key(w, "lines");
	json_begin_array(w);
	for (size_t at = 0; at < progress->len; at += strlen(progress->lines + at) + 1)
		json_number(w, progress->lines + at);
	json_end_array(w);
	json_key_uint(w, "delivered", progress->delivered);
	json_key_uint(w, "dropped", progress->dropped);
	json_end_object(w);
}

/* The file of an execution that gets both streams. */
static void write_log(struct json_writer *w, const struct jail_outcome *outcome)
{
	uint64_t written = 0, missing = 0;
	int failed = 0;

	for (int stream = JAIL_STDOUT; stream <= JAIL_STDERR; stream++) {
		written += outcome->spilled[stream];
		missing += outcome->output[stream].total - outcome->spilled[stream];
		failed = failed ? failed : outcome->spill_errno[stream];
	}
	json_key(w, "log");
	json_begin_object(w);
	json_key_uint(w, "bytes", written);
	json_key_uint(w, "missing", missing);
	json_key_string(w, "error", failed ? strerror(failed) : NULL);
	json_end_object(w);
}

void result_write_known(struct json_writer *w, const char *key, uint64_t value)
{
	json_key(w, key);
	if (value == UINT64_MAX)
		json_null(w);
	else
		json_uint(w, value);
}

void result_write_reference(const struct result_reference *reference, struct json_writer *w)
{
	if (reference->artifact) {
		json_key(w, "artifact");
		json_number(w, reference->artifact);
		json_key_bool(w, "artifactTruncated", reference->truncated);
	}
	if (reference->fault)
		json_key_string(w, "artifactError", reference->fault);
}

static void write_unknown(struct json_writer *w, const char *key)
{
	json_key(w, key);
	json_null(w);
}

/* A stream that was handed to the caller as it came has neither text nor encoding, only counts: bytesKept of what the
 * caller took, bytesDropped of what it did not take in time. */
static void write_counts(struct json_writer *w, const struct warder_result *result, enum jail_stream stream)
{
	const struct jail_output *output = &result->outcome.output[stream];

	if (!result->streamed)
		text_write(w, "text", output->bytes ? output->bytes : "", output->len, output->truncated);
	json_key_uint(w, "bytesKept", result->streamed ? result->passed[stream] : output->len);
	json_key_uint(w, "bytesTotal", output->total);
	json_key_bool(w, "truncated", output->truncated || result->outcome.dropped[stream]);
	if (result->streamed)
		json_key_uint(w, "bytesDropped", result->outcome.dropped[stream]);
}

static void write_stream(struct json_writer *w, const char *key, const struct warder_result *result,
			 enum jail_stream stream)
{
	json_key(w, key);
	json_begin_object(w);
	if (result->unmeasured) {
		write_unknown(w, "bytesKept");
		write_unknown(w, "bytesTotal");
		write_unknown(w, "truncated");
	} else {
		write_counts(w, result, stream);
	}
	result_write_reference(&result->streams[stream], w);
	json_end_object(w);
}

void result_write_time(struct json_writer *w, const char *key, uint64_t started_ms)
{
	const time_t seconds = (time_t)(started_ms / 1000);
	struct tm utc;
	char date[32], text[48];

	json_key(w, key);
	if (started_ms && gmtime_r(&seconds, &utc) &&
	    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc)) {
		snprintf(text, sizeof(text), "%s.%03dZ", date, (int)(started_ms % 1000));
		json_string(w, text);
	} else {
		json_null(w);
	}
}

static void write_durations(struct json_writer *w, const struct warder_result *result)
{
	const struct jail_outcome *outcome = &result->outcome;
	const uint64_t unknown = result->unmeasured ? UINT64_MAX : 0; /* makes each value below unknown */

	json_key(w, "durations");
	json_begin_object(w);
	result_write_known(w, "wallUs", outcome->wall_us | unknown);
	result_write_known(w, "userUs", outcome->user_us | unknown);
	result_write_known(w, "systemUs", outcome->system_us | unknown);
	json_key_uint(w, "queueUs", 0); /* nothing queues in front of warder_launch() */
	result_write_known(w, "prepareUs", result->prepare_us | unknown);
	result_write_known(w, "launchUs", outcome->launch_us | unknown);
	json_end_object(w);
}

static void write_limits_hit(struct json_writer *w, const struct jail_outcome *outcome)
{
	json_key(w, "limitsHit");
	json_begin_array(w);
	for (enum jail_cause cause = 0; cause < JAIL_CAUSE_COUNT; cause++) {
		if (outcome->hit[cause])
			json_string(w, jail_cause_name(cause));
	}
	if (outcome->file_size_hit)
		json_string(w, "fileSize");
	json_end_array(w);
}

static void write_refusal(struct json_writer *w, const struct edge_refusal *row, bool learned)
{
	json_begin_object(w);
	json_key_string(w, "destination", row->destination);
	if (row->port)
		json_key_uint(w, "port", row->port);
	/* A name that was asked for has neither. */
	json_key_string(w, "protocol", !row->port ? "dns" : row->protocol == IPPROTO_UDP ? "udp" : "tcp");
	json_key_string(w, "reason", jail_refusal_name(row->reason));
	json_key_string(w, "text", jail_refusal_text(row->reason, learned));
	if (row->detail[0])
		json_key_string(w, "detail", row->detail);
	json_key_uint(w, "count", row->count);
	result_write_time(w, "firstAt", row->first_us / 1000);
	json_end_object(w);
}

/* Also those of a session since the rules that the execution's receipt describes; the oldest are forgotten. */
static void write_replaced(struct json_writer *w, const struct edge_report *report)
{
	const uint64_t oldest = report->rules > EDGE_TIMES_MAX ? report->rules - EDGE_TIMES_MAX : 0;

	json_key(w, "rulesReplaced");
	json_begin_array(w);
	for (uint64_t i = report->rules_from > oldest ? report->rules_from : oldest; i < report->rules; i++) {
		json_begin_object(w);
		json_key_uint(w, "number", i + 1);
		result_write_time(w, "at", report->rules_us[i % EDGE_TIMES_MAX] / 1000);
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_published(struct json_writer *w, const struct jail_published *row)
{
	json_begin_object(w);
	json_key_string(w, "address", row->address);
	json_key_uint(w, "hostPort", row->host_port);
	json_key_uint(w, "jailPort", row->jail_port);
	json_end_object(w);
}

void result_write_network(struct json_writer *w, const struct warder_result *result)
{
	const struct jail_outcome *outcome = &result->outcome;
	const struct edge_report *report = outcome->network;

	if (result->reported_network) {
		json_key(w, "network");
		json_number(w, result->reported_network);
	}
	if (!report)
		return;
	json_key(w, "network");
	json_begin_object(w);
	json_key_uint(w, "connections", report->connections);
	json_key_uint(w, "bytesSent", report->bytes_up);
	json_key_uint(w, "bytesReceived", report->bytes_down);
	json_key_bool(w, "edgeDied", outcome->edge_died);
	json_key_uint(w, "refused", report->refused);
	json_key(w, "refusals");
	json_begin_array(w);
	for (uint32_t i = 0; i < report->row_count; i++)
		write_refusal(w, &report->rows[i], result->learned != NULL);
	json_end_array(w);
	json_key_uint(w, "notListed", report->unlisted);
	if (report->rules > report->rules_from)
		write_replaced(w, report);
	if (outcome->published_count) {
		json_key(w, "published");
		json_begin_array(w);
		for (size_t i = 0; i < outcome->published_count; i++)
			write_published(w, &outcome->published[i]);
		json_end_array(w);
	}
	if (result->learned)
		learned_write(w, result->learned);
	json_end_object(w);
}

void result_write_identity(struct json_writer *w, const struct warder_result *result)
{
	if (result->unmeasured || result->nobody) {
		write_unknown(w, "identity");
		return;
	}
	json_key(w, "identity");
	json_begin_object(w);
	json_key_uint(w, "uid", result->uid);
	json_key_uint(w, "gid", result->gid);
	json_end_object(w);
}

static void write_stages(struct json_writer *w, const struct result_code *code)
{
	json_key(w, "stages");
	json_begin_array(w);
	for (size_t i = 0; i < code->stage_count; i++) {
		const struct result_stage *stage = &code->stages[i];

		json_begin_object(w);
		json_key_string(w, "name", stage->name);
		json_key_string(w, "status", stage->status);
		result_write_known(w, "wallUs", stage->wall_us);
		result_write_known(w, "cpuTimeUs", stage->cpu_us);
		result_write_known(w, "peakMemoryBytes", stage->memory_peak_bytes);
		/* The run's receipt is the result's. */
		if (stage->receipt) {
			json_key(w, "receipt");
			policy_receipt_write(stage->receipt, w);
		}
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_code(struct json_writer *w, const struct result_code *code)
{
	json_key_string(w, "language", code->language);
	json_key_string(w, "languageFoundBy", code->found_by);
	write_stages(w, code);
	json_key(w, "diagnostics");
	json_number(w, code->diagnostics ? code->diagnostics : "[]");
	json_key_string(w, "diagnosticsFrom",
			!code->diagnostics         ? NULL
			: code->diagnostics_of_run ? "program"
						   : "compiler");
	if (code->diagnostics_dropped)
		json_key_uint(w, "diagnosticsDropped", code->diagnostics_dropped);
	if (code->diagnostics_unreadable)
		json_key_uint(w, "diagnosticsUnreadable", code->diagnostics_unreadable);
	if (code->scan) {
		json_key(w, "scan");
		json_number(w, code->scan);
	}
	json_key(w, "output");
	if (code->output)
		json_number(w, code->output);
	else
		json_null(w);
	if (code->output_fault[0])
		json_key_string(w, "outputError", code->output_fault);
}

static void write_artifact(struct json_writer *w, const struct rootfs_item *item,
			   const struct result_reference *reference, const char *saved_to)
{
	char *path = NULL;

	json_begin_object(w);
	text_write_name(w, "name", "nameBase64", item->path);
	json_key_uint(w, "sizeBytes", item->size);
	json_key_string(w, "contentType",
			mime_type(item->path, item->bytes, item->bytes ? (size_t)item->size : 0));
	if (item->taken == ROOTFS_TAKEN_INLINE)
		text_write(w, "text", item->bytes, (size_t)item->size, false);
	if (item->taken == ROOTFS_TAKEN_SAVED) {
		if (asprintf(&path, "%s/%s", saved_to ? saved_to : "", item->path) < 0)
			json_fail(w);
		else
			text_write_name(w, "path", "pathBase64", path);
		free(path);
	}
	if (item->taken == ROOTFS_TAKEN_NOT)
		json_key_string(w, "omitted", item->why);
	if (reference)
		result_write_reference(reference, w);
	json_end_object(w);
}

static void write_artifacts(struct json_writer *w, const struct warder_result *result)
{
	const struct rootfs_collection *collected = &result->outcome.collected;

	json_key(w, "artifacts");
	json_begin_array(w); /* only code leaves files that are taken */
	for (size_t i = 0; i < collected->count; i++)
		write_artifact(w, &collected->items[i], result->references ? &result->references[i] : NULL,
			       result->code ? result->code->saved_to : NULL);
	json_end_array(w);
	if (collected->limits_hit)
		json_key_bool(w, "artifactLimitsHit", true);
	if (collected->fault[0])
		json_key_string(w, "artifactError", collected->fault);
}

static void write_result_changes(struct json_writer *w, const struct warder_result *result)
{
	if (!result->changes)
		return;
	json_key(w, "changes");
	changes_write(result->changes, w);
	if (result->changes->fault[0])
		json_key_string(w, "changesError", result->changes->fault);
	if (result->changes_kept)
		json_key_string(w, "changesDirectory", result->changes_kept);
}

static void set_functions_row(struct policy_receipt *receipt, const char *value)
{
	const char *control = policy_control_name(POLICY_CONTROL_FUNCTIONS);

	for (size_t i = 0; i < receipt->count; i++)
		if (strcmp(receipt->rows[i].control, control) == 0)
			snprintf(receipt->rows[i].value, sizeof(receipt->rows[i].value), "%s", value);
}

int result_end_functions(struct warder_result *result, struct functions *functions, struct warder_error *err)
{
	struct functions_count *count = calloc(1, sizeof(*count));
	char value[160];

	if (!count)
		return error_no_memory(err, NULL);
	functions_end(functions, count);
	result->functions = count;
	snprintf(value, sizeof(value), "calls: %llu answered, %llu failed, %llu timed out, %llu refused",
		 (unsigned long long)count->answered, (unsigned long long)count->failed,
		 (unsigned long long)count->timed_out, (unsigned long long)count->refused);
	set_functions_row(&result->receipt, value);
	return 0;
}

void result_miss_functions(struct warder_result *result)
{
	set_functions_row(&result->receipt, "the calls were counted by the process that answered them");
}

char *warder_result_json(const struct warder_result *result)
{
	const struct jail_outcome *outcome;
	struct json_writer w = { 0 };

	if (!result)
		return NULL;
	if (result->document)
		return strdup(result->document);
	outcome = &result->outcome;
	json_begin_object(&w);
	json_key_string(&w, "status", warder_result_status(result));
	json_key_string(&w, "cause", warder_result_cause(result));
	if (result->session_end)
		json_key_string(&w, "sessionEnd", result->session_end);
	result_write_end(outcome, &w);
	write_stream(&w, "stdout", result, JAIL_STDOUT);
	write_stream(&w, "stderr", result, JAIL_STDERR);
	if (result->streamed)
		json_key_bool(&w, "merged", outcome->merged);
	result_write_time(&w, "startedAt", result->started_ms);
	write_durations(&w, result);
	result_write_known(&w, "peakMemoryBytes", outcome->memory_peak_bytes);
	result_write_known(&w, "cpuTimeUs", outcome->cpu_us);
	result_write_known(&w, "peakPids", outcome->pids_peak);
	if (result->unmeasured)
		write_unknown(&w, "limitsHit");
	else
		write_limits_hit(&w, outcome);
	result_write_network(&w, result);
	write_artifacts(&w, result);
	write_result_changes(&w, result);
	write_progress(&w, outcome->progress);
	if (result->functions)
		functions_write(result->functions, &w);
	if (result->logged)
		write_log(&w, outcome);
	if (result->code)
		write_code(&w, result->code);
	json_key_string(&w, "backend", result->backend);
	json_key_string(&w, "isolation", warder_result_isolation(result));
	json_key_string(&w, "passedOver", warder_result_passed_over(result));
	if (result->config) {
		json_key(&w, "config");
		json_number(&w, result->config);
	}
	if (result->service)
		json_key_string(&w, "service", result->service);
	if (result->audit) {
		json_key(&w, "audit");
		json_number(&w, result->audit);
	}
	json_key(&w, "receipt");
	policy_receipt_write(&result->receipt, &w);
	result_write_identity(&w, result);
	json_key_string(&w, "detail", outcome->detail);
	json_end_object(&w);
	return json_take(&w);
}

void result_write_error(const struct warder_error *err, const char *violations, struct json_writer *w)
{
	json_key(w, "error");
	json_begin_object(w);
	json_key_string(w, "kind", error_kind_name(err->code));
	json_key_string(w, "field", err->field[0] ? err->field : NULL);
	json_key_string(w, "step", err->step[0] ? err->step : NULL);
	json_key_string(w, "message", err->text);
	if (violations) {
		json_key(w, "violations");
		json_number(w, violations);
	}
	json_end_object(w);
}

char *result_error_json(const struct warder_error *err, const char *violations)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "status", "rejected");
	result_write_error(err, violations, &w);
	json_end_object(&w);
	return json_take(&w);
}

char *result_receipt_json(const struct warder_result *result)
{
	struct json_writer w = { .pretty = true };

	policy_receipt_write(&result->receipt, &w);
	return json_take(&w);
}
