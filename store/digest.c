#include "store/digest.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

void digest_init(struct digest *digest)
{
	digest->context = EVP_MD_CTX_new();
	if (digest->context && EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) != 1)
		digest_done(digest);
}

void digest_add(struct digest *digest, const void *bytes, size_t len)
{
	if (digest->context && len && EVP_DigestUpdate(digest->context, bytes, len) != 1)
		digest_done(digest);
}

void digest_add_text(struct digest *digest, const char *text)
{
	digest_add(digest, text, strlen(text) + 1);
}

int digest_hex(struct digest *digest, char ret[static DIGEST_HEX])
{
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	if (!digest->context || EVP_DigestFinal_ex(digest->context, bytes, &len) != 1 || len != 32) {
		digest_done(digest);
		return -1;
	}
	for (unsigned i = 0; i < len; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	digest_done(digest);
	return 0;
}

void digest_done(struct digest *digest)
{
	EVP_MD_CTX_free(digest->context);
	digest->context = NULL;
}
