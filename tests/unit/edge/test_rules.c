/* edge/rules.c: what rules allow, which name has which address, which addresses are private. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "edge/rules.h"

static struct edge_config config;

static struct edge_rule *add(const char *host, const char *address, uint8_t prefix, bool denies,
			     uint16_t port)
{
	struct edge_rule *rule = &config.rules[config.rule_count++];

	memset(rule, 0, sizeof(*rule));
	if (host)
		strcpy(rule->host, host);
	else
		inet_pton(strchr(address, ':') ? AF_INET6 : AF_INET, address, rule->address);
	rule->is_v6 = !host && strchr(address, ':');
	rule->prefix = prefix;
	rule->denies = denies;
	rule->port_count = port ? 1 : 0;
	rule->ports[0] = port;
	return rule;
}

static void begin(struct rules *rules)
{
	memset(&config, 0, sizeof(config));
	add("pypi.org", NULL, 0, false, 443);
	add("*.example.org", NULL, 0, false, 443);
	add("*.example.org", NULL, 0, false, 22);
	add("bad.example.org", NULL, 0, true, 0);
	add("ssh.example.org", NULL, 0, true, 443);
	add(NULL, "10.1.0.0", 16, false, 5432);
	add(NULL, "10.1.2.0", 23, true, 0);
	add(NULL, "fd00::", 8, false, 80);
	cr_assert_eq(rules_init(rules, &config), 0);
}

Test(rules, rules, .timeout = 10)
{
	static const struct {
		const char *name;
		bool allowed;
		uint16_t port;
		bool with_port;
		enum edge_reason why;
	} rows[] = {
		{ "pypi.org", true, 443, true, 0 },
		{ "pypi.org", true, 80, false, EDGE_REASON_PORT },
		{ "www.pypi.org", false, 443, false, EDGE_REASON_PORT },
		{ "xpypi.org", false, 443, false, EDGE_REASON_PORT },
		{ "example.org", false, 443, false, EDGE_REASON_PORT },
		{ "a.example.org", true, 443, true, 0 },
		{ "a.b.example.org", true, 22, true, 0 },
		{ "a.notexample.org", false, 22, false, EDGE_REASON_PORT },
		{ "bad.example.org", false, 443, false, EDGE_REASON_DENIED },
		{ "ssh.example.org", true, 22, true, 0 },
		{ "ssh.example.org", true, 443, false, EDGE_REASON_DENIED },
		{ "", false, 443, false, EDGE_REASON_PORT },
	};
	struct rules rules;

	begin(&rules);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum edge_reason why = EDGE_REASON_COUNT;

		cr_expect_eq(rules_allow(&rules, rows[i].name), rows[i].allowed, "%s", rows[i].name);
		cr_expect_eq(rules_allow_port(&rules, rows[i].name, rows[i].port, &why), rows[i].with_port,
			     "%s:%u", rows[i].name, rows[i].port);
		cr_expect(rows[i].with_port || why == rows[i].why, "%s:%u: %d", rows[i].name, rows[i].port,
			  why);
	}
	rules_done(&rules);
}

Test(rules, blocks, .timeout = 10)
{
	static const struct {
		const char *address;
		uint16_t port;
		bool allowed;
	} rows[] = {
		{ "10.1.0.1", 5432, true },       { "10.1.0.1", 5433, false }, { "10.1.2.1", 5432, false },
		{ "10.1.3.255", 5432, false },    { "10.1.4.0", 5432, true },  { "10.2.0.1", 5432, false },
		{ "fd12::1", 80, true },          { "fe00::1", 80, false },    { "::1", 80, false },
		{ "::ffff:10.1.0.1", 80, false },
	};
	struct rules rules;

	begin(&rules);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const bool is_v6 = strchr(rows[i].address, ':');
		uint8_t address[16] = { 0 };

		cr_assert_eq(inet_pton(is_v6 ? AF_INET6 : AF_INET, rows[i].address, address), 1);
		cr_expect_eq(rules_allow_address(&rules, address, is_v6, rows[i].port), rows[i].allowed,
			     "%s:%u", rows[i].address, rows[i].port);
	}
	rules_done(&rules);
}

Test(rules, addresses_are_those_of_names, .timeout = 20)
{
	struct rules rules;
	char name[32];
	uint32_t last = 0;

	begin(&rules);
	cr_expect_eq(rules_address(&rules, "pypi.org"), EDGE_BLOCK + EDGE_FIRST);
	cr_expect_str_eq(rules_of(&rules, EDGE_BLOCK + EDGE_FIRST), "pypi.org");
	cr_expect_null(rules_of(&rules, EDGE_SELF));
	cr_expect_null(rules_of(&rules, EDGE_BLOCK));
	cr_expect_null(rules_of(&rules, 0));
	cr_expect_null(rules_of(&rules, EDGE_BLOCK + EDGE_FIRST + 1));
	for (int i = 1; i < EDGE_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "n%d.example.org", i);
		last = rules_address(&rules, name);
		cr_assert_eq(last, EDGE_BLOCK + EDGE_FIRST + (uint32_t)i);
	}
	cr_expect_eq(rules_address(&rules, name), last);
	cr_expect_eq(rules_address(&rules, "one.too.many.example.org"), 0);
	rules_done(&rules);
}

/* One fault each, in a message that is otherwise good. */
Test(rules, other_rules, .timeout = 10)
{
	static const struct {
		const char *fault;
		uint32_t magic, rule_count;
		uint16_t port_count;
		uint8_t prefix, is_v6, denies, last;
		size_t cut;
	} rows[] = {
		{ NULL, EDGE_MAGIC, 2, 1, 32, 0, 0, 0, 0 },
		{ NULL, EDGE_MAGIC, 2, 0, 128, 1, 1, 0, 0 },
		{ "a message that is not whole", 1, 2, 1, 8, 0, 0, 0, 0 },
		{ "a message that is not whole", EDGE_MAGIC, 3, 1, 8, 0, 0, 0, 0 },
		{ "a message that is not whole", EDGE_MAGIC, EDGE_RULES_MAX + 1, 1, 8, 0, 0, 0, 0 },
		{ "a message that is not whole", EDGE_MAGIC, 2, 1, 8, 0, 0, 0, 1 },
		{ "a message that is not whole", EDGE_MAGIC, 0, 1, 8, 0, 0, 0, 3 * sizeof(struct edge_rule) },
		{ "a rule that is not well formed", EDGE_MAGIC, 2, EDGE_PORTS_MAX + 1, 8, 0, 0, 0, 0 },
		{ "a rule that is not well formed", EDGE_MAGIC, 2, 0, 8, 0, 0, 0, 0 },
		{ "a rule that is not well formed", EDGE_MAGIC, 2, 1, 33, 0, 0, 0, 0 },
		{ "a rule that is not well formed", EDGE_MAGIC, 2, 1, 129, 1, 0, 0, 0 },
		{ "a rule that is not well formed", EDGE_MAGIC, 2, 1, 8, 2, 0, 0, 0 },
		{ "a rule that is not well formed", EDGE_MAGIC, 2, 1, 8, 0, 2, 0, 0 },
		{ "a rule that is not well formed", EDGE_MAGIC, 2, 1, 8, 0, 0, 'x', 0 },
	};
	static struct edge_config other;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		enum edge_reason why = 0;
		struct rules rules;
		const char *fault;
		uint32_t before;

		begin(&rules);
		before = rules_address(&rules, "a.example.org");
		memset(&other, 0, sizeof(other));
		other.magic = rows[i].magic;
		other.rule_count = rows[i].rule_count;
		strcpy(other.rules[0].host, "new.example.org");
		other.rules[0].port_count = 1;
		other.rules[0].ports[0] = 443;
		other.rules[1].prefix = rows[i].prefix;
		other.rules[1].is_v6 = rows[i].is_v6;
		other.rules[1].denies = rows[i].denies;
		other.rules[1].port_count = rows[i].port_count;
		if (rows[i].last)
			memset(other.rules[1].host, rows[i].last, sizeof(other.rules[1].host));
		fault = rules_replace(&rules, &other, edge_config_size(2) - rows[i].cut);
		cr_expect(fault ? rows[i].fault && strcmp(fault, rows[i].fault) == 0 : !rows[i].fault,
			  "row %zu: %s", i, fault);
		cr_expect_eq(rules_allow_port(&rules, "pypi.org", 443, &why), fault != NULL, "row %zu", i);
		cr_expect_eq(rules_allow_port(&rules, "new.example.org", 443, &why), true, "row %zu", i);
		cr_expect_eq(rules_address(&rules, "a.example.org"), before, "row %zu", i);
		rules_done(&rules);
	}
}
