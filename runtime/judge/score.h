/*
 * score: the sums of the decided cases of a batch. Private to runtime/ and above; pure, any thread.
 *
 * Life: zeroed -> score_add() for each case, in the order of the cases -> score_write().
 */
#ifndef WARDER_RUNTIME_JUDGE_SCORE_H
#define WARDER_RUNTIME_JUDGE_SCORE_H

#include "runtime/judge/batch.h"

/* What is known of a case that was decided. Processes may share it. */
struct judged {
	uint32_t verdict;                       /* enum verdict */
	uint64_t wall_us, cpu_us, memory_bytes; /* UINT64_MAX: not known */
	char text[512];                         /* for people; some of it may be the program's output */
};

/* Of a case that did not run, or whose run is not known. */
#define JUDGED_NOTHING(of)                                                                                   \
	((struct judged){                                                                                    \
	    .verdict = (of), .wall_us = UINT64_MAX, .cpu_us = UINT64_MAX, .memory_bytes = UINT64_MAX })

/* The most of all cases. */
struct score_most {
	bool known; /* measured in at least one case */
	uint64_t value;
};

struct score {
	size_t counts[VERDICT_COUNT];
	enum verdict verdict; /* of the first case that is not accepted */
	size_t first;         /* that case */
	struct score_most wall_us, cpu_us, memory_bytes;
};

void score_add(struct score *score, size_t index, const struct judged *judged);
/* The members "verdict", "firstFailure", "counts" and "most" into the object that is open. */
void score_write(const struct score *score, const struct batch *batch, struct json_writer *w);

#endif
