/*
 * The format JKS, version 2: a magic number, the version, the number of entries; for each trusted certificate the number 2, a name, a time in
 * milliseconds, "X.509", and the certificate; at the end a SHA-1 digest of the password in UTF-16, of a fixed text and of all of it. Numbers
 * are big-endian; a text has its length before it, in two bytes. Java reads its default store without a password, and checks the digest only
 * for a program that gives one.
 */
#include "jail/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sha1.h"
#include "base/text.h"
#include "edge/edge.h"
#include "jail/inside/wire.h"

#define TRUST_MAX (4 << 20) /* bytes of the host's authorities */
#define JKS_MAGIC 0xfeedfeed
#define JKS_ENDS  (12 + SHA1_BYTES) /* bytes before and behind the entries */

static const struct {
	const char *path, *source;
} places[TRUST_COUNT] = {
	[TRUST_PEM] = { EDGE_TRUST, WIRE_LAUNCH_PROC "/ca-certificates.crt" },
	[TRUST_JAVA] = { "/etc/ssl/certs/java/cacerts", WIRE_LAUNCH_PROC "/cacerts" }, /* Debian */
};

const char *trust_path(enum trust_kind kind)
{
	return places[kind].path;
}

const char *trust_source(enum trust_kind kind)
{
	return places[kind].source;
}

bool trust_has(const struct trust *trust, const char *path)
{
	for (int i = 0; trust && i < TRUST_COUNT; i++)
		if (trust->files[i].bytes && strcmp(places[i].path, path) == 0)
			return true;
	return false;
}

/* ---- Java's keystore ---- */

struct writer {
	unsigned char *bytes; /* heap, with room for all of it */
	size_t len;
};

static void put_number(struct writer *w, uint64_t value, int size)
{
	while (size--)
		w->bytes[w->len++] = (unsigned char)(value >> 8 * size);
}

static void put_bytes(struct writer *w, const char *bytes, size_t len)
{
	memcpy(w->bytes + w->len, bytes, len);
	w->len += len;
}

static void put_text(struct writer *w, const char *text)
{
	put_number(w, strlen(text), 2);
	put_bytes(w, text, strlen(text));
}

/* Cut the base64 of the next certificate off *from, without its blanks, into `ret`, which has room for as much. False: there is none. */
static bool next_certificate(const char **from, const char *end, char *ret, size_t *ret_len)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----", close[] = "-----END CERTIFICATE-----";
	const char *at = memmem(*from, (size_t)(end - *from), begin, sizeof(begin) - 1);
	const char *stop;

	if (!at)
		return false;
	at += sizeof(begin) - 1;
	stop = memmem(at, (size_t)(end - at), close, sizeof(close) - 1);
	if (!stop)
		return false;
	*ret_len = 0;
	for (; at < stop; at++)
		if (*at != '\n' && *at != '\r' && *at != ' ' && *at != '\t')
			ret[(*ret_len)++] = *at;
	*from = stop + sizeof(close) - 1;
	return true;
}

static void put_entry(struct writer *w, uint32_t number, const char *certificate, size_t len)
{
	char name[32];

	snprintf(name, sizeof(name), "authority-%u", number);
	put_number(w, 2, 4);
	put_text(w, name);
	put_number(w, 0, 8);
	put_text(w, "X.509");
	put_number(w, len, 4);
	put_bytes(w, certificate, len);
}

static void put_digest(struct writer *w)
{
	static const char password[] = "changeit", fixed[] = "Mighty Aphrodite";
	unsigned char digest[SHA1_BYTES];
	struct sha1 sha;

	sha1_init(&sha);
	for (const char *at = password; *at; at++)
		sha1_add(&sha, (const char[]){ 0, *at }, 2);
	sha1_add(&sha, fixed, sizeof(fixed) - 1);
	sha1_add(&sha, w->bytes, w->len);
	sha1_digest(&sha, digest);
	put_bytes(w, (const char *)digest, sizeof(digest));
}

char *trust_java(const char *pem, size_t len, size_t *ret_len)
{
	/* A certificate is shorter than its base64, and the rest of an entry (45 bytes) than the lines around that (52). */
	struct writer w = { .bytes = malloc(len + JKS_ENDS) };
	char *base64 = malloc(len + 1);
	const char *from = pem;
	uint32_t count = 0;
	size_t n, at;

	if (!w.bytes || !base64) {
		free(w.bytes);
		free(base64);
		return NULL;
	}
	put_number(&w, JKS_MAGIC, 4);
	put_number(&w, 2, 4);
	put_number(&w, 0, 4); /* how many; written again below */
	while (next_certificate(&from, pem + len, base64, &n)) {
		char *certificate = text_unbase64(base64, n, &at);

		if (certificate && at)
			put_entry(&w, ++count, certificate, at);
		free(certificate);
	}
	free(base64);
	at = w.len;
	w.len = 8;
	put_number(&w, count, 4);
	w.len = at;
	put_digest(&w);
	*ret_len = w.len;
	return (char *)w.bytes;
}

/* ---- of the host ---- */

static int make_pem(struct trust_file *ret, const char *pem, size_t len, struct warder_error *err)
{
	owned_fd int fd = open(EDGE_TRUST, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > TRUST_MAX)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "network.allow",
				       fd < 0 ? errno : EINVAL,
				       "inject needs the host's authorities in " EDGE_TRUST);
	ret->bytes = malloc((size_t)st.st_size + 1 + len);
	if (!ret->bytes || read(fd, ret->bytes, (size_t)st.st_size) != st.st_size)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "network.allow", errno,
				       "cannot read the host's authorities in " EDGE_TRUST);
	ret->bytes[st.st_size] = '\n';
	memcpy(ret->bytes + st.st_size + 1, pem, len);
	ret->len = (size_t)st.st_size + 1 + len;
	return 0;
}

int trust_make(struct trust *ret, const char *pem, size_t len, struct warder_error *err)
{
	struct trust made = { 0 };
	struct trust_file *java = &made.files[TRUST_JAVA];
	const struct trust_file *all = &made.files[TRUST_PEM];
	struct stat st;
	int result = make_pem(&made.files[TRUST_PEM], pem, len, err);

	/* What a link leads to is not the jail's to replace. */
	if (result == 0 && lstat(trust_path(TRUST_JAVA), &st) == 0 && S_ISREG(st.st_mode)) {
		java->bytes = trust_java(all->bytes, all->len, &java->len);
		if (!java->bytes)
			result = error_no_memory(err, "network.allow");
	}
	if (result < 0)
		trust_done(&made);
	*ret = made;
	return result;
}

void trust_done(struct trust *trust)
{
	for (int i = 0; i < TRUST_COUNT; i++)
		free(trust->files[i].bytes);
	*trust = (struct trust){ 0 };
}
