#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/library/pool.h"

#define ENDED_MOST 8
#define TO(id)     (1u << POOL_##id)

static const unsigned int moves[POOL_STATE_COUNT] = {
	[POOL_BUILDING] = TO(READY) | TO(GONE),
	[POOL_READY] = TO(TAKEN) | TO(STALE) | TO(CLEANING),
	[POOL_TAKEN] = TO(CHECKED) | TO(STALE) | TO(BROKEN),
	[POOL_CHECKED] = TO(RUNNING) | TO(BROKEN),
	[POOL_RUNNING] = TO(ENDED),
	[POOL_ENDED] = TO(CLEANING),
	[POOL_STALE] = TO(CLEANING),
	[POOL_BROKEN] = TO(CLEANING),
	[POOL_CLEANING] = TO(GONE),
};

const char *pool_state_name(enum pool_state state)
{
	static const char *const names[] = {
#define X(id, name) [POOL_##id] = name,
		POOL_STATES(X)
#undef X
	};

	return names[state];
}

bool pool_may_move(enum pool_state from, enum pool_state to)
{
	return moves[from] & (1u << to);
}

enum pool_work pool_choose_work(const struct pool_look *look)
{
	if (look->is_short)
		return look->ended < ENDED_MOST ? POOL_WORK_PARK : POOL_WORK_CLEAN;
	if (look->is_helper || look->is_resting)
		return look->ended < ENDED_MOST ? POOL_WORK_NONE : POOL_WORK_CLEAN;
	return look->ended ? POOL_WORK_CLEAN : look->is_wanting ? POOL_WORK_PARK : POOL_WORK_NONE;
}

/* The number behind a name, or 0. */
static unsigned long long number_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

bool pool_is_pressed(const char *meminfo)
{
	const unsigned long long total = number_of(meminfo, "MemTotal:");

	return total && strstr(meminfo, "MemAvailable:") && number_of(meminfo, "MemAvailable:") < total / 10;
}
