#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/launcher/repeats.h"

static void add(struct repeats *repeats, const char *tenant, int number, size_t bytes, uint64_t now_us)
{
	char key[32];
	char *answer = calloc(1, bytes + 1);
	struct repeat *row;

	snprintf(key, sizeof(key), "k%d", number);
	row = repeats_begin(repeats, tenant, key, "digest");
	cr_assert(answer && row);
	memset(answer, 'x', bytes);
	repeats_finish(repeats, row, answer, now_us);
	free(answer);
}

Test(repeats, a_row_is_found_by_tenant_and_key, .timeout = 60)
{
	struct repeats repeats = { 0 };
	struct repeat *row = repeats_begin(&repeats, "a", "key", "digest");

	cr_assert_not_null(row);
	cr_expect_eq(repeats_find(&repeats, "a", "key"), row);
	cr_expect_null(repeats_find(&repeats, "b", "key"));
	cr_expect_null(repeats_find(&repeats, "a", "other"));
	cr_expect_eq(row->ended_us, 0);
	repeats_finish(&repeats, row, "answer", 5);
	cr_expect_str_eq(repeats_find(&repeats, "a", "key")->answer, "answer");
	repeats_sweep(&repeats, 4 + REPEATS_KEPT_US);
	cr_expect_not_null(repeats_find(&repeats, "a", "key"));
	repeats_sweep(&repeats, 5 + REPEATS_KEPT_US);
	cr_expect_null(repeats_find(&repeats, "a", "key"));
	repeats_done(&repeats);
}

Test(repeats, a_lost_answer_keeps_the_key, .timeout = 60)
{
	struct repeats repeats = { 0 };
	struct repeat *row = repeats_begin(&repeats, "a", "key", "digest");

	cr_assert_not_null(row);
	repeats_finish(&repeats, row, NULL, 5);
	cr_assert_eq(repeats_find(&repeats, "a", "key"), row);
	cr_expect_null(row->answer);
	cr_expect_eq(row->ended_us, 5);
	repeats_sweep(&repeats, 5 + REPEATS_KEPT_US);
	cr_expect_null(repeats_find(&repeats, "a", "key"));
	repeats_done(&repeats);
}

Test(repeats, bytes_are_bounded_and_the_oldest_goes_first, .timeout = 60)
{
	struct repeats repeats = { 0 };

	add(&repeats, "quiet", 0, 100, 1);
	for (int i = 0; i < 20; i++)
		add(&repeats, "greedy", i, (size_t)1 << 20, 2);
	cr_expect_null(repeats_find(&repeats, "greedy", "k11"));
	cr_expect_not_null(repeats_find(&repeats, "greedy", "k12"));
	cr_expect_not_null(repeats_find(&repeats, "greedy", "k19"));
	for (int tenant = 0; tenant < 12; tenant++) {
		char name[16];

		snprintf(name, sizeof(name), "t%d", tenant);
		for (int i = 0; i < 7; i++)
			add(&repeats, name, i, (size_t)1 << 20, 3);
	}
	cr_expect_not_null(repeats_find(&repeats, "quiet", "k0"), "a tenant with little is not pushed out");
	repeats_done(&repeats);
	cr_expect_null(repeats.tenants);
	cr_expect_eq(repeats.bytes, 0);
}

/* Each answer beyond the limit drops another one, without a look at all rows. */
Test(repeats, many_small_answers_cost_little_time, .timeout = 20)
{
	struct repeats repeats = { 0 };
	char name[16];

	for (int tenant = 0; tenant < 300; tenant++) {
		snprintf(name, sizeof(name), "t%d", tenant);
		for (int i = 0; i < REPEATS_TENANT_MAX; i++)
			add(&repeats, name, i, 1000, 1);
	}
	cr_expect_leq(repeats.bytes, REPEATS_BYTES_MAX);
	cr_expect_gt(repeats.bytes, REPEATS_BYTES_MAX - 2000);
	repeats_done(&repeats);
}

Test(repeats, a_program_that_runs_is_not_dropped, .timeout = 60)
{
	struct repeats repeats = { 0 };
	char key[32];

	for (int i = 0; i < REPEATS_TENANT_MAX; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		cr_assert_not_null(repeats_begin(&repeats, "a", key, "digest"));
	}
	cr_expect_null(repeats_begin(&repeats, "a", "one more", "digest"));
	cr_expect_not_null(repeats_begin(&repeats, "b", "one more", "digest"));
	repeats_sweep(&repeats, UINT64_MAX);
	cr_expect_not_null(repeats_find(&repeats, "a", "k0"));
	repeats_finish(&repeats, repeats_find(&repeats, "a", "k0"), "", 1);
	cr_expect_not_null(repeats_begin(&repeats, "a", "one more", "digest"));
	cr_expect_null(repeats_find(&repeats, "a", "k0"));
	repeats_done(&repeats);
}
