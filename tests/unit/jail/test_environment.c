#include "base/array.h"
#include "jail/environment.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* A name that begins with another one comes before it. */
static char *const host[] = { (char *)"PATH=/host/bin",
			      (char *)"SECRETARY=somebody",
			      (char *)"SECRET=hidden",
			      (char *)"LANG=de_DE.UTF-8",
			      (char *)"EMPTY=",
			      (char *)"EQUALS=a=b",
			      (char *)"no equals sign",
			      (char *)"SECRET=twice",
			      NULL };

static size_t count(char *const *environment)
{
	size_t n = 0;

	while (environment[n])
		n++;
	return n;
}

/* "NAME=value" is in it, once; NULL value: the name is not in it at all. */
static void expect(char *const *environment, const char *name, const char *value, const char *label)
{
	const char *found = environment_get(environment, name);
	size_t len = strlen(name);
	int times = 0;

	for (; *environment; environment++)
		times += strncmp(*environment, name, len) == 0 && (*environment)[len] == '=';
	cr_expect_eq(times, value != NULL, "%s: %s is there %d times", label, name, times);
	cr_expect(value ? found && strcmp(found, value) == 0 : !found, "%s: %s is \"%s\"", label, name,
		  found ? found : "unset");
}

/* Names and values are the policy's own heap strings. */
static struct policy policy_with(enum policy_environment_mode mode)
{
	struct warder_error err;
	struct policy policy;

	cr_assert_eq(policy_preset("strict", &policy, &err), 0);
	policy.environment.mode = mode;
	return policy;
}

static void set(struct policy *policy, const char *path, const char *value)
{
	struct warder_error err;

	cr_assert_eq(policy_set(policy, path, value, &err), 0, "%s", err.text);
}

Test(environment, nothing_of_the_hosts, .timeout = 20)
{
	owned_policy struct policy policy = policy_with(POLICY_ENVIRONMENT_NONE);
	char **environment = environment_build(&policy, NULL, host);

	cr_assert_not_null(environment);
	cr_expect_eq(count(environment), 4);
	expect(environment, "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "none");
	expect(environment, "HOME", "/tmp", "none");
	expect(environment, "TMPDIR", "/tmp", "none");
	expect(environment, "LANG", "C.UTF-8", "none");
	expect(environment, "SECRET", NULL, "none");
	environment_free(environment);
}

Test(environment, only_the_names_of_the_list, .timeout = 20)
{
	owned_policy struct policy policy = policy_with(POLICY_ENVIRONMENT_ALLOW_LIST);
	char **environment;

	set(&policy, "environment.names", "LANG");
	set(&policy, "environment.names", "EMPTY");
	set(&policy, "environment.names", "EQUALS");
	set(&policy, "environment.names", "ABSENT");
	environment = environment_build(&policy, NULL, host);
	cr_assert_not_null(environment);
	cr_expect_eq(count(environment), 6);
	expect(environment, "LANG", "de_DE.UTF-8", "list"); /* in the place of the base's */
	expect(environment, "EMPTY", "", "list");
	expect(environment, "EQUALS", "a=b", "list");
	expect(environment, "ABSENT", NULL, "list");
	expect(environment, "SECRET", NULL, "list");
	expect(environment, "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "list");
	environment_free(environment);
}

/* A name of the list is a whole name: what only begins with it stays out. */
Test(environment, a_name_is_no_prefix, .timeout = 20)
{
	static char *const longer[] = { (char *)"SECRETARY=somebody", NULL };
	owned_policy struct policy policy = policy_with(POLICY_ENVIRONMENT_ALLOW_LIST);
	char **environment;

	set(&policy, "environment.names", "SECRET");
	environment = environment_build(&policy, NULL, longer);
	cr_assert_not_null(environment);
	expect(environment, "SECRET", NULL, "prefix");
	expect(environment, "SECRETARY", NULL, "prefix");
	environment_free(environment);
}

Test(environment, all_of_the_hosts, .timeout = 20)
{
	owned_policy struct policy policy = policy_with(POLICY_ENVIRONMENT_HOST);
	char **environment = environment_build(&policy, NULL, host);

	cr_assert_not_null(environment);
	expect(environment, "PATH", "/host/bin", "host");
	expect(environment, "HOME", "/tmp", "host"); /* the host has none: the base's stays */
	expect(environment, "SECRET", "twice", "host");
	expect(environment, "SECRETARY", "somebody", "host");
	for (char **variable = environment; *variable; variable++)
		cr_expect(strchr(*variable, '='), "\"%s\" is no variable", *variable);
	environment_free(environment);
}

Test(environment, the_policys_own_win, .timeout = 20)
{
	static const enum policy_environment_mode modes[] = { POLICY_ENVIRONMENT_NONE,
							      POLICY_ENVIRONMENT_ALLOW_LIST,
							      POLICY_ENVIRONMENT_HOST };

	for (size_t i = 0; i < ARRAY_LENGTH(modes); i++) {
		owned_policy struct policy policy = policy_with(modes[i]);
		char **environment;

		if (modes[i] == POLICY_ENVIRONMENT_ALLOW_LIST)
			set(&policy, "environment.names", "SECRET");
		set(&policy, "environment.set.SECRET", "mine");
		set(&policy, "environment.set.PATH", "/only");
		environment = environment_build(&policy, NULL, host);
		cr_assert_not_null(environment);
		expect(environment, "SECRET", "mine", "set");
		expect(environment, "PATH", "/only", "set");
		environment_free(environment);
	}
}

Test(environment, no_host, .timeout = 20)
{
	static const enum policy_environment_mode modes[] = { POLICY_ENVIRONMENT_ALLOW_LIST,
							      POLICY_ENVIRONMENT_HOST };

	for (size_t i = 0; i < ARRAY_LENGTH(modes); i++) {
		owned_policy struct policy policy = policy_with(modes[i]);
		char **environment = environment_build(&policy, NULL, NULL);

		cr_assert_not_null(environment);
		cr_expect_eq(count(environment), 4);
		environment_free(environment);
	}
}

Test(environment, merging, .timeout = 20)
{
	static char *const base[] = { (char *)"A=1", (char *)"B=2", NULL };
	static char *const extra[] = { (char *)"B=3", (char *)"C=4", (char *)"broken", (char *)"C=5", NULL };
	char **merged = environment_merge(base, extra);
	char **copy = environment_merge(base, NULL);
	char **nothing = environment_merge(NULL, NULL);

	cr_assert(merged && copy && nothing);
	cr_expect_eq(count(merged), 3);
	expect(merged, "A", "1", "merged");
	expect(merged, "B", "3", "merged");
	expect(merged, "C", "5", "merged");
	cr_expect_eq(count(copy), 2);
	cr_expect(copy[0] != base[0], "the copy is its own");
	cr_expect_eq(count(nothing), 0);
	cr_expect_null(environment_get(NULL, "A"));
	environment_free(merged);
	environment_free(copy);
	environment_free(nothing);
	environment_free(NULL);
}
