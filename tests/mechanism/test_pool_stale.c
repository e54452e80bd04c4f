/*
 * Parked jails whose view has changed since: the pool hands out what a new launch would show. Each row changes the host after a jail was
 * parked. The image is made by tests/lib/image.py.
 */
#include "base/array.h"
#include "tests/lib/library.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[32] = "/srv/warder-stale.XXXXXX";

static struct warder_error err;
static struct warder_policy *policy;
static struct warder_pool *pool;
static struct warder_pool_key key;

/* A line of sh in the directory. */
static void change(const char *line)
{
	char text[600];

	snprintf(text, sizeof(text), "cd %s && { %s; }", dir, line);
	cr_assert_eq(system(text), 0, "%s", line);
}

static void set(const char *field, const char *value)
{
	cr_assert(warder_policy_set(policy, field, value, &err) == 0, "%s: %s", value, err.text);
}

/* A value with a path below the directory. */
static void set_below(const char *field, const char *before, const char *below)
{
	char value[200];

	snprintf(value, sizeof(value), "%s%s%s", before, dir, below);
	set(field, value);
}

static void begin(void)
{
	const struct warder_pool_options options = { .size = sizeof(options),
						     .empty = WARDER_POOL_LAUNCH,
						     .jails_a_key = 1 };

	/* An overlay, such as a guest may have below /var, takes no whiteouts. */
	if (strchr(dir, 'X') && !mkdtemp(dir)) {
		snprintf(dir, sizeof(dir), "/var/tmp/warder-stale.XXXXXX");
		cr_assert(mkdtemp(dir));
	}
	cr_assert_eq(chmod(dir, 0755), 0);
	policy = library_policy();
	key = (struct warder_pool_key){ .size = sizeof(key), .policy = policy };
	cr_assert(warder_pool_new(&options, &pool, &err) == 0, "%s", err.text);
}

static void end(void)
{
	cr_expect(warder_pool_drain(pool, &err) == 0, "%s", err.text);
	warder_pool_free(pool);
	warder_policy_free(policy);
}

/* What a line of sh writes in a jail of the pool; "" with err: it was not launched. */
static const char *says(const char *line)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)(uintptr_t)line, NULL };
	const struct warder_command command = { .size = sizeof(command), .argv = argv };
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	static char text[200];

	*text = '\0';
	if (warder_pool_launch(pool, &key, &command, &run, &err) == 0 && warder_wait(run, &result, &err) == 0)
		snprintf(text, sizeof(text), "%s", warder_result_output(result, WARDER_STDOUT, NULL, NULL));
	warder_result_free(result);
	warder_run_free(run);
	return text;
}

struct row {
	const char *change, *asks, *before, *after;
};

/* The pool parks a jail, hands it out as long as nothing changes, and not any more after the change. */
static void expect_change(const struct row *row)
{
	const long stale = library_pool_stat(pool, "stale");

	if (warder_pool_fill(pool, &key, 1, &err) != 0)
		cr_skip_test("%s", err.text);
	cr_expect_str_eq(says(row->asks), row->before, "%s: %s", row->change, err.text);
	cr_expect_eq(library_pool_stat(pool, "stale"), stale, "%s: stale without a change", row->change);
	cr_assert_eq(warder_pool_fill(pool, &key, 1, &err), 0, "%s", err.text);
	change(row->change);
	cr_expect_str_eq(says(row->asks), row->after, "%s: %s", row->change, err.text);
	cr_expect_eq(library_pool_stat(pool, "stale"), stale + 1, "%s", row->change);
}

Test(pool_stale, what_a_directory_view_has_at_its_top, .timeout = 120)
{
	static const struct row rows[] = {
		{ "rm link && ln -s second link", "readlink /link", "first\n", "second\n" },
		{ "ln -s third new && mv -T new link", "readlink /link", "second\n", "third\n" },
		{ "mkdir added", "ls -d /a* 2>&-", "", "/added\n" },
		{ "rmdir added", "ls -d /a* 2>&-", "/added\n", "" },
	};

	begin();
	change("mkdir root && cd root && ln -s first link && mkdir usr && "
	       "for name in bin lib lib64; do ln -s usr/$name $name; done");
	set_below("filesystem.view", "directory:", "/root");
	set("filesystem.paths.readOnly", "/usr");
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char line[100];
		struct row row = rows[i];

		snprintf(line, sizeof(line), "cd root && %s", row.change);
		row.change = line;
		expect_change(&row);
	}
	end();
	change("rm -r root");
	rmdir(dir);
}

/* A target that a read-only directory lacks is shown there all the same: then its entries are mounted one by one. */
Test(pool_stale, what_a_directory_has_that_is_taken_apart, .timeout = 120)
{
	static const struct row rows[] = {
		{ "touch whole/new", "cd /seen && echo *", "file sub\n", "file new sub\n" },
		{ "echo second > new && mv new whole/file", "cat /seen/file", "first\n", "second\n" },
	};

	begin();
	change("mkdir whole part && echo first > whole/file");
	set_below("filesystem.paths.readOnly", "", "/whole:/seen");
	set_below("filesystem.paths.readOnly", "", "/part:/seen/sub");
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		expect_change(&rows[i]);
	end();
	change("rm -r whole part");
	rmdir(dir);
}

/* Another image gets the name, and then none has it. */
Test(pool_stale, the_image_of_a_name, .timeout = 120)
{
	static const struct row row = {
		"python3 -c \"import json; path = 'store/images/names/two.json'; it = json.load(open(path));"
		" it['layers'].pop(); json.dump(it, open('new', 'w'))\" && chmod 600 new && "
		"mv new store/images/names/two.json",
		"cat /etc/version", "two\n", "one\n"
	};
	char line[100];

	begin();
	snprintf(line, sizeof(line), "python3 tests/lib/image.py %s/store", dir);
	cr_assert_eq(system(line), 0);
	snprintf(line, sizeof(line), "%s/store", dir);
	setenv("WARDER_STORE", line, 1);
	set("filesystem.view", "image:two");
	expect_change(&row);
	cr_assert_eq(warder_pool_fill(pool, &key, 1, &err), 0, "%s", err.text);
	change("rm store/images/names/two.json");
	cr_expect_str_eq(says("cat /etc/version"), "");
	cr_expect(strstr(err.text, "there is no image two"), "%s", err.text);
	end();
	change("rm -r store");
	rmdir(dir);
}

/* In a child with a /etc of its own, which lacks nearly everything. 0; 1: it is not as it should be; 2: it cannot be tried. */
static int change_host(void)
{
	static const char ask[] = "readlink /etc/localtime; ls /etc/os-release 2>&-";
	const char *said;
	bool right;

	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("etc", "/etc", "tmpfs", 0, "mode=755") != 0 ||
	    symlink("/usr/share/zoneinfo/UTC", "/etc/localtime") != 0)
		return 2;
	begin();
	if (warder_pool_fill(pool, &key, 1, &err) != 0)
		return 2;
	said = says(ask);
	right = strcmp(said, "/usr/share/zoneinfo/UTC\n") == 0;
	for (int i = 0; i < 2 && right; i++) {
		right = warder_pool_fill(pool, &key, 1, &err) == 0 && library_pool_stat(pool, "stale") == i;
		change(i ? "echo x > /etc/os-release" : "ln -sf /usr/share/zoneinfo /etc/localtime");
		said = says(ask);
		right = right && strcmp(said, i ? "/usr/share/zoneinfo\n/etc/os-release\n"
						: "/usr/share/zoneinfo\n") == 0;
	}
	if (!right)
		fprintf(stderr, "said \"%s\": %s\n", said, err.text);
	warder_pool_free(pool);
	rmdir(dir);
	return right ? 0 : 1;
}

Test(pool_stale, links_and_missing_files_of_the_host, .timeout = 120)
{
	const pid_t child = fork();
	int status;

	if (child == 0)
		_exit(change_host());
	cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		cr_skip_test("no jails, or no mount namespace, for this user");
	cr_expect_eq(WEXITSTATUS(status), 0);
}
