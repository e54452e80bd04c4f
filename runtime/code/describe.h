/*
 * describe: what a backend is, who may use it and what it can enforce here; for people, programs and models. Private to runtime/.
 *
 * Life: describe_open() probes the host once -> describe_backend() for each -> describe_close(). Starts nothing.
 */
#ifndef WARDER_RUNTIME_CODE_DESCRIBE_H
#define WARDER_RUNTIME_CODE_DESCRIBE_H

#include "backends/backend.h"
#include "base/json.h"

#define DESCRIBE_LANGUAGES_MAX 96

enum describe_state {
	DESCRIBE_AVAILABLE,
	DESCRIBE_OFF, /* the operator has not enabled it */
	DESCRIBE_UNAVAILABLE,
};

/* What an agent framework asks of an executor. */
enum describe_ability {
	DESCRIBE_STRUCTURED_OUTPUT,
	DESCRIBE_PROCESS_EXECUTION,
	DESCRIBE_PERSISTENT_WORKSPACE,
	DESCRIBE_INTERACTIVE_SESSIONS,
	DESCRIBE_STATEFUL,
	DESCRIBE_LONG_RUNNING,
	DESCRIBE_STREAMING,
	DESCRIBE_READ_ONLY_MOUNT,
	DESCRIBE_MAX_DISK_BYTES,
	DESCRIBE_ABILITY_COUNT,
};

struct describe {
	const struct policy *policy; /* borrowed */
	struct jail_host host;
	struct backend_settings settings;
	struct languages *languages; /* owned */
	bool in_session; /* code is meant that runs in a session, see steps.h; set by the caller */
};

struct description {
	const struct backend *backend;
	enum describe_state state;
	char why[400]; /* it is not available; or "" */
	size_t place;  /* in the order of auto, from 1; 0: auto never takes it */
	struct policy_capabilities capabilities;
	const char
	    *languages[DESCRIBE_LANGUAGES_MAX]; /* that it runs here, of those that the policy allows */
	size_t language_count;
};

/* `backends` and `cgroup_parent` as in preparation_options. -1 with *err, and nothing to close. */
int describe_open(const struct policy *policy, const char *backends, const char *cgroup_parent,
		  struct describe *ret, struct warder_error *err);
void describe_close(struct describe *describe);
void describe_backend(const struct describe *describe, const struct backend *backend,
		      struct description *ret);

/* "available", "off", "unavailable". */
const char *describe_state_name(enum describe_state state);
/* What it runs, in a few words. */
const char *describe_runs(const struct backend *backend);
/* "structuredOutput", ... */
const char *describe_ability_name(enum describe_ability ability);
/* For a backend that can start a program here; one that cannot has none of them. */
bool describe_has_ability(const struct backend *backend, const struct policy_capabilities *capabilities,
			  enum describe_ability ability);
/* The member "abilities": all false unless it `starts` a program here. Then neither pointer may be NULL. */
void describe_write_abilities(const struct backend *backend, const struct policy_capabilities *capabilities,
			      bool starts, struct json_writer *w);
/* One object. */
void describe_write(const struct description *description, struct json_writer *w);
/* A paragraph for a model: what the backend is, its languages, and the limits of the policy that it enforces. Heap; NULL without memory. */
char *describe_for_model(const struct describe *describe, const struct description *description);

#endif
