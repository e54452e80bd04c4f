/*
 * sha256: the digest of FIPS 180-4, for names that untrusted bytes must not be able to choose. (A library's would be
 * better kept, but the command line tool is static against musl, for which Debian has none.)
 *
 * Life: sha256_init() -> sha256_add() any number of times -> sha256_hex(). No allocation; any thread.
 */
#ifndef WARDER_BASE_SHA256_H
#define WARDER_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_HEX 65 /* characters of a digest in hexadecimal, with the NUL */

struct sha256 {
	uint32_t state[8];
	uint64_t len; /* bytes so far */
	unsigned char block[64];
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t len);
/* A text and its end, so that "ab", "c" and "a", "bc" differ; NULL is no text at all. */
void sha256_add_text(struct sha256 *sha, const char *text);
/* Finish; *sha is used up. */
void sha256_hex(struct sha256 *sha, char ret[SHA256_HEX]);

#endif
