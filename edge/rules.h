/*
 * rules: decide by the rules of an edge. Pure; one thread.
 *
 * A rule with a name applies to connections that the program makes by that name. A block applies to connections by address, and to the
 * addresses of a name. A rule that denies wins over all that allow.
 *
 * A special address (private, loopback, metadata, ...) is reached only by a block that lies within its special range, and an address of
 * the host or of a network of its interfaces, if it is not special, only by a block that lies within that network: 0.0.0.0/0 stands for
 * all other addresses.
 */
#ifndef WARDER_EDGE_RULES_H
#define WARDER_EDGE_RULES_H

#include <stddef.h>

#include "edge/edge.h"

struct rules {
	const struct edge_config *config;
	const struct edge_config *listeners; /* those of the first one stay */
	const struct edge_rule *own;         /* blocks of the host's interfaces; the caller sets them */
	size_t own_count;
	/* Name i has the address EDGE_BLOCK + EDGE_FIRST + i. First the hosts of rules that allow one, in their order; then names below a
	 * "*." rule, as they are asked for. Heap. */
	char **items;
	size_t count;
	uint16_t *slots; /* heap: a hash table of indexes + 1 */
};

/* 0; -1 without memory. */
int rules_init(struct rules *rules, const struct edge_config *config);
void rules_done(struct rules *rules);
/* Replace the rules by those of `config`, which has `size` readable bytes and must outlive the rules. Names keep their addresses. Returns NULL,
 * or the reason why the old rules stay. */
const char *rules_replace(struct rules *rules, const struct edge_config *config, size_t size);
/* Whether the name is allowed with any port. `name` is in lower case. */
bool rules_allow(const struct rules *rules, const char *name);
/* The same with a port. True, or false with *ret_why. */
bool rules_allow_port(const struct rules *rules, const char *name, uint16_t port, enum edge_reason *ret_why);
/* Whether the program may connect by the address (4 or 16 bytes) to the port. */
bool rules_allow_address(const struct rules *rules, const uint8_t *address, bool is_v6, uint16_t port);
/* Whether a rule that denies has the address with the port. */
bool rules_deny_address(const struct rules *rules, const uint8_t *address, bool is_v6, uint16_t port);
/* Whether only a block allows the address: it is special, or of a network of the host. */
bool rules_need_block(const struct rules *rules, const uint8_t *address, bool is_v6);
/* Whether a name that is allowed may lead to the address with the port. */
bool rules_lead_to(const struct rules *rules, const uint8_t *address, bool is_v6, uint16_t port);
/* The address of a name that is allowed, in the host's byte order; it gets one if it has none. 0: all EDGE_NAMES_MAX are taken. */
uint32_t rules_address(struct rules *rules, const char *name);
/* The name that has the address, or NULL. */
const char *rules_of(const struct rules *rules, uint32_t address);
/* Whether a listener of the configuration takes connections to the address and port. */
bool rules_listened(const struct rules *rules, uint32_t address, uint16_t port);
/* The same for every IPv6 address. */
bool rules_listened_v6(const struct rules *rules, uint16_t port);

#endif
