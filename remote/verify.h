/*
 * verify: whether the host that is trusted has signed an answer, and to this request. Private to remote/.
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

/* body: of `len` bytes, not NUL-terminated; may be NULL. -1 with *err (UNAVAILABLE: there is no signature, or it is wrong; REJECTED: it is
 * of another key). */
int verify_answer(const struct verify_claim *claim, const char *body, size_t len, struct warder_error *err);

#endif
