/*
 * text: what the kernel says about cgroups, as text in, values out.
 *
 * Every function is pure and takes text with a length (not NUL-terminated unless it says so); wrong or surprising
 * text is refused with false and leaves *ret alone. Private to jail/; any thread.
 */
#ifndef WARDER_JAIL_CGROUP_TEXT_H
#define WARDER_JAIL_CGROUP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jail/cgroup/cgroup.h"

/* One value with an optional newline: digits, or "max" or "-1" for UINT64_MAX. */
bool cgroup_text_number(const char *text, size_t len, uint64_t *ret);

/* The value of `key` in a flat keyed file ("key value" lines: memory.events, cpu.stat, pids.events, ...). */
bool cgroup_text_key(const char *text, size_t len, const char *key, uint64_t *ret);

/* Whether the last word of every line is a number, and none of them is above `most`. False for no text. */
bool cgroup_text_within(const char *text, size_t len, uint64_t most);

/* "quota period" in µs, quota "max" or "-1" for none, as thousandths of a CPU. */
bool cgroup_text_bandwidth(const char *text, size_t len, uint64_t *ret_milli);

/* Whether a space-separated list (cgroup.controllers) holds `word`. */
bool cgroup_text_has_word(const char *text, size_t len, const char *word);

/* One cgroup mount out of mountinfo. */
struct cgroup_mount {
	bool v2;
	bool read_only;
	unsigned controllers; /* v1: 1u << enum cgroup_controller for each that is mounted here */
	char root[CGROUP_BASE_MAX];
	char point[CGROUP_BASE_MAX];
};
/* One line of /proc/<pid>/mountinfo (proc(5)). False also for every other kind of file system, and for paths too
 * long to be used. */
bool cgroup_text_mount(const char *line, size_t len, struct cgroup_mount *ret);

/* The v2 path in /proc/<pid>/cgroup (the "0::" line), NUL-terminated into ret. */
bool cgroup_text_own(const char *text, size_t len, char *ret, size_t size);

/* The directory where the cgroup `own` (NUL-terminated, as in /proc/self/cgroup) is seen through `mount`; false if it
 * is outside of what is mounted. */
bool cgroup_text_own_dir(const struct cgroup_mount *mount, const char *own, char *ret, size_t size);

/* Fields of /proc/<pid>/stat. The name in it may hold spaces, parentheses and newlines. */
struct cgroup_process {
	char state;
	uint64_t threads;
	uint64_t start_time; /* clock ticks since boot */
};
bool cgroup_text_process(const char *text, size_t len, struct cgroup_process *ret);

/* Whose leaf it is. n is 0 for the self leaf of a supervisor, above 0 for a run's leaf. */
struct cgroup_owner {
	int pid;
	uint64_t start_time;
	uint64_t n;
	uint64_t
	    space; /* pid and time namespace in which pid and start time mean something: see cgroup_space() */
};
/* "warder-<pid>-<starttime>-<n>-<space>" out of an owner, and back (exactly this form; NUL-terminated). */
void cgroup_text_name(const struct cgroup_owner *owner, char ret[CGROUP_NAME_MAX]);
bool cgroup_text_owner(const char *name, struct cgroup_owner *ret);

/* Whether `parent` (NUL-terminated) can be a cgroup below a mount point: "a/b", no empty, "." or ".." component, only
 * printable characters. */
bool cgroup_text_parent_valid(const char *parent);

/* Quota and period in µs for a number of thousandths of a CPU (1 to 10^9). The period is 100 ms, or 1 s where the quota
 * would fall below the kernel's least, 1 ms. */
void cgroup_text_quota(uint64_t milli, uint64_t *ret_quota_us, uint64_t *ret_period_us);

#endif
