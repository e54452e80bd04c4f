/*
 * report: the figures of one contestant, and how they are shown: a table for people, JSON for machines.
 */
#ifndef WARDER_TESTS_BENCH_REPORT_H
#define WARDER_TESTS_BENCH_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "tests/bench/contestant.h"

#define WIDTHS 3

extern const int report_widths[WIDTHS]; /* launches at a time: 1, 2, 16 */

struct figures {
	/* One per iteration, sorted by figures_sort(): until the launcher was reaped; and processor time, or 0 */
	uint64_t *ns, *cpu_ns;
	int count;
	double per_second[WIDTHS]; /* 0: not measured */
	long memory_kib;           /* -1: not measured */
};

struct report {
	const char *title; /* the program */
	const struct contestant *contestants;
	struct figures *figures; /* in the same order */
	int count;
};

void figures_sort(struct figures *figures);
void report_table(const struct report *report, FILE *out);
/* One object. */
void report_json(const struct report *report, FILE *out);

#endif
