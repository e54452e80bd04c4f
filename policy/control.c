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

static bool has_ipv6(const struct policy_endpoints *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].cidr && strchr(list->items[i].cidr, ':'))
			return true;
	}
	return false;
}

/* Behind the amounts: there is a limit of connections in every policy, but connections are made in few. */
static void need_network(const struct policy *policy, bool *needed)
{
	enum policy_network_mode mode = policy->network.mode;

	needed[POLICY_CONTROL_NETWORK_NONE] = mode == POLICY_NETWORK_NONE;
	needed[POLICY_CONTROL_NETWORK_LOOPBACK] = mode == POLICY_NETWORK_LOOPBACK;
	needed[POLICY_CONTROL_NETWORK_ALLOW] = mode == POLICY_NETWORK_ALLOW;
	needed[POLICY_CONTROL_NETWORK_IPV6] = has_ipv6(&policy->network.allow);
	needed[POLICY_CONTROL_NETWORK_DENY] = policy->network.deny.count > 0;
	needed[POLICY_CONTROL_NETWORK_LEARN] = mode == POLICY_NETWORK_LEARN;
	needed[POLICY_CONTROL_NETWORK_PUBLISH] = policy->network.publish.count > 0;
	needed[POLICY_CONTROL_NETWORK_CONNECTIONS] &= policy_network_connects(policy);
	needed[POLICY_CONTROL_NETWORK_BYTES] &= policy_network_connects(policy);
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

bool policy_writes_host(const struct policy *policy)
{
	return policy->filesystem.workspace == POLICY_WORKSPACE_READ_WRITE ||
	       policy->filesystem.read_write.count > 0;
}

/* Amounts whose control has the same scope as the field; the disk has two controls. */
static void need_limits(const struct policy *policy, bool *needed)
{
	bool limits_disk = policy->limits.disk_bytes != POLICY_UNLIMITED;

	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++) {
		const struct policy_amount *amount = policy_amount_of(policy_control_field(control));

		if (amount)
			needed[control] = policy_amount_get(policy, amount) != POLICY_UNLIMITED;
	}
	needed[POLICY_CONTROL_DISK_TMP] = limits_disk;
	needed[POLICY_CONTROL_DISK_WORKSPACE] =
	    limits_disk && policy_writes_host(policy) && !policy->filesystem.growth_unlimited;
}

void policy_needed_controls(const struct policy *policy, bool *ret_needed)
{
	memset(ret_needed, 0, POLICY_CONTROL_COUNT * sizeof(*ret_needed));
	need_filesystem(policy, ret_needed);
	need_limits(policy, ret_needed);
	need_network(policy, ret_needed);
	ret_needed[POLICY_CONTROL_ENVIRONMENT] = policy->environment.mode != POLICY_ENVIRONMENT_HOST;
	ret_needed[POLICY_CONTROL_NO_SPAWN] = !policy->processes.spawn;
	ret_needed[POLICY_CONTROL_IDENTITY] = true;
	ret_needed[POLICY_CONTROL_SYSCALLS] = true;
	ret_needed[POLICY_CONTROL_SPECULATION] = policy->syscalls.speculation;
	ret_needed[POLICY_CONTROL_SYSCALLS_KILL] = policy->syscalls.on_violation == POLICY_VIOLATION_KILL;
}

/* ---- values ---- */

static void add_endpoints(struct policy_text *text, const struct policy_endpoints *list, const char *sign)
{
	char row[640];

	for (size_t i = 0; i < list->count; i++)
		policy_text_add(text, "%s%s%s", text->used ? " " : "", sign,
				policy_format_endpoint(&list->items[i], row, sizeof(row)));
}

static void add_network(struct policy_text *text, const struct policy *policy)
{
	policy_text_add(text, "%s", policy_network_mode_name(policy->network.mode));
	add_endpoints(text, &policy->network.allow, "");
	add_endpoints(text, &policy->network.deny, "-");
}

static void add_published(struct policy_text *text, const struct policy *policy)
{
	char row[48];

	for (size_t i = 0; i < policy->network.publish.count; i++)
		policy_text_add(text, "%s%s", i ? " " : "",
				policy_format_publish(&policy->network.publish.items[i], row, sizeof(row)));
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
	case POLICY_FIELD_NETWORK_PUBLISH:
		add_published(text, policy);
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
	case POLICY_FIELD_SPECULATION:
		policy_text_add(text, "%s", policy_booleans[policy->syscalls.speculation]);
		break;
	case POLICY_FIELD_WORKING_DIRECTORY:
		policy_text_add(text, "%s", policy->working_directory ? policy->working_directory : "");
		break;
	/* Amounts, paths and languages are no concern of this switch: see the caller. */
	case POLICY_FIELD_LANGUAGES:
	case POLICY_FIELD_PATHS:
	case POLICY_FIELD_TMP:
	case POLICY_FIELD_NETWORK_CONNECTIONS:
	case POLICY_FIELD_NETWORK_BYTES:
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
	case POLICY_FIELD_CODE:
	case POLICY_FIELD_STDOUT:
	case POLICY_FIELD_STDERR:
	case POLICY_FIELD_TERMINALS:
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
	if ((field == POLICY_FIELD_NETWORK_CONNECTIONS || field == POLICY_FIELD_NETWORK_BYTES) &&
	    !policy_network_connects(policy))
		return buf;
	if (amount)
		policy_amount_format(amount, policy_amount_get(policy, amount), buf, len);
	else if (control == POLICY_CONTROL_PATHS_READ_ONLY)
		add_list(&text, &policy->filesystem.read_only, "");
	else if (control == POLICY_CONTROL_PATHS_READ_WRITE)
		add_list(&text, &policy->filesystem.read_write, "");
	else if (control == POLICY_CONTROL_NETWORK_DENY)
		add_endpoints(&text, &policy->network.deny, "");
	else if (control == POLICY_CONTROL_SYSCALLS_KILL)
		policy_text_add(&text, "%s", policy_on_violations[policy->syscalls.on_violation]);
	else
		add_value(&text, policy, field);
	if (policy->filesystem.growth_unlimited &&
	    (control == POLICY_CONTROL_PATHS_READ_WRITE || control == POLICY_CONTROL_WORKSPACE_READ_WRITE))
		policy_text_add(&text, " (growth: unlimited)");
	return buf;
}

/* ---- the value of a field ---- */

static void add_languages(struct policy_text *text, const struct policy *policy)
{
	if (policy->languages.any || policy->languages.names.count == 0)
		policy_text_add(text, "%s", policy->languages.any ? "any" : "none");
	add_list(text, &policy->languages.names, "");
}

static void add_paths(struct policy_text *text, const struct policy *policy)
{
	if (policy->filesystem.read_only.count == 0 && policy->filesystem.read_write.count == 0)
		policy_text_add(text, "none");
	add_list(text, &policy->filesystem.read_only, "readOnly:");
	add_list(text, &policy->filesystem.read_write, "readWrite:");
}

/* What a document keeps beside the value, and a ceiling compares with it. */
static void add_detail(struct policy_text *text, const struct policy *policy, enum policy_field field)
{
	if (field == POLICY_FIELD_TMP && policy->filesystem.tmp_exec)
		policy_text_add(text, ", executable");
	if (field == POLICY_FIELD_TMP && policy->filesystem.growth_unlimited)
		policy_text_add(text, ", growth: unlimited");
	if (field == POLICY_FIELD_STDERR && policy->output.on_limit == POLICY_OUTPUT_KILL)
		policy_text_add(text, ", onLimit: kill");
	if (field == POLICY_FIELD_SYSCALLS && policy->syscalls.on_violation == POLICY_VIOLATION_KILL)
		policy_text_add(text, ", onViolation: kill");
	if (policy->preferred[field])
		policy_text_add(text, " (preferred)");
}

char *policy_field_value(const struct policy *policy, enum policy_field field, char *buf, size_t len)
{
	static const char mark[] = " ...";
	const struct policy_amount *amount = policy_amount_of(field);
	struct policy_text text = { buf, len, 0 };
	char number[32];

	buf[0] = '\0';
	if (amount)
		policy_text_add(
		    &text, "%s",
		    policy_amount_format(amount, policy_amount_get(policy, amount), number, sizeof(number)));
	else if (field == POLICY_FIELD_LANGUAGES)
		add_languages(&text, policy);
	else if (field == POLICY_FIELD_PATHS)
		add_paths(&text, policy);
	else if (field == POLICY_FIELD_NETWORK_PUBLISH && policy->network.publish.count == 0)
		policy_text_add(&text, "none");
	else if (field == POLICY_FIELD_WORKING_DIRECTORY && !policy->working_directory)
		policy_text_add(&text, "default");
	else
		add_value(&text, policy, field);
	add_detail(&text, policy, field);
	if (text.used == len - 1 && len > sizeof(mark))
		memcpy(buf + len - sizeof(mark), mark, sizeof(mark));
	return buf;
}
