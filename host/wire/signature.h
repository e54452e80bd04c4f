/*
 * signature: the signatures of URLs by which files are read or written without a token.
 *
 * A signature is "v1_" and the base64 without padding of SHA-256 over "path:operation:user:token", or "path:operation:user:token:expiry".
 * The expiry is seconds since the epoch. The texts are those of the query, before a path is resolved. Pure functions; any thread.
 */
#ifndef WARDER_HOST_WIRE_SIGNATURE_H
#define WARDER_HOST_WIRE_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

#define SIGNATURE_SIZE 64 /* a signature with its NUL fits */

struct signature_claim {
	const char *path;      /* as in the query */
	const char *operation; /* "read", "write" */
	const char *user;      /* as in the query; NULL or "": the default user */
	const char *expiry;    /* as in the query, or NULL: the URL does not expire */
};

enum signature_verdict {
	SIGNATURE_GOOD,
	SIGNATURE_WRONG,     /* not of this claim and token */
	SIGNATURE_EXPIRED,   /* right, but its time is over */
	SIGNATURE_MALFORMED, /* the expiry is not a number */
};

/* The signature of a claim. False: no memory. */
bool signature_make(const struct signature_claim *claim, const char *token, char ret[SIGNATURE_SIZE]);
/* Compares in constant time. An expired signature of another token is SIGNATURE_WRONG, so that the verdict can tell sandboxes apart. */
enum signature_verdict signature_check(const struct signature_claim *claim, const char *token,
				       const char *given, uint64_t now_s);

#endif
