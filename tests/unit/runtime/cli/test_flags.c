#include "base/array.h"
#include "runtime/cli/args.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_ARGUMENTS 12

/* A command line; the request points into it. */
struct line {
	char *argv[MAX_ARGUMENTS + 1];
	struct args args;
};

/* Parse and load; args_done() is the caller's. */
static int load(const char *const *words, struct line *ret, struct warder_error *err)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < MAX_ARGUMENTS && words[i]; i++)
		ret->argv[i] = (char *)words[i];
	if (args_parse(FLAG_RUN, ret->argv, &ret->args, err) != 0)
		return -1;
	return args_load(FLAG_RUN, ret->argv, &ret->args, err);
}

Test(flags, set_fields_of_the_policy, .timeout = 20)
{
	const char *const words[] = { "--memory",    "64MiB",        "--timeout=2s", "--env",
				      "A=1=2",       "--max-output", "1KiB",         "--prefer",
				      "limits.cpus", "--",           "true",         NULL };
	struct warder_error err = { 0 };
	struct line line;
	const struct policy *policy;

	cr_assert(load(words, &line, &err) == 0, "%s", err.text);
	policy = &line.args.policy->policy;
	cr_expect(policy->limits.memory_bytes == 64 << 20);
	cr_expect(policy->limits.wall_time_us == 2000000);
	cr_expect(policy->output.stdout_bytes == 1024 && policy->output.stderr_bytes == 1024);
	cr_expect(policy->preferred[POLICY_FIELD_CPUS]);
	cr_expect_str_eq(policy->environment.set[0].name, "A");
	cr_expect_str_eq(policy->environment.set[0].value, "1=2");
	cr_expect_str_eq(line.args.rest[0], "true");
	args_done(&line.args);
}

Test(flags, come_after_the_policy_wherever_it_stands, .timeout = 20)
{
	const char *const words[] = { "--timeout", "2s", "--preset", "strict-js", "node", "--memory", NULL };
	struct warder_error err = { 0 };
	struct line line;

	cr_assert(load(words, &line, &err) == 0, "%s", err.text);
	cr_expect(line.args.policy->policy.limits.wall_time_us == 2000000);
	cr_expect_not(line.args.policy->policy.languages.any);
	cr_expect_str_eq(line.args.rest[0], "node");
	cr_expect_str_eq(line.args.rest[1], "--memory", "what follows the program is the program's");
	args_done(&line.args);
}

Test(flags, of_rows_switch_the_mode, .timeout = 20)
{
	const char *const words[] = { "--allow",     "pypi.org:443", "--env", "HOME",
				      "--workspace", "/srv:rw",      NULL };
	struct warder_error err = { 0 };
	struct line line;
	const struct policy *policy;

	cr_assert(load(words, &line, &err) == 0, "%s", err.text);
	policy = &line.args.policy->policy;
	cr_expect(policy->network.mode == POLICY_NETWORK_ALLOW && policy->network.allow.count == 1);
	cr_expect(policy->environment.mode == POLICY_ENVIRONMENT_ALLOW_LIST &&
		  policy->environment.names.count == 1);
	cr_expect(policy->filesystem.workspace == POLICY_WORKSPACE_READ_WRITE);
	cr_expect_str_eq(policy->filesystem.workspace_root, "/srv");
	args_done(&line.args);
}

Test(flags, workspace_modes, .timeout = 20)
{
	static const struct {
		const char *preset, *value;
		enum policy_workspace workspace;
		const char *root;
	} rows[] = {
		{ "strict", "/srv", POLICY_WORKSPACE_READ_ONLY, "/srv" },
		{ "strict", "/srv/", POLICY_WORKSPACE_READ_ONLY, "/srv" },
		{ "strict", "/srv:ro", POLICY_WORKSPACE_READ_ONLY, "/srv" },
		{ "strict", "/srv:rw", POLICY_WORKSPACE_READ_WRITE, "/srv" },
		{ "agent", "/srv", POLICY_WORKSPACE_READ_WRITE, "/srv" },
		{ "agent", "/srv:ro", POLICY_WORKSPACE_READ_ONLY, "/srv" },
		{ "agent", "none", POLICY_WORKSPACE_NONE, NULL },
		{ "strict", "/srv:x", POLICY_WORKSPACE_READ_ONLY, "/srv:x" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *const words[] = { "--preset", rows[i].preset, "--workspace", rows[i].value,
					      NULL };
		struct warder_error err = { 0 };
		struct line line;

		cr_assert(load(words, &line, &err) == 0, "row %zu: %s", i, err.text);
		cr_expect(line.args.policy->policy.filesystem.workspace == rows[i].workspace, "row %zu", i);
		if (rows[i].root)
			cr_expect_str_eq(line.args.policy->policy.filesystem.workspace_root, rows[i].root,
					 "row %zu", i);
		args_done(&line.args);
	}
}

/* Relative to the working directory, as text: a link in it is for the plan to judge. */
Test(flags, paths_are_made_absolute_as_text, .timeout = 20)
{
	static const struct {
		const char *value, *below;
	} rows[] = {
		{ "no-such/../b/./c/", "/b/c" },
		{ "./x", "/x" },
		{ "a//b", "/a/b" },
		{ "..x/.y", "/..x/.y" },
		{ "x/../b/./c/:/d/", "/b/c:/d" },
		{ "a:/b:/c", "/a:/b:/c" },
		{ "a:b", "/a:b" },
	};
	char cwd[4096];

	cr_assert_not_null(getcwd(cwd, sizeof(cwd)));
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *const words[] = { "--ro", rows[i].value, NULL };
		struct warder_error err = { 0 };
		char wanted[4200];
		struct line line;

		cr_assert(load(words, &line, &err) == 0, "row %zu: %s", i, err.text);
		snprintf(wanted, sizeof(wanted), "%s%s", strcmp(cwd, "/") == 0 ? "" : cwd, rows[i].below);
		cr_expect_str_eq(line.args.policy->policy.filesystem.read_only.items[0], wanted, "row %zu",
				 i);
		args_done(&line.args);
	}
}

Test(flags, refuse_and_name_what_they_refuse, .timeout = 20)
{
	static const struct {
		const char *words[5];
		const char *text;
	} rows[] = {
		{ { "--memry", "1" }, "unknown flag --memry; did you mean \"--memory\"?" },
		{ { "--qqqqqq" }, "unknown flag --qqqqqq; --help lists" },
		{ { "--clean" }, "unknown flag --clean" }, /* another command's */
		{ { "--memory" }, "--memory needs a value: --memory SIZE" },
		{ { "--json=1" }, "--json takes no value" },
		{ { "--memory", "1MB" }, "--memory 1MB: limits.memory: " },
		{ { "--set", "limits.memory" }, "--set limits.memory: write FIELD=VALUE" },
		{ { "--set", "limits.memori=1" }, "--set limits.memori=1: limits.memori" },
		{ { "--prefer", "memory" }, "--prefer memory: \"memory\" is not a field" },
		{ { "--preset", "strict", "--preset", "agent" }, "already (strict)" },
		{ { "--workspace", "" }, "--workspace" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };
		struct line line;

		cr_expect(load(rows[i].words, &line, &err) == -1, "row %zu", i);
		cr_expect(strstr(err.text, rows[i].text), "row %zu: %s", i, err.text);
		cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST, "row %zu", i);
		args_done(&line.args);
	}
}

/* A refusal has to take the form that was asked for, even if the flag that asks comes after the fault. */
Test(flags, know_of_json_in_spite_of_a_fault, .timeout = 20)
{
	const char *const words[] = { "--bad", "--json", "--", "true", NULL };
	const char *const others[] = { "--bad", "--", "true", "--json", NULL };
	struct warder_error err = { 0 };
	struct line line;

	cr_expect(load(words, &line, &err) == -1);
	cr_expect(line.args.json);
	cr_expect(load(others, &line, &err) == -1);
	cr_expect_not(line.args.json);
}

Test(flags, table_is_consistent, .timeout = 20)
{
	for (size_t i = 0; flag_at(i); i++) {
		const struct flag *flag = flag_at(i);

		cr_expect(strncmp(flag->name, "--", 2) == 0, "%s", flag->name);
		cr_expect_eq(flag->use != NULL,
			     flag->kind == FLAG_KIND_CHANGE || flag->kind == FLAG_KIND_CHOOSE,
			     "%s has a function if its kind needs one", flag->name);
		cr_expect_eq(flag->kind == FLAG_KIND_FIELD && !flag->path, false, "%s has a field",
			     flag->name);
		cr_expect_eq(flag->kind == FLAG_KIND_SWITCH && flag->argument, false, "%s takes no value",
			     flag->name);
		cr_expect(strlen(flag->help) > 0 && flag->commands, "%s", flag->name);
		for (size_t j = 0; j < i; j++)
			cr_expect(strcmp(flag->name, flag_at(j)->name) != 0 ||
				      !(flag->commands & flag_at(j)->commands),
				  "%s has one meaning in a command", flag->name);
	}
}
