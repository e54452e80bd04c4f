/*
 * The life of a parked jail, and when a pool gives jails up.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/library/pool.h"

/* Whether `to` can be reached from `from` in one step or more. */
static bool leads(enum pool_state from, enum pool_state to, int depth)
{
	for (int next = 0; depth && next < POOL_STATE_COUNT; next++)
		if (pool_may_move(from, (enum pool_state)next) &&
		    ((enum pool_state)next == to || leads((enum pool_state)next, to, depth - 1)))
			return true;
	return false;
}

Test(pool_state, a_jail_goes_one_way, .timeout = 20)
{
	static const enum pool_state life[] = { POOL_BUILDING, POOL_READY, POOL_TAKEN,    POOL_CHECKED,
						POOL_RUNNING,  POOL_ENDED, POOL_CLEANING, POOL_GONE };

	for (size_t i = 0; i + 1 < sizeof(life) / sizeof(life[0]); i++)
		cr_expect(pool_may_move(life[i], life[i + 1]), "%s", pool_state_name(life[i]));
	for (int state = 0; state < POOL_STATE_COUNT; state++) {
		const char *name = pool_state_name((enum pool_state)state);

		cr_expect(!leads((enum pool_state)state, (enum pool_state)state, POOL_STATE_COUNT),
			  "%s comes back", name);
		cr_expect(state == POOL_GONE || leads((enum pool_state)state, POOL_GONE, POOL_STATE_COUNT),
			  "%s never ends", name);
	}
}

Test(pool_state, nothing_unchecked_runs, .timeout = 20)
{
	for (int state = 0; state < POOL_STATE_COUNT; state++) {
		const enum pool_state from = (enum pool_state)state;

		cr_expect(pool_may_move(from, POOL_RUNNING) == (from == POOL_CHECKED), "%s",
			  pool_state_name(from));
		cr_expect(pool_may_move(from, POOL_TAKEN) == (from == POOL_READY), "%s",
			  pool_state_name(from));
		/* A jail that has run, or was found to be wrong, can only be removed. */
		if (from == POOL_RUNNING || from == POOL_BROKEN || from == POOL_STALE)
			cr_expect(!leads(from, POOL_READY, POOL_STATE_COUNT), "%s", pool_state_name(from));
	}
}

Test(pool_state, pressure, .timeout = 20)
{
	static const struct row {
		const char *text;
		bool pressed;
	} rows[] = {
		{ "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:   99 kB\n", true },
		{ "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  100 kB\n", false },
		{ "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:    0 kB\n", true },
		{ "MemTotal:  1000 kB\nMemFree: 1 kB\n", false },
		{ "MemAvailable:    0 kB\n", false },
		{ "", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(pool_is_pressed(rows[i].text) == rows[i].pressed, "%s", rows[i].text);
}

Test(pool_state, refilling_does_not_disturb_a_hand_out, .timeout = 20)
{
	static const struct row {
		const char *label;
		struct pool_look look;
		enum pool_work work;
	} rows[] = {
		{ "nothing to do", { 0 }, POOL_WORK_NONE },
		{ "parks what is missing", { .is_wanting = true }, POOL_WORK_PARK },
		{ "removes before it parks", { .is_wanting = true, .ended = 1 }, POOL_WORK_CLEAN },
		{ "rests after a hand-out",
		  { .is_wanting = true, .is_resting = true, .ended = 1 },
		  POOL_WORK_NONE },
		{ "but not for ever", { .is_resting = true, .ended = 8 }, POOL_WORK_CLEAN },
		{ "an empty key comes first",
		  { .is_short = true, .is_wanting = true, .is_resting = true, .ended = 1 },
		  POOL_WORK_PARK },
		{ "helpers park for it",
		  { .is_short = true, .is_wanting = true, .is_helper = true },
		  POOL_WORK_PARK },
		{ "few ended jails pile up",
		  { .is_short = true, .is_wanting = true, .ended = 8 },
		  POOL_WORK_CLEAN },
		{ "helpers do nothing else",
		  { .is_wanting = true, .is_helper = true, .ended = 1 },
		  POOL_WORK_NONE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(pool_choose_work(&rows[i].look) == rows[i].work, "%s", rows[i].label);
}

Test(pool_state, half_of_the_descriptors_are_for_others, .timeout = 20)
{
	static const struct row {
		const char *label;
		struct pool_descriptors have;
		unsigned int building;
		bool may_park, may_launch;
	} rows[] = {
		{ "few are open", { 10, 1024 }, 0, true, true },
		{ "the last that fits", { 512 - POOL_DESCRIPTORS, 1024 }, 0, true, true },
		{ "one too many", { 513 - POOL_DESCRIPTORS, 1024 }, 0, false, true },
		{ "another jail is being built", { 512 - POOL_DESCRIPTORS, 1024 }, 1, false, true },
		{ "and there is room for both", { 512 - 2 * POOL_DESCRIPTORS, 1024 }, 1, true, true },
		{ "those of two jails are free", { 1024 - 2 * POOL_DESCRIPTORS, 1024 }, 0, false, true },
		{ "one fewer is free", { 1025 - 2 * POOL_DESCRIPTORS, 1024 }, 0, false, false },
		{ "the table is full", { 1024, 1024 }, 0, false, false },
		{ "more are open than a lowered limit allows", { 2000, 1024 }, 0, false, false },
		{ "the limit is smaller than one jail", { 5, 16 }, 0, false, false },
		{ "there is no limit", { 100000, UINT64_MAX }, 64, true, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect(pool_may_park(&rows[i].have, rows[i].building) == rows[i].may_park, "%s",
			  rows[i].label);
		cr_expect(pool_may_launch(&rows[i].have) == rows[i].may_launch, "%s", rows[i].label);
	}
}

Test(pool_state, it_counts_the_descriptors_of_this_process, .timeout = 20)
{
	const struct pool_descriptors before = pool_count_descriptors();
	struct pool_descriptors after;
	struct rlimit limit;
	int fds[3];

	for (int i = 0; i < 3; i++)
		fds[i] = dup(STDERR_FILENO);
	after = pool_count_descriptors();
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	cr_expect(getrlimit(RLIMIT_NOFILE, &limit) == 0 && after.most == limit.rlim_cur);
	cr_expect(before.open >= 3 && after.open == before.open + 3, "%" PRIu64 ", before %" PRIu64,
		  after.open, before.open);
}
