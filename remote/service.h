/*
 * service: a sandbox of a service that speaks E2B's protocol. Private to remote/.
 *
 * Life: filled from the order -> service_create(), or service_open() for a sandbox that exists -> requests to `data_url` with `headers` ->
 * service_delete(), if it is to end. The texts of the order must exist until then.
 */
#ifndef WARDER_REMOTE_SERVICE_H
#define WARDER_REMOTE_SERVICE_H

#include <stdbool.h>

#include "base/json.h"
#include "remote/exchange.h"

#define SERVICE_ID_MAX         64
#define SERVICE_ACCESS_MAX     1024
#define SERVICE_HEADERS        6
#define SERVICE_STREAM_HEADERS (SERVICE_HEADERS + 2)
#define SERVICE_PROGRAMS       "49983" /* port of envd, which starts programs and has the files */
#define SERVICE_CODE           "49999" /* port of the code interpreter */
#define SERVICE_MESSAGE        300

struct service {
	const char *url, *sandbox_url; /* of the order; the latter may be NULL */
	const char *token, *ca_file, *template;
	bool insecure; /* http to other machines */
	bool internet; /* the program may reach it */
	uint64_t lifetime_s;
	const struct json_value *env; /* an object of texts for all programs of the sandbox; or NULL */
	const char *key;              /* a text that only this request has, to find the sandbox by; or NULL */
	/* Of the sandbox: */
	char id[SERVICE_ID_MAX + 1]; /* "": there is none */
	char domain[256];            /* as the service names it; "": it does not */
	char data_url[300];
	char lines[SERVICE_HEADERS - 1][SERVICE_ACCESS_MAX + 32];
	const char *headers[SERVICE_HEADERS]; /* of a request to it, NULL at the end */
};

/* A request to the service itself, about "/sandboxes" or one of them. body: JSON, or NULL. *ret and *ret_body as of exchange_perform(). */
void service_ask(const struct service *service, const char *method, const char *path, const char *body,
		 struct remote_answer *ret, char **ret_body);
/* Whether the answer has one of the statuses 200 to 299. */
bool service_is_good(const struct remote_answer *answer);
/* Whether there was no answer, or only one of a proxy: the request may not have reached the sandbox. */
bool service_is_out_of_reach(const struct remote_answer *answer);
/* Whether a text of the service can be the id of a sandbox. */
bool service_is_id(const char *id);
/* Make ready for requests to the sandbox `service->id`, which `description` of the service is about. -1 with *err: its access token, version or
 * address is missing or not valid. */
int service_open(struct service *service, const struct json_value *description, struct warder_error *err);
/* Make an open one ready for requests to another port of its. -1 with *err. */
int service_reach(struct service *service, const char *port, struct warder_error *err);
/* Fill an order for an open sandbox: a POST with `body` (of `path`), and the answer is kept. */
void service_plain(const struct service *service, const char *path, const char *body,
		   struct exchange_order *ret);
/* The same for a call that streams: what the order lacks, besides path, body and take(). `line`: one more header, or NULL. */
void service_stream(const struct service *service, const char *line,
		    const char *headers[SERVICE_STREAM_HEADERS], struct exchange_order *to);
/* 0: the sandbox is there. -1 with *err: it is not, or was deleted again. With a `key`, that also holds if the answer of the service was lost. */
int service_create(struct service *service, struct warder_error *err);
/* What the service says in an answer that is a refusal; "" if it says nothing. Returns ret. */
char *service_message(const char *body, size_t len, char ret[SERVICE_MESSAGE]);
/* -1 with *err: the service does not confirm it, after several tries. */
int service_delete(const struct service *service, struct warder_error *err);
/* The address of a port of the sandbox `id`: `sandbox_url`, or "PORT-ID.DOMAIN" with the scheme of `url`. `domain` is what the service says, or NULL:
 * then that of a `url` with a host "api.DOMAIN". -1 with *err. */
int service_data_url(const struct service *service, const char *port, const char *id, const char *domain,
		     char ret[sizeof(((struct service *)NULL)->data_url)], struct warder_error *err);

#endif
