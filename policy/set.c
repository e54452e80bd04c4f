/*
 * set: one field out of its path and its text. The decoder, the command line and the library's callers all
 * come through here, so a value means the same wherever it was written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	{ "environment.mode", policy_environment_modes, AT(environment.mode),
	  sizeof(enum policy_environment_mode) },
	{ "output.onLimit", policy_on_output_limits, AT(output.on_limit),
	  sizeof(enum policy_on_output_limit) },
	{ "processes.spawn", policy_booleans, AT(processes.spawn), sizeof(bool) },
	{ "syscalls.profile", policy_profiles, AT(syscalls.profile), sizeof(enum policy_syscall_profile) },
	{ "syscalls.onViolation", policy_on_violations, AT(syscalls.on_violation),
	  sizeof(enum policy_on_violation) },
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
	if (word > 0 && (!source || !*source))
		return policy_refuse(
		    err, path, "\"%s\" does not say which; write \"%s:...\"%s", name, name,
		    words == policy_workspaces
			? ", which --workspace DIR can then change; alone it cannot fill it in"
			: "");
	*ret_word = (unsigned)word;
	*ret_source = source;
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
		return policy_refuse(err, path, "%s is no id; write a number from 1 to 65533",
				     json_quote(text, quoted, sizeof(quoted)));
	return 0;
}

static int refuse_unknown(const char *path, struct warder_error *err)
{
	return policy_refuse(err, path,
			     "there is no such field; see \"warder policy show strict\" for all fields");
}

int policy_set_scalar(struct policy *policy, const char *path, const char *text, struct warder_error *err)
{
	enum policy_field field = POLICY_FIELD_NONE;
	const struct policy_amount *amount;

	policy_field_from_path(path, &field);
	amount = policy_amount_of(field);
	if (amount)
		return policy_amount_set(policy, amount, text, err);
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
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
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (strcmp(lists[i].path, path) == 0)
			return (struct policy_strings *)(void *)((char *)policy + lists[i].offset);
	}
	return NULL;
}

/* ---- network.allow ---- */

static void lower(char *text)
{
	for (; *text; text++) {
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text - 'A' + 'a');
	}
}

int policy_add_endpoint(struct policy *policy, const char *host, const char *cidr, const uint16_t *ports,
			size_t port_count, struct warder_error *err)
{
	struct policy_endpoint endpoint = { .port_count = port_count };
	struct policy_cidr block;
	char canonical[256], quoted[64];
	const char *fault;

	if (host) {
		snprintf(canonical, sizeof(canonical), "%s", host);
		lower(canonical);
		fault = strlen(host) < sizeof(canonical) ? policy_host_fault(canonical) : "is too long";
		if (fault)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "%s %s",
					 json_quote(host, quoted, sizeof(quoted)), fault);
		endpoint.host = canonical;
	} else {
		if (policy_parse_cidr(cidr, &block, err) != 0)
			return -1;
		endpoint.cidr = policy_format_cidr(&block, canonical, sizeof(canonical));
	}
	endpoint.ports = (uint16_t *)(uintptr_t)ports; /* only read: policy_endpoint_add() copies */
	return policy_endpoint_add(policy, &endpoint, err);
}

static int refuse_long(size_t most, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the value is longer than %zu bytes", most);
}

static int parse_ports(char *text, uint16_t *ret_ports, size_t *ret_count, struct warder_error *err)
{
	size_t count = 0;
	char quoted[64];

	for (char *port = strsep(&text, ","); port; port = strsep(&text, ",")) {
		uint32_t number = 0;

		if (count == POLICY_MAX_PORTS || !parse_number(port, 65535, &number) || number == 0)
			return error_set(
			    err, WARDER_ERROR_INVALID_REQUEST, NULL,
			    "%s is no port; write at most %d numbers from 1 to 65535 with commas",
			    json_quote(port, quoted, sizeof(quoted)), POLICY_MAX_PORTS);
		ret_ports[count++] = (uint16_t)number;
	}
	*ret_count = count;
	return 0;
}

/* Cut "where:ports" in two in place: IPv6 has its own colons, and brackets when a port follows. */
static char *cut_ports(char **where)
{
	char *text = *where, *colon = strrchr(text, ':'), *bracket;

	if (text[0] == '[' && (bracket = strchr(text, ']')) && (bracket[1] == ':' || bracket[1] == '\0')) {
		*where = text + 1;
		*bracket = '\0';
		return bracket[1] == ':' ? bracket + 2 : NULL;
	}
	if (!colon || strchr(text, ':') != colon)
		return NULL;
	*colon = '\0';
	return colon + 1;
}

static int set_allow(struct policy *policy, const char *value, struct warder_error *err)
{
	uint16_t ports[POLICY_MAX_PORTS];
	size_t count = 0;
	char text[1024];
	char *where = text, *port_list;
	bool is_cidr;

	if (strlen(value) >= sizeof(text))
		return refuse_long(sizeof(text) - 1, err);
	memcpy(text, value, strlen(value) + 1);
	port_list = cut_ports(&where);
	is_cidr = strchr(where, '/') != NULL;
	if ((port_list && parse_ports(port_list, ports, &count, err) != 0) ||
	    policy_add_endpoint(policy, is_cidr ? NULL : where, is_cidr ? where : NULL, ports, count, err) !=
		0)
		return -1;
	return 0;
}

/* ---- lists and modes ---- */

static int set_languages(struct policy *policy, const char *value, struct warder_error *err)
{
	struct policy_strings names = { 0 };
	char text[512];
	char *rest = text;

	if (strlen(value) >= sizeof(text))
		return refuse_long(sizeof(text) - 1, err);
	memcpy(text, value, strlen(value) + 1);
	if (strcmp(value, "any") != 0 && *value) {
		for (char *name = strsep(&rest, ","); name; name = strsep(&rest, ",")) {
			if (policy_strings_add(&names, name, err) != 0) {
				policy_strings_done(&names);
				return -1;
			}
		}
	}
	policy_strings_done(&policy->languages.names);
	policy->languages.names = names;
	policy->languages.any = strcmp(value, "any") == 0;
	return 0;
}

static void drop_rows_of_other_modes(struct policy *policy, const char *path)
{
	if (strcmp(path, "network.mode") == 0 && policy->network.mode != POLICY_NETWORK_ALLOW)
		policy_endpoints_done(policy);
	if (strcmp(path, "environment.mode") == 0 &&
	    policy->environment.mode != POLICY_ENVIRONMENT_ALLOW_LIST)
		policy_strings_done(&policy->environment.names);
}

/* Appending or replacing one row: -1 without a path in the error. */
static int set_row(struct policy *policy, const char *path, const char *value, bool *ret_known,
		   struct warder_error *err)
{
	static const char variables[] = "environment.set.";
	struct policy_strings *list = policy_list_at(policy, path);

	*ret_known = true;
	if (list)
		return policy_strings_add(list, value, err);
	if (strcmp(path, "network.allow") == 0)
		return set_allow(policy, value, err);
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
