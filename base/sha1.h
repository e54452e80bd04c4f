/*
 * sha1: the digest of FIPS 180-4, for formats that name it: the handshake of WebSocket, and Java's files of certificates. It protects nothing
 * against those who choose the bytes; names are made with base/sha256.h.
 *
 * Life: sha1_init() -> sha1_add() any number of times -> sha1_digest(). No allocation; any thread.
 */
#ifndef WARDER_BASE_SHA1_H
#define WARDER_BASE_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define SHA1_BYTES 20

struct sha1 {
	uint32_t state[5];
	uint64_t len; /* bytes so far */
	unsigned char block[64];
};

void sha1_init(struct sha1 *sha);
void sha1_add(struct sha1 *sha, const void *bytes, size_t len);
/* Finish; *sha is used up. */
void sha1_digest(struct sha1 *sha, unsigned char ret[SHA1_BYTES]);

#endif
