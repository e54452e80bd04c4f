#include "base/array.h"
#include "jail/jail.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* From a made-up host to rows: what is missing must refuse the controls that rest on it. */

static const struct policy_subject program = { "command", POLICY_PAYLOAD_PROGRAM };

/* A host on which everything is there, and has been tried. */
static struct jail_host whole_host(void)
{
	struct jail_host host = { .privileged = true, .landlock_abi = 7 };

	for (enum jail_feature feature = 0; feature < JAIL_FEATURE_COUNT; feature++)
		host.features[feature] = (struct jail_feature_state){ .tried = true, .there = true };
	host.cgroup.hierarchy_count = 1;
	host.cgroup.hierarchies[0].v2 = true;
	host.cgroup.swap_limit = true;
	return host;
}

static void lose(struct jail_host *host, enum jail_feature feature)
{
	host->features[feature].there = false;
	snprintf(host->features[feature].detail, sizeof(host->features[feature].detail), "REASON");
}

static void strict(struct policy *ret)
{
	struct warder_error err;

	cr_assert(policy_preset("strict", ret, &err) == 0);
}

static int match(const struct jail_host *host, const struct policy *policy, struct policy_match *ret,
		 struct warder_error *err)
{
	struct policy_capabilities capabilities;

	jail_capabilities(host, policy, &capabilities);
	return policy_match(policy, &capabilities, &program, ret, err);
}

/* A control that is lost with a feature; what the strict preset needs of them. */
static const struct {
	enum jail_feature feature;
	enum policy_control control;
} rows[] = {
	{ JAIL_FEATURE_USER_NS, POLICY_CONTROL_IDENTITY },
	{ JAIL_FEATURE_MOUNT_NS, POLICY_CONTROL_VIEW_HOST },
	{ JAIL_FEATURE_MOUNT_NS, POLICY_CONTROL_WORKSPACE_NONE },
	{ JAIL_FEATURE_MOUNT_NS, POLICY_CONTROL_TMP },
	{ JAIL_FEATURE_PID_NS, POLICY_CONTROL_WALL_TIME },
	{ JAIL_FEATURE_NET_NS, POLICY_CONTROL_NETWORK_NONE },
	{ JAIL_FEATURE_IPC_NS, POLICY_CONTROL_IDENTITY },
	{ JAIL_FEATURE_UTS_NS, POLICY_CONTROL_IDENTITY },
	{ JAIL_FEATURE_CGROUP_NS, POLICY_CONTROL_IDENTITY },
	{ JAIL_FEATURE_TIME_NS, POLICY_CONTROL_IDENTITY },
	{ JAIL_FEATURE_CLONE3, POLICY_CONTROL_WALL_TIME },
	{ JAIL_FEATURE_PIDFD, POLICY_CONTROL_WALL_TIME },
	{ JAIL_FEATURE_CLOSE_RANGE, POLICY_CONTROL_OPEN_FILES },
	{ JAIL_FEATURE_OPENAT2, POLICY_CONTROL_VIEW_HOST },
	{ JAIL_FEATURE_SECCOMP, POLICY_CONTROL_SYSCALLS },
};

Test(capability, a_whole_host_enforces_the_strict_preset, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct jail_host host = whole_host();
	struct policy_match found;
	struct warder_error err = { 0 };

	strict(&policy);
	cr_expect(match(&host, &policy, &found, &err) == 0, "%s", err.text);
	cr_expect(jail_check(&host, &policy, &err) == 0, "%s", err.text);
}

Test(capability, what_is_missing_refuses_what_rests_on_it, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };

	strict(&policy);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *title = jail_feature_title(rows[i].feature);
		struct jail_host host = whole_host();
		struct warder_error err = { 0 };
		struct policy_match found;
		bool named = false;

		lose(&host, rows[i].feature);
		cr_expect(match(&host, &policy, &found, &err) == -1, "%s", title);
		for (size_t j = 0; j < found.count; j++)
			named = named || (found.unmet[j].control == rows[i].control &&
					  strstr(found.unmet[j].reason, "REASON"));
		cr_expect(named, "%s does not refuse %s", title, policy_control_name(rows[i].control));
	}
}

/* A launch tries by itself, so what a quick probe has left out is no reason to refuse. */
Test(capability, what_was_not_tried_counts_as_there, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct jail_host host = whole_host();
	struct policy_match found;
	struct warder_error err = { 0 };

	strict(&policy);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		if (rows[i].feature == JAIL_FEATURE_SECCOMP)
			continue;
		lose(&host, rows[i].feature);
		host.features[rows[i].feature].tried = false;
	}
	cr_expect(match(&host, &policy, &found, &err) == 0, "%s", err.text);
	cr_expect(jail_check(&host, &policy, &err) == 0, "%s", err.text);
}

Test(capability, a_kernel_without_time_and_cgroup_namespaces_will_do, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct jail_host host = whole_host();
	struct policy_match found;
	struct warder_error err = { 0 };

	strict(&policy);
	lose(&host, JAIL_FEATURE_TIME_NS);
	lose(&host, JAIL_FEATURE_CGROUP_NS);
	host.features[JAIL_FEATURE_TIME_NS].absent = host.features[JAIL_FEATURE_CGROUP_NS].absent = true;
	cr_expect(match(&host, &policy, &found, &err) == 0, "%s", err.text);
	cr_expect(jail_check(&host, &policy, &err) == 0, "%s", err.text);
}

/* mount(2) does what the newer interface does, but for idmapped mounts. */
Test(capability, an_older_mount_interface_will_do, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct jail_host host = whole_host();
	struct policy_capabilities capabilities;
	struct warder_error err = { 0 };

	strict(&policy);
	jail_capabilities(&host, &policy, &capabilities);
	cr_expect(strstr(capabilities.controls[POLICY_CONTROL_VIEW_HOST].mechanism, "mount_setattr"));
	lose(&host, JAIL_FEATURE_MOUNT_API);
	lose(&host, JAIL_FEATURE_IDMAP);
	jail_capabilities(&host, &policy, &capabilities);
	cr_expect(jail_check(&host, &policy, &err) == 0, "%s", err.text);
	cr_expect(capabilities.controls[POLICY_CONTROL_VIEW_HOST].enforced &&
		  strstr(capabilities.controls[POLICY_CONTROL_VIEW_HOST].mechanism, "mount(2)"));
	cr_expect(!capabilities.controls[POLICY_CONTROL_WORKSPACE_READ_WRITE].enforced);
	cr_expect(!capabilities.controls[POLICY_CONTROL_PATHS_READ_WRITE].enforced);
	host.privileged = false;
	jail_capabilities(&host, &policy, &capabilities);
	cr_expect(capabilities.controls[POLICY_CONTROL_WORKSPACE_READ_WRITE].enforced);
}

Test(capability, no_preference_lets_a_jail_start_without, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };

	strict(&policy);
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++)
		policy.preferred[field] = true;
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct jail_host host = whole_host();
		struct warder_error err = { 0 };
		struct policy_match found;

		if (rows[i].feature == JAIL_FEATURE_SECCOMP)
			continue;
		lose(&host, rows[i].feature);
		cr_expect(match(&host, &policy, &found, &err) == 0, "%s", err.text);
		cr_expect(jail_check(&host, &policy, &err) == -1 && err.code == WARDER_ERROR_UNAVAILABLE &&
			      strstr(err.text, jail_feature_title(rows[i].feature)) &&
			      strstr(err.text, "REASON"),
			  "%s: %s", jail_feature_title(rows[i].feature), err.text);
	}
}

Test(capability, the_network_of_the_host_needs_no_network_namespace, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct jail_host host = whole_host();
	struct policy_match found;
	struct warder_error err = { 0 };

	strict(&policy);
	cr_assert(policy_set(&policy, "network.mode", "host", &err) == 0, "%s", err.text);
	lose(&host, JAIL_FEATURE_NET_NS);
	cr_expect(match(&host, &policy, &found, &err) == 0, "%s", err.text);
	cr_expect(jail_check(&host, &policy, &err) == 0, "%s", err.text);
}

Test(capability, swap, .timeout = 20)
{
	static const struct {
		bool v2, limit, none;
		uint64_t memory_bytes;
		const char *mechanism; /* NULL: refused */
	} cases[] = {
		{ true, true, false, POLICY_UNLIMITED, "memory.swap.max" },
		{ true, false, false, 1 << 20, NULL },
		{ true, false, true, 1 << 20, "no swap space" },
		{ false, true, false, 1 << 20, "memory.memsw" },
		{ false, true, false, POLICY_UNLIMITED, NULL },
		{ false, true, true, POLICY_UNLIMITED, "no swap space" },
		{ false, false, true, 1 << 20, "no swap space" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		owned_policy struct policy policy = { 0 };
		struct jail_host host = whole_host();
		struct policy_capabilities capabilities;
		const struct policy_capability *row = &capabilities.controls[POLICY_CONTROL_SWAP];

		strict(&policy);
		policy.limits.memory_bytes = cases[i].memory_bytes;
		host.cgroup.hierarchies[0].v2 = cases[i].v2;
		host.cgroup.swap_limit = cases[i].limit;
		host.cgroup.no_swap = cases[i].none;
		jail_capabilities(&host, &policy, &capabilities);
		cr_expect(row->enforced == (cases[i].mechanism != NULL), "row %zu: %s%s", i, row->mechanism,
			  row->reason);
		cr_expect(!row->enforced || strstr(row->mechanism, cases[i].mechanism), "row %zu: %s", i,
			  row->mechanism);
	}
}
