#include "base/array.h"
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <stdio.h>
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
		{ "walTlime", "did you mean \"wallTime\"?" },
		{ "pisd", "did you mean \"pids\"?" },
		{ "wall", "did you mean \"wallTime\"?" },
		{ "limits.mem", "did you mean \"limits.memory\"?" },
		{ "x", "known: \"wallTime\", \"limits.memory\", \"pids\", \"c\"" },
		{ "", "known: \"wallTime\", \"limits.memory\", \"pids\", \"c\"" },
		{ "somethingElse", "known: \"wallTime\", \"limits.memory\", \"pids\", \"c\"" },
		{ "walltimewalltimewalltimewalltimewalltime",
		  "known: \"wallTime\", \"limits.memory\", \"pids\", \"c\"" },
	};
	char buf[100];

	cr_expect_null(policy_meant(words, "x"));
	cr_expect_null(policy_meant(words + 4, "walltime"), "there are no words");
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_str_eq(policy_suggest(words, rows[i].text, buf, sizeof(buf)), rows[i].suggestion,
				 "row %s: %s", rows[i].text, buf);
	policy_suggest(words, "x", buf, 12);
	cr_expect_str_eq(buf, "known: ...", "a small buffer has no part of a word");
	policy_suggest(words, "x", buf, 44);
	cr_expect_str_eq(buf, "known: \"wallTime\", \"limits.memory\", ...");
}

Test(names, the_meant_word_is_found_by_another_name, .timeout = 20)
{
	static const char *const flags[] = { "--net", "--cwd", "--rw", "--cpus", "--timeout", NULL };
	static const char *const commands[] = { "list", "remove", "run", NULL };

	cr_expect_str_eq(policy_meant(flags, "--network"), "--net");
	cr_expect_str_eq(policy_meant(flags, "--workdir"), "--cwd");
	cr_expect_str_eq(policy_meant(flags, "--volume"), "--rw");
	cr_expect_str_eq(policy_meant(flags, "--cpu"), "--cpus");
	cr_expect_str_eq(policy_meant(flags, "--wall_time"), "--timeout");
	cr_expect_str_eq(policy_meant(commands, "ls"), "list");
	cr_expect_str_eq(policy_meant(commands, "rm"), "remove");
	cr_expect_str_eq(policy_meant(commands, "exec"), "run");
	cr_expect_null(policy_meant(commands, "--volume"));
}

/* Every misspelling of one kind of every word: swapped neighbours, a letter left out, a letter twice. Some are another word. */
static void misspell(const char *const *words, const char *kind)
{
	size_t tried = 0, right = 0;

	for (size_t i = 0; words[i]; i++) {
		const size_t len = strlen(words[i]);
		const size_t from = 1 + strspn(words[i], "-");

		for (size_t at = from; len > 4 && at < len; at++) {
			char swapped[64], less[64], twice[64];
			const char *const all[] = { swapped, less, twice };

			snprintf(swapped, sizeof(swapped), "%.*s%c%c%s", (int)at - 1, words[i], words[i][at],
				 words[i][at - 1], words[i] + at + 1);
			snprintf(less, sizeof(less), "%.*s%s", (int)at, words[i], words[i] + at + 1);
			snprintf(twice, sizeof(twice), "%.*s%s", (int)at + 1, words[i], words[i] + at);
			for (size_t j = 0; j < ARRAY_LENGTH(all); j++) {
				const char *found = policy_meant(words, all[j]);

				tried++;
				right += found && strcmp(found, words[i]) == 0;
			}
		}
	}
	cr_expect(right * 100 >= tried * 98, "%s: %zu of %zu", kind, right, tried);
}

Test(names, a_misspelling_finds_its_word, .timeout = 60)
{
	static const char *const commands[] = {
		"run",      "code",     "session",   "context", "logs",   "attach",    "kill",       "wait",
		"tenant",   "explain",  "backend",   "policy",  "doctor", "blocks",    "format",     "data",
		"image",    "events",   "workspace", "judge",   "scan",   "tool",      "mcp",        "ps",
		"snapshot", "artifact", "serve",     "changes", "write",  "languages", "checkpoint", NULL
	};
	static const char *const flags[] = { "--memory",  "--timeout",    "--workspace", "--cpus",
					     "--pids",    "--max-output", "--env",       "--cwd",
					     "--prefer",  "--require",    "--terminal",  "--json",
					     "--ro",      "--rw",         "--tmp",       "--net",
					     "--allow",   "--deny",       "--grace",     "--receipt",
					     "--backend", "--backends",   "--detach",    "--no-input",
					     NULL };
	const char *words[POLICY_FIELD_COUNT + 1] = { NULL };

	misspell(commands, "commands");
	misspell(flags, "flags");
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++)
		words[field] = policy_field_path(field);
	misspell(words, "fields");
	memset(words, 0, sizeof(words));
	for (size_t i = 0; i < policy_preset_count(); i++)
		words[i] = policy_preset_name(i);
	misspell(words, "presets");
}
