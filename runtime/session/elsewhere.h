/*
 * elsewhere: which sessions are sandboxes of hosts on other machines. Private to runtime/ and its command line.
 *
 * Beside the files of the sessions of this machine, such a session NAME has a file NAME.remote: the host, the sandbox and its lease, and the
 * policy. A name is either a session of this machine or one of another.
 *
 * Life: elsewhere_claim() -> the sandbox is created -> elsewhere_write() -> elsewhere_release(); later elsewhere_read(), at the end
 * elsewhere_remove().
 */
#ifndef WARDER_RUNTIME_SESSION_ELSEWHERE_H
#define WARDER_RUNTIME_SESSION_ELSEWHERE_H

#include <limits.h>
#include <stdbool.h>

#include "base/json.h"
#include "runtime/session/session.h"

#define ELSEWHERE_SANDBOX_MAX 64
#define ELSEWHERE_BACKEND     32 /* bytes of "remote:NAME" */
#define ELSEWHERE_WORKSPACE   256

struct elsewhere {
	char name[SESSION_NAME_MAX + 1];
	char backend[ELSEWHERE_BACKEND];         /* "remote:big" */
	char backends[PATH_MAX];                 /* file that names the host; "": the default place */
	char sandbox[ELSEWHERE_SANDBOX_MAX + 1]; /* its id there: letters, digits, "-" and "_" */
	uint64_t lease_ms;                       /* after which the host ends it unless it is used */
	uint64_t started_ms, ends_ms;            /* since the epoch; it ends then also if it is used */
	uint64_t runs_until_ms;              /* up to which a detached program may run; 0: there is none */
	char workspace[ELSEWHERE_WORKSPACE]; /* the id of the workspace that the sandbox is; "": it is none */
	char policy[65];                     /* SHA-256 of the policy that was asked for */
};

/* Whether a text of a host can be the id of a sandbox or an execution. */
bool elsewhere_is_id(const char *text);
/* Take the name for a while. *ret_fd goes to elsewhere_release(). -1 with *err (CONFLICT: a session of this machine has it). */
int elsewhere_claim(const char *name, int *ret_fd, struct warder_error *err);
void elsewhere_release(const char *name, int *fd);
/* Write the file of a name that is claimed. policy: its JSON, or NULL. `lost`: the id of the sandbox whose place the one of *session takes; NULL: there was no
 * session. 0; 1: the session is not one with the sandbox `lost` any more, and the file is left alone; -1 with *err. */
int elsewhere_write(const struct elsewhere *session, const char *policy, const char *lost,
		    struct warder_error *err);
/* The JSON of the policy, heap. NULL with *err: the file has none, or cannot be read. */
char *elsewhere_read_policy(const char *name, struct warder_error *err);
/* 0; 1: no session of another machine has the name; -1 with *err, also if it cannot be known (INVALID_REQUEST: the name is not valid). */
int elsewhere_read(const char *name, struct elsewhere *ret, struct warder_error *err);
/* Whether the error is that the file is not valid. */
bool elsewhere_is_damaged(const struct warder_error *err);
/* A service of the kind e2b has ids for contexts, and no names. Give a context a name, or, with id NULL, forget the name. -1 with *err (CONFLICT: another
 * context has the name). */
int elsewhere_name_context(const char *session, const char *name, const char *id, struct warder_error *err);
/* The names that were given: a JSON object of ids by name, to be freed by json_free(). -1 with *err. */
int elsewhere_contexts(const char *session, struct json_value **ret, struct warder_error *err);
/* Say that a detached program may run up to that time, in ms since the epoch. -1 with *err. */
int elsewhere_keep_until(const char *session, uint64_t until_ms, struct warder_error *err);
/* Say that the sandbox is a workspace with that id. -1 with *err. */
int elsewhere_name_workspace(const char *session, const char *id, struct warder_error *err);
/* Remove the file if it names this sandbox; NULL: whatever it names. 0: it is gone, or there was none; 1: it names another sandbox; -1 with *err. */
int elsewhere_remove(const char *name, const char *sandbox, struct warder_error *err);
/* Call back with the name of each of them, until it returns another number than 0. That; -1 with *err. */
int elsewhere_each(int (*each)(void *context, const char *name), void *context, struct warder_error *err);
/* 0: the name is not of another machine; -1 with *err: it is (CONFLICT), or this cannot be known. */
int elsewhere_check_here(const char *name, struct warder_error *err);

#endif
