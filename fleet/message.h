/*
 * message: a signed request, as it waits in the server. Private to fleet/.
 *
 * Its first line is the signature in base64. The rest is JSON:
 *   {"version": 1, "tenant": NAME, "batch": 16 digits, "line": NUMBER, "expiresMs": NUMBER, "request": {...}}
 * The tenant's key signs "warder-request 1", a line feed, and this JSON. The id of a request is the SHA-256 digest of the whole message, so
 * a copy with another signature has another id, and its refusal cannot be taken for the answer to the original.
 * Life: message_read() -> message_check() -> message_done().
 */
#ifndef WARDER_FLEET_MESSAGE_H
#define WARDER_FLEET_MESSAGE_H

#include <openssl/types.h>

#include "base/error.h"
#include "base/json.h"
#include "base/sha256.h"

#define MESSAGE_BATCH_BYTES 17 /* 16 hexadecimal digits and the NUL */

struct message {
	char id[SHA256_HEX];
	const char *tenant, *batch;       /* of the document */
	uint64_t expires_ms;              /* since the epoch */
	const struct json_value *request; /* of the document */
	struct json_value *document;      /* owned */
	const char *text;                 /* the whole message, the caller's */
	size_t len;
};

/* What `warder submit` puts around a request. */
struct message_envelope {
	const char *tenant, *batch;
	size_t line;
	uint64_t expires_ms;
};

/* Check that a tenant's name can be a part of a subject: it has no dot. `field` names it in the error. -1 with *err (INVALID_REQUEST). */
int message_check_tenant(const char *tenant, const char *field, struct warder_error *err);
/* Refuse members that no request has, and the wrong ones of argv, stdin and policy. -1 with *err, whose field is the member. */
int message_check_request(const struct json_value *request, struct warder_error *err);
/* Sign. *ret is heap, the caller's. -1 with *err: also if it is longer than FLEET_MESSAGE_MAX. */
int message_make(EVP_PKEY *key, const struct message_envelope *envelope, const struct json_value *request,
		 char **ret, size_t *ret_len, char ret_id[SHA256_HEX], struct warder_error *err);
/* Decode `len` bytes. `id` is written in any case, and tenant and batch where they are valid, else they are NULL. -1 with *err. */
int message_read(const char *text, size_t len, struct message *ret, struct warder_error *err);
/* Whether the key has signed it, and it has not expired. -1 with *err (REJECTED). */
int message_check(const struct message *message, const char *key, struct warder_error *err);
void message_done(struct message *message);

#endif
