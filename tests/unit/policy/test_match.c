#include "base/array.h"
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *const languages[] = { "command", "python", "rust", "wasm", NULL };
static const struct policy_subject program = { "command", POLICY_PAYLOAD_PROGRAM };

static void preset(const char *name, struct policy *ret)
{
	struct warder_error err;

	cr_assert(policy_preset(name, ret, &err) == 0);
}

static void set(struct policy *policy, const char *path, const char *value)
{
	struct warder_error err = { 0 };

	cr_expect(policy_set(policy, path, value, &err) == 0, "%s = %s: %s", path, value, err.text);
}

static struct policy_capabilities all_enforced(void)
{
	struct policy_capabilities capabilities = { .backend = "test", .languages = languages };

	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++)
		capabilities.controls[control].enforced = true;
	return capabilities;
}

static struct policy_capabilities none_enforced(void)
{
	return (struct policy_capabilities){ .backend = "weak", .languages = languages };
}

/* Match with one control missing. */
static int match_without(const struct policy *policy, enum policy_control control, struct policy_match *ret,
			 struct warder_error *err)
{
	struct policy_capabilities capabilities = all_enforced();

	capabilities.controls[control].enforced = false;
	snprintf(capabilities.controls[control].reason, sizeof(capabilities.controls[control].reason),
		 "REASON");
	return policy_match(policy, &capabilities, &program, ret, err);
}

Test(match, full_capabilities_fit_strict, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct policy_capabilities capabilities = all_enforced();
	struct policy_match match;
	struct warder_error err = { 0 };

	preset("strict", &policy);
	cr_expect(policy_match(&policy, &capabilities, &program, &match, &err) == 0, "%s", err.text);
	cr_expect(match.count == 0 && match.required_count == 0);
	cr_expect(match.needed[POLICY_CONTROL_NETWORK_NONE] && !match.needed[POLICY_CONTROL_NETWORK_ALLOW]);
}

/* Which values need which control: each row changes strict and tells one control's need. */
Test(match, needed_controls, .timeout = 20)
{
	static const struct {
		const char *path, *value;
		enum policy_control control;
		bool needed;
	} rows[] = {
		{ NULL, NULL, POLICY_CONTROL_NETWORK_NONE, true },
		{ "network.mode", "loopback", POLICY_CONTROL_NETWORK_NONE, false },
		{ "network.mode", "loopback", POLICY_CONTROL_NETWORK_LOOPBACK, true },
		{ "network.mode", "allow", POLICY_CONTROL_NETWORK_ALLOW, true },
		{ "network.mode", "host", POLICY_CONTROL_NETWORK_NONE, false },
		{ "network.mode", "host", POLICY_CONTROL_NETWORK_LOOPBACK, false },
		{ "network.mode", "host", POLICY_CONTROL_NETWORK_ALLOW, false },
		{ NULL, NULL, POLICY_CONTROL_VIEW_HOST, true },
		{ "filesystem.view", "directory:/r", POLICY_CONTROL_VIEW_HOST, false },
		{ "filesystem.view", "directory:/r", POLICY_CONTROL_VIEW_DIRECTORY, true },
		{ "filesystem.view", "image:x", POLICY_CONTROL_VIEW_IMAGE, true },
		{ NULL, NULL, POLICY_CONTROL_WORKSPACE_NONE, true },
		{ "filesystem.workspace", "readOnly:/w", POLICY_CONTROL_WORKSPACE_NONE, false },
		{ "filesystem.workspace", "readOnly:/w", POLICY_CONTROL_WORKSPACE_READ_ONLY, true },
		{ "filesystem.workspace", "overlay:/w", POLICY_CONTROL_WORKSPACE_OVERLAY, true },
		{ "filesystem.workspace", "overlay:/w", POLICY_CONTROL_WORKSPACE_READ_WRITE, false },
		{ "filesystem.workspace", "readWrite:/w", POLICY_CONTROL_WORKSPACE_READ_WRITE, true },
		{ NULL, NULL, POLICY_CONTROL_PATHS_READ_ONLY, false },
		{ NULL, NULL, POLICY_CONTROL_PATHS_READ_WRITE, false },
		{ "filesystem.paths.readOnly", "/a", POLICY_CONTROL_PATHS_READ_ONLY, true },
		{ "filesystem.paths.readWrite", "/a", POLICY_CONTROL_PATHS_READ_WRITE, true },
		{ NULL, NULL, POLICY_CONTROL_TMP, true },
		{ NULL, NULL, POLICY_CONTROL_ENVIRONMENT, true },
		{ "environment.mode", "allowList", POLICY_CONTROL_ENVIRONMENT, true },
		{ "environment.mode", "host", POLICY_CONTROL_ENVIRONMENT, false },
		{ NULL, NULL, POLICY_CONTROL_WALL_TIME, true },
		{ NULL, NULL, POLICY_CONTROL_CPU_TIME, true },
		{ "limits.cpuTime", "unlimited", POLICY_CONTROL_CPU_TIME, false },
		{ NULL, NULL, POLICY_CONTROL_MEMORY, true },
		{ "limits.memory", "unlimited", POLICY_CONTROL_MEMORY, false },
		{ NULL, NULL, POLICY_CONTROL_SWAP, true },
		{ "limits.swap", "unlimited", POLICY_CONTROL_SWAP, false },
		{ NULL, NULL, POLICY_CONTROL_CPUS, true },
		{ "limits.cpus", "unlimited", POLICY_CONTROL_CPUS, false },
		{ NULL, NULL, POLICY_CONTROL_PIDS, true },
		{ "limits.pids", "unlimited", POLICY_CONTROL_PIDS, false },
		{ NULL, NULL, POLICY_CONTROL_OPEN_FILES, true },
		{ "limits.openFiles", "unlimited", POLICY_CONTROL_OPEN_FILES, false },
		{ NULL, NULL, POLICY_CONTROL_FILE_SIZE, true },
		{ "limits.fileSize", "unlimited", POLICY_CONTROL_FILE_SIZE, false },
		{ NULL, NULL, POLICY_CONTROL_STACK, true },
		{ "limits.stack", "unlimited", POLICY_CONTROL_STACK, false },
		{ NULL, NULL, POLICY_CONTROL_DISK_TMP, true },
		{ NULL, NULL, POLICY_CONTROL_DISK_WORKSPACE, false },
		{ "filesystem.workspace", "readOnly:/w", POLICY_CONTROL_DISK_WORKSPACE, false },
		{ "filesystem.workspace", "readWrite:/w", POLICY_CONTROL_DISK_WORKSPACE, true },
		{ "filesystem.workspace", "readWrite:/w", POLICY_CONTROL_DISK_TMP, true },
		{ "filesystem.paths.readWrite", "/a", POLICY_CONTROL_DISK_WORKSPACE, true },
		{ "limits.disk", "unlimited", POLICY_CONTROL_DISK_TMP, false },
		{ "limits.disk", "unlimited", POLICY_CONTROL_DISK_WORKSPACE, false },
		{ NULL, NULL, POLICY_CONTROL_CODE, true },
		{ "limits.code", "16MiB", POLICY_CONTROL_CODE, true },
		{ NULL, NULL, POLICY_CONTROL_STDOUT, true },
		{ NULL, NULL, POLICY_CONTROL_STDERR, true },
		{ NULL, NULL, POLICY_CONTROL_NO_SPAWN, false },
		{ "processes.spawn", "false", POLICY_CONTROL_NO_SPAWN, true },
		{ NULL, NULL, POLICY_CONTROL_IDENTITY, true },
		{ NULL, NULL, POLICY_CONTROL_SYSCALLS, true },
		{ NULL, NULL, POLICY_CONTROL_SYSCALLS_KILL, false },
		{ "syscalls.onViolation", "kill", POLICY_CONTROL_SYSCALLS_KILL, true },
		{ NULL, NULL, POLICY_CONTROL_SPECULATION, false },
		{ "syscalls.speculation", "true", POLICY_CONTROL_SPECULATION, true },
		{ NULL, NULL, POLICY_CONTROL_TERMINALS, true },
		{ "devices.terminals", "4", POLICY_CONTROL_TERMINALS, true },
		{ NULL, NULL, POLICY_CONTROL_FUNCTIONS, false },
		{ "functions", "a", POLICY_CONTROL_FUNCTIONS, true },
		{ NULL, NULL, POLICY_CONTROL_WORKING_DIRECTORY, false },
		{ "workingDirectory", "/tmp", POLICY_CONTROL_WORKING_DIRECTORY, true },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy policy = { 0 };
		bool needed[POLICY_CONTROL_COUNT];

		preset("strict", &policy);
		if (rows[i].path)
			set(&policy, rows[i].path, rows[i].value);
		policy_needed_controls(&policy, needed);
		cr_expect(needed[rows[i].control] == rows[i].needed, "row %zu: %s = %s, %s", i,
			  rows[i].path ? rows[i].path : "-", rows[i].value ? rows[i].value : "-",
			  policy_control_name(rows[i].control));
	}
}

/* Every control that strict needs is refused on its own when it is missing, by its field and reason. */
Test(match, each_missing_control_is_refused, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	bool needed[POLICY_CONTROL_COUNT];

	preset("strict", &policy);
	policy_needed_controls(&policy, needed);
	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++) {
		const char *path = policy_field_path(policy_control_field(control));
		struct policy_match match;
		struct warder_error err = { 0 };
		int status = match_without(&policy, control, &match, &err);

		cr_expect((status == -1) == needed[control], "control %s", policy_control_name(control));
		if (!needed[control])
			continue;
		cr_expect(err.code == WARDER_ERROR_UNSUPPORTED_POLICY, "control %s",
			  policy_control_name(control));
		cr_expect_str_eq(err.field, path);
		cr_expect(strstr(err.text, path) && strstr(err.text, "REASON"), "%s", err.text);
		cr_expect(strstr(err.text, policy_field_group(policy_control_field(control))), "%s",
			  err.text);
		cr_expect(match.count == 1 && match.required_count == 1 && match.unmet[0].control == control);
	}
}

/* The rows of the acceptance matrix about what a policy may and may not leave to a weak backend. */
Test(match, restrictions_by_value, .timeout = 20)
{
	static const struct {
		const char *path, *value;
		enum policy_control missing;
		const char *says; /* NULL: accepted */
	} rows[] = {
		{ "network.mode", "none", POLICY_CONTROL_NETWORK_NONE, "network" },
		{ "network.mode", "host", POLICY_CONTROL_NETWORK_NONE, NULL },
		{ "network.mode", "allow", POLICY_CONTROL_NETWORK_ALLOW, "network.allow: REASON" },
		{ "filesystem.workspace", "readOnly:/tmp", POLICY_CONTROL_WORKSPACE_READ_ONLY, "filesystem" },
		{ "filesystem.workspace", "none", POLICY_CONTROL_WORKSPACE_NONE, "filesystem" },
		{ "environment.mode", "none", POLICY_CONTROL_ENVIRONMENT, "environment" },
		{ "environment.mode", "allowList", POLICY_CONTROL_ENVIRONMENT, "environment" },
		{ "environment.mode", "host", POLICY_CONTROL_ENVIRONMENT, NULL },
		{ "limits.wallTime", "5", POLICY_CONTROL_WALL_TIME, "timeout" },
		{ "limits.memory", "64MiB", POLICY_CONTROL_MEMORY, "limits.memory" },
		{ "limits.memory", "unlimited", POLICY_CONTROL_MEMORY, NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy policy = { 0 };
		struct policy_match match;
		struct warder_error err = { 0 };

		preset("strict", &policy);
		set(&policy, rows[i].path, rows[i].value);
		if (strcmp(rows[i].value, "allowList") == 0)
			set(&policy, "environment.names", "PATH");
		cr_expect((match_without(&policy, rows[i].missing, &match, &err) == 0) == !rows[i].says,
			  "row %zu: %s", i, err.text);
		cr_expect(!rows[i].says || strstr(err.text, rows[i].says), "row %zu says: %s", i, err.text);
	}
}

Test(match, everything_unmet_is_named_in_order, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct policy_capabilities capabilities = none_enforced();
	struct policy_match match;
	struct warder_error err = { 0 };
	static const char *const groups[] = { "network", "filesystem", "environment", "timeout" };
	size_t needed = 0;

	preset("strict", &policy);
	cr_expect(policy_match(&policy, &capabilities, &program, &match, &err) == -1);
	cr_expect(err.code == WARDER_ERROR_UNSUPPORTED_POLICY);
	cr_expect_str_eq(err.field, "network");
	cr_expect(strncmp(err.text, "cannot enforce network, filesystem.view, ", 41) == 0, "%s", err.text);
	for (size_t i = 0; i < ARRAY_LENGTH(groups); i++)
		cr_expect(strstr(err.text, groups[i]), "%s: %s", groups[i], err.text);
	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++)
		needed += match.needed[control];
	cr_expect(match.count == needed && match.required_count == needed);
	cr_expect(match.unmet[0].control == POLICY_CONTROL_NETWORK_NONE);
	cr_expect_str_eq(match.unmet[0].reason, "the backend weak cannot enforce no network");
	for (size_t i = 1; i < match.count; i++)
		cr_expect(match.unmet[i - 1].field <= match.unmet[i].field, "row %zu", i);
}

/* Where the names do not fit, the text says how many more there are. */
Test(match, a_long_list_says_how_many_more, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct policy_capabilities capabilities = none_enforced();
	struct policy_match match;
	struct warder_error err = { 0 };
	size_t named = 0, more = 0;
	const char *and;

	preset("strict", &policy);
	set(&policy, "processes.spawn", "false");
	set(&policy, "workingDirectory", "/tmp");
	set(&policy, "syscalls.speculation", "true");
	set(&policy, "filesystem.paths.readOnly", "/a");
	set(&policy, "functions", "a");
	cr_expect(policy_match(&policy, &capabilities, &program, &match, &err) == -1);
	and = strstr(err.text, " and ");
	cr_assert_not_null(and, "%s", err.text);
	cr_expect(sscanf(and, " and %zu more: network.none: ", &more) == 1, "%s", err.text);
	for (const char *at = err.text; at < and; at++)
		named += *at == ',';
	cr_expect(named + 1 + more == POLICY_FIELD_COUNT - 4,
		  "all but languages and what needs connections: %zu + %zu", named + 1, more);
}

Test(match, a_field_with_two_controls_is_named_once, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct policy_capabilities capabilities = all_enforced();
	struct policy_match match;
	struct warder_error err = { 0 };

	preset("strict", &policy);
	set(&policy, "filesystem.workspace", "readWrite:/w");
	capabilities.controls[POLICY_CONTROL_DISK_TMP].enforced = false;
	capabilities.controls[POLICY_CONTROL_DISK_WORKSPACE].enforced = false;
	cr_expect(policy_match(&policy, &capabilities, &program, &match, &err) == -1);
	cr_expect(match.count == 2);
	cr_expect_str_eq(
	    err.text, "cannot enforce limits.disk: "
		      "limits.disk.tmp: the backend test cannot enforce a limit of all bytes written below "
		      "/tmp and /dev/shm; "
		      "limits.disk.workspace: the backend test cannot enforce a limit of bytes written to "
		      "host directories; or run without it: --prefer limits.disk");
}

/* What several share is told once, and the text never ends within a word. */
Test(match, a_shared_reason_is_told_once, .timeout = 20)
{
#define HOW "needs root, or a delegated cgroup: run under systemd-run --user --scope -p Delegate=yes"
	static const struct {
		const char *cpu, *memory, *pids, *text;
	} rows[] = {
		{ "/cg/cpu: denied: " HOW, "/cg/mem: denied: " HOW, "/cg/pids: denied: " HOW,
		  "cannot enforce limits.cpuTime, limits.memory, limits.pids: denied: " HOW
		  "; or run without them: --prefer limits" },
		{ "/cg: " HOW, "/cg: " HOW, "/cg: " HOW,
		  "cannot enforce limits.cpuTime, limits.memory, limits.pids: /cg: " HOW
		  "; or run without them: --prefer limits" },
		{ "/cg: A", "B", "/cg: A",
		  "cannot enforce limits.cpuTime, limits.memory, limits.pids: limits.cpuTime, limits.pids: "
		  "/cg: A; "
		  "limits.memory: B"
		  "; or run without them: --prefer limits" },
		{ HOW "1", HOW "2", HOW "3",
		  "cannot enforce limits.cpuTime, limits.memory, limits.pids: limits.cpuTime: " HOW
		  "1; limits.memory: " HOW "2; limits.pids: " HOW "3 ..." },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy policy = { 0 };
		struct policy_capabilities capabilities = all_enforced();
		const struct {
			enum policy_control control;
			const char *reason;
		} missing[] = { { POLICY_CONTROL_CPU_TIME, rows[i].cpu },
				{ POLICY_CONTROL_MEMORY, rows[i].memory },
				{ POLICY_CONTROL_PIDS, rows[i].pids } };
		struct policy_match match;
		struct warder_error err = { 0 };

		preset("strict", &policy);
		for (size_t k = 0; k < 3; k++) {
			struct policy_capability *one = &capabilities.controls[missing[k].control];

			one->enforced = false;
			snprintf(one->reason, sizeof(one->reason), "%s", missing[k].reason);
		}
		cr_expect(policy_match(&policy, &capabilities, &program, &match, &err) == -1);
		cr_expect_str_eq(err.text, rows[i].text, "row %zu: %s", i, err.text);
	}
}

/* Only limits are offered to be done without. */
Test(match, isolation_is_not_offered_away, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct policy_capabilities capabilities = all_enforced();
	struct policy_match match;
	struct warder_error err = { 0 };

	preset("strict", &policy);
	capabilities.controls[POLICY_CONTROL_MEMORY].enforced = false;
	capabilities.controls[POLICY_CONTROL_SYSCALLS].enforced = false;
	cr_expect(policy_match(&policy, &capabilities, &program, &match, &err) == -1);
	cr_expect_null(strstr(err.text, "--prefer"), "%s", err.text);
}

Test(match, preferred_fields_may_be_unmet, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct policy_capabilities capabilities = all_enforced();
	struct policy_match match;
	struct warder_error err = { 0 };

	preset("strict", &policy);
	policy.preferred[POLICY_FIELD_MEMORY] = true;
	capabilities.controls[POLICY_CONTROL_MEMORY].enforced = false;
	cr_expect(policy_match(&policy, &capabilities, &program, &match, &err) == 0);
	cr_expect(match.count == 1 && match.required_count == 0 && match.unmet[0].preferred);
	cr_expect(err.code == 0, "no error is written");
	capabilities.controls[POLICY_CONTROL_PIDS].enforced = false;
	cr_expect(policy_match(&policy, &capabilities, &program, &match, &err) == -1);
	cr_expect(match.count == 2 && match.required_count == 1);
	cr_expect_str_eq(err.field, "limits.pids");
	cr_expect_null(strstr(err.text, "memory"), "only what is required is refused: %s", err.text);
}

Test(match, languages_and_payloads, .timeout = 20)
{
	static const struct {
		const char *allowed, *language;
		enum policy_payload payload;
		uint32_t code; /* 0: accepted */
		const char *says;
	} rows[] = {
		{ "any", "command", POLICY_PAYLOAD_PROGRAM, 0, "" },
		{ "any", "command", POLICY_PAYLOAD_SOURCE, 0, "" },
		{ "any", "python", POLICY_PAYLOAD_SOURCE, 0, "" },
		{ "any", "wasm", POLICY_PAYLOAD_GUEST_MODULE, 0, "" },
		{ "python,command", "python", POLICY_PAYLOAD_SOURCE, 0, "" },
		{ "any", "ruby", POLICY_PAYLOAD_SOURCE, WARDER_ERROR_UNSUPPORTED_LANGUAGE,
		  "\"ruby\" is not available with the backend test; available: command, python, rust, wasm" },
		{ "any", "Rust", POLICY_PAYLOAD_SOURCE, WARDER_ERROR_UNSUPPORTED_LANGUAGE, "Rust" },
		{ "any", "", POLICY_PAYLOAD_SOURCE, WARDER_ERROR_UNSUPPORTED_LANGUAGE, "\"\"" },
		{ "python", "rust", POLICY_PAYLOAD_SOURCE, WARDER_ERROR_UNSUPPORTED_LANGUAGE,
		  "the policy does not allow the language \"rust\"" },
		{ "", "python", POLICY_PAYLOAD_SOURCE, WARDER_ERROR_UNSUPPORTED_LANGUAGE, "does not allow" },
		{ "", "command", POLICY_PAYLOAD_PROGRAM, WARDER_ERROR_UNSUPPORTED_LANGUAGE,
		  "does not allow" },
		{ "any", "rust", POLICY_PAYLOAD_GUEST_MODULE, WARDER_ERROR_INVALID_REQUEST, "GuestModule" },
		{ "any", "wasm", POLICY_PAYLOAD_SOURCE, WARDER_ERROR_INVALID_REQUEST, "GuestModule" },
		{ "any", "python", POLICY_PAYLOAD_PROGRAM, WARDER_ERROR_INVALID_REQUEST,
		  "a program needs the language command" },
		{ "any", "ruby", POLICY_PAYLOAD_GUEST_MODULE, WARDER_ERROR_UNSUPPORTED_LANGUAGE, "ruby" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy policy = { 0 };
		struct policy_capabilities capabilities = all_enforced();
		const struct policy_subject subject = { rows[i].language, rows[i].payload };
		struct policy_match match;
		struct warder_error err = { 0 };

		preset("strict", &policy);
		set(&policy, "languages", rows[i].allowed);
		cr_expect((policy_match(&policy, &capabilities, &subject, &match, &err) == 0) ==
			      (rows[i].code == 0),
			  "row %zu: %s", i, err.text);
		cr_expect(err.code == rows[i].code, "row %zu: %s", i, err.text);
		cr_expect(strstr(err.text, rows[i].says), "row %zu says: %s", i, err.text);
		cr_expect(rows[i].code == 0 || match.unmet[0].field == POLICY_FIELD_LANGUAGES, "row %zu", i);
	}
}

/* Language first, then payload, then the fields; all of them in one answer. */
Test(match, order_of_faults, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct policy_capabilities capabilities = none_enforced();
	const struct policy_subject guest = { "ruby", POLICY_PAYLOAD_GUEST_MODULE };
	const struct policy_subject python = { "python", POLICY_PAYLOAD_SOURCE };
	struct policy_match match;
	struct warder_error err = { 0 };

	preset("strict", &policy);
	cr_expect(policy_match(&policy, &capabilities, &guest, &match, &err) == -1);
	cr_expect(err.code == WARDER_ERROR_UNSUPPORTED_LANGUAGE);
	cr_expect_str_eq(err.field, "languages");
	cr_expect(match.unmet[0].error == WARDER_ERROR_UNSUPPORTED_LANGUAGE);
	cr_expect(match.unmet[1].error == WARDER_ERROR_INVALID_REQUEST);
	cr_expect(match.unmet[2].error == WARDER_ERROR_UNSUPPORTED_POLICY);
	cr_expect(strstr(err.text, "; a GuestModule needs"), "%s", err.text);
	cr_expect(strstr(err.text, "; cannot enforce network, "), "%s", err.text);
	cr_expect(policy_match(&policy, &capabilities, &python, &match, &err) == -1);
	cr_expect(err.code == WARDER_ERROR_UNSUPPORTED_POLICY,
		  "a supported language leaves the policy's faults");
	capabilities = all_enforced();
	cr_expect(policy_match(&policy, &capabilities, &guest, &match, &err) == -1);
	cr_expect_null(strstr(err.text, "cannot enforce"), "%s", err.text);
}

/* The longest possible answer stays within its arrays; without a subject only the policy counts. */
Test(match, worst_case_and_no_subject, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct policy_capabilities capabilities = { .backend = "weak" };
	const struct policy_subject guest = { "ruby", POLICY_PAYLOAD_GUEST_MODULE };
	struct policy_match match;
	struct warder_error err = { 0 };

	preset("strict", &policy);
	set(&policy, "filesystem.workspace", "readWrite:/w");
	set(&policy, "filesystem.paths.readOnly", "/a");
	set(&policy, "filesystem.paths.readWrite", "/b");
	set(&policy, "processes.spawn", "false");
	set(&policy, "syscalls.onViolation", "kill");
	set(&policy, "workingDirectory", "/tmp");
	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++)
		memset(capabilities.controls[control].reason, 'x',
		       sizeof(capabilities.controls[control].reason) - 1);
	cr_expect(policy_match(&policy, &capabilities, &guest, &match, &err) == -1);
	cr_expect(match.count <= ARRAY_LENGTH(match.unmet));
	cr_expect(strstr(err.text, "available: none"), "%s", err.text);
	cr_expect(strlen(err.text) < sizeof(err.text));
	capabilities = all_enforced();
	capabilities.languages = NULL;
	cr_expect(policy_match(&policy, &capabilities, NULL, &match, &err) == 0);
}

Test(match, values_of_controls, .timeout = 20)
{
	static const struct {
		const char *path, *value;
		enum policy_control control;
		const char *text;
	} rows[] = {
		{ NULL, NULL, POLICY_CONTROL_NETWORK_NONE, "none" },
		{ "network.mode", "host", POLICY_CONTROL_NETWORK_NONE, "host" },
		{ "network.allow", "[fd00::/8]:1,2", POLICY_CONTROL_NETWORK_ALLOW, "none [fd00::/8]:1,2" },
		{ NULL, NULL, POLICY_CONTROL_VIEW_HOST, "host" },
		{ "filesystem.view", "image:a", POLICY_CONTROL_VIEW_IMAGE, "image:a" },
		{ NULL, NULL, POLICY_CONTROL_WORKSPACE_NONE, "none" },
		{ "filesystem.workspace", "readWrite:/w", POLICY_CONTROL_WORKSPACE_READ_WRITE,
		  "readWrite:/w" },
		{ "filesystem.paths.readOnly", "/a", POLICY_CONTROL_PATHS_READ_ONLY, "/a" },
		{ "filesystem.paths.readOnly", "/a", POLICY_CONTROL_PATHS_READ_WRITE, "" },
		{ NULL, NULL, POLICY_CONTROL_TMP, "64MiB" },
		{ "environment.set.TOKEN", "secret", POLICY_CONTROL_ENVIRONMENT, "none TOKEN=..." },
		{ NULL, NULL, POLICY_CONTROL_WALL_TIME, "30s" },
		{ "limits.memory", "256MiB", POLICY_CONTROL_MEMORY, "256MiB" },
		{ "limits.memory", "unlimited", POLICY_CONTROL_MEMORY, "unlimited" },
		{ "limits.cpus", "0.5", POLICY_CONTROL_CPUS, "0.5" },
		{ NULL, NULL, POLICY_CONTROL_PIDS, "64" },
		{ NULL, NULL, POLICY_CONTROL_DISK_TMP, "64MiB" },
		{ NULL, NULL, POLICY_CONTROL_DISK_WORKSPACE, "64MiB" },
		{ "limits.code", "64KiB", POLICY_CONTROL_CODE, "64KiB" },
		{ "processes.spawn", "false", POLICY_CONTROL_NO_SPAWN, "false" },
		{ NULL, NULL, POLICY_CONTROL_IDENTITY, "1000:1000" },
		{ "syscalls.deny", "bpf", POLICY_CONTROL_SYSCALLS, "strict -bpf" },
		{ "syscalls.allow", "bpf", POLICY_CONTROL_SYSCALLS, "strict +bpf" },
		{ NULL, NULL, POLICY_CONTROL_SYSCALLS_KILL, "errno" },
		{ NULL, NULL, POLICY_CONTROL_SPECULATION, "false" },
		{ "syscalls.speculation", "true", POLICY_CONTROL_SPECULATION, "true" },
		{ "devices.terminals", "4", POLICY_CONTROL_TERMINALS, "4" },
		{ "functions", "lookup", POLICY_CONTROL_FUNCTIONS, "lookup" },
		{ "workingDirectory", "/tmp", POLICY_CONTROL_WORKING_DIRECTORY, "/tmp" },
		{ NULL, NULL, POLICY_CONTROL_WORKING_DIRECTORY, "" },
	};
	char buf[64];

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy policy = { 0 };

		preset("strict", &policy);
		if (rows[i].path)
			set(&policy, rows[i].path, rows[i].value);
		cr_expect_str_eq(policy_control_value(&policy, rows[i].control, buf, sizeof(buf)),
				 rows[i].text, "row %zu: %s", i, buf);
	}
	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++) {
		owned_policy struct policy policy = { 0 };

		preset("strict", &policy);
		for (int i = 0; i < 20; i++)
			set(&policy, "filesystem.paths.readOnly", "/a/long/path/that/does/not/fit");
		cr_expect(strlen(policy_control_value(&policy, control, buf, 12)) < 12, "control %d",
			  (int)control);
	}
}
