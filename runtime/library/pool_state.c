#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

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

bool pool_is_pressed_now(void)
{
	char text[512];
	FILE *file = fopen("/proc/meminfo", "re");
	const size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[len] = '\0';
	return pool_is_pressed(text);
}

/* Before Linux 6.2 the size of the directory is 0, and its entries have to be counted. A table that is too full to be read is full. */
static uint64_t count_open(uint64_t most)
{
	struct stat st = { 0 };
	uint64_t count = 0;
	DIR *dir;

	if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
		return (uint64_t)st.st_size;
	dir = opendir("/proc/self/fd");
	if (!dir)
		return most;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

struct pool_descriptors pool_count_descriptors(void)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	uint64_t most;

	getrlimit(RLIMIT_NOFILE, &limit);
	most = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
	return (struct pool_descriptors){ .open = count_open(most), .most = most };
}

bool pool_may_park(const struct pool_descriptors *have, unsigned int building)
{
	return have->open + POOL_DESCRIPTORS * ((uint64_t)building + 1) <= have->most / 2;
}

bool pool_may_launch(const struct pool_descriptors *have)
{
	return have->open + UINT64_C(2) * POOL_DESCRIPTORS <= have->most;
}
