/*
 * stats: how many executions there were, how they came out, and how long they took.
 *
 * Life: stats_init() -> stats_count() from any number of threads -> stats_snapshot(), which is consistent in itself ->
 * stats_done(). Counts stop at their largest value. A struct of about 4 KiB; nothing is allocated.
 */
#ifndef WARDER_RUNTIME_TOOL_STATS_H
#define WARDER_RUNTIME_TOOL_STATS_H

#include <pthread.h>
#include <stdint.h>

#include "base/json.h"

/* Durations of about the same length share a counter: eight for each power of two microseconds. */
#define STATS_STEPS   8
#define STATS_BUCKETS ((64 - 3 + 1) * STATS_STEPS)

enum stats_outcome {
	STATS_SUCCESS,
	STATS_FAILED,
	STATS_TIMEOUT,  /* counts as failed as well */
	STATS_REJECTED, /* so does this: nothing was started */
};

struct stats_numbers {
	uint64_t total, success, failed, timeout, rejected; /* total is success and failed */
	uint64_t total_us, min_us, max_us;                  /* min and max are 0 while total is */
	uint64_t buckets[STATS_BUCKETS];
};

struct stats {
	pthread_mutex_t lock;
	struct stats_numbers numbers;
};

void stats_init(struct stats *stats);
void stats_done(struct stats *stats);

void stats_count(struct stats *stats, enum stats_outcome outcome, uint64_t duration_us);
void stats_snapshot(struct stats *stats, struct stats_numbers *ret);

/* The duration that `percent` (0 to 100) of all executions did not exceed, in microseconds, at most an eighth too long; 0 if
 * there were none. */
uint64_t stats_percentile(const struct stats_numbers *numbers, unsigned percent);

/* {"total","success","failed","timeout","rejected","durations":{"totalUs","minUs","maxUs","meanUs","p50Us","p90Us"}}; what is not
 * known without an execution is null. */
void stats_write(const struct stats_numbers *numbers, struct json_writer *w);

#endif
