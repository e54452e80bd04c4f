/*
 * remote: execution hosts on other machines. Private to backends/ and runtime/.
 *
 * A host is an entry of the operator's document, and is named "remote:NAME". It is no row of the table of backends: nothing of a plan applies
 * to it. What it shares with them is the policy, the validator and the match: its capabilities are those that it reports.
 *
 * Life: backend_settings_parse() -> backend_remote_find() -> backend_remote_check_policy() -> backend_remote_capabilities(), policy_match() ->
 * backend_remote_ask(). The last two start warder-remote and wait for it; any thread.
 */
#ifndef WARDER_BACKENDS_REMOTE_H
#define WARDER_BACKENDS_REMOTE_H

#include "backends/backend.h"
#include "base/json.h"
#include "remote/remote.h"

#define BACKEND_REMOTE_PREFIX "remote:"

/* "remote:big", in a buffer of BACKEND_REMOTE_LABEL bytes. Returns it. */
#define BACKEND_REMOTE_LABEL 32
char *backend_remote_label(const struct backend_remote *remote, char *buf);
/* Whether it has the form of such a name. */
bool backend_is_remote(const char *name);
/* Whether a candidate of the operator's order is a host; its entry, or NULL. */
const struct backend_remote *backend_remote_of(const struct backend_settings *settings,
					       const struct backend *candidate);
/* What stands for host i in the operator's order. */
const struct backend *backend_remote_row(size_t i);
/* By "remote:NAME". NULL with *err (REJECTED: remote hosts are off; INVALID_REQUEST, which lists the names). */
const struct backend_remote *backend_remote_find(const struct backend_settings *settings, const char *name,
						 struct warder_error *err);
/* Take the member "remote" of the operator's document. -1 with *err naming entry and member. */
int backend_remote_take(const struct json_value *entries, const char *origin, struct backend_settings *ret,
			struct warder_error *err);

/* Take the keys that were trusted, {"big": "ed25519:..."}, where the document gives none; a name that the document has not is passed over.
 * -1 with *err naming the member. */
int backend_remote_take_keys(const char *json, size_t len, const char *origin, struct backend_settings *ret,
			     struct warder_error *err);

/* Take what an entry of the kind "e2b" lacks from the environment: BACKEND_REMOTE_URL, BACKEND_REMOTE_KEY and BACKEND_REMOTE_TEMPLATE. Call it
 * before the entry is used. -1 with *err (INVALID_REQUEST), which names the member and the variable that are both missing, or not valid. */
#define BACKEND_REMOTE_URL      "E2B_API_URL"
#define BACKEND_REMOTE_KEY      "E2B_API_KEY"
#define BACKEND_REMOTE_TEMPLATE "CUBE_TEMPLATE_ID"
int backend_remote_complete(struct backend_remote *remote, struct warder_error *err);

/* Whether the policy needs something of this machine that another one cannot have: 0; -1 with *err (UNSUPPORTED_POLICY), which names the
 * field. */
int backend_remote_check_policy(const struct backend_remote *remote, const struct policy *policy,
				struct warder_error *err);

/* Whether a host of its kind can have `what` ("a context"), which is neither a program nor a session: 0; -1 with *err (UNSUPPORTED_POLICY). */
int backend_remote_check_kind(const struct backend_remote *remote, const char *what,
			      struct warder_error *err);
/* What the protocol of the kind "e2b" promises: the time limit. Nothing is asked. */
void backend_remote_promised(const struct backend_remote *remote, struct policy_capabilities *ret);

struct backend_remote_request {
	const char *path;    /* "/v1/run" */
	const char *method;  /* NULL: POST with a body, GET without one */
	const char *body;    /* JSON, or the bytes of a PUT; or NULL */
	size_t body_len;     /* of a PUT */
	bool large;          /* the answer may have REMOTE_RESULT_MAX bytes, like every answer to a POST */
	const char *accept;  /* the media type of the answer, or NULL */
	uint64_t timeout_ms; /* 0: none */
	const char *signs;   /* the call by its name in the signature, which the answer must have; or NULL */
	const char *nonce;   /* that is signed in place of the body; or NULL */
	bool any_key;        /* whichever key the host shows */
	bool terminal;       /* of backend_remote_open_terminal() */
	bool follow;         /* of backend_remote_open_output() */
	int (*should_stop)(void *context); /* asked when a signal came, and five times a second; or NULL */
	void *context;                     /* of should_stop */
};

/* Make one request. 0: *ret->status is one of 200 to 299, and *ret_body, which is the caller's, has ret->bytes and a NUL behind them.
 * -1 with *err. If the host refused, *err has the kind and the field of its answer: NOT_FOUND with the field "id" means that it does not
 * know the sandbox; sys_errno is then EBUSY if remote_answer_is_busy(). If no answer came, *err says
 * why; sys_errno is then ETIMEDOUT if the time was over, and ECONNREFUSED or ECONNRESET if another connection may bring one. ret->sent is true
 * if the host may have received the request. */
int backend_remote_ask(const struct backend_remote *remote, const struct backend_remote_request *request,
		       struct remote_answer *ret, char **ret_body, struct warder_error *err);
/* A connection to a terminal there. fd: a packet socket, which carries the pieces of remote.h; -1: there is none. */
struct backend_remote_terminal {
	pid_t pid;
	int fd;
};
/* Connect to the WebSocket of that path. *ret is for backend_remote_close_terminal(). should_stop: as above. -1 with *err, as above. */
int backend_remote_open_terminal(const struct backend_remote *remote, const char *path,
				 int (*should_stop)(void *context), struct backend_remote_terminal *ret,
				 struct warder_error *err);
/* The same for the output of an execution, and its input: on a host of the kind warder, the path ends in /output?stdout=N&stderr=N. */
int backend_remote_open_output(const struct backend_remote *remote, const char *path,
			       int (*should_stop)(void *context), struct backend_remote_terminal *ret,
			       struct warder_error *err);
void backend_remote_close_terminal(struct backend_remote_terminal *terminal);
/* The key that the host shows, after it has signed a nonce with it. Nothing is trusted by this. -1 with *err. */
int backend_remote_show_key(const struct backend_remote *remote, char ret[REMOTE_KEY_TEXT],
			    struct warder_error *err);
/* What the host says that it can enforce, signed with the key that is trusted. *ret_load: programs and sandboxes there for 1,000 processors;
 * UINT64_MAX if it does not say so. -1 with *err (REJECTED: no key is, or another one). */
int backend_remote_capabilities(const struct backend_remote *remote, struct policy_capabilities *ret,
				uint64_t *ret_load, struct warder_error *err);

#endif
