/*
 * library: fixtures of tests that use Warder through warder.h alone.
 */
#ifndef WARDER_TESTS_LIBRARY_H
#define WARDER_TESTS_LIBRARY_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/warder.h"

static char library_place[] = "/tmp/warder-sessions-XXXXXX";

/* An ordinary user's sessions lie below his runtime directory. */
static inline void library_begin_sessions(void)
{
	if (geteuid() != 0)
		cr_assert(mkdtemp(library_place) && setenv("XDG_RUNTIME_DIR", library_place, 1) == 0);
}

static inline int library_remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static inline void library_end_sessions(void)
{
	if (geteuid() != 0)
		nftw(library_place, library_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* A test that is skipped ends at once, without its last function. */
#define library_skip(...)                                                                                    \
	do {                                                                                                 \
		library_end_sessions();                                                                      \
		cr_skip_test(__VA_ARGS__);                                                                   \
	} while (0)

/* The preset strict; a host need not enforce the limits that not every user has. */
static inline struct warder_policy *library_policy(void)
{
	static const char *const preferred[] = {
		"limits.memory", "limits.swap", "limits.pids", "limits.cpus", "limits.cpuTime",
	};
	struct warder_policy *policy = NULL;
	struct warder_error err;

	cr_assert(warder_policy_preset("strict", &policy, &err) == 0, "%s", err.text);
	for (size_t i = 0; i < ARRAY_LENGTH(preferred); i++)
		cr_assert(warder_policy_require(policy, preferred[i], 0, &err) == 0, "%s", err.text);
	return policy;
}

/* Skips the test if the host cannot enforce the policy. */
static inline struct warder_template *library_prepare(const struct warder_policy *policy)
{
	struct warder_template *tmpl = NULL;
	struct warder_error err;

	if (warder_prepare(policy, NULL, &tmpl, &err) != 0) {
		cr_assert(err.code == WARDER_ERROR_UNSUPPORTED_POLICY, "%s", err.text);
		library_skip("%s", err.text);
	}
	return tmpl;
}

/* How many descriptors this process has, and those of the look itself. */
static inline int library_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

/* The last number behind "name": in the counts of the pool; -1: none. */
static inline long library_pool_stat(struct warder_pool *pool, const char *name)
{
	char *text = warder_pool_stats(pool);
	char quoted[64];
	const char *at;
	long value;

	snprintf(quoted, sizeof(quoted), "\"%s\":", name);
	at = text ? strstr(text, quoted) : NULL;
	/* The states come first, and are counted apart. */
	for (const char *next = at; next; next = strstr(next + 1, quoted))
		at = next;
	value = at ? strtol(at + strlen(quoted), NULL, 10) : -1;
	free(text);
	return value;
}

/* The pool has rested for three seconds, in which its thread looks at the limits more than once: no jail was made or removed, and none is being
 * made or removed. */
static inline void library_await_rest(struct warder_pool *pool)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	long before = -1;

	for (int i = 0, calm = 0; i < 300 && calm < 30; i++) {
		const long now = library_pool_stat(pool, "parked") + library_pool_stat(pool, "removed");
		const bool works =
		    library_pool_stat(pool, "building") != 0 || library_pool_stat(pool, "cleaning") != 0;

		calm = now == before && !works ? calm + 1 : 0;
		before = now;
		nanosleep(&pause, NULL);
	}
}

/* Whether a child is the init of a jail: helpers come and go. */
static inline bool library_is_init(int pid)
{
	char path[40], name[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	if (file && !fgets(name, sizeof(name), file))
		*name = '\0';
	if (file)
		fclose(file);
	return strcmp(name, "warder-init\n") == 0;
}

/* One look at the inits among the children of all threads of this process; their number. */
static inline int library_look_at_inits(int *pids, int most)
{
	glob_t tasks;
	int count = 0;
	int pid;

	glob("/proc/self/task/*/children", 0, NULL, &tasks);
	for (size_t i = 0; i < tasks.gl_pathc; i++) {
		FILE *file = fopen(tasks.gl_pathv[i], "re");

		while (file && count < most && fscanf(file, "%d", &pid) == 1)
			if (library_is_init(pid))
				pids[count++] = pid;
		if (file)
			fclose(file);
	}
	globfree(&tasks);
	return count;
}

/* The inits among the children; their number. While a child dies, the kernel's list may leave out another one: so two looks must agree. */
static inline int library_inits(int *pids, int most)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int before[64], now[64];
	int count = library_look_at_inits(now, 64), count_before;

	do {
		count_before = count;
		memcpy(before, now, sizeof(before));
		nanosleep(&pause, NULL);
		count = library_look_at_inits(now, 64);
	} while (count != count_before || memcmp(before, now, (size_t)count * sizeof(*now)) != 0);
	count = count < most ? count : most;
	memcpy(pids, now, (size_t)count * sizeof(*now));
	return count;
}

/* The init of the only jail that there is. While another one dies, the kernel's list may leave out either of them: two looks. */
static inline int library_only_init(void)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int pids[8], before = 0;

	for (int i = 0; i < 500; i++) {
		const bool is_one = library_inits(pids, 8) == 1;

		if (is_one && pids[0] == before)
			return before;
		before = is_one ? pids[0] : 0;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* The cgroups of this process's jails, or, with a file such as "/pids.max", these files of them. Their number; the caller frees *ret with
 * globfree(). */
static inline size_t library_cgroups(const char *file, glob_t *ret)
{
	char pattern[80];

	*ret = (glob_t){ 0 };
	snprintf(pattern, sizeof(pattern), "/sys/fs/cgroup{/*/*,/*,}/warder-%d-*%s", getpid(), file);
	return glob(pattern, GLOB_BRACE, NULL, ret) == 0 ? ret->gl_pathc : 0;
}

static inline size_t library_count_cgroups(const char *file)
{
	glob_t found;
	const size_t count = library_cgroups(file, &found);

	globfree(&found);
	return count;
}

/* The tool keeps a session: it lies where this program was built, or, where that is a sanitizer's, beside it. NULL: there is none. */
static inline const char *library_tool(char *path, size_t size)
{
	static const char *const places[] = { "warder", "../gcc/warder", "../warder" };
	char own[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *end;

	own[len < 0 ? 0 : len] = '\0';
	end = strstr(own, "/tests/");
	for (size_t i = 0; end && i < ARRAY_LENGTH(places); i++) {
		snprintf(path, size, "%.*s/%s", (int)(end - own), own, places[i]);
		if (access(path, X_OK) == 0)
			return path;
	}
	return NULL;
}

/* A session with the policy of library_policy(), and with terminals. */
struct library_session {
	struct warder_policy *policy;
	char name[40];
	struct warder_session *session;
};

/* Skips the test if the host cannot have one. `kind` is a part of its name. */
static inline void library_session_begin(struct library_session *ret, const char *kind)
{
	char tool[PATH_MAX];
	struct warder_session_options options = { .size = sizeof(options),
						  .program = library_tool(tool, sizeof(tool)) };
	struct warder_error err;

	*ret = (struct library_session){ 0 };
	if (!options.program)
		library_skip("there is no command line tool beside this program");
	ret->policy = library_policy();
	cr_assert_eq(warder_policy_set(ret->policy, "devices.terminals", "2", &err), 0, "%s", err.text);
	warder_template_free(library_prepare(ret->policy));
	options.policy = ret->policy;
	snprintf(ret->name, sizeof(ret->name), "%s-%d", kind, (int)getpid());
	cr_assert_eq(warder_session_start(ret->name, &options, &ret->session, &err), 0, "%s", err.text);
}

static inline void library_session_end(struct library_session *session)
{
	struct warder_error ignored;

	warder_session_stop(session->name, &ignored);
	warder_session_free(session->session);
	warder_policy_free(session->policy);
}

#endif
