/*
 * Who counts the jails of a processor? Every launch, with names: a jail on processor 3 holds an abstract socket "warder/cpu/3/0",
 * or the first of 3/1, 3/2, ... that is free. Binding a name is atomic, needs no file and no privilege, holds among all
 * processes of a network namespace, and ends with the process, however it dies. Levels are tried in turn, each on all
 * processors before the next, so that the first free name is of a processor with the fewest; past the first few, levels are
 * left out, because 200 jails are not worth 200 attempts. Others can take the names as well: jails are then spread less evenly,
 * and nothing else follows.
 */
#include "jail/affinity.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/compose.h"
#include "base/fd.h"

#define LEVELS_MAX 65536

static bool has(const struct affinity_mask *mask, uint32_t cpu)
{
	return mask->words[cpu / 64] >> cpu % 64 & 1;
}

static uint32_t count(const struct affinity_mask *mask)
{
	uint32_t n = 0;

	for (size_t i = 0; i < AFFINITY_WORDS; i++)
		n += (uint32_t)__builtin_popcountll(mask->words[i]);
	return n;
}

/* After the last processor of a mask, which has one: the kernel's masks have room for many more than there are. */
static uint32_t end_of(const struct affinity_mask *mask)
{
	size_t word = AFFINITY_WORDS - 1;

	while (word && !mask->words[word])
		word--;
	return (uint32_t)(word * 64) + 64 - (uint32_t)__builtin_clzll(mask->words[word] | 1);
}

uint32_t affinity_available(struct affinity_mask *ret)
{
	long bytes;
	uint32_t n;

	memset(ret, 0, sizeof(*ret));
	bytes = syscall(SYS_sched_getaffinity, 0, sizeof(ret->words), ret->words);
	ret->bytes = bytes > 0 ? (uint32_t)bytes : 0;
	n = count(ret);
	return n ? n : 1;
}

/* 0 if the name is ours now; EADDRINUSE: another process has it; another errno: no name can be bound. */
static int claim(int fd, uint32_t cpu, uint32_t level)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char cpu_text[COMPOSE_NUMBER], level_text[COMPOSE_NUMBER];
	const size_t len = compose(address.sun_path + 1, sizeof(address.sun_path) - 1, "warder/cpu/",
				   compose_number(cpu, cpu_text), "/", compose_number(level, level_text));
	const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);

	return bind(fd, (const struct sockaddr *)&address, size) == 0 ? 0 : errno;
}

/* The processors of `left` from `first` on, and around. The one whose name was had; -1: none is free at this level; -2: no names. */
static int32_t claim_level(int fd, const struct affinity_mask *left, uint32_t first, uint32_t level)
{
	const uint32_t bits = end_of(left);

	for (uint32_t i = 0; i < bits; i++) {
		const uint32_t cpu = (first + i) % bits;
		int error;

		if (!has(left, cpu))
			continue;
		error = claim(fd, cpu, level);
		if (error == 0)
			return (int32_t)cpu;
		if (error != EADDRINUSE)
			return -2;
	}
	return -1;
}

static uint32_t next_level(uint32_t level)
{
	return level < 8 ? level + 1 : level + level / 4;
}

/* One with the fewest jails; where that cannot be known, the first. */
static uint32_t claim_one(struct affinity *affinity, const struct affinity_mask *left, uint32_t first)
{
	owned_fd int fd =
	    affinity->claim_count < AFFINITY_CLAIMS_MAX ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
	int32_t cpu = fd < 0 ? -2 : -1;

	for (uint32_t level = 0; cpu == -1 && level < LEVELS_MAX; level = next_level(level))
		cpu = claim_level(fd, left, first, level);
	if (cpu >= 0) {
		affinity->claims[affinity->claim_count++] = fd_take(&fd);
		return (uint32_t)cpu;
	}
	while (!has(left, first % (left->bytes * 8)))
		first++;
	return first % (left->bytes * 8);
}

void affinity_choose(uint32_t processors, struct affinity *ret)
{
	struct affinity_mask left;
	const uint32_t available = affinity_available(&left);
	const int here = sched_getcpu();
	/* Not the one on which this process is busy with the launch. */
	const uint32_t first = here < 0 ? 0 : (uint32_t)here + 1;

	memset(ret, 0, sizeof(*ret));
	if (left.bytes == 0 || processors >= available)
		return;
	ret->mask = calloc(1, sizeof(*ret->mask));
	if (!ret->mask) /* a hint: the program does without */
		return;
	ret->mask->bytes = left.bytes;
	for (uint32_t i = 0; i < processors; i++) {
		const uint32_t cpu = claim_one(ret, &left, first);

		left.words[cpu / 64] &= ~(1ull << cpu % 64);
		ret->mask->words[cpu / 64] |= 1ull << cpu % 64;
	}
}

/* Groups of 8 hexadecimal digits with commas between them, the highest first. */
bool affinity_is(const struct affinity_mask *mask, const char *text)
{
	size_t start = strspn(text, " \t");
	size_t end = start + strspn(text + start, "0123456789abcdefABCDEF,");
	uint64_t words[AFFINITY_WORDS] = { 0 };
	uint32_t bit = 0;

	if (end == start)
		return false;
	while (end-- > start) {
		const char digit = text[end];

		if (digit == ',')
			continue;
		if (bit >= AFFINITY_WORDS * 64)
			return false;
		words[bit / 64] |= (uint64_t)(digit <= '9' ? digit - '0' : (digit & 15) + 9) << bit % 64;
		bit += 4;
	}
	for (size_t i = 0; i < AFFINITY_WORDS; i++)
		if (words[i] != mask->words[i])
			return false;
	return true;
}

const char *affinity_print(const struct affinity_mask *mask, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (uint32_t cpu = 0; cpu < AFFINITY_WORDS * 64 && used < size; cpu++) {
		uint32_t last = cpu;

		if (!mask->words[cpu / 64]) {
			cpu |= 63; /* none of the 64 */
			continue;
		}
		if (!has(mask, cpu))
			continue;
		while (last + 1 < AFFINITY_WORDS * 64 && has(mask, last + 1))
			last++;
		used += (size_t)snprintf(buf + used, size - used, last > cpu ? "%s%u-%u" : "%s%u",
					 used ? "," : "", cpu, last);
		cpu = last;
	}
	return buf;
}

void affinity_done(struct affinity *affinity)
{
	while (affinity->claim_count)
		fd_done(&affinity->claims[--affinity->claim_count]);
	affinity_drop_mask(affinity);
}

void affinity_drop_mask(struct affinity *affinity)
{
	free(affinity->mask);
	affinity->mask = NULL;
}
