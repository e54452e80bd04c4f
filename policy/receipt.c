#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "policy/policy.h"

static const char *const statuses[] = {
	[POLICY_RECEIPT_ENFORCED] = "enforced",
	[POLICY_RECEIPT_NOT_ENFORCED] = "notEnforced",
	[POLICY_RECEIPT_UNRESTRICTED] = "unrestricted",
	[POLICY_RECEIPT_HARDENING] = "hardening",
	[POLICY_RECEIPT_ABSENT] = "absent",
};

const char *policy_receipt_status_name(enum policy_receipt_status status)
{
	return statuses[status];
}

/* The row that the control got when the jail was parked. */
static struct policy_receipt_row *row_before(struct policy_receipt *receipt, const char *control)
{
	for (size_t i = 0; i < receipt->count; i++)
		if (!receipt->rows[i].at_hand_out &&
		    strncmp(receipt->rows[i].control, control, sizeof(receipt->rows[i].control) - 1) == 0)
			return &receipt->rows[i];
	return NULL;
}

struct policy_receipt_row *policy_receipt_add(struct policy_receipt *receipt, const char *control,
					      enum policy_receipt_status status)
{
	struct policy_receipt_row *row = receipt->again ? row_before(receipt, control) : NULL;
	size_t len;

	if (receipt->unwanted || (!row && receipt->count == ARRAY_LENGTH(receipt->rows)))
		return NULL;
	if (!row)
		row = &receipt->rows[receipt->count++];
	*row = (struct policy_receipt_row){ .status = status, .at_hand_out = receipt->again };
	len = strnlen(control, sizeof(row->control) - 1);
	memcpy(row->control, control, len); /* the rest is 0 */
	return row;
}

void policy_receipt_copy(struct policy_receipt *ret, const struct policy_receipt *receipt)
{
	memcpy(ret, receipt,
	       offsetof(struct policy_receipt, rows) + receipt->count * sizeof(receipt->rows[0]));
}

static void write_row(const struct policy_receipt *receipt, const struct policy_receipt_row *row,
		      struct json_writer *writer)
{
	char reported[48];
	const struct {
		const char *key, *text;
	} members[] = {
		{ "control", row->control },
		{ "status", receipt->reported ? reported : statuses[row->status] },
		{ "requested", row->requested },
		{ "mechanism", row->mechanism },
		{ "value", row->value },
		{ "source", row->source },
	};

	snprintf(reported, sizeof(reported), "reported by %.32s", receipt->backend);
	json_begin_object(writer);
	for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
		json_key(writer, members[i].key);
		json_string(writer, members[i].text);
	}
	if (receipt->reported)
		json_key_string(writer, "reported", statuses[row->status]);
	if (receipt->again)
		json_key_string(writer, "readAt", row->at_hand_out ? "handOut" : "park");
	json_end_object(writer);
}

void policy_receipt_write(const struct policy_receipt *receipt, struct json_writer *writer)
{
	if (receipt->unwanted) {
		json_null(writer);
		return;
	}
	json_begin_object(writer);
	json_key_string(writer, "backend", receipt->backend[0] ? receipt->backend : NULL);
	json_key(writer, "isolation");
	json_string(writer, policy_isolation_name(receipt->isolation));
	json_key(writer, "controls");
	json_begin_array(writer);
	for (size_t i = 0; i < receipt->count; i++)
		write_row(receipt, &receipt->rows[i], writer);
	json_end_array(writer);
	if (receipt->again)
		json_key_uint(writer, "parkedUs", receipt->parked_us);
	json_end_object(writer);
}
