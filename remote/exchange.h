/*
 * exchange: one request to a host by HTTP, with libcurl. Private to remote/.
 */
#ifndef WARDER_REMOTE_EXCHANGE_H
#define WARDER_REMOTE_EXCHANGE_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "remote/remote.h"

struct exchange_order {
	const char *url;     /* checked */
	const char *method;  /* "GET", "POST", "PUT" or "DELETE" */
	const char *path;    /* "/v1/run" */
	const char *accept;  /* the media type of the answer, or NULL */
	const char *token;   /* or NULL: no X-API-Key is sent */
	const char *ca_file; /* or NULL: the authorities of the system */
	const char *body;    /* JSON of a POST, bytes of a PUT; or NULL */
	size_t body_len;
	uint64_t timeout_ms;        /* of the whole; 0: none */
	size_t most;                /* bytes of the answer's body */
	const char *type;           /* of the body; NULL: the usual one of the method */
	const char *const *headers; /* more lines, NULL at the end; or NULL */
	/* Gets the body of an answer with the status 200 as it comes; false ends the request. NULL: the body is kept. */
	bool (*take)(void *context, const char *bytes, size_t len);
	/* Whether the answer is to wait now, until curl_easy_pause() lets it go on. NULL: it never is. */
	bool (*holds)(void *context);
	void *context; /* of take() and holds() */
};

/* Make the request. *ret is filled in any case; *ret_body is heap, of ret->bytes, or NULL. */
void exchange_perform(const struct exchange_order *order, struct remote_answer *ret, char **ret_body);

/* ---- beside another one ---- */

/* Life: exchange_new() -> exchange_handle() is performed by libcurl -> exchange_finish(), with libcurl's code. The body of the order and `context`
 * must exist until then. */
struct exchange;
/* NULL without memory, or if libcurl lacks an option. */
struct exchange *exchange_new(const struct exchange_order *order);
CURL *exchange_handle(const struct exchange *exchange);
/* Whether some of the request has left this process. */
bool exchange_was_sent(const struct exchange *exchange);
/* As exchange_perform(); frees it. */
void exchange_finish(struct exchange *exchange, CURLcode done, struct remote_answer *ret, char **ret_body);

#endif
