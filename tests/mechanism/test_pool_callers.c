/*
 * Pools with several callers at once: launches, fills and drains in threads; and pools without room. At most nine jails at once.
 */
#include "base/array.h"
#include "base/clock.h"
#include "tests/lib/library.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct warder_error err;
static struct warder_policy *policy;
static struct warder_pool *pool;

/* The number of open descriptors before. */
static int begin(struct warder_pool_options options)
{
	const int fds = library_descriptors();

	policy = library_policy();
	warder_template_free(library_prepare(policy)); /* skips where no jail can be made */
	options.size = sizeof(options);
	cr_assert(warder_pool_new(&options, &pool, &err) == 0, "%s", err.text);
	return fds;
}

static void end(int fds_before)
{
	cr_expect(warder_pool_drain(pool, &err) == 0, "%s", err.text);
	warder_pool_free(pool);
	cr_expect(library_descriptors() == fds_before, "%d descriptors, before %d", library_descriptors(),
		  fds_before);
	warder_policy_free(policy);
}

static struct warder_pool_key key_of(const char *tenant)
{
	return (struct warder_pool_key){ .size = sizeof(struct warder_pool_key),
					 .policy = policy,
					 .tenant = tenant };
}

/* ---- a fill in a thread ---- */

struct fill {
	pthread_t thread;
	char tenant[16];
	char *const *program;
	unsigned int count;
	atomic_bool has_begun, has_ended;
	uint64_t begin_us, end_us;
	int filled;
	struct warder_error err;
};

static void *fill(void *arg)
{
	struct fill *f = arg;
	struct warder_pool_key key = key_of(f->tenant);

	key.program = f->program;
	f->begin_us = clock_us();
	atomic_store(&f->has_begun, true);
	f->filled = warder_pool_fill(pool, &key, f->count, &f->err);
	f->end_us = clock_us();
	atomic_store(&f->has_ended, true);
	return NULL;
}

static void begin_fill(struct fill *f)
{
	cr_assert(pthread_create(&f->thread, NULL, fill, f) == 0);
	while (!atomic_load(&f->has_begun))
		usleep(100);
}

/* ---- drains ---- */

/* A fill that has begun before a drain ends before it: either its jail was ready, or it fails. On a busy machine, a thread may sleep between its
 * look at the clock and the fill; so two rounds of ten may differ. */
Test(pool_callers, a_drain_waits_for_callers_that_prepare, .timeout = 120)
{
	const int fds = begin((struct warder_pool_options){ 0 });
	int later = 0;

	for (int round = 0; round < 10; round++) {
		struct fill f = { .count = 1 };
		uint64_t drain_us, drained_us;

		snprintf(f.tenant, sizeof(f.tenant), "%d", round);
		begin_fill(&f);
		usleep(2000);
		drain_us = clock_us();
		cr_expect(warder_pool_drain(pool, &err) == 0, "%s", err.text);
		drained_us = clock_us();
		pthread_join(f.thread, NULL);
		if (f.filled != 0 && f.err.code == WARDER_ERROR_UNSUPPORTED_POLICY)
			cr_skip_test("%s", f.err.text);
		cr_expect(f.filled == 0 || f.err.code == WARDER_ERROR_CONFLICT, "%s", f.err.text);
		if (f.begin_us + 1000 < drain_us && f.filled == 0 && f.end_us > drained_us)
			later++;
	}
	cr_expect(later <= 2, "%d fills went on after the drain", later);
	end(fds);
}

struct launches {
	pthread_t thread;
	const char *tenant;
	atomic_bool *is_over;
	atomic_uint launched;
	unsigned int refused;
	struct warder_error other;
};

static void *launch_all_the_time(void *arg)
{
	struct launches *l = arg;
	const struct warder_pool_key key = key_of(l->tenant ? l->tenant : "");
	char *argv[] = { (char *)"true", NULL };
	const struct warder_command command = { .size = sizeof(command), .argv = argv };

	while (!atomic_load(l->is_over)) {
		struct warder_result *result = NULL;
		struct warder_run *run = NULL;
		struct warder_error why = { 0 };

		if (warder_pool_launch(pool, &key, &command, &run, &why) == 0 &&
		    warder_wait(run, &result, &why) == 0)
			l->launched++;
		else if (why.code == WARDER_ERROR_CONFLICT)
			l->refused++;
		else
			l->other = why;
		warder_result_free(result);
		warder_run_free(run);
		if (why.code)
			usleep(1000);
	}
	return NULL;
}

Test(pool_callers, a_drain_ends_while_others_launch, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .jails_a_key = 2 });
	struct launches all[3] = { 0 };
	atomic_bool is_over = false;
	unsigned int launched = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
		all[i].is_over = &is_over;
		cr_assert(pthread_create(&all[i].thread, NULL, launch_all_the_time, &all[i]) == 0);
	}
	for (int i = 0; i < 5; i++) {
		usleep(100000);
		/* Not freed runs may be told. */
		cr_expect(warder_pool_drain(pool, &err) == 0 || err.code == WARDER_ERROR_CONFLICT, "%s",
			  err.text);
	}
	usleep(100000);
	atomic_store(&is_over, true);
	for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
		pthread_join(all[i].thread, NULL);
		cr_expect(all[i].other.code == WARDER_ERROR_NONE, "%s", all[i].other.text);
		launched += all[i].launched;
	}
	cr_expect(launched > 0);
	end(fds);
}

struct drain {
	pthread_t thread;
	pthread_barrier_t *start;
	int drained, fds_after;
	struct warder_error err;
};

/* A look at the descriptors has one itself. */
static pthread_mutex_t look = PTHREAD_MUTEX_INITIALIZER;

static void *drain(void *arg)
{
	struct drain *d = arg;

	pthread_barrier_wait(d->start);
	d->drained = warder_pool_drain(pool, &d->err);
	pthread_mutex_lock(&look);
	d->fds_after = library_descriptors();
	pthread_mutex_unlock(&look);
	return NULL;
}

/* Neither returns before the other one has ended what it took. The end of a zygote takes the longest. */
Test(pool_callers, two_drains_at_once_both_wait_for_the_end, .timeout = 120)
{
	const int fds = begin((struct warder_pool_options){ .fork_server = 1, .jails_a_key = 1 });

	for (int round = 0; round < 6; round++) {
		struct warder_pool_key plain = key_of("plain"), python = key_of("python");
		struct drain all[2] = { 0 };
		pthread_barrier_t start;
		int fds_now;

		python.interpreter = "python";
		cr_assert(warder_pool_fill(pool, &plain, 1, &err) == 0, "%s", err.text);
		if (warder_pool_fill(pool, &python, 1, &err) != 0)
			cr_skip_test("%s", err.text);
		pthread_barrier_init(&start, NULL, ARRAY_LENGTH(all));
		for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
			all[i].start = &start;
			cr_assert(pthread_create(&all[i].thread, NULL, drain, &all[i]) == 0);
		}
		for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
			pthread_join(all[i].thread, NULL);
		pthread_barrier_destroy(&start);
		fds_now = library_descriptors();
		for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
			cr_expect(all[i].drained == 0, "%s", all[i].err.text);
			cr_expect_eq(all[i].fds_after, fds_now, "%d: %d descriptors, at last %d", round,
				     all[i].fds_after, fds_now);
		}
		cr_expect_eq(library_pool_stat(pool, "keys"), 0);
	}
	end(fds);
}

/* ---- keys ---- */

Test(pool_callers, a_key_in_use_keeps_its_place, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .keys = 1 });
	const struct warder_pool_key second = key_of("second"), third = key_of("third");
	struct fill first = { .tenant = "first", .count = 4 };

	begin_fill(&first);
	while (library_pool_stat(pool, "keys") == 0)
		usleep(500);
	if (warder_pool_fill(pool, &second, 1, &err) != 0) {
		pthread_join(first.thread, NULL);
		cr_skip_test("%s", err.text);
	}
	pthread_join(first.thread, NULL);
	cr_expect(first.filled == 0, "%s", first.err.text);
	/* A further one takes the place of all that nobody uses. */
	cr_expect(warder_pool_fill(pool, &third, 1, &err) == 0, "%s", err.text);
	cr_expect_eq(library_pool_stat(pool, "keys"), 1);
	end(fds);
}

/* ---- room ---- */

/* Refused at once where it is known from the start, and otherwise when an interpreter has shown what it takes. */
Test(pool_callers, a_fill_without_room_says_why, .timeout = 120)
{
	struct warder_pool_options options = { .memory_bytes = 1 << 20 };
	const int fds = begin(options);
	struct warder_pool_key key = key_of("");

	cr_expect(warder_pool_fill(pool, &key, 3, &err) != 0);
	cr_expect(err.code == WARDER_ERROR_UNAVAILABLE && strstr(err.text, "memory_bytes"), "%s", err.text);
	cr_expect_eq(library_pool_stat(pool, "parked"), 0);
	end(fds);
	options.memory_bytes = 12 << 20;
	begin(options);
	key = key_of("");
	key.interpreter = "python";
	if (warder_pool_fill(pool, &key, 4, &err) == 0 || err.code == WARDER_ERROR_NOT_FOUND ||
	    err.code == WARDER_ERROR_UNSUPPORTED_POLICY)
		cr_skip_test("%s", err.code ? err.text : "Python takes less than 3 MiB here");
	cr_expect(strstr(err.text, "memory_bytes"), "%s", err.text);
	cr_expect(library_pool_stat(pool, "parked") > 0);
	end(fds);
}

/* Each is counted, also that of a program which gets its code. On a busy machine, a thread of the pool may have parked a jail before the launch has
 * looked for one: then another pool is tried. */
Test(pool_callers, a_launch_without_a_parked_jail_is_counted, .timeout = 60)
{
	char *program[] = { (char *)"sh", (char *)"-c", (char *)"echo >&3; code=$(cat <&4); eval \"$code\"",
			    NULL };
	const struct warder_command command = { .size = sizeof(command) };
	long launched = 0;

	for (int i = 0; i < 20 && launched == 0; i++) {
		const int fds = begin((struct warder_pool_options){ .jails_a_key = 1 });
		struct warder_pool_key key = key_of("");
		struct warder_result *result = NULL;
		struct warder_run *run = NULL;

		key.program = program;
		if (warder_pool_code(pool, &key, "echo 1", 6, &command, &run, &err) != 0)
			cr_skip_test("%s", err.text);
		launched = library_pool_stat(pool, "launched");
		cr_expect_eq(library_pool_stat(pool, "handedOut"), 1);
		cr_expect(warder_wait(run, &result, &err) == 0, "%s", err.text);
		cr_expect_str_eq(warder_result_output(result, WARDER_STDOUT, NULL, NULL), "1\n");
		warder_result_free(result);
		warder_run_free(run);
		end(fds);
	}
	cr_expect_eq(launched, 1, "%ld", launched);
}

/* ---- what is left ---- */

/* Give each cgroup of this process's jails a child, which the pool did not make; or remove these. Their number. */
static int children_of_cgroups(bool make)
{
	char path[300];
	glob_t found;
	int count = 0;

	library_cgroups("", &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		snprintf(path, sizeof(path), "%s/stranger", found.gl_pathv[i]);
		count += (make ? mkdir(path, 0755) : rmdir(path)) == 0;
		if (!make)
			rmdir(found.gl_pathv[i]);
	}
	globfree(&found);
	return count;
}

/* Its program ends before it is ready, so that its jail is removed at once. */
Test(pool_callers, a_drain_tells_what_a_failed_jail_has_left, .timeout = 60)
{
	char *program[] = { (char *)"sh", (char *)"-c", (char *)"sleep 1; exit 3", NULL };
	const int fds = begin((struct warder_pool_options){ 0 });
	struct fill f = { .count = 1, .program = program };
	int made = 0;

	begin_fill(&f);
	while (made == 0 && !atomic_load(&f.has_ended)) {
		usleep(1000);
		made = children_of_cgroups(true);
	}
	pthread_join(f.thread, NULL);
	cr_expect(f.filled != 0);
	if (made == 0)
		cr_skip_test("a jail's cgroup takes no child: there is none, or it is one of version 2");
	cr_expect(warder_pool_drain(pool, &err) != 0 && strstr(err.text, "cgroup"), "%s", err.text);
	cr_expect(children_of_cgroups(false) == made);
	end(fds);
}

/* ---- room for one jail ---- */

/* All have launched so often; at most for a minute. */
static void await_launches(const struct launches *all, size_t count, unsigned int often)
{
	for (int i = 0; i < 600; i++) {
		unsigned int have = 0;

		for (size_t j = 0; j < count; j++)
			have += atomic_load(&all[j].launched) >= often;
		if (have == count)
			return;
		usleep(100000);
	}
}

/* Callers of one key, who come without end, neither keep the only jail from those of another nor let its fills fail. */
static void share_one(enum warder_pool_empty empty)
{
	const int fds =
	    begin((struct warder_pool_options){ .jails = 1, .empty = empty, .wait_us = 20000000 });
	const struct warder_pool_key key = key_of("b");
	struct launches all[4] = { 0 };
	atomic_bool is_over = false;

	if (warder_pool_fill(pool, &key, 1, &err) != 0 && err.code == WARDER_ERROR_UNSUPPORTED_POLICY)
		cr_skip_test("%s", err.text);
	/* The last one is of the other key. */
	for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
		all[i].is_over = &is_over;
		all[i].tenant = i == 3 ? "b" : "a";
		if (i < 3 || empty == WARDER_POOL_WAIT)
			cr_assert(pthread_create(&all[i].thread, NULL, launch_all_the_time, &all[i]) == 0);
	}
	for (int i = 0; i < 100 && empty == WARDER_POOL_LAUNCH; i++) {
		cr_expect(warder_pool_fill(pool, &key, 1, &err) == 0, "%s", err.text);
		usleep(10000);
	}
	if (empty == WARDER_POOL_WAIT)
		await_launches(all, ARRAY_LENGTH(all), 20);
	atomic_store(&is_over, true);
	for (size_t i = 0; i < (empty == WARDER_POOL_WAIT ? 4u : 3u); i++) {
		pthread_join(all[i].thread, NULL);
		cr_expect(all[i].other.code == WARDER_ERROR_NONE, "%s", all[i].other.text);
		cr_expect(all[i].launched > 0);
	}
	end(fds);
}

Test(pool_callers, waiting_launches_get_the_only_jail_in_turn, .timeout = 120)
{
	share_one(WARDER_POOL_WAIT);
}

Test(pool_callers, a_fill_gets_room_beside_launches_of_another_key, .timeout = 120)
{
	share_one(WARDER_POOL_LAUNCH);
}

/* Two fills that together have no room do not wait for one another. */
Test(pool_callers, fills_without_room_for_both_end_at_once, .timeout = 120)
{
	const int fds = begin((struct warder_pool_options){ .jails = 2 });
	struct fill fills[2] = { { .count = 2, .tenant = "a" }, { .count = 2, .tenant = "b" } };

	for (int round = 0; round < 5; round++) {
		const uint64_t began_us = clock_us();

		for (size_t i = 0; i < 2; i++)
			cr_assert(pthread_create(&fills[i].thread, NULL, fill, &fills[i]) == 0);
		for (size_t i = 0; i < 2; i++) {
			pthread_join(fills[i].thread, NULL);
			if (fills[i].err.code == WARDER_ERROR_UNSUPPORTED_POLICY)
				cr_skip_test("%s", fills[i].err.text);
			cr_expect(fills[i].filled == 0 || strstr(fills[i].err.text, "at most 2 (jails)"),
				  "%s", fills[i].err.text);
		}
		cr_expect(clock_us() - began_us < 25000000, "they waited for 30 s");
	}
	end(fds);
}

/* ---- keys whose jails fail, and large ones ---- */

/* Run a piece of shell code in the key's program. Whether it wrote what it should. */
static bool runs(const struct warder_pool_key *key)
{
	const struct warder_command command = { .size = sizeof(command) };
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	bool ran;

	if (warder_pool_code(pool, key, "echo ran", 8, &command, &run, &err) == 0)
		cr_expect(warder_wait(run, &result, &err) == 0, "%s", err.text);
	ran = result && strcmp(warder_result_output(result, WARDER_STDOUT, NULL, NULL), "ran\n") == 0;
	warder_result_free(result);
	warder_run_free(run);
	return ran;
}

/* Callers wait for a key whose jails cannot be made. A jail of the other key goes only when its own can be made. */
Test(pool_callers, a_key_takes_jails_when_its_own_can_be_made, .timeout = 120)
{
	const int fds = begin((struct warder_pool_options){
	    .jails = 2, .jails_a_key = 2, .empty = WARDER_POOL_WAIT, .wait_us = 5000000 });
	char dir[] = "/var/tmp/warder-pool.XXXXXX", mended[64], script[160];
	char *program[] = { (char *)"sh", (char *)"-c", script, NULL };
	struct warder_pool_key good, bad;

	cr_assert(mkdtemp(dir) != NULL && chmod(dir, 0755) == 0);
	snprintf(mended, sizeof(mended), "%s/mended", dir);
	snprintf(script, sizeof(script), "cd %s || exit 1; echo >&3; read -r code <&4; eval \"$code\"",
		 mended);
	cr_assert(warder_policy_set(policy, "filesystem.paths.readOnly", dir, &err) == 0, "%s", err.text);
	good = key_of("good");
	bad = key_of("bad");
	bad.program = program;
	if (warder_pool_fill(pool, &good, 2, &err) != 0) {
		rmdir(dir);
		cr_skip_test("%s", err.text);
	}
	cr_expect(!runs(&bad));
	cr_expect(strstr(err.text, "program"), "%s", err.text);
	cr_expect(warder_pool_fill(pool, &bad, 1, &err) != 0);
	cr_expect_eq(library_pool_stat(pool, "evicted"), 0, "%ld", library_pool_stat(pool, "evicted"));
	cr_expect_eq(library_pool_stat(pool, "ready"), 2);
	cr_assert(mkdir(mended, 0755) == 0);
	cr_expect(warder_pool_fill(pool, &bad, 1, &err) == 0, "%s", err.text); /* it waits longer */
	cr_expect(runs(&bad), "%s", err.text);
	cr_expect_eq(library_pool_stat(pool, "evicted"), 1);
	cr_expect(warder_pool_fill(pool, &bad, 1, &err) == 0, "%s", err.text);
	end(fds);
	rmdir(mended);
	rmdir(dir);
}

/* A program that has so much memory of its own; nothing forks afterwards, which would share it. */
#define LARGE(kib)                                                                                           \
	(char *)"sh", (char *)"-c",                                                                          \
	    (char *)"x=$(head -c " #kib                                                                      \
		    "k /dev/zero | tr '\\0' x); echo >&3; read -r code <&4; eval \"$code\""

struct sizes {
	struct warder_pool_key a, b, large;
};

/* Two keys have four small jails each; together with a large one, these would take more than the pool may. */
static int begin_small(struct sizes *ret, char *const *program)
{
	const int fds = begin((struct warder_pool_options){ .memory_bytes = 11 << 20, .fork_server = 1 });

	*ret = (struct sizes){ .a = key_of("a"), .b = key_of("b"), .large = key_of("large") };
	ret->large.program = program;
	if (warder_pool_fill(pool, &ret->a, 4, &err) != 0)
		cr_skip_test("%s", err.text);
	cr_expect(warder_pool_fill(pool, &ret->b, 4, &err) == 0, "%s", err.text);
	cr_expect_eq(library_pool_stat(pool, "evicted"), 0);
	return fds;
}

/* As many of the small jails go as it takes, and no more: no key loses its last one, which it would take back. */
Test(pool_callers, small_jails_make_room_for_a_large_one, .timeout = 120)
{
	char *program[] = { LARGE(8500), NULL };
	struct sizes keys;
	const int fds = begin_small(&keys, program);
	long evicted;

	cr_expect(warder_pool_fill(pool, &keys.large, 1, &err) == 0, "%s", err.text);
	library_await_rest(pool);
	evicted = library_pool_stat(pool, "evicted");
	cr_expect(evicted >= 2 && evicted <= 6, "%ld", evicted);
	cr_expect_eq(library_pool_stat(pool, "ready"), 9 - evicted);
	cr_expect_eq(library_pool_stat(pool, "parked"), 9);
	cr_expect(runs(&keys.large), "%s", err.text);
	cr_expect(warder_pool_fill(pool, &keys.large, 1, &err) == 0, "%s", err.text);
	end(fds);
}

/* Where it has no room even alone, it goes, and they stay. A launch makes one all the same. */
Test(pool_callers, a_jail_that_is_too_large_does_not_stay, .timeout = 120)
{
	char *program[] = { LARGE(16384), NULL };
	struct sizes keys;
	const int fds = begin_small(&keys, program);

	warder_pool_fill(pool, &keys.large, 1, &err); /* what it takes is known later */
	library_await_rest(pool);
	cr_expect_eq(library_pool_stat(pool, "ready"), 8);
	cr_expect_eq(library_pool_stat(pool, "evicted"), 1, "%ld", library_pool_stat(pool, "evicted"));
	cr_expect(runs(&keys.large), "%s", err.text);
	library_await_rest(pool);
	cr_expect_eq(library_pool_stat(pool, "ready"), 8);
	end(fds);
}

/* Nor does a zygote that is too large, and the small jails stay. Then Python is not forked. */
Test(pool_callers, a_zygote_that_is_too_large_does_not_stay, .timeout = 120)
{
	static const char *const imports[] = {
		"asyncio", "email", "http.client", "sqlite3", "unittest", NULL
	};
	struct warder_pool_key python;
	struct sizes keys;
	const int fds = begin_small(&keys, NULL);
	char *stats;

	python = key_of("python");
	python.interpreter = "python";
	python.imports = imports;
	if (warder_pool_fill(pool, &python, 1, &err) != 0 && err.code == WARDER_ERROR_NOT_FOUND)
		cr_skip_test("%s", err.text);
	library_await_rest(pool);
	stats = warder_pool_stats(pool);
	cr_assert(library_pool_stat(pool, "zygotes") > 0, "%s", stats);
	cr_expect(strstr(stats, "the zygotes of all keys would take"), "%s", stats);
	cr_expect_eq(library_pool_stat(pool, "ready"), 8, "%s", stats);
	cr_expect(warder_pool_fill(pool, &keys.a, 4, &err) == 0, "%s", err.text);
	free(stats);
	end(fds);
}

/* Nor do zygotes that have no room together, although each alone has. A zygote that is there already stays. */
Test(pool_callers, zygotes_leave_room_for_jails, .timeout = 120)
{
	static const char *const imports[] = { "asyncio", "email", NULL };
	static const char *const tenants[] = { "a", "b", "c" };
	const int fds = begin(
	    (struct warder_pool_options){ .memory_bytes = 24 << 20, .fork_server = 1, .jails_a_key = 1 });
	struct warder_pool_key plain = key_of("plain"), python;
	char *stats;

	for (size_t i = 0; i < ARRAY_LENGTH(tenants); i++) {
		python = key_of(tenants[i]);
		python.interpreter = "python";
		python.imports = imports;
		if (warder_pool_fill(pool, &python, 1, &err) != 0 && err.code == WARDER_ERROR_NOT_FOUND)
			cr_skip_test("%s", err.text);
	}
	library_await_rest(pool);
	stats = warder_pool_stats(pool);
	cr_assert(library_pool_stat(pool, "zygotes") > 0, "%s", stats);
	if (library_pool_stat(pool, "forked") == 0)
		cr_skip_test("%s", stats);
	cr_expect(strstr(stats, "the zygotes of all keys would take"), "%s", stats);
	cr_expect(library_pool_stat(pool, "ready") > 0, "%s", stats);
	cr_expect(warder_pool_fill(pool, &plain, 1, &err) == 0, "%s", err.text);
	free(stats);
	end(fds);
}

static void write_start(const char *dir, const char *text)
{
	char path[80];
	FILE *file;

	snprintf(path, sizeof(path), "%s/start", dir);
	cr_assert(mkdir(dir, 0755) == 0 && chmod(dir, 0755) == 0);
	file = fopen(path, "we");
	cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
	cr_assert(chmod(path, 0644) == 0);
}

static void remove_start(const char *dir)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/start", dir);
	unlink(path);
	rmdir(dir);
}

/* A launch that waits in vain for a jail that is too large fails with that reason. With other files, a jail of the key may be smaller. */
Test(pool_callers, waiting_for_a_jail_that_is_too_large_ends_with_the_reason, .timeout = 120)
{
	const int fds = begin((struct warder_pool_options){
	    .memory_bytes = 11 << 20, .empty = WARDER_POOL_WAIT, .wait_us = 5000000 });
	char dir[64], away[80], script[160];
	char *program[] = { (char *)"sh", (char *)"-c", script, NULL };
	struct warder_pool_key large;
	bool ran = false;

	snprintf(dir, sizeof(dir), "/var/tmp/warder-pool-large.%d", (int)getpid());
	snprintf(away, sizeof(away), "%s.away", dir);
	snprintf(script, sizeof(script), ". %s/start; echo >&3; read -r code <&4; eval \"$code\"", dir);
	write_start(dir, "x=$(head -c 16384k /dev/zero | tr '\\0' x)\n");
	cr_assert(warder_policy_set(policy, "filesystem.paths.readOnly", dir, &err) == 0, "%s", err.text);
	large = key_of("large");
	large.program = program;
	warder_pool_fill(pool, &large, 1, &err); /* what it takes is known later */
	library_await_rest(pool);
	if (library_pool_stat(pool, "parked") == 0) {
		remove_start(dir);
		cr_skip_test("%s", err.text);
	}
	cr_expect_eq(library_pool_stat(pool, "ready"), 0);
	cr_expect(!runs(&large));
	cr_expect(strstr(err.text, "memory_bytes"), "%s", err.text);
	cr_assert(rename(dir, away) == 0);
	write_start(dir, "x=\n");
	for (int i = 0; i < 6 && !ran; i++)
		ran = runs(&large);
	cr_expect(ran, "%s", err.text);
	end(fds);
	remove_start(dir);
	remove_start(away);
}
