/*
 * The life of a parked jail, and when a pool gives jails up.
 */
#include <criterion/criterion.h>

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
