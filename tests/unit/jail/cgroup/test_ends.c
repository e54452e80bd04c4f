/*
 * ends: who is told of a crowd, and how many may be killed without a pause.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "jail/cgroup/ends.h"

#define THREADS 30
#define EACH    11

Test(ends, the_first_hundred_are_no_crowd)
{
	for (int i = 0; i < ENDS_AT_ONCE; i++)
		cr_expect(!ends_begin(), "jail %d", i);
	cr_expect(ends_begin());
	ends_end();
	ends_end();
	cr_expect(!ends_begin());
	cr_expect(ends_begin());
}

Test(ends, the_first_hundred_do_not_wait)
{
	for (int i = 0; i < ENDS_AT_ONCE; i++)
		cr_expect(ends_turn_us() <= clock_us(), "turn %d is in the future", i);
}

static uint64_t taken_us[THREADS * EACH];

static void *take(void *arg)
{
	uint64_t *at = arg;

	for (int i = 0; i < EACH; i++) {
		at[i] = ends_turn_us();
		while (clock_us() < at[i])
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a;
	const uint64_t right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* In order of time, a kill and the one ENDS_AT_ONCE later have a pause between them. */
Test(ends, a_pause_after_each_hundred, .timeout = 60)
{
	pthread_t threads[THREADS];
	const size_t count = THREADS * EACH;

	for (size_t i = 0; i < THREADS; i++)
		cr_assert(pthread_create(&threads[i], NULL, take, taken_us + i * EACH) == 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	qsort(taken_us, count, sizeof(taken_us[0]), compare);
	/* Threads that slept are woken a little apart. */
	for (size_t i = ENDS_AT_ONCE; i < count; i += ENDS_AT_ONCE)
		cr_expect(taken_us[i] - taken_us[i - ENDS_AT_ONCE] >= ENDS_PAUSE_MS * 1000 / 2,
			  "kill %zu came %lu us after the batch before it", i,
			  (unsigned long)(taken_us[i] - taken_us[i - ENDS_AT_ONCE]));
}
