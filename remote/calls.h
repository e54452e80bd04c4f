/*
 * calls: the requests of Warder's own API for sandboxes, as a service answers them that speaks E2B's protocol. Private to remote/.
 *
 * So the commands have one way to a sandbox on another machine, whatever its host is. The answers have the members of Warder's API that the commands
 * read, and a refusal has "kind", "field" and "message". What the protocol has no place for is refused with the status 501.
 *
 * Two requests are not those of the API: POST /v1/run, and POST /v1/sandboxes/ID/executions, have a job of e2b.h and are answered with its result.
 */
#ifndef WARDER_REMOTE_CALLS_H
#define WARDER_REMOTE_CALLS_H

#include "remote/exchange.h"
#include "remote/service.h"

/* Carry out `method`, `path` and `body` of the order. *ret and *ret_body as of exchange_perform(). */
void calls_perform(struct service *service, const struct exchange_order *order, struct remote_answer *ret,
		   char **ret_body);

#endif
