/*
 * life: copying, comparing and freeing a policy, and the growing of its lists.
 *
 * Lists grow by one with realloc: they are built once, and the empty list is NULL and 0. Their number of rows is
 * bounded, which keeps the comparisons of each row with each other small.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/names.h"
#include "policy/values.h"

int policy_string_set(char **at, const char *text, struct warder_error *err)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return error_no_memory(err, NULL);
	free(*at);
	*at = copy;
	return 0;
}

/* The array with room for one row more, or NULL with *err and the array as it was. */
static void *grow(void *items, size_t count, size_t most, size_t size, struct warder_error *err)
{
	void *grown;

	if (count >= most) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "more than %zu rows", most);
		return NULL;
	}
	grown = realloc(items, (count + 1) * size);
	if (!grown)
		error_no_memory(err, NULL);
	return grown;
}

int policy_strings_add(struct policy_strings *list, const char *item, struct warder_error *err)
{
	char **items = grow(list->items, list->count, POLICY_MAX_ROWS, sizeof(*items), err);

	if (!items)
		return -1;
	list->items = items;
	items[list->count] = NULL;
	if (policy_string_set(&items[list->count], item, err) != 0)
		return -1;
	list->count++;
	return 0;
}

void policy_strings_done(struct policy_strings *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct policy_strings){ 0 };
}

bool policy_strings_have(const struct policy_strings *list, const char *item)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i], item) == 0)
			return true;
	}
	return false;
}

static int strings_copy(const struct policy_strings *from, struct policy_strings *ret,
			struct warder_error *err)
{
	for (size_t i = 0; i < from->count; i++) {
		if (policy_strings_add(ret, from->items[i], err) != 0)
			return -1;
	}
	return 0;
}

static bool strings_equal(const struct policy_strings *a, const struct policy_strings *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	}
	return true;
}

static bool string_equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* ---- environment.set ---- */

const struct policy_variable *policy_variable_of(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->environment.set_count; i++) {
		if (strcmp(policy->environment.set[i].name, name) == 0)
			return &policy->environment.set[i];
	}
	return NULL;
}

int policy_variable_set(struct policy *policy, const char *name, const char *value, struct warder_error *err)
{
	size_t count = policy->environment.set_count;
	const struct policy_variable *old = policy_variable_of(policy, name);
	struct policy_variable added = { 0 };
	struct policy_variable *set;

	if (old)
		return policy_string_set(&policy->environment.set[old - policy->environment.set].value, value,
					 err);
	set = grow(policy->environment.set, count, POLICY_MAX_ROWS, sizeof(*set), err);
	if (!set)
		return -1;
	policy->environment.set = set;
	added.name = strdup(name);
	if (!added.name)
		return error_no_memory(err, NULL);
	if (policy_string_set(&added.value, value, err) != 0) {
		free(added.name);
		return -1;
	}
	set[count] = added;
	policy->environment.set_count = count + 1;
	return 0;
}

static bool variables_equal(const struct policy *a, const struct policy *b)
{
	if (a->environment.set_count != b->environment.set_count)
		return false;
	for (size_t i = 0; i < a->environment.set_count; i++) {
		const struct policy_variable *left = &a->environment.set[i], *right = &b->environment.set[i];

		if (strcmp(left->name, right->name) != 0 || strcmp(left->value, right->value) != 0)
			return false;
	}
	return true;
}

/* ---- network ---- */

static void endpoint_done(struct policy_endpoint *endpoint)
{
	free(endpoint->host);
	free(endpoint->cidr);
	free(endpoint->ports);
	*endpoint = (struct policy_endpoint){ 0 };
}

static int endpoint_copy(const struct policy_endpoint *from, struct policy_endpoint *ret,
			 struct warder_error *err)
{
	if (policy_string_set(&ret->host, from->host, err) != 0 ||
	    policy_string_set(&ret->cidr, from->cidr, err) != 0)
		return -1;
	if (from->port_count == 0)
		return 0;
	ret->ports = calloc(from->port_count, sizeof(*ret->ports));
	if (!ret->ports)
		return error_no_memory(err, NULL);
	memcpy(ret->ports, from->ports, from->port_count * sizeof(*ret->ports));
	ret->port_count = from->port_count;
	return 0;
}

int policy_endpoint_add(struct policy_endpoints *list, const struct policy_endpoint *endpoint,
			struct warder_error *err)
{
	struct policy_endpoint *items = grow(list->items, list->count, POLICY_MAX_NAMES, sizeof(*items), err);

	if (!items)
		return -1;
	list->items = items;
	items[list->count] = (struct policy_endpoint){ 0 };
	if (endpoint_copy(endpoint, &items[list->count], err) != 0) {
		endpoint_done(&items[list->count]);
		return -1;
	}
	list->count++;
	return 0;
}

void policy_endpoints_done(struct policy_endpoints *list)
{
	for (size_t i = 0; i < list->count; i++)
		endpoint_done(&list->items[i]);
	free(list->items);
	*list = (struct policy_endpoints){ 0 };
}

static int endpoints_copy(const struct policy_endpoints *from, struct policy_endpoints *ret,
			  struct warder_error *err)
{
	for (size_t i = 0; i < from->count; i++) {
		if (policy_endpoint_add(ret, &from->items[i], err) != 0)
			return -1;
	}
	return 0;
}

static bool endpoints_equal(const struct policy_endpoints *a, const struct policy_endpoints *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct policy_endpoint *left = &a->items[i], *right = &b->items[i];

		if (!string_equal(left->host, right->host) || !string_equal(left->cidr, right->cidr) ||
		    left->port_count != right->port_count)
			return false;
		for (size_t j = 0; j < left->port_count; j++) {
			if (left->ports[j] != right->ports[j])
				return false;
		}
	}
	return true;
}

int policy_publish_add(struct policy_published *list, const struct policy_publish *row,
		       struct warder_error *err)
{
	struct policy_publish *items =
	    grow(list->items, list->count, POLICY_MAX_PUBLISHED, sizeof(*items), err);

	if (!items)
		return -1;
	list->items = items;
	items[list->count++] = *row;
	return 0;
}

void policy_published_done(struct policy_published *list)
{
	free(list->items);
	*list = (struct policy_published){ 0 };
}

static int published_copy(const struct policy_published *from, struct policy_published *ret,
			  struct warder_error *err)
{
	for (size_t i = 0; i < from->count; i++) {
		if (policy_publish_add(ret, &from->items[i], err) != 0)
			return -1;
	}
	return 0;
}

static bool published_equal(const struct policy_published *a, const struct policy_published *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct policy_publish *left = &a->items[i], *right = &b->items[i];

		if (strcmp(left->address, right->address) != 0 || left->host_port != right->host_port ||
		    left->host_last != right->host_last || left->jail_port != right->jail_port ||
		    left->jail_last != right->jail_last)
			return false;
	}
	return true;
}

static bool networks_equal(const struct policy *a, const struct policy *b)
{
	return a->network.mode == b->network.mode && endpoints_equal(&a->network.allow, &b->network.allow) &&
	       endpoints_equal(&a->network.deny, &b->network.deny) &&
	       published_equal(&a->network.publish, &b->network.publish) &&
	       a->network.connections_max == b->network.connections_max &&
	       a->network.bytes_max == b->network.bytes_max;
}

/* ---- the whole ---- */

void policy_done(struct policy *policy)
{
	if (!policy)
		return;
	policy_endpoints_done(&policy->network.allow);
	policy_endpoints_done(&policy->network.deny);
	policy_published_done(&policy->network.publish);
	free(policy->filesystem.view_source);
	free(policy->filesystem.workspace_root);
	policy_strings_done(&policy->filesystem.read_only);
	policy_strings_done(&policy->filesystem.read_write);
	policy_strings_done(&policy->environment.names);
	for (size_t i = 0; i < policy->environment.set_count; i++) {
		free(policy->environment.set[i].name);
		free(policy->environment.set[i].value);
	}
	free(policy->environment.set);
	policy_strings_done(&policy->syscalls.deny);
	policy_strings_done(&policy->syscalls.allow);
	free(policy->working_directory);
	policy_strings_done(&policy->languages.names);
	memset(policy, 0, sizeof(*policy));
}

/* The same values, and nothing on the heap: what is left for copy_owned(). */
static struct policy scalars_of(const struct policy *from)
{
	struct policy to = *from;

	to.network.allow = (struct policy_endpoints){ 0 };
	to.network.deny = (struct policy_endpoints){ 0 };
	to.network.publish = (struct policy_published){ 0 };
	to.filesystem.view_source = NULL;
	to.filesystem.workspace_root = NULL;
	to.filesystem.read_only = (struct policy_strings){ 0 };
	to.filesystem.read_write = (struct policy_strings){ 0 };
	to.environment.names = (struct policy_strings){ 0 };
	to.environment.set = NULL;
	to.environment.set_count = 0;
	to.syscalls.deny = (struct policy_strings){ 0 };
	to.syscalls.allow = (struct policy_strings){ 0 };
	to.working_directory = NULL;
	to.languages.names = (struct policy_strings){ 0 };
	return to;
}

static int copy_rows(const struct policy *from, struct policy *to, struct warder_error *err)
{
	if (endpoints_copy(&from->network.allow, &to->network.allow, err) != 0 ||
	    endpoints_copy(&from->network.deny, &to->network.deny, err) != 0 ||
	    published_copy(&from->network.publish, &to->network.publish, err) != 0)
		return -1;
	for (size_t i = 0; i < from->environment.set_count; i++) {
		const struct policy_variable *variable = &from->environment.set[i];

		if (policy_variable_set(to, variable->name, variable->value, err) != 0)
			return -1;
	}
	return 0;
}

static int copy_owned(const struct policy *from, struct policy *to, struct warder_error *err)
{
	if (copy_rows(from, to, err) != 0 ||
	    policy_string_set(&to->filesystem.view_source, from->filesystem.view_source, err) != 0 ||
	    policy_string_set(&to->filesystem.workspace_root, from->filesystem.workspace_root, err) != 0 ||
	    policy_string_set(&to->working_directory, from->working_directory, err) != 0 ||
	    strings_copy(&from->filesystem.read_only, &to->filesystem.read_only, err) != 0 ||
	    strings_copy(&from->filesystem.read_write, &to->filesystem.read_write, err) != 0 ||
	    strings_copy(&from->environment.names, &to->environment.names, err) != 0 ||
	    strings_copy(&from->syscalls.deny, &to->syscalls.deny, err) != 0 ||
	    strings_copy(&from->syscalls.allow, &to->syscalls.allow, err) != 0 ||
	    strings_copy(&from->languages.names, &to->languages.names, err) != 0)
		return -1;
	return 0;
}

int policy_copy(const struct policy *from, struct policy *ret, struct warder_error *err)
{
	struct policy to = scalars_of(from);

	if (copy_owned(from, &to, err) != 0) {
		policy_done(&to);
		return -1;
	}
	*ret = to;
	return 0;
}

static bool restrictions_equal(const struct policy *a, const struct policy *b)
{
	return memcmp(&a->limits, &b->limits, sizeof(a->limits)) == 0 && /* uint64_t only: no padding */
	       memcmp(a->preferred, b->preferred, sizeof(a->preferred)) == 0 &&
	       a->output.stdout_bytes == b->output.stdout_bytes &&
	       a->output.stderr_bytes == b->output.stderr_bytes && a->output.on_limit == b->output.on_limit &&
	       a->processes.spawn == b->processes.spawn && a->processes.uid == b->processes.uid &&
	       a->processes.gid == b->processes.gid && a->syscalls.profile == b->syscalls.profile &&
	       a->syscalls.on_violation == b->syscalls.on_violation &&
	       a->syscalls.speculation == b->syscalls.speculation &&
	       a->devices.terminals == b->devices.terminals &&
	       strings_equal(&a->syscalls.deny, &b->syscalls.deny) &&
	       strings_equal(&a->syscalls.allow, &b->syscalls.allow) &&
	       a->languages.any == b->languages.any &&
	       strings_equal(&a->languages.names, &b->languages.names);
}

static bool grants_equal(const struct policy *a, const struct policy *b)
{
	return networks_equal(a, b) && a->filesystem.view == b->filesystem.view &&
	       string_equal(a->filesystem.view_source, b->filesystem.view_source) &&
	       a->filesystem.workspace == b->filesystem.workspace &&
	       string_equal(a->filesystem.workspace_root, b->filesystem.workspace_root) &&
	       strings_equal(&a->filesystem.read_only, &b->filesystem.read_only) &&
	       strings_equal(&a->filesystem.read_write, &b->filesystem.read_write) &&
	       a->filesystem.tmp_bytes == b->filesystem.tmp_bytes &&
	       a->filesystem.tmp_exec == b->filesystem.tmp_exec &&
	       a->filesystem.growth_unlimited == b->filesystem.growth_unlimited &&
	       a->environment.mode == b->environment.mode &&
	       strings_equal(&a->environment.names, &b->environment.names) && variables_equal(a, b) &&
	       string_equal(a->working_directory, b->working_directory);
}

bool policy_equal(const struct policy *a, const struct policy *b)
{
	return grants_equal(a, b) && restrictions_equal(a, b);
}
