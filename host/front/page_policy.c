/*
 * The policy of what is served to a browser that shows the page: nothing runs or is loaded but the page's own files.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "host/front/front.h"

/* page_files.S */
extern const char page_result[];
extern const uint64_t page_result_size;

/* A frame with a result inherits the policy. Having no origin, it can load nothing of ours; its style stands in it, and is known by its
 * digest. */
static void write_policy(char *to, size_t size)
{
	struct sha256 sha;
	char hex[SHA256_HEX], bytes[32];
	char *digest;

	sha256_init(&sha);
	sha256_add(&sha, page_result, page_result_size);
	sha256_hex(&sha, hex);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		const char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		bytes[i] = (char)strtoul(digits, NULL, 16);
	}
	digest = text_base64(bytes, sizeof(bytes));
	snprintf(to, size,
		 "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-%s'; connect-src 'self'; "
		 "img-src 'self' data:; frame-src 'self'; base-uri 'none'; form-action 'none'; "
		 "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types warder-result",
		 digest ? digest : "");
	free(digest);
}

const char *page_policy(void)
{
	static char policy[512];

	if (!policy[0])
		write_policy(policy, sizeof(policy));
	return policy;
}
