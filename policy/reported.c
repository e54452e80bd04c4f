/*
 * reported: what another machine says about its controls, before a run and after it.
 *
 * This machine can check none of it. Two rules keep it from passing for more: nothing is filled in that the other machine has not said,
 * so that a control without a word of it is not enforced; and every text names who said it.
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "policy/policy.h"

/* ---- out ---- */

void policy_capability_write(const struct policy_capability *capability, struct json_writer *writer)
{
	json_begin_object(writer);
	json_key_bool(writer, "enforced", capability->enforced);
	json_key_string(writer, capability->enforced ? "mechanism" : "reason",
			capability->enforced ? capability->mechanism : capability->reason);
	json_end_object(writer);
}

void policy_capabilities_write(const struct policy_capabilities *capabilities, struct json_writer *writer)
{
	const char *const *language = capabilities->languages;

	json_begin_object(writer);
	json_key_string(writer, "backend", capabilities->backend);
	json_key_string(writer, "isolation", policy_isolation_name(capabilities->isolation));
	json_key(writer, "languages");
	json_begin_array(writer);
	for (; language && *language; language++)
		json_string(writer, *language);
	json_end_array(writer);
	json_key(writer, "controls");
	json_begin_object(writer);
	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++) {
		json_key(writer, policy_control_name(control));
		policy_capability_write(&capabilities->controls[control], writer);
	}
	json_end_object(writer);
	json_end_object(writer);
}

/* ---- in ---- */

static int bad(const char *who, const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
			 "%s: the answer of the host has no valid %s", who, what);
}

/* As much of a text as fits, without control characters. */
static void take_text(const char *from, const char *before, char *to, size_t size)
{
	snprintf(to, size, "%s%s", before, from);
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || *to == '\x7f')
			*to = '?';
}

static int take_isolation(const struct json_value *document, const char *who, enum policy_isolation *ret,
			  struct warder_error *err)
{
	const char *name = json_member_text(document, "isolation", "");

	for (enum policy_isolation i = POLICY_ISOLATION_NONE; i <= POLICY_ISOLATION_PROVIDER_HOSTED; i++)
		if (strcmp(name, policy_isolation_name(i)) == 0) {
			*ret = i;
			return 0;
		}
	return bad(who, "isolation", err);
}

static bool runs_programs(const struct json_value *languages)
{
	for (const struct json_value *one = languages->child; one; one = one->next)
		if (one->type == JSON_STRING && strcmp(one->string, "command") == 0)
			return true;
	return false;
}

static int take_capability(const struct json_value *controls, enum policy_control control, const char *who,
			   struct policy_capability *ret, struct warder_error *err)
{
	const struct json_value *row = json_member(controls, policy_control_name(control));
	const struct json_value *enforced = row ? json_member(row, "enforced") : NULL;
	char before[48];

	snprintf(before, sizeof(before), "%.40s: ", who);
	if (!row) {
		take_text("the host says nothing about it", before, ret->reason, sizeof(ret->reason));
		return 0;
	}
	if (!enforced || enforced->type != JSON_BOOL)
		return bad(who, policy_control_name(control), err);
	ret->enforced = enforced->boolean;
	if (ret->enforced)
		take_text(json_member_text(row, "mechanism", ""), "", ret->mechanism, sizeof(ret->mechanism));
	else
		take_text(json_member_text(row, "reason", ""), before, ret->reason, sizeof(ret->reason));
	return 0;
}

int policy_capabilities_read(const struct json_value *document, const char *who,
			     struct policy_capabilities *ret, struct warder_error *err)
{
	static const char *const programs[] = { "command", NULL };
	const struct json_value *languages = json_member(document, "languages");
	const struct json_value *controls = json_member(document, "controls");
	struct policy_capabilities read = { 0 };

	snprintf(read.backend, sizeof(read.backend), "%s", who);
	if (take_isolation(document, who, &read.isolation, err) < 0)
		return -1;
	if (!languages || languages->type != JSON_ARRAY)
		return bad(who, "languages", err);
	if (!controls || controls->type != JSON_OBJECT)
		return bad(who, "controls", err);
	if (runs_programs(languages))
		read.languages = programs;
	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++)
		if (take_capability(controls, control, who, &read.controls[control], err) < 0)
			return -1;
	*ret = read;
	return 0;
}

/* ---- a receipt ---- */

static int take_status(const struct json_value *row, const char *who, enum policy_receipt_status *ret,
		       struct warder_error *err)
{
	const char *name = json_member_text(row, "status", "");

	for (enum policy_receipt_status i = POLICY_RECEIPT_ENFORCED; i <= POLICY_RECEIPT_ABSENT; i++)
		if (strcmp(name, policy_receipt_status_name(i)) == 0) {
			*ret = i;
			return 0;
		}
	return bad(who, "status of a control in its receipt", err);
}

static int take_row(const struct json_value *value, const char *who, struct policy_receipt *receipt,
		    struct warder_error *err)
{
	struct policy_receipt_row *row;
	enum policy_receipt_status status = POLICY_RECEIPT_NOT_ENFORCED;
	char control[48];

	if (value->type != JSON_OBJECT)
		return bad(who, "receipt", err);
	if (take_status(value, who, &status, err) < 0)
		return -1;
	take_text(json_member_text(value, "control", ""), "", control, sizeof(control));
	row = policy_receipt_add(receipt, control, status);
	if (!row)
		return bad(who, "number of controls in its receipt", err);
	take_text(json_member_text(value, "requested", ""), "", row->requested, sizeof(row->requested));
	take_text(json_member_text(value, "mechanism", ""), "", row->mechanism, sizeof(row->mechanism));
	take_text(json_member_text(value, "value", ""), "", row->value, sizeof(row->value));
	take_text(json_member_text(value, "source", ""), "", row->source, sizeof(row->source));
	return 0;
}

int policy_receipt_read(const struct json_value *document, const char *who, struct policy_receipt *ret,
			struct warder_error *err)
{
	const struct json_value *controls = json_member(document, "controls");

	ret->reported = true;
	snprintf(ret->backend, sizeof(ret->backend), "%s", who);
	if (!controls || controls->type != JSON_ARRAY)
		return bad(who, "receipt", err);
	if (take_isolation(document, who, &ret->isolation, err) < 0)
		return -1;
	for (const struct json_value *row = controls->child; row; row = row->next)
		if (take_row(row, who, ret, err) < 0)
			return -1;
	return 0;
}
