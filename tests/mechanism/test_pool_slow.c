/*
 * Pools whose programs take their time, to get ready and to read their code, or whose files do not come to rest.
 */
#include "base/clock.h"
#include "tests/lib/library.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct warder_error err;
static struct warder_policy *policy;
static struct warder_pool *pool;
static struct warder_pool_key key;

/* It is ready when a directory is there. */
static char slow_script[120], slow_dir[40], slow_go[60];
static char *slow_program[] = { "sh", "-c", slow_script, NULL };

static void make_slow(void)
{
	snprintf(slow_dir, sizeof(slow_dir), "/var/tmp/warder-slow.XXXXXX");
	cr_assert(mkdtemp(slow_dir) && chmod(slow_dir, 0755) == 0);
	snprintf(slow_go, sizeof(slow_go), "%s/go", slow_dir);
	snprintf(slow_script, sizeof(slow_script),
		 "until [ -e %s ]; do sleep 0.05; done; echo >&3; code=$(cat <&4); eval \"$code\"", slow_go);
}

static void remove_slow(void)
{
	rmdir(slow_go);
	rmdir(slow_dir);
}

static int begin(struct warder_pool_options options, char **program)
{
	const int descriptors = library_descriptors();

	options.size = sizeof(options);
	policy = library_policy();
	if (program == slow_program) {
		make_slow();
		cr_assert(warder_policy_set(policy, "filesystem.paths.readOnly", slow_dir, &err) == 0, "%s",
			  err.text);
	}
	key = (struct warder_pool_key){ .size = sizeof(key), .policy = policy, .program = program };
	cr_assert(warder_pool_new(&options, &pool, &err) == 0, "%s", err.text);
	return descriptors;
}

static void end(int descriptors)
{
	cr_expect(warder_pool_drain(pool, &err) == 0, "%s", err.text);
	warder_pool_free(pool);
	warder_policy_free(policy);
	cr_expect_eq(library_descriptors(), descriptors, "%d, before %d", library_descriptors(), descriptors);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The first number behind "state": of the jails that are in it. */
static long in_state(const char *state)
{
	char *text = warder_pool_stats(pool);
	char quoted[32];
	const char *at;
	long count;

	snprintf(quoted, sizeof(quoted), "\"%s\":", state);
	at = text ? strstr(text, quoted) : NULL;
	count = at ? strtol(at + strlen(quoted), NULL, 10) : -1;
	free(text);
	return count;
}

struct filling {
	int filled;
	struct warder_error err;
};

static void *fill(void *context)
{
	struct filling *filling = context;

	filling->filled = warder_pool_fill(pool, &key, 1, &filling->err);
	return NULL;
}

/* The drain has taken the key. */
static void *let_slow_go(void *unused)
{
	while (library_pool_stat(pool, "keys") != 0)
		usleep(1000);
	usleep(100000);
	mkdir(slow_go, 0755);
	return unused;
}

/* A drain waits for the jail that is being made, and removes it. */
Test(pool_slow, a_drain_during_a_build, .timeout = 60)
{
	const int descriptors = begin((struct warder_pool_options){ 0 }, slow_program);
	struct filling filling = { 0 };
	pthread_t thread, drained;
	long built;

	warder_template_free(library_prepare(policy));
	cr_assert(pthread_create(&thread, NULL, fill, &filling) == 0);
	for (int i = 0; i < 1000 && in_state("building") == 0; i++)
		usleep(10000);
	cr_assert_eq(in_state("building"), 1);
	cr_assert(pthread_create(&drained, NULL, let_slow_go, NULL) == 0);
	cr_expect(warder_pool_drain(pool, &err) == 0, "%s", err.text);
	built = in_state("building") + in_state("ready") + in_state("cleaning");
	cr_expect_eq(built, 0, "%ld", built);
	cr_expect_eq(library_pool_stat(pool, "parked"), 1);
	cr_expect_eq(library_pool_stat(pool, "removed"), 1);
	cr_expect_eq(library_pool_stat(pool, "keys"), 0);
	pthread_join(drained, NULL);
	pthread_join(thread, NULL);
	cr_expect(filling.filled == -1 && filling.err.code == WARDER_ERROR_CONFLICT, "%s", filling.err.text);
	end(descriptors);
	remove_slow();
}

Test(pool_slow, waiting_for_a_jail_has_a_limit, .timeout = 60)
{
	const int descriptors =
	    begin((struct warder_pool_options){ .empty = WARDER_POOL_WAIT, .wait_us = 300000 }, slow_program);
	const struct warder_command command = { .size = sizeof(command) };
	struct warder_run *run = NULL;
	uint64_t before;

	warder_template_free(library_prepare(policy));
	before = now_ms();
	cr_expect_eq(warder_pool_code(pool, &key, "true", 4, &command, &run, &err), -1);
	cr_expect(err.code == WARDER_ERROR_UNAVAILABLE &&
		      strstr(err.text, "no parked jail was ready within 300000 us"),
		  "%s", err.text);
	cr_expect(now_ms() - before >= 300, "%d ms", (int)(now_ms() - before));
	/* The jail is made all the same, for the next one. */
	cr_assert(mkdir(slow_go, 0755) == 0);
	for (int i = 0; i < 3000 && in_state("ready") == 0; i++)
		usleep(10000);
	cr_expect_eq(warder_pool_code(pool, &key, "true", 4, &command, &run, &err), 0, "%s", err.text);
	warder_run_free(run);
	end(descriptors);
	remove_slow();
}

/* More than a pipe holds, for a program that begins to read it only after the launch has returned. */
Test(pool_slow, code_that_is_longer_than_a_pipe, .timeout = 60)
{
	static const char last[] = "\necho $0 ${#x}";
	const size_t len = 300000;
	const struct warder_command command = { .size = sizeof(command) };
	char dir[] = "/var/tmp/warder-slow.XXXXXX";
	char script[120], go[40];
	char *program[] = { (char *)"sh", (char *)"-c", script, NULL };
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	char *code = malloc(len);
	int descriptors;

	cr_assert(mkdtemp(dir) && chmod(dir, 0755) == 0);
	snprintf(go, sizeof(go), "%s/go", dir);
	snprintf(script, sizeof(script),
		 "echo >&3; until [ -e %s ]; do sleep 0.05; done; code=$(cat <&4); eval \"$code\"", go);
	descriptors = begin((struct warder_pool_options){ 0 }, program);
	cr_assert(warder_policy_set(policy, "filesystem.paths.readOnly", dir, &err) == 0, "%s", err.text);
	warder_template_free(library_prepare(policy));
	memset(code, 'a', len);
	memcpy(code, "x=", 2);
	memcpy(code + len - strlen(last), last, strlen(last));
	cr_assert_eq(warder_pool_code(pool, &key, code, len, &command, &run, &err), 0, "%s", err.text);
	cr_expect_eq(mkdir(go, 0755), 0);
	cr_expect_eq(warder_wait(run, &result, &err), 0, "%s", err.text);
	cr_expect_str_eq(warder_result_output(result, WARDER_STDOUT, NULL, NULL), "sh 299984\n", "%s",
			 warder_result_output(result, WARDER_STDERR, NULL, NULL));
	warder_result_free(result);
	warder_run_free(run);
	free(code);
	end(descriptors);
	rmdir(go);
	rmdir(dir);
}

/* 0 with its output in `said`; -1 with err. */
static int echo(char said[16])
{
	const struct warder_command command = { .size = sizeof(command) };
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	const int launched = warder_pool_code(pool, &key, "echo ran", 8, &command, &run, &err);

	if (launched == 0 && warder_wait(run, &result, &err) == 0)
		snprintf(said, 16, "%s", warder_result_output(result, WARDER_STDOUT, NULL, NULL));
	warder_result_free(result);
	warder_run_free(run);
	return launched;
}

/* A file that the program has loaded changes all the time, and surely before all others have been looked at. The launch ends, and the pool starts the program again only after a pause. */
Test(pool_slow, files_that_keep_changing, .timeout = 60)
{
	char dir[] = "/var/tmp/warder-slow.XXXXXX";
	char script[300], changes[40], said[16] = "";
	char *program[] = { (char *)"sh", (char *)"-c", script, NULL };
	int descriptors, launched = 0;
	uint64_t refused_us;
	long parked;

	cr_assert(mkdtemp(dir) && chmod(dir, 0755) == 0);
	snprintf(changes, sizeof(changes), "%s/changes", dir);
	cr_assert_eq(mkdir(changes, 0755), 0);
	snprintf(script, sizeof(script),
		 "echo > /tmp/f; (while [ -e %s ]; do echo >> /tmp/f; done) 3>&- 4<&- & "
		 "{ echo /tmp/f; find /usr/bin /usr/share -type f | head -1500; echo; } 2>&- >&3; "
		 "code=$(cat <&4); eval \"$code\"",
		 changes);
	descriptors = begin((struct warder_pool_options){ .jails_a_key = 1 }, program);
	cr_assert(warder_policy_set(policy, "filesystem.paths.readOnly", dir, &err) == 0, "%s", err.text);
	warder_template_free(library_prepare(policy));
	/* On a busy machine, the file may stay the same for long enough. */
	for (int i = 0; i < 100 && launched == 0; i++)
		launched = echo(said);
	refused_us = clock_us();
	cr_expect(launched == -1 && err.code == WARDER_ERROR_UNAVAILABLE &&
		      strstr(err.text, "times in a row"),
		  "%s", err.text);
	usleep(300000); /* for a jail that was being built */
	parked = library_pool_stat(pool, "parked");
	for (int i = 0; i < 3; i++)
		cr_expect_eq(echo(said), -1);
	/* On a busy machine, the second may be over. */
	if (clock_us() - refused_us < 900000) {
		cr_expect_eq(library_pool_stat(pool, "parked"), parked);
		cr_expect_eq(library_pool_stat(pool, "changing"), 4);
	}
	cr_expect(library_pool_stat(pool, "stale") >= 3);
	rmdir(changes);
	usleep(1200000);
	*said = '\0';
	cr_expect_eq(echo(said), 0, "%s", err.text);
	cr_expect_str_eq(said, "ran\n");
	end(descriptors);
	rmdir(dir);
}

/* One change makes all parked jails stale: a new one is made at once. */
Test(pool_slow, one_change_of_many_jails, .timeout = 60)
{
	char path[] = "/var/tmp/warder-slow.XXXXXX";
	char script[200], said[16] = "";
	char *program[] = { (char *)"sh", (char *)"-c", script, NULL };
	const int fd = mkstemp(path);
	int descriptors;

	cr_assert(fd >= 0 && fchmod(fd, 0644) == 0);
	snprintf(script, sizeof(script), "printf '%s\\n\\n' >&3; code=$(cat <&4); eval \"$code\"", path);
	descriptors = begin((struct warder_pool_options){ 0 }, program);
	cr_assert(warder_policy_set(policy, "filesystem.paths.readOnly", path, &err) == 0, "%s", err.text);
	warder_template_free(library_prepare(policy));
	cr_assert_eq(warder_pool_fill(pool, &key, 4, &err), 0, "%s", err.text);
	cr_expect_eq(write(fd, "x", 1), 1);
	cr_expect_eq(echo(said), 0, "%s", err.text);
	cr_expect_str_eq(said, "ran\n");
	/* A thread may have parked a new one before all old ones were found. */
	cr_expect(library_pool_stat(pool, "stale") >= 1 && library_pool_stat(pool, "changing") == 0);
	end(descriptors);
	close(fd);
	unlink(path);
}
