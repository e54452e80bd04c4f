/*
 * Pools of parked jails, through the public functions: what a hand-out gives, what it finds out, and that nothing is left.
 * At most eight jails at once.
 */
#include "base/array.h"
#include "tests/lib/library.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct warder_error err;
static struct warder_policy *policy;
static struct warder_pool *pool;
static struct warder_pool_key key;

static void set(const char *field, const char *value)
{
	cr_assert(warder_policy_set(policy, field, value, &err) == 0, "%s: %s", field, err.text);
}

static void open_policy(void)
{
	policy = library_policy();
	key = (struct warder_pool_key){ .size = sizeof(key), .policy = policy };
}

static void open_pool(struct warder_pool_options options)
{
	options.size = sizeof(options);
	cr_assert(warder_pool_new(&options, &pool, &err) == 0, "%s", err.text);
}

static void fill(unsigned int count)
{
	if (warder_pool_fill(pool, &key, count, &err) == 0)
		return;
	cr_assert(err.code == WARDER_ERROR_UNSUPPORTED_POLICY, "%s: %s", err.step, err.text);
	cr_skip_test("%s", err.text);
}

static struct warder_result *shell(const char *script, struct warder_command command)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;

	command.size = sizeof(command);
	command.argv = argv;
	if (warder_pool_launch(pool, &key, &command, &run, &err) == 0)
		cr_expect(warder_wait(run, &result, &err) == 0, "%s: %s", script, err.text);
	warder_run_free(run);
	return result;
}

static const char *output(const struct warder_result *result)
{
	return warder_result_output(result, WARDER_STDOUT, NULL, NULL);
}

/* Everything is gone: processes, cgroups, descriptors. */
static void expect_nothing_left(int fds_before)
{
	int pids[8];

	cr_expect(warder_pool_drain(pool, &err) == 0, "%s", err.text);
	cr_expect(library_inits(pids, 8) == 0);
	cr_expect(library_count_cgroups("") == 0);
	warder_pool_free(pool);
	cr_expect(library_descriptors() == fds_before, "%d descriptors, before %d", library_descriptors(),
		  fds_before);
	warder_policy_free(policy);
}

static int begin(struct warder_pool_options options)
{
	const int fds = library_descriptors();

	open_policy();
	open_pool(options);
	return fds;
}

Test(pool, a_hand_out_gives_all_that_a_launch_gives, .timeout = 60)
{
	/* The kernel does not show the layers that init and the payload reported: nothing of them is read when a jail is handed out. */
	static const struct row {
		const char *control, *read_at;
	} rows[] = {
		{ "capabilities", "handOut" }, { "noNewPrivileges", "handOut" },
		{ "syscalls\"", "handOut" },   { "processes.identity", "handOut" },
		{ "rlimits\"", "handOut" },    { "limits.wallTime", "handOut" },
		{ "perUserAccounts", "park" }, { "landlock", "park" },
		{ "secureBits", "park" },      { "namespaces", "park" },
	};
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL });
	char *environment[] = { (char *)"FOO=bar", NULL };
	const struct warder_file file = { .path = "data", .bytes = "text\n", .len = 5 };
	struct warder_result *result;
	char *json;

	fill(1);
	result = shell("read x; echo $x $FOO; cat /tmp/data; ls /proc/self/fd | wc -l; echo no >&2; exit 3",
		       (struct warder_command){ .environment = environment,
						.input = "in\n",
						.input_len = 3,
						.files = &file,
						.file_count = 1 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result), "in bar\ntext\n4\n"); /* three streams, and that of ls */
	cr_expect_str_eq(warder_result_output(result, WARDER_STDERR, NULL, NULL), "no\n");
	cr_expect(warder_result_exit_code(result) == 3);
	json = warder_result_json(result);
	cr_expect(strstr(json, "\"parkedUs\":") && strstr(json, "\"readAt\":\"park\""));
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char name[64], read_at[32];
		const char *row, *when;

		snprintf(name, sizeof(name), "{\"control\":\"%s", rows[i].control);
		snprintf(read_at, sizeof(read_at), "\"readAt\":\"%s\"", rows[i].read_at);
		row = strstr(json, name);
		when = row ? strstr(row, read_at) : NULL;
		cr_expect(when && when < strchr(row, '}'), "%s", rows[i].control);
	}
	if (access("/proc/self/ns/time", F_OK) == 0)
		cr_expect(strstr(json, "; clocks count from 1 to 2 s before the jail was parked"), "%s",
			  json);
	free(json);
	warder_result_free(result);
	cr_expect(library_pool_stat(pool, "handedOut") == 1 && library_pool_stat(pool, "launched") == 0);
	expect_nothing_left(fds);
}

Test(pool, a_jail_runs_one_program, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL });

	for (int i = 0; i < 3; i++) {
		struct warder_result *result;

		fill(1);
		result =
		    shell("ls -A /tmp /dev/shm; (sleep 100 &) ; echo > /tmp/x", (struct warder_command){ 0 });
		cr_assert(result, "%s", err.text);
		cr_expect_str_eq(output(result), "/dev/shm:\n\n/tmp:\n");
		warder_result_free(result);
	}
	cr_expect(library_pool_stat(pool, "handedOut") == 3 && library_pool_stat(pool, "parked") >= 3);
	expect_nothing_left(fds);
}

Test(pool, two_outputs_of_one_file_keep_their_order, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL });
	struct warder_result *result;
	char text[32] = "";
	int ends[2];

	fill(1);
	cr_assert(pipe2(ends, O_CLOEXEC) == 0);
	result = shell("echo 1; echo 2 >&2; echo 3",
		       (struct warder_command){ .output_fds = (int[]){ ends[1], ends[1] } });
	cr_expect(result, "%s", err.text);
	cr_expect(read(ends[0], text, sizeof(text) - 1) == 6);
	cr_expect_str_eq(text, "1\n2\n3\n");
	close(ends[0]);
	close(ends[1]);
	warder_result_free(result);
	expect_nothing_left(fds);
}

Test(pool, time_begins_at_the_hand_out, .timeout = 60)
{
	const struct timespec longer = { .tv_sec = 6, .tv_nsec = 200000000 };
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL });
	struct warder_result *result;

	set("limits.wallTime", "4s"); /* init's own deadline is 2 s later */
	fill(1);
	nanosleep(&longer, NULL);
	result = shell("exit 7", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "exit");
	cr_expect(warder_result_exit_code(result) == 7 && warder_result_wall_us(result) < 4000000);
	warder_result_free(result);
	fill(1);
	result = shell("sleep 30", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "wallTime");
	warder_result_free(result);
	expect_nothing_left(fds);
}

Test(pool, a_parked_jail_that_was_killed_is_not_handed_out, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL });
	struct warder_result *result;
	struct pollfd dead;
	int pids[8];

	fill(1);
	cr_assert(library_inits(pids, 8) == 1);
	dead = (struct pollfd){ .fd = (int)syscall(SYS_pidfd_open, pids[0], 0), .events = POLLIN };
	cr_expect(kill(pids[0], SIGKILL) == 0 && poll(&dead, 1, 10000) == 1);
	close(dead.fd);
	result = shell("echo x", (struct warder_command){ 0 });
	cr_expect_eq(library_pool_stat(pool, "broken"), 1);
	if (result) /* the pool has parked another one meanwhile */
		cr_expect_eq(library_pool_stat(pool, "handedOut"), 1);
	else
		cr_expect(err.code == WARDER_ERROR_UNAVAILABLE && strstr(err.text, "read-back"), "%s",
			  err.text);
	warder_result_free(result);
	expect_nothing_left(fds);
}

Test(pool, a_limit_that_root_has_changed_is_found, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_LAUNCH });
	struct warder_result *result;
	glob_t found;
	int fd;

	fill(1);
	if (library_cgroups("/pids.max", &found) == 0)
		cr_skip_test("no cgroup with pids.max");
	fd = open(found.gl_pathv[0], O_WRONLY | O_CLOEXEC);
	cr_expect(write(fd, "1000", 4) == 4);
	close(fd);
	globfree(&found);
	result = shell("echo new", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result), "new\n");
	/* The pool may have parked another one meanwhile. */
	cr_expect_eq(library_pool_stat(pool, "broken"), 1);
	cr_expect_eq(library_pool_stat(pool, "launched") + library_pool_stat(pool, "handedOut"), 1);
	warder_result_free(result);
	expect_nothing_left(fds);
}

Test(pool, another_object_in_a_source_makes_jails_stale, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_LAUNCH });
	char dir[] = "/var/tmp/warder-pool.XXXXXX";
	struct warder_result *result;
	char path[64];

	cr_assert(mkdtemp(dir) != NULL && chmod(dir, 0755) == 0);
	set("filesystem.paths.readOnly", dir);
	fill(1);
	cr_expect(rmdir(dir) == 0 && mkdir(dir, 0755) == 0);
	snprintf(path, sizeof(path), "%s/new", dir);
	cr_expect(mkdir(path, 0755) == 0);
	snprintf(path, sizeof(path), "ls %s", dir);
	result = shell(path, (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result), "new\n");
	cr_expect(library_pool_stat(pool, "stale") == 1);
	warder_result_free(result);
	expect_nothing_left(fds);
	snprintf(path, sizeof(path), "%s/new", dir);
	rmdir(path);
	rmdir(dir);
}

/* No jail of another key is handed out. On a busy machine, the pool's thread may park one of this key before the launch has looked for one: then
 * the launch takes that. Returns the number of jails that were handed out. */
static long expect_no_jail(const char *what)
{
	const long parked = library_pool_stat(pool, "parked");
	struct warder_result *result = shell("echo x", (struct warder_command){ 0 });
	const bool ran = result != NULL;

	if (ran)
		cr_expect_gt(library_pool_stat(pool, "parked"), parked, "%s", what);
	else
		cr_expect(err.code == WARDER_ERROR_UNAVAILABLE, "%s: %s", what, err.text);
	warder_result_free(result);
	return ran;
}

Test(pool, keys_share_nothing, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL, .jails_a_key = 1 });
	struct warder_result *result;

	key.tenant = "a";
	fill(1);
	key.tenant = "b";
	expect_no_jail("another tenant");
	key.tenant = "a";
	set("limits.pids", "63");
	expect_no_jail("another limit");
	set("limits.pids", "64");
	result = shell("echo x", (struct warder_command){ 0 });
	cr_expect(result, "%s", err.text);
	warder_result_free(result);
	cr_expect(library_pool_stat(pool, "keys") == 3);
	expect_nothing_left(fds);
}

Test(pool, keys_differ_by_ceilings_and_links, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL, .jails_a_key = 1 });
	struct warder_options options = { .size = sizeof(options) };
	struct warder_policy *ceiling;
	char dir[] = "/var/tmp/warder-pool.XXXXXX";
	long handed_out = 0;
	char link[40];
	char *json;

	cr_assert(mkdtemp(dir) != NULL && chmod(dir, 0755) == 0);
	snprintf(link, sizeof(link), "%s/link", dir);
	cr_assert(symlink("/usr/bin", link) == 0);
	set("filesystem.paths.readOnly", link);
	json = warder_policy_json(policy);
	cr_assert(warder_policy_parse(json, strlen(json), NULL, &ceiling, &err) == 0);
	cr_assert(warder_policy_set(ceiling, "filesystem.paths.readOnly", "/usr", &err) == 0, "%s", err.text);
	free(json);
	fill(1);
	options.ceiling = ceiling;
	key.options = &options;
	handed_out += expect_no_jail("without and with a ceiling");
	fill(1);
	cr_assert(warder_policy_set(ceiling, "limits.pids", "65", &err) == 0, "%s", err.text);
	handed_out += expect_no_jail("another ceiling");
	fill(1);
	cr_assert(unlink(link) == 0 && symlink("/usr/sbin", link) == 0);
	handed_out += expect_no_jail("a link that leads elsewhere");
	cr_expect_eq(library_pool_stat(pool, "keys"), 4);
	cr_expect_eq(library_pool_stat(pool, "handedOut"), handed_out);
	key.options = NULL;
	warder_policy_free(ceiling);
	unlink(link);
	rmdir(dir);
	expect_nothing_left(fds);
}

/* Neither its processes nor its files, by any number that the host gives them. */
Test(pool, a_tenant_does_not_reach_the_jail_of_another, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL, .jails_a_key = 1 });
	struct warder_result *result;
	char script[400];
	int pids[8];

	key.tenant = "a";
	fill(1);
	cr_assert(library_inits(pids, 8) == 1);
	key.tenant = "b";
	fill(1);
	snprintf(script, sizeof(script),
		 "kill -9 %d && echo killed; ls /proc/%d/root && echo seen; kill -9 -1; ls -d /proc/[0-9]* | "
		 "wc -l; "
		 "echo b > /tmp/b; echo b > /dev/shm/b",
		 pids[0], pids[0]);
	result = shell(script, (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect(strlen(output(result)) <= 2 && atoi(output(result)) <= 4, "%s", output(result));
	warder_result_free(result);
	key.tenant = "a";
	result = shell("ls -A /tmp /dev/shm", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result), "/dev/shm:\n\n/tmp:\n");
	warder_result_free(result);
	cr_expect(library_pool_stat(pool, "handedOut") == 2 && library_pool_stat(pool, "broken") == 0);
	expect_nothing_left(fds);
}

Test(pool, a_full_pool_gives_up_what_is_unused, .timeout = 60)
{
	const int fds =
	    begin((struct warder_pool_options){ .empty = WARDER_POOL_WAIT, .jails = 2, .keys = 2 });

	fill(2);
	cr_expect(warder_pool_fill(pool, &key, 3, &err) == -1 && err.code == WARDER_ERROR_UNAVAILABLE);
	key.tenant = "b";
	fill(1);
	cr_expect(library_pool_stat(pool, "evicted") == 1);
	key.tenant = "c";
	fill(1);
	cr_expect(library_pool_stat(pool, "keys") == 2);
	cr_expect_eq(library_pool_stat(pool, "evicted"), 2);
	expect_nothing_left(fds);
}

/* Four keys, and room for two jails: those that were used last have them, and keep them. */
Test(pool, keys_do_not_take_the_same_jail_from_one_another_for_ever, .timeout = 60)
{
	static const char *const tenants[] = { "a", "b", "c", "d" };
	const int fds =
	    begin((struct warder_pool_options){ .empty = WARDER_POOL_LAUNCH, .jails = 2, .keys = 4 });
	long before;

	for (size_t i = 0; i < 4; i++) {
		key.tenant = tenants[i];
		warder_result_free(shell("true", (struct warder_command){ 0 }));
	}
	library_await_rest(pool);
	before = library_pool_stat(pool, "parked");
	cr_expect(before < 30, "%ld jails were parked", before);
	cr_expect_eq(library_pool_stat(pool, "ready"), 2);
	for (size_t i = 2; i < 4; i++) {
		key.tenant = tenants[i];
		cr_expect_eq(warder_pool_fill(pool, &key, 1, &err), 0, "%s", err.text);
	}
	cr_expect_eq(library_pool_stat(pool, "parked"), before);
	expect_nothing_left(fds);
}

/* Nor does a key whose jails cannot be made take those of others, which would be made again. */
Test(pool, a_key_without_a_working_jail_takes_none_of_another, .timeout = 60)
{
	char *program[] = { (char *)"sh", (char *)"-c", (char *)"exit 1", NULL };
	char *argv[] = { (char *)"sh", NULL };
	const struct warder_command command = { .size = sizeof(command), .argv = argv };
	const struct timespec pause = { .tv_sec = 7 };
	const int fds =
	    begin((struct warder_pool_options){ .empty = WARDER_POOL_LAUNCH, .jails = 2, .keys = 2 });
	struct warder_run *run = NULL;

	fill(2);
	key.tenant = "b";
	key.program = program;
	cr_expect_eq(warder_pool_code(pool, &key, "x", 1, &command, &run, &err), -1);
	nanosleep(&pause, NULL); /* it is tried again every second */
	cr_expect_eq(library_pool_stat(pool, "evicted"), 0, "%ld", library_pool_stat(pool, "evicted"));
	expect_nothing_left(fds);
}

Test(pool, an_unused_key_loses_its_jails, .timeout = 60)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	const int fds = begin((struct warder_pool_options){ .idle_us = 100000 });

	fill(2);
	for (int i = 0;
	     i < 100 && (library_pool_stat(pool, "keys") || library_pool_stat(pool, "removed") < 2); i++)
		nanosleep(&pause, NULL);
	cr_expect(library_pool_stat(pool, "keys") == 0 && library_pool_stat(pool, "removed") == 2);
	cr_expect_eq(library_pool_stat(pool, "evicted"), 2);
	expect_nothing_left(fds);
}

Test(pool, what_it_cannot_do_is_refused, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL });
	char *large = malloc(200001);
	char *environment[] = { large, NULL };
	struct warder_pool *none;

	cr_expect(warder_pool_new(&(struct warder_pool_options){ .size = sizeof(struct warder_pool_options),
								 .memory_bytes = 1 },
				  &none, &err) == -1 &&
		  err.code == WARDER_ERROR_INVALID_REQUEST);
	cr_expect(warder_pool_new(
		      &(struct warder_pool_options){ .size = sizeof(struct warder_pool_options), .parts = 2 },
		      &none, &err) == -1 &&
		  err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "parts is 2"));
	cr_expect(warder_pool_fill(pool, &key, 5, &err) == -1 && err.code == WARDER_ERROR_INVALID_REQUEST &&
		  strstr(err.text, "jails_a_key"));
	memset(large, 'x', 200000);
	large[1] = '=';
	large[200000] = '\0';
	fill(1);
	cr_expect_null(shell("exit", (struct warder_command){ .environment = environment }));
	cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "warder_launch()"), "%s",
		  err.text);
	fill(1);
	cr_expect_null(shell("exit", (struct warder_command){ .terminal_fd = 1 }));
	cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "terminal"), "%s", err.text);
	set("syscalls.deny", "recvmsg");
	cr_expect(warder_pool_fill(pool, &key, 1, &err) == -1 &&
		      err.code == WARDER_ERROR_UNSUPPORTED_POLICY && strstr(err.text, "recvmsg"),
		  "%s", err.text);
	free(large);
	expect_nothing_left(fds);
}

/* In a child: its pool, then the pids of the parked inits to the pipe. */
static void park_and_tell(int to)
{
	int pids[8];
	int count;

	open_policy();
	open_pool((struct warder_pool_options){ 0 });
	if (warder_pool_fill(pool, &key, 2, &err) != 0)
		_exit(1);
	count = library_inits(pids, 8);
	if (write(to, pids, sizeof(int) * (size_t)count) < 0)
		_exit(1);
	for (;;)
		pause();
}

Test(pool, nothing_outlives_a_killed_supervisor, .timeout = 60)
{
	struct pollfd jails[8];
	int pids[8];
	int ends[2];
	int status;
	ssize_t n;
	pid_t child;

	cr_assert(pipe2(ends, O_CLOEXEC) == 0);
	child = fork();
	if (child == 0)
		park_and_tell(ends[1]);
	close(ends[1]);
	n = read(ends[0], pids, sizeof(pids));
	close(ends[0]);
	for (int i = 0; i < (int)(n / (ssize_t)sizeof(int)); i++)
		jails[i] =
		    (struct pollfd){ .fd = (int)syscall(SYS_pidfd_open, pids[i], 0), .events = POLLIN };
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	if (n <= 0)
		cr_skip_test("no jails here");
	cr_expect(n == 2 * (ssize_t)sizeof(int));
	for (int i = 0; i < (int)(n / (ssize_t)sizeof(int)); i++) {
		cr_expect(poll(&jails[i], 1, 10000) == 1, "%d lives", pids[i]);
		close(jails[i].fd);
	}
}

Test(pool, the_hand_out_gives_time_output_and_variables, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL });
	struct warder_result *result;
	char *json;

	set("environment.set.A", "parked");
	set("limits.wallTime", "20s");
	fill(1);
	set("environment.set.A", "given");
	set("environment.set.B", "too");
	set("limits.wallTime", "4s");
	set("output.stdout", "7");
	result = shell("echo $A $B; sleep 30", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result), "given t");
	cr_expect_str_eq(warder_result_cause(result), "wallTime");
	json = warder_result_json(result);
	cr_expect(strstr(json, "\"requested\":\"4s\"") && strstr(json, "init's backstop 6000000 us") &&
		      strstr(json, "\"value\":\"7 bytes"),
		  "%s", json);
	free(json);
	warder_result_free(result);
	cr_expect(library_pool_stat(pool, "keys") == 1 && library_pool_stat(pool, "handedOut") == 1);
	expect_nothing_left(fds);
}

/* Kills the only parked jail, and returns when it is dead. */
static void kill_parked(void)
{
	const int init = library_only_init();
	struct pollfd dead = { .fd = (int)syscall(SYS_pidfd_open, init, 0), .events = POLLIN };

	cr_assert(init > 0 && kill(init, SIGKILL) == 0 && poll(&dead, 1, 10000) == 1);
	close(dead.fd);
}

struct empty_row {
	enum warder_pool_empty empty;
	long launched, handed_out;
	const char *says; /* NULL: it succeeds */
};

/* One launch from an empty pool. True: it did what the row says. False: the pool's thread was faster, and it took a jail. */
static bool launch_from_an_empty_pool(const struct empty_row *row)
{
	const int fds = begin((struct warder_pool_options){ .empty = row->empty });
	struct warder_result *result;
	long launched, handed_out;

	fill(0);
	result = shell("echo x", (struct warder_command){ 0 });
	launched = library_pool_stat(pool, "launched");
	handed_out = library_pool_stat(pool, "handedOut");
	if (result)
		cr_expect_str_eq(output(result), "x\n");
	else
		cr_expect(err.code == WARDER_ERROR_UNAVAILABLE && row->says && strstr(err.text, row->says),
			  "%s", err.text);
	cr_expect_eq(launched + handed_out, !!result, "%ld, %ld", launched, handed_out);
	cr_expect(launched <= row->launched, "%ld", launched);
	warder_result_free(result);
	expect_nothing_left(fds);
	return launched == row->launched && handed_out == row->handed_out;
}

/* Without a parked jail: what each reaction to an empty pool does. If the pool's thread parks a jail before the launch has looked for
 * one, the launch takes it, whatever the reaction. So it is tried until the pool was empty. */
Test(pool, an_empty_pool_launches_waits_or_fails, .timeout = 60)
{
	static const struct empty_row rows[] = {
		{ WARDER_POOL_LAUNCH, 1, 0, NULL },
		{ WARDER_POOL_WAIT, 0, 1, NULL },
		{ WARDER_POOL_FAIL, 0, 0, "no parked jail is ready" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		bool done = false;

		for (int tries = 0; tries < 20 && !done; tries++)
			done = launch_from_an_empty_pool(&rows[i]);
		cr_expect(done, "%zu", i);
	}
}

/* Also of those that were launched because no jail was ready. */
Test(pool, a_drain_tells_of_runs_that_are_not_freed, .timeout = 60)
{
	char *argv[] = { (char *)"true", NULL };
	const struct warder_command command = { .size = sizeof(command), .argv = argv };

	for (int parked = 0; parked < 2; parked++) {
		const int fds = begin(
		    (struct warder_pool_options){ .empty = parked ? WARDER_POOL_FAIL : WARDER_POOL_LAUNCH });
		struct warder_result *result = NULL;
		struct warder_run *run = NULL;

		if (parked)
			fill(1);
		if (warder_pool_launch(pool, &key, &command, &run, &err) != 0)
			cr_skip_test("%s", err.text);
		/* The pool's thread may have parked one meanwhile. */
		cr_expect_eq(library_pool_stat(pool, "launched") + library_pool_stat(pool, "handedOut"), 1);
		cr_expect(warder_pool_drain(pool, &err) == -1 && err.code == WARDER_ERROR_CONFLICT, "%d",
			  parked);
		cr_expect_eq(warder_wait(run, &result, &err), 0, "%s", err.text);
		warder_result_free(result);
		warder_run_free(run);
		expect_nothing_left(fds);
	}
}

/* The jail that fails the check is removed, and the launch gets another one. */
Test(pool, a_broken_jail_is_replaced, .timeout = 60)
{
	static const enum warder_pool_empty reactions[] = { WARDER_POOL_LAUNCH, WARDER_POOL_WAIT };
	struct warder_result *result;

	for (size_t i = 0; i < ARRAY_LENGTH(reactions); i++) {
		const int fds = begin((struct warder_pool_options){ .empty = reactions[i] });

		fill(1);
		kill_parked();
		result = shell("echo new", (struct warder_command){ 0 });
		cr_assert(result, "%s", err.text);
		cr_expect_str_eq(output(result), "new\n");
		cr_expect_eq(library_pool_stat(pool, "broken"), 1);
		/* The pool may have parked another one meanwhile. */
		cr_expect_eq(library_pool_stat(pool, "launched") + library_pool_stat(pool, "handedOut"), 1);
		cr_expect(reactions[i] == WARDER_POOL_LAUNCH || library_pool_stat(pool, "launched") == 0);
		warder_result_free(result);
		expect_nothing_left(fds);
	}
}

/* No pool parks such jails: a launch works all the same, and nobody waits in vain. */
Test(pool, a_policy_without_parked_jails_is_launched_or_refused, .timeout = 60)
{
	static const struct {
		enum warder_pool_empty empty;
		const char *says; /* or NULL: it succeeds */
	} rows[] = {
		{ WARDER_POOL_LAUNCH, NULL },
		{ WARDER_POOL_WAIT, "recvmsg" },
		{ WARDER_POOL_FAIL, "no parked jail is ready" },
	};
	struct timespec before, after;
	struct warder_result *result;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const int fds = begin((struct warder_pool_options){ .empty = rows[i].empty,
								    .wait_us = 50 * UINT64_C(1000000) });

		set("syscalls.deny", "recvmsg");
		clock_gettime(CLOCK_MONOTONIC, &before);
		result = shell("echo x", (struct warder_command){ 0 });
		clock_gettime(CLOCK_MONOTONIC, &after);
		cr_expect(after.tv_sec - before.tv_sec < 40);
		cr_expect(!result == !!rows[i].says, "%zu: %s", i, err.text);
		if (result)
			cr_expect_str_eq(output(result), "x\n");
		else
			cr_expect(rows[i].says && strstr(err.text, rows[i].says), "%zu: %s", i, err.text);
		cr_expect(i != 1 || err.code == WARDER_ERROR_UNSUPPORTED_POLICY, "%d", (int)err.code);
		cr_expect_eq(library_pool_stat(pool, "parked"), 0);
		warder_result_free(result);
		expect_nothing_left(fds);
	}
}

/* The same holds of a jail that the pool makes because none is parked. */
Test(pool, a_jail_that_is_made_at_once_is_given_the_same, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_LAUNCH });
	struct warder_result *result;

	set("environment.set.A", "first");
	fill(0); /* the template is that of this policy */
	set("environment.set.A", "second");
	set("limits.wallTime", "4s");
	result = shell("echo $A; sleep 30", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result), "second\n");
	cr_expect_str_eq(warder_result_cause(result), "wallTime");
	warder_result_free(result);
	cr_expect_eq(library_pool_stat(pool, "keys"), 1);
	cr_expect_eq(library_pool_stat(pool, "launched") + library_pool_stat(pool, "handedOut"), 1);
	expect_nothing_left(fds);
}

Test(pool, the_ceiling_holds_for_what_is_given, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL });
	struct warder_policy *ceiling;
	struct warder_options options = { .size = sizeof(options) };

	char *json = warder_policy_json(policy);

	cr_assert(warder_policy_parse(json, strlen(json), NULL, &ceiling, &err) == 0);
	free(json);
	options.ceiling = ceiling;
	key.options = &options;
	set("limits.wallTime", "10s");
	fill(1);
	set("limits.wallTime", "31s");
	cr_expect_null(shell("echo x", (struct warder_command){ 0 }));
	cr_expect(err.code == WARDER_ERROR_REJECTED && strstr(err.field, "limits.wallTime"), "%s: %s",
		  err.field, err.text);
	cr_expect(library_pool_stat(pool, "handedOut") == 0);
	warder_policy_free(ceiling);
	expect_nothing_left(fds);
}

/* Runs a script in a jail of the pool, and waits until the jail is gone and another is parked. */
static struct warder_result *in_turn(const char *script)
{
	struct warder_result *result = shell(script, (struct warder_command){ 0 });

	cr_assert(result, "%s", err.text);
	for (int i = 0;
	     i < 3000 && library_pool_stat(pool, "parked") < library_pool_stat(pool, "removed") + 1; i++)
		usleep(10000);
	return result;
}

enum { LAUNCHES = 30 };

static const char show_network[] = "readlink /proc/self/ns/net";

/* Launches jails until three had the namespace of an earlier one, and returns how many had. With one jail a key, the next jail is parked before the last one has ended: the one after that gets its namespace, or a later one where the machine is busy. */
static unsigned int repeated(void)
{
	char names[LAUNCHES][32];
	unsigned int again = 0;

	for (unsigned int i = 0; i < LAUNCHES && again < 3; i++) {
		struct warder_result *result = in_turn(show_network);

		snprintf(names[i], sizeof(names[i]), "%s", output(result));
		warder_result_free(result);
		for (unsigned int j = 0; j < i; j++)
			if (strcmp(names[i], names[j]) == 0) {
				again++;
				break;
			}
	}
	return again;
}

static const char says_again[] = "lo down, no route; used before, and like a new one";

/* What its receipt says. The number of a namespace proves nothing: the kernel gives those of removed ones to new ones. */
static bool next_is_again(void)
{
	struct warder_result *result = in_turn("true");
	char *json = warder_result_json(result);
	const bool again = strstr(json, says_again) != NULL;

	free(json);
	warder_result_free(result);
	return again;
}

/* One of several launches: the pool may park a jail before it has checked the namespace of the last one. */
static bool one_is_again(void)
{
	for (int i = 0; i < LAUNCHES; i++)
		if (next_is_again())
			return true;
	return false;
}

Test(pool, network_namespaces_are_used_once, .timeout = 60)
{
	const int fds = begin((struct warder_pool_options){ .jails_a_key = 1, .empty = WARDER_POOL_WAIT });

	fill(1);
	for (int i = 0; i < 6; i++)
		cr_expect(!next_is_again());
	cr_expect(library_pool_stat(pool, "partsReused") == 0);
	expect_nothing_left(fds);
}

Test(pool, a_part_like_a_new_one_is_used_again, .timeout = 60)
{
	const int fds =
	    begin((struct warder_pool_options){ .jails_a_key = 1, .empty = WARDER_POOL_WAIT, .parts = 1 });
	unsigned int again;

	if (geteuid() != 0)
		cr_skip_test("only root's jails have parts to use again");
	fill(1);
	again = repeated();
	cr_expect(again == 3, "%u", again);
	cr_expect(library_pool_stat(pool, "partsReused") >= 3);
	cr_expect(one_is_again());
	expect_nothing_left(fds);
}

/* What a refused packet, or a socket that was used, is counted under. */
static long refused_by_counters(void)
{
	return library_pool_stat(pool, "snmp") + library_pool_stat(pool, "netstat") +
	       library_pool_stat(pool, "sockstat");
}

/* A refused packet, a socket that was used: the kernel counts it, and the namespace goes. */
Test(pool, a_part_that_tells_of_its_jail_is_not_used_again, .timeout = 60)
{
	const int fds =
	    begin((struct warder_pool_options){ .jails_a_key = 1, .empty = WARDER_POOL_WAIT, .parts = 1 });
	long refused = 0;

	if (geteuid() != 0)
		cr_skip_test("only root's jails have parts to use again");
	if (access("/bin/bash", X_OK) != 0)
		cr_skip_test("there is no bash, which sends the packet");
	fill(1);
	for (int i = 0; i < LAUNCHES && refused < 3; i++) {
		warder_result_free(in_turn("bash -c 'echo x >/dev/udp/127.0.0.1/9'"));
		refused = refused_by_counters();
	}
	cr_expect(refused >= 3, "%ld", refused);
	cr_expect(library_pool_stat(pool, "partsReused") == 0);
	expect_nothing_left(fds);
}

/* It is looked at after each jail, not only after the first one. */
Test(pool, a_part_that_was_used_before_is_judged_again, .timeout = 120)
{
	const int fds =
	    begin((struct warder_pool_options){ .jails_a_key = 1, .empty = WARDER_POOL_WAIT, .parts = 1 });
	unsigned int told = 0;
	long sent = 0;

	if (geteuid() != 0)
		cr_skip_test("only root's jails have parts to use again");
	if (access("/bin/bash", X_OK) != 0)
		cr_skip_test("there is no bash, which sends the packet");
	fill(1);
	for (; sent < LAUNCHES && told < 3; sent++) {
		struct warder_result *result;
		char *json;

		/* Two namespaces go round, and the last packet has cost one of them: after two in a row, both were used before. */
		for (int j = 0, row = 0; j < LAUNCHES && row < 2; j++)
			row = next_is_again() ? row + 1 : 0;
		result = in_turn("bash -c 'echo x >/dev/udp/127.0.0.1/9'");
		json = warder_result_json(result);
		told += strstr(json, says_again) != NULL;
		free(json);
		warder_result_free(result);
	}
	/* The pool removes jails when it has time for it. */
	for (int i = 0; i < 3000 && refused_by_counters() < sent; i++)
		usleep(10000);
	cr_expect(refused_by_counters() == sent, "%ld of %ld", refused_by_counters(), sent);
	cr_expect(told == 3, "%u", told);
	expect_nothing_left(fds);
}

Test(pool, parts_are_not_shared_by_tenants, .timeout = 60)
{
	const int fds =
	    begin((struct warder_pool_options){ .jails_a_key = 1, .empty = WARDER_POOL_WAIT, .parts = 1 });

	if (geteuid() != 0)
		cr_skip_test("only root's jails have parts to use again");
	key.tenant = "one";
	fill(1);
	cr_expect(one_is_again());
	key.tenant = "two";
	fill(1);
	cr_expect(!next_is_again());
	expect_nothing_left(fds);
}

/* Begins a pool that uses parts again, for a test of cgroups. On one processor: the kernel charges a cgroup for memory in advance, once for
 * each processor on which a process of the jail ran. */
static int begin_cgroups(const char *field, const char *value)
{
	const int fds =
	    begin((struct warder_pool_options){ .jails_a_key = 1, .empty = WARDER_POOL_WAIT, .parts = 1 });
	cpu_set_t here;

	if (geteuid() != 0)
		cr_skip_test("only root's jails have parts to use again");
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	cr_assert(sched_setaffinity(0, sizeof(here), &here) == 0);
	set(field, value);
	fill(1);
	if (library_count_cgroups("") == 0)
		cr_skip_test("the jails have no cgroups here");
	return fds;
}

static bool has_cgroups_again(const struct warder_result *result)
{
	char *json = warder_result_json(result);
	const char *row = strstr(json, "{\"control\":\"limits.pids\"");
	const char *says = row ? strstr(row, "used before, and like a new one") : NULL;
	const bool again = says && says < strchr(row, '}');

	free(json);
	return again;
}

/* A jail that uses little gets the cgroups of one that used much, and its result has nothing of that. A jail is parked before the one ahead of
 * it has ended: so the cgroups go to the next but one, or to a later one where the machine is busy. */
Test(pool, a_cgroup_like_a_new_one_is_used_again_and_counts_anew, .timeout = 120)
{
	const int fds = begin_cgroups("limits.wallTime", "30s");
	int again = 0;

	for (int i = 0; i < LAUNCHES && again < 3; i++) {
		struct warder_result *result;

		warder_result_free(in_turn("exec dd if=/dev/zero of=/dev/null bs=32M count=16"));
		warder_result_free(in_turn("exec true"));
		result = in_turn("exec true");
		cr_expect(warder_result_memory_peak(result) < 24 << 20, "%llu",
			  (unsigned long long)warder_result_memory_peak(result));
		again += has_cgroups_again(result);
		warder_result_free(result);
	}
	if (library_pool_stat(pool, "cgroupsReused") == 0 && library_pool_stat(pool, "memory.peak") > 0)
		cr_skip_test("the kernel does not begin memory.peak anew");
	cr_expect(again == 3, "%d", again);
	cr_expect(library_pool_stat(pool, "cgroupsReused") >= 3);
	expect_nothing_left(fds);
}

/* A fork that is refused is counted, and, where the kernel tells, the peak of processes. */
Test(pool, a_cgroup_that_tells_of_its_jail_is_not_used_again, .timeout = 120)
{
	const int fds = begin_cgroups("limits.pids", "3");
	long refused = 0;

	for (int i = 0; i < LAUNCHES && refused < 3; i++) {
		warder_result_free(in_turn("sleep 30 & sleep 30 & sleep 30 & sleep 30 &"));
		refused = library_pool_stat(pool, "pids.peak") + library_pool_stat(pool, "pids.events");
	}
	cr_expect(refused >= 3, "%ld", refused);
	cr_expect(library_pool_stat(pool, "cgroupsReused") == 0);
	expect_nothing_left(fds);
}

/* Some kernels kill what is cloned into a cgroup that was killed before: such a one is never used again. */
Test(pool, a_cgroup_that_was_killed_is_not_used_again, .timeout = 120)
{
	const int fds = begin_cgroups("limits.wallTime", "2s");

	if (library_count_cgroups("/cgroup.kill") == 0)
		cr_skip_test("needs cgroup.kill");
	for (int i = 0; i < 3; i++)
		warder_result_free(in_turn("exec sleep 100"));
	/* The pool removes jails when it has time for it. */
	for (int i = 0; i < 6000 && library_pool_stat(pool, "cgroup.kill") < 3; i++)
		usleep(10000);
	cr_expect(library_pool_stat(pool, "cgroup.kill") == 3, "%ld", library_pool_stat(pool, "cgroup.kill"));
	cr_expect(library_pool_stat(pool, "cgroupsReused") == 0);
	expect_nothing_left(fds);
}

/* Move a process into each cgroup that waits for a jail, or, for a pid of 0, remove them; how many there are. */
static int into_spare_cgroups(pid_t pid)
{
	char path[300];
	glob_t found;
	int count = 0;

	library_cgroups("", &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/cgroup.procs", found.gl_pathv[i]);
		file = fopen(path, "r+e");
		if (file && fgetc(file) == EOF) {
			count++;
			rewind(file);
			if (pid)
				fprintf(file, "%d\n", pid);
		}
		if (file)
			fclose(file);
		if (!pid)
			rmdir(found.gl_pathv[i]);
	}
	globfree(&found);
	return count;
}

Test(pool, a_drain_tells_of_a_cgroup_that_cannot_be_removed, .timeout = 120)
{
	const int fds = begin_cgroups("limits.wallTime", "30s");
	const pid_t intruder = fork();
	int count = 0;

	if (intruder == 0) {
		pause();
		_exit(0);
	}
	for (int i = 0; i < 3; i++)
		warder_result_free(in_turn("exec true"));
	fill(1);
	for (int i = 0; i < 600 && count == 0; i++) {
		usleep(100000);
		count = into_spare_cgroups(intruder);
	}
	if (count == 0 && library_pool_stat(pool, "memory.peak") > 0) {
		kill(intruder, SIGKILL);
		cr_skip_test("the kernel does not begin memory.peak anew");
	}
	cr_expect(count > 0);
	cr_expect(warder_pool_drain(pool, &err) != 0 && strstr(err.text, "cgroup"), "%s", err.text);
	kill(intruder, SIGKILL);
	waitpid(intruder, NULL, 0);
	into_spare_cgroups(0);
	expect_nothing_left(fds);
}

/* In a child of one thread: a pool on a host that seems to become short of memory. 0; 1: it is not as it should be; 2: cannot be tried. */
static int fill_under_pressure(void)
{
	static const char plenty[] = "MemTotal: 1000000 kB\nMemFree: 1000 kB\nMemAvailable: 900000 kB\n";
	static const char scarce[] = "MemTotal: 1000000 kB\nMemFree: 1000 kB\nMemAvailable: 050000 kB\n";
	const struct timespec pause = { .tv_nsec = 100000000 };
	char path[] = "/tmp/warder-meminfo.XXXXXX";
	const int fd = mkstemp(path);
	int ret = 2;

	open_policy();
	open_pool((struct warder_pool_options){ 0 });
	if (warder_pool_fill(pool, &key, 4, &err) == 0 && unshare(CLONE_NEWNS) == 0 &&
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	    write(fd, plenty, sizeof(plenty) - 1) > 0 &&
	    mount(path, "/proc/meminfo", NULL, MS_BIND, NULL) == 0)
		ret = 1;
	unlink(path);
	/* The pool's thread is in the old mount namespace: it reads the host's file. So a new pool. */
	warder_pool_free(pool);
	open_pool((struct warder_pool_options){ 0 });
	if (ret == 1 && warder_pool_fill(pool, &key, 4, &err) == 0 &&
	    pwrite(fd, scarce, sizeof(scarce) - 1, 0) > 0) {
		for (int i = 0; i < 300 && library_pool_stat(pool, "evicted") < 2; i++)
			nanosleep(&pause, NULL);
		ret = library_pool_stat(pool, "evicted") == 2 && warder_pool_fill(pool, &key, 2, &err) == 0
			  ? 0
			  : 1;
	}
	warder_pool_free(pool);
	return ret;
}

Test(pool, memory_pressure_halves_it, .timeout = 60)
{
	const pid_t child = fork();
	int status;

	if (child == 0)
		_exit(fill_under_pressure());
	cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		cr_skip_test("no jails, or no mount namespace, for this user");
	cr_expect(WEXITSTATUS(status) == 0);
}

/* At some moment from the hand-out on, its init dies. If the pool has parked another jail meanwhile, the launch may take that one, which nobody kills. */
Test(pool, random_kills_leave_nothing, .timeout = 120)
{
	const int fds = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL });
	int ended = 0, refused = 0;

	for (int i = 0; i < 8; i++) {
		char *argv[] = { (char *)"sh", (char *)"-c", (char *)"echo x; sleep 10", NULL };
		const struct warder_command command = { .size = sizeof(command), .argv = argv };
		struct warder_result *result = NULL;
		struct warder_run *run = NULL;
		pid_t killer;
		long broken;
		char *json;
		int init;

		fill(1);
		broken = library_pool_stat(pool, "broken");
		/* That of the round before is reaped. */
		init = library_only_init();
		cr_assert(init > 0);
		killer = fork();
		if (killer == 0) {
			const struct timespec moment = { .tv_nsec = 70000L * i * i };

			nanosleep(&moment, NULL);
			kill(init, SIGKILL);
			_exit(0);
		}
		if (warder_pool_launch(pool, &key, &command, &run, &err) != 0) {
			cr_expect(err.code == WARDER_ERROR_UNAVAILABLE, "%s", err.text);
			refused++;
		} else {
			cr_expect(warder_wait(run, &result, &err) == 0, "%s", err.text);
			json = warder_result_json(result);
			cr_expect_str_eq(warder_result_cause(result),
					 library_pool_stat(pool, "broken") > broken ? "exit" : "host", "%s",
					 json);
			free(json);
			ended++;
		}
		waitpid(killer, NULL, 0);
		warder_result_free(result);
		warder_run_free(run);
	}
	cr_expect(ended + refused == 8 && library_pool_stat(pool, "handedOut") == ended);
	expect_nothing_left(fds);
}
