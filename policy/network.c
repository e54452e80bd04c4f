/*
 * network: what the rules say of a destination, and whether rules stay within others.
 *
 * The rows of network.allow add up: a destination is allowed if one row lists it with the port. A row of network.deny
 * wins over all of them. Where several rows list a destination, the most specific one is reported: the name itself,
 * else the longest pattern, the longest prefix.
 *
 * Names and addresses are two worlds. A row with a name speaks of connections that the program made by that name; a
 * block speaks of connections by address, and of the addresses that a name has: a denied block holds for every name,
 * and a special address (private, loopback, ...) is reached by a name only where network.allow lists its block.
 *
 * The ceiling is compared by the same rules: each rule of a request lies inside one rule of the ceiling, port by port,
 * and what the ceiling denies has to be out of the request's reach: no rule of the request meets it, or the request
 * denies it too.
 */
#include <string.h>

#include "policy/values.h"

static const uint16_t learn_ports[] = { 22, 80, 443 };

#define LEARN_COUNT (sizeof(learn_ports) / sizeof(learn_ports[0]))

static bool is_learn_port(uint16_t port)
{
	for (size_t i = 0; i < LEARN_COUNT; i++) {
		if (learn_ports[i] == port)
			return true;
	}
	return false;
}

static bool has_port(const struct policy_rule *rule, uint16_t port)
{
	for (size_t i = 0; i < rule->port_count; i++) {
		if (rule->ports[i] == port)
			return true;
	}
	return false;
}

static bool denies_port(const struct policy_rule *denied, uint16_t port)
{
	return denied->port_count == 0 || has_port(denied, port);
}

/* A denied list of names is denied on every port, unless the row names some. */
static struct policy_rule denied_at(const struct policy_endpoint *row, size_t i)
{
	struct policy_rule rule = policy_rule_at(row, i);

	rule.ports = row->ports;
	rule.port_count = row->port_count;
	return rule;
}

static bool cidr_covers(const char *outer_text, const char *inner_text)
{
	struct policy_cidr outer, inner;
	struct warder_error ignored;

	return policy_parse_cidr(outer_text, &outer, &ignored) == 0 &&
	       policy_parse_cidr(inner_text, &inner, &ignored) == 0 && policy_cidr_contains(&outer, &inner);
}

/* Whether the place of one rule, ports aside, holds all of the other's. */
static bool covers(const struct policy_rule *outer, const struct policy_rule *inner)
{
	if (outer->host && inner->host)
		return policy_host_covers(outer->host, inner->host);
	return outer->cidr && inner->cidr && cidr_covers(outer->cidr, inner->cidr);
}

/* ---- what a program may reach ---- */

/* A destination: a name, or else an address. */
struct place {
	const char *name;
	const struct policy_cidr *address;
};

/* How closely a rule describes the place; 0: it does not. */
static size_t closeness(const struct policy_rule *rule, const struct place *place)
{
	struct policy_cidr block;
	struct warder_error ignored;

	if (place->name)
		return !rule->host || !policy_host_covers(rule->host, place->name) ? 0
		       : strcmp(rule->host, place->name) == 0                      ? SIZE_MAX
										   : strlen(rule->host);
	if (!rule->cidr || policy_parse_cidr(rule->cidr, &block, &ignored) != 0 ||
	    !policy_cidr_contains(&block, place->address))
		return 0;
	return block.prefix + 1;
}

static bool denies(const struct policy *policy, const struct place *place, uint16_t port, size_t *ret_row)
{
	const struct policy_endpoints *list = &policy->network.deny;

	for (size_t row = 0; row < list->count; row++) {
		size_t count = policy_rule_count(&list->items[row]);

		for (size_t i = 0; i < count; i++) {
			struct policy_rule rule = denied_at(&list->items[row], i);

			if (!denies_port(&rule, port) || closeness(&rule, place) == 0)
				continue;
			*ret_row = row;
			return true;
		}
	}
	return false;
}

static enum policy_verdict match(const struct policy *policy, const struct place *place, uint16_t port,
				 size_t *ret_row)
{
	const struct policy_endpoints *list = &policy->network.allow;
	size_t best = 0, now;

	if (!policy_network_lists(policy))
		return POLICY_UNLISTED;
	if (denies(policy, place, port, ret_row))
		return POLICY_DENIED;
	*ret_row = POLICY_NO_ROW;
	for (size_t row = 0; row < list->count; row++) {
		size_t count = policy_rule_count(&list->items[row]);

		for (size_t i = 0; i < count; i++) {
			struct policy_rule rule = policy_rule_at(&list->items[row], i);

			if (!has_port(&rule, port) || (now = closeness(&rule, place)) <= best)
				continue;
			best = now;
			*ret_row = row;
		}
	}
	return best > 0 ? POLICY_ALLOWED : POLICY_UNLISTED;
}

static bool is_name(const char *host)
{
	return strncmp(host, "*.", 2) != 0 && host[0] != '@' && !policy_host_fault(host);
}

enum policy_verdict policy_network_match(const struct policy *policy, const char *name, uint16_t port,
					 size_t *ret_row)
{
	char canonical[POLICY_MAX_HOST + 1];
	struct place place = { .name = canonical };
	enum policy_verdict verdict;

	*ret_row = POLICY_NO_ROW;
	if (!policy_host_canonical(name, canonical) || !is_name(canonical))
		return POLICY_UNLISTED;
	verdict = match(policy, &place, port, ret_row);
	if (verdict == POLICY_UNLISTED && policy->network.mode == POLICY_NETWORK_LEARN && is_learn_port(port))
		return POLICY_ALLOWED;
	return verdict;
}

enum policy_verdict policy_network_match_address(const struct policy *policy,
						 const struct policy_cidr *address, uint16_t port,
						 size_t *ret_row)
{
	struct place place = { .address = address };
	enum policy_verdict verdict;

	*ret_row = POLICY_NO_ROW;
	verdict = match(policy, &place, port, ret_row);
	if (verdict == POLICY_UNLISTED && policy->network.mode == POLICY_NETWORK_LEARN &&
	    is_learn_port(port) && !policy_special_address(address))
		return POLICY_ALLOWED;
	return verdict;
}

bool policy_network_knows(const struct policy *policy, const char *name)
{
	const struct policy_endpoints *list = &policy->network.allow;
	size_t ignored;

	for (size_t i = 0; policy->network.mode == POLICY_NETWORK_LEARN && i < LEARN_COUNT; i++) {
		if (policy_network_match(policy, name, learn_ports[i], &ignored) == POLICY_ALLOWED)
			return true;
	}
	for (size_t row = 0; row < list->count; row++) {
		size_t count = policy_rule_count(&list->items[row]);

		for (size_t i = 0; i < count; i++) {
			struct policy_rule rule = policy_rule_at(&list->items[row], i);

			for (size_t j = 0; rule.host && j < rule.port_count; j++) {
				if (policy_network_match(policy, name, rule.ports[j], &ignored) ==
				    POLICY_ALLOWED)
					return true;
			}
		}
	}
	return false;
}

const char *policy_network_address_fault(const struct policy *policy, const struct policy_cidr *address,
					 uint16_t port)
{
	struct place place = { .address = address };
	size_t ignored;

	switch (match(policy, &place, port, &ignored)) {
	case POLICY_DENIED:
		return "denied";
	case POLICY_ALLOWED:
		return NULL;
	case POLICY_UNLISTED:
		break;
	}
	return policy_special_address(address);
}

/* ---- narrowing ---- */

bool policy_network_grants(const struct policy *ceiling, const struct policy_rule *asked, uint16_t port)
{
	const struct policy_endpoints *list = &ceiling->network.allow;

	if (ceiling->network.mode == POLICY_NETWORK_HOST)
		return true;
	if (ceiling->network.mode == POLICY_NETWORK_LEARN && asked->host && is_learn_port(port))
		return true;
	for (size_t row = 0; row < list->count; row++) {
		size_t count = policy_rule_count(&list->items[row]);

		for (size_t i = 0; i < count; i++) {
			struct policy_rule rule = policy_rule_at(&list->items[row], i);

			if (has_port(&rule, port) && covers(&rule, asked))
				return true;
		}
	}
	return false;
}

/* Whether the request denies all of a place on a port. */
static bool denies_all(const struct policy *request, const struct policy_rule *place, uint16_t port)
{
	const struct policy_endpoints *list = &request->network.deny;

	for (size_t row = 0; row < list->count; row++) {
		size_t count = policy_rule_count(&list->items[row]);

		for (size_t i = 0; i < count; i++) {
			struct policy_rule rule = denied_at(&list->items[row], i);

			if (denies_port(&rule, port) && covers(&rule, place))
				return true;
		}
	}
	return false;
}

/* What of a denied place the rule can reach: NULL, or the narrower of the two. Every name may have any address. */
static const struct policy_rule *meet(const struct policy_rule *rule, const struct policy_rule *denied)
{
	if (rule->host && denied->cidr)
		return denied;
	return covers(denied, rule) ? rule : covers(rule, denied) ? denied : NULL;
}

/* Whether no rule of the request reaches the denied place on a port that is denied there. */
static bool avoids(const struct policy *request, const struct policy_rule *denied)
{
	const struct policy_endpoints *list = &request->network.allow;

	for (size_t i = 0; request->network.mode == POLICY_NETWORK_LEARN && i < LEARN_COUNT; i++) {
		if (denies_port(denied, learn_ports[i]) && !denies_all(request, denied, learn_ports[i]))
			return false;
	}
	for (size_t row = 0; row < list->count; row++) {
		size_t count = policy_rule_count(&list->items[row]);

		for (size_t i = 0; i < count; i++) {
			struct policy_rule rule = policy_rule_at(&list->items[row], i);
			const struct policy_rule *met = meet(&rule, denied);

			for (size_t j = 0; met && j < rule.port_count; j++) {
				if (denies_port(denied, rule.ports[j]) &&
				    !denies_all(request, met, rule.ports[j]))
					return false;
			}
		}
	}
	return true;
}

bool policy_network_avoids(const struct policy *request, const struct policy_endpoint *denied)
{
	size_t count = policy_rule_count(denied);

	for (size_t i = 0; i < count; i++) {
		struct policy_rule rule = denied_at(denied, i);

		if (!avoids(request, &rule))
			return false;
	}
	return true;
}

static bool publish_covers(const struct policy_publish *granted, const struct policy_publish *asked)
{
	return (strcmp(granted->address, "0.0.0.0") == 0 || strcmp(granted->address, asked->address) == 0) &&
	       granted->host_port <= asked->host_port && asked->host_last <= granted->host_last &&
	       granted->jail_port <= asked->jail_port && asked->jail_last <= granted->jail_last;
}

#define FIRST_UNPRIVILEGED 1024

bool policy_network_publishes_within(const struct policy *ceiling, const struct policy_publish *asked)
{
	const struct policy_published *list = &ceiling->network.publish;

	/* A program with the host's network can listen there by itself. */
	if (ceiling->network.mode == POLICY_NETWORK_HOST)
		return asked->host_port >= FIRST_UNPRIVILEGED || asked->host_last == 0;
	for (size_t i = 0; i < list->count; i++) {
		if (publish_covers(&list->items[i], asked))
			return true;
	}
	return false;
}
