#include "host/wire/signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "base/text.h"

static unsigned digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void add_part(struct sha256 *sha, const char *text, bool first)
{
	if (!first)
		sha256_add(sha, ":", 1);
	sha256_add(sha, text, strlen(text));
}

bool signature_make(const struct signature_claim *claim, const char *token, char ret[SIGNATURE_SIZE])
{
	struct sha256 sha;
	char hex[SHA256_HEX];
	char bytes[32];
	char *text;

	sha256_init(&sha);
	add_part(&sha, claim->path, true);
	add_part(&sha, claim->operation, false);
	add_part(&sha, claim->user ? claim->user : "", false);
	add_part(&sha, token, false);
	if (claim->expiry)
		add_part(&sha, claim->expiry, false);
	sha256_hex(&sha, hex);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	text = text_base64(bytes, sizeof(bytes));
	if (!text)
		return false;
	/* 32 bytes are 43 characters and one of padding. */
	snprintf(ret, SIGNATURE_SIZE, "v1_%.43s", text);
	free(text);
	return true;
}

static bool is_equal(const char *a, const char *b)
{
	const size_t len = strlen(a);
	unsigned char different = 0;

	if (strlen(b) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		different |= (unsigned char)(a[i] ^ b[i]);
	return different == 0;
}

/* Up to 18 digits, which a 64-bit number holds. */
static bool parse_expiry(const char *text, uint64_t *ret)
{
	uint64_t number = 0;
	size_t len = 0;

	for (; text[len]; len++) {
		if (text[len] < '0' || text[len] > '9' || len >= 18)
			return false;
		number = number * 10 + (uint64_t)(text[len] - '0');
	}
	*ret = number;
	return len > 0;
}

enum signature_verdict signature_check(const struct signature_claim *claim, const char *token,
				       const char *given, uint64_t now_s)
{
	char wanted[SIGNATURE_SIZE];
	uint64_t expiry = UINT64_MAX;

	if (claim->expiry && !parse_expiry(claim->expiry, &expiry))
		return SIGNATURE_MALFORMED;
	if (!given || !signature_make(claim, token, wanted) || !is_equal(wanted, given))
		return SIGNATURE_WRONG;
	return now_s < expiry ? SIGNATURE_GOOD : SIGNATURE_EXPIRED;
}
