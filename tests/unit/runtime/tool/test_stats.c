#include "base/array.h"
#include "runtime/tool/stats.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct stats_numbers counted(const uint64_t *durations, size_t count)
{
	struct stats_numbers numbers;
	struct stats stats;

	stats_init(&stats);
	for (size_t i = 0; i < count; i++)
		stats_count(&stats, STATS_SUCCESS, durations[i]);
	stats_snapshot(&stats, &numbers);
	stats_done(&stats);
	return numbers;
}

Test(stats, outcomes, .timeout = 20)
{
	struct stats_numbers numbers;
	struct stats stats;

	stats_init(&stats);
	stats_count(&stats, STATS_SUCCESS, 10);
	stats_count(&stats, STATS_FAILED, 0);
	stats_count(&stats, STATS_TIMEOUT, 30);
	stats_count(&stats, STATS_SUCCESS, 4);
	stats_snapshot(&stats, &numbers);
	stats_count(&stats, STATS_SUCCESS, 5); /* a snapshot is a copy */
	cr_expect(numbers.total == 4 && numbers.success == 2 && numbers.failed == 2 && numbers.timeout == 1);
	cr_expect(numbers.total_us == 44 && numbers.min_us == 0 && numbers.max_us == 30);
	stats_done(&stats);
}

/* For every duration the percentile of it alone is exact, and beside a longer one at most an eighth too long. */
Test(stats, percentiles_of_any_duration, .timeout = 20)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int around = -1; around <= 1; around++) {
			const uint64_t us = ((uint64_t)1 << bit) + (uint64_t)around;
			const uint64_t durations[] = { us, UINT64_MAX };
			const struct stats_numbers one = counted(durations, 1), two = counted(durations, 2);

			cr_expect(stats_percentile(&one, 50) == us, "%lu", us);
			cr_expect(stats_percentile(&two, 50) >= us, "%lu", us);
			cr_expect(stats_percentile(&two, 50) - us <= us / 8, "%lu: %lu", us,
				  stats_percentile(&two, 50));
			cr_expect(stats_percentile(&two, 51) == UINT64_MAX, "%lu", us);
		}
	}
}

Test(stats, percentiles, .timeout = 20)
{
	static const struct {
		unsigned percent;
		uint64_t least, most;
	} rows[] = {
		{ 0, 1, 1 }, { 1, 1, 1 }, { 5, 5, 5 }, { 50, 50, 56 }, { 90, 90, 100 }, { 100, 100, 100 },
	};
	uint64_t durations[100];
	struct stats_numbers numbers;

	for (size_t i = 0; i < 100; i++)
		durations[i] = 100 - i;
	numbers = counted(durations, 100);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		uint64_t us = stats_percentile(&numbers, rows[i].percent);

		cr_expect(us >= rows[i].least && us <= rows[i].most, "%u%%: %lu", rows[i].percent, us);
	}
	numbers = counted(NULL, 0);
	cr_expect(stats_percentile(&numbers, 50) == 0);
}

Test(stats, counts_do_not_wrap, .timeout = 20)
{
	const uint64_t durations[] = { UINT64_MAX, UINT64_MAX };
	const struct stats_numbers numbers = counted(durations, 2);

	cr_expect(numbers.total_us == UINT64_MAX);
}

Test(stats, rejected_are_failed, .timeout = 20)
{
	struct stats_numbers numbers;
	struct stats stats;

	stats_init(&stats);
	stats_count(&stats, STATS_REJECTED, 1);
	stats_count(&stats, STATS_FAILED, 1);
	stats_count(&stats, STATS_SUCCESS, 1);
	stats_snapshot(&stats, &numbers);
	cr_expect(numbers.total == 3 && numbers.failed == 2 && numbers.rejected == 1 && numbers.timeout == 0);
	stats_done(&stats);
}

Test(stats, as_json, .timeout = 20)
{
	static const uint64_t durations[] = { 2, 4, 6 };
	static const struct {
		size_t count;
		const char *json;
	} rows[] = {
		{ 0, "{\"total\":0,\"success\":0,\"failed\":0,\"timeout\":0,\"rejected\":0,\"durations\":{"
		     "\"totalUs\":0,"
		     "\"minUs\":null,"
		     "\"maxUs\":null,\"meanUs\":null,\"p50Us\":null,\"p90Us\":null}}" },
		{ 3, "{\"total\":3,\"success\":3,\"failed\":0,\"timeout\":0,\"rejected\":0,\"durations\":{"
		     "\"totalUs\":12,"
		     "\"minUs\":2,"
		     "\"maxUs\":6,\"meanUs\":4,\"p50Us\":4,\"p90Us\":6}}" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct stats_numbers numbers = counted(durations, rows[i].count);
		struct json_writer w = { 0 };
		char *json;

		stats_write(&numbers, &w);
		json = json_take(&w);
		cr_expect_str_eq(json, rows[i].json);
		free(json);
	}
}

#define THREADS 50
#define EACH    20000

static pthread_barrier_t together;

static void *count_many(void *stats)
{
	pthread_barrier_wait(&together);
	for (unsigned i = 0; i < EACH; i++) {
		struct stats_numbers numbers;

		stats_count(stats, i % 4 == 0 ? STATS_TIMEOUT : STATS_SUCCESS, i);
		if (i % 100)
			continue;
		stats_snapshot(stats, &numbers);
		if (numbers.total != numbers.success + numbers.failed || numbers.failed != numbers.timeout)
			return stats; /* half counted */
	}
	return NULL;
}

Test(stats, from_many_threads, .timeout = 120)
{
	struct stats_numbers numbers;
	pthread_t threads[THREADS];
	struct stats stats;

	stats_init(&stats);
	pthread_barrier_init(&together, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++)
		cr_assert(pthread_create(&threads[i], NULL, count_many, &stats) == 0);
	for (size_t i = 0; i < THREADS; i++) {
		void *torn = NULL;

		pthread_join(threads[i], &torn);
		cr_expect_null(torn, "a snapshot is consistent");
	}
	stats_snapshot(&stats, &numbers);
	cr_expect(numbers.total == (uint64_t)THREADS * EACH && numbers.timeout == numbers.total / 4);
	cr_expect(numbers.total_us == (uint64_t)THREADS * EACH * (EACH - 1) / 2);
	stats_done(&stats);
}
