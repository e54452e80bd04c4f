/*
 * leaves: the control groups of a launch of the floor: one leaf in each hierarchy, with the limits of the default policy. Private to tests/bench/.
 *
 * Life: leaves_add() for each hierarchy, once -> leaves_make() for a launch -> the child joins -> leaves_end() reads the counters, and removes the
 * leaves or keeps them for the next launch. Any thread, each with leaves of its own.
 */
#ifndef WARDER_TESTS_BENCH_LEAVES_H
#define WARDER_TESTS_BENCH_LEAVES_H

#include <stdbool.h>
#include <stddef.h>

#define GROUPS_MAX 6

struct groups {
	struct group {
		const char *parent;
		unsigned int controllers; /* bits of the table in leaves.c */
		bool v2;
	} group[GROUPS_MAX];
	size_t count;
};

struct leaves {
	struct leaf {
		char path[256];
		int fd;
		int join_fd; /* of v1: `tasks`, to be written to; of v2: the same as fd, for CLONE_INTO_CGROUP */
	} leaf[GROUPS_MAX];
	size_t count; /* how many are there */
};

/* "CONTROLLERS:DIRECTORY", of which the first is "v2" for a hierarchy of cgroup v2. False: malformed, or too many. */
bool leaves_add(struct groups *groups, const char *text);
/* Make the leaves, write the limits and read them back. False: one failed; leaves_end() removes those that are there. */
bool leaves_make(const struct groups *groups, struct leaves *ret);
/* The leaf that the child is to be born in, or -1. */
int leaves_v2_fd(const struct groups *groups, const struct leaves *leaves);
/* Read the counters; then remove the leaves, unless `keep`. */
bool leaves_end(const struct groups *groups, struct leaves *leaves, bool keep);
/* Only open the files that tell of the limits, to be read again and again. Returns how many. */
size_t leaves_open_limits(const struct groups *groups, const struct leaves *leaves, int *ret_fds,
			  size_t most);

#endif
