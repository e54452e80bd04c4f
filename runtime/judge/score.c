#include "runtime/judge/score.h"

void score_add(struct score *score, size_t index, const struct judged *judged)
{
	const enum verdict verdict = (enum verdict)judged->verdict;

	score->counts[verdict]++;
	if (verdict != VERDICT_ACCEPTED &&
	    (score->verdict == VERDICT_ACCEPTED ||
	     (score->verdict == VERDICT_SKIPPED && verdict != VERDICT_SKIPPED))) {
		score->verdict = verdict;
		score->first = index;
	}
	if (judged->wall_us > score->wall_us)
		score->wall_us = judged->wall_us;
	if (judged->cpu_us != UINT64_MAX && judged->cpu_us > score->cpu_us)
		score->cpu_us = judged->cpu_us;
	if (judged->memory_bytes != UINT64_MAX && judged->memory_bytes > score->memory_bytes)
		score->memory_bytes = judged->memory_bytes;
}

void score_write(const struct score *score, const struct batch *batch, struct json_writer *w)
{
	const bool failed = score->verdict != VERDICT_ACCEPTED;
	char number[BATCH_NUMBER];

	json_key_string(w, "verdict", verdict_name(score->verdict));
	json_key_string(w, "firstFailure", failed ? batch_name(batch, score->first, number) : NULL);
	json_key(w, "counts");
	json_begin_object(w);
	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++)
		json_key_uint(w, verdict_name((enum verdict)verdict), score->counts[verdict]);
	json_end_object(w);
	json_key(w, "most");
	json_begin_object(w);
	json_key_uint(w, "wallUs", score->wall_us);
	json_key_uint(w, "cpuTimeUs", score->cpu_us);
	json_key_uint(w, "peakMemoryBytes", score->memory_bytes);
	json_end_object(w);
}
