/*
 * exchange: one request to a host by HTTP, with libcurl. Private to remote/.
 */
#ifndef WARDER_REMOTE_EXCHANGE_H
#define WARDER_REMOTE_EXCHANGE_H

#include <stddef.h>

#include "remote/remote.h"

struct exchange_order {
	const char *url;    /* checked */
	const char *method; /* "GET", "POST", "PUT" or "DELETE" */
	const char *path;   /* "/v1/run" */
	const char *accept; /* the media type of the answer, or NULL */
	const char *token;
	const char *ca_file; /* or NULL: the authorities of the system */
	const char *body;    /* JSON of a POST, bytes of a PUT; or NULL */
	size_t body_len;
	uint64_t timeout_ms; /* of the whole; 0: none */
	size_t most;         /* bytes of the answer's body */
};

/* Make the request. *ret is filled in any case; *ret_body is heap, of ret->bytes, or NULL. */
void exchange_perform(const struct exchange_order *order, struct remote_answer *ret, char **ret_body);

#endif
