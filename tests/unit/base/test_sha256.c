/* base/sha256.c against the examples that NIST gives for FIPS 180-4. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"
#include "base/sha256.h"

static void expect(const char *text, size_t len, size_t step, const char *digest)
{
	struct sha256 sha;
	char hex[SHA256_HEX];

	sha256_init(&sha);
	for (size_t at = 0; at < len; at += step)
		sha256_add(&sha, text + at, step < len - at ? step : len - at);
	sha256_hex(&sha, hex);
	cr_expect_str_eq(hex, digest, "%zu bytes in steps of %zu: %s", len, step, hex);
}

Test(sha256, standard_examples, .timeout = 20)
{
	static const struct {
		const char *text, *digest;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlm"
		  "nopqrs"
		  "mnopqrstnopqrstu",
		  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
	};
	static char million[1000000];

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		for (size_t step = 1; step < 70; step += 17)
			expect(rows[i].text, strlen(rows[i].text), step, rows[i].digest);
	memset(million, 'a', sizeof(million));
	expect(million, sizeof(million), 4093,
	       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

Test(sha256, texts_have_ends, .timeout = 20)
{
	static const char *const rows[][2] = { { "ab", "c" }, { "a", "bc" }, { "", "abc" }, { NULL, "abc" } };
	char hex[4][SHA256_HEX];

	for (size_t i = 0; i < 4; i++) {
		struct sha256 sha;

		sha256_init(&sha);
		sha256_add_text(&sha, rows[i][0]);
		sha256_add_text(&sha, rows[i][1]);
		sha256_hex(&sha, hex[i]);
		for (size_t k = 0; k < i; k++)
			cr_expect_str_neq(hex[i], hex[k], "%zu, %zu", i, k);
	}
}
