#include "base/array.h"
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

Test(receipt, rows_and_json, .timeout = 20)
{
	static struct policy_receipt receipt = { .isolation = POLICY_ISOLATION_NAMESPACE_JAIL,
						 .backend = "local" };
	struct policy_receipt_row *row;
	struct json_writer writer = { 0 };
	char *text;

	row = policy_receipt_add(&receipt, "limits.memory", POLICY_RECEIPT_ENFORCED);
	cr_assert_not_null(row);
	snprintf(row->requested, sizeof(row->requested), "256MiB");
	snprintf(row->mechanism, sizeof(row->mechanism), "cgroup v2 memory.max");
	snprintf(row->value, sizeof(row->value), "268435456");
	snprintf(row->source, sizeof(row->source), "memory.max");
	policy_receipt_add(&receipt, "capabilities", POLICY_RECEIPT_HARDENING);
	policy_receipt_write(&receipt, &writer);
	text = json_take(&writer);
	cr_expect_str_eq(
	    text,
	    "{\"backend\":\"local\",\"isolation\":\"namespaceJail\",\"controls\":["
	    "{\"control\":\"limits.memory\",\"status\":\"enforced\",\"requested\":\"256MiB\","
	    "\"mechanism\":\"cgroup v2 memory.max\",\"value\":\"268435456\",\"source\":\"memory.max\"},"
	    "{\"control\":\"capabilities\",\"status\":\"hardening\",\"requested\":\"\",\"mechanism\":\"\","
	    "\"value\":\"\",\"source\":\"\"}]}");
	free(text);
}

Test(receipt, an_empty_one, .timeout = 20)
{
	static struct policy_receipt receipt;
	struct json_writer writer = { 0 };
	char *text;

	policy_receipt_write(&receipt, &writer);
	text = json_take(&writer);
	cr_expect_str_eq(text, "{\"backend\":null,\"isolation\":\"none\",\"controls\":[]}");
	free(text);
}

Test(receipt, an_unwanted_one_has_no_rows, .timeout = 20)
{
	static struct policy_receipt receipt = { .unwanted = true };
	struct json_writer writer = { 0 };
	char *text;

	cr_expect_null(policy_receipt_add(&receipt, "limits.memory", POLICY_RECEIPT_ENFORCED));
	policy_receipt_write(&receipt, &writer);
	text = json_take(&writer);
	cr_expect_str_eq(text, "null");
	free(text);
}

Test(receipt, a_copy_has_the_rows_in_use, .timeout = 20)
{
	static struct policy_receipt receipt = { .isolation = POLICY_ISOLATION_NAMESPACE_JAIL,
						 .backend = "local" };
	static struct policy_receipt copy;

	policy_receipt_add(&receipt, "limits.memory", POLICY_RECEIPT_ENFORCED);
	policy_receipt_add(&receipt, "capabilities", POLICY_RECEIPT_HARDENING);
	policy_receipt_copy(&copy, &receipt);
	cr_expect(memcmp(&copy, &receipt, sizeof(copy)) == 0);
}

/* Every control can have its row, with room for the hardening layers; a full receipt says so. */
Test(receipt, is_bounded, .timeout = 20)
{
	static struct policy_receipt receipt;
	size_t rows = ARRAY_LENGTH(receipt.rows);
	char name[100];

	cr_expect(rows >= POLICY_CONTROL_COUNT + 16);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < rows; i++)
		cr_expect_not_null(policy_receipt_add(&receipt, name, POLICY_RECEIPT_ABSENT));
	cr_expect_null(policy_receipt_add(&receipt, "one more", POLICY_RECEIPT_ENFORCED));
	cr_expect(receipt.count == rows);
	cr_expect(strlen(receipt.rows[0].control) == sizeof(receipt.rows[0].control) - 1,
		  "long names are cut");
	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++)
		cr_expect(strlen(policy_control_name(control)) < sizeof(receipt.rows[0].control),
			  "control %s is not", policy_control_name(control));
}

Test(receipt, names_of_statuses, .timeout = 20)
{
	static const char *const names[] = { "enforced", "notEnforced", "unrestricted", "hardening",
					     "absent" };

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		struct policy_receipt receipt = { 0 };
		struct json_writer w = { 0 };
		char wanted[48], *json;

		policy_receipt_add(&receipt, "c", (enum policy_receipt_status)i);
		policy_receipt_write(&receipt, &w);
		json = json_take(&w);
		snprintf(wanted, sizeof(wanted), "\"status\":\"%s\"", names[i]);
		cr_expect(strstr(json, wanted), "%s", json);
		free(json);
	}
}
