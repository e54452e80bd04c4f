#include "edge/rules.h"

#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"

#define SLOTS (2 * EDGE_NAMES_MAX)

static bool host_covers(const char *pattern, const char *name)
{
	const size_t length = strlen(name);
	size_t suffix;

	if (pattern[0] != '*')
		return strcmp(pattern, name) == 0;
	if (!pattern[1])
		return policy_host_is_name(name);
	suffix = strlen(pattern + 1); /* with the dot */
	return length > suffix && strcmp(name + length - suffix, pattern + 1) == 0;
}

static struct policy_cidr block_of(const uint8_t *address, bool is_v6, unsigned prefix)
{
	struct policy_cidr block = { .is_v6 = is_v6, .prefix = prefix };

	memcpy(block.address, address, is_v6 ? 16 : 4);
	return block;
}

static struct policy_cidr rule_block(const struct edge_rule *rule)
{
	return block_of(rule->address, rule->is_v6, rule->prefix);
}

static struct policy_cidr whole(const uint8_t *address, bool is_v6)
{
	return block_of(address, is_v6, is_v6 ? 128 : 32);
}

static bool rule_has_address(const struct edge_rule *rule, const struct policy_cidr *address)
{
	const struct policy_cidr block = rule_block(rule);

	return !rule->host[0] && policy_cidr_contains(&block, address);
}

static bool rule_has_port(const struct edge_rule *rule, uint16_t port)
{
	if (rule->port_count == 0)
		return true;
	for (size_t i = 0; i < rule->port_count; i++)
		if (rule->ports[i] == port)
			return true;
	return false;
}

/* -1: without memory, or room for a name. */
static int add_names(struct rules *rules, const struct edge_config *config)
{
	for (size_t i = 0; i < config->rule_count; i++) {
		const struct edge_rule *rule = &config->rules[i];

		if (!rule->denies && rule->host[0] && rule->host[0] != '*' &&
		    !rules_address(rules, rule->host))
			return -1;
	}
	return 0;
}

int rules_init(struct rules *rules, const struct edge_config *config)
{
	*rules = (struct rules){ .config = config, .listeners = config };
	rules->items = calloc(EDGE_NAMES_MAX, sizeof(*rules->items));
	rules->slots = calloc(SLOTS, sizeof(*rules->slots));
	return rules->items && rules->slots ? add_names(rules, config) : -1;
}

static bool rule_is_sound(const struct edge_rule *rule)
{
	return memchr(rule->host, '\0', sizeof(rule->host)) && rule->port_count <= EDGE_PORTS_MAX &&
	       rule->is_v6 <= 1 && rule->denies <= 1 && rule->prefix <= (rule->is_v6 ? 128 : 32) &&
	       (rule->port_count || rule->denies);
}

const char *rules_replace(struct rules *rules, const struct edge_config *config, size_t size)
{
	if (size < edge_config_size(0) || config->magic != EDGE_MAGIC ||
	    config->rule_count > EDGE_RULES_MAX || size < edge_config_size(config->rule_count))
		return "a message that is not whole";
	for (size_t i = 0; i < config->rule_count; i++)
		if (!rule_is_sound(&config->rules[i]))
			return "a rule that is not well formed";
	if (add_names(rules, config) < 0)
		return "more names than a jail can have";
	rules->config = config;
	return NULL;
}

void rules_done(struct rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		free(rules->items[i]);
	free(rules->items);
	free(rules->slots);
	*rules = (struct rules){ 0 };
}

bool rules_allow(const struct rules *rules, const char *name)
{
	for (size_t i = 0; i < rules->config->rule_count; i++) {
		const struct edge_rule *rule = &rules->config->rules[i];
		enum edge_reason ignored;

		if (rule->denies || !rule->host[0] || !host_covers(rule->host, name))
			continue;
		for (size_t j = 0; j < rule->port_count; j++)
			if (rules_allow_port(rules, name, rule->ports[j], &ignored))
				return true;
	}
	return false;
}

bool rules_allow_port(const struct rules *rules, const char *name, uint16_t port, enum edge_reason *ret_why)
{
	bool allowed = false;

	*ret_why = EDGE_REASON_PORT;
	for (size_t i = 0; i < rules->config->rule_count; i++) {
		const struct edge_rule *rule = &rules->config->rules[i];

		if (!rule->host[0] || !host_covers(rule->host, name) || !rule_has_port(rule, port))
			continue;
		if (rule->denies) {
			*ret_why = EDGE_REASON_DENIED;
			return false;
		}
		allowed = true;
	}
	return allowed;
}

/* The host's own address, or one of a network of its interfaces, which the rule does not name. */
static bool is_own(const struct rules *rules, const struct policy_cidr *address, const struct edge_rule *rule)
{
	const struct policy_cidr block = rule ? rule_block(rule) : *address;
	bool found = false;

	for (size_t i = 0; i < rules->own_count; i++) {
		const struct policy_cidr own = rule_block(&rules->own[i]);

		if (rule && policy_cidr_contains(&own, &block))
			return false;
		found |= policy_cidr_contains(&own, address);
	}
	return found;
}

/* Whether a block may stand for an address in it. */
static bool names_address(const struct rules *rules, const struct edge_rule *rule,
			  const struct policy_cidr *address)
{
	const struct policy_cidr block = rule_block(rule);

	return policy_special_address(address) ? policy_special_within(&block, address)
					       : !is_own(rules, address, rule);
}

bool rules_deny_address(const struct rules *rules, const uint8_t *address, bool is_v6, uint16_t port)
{
	const struct policy_cidr at = whole(address, is_v6);

	for (size_t i = 0; i < rules->config->rule_count; i++) {
		const struct edge_rule *rule = &rules->config->rules[i];

		if (rule->denies && rule_has_address(rule, &at) && rule_has_port(rule, port))
			return true;
	}
	return false;
}

bool rules_allow_address(const struct rules *rules, const uint8_t *address, bool is_v6, uint16_t port)
{
	const struct policy_cidr at = whole(address, is_v6);

	if (rules_deny_address(rules, address, is_v6, port))
		return false;
	for (size_t i = 0; i < rules->config->rule_count; i++) {
		const struct edge_rule *rule = &rules->config->rules[i];

		if (!rule->denies && rule_has_address(rule, &at) && rule_has_port(rule, port) &&
		    names_address(rules, rule, &at))
			return true;
	}
	return false;
}

bool rules_need_block(const struct rules *rules, const uint8_t *address, bool is_v6)
{
	const struct policy_cidr at = whole(address, is_v6);

	return policy_special_address(&at) || is_own(rules, &at, NULL);
}

bool rules_lead_to(const struct rules *rules, const uint8_t *address, bool is_v6, uint16_t port)
{
	if (rules_deny_address(rules, address, is_v6, port))
		return false;
	return rules_allow_address(rules, address, is_v6, port) || !rules_need_block(rules, address, is_v6);
}

/* The slot of the name, or the free one that it would have. */
static uint16_t *slot_of(const struct rules *rules, const char *name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (const char *c = name; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	for (;; hash++) {
		uint16_t *slot = &rules->slots[hash % SLOTS];

		if (!*slot || strcmp(rules->items[*slot - 1], name) == 0)
			return slot;
	}
}

uint32_t rules_address(struct rules *rules, const char *name)
{
	uint16_t *slot = slot_of(rules, name);

	if (!*slot) {
		if (rules->count == EDGE_NAMES_MAX)
			return 0;
		rules->items[rules->count] = strdup(name);
		if (!rules->items[rules->count])
			return 0;
		*slot = (uint16_t)++rules->count;
	}
	return EDGE_BLOCK + EDGE_FIRST + *slot - 1;
}

const char *rules_of(const struct rules *rules, uint32_t address)
{
	const uint32_t i = address - EDGE_BLOCK - EDGE_FIRST;

	return address >= EDGE_BLOCK + EDGE_FIRST && i < rules->count ? rules->items[i] : NULL;
}

bool rules_listened(const struct rules *rules, uint32_t address, uint16_t port)
{
	for (size_t i = 0; i < rules->listeners->listener_count; i++) {
		const struct edge_listener *row = &rules->listeners->listeners[i];

		if (row->port == port && (row->address == 0 || row->address == address))
			return true;
	}
	return false;
}

bool rules_listened_v6(const struct rules *rules, uint16_t port)
{
	for (size_t i = 0; i < rules->listeners->listener_count; i++)
		if (rules->listeners->listeners[i].is_v6 && rules->listeners->listeners[i].port == port)
			return true;
	return false;
}
