#include "host/launcher/narrow.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "runtime/library/library.h"

#define ENTRY_MAX 300

/* An entry of a wish. */
struct entry {
	const char *text;
	char host[ENTRY_MAX];  /* in lower case; "": it is a block */
	char block[ENTRY_MAX]; /* "10.1.0.0/16" */
	struct policy_cidr cidr;
	bool everything; /* all addresses of a family: then names, too */
};

static int refuse(const char *field, const char *text, const char *why, struct warder_error *err)
{
	char shown[120];

	return error_set(err, WARDER_ERROR_REJECTED, field, "%s: %s %s", field,
			 json_quote(text, shown, sizeof(shown)), why);
}

static int take_entry(const char *field, const struct json_value *value, struct entry *ret,
		      struct warder_error *err)
{
	unsigned char address[16];
	size_t len;

	*ret = (struct entry){ 0 };
	if (value->type != JSON_STRING || !*value->string || strlen(value->string) >= sizeof(ret->host) - 4)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "%s must be an array of names, addresses and address blocks", field);
	ret->text = value->string;
	if (inet_pton(AF_INET, value->string, address) == 1)
		snprintf(ret->block, sizeof(ret->block), "%s/32", value->string);
	else if (inet_pton(AF_INET6, value->string, address) == 1)
		snprintf(ret->block, sizeof(ret->block), "%s/128", value->string);
	else if (strchr(value->string, '/'))
		snprintf(ret->block, sizeof(ret->block), "%s", value->string);
	if (*ret->block) {
		if (policy_parse_cidr(ret->block, &ret->cidr, err) < 0)
			return -1;
		ret->everything = ret->cidr.prefix == 0;
		return 0;
	}
	len = strlen(value->string);
	for (size_t i = 0; i < len; i++)
		ret->host[i] =
		    (char)(value->string[i] >= 'A' && value->string[i] <= 'Z' ? value->string[i] + 32
									      : value->string[i]);
	return 0;
}

/* Whether all that the rule names is covered by the entry; and the other way round. */
static bool covers_rule(const struct entry *entry, const struct policy_rule *rule)
{
	struct policy_cidr cidr;
	struct warder_error ignored;

	if (entry->everything)
		return rule->host || (strchr(rule->cidr, ':') != NULL) == entry->cidr.is_v6;
	if (*entry->host)
		return rule->host && policy_host_covers(entry->host, rule->host);
	return rule->cidr && policy_parse_cidr(rule->cidr, &cidr, &ignored) == 0 &&
	       policy_cidr_contains(&entry->cidr, &cidr);
}

static bool is_covered(const struct entry *entry, const struct policy_rule *rule)
{
	struct policy_cidr cidr;
	struct warder_error ignored;

	if (*entry->host)
		return rule->host && policy_host_covers(rule->host, entry->host);
	return rule->cidr && policy_parse_cidr(rule->cidr, &cidr, &ignored) == 0 &&
	       policy_cidr_contains(&cidr, &entry->cidr) && policy_special_within(&cidr, &entry->cidr);
}

static void write_row(struct json_writer *w, const char *host, const char *cidr,
		      const struct policy_rule *rule)
{
	json_begin_object(w);
	json_key_string(w, host ? "host" : "cidr", host ? host : cidr);
	if (rule && rule->port_count) {
		json_key(w, "ports");
		json_begin_array(w);
		for (size_t i = 0; i < rule->port_count; i++)
			json_uint(w, rule->ports[i]);
		json_end_array(w);
	}
	json_end_object(w);
}

/* What is left of the row by this entry. row: as the document has it. Returns whether anything is. */
static bool keep(struct json_writer *w, const struct policy_endpoint *endpoint, const struct json_value *row,
		 const struct entry *entry, bool *whole)
{
	const size_t count = policy_rule_count(endpoint);
	size_t covered = 0;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct policy_rule rule = policy_rule_at(endpoint, i);

		covered += covers_rule(entry, &rule);
	}
	if (covered == count) {
		if (!*whole)
			json_copy(w, row);
		*whole = true;
		return true;
	}
	for (size_t i = 0; i < count; i++) {
		const struct policy_rule rule = policy_rule_at(endpoint, i);

		if (covers_rule(entry, &rule))
			write_row(w, rule.host, rule.cidr, &rule);
		else if (is_covered(entry, &rule))
			write_row(w, *entry->host ? entry->host : NULL, entry->block, &rule);
		else
			continue;
		any = true;
	}
	return any;
}

static int write_allow(struct json_writer *w, const struct policy *policy, const struct json_value *rows,
		       const struct json_value *wish, struct warder_error *err)
{
	static const char field[] = "network.allowOut";
	const struct policy_endpoints *allow = &policy->network.allow;
	bool *whole = calloc(allow->count + 1, sizeof(*whole));
	struct entry entry;
	int done = whole ? 0 : error_no_memory(err, NULL);

	json_begin_array(w);
	for (const struct json_value *one = wish->child; done == 0 && one; one = one->next) {
		const struct json_value *row = rows ? rows->child : NULL;
		bool any = false;

		done = take_entry(field, one, &entry, err);
		for (size_t i = 0; done == 0 && i < allow->count && row; i++, row = row->next)
			any |= keep(w, &allow->items[i], row, &entry, &whole[i]);
		if (done == 0 && !any)
			done = refuse(
			    field, entry.text,
			    "is not within the network of the template, and a request can only narrow it",
			    err);
	}
	json_end_array(w);
	free(whole);
	return done;
}

static int write_deny(struct json_writer *w, const struct json_value *rows, const struct json_value *wish,
		      bool only_allowed, struct warder_error *err)
{
	struct entry entry;

	json_begin_array(w);
	for (const struct json_value *row = rows ? rows->child : NULL; row; row = row->next)
		json_copy(w, row);
	for (const struct json_value *one = wish ? wish->child : NULL; one; one = one->next) {
		if (take_entry("network.denyOut", one, &entry, err) < 0)
			return -1;
		/* "Everything but what is allowed" is what an allow-list means. */
		if (!(entry.everything && only_allowed))
			write_row(w, *entry.host ? entry.host : NULL, entry.block, NULL);
	}
	json_end_array(w);
	return 0;
}

static int write_network(struct json_writer *w, const struct policy *policy, const struct json_value *network,
			 const struct json_value *allow, const struct json_value *deny,
			 struct warder_error *err)
{
	const bool lists = allow && allow->child;
	int done = 0;

	json_begin_object(w);
	for (const struct json_value *one = network->child; one; one = one->next) {
		if ((lists && strcmp(one->key, "allow") == 0) || strcmp(one->key, "deny") == 0)
			continue;
		json_key(w, one->key);
		json_copy(w, one);
	}
	if (lists) {
		json_key(w, "allow");
		done = write_allow(w, policy, json_member(network, "allow"), allow, err);
	}
	json_key(w, "deny");
	if (done == 0)
		done = write_deny(w, json_member(network, "deny"), deny, lists, err);
	json_end_object(w);
	return done;
}

static int rebuild(struct warder_policy **policy, const struct json_value *allow,
		   const struct json_value *deny, struct warder_error *err)
{
	char *text = warder_policy_json(*policy);
	struct json_value *document = NULL;
	struct warder_policy *narrowed = NULL;
	struct json_writer w = { 0 };
	int done = text ? json_parse(text, strlen(text), "policy", NULL, &document, err)
			: error_no_memory(err, NULL);

	free(text);
	if (done < 0)
		return -1;
	json_begin_object(&w);
	for (const struct json_value *one = document->child; done == 0 && one; one = one->next) {
		json_key(&w, one->key);
		if (strcmp(one->key, "network") == 0)
			done = write_network(&w, &(*policy)->policy, one, allow, deny, err);
		else
			json_copy(&w, one);
	}
	json_end_object(&w);
	json_free(document);
	if (done < 0) {
		json_writer_done(&w);
		return -1;
	}
	text = json_take(&w);
	done = text ? warder_policy_parse(text, strlen(text), "network", &narrowed, err)
		    : error_no_memory(err, NULL);
	free(text);
	/* Whatever was written above: it must be within what there was. */
	if (done == 0)
		done = policy_check_granted(&(*policy)->policy, &narrowed->policy, "the template", err);
	if (done != 0) {
		warder_policy_free(narrowed);
		return -1;
	}
	warder_policy_free(*policy);
	*policy = narrowed;
	return 0;
}

static int check_list(const char *field, const struct json_value *list, struct warder_error *err)
{
	return !list || list->type == JSON_ARRAY
		   ? 0
		   : error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			       "%s must be an array of names, addresses and address blocks", field);
}

static bool takes_all(const struct json_value *wish)
{
	const struct json_value *none = wish ? json_member(wish, "none") : NULL;

	return none && none->type == JSON_BOOL && none->boolean;
}

int narrow_network(struct warder_policy **policy, const struct json_value *wish, struct warder_error *err)
{
	const struct json_value *allow = wish ? json_member(wish, "allow") : NULL;
	const struct json_value *deny = wish ? json_member(wish, "deny") : NULL;
	const enum policy_network_mode mode = (*policy)->policy.network.mode;

	if (check_list("network.allowOut", allow, err) < 0 || check_list("network.denyOut", deny, err) < 0)
		return -1;
	if (takes_all(wish) && mode != POLICY_NETWORK_NONE && mode != POLICY_NETWORK_LOOPBACK)
		return warder_policy_set(*policy, "network.mode", "none", err);
	if (mode == POLICY_NETWORK_ALLOW && ((allow && allow->child) || (deny && deny->child)))
		return rebuild(policy, allow, deny, err);
	if (allow && allow->child)
		return refuse(
		    "network.allowOut", allow->child->type == JSON_STRING ? allow->child->string : "",
		    "is not within the network of the template, which has no list of destinations", err);
	if (deny && deny->child && mode != POLICY_NETWORK_NONE && mode != POLICY_NETWORK_LOOPBACK)
		return refuse("network.denyOut", deny->child->type == JSON_STRING ? deny->child->string : "",
			      "cannot be denied: the network of the template has no list of destinations",
			      err);
	return 0;
}

static int deny(struct warder_policy *policy, const struct policy_rule *rule, struct warder_error *err)
{
	char text[ENTRY_MAX];

	/* An address of IPv6 has colons, too. */
	snprintf(text, sizeof(text), rule->cidr && strchr(rule->cidr, ':') ? "[%s]" : "%s",
		 rule->host ? rule->host : rule->cidr);
	return warder_policy_set(policy, "network.deny", text, err);
}

int narrow_running(struct warder_policy **policy, const struct json_value *wish, struct warder_error *err)
{
	const struct policy_endpoints *allow = &(*policy)->policy.network.allow;

	if (!takes_all(wish) || (*policy)->policy.network.mode != POLICY_NETWORK_ALLOW)
		return narrow_network(policy, wish, err);
	for (size_t i = 0; i < allow->count; i++)
		for (size_t j = 0; j < policy_rule_count(&allow->items[i]); j++) {
			const struct policy_rule rule = policy_rule_at(&allow->items[i], j);

			if (deny(*policy, &rule, err) != 0)
				return -1;
		}
	return 0;
}
