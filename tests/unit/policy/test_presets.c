#include "base/array.h"
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

Test(presets, values, .timeout = 20)
{
	static const struct {
		const char *name;
		uint64_t wall_s, memory, cpu_milli, pids;
		enum policy_network_mode network;
		enum policy_workspace workspace;
		bool any;
		const char *languages[6];
	} rows[] = {
		{ "strict",
		  30,
		  512 * MIB,
		  1000,
		  64,
		  POLICY_NETWORK_NONE,
		  POLICY_WORKSPACE_NONE,
		  true,
		  { NULL } },
		{ "strict-python",
		  30,
		  512 * MIB,
		  1000,
		  64,
		  POLICY_NETWORK_NONE,
		  POLICY_WORKSPACE_NONE,
		  false,
		  { "python", "command" } },
		{ "strict-js",
		  5,
		  512 * MIB,
		  1000,
		  64,
		  POLICY_NETWORK_NONE,
		  POLICY_WORKSPACE_NONE,
		  false,
		  { "javascript", "command" } },
		{ "agent",
		  30,
		  512 * MIB,
		  500,
		  64,
		  POLICY_NETWORK_NONE,
		  POLICY_WORKSPACE_READ_WRITE,
		  false,
		  { "python", "javascript", "command" } },
		{ "build",
		  600,
		  2048 * MIB,
		  2000,
		  512,
		  POLICY_NETWORK_NONE,
		  POLICY_WORKSPACE_READ_WRITE,
		  true,
		  { NULL } },
		{ "workflow",
		  30,
		  1024 * MIB,
		  1000,
		  256,
		  POLICY_NETWORK_NONE,
		  POLICY_WORKSPACE_NONE,
		  false,
		  { "python", "javascript", "bash", "go", "command" } },
		{ "host-local",
		  30,
		  512 * MIB,
		  1000,
		  64,
		  POLICY_NETWORK_HOST,
		  POLICY_WORKSPACE_NONE,
		  true,
		  { NULL } },
	};

	cr_expect(policy_preset_count() == ARRAY_LENGTH(rows));
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy p = { 0 };
		struct warder_error err = { 0 };
		size_t languages = 0;

		cr_expect_str_eq(policy_preset_name(i), rows[i].name);
		cr_expect(policy_preset(rows[i].name, &p, &err) == 0, "row %s: %s", rows[i].name, err.text);
		cr_expect(p.limits.wall_time_us == rows[i].wall_s * 1000000, "row %s", rows[i].name);
		cr_expect(p.limits.memory_bytes == rows[i].memory, "row %s", rows[i].name);
		cr_expect(p.limits.cpu_milli == rows[i].cpu_milli, "row %s", rows[i].name);
		cr_expect(p.limits.pids_max == rows[i].pids, "row %s", rows[i].name);
		cr_expect(p.network.mode == rows[i].network, "row %s", rows[i].name);
		cr_expect(p.filesystem.workspace == rows[i].workspace, "row %s", rows[i].name);
		cr_expect(p.languages.any == rows[i].any, "row %s", rows[i].name);
		for (; rows[i].languages[languages]; languages++)
			cr_expect_str_eq(p.languages.names.items[languages], rows[i].languages[languages]);
		cr_expect(p.languages.names.count == languages, "row %s", rows[i].name);
	}
}

/* What no preset grants, and what all of them have. */
Test(presets, are_tight, .timeout = 20)
{
	for (size_t i = 0; i < policy_preset_count(); i++) {
		owned_policy struct policy p = { 0 };
		struct warder_error err = { 0 };
		const char *name = policy_preset_name(i);
		bool writes_host, is_build = strcmp(name, "build") == 0;

		cr_expect(policy_preset(name, &p, &err) == 0, "row %s", name);
		writes_host = p.filesystem.workspace != POLICY_WORKSPACE_NONE;
		cr_expect(p.filesystem.view == POLICY_VIEW_HOST && !p.filesystem.workspace_root, "row %s",
			  name);
		cr_expect(p.filesystem.tmp_exec == is_build, "row %s", name);
		cr_expect(p.environment.mode == POLICY_ENVIRONMENT_NONE && p.environment.set_count == 0,
			  "row %s", name);
		cr_expect(p.output.stdout_bytes == MIB && p.output.stderr_bytes == MIB, "row %s", name);
		cr_expect(p.output.on_limit == POLICY_OUTPUT_DRAIN, "row %s", name);
		cr_expect(p.limits.swap_bytes == 0 && p.limits.open_files == 1024, "row %s", name);
		cr_expect(p.limits.stack_bytes == 8 * MIB, "row %s", name);
		cr_expect(p.limits.code_bytes == (strcmp(name, "workflow") == 0 ? 65536 : 16 * MIB), "row %s",
			  name);
		cr_expect((p.limits.disk_bytes == POLICY_UNLIMITED) == writes_host, "row %s", name);
		cr_expect(p.processes.spawn && p.processes.uid == 1000 && p.processes.gid == 1000, "row %s",
			  name);
		/* What shares a kernel object with the host or another jail is left to the presets that run tools. */
		cr_expect_eq(p.syscalls.profile,
			     strncmp(name, "strict", 6) == 0 ? POLICY_SYSCALLS_STRICT
							     : POLICY_SYSCALLS_DEFAULT,
			     "row %s", name);
		cr_expect(!p.syscalls.speculation, "row %s", name);
		cr_expect_eq(p.devices.terminals,
			     strcmp(name, "agent") == 0 || strcmp(name, "build") == 0 ? 4u : 0u, "row %s",
			     name);
		cr_expect(p.working_directory == NULL, "row %s", name);
		for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++)
			cr_expect(!p.preferred[field], "row %s prefers %s", name, policy_field_path(field));
		cr_expect(strlen(policy_preset_summary(i)) > 10, "row %s", name);
	}
}

/* A preset is valid as it is, or says what has to be added. */
Test(presets, validate, .timeout = 20)
{
	for (size_t i = 0; i < policy_preset_count(); i++) {
		owned_policy struct policy p = { 0 };
		struct warder_error err = { 0 };
		const char *name = policy_preset_name(i);

		cr_expect(policy_preset(name, &p, &err) == 0);
		if (p.filesystem.workspace != POLICY_WORKSPACE_NONE) {
			cr_expect(policy_validate(&p, &err) == -1, "row %s", name);
			cr_expect_str_eq(err.field, "filesystem.workspace");
			cr_expect(strstr(err.text, "--workspace DIR"), "row %s: %s", name, err.text);
			cr_expect(policy_set(&p, "filesystem.workspace", "readWrite:/srv/job", &err) == 0);
		}
		cr_expect(policy_validate(&p, &err) == 0, "row %s: %s", name, err.text);
	}
}

/* `warder policy show agent` is a template, and so is what it decodes to: a run asks for what is missing. */
Test(presets, without_a_workspace_show_as_templates, .timeout = 20)
{
	owned_policy struct policy p = { 0 };
	owned_policy struct policy back = { 0 };
	struct warder_error err = { 0 };
	char *text;

	cr_expect(policy_preset("agent", &p, &err) == 0);
	text = policy_encode(&p);
	cr_expect(strstr(text, "\"workspace\": \"readWrite:\""), "%s", text);
	cr_assert(policy_decode(text, strlen(text), "agent.json", &back, &err) == 0, "%s", err.text);
	cr_expect(policy_equal(&p, &back));
	cr_expect(policy_lacks_workspace(&back));
	cr_expect(policy_validate(&back, &err) == -1);
	cr_expect_str_eq(err.text, "filesystem.workspace: the directory is missing; give "
				   "filesystem.workspace \"readWrite:/dir\" or --workspace DIR");
	free(text);
}

Test(presets, unknown, .timeout = 20)
{
	struct policy p = { 0 };
	struct warder_error err = { 0 };

	cr_expect(policy_preset("lax", &p, &err) == -1);
	cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST);
	for (size_t i = 0; i < policy_preset_count(); i++)
		cr_expect(strstr(err.text, policy_preset_name(i)), "%s", err.text);
}
