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

/* A row whose texts are as long as they can be, and one without most of them. */
static void fill_receipt(struct policy_receipt *ret)
{
	struct policy_receipt_row *row;

	ret->isolation = POLICY_ISOLATION_NAMESPACE_JAIL_PERSISTENT;
	row = policy_receipt_add(ret, "limits.memory", POLICY_RECEIPT_ENFORCED);
	memset(row->control, 'c', sizeof(row->control) - 1);
	memset(row->requested, 'r', sizeof(row->requested) - 1);
	memset(row->mechanism, 'm', sizeof(row->mechanism) - 1);
	memset(row->value, 'v', sizeof(row->value) - 1);
	memset(row->source, 's', sizeof(row->source) - 1);
	row = policy_receipt_add(ret, "limits.cpuTime", POLICY_RECEIPT_ENFORCED);
	snprintf(row->value, sizeof(row->value), "used so far 632 us");
	ret->again = true;
	ret->parked_us = 7;
	policy_receipt_add(ret, "capabilities", POLICY_RECEIPT_HARDENING);
}

static void expect_same(const struct policy_receipt_packed *packed, const struct policy_receipt *wanted)
{
	struct policy_receipt *receipt = calloc(1, sizeof(*receipt));

	cr_assert_not_null(receipt);
	policy_receipt_unpack(packed, receipt);
	cr_expect_eq(memcmp(receipt, wanted, sizeof(*receipt)), 0);
	free(receipt);
}

Test(receipt, a_packed_one_has_the_same_content, .timeout = 20)
{
	static struct policy_receipt receipt, empty, unwanted = { .unwanted = true };
	const struct policy_receipt *const rows[] = { &receipt, &empty, &unwanted };

	fill_receipt(&receipt);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct policy_receipt_packed *packed = policy_receipt_pack(rows[i], NULL);

		cr_assert_not_null(packed);
		expect_same(packed, rows[i]);
		policy_receipt_packed_free(packed);
	}
	policy_receipt_packed_free(NULL);
}

/* Each differs from the one before in one row, and the last has a row more. */
Test(receipt, packed_ones_that_share_rows_are_freed_in_any_order, .timeout = 20)
{
	static struct policy_receipt receipts[3];
	struct policy_receipt_packed *packed[3];

	for (size_t i = 0; i < ARRAY_LENGTH(receipts); i++) {
		fill_receipt(&receipts[i]);
		snprintf(receipts[i].rows[1].value, sizeof(receipts[i].rows[1].value), "used so far %zu00 us",
			 i);
	}
	policy_receipt_add(&receipts[2], "processors", POLICY_RECEIPT_HARDENING);
	for (size_t i = 0; i < ARRAY_LENGTH(receipts); i++) {
		packed[i] = policy_receipt_pack(&receipts[i], i ? packed[i - 1] : NULL);
		cr_assert_not_null(packed[i]);
	}
	policy_receipt_packed_free(packed[0]);
	expect_same(packed[1], &receipts[1]);
	policy_receipt_packed_free(packed[2]);
	expect_same(packed[1], &receipts[1]);
	policy_receipt_packed_free(packed[1]);
}
