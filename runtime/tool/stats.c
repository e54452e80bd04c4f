#include "runtime/tool/stats.h"

#include <string.h>

void stats_init(struct stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	pthread_mutex_init(&stats->lock, NULL);
}

void stats_done(struct stats *stats)
{
	pthread_mutex_destroy(&stats->lock);
}

/* The first durations have a bucket each; from 8 on, the three bits behind the highest choose among eight. */
static size_t bucket_of(uint64_t us)
{
	unsigned shift;

	if (us < STATS_STEPS)
		return us;
	shift = 60 - (unsigned)__builtin_clzll(us);
	return (shift + 1) * STATS_STEPS + (us >> shift) % STATS_STEPS;
}

/* The longest duration in a bucket. */
static uint64_t bucket_end(size_t bucket)
{
	unsigned shift;

	if (bucket < STATS_STEPS)
		return bucket;
	shift = (unsigned)(bucket / STATS_STEPS) - 1;
	return ((STATS_STEPS + bucket % STATS_STEPS) << shift) + (((uint64_t)1 << shift) - 1);
}

static void add(uint64_t *to, uint64_t what)
{
	*to = *to > UINT64_MAX - what ? UINT64_MAX : *to + what;
}

void stats_count(struct stats *stats, enum stats_outcome outcome, uint64_t duration_us)
{
	struct stats_numbers *numbers = &stats->numbers;

	pthread_mutex_lock(&stats->lock);
	if (numbers->total == 0 || duration_us < numbers->min_us)
		numbers->min_us = duration_us;
	if (duration_us > numbers->max_us)
		numbers->max_us = duration_us;
	add(&numbers->total, 1);
	add(outcome == STATS_SUCCESS ? &numbers->success : &numbers->failed, 1);
	if (outcome == STATS_TIMEOUT)
		add(&numbers->timeout, 1);
	if (outcome == STATS_REJECTED)
		add(&numbers->rejected, 1);
	add(&numbers->total_us, duration_us);
	add(&numbers->buckets[bucket_of(duration_us)], 1);
	pthread_mutex_unlock(&stats->lock);
}

void stats_snapshot(struct stats *stats, struct stats_numbers *ret)
{
	pthread_mutex_lock(&stats->lock);
	*ret = stats->numbers;
	pthread_mutex_unlock(&stats->lock);
}

uint64_t stats_percentile(const struct stats_numbers *numbers, unsigned percent)
{
	uint64_t below = 0, rank, end;
	size_t bucket = 0;

	if (numbers->total == 0)
		return 0;
	/* The rank, rounded up, without a product that could overflow. */
	rank = numbers->total / 100 * percent + (numbers->total % 100 * percent + 99) / 100;
	while (bucket + 1 < STATS_BUCKETS && below + numbers->buckets[bucket] < (rank ? rank : 1))
		below += numbers->buckets[bucket++];
	end = bucket_end(bucket);
	if (end < numbers->min_us)
		return numbers->min_us;
	return end < numbers->max_us ? end : numbers->max_us;
}

static void write_known(const struct stats_numbers *numbers, struct json_writer *w, const char *key,
			uint64_t value)
{
	json_key(w, key);
	if (numbers->total)
		json_uint(w, value);
	else
		json_null(w);
}

void stats_write(const struct stats_numbers *numbers, struct json_writer *w)
{
	json_begin_object(w);
	json_key_uint(w, "total", numbers->total);
	json_key_uint(w, "success", numbers->success);
	json_key_uint(w, "failed", numbers->failed);
	json_key_uint(w, "timeout", numbers->timeout);
	json_key_uint(w, "rejected", numbers->rejected);
	json_key(w, "durations");
	json_begin_object(w);
	json_key_uint(w, "totalUs", numbers->total_us);
	write_known(numbers, w, "minUs", numbers->min_us);
	write_known(numbers, w, "maxUs", numbers->max_us);
	write_known(numbers, w, "meanUs", numbers->total ? numbers->total_us / numbers->total : 0);
	write_known(numbers, w, "p50Us", stats_percentile(numbers, 50));
	write_known(numbers, w, "p90Us", stats_percentile(numbers, 90));
	json_end_object(w);
	json_end_object(w);
}
