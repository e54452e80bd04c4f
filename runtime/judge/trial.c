#include "runtime/judge/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/library/result.h"
#include "runtime/library/result_end.h"

/* ---- the run ---- */

int trial_init(const struct batch *batch, size_t index, const char *expected, size_t len, struct trial *ret,
	       struct warder_error *err)
{
	*ret = (struct trial){ .batch = batch, .index = index };
	return compare_init(&ret->compare, &batch->cases[index].how, expected, len, err);
}

static void keep_said(struct trial *trial, const char *bytes, size_t len)
{
	const size_t half = sizeof(trial->said) / 2;

	while (len) {
		size_t count = sizeof(trial->said) - trial->said_len;

		if (!count) {
			memmove(trial->said, trial->said + half, half);
			trial->said_len = count = half;
		}
		count = count < len ? count : len;
		memcpy(trial->said + trial->said_len, bytes, count);
		trial->said_len += count;
		bytes += count;
		len -= count;
	}
}

static int on_output(void *context, enum warder_stream stream, const char *bytes, size_t len)
{
	struct trial *trial = context;

	if (stream == WARDER_STDOUT)
		compare_feed(&trial->compare, bytes, len);
	else
		keep_said(trial, bytes, len);
	return 0;
}

void trial_fill(struct trial *trial, struct warder_call *call)
{
	const struct batch_case *one = &trial->batch->cases[trial->index];

	call->argv = one->args;
	call->input = one->input;
	call->input_len = one->input ? strlen(one->input) : 0;
	call->environment = trial->batch->snippet.environment;
	call->on_output = on_output;
	call->context = trial;
}

void trial_done(struct trial *trial)
{
	compare_done(&trial->compare);
}

/* ---- the verdict ---- */

/* A few words for people. */
static void explain(const struct trial *trial, const struct warder_result *result, struct judged *judged)
{
	const struct compare_difference *difference = &trial->compare.difference;
	char expected[96], got[96];

	if (judged->verdict == VERDICT_WRONG_ANSWER) {
		json_quote_bytes(difference->expected.bytes, difference->expected.len, expected,
				 sizeof(expected));
		json_quote_bytes(difference->got.bytes, difference->got.len, got, sizeof(got));
		snprintf(judged->text, sizeof(judged->text), "line %llu: expected %s, got %s",
			 (unsigned long long)difference->line,
			 difference->expected.is_there ? expected : "nothing more",
			 difference->got.is_there ? got : "nothing more");
	} else if (judged->verdict == VERDICT_OUTPUT_LIMIT) {
		snprintf(judged->text, sizeof(judged->text), "%llu bytes of output (output.stdout)",
			 (unsigned long long)result->outcome.output[JAIL_STDOUT].total);
	} else if (judged->verdict != VERDICT_ACCEPTED) {
		snprintf(judged->text, sizeof(judged->text), "%s", result->outcome.detail);
	}
}

void trial_decide(struct trial *trial, const struct warder_result *result, const struct warder_error *err,
		  struct judged *ret)
{
	*ret = JUDGED_NOTHING(VERDICT_SYSTEM_ERROR);
	if (!result) {
		snprintf(ret->text, sizeof(ret->text), "%s", err->text);
		return;
	}
	ret->verdict = verdict_of(result, compare_finish(&trial->compare));
	ret->wall_us = warder_result_wall_us(result);
	ret->cpu_us = warder_result_cpu_us(result);
	ret->memory_bytes = warder_result_memory_peak(result);
	explain(trial, result, ret);
}

/* ---- as JSON ---- */

static void begin_case(const struct batch *batch, size_t index, enum verdict verdict, struct json_writer *w)
{
	char number[BATCH_NUMBER];

	json_begin_object(w);
	json_key_string(w, "name", batch_name(batch, index, number));
	json_key_string(w, "verdict", verdict_name(verdict));
}

static void write_said(const struct trial *trial, struct json_writer *w)
{
	size_t len;
	bool cut;
	char *text = text_clean(trial->said, trial->said_len, 3 * sizeof(trial->said), &len, &cut);

	if (!text)
		json_fail(w);
	else
		json_key_string(w, "stderr", text);
	free(text);
}

static void write_run(const struct judged *judged, const struct warder_result *result, struct json_writer *w)
{
	json_key_string(w, "status", warder_result_status(result));
	json_key_string(w, "cause", warder_result_cause(result));
	result_write_end(&result->outcome, w);
	json_key_string(w, "backend", warder_result_backend(result));
	json_key_string(w, "isolation", warder_result_isolation(result));
	json_key_string(w, "passedOver", warder_result_passed_over(result));
	result_write_known(w, "wallUs", judged->wall_us);
	result_write_known(w, "cpuTimeUs", judged->cpu_us);
	result_write_known(w, "peakMemoryBytes", judged->memory_bytes);
}

void trial_write(const struct trial *trial, const struct judged *judged, const struct warder_result *result,
		 const struct warder_error *err, struct json_writer *w)
{
	begin_case(trial->batch, trial->index, (enum verdict)judged->verdict, w);
	if (!result) {
		json_key_string(w, "cause", jail_cause_name(JAIL_CAUSE_HOST));
		result_write_error(err, NULL, w);
		return;
	}
	write_run(judged, result, w);
	json_key(w, "difference");
	if (judged->verdict == VERDICT_WRONG_ANSWER)
		compare_write(&trial->compare.difference, w);
	else
		json_null(w);
	if (judged->verdict == VERDICT_RUNTIME_ERROR)
		write_said(trial, w);
}

void trial_write_output(const struct warder_result *result, struct json_writer *w)
{
	json_key(w, "output");
	json_begin_object(w);
	for (size_t stream = 0; stream < 2; stream++) {
		uint64_t total;

		json_key(w, stream ? "stderr" : "stdout");
		json_begin_object(w);
		warder_result_output(result, (enum warder_stream)stream, NULL, &total);
		result_write_known(w, "bytesTotal", total);
		result_write_reference(&result->streams[stream], w);
		json_end_object(w);
	}
	json_end_object(w);
}

void trial_write_without(const struct batch *batch, size_t index, enum verdict verdict, const char *cause,
			 const struct warder_error *why, struct json_writer *w)
{
	begin_case(batch, index, verdict, w);
	json_key_string(w, "cause", cause);
	if (why)
		result_write_error(why, NULL, w);
	json_end_object(w);
}
