#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "host/launcher/call.h"
#include "host/launcher/stock.h"
#include "policy/policy.h"

static struct launcher launcher;
static char logged[2000];
static size_t lines;
static uint64_t kind; /* of the last one that was created */

static void log_line(const char *line)
{
	snprintf(logged, sizeof(logged), "%s", line);
	lines++;
}

static const struct launcher_options options = { .program = "/bin/false", .log = log_line };

static void begin(void)
{
	struct warder_error err = { 0 };

	launcher = (struct launcher){ .options = &options };
	launcher.settings.limits.parked_sandboxes = 32;
	launcher.stock.tended_us = clock_us(); /* its tenants are of the test alone */
	cr_assert(jobs_init(&launcher.jobs, &err) == 0, "%s", err.text);
}

/* The tenant creates a sandbox with a policy of that number. */
static void create(const char *tenant, int number)
{
	static const char text[] = "{\"version\": 1, \"limits\": {\"wallTime\": \"1s\"}}";
	struct call call = { .record = (char[]){ "{}" } };
	struct warder_policy *policy = NULL;
	struct warder_error err = { 0 };
	char value[20];

	snprintf(call.tenant, sizeof(call.tenant), "%s", tenant);
	snprintf(call.tenant_digest, sizeof(call.tenant_digest), "digest of %s", tenant);
	snprintf(value, sizeof(value), "%d", number);
	cr_assert(warder_policy_parse(text, sizeof(text) - 1, NULL, &policy, &err) == 0, "%s", err.text);
	cr_assert(warder_policy_set(policy, "environment.set.NUMBER", value, &err) == 0, "%s", err.text);
	cr_expect_null(stock_take(&launcher, &call, policy, &kind));
	warder_policy_free(policy);
}

/* Begin what is to be parked, as if clients had been quiet for a moment. Returns how many that are. */
static size_t tend(void)
{
	launcher.stock.taken_us = 0;
	launcher.stock.tended_us = clock_us();
	stock_tend(&launcher);
	return launcher.stock.building;
}

static void await(void)
{
	struct pollfd fd = { .fd = launcher.jobs.fd, .events = POLLIN };

	while (launcher.stock.building)
		if (poll(&fd, 1, -1) > 0)
			jobs_finish(&launcher.jobs, &launcher);
}

Test(stock, policies_that_are_used_once_are_not_parked, .timeout = 60)
{
	begin();
	for (int i = 0; i < 3000; i++)
		create("a", i);
	cr_expect(launcher.stock.kind_count == 16, "%zu kinds", launcher.stock.kind_count);
	cr_expect(tend() == 0, "%zu are parked", launcher.stock.building);
	cr_expect_eq(launcher.stock.missed, 3000);
	create("a", 2999);
	cr_expect(tend() >= 1);
	await();
	stock_done(&launcher.stock);
	cr_expect_eq(launcher.stock.kind_count, 0);
	cr_expect_null(launcher.stock.owners);
}

Test(stock, a_kind_that_is_used_outlasts_those_of_others, .timeout = 60)
{
	char name[20];

	begin();
	create("quiet", 0);
	for (int i = 0; i < 1000; i++)
		for (int tenant = 0; tenant < 6; tenant++) {
			snprintf(name, sizeof(name), "busy%d", tenant);
			create(name, i);
		}
	cr_expect(launcher.stock.kind_count == 64, "%zu kinds", launcher.stock.kind_count);
	cr_expect_eq(tend(), 0);
	create("quiet", 0);
	cr_expect(tend() >= 1, "the kind of the quiet tenant was dropped");
	await();
	for (int tenant = 0; tenant < 200; tenant++) {
		snprintf(name, sizeof(name), "other%d", tenant);
		create(name, 0);
	}
	cr_expect(launcher.stock.kind_count == 64, "%zu kinds", launcher.stock.kind_count);
	stock_done(&launcher.stock);
	cr_expect_null(launcher.stock.owners);
}

Test(stock, of_the_tenants_own_kinds_the_used_one_stays, .timeout = 60)
{
	begin();
	create("a", -1);
	create("a", -1);
	for (int i = 0; i < 100; i++)
		create("a", i);
	cr_expect(tend() >= 1);
	await();
	stock_done(&launcher.stock);
}

Test(stock, a_failure_is_told_once_and_not_repeated, .timeout = 60)
{
	size_t failed;

	begin();
	create("a", 0);
	create("a", 0);
	cr_expect(tend() >= 1);
	await();
	failed = launcher.stock.failed;
	cr_expect(failed >= 1 && lines == 1 && strstr(logged, "tenant a") && strstr(logged, "keeper"),
		  "%zu failed, %zu lines: %s", failed, lines, logged);
	cr_expect_eq(tend(), 0);
	create("a", 0);
	cr_expect_eq(tend(), 0); /* it is too early */
	cr_expect(launcher.stock.failed == failed && lines == 1);
	stock_done(&launcher.stock);
}
