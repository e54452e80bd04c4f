/*
 * calls: the requests of Warder's own API for sandboxes, as a service answers them that speaks E2B's protocol. Private to remote/.
 *
 * So the commands have one way to a sandbox on another machine, whatever its host is. The answers have the members of Warder's API that the commands
 * read, and a refusal has "kind", "field" and "message". What the protocol has no place for is refused with the status 501.
 *
 * Some requests are not those of the API: POST /v1/run, and POST /v1/sandboxes/ID/executions, have a job of e2b.h and are answered with its result;
 * with the query "detach=1", the latter leaves the program, and the answer has its id. Input of an execution is in "base64".
 */
#ifndef WARDER_REMOTE_CALLS_H
#define WARDER_REMOTE_CALLS_H

#include "remote/exchange.h"
#include "remote/service.h"

/* Carry out `method`, `path` and `body` of the order. *ret and *ret_body as of exchange_perform(). */
void calls_perform(struct service *service, const struct exchange_order *order, struct remote_answer *ret,
		   char **ret_body);
/* The path is that of an execution, with "/follow" behind it: write the answer to `fd`, a packet socket, and if its status is 101, follow the execution
 * as remote.h says. */
void calls_follow(struct service *service, const struct exchange_order *order, int fd);

#endif
