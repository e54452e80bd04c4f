/* signature: signed URLs of files (host/wire/signature.c). The expected values are those of sha256sum and base64. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"
#include "host/wire/signature.h"

Test(signature, values, .timeout = 20)
{
	static const struct {
		struct signature_claim claim;
		const char *token, *signature;
	} rows[] = {
		{ { "/a", "read", NULL, NULL }, "token", "v1_aplmC4NkJq68ZefW7XTqyoyNGwWxiO32wjsTlW+LEX4" },
		{ { "/a", "write", "user", "1700000000" },
		  "token",
		  "v1_gGc+TOjxnuhZvAxnsRLWaihUdk9ct0Lp4rnunSgkxf0" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char text[SIGNATURE_SIZE];

		cr_assert(signature_make(&rows[i].claim, rows[i].token, text));
		cr_expect_str_eq(text, rows[i].signature, "row %zu: %s", i, text);
	}
}

Test(signature, verdicts, .timeout = 20)
{
	const struct signature_claim made = { "/a", "read", "", "1000" };
	static const struct {
		const char *what;
		struct signature_claim claim;
		const char *token;
		uint64_t now_s;
		enum signature_verdict verdict;
	} rows[] = {
		{ "the same", { "/a", "read", NULL, "1000" }, "t", 999, SIGNATURE_GOOD },
		{ "over", { "/a", "read", NULL, "1000" }, "t", 1000, SIGNATURE_EXPIRED },
		{ "another expiry", { "/a", "read", NULL, "2000" }, "t", 999, SIGNATURE_WRONG },
		{ "no expiry", { "/a", "read", NULL, NULL }, "t", 999, SIGNATURE_WRONG },
		{ "not a number", { "/a", "read", NULL, "1e3" }, "t", 999, SIGNATURE_MALFORMED },
		{ "an empty expiry", { "/a", "read", NULL, "" }, "t", 999, SIGNATURE_MALFORMED },
		{ "a huge expiry",
		  { "/a", "read", NULL, "9999999999999999999" },
		  "t",
		  999,
		  SIGNATURE_MALFORMED },
		{ "another path", { "/b", "read", NULL, "1000" }, "t", 999, SIGNATURE_WRONG },
		{ "another operation", { "/a", "write", NULL, "1000" }, "t", 999, SIGNATURE_WRONG },
		{ "another user", { "/a", "read", "root", "1000" }, "t", 999, SIGNATURE_WRONG },
		{ "another token", { "/a", "read", NULL, "1000" }, "u", 999, SIGNATURE_WRONG },
		{ "another token, over", { "/a", "read", NULL, "1000" }, "u", 2000, SIGNATURE_WRONG },
	};
	char text[SIGNATURE_SIZE];

	cr_assert(signature_make(&made, "t", text));
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_eq(signature_check(&rows[i].claim, rows[i].token, text, rows[i].now_s),
			     rows[i].verdict, "%s", rows[i].what);
	cr_expect_eq(signature_check(&made, "t", NULL, 0), SIGNATURE_WRONG);
	cr_expect_eq(signature_check(&made, "t", "", 0), SIGNATURE_WRONG);
}
