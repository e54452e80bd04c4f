/*
 * backend: who runs a program, behind one policy, one validator, one request, one result and one receipt. The door of this folder.
 *
 * A backend is a row of a table. Life of a choice: backend_settings_parse() (the operator's) -> backend_find(), or for `auto` each of
 * backend_candidate() in the operator's order -> capabilities(): what it can enforce on this host, for policy_match() -> check() ->
 * jail_plan_build(), then shape(): the plan as this backend carries it out -> jail_prepare(), jail_launch(), jail_supervise(), as for
 * any plan -> clean() for what a crash left.
 *
 * What a backend adds to a plan is its starter (jail.h): who makes namespaces and root, and starts the jail's init there. All that
 * comes after is the same code for all of them, so that a limit, a cause or a row of the receipt cannot mean two things. A launch is
 * started and waited for in two calls, and a starter keeps its own state (`started`): one that works elsewhere has its place for a
 * lease there, which it renews until stop(), and for what it needs to find its init again.
 *
 * Constant data and pure functions but for capabilities(), check(), shape() and clean(), which look at this host; any thread.
 */
#ifndef WARDER_BACKENDS_BACKEND_H
#define WARDER_BACKENDS_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "jail/jail.h"
#include "jail/session.h"
#include "policy/policy.h"
#include "remote/remote.h"

#define BACKEND_AUTO         "auto"
#define BACKEND_COUNT_MAX    24 /* of the table and of the hosts together */
#define BACKEND_PASSED_BYTES 1024

#define BACKEND_REMOTES_MAX     8
#define BACKEND_REMOTE_NAME_MAX 20

struct backend;

/* An execution host on another machine, by the name that the operator gives it. */
struct backend_remote {
	char name[BACKEND_REMOTE_NAME_MAX + 1];
	char url[300];
	char token_file[512];           /* "", only of the kind e2b: the token is in the environment */
	char ca_file[512];              /* "": the authorities of the system */
	bool insecure;                  /* http to other machines */
	char host_key[REMOTE_KEY_TEXT]; /* that its answers must be signed with; "": none is trusted yet */
	bool key_given;                 /* by the document */
	bool e2b; /* a service that speaks E2B's protocol, which promises less, and signs nothing */
	char sandbox_url[300]; /* of its sandboxes; "": as the service says */
	char template[100];
	uint64_t execute_us; /* of the kind e2b: the wall time of a command, if nothing else names one */
	uint64_t idle_us;    /* the same: of a session */
};

/* What the operator decides. Zeroed: the order of the table, nothing enabled that is off by default. */
struct backend_settings {
	const struct backend *order[BACKEND_COUNT_MAX]; /* NULL at the end; none: the table's */
	bool enabled[BACKEND_COUNT_MAX]; /* by row of the table: those that are off by default */
	bool remote_enabled;
	struct backend_remote remotes[BACKEND_REMOTES_MAX];
	size_t remote_count;
};

/*
 * A place that stays between executions: files, and what runs in the background. Called by the process that keeps it (`session`: what
 * start() gave), whose end is the session's end; restarting is a stop and another start. A backend that works elsewhere keeps its lease
 * in `session`, renews it in wait(), and answers is_running() by asking there.
 */
struct backend_sessions {
	/* Takes what it needs out of the plan. It ends by itself after lifetime_us. -1 with *err: nothing is left. */
	int (*start)(struct jail_plan *plan, const struct jail_host *host, uint64_t lifetime_us, void **ret,
		     struct warder_error *err);
	bool (*is_running)(const void *session);
	/* Of one that was parked since its start: it is still as it was started. Before wait(), once. -1 with *err: it cannot be used. */
	int (*recheck)(void *session, struct warder_error *err);
	/* Supervise until it has ended; once, in a thread of its own. Its cause: cancelled, wallTime (its lifetime), or any other. */
	enum jail_cause (*wait)(void *session);
	/* Then: a sentence that names what does not die, and stays behind; "": nothing does. Borrowed. */
	const char *(*left)(const void *session);
	/* Tell it to end; any thread, any number of times. */
	void (*stop)(void *session);
	/* Everything is gone when it returns, except what `left` names. */
	void (*free)(void *session);
	/* Nobody executes just now: give back what ended executions have left. */
	void (*sweep)(const void *session);
	/* Stop everything that executes, or let it go on; nobody starts anything meanwhile. -1 with *err: nothing is stopped. */
	int (*freeze)(const void *session, bool frozen, struct warder_error *err);
	/* Its lifetime ends so much later. */
	void (*extend)(const void *session, uint64_t us);
	/* What all that executes in it uses, and has used. */
	void (*count)(const void *session, struct jail_counters *ret);
	const struct jail_joint *(*joint)(const void *session); /* what an execution on this host joins */
	const char *(*root)(const void *session);               /* rootfs_encode() of it */
	const struct policy_receipt *(*receipt)(const void *session);
	/* The rows of network.allow and network.deny become those of the policy, also for what executes already. Any thread, one at a time. -1 with *err. */
	int (*replace_rules)(void *session, const struct policy *policy, uint64_t *ret_since_us,
			     struct warder_error *err);
	/* Afterwards: the receipt describes them. */
	void (*rules_replaced)(void *session, const struct policy *policy, uint64_t since_us);
	/* Its network reaches nothing any more. */
	void (*end_network)(void *session);
};

/* What it has a place for. */
enum backend_runs {
	BACKEND_RUNS_ANYTHING, /* programs, and code in any language that the view has */
	BACKEND_RUNS_MODULES,  /* guest modules of WebAssembly */
	BACKEND_RUNS_NOTHING,  /* on this host */
};

/* A request to a model, as JSON. */
struct backend_model_request {
	const char *json;
	size_t len;
	const char *origin; /* names it in errors */
	const char *model;  /* where the request does not name one; or NULL */
};

struct backend {
	const char *name;
	const char *summary;  /* one line for people */
	const char *describe; /* a few sentences for a model that writes code for it */
	enum policy_isolation isolation;
	const char *
	    off; /* NULL; or why it is, unless the operator enables it: "isolates nothing". `auto` never takes it */
	enum backend_runs runs;
	/* What it can enforce here: a row per control, with mechanism or reason. */
	void (*capabilities)(const struct backend *backend, const struct jail_host *host,
			     const struct policy *policy, struct policy_capabilities *ret);
	/* Whether it could start anything at all: 0; -1 with *err (UNAVAILABLE, REJECTED). */
	int (*check)(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
		     struct warder_error *err);
	/* Make a plan of the policy this backend's. */
	int (*shape)(const struct backend *backend, const struct jail_host *host, struct jail_plan *plan,
		     struct warder_error *err);
	bool bare;           /* its programs have no root of their own: they see the files of the host */
	const char *program; /* a runtime's name; NULL: it needs none */
	const struct backend_sessions *sessions; /* NULL: nothing of it stays after a run */
	const char *layer; /* what keeps a program apart besides the controls, for the receipt; or NULL */
	/* Of an executor that is part of a model: the request to that model, with what lets it execute code. Heap; NULL with *err.
	 * NULL: it is none. */
	char *(*declare)(const struct backend *backend, const struct backend_model_request *request,
			 struct warder_error *err);
};

/* Row i; NULL past the end. */
const struct backend *backend_at(size_t i);
/* Whether it is a name that a backend or a host can have: 0; -1 with *err (INVALID_REQUEST). Whether there is that host is not looked at. */
int backend_check_name(const char *name, struct warder_error *err);
/* By name. NULL with *err (INVALID_REQUEST), which lists the names; of a host it says which commands use one. */
const struct backend *backend_find(const char *name, struct warder_error *err);
/* The i-th that `auto` may take, in the operator's order; NULL past the end. */
const struct backend *backend_candidate(const struct backend_settings *settings, size_t i);

/* {"order": ["local", "runc"], "enable": ["process", "remote"], "remote": {NAME: {...}}}: all may be left out. `origin` names the document in errors. 0; -1 with *err. */
int backend_settings_parse(const char *json, size_t len, const char *origin, struct backend_settings *ret,
			   struct warder_error *err);
/* 0, or -1 with *err (REJECTED): it is off, and the operator has not enabled it. */
int backend_check_enabled(const struct backend *backend, const struct backend_settings *settings,
			  struct warder_error *err);

/* 0, or -1 with *err (REJECTED): neither is it one that `auto` may take, nor has the operator enabled it. For who may choose only among
 * these. */
int backend_check_listed(const struct backend *backend, const struct backend_settings *settings,
			 struct warder_error *err);

#endif
