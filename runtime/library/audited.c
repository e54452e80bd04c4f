/*
 * audited: what the line of an audit file says about the end of a run. Members have the names that they have in a result. Texts of messages
 * are left out: some quote what the caller typed.
 */
#include "base/text.h"
#include "runtime/library/result.h"
#include "runtime/library/result_end.h"

static void write_counters(const struct warder_result *result, struct json_writer *w)
{
	const struct jail_outcome *outcome = &result->outcome;

	json_key(w, "counters");
	json_begin_object(w);
	result_write_known(w, "wallUs", warder_result_wall_us(result));
	result_write_known(w, "cpuTimeUs", outcome->cpu_us);
	result_write_known(w, "peakMemoryBytes", outcome->memory_peak_bytes);
	result_write_known(w, "peakPids", outcome->pids_peak);
	for (enum warder_stream stream = WARDER_STDOUT; stream <= WARDER_STDERR; stream++) {
		uint64_t total;

		warder_result_output(result, stream, NULL, &total);
		result_write_known(w, stream == WARDER_STDERR ? "stderrBytes" : "stdoutBytes", total);
	}
	json_end_object(w);
}

static void write_reference(const char *name, const struct result_reference *reference, struct json_writer *w)
{
	if (!reference->artifact)
		return;
	json_begin_object(w);
	text_write_name(w, "name", "nameBase64", name);
	json_key(w, "artifact");
	json_number(w, reference->artifact);
	json_end_object(w);
}

static void write_artifacts(const struct warder_result *result, struct json_writer *w)
{
	const struct rootfs_collection *files = &result->outcome.collected;

	json_key(w, "artifacts");
	json_begin_array(w);
	write_reference("stdout", &result->streams[WARDER_STDOUT], w);
	write_reference("stderr", &result->streams[WARDER_STDERR], w);
	for (size_t i = 0; result->references && i < files->count; i++)
		write_reference(files->items[i].path, &result->references[i], w);
	json_end_array(w);
}

void result_write_audit(const struct warder_result *result, struct json_writer *w)
{
	result_write_time(w, "startedAt", result->started_ms);
	json_key_string(w, "status", warder_result_status(result));
	json_key_string(w, "cause", warder_result_cause(result));
	result_write_end(&result->outcome, w);
	if (result->code)
		json_key_string(w, "language", result->code->language);
	json_key_string(w, "backend", warder_result_backend(result));
	json_key_string(w, "isolation", warder_result_isolation(result));
	result_write_identity(w, result);
	write_counters(result, w);
	result_write_network(w, result);
	if (result->functions)
		functions_write(result->functions, w);
	write_artifacts(result, w);
}
