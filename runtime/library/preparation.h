/*
 * preparation: from a policy to the plan of a jail on this host. Private to runtime/.
 *
 * Life: zeroed -> preparation_build() -> the plan goes to jail_prepare(), or is shown by `warder explain` ->
 * preparation_done(). Needs no privilege and starts nothing.
 */
#ifndef WARDER_RUNTIME_LIBRARY_PREPARATION_H
#define WARDER_RUNTIME_LIBRARY_PREPARATION_H

#include <limits.h>
#include <stdbool.h>

#include "backends/backend.h"
#include "backends/remote.h"
#include "base/error.h"
#include "jail/jail.h"
#include "jail/session.h"
#include "policy/policy.h"

struct preparation {
	const struct backend *backend;          /* that was chosen, or the last that auto tried */
	char passed_over[BACKEND_PASSED_BYTES]; /* by auto: "local: why; crun: why", or "" */
	struct jail_host *host;                 /* owned; NULL: not probed */
	struct policy_capabilities capabilities;
	struct policy_match match;
	/* Where the backend is a host on another machine: its entry, and what `backend` points to. Then nothing is planned. */
	bool is_remote;
	struct backend_remote remote;
	struct backend remote_row;
	char remote_label[BACKEND_REMOTE_LABEL];
	const char *languages[2]; /* of the capabilities, where a subject was given */
	struct jail_plan plan;
	bool matched; /* backend, capabilities and match are filled */
	bool planned; /* plan is filled as well */
};

#define PREPARATION_BACKENDS "/etc/warder/backends.json"

/* Where a jail finds what was built for it. */
#define PREPARATION_PROGRAM "/code"

struct preparation_options {
	const struct policy *ceiling; /* or NULL */
	const char *cgroup_parent;    /* see cgroup_probe() */
	const char *backend;          /* a name, or "auto"; NULL: the default */
	const char
	    *backends; /* file of the operator's settings; NULL: PREPARATION_BACKENDS, if it is there */
	const struct policy
	    *asked; /* what the ceiling is held against, if the policy was changed since; or NULL */
	const struct policy_subject *subject; /* NULL: a program */
	const char
	    *program; /* host directory that the jail sees, read-only, as PREPARATION_PROGRAM; or NULL */
	uint64_t code_bytes; /* of the program text, for the receipt; 0: a program */
	bool builds_image;   /* the jail's user is 0 of the image */
	bool
	    zygote; /* the jail of a zygote, or one that a zygote of the same policy forks: jail_plan_zygote() */
	bool forked;
	const struct jail_joint *joint; /* of the session that is joined, by backend local; or NULL */
	const char *root;               /* there: rootfs_encode() of the session */
	uint64_t
	    rules; /* there: how often the session's rules were replaced before they were those of the policy */
	bool background; /* there: what the program leaves running stays */
	bool beside;     /* there: its cgroup is not below the session's, whose limits do not hold for it */
	char *const *environment; /* of the caller, NULL-terminated; NULL: this process's */
	bool passes_output;  /* the output goes on as it comes, and the policy's limits of it do not hold */
	uint64_t output_max; /* there: more on a stream ends the program; 0: no limit */
	bool launches;       /* the caller will launch: start slow parts early */
	bool any_subject;    /* without a subject: what the backend that is named has a place for */
	bool remotes;        /* the caller can run what is matched on another machine */
	bool thorough;       /* try also what a launch would find out by itself: where none follows */
};

/* Check, probe, match, plan; *ret is zeroed or empty. -1 with *err, of the ceiling before the host's; what was reached
 * stays in *ret, to be given to preparation_done() in any case. */
int preparation_build(const struct policy *policy, const struct preparation_options *options,
		      struct preparation *ret, struct warder_error *err);
/* What of a policy can be checked without a look at the host: its values, and the ceiling (NULL: there is none). -1 with *err. */
int preparation_check(const struct policy *policy, const struct policy *ceiling, struct warder_error *err);
/* The policy with its paths as symbolic links lead now; what does not exist stays as it is written. Only for what is said about a
 * refusal, or before a run: the paths may change meanwhile. -1 with *err. */
int preparation_follow(const struct policy *policy, struct policy *ret, struct warder_error *err);
/* Whether the choice of a backend may lead to another machine: "remote:NAME", or "auto" if the operator's order names a host. -1 with *err. */
int preparation_may_be_remote(const char *backend, const char *backends, bool *ret, struct warder_error *err);
/* The operator's document; `path` as `backends` in the options. */
int preparation_settings(const char *path, struct backend_settings *ret, struct warder_error *err);
/* Where the keys of hosts are that were trusted; `path` as above. Returns ret. */
const char *preparation_keys(const char *path, char ret[PATH_MAX]);
/* Whether a request may choose the backend `asked` (or auto) where who serves it has chosen `given` (NULL: nothing): 0; -1 with *err
 * (REJECTED, INVALID_REQUEST). A request can have what `auto` may take and what the operator has enabled, and nothing else than
 * `given` if that is one. `backends` as in the options. */
int preparation_check_choice(const char *asked, const char *given, const char *backends,
			     struct warder_error *err);
void preparation_done(struct preparation *preparation);

#endif
