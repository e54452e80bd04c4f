#include "base/array.h"
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <string.h>

#include "policy/values.h"

Test(address, host_names, .timeout = 20)
{
	static const struct {
		const char *host, *says; /* NULL: fine */
	} rows[] = {
		{ "pypi.org", NULL },
		{ "localhost", NULL },
		{ "*.example.org", NULL },
		{ "a-b.c_d.example", NULL },
		{ "1and1.com", NULL },
		{ "xn--bcher-kva.example", NULL },
		{ "", "not a valid host name" },
		{ "*", "network.mode \"host\"" },
		{ "*.", "not a valid host name" },
		{ "*.*.org", "not a valid host name" },
		{ "a.*.org", "not a valid host name" },
		{ "foo*.org", "not a valid host name" },
		{ "pypi.org.", "not a valid host name" },
		{ ".pypi.org", "not a valid host name" },
		{ "a..b", "not a valid host name" },
		{ "-a.org", "not a valid host name" },
		{ "a-.org", "not a valid host name" },
		{ "PyPI.org", "not a valid host name" }, /* setting lowers it before */
		{ "a b.org", "not a valid host name" },
		{ "pypi.org:443", "not a valid host name" },
		{ "https://pypi.org", "not a valid host name" },
		{ "b\xc3\xbc"
		  "cher.example",
		  "not a valid host name" },
		{ "10.1.2.3", "an address" },
		{ "127.1", "an address" },
		{ "2130706433", "an address" },
		{ "example.1", "an address" },
		{ "fd00::1", "not a valid host name" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *fault = policy_host_fault(rows[i].host);

		if (rows[i].says)
			cr_expect(fault && strstr(fault, rows[i].says), "row %s says %s", rows[i].host,
				  fault ? fault : "nothing");
		else
			cr_expect_null(fault, "row %s", rows[i].host);
	}
}

Test(address, long_host_names, .timeout = 20)
{
	char host[300];

	memset(host, 'a', sizeof(host));
	host[64] = '\0';
	cr_expect_not_null(policy_host_fault(host), "a label of 64");
	host[63] = '\0';
	cr_expect_null(policy_host_fault(host), "a label of 63");
	memset(host, 'a', sizeof(host));
	for (size_t i = 50; i < sizeof(host); i += 50)
		host[i] = '.';
	host[254] = '\0';
	cr_expect_not_null(policy_host_fault(host), "a name of 254");
	host[253] = '\0';
	cr_expect_null(policy_host_fault(host), "a name of 253");
}

Test(address, patterns_cover_names_below, .timeout = 20)
{
	static const struct {
		const char *pattern, *name;
		bool covers;
	} rows[] = {
		{ "pypi.org", "pypi.org", true },
		{ "pypi.org", "www.pypi.org", false },
		{ "pypi.org", "*.pypi.org", false },
		{ "*.example.org", "a.example.org", true },
		{ "*.example.org", "a.b.example.org", true },
		{ "*.example.org", "example.org", false },
		{ "*.example.org", ".example.org", false },
		{ "*.example.org", "badexample.org", false },
		{ "*.example.org", "a.example.org.evil.com", false },
		{ "*.example.org", "*.example.org", true },
		{ "*.example.org", "*.sub.example.org", true },
		{ "*.sub.example.org", "*.example.org", false },
		{ "a.example.org", "*.example.org", false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect(policy_host_covers(rows[i].pattern, rows[i].name) == rows[i].covers, "row %s %s",
			  rows[i].pattern, rows[i].name);
}

Test(address, blocks, .timeout = 20)
{
	static const struct {
		const char *text, *canonical, *says;
	} rows[] = {
		{ "10.1.0.0/16", "10.1.0.0/16", NULL },
		{ "0.0.0.0/0", "0.0.0.0/0", NULL },
		{ "10.1.2.3/32", "10.1.2.3/32", NULL },
		{ "128.0.0.0/1", "128.0.0.0/1", NULL },
		{ "fd00::/8", "fd00::/8", NULL },
		{ "::/0", "::/0", NULL },
		{ "2001:DB8:0:0::/32", "2001:db8::/32", NULL },
		{ "::1/128", "::1/128", NULL },
		{ "10.1.0.0", NULL, "not an address block" },
		{ "10.1.0.0/", NULL, "not an address block" },
		{ "10.1.0.0/33", NULL, "not an address block" },
		{ "10.1.0.0/016", NULL, "not an address block" },
		{ "10.1.0.0/-1", NULL, "not an address block" },
		{ "10.1.0.0/16 ", NULL, "not an address block" },
		{ "10.1/16", NULL, "not an address block" },
		{ "010.1.0.0/16", NULL, "not an address block" },
		{ "0x0a.1.0.0/16", NULL, "not an address block" },
		{ "256.1.0.0/16", NULL, "not an address block" },
		{ "fd00::/129", NULL, "not an address block" },
		{ "fe80::1%eth0/128", NULL, "not an address block" },
		{ "/8", NULL, "not an address block" },
		{ "", NULL, "not an address block" },
		{ "10.1.2.3/16", NULL, "write \"10.1.0.0/16\"" },
		{ "10.0.0.1/0", NULL, "write \"0.0.0.0/0\"" },
		{ "fd00::1/8", NULL, "write \"fd00::/8\"" },
		{ "10.1.2.3/31", NULL, "write \"10.1.2.2/31\"" },
		{ "::ffff:10.0.0.0/104", NULL, "write it as IPv4" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct policy_cidr cidr;
		struct warder_error err = { 0 };
		char buf[64];
		int status = policy_parse_cidr(rows[i].text, &cidr, &err);

		if (rows[i].says) {
			cr_expect(status == -1 && strstr(err.text, rows[i].says), "row %s: %s", rows[i].text,
				  err.text);
			continue;
		}
		cr_expect(status == 0, "row %s: %s", rows[i].text, err.text);
		cr_expect_str_eq(policy_format_cidr(&cidr, buf, sizeof(buf)), rows[i].canonical);
	}
}

Test(address, blocks_contain_blocks, .timeout = 20)
{
	static const struct {
		const char *outer, *inner;
		bool contains;
	} rows[] = {
		{ "10.0.0.0/8", "10.1.0.0/16", true },
		{ "10.0.0.0/8", "10.0.0.0/8", true },
		{ "10.1.0.0/16", "10.0.0.0/8", false },
		{ "10.0.0.0/8", "11.0.0.0/16", false },
		{ "10.0.0.0/9", "10.128.0.0/16", false },
		{ "10.0.0.0/9", "10.127.0.0/16", true },
		{ "10.1.2.2/31", "10.1.2.3/32", true },
		{ "10.1.2.2/31", "10.1.2.4/32", false },
		{ "0.0.0.0/0", "255.255.255.255/32", true },
		{ "fd00::/8", "fd12:3456::/32", true },
		{ "fd00::/8", "fe80::/10", false },
		{ "::/0", "10.0.0.0/8", false },
		{ "0.0.0.0/0", "::/0", false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct policy_cidr outer, inner;
		struct warder_error err;

		cr_expect(policy_parse_cidr(rows[i].outer, &outer, &err) == 0);
		cr_expect(policy_parse_cidr(rows[i].inner, &inner, &err) == 0);
		cr_expect(policy_cidr_contains(&outer, &inner) == rows[i].contains, "row %s %s",
			  rows[i].outer, rows[i].inner);
	}
}
