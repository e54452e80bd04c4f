/*
 * Pools in a process with few descriptors: the pool parks fewer jails, and no launch fails because of parked jails.
 * At most 64 jails at once: those of an ordinary user take fewer descriptors than those of root.
 */
#include "tests/lib/library.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>

#include "base/array.h"

#define LIMIT    1024
#define TOGETHER 6
#define LEASES   16 /* of user ids, that a template keeps */

static struct warder_error err;
static struct warder_policy *policy;
static struct warder_pool *pool;
static struct warder_pool_key key;
static int descriptors_before;

static void begin_pool(struct warder_pool_options options)
{
	struct rlimit limit;

	cr_assert(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max >= LIMIT);
	limit.rlim_cur = LIMIT;
	cr_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	descriptors_before = library_descriptors();
	policy = library_policy();
	cr_assert(warder_policy_set(policy, "limits.openFiles", "100", &err) == 0, "%s", err.text);
	key = (struct warder_pool_key){ .size = sizeof(key), .policy = policy };
	options.size = sizeof(options);
	cr_assert(warder_pool_new(&options, &pool, &err) == 0, "%s", err.text);
}

static void begin(enum warder_pool_empty empty)
{
	begin_pool((struct warder_pool_options){ .empty = empty, .wait_us = 300000 });
}

static void end(void)
{
	cr_expect(warder_pool_drain(pool, &err) == 0, "%s", err.text);
	warder_pool_free(pool);
	cr_expect_eq(library_descriptors(), descriptors_before, "%d descriptors, before %d",
		     library_descriptors(), descriptors_before);
	warder_policy_free(policy);
}

/* The jail must have the limit of its policy, whatever this process has. */
static void launch(const char *tenant)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"ulimit -n", NULL };
	const struct warder_command command = { .size = sizeof(command), .argv = argv };
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;

	key.tenant = tenant;
	cr_expect(warder_pool_launch(pool, &key, &command, &run, &err) == 0, "%s: %s: %s", tenant, err.step,
		  err.text);
	if (run && warder_wait(run, &result, &err) == 0)
		cr_expect_str_eq(warder_result_output(result, WARDER_STDOUT, NULL, NULL), "100\n");
	cr_expect(result, "%s: %s", tenant, err.text);
	warder_result_free(result);
	warder_run_free(run);
}

/* Park so many jails for each tenant until there is no room. The number of tenants that have all of them. */
static int fill(const char *const *tenants, int count, unsigned int jails)
{
	for (int i = 0; i < count; i++) {
		key.tenant = tenants[i];
		if (warder_pool_fill(pool, &key, jails, &err) == 0)
			continue;
		if (err.code == WARDER_ERROR_UNSUPPORTED_POLICY)
			cr_skip_test("%s", err.text);
		return i;
	}
	return count;
}

Test(pool_descriptors, parked_jails_leave_half_of_them, .timeout = 120)
{
	static const char *const tenants[] = { "a", "b", "c", "d", "e", "f", "g", "h",
					       "i", "j", "k", "l", "m", "n", "o", "p" };
	int filled, calm = 0, parked = 0, before = -1;

	begin(WARDER_POOL_LAUNCH);
	filled = fill(tenants, 16, 4);
	cr_expect(filled >= 3 && filled < 16, "%d tenants", filled);
	cr_expect(err.code == WARDER_ERROR_UNAVAILABLE && strstr(err.text, "limit of 1024") &&
		      strstr(err.text, "ulimit -n"),
		  "%s", err.text);
	/* The template of a key that has no jail takes some, too. */
	cr_expect(library_descriptors() <= LIMIT / 2 + 32, "%d", library_descriptors());
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 16; i++)
			launch(tenants[i]);
	/* The last jails go when a thread of the pool has removed them. Then it rests, although some keys have no jail: they do not take those of keys
	 * that were used later. */
	for (int i = 0; i < 300 && calm < 20; i++) {
		usleep(100000);
		parked = library_pool_stat(pool, "parked");
		calm = parked == before ? calm + 1 : 0;
		before = parked;
	}
	cr_expect(calm == 20, "%d jails were parked so far", parked);
	cr_expect(library_descriptors() <= LIMIT * 3 / 4, "%d", library_descriptors());
	end();
}

/* The rest of the process takes the descriptors later: parked jails give way. */
Test(pool_descriptors, a_launch_takes_those_of_parked_jails, .timeout = 120)
{
	static const char *const tenants[] = { "a", "b" };
	int taken[LIMIT], count = 0;

	begin(WARDER_POOL_LAUNCH);
	cr_assert_eq(fill(tenants, 2, 4), 2, "%s", err.text);
	while (count < LIMIT && (taken[count] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
		count++;
	for (int i = 0; i < 4; i++)
		close(taken[--count]);
	launch("c");
	cr_expect(library_pool_stat(pool, "evicted") >= 3);
	launch("a");
	while (count > 0)
		close(taken[--count]);
	end();
}

/* So does a fill, for the first jail of a key. It waits while jails are removed, and tries again. */
Test(pool_descriptors, a_fill_takes_those_of_parked_jails, .timeout = 120)
{
	static const char *const tenants[] = { "a", "b" };
	int taken[LIMIT], count = 0;

	begin(WARDER_POOL_LAUNCH);
	cr_assert_eq(fill(tenants, 1, 4), 1, "%s", err.text);
	cr_assert_eq(fill(tenants + 1, 1, 0), 1, "%s", err.text); /* its template needs some, too */
	while (count < LIMIT && (taken[count] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
		count++;
	for (int i = 0; i < 8; i++)
		close(taken[--count]);
	cr_expect_eq(fill(tenants + 1, 1, 1), 1, "%s", err.text);
	cr_expect(library_pool_stat(pool, "evicted") > 0);
	while (count > 0)
		close(taken[--count]);
	end();
}

/* A launch that waits for a jail, although none can be parked, ends with the reason, which a thread of the pool finds meanwhile. */
Test(pool_descriptors, waiting_for_a_jail_ends, .timeout = 60)
{
	char *argv[] = { (char *)"true", NULL };
	const struct warder_command command = { .size = sizeof(command), .argv = argv };
	struct timespec before, after;
	struct warder_run *run = NULL;
	struct rlimit limit;
	int64_t ms;

	begin_pool((struct warder_pool_options){ .empty = WARDER_POOL_WAIT, .wait_us = 3000000 });
	cr_assert(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = (rlim_t)library_descriptors() + 32;
	cr_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	cr_expect_eq(warder_pool_launch(pool, &key, &command, &run, &err), -1);
	clock_gettime(CLOCK_MONOTONIC, &after);
	if (err.code == WARDER_ERROR_UNSUPPORTED_POLICY)
		cr_skip_test("%s", err.text);
	cr_expect(err.code == WARDER_ERROR_UNAVAILABLE && strstr(err.text, "open descriptors"), "%s",
		  err.text);
	ms = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
	cr_expect(ms >= 2990, "%d ms", (int)ms);
	end();
}

/* So does a fill, at once. */
Test(pool_descriptors, a_fill_without_room_ends, .timeout = 60)
{
	struct timespec before, after;
	struct rlimit limit;

	begin(WARDER_POOL_FAIL);
	cr_assert(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = (rlim_t)library_descriptors() + 32;
	cr_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	cr_expect_eq(warder_pool_fill(pool, &key, 1, &err), -1);
	clock_gettime(CLOCK_MONOTONIC, &after);
	if (err.code == WARDER_ERROR_UNSUPPORTED_POLICY)
		cr_skip_test("%s", err.text);
	cr_expect(strstr(err.text, "open descriptors"), "%s", err.text);
	cr_expect(after.tv_sec - before.tv_sec < 10);
	end();
}

/* Park a jail and let it run a program, so often, before the first is removed: then all leave parts. */
static void run_together(const char *tenant)
{
	char *argv[] = { (char *)"true", NULL };
	const struct warder_command command = { .size = sizeof(command), .argv = argv };
	struct warder_result *result;
	struct warder_run *runs[TOGETHER];

	key.tenant = tenant;
	for (int i = 0; i < TOGETHER; i++) {
		cr_assert(warder_pool_fill(pool, &key, 1, &err) == 0, "%s", err.text);
		cr_assert(warder_pool_launch(pool, &key, &command, &runs[i], &err) == 0, "%s", err.text);
	}
	for (int i = 0; i < TOGETHER; i++) {
		cr_expect(warder_wait(runs[i], &result, &err) == 0, "%s", err.text);
		warder_result_free(result);
		warder_run_free(runs[i]);
	}
}

/* Parts of ended jails leave room for jails: all of them together have an eighth of the limit. */
Test(pool_descriptors, parts_of_ended_jails_are_bounded, .timeout = 120)
{
	static const char *const tenants[] = { "a", "b" };
	const int count = (int)ARRAY_LENGTH(tenants);
	int most;

	begin_pool((struct warder_pool_options){ .empty = WARDER_POOL_WAIT, .jails_a_key = 1, .parts = 1 });
	cr_assert_eq(fill(tenants, count, 1), count, "%s", err.text);
	most = library_descriptors();
	for (int i = 0; i < count; i++)
		run_together(tenants[i]);
	for (int i = 0; i < 300 && library_pool_stat(pool, "removed") < count * TOGETHER; i++)
		usleep(100000);
	cr_expect_eq(library_pool_stat(pool, "removed"), count * TOGETHER);
	cr_expect(library_descriptors() <= most + LIMIT / 8 + count * LEASES, "%d, and %d without",
		  library_descriptors(), most);
	/* There are some. Which kind and which tenant got the room, depends on which jail was removed first. */
	for (int i = 0; i < count; i++)
		launch(tenants[i]);
	cr_expect_eq(fill(tenants, count, 1), count, "%s", err.text);
	cr_expect(geteuid() != 0 ||
		  library_pool_stat(pool, "partsReused") + library_pool_stat(pool, "cgroupsReused") > 0);
	end();
}
