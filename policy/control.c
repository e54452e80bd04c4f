/*
 * control: what a policy asks of a backend, control by control, and with which value.
 *
 * "none" is a restriction like any other: no network, no workspace, no environment have to be enforced by
 * somebody, so each needs its control. Only a value that says so explicitly ("host", "unlimited", spawn true)
 * needs nothing.
 */
#include <string.h>

#include "policy/members.h"
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

bool policy_writes_host(const struct policy *policy)
{
	return policy->filesystem.workspace == POLICY_WORKSPACE_READ_WRITE ||
	       policy->filesystem.read_write.count > 0;
}

#define ASKED(id, name, field, text, asked) ret_needed[POLICY_CONTROL_##id] = (asked);
#define LIMITED(id, path, group, unit, slot, ...)                                                            \
	ret_needed[POLICY_CONTROL_##id] = p->slot != POLICY_UNLIMITED;

void policy_needed_controls(const struct policy *p, bool *ret_needed)
{
	POLICY_TABLE(POLICY_NOTHING, POLICY_NOTHING, ASKED, POLICY_NOTHING, LIMITED, POLICY_NOTHING)
}

/* ---- values ---- */

static void add_endpoints(struct policy_text *text, const struct policy_endpoints *list, const char *sign)
{
	char row[640];

	for (size_t i = 0; i < list->count; i++)
		policy_text_add(text, "%s%s%s", text->used ? " " : "", sign,
				policy_format_endpoint(&list->items[i], row, sizeof(row)));
}

/* Which rule has a credential, in which header. The secret is not known here. */
static void add_injects(struct policy_text *text, const struct policy_endpoints *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].inject)
			policy_text_add(text, "%snetwork.allow[%zu] %s: %s", text->used ? ", " : "", i,
					list->items[i].host, list->items[i].inject->header);
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

/* The value of a field that is no number, and has no text of its own below. */
static void add_member(struct policy_text *text, const struct policy *policy, enum policy_field field)
{
	const char *path = policy_field_path(field);
	const struct policy_member *member = policy_member_of(path, strlen(path));
	const char *source;

	if (!member)
		return;
	if (member->form == POLICY_FORM_BOOLEAN)
		policy_text_add(text, "%s", member->words[policy_member_word(policy, member)]);
	if (member->form == POLICY_FORM_SOURCED)
		add_sourced(text, member->words[policy_member_word(policy, member)],
			    *POLICY_PLACE(char *, policy, member->source));
	if (member->form == POLICY_FORM_TEXT) {
		source = *POLICY_PLACE(char *, policy, member->offset);
		policy_text_add(text, "%s", source ? source : "");
	}
}

/* Numbers, paths and languages are no concern of this: see the callers. */
static void add_value(struct policy_text *text, const struct policy *policy, enum policy_field field)
{
	if (field == POLICY_FIELD_NETWORK) {
		add_network(text, policy);
	} else if (field == POLICY_FIELD_NETWORK_PUBLISH) {
		add_published(text, policy);
	} else if (field == POLICY_FIELD_ENVIRONMENT) {
		add_environment(text, policy);
	} else if (field == POLICY_FIELD_IDENTITY) {
		policy_text_add(text, "%u:%u", policy->processes.uid, policy->processes.gid);
	} else if (field == POLICY_FIELD_SYSCALLS) {
		policy_text_add(text, "%s", policy_profile_name(policy->syscalls.profile));
		add_list(text, &policy->syscalls.deny, "-");
		add_list(text, &policy->syscalls.allow, "+");
	} else if (field == POLICY_FIELD_FUNCTIONS) {
		add_list(text, &policy->functions, "");
	} else {
		add_member(text, policy, field);
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
	else if (control == POLICY_CONTROL_NETWORK_INJECT)
		add_injects(&text, &policy->network.allow);
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
	else if (field == POLICY_FIELD_FUNCTIONS && policy->functions.count == 0)
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
