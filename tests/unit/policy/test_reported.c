/* reported: capabilities and receipts of another machine. */
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"

static struct warder_error err;

static struct json_value *parsed(const char *text)
{
	struct json_value *root = NULL;

	cr_assert_eq(json_parse(text, strlen(text), "test", NULL, &root, &err), 0, "%s", err.text);
	return root;
}

Test(reported, capabilities_there_and_back, .timeout = 20)
{
	static const char *const languages[] = { "command", NULL };
	struct policy_capabilities sent = { .backend = "local",
					    .isolation = POLICY_ISOLATION_NAMESPACE_JAIL,
					    .languages = languages };
	struct policy_capabilities got;
	struct json_writer w = { 0 };
	struct json_value *root;
	char *text;

	sent.controls[0] = (struct policy_capability){ .enforced = true, .mechanism = "a\x1b[31m" };
	sent.controls[1] = (struct policy_capability){ .reason = "no" };
	policy_capabilities_write(&sent, &w);
	text = json_take(&w);
	root = parsed(text);
	cr_assert_eq(policy_capabilities_read(root, "remote:a", &got, &err), 0, "%s", err.text);
	cr_expect_str_eq(got.backend, "remote:a");
	cr_expect_eq(got.isolation, POLICY_ISOLATION_NAMESPACE_JAIL);
	cr_expect_str_eq(got.languages[0], "command");
	cr_expect(got.controls[0].enforced);
	cr_expect_str_eq(got.controls[0].mechanism, "a?[31m");
	cr_expect_not(got.controls[1].enforced);
	cr_expect_str_eq(got.controls[1].reason, "remote:a: no");
	json_free(root);
	free(text);
}

Test(reported, wrong_capabilities, .timeout = 20)
{
	static const char *const rows[] = {
		"{}",
		"[]",
		"{\"isolation\": \"perfect\", \"languages\": [], \"controls\": {}}",
		"{\"isolation\": \"none\", \"languages\": {}, \"controls\": {}}",
		"{\"isolation\": \"none\", \"languages\": [], \"controls\": []}",
		"{\"isolation\": \"none\", \"languages\": [], \"controls\": {\"syscalls\": {}}}",
		"{\"isolation\":\"none\",\"languages\":[],\"controls\":{\"syscalls\":{\"enforced\":1}}}",
		"{\"isolation\": \"none\", \"languages\": [], \"controls\": {\"syscalls\": true}}",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct json_value *root = parsed(rows[i]);
		struct policy_capabilities got;

		cr_expect_eq(policy_capabilities_read(root, "remote:a", &got, &err), -1, "%s", rows[i]);
		cr_expect(strstr(err.text, "remote:a"), "%s", err.text);
		json_free(root);
	}
}

/* A host that leaves a control out enforces it no more than one that says so. */
Test(reported, silence_is_no_promise, .timeout = 20)
{
	struct json_value *root = parsed(
	    "{\"isolation\": \"none\", \"languages\": [], \"controls\": {\"x\": {\"enforced\": true}}}");
	struct policy_capabilities got;

	cr_assert_eq(policy_capabilities_read(root, "remote:a", &got, &err), 0, "%s", err.text);
	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++) {
		cr_expect_not(got.controls[control].enforced, "%s", policy_control_name(control));
		cr_expect(strstr(got.controls[control].reason, "nothing about it"));
	}
	cr_expect_null(got.languages);
	json_free(root);
}

Test(reported, a_receipt_never_says_enforced, .timeout = 20)
{
	struct json_value *root = parsed(
	    "{\"isolation\": \"namespaceJail\", \"controls\": [{\"control\": \"syscalls\", \"status\": "
	    "\"enforced\", \"value\": \"2\\u001b\"}, {\"control\": \"limits.memory\", \"status\": "
	    "\"notEnforced\"}]}");
	struct policy_receipt *receipt = calloc(1, sizeof(*receipt));
	struct json_writer w = { 0 };
	char *text;

	cr_assert(receipt);
	cr_assert_eq(policy_receipt_read(root, "remote:a", receipt, &err), 0, "%s", err.text);
	cr_expect_eq(receipt->count, 2);
	cr_expect_str_eq(receipt->rows[0].value, "2?");
	policy_receipt_write(receipt, &w);
	text = json_take(&w);
	cr_expect(strstr(text, "\"status\":\"reported by remote:a\""), "%s", text);
	cr_expect_null(strstr(text, "\"status\":\"enforced\""), "%s", text);
	cr_expect(strstr(text, "\"reported\":\"notEnforced\""), "%s", text);
	free(text);
	free(receipt);
	json_free(root);
}
