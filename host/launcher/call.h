/*
 * call: a request of the front while it is not answered, and what the files of calls share. Private to host/launcher/.
 */
#ifndef WARDER_HOST_LAUNCHER_CALL_H
#define WARDER_HOST_LAUNCHER_CALL_H

#include <stdatomic.h>

#include "base/json.h"
#include "host/launcher/host.h"
#include "runtime/warder.h"

struct policy;
struct repeat;
struct call;

/* Of a call whose launch is several jobs, one after the other. */
struct call_steps {
	/* Whether its tenant may have one more. -1 with *err, and 429 in the answer. */
	int (*admit)(const struct launcher *launcher, struct call *call, struct warder_error *err);
	/* In the main thread, after each job, and again and again while call->waits: whether it goes on. If so, another job was added, or it waits. */
	bool (*goes_on)(struct launcher *launcher, struct call *call);
	void (*release)(struct call *call); /* call->state */
};

/* A request, as long as it is not answered. */
struct call {
	struct job job;
	uint64_t number, generation; /* of the request; of the front that sent it */
	const char *name;            /* borrowed: for the log; NULL: it is not logged */
	uint64_t taken_us;           /* when it came */
	char tenant[TENANT_NAME_MAX + 1];
	char tenant_digest[SHA256_HEX]; /* of its token; or "" */
	bool is_event;                  /* for the tenant: event_logs.h */
	char sandbox[SANDBOX_ID_LENGTH + 1];
	struct link_answer answer;
	char *text; /* owned: what goes with the answer */
	int fd;     /* owned: what goes with the answer; or -1 */
	/* of jobs that start something */
	struct warder_policy *policy; /* owned */
	struct warder_policy
	    *base;   /* owned: the policy before it was narrowed, if it lists destinations; or NULL */
	char *rules; /* owned: JSON of the policy of a sandbox after the change */
	struct json_value *document; /* owned: the request */
	char *record;                /* owned */
	char *old_record;            /* owned: before a change that may fail */
	uint64_t paused_ms, ends_ms; /* of a sandbox after the change */
	const char *cause;           /* borrowed: of a program that has ended; or NULL */
	bool began;                  /* a program without a sandbox */
	uint64_t launch_us;          /* that its start took; 0: it did not start, or this is not measured */
	char *request;               /* owned: its text, as the client sent it */
	size_t request_len;
	bool must_claim;                  /* of a new sandbox: it ends, unless a client names it soon */
	uint64_t mcp_version;             /* of a message of a model's client: enum mcp_version */
	struct signing *signing;          /* borrowed, like the pool */
	struct warder_pool *pool;         /* borrowed: exists until all jobs are done */
	const char *program;              /* borrowed */
	struct session_parked *parked;    /* owned: that a new sandbox is made of; or NULL */
	int sandboxes_fd;                 /* borrowed */
	uint64_t memory_bytes, cpu_milli; /* that a run takes of its tenant's share */
	int artifacts_fd;                 /* borrowed, of a call that opens an artifact: the directory */
	struct artifact_spool *spool;     /* owned: of a run whose client wants artifacts; or NULL */
	atomic_bool cancelled;            /* its client is gone, or this host ends */
	struct call *next_run;
	uint64_t events_sent; /* of a follower of events: the number of the last one that it has got */
	bool events_gap;      /* of a follower: it misses events of an earlier launcher */
	char store[SNAPSHOT_STORE_MAX]; /* of a call about a snapshot: the tenant's; else "" */
	const char *stores;             /* borrowed: the path of all stores */
	struct snapshot
	    snapshot; /* that is made, removed or begun with: the launcher's own as it is for the job */
	struct snapshot *made;          /* the launcher's own */
	int snapshots_fd;               /* borrowed: the records */
	const struct call_steps *steps; /* constant; or NULL: there is one job */
	void *state;                    /* owned, by `steps` */
	bool waits;                     /* until its next job may begin */
	size_t sent;                    /* bytes of the text that were sent already */
	struct repeat *repeat; /* of a run with an idempotency key: it goes on without its client; or NULL */
};

struct context {
	struct launcher *launcher;
	const struct link_request *request;
	const struct tenant *tenant; /* of the key, or whose sandbox it is; NULL: a call without a key */
	struct sandbox *sandbox;     /* or NULL */
	int peer_fd;                 /* borrowed: of LINK_KEY_PEER; or -1 */
	const char *text;
	size_t len;
	const char *template_name; /* in the place of the one that the request names; or NULL */
};

#define NONCE_MAX       64               /* digits of what a client wants to be signed */
#define CALL_TIMEOUT_MS UINT64_C(300000) /* of a sandbox, unless the client names one */

/* ---- call.c ---- */

/* NULL: no memory. */
struct call *call_new(const struct context *context);
void call_free(struct call *call);
/* Answer and forget. status 0: the one of the error. err may be NULL. */
void call_answer(struct launcher *launcher, struct call *call, unsigned int status,
		 const struct warder_error *err);
/* Answer 200 with a text on the heap, which the call then owns. Returns 0; -1 with *err if text is NULL, because memory was missing. */
int call_say(const struct context *context, struct call *call, char *text, struct warder_error *err);
/* Send a part of the answer, which goes on. False: no memory; it was not sent. */
bool call_say_part(const struct launcher *launcher, const struct call *call, const char *text);
/* For struct job.finish: answer with what the job has put into the call. */
void call_finish(struct job *job, void *launcher);
/* The body as an object with no other members than the known ones (NULL-terminated), into call->document. -1 with *err. */
int call_parse(const struct context *context, struct call *call, const char *const *known,
	       struct warder_error *err);
/* The member "idempotencyKey"; *ret NULL: there is none. -1 with *err. */
int call_take_key(const struct json_value *document, const char **ret, struct warder_error *err);
/* 0 if it runs. -1 with *err; if it will run soon, the answer says when to try again. */
int call_need_running(const struct sandbox *sandbox, struct call *call, struct warder_error *err);
/* Set *err: another call changes the sandbox. Returns -1. */
int call_refuse_changing(const struct sandbox *sandbox, struct warder_error *err);
/* The call waits for a program: it is cancelled when its client is gone, until it is forgotten. */
void call_add_run(struct launcher *launcher, struct call *call);
void call_forget_run(struct launcher *launcher, const struct call *call);
/* Cancel the run of a request of that front. One with an idempotency key goes on. */
void call_cancel(struct launcher *launcher, uint64_t generation, uint64_t number);

/* ---- share.c ---- */

/* More than the tenant's share: 429, and when to try again. Returns -1 with *err. */
int call_refuse_share(struct call *call, unsigned int retry_s, struct warder_error *err, const char *field,
		      const char *what, uint64_t has, uint64_t most);
/* What a tenant's sandboxes and runs take at the moment. */
struct tenant_use call_use(const struct launcher *launcher, const char *tenant);
/* Whether the tenant may launch `policy` now. -1 with *err, and 429 in the answer. */
int call_admit(struct launcher *launcher, const struct tenant *tenant, const struct policy *policy,
	       bool sandbox, struct call *call, struct warder_error *err);
/* Whether the tenant may have one more call that leaves artifacts, without a launch. -1 with *err, and 429 in the answer. */
int call_admit_artifacts(const struct launcher *launcher, const struct tenant *tenant, struct call *call,
			 struct warder_error *err);
/* Count a launch of the tenant in this second. -1 with *err, and 429 in the answer: too many wait, or began in this second. */
int call_count_launch(struct launcher *launcher, const struct tenant *tenant, struct call *call,
		      struct warder_error *err);
/* One more launch of a tenant, which may have `most` in a second. False: not in this one. */
bool call_take_launch(struct launcher *launcher, const char *tenant, uint64_t most);
/* The front counts the requests of a tenant by a number, whichever of its keys they show. False: no memory. */
bool call_name_tenant(const struct context *context, struct call *call);

/* ---- grant.c ---- */

/* The policy that the document asks for, within the ceiling. -1 with *err. */
int call_choose_policy(const struct context *context, const struct json_value *document,
		       struct warder_policy **ret, struct warder_error *err);
int call_copy_policy(const struct warder_policy *policy, struct warder_policy **ret,
		     struct warder_error *err);
int call_parse_policy(const struct json_value *value, struct warder_policy **ret, struct warder_error *err);
/* The ceiling of a request that names a template: the tenant's; if the tenant has none, the host's; if the host has none, the template.
 * NULL with *err (NOT_FOUND: no template has this name). */
const struct warder_policy *call_ceiling(const struct context *context, const char *name,
					 struct warder_error *err);
/* The name of the template that a request is to have. */
const char *call_template(const struct context *context, const struct json_value *document);

/* ---- repeats.c ---- */

/* The idempotency key of a request. */
struct call_key {
	const char *key; /* the document's; NULL: there is none */
	char digest[SHA256_HEX];
};
/* Answer with what the same request was answered before. 0: it was not; 1: the call was answered; -1 with *err. */
int call_find_repeat(const struct context *context, struct call *call, struct call_key *ret,
		     struct warder_error *err);
/* The answer of this call is for requests that come later, too. -1 with *err. */
int call_begin_repeat(const struct context *context, struct call *call, const struct call_key *key,
		      struct warder_error *err);
/* The call has ended. If `happened`, later requests with its key get its answer. Otherwise nothing was done, and the key can be used again. */
void call_finish_repeat(struct launcher *launcher, struct call *call, bool happened);

/* ---- calls_health.c ---- */

/* Whether a probe launch hangs, so that nothing is launched. */
bool call_is_stuck(const struct launcher *launcher);
/* Set *err for that. Returns -1. */
int call_say_stuck(struct warder_error *err);
/* If so, answer those who wait for the probe. */
void call_answer_stuck(struct launcher *launcher);

/* ---- calls_run.c ---- */

/* Go on with those that wait for their next job. */
void call_continue_runs(struct launcher *launcher);
/* Admit a program without a sandbox, and queue it. With an idempotency key, it may be answered at once. -1 with *err. */
int call_launch(struct context *context, struct call *call, void (*work)(struct job *job),
		struct warder_error *err);
/* Wait for a run until its end, or until the call is cancelled; the result is the call's text then. The run is freed. -1 with *err. */
int call_wait(struct call *call, struct warder_run *run, struct warder_error *err);
/* Sign the text of a launch that has ended; `name` is that of the call. -1 with *err. */
int call_sign(struct call *call, const char *name, struct warder_error *err);

/* ---- calls_artifacts.c ---- */

/* What the call has left is its tenant's (good), or a job removes it. Nobody would know of artifacts whose client is gone. */
void call_take_artifacts(struct launcher *launcher, struct call *call, bool good);

/* ---- calls_sandboxes.c, calls_change.c ---- */

/* Queue a job that ends the sandbox, for the call. */
void call_begin_remove(struct launcher *launcher, struct sandbox *sandbox, struct call *call);
/* What the keeper of a sandbox says of it. *ret is for json_free(). -1 with *err. */
int call_describe_session(const char *id, struct json_value **ret, struct warder_error *err);

/* ---- calls_code.c ---- */

/* Code begins in the directory that has its files: not where a template begins programs, but where a policy of the client's own does. */
void call_begin_with_files(struct call *call);

/* ---- calls_events.c ---- */

/* Send followers what is new, a few times a second. Those whose token or front is gone are forgotten. */
void call_deliver_events(struct launcher *launcher);
/* Forget the follower with that generation and number, if there is one: its client is gone. */
void call_forget_follower(struct launcher *launcher, uint64_t generation, uint64_t number);

/* ---- calls_snapshots.c, for the creation of a sandbox ---- */

/* In a job: the files of call->snapshot, in a directory with which a session can begin. *ret_path is heap; *ret_fd holds the lock. -1 with *err. */
int call_unpack_snapshot(const struct call *call, char **ret_path, int *ret_fd, struct warder_error *err);
/* When a job that worked in a store has ended: if its tenant is gone, remove the store again. */
bool call_sweep_late(struct launcher *launcher, const struct call *call);
/* Begin to remove the stores of tenants that are gone, with `all` also what jobs that died have left in the others. One sweep at a time. */
void calls_sweep_stores(struct launcher *launcher, bool all);
/* The same, if there is a snapshot whose tenant is gone. */
void calls_sweep_orphans(struct launcher *launcher);
/* And remove that directory. */
void call_drop_unpacked(const struct call *call, int lock_fd);

/* ---- rows of the table in calls.c: answer the call, or queue a job that does. -1 with *err: nothing was done. ---- */

/* calls_health.c, calls_host.c */
int calls_health(struct context *context, struct call *call, struct warder_error *err);
int calls_who(struct context *context, struct call *call, struct warder_error *err);
int calls_host(struct context *context, struct call *call, struct warder_error *err);
int calls_controls(struct context *context, struct call *call, struct warder_error *err);
int calls_metrics(struct context *context, struct call *call, struct warder_error *err);
/* calls_create.c, calls_sandboxes.c */
int calls_create(struct context *context, struct call *call, struct warder_error *err);
int calls_list(struct context *context, struct call *call, struct warder_error *err);
int calls_show(struct context *context, struct call *call, struct warder_error *err);
int calls_open(struct context *context, struct call *call, struct warder_error *err);
int calls_result(struct context *context, struct call *call, struct warder_error *err);
int calls_remove(struct context *context, struct call *call, struct warder_error *err);
/* calls_change.c */
int calls_timeout(struct context *context, struct call *call, struct warder_error *err);
int calls_pause(struct context *context, struct call *call, struct warder_error *err);
int calls_resume(struct context *context, struct call *call, struct warder_error *err);
int calls_network(struct context *context, struct call *call, struct warder_error *err);
/* calls_run.c, calls_code.c */
int calls_run(struct context *context, struct call *call, struct warder_error *err);
int calls_code(struct context *context, struct call *call, struct warder_error *err);
int calls_judge(struct context *context, struct call *call, struct warder_error *err);
/* calls_policies.c, calls_mcp.c, calls_snapshots.c, calls_artifacts.c, calls_events.c */
int calls_policies(struct context *context, struct call *call, struct warder_error *err);
int calls_policy(struct context *context, struct call *call, struct warder_error *err);
int calls_mcp(struct context *context, struct call *call, struct warder_error *err);
int calls_store(struct context *context, struct call *call, struct warder_error *err);
int calls_snapshots(struct context *context, struct call *call, struct warder_error *err);
int calls_forget(struct context *context, struct call *call, struct warder_error *err);
int calls_artifacts(struct context *context, struct call *call, struct warder_error *err);
int calls_artifact(struct context *context, struct call *call, struct warder_error *err);
int calls_drop_artifact(struct context *context, struct call *call, struct warder_error *err);
int calls_keep(struct context *context, struct call *call, struct warder_error *err);
int calls_events(struct context *context, struct call *call, struct warder_error *err);

#endif
