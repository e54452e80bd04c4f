/*
 * trust: the files of authorities that a jail with credentials sees: those of the host, and the authority of the run. The file of Java is a
 * keystore in the format JKS, made of the certificates of the other one: a store of PKCS #12 needs an attribute at every certificate that
 * OpenSSL 3.0 cannot write. Host side.
 *
 * Life: trust_make() -> trust_done(). A zeroed object is empty.
 */
#ifndef WARDER_JAIL_TRUST_H
#define WARDER_JAIL_TRUST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum trust_kind {
	TRUST_PEM,  /* of OpenSSL, and of most programs */
	TRUST_JAVA, /* if the host has this file */
	TRUST_COUNT,
};

struct trust_file {
	char *bytes; /* heap; NULL: the jail sees the host's, or none */
	size_t len;
};

struct trust {
	struct trust_file files[TRUST_COUNT]; /* by enum trust_kind */
};

/* Where programs look for it. */
const char *trust_path(enum trust_kind kind);
/* Where init writes it, within WIRE_SCRATCH. */
const char *trust_source(enum trust_kind kind);
/* Whether the jail sees a file of the run at this path. `trust` may be NULL. */
bool trust_has(const struct trust *trust, const char *path);
/* Read the host's, and add the run's authority, a certificate as PEM. -1 with *err: *ret is empty. */
int trust_make(struct trust *ret, const char *pem, size_t len, struct warder_error *err);
/* The certificates of a text, which may have other lines between them, as a keystore of Java with the password "changeit"; heap. One that is
 * no base64 is left out, as OpenSSL does not read it. NULL: no memory. Pure. */
char *trust_java(const char *pem, size_t len, size_t *ret_len);
void trust_done(struct trust *trust);

#endif
