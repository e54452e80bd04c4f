/* execution: what an execution has, its output above all. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "runtime/library/library.h"
#include "runtime/session/execution.h"

#define STACK_BYTES (256u << 10)
#define AHEAD_MAX   (256u << 10) /* of the spool, before a client that the program waits for */
#define FOLLOWED_MAX                                                                                         \
	(512u                                                                                                \
	 << 10) /* of the spool of such a program, even if the session's spools are full: what it wrote before it waits */

struct policy *execution_new_policy(struct warder_error *err)
{
	struct policy *policy = calloc(1, sizeof(*policy));

	if (!policy)
		error_no_memory(err, NULL);
	return policy;
}

void execution_drop_policy(struct policy **policy)
{
	policy_done(*policy);
	free(*policy);
	*policy = NULL;
}

void execution_words_done(struct execution_words *words)
{
	execution_drop_policy(&words->policy);
	execution_drop_policy(&words->ceiling);
	free(words->argv);
	free(words->set);
	free(words->caller);
	free(words->bytes);
	*words = (struct execution_words){ 0 };
}

static uint64_t epoch_us(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* The spool of the execution that ended first gives way to those that run. */
static void make_room(struct executions *all)
{
	struct execution *oldest = NULL;

	for (size_t i = 0; i < all->count; i++) {
		struct execution *one = all->items[i];

		if (one->state == EXECUTION_ENDED && !one->follower && one->spool.size &&
		    (!oldest || one->ended_us < oldest->ended_us))
			oldest = one;
	}
	if (!oldest)
		return;
	all->spool_bytes -= oldest->spool.size;
	ring_drop(&oldest->spool);
}

/* How many bytes its spool may still grow by. */
static size_t room_of(const struct execution *execution)
{
	const size_t spools = execution->all->spool_bytes, size = execution->spool.size;
	const size_t shared = spools < SPOOLS_BYTES_MAX ? SPOOLS_BYTES_MAX - spools : 0;
	const size_t own = execution->follower && size < FOLLOWED_MAX ? FOLLOWED_MAX - size : 0;

	return shared > own ? shared : own;
}

/* Of an owner that has not begun to read. */
static const struct ring_cursor beginning;

/* Whether the program has written more than this that the client that it waits for has not got. */
static bool is_ahead(const struct execution *execution, size_t most)
{
	return execution->follower && execution->spool.head - execution->follower->at > most;
}

int execution_take_output(void *context, enum warder_stream stream, const char *bytes, size_t len)
{
	struct execution *execution = context;
	struct executions *all = execution->all;
	const size_t before = execution->spool.size;

	if (all->spool_bytes + RING_BYTES_MAX > SPOOLS_BYTES_MAX)
		make_room(all);
	ring_append(&execution->spool, stream, bytes, len, epoch_us(), room_of(execution));
	all->spool_bytes += execution->spool.size - before;
	if (execution->follower && !execution->waits && is_ahead(execution, AHEAD_MAX)) {
		execution->waits = true;
		library_hold_output(execution->run, true);
	}
	return 0;
}

void execution_follow_by(struct execution *execution, const struct ring_cursor *cursor)
{
	execution->follower = cursor;
	execution_followed(execution);
}

void execution_wait_for_owner(struct execution *execution)
{
	execution->follower = &beginning;
}

bool execution_is_unread(const struct execution *execution)
{
	return execution->follower == &beginning;
}

void execution_followed(struct execution *execution)
{
	if (!execution->waits || is_ahead(execution, AHEAD_MAX / 2))
		return;
	execution->waits = false;
	if (execution->run)
		library_hold_output(execution->run, false);
}

int execution_gives_up(void *context)
{
	struct execution *execution = context;

	return atomic_load(&execution->stopped) || clock_us() > execution->launch_until_us;
}

/* What its owner does not take in time is in the result. Without an owner, the last line is kept. */
void execution_take_line(void *context, const char *line)
{
	struct execution *execution = context;
	const size_t len = strlen(line) + 1;
	char *grown = NULL;

	if (!execution->owned)
		execution->lines_len = 0;
	if (execution->lines_len + len <= RECORD_BODY_MAX)
		grown = realloc(execution->lines, execution->lines_len + len);
	if (!grown)
		return;
	memcpy(grown + execution->lines_len, line, len);
	execution->lines = grown;
	execution->lines_len += len;
}

/* A stack of the size that a launch needs: what is not touched costs nothing, but is counted by limits of the address space. */
int executions_begin_thread(pthread_t *ret, void *(*run)(void *context), void *context)
{
	pthread_attr_t attributes;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	error = pthread_create(ret, &attributes, run, context);
	pthread_attr_destroy(&attributes);
	return error;
}

bool execution_lives(const struct execution *execution)
{
	return execution->state == EXECUTION_STARTING || execution->state == EXECUTION_RUNNING;
}

void counters_fill(const struct jail_counters *counters, uint64_t ret[RECORD_COUNTERS_COUNT])
{
	ret[RECORD_COUNTER_CPU_US] = counters->cpu_us;
	ret[RECORD_COUNTER_MEMORY] = counters->memory_bytes;
	ret[RECORD_COUNTER_MEMORY_PEAK] = counters->memory_peak_bytes;
	ret[RECORD_COUNTER_PROCESSES] = counters->processes;
	ret[RECORD_COUNTER_READ_BYTES] = counters->read_bytes;
	ret[RECORD_COUNTER_WRITTEN_BYTES] = counters->written_bytes;
}
