/*
 * call: a request of Warder's own API that is answered by means of a service of the kind e2b. Private to remote/.
 *
 * Life: calls_perform() fills it -> one function of calls.c or contexts.c answers it, exactly once, by call_put() or one of the others.
 */
#ifndef WARDER_REMOTE_CALL_H
#define WARDER_REMOTE_CALL_H

#include "base/json.h"
#include "remote/exchange.h"
#include "remote/service.h"

struct call {
	struct service *service;
	const struct exchange_order *order;
	const char *query;                /* behind the "?" of the path; or "" */
	char context[SERVICE_ID_MAX + 1]; /* the id in a path about a context or an execution; or "" */
	struct remote_answer *ret;
	char **ret_body;
};

/* Answer with the error, and without a status. */
void call_put_error(struct call *call, const struct warder_error *err);
/* The body of the call, to be freed. NULL: it is no JSON, and the call has its answer. */
struct json_value *call_read_request(struct call *call);
/* Answer with the text, which is on the heap, and free it. NULL: memory ran out, and the answer says so. */
void call_put(struct call *call, unsigned int status, char *body);
/* Answer with the object that the writer has begun. */
void call_put_object(struct call *call, struct json_writer *w);
__attribute__((format(printf, 5, 6))) void call_refuse(struct call *call, unsigned int status, uint32_t code,
						       const char *field, const char *format, ...);
/* Answer that the service has refused, or has not answered. `subject` names what a 404 means: "id", "path", "context" or
 * "execution". */
void call_pass_refusal(struct call *call, const struct remote_answer *answer, const char *body,
		       const char *subject);
/* Ask the service about the sandbox; `rest`: behind its id. Returns whether the service agrees; otherwise the call has its answer. */
bool call_ask(struct call *call, const char *method, const char *rest, const char *body, char **ret,
	      size_t *ret_len);
/* The same for a document, which is to be freed by json_free(). */
bool call_ask_document(struct call *call, const char *method, const char *rest, const char *body,
		       struct json_value **ret);
/* Look at the sandbox; it must run. Then service_open() has opened it. Otherwise the call has its answer. */
bool call_open_sandbox(struct call *call);

#endif
