/*
 * encode: a policy as its canonical document. Every field is written, in the order of the table and with canonical
 * units, so that equal policies give equal texts and nothing about a policy has to be guessed. Only the fields that
 * is_left_out() and write_enforcement() name are left out while they are unused. A preset that still
 * lacks its workspace says "readWrite:", which decodes again; the run asks for the directory.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "policy/members.h"
#include "policy/names.h"
#include "policy/values.h"

static void write_strings(struct json_writer *w, const struct policy_strings *list)
{
	json_begin_array(w);
	for (size_t i = 0; i < list->count; i++)
		json_string(w, list->items[i]);
	json_end_array(w);
}

static void write_amount(struct json_writer *w, const struct policy *policy, enum policy_field field)
{
	const struct policy_amount *amount = policy_amount_of(field);
	uint64_t value = policy_amount_get(policy, amount);
	bool is_number = amount->measure == POLICY_MEASURE_COUNT || amount->measure == POLICY_MEASURE_CPUS;
	char text[32];

	policy_amount_format(amount, value, text, sizeof(text));
	if (is_number && value != POLICY_UNLIMITED)
		json_number(w, text);
	else
		json_string(w, text);
}

static void write_endpoints(struct json_writer *w, const struct policy_endpoints *list)
{
	json_begin_array(w);
	for (size_t i = 0; i < list->count; i++) {
		const struct policy_endpoint *row = &list->items[i];

		json_begin_object(w);
		json_key_string(w, row->host ? "host" : "cidr", row->host ? row->host : row->cidr);
		if (row->port_count > 0) {
			json_key(w, "ports");
			json_begin_array(w);
			for (size_t j = 0; j < row->port_count; j++)
				json_uint(w, row->ports[j]);
			json_end_array(w);
		}
		if (row->inject)
			policy_inject_write(row->inject, w);
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_published(struct json_writer *w, const struct policy_published *list)
{
	char text[48];

	json_begin_array(w);
	for (size_t i = 0; i < list->count; i++)
		json_string(w, policy_format_publish(&list->items[i], text, sizeof(text)));
	json_end_array(w);
}

/* "word", or "word:source" for all words but the first. */
static void write_sourced(struct json_writer *w, const char *word, bool has_source, const char *source)
{
	char *text = NULL;

	if (!has_source) {
		json_string(w, word);
		return;
	}
	if (asprintf(&text, "%s:%s", word, source ? source : "") < 0) {
		json_fail(w);
		return;
	}
	json_string(w, text);
	free(text);
}

static void write_variables(struct json_writer *w, const struct policy *policy)
{
	json_begin_object(w);
	for (size_t i = 0; i < policy->environment.set_count; i++)
		json_key_string(w, policy->environment.set[i].name, policy->environment.set[i].value);
	json_end_object(w);
}

static void write_enforcement(struct json_writer *w, const struct policy *policy)
{
	json_begin_object(w);
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++)
		if (field != POLICY_FIELD_FUNCTIONS || policy->preferred[field])
			json_key_string(w, policy_field_path(field),
					policy_enforcements[policy->preferred[field]]);
	json_end_object(w);
}

static void write_members(struct json_writer *w, const struct policy *policy, const char *parent);

static void write_value(struct json_writer *w, const struct policy *policy, const struct policy_member *row)
{
	unsigned word;

	switch (row->form) {
	case POLICY_FORM_OBJECT:
		write_members(w, policy, row->path);
		break;
	case POLICY_FORM_VERSION:
		json_uint(w, POLICY_VERSION);
		break;
	case POLICY_FORM_NUMBER:
		write_amount(w, policy, row->field);
		break;
	case POLICY_FORM_CHOICE:
	case POLICY_FORM_OPTION:
		json_string(w, row->words[policy_member_word(policy, row)]);
		break;
	case POLICY_FORM_BOOLEAN:
		json_bool(w, policy_member_word(policy, row));
		break;
	case POLICY_FORM_SOURCED:
		word = policy_member_word(policy, row);
		write_sourced(w, row->words[word], word != 0, *POLICY_PLACE(char *, policy, row->source));
		break;
	case POLICY_FORM_ID:
		json_uint(w, *POLICY_PLACE(uint32_t, policy, row->offset));
		break;
	case POLICY_FORM_TEXT:
		json_string(w, *POLICY_PLACE(char *, policy, row->offset));
		break;
	case POLICY_FORM_LANGUAGES:
		if (policy->languages.any)
			json_string(w, "any");
		else
			write_strings(w, &policy->languages.names);
		break;
	case POLICY_FORM_LIST:
		write_strings(w, POLICY_PLACE(struct policy_strings, policy, row->offset));
		break;
	case POLICY_FORM_ENDPOINTS:
		write_endpoints(w, POLICY_PLACE(struct policy_endpoints, policy, row->offset));
		break;
	case POLICY_FORM_PUBLISHED:
		write_published(w, POLICY_PLACE(struct policy_published, policy, row->offset));
		break;
	case POLICY_FORM_VARIABLES:
		write_variables(w, policy);
		break;
	case POLICY_FORM_ENFORCEMENT:
		write_enforcement(w, policy);
		break;
	case POLICY_FORM_COUNT:
		break;
	}
}

/* Unused, and unknown to an earlier version of Warder: a session's keeper of that version would refuse the whole document. */
static bool is_left_out(const struct policy *policy, const struct policy_member *row)
{
	return (row->form == POLICY_FORM_OPTION && policy_member_word(policy, row) == 0) ||
	       (row->offset == offsetof(struct policy, functions) && row->form == POLICY_FORM_LIST &&
		policy->functions.count == 0);
}

static void write_members(struct json_writer *w, const struct policy *policy, const char *parent)
{
	const struct policy_member *row;

	json_begin_object(w);
	for (size_t i = 0; (row = policy_member_at(i)) != NULL; i++) {
		const char *key = policy_member_key(row, parent);

		if (!key || is_left_out(policy, row))
			continue;
		json_key(w, key);
		write_value(w, policy, row);
	}
	json_end_object(w);
}

void policy_write(const struct policy *policy, struct json_writer *writer)
{
	write_members(writer, policy, "");
}

char *policy_encode(const struct policy *policy)
{
	struct json_writer writer = { .pretty = true };

	policy_write(policy, &writer);
	return json_take(&writer);
}
