#include "base/array.h"
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set(struct policy *policy, const char *path, const char *value)
{
	struct warder_error err = { 0 };

	cr_assert(policy_set(policy, path, value, &err) == 0, "%s = %s: %s", path, value, err.text);
}

/* "NAME=value NAME=value" of environment.set. */
static void list(const struct policy *policy, char *ret, size_t size)
{
	size_t used = 0;

	*ret = '\0';
	for (size_t i = 0; i < policy->environment.set_count; i++)
		used += (size_t)snprintf(ret + used, size - used, "%s%s=%s", i ? " " : "",
					 policy->environment.set[i].name, policy->environment.set[i].value);
}

Test(policy_provide, only_missing_names_that_are_granted_are_filled, .timeout = 20)
{
	char *caller[] = { (char *)"THERE=caller", (char *)"EMPTY=", (char *)"A_LONGER=x", NULL };
	static const struct {
		const char *label, *mode, *names[3], *rows[4], *filled, *warning;
		int ret;
	} rows[] = {
		{ "granted", "allowList", { "A" }, { "A=1" }, "SET=policy A=1", NULL, 0 },
		{ "with an equals sign", "allowList", { "A" }, { "A=1=2" }, "SET=policy A=1=2", NULL, 0 },
		{ "empty", "allowList", { "A" }, { "A=" }, "SET=policy A=", NULL, 0 },
		{ "the caller has it", "allowList", { "THERE" }, { "THERE=1" }, "SET=policy", NULL, 0 },
		{ "the caller's is empty", "allowList", { "EMPTY" }, { "EMPTY=1" }, "SET=policy", NULL, 0 },
		{ "the policy sets it", "allowList", { "SET" }, { "SET=1" }, "SET=policy", NULL, 0 },
		{ "twice", "allowList", { "A" }, { "A=1", "A=2" }, "SET=policy A=2", NULL, 0 },
		{ "nothing", "allowList", { "A" }, { NULL }, "SET=policy", NULL, 0 },
		{ "any name", "host", { NULL }, { "ANY=1", "THERE=1" }, "SET=policy ANY=1", NULL, 0 },
		{ "one that is not granted",
		  "allowList",
		  { "A" },
		  { "B=1", "A=2" },
		  "SET=policy A=2",
		  "the policy does not grant B, so it is left out",
		  1 },
		{ "mode none",
		  "none",
		  { NULL },
		  { "B=1", "C=2" },
		  "SET=policy",
		  "the policy does not grant B, C, so they are left out",
		  1 },
		{ "no row",
		  "allowList",
		  { "A" },
		  { "A", "A=2" },
		  "SET=policy A=2",
		  "row 1 is not NAME=VALUE",
		  1 },
		{ "no name",
		  "host",
		  { NULL },
		  { "1A=secret" },
		  "SET=policy",
		  "a row does not begin with a valid variable name",
		  1 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct policy policy = { 0 };
		struct warder_error err = { 0 };
		char filled[200];

		cr_assert(policy_preset("strict", &policy, &err) == 0);
		set(&policy, "environment.mode", rows[i].mode);
		set(&policy, "environment.set.SET", "policy");
		for (size_t j = 0; rows[i].names[j]; j++)
			set(&policy, "environment.names", rows[i].names[j]);
		cr_expect_eq(policy_provide(&policy, caller, (char *const *)(uintptr_t)rows[i].rows, &err),
			     rows[i].ret, "%s", rows[i].label);
		list(&policy, filled, sizeof(filled));
		cr_expect_str_eq(filled, rows[i].filled, "%s: %s", rows[i].label, filled);
		cr_expect(!rows[i].warning ||
			      strncmp(err.text, rows[i].warning, strlen(rows[i].warning)) == 0,
			  "%s: %s", rows[i].label, err.text);
		cr_expect(!strstr(err.text, "secret"), "%s", err.text);
		policy_done(&policy);
	}
}

Test(policy_provide, what_no_program_can_get_is_left_out, .timeout = 20)
{
	enum { TOO_LONG = 131072, MANY = 1100 };
	struct policy policy = { 0 };
	struct warder_error err = { 0 };
	char *big = malloc(TOO_LONG + 1), *rows[MANY + 1] = { big };

	cr_assert(policy_preset("strict", &policy, &err) == 0 && big);
	set(&policy, "environment.mode", "host");
	memset(big, 'x', TOO_LONG);
	memcpy(big, "BIG=", 4);
	big[TOO_LONG] = '\0';
	cr_expect_eq(policy_provide(&policy, NULL, rows, &err), 1);
	cr_expect(strstr(err.text, "BIG: name and value have 131072 bytes"), "%s", err.text);
	big[TOO_LONG - 1] = '\0';
	cr_expect_eq(policy_provide(&policy, NULL, rows, &err), 0);
	cr_expect_eq(policy_validate(&policy, &err), 0, "%s", err.text);
	for (size_t i = 0; i < MANY; i++)
		cr_assert(asprintf(&rows[i], "N%zu=1", i) > 0);
	cr_expect_eq(policy_provide(&policy, NULL, rows, &err), 1);
	cr_expect(strstr(err.text, "more than 1024 rows"), "%s", err.text);
	for (size_t i = 0; i < MANY; i++)
		free(rows[i]);
	free(big);
	policy_done(&policy);
}
