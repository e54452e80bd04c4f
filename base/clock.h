/*
 * clock: time for deadlines and durations, from the monotonic clock: a step of the wall clock moves neither.
 */
#ifndef WARDER_BASE_CLOCK_H
#define WARDER_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Milliseconds since the epoch, of the wall clock: for what people read. */
static inline uint64_t clock_wall_ms(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Of the time of a file, which a program may have set to any: the first or last time that there is, if it lies beyond the years 1677 to 2262. */
static inline int64_t clock_nanoseconds(const struct timespec *time)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)time->tv_sec, INT64_C(1000000000), &ns) ||
	    __builtin_add_overflow(ns, (int64_t)time->tv_nsec, &ns))
		return time->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

#endif
