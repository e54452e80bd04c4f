/*
 * set: one field out of its path and its text. The decoder, the command line and the library's callers all
 * come through here, so a value means the same wherever it was written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "policy/amounts.h"
#include "policy/names.h"
#include "policy/values.h"

#define AT(member) offsetof(struct policy, member)

/* Fields that are one word out of a table: an enum (unsigned int) or a bool. */
static const struct choice {
	const char *path;
	const char *const *words;
	size_t offset, size;
} choices[] = {
	{ "network.mode", policy_network_modes, AT(network.mode), sizeof(enum policy_network_mode) },
	{ "filesystem.tmpExec", policy_booleans, AT(filesystem.tmp_exec), sizeof(bool) },
	{ "filesystem.growth", policy_growths, AT(filesystem.growth_unlimited), sizeof(bool) },
	{ "environment.mode", policy_environment_modes, AT(environment.mode),
	  sizeof(enum policy_environment_mode) },
	{ "output.onLimit", policy_on_output_limits, AT(output.on_limit),
	  sizeof(enum policy_on_output_limit) },
	{ "processes.spawn", policy_booleans, AT(processes.spawn), sizeof(bool) },
	{ "syscalls.profile", policy_profiles, AT(syscalls.profile), sizeof(enum policy_syscall_profile) },
	{ "syscalls.onViolation", policy_on_violations, AT(syscalls.on_violation),
	  sizeof(enum policy_on_violation) },
	{ "syscalls.speculation", policy_booleans, AT(syscalls.speculation), sizeof(bool) },
};

static const struct {
	const char *path;
	size_t offset;
} lists[] = {
	{ "filesystem.paths.readOnly", AT(filesystem.read_only) },
	{ "filesystem.paths.readWrite", AT(filesystem.read_write) },
	{ "environment.names", AT(environment.names) },
	{ "syscalls.deny", AT(syscalls.deny) },
	{ "syscalls.allow", AT(syscalls.allow) },
};

static int refuse_word(const char *const *words, const char *path, const char *text, struct warder_error *err)
{
	char quoted[64], known[160];

	return policy_refuse(err, path, "%s is none of its values; %s",
			     json_quote(text, quoted, sizeof(quoted)),
			     policy_suggest(words, text, known, sizeof(known)));
}

static int set_choice(struct policy *policy, const struct choice *choice, const char *text,
		      struct warder_error *err)
{
	int word = policy_word(choice->words, text);
	char *to = (char *)policy + choice->offset;
	unsigned value = (unsigned)word;
	bool boolean = word == 1;

	if (word < 0)
		return refuse_word(choice->words, choice->path, text, err);
	if (choice->size == sizeof(bool))
		memcpy(to, &boolean, sizeof(boolean));
	else
		memcpy(to, &value, sizeof(value));
	return 0;
}

_Static_assert(sizeof(enum policy_network_mode) == sizeof(unsigned) && sizeof(bool) != sizeof(unsigned),
	       "set_choice() stores enums as unsigned and tells them from bool by their size");

/* "word" or "word:source" into an index and a copy of the source; word 0 of every table has no source. */
static int split(const char *const *words, const char *path, const char *text, unsigned *ret_word,
		 const char **ret_source, struct warder_error *err)
{
	char name[16];
	size_t length = strcspn(text, ":");
	const char *source = text[length] ? text + length + 1 : NULL;
	int word;

	snprintf(name, sizeof(name), "%.*s", (int)(length < sizeof(name) ? length : sizeof(name)), text);
	word = length < sizeof(name) ? policy_word(words, name) : -1;
	if (word < 0 || (word == 0 && source))
		return refuse_word(words, path, text, err);
	/* A workspace alone is one as presets have it, whose directory a run has to name. */
	if (word > 0 && (!source || !*source) && words != policy_workspaces)
		return policy_refuse(err, path, "\"%s\" does not say which; write \"%s:...\"", name, name);
	*ret_word = (unsigned)word;
	*ret_source = source && *source ? source : NULL;
	return 0;
}

static int set_view(struct policy *policy, const char *text, struct warder_error *err)
{
	const char *source = NULL;
	unsigned view = 0;

	if (split(policy_views, "filesystem.view", text, &view, &source, err) != 0 ||
	    policy_string_set(&policy->filesystem.view_source, source, err) != 0)
		return -1;
	policy->filesystem.view = (enum policy_view)view;
	return 0;
}

static int set_workspace(struct policy *policy, const char *text, struct warder_error *err)
{
	const char *root = NULL;
	unsigned workspace = 0;

	if (split(policy_workspaces, "filesystem.workspace", text, &workspace, &root, err) != 0 ||
	    policy_string_set(&policy->filesystem.workspace_root, root, err) != 0)
		return -1;
	policy->filesystem.workspace = (enum policy_workspace)workspace;
	return 0;
}

/* Decimal digits only; at most max. */
static bool parse_number(const char *text, uint32_t max, uint32_t *ret)
{
	size_t length = strlen(text);
	unsigned long value;

	if (length == 0 || length > 9 || text[strspn(text, "0123456789")])
		return false;
	value = strtoul(text, NULL, 10);
	if (value > max)
		return false;
	*ret = (uint32_t)value;
	return true;
}

static int set_id(uint32_t *at, const char *path, const char *text, struct warder_error *err)
{
	char quoted[64];

	if (!parse_number(text, UINT32_MAX, at))
		return policy_refuse(err, path, "%s is not an id; write a number from 1 to 65533",
				     json_quote(text, quoted, sizeof(quoted)));
	return 0;
}

static int refuse_unknown(const char *path, struct warder_error *err)
{
	return policy_refuse(err, path,
			     "there is no such field; see \"warder policy show strict\" for all fields");
}

/* limits.disk is the size of the one file system behind /tmp and /dev/shm: a larger /tmp than that would be none. */
static void follow(struct policy *policy, enum policy_field field)
{
	policy->given.tmp |= field == POLICY_FIELD_TMP;
	policy->given.disk |= field == POLICY_FIELD_DISK;
	if (policy->filesystem.tmp_bytes <= policy->limits.disk_bytes)
		return;
	if (!policy->given.disk)
		policy->limits.disk_bytes = policy->filesystem.tmp_bytes;
	else if (!policy->given.tmp)
		policy->filesystem.tmp_bytes = policy->limits.disk_bytes;
}

static int set_amount(struct policy *policy, const struct policy_amount *amount, const char *text,
		      struct warder_error *err)
{
	struct warder_error ignored; /* policy_validate() will say it */

	if (policy_amount_set(policy, amount, text, err) != 0)
		return -1;
	if (policy_amount_check(policy, amount, &ignored) == 0)
		follow(policy, amount->field);
	return 0;
}

int policy_set_scalar(struct policy *policy, const char *path, const char *text, struct warder_error *err)
{
	enum policy_field field = POLICY_FIELD_NONE;
	const struct policy_amount *amount;

	policy_field_from_path(path, &field);
	amount = policy_amount_of(field);
	if (amount)
		return set_amount(policy, amount, text, err);
	for (size_t i = 0; i < ARRAY_LENGTH(choices); i++) {
		if (strcmp(choices[i].path, path) == 0)
			return set_choice(policy, &choices[i], text, err);
	}
	if (strcmp(path, "filesystem.view") == 0)
		return set_view(policy, text, err);
	if (strcmp(path, "filesystem.workspace") == 0)
		return set_workspace(policy, text, err);
	if (strcmp(path, "processes.identity.uid") == 0)
		return set_id(&policy->processes.uid, path, text, err);
	if (strcmp(path, "processes.identity.gid") == 0)
		return set_id(&policy->processes.gid, path, text, err);
	if (strcmp(path, "workingDirectory") == 0)
		return policy_string_set(&policy->working_directory, text, err);
	return refuse_unknown(path, err);
}

struct policy_strings *policy_list_at(struct policy *policy, const char *path)
{
	for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) {
		if (strcmp(lists[i].path, path) == 0)
			return (struct policy_strings *)(void *)((char *)policy + lists[i].offset);
	}
	return NULL;
}

bool policy_is_list(const char *path, size_t length)
{
	static const char *const others[] = { "network.allow", "network.deny", "network.publish",
					      "languages" };
	static const char variables[] = "environment.set.";

	for (size_t i = 0; i < ARRAY_LENGTH(lists); i++)
		if (strlen(lists[i].path) == length && memcmp(lists[i].path, path, length) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		if (strlen(others[i]) == length && memcmp(others[i], path, length) == 0)
			return true;
	return length >= sizeof(variables) - 1 && memcmp(path, variables, sizeof(variables) - 1) == 0;
}

/* ---- lists and modes ---- */

/* Names with commas between them join the list; "any" takes its place, and names take the place of "any". */
static int add_languages(struct policy *policy, const char *value, struct warder_error *err)
{
	owned_policy struct policy copy = { 0 };
	char text[512], quoted[64];
	char *rest = text;

	if (strlen(value) >= sizeof(text))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "the value is longer than %zu bytes", sizeof(text) - 1);
	memcpy(text, value, strlen(value) + 1);
	if (policy_copy(policy, &copy, err) != 0)
		return -1;
	for (char *name = strsep(&rest, ","); name; name = strsep(&rest, ",")) {
		if (policy_strings_have(&copy.languages.names, name))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
					 "%s is in the list already; an empty value empties the list first",
					 json_quote(name, quoted, sizeof(quoted)));
		if (policy_strings_add(&copy.languages.names, name, err) != 0)
			return -1;
	}
	policy_strings_done(&policy->languages.names);
	policy->languages.names = copy.languages.names;
	copy.languages.names = (struct policy_strings){ 0 };
	policy->languages.any = false;
	return 0;
}

static int set_languages(struct policy *policy, const char *value, struct warder_error *err)
{
	if (*value && strcmp(value, "any") != 0)
		return add_languages(policy, value, err);
	policy_strings_done(&policy->languages.names);
	policy->languages.any = *value != '\0';
	return 0;
}

static void drop_rows_of_other_modes(struct policy *policy, const char *path)
{
	if (strcmp(path, "network.mode") == 0 && !policy_network_lists(policy)) {
		policy_endpoints_done(&policy->network.allow);
		policy_endpoints_done(&policy->network.deny);
	}
	if (strcmp(path, "network.mode") == 0 && !policy_network_publishes(policy))
		policy_published_done(&policy->network.publish);
	if (strcmp(path, "environment.mode") == 0 &&
	    policy->environment.mode != POLICY_ENVIRONMENT_ALLOW_LIST)
		policy_strings_done(&policy->environment.names);
}

/* Add a row, or with an empty value take all rows away. */
static int set_list(struct policy_strings *list, const char *value, struct warder_error *err)
{
	if (*value)
		return policy_strings_add(list, value, err);
	policy_strings_done(list);
	return 0;
}

static int set_endpoints(struct policy_endpoints *list, const char *value, bool is_allow,
			 struct warder_error *err)
{
	if (*value)
		return policy_endpoint_parse(list, value, is_allow, err);
	policy_endpoints_done(list);
	return 0;
}

static int set_published(struct policy_published *list, const char *value, struct warder_error *err)
{
	if (*value)
		return policy_publish_parse(list, value, err);
	policy_published_done(list);
	return 0;
}

/* Appending or replacing one row: -1 without a path in the error. */
static int set_row(struct policy *policy, const char *path, const char *value, bool *ret_known,
		   struct warder_error *err)
{
	static const char variables[] = "environment.set.";
	struct policy_strings *list = policy_list_at(policy, path);

	*ret_known = true;
	if (list)
		return set_list(list, value, err);
	if (strcmp(path, "network.allow") == 0)
		return set_endpoints(&policy->network.allow, value, true, err);
	if (strcmp(path, "network.deny") == 0)
		return set_endpoints(&policy->network.deny, value, false, err);
	if (strcmp(path, "network.publish") == 0)
		return set_published(&policy->network.publish, value, err);
	if (strcmp(path, "languages") == 0)
		return set_languages(policy, value, err);
	if (strncmp(path, variables, sizeof(variables) - 1) == 0)
		return policy_variable_set(policy, path + sizeof(variables) - 1, value, err);
	*ret_known = false;
	return 0;
}

int policy_set(struct policy *policy, const char *path, const char *value, struct warder_error *err)
{
	bool is_row = false;

	if (!json_is_utf8(value))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, path,
				 "the value is not UTF-8, which is all that a policy document can hold");
	if (set_row(policy, path, value, &is_row, err) != 0)
		return policy_locate(err, path);
	if (is_row)
		return 0;
	if (policy_set_scalar(policy, path, value, err) != 0)
		return -1;
	drop_rows_of_other_modes(policy, path);
	return 0;
}
