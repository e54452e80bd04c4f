/* address: which sandbox a call is for (host/wire/address.c). */
#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"
#include "host/wire/address.h"

Test(address, rows, .timeout = 20)
{
	static const struct {
		const char *id, *port, *host, *domain;
		enum address_found found;
		const char *wanted_id;
		unsigned wanted_port;
	} rows[] = {
		{ NULL, NULL, NULL, NULL, ADDRESS_CONTROL, NULL, 0 },
		{ NULL, NULL, "127.0.0.1:3000", "e2b.test", ADDRESS_CONTROL, NULL, 0 },
		{ "abc123", "49999", "127.0.0.1:3000", NULL, ADDRESS_SANDBOX, "abc123", 49999 },
		{ "ABC", NULL, NULL, NULL, ADDRESS_SANDBOX, "abc", 49983 },
		{ NULL, NULL, "49983-abc.e2b.test", "e2b.test", ADDRESS_SANDBOX, "abc", 49983 },
		{ NULL, NULL, "49983-ABC.E2B.test:14443", "e2b.test", ADDRESS_SANDBOX, "abc", 49983 },
		{ NULL, NULL, "49983-abc.e2b.test:14443", "e2b.test:14443", ADDRESS_SANDBOX, "abc", 49983 },
		{ NULL, NULL, "49983-abc.e2b.test", NULL, ADDRESS_CONTROL, NULL, 0 },
		{ NULL, NULL, "49983-abc.e2b.test.evil", "e2b.test", ADDRESS_CONTROL, NULL, 0 },
		{ NULL, NULL, "49983-abc.e2b.testevil", "e2b.test", ADDRESS_CONTROL, NULL, 0 },
		{ NULL, NULL, "api.e2b.test", "e2b.test", ADDRESS_CONTROL, NULL, 0 },
		{ NULL, NULL, "99999-abc.e2b.test", "e2b.test", ADDRESS_CONTROL, NULL, 0 },
		{ NULL, NULL, "49983-.e2b.test", "e2b.test", ADDRESS_CONTROL, NULL, 0 },
		{ "abc", "49983", "49983-abc.e2b.test", "e2b.test", ADDRESS_SANDBOX, "abc", 49983 },
		{ "abc", "49983", "49983-abd.e2b.test", "e2b.test", ADDRESS_BAD, NULL, 0 },
		{ "abc", "49999", "49983-abc.e2b.test", "e2b.test", ADDRESS_BAD, NULL, 0 },
		{ NULL, "49983", NULL, NULL, ADDRESS_BAD, NULL, 0 },
		{ "", NULL, NULL, NULL, ADDRESS_BAD, NULL, 0 },
		{ "../x", NULL, NULL, NULL, ADDRESS_BAD, NULL, 0 },
		{ "-a", NULL, NULL, NULL, ADDRESS_BAD, NULL, 0 },
		{ "a", "0", NULL, NULL, ADDRESS_BAD, NULL, 0 },
		{ "a", "65536", NULL, NULL, ADDRESS_BAD, NULL, 0 },
		{ "a", "80 ", NULL, NULL, ADDRESS_BAD, NULL, 0 },
		{ "a123456789a123456789a123456789a123456789a123456789a123456789abcde", NULL, NULL, NULL,
		  ADDRESS_BAD, NULL, 0 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct address_headers headers = { rows[i].id, rows[i].port, rows[i].host };
		struct address address = { 0 };
		struct warder_error err = { 0 };

		cr_expect_eq(address_find(&headers, rows[i].domain, &address, &err), rows[i].found, "row %zu",
			     i);
		cr_expect(rows[i].found != ADDRESS_BAD || err.text[0], "row %zu", i);
		if (rows[i].wanted_id) {
			cr_expect_str_eq(address.id, rows[i].wanted_id, "row %zu", i);
			cr_expect_eq(address.port, rows[i].wanted_port, "row %zu", i);
		}
	}
}
