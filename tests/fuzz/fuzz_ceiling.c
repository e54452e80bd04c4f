/*
 * ceiling: three documents, separated by NUL: what the operator grants, and two policies. What is granted is not more than the
 * ceiling's, by plain comparisons; and what lies within something granted is granted.
 */
#include "edge/rules.h"
#include "jail/edge.h"
#include "policy/policy.h"
#include "tests/fuzz/input.h"

/* A document that is none is the preset strict, so that one broken half does not hide the other. */
static void take_policy(struct fuzz_input *input, struct policy *ret)
{
	struct warder_error err;
	char *text = input_text(input);

	if (policy_decode(text, strlen(text), "input", ret, &err) < 0)
		must(policy_preset("strict", ret, &err) == 0);
	free(text);
}

static bool beneath(const char *path, const char *root)
{
	size_t len = strlen(root);

	return strcmp(root, "/") == 0 ||
	       (strncmp(path, root, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

static bool beneath_one(const char *path, const struct policy_strings *roots)
{
	for (size_t i = 0; i < roots->count; i++)
		if (beneath(path, roots->items[i]))
			return true;
	return false;
}

/* What may be written lies where the ceiling lets something be written. */
static bool is_writable(const struct policy *ceiling, const char *path)
{
	return beneath_one(path, &ceiling->filesystem.read_write) ||
	       (ceiling->filesystem.workspace == POLICY_WORKSPACE_READ_WRITE &&
		beneath(path, ceiling->filesystem.workspace_root));
}

/* A name that a pattern covers, or NULL: the rule is a block. */
static const char *name_of(const struct policy_rule *rule, char *buf, size_t len)
{
	if (!rule->host || rule->host[0] != '*')
		return rule->host;
	snprintf(buf, len, "a%s", rule->host + 1);
	return buf;
}

/* What a rule lets through, the edge of the ceiling's own jail would let through. */
static void must_reach(const struct rules *ceiling, const struct rules *request,
		       const struct policy_rule *rule)
{
	struct policy_cidr block;
	struct warder_error err;
	char buf[300];
	const char *name = name_of(rule, buf, sizeof(buf));
	enum edge_reason ignored;

	for (size_t i = 0; i < rule->port_count; i++) {
		const uint16_t port = rule->ports[i];

		if (name && rules_allow_port(request, name, port, &ignored))
			must(rules_allow_port(ceiling, name, port, &ignored));
		if (name)
			continue;
		must(policy_parse_cidr(rule->cidr, &block, &err) == 0);
		if (rules_allow_address(request, block.address, block.is_v6, port))
			must(rules_allow_address(ceiling, block.address, block.is_v6, port));
	}
}

static void must_reach_no_more(const struct policy *ceiling, const struct policy *request)
{
	const struct policy_endpoints *allow = &request->network.allow;
	struct edge_config *configs[2];
	struct rules rules[2];

	if (ceiling->network.mode == POLICY_NETWORK_HOST || allow->count == 0)
		return;
	for (int i = 0; i < 2; i++) {
		configs[i] = edge_config_new(i ? request : ceiling);
		must(configs[i] && rules_init(&rules[i], configs[i]) == 0);
	}
	for (size_t row = 0; row < allow->count; row++)
		for (size_t i = 0; i < policy_rule_count(&allow->items[row]); i++) {
			struct policy_rule rule = policy_rule_at(&allow->items[row], i);

			must_reach(&rules[0], &rules[1], &rule);
		}
	for (int i = 0; i < 2; i++) {
		rules_done(&rules[i]);
		free(configs[i]);
	}
}

static void must_be_within(const struct policy *ceiling, const struct policy *request)
{
	must(request->network.mode <= ceiling->network.mode);
	must_reach_no_more(ceiling, request);
	must(request->limits.wall_time_us <= ceiling->limits.wall_time_us);
	must(request->limits.cpu_time_us <= ceiling->limits.cpu_time_us);
	must(request->limits.memory_bytes <= ceiling->limits.memory_bytes);
	must(request->limits.swap_bytes <= ceiling->limits.swap_bytes);
	must(request->limits.cpu_milli <= ceiling->limits.cpu_milli);
	must(request->limits.pids_max <= ceiling->limits.pids_max);
	must(request->limits.open_files <= ceiling->limits.open_files);
	must(request->limits.file_size_bytes <= ceiling->limits.file_size_bytes);
	must(request->limits.stack_bytes <= ceiling->limits.stack_bytes);
	must(request->limits.disk_bytes <= ceiling->limits.disk_bytes);
	must(request->output.stdout_bytes <= ceiling->output.stdout_bytes);
	must(request->output.stderr_bytes <= ceiling->output.stderr_bytes);
	must(request->syscalls.profile <= ceiling->syscalls.profile);
	must(!request->processes.spawn || ceiling->processes.spawn);
	must(!request->filesystem.tmp_exec || ceiling->filesystem.tmp_exec);
	must(request->filesystem.tmp_bytes <= ceiling->filesystem.tmp_bytes);
	for (size_t i = 0; i < request->filesystem.read_write.count; i++)
		must(is_writable(ceiling, request->filesystem.read_write.items[i]));
	for (size_t i = 0; i < POLICY_FIELD_COUNT; i++)
		must(!request->preferred[i] || ceiling->preferred[i]);
}

static bool is_within(const struct policy *ceiling, const struct policy *request)
{
	struct warder_error err;

	if (policy_check_ceiling(ceiling, request, &err) == 0) {
		must_be_within(ceiling, request);
		return true;
	}
	must(err.code == WARDER_ERROR_REJECTED && err.field[0] && err.text[0] && !strchr(err.text, '\n'));
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct policy policies[3] = { 0 };

	for (int i = 0; i < 3; i++)
		take_policy(&input, &policies[i]);
	for (int i = 0; i < 3; i++)
		must(is_within(&policies[i], &policies[i]));
	if (is_within(&policies[0], &policies[1]) && is_within(&policies[1], &policies[2]))
		must(is_within(&policies[0], &policies[2]));
	for (int i = 0; i < 3; i++)
		policy_done(&policies[i]);
	return 0;
}
