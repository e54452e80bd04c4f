/* executions_list: the JSON that describes executions to clients. */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "runtime/library/result.h"
#include "runtime/library/result_end.h"
#include "runtime/session/execution.h"
#include "runtime/session/keeper_context.h"

static const char *state_name(enum execution_state state, bool paused)
{
	switch (state) {
	case EXECUTION_STARTING:
		return "starting";
	case EXECUTION_RUNNING:
		return paused ? "paused" : "running";
	case EXECUTION_FAILED:
		return "failed";
	case EXECUTION_ENDED:
		return "ended";
	}
	return "";
}

/* What the host does not count is null. */
static void write_counters(struct execution *execution, struct json_writer *w)
{
	static const char *const keys[RECORD_COUNTERS_COUNT] = {
		[RECORD_COUNTER_CPU_US] = "cpuTimeUs",
		[RECORD_COUNTER_MEMORY] = "memoryBytes",
		[RECORD_COUNTER_MEMORY_PEAK] = "memoryPeakBytes",
		[RECORD_COUNTER_PROCESSES] = "processes",
		[RECORD_COUNTER_READ_BYTES] = "readBytes",
		[RECORD_COUNTER_WRITTEN_BYTES] = "writtenBytes",
	};
	uint64_t values[RECORD_COUNTERS_COUNT];
	struct warder_error ignored;

	if (execution_counters(execution, values, &ignored) < 0)
		return;
	json_key(w, "counters");
	json_begin_object(w);
	for (size_t i = 0; i < RECORD_COUNTERS_COUNT; i++) {
		json_key(w, keys[i]);
		if (values[i] == UINT64_MAX)
			json_null(w);
		else
			json_uint(w, values[i]);
	}
	json_end_object(w);
}

/* The last line of its progress. An execution with an owner has none here, because the owner gets each line. */
static void write_progress(const struct execution *execution, struct json_writer *w)
{
	const char *line = execution->lines;
	const char *end = line + execution->lines_len;

	if (execution->owned || !execution->lines_len)
		return;
	while (line + strlen(line) + 1 < end)
		line += strlen(line) + 1;
	json_key(w, "progress");
	json_number(w, line);
}

static void describe(struct execution *execution, bool counters, struct json_writer *w)
{
	struct tm utc;
	time_t started = (time_t)(execution->started_ms / 1000);
	const uint64_t now_ms = clock_wall_ms();
	char text[32] = "";

	if (gmtime_r(&started, &utc))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
	json_begin_object(w);
	json_key_string(w, "id", execution->id);
	json_key_string(w, "session", execution->all->session);
	json_key_string(w, "state", state_name(execution->state, execution->all->paused));
	json_key(w, "command");
	json_begin_array(w);
	for (char *const *word = execution->words.argv; *word; word++)
		json_string(w, *word);
	json_end_array(w);
	json_key_string(w, "started", text);
	json_key_uint(w, "startedMs", execution->started_ms);
	json_key_uint(w, "ageUs",
		      now_ms > execution->started_ms ? (now_ms - execution->started_ms) * 1000 : 0);
	json_key_bool(w, "terminal", execution->flags & RECORD_TERMINAL);
	json_key_bool(w, "input", execution->input_fd >= 0);
	if (execution->flags & RECORD_OPEN_INPUT)
		json_key_bool(w, "inputEnded", execution->input_ended);
	json_key_uint(w, "stdoutBytes", execution->spool.totals[0]);
	json_key_uint(w, "stderrBytes", execution->spool.totals[1]);
	if (counters)
		write_counters(execution, w);
	write_progress(execution, w);
	if (execution->context)
		keeper_context_describe(execution, w);
	if (execution->agent)
		json_key_bool(w, "agent", true);
	if (execution->state == EXECUTION_ENDED) {
		const struct jail_outcome outcome = { .exit_code = execution->end.exit_code,
						      .signal = execution->end.signal };

		json_key_uint(w, "endedMs", now_ms - (clock_us() - execution->ended_us) / 1000);
		json_key_string(w, "cause", jail_cause_name((enum jail_cause)execution->end.cause));
		result_write_end(&outcome, w);
	}
	json_end_object(w);
}

char *executions_list(struct executions *all, bool counters)
{
	struct json_writer w = { 0 };

	json_begin_array(&w);
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i]->state != EXECUTION_FAILED)
			describe(all->items[i], counters, &w);
	json_end_array(&w);
	return json_take(&w);
}
