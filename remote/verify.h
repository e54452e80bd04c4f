/*
 * verify: whether the host that is trusted has signed an answer, and to this request.
 */
#ifndef WARDER_REMOTE_VERIFY_H
#define WARDER_REMOTE_VERIFY_H

#include "remote/remote.h"

struct verify_claim {
	const char *call; /* by its name in the signature */
	const char *request;
	size_t request_len;
	const char *key; /* that is trusted; NULL: whichever the answer names */
};

/* Check the signature of an answer. `body` has `len` bytes and no NUL at its end; it may be NULL. Returns 0; -1 with *err: UNAVAILABLE if the
 * signature is missing or wrong, REJECTED if another key made it. */
int verify_answer(const struct verify_claim *claim, const char *body, size_t len, struct warder_error *err);
/* Whether `value`, in base64, is the signature of the statement by the key, for which remote_is_key() holds. */
bool verify_signature(const char *key, const char *value, const char *statement, size_t statement_len);

#endif
