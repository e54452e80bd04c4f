/*
 * metrics: what the launcher counts, in the text format of Prometheus (version 0.0.4). Private to host/launcher/.
 *
 * Clients choose no value of a label: labels never name tenants, programs or hosts. So there are always fewer than 100 series.
 * Zeroed at the start; main thread only.
 */
#ifndef WARDER_HOST_LAUNCHER_METRICS_H
#define WARDER_HOST_LAUNCHER_METRICS_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define METRICS_CAUSES  16
#define METRICS_BUCKETS 12

struct launcher;

/* What was started. */
enum metrics_kind { METRICS_RUN, METRICS_SANDBOX, METRICS_KINDS };

struct metrics {
	struct {
		const char *name; /* borrowed: of the library */
		uint64_t count;
	} causes[METRICS_CAUSES]; /* of programs without a sandbox that have ended */
	struct {
		uint64_t within
		    [METRICS_BUCKETS]; /* by the first bucket that holds it; above the last: only in `count` */
		uint64_t count, sum_us;
	} launches[METRICS_KINDS];
	uint64_t failed[METRICS_KINDS]; /* launches that failed on this host */
	uint64_t refused[600];          /* requests that were refused, by status */
};

/* A program has ended. cause: of warder_result_cause(); NULL: there was no program, as a build failed. */
void metrics_ended(struct metrics *metrics, const char *cause);
void metrics_launched(struct metrics *metrics, enum metrics_kind kind, uint64_t us);
void metrics_refused(struct metrics *metrics, unsigned int status);
/* All of it, and the gauges of the launcher. stuck: of call_is_stuck(). Heap; NULL without memory. */
char *metrics_text(const struct launcher *launcher, bool stuck);

#endif
