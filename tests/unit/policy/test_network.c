#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edge/rules.h"
#include "jail/edge.h"
#include "policy/policy.h"
#include "policy/values.h"

/* "network.mode=allow;network.allow=a.org" on top of the preset strict. */
static void build(const char *fields, struct policy *ret)
{
	char text[1024];
	char *rest = text;
	struct warder_error err;

	snprintf(text, sizeof(text), "%s", fields);
	cr_assert(policy_preset("strict", ret, &err) == 0);
	for (char *field = strsep(&rest, ";"); field && *field; field = strsep(&rest, ";")) {
		char *value = strchr(field, '=');

		*value++ = '\0';
		cr_assert(policy_set(ret, field, value, &err) == 0, "%s", err.text);
	}
	cr_assert(policy_validate_document(ret, &err) == 0, "%s: %s", fields, err.text);
}

/* What the edge of a jail with the policy decides by. */
struct decider {
	struct edge_config *config;
	struct rules rules;
};

static void decider_init(struct decider *ret, const struct policy *policy)
{
	ret->config = edge_config_new(policy);
	cr_assert_not_null(ret->config);
	cr_assert_eq(rules_init(&ret->rules, ret->config), 0);
}

static void decider_done(struct decider *decider)
{
	rules_done(&decider->rules);
	free(decider->config);
}

static bool allows_address(const struct decider *decider, const struct policy_cidr *address, uint16_t port)
{
	return rules_allow_address(&decider->rules, address->address, address->is_v6, port);
}

static bool leads_to(const struct decider *decider, const struct policy_cidr *address, uint16_t port)
{
	return rules_lead_to(&decider->rules, address->address, address->is_v6, port);
}

static struct policy_cidr address_of(const char *text)
{
	struct policy_cidr address;
	struct warder_error err;
	char block[64];

	snprintf(block, sizeof(block), "%s/%d", text, strchr(text, ':') ? 128 : 32);
	/* A mapped address has no text that the parser takes: that is one of the rows below. */
	if (strncmp(text, "::ffff:", 7) == 0) {
		cr_assert(policy_parse_cidr("::/128", &address, &err) == 0);
		address.address[10] = address.address[11] = 0xff;
		address.address[12] = 8;
		return address;
	}
	cr_assert(policy_parse_cidr(block, &address, &err) == 0, "%s", err.text);
	return address;
}

#define ALLOWED EDGE_REASON_COUNT

Test(network, match_by_name, .timeout = 20)
{
	static const struct {
		const char *fields, *name;
		unsigned port;
		enum edge_reason why;
	} rows[] = {
		{ "network.allow=a.org:443", "a.org", 443, ALLOWED },
		{ "network.allow=a.org:443", "a.org", 80, EDGE_REASON_PORT },
		{ "network.allow=a.org:443", "x.a.org", 443, EDGE_REASON_PORT },
		{ "network.allow=a.org", "a.org", 80, ALLOWED },
		{ "network.allow=a.org", "a.org", 22, EDGE_REASON_PORT },
		{ "network.allow=*.a.org", "a.org", 443, EDGE_REASON_PORT },
		{ "network.allow=*.a.org", "y.x.a.org", 443, ALLOWED },
		{ "network.allow=@pypi", "pypi.org", 443, ALLOWED },
		{ "network.allow=@pypi", "files.pythonhosted.org", 443, ALLOWED },
		{ "network.allow=@pypi", "pypi.org", 80, EDGE_REASON_PORT },
		{ "network.allow=@debian", "deb.debian.org", 80, ALLOWED },
		{ "network.allow=@github", "github.com", 22, ALLOWED },
		{ "network.allow=*.org;network.allow=*.a.org;network.allow=b.org", "x.a.org", 80, ALLOWED },
		{ "network.allow=a.org:443;network.allow=*.org:443", "a.org", 443, ALLOWED },
		{ "network.allow=*.org:443;network.allow=a.org:443", "a.org", 443, ALLOWED },
		{ "network.allow=*.org:80;network.allow=a.org:443", "a.org", 80, ALLOWED },
		{ "network.allow=*.org;network.deny=a.org", "a.org", 443, EDGE_REASON_DENIED },
		{ "network.allow=*.org;network.deny=a.org", "b.org", 443, ALLOWED },
		{ "network.allow=*.org;network.deny=x.a.org;network.deny=a.org:80", "a.org", 80,
		  EDGE_REASON_DENIED },
		{ "network.allow=*.org;network.deny=a.org:80", "a.org", 443, ALLOWED },
		{ "network.allow=*.com:8443,443;network.deny=@github", "github.com", 8443,
		  EDGE_REASON_DENIED },
		{ "network.allow=10.0.0.0/8:443", "10.0.0.1", 443, EDGE_REASON_PORT },
		{ "network.mode=learn", "a.org", 443, ALLOWED },
		{ "network.mode=learn", "a.org", 8443, EDGE_REASON_PORT },
		{ "network.mode=learn", "127.1", 443, EDGE_REASON_PORT },
		{ "network.mode=learn", "*.a.org", 443, EDGE_REASON_PORT },
		{ "network.mode=learn", "@github", 443, EDGE_REASON_PORT },
		{ "network.mode=learn;network.deny=*.a.org", "x.a.org", 22, EDGE_REASON_DENIED },
		{ "network.mode=learn;network.allow=a.org:8443", "a.org", 8443, ALLOWED },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned_policy struct policy policy = { 0 };
		struct decider decider;
		char fields[256];
		enum edge_reason why;

		snprintf(fields, sizeof(fields), "%s%s",
			 strncmp(rows[i].fields, "network.mode", 12) == 0 ? "" : "network.mode=allow;",
			 rows[i].fields);
		build(fields, &policy);
		decider_init(&decider, &policy);
		if (rules_allow_port(&decider.rules, rows[i].name, (uint16_t)rows[i].port, &why))
			why = ALLOWED;
		cr_expect_eq(why, rows[i].why, "%s: %s:%u: %d", fields, rows[i].name, rows[i].port, why);
		decider_done(&decider);
	}
}

Test(network, which_names_have_an_answer, .timeout = 20)
{
	owned_policy struct policy policy = { 0 }, learn = { 0 };
	struct decider decider;

	build("network.mode=allow;network.allow=*.a.org:1,2;network.allow=@npm;network.deny=x.a.org;"
	      "network.deny=y.a.org:1;network.deny=w.a.org:1,2",
	      &policy);
	decider_init(&decider, &policy);
	cr_expect(rules_allow(&decider.rules, "z.a.org"));
	cr_expect(rules_allow(&decider.rules, "y.a.org"), "one of its ports is left");
	cr_expect(!rules_allow(&decider.rules, "x.a.org"), "every port is denied");
	cr_expect(!rules_allow(&decider.rules, "w.a.org"), "each port is denied");
	cr_expect(!rules_allow(&decider.rules, "a.org"));
	cr_expect(rules_allow(&decider.rules, "registry.npmjs.org"));
	cr_expect(!rules_allow(&decider.rules, "@npm"));
	cr_expect(!rules_allow(&decider.rules, ""));
	decider_done(&decider);
	build("network.mode=learn;network.deny=x.org;network.deny=y.org:22,80,443", &learn);
	decider_init(&decider, &learn);
	cr_expect(rules_allow(&decider.rules, "a.org"));
	cr_expect(!rules_allow(&decider.rules, "x.org") && !rules_allow(&decider.rules, "y.org"));
	decider_done(&decider);
}

Test(network, by_address, .timeout = 20)
{
	static const struct {
		const char *fields, *address;
		unsigned port;
		bool by_address, by_name;
	} rows[] = {
		{ "network.allow=10.0.0.0/8:22", "10.1.2.3", 22, true, true },
		{ "network.allow=10.0.0.0/8:22", "10.1.2.3", 23, false, false },
		{ "network.allow=10.0.0.0/7:22", "10.1.2.3", 22, false, false },
		{ "network.allow=10.0.0.0/7:22", "11.1.2.3", 22, true, true },
		{ "network.allow=0.0.0.0/0:22", "8.8.8.8", 22, true, true },
		{ "network.allow=0.0.0.0/0:22", "10.1.2.3", 22, false, false },
		{ "network.allow=0.0.0.0/0:22", "127.0.0.1", 22, false, false },
		{ "network.allow=0.0.0.0/0:22", "224.0.0.1", 22, false, false },
		{ "network.allow=127.0.0.0/8:22", "127.0.0.1", 22, true, true },
		{ "network.allow=126.0.0.0/7:22", "127.0.0.1", 22, false, false },
		{ "network.allow=0.0.0.0/0:22;network.allow=10.1.0.0/16:22", "10.1.2.3", 22, true, true },
		{ "network.allow=0.0.0.0/0:22;network.allow=10.1.0.0/16:22", "10.2.2.3", 22, false, false },
		{ "network.allow=169.254.0.0/16:80", "169.254.1.1", 80, true, true },
		{ "network.allow=169.254.0.0/16:80", "169.254.169.254", 80, false, false },
		{ "network.allow=169.254.169.254/32:80", "169.254.169.254", 80, true, true },
		{ "network.allow=0.0.0.0/0:22;network.deny=8.0.0.0/8", "8.1.2.3", 22, false, false },
		{ "network.allow=0.0.0.0/0:22", "fd00::1", 22, false, false },
		{ "network.allow=[::/0]:22", "fd00::1", 22, false, false },
		{ "network.allow=[::/0]:22", "4000::1", 22, false, false },
		{ "network.allow=[::/0]:22", "2a00::1", 22, true, true },
		{ "network.allow=[4000::/3]:22", "4000::1", 22, true, true },
		{ "network.allow=[fd00::/8]:22", "fd00::1", 22, true, true },
		{ "network.allow=a.org:443", "8.8.8.8", 443, false, true },
		{ "network.allow=a.org:443", "10.1.2.3", 443, false, false },
		{ "network.allow=a.org;network.allow=10.1.0.0/16:443;network.deny=10.1.2.0/24", "10.1.2.3",
		  443, false, false },
		{ "network.allow=a.org;network.deny=8.8.0.0/16:443", "8.8.8.8", 443, false, false },
		{ "network.allow=a.org;network.deny=8.8.0.0/16:80", "8.8.8.8", 443, false, true },
		/* 9.9.9.0/24 is a network of the host's, which has 10.9.0.5/16 as well. */
		{ "network.allow=a.org", "9.9.9.1", 443, false, false },
		{ "network.allow=0.0.0.0/0:22", "9.9.9.1", 22, false, false },
		{ "network.allow=9.9.0.0/16:22", "9.9.9.1", 22, false, false },
		{ "network.allow=9.9.0.0/16:22", "9.9.8.1", 22, true, true },
		{ "network.allow=9.9.9.0/24:22", "9.9.9.1", 22, true, true },
		{ "network.allow=9.9.9.1/32:22", "9.9.9.1", 22, true, true },
		{ "network.allow=10.0.0.0/8:22", "10.9.0.5", 22, true, true },
		{ "network.mode=learn", "8.8.8.8", 443, true, true },
		{ "network.mode=learn", "8.8.8.8", 53, false, true },
		{ "network.mode=learn", "10.0.0.1", 443, false, false },
		{ "network.mode=learn", "169.254.169.254", 80, false, false },
		{ "network.mode=learn;network.allow=10.0.0.0/8:443", "10.0.0.1", 443, true, true },
	};
	static const struct edge_rule own[] = {
		{ .address = { 9, 9, 9, 7 }, .prefix = 24 },
		{ .address = { 10, 9, 0, 5 }, .prefix = 16 },
		{ .address = { 9, 9, 9, 1 }, .prefix = 32 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned_policy struct policy policy = { 0 };
		struct policy_cidr address = address_of(rows[i].address);
		struct decider decider;
		char fields[256];

		snprintf(fields, sizeof(fields), "%s%s",
			 strncmp(rows[i].fields, "network.mode", 12) == 0 ? "" : "network.mode=allow;",
			 rows[i].fields);
		build(fields, &policy);
		decider_init(&decider, &policy);
		decider.rules.own = own;
		decider.rules.own_count = sizeof(own) / sizeof(own[0]);
		cr_expect_eq(allows_address(&decider, &address, (uint16_t)rows[i].port), rows[i].by_address,
			     "%s: %s:%u", fields, rows[i].address, rows[i].port);
		cr_expect_eq(leads_to(&decider, &address, (uint16_t)rows[i].port), rows[i].by_name,
			     "%s: a name at %s:%u", fields, rows[i].address, rows[i].port);
		decider_done(&decider);
	}
}

/* As many rules as are valid have an edge: one socket for each port then, if there is none for each name and port. */
Test(network, every_valid_policy_fits, .timeout = 60)
{
	static const struct {
		unsigned names;
		const char *ports;
		size_t listeners;
		bool everywhere;
	} rows[] = {
		{ 512, "443", 512, false },
		{ 513, "443", 1, true },
		{ 256, "443,80", 512, false },
		{ 257, "443,80", 2, true },
		{ POLICY_MAX_RULES, "443,80,22", 3, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned_policy struct policy policy = { 0 };
		struct warder_error err;
		struct decider decider;
		char value[64];
		bool everywhere = true, named = true;

		cr_assert(policy_preset("strict", &policy, &err) == 0);
		cr_assert(policy_set(&policy, "network.mode", "allow", &err) == 0);
		for (unsigned j = 0; j < rows[i].names; j++) {
			snprintf(value, sizeof(value), "n%u.org:%s", j, rows[i].ports);
			cr_assert(policy_set(&policy, "network.allow", value, &err) == 0, "%s", err.text);
		}
		for (unsigned j = 0; rows[i].names == POLICY_MAX_RULES && j + 1 < POLICY_MAX_RULES; j++) {
			snprintf(value, sizeof(value), "d%u.org", j);
			cr_assert(policy_set(&policy, "network.deny", value, &err) == 0, "%s", err.text);
		}
		cr_assert(policy_validate(&policy, &err) == 0, "%s", err.text);
		decider_init(&decider, &policy);
		cr_expect_eq(decider.config->listener_count, rows[i].listeners, "%u names: %u", rows[i].names,
			     decider.config->listener_count);
		for (size_t j = 0; j < decider.config->listener_count; j++) {
			everywhere &= decider.config->listeners[j].address == 0;
			named &= decider.config->listeners[j].address != 0;
		}
		cr_expect(rows[i].everywhere ? everywhere : named, "%u names", rows[i].names);
		snprintf(value, sizeof(value), "n%u.org", rows[i].names - 1);
		cr_expect_eq(rules_address(&decider.rules, value),
			     EDGE_BLOCK + EDGE_FIRST + rows[i].names - 1);
		cr_expect(rules_allow(&decider.rules, value) && !rules_allow(&decider.rules, "d1.org"));
		decider_done(&decider);
		if (rows[i].names < POLICY_MAX_RULES)
			continue;
		cr_assert(policy_set(&policy, "network.deny", "@github", &err) == 0);
		cr_expect(policy_validate(&policy, &err) == -1 &&
			      strstr(err.text, "more than 4096 names and blocks up to this row"),
			  "%s", err.text);
	}
}

/* All rows together; a port of two rows counts once. */
Test(network, at_most_64_different_ports, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct warder_error err;
	char row[512] = "a.org:1";
	struct decider decider;

	for (size_t i = 2, n = strlen(row); i <= 64; i++)
		n += (size_t)snprintf(row + n, sizeof(row) - n, ",%zu", i);
	cr_assert(policy_preset("strict", &policy, &err) == 0);
	cr_assert(policy_set(&policy, "network.mode", "allow", &err) == 0);
	cr_assert(policy_set(&policy, "network.allow", row, &err) == 0, "%s", err.text);
	cr_assert(policy_set(&policy, "network.allow", "10.0.0.0/8:64", &err) == 0);
	cr_expect(policy_validate(&policy, &err) == 0, "%s", err.text);
	decider_init(&decider, &policy);
	cr_expect_eq(decider.config->listener_count, 64);
	decider_done(&decider);
	cr_assert(policy_set(&policy, "network.deny", "b.org:65", &err) == 0);
	cr_expect(policy_validate(&policy, &err) == 0, "a row that denies has no listener: %s", err.text);
	cr_assert(policy_set(&policy, "network.allow", "b.org:65", &err) == 0);
	cr_expect(policy_validate(&policy, &err) == -1 && strcmp(err.field, "network.allow[2]") == 0 &&
		      strstr(err.text, "more than 64 different ports up to this row"),
		  "%s: %s", err.field, err.text);
	cr_expect(policy_set(&policy, "network.allow", strcat(row, ",65"), &err) == -1 &&
		      strstr(err.text, "at most 64 numbers"),
		  "%s", err.text);
}

/* One socket for each port of blocks, which takes IPv6 if a block of it has the port; names do not need one then. */
Test(network, listeners_for_blocks_of_ipv6, .timeout = 20)
{
	static const struct {
		const char *fields;
		size_t listeners, v6;
		const char *ports_v6; /* that take IPv6 */
	} rows[] = {
		{ "network.mode=allow;network.allow=[2606:4700::/32]:80,443", 2, 2, "80 443" },
		{ "network.mode=allow;network.allow=[2606:4700::/32]:80;network.allow=8.8.0.0/16:80,53", 2, 1,
		  "80" },
		{ "network.mode=allow;network.allow=8.8.0.0/16:80,53;network.allow=[2606:4700::/32]:80", 2, 1,
		  "80" },
		{ "network.mode=allow;network.allow=a.org:80,22;network.allow=[2606:4700::/32]:80", 2, 1,
		  "80" },
		{ "network.mode=allow;network.allow=*.a.org:80;network.allow=[2606:4700::/32]:80", 1, 1,
		  "80" },
		{ "network.mode=allow;network.allow=8.8.0.0/16:80;network.deny=[2606:4700::/32]", 1, 0, "" },
		{ "network.mode=learn", 3, 0, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned_policy struct policy policy = { 0 };
		struct edge_listener listeners[EDGE_LISTENERS_MAX];
		struct decider decider;
		char port[8];
		size_t v6 = 0;

		build(rows[i].fields, &policy);
		cr_expect_eq(edge_listeners(&policy, true, listeners, &v6), rows[i].listeners, "%s",
			     rows[i].fields);
		cr_expect_eq(v6, rows[i].v6, "%s: %zu", rows[i].fields, v6);
		decider_init(&decider, &policy);
		for (size_t j = 0; j < rows[i].listeners; j++) {
			snprintf(port, sizeof(port), "%u", listeners[j].port);
			cr_expect_eq(listeners[j].is_v6, strstr(rows[i].ports_v6, port) != NULL, "%s: %s",
				     rows[i].fields, port);
			cr_expect_eq(rules_listened_v6(&decider.rules, listeners[j].port),
				     listeners[j].is_v6 == 1, "%s: %s", rows[i].fields, port);
		}
		decider_done(&decider);
	}
}

/* The first and the last address of each block of the registries, and those beside them. */
Test(network, special_addresses, .timeout = 20)
{
	static const struct {
		const char *address, *kind;
	} rows[] = {
		{ "0.0.0.0", "unspecified" },
		{ "0.255.255.255", "unspecified" },
		{ "1.0.0.0", NULL },
		{ "9.255.255.255", NULL },
		{ "10.0.0.0", "private" },
		{ "10.255.255.255", "private" },
		{ "11.0.0.0", NULL },
		{ "100.63.255.255", NULL },
		{ "100.64.0.0", "shared" },
		{ "100.100.100.200", "metadata" },
		{ "100.127.255.255", "shared" },
		{ "100.128.0.0", NULL },
		{ "126.255.255.255", NULL },
		{ "127.0.0.1", "loopback" },
		{ "127.255.255.255", "loopback" },
		{ "128.0.0.0", NULL },
		{ "168.63.129.15", NULL },
		{ "168.63.129.16", "metadata" },
		{ "169.253.255.255", NULL },
		{ "169.254.0.0", "linkLocal" },
		{ "169.254.169.254", "metadata" },
		{ "169.254.170.2", "metadata" },
		{ "169.254.255.255", "linkLocal" },
		{ "169.255.0.0", NULL },
		{ "172.15.255.255", NULL },
		{ "172.16.0.0", "private" },
		{ "172.31.255.255", "private" },
		{ "172.32.0.0", NULL },
		{ "191.255.255.255", NULL },
		{ "192.0.0.0", "reserved" },
		{ "192.0.0.192", "metadata" },
		{ "192.0.0.255", "reserved" },
		{ "192.0.1.0", NULL },
		{ "192.0.2.1", "documentation" },
		{ "192.0.3.0", NULL },
		{ "192.31.196.1", NULL }, /* AS112, globally reachable */
		{ "192.88.98.255", NULL },
		{ "192.88.99.1", "reserved" },
		{ "192.88.100.0", NULL },
		{ "192.167.255.255", NULL },
		{ "192.168.0.0", "private" },
		{ "192.168.255.255", "private" },
		{ "192.169.0.0", NULL },
		{ "198.17.255.255", NULL },
		{ "198.18.0.0", "benchmarking" },
		{ "198.19.255.255", "benchmarking" },
		{ "198.20.0.0", NULL },
		{ "198.51.99.255", NULL },
		{ "198.51.100.0", "documentation" },
		{ "198.51.101.0", NULL },
		{ "203.0.112.255", NULL },
		{ "203.0.113.255", "documentation" },
		{ "203.0.114.0", NULL },
		{ "223.255.255.255", NULL },
		{ "224.0.0.0", "multicast" },
		{ "239.255.255.255", "multicast" },
		{ "240.0.0.0", "reserved" },
		{ "255.255.255.254", "reserved" },
		{ "255.255.255.255", "broadcast" },
		{ "::", "unspecified" },
		{ "::1", "loopback" },
		{ "::2", "mapped" },
		{ "::ffff:8.0.0.0", "mapped" },
		{ "64:ff9b::808:808", "mapped" },
		{ "64:ff9b:1::1", "mapped" },
		{ "64:ff9b:2::1", "reserved" },
		{ "100::1", "reserved" },
		{ "100:0:0:1::1", "reserved" },
		{ "2001::1", "mapped" },
		{ "2001:2::1", "benchmarking" },
		{ "2001:10::1", "reserved" },
		{ "2001:1ff:ffff::1", "reserved" },
		{ "2001:200::1", NULL },
		{ "2001:db7:ffff::1", NULL },
		{ "2001:db8::1", "documentation" },
		{ "2001:db9::1", NULL },
		{ "2002:a00:1::1", "mapped" },
		{ "2003::1", NULL },
		{ "2620:4f:8000::1", NULL }, /* AS112, globally reachable */
		{ "2a00:1450::1", NULL },
		{ "3ffe:ffff::1", NULL },
		{ "3fff::1", "documentation" },
		{ "3fff:fff:ffff::1", "documentation" },
		{ "3fff:1000::1", NULL },
		{ "4000::1", "reserved" },
		{ "5f00::1", "reserved" },
		{ "fbff::1", "reserved" },
		{ "fc00::1", "private" },
		{ "fd00:ec2::254", "metadata" },
		{ "fd20:ce::254", "metadata" },
		{ "fdff:ffff::1", "private" },
		{ "fe00::1", "reserved" },
		{ "fe80::1", "linkLocal" },
		{ "febf::1", "linkLocal" },
		{ "fec0::1", "private" },
		{ "ff02::1", "multicast" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_cidr address = address_of(rows[i].address);
		const char *kind = policy_special_address(&address);

		cr_expect(kind && rows[i].kind ? strcmp(kind, rows[i].kind) == 0 : kind == rows[i].kind,
			  "%s: %s", rows[i].address, kind ? kind : "public");
	}
}

/* ---- generated policies ---- */

static const char *const names[] = { "a.org", "b.a.org", "c.b.a.org", "d.org", "x.net", "github.com" };
static const char *const patterns[] = { "a.org",   "b.a.org",   "c.b.a.org", "d.org",   "*.org",
					"*.a.org", "*.b.a.org", "*.net",     "@github", "*.com" };
static const char *const blocks[] = { "0.0.0.0/0",   "8.0.0.0/7",      "8.8.8.0/24",
				      "8.8.8.8/32",  "10.0.0.0/8",     "10.1.0.0/16",
				      "10.1.2.3/32", "169.254.0.0/16", "169.254.169.254/32" };
static const char *const addresses[] = { "8.8.8.8",     "8.8.8.9",     "9.9.9.9",
					 "10.1.2.3",    "10.1.9.9",    "10.9.9.9",
					 "192.168.1.1", "169.254.1.1", "169.254.169.254" };
static const uint16_t ports[] = { 22, 80, 443, 999 };

#define SIZE(array) (sizeof(array) / sizeof((array)[0]))

static unsigned next(uint64_t *seed, size_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((*seed >> 33) % below);
}

static void add_row(struct policy *policy, const char *path, uint64_t *seed)
{
	char value[64];
	struct warder_error err;
	bool is_block = next(seed, 3) == 0;
	const char *where =
	    is_block ? blocks[next(seed, SIZE(blocks))] : patterns[next(seed, SIZE(patterns))];
	bool has_ports = where[0] != '@' && (strcmp(path, "network.allow") == 0 || next(seed, 2));

	snprintf(value, sizeof(value), has_ports ? "%s:%u" : "%s", where, ports[next(seed, SIZE(ports))]);
	if (has_ports && next(seed, 2))
		snprintf(value, sizeof(value), "%s:22,80,443", where);
	cr_assert(policy_set(policy, path, value, &err) == 0, "%s", err.text);
}

static void generate(struct policy *ret, uint64_t *seed, unsigned rows)
{
	struct warder_error err;

	cr_assert(policy_preset("strict", ret, &err) == 0);
	cr_assert(policy_set(ret, "network.mode", next(seed, 5) ? "allow" : "learn", &err) == 0);
	for (unsigned i = 1 + next(seed, rows); i > 0; i--)
		add_row(ret, "network.allow", seed);
	for (unsigned i = next(seed, 3); i > 0; i--)
		add_row(ret, "network.deny", seed);
	cr_assert(policy_validate(ret, &err) == 0, "%s", err.text);
}

static bool allows_name(const struct decider *decider, const char *name, uint16_t port)
{
	enum edge_reason ignored;

	return rules_allow_port(&decider->rules, name, port, &ignored);
}

static bool reaches_no_more_on(const struct decider *ceiling, const struct decider *request, uint16_t port)
{
	bool by_name = false;

	for (size_t n = 0; n < SIZE(names); n++) {
		if (!allows_name(request, names[n], port))
			continue;
		by_name = true;
		if (!allows_name(ceiling, names[n], port))
			return false;
	}
	for (size_t a = 0; a < SIZE(addresses); a++) {
		struct policy_cidr address = address_of(addresses[a]);

		if (by_name && leads_to(request, &address, port) && !leads_to(ceiling, &address, port))
			return false;
		if (allows_address(request, &address, port) && !allows_address(ceiling, &address, port))
			return false;
	}
	return true;
}

/* Whether all that the edge lets the request reach in a small world, it lets the ceiling reach. */
static bool reaches_no_more(const struct policy *ceiling, const struct policy *request)
{
	struct decider outer, inner;
	bool ret = true;

	decider_init(&outer, ceiling);
	decider_init(&inner, request);
	for (size_t p = 0; ret && p < SIZE(ports); p++)
		ret = reaches_no_more_on(&outer, &inner, ports[p]);
	decider_done(&outer);
	decider_done(&inner);
	return ret;
}

Test(network, what_a_narrowed_policy_reaches_the_ceiling_reaches, .timeout = 60)
{
	uint64_t seed = 15;
	size_t within = 0, beyond = 0, refused = 0;

	for (unsigned i = 0; i < 20000; i++) {
		owned_policy struct policy ceiling = { 0 }, request = { 0 };
		struct warder_error err;
		bool is_within;

		generate(&ceiling, &seed, 6);
		generate(&request, &seed, 2);
		for (size_t row = 0; next(&seed, 2) && row < ceiling.network.deny.count; row++)
			policy_endpoint_add(&request.network.deny, &ceiling.network.deny.items[row], &err);
		is_within = policy_check_ceiling(&ceiling, &request, &err) == 0;
		within += is_within;
		if (reaches_no_more(&ceiling, &request)) {
			refused += !is_within;
			continue;
		}
		beyond++;
		cr_expect(!is_within, "policies %u", i);
		if (is_within)
			break;
	}
	cr_expect(within > 500 && beyond > 5000,
		  "%zu within, %zu beyond, %zu refused for more than this world", within, beyond, refused);
}

Test(network, special_addresses_as_a_connection_has_them, .timeout = 10)
{
	static const struct {
		const char *address;
		bool is_private;
	} rows[] = {
		{ "0.0.0.0", true },
		{ "10.255.255.255", true },
		{ "11.0.0.0", false },
		{ "100.63.255.255", false },
		{ "100.64.0.0", true },
		{ "100.100.100.200", true },
		{ "100.128.0.0", false },
		{ "127.0.0.1", true },
		{ "168.63.129.16", true },
		{ "169.254.169.254", true },
		{ "172.15.255.255", false },
		{ "172.16.0.0", true },
		{ "172.31.255.255", true },
		{ "172.32.0.0", false },
		{ "192.0.0.192", true },
		{ "192.168.1.1", true },
		{ "198.18.0.1", true },
		{ "198.19.255.255", true },
		{ "198.20.0.0", false },
		{ "203.0.113.10", true },
		{ "223.255.255.255", false },
		{ "224.0.0.1", true },
		{ "255.255.255.255", true },
		{ "8.8.8.8", false },
		{ "::", true },
		{ "::1", true },
		{ "::ffff:8.8.8.8", true },
		{ "64:ff9b::7f00:1", true },
		{ "2001::1", true },
		{ "2001:4860:4860::8888", false },
		{ "2002:7f00:1::", true },
		{ "fd00:ec2::254", true },
		{ "fe80::1", true },
		{ "fec0::1", true },
		{ "ff02::1", true },
		{ "2606:4700::1111", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const bool is_v6 = strchr(rows[i].address, ':');
		struct policy_cidr address = { .is_v6 = is_v6, .prefix = is_v6 ? 128 : 32 };

		cr_assert_eq(inet_pton(is_v6 ? AF_INET6 : AF_INET, rows[i].address, address.address), 1);
		cr_expect_eq(policy_special_address(&address) != NULL, rows[i].is_private, "%s",
			     rows[i].address);
	}
}
