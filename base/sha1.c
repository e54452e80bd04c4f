#include "base/sha1.h"

#include <string.h>

static uint32_t rotate(uint32_t value, int by)
{
	return value << by | value >> (32 - by);
}

static void compress(uint32_t state[5], const unsigned char *block)
{
	static const uint32_t constants[] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };
	uint32_t words[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];

	for (int i = 0; i < 16; i++)
		words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
			   (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 80; i++)
		words[i] = rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
	for (int i = 0; i < 80; i++) {
		const uint32_t mixed = i < 20              ? (b & c) | (~b & d)
				       : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d)
							   : b ^ c ^ d;
		const uint32_t next = rotate(a, 5) + mixed + e + constants[i / 20] + words[i];

		e = d;
		d = c;
		c = rotate(b, 30);
		b = a;
		a = next;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

void sha1_init(struct sha1 *sha)
{
	static const uint32_t start[] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };

	memcpy(sha->state, start, sizeof(start));
	sha->len = 0;
}

void sha1_add(struct sha1 *sha, const void *bytes, size_t len)
{
	const unsigned char *from = bytes;

	while (len) {
		const size_t at = (size_t)(sha->len % 64);
		const size_t n = len < 64 - at ? len : 64 - at;

		memcpy(sha->block + at, from, n);
		sha->len += n;
		from += n;
		len -= n;
		if (sha->len % 64 == 0)
			compress(sha->state, sha->block);
	}
}

void sha1_digest(struct sha1 *sha, unsigned char ret[SHA1_BYTES])
{
	const uint64_t bits = sha->len * 8;
	unsigned char length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	sha1_add(sha, "\x80", 1);
	while (sha->len % 64 != 56)
		sha1_add(sha, "", 1);
	sha1_add(sha, length, sizeof(length));
	for (int i = 0; i < SHA1_BYTES; i++)
		ret[i] = (unsigned char)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}
