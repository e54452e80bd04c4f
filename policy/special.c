/*
 * special: addresses that no name may lead to unless network.allow lists their block. The edge of a jail links this file, too.
 *
 * The rows are those of the IANA special-purpose address registries for IPv4 and IPv6 (RFC 6890, RFC 8190 and the
 * documents that each row names) that are not globally reachable, the multicast ranges (RFC 5771, RFC 4291), what
 * carries an IPv4 address inside an IPv6 one and would be a second spelling of it, and addresses at which clouds
 * serve their instances' secrets. More specific rows come first: the first that holds an address names it.
 *
 * Not here are blocks of the registry that are globally reachable: AS112 (192.31.196.0/24, 192.175.48.0/24,
 * 2620:4f:8000::/48) and AMT (192.52.193.0/24).
 */
#include <string.h>

#include "policy/values.h"

#define V4(a, b, c, d, prefix)                                                                               \
	{                                                                                                    \
		false, { a, b, c, d }, prefix                                                                \
	}
#define V6(prefix, ...)                                                                                      \
	{                                                                                                    \
		true, { __VA_ARGS__ }, prefix                                                                \
	}

static const struct {
	struct policy_cidr block;
	const char *kind;
} rows[] = {
	{ V4(169, 254, 169, 254, 32), "metadata" },   /* most clouds */
	{ V4(169, 254, 170, 2, 32), "metadata" },     /* Amazon, containers */
	{ V4(169, 254, 170, 23, 32), "metadata" },    /* Amazon, pods */
	{ V4(100, 100, 100, 200, 32), "metadata" },   /* Alibaba */
	{ V4(168, 63, 129, 16, 32), "metadata" },     /* Azure; a public address otherwise */
	{ V4(192, 0, 0, 192, 32), "metadata" },       /* Oracle */
	{ V4(0, 0, 0, 0, 8), "unspecified" },         /* "this network", RFC 791 */
	{ V4(10, 0, 0, 0, 8), "private" },            /* RFC 1918 */
	{ V4(100, 64, 0, 0, 10), "shared" },          /* of a provider's NAT, RFC 6598 */
	{ V4(127, 0, 0, 0, 8), "loopback" },          /* RFC 1122 */
	{ V4(169, 254, 0, 0, 16), "linkLocal" },      /* RFC 3927 */
	{ V4(172, 16, 0, 0, 12), "private" },         /* RFC 1918 */
	{ V4(192, 0, 0, 0, 24), "reserved" },         /* protocol assignments, RFC 6890 */
	{ V4(192, 0, 2, 0, 24), "documentation" },    /* TEST-NET-1, RFC 5737 */
	{ V4(192, 88, 99, 0, 24), "reserved" },       /* 6to4 relays, RFC 7526 */
	{ V4(192, 168, 0, 0, 16), "private" },        /* RFC 1918 */
	{ V4(198, 18, 0, 0, 15), "benchmarking" },    /* RFC 2544; the jail's own block of names */
	{ V4(198, 51, 100, 0, 24), "documentation" }, /* TEST-NET-2, RFC 5737 */
	{ V4(203, 0, 113, 0, 24), "documentation" },  /* TEST-NET-3, RFC 5737 */
	{ V4(224, 0, 0, 0, 4), "multicast" },         /* RFC 5771 */
	{ V4(255, 255, 255, 255, 32), "broadcast" },  /* RFC 919 */
	{ V4(240, 0, 0, 0, 4), "reserved" },          /* RFC 1112 */
	{ V6(128, 0xfd, 0, 0x0e, 0xc2, [14] = 0x02, 0x54), "metadata" }, /* Amazon, fd00:ec2::254 */
	{ V6(128, 0xfd, 0x20, 0, 0xce, [14] = 0x02, 0x54), "metadata" }, /* Google, fd20:ce::254 */
	{ V6(128, 0), "unspecified" },                                   /* RFC 4291 */
	{ V6(128, [15] = 1), "loopback" },                               /* RFC 4291 */
	{ V6(96, [10] = 0xff, 0xff), "mapped" },                         /* ::ffff:0:0/96, RFC 4291 */
	{ V6(96, 0), "mapped" },                                         /* IPv4-compatible, RFC 4291 */
	{ V6(96, 0, 0x64, 0xff, 0x9b), "mapped" },                       /* NAT64, RFC 6052 */
	{ V6(48, 0, 0x64, 0xff, 0x9b, 0, 1), "mapped" },                 /* local NAT64, RFC 8215 */
	{ V6(64, 1), "reserved" },                                       /* discard, RFC 6666 */
	{ V6(64, 1, [7] = 1), "reserved" },                              /* dummy prefix, RFC 9780 */
	{ V6(32, 0x20, 1, 0, 0), "mapped" },                             /* Teredo, RFC 4380 */
	{ V6(48, 0x20, 1, 0, 2), "benchmarking" },                       /* RFC 5180 */
	{ V6(23, 0x20, 1), "reserved" },                                 /* protocol assignments, RFC 2928 */
	{ V6(32, 0x20, 1, 0x0d, 0xb8), "documentation" },                /* RFC 3849 */
	{ V6(16, 0x20, 2), "mapped" },                                   /* 6to4, RFC 3056 */
	{ V6(20, 0x3f, 0xff), "documentation" },                         /* RFC 9637 */
	{ V6(16, 0x5f, 0), "reserved" },                                 /* segment routing, RFC 9602 */
	{ V6(7, 0xfc), "private" },                                      /* unique local, RFC 4193 */
	{ V6(10, 0xfe, 0x80), "linkLocal" },                             /* RFC 4291 */
	{ V6(10, 0xfe, 0xc0), "private" },                               /* site-local, RFC 3879 */
	{ V6(8, 0xff), "multicast" },                                    /* RFC 4291 */
};

/* What is not in here has not been given to anybody to use. */
static const struct policy_cidr global_unicast = V6(3, 0x20);

/* Whether the two addresses agree in their first `bits`. */
static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned bytes = bits / 8, rest = bits % 8;
	uint8_t mask = (uint8_t)(0xff00 >> rest);

	if (memcmp(a, b, bytes) != 0)
		return false;
	return rest == 0 || ((a[bytes] ^ b[bytes]) & mask) == 0;
}

bool policy_cidr_contains(const struct policy_cidr *outer, const struct policy_cidr *inner)
{
	return outer->is_v6 == inner->is_v6 && outer->prefix <= inner->prefix &&
	       same_prefix(outer->address, inner->address, outer->prefix);
}

/* The first row that holds all of the block; ROWS: outside of what is global; NONE: it holds a public address. */
#define ROWS (sizeof(rows) / sizeof(rows[0]))
#define NONE SIZE_MAX
static size_t row_of(const struct policy_cidr *block)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (policy_cidr_contains(&rows[i].block, block))
			return i;
	}
	return block->is_v6 && !policy_cidr_contains(&global_unicast, block) &&
		       !policy_cidr_contains(block, &global_unicast)
		   ? ROWS
		   : NONE;
}

const char *policy_special_address(const struct policy_cidr *address)
{
	size_t row = row_of(address);

	return row == NONE ? NULL : row == ROWS ? "reserved" : rows[row].kind;
}

bool policy_special_within(const struct policy_cidr *block, const struct policy_cidr *inner)
{
	size_t row = row_of(inner);

	return row == NONE || row == row_of(block);
}
