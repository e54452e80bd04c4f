/*
 * sandboxes: the sandboxes of an execution host. Private to host/launcher/.
 *
 * A sandbox is a session whose name is the sandbox's id, and a record of the state directory, which says whose it is and when it ends. The
 * record is written before the session is started and removed when it is gone, so that a launcher that was killed leaves nothing that its
 * successor does not find.
 *
 * Life: sandbox_new() -> STARTING -> RUNNING -> ENDING -> sandboxes_end(); or sandboxes_remove() if it does not start. Main thread.
 */
#ifndef WARDER_HOST_LAUNCHER_SANDBOXES_H
#define WARDER_HOST_LAUNCHER_SANDBOXES_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sha256.h"
#include "policy/policy.h"
#include "host/launcher/tenants.h"
#include "host/link.h"
#include "runtime/warder.h"

#define SANDBOX_ID_LENGTH    20
#define SANDBOX_TOKEN_BYTES  45
#define SANDBOX_NAME_MAX     128                          /* of a template */
#define SANDBOX_LIFETIME_MS  (UINT64_C(24) * 3600 * 1000) /* at most, from its creation */
#define SANDBOX_CLAIM_MS     60000 /* in which a client must name a sandbox that needs a claim */
#define SANDBOX_METADATA_MAX 16384
#define SANDBOX_POLICY_MAX   131072 /* bytes of JSON: requests to a sandbox read its policy anew */
#define SANDBOX_KEY_MAX      128    /* of a client's idempotency key */
#define SANDBOX_ENDED_MAX    256 /* access tokens of ended sandboxes that are still told apart from wrong ones */

enum sandbox_state { SANDBOX_STARTING, SANDBOX_RUNNING, SANDBOX_ENDING };

struct sandbox {
	char id[SANDBOX_ID_LENGTH + 1];
	char tenant[TENANT_NAME_MAX + 1];
	char tenant_digest[SHA256_HEX]; /* of its token: another tenant of the same name is another one */
	char template_name[SANDBOX_NAME_MAX + 1];
	enum sandbox_state state;
	uint64_t created_ms, ends_ms; /* since the epoch */
	uint64_t claim_ms;            /* it ends then, unless a client names it before; 0: no client must */
	uint64_t paused_ms;           /* since when it is paused; 0: it is not */
	bool changing;    /* it is being paused or resumed, stored, or gets another end or other rules */
	bool changes_end; /* that change may move its end */
	uint64_t memory_bytes, cpu_milli, disk_bytes;
	char idempotency_key[SANDBOX_KEY_MAX + 1]; /* of the request that created it; or "" */
	char request_digest[SHA256_HEX];           /* of that request, if it had a key */
	char *policy;                              /* JSON */
	enum policy_network_mode network_mode;     /* of the policy */
	char *
	    base; /* JSON: the policy before a request narrowed its network, if it lists destinations; or NULL */
	char *metadata;                          /* a JSON object */
	char access_token[SANDBOX_TOKEN_BYTES];  /* for commands and files in it */
	char traffic_token[SANDBOX_TOKEN_BYTES]; /* for its ports */
	char access_digest[SHA256_HEX], traffic_digest[SHA256_HEX];
	int keeper_fd; /* a connection to its keeper, which ends with it; or -1 */
	uint64_t kind; /* of the stock; 0: of none */
	bool agent_used;
};

struct sandboxes {
	struct sandbox **items;
	size_t count;
	char ended[SANDBOX_ENDED_MAX][SHA256_HEX]; /* access digests of the last ones that ended */
	size_t next_ended;                         /* the place that the next one takes */
};

struct tenant_use {
	uint64_t sandboxes, memory_bytes, cpu_milli, spool_bytes;
	uint64_t artifact_bytes; /* of artifacts, and of runs that may leave some */
};

/* With id and tokens drawn, and in the list; it has no policy yet. NULL with *err. */
struct sandbox *sandbox_new(struct sandboxes *sandboxes, struct warder_error *err);
/* NULL: there is none. */
struct sandbox *sandboxes_find(const struct sandboxes *sandboxes, const char *id);
/* The one that a tenant's request with this key has created, or NULL. */
struct sandbox *sandboxes_of_key(const struct sandboxes *sandboxes, const struct tenant *tenant,
				 const char *key);
/* Whether it is this tenant's. */
bool sandbox_is_of(const struct sandbox *sandbox, const struct tenant *tenant);
/* Its tenant. NULL: the tenant is gone. */
const struct tenant *sandbox_owner(const struct tenants *tenants, const struct sandbox *sandbox);
/* Take it out of the list, and free it. */
void sandboxes_remove(struct sandboxes *sandboxes, struct sandbox *sandbox);
/* The same for one that has run: sandboxes_had() knows it from then on. */
void sandboxes_end(struct sandboxes *sandboxes, struct sandbox *sandbox);
/* Whether a sandbox with this access token's digest ended lately. */
bool sandboxes_had(const struct sandboxes *sandboxes, const char *access_digest);
void sandboxes_done(struct sandboxes *sandboxes);
/* What a tenant has at the moment. */
struct tenant_use sandboxes_use(const struct sandboxes *sandboxes, const char *tenant);
/* Of the session of a sandbox with this policy. Both are borrowed. */
struct warder_session_options sandbox_session_options(const struct warder_policy *policy,
						      const char *program);
/* Whether a sandbox can have a policy with this JSON (NULL: no memory). -1 with *err. */
int sandbox_check_policy(const char *json, struct warder_error *err);
/* The record, as JSON; heap, NULL on want of memory. */
char *sandbox_record(const struct sandbox *sandbox);
/* Put a sandbox into the list as its record says. -1 with *err. */
int sandboxes_adopt(struct sandboxes *sandboxes, const char *id, const char *record, struct sandbox **ret,
		    struct warder_error *err);
/* The sandbox for clients, as an object into an open place; with its tokens and its policy if `whole`. */
void sandbox_write(const struct sandbox *sandbox, bool whole, struct json_writer *w);
/* The whole as a text on the heap, or NULL without memory. */
char *sandbox_text(const struct sandbox *sandbox);

#endif
