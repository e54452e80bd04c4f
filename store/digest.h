/*
 * digest: SHA-256 by libcrypto, which uses what the processor has for it (base/sha256.h has to do without).
 *
 * Life: digest_init() -> digest_add() any number of times -> digest_hex(), or digest_done(). A failure (no memory) is kept, and
 * told by digest_hex(). Any thread; no global state.
 */
#ifndef WARDER_STORE_DIGEST_H
#define WARDER_STORE_DIGEST_H

#include <stddef.h>

#define DIGEST_HEX 65 /* characters of a digest in hexadecimal, with the NUL */

struct digest {
	void *context;
};

void digest_init(struct digest *digest);
void digest_add(struct digest *digest, const void *bytes, size_t len);
/* A text with its NUL, so that "ab", "c" and "a", "bc" differ. */
void digest_add_text(struct digest *digest, const char *text);
/* Finish, and be ready for digest_init(). 0; -1: out of memory on the way. */
int digest_hex(struct digest *digest, char ret[static DIGEST_HEX]);
/* Give up; zeroed is fine. */
void digest_done(struct digest *digest);

#endif
