#include <criterion/criterion.h>
#include <stdio.h>

#include "runtime/service/policies.h"
#include "runtime/warder.h"

static struct policies policies = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *text_of(unsigned int pids, char text[64])
{
	snprintf(text, 64, "{\"version\": 1, \"limits\": {\"wallTime\": \"1s\", \"pids\": %u}}", pids);
	return text;
}

static struct warder_policy *take(unsigned int pids)
{
	struct warder_policy *policy = NULL;
	struct warder_error err = { 0 };
	char text[64];

	cr_assert(policies_take(&policies, text_of(pids, text), &policy, &err) == 0, "%s", err.text);
	cr_expect_eq(policy->policy.limits.pids_max, pids);
	return policy;
}

Test(policies, a_text_is_read_once, .timeout = 20)
{
	struct warder_policy *first = take(10), *other = take(11), *again;

	cr_expect_neq(first, other);
	policies_give_back(&policies, first);
	again = take(10);
	cr_expect_eq(again, first);
	policies_give_back(&policies, again);
	policies_give_back(&policies, other);
	policies_give_back(&policies, NULL);
	policies_done(&policies);
}

/* The policies that are in use stay, and one for which there is no room is read and freed. */
Test(policies, more_than_are_kept, .timeout = 20)
{
	struct warder_policy *used[2 * POLICIES_KEPT];

	for (unsigned int i = 0; i < 2 * POLICIES_KEPT; i++)
		used[i] = take(10 + i);
	for (unsigned int i = 0; i < 2 * POLICIES_KEPT; i++)
		cr_expect_eq(used[i]->policy.limits.pids_max, 10 + i);
	for (unsigned int i = 0; i < 2 * POLICIES_KEPT; i++)
		policies_give_back(&policies, used[i]);
	for (unsigned int i = 0; i < 2 * POLICIES_KEPT; i++)
		policies_give_back(&policies, take(10 + i));
	policies_done(&policies);
}

Test(policies, a_text_that_is_no_policy, .timeout = 20)
{
	struct warder_policy *policy = NULL;
	struct warder_error err = { 0 };

	for (int i = 0; i < 2; i++)
		cr_expect(policies_take(&policies, "{", &policy, &err) < 0 && !policy);
	policies_done(&policies);
}
