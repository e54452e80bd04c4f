/*
 * set: one field out of its path and its text. The decoder, the command line and the library's callers all
 * come through here, so a value means the same wherever it was written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "policy/members.h"
#include "policy/names.h"
#include "policy/values.h"

static int refuse_word(const char *const *words, const char *path, const char *text, struct warder_error *err)
{
	char quoted[64], known[160];

	return policy_refuse(err, path, "%s is none of its values; %s",
			     json_quote(text, quoted, sizeof(quoted)),
			     policy_suggest(words, text, known, sizeof(known)));
}

static int set_choice(struct policy *policy, const struct policy_member *member, const char *text,
		      struct warder_error *err)
{
	int word = policy_word(member->words, text);

	if (word < 0)
		return refuse_word(member->words, member->path, text, err);
	policy_member_set_word(policy, member, (unsigned)word);
	return 0;
}

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

static int set_sourced(struct policy *policy, const struct policy_member *member, const char *text,
		       struct warder_error *err)
{
	const char *source = NULL;
	unsigned word = 0;

	if (split(member->words, member->path, text, &word, &source, err) != 0 ||
	    policy_string_set(POLICY_PLACE(char *, policy, member->source), source, err) != 0)
		return -1;
	policy_member_set_word(policy, member, word);
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

#define MEMBERS_MAX 128

static int refuse_unknown(const char *path, struct warder_error *err)
{
	const char *words[MEMBERS_MAX + 1] = { NULL };
	const struct policy_member *member;
	const char *found;
	size_t count = 0;

	for (size_t i = 0; (member = policy_member_at(i)) != NULL && count < MEMBERS_MAX; i++) {
		if (member->form != POLICY_FORM_OBJECT && member->form != POLICY_FORM_VERSION &&
		    member->form != POLICY_FORM_ENFORCEMENT)
			words[count++] = member->path;
	}
	found = policy_meant(words, path);
	if (found)
		return policy_refuse(err, path, "there is no such field; did you mean \"%s\"?", found);
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
	const struct policy_member *member = policy_member_of(path, strlen(path));

	if (!member)
		return refuse_unknown(path, err);
	switch (member->form) {
	case POLICY_FORM_NUMBER:
		return set_amount(policy, policy_amount_of(member->field), text, err);
	case POLICY_FORM_CHOICE:
	case POLICY_FORM_OPTION:
	case POLICY_FORM_BOOLEAN:
		return set_choice(policy, member, text, err);
	case POLICY_FORM_SOURCED:
		return set_sourced(policy, member, text, err);
	case POLICY_FORM_ID:
		return set_id(POLICY_PLACE(uint32_t, policy, member->offset), path, text, err);
	case POLICY_FORM_TEXT:
		return policy_string_set(POLICY_PLACE(char *, policy, member->offset), text, err);
	case POLICY_FORM_OBJECT:
	case POLICY_FORM_VERSION:
	case POLICY_FORM_LIST:
	case POLICY_FORM_LANGUAGES:
	case POLICY_FORM_ENDPOINTS:
	case POLICY_FORM_PUBLISHED:
	case POLICY_FORM_VARIABLES:
	case POLICY_FORM_ENFORCEMENT:
	case POLICY_FORM_COUNT:
		break;
	}
	return refuse_unknown(path, err);
}

/* ---- lists and modes ---- */

static const char variables[] = "environment.set.";

static bool is_list(const struct policy_member *member)
{
	return member && (member->form == POLICY_FORM_LIST || member->form == POLICY_FORM_LANGUAGES ||
			  member->form == POLICY_FORM_ENDPOINTS || member->form == POLICY_FORM_PUBLISHED);
}

bool policy_is_list(const char *path, size_t length)
{
	return is_list(policy_member_of(path, length)) ||
	       (length >= sizeof(variables) - 1 && memcmp(path, variables, sizeof(variables) - 1) == 0);
}

size_t policy_list_length(const struct policy *policy, const char *path, size_t length)
{
	const struct policy_member *member = policy_member_of(path, length);

	if (member && member->form == POLICY_FORM_LIST)
		return POLICY_PLACE(const struct policy_strings, policy, member->offset)->count;
	if (member && member->form == POLICY_FORM_ENDPOINTS)
		return POLICY_PLACE(const struct policy_endpoints, policy, member->offset)->count;
	if (member && member->form == POLICY_FORM_PUBLISHED)
		return POLICY_PLACE(const struct policy_published, policy, member->offset)->count;
	return 0;
}

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
	const struct policy_member *member = policy_member_of(path, strlen(path));
	void *list = member ? POLICY_PLACE(void, policy, member->offset) : NULL;

	*ret_known = true;
	if (strncmp(path, variables, sizeof(variables) - 1) == 0)
		return policy_variable_set(policy, path + sizeof(variables) - 1, value, err);
	*ret_known = is_list(member);
	if (!*ret_known)
		return 0;
	if (member->form == POLICY_FORM_ENDPOINTS)
		return set_endpoints(list, value, list == &policy->network.allow, err);
	if (member->form == POLICY_FORM_PUBLISHED)
		return set_published(list, value, err);
	return member->form == POLICY_FORM_LANGUAGES ? set_languages(policy, value, err)
						     : set_list(list, value, err);
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
