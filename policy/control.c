/*
 * control: what a policy asks of a backend, control by control, and with which value.
 *
 * "none" is a restriction like any other: no network, no workspace, no environment have to be enforced by
 * somebody, so each needs its control. Only a value that says so explicitly ("host", "unlimited", spawn true)
 * needs nothing.
 */
#include <string.h>

#include "policy/amounts.h"
#include "policy/names.h"
#include "policy/values.h"

static void need_network(const struct policy *policy, bool *needed)
{
	needed[POLICY_CONTROL_NETWORK_NONE] = policy->network.mode == POLICY_NETWORK_NONE;
	needed[POLICY_CONTROL_NETWORK_LOOPBACK] = policy->network.mode == POLICY_NETWORK_LOOPBACK;
	needed[POLICY_CONTROL_NETWORK_ALLOW] = policy->network.mode == POLICY_NETWORK_ALLOW;
}

static void need_filesystem(const struct policy *policy, bool *needed)
{
	enum policy_view view = policy->filesystem.view;
	enum policy_workspace workspace = policy->filesystem.workspace;

	needed[POLICY_CONTROL_VIEW_HOST] = view == POLICY_VIEW_HOST;
	needed[POLICY_CONTROL_VIEW_DIRECTORY] = view == POLICY_VIEW_DIRECTORY;
	needed[POLICY_CONTROL_VIEW_IMAGE] = view == POLICY_VIEW_IMAGE;
	needed[POLICY_CONTROL_WORKSPACE_NONE] = workspace == POLICY_WORKSPACE_NONE;
	needed[POLICY_CONTROL_WORKSPACE_READ_ONLY] = workspace == POLICY_WORKSPACE_READ_ONLY;
	needed[POLICY_CONTROL_WORKSPACE_OVERLAY] = workspace == POLICY_WORKSPACE_OVERLAY;
	needed[POLICY_CONTROL_WORKSPACE_READ_WRITE] = workspace == POLICY_WORKSPACE_READ_WRITE;
	needed[POLICY_CONTROL_PATHS_READ_ONLY] = policy->filesystem.read_only.count > 0;
	needed[POLICY_CONTROL_PATHS_READ_WRITE] = policy->filesystem.read_write.count > 0;
	needed[POLICY_CONTROL_TMP] = true;
	needed[POLICY_CONTROL_WORKING_DIRECTORY] = policy->working_directory != NULL;
}

/* Amounts whose control has the same scope as the field; the disk has two controls. */
static void need_limits(const struct policy *policy, bool *needed)
{
	bool writes_host = policy->filesystem.workspace == POLICY_WORKSPACE_READ_WRITE ||
			   policy->filesystem.read_write.count > 0;
	bool limits_disk = policy->limits.disk_bytes != POLICY_UNLIMITED;

	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++) {
		const struct policy_amount *amount = policy_amount_of(policy_control_field(control));

		if (amount)
			needed[control] = policy_amount_get(policy, amount) != POLICY_UNLIMITED;
	}
	needed[POLICY_CONTROL_DISK_TMP] = limits_disk;
	needed[POLICY_CONTROL_DISK_WORKSPACE] = limits_disk && writes_host;
}

void policy_needed_controls(const struct policy *policy, bool *ret_needed)
{
	memset(ret_needed, 0, POLICY_CONTROL_COUNT * sizeof(*ret_needed));
	need_network(policy, ret_needed);
	need_filesystem(policy, ret_needed);
	need_limits(policy, ret_needed);
	ret_needed[POLICY_CONTROL_ENVIRONMENT] = policy->environment.mode != POLICY_ENVIRONMENT_HOST;
	ret_needed[POLICY_CONTROL_NO_SPAWN] = !policy->processes.spawn;
	ret_needed[POLICY_CONTROL_IDENTITY] = true;
	ret_needed[POLICY_CONTROL_SYSCALLS] = true;
	ret_needed[POLICY_CONTROL_SYSCALLS_KILL] = policy->syscalls.on_violation == POLICY_VIOLATION_KILL;
}

/* ---- values ---- */

static void add_network(struct policy_text *text, const struct policy *policy)
{
	char row[320];

	policy_text_add(text, "%s", policy_network_mode_name(policy->network.mode));
	for (size_t i = 0; i < policy->network.allow_count; i++)
		policy_text_add(text, " %s",
				policy_format_endpoint(&policy->network.allow[i], row, sizeof(row)));
}

static void add_sourced(struct policy_text *text, const char *word, const char *source)
{
	policy_text_add(text, source ? "%s:%s" : "%s", word, source);
}

static void add_list(struct policy_text *text, const struct policy_strings *list, const char *sign)
{
	for (size_t i = 0; i < list->count; i++)
		policy_text_add(text, "%s%s%s", text->used ? " " : "", sign, list->items[i]);
}

static void add_environment(struct policy_text *text, const struct policy *policy)
{
	policy_text_add(text, "%s", policy_environment_modes[policy->environment.mode]);
	add_list(text, &policy->environment.names, "");
	for (size_t i = 0; i < policy->environment.set_count; i++)
		policy_text_add(text, " %s=...", policy->environment.set[i].name); /* values may be secrets */
}

static void add_value(struct policy_text *text, const struct policy *policy, enum policy_field field)
{
	switch (field) {
	case POLICY_FIELD_NETWORK:
		add_network(text, policy);
		break;
	case POLICY_FIELD_VIEW:
		add_sourced(text, policy_views[policy->filesystem.view], policy->filesystem.view_source);
		break;
	case POLICY_FIELD_WORKSPACE:
		add_sourced(text, policy_workspaces[policy->filesystem.workspace],
			    policy->filesystem.workspace_root);
		break;
	case POLICY_FIELD_ENVIRONMENT:
		add_environment(text, policy);
		break;
	case POLICY_FIELD_SPAWN:
		policy_text_add(text, "%s", policy_booleans[policy->processes.spawn]);
		break;
	case POLICY_FIELD_IDENTITY:
		policy_text_add(text, "%u:%u", policy->processes.uid, policy->processes.gid);
		break;
	case POLICY_FIELD_SYSCALLS:
		policy_text_add(text, "%s", policy_profile_name(policy->syscalls.profile));
		add_list(text, &policy->syscalls.deny, "-");
		add_list(text, &policy->syscalls.allow, "+");
		break;
	case POLICY_FIELD_WORKING_DIRECTORY:
		policy_text_add(text, "%s", policy->working_directory ? policy->working_directory : "");
		break;
	/* Amounts, paths and languages are no concern of this switch: see the caller. */
	case POLICY_FIELD_LANGUAGES:
	case POLICY_FIELD_PATHS:
	case POLICY_FIELD_TMP:
	case POLICY_FIELD_WALL_TIME:
	case POLICY_FIELD_CPU_TIME:
	case POLICY_FIELD_MEMORY:
	case POLICY_FIELD_SWAP:
	case POLICY_FIELD_CPUS:
	case POLICY_FIELD_PIDS:
	case POLICY_FIELD_OPEN_FILES:
	case POLICY_FIELD_FILE_SIZE:
	case POLICY_FIELD_STACK:
	case POLICY_FIELD_DISK:
	case POLICY_FIELD_STDOUT:
	case POLICY_FIELD_STDERR:
	case POLICY_FIELD_COUNT:
		break;
	}
}

char *policy_control_value(const struct policy *policy, enum policy_control control, char *buf, size_t len)
{
	enum policy_field field = policy_control_field(control);
	const struct policy_amount *amount = policy_amount_of(field);
	struct policy_text text = { buf, len, 0 };

	buf[0] = '\0';
	if (amount)
		policy_amount_format(amount, policy_amount_get(policy, amount), buf, len);
	else if (control == POLICY_CONTROL_PATHS_READ_ONLY)
		add_list(&text, &policy->filesystem.read_only, "");
	else if (control == POLICY_CONTROL_PATHS_READ_WRITE)
		add_list(&text, &policy->filesystem.read_write, "");
	else if (control == POLICY_CONTROL_SYSCALLS_KILL)
		policy_text_add(&text, "%s", policy_on_violations[policy->syscalls.on_violation]);
	else
		add_value(&text, policy, field);
	return buf;
}
