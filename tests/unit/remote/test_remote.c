/* remote: addresses of hosts, and the answer of warder-remote. */
#include "remote/remote.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"

Test(remote, urls, .timeout = 20)
{
	static const struct {
		const char *url;
		bool insecure, good;
	} rows[] = {
		{ "http://127.0.0.1:3000", false, true },
		{ "http://127.0.0.1:3000/", false, true },
		{ "http://127.9.9.9", false, true },
		{ "http://[::1]:3000", false, true },
		{ "https://sandbox.example.org", false, true },
		{ "https://sandbox.example.org:8443/", false, true },
		{ "https://[2001:db8::1]:8443", false, true },
		{ "http://192.0.2.1:3000", true, true },
		{ "http://sandbox.example.org", true, true },
		{ "http://192.0.2.1:3000", false, false },
		{ "http://localhost:3000", false, false },
		{ "http://127.0.0.1.example.org", false, false },
		{ "http://127.1", false, false },
		{ "http://[::ffff:127.0.0.1]", false, false },
		{ "https://sandbox.example.org", true, false },
		{ "https://user:secret@sandbox.example.org", false, false },
		{ "https://user@sandbox.example.org", false, false },
		{ "https://sandbox.example.org/v1", false, false },
		{ "https://sandbox.example.org?x", false, false },
		{ "https://sandbox.example.org#x", false, false },
		{ "https://sandbox.example.org:0", false, false },
		{ "https://sandbox.example.org:65536", false, false },
		{ "https://sandbox.example.org:", false, false },
		{ "https://sandbox.example.org:1x", false, false },
		{ "https://sand box", false, false },
		{ "https://a%2f", false, false },
		{ "https://-a", false, false },
		{ "https://", false, false },
		{ "https://[::1", false, false },
		{ "https://[x]", false, false },
		{ "ftp://127.0.0.1", false, false },
		{ "HTTP://127.0.0.1", false, false },
		{ "127.0.0.1", false, false },
		{ "", false, false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };
		const bool good = remote_check_url(rows[i].url, rows[i].insecure, &err) == 0;

		cr_expect_eq(good, rows[i].good, "%s: %s", rows[i].url, err.text);
		cr_expect_null(strstr(err.text, "secret"), "%s", err.text);
	}
}

Test(remote, answers, .timeout = 20)
{
	const struct remote_answer good = {
		.magic = REMOTE_MAGIC, .size = sizeof(good), .status = 200, .bytes = 5
	};
	struct remote_answer wrong[8];

	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
		wrong[i] = good;
	wrong[0].magic++;
	wrong[1].size--;
	wrong[2].status = 99;
	wrong[3].bytes = (uint64_t)REMOTE_RESULT_MAX + 1;
	wrong[4].status = 0; /* no answer, and yet a body */
	wrong[5].sent = 2;
	memset(wrong[6].error.text, 'x', sizeof(wrong[6].error.text));
	wrong[7].own = 2;
	cr_expect(remote_answer_valid(&good, sizeof(good)));
	cr_expect_not(remote_answer_valid(&good, sizeof(good) - 1));
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
		cr_expect_not(remote_answer_valid(&wrong[i], sizeof(wrong[i])), "row %zu", i);
}

Test(remote, only_a_refusal_of_the_host_itself_says_that_nothing_was_done, .timeout = 20)
{
	static const struct row {
		const char *body;
		uint32_t status, retry_s;
		bool is_own, did_nothing;
	} rows[] = {
		{ "{\"code\": 503, \"message\": \"busy\", \"kind\": \"unavailable\"}", 503, 1, true, true },
		{ "{\"kind\": \"unavailable\"}", 503, 0, true, false }, /* it may have been done */
		{ "{\"kind\": \"unavailable\"}", 503, 60, true, false },
		{ "{\"kind\": \"unavailable\"}", 502, 1, true, false },
		{ "{\"code\": 503, \"message\": \"busy\"}", 503, 1, false, false },
		{ "{\"kind\": 5}", 503, 1, false, false },
		{ "[\"kind\"]", 503, 1, false, false },
		{ "<html>503</html>", 503, 1, false, false },
		{ "", 503, 1, false, false },
		{ "<html>429</html>", 429, 1, false, true },
		{ "", 429, 60, false, false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const bool is_own = remote_is_refusal(rows[i].body, strlen(rows[i].body));
		const struct remote_answer answer = { .status = rows[i].status,
						      .retry_s = rows[i].retry_s,
						      .own = is_own };

		cr_expect(is_own == rows[i].is_own, "row %zu", i);
		cr_expect(remote_answer_did_nothing(&answer) == rows[i].did_nothing, "row %zu", i);
	}
}
