/* link: what the launcher and the front accept of each other. */
#include "base/array.h"
#include "host/link.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct link_request good = { .magic = LINK_MAGIC, .size = sizeof(good), .call = LINK_LIST };

Test(link, a_good_request, .timeout = 20)
{
	struct link_request request = good;

	cr_expect(link_request_valid(&request, sizeof(request)));
	request.key_kind = LINK_KEY_TENANT;
	link_digest("e2b_0", request.key);
	snprintf(request.sandbox, sizeof(request.sandbox), "i0123456789abcdefghi");
	request.bytes = LINK_BYTES_MAX;
	cr_expect(link_request_valid(&request, sizeof(request)));
}

Test(link, requests_that_are_refused, .timeout = 20)
{
	struct link_request rows[] = { good, good, good, good, good, good, good, good, good, good, good };

	rows[0].magic++;
	rows[1].size--;
	rows[2].call = 0;
	rows[3].call = LINK_CALLS;
	rows[4].key_kind = LINK_KEYS;
	rows[5].key_kind = LINK_KEY_TENANT; /* without a digest */
	link_digest("x", rows[6].key);      /* of nothing */
	memset(rows[7].key, 'a', sizeof(rows[7].key));
	rows[7].key_kind = LINK_KEY_TENANT;
	memset(rows[8].sandbox, 'a', sizeof(rows[8].sandbox));
	snprintf(rows[9].sandbox, sizeof(rows[9].sandbox), "../etc");
	rows[10].bytes = LINK_BYTES_MAX + 1;
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_not(link_request_valid(&rows[i], sizeof(rows[i])), "row %zu", i);
	cr_expect_not(link_request_valid(&good, sizeof(good) - 1));
}

Test(link, answers, .timeout = 20)
{
	const struct link_answer fine = { .magic = LINK_MAGIC, .size = sizeof(fine), .status = 200 };
	struct link_answer answer = fine;

	cr_expect(link_answer_valid(&answer, sizeof(answer)));
	answer.status = 99;
	cr_expect_not(link_answer_valid(&answer, sizeof(answer)));
	answer = fine;
	answer.has_fd = 2;
	cr_expect_not(link_answer_valid(&answer, sizeof(answer)));
	answer = fine;
	memset(answer.error.text, 'x', sizeof(answer.error.text));
	cr_expect_not(link_answer_valid(&answer, sizeof(answer)));
}

Test(link, digests_are_those_of_sha256, .timeout = 20)
{
	char digest[SHA256_HEX];

	link_digest("abc", digest);
	cr_expect_str_eq(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

Test(link, every_kind_of_error_has_a_status, .timeout = 20)
{
	for (uint32_t code = WARDER_ERROR_UNSUPPORTED_POLICY; code <= WARDER_ERROR_INTERNAL; code++)
		cr_expect(link_status(code) >= 400 && link_status(code) < 600, "kind %u", code);
	cr_expect_eq(link_status(WARDER_ERROR_NONE), 500);
	cr_expect_eq(link_status(1000), 500);
}
