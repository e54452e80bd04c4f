/*
 * match: what a policy asks for against what a backend can do.
 *
 * The controls stand in the order of the fields, so walking over them gives the rows in the order in which
 * they are reported: language, payload, then fields. A language or payload that does not fit can not be
 * preferred away.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "policy/names.h"
#include "policy/values.h"

static struct policy_unmet *add_unmet(struct policy_match *match, enum policy_control control, uint32_t error,
				      bool preferred)
{
	struct policy_unmet *unmet = &match->unmet[match->count++];

	*unmet = (struct policy_unmet){
		.field =
		    control == POLICY_CONTROL_COUNT ? POLICY_FIELD_LANGUAGES : policy_control_field(control),
		.control = control,
		.error = error,
		.preferred = preferred,
	};
	if (!preferred)
		match->required_count++;
	return unmet;
}

static bool has_language(const char *const *languages, const char *language)
{
	for (; languages && *languages; languages++) {
		if (strcmp(*languages, language) == 0)
			return true;
	}
	return false;
}

static void add_names(struct policy_text *text, const char *const *names)
{
	for (size_t i = 0; names && names[i]; i++)
		policy_text_add(text, "%s%s", i ? ", " : "", names[i]);
	if (!names || !names[0])
		policy_text_add(text, "none");
}

bool policy_allows_language(const struct policy *policy, const char *language)
{
	return policy->languages.any || policy_strings_have(&policy->languages.names, language);
}

/* The policy's list first: what it does not allow may not run on any backend. */
static void match_language(const struct policy *policy, const struct policy_capabilities *capabilities,
			   const char *language, struct policy_match *match)
{
	bool allowed = policy_allows_language(policy, language);
	struct policy_unmet *unmet;
	struct policy_text text;
	char quoted[48];

	if (allowed && has_language(capabilities->languages, language))
		return;
	unmet = add_unmet(match, POLICY_CONTROL_COUNT, WARDER_ERROR_UNSUPPORTED_LANGUAGE, false);
	text = (struct policy_text){ unmet->reason, sizeof(unmet->reason), 0 };
	json_quote(language, quoted, sizeof(quoted));
	if (!allowed) {
		policy_text_add(&text, "the policy does not allow the language %s; add it to languages",
				quoted);
		return;
	}
	policy_text_add(&text, "the language %s is not available with the backend %s; available: ", quoted,
			capabilities->backend);
	add_names(&text, capabilities->languages);
}

static const char *payload_fault(const struct policy_subject *subject)
{
	switch (subject->payload) {
	case POLICY_PAYLOAD_PROGRAM:
		return strcmp(subject->language, "command") == 0 ? NULL
								 : "a program needs the language command";
	case POLICY_PAYLOAD_SOURCE:
		return strcmp(subject->language, "wasm") != 0
			   ? NULL
			   : "the language wasm needs a GuestModule, not source";
	case POLICY_PAYLOAD_GUEST_MODULE:
		return strcmp(subject->language, "wasm") == 0 ? NULL
							      : "a GuestModule needs the language wasm";
	}
	return "the payload is of no known kind";
}

static void match_payload(const struct policy_subject *subject, struct policy_match *match)
{
	const char *fault = payload_fault(subject);
	struct policy_unmet *unmet;
	char quoted[48];

	if (!fault)
		return;
	unmet = add_unmet(match, POLICY_CONTROL_COUNT, WARDER_ERROR_INVALID_REQUEST, false);
	snprintf(unmet->reason, sizeof(unmet->reason), "%s; the request says %s", fault,
		 json_quote(subject->language, quoted, sizeof(quoted)));
}

/* Where the network is refused, the number of connections that every policy has is no reason of its own. */
static bool is_implied(const struct policy *policy, const struct policy_match *match,
		       const struct policy_unmet *row)
{
	if (row->control != POLICY_CONTROL_NETWORK_CONNECTIONS || row->preferred ||
	    policy->network.connections_max != POLICY_DEFAULT_CONNECTIONS)
		return false;
	for (size_t i = 0; i < match->count; i++)
		if (!match->unmet[i].preferred && (match->unmet[i].field == POLICY_FIELD_NETWORK ||
						   match->unmet[i].field == POLICY_FIELD_NETWORK_PUBLISH))
			return true;
	return false;
}

static void match_control(const struct policy *policy, const struct policy_capabilities *capabilities,
			  enum policy_control control, struct policy_match *match)
{
	const struct policy_capability *capability = &capabilities->controls[control];
	struct policy_unmet *unmet;

	if (capability->enforced)
		return;
	unmet = add_unmet(match, control, WARDER_ERROR_UNSUPPORTED_POLICY,
			  policy->preferred[policy_control_field(control)]);
	unmet->implied = is_implied(policy, match, unmet);
	match->required_count -= unmet->implied;
	if (capability->reason[0])
		snprintf(unmet->reason, sizeof(unmet->reason), "%s", capability->reason);
	else
		snprintf(unmet->reason, sizeof(unmet->reason), "the backend %s cannot enforce %s",
			 capabilities->backend, policy_control_text(control));
}

/* ---- the error ---- */

/* The field as a user may know it: "limits.wallTime (timeout)". */
static void add_field(struct policy_text *text, enum policy_field field)
{
	const char *path = policy_field_path(field), *group = policy_field_group(field);

	policy_text_add(text, "%s", path);
	if (!strstr(path, group))
		policy_text_add(text, " (%s)", group);
}

static bool is_required(const struct policy_unmet *row)
{
	return !row->preferred && !row->implied && row->control != POLICY_CONTROL_COUNT;
}

/* Whether a row is the first required one of its field that could not be enforced. */
static bool is_first_of_field(const struct policy_match *match, size_t i)
{
	const struct policy_unmet *row = &match->unmet[i];

	if (!is_required(row))
		return false;
	return i == 0 || match->unmet[i - 1].field != row->field;
}

#define FIELDS_SIZE 300 /* of the error's text, so that a reason still fits behind the names */

/* The error's text, of whole parts: one that does not fit is left out, and the end says so. */
struct refusal {
	struct policy_text text;
	bool shortened;
};

static const char left_out_mark[] = " ...";

static bool add_part(struct refusal *refusal, const char *before, const char *part)
{
	struct policy_text *text = &refusal->text;

	if (text->used + strlen(before) + strlen(part) + sizeof(left_out_mark) > text->len) {
		refusal->shortened = true;
		return false;
	}
	policy_text_add(text, "%s%s", before, part);
	return true;
}

static void add_fields(struct refusal *refusal, const struct policy_match *match)
{
	struct policy_text *text = &refusal->text;
	size_t listed = 0, left_out = 0;

	for (size_t i = 0; i < match->count; i++) {
		if (!is_first_of_field(match, i))
			continue;
		if (listed > 0 && text->used > FIELDS_SIZE) {
			left_out++;
			continue;
		}
		policy_text_add(text, "%s",
				listed++     ? ", "
				: text->used ? "; cannot enforce "
					     : "cannot enforce ");
		add_field(text, match->unmet[i].field);
	}
	if (left_out > 0)
		policy_text_add(text, " and %zu more", left_out);
}

/* A reason without the file that it begins with: each controller of cgroup v1 has one of its own. */
static const char *without_file(const char *reason)
{
	const char *end = *reason == '/' ? strstr(reason, ": ") : NULL;

	return end ? end + 2 : reason;
}

static bool is_same_reason(const struct policy_unmet *a, const struct policy_unmet *b)
{
	return is_required(a) && is_required(b) &&
	       strcmp(without_file(a->reason), without_file(b->reason)) == 0;
}

/* The reason of row i, behind the controls that share it; these are not named again where all do. */
static void add_reason(struct refusal *refusal, const struct policy_match *match, size_t i,
		       const char *before)
{
	const struct policy_unmet *row = &match->unmet[i];
	char buf[512] = ""; /* more than an error holds: what is cut here does not fit there */
	struct policy_text part = { buf, sizeof(buf), 0 };
	bool same_file = true;
	size_t sharing = 0;

	for (size_t k = i; k < match->count; k++) {
		if (!is_same_reason(row, &match->unmet[k]))
			continue;
		policy_text_add(&part, "%s%s", sharing++ ? ", " : "",
				policy_control_name(match->unmet[k].control));
		same_file = same_file && strcmp(row->reason, match->unmet[k].reason) == 0;
	}
	if (sharing > 1 && sharing == match->required_count)
		part.used = 0;
	policy_text_add(&part, "%s%s", part.used ? ": " : "",
			same_file ? row->reason : without_file(row->reason));
	add_part(refusal, before, buf);
}

static void add_reasons(struct refusal *refusal, const struct policy_match *match)
{
	const char *before = ": ";

	for (size_t i = 0; i < match->count; i++) {
		bool told = false;

		for (size_t k = 0; k < i && !told; k++)
			told = is_same_reason(&match->unmet[k], &match->unmet[i]);
		if (told || !is_required(&match->unmet[i]))
			continue;
		add_reason(refusal, match, i, before);
		before = "; ";
	}
}

/* What control groups and the size of a directory limit can be done without, if its user chooses so. What isolates is not offered for that, and without
 * what the other limits rest on there is no run at all. */
static bool can_go(enum policy_field field)
{
	return field == POLICY_FIELD_MEMORY || field == POLICY_FIELD_SWAP || field == POLICY_FIELD_CPUS ||
	       field == POLICY_FIELD_CPU_TIME || field == POLICY_FIELD_PIDS || field == POLICY_FIELD_DISK;
}

static void add_remedy(struct refusal *refusal, const struct policy_match *match)
{
	size_t fields = 0;

	for (size_t i = 0; i < match->count; i++) {
		const struct policy_unmet *row = &match->unmet[i];

		if (!row->preferred && !can_go(row->field))
			return;
		fields += is_first_of_field(match, i);
	}
	/* All that can go without are limits: one flag names them together. */
	if (fields > 1) {
		add_part(refusal, "; or run without them: --prefer ", "limits");
		return;
	}
	for (size_t i = 0; i < match->count; i++)
		if (is_first_of_field(match, i))
			add_part(refusal, "; or run without it: --prefer ",
				 policy_field_path(match->unmet[i].field));
}

static int refuse(const struct policy_match *match, struct warder_error *err)
{
	char buf[sizeof(err->text)] = "";
	struct refusal refusal = { .text = { buf, sizeof(buf), 0 } };
	const struct policy_unmet *first = match->unmet;

	while (first->preferred) /* one is not: the caller has counted */
		first++;
	for (size_t i = 0; i < match->count; i++) {
		const struct policy_unmet *row = &match->unmet[i];

		if (row->control == POLICY_CONTROL_COUNT)
			add_part(&refusal, refusal.text.used ? "; " : "", row->reason);
	}
	add_fields(&refusal, match);
	add_reasons(&refusal, match);
	add_remedy(&refusal, match);
	if (refusal.shortened)
		policy_text_add(&refusal.text, "%s", left_out_mark);
	return error_set(err, (enum warder_error_kind)first->error, policy_field_path(first->field), "%s",
			 buf);
}

int policy_match(const struct policy *policy, const struct policy_capabilities *capabilities,
		 const struct policy_subject *subject, struct policy_match *ret, struct warder_error *err)
{
	memset(ret, 0, sizeof(*ret));
	policy_needed_controls(policy, ret->needed);
	if (subject) {
		match_language(policy, capabilities, subject->language, ret);
		match_payload(subject, ret);
	}
	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++) {
		if (ret->needed[control])
			match_control(policy, capabilities, control, ret);
	}
	return ret->required_count > 0 ? refuse(ret, err) : 0;
}
