#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/library/pool.h"

#define TO(id) (1u << POOL_##id)

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
