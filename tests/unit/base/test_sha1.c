/* base/sha1.c against the examples that NIST gives for FIPS 180-4. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/sha1.h"

static void expect(const char *text, size_t len, size_t step, const char *digest)
{
	struct sha1 sha;
	unsigned char bytes[SHA1_BYTES];
	char hex[2 * SHA1_BYTES + 1];

	sha1_init(&sha);
	for (size_t at = 0; at < len; at += step)
		sha1_add(&sha, text + at, step < len - at ? step : len - at);
	sha1_digest(&sha, bytes);
	for (size_t i = 0; i < SHA1_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	cr_expect_str_eq(hex, digest, "%zu bytes in steps of %zu: %s", len, step, hex);
}

Test(sha1, standard_examples, .timeout = 20)
{
	static const struct {
		const char *text, *digest;
	} rows[] = {
		{ "", "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
		{ "abc", "a9993e364706816aba3e25717850c26c9cd0d89d" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "84983e441c3bd26ebaae4aa1f95129e5e54670f1" },
	};
	static char million[1000000];

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		for (size_t step = 1; step < 70; step += 17)
			expect(rows[i].text, strlen(rows[i].text), step, rows[i].digest);
	memset(million, 'a', sizeof(million));
	expect(million, sizeof(million), 4093, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}
