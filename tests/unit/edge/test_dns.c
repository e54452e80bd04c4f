/* edge/dns.c: answers out of the table alone. */
#include <criterion/criterion.h>
#include <string.h>

#include "edge/dns.h"

static struct edge_config config;
static struct rules rules;

static void begin(void)
{
	memset(&config, 0, sizeof(config));
	strcpy(config.rules[0].host, "pypi.org");
	strcpy(config.rules[1].host, "*.example.org");
	config.rules[0].port_count = config.rules[1].port_count = 1;
	config.rules[0].ports[0] = config.rules[1].ports[0] = 443;
	config.rule_count = 2;
	cr_assert_eq(rules_init(&rules, &config), 0);
}

static size_t question(const char *name, uint16_t type, uint8_t *ret)
{
	static const uint8_t header[12] = { 0xab, 0xcd, 1, 0, 0, 1 };
	size_t n = sizeof(header);

	memcpy(ret, header, sizeof(header));
	while (*name) {
		const size_t label = strcspn(name, ".");

		ret[n++] = (uint8_t)label;
		memcpy(ret + n, name, label);
		n += label;
		name += label + (name[label] == '.');
	}
	ret[n++] = 0;
	ret[n++] = (uint8_t)(type >> 8);
	ret[n++] = (uint8_t)type;
	ret[n++] = 0;
	ret[n++] = 1;
	return n;
}

Test(dns, answers, .timeout = 10)
{
	static const struct {
		const char *name;
		uint16_t type;
		uint8_t code, records;
		const char *refused;
	} rows[] = {
		{ "pypi.org", 1, 0, 1, "" },
		{ "PyPI.oRg", 1, 0, 1, "" },
		{ "pypi.org", 28, 0, 0, "" },
		{ "pypi.org", 255, 0, 1, "" },
		{ "pypi.org", 16, 0, 0, "" },
		{ "a.b.example.org", 1, 0, 1, "" },
		{ "example.org", 1, 3, 0, "example.org" },
		{ "evil.org", 1, 3, 0, "evil.org" },
		{ "c2VjcmV0.evil.org", 16, 3, 0, "c2vjcmv0.evil.org" },
		{ "_https._tcp.pypi.org", 33, 3, 0, "" },
		{ "_https._tcp.evil.org", 33, 3, 0, "_https._tcp.evil.org" },
		{ "_x.c2VjcmV0.pypi.org", 33, 3, 0, "_x.c2vjcmv0.pypi.org" },
	};
	uint8_t query[512];
	uint8_t answer[DNS_ANSWER_MAX];
	char refused[256];

	begin();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const size_t len = question(rows[i].name, rows[i].type, query);
		const size_t n = dns_answer(&rules, query, len, answer, refused);

		cr_assert_eq(n, len + 16u * rows[i].records, "%s %u", rows[i].name, rows[i].type);
		cr_expect_arr_eq(answer, query, 2);
		cr_expect_eq(answer[2], 0x85);
		cr_expect_eq(answer[3], 0x80 | rows[i].code, "%s %u: %x", rows[i].name, rows[i].type,
			     answer[3]);
		cr_expect_eq(answer[7], rows[i].records);
		cr_expect_str_eq(refused, rows[i].refused);
		if (rows[i].records)
			cr_expect_arr_eq(answer + n - 4, "\xc6\x12", 2);
	}
	rules_done(&rules);
}

Test(dns, not_well_formed, .timeout = 10)
{
	uint8_t query[600] = { 0 };
	uint8_t answer[DNS_ANSWER_MAX];
	char refused[256];
	size_t len;

	begin();
	len = question("pypi.org", 1, query);
	/* Cut anywhere: an error, or no answer; never a record. */
	for (size_t i = 0; i < len; i++) {
		const size_t n = dns_answer(&rules, query, i, answer, refused);

		cr_expect(i < 12 ? n == 0 : n == 12 && (answer[3] & 15) == 1, "%zu bytes: %zu", i, n);
	}
	query[2] |= 0x80;
	cr_expect_eq(dns_answer(&rules, query, len, answer, refused), 0, "an answer gets none");
	query[2] = 0x28;
	cr_expect_eq(dns_answer(&rules, query, len, answer, refused), 12);
	cr_expect_eq(answer[3] & 15, 4, "an update");
	query[2] = 1;
	query[5] = 2;
	cr_expect_eq(dns_answer(&rules, query, len, answer, refused), 12, "two questions");
	query[5] = 1;
	query[12] = 0xc0;
	cr_expect_eq(dns_answer(&rules, query, len, answer, refused), 12, "a pointer");
	cr_expect_eq(dns_answer(&rules, query, sizeof(query), answer, refused), 0, "too long");
	rules_done(&rules);
}
