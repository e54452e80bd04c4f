/* life: copying and freeing a policy, and adding to its lists. */
#include <stdlib.h>
#include <string.h>

#include "policy/members.h"
#include "policy/values.h"

static int strings_copy(const void *list, void *ret, struct warder_error *err)
{
	return policy_strings_copy(list, ret, err);
}

static void strings_done(void *list)
{
	policy_strings_done(list);
}

static int text_copy(const void *from, void *ret, struct warder_error *err)
{
	char *const *text = from;

	return policy_string_set(ret, *text, err);
}

static void text_done(void *at)
{
	char **text = at;

	free(*text);
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
	set = policy_list_grow(policy->environment.set, count, POLICY_MAX_ROWS, sizeof(*set), err);
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

static void variables_done(struct policy *policy)
{
	for (size_t i = 0; i < policy->environment.set_count; i++) {
		free(policy->environment.set[i].name);
		free(policy->environment.set[i].value);
	}
	free(policy->environment.set);
}

/* ---- network ---- */

static void endpoint_done(struct policy_endpoint *endpoint)
{
	free(endpoint->host);
	free(endpoint->cidr);
	free(endpoint->ports);
	policy_inject_free(endpoint->inject);
	*endpoint = (struct policy_endpoint){ 0 };
}

static int endpoint_copy(const struct policy_endpoint *from, struct policy_endpoint *ret,
			 struct warder_error *err)
{
	if (policy_string_set(&ret->host, from->host, err) != 0 ||
	    policy_string_set(&ret->cidr, from->cidr, err) != 0 ||
	    policy_inject_copy(from->inject, &ret->inject, err) != 0)
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
	struct policy_endpoint *items =
	    policy_list_grow(list->items, list->count, POLICY_MAX_RULES, sizeof(*items), err);

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

static void endpoints_done(void *list)
{
	policy_endpoints_done(list);
}

static int endpoints_copy(const void *list, void *ret, struct warder_error *err)
{
	const struct policy_endpoints *from = list;

	for (size_t i = 0; i < from->count; i++) {
		if (policy_endpoint_add(ret, &from->items[i], err) != 0)
			return -1;
	}
	return 0;
}

int policy_publish_add(struct policy_published *list, const struct policy_publish *row,
		       struct warder_error *err)
{
	struct policy_publish *items =
	    policy_list_grow(list->items, list->count, POLICY_MAX_PUBLISHED, sizeof(*items), err);

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

static void published_done(void *list)
{
	policy_published_done(list);
}

static int published_copy(const void *list, void *ret, struct warder_error *err)
{
	const struct policy_published *from = list;

	for (size_t i = 0; i < from->count; i++) {
		if (policy_publish_add(ret, &from->items[i], err) != 0)
			return -1;
	}
	return 0;
}

/* ---- the whole ---- */

/* What a member of this form owns on the heap. */
static const struct owned {
	size_t size;
	int (*copy)(const void *from, void *to, struct warder_error *err);
	void (*done)(void *at);
} owned[POLICY_FORM_COUNT] = {
	[POLICY_FORM_SOURCED] = { sizeof(char *), text_copy, text_done },
	[POLICY_FORM_TEXT] = { sizeof(char *), text_copy, text_done },
	[POLICY_FORM_LIST] = { sizeof(struct policy_strings), strings_copy, strings_done },
	[POLICY_FORM_LANGUAGES] = { sizeof(struct policy_strings), strings_copy, strings_done },
	[POLICY_FORM_ENDPOINTS] = { sizeof(struct policy_endpoints), endpoints_copy, endpoints_done },
	[POLICY_FORM_PUBLISHED] = { sizeof(struct policy_published), published_copy, published_done },
};

static size_t owned_at(const struct policy_member *member)
{
	return member->form == POLICY_FORM_SOURCED ? member->source : member->offset;
}

void policy_done(struct policy *policy)
{
	const struct policy_member *member;

	if (!policy)
		return;
	for (size_t i = 0; (member = policy_member_at(i)) != NULL; i++) {
		if (owned[member->form].size)
			owned[member->form].done(POLICY_PLACE(void, policy, owned_at(member)));
	}
	variables_done(policy);
	memset(policy, 0, sizeof(*policy));
}

/* The same values, and nothing on the heap: what is left for copy_owned(). */
static struct policy scalars_of(const struct policy *from)
{
	const struct policy_member *member;
	struct policy to = *from;

	for (size_t i = 0; (member = policy_member_at(i)) != NULL; i++) {
		if (owned[member->form].size)
			memset(POLICY_PLACE(void, &to, owned_at(member)), 0, owned[member->form].size);
	}
	to.environment.set = NULL;
	to.environment.set_count = 0;
	return to;
}

static int copy_owned(const struct policy *from, struct policy *to, struct warder_error *err)
{
	const struct policy_member *member;

	for (size_t i = 0; (member = policy_member_at(i)) != NULL; i++) {
		const struct owned *row = &owned[member->form];
		const size_t at = owned_at(member);

		if (row->size && row->copy((const char *)from + at, POLICY_PLACE(void, to, at), err) != 0)
			return -1;
	}
	for (size_t i = 0; i < from->environment.set_count; i++) {
		const struct policy_variable *variable = &from->environment.set[i];

		if (policy_variable_set(to, variable->name, variable->value, err) != 0)
			return -1;
	}
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
