/*
 * context_remote: contexts of sessions that are sandboxes of hosts on other machines. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_CONTEXT_REMOTE_H
#define WARDER_RUNTIME_CLI_CONTEXT_REMOTE_H

#include <signal.h>

#include "runtime/cli/flags.h"
#include "runtime/cli/remote_place.h"

/* Whether the name is that of a session on another machine, or its file cannot be read: then the calls below say why. */
bool context_remote_is(const char *session);
/* Start a context, with the policy of its session. -1 with *err, which names a flag that would change the policy. */
int context_remote_create(const struct args *args, const char *session, const char *name,
			  struct warder_error *err);
/* Add the rows of the session's contexts to an array, as `warder context list --json` has them. -1 with *err. */
int context_remote_list(const char *session, struct json_writer *w, struct warder_error *err);
/* The same for all sessions; a host that does not answer is reported, and does not hide the others. -1 with *err. */
int context_remote_list_all(struct json_writer *w, struct warder_error *err);
/* Find a context. *ret: the host of its session; id: what the host calls it; *ret_row: the JSON that describes the context (heap, the caller's). -1 with *err (NOT_FOUND:
 * the session has no context of this name). */
int context_remote_open(const char *session, const char *name, struct remote_place *ret,
			char id[ELSEWHERE_SANDBOX_MAX + 1], char **ret_row, struct warder_error *err);
/* "interrupt", "restart" or "delete" the context. -1 with *err. */
int context_remote_act(const char *session, const char *name, const char *verb, struct warder_error *err);

struct context_remote_piece {
	const char *context; /* what the host calls it */
	const char *code;
	size_t len;
	uint64_t timeout_us;                  /* 0: as the policy grants */
	const volatile sig_atomic_t *signals; /* how many came */
};

/* Run a piece, and when it has ended, call `take` with its events in their order, as of remote_next(); `take` may keep event->text and set it to
 * NULL. The first SIGINT interrupts the piece. 0; 1: another signal came, and the piece goes on there, except on a service of the kind e2b; -1 with *err, of `take` too. */
int context_remote_run(const struct remote_place *place, const struct context_remote_piece *piece,
		       int (*take)(void *context, struct remote_event *event, struct warder_error *err),
		       void *context, struct warder_error *err);

#endif
