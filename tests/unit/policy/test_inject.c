/* policy/inject.c: credentials of rows of network.allow, as a document has them and as a ceiling grants them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "policy/policy.h"

/* A document whose network.allow is this. */
static int decode(const char *rows, const char *more, struct policy *ret, struct warder_error *err)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "{\"version\":1,\"limits\":{\"wallTime\":\"1s\"},\"network\":{\"mode\":\"allow\",\"allow\":["
		 "%s]}%s}",
		 rows, more);
	return policy_decode(text, strlen(text), "test", ret, err);
}

#define ROW(more) "{\"host\":\"a.org\",\"ports\":[443],\"inject\":{" more "}}"
#define KEY       "\"header\":\"X-Key\",\"secretFile\":\"/run/key\""

Test(inject, documents, .timeout = 20)
{
	static const struct {
		const char *rows, *more, *field, *text; /* NULL: it is good */
	} rows[] = {
		{ ROW(KEY), "", NULL, NULL },
		{ ROW(KEY ",\"format\":\"Bearer {}\",\"methods\":[\"GET\"],\"paths\":[\"/\",\"/a/\",\"/b\"]"),
		  "", NULL, NULL },
		{ ROW("\"header\":\"X-Key\",\"secretFile\":\"/dev/fd/3\""), "", NULL, NULL },
		{ "{\"host\":\"a.org\",\"ports\":[443],\"inject\":1}", "", "network.allow[0].inject",
		  "a number where an object" },
		{ ROW("\"secretFile\":\"/run/key\""), "", "network.allow[0].inject.header", "missing" },
		{ ROW("\"header\":\"X-Key\""), "", "network.allow[0].inject.secretFile", "missing" },
		{ ROW("\"header\":\"Host\",\"secretFile\":\"/run/key\""), "",
		  "network.allow[0].inject.header", "\"Host\" says how" },
		{ ROW("\"header\":\"content-length\",\"secretFile\":\"/run/key\""), "",
		  "network.allow[0].inject.header", "says how" },
		{ ROW("\"header\":\"X Key\",\"secretFile\":\"/run/key\""), "",
		  "network.allow[0].inject.header", "not the name" },
		{ ROW("\"header\":\"X\\r\\nY\",\"secretFile\":\"/run/key\""), "",
		  "network.allow[0].inject.header", "not the name" },
		{ ROW("\"header\":\"X-Key\",\"secretFile\":\"key\""), "",
		  "network.allow[0].inject.secretFile", "\"key\"" },
		{ ROW("\"header\":\"X-Key\",\"secretFile\":\"/usr/share/key\""), "",
		  "network.allow[0].inject.secretFile", "the program sees \"/usr\"" },
		{ ROW(KEY), ",\"filesystem\":{\"paths\":{\"readOnly\":[\"/run:/x\"]}}",
		  "network.allow[0].inject.secretFile", "the program sees \"/run:/x\"" },
		{ ROW(KEY), ",\"filesystem\":{\"workspace\":\"readWrite:/run\"}",
		  "network.allow[0].inject.secretFile", "the program sees \"/run\"" },
		{ ROW(KEY ",\"format\":\"Bearer\""), "", "network.allow[0].inject.format", "{} once" },
		{ ROW(KEY ",\"format\":\"{} {}\""), "", "network.allow[0].inject.format", "{} once" },
		{ ROW(KEY ",\"format\":\"{}\\r\\nX: y\""), "", "network.allow[0].inject.format",
		  "not printable" },
		{ ROW(KEY ",\"methods\":[]"), "", "network.allow[0].inject.methods", "an empty array" },
		{ ROW(KEY ",\"methods\":[\"TRACE\"]"), "", "network.allow[0].inject.methods[0]",
		  "cannot carry" },
		{ ROW(KEY ",\"methods\":[\"GET\",\"connect\"]"), "", "network.allow[0].inject.methods[1]",
		  "cannot carry" },
		{ ROW(KEY ",\"paths\":[\"/a\",\"b\"]"), "", "network.allow[0].inject.paths[1]",
		  "plain path" },
		{ ROW(KEY ",\"paths\":[\"/a/../b\"]"), "", "network.allow[0].inject.paths[0]", "a segment" },
		{ ROW(KEY ",\"paths\":[\"/a//b\"]"), "", "network.allow[0].inject.paths[0]", "plain path" },
		{ ROW(KEY ",\"paths\":[\"/%61\"]"), "", "network.allow[0].inject.paths[0]", "plain path" },
		{ ROW(KEY ",\"secret\":\"x\""), "", "network.allow[0].inject.secret", "unknown key" },
		{ "{\"host\":\"b.org\",\"ports\":[1]},{\"host\":\"*.a.org\",\"ports\":[443],\"inject\":{" KEY
		  "}}",
		  "", "network.allow[1].inject", "whole name" },
		{ "{\"host\":\"@pypi\",\"inject\":{" KEY "}}", "", "network.allow[0].inject", "whole name" },
		{ "{\"cidr\":\"10.0.0.0/8\",\"ports\":[443],\"inject\":{" KEY "}}", "",
		  "network.allow[0].inject", "whole name" },
		{ ROW(KEY) "," ROW(KEY), "", "network.allow[1].inject", "network.allow[0] injects" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy policy = { 0 };
		struct warder_error err = { 0 };
		int ret = decode(rows[i].rows, rows[i].more, &policy, &err);

		if (ret == 0)
			ret = policy_validate_document(&policy, &err);
		if (!rows[i].field)
			cr_expect(ret == 0 && policy_injects(&policy), "%s: %s", rows[i].rows, err.text);
		else
			cr_expect(ret != 0 && strcmp(err.field, rows[i].field) == 0 &&
				      strstr(err.text, rows[i].text),
				  "%s: %s: %s", rows[i].rows, err.field, err.text);
		policy_done(&policy);
	}
}

Test(inject, a_copy_and_a_document_are_equal, .timeout = 20)
{
	struct policy policy = { 0 }, copy = { 0 }, other = { 0 };
	struct warder_error err;

	cr_assert(decode(ROW(KEY ",\"methods\":[\"GET\"],\"paths\":[\"/a/\"]"), "", &policy, &err) == 0, "%s",
		  err.text);
	cr_assert(decode(ROW(KEY ",\"methods\":[\"GET\"],\"paths\":[\"/b/\"]"), "", &other, &err) == 0);
	cr_assert(policy_copy(&policy, &copy, &err) == 0);
	cr_expect(policy_equal(&policy, &copy));
	cr_expect(!policy_equal(&policy, &other));
	cr_expect_str_eq(copy.network.allow.items[0].inject->format, "{}");
	policy_done(&policy);
	policy_done(&copy);
	policy_done(&other);
}

Test(inject, ceilings, .timeout = 20)
{
	static const struct {
		const char *ceiling, *request;
		bool granted;
	} rows[] = {
		{ ROW(KEY), ROW(KEY), true },
		{ ROW(KEY), ROW("\"header\":\"x-key\",\"secretFile\":\"/run/key\""), true },
		{ ROW(KEY), "{\"host\":\"a.org\",\"ports\":[443]}", true },
		{ ROW(KEY), ROW(KEY ",\"methods\":[\"GET\"],\"paths\":[\"/x\"]"), true },
		{ ROW(KEY ",\"methods\":[\"GET\",\"PUT\"]"), ROW(KEY ",\"methods\":[\"PUT\"]"), true },
		{ ROW(KEY ",\"methods\":[\"GET\"]"), ROW(KEY), false },
		{ ROW(KEY ",\"methods\":[\"GET\"]"), ROW(KEY ",\"methods\":[\"GET\",\"PUT\"]"), false },
		{ ROW(KEY ",\"methods\":[\"GET\"]"), ROW(KEY ",\"methods\":[\"get\"]"), false },
		{ ROW(KEY ",\"paths\":[\"/a/\",\"/b\"]"), ROW(KEY ",\"paths\":[\"/a/x\",\"/a/\",\"/b\"]"),
		  true },
		{ ROW(KEY ",\"paths\":[\"/a/\"]"), ROW(KEY ",\"paths\":[\"/a\"]"), false },
		{ ROW(KEY ",\"paths\":[\"/a\"]"), ROW(KEY ",\"paths\":[\"/a/\"]"), false },
		{ ROW(KEY ",\"paths\":[\"/a\"]"), ROW(KEY ",\"paths\":[\"/ab\"]"), false },
		{ ROW(KEY ",\"paths\":[\"/a/\"]"), ROW(KEY), false },
		{ ROW(KEY), ROW("\"header\":\"X-Key\",\"secretFile\":\"/run/key2\""), false },
		{ ROW(KEY), ROW("\"header\":\"X-Other\",\"secretFile\":\"/run/key\""), false },
		{ ROW(KEY), ROW(KEY ",\"format\":\"x {}\""), false },
		{ "{\"host\":\"a.org\",\"ports\":[443]}", ROW(KEY), false },
		{ "{\"host\":\"*.a.org\",\"ports\":[443]}," ROW(KEY),
		  "{\"host\":\"b.a.org\",\"ports\":[443],\"inject\":{" KEY "}}", false },
		{ "{\"host\":\"a.org\",\"ports\":[443,444]}," ROW(KEY),
		  "{\"host\":\"a.org\",\"ports\":[443,444],\"inject\":{" KEY "}}", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy ceiling = { 0 }, request = { 0 };
		struct warder_error err = { 0 };
		int ret;

		cr_assert(decode(rows[i].ceiling, "", &ceiling, &err) == 0, "%s: %s", rows[i].ceiling,
			  err.text);
		cr_assert(decode(rows[i].request, "", &request, &err) == 0, "%s: %s", rows[i].request,
			  err.text);
		ret = policy_check_ceiling(&ceiling, &request, &err);
		cr_expect_eq(ret == 0, rows[i].granted, "%s within %s: %s", rows[i].request, rows[i].ceiling,
			     ret ? err.text : "granted");
		cr_expect(rows[i].granted || strcmp(err.field, "network.allow[0].inject") == 0, "%s",
			  err.field);
		policy_done(&ceiling);
		policy_done(&request);
	}
}

Test(inject, without_a_ceiling, .timeout = 20)
{
	struct policy policy = { 0 };
	struct warder_error err;

	cr_assert(decode("{\"host\":\"b.org\",\"ports\":[1]}," ROW(KEY), "", &policy, &err) == 0);
	cr_expect(policy_inject_without_ceiling(&policy, &err) != 0);
	cr_expect_str_eq(err.field, "network.allow[1].inject");
	policy_done(&policy);
	cr_assert(decode("{\"host\":\"b.org\",\"ports\":[1]}", "", &policy, &err) == 0);
	cr_expect(policy_inject_without_ceiling(&policy, &err) == 0);
	cr_expect(policy_check_no_ceiling(&policy, &err) == 0);
	cr_assert(policy_set(&policy, "network.mode", "learn", &err) == 0);
	cr_expect(policy_check_no_ceiling(&policy, &err) != 0);
	cr_expect_str_eq(err.field, "network.mode");
	policy_done(&policy);
}

Test(inject, not_while_learning, .timeout = 20)
{
	struct policy policy = { 0 };
	struct warder_error err;

	cr_assert(decode(ROW(KEY), "", &policy, &err) == 0);
	cr_assert(policy_set(&policy, "network.mode", "learn", &err) == 0);
	cr_expect(policy_validate(&policy, &err) != 0);
	cr_expect_str_eq(err.field, "network.allow[0].inject");
	cr_expect(strstr(err.text, "learn"), "%s", err.text);
	policy_done(&policy);
}
