/*
 * granted: how a policy stands to a ceiling, field by field.
 *
 * The ceiling never changes a policy: what asks for more is refused as a whole. What is said here tells its author
 * which fields to change, and to what.
 */
#include <string.h>

#include "base/json.h"
#include "policy/names.h"

/* Room for the value of a field with some hundred rows; the end of a longer one is marked. */
#define VALUE_SIZE 8192

static const char *const grants[] = {
	[POLICY_GRANTED] = "granted",
	[POLICY_LOWERED] = "lowered",
	[POLICY_REFUSED] = "refused",
};

const char *policy_grant_name(enum policy_grant grant)
{
	return grants[grant];
}

void policy_write_violation(const struct policy_violation *violation, struct json_writer *writer)
{
	json_begin_object(writer);
	json_key_string(writer, "field", violation->error.field);
	json_key_string(writer, "message", violation->error.text);
	json_end_object(writer);
}

static void write_found(void *context, const struct policy_violation *violation)
{
	policy_write_violation(violation, context);
}

void policy_write_violations(const struct policy *ceiling, const struct policy *asked,
			     const struct policy *real, struct json_writer *writer)
{
	json_begin_array(writer);
	policy_violations(ceiling, asked, real, write_found, writer);
	json_end_array(writer);
}

/* ---- field by field ---- */

struct grading {
	enum policy_field field;
	enum policy_grant grant;
	struct json_writer *writer; /* of the field's violations; NULL: only `grant` is wanted */
};

static void grade(void *context, const struct policy_violation *violation)
{
	struct grading *grading = context;

	if (violation->field != grading->field)
		return;
	if (violation->grant > grading->grant)
		grading->grant = violation->grant;
	if (grading->writer)
		policy_write_violation(violation, grading->writer);
}

/* The widest of the field's violations, or POLICY_GRANTED. */
static enum policy_grant grant_of(const struct policy *ceiling, const struct policy *asked,
				  const struct policy *real, enum policy_field field)
{
	struct grading grading = { .field = field, .grant = POLICY_GRANTED };

	policy_violations(ceiling, asked, real, grade, &grading);
	return grading.grant;
}

static void write_value(struct json_writer *writer, const char *key, const struct policy *policy,
			enum policy_field field)
{
	char value[VALUE_SIZE];

	json_key_string(writer, key, policy ? policy_field_value(policy, field, value, sizeof(value)) : NULL);
}

static void write_field(const struct policy *ceiling, const struct policy *asked, const struct policy *real,
			enum policy_field field, struct json_writer *writer)
{
	struct grading grading = { .field = field, .writer = writer };

	json_begin_object(writer);
	json_key_string(writer, "field", policy_field_path(field));
	json_key_string(writer, "grant",
			asked ? policy_grant_name(grant_of(ceiling, asked, real, field)) : NULL);
	write_value(writer, "asked", asked, field);
	write_value(writer, "most", ceiling, field);
	json_key(writer, "violations");
	json_begin_array(writer);
	if (asked)
		policy_violations(ceiling, asked, real, grade, &grading);
	json_end_array(writer);
	json_end_object(writer);
}

static void ignore(void *context, const struct policy_violation *violation)
{
}

void policy_write_granted(const struct policy *ceiling, const struct policy *asked, const struct policy *real,
			  struct json_writer *writer)
{
	json_begin_object(writer);
	json_key(writer, "granted");
	if (asked)
		json_bool(writer, policy_violations(ceiling, asked, real, ignore, NULL) == 0);
	else
		json_null(writer);
	json_key(writer, "most");
	if (ceiling)
		policy_write(ceiling, writer);
	else
		json_null(writer);
	json_key(writer, "fields");
	json_begin_array(writer);
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++)
		write_field(ceiling, asked, real, field, writer);
	json_end_array(writer);
	json_end_object(writer);
}
