/*
 * What a source of variables may add to a policy: only names that the policy grants anyway, and that nobody has set.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "policy/policy.h"
#include "policy/values.h"

#define LISTED 3 /* names in a message */

enum variable_fate {
	VARIABLE_MISSING, /* not set yet: the row fills it */
	VARIABLE_THERE,   /* set by the policy or the caller */
	VARIABLE_REFUSED, /* the policy does not grant it */
	VARIABLE_INVALID, /* not a valid NAME=VALUE */
};

static bool has_variable(char *const *environment, const char *name, size_t length)
{
	for (; environment && *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return true;
	return false;
}

/* `name` gets the name of a row that is not VARIABLE_INVALID. */
static enum variable_fate judge(const struct policy *policy, char *const *caller, const char *row,
				char name[POLICY_VARIABLE_NAME])
{
	const size_t length = strcspn(row, "=");

	if (!row[length] || length >= POLICY_VARIABLE_NAME)
		return VARIABLE_INVALID;
	memcpy(name, row, length);
	name[length] = '\0';
	if (policy_variable_fault(name) || strlen(row) + 1 > POLICY_VARIABLE_BYTES)
		return VARIABLE_INVALID;
	if (policy_variable_of(policy, name))
		return VARIABLE_THERE;
	if (policy->environment.mode != POLICY_ENVIRONMENT_HOST &&
	    !policy_strings_have(&policy->environment.names, name))
		return VARIABLE_REFUSED;
	return has_variable(caller, name, length) ? VARIABLE_THERE : VARIABLE_MISSING;
}

/* No message has a value, which may be a secret; nor what is no name, which may be the end of a value with several lines. */
static void tell_invalid(const char *row, size_t number, struct warder_error *err)
{
	const int length = (int)strcspn(row, "=");
	char name[POLICY_VARIABLE_NAME];

	snprintf(name, sizeof(name), "%.*s", length, row);
	if (!row[length])
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "environment",
			  "row %zu is not NAME=VALUE, so it is left out", number);
	else if ((size_t)length < sizeof(name) && !policy_variable_fault(name))
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "environment",
			  "%.60s: name and value have %zu bytes, and the kernel takes at most %d, so the "
			  "variable is left out",
			  name, strlen(row), POLICY_VARIABLE_BYTES - 1);
	else
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "environment",
			  "a row does not begin with a valid variable name, so it is left out; write "
			  "letters, digits and _");
}

/* 1 with *err: a row is left out. The first invalid one is named, or else those that are not granted. */
static int tell_left_out(const struct policy *policy, char *const *caller, char *const *rows,
			 struct warder_error *err)
{
	char name[POLICY_VARIABLE_NAME], names[(LISTED + 1) * 64] = "";
	size_t refused = 0, used = 0;

	for (size_t i = 0; rows[i]; i++) {
		const enum variable_fate fate = judge(policy, caller, rows[i], name);

		if (fate == VARIABLE_INVALID) {
			tell_invalid(rows[i], i + 1, err);
			return 1;
		}
		if (fate == VARIABLE_REFUSED && refused++ < LISTED)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.60s",
						 used ? ", " : "", name);
	}
	if (!refused)
		return 0;
	if (refused > LISTED)
		snprintf(names + used, sizeof(names) - used, " and %zu more", refused - LISTED);
	error_set(err, WARDER_ERROR_REJECTED, "environment.names",
		  "the policy does not grant %s, so %s left out; environment.names (--env NAME) grants a "
		  "variable",
		  names, refused == 1 ? "it is" : "they are");
	return 1;
}

int policy_provide(struct policy *policy, char *const *caller, char *const *rows, struct warder_error *err)
{
	char name[POLICY_VARIABLE_NAME];
	const int left_out = tell_left_out(policy, caller, rows, err);
	size_t count = 0;

	while (rows[count])
		count++;
	/* From the end: of two rows with one name the later one counts. */
	while (count-- > 0) {
		struct warder_error full;

		if (judge(policy, caller, rows[count], name) != VARIABLE_MISSING)
			continue;
		if (policy_variable_set(policy, name, strchr(rows[count], '=') + 1, &full) != 0) {
			*err = full;
			return full.code == WARDER_ERROR_INTERNAL ? -1 : 1;
		}
	}
	return left_out;
}
