/*
 * network: whether the rules of an asked policy stay within those of a ceiling. What rules say of one destination is decided by edge/rules.c.
 *
 * Each asked rule lies inside one rule of the ceiling, port by port, and what the ceiling denies has to be out of its
 * reach: no asked rule meets it, or the asked policy denies it too.
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

static bool cidr_covers(const char *outer_text, const char *inner_text, bool as_grant)
{
	struct policy_cidr outer, inner;
	struct warder_error ignored;

	return policy_parse_cidr(outer_text, &outer, &ignored) == 0 &&
	       policy_parse_cidr(inner_text, &inner, &ignored) == 0 && policy_cidr_contains(&outer, &inner) &&
	       (!as_grant || policy_special_within(&outer, &inner));
}

/* Whether the destination of one rule, ports aside, holds all of the other's. */
static bool covers(const struct policy_rule *outer, const struct policy_rule *inner)
{
	if (outer->host && inner->host)
		return policy_host_covers(outer->host, inner->host);
	return outer->cidr && inner->cidr && cidr_covers(outer->cidr, inner->cidr, false);
}

/* Whether a rule of the ceiling grants, ports aside, all that the other rule would grant. */
static bool grants(const struct policy_rule *outer, const struct policy_rule *inner)
{
	return outer->host || inner->host ? covers(outer, inner)
					  : cidr_covers(outer->cidr, inner->cidr, true);
}

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

			if (has_port(&rule, port) && grants(&rule, asked))
				return true;
		}
	}
	return false;
}

/* Whether the asked policy denies all of a destination on a port. */
static bool denies_all(const struct policy *asked, const struct policy_rule *destination, uint16_t port)
{
	const struct policy_endpoints *list = &asked->network.deny;

	for (size_t row = 0; row < list->count; row++) {
		size_t count = policy_rule_count(&list->items[row]);

		for (size_t i = 0; i < count; i++) {
			struct policy_rule rule = denied_at(&list->items[row], i);

			if (denies_port(&rule, port) && covers(&rule, destination))
				return true;
		}
	}
	return false;
}

/* What of a denied destination the rule can reach: NULL, or the narrower of the two. Every name may have any address. */
static const struct policy_rule *meet(const struct policy_rule *rule, const struct policy_rule *denied)
{
	if (rule->host && denied->cidr)
		return denied;
	return covers(denied, rule) ? rule : covers(rule, denied) ? denied : NULL;
}

/* Whether no asked rule reaches the denied destination on a port that is denied there. */
static bool avoids(const struct policy *asked, const struct policy_rule *denied)
{
	const struct policy_endpoints *list = &asked->network.allow;

	for (size_t i = 0; asked->network.mode == POLICY_NETWORK_LEARN && i < LEARN_COUNT; i++) {
		if (denies_port(denied, learn_ports[i]) && !denies_all(asked, denied, learn_ports[i]))
			return false;
	}
	for (size_t row = 0; row < list->count; row++) {
		size_t count = policy_rule_count(&list->items[row]);

		for (size_t i = 0; i < count; i++) {
			struct policy_rule rule = policy_rule_at(&list->items[row], i);
			const struct policy_rule *met = meet(&rule, denied);

			for (size_t j = 0; met && j < rule.port_count; j++) {
				if (denies_port(denied, rule.ports[j]) &&
				    !denies_all(asked, met, rule.ports[j]))
					return false;
			}
		}
	}
	return true;
}

bool policy_network_avoids(const struct policy *asked, const struct policy_endpoint *denied)
{
	size_t count = policy_rule_count(denied);

	for (size_t i = 0; i < count; i++) {
		struct policy_rule rule = denied_at(denied, i);

		if (!avoids(asked, &rule))
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
