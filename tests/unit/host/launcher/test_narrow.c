/* host/launcher/narrow.c: what a client's wish leaves of a template's network, and that nothing can be added. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "host/launcher/narrow.h"
#include "policy/policy.h"
#include "runtime/library/library.h"

#define LIMITS "\"limits\": {\"wallTime\": \"1h\"}"

static const char allow[] =
    "{\"version\": 1, " LIMITS
    ", \"network\": {\"mode\": \"allow\", \"allow\": [{\"host\": \"pypi.org\", \"ports\": [443, 80]},"
    " {\"host\": \"*.example.org\", \"ports\": [443, 8443]}, {\"cidr\": \"203.0.113.0/24\", \"ports\": [22]},"
    " {\"cidr\": \"2001:db8::/32\", \"ports\": [22]}], \"deny\": [{\"host\": \"bad.example.org\"}]}}";
static const char none[] = "{\"version\": 1, " LIMITS "}";
static const char host[] = "{\"version\": 1, " LIMITS ", \"network\": {\"mode\": \"host\"}}";

/* "host:ports cidr:ports - denied", or the error. */
static void describe_by(int (*narrow)(struct warder_policy **policy, const struct json_value *wish,
				      struct warder_error *err),
			const char *document, const char *wish_text, char *ret, size_t size)
{
	struct warder_policy *policy = NULL;
	struct json_value *wish = NULL;
	struct warder_error err = { 0 };
	char row[400];
	size_t len = 0;

	cr_assert_eq(warder_policy_parse(document, strlen(document), "test", &policy, &err), 0, "%s",
		     err.text);
	cr_assert_eq(json_parse(wish_text, strlen(wish_text), "wish", NULL, &wish, &err), 0, "%s", err.text);
	if (narrow(&policy, wish, &err) < 0) {
		snprintf(ret, size, "%s: %u", err.field, (unsigned int)err.code);
	} else {
		const struct policy *is = &policy->policy;

		len = (size_t)snprintf(ret, size, "%d", (int)is->network.mode);
		for (size_t i = 0; i < is->network.allow.count; i++)
			len += (size_t)snprintf(
			    ret + len, size - len, " %s",
			    policy_format_endpoint(&is->network.allow.items[i], row, sizeof(row)));
		for (size_t i = 0; i < is->network.deny.count; i++)
			len += (size_t)snprintf(
			    ret + len, size - len, " -%s",
			    policy_format_endpoint(&is->network.deny.items[i], row, sizeof(row)));
	}
	json_free(wish);
	warder_policy_free(policy);
}

static void describe(const char *document, const char *wish_text, char *ret, size_t size)
{
	describe_by(narrow_network, document, wish_text, ret, size);
}

/* The mode of a sandbox that runs stays. Without a list of destinations there is nothing to deny. */
Test(narrow, takes_all_from_one_that_runs, .timeout = 20)
{
	char whole[1000], found[1000], wanted[1200];

	describe(allow, "{}", whole, sizeof(whole));
	describe_by(narrow_running, allow, "{\"none\": true}", found, sizeof(found));
	snprintf(wanted, sizeof(wanted), "%s -pypi.org -*.example.org -203.0.113.0/24 -2001:db8::/32", whole);
	cr_expect_str_eq(found, wanted, "%s", found);
	describe_by(narrow_running, allow, "{\"none\": false, \"allow\": [\"pypi.org\"]}", found,
		    sizeof(found));
	snprintf(wanted, sizeof(wanted), "%d pypi.org:443,80 -bad.example.org", (int)POLICY_NETWORK_ALLOW);
	cr_expect_str_eq(found, wanted, "%s", found);
	describe_by(narrow_running, none, "{\"none\": true}", found, sizeof(found));
	snprintf(wanted, sizeof(wanted), "%d", (int)POLICY_NETWORK_NONE);
	cr_expect_str_eq(found, wanted, "%s", found);
}

Test(narrow, leaves_what_both_allow, .timeout = 20)
{
	char whole[1000], found[1000], wanted[1000];
	char rejected_allow[60], rejected_deny[60], invalid_allow[60], invalid_deny[60];
	const struct {
		const char *document, *wish, *wanted;
	} rows[] = {
		{ allow, "{}", "=" },
		{ allow, "{\"allow\": [], \"deny\": []}", "=" },
		{ allow, "{\"allow\": [\"pypi.org\"]}", "A pypi.org:443,80 -bad.example.org" },
		{ allow, "{\"allow\": [\"PyPI.org\", \"pypi.org\"]}", "A pypi.org:443,80 -bad.example.org" },
		{ allow, "{\"allow\": [\"a.example.org\"]}", "A a.example.org:443,8443 -bad.example.org" },
		{ allow, "{\"allow\": [\"*.a.example.org\"]}",
		  "A *.a.example.org:443,8443 -bad.example.org" },
		{ allow, "{\"allow\": [\"203.0.113.7\"]}", "A 203.0.113.7/32:22 -bad.example.org" },
		{ allow, "{\"allow\": [\"203.0.112.0/20\"]}", "A 203.0.113.0/24:22 -bad.example.org" },
		{ allow, "{\"allow\": [\"2001:db8::1\"]}", "A [2001:db8::1/128]:22 -bad.example.org" },
		{ allow, "{\"allow\": [\"0.0.0.0/0\"]}",
		  "A pypi.org:443,80 *.example.org:443,8443 203.0.113.0/24:22 -bad.example.org" },
		{ allow, "{\"deny\": [\"203.0.113.9\", \"pypi.org\"]}", "= -203.0.113.9/32 -pypi.org" },
		{ allow, "{\"allow\": [\"pypi.org\"], \"deny\": [\"0.0.0.0/0\"]}",
		  "A pypi.org:443,80 -bad.example.org" },
		{ allow, "{\"deny\": [\"0.0.0.0/0\"]}", "= -0.0.0.0/0" },
		{ allow, "{\"none\": true}", "N" },
		{ allow, "{\"allow\": [\"evil.org\"]}", "REJECTED allowOut" },
		{ allow, "{\"allow\": [\"pypi.org\", \"evil.org\"]}", "REJECTED allowOut" },
		{ allow, "{\"allow\": [\"example.org\"]}", "REJECTED allowOut" },
		{ allow, "{\"allow\": [\"10.0.0.1\"]}", "REJECTED allowOut" },
		{ allow, "{\"allow\": \"pypi.org\"}", "INVALID allowOut" },
		{ allow, "{\"deny\": [5]}", "INVALID denyOut" },
		{ none, "{\"none\": true}", "N" },
		{ none, "{\"deny\": [\"0.0.0.0/0\"]}", "N" },
		{ none, "{\"allow\": [\"pypi.org\"]}", "REJECTED allowOut" },
		{ host, "{\"none\": true}", "N" },
		{ host, "{\"allow\": [\"pypi.org\"]}", "REJECTED allowOut" },
		{ host, "{\"deny\": [\"10.0.0.0/8\"]}", "REJECTED denyOut" },
	};

	describe(allow, "{}", whole, sizeof(whole));
	snprintf(rejected_allow, sizeof(rejected_allow), "network.allowOut: %d", WARDER_ERROR_REJECTED);
	snprintf(rejected_deny, sizeof(rejected_deny), "network.denyOut: %d", WARDER_ERROR_REJECTED);
	snprintf(invalid_allow, sizeof(invalid_allow), "network.allowOut: %d", WARDER_ERROR_INVALID_REQUEST);
	snprintf(invalid_deny, sizeof(invalid_deny), "network.denyOut: %d", WARDER_ERROR_INVALID_REQUEST);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *text = rows[i].wanted;

		if (*text == '=')
			snprintf(wanted, sizeof(wanted), "%s%s", whole, text + 1);
		else if (*text == 'A')
			snprintf(wanted, sizeof(wanted), "%d%s", (int)POLICY_NETWORK_ALLOW, text + 1);
		else if (*text == 'N')
			snprintf(wanted, sizeof(wanted), "%d", (int)POLICY_NETWORK_NONE);
		else
			snprintf(wanted, sizeof(wanted), "%s",
				 strstr(text, "allow") ? (*text == 'R' ? rejected_allow : invalid_allow)
						       : (*text == 'R' ? rejected_deny : invalid_deny));
		describe(rows[i].document, rows[i].wish, found, sizeof(found));
		cr_expect_str_eq(found, wanted, "%s\n  is     %s\n  wanted %s", rows[i].wish, found, wanted);
	}
}
