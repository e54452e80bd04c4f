#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

/* FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t word, int bits)
{
	return word >> bits | word << (32 - bits);
}

static uint32_t load(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* 6.2.2 of the standard, with its names. */
static void compress(struct sha256 *sha)
{
	uint32_t w[64], v[8];

	for (int t = 0; t < 16; t++)
		w[t] = load(sha->block + 4 * t);
	for (int t = 16; t < 64; t++) {
		uint32_t s0 = turn(w[t - 15], 7) ^ turn(w[t - 15], 18) ^ w[t - 15] >> 3;
		uint32_t s1 = turn(w[t - 2], 17) ^ turn(w[t - 2], 19) ^ w[t - 2] >> 10;

		w[t] = s1 + w[t - 7] + s0 + w[t - 16];
	}
	memcpy(v, sha->state, sizeof(v));
	for (int t = 0; t < 64; t++) {
		uint32_t s1 = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25);
		uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t t1 = v[7] + s1 + choice + constants[t] + w[t];
		uint32_t s0 = turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22);
		uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

		/* One by one: a memmove() towards the end runs backwards, and musl's takes 15 times as long as the rest of a round. */
		v[7] = v[6];
		v[6] = v[5];
		v[5] = v[4];
		v[4] = v[3] + t1;
		v[3] = v[2];
		v[2] = v[1];
		v[1] = v[0];
		v[0] = t1 + s0 + majority;
	}
	for (int i = 0; i < 8; i++)
		sha->state[i] += v[i];
}

void sha256_init(struct sha256 *sha)
{
	static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(sha->state, start, sizeof(start));
	sha->len = 0;
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t len)
{
	const unsigned char *from = bytes;

	while (len) {
		size_t at = (size_t)(sha->len % 64);
		size_t n = len < 64 - at ? len : 64 - at;

		memcpy(sha->block + at, from, n);
		sha->len += n;
		from += n;
		len -= n;
		if (sha->len % 64 == 0)
			compress(sha);
	}
}

void sha256_add_text(struct sha256 *sha, const char *text)
{
	unsigned char head[9] = { text != NULL };
	const uint64_t len = text ? strlen(text) : 0;

	for (int i = 0; i < 8; i++)
		head[1 + i] = (unsigned char)(len >> (8 * i));
	sha256_add(sha, head, sizeof(head));
	sha256_add(sha, text ? text : "", (size_t)len);
}

void sha256_hex(struct sha256 *sha, char ret[SHA256_HEX])
{
	const uint64_t bits = sha->len * 8;
	unsigned char length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(sha, "\x80", 1);
	while (sha->len % 64 != 56)
		sha256_add(sha, "", 1);
	sha256_add(sha, length, sizeof(length));
	for (int i = 0; i < 8; i++)
		snprintf(ret + 8 * i, SHA256_HEX - (size_t)(8 * i), "%08x", sha->state[i]);
}
