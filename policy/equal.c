/*
 * equal: whether two policies have the same values, member by member of the table. It costs less than two documents, and does not depend on
 * what a document says of a policy.
 */
#include <string.h>

#include "policy/members.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_strings(const struct policy_strings *a, const struct policy_strings *b)
{
	for (size_t i = 0; a->count == b->count && i < a->count; i++) {
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	}
	return a->count == b->count;
}

static bool same_inject(const struct policy_inject *a, const struct policy_inject *b)
{
	if (!a || !b)
		return a == b;
	return same_text(a->header, b->header) && same_text(a->secret_file, b->secret_file) &&
	       same_text(a->format, b->format) && same_strings(&a->methods, &b->methods) &&
	       same_strings(&a->paths, &b->paths);
}

static bool same_endpoints(const struct policy_endpoints *a, const struct policy_endpoints *b)
{
	for (size_t i = 0; a->count == b->count && i < a->count; i++) {
		const struct policy_endpoint *left = &a->items[i], *right = &b->items[i];

		if (!same_text(left->host, right->host) || !same_text(left->cidr, right->cidr) ||
		    left->port_count != right->port_count || !same_inject(left->inject, right->inject) ||
		    (left->port_count &&
		     memcmp(left->ports, right->ports, left->port_count * sizeof(*left->ports)) != 0))
			return false;
	}
	return a->count == b->count;
}

static bool same_published(const struct policy_published *a, const struct policy_published *b)
{
	for (size_t i = 0; a->count == b->count && i < a->count; i++) {
		const struct policy_publish *left = &a->items[i], *right = &b->items[i];

		if (strcmp(left->address, right->address) != 0 || left->host_port != right->host_port ||
		    left->host_last != right->host_last || left->jail_port != right->jail_port ||
		    left->jail_last != right->jail_last)
			return false;
	}
	return a->count == b->count;
}

static bool same_variables(const struct policy *a, const struct policy *b)
{
	if (a->environment.set_count != b->environment.set_count)
		return false;
	for (size_t i = 0; i < a->environment.set_count; i++) {
		if (strcmp(a->environment.set[i].name, b->environment.set[i].name) != 0 ||
		    strcmp(a->environment.set[i].value, b->environment.set[i].value) != 0)
			return false;
	}
	return true;
}

static bool same_member(const struct policy *a, const struct policy *b, const struct policy_member *member)
{
	const void *left = POLICY_PLACE(const void, a, member->offset);
	const void *right = POLICY_PLACE(const void, b, member->offset);

	switch (member->form) {
	case POLICY_FORM_OBJECT:
	case POLICY_FORM_VERSION:
	case POLICY_FORM_COUNT:
		return true;
	case POLICY_FORM_NUMBER:
	case POLICY_FORM_CHOICE:
	case POLICY_FORM_OPTION:
	case POLICY_FORM_BOOLEAN:
	case POLICY_FORM_ID:
		return memcmp(left, right, member->size) == 0;
	case POLICY_FORM_SOURCED:
		return memcmp(left, right, member->size) == 0 &&
		       same_text(*POLICY_PLACE(char *, a, member->source),
				 *POLICY_PLACE(char *, b, member->source));
	case POLICY_FORM_TEXT:
		return same_text(*POLICY_PLACE(char *, a, member->offset),
				 *POLICY_PLACE(char *, b, member->offset));
	case POLICY_FORM_LANGUAGES:
		return a->languages.any == b->languages.any && same_strings(left, right);
	case POLICY_FORM_LIST:
		return same_strings(left, right);
	case POLICY_FORM_ENDPOINTS:
		return same_endpoints(left, right);
	case POLICY_FORM_PUBLISHED:
		return same_published(left, right);
	case POLICY_FORM_VARIABLES:
		return same_variables(a, b);
	case POLICY_FORM_ENFORCEMENT:
		return memcmp(a->preferred, b->preferred, sizeof(a->preferred)) == 0;
	}
	return false;
}

bool policy_equal(const struct policy *a, const struct policy *b)
{
	const struct policy_member *member;

	for (size_t i = 0; (member = policy_member_at(i)) != NULL; i++) {
		if (!same_member(a, b, member))
			return false;
	}
	return true;
}
