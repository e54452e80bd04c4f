/* name: the names of sandboxes (host/front/name.c). */
#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"
#include "host/front/front.h"

Test(name, host_headers, .timeout = 20)
{
	static const struct {
		const char *host, *id;
		unsigned int port; /* 0: it is none */
	} rows[] = {
		{ "3000-iabc0.box.example:8443", "iabc0", 3000 },
		{ "1-i.BOX.example", "i", 1 },
		{ "65535-IABC.box.example", "iabc", 65535 },
		{ "65536-i.box.example", NULL, 0 },
		{ "0-i.box.example", NULL, 0 },
		{ "080-i.box.example", NULL, 0 },
		{ "3000-i.box.example:8444", NULL, 0 },
		{ "3000-i.box.example.", NULL, 0 },
		{ "3000-i.x.box.example", NULL, 0 },
		{ "3000-i.example", NULL, 0 },
		{ "3000-i-j.box.example", NULL, 0 },
		{ "3000-.box.example", NULL, 0 },
		{ "-i.box.example", NULL, 0 },
		{ "3000.box.example", NULL, 0 },
		{ "3000", NULL, 0 },
		{ "box.example", NULL, 0 },
		{ "", NULL, 0 },
		{ "3000-i0123456789012345678901234567890.box.example", NULL, 0 },
		{ "3000-i.box.example box.example:8443", NULL, 0 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		unsigned int port = 0;
		char id[LINK_SANDBOX_MAX] = "";
		const bool found = name_parse("box.example:8443 box.example", rows[i].host, &port, id);

		cr_expect_eq(found, rows[i].port != 0, "%s", rows[i].host);
		cr_expect_eq(port, rows[i].port, "%s: %u", rows[i].host, port);
		cr_expect_str_eq(id, rows[i].id ? rows[i].id : "", "%s", rows[i].host);
	}
}

Test(name, nothing_without_a_domain, .timeout = 20)
{
	unsigned int port;
	char id[LINK_SANDBOX_MAX];

	cr_expect_not(name_parse("", "3000-i.", &port, id));
	cr_expect_not(name_parse("", "3000-i", &port, id));
}
