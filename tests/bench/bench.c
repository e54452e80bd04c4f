/*
 * The harness: times launches of one program by several contestants in one run, so that what the machine does
 * meanwhile hits all of them alike. Every round runs each contestant once, in an order that is shuffled anew: the
 * kernel clears a network namespace away after its jail is gone, and no contestant shall always pay for the same neighbour.
 * Ratios of one run are worth quoting; absolute figures drift with the machine.
 *
 *   bench [-n ITERATIONS] [-w WARMUPS] [-g GAP_US] [-s RATE_MS] [-m] [-j JSON] [-t TITLE] LIST -- PROGRAM ARG...
 *
 * LIST is described in tests/bench/contestant.h. -s 0 leaves the rates out; -m measures the launchers' memory. Exits
 * with 1 if a contestant that is there failed.
 */
#include "tests/bench/contestant.h"
#include "tests/bench/report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct options {
	int iterations, warmups, gap_us, rate_ms;
	bool memory;
	const char *json, *title, *list;
	char *const *program;
};

static int read_list(const char *path, struct contestant *contestants)
{
	FILE *file = fopen(path, "re");
	char line[4096];
	int count = 0;

	if (!file) {
		perror(path);
		return -1;
	}
	while (count < CONTESTANTS_MAX && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (contestant_parse(strdup(line), &contestants[count++]) < 0) {
			fprintf(stderr, "bench: malformed line in %s: %s\n", path, line);
			count = -1;
			break;
		}
	}
	fclose(file);
	return count;
}

static void shuffle(int *order, int count)
{
	static uint32_t state = 1;

	for (int i = count - 1; i > 0; i--) {
		int other;
		int kept = order[i];

		state = state * 1664525u + 1013904223u;
		other = (int)((state >> 8) % (uint32_t)(i + 1));
		order[i] = order[other];
		order[other] = kept;
	}
}

static void measure(struct report *report, struct contestant *contestants, const struct options *options)
{
	const struct timespec gap = { .tv_nsec = options->gap_us * 1000L };
	int order[CONTESTANTS_MAX];

	for (int i = 0; i < report->count; i++)
		order[i] = i;
	for (int round = -options->warmups; round < options->iterations; round++) {
		shuffle(order, report->count);
		for (int i = 0; i < report->count; i++) {
			struct contestant *contestant = &contestants[order[i]];
			struct figures *figures = &report->figures[order[i]];
			uint64_t ns, cpu_ns;

			if (contestant->failure)
				continue;
			nanosleep(&gap, NULL);
			if (contestant_run(contestant, options->program, &ns, &cpu_ns) < 0 || round < 0)
				continue;
			figures->cpu_ns[figures->count] = cpu_ns;
			figures->ns[figures->count++] = ns;
		}
	}
}

static void measure_rest(struct report *report, struct contestant *contestants, const struct options *options)
{
	const struct timespec settle = { .tv_nsec = 300000000 };

	for (int w = 0; options->rate_ms && w < WIDTHS; w++)
		for (int i = 0; i < report->count; i++) {
			if (contestants[i].failure || contestants[i].once)
				continue;
			contestant_rate(&contestants[i], options->program, report_widths[w], options->rate_ms,
					&report->figures[i].per_second[w]);
			nanosleep(&settle, NULL);
		}
	for (int i = 0; i < report->count; i++)
		report->figures[i].memory_kib =
		    options->memory && !contestants[i].failure ? contestant_memory_kib(&contestants[i]) : -1;
}

static int write_json(const struct report *report, const char *path)
{
	FILE *out = path ? fopen(path, "we") : NULL;

	if (!path)
		return 0;
	if (!out) {
		perror(path);
		return -1;
	}
	report_json(report, out);
	return fclose(out);
}

static int run(const struct options *options)
{
	static struct contestant contestants[CONTESTANTS_MAX];
	static struct figures figures[CONTESTANTS_MAX];
	struct report report = { options->title, contestants, figures, 0 };
	int failed = 0;

	report.count = read_list(options->list, contestants);
	if (report.count < 0)
		return 2;
	for (int i = 0; i < report.count; i++) {
		figures[i].ns = calloc((size_t)options->iterations, sizeof(uint64_t));
		figures[i].cpu_ns = calloc((size_t)options->iterations, sizeof(uint64_t));
		if (!contestants[i].failure && contestant_check(&contestants[i]) == 0)
			contestant_start(&contestants[i], options->program);
	}
	measure(&report, contestants, options);
	measure_rest(&report, contestants, options);
	for (int i = 0; i < report.count; i++) {
		contestant_stop(&contestants[i]);
		figures_sort(&figures[i]);
		failed |= contestants[i].failure && contestants[i].kind != CONTESTANT_ABSENT;
	}
	report_table(&report, stdout);
	return write_json(&report, options->json) < 0 ? 2 : failed;
}

int main(int argc, char **argv)
{
	struct options options = {
		.iterations = 200, .warmups = 10, .gap_us = 2000, .rate_ms = 1000, .title = ""
	};
	int option;

	while ((option = getopt(argc, argv, "+n:w:g:s:mj:t:")) != -1) {
		switch (option) {
		case 'n':
			options.iterations = atoi(optarg);
			break;
		case 'w':
			options.warmups = atoi(optarg);
			break;
		case 'g':
			options.gap_us = atoi(optarg);
			break;
		case 's':
			options.rate_ms = atoi(optarg);
			break;
		case 'm':
			options.memory = true;
			break;
		case 'j':
			options.json = optarg;
			break;
		case 't':
			options.title = optarg;
			break;
		default:
			return 2;
		}
	}
	if (argc - optind < 3 || strcmp(argv[optind + 1], "--") != 0 || options.iterations < 1 ||
	    options.gap_us > 999999) {
		fprintf(
		    stderr,
		    "usage: bench [-n N] [-w N] [-g US] [-s MS] [-m] [-j JSON] [-t TITLE] LIST -- PROGRAM "
		    "ARG...\n");
		return 2;
	}
	options.list = argv[optind];
	options.program = argv + optind + 2;
	return run(&options);
}
