#include "runtime/judge/score.h"

static void raise_most(struct score_most *most, uint64_t value)
{
	if (value == UINT64_MAX)
		return;
	most->known = true;
	if (value > most->value)
		most->value = value;
}

static void write_most(struct json_writer *w, const char *key, const struct score_most *most)
{
	json_key(w, key);
	if (most->known)
		json_uint(w, most->value);
	else
		json_null(w);
}

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
	raise_most(&score->wall_us, judged->wall_us);
	raise_most(&score->cpu_us, judged->cpu_us);
	raise_most(&score->memory_bytes, judged->memory_bytes);
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
	write_most(w, "wallUs", &score->wall_us);
	write_most(w, "cpuTimeUs", &score->cpu_us);
	write_most(w, "peakMemoryBytes", &score->memory_bytes);
	json_end_object(w);
}
