/*
 * validate: the rules that hold for every policy, however it was built. They need nothing but the policy
 * itself; what depends on the host (does a path exist, does the kernel know a system call) is found out
 * where it is used.
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "policy/members.h"
#include "policy/names.h"
#include "policy/values.h"

#define PATH_SIZE 72
#define MIN_ID    1
#define MAX_ID    65533 /* 65534 is what the kernel shows for an id without a mapping */

static int refuse_value(struct warder_error *err, const char *path, const char *value, const char *fault)
{
	char quoted[64];

	return policy_refuse(err, path, "%s %s", json_quote(value, quoted, sizeof(quoted)), fault);
}

static int check_value(struct warder_error *err, const char *path, const char *value,
		       const char *(*fault_of)(const char *))
{
	const char *fault = fault_of(value);

	return fault ? refuse_value(err, path, value, fault) : 0;
}

/* Each item by a rule, and none of them twice. */
static int check_list(const struct policy_strings *list, const char *path,
		      const char *(*fault_of)(const char *), struct warder_error *err)
{
	char item_path[PATH_SIZE];

	for (size_t i = 0; i < list->count; i++) {
		snprintf(item_path, sizeof(item_path), "%s[%zu]", path, i);
		if (check_value(err, item_path, list->items[i], fault_of) != 0)
			return -1;
		for (size_t j = 0; j < i; j++) {
			if (strcmp(list->items[i], list->items[j]) == 0)
				return refuse_value(err, item_path, list->items[i],
						    "is given twice; leave one out");
		}
	}
	return 0;
}

/* No item of one list may stand in the other. */
static int check_disjoint(const struct policy_strings *list, const char *path,
			  const struct policy_strings *other, const char *other_path,
			  struct warder_error *err)
{
	char item_path[PATH_SIZE], fault[120];

	for (size_t i = 0; i < list->count; i++) {
		if (!policy_strings_have(other, list->items[i]))
			continue;
		snprintf(item_path, sizeof(item_path), "%s[%zu]", path, i);
		snprintf(fault, sizeof(fault), "is in %s too; leave one out", other_path);
		return refuse_value(err, item_path, list->items[i], fault);
	}
	return 0;
}

/* ---- languages ---- */

/* Which languages there are is known where the operator's document of more is read. */
static const char *language_fault(const char *name)
{
	return policy_is_language_name(name) ? NULL
					     : "is not a valid language name; write small letters, digits, + "
					       "# . _ -, such as \"python\"";
}

int policy_check_languages(const struct policy *policy, const char *const *known, struct warder_error *err)
{
	const struct policy_strings *names = &policy->languages.names;
	char path[PATH_SIZE], quoted[64], remedy[300];

	for (size_t i = 0; i < names->count; i++) {
		if (policy_word(known, names->items[i]) >= 0)
			continue;
		snprintf(path, sizeof(path), "languages[%zu]", i);
		return policy_refuse(err, path, "%s is not a language that Warder knows; %s",
				     json_quote(names->items[i], quoted, sizeof(quoted)),
				     policy_suggest(known, names->items[i], remedy, sizeof(remedy)));
	}
	return 0;
}

static int check_languages(const struct policy *policy, struct warder_error *err)
{
	const struct policy_strings *names = &policy->languages.names;

	if (policy->languages.any && names->count > 0)
		return policy_refuse(err, "languages", "both \"any\" and a list; give one of them");
	if (policy->preferred[POLICY_FIELD_LANGUAGES])
		return policy_refuse(
		    err, "enforcement.languages",
		    "\"preferred\" has no meaning, the list is always enforced; leave it out");
	return check_list(names, "languages", language_fault, err);
}

/* ---- network ---- */

/* Rows of network.allow have ports; a list of names has its own, and in network.deny none stand for all. */
static int check_ports(const struct policy_endpoint *row, bool is_allow, const char *row_path,
		       struct warder_error *err)
{
	bool is_list = row->host && row->host[0] == '@';
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%.40s.ports", row_path);
	if (is_allow && is_list && row->port_count > 0)
		return policy_refuse(err, path, "the names of %s have their own ports; leave ports out",
				     row->host);
	if (is_allow && !is_list && row->port_count == 0)
		return policy_refuse(err, path, "missing; name them, such as \"ports\": [443]");
	for (size_t i = 0; i < row->port_count; i++) {
		snprintf(path, sizeof(path), "%.40s.ports[%zu]", row_path, i);
		if (row->ports[i] == 0)
			return policy_refuse(err, path, "0 is not a port; write a number from 1 to 65535");
		for (size_t j = 0; j < i; j++) {
			if (row->ports[i] == row->ports[j])
				return policy_refuse(err, path, "%u is given twice; leave one out",
						     row->ports[i]);
		}
	}
	return 0;
}

static int check_cidr(const char *path, const char *text, struct warder_error *err)
{
	struct policy_cidr cidr;
	char canonical[64], fault[128];

	if (policy_parse_cidr(text, &cidr, err) != 0)
		return policy_locate(err, path);
	policy_format_cidr(&cidr, canonical, sizeof(canonical));
	if (strcmp(canonical, text) == 0)
		return 0;
	snprintf(fault, sizeof(fault), "is not in its canonical form; write \"%s\"", canonical);
	return refuse_value(err, path, text, fault);
}

static int check_endpoint(const struct policy_endpoint *row, bool is_allow, const char *row_path,
			  struct warder_error *err)
{
	char path[PATH_SIZE];

	if (!row->host == !row->cidr)
		return policy_refuse(err, row_path, "give exactly one of host and cidr");
	snprintf(path, sizeof(path), "%.40s.%s", row_path, row->host ? "host" : "cidr");
	if (row->host ? check_value(err, path, row->host, policy_host_fault)
		      : check_cidr(path, row->cidr, err))
		return -1;
	return check_ports(row, is_allow, row_path, err);
}

static int check_endpoints(const struct policy_endpoints *list, bool is_allow, struct warder_error *err)
{
	char path[PATH_SIZE];

	for (size_t i = 0; i < list->count; i++) {
		snprintf(path, sizeof(path), "network.%s[%zu]", is_allow ? "allow" : "deny", i);
		if (check_endpoint(&list->items[i], is_allow, path, err) != 0)
			return -1;
	}
	return 0;
}

/* What the edge of a jail has room for: it listens on each port that a row of network.allow names. */
static int check_rule_count(const struct policy_endpoints *list, bool is_allow, struct warder_error *err)
{
	uint8_t seen[8192] = { 0 };
	size_t rules = 0, different = 0;
	char path[PATH_SIZE];

	for (size_t i = 0; i < list->count; i++) {
		size_t count = policy_rule_count(&list->items[i]);

		rules += count;
		for (size_t j = 0; is_allow && j < count; j++) {
			struct policy_rule rule = policy_rule_at(&list->items[i], j);

			for (size_t k = 0; k < rule.port_count; k++) {
				different += !(seen[rule.ports[k] / 8] & 1 << rule.ports[k] % 8);
				seen[rule.ports[k] / 8] |= (uint8_t)(1 << rule.ports[k] % 8);
			}
		}
		snprintf(path, sizeof(path), "network.%s[%zu]", is_allow ? "allow" : "deny", i);
		if (different > POLICY_MAX_PORTS)
			return policy_refuse(err, path,
					     "more than %d different ports up to this row; name fewer",
					     POLICY_MAX_PORTS);
		if (rules > POLICY_MAX_RULES)
			return policy_refuse(err, path,
					     "more than %d names and blocks up to this row; name fewer",
					     POLICY_MAX_RULES);
	}
	return 0;
}

static int check_published(const struct policy *policy, struct warder_error *err)
{
	const struct policy_published *list = &policy->network.publish;
	char path[PATH_SIZE];

	if (list->count > 0 && !policy_network_publishes(policy))
		return policy_refuse(err, "network.mode",
				     "\"%s\" does not allow network.publish; set it to \"loopback\" or "
				     "\"allow\", or publish no port",
				     policy_network_mode_name(policy->network.mode));
	for (size_t i = 0; i < list->count; i++)
		for (size_t j = 0; j < i; j++) {
			if (list->items[i].host_port == 0 ||
			    list->items[i].host_port != list->items[j].host_port ||
			    strcmp(list->items[i].address, list->items[j].address) != 0)
				continue;
			snprintf(path, sizeof(path), "network.publish[%zu]", i);
			return policy_refuse(err, path, "port %u of %s is published twice; choose another",
					     list->items[i].host_port, list->items[i].address);
		}
	return 0;
}

/* Limits of connections that no part of Warder sees. */
static int check_unseen(const struct policy *policy, struct warder_error *err)
{
	if (policy->network.mode != POLICY_NETWORK_HOST)
		return 0;
	if (policy->network.connections_max != POLICY_DEFAULT_CONNECTIONS)
		return policy_refuse(
		    err, "network.maxConnections",
		    "with network.mode \"host\" nothing counts connections; leave it out, or "
		    "set the mode to \"allow\"");
	if (policy->network.bytes_max != POLICY_UNLIMITED)
		return policy_refuse(err, "network.bytes",
				     "with network.mode \"host\" nothing counts bytes; leave it out, or set "
				     "the mode to \"allow\"");
	return 0;
}

bool policy_network_lists(const struct policy *policy)
{
	return policy->network.mode == POLICY_NETWORK_ALLOW || policy->network.mode == POLICY_NETWORK_LEARN;
}

bool policy_network_publishes(const struct policy *policy)
{
	return policy->network.mode == POLICY_NETWORK_LOOPBACK || policy_network_lists(policy);
}

bool policy_network_connects(const struct policy *policy)
{
	return policy_network_lists(policy) || policy->network.publish.count > 0;
}

static int check_network(const struct policy *policy, struct warder_error *err)
{
	const struct policy_endpoints *allow = &policy->network.allow, *deny = &policy->network.deny;

	if (!policy_network_lists(policy) && allow->count + deny->count > 0)
		return policy_refuse(err, "network.mode",
				     "\"%s\" does not allow rows in network.%s; set it to \"allow\", or "
				     "leave them out",
				     policy_network_mode_name(policy->network.mode),
				     allow->count ? "allow" : "deny");
	if (policy->network.mode == POLICY_NETWORK_ALLOW && allow->count == 0)
		return policy_refuse(
		    err, "network.mode",
		    "\"allow\" needs a row in network.allow (--allow HOST[:PORT]); give one, or "
		    "set \"none\"");
	if (check_endpoints(allow, true, err) != 0 || check_endpoints(deny, false, err) != 0 ||
	    check_rule_count(allow, true, err) != 0 || check_rule_count(deny, false, err) != 0 ||
	    policy_inject_validate(policy, err) != 0 || check_published(policy, err) != 0)
		return -1;
	return check_unseen(policy, err);
}

/* ---- filesystem ---- */

static int check_view(const struct policy *policy, struct warder_error *err)
{
	const char *source = policy->filesystem.view_source;
	bool is_image = policy->filesystem.view == POLICY_VIEW_IMAGE;

	if (policy->filesystem.view == POLICY_VIEW_HOST)
		return 0;
	if (!source)
		return policy_refuse(err, "filesystem.view", "the %s is missing; write \"%s:...\"",
				     policy_views[policy->filesystem.view],
				     policy_views[policy->filesystem.view]);
	return check_value(err, "filesystem.view", source, is_image ? policy_image_fault : policy_path_fault);
}

static int check_workspace(const struct policy *policy, struct warder_error *err)
{
	if (!policy->filesystem.workspace_root)
		return 0;
	return check_value(err, "filesystem.workspace", policy->filesystem.workspace_root, policy_path_fault);
}

/* No row of one list may have the target of one of the other; of one list with itself, of one before. */
static int check_targets(const struct policy_strings *list, const char *path,
			 const struct policy_strings *other, const char *other_path, struct warder_error *err)
{
	char item_path[PATH_SIZE], fault[160];

	for (size_t i = 0; i < list->count; i++)
		for (size_t j = 0; j < (list == other ? i : other->count); j++) {
			if (strcmp(policy_path_target(list->items[i]), policy_path_target(other->items[j])) !=
			    0)
				continue;
			snprintf(item_path, sizeof(item_path), "%s[%zu]", path, i);
			snprintf(fault, sizeof(fault), "has the target of %s[%zu]; choose another",
				 other_path, j);
			return refuse_value(err, item_path, list->items[i], fault);
		}
	return 0;
}

static int check_filesystem(const struct policy *policy, struct warder_error *err)
{
	static const char read_only[] = "filesystem.paths.readOnly",
			  read_write[] = "filesystem.paths.readWrite";

	if (check_view(policy, err) != 0 || check_workspace(policy, err) != 0 ||
	    check_list(&policy->filesystem.read_only, read_only, policy_placed_fault, err) != 0 ||
	    check_list(&policy->filesystem.read_write, read_write, policy_placed_fault, err) != 0 ||
	    check_disjoint(&policy->filesystem.read_write, read_write, &policy->filesystem.read_only,
			   read_only, err) != 0 ||
	    check_targets(&policy->filesystem.read_only, read_only, &policy->filesystem.read_only, read_only,
			  err) != 0 ||
	    check_targets(&policy->filesystem.read_write, read_write, &policy->filesystem.read_only,
			  read_only, err) != 0)
		return -1;
	return check_targets(&policy->filesystem.read_write, read_write, &policy->filesystem.read_write,
			     read_write, err);
}

/* ---- environment ---- */

static int check_variables(const struct policy *policy, struct warder_error *err)
{
	for (size_t i = 0; i < policy->environment.set_count; i++) {
		const struct policy_variable *variable = &policy->environment.set[i];
		char path[PATH_SIZE];

		snprintf(path, sizeof(path), "environment.set.%.50s", variable->name);
		if (check_value(err, path, variable->name, policy_variable_fault) != 0)
			return -1;
		if (strlen(variable->name) + strlen(variable->value) + 2 > POLICY_VARIABLE_BYTES)
			return policy_refuse(
			    err, path, "the value has %zu bytes; the kernel takes at most %d with the name",
			    strlen(variable->value), POLICY_VARIABLE_BYTES - 2);
	}
	return 0;
}

static int check_environment(const struct policy *policy, struct warder_error *err)
{
	const struct policy_strings *names = &policy->environment.names;
	bool is_list = policy->environment.mode == POLICY_ENVIRONMENT_ALLOW_LIST;

	if (!is_list && names->count > 0)
		return policy_refuse(
		    err, "environment.names",
		    "there are names but environment.mode is \"%s\"; set it to \"allowList\" or leave "
		    "them out",
		    policy_environment_modes[policy->environment.mode]);
	if (is_list && names->count == 0)
		return policy_refuse(
		    err, "environment.names",
		    "environment.mode is \"allowList\" and there are no names; give some or set \"none\"");
	if (check_list(names, "environment.names", policy_variable_fault, err) != 0)
		return -1;
	return check_variables(policy, err);
}

/* ---- the rest ---- */

static int check_amounts(const struct policy *policy, struct warder_error *err)
{
	char tmp[32], disk[32];

	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++) {
		const struct policy_amount *amount = policy_amount_of(field);

		if (amount && policy_amount_check(policy, amount, err) != 0)
			return -1;
	}
	if (policy->filesystem.tmp_bytes > policy->limits.disk_bytes)
		return policy_refuse(
		    err, "filesystem.tmp",
		    "%s is more than limits.disk, %s, which holds for /tmp and /dev/shm together; raise "
		    "limits.disk, or lower filesystem.tmp",
		    policy_format_size(policy->filesystem.tmp_bytes, tmp, sizeof(tmp)),
		    policy_format_size(policy->limits.disk_bytes, disk, sizeof(disk)));
	return 0;
}

static int check_id(const char *path, uint32_t id, struct warder_error *err)
{
	if (id < MIN_ID || id > MAX_ID)
		return policy_refuse(err, path, "%u is out of range; give %d to %d", id, MIN_ID, MAX_ID);
	return 0;
}

static int check_identity(const struct policy *policy, struct warder_error *err)
{
	if (check_id("processes.identity.uid", policy->processes.uid, err) != 0)
		return -1;
	return check_id("processes.identity.gid", policy->processes.gid, err);
}

static int check_syscalls(const struct policy *policy, struct warder_error *err)
{
	if (check_list(&policy->syscalls.deny, "syscalls.deny", policy_syscall_fault, err) != 0 ||
	    check_list(&policy->syscalls.allow, "syscalls.allow", policy_syscall_fault, err) != 0)
		return -1;
	return check_disjoint(&policy->syscalls.allow, "syscalls.allow", &policy->syscalls.deny,
			      "syscalls.deny", err);
}

static const char *function_fault(const char *name)
{
	const size_t length =
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

	return length > 0 && length <= 64 && !name[length] && name[0] != '.' && name[0] != '-'
		   ? NULL
		   : "is not a valid name of a function; write up to 64 letters, digits, _ . -, such as "
		     "\"lookup\"";
}

static int check_functions(const struct policy *policy, struct warder_error *err)
{
	if (policy->functions.count > POLICY_MAX_FUNCTIONS)
		return policy_refuse(err, "functions", "%zu names; give at most %d", policy->functions.count,
				     POLICY_MAX_FUNCTIONS);
	return check_list(&policy->functions, "functions", function_fault, err);
}

static int check_working_directory(const struct policy *policy, struct warder_error *err)
{
	if (!policy->working_directory)
		return 0;
	return check_value(err, "workingDirectory", policy->working_directory, policy_path_fault);
}

int policy_validate_document(const struct policy *policy, struct warder_error *err)
{
	static int (*const checks[])(const struct policy *, struct warder_error *) = {
		check_languages, check_network,  check_filesystem, check_environment,       check_amounts,
		check_identity,  check_syscalls, check_functions,  check_working_directory,
	};

	for (size_t i = 0; i < ARRAY_LENGTH(checks); i++) {
		if (checks[i](policy, err) != 0)
			return -1;
	}
	return 0;
}

/* Only a ceiling may hold rows that stand for many. */
static int check_no_ranges(const struct policy *policy, struct warder_error *err)
{
	const struct policy_published *list = &policy->network.publish;
	char path[PATH_SIZE];

	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].host_port == list->items[i].host_last &&
		    list->items[i].jail_port == list->items[i].jail_last)
			continue;
		snprintf(path, sizeof(path), "network.publish[%zu]", i);
		return policy_refuse(err, path, "a range of ports is for a ceiling; name one port");
	}
	return 0;
}

int policy_validate(const struct policy *policy, struct warder_error *err)
{
	if (check_no_ranges(policy, err) != 0)
		return -1;
	if (policy_lacks_workspace(policy))
		return policy_refuse(
		    err, "filesystem.workspace",
		    "the directory is missing; give filesystem.workspace \"%s:/dir\" or --workspace DIR",
		    policy_workspaces[policy->filesystem.workspace]);
	return policy_validate_document(policy, err);
}

bool policy_lacks_workspace(const struct policy *policy)
{
	return policy->filesystem.workspace != POLICY_WORKSPACE_NONE && !policy->filesystem.workspace_root;
}
