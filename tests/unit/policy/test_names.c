#include "base/array.h"
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <string.h>

#include "policy/names.h"

Test(names, fields_and_paths, .timeout = 20)
{
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++) {
		enum policy_field found = POLICY_FIELD_NONE;

		cr_expect(policy_field_path(field)[0] && policy_field_group(field)[0], "field %d",
			  (int)field);
		cr_expect(policy_field_from_path(policy_field_path(field), &found) == 0 && found == field,
			  "field %d", (int)field);
	}
	cr_expect(policy_field_from_path("limits", &(enum policy_field){ 0 }) == -1);
	cr_expect(policy_field_from_path("", &(enum policy_field){ 0 }) == -1);
	cr_expect_str_eq(policy_field_path(POLICY_FIELD_NONE), "");
}

/* Matching reports the controls in this order as the order of the fields. */
Test(names, controls_are_in_the_order_of_the_fields, .timeout = 20)
{
	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++) {
		cr_expect(policy_control_name(control)[0] && policy_control_text(control)[0], "control %d",
			  (int)control);
		cr_expect(control == 0 || policy_control_field(control - 1) <= policy_control_field(control),
			  "control %s", policy_control_name(control));
	}
}

Test(names, isolation_classes_are_distinct, .timeout = 20)
{
	for (int i = POLICY_ISOLATION_NONE; i <= POLICY_ISOLATION_PROVIDER_HOSTED; i++) {
		for (int j = POLICY_ISOLATION_NONE; j < i; j++)
			cr_expect_str_neq(policy_isolation_name((enum policy_isolation)i),
					  policy_isolation_name((enum policy_isolation)j));
	}
	cr_expect_str_eq(policy_isolation_name(POLICY_ISOLATION_NAMESPACE_JAIL), "namespaceJail");
}

Test(names, languages, .timeout = 20)
{
	cr_expect(policy_is_language("command") && policy_is_language("c++") && policy_is_language("wasm"));
	cr_expect(!policy_is_language("Python") && !policy_is_language("") && !policy_is_language("any"));
}

Test(names, suggestions, .timeout = 20)
{
	static const char *const words[] = { "wallTime", "limits.memory", "pids", "c", NULL };
	static const struct {
		const char *text, *suggestion;
	} rows[] = {
		{ "walltime", "did you mean \"wallTime\"?" },
		{ "wall_time", "did you mean \"wallTime\"?" },
		{ "walTime", "did you mean \"wallTime\"?" },
		{ "memory", "did you mean \"limits.memory\"?" },
		{ "pid", "did you mean \"pids\"?" },
		{ "x", "known: \"wallTime\", \"limits.memory\", \"pids\", \"c\"" },
		{ "", "known: \"wallTime\", \"limits.memory\", \"pids\", \"c\"" },
		{ "somethingElse", "known: \"wallTime\", \"limits.memory\", \"pids\", \"c\"" },
		{ "walltimewalltimewalltimewalltimewalltime",
		  "known: \"wallTime\", \"limits.memory\", \"pids\", \"c\"" },
	};
	char buf[100];

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_str_eq(policy_suggest(words, rows[i].text, buf, sizeof(buf)), rows[i].suggestion,
				 "row %s: %s", rows[i].text, buf);
	policy_suggest(words, "x", buf, 12);
	cr_expect_str_eq(buf, "known: ...", "a small buffer has no part of a word");
	policy_suggest(words, "x", buf, 44);
	cr_expect_str_eq(buf, "known: \"wallTime\", \"limits.memory\", ...");
}
