#include "edge/rules.h"

#include <stdlib.h>
#include <string.h>

static bool host_covers(const char *pattern, const char *name)
{
	const size_t length = strlen(name);
	size_t suffix;

	if (pattern[0] != '*')
		return strcmp(pattern, name) == 0;
	suffix = strlen(pattern + 1); /* with the dot */
	return length > suffix && strcmp(name + length - suffix, pattern + 1) == 0;
}

static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned int bits)
{
	const unsigned int bytes = bits / 8;
	const unsigned int rest = bits % 8;
	const uint8_t mask = (uint8_t)(0xff00 >> rest);

	return memcmp(a, b, bytes) == 0 && (rest == 0 || ((a[bytes] ^ b[bytes]) & mask) == 0);
}

static bool rule_has_address(const struct edge_rule *rule, const uint8_t *address, bool is_v6)
{
	return !rule->host[0] && rule->is_v6 == is_v6 && same_prefix(rule->address, address, rule->prefix);
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

int rules_init(struct rules *rules, const struct edge_config *config)
{
	*rules = (struct rules){ .config = config };
	rules->items = calloc(EDGE_NAMES_MAX, sizeof(*rules->items));
	if (!rules->items)
		return -1;
	for (size_t i = 0; i < config->rule_count; i++) {
		const struct edge_rule *rule = &config->rules[i];

		if (!rule->denies && rule->host[0] && rule->host[0] != '*' &&
		    !rules_address(rules, rule->host))
			return -1;
	}
	return 0;
}

void rules_done(struct rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		free(rules->items[i]);
	free(rules->items);
	*rules = (struct rules){ 0 };
}

bool rules_allow(const struct rules *rules, const char *name)
{
	bool allowed = false;

	for (size_t i = 0; i < rules->config->rule_count; i++) {
		const struct edge_rule *rule = &rules->config->rules[i];

		if (!rule->host[0] || !host_covers(rule->host, name))
			continue;
		if (rule->denies && rule->port_count == 0)
			return false;
		allowed |= !rule->denies;
	}
	return allowed;
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

static bool has_address(const struct rules *rules, bool denies, const uint8_t *address, bool is_v6,
			uint16_t port)
{
	for (size_t i = 0; i < rules->config->rule_count; i++) {
		const struct edge_rule *rule = &rules->config->rules[i];

		if (rule->denies == denies && rule_has_address(rule, address, is_v6) &&
		    rule_has_port(rule, port))
			return true;
	}
	return false;
}

bool rules_deny_address(const struct rules *rules, const uint8_t *address, bool is_v6, uint16_t port)
{
	return has_address(rules, true, address, is_v6, port);
}

bool rules_allow_address(const struct rules *rules, const uint8_t *address, bool is_v6, uint16_t port)
{
	return has_address(rules, false, address, is_v6, port) &&
	       !rules_deny_address(rules, address, is_v6, port);
}

uint32_t rules_address(struct rules *rules, const char *name)
{
	size_t i;

	for (i = 0; i < rules->count; i++)
		if (strcmp(rules->items[i], name) == 0)
			return EDGE_BLOCK + EDGE_FIRST + (uint32_t)i;
	if (i == EDGE_NAMES_MAX)
		return 0;
	rules->items[i] = strdup(name);
	if (!rules->items[i])
		return 0;
	rules->count++;
	return EDGE_BLOCK + EDGE_FIRST + (uint32_t)i;
}

const char *rules_of(const struct rules *rules, uint32_t address)
{
	const uint32_t i = address - EDGE_BLOCK - EDGE_FIRST;

	return address >= EDGE_BLOCK + EDGE_FIRST && i < rules->count ? rules->items[i] : NULL;
}

bool rules_listened(const struct rules *rules, uint32_t address, uint16_t port)
{
	for (size_t i = 0; i < rules->config->listener_count; i++) {
		const struct edge_listener *row = &rules->config->listeners[i];

		if (row->port == port && (row->address == 0 || row->address == address))
			return true;
	}
	return false;
}
