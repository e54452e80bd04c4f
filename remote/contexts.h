/*
 * contexts: the contexts of a sandbox, as E2B's code interpreter has them. Private to remote/.
 *
 * A context has no name there: in the requests and answers, the id that the service gives it stands in the place of the name. The service cannot
 * interrupt a piece by a request: it interrupts the piece whose client leaves.
 */
#ifndef WARDER_REMOTE_CONTEXTS_H
#define WARDER_REMOTE_CONTEXTS_H

#include "remote/call.h"

/* GET /contexts: an array of objects with "context", "id", "language", "cwd" and "state". */
void contexts_list(struct call *call);
/* POST /contexts, with "language": an object with "id". */
void contexts_create(struct call *call);
/* POST /contexts/ID/restart, DELETE /contexts/ID. */
void contexts_restart(struct call *call);
void contexts_delete(struct call *call);
/* POST /code, with "context", "code" and "timeoutMs": server-sent events, as of Warder's own API. SIGTERM interrupts the piece, and so does the end of
 * its time: then the answer has what came until then. */
void contexts_run(struct call *call);

#endif
