/*
 * request: what a caller asks `warder tool` to do, as one JSON document.
 *
 *   {"id": "a1", "language": "python", "code": "print(input())", "stdin": "7\n", "timeoutSecs": 5}
 *
 * All members are in the table of request.c, and in warder(1). Decoding is strict: an unknown key or a value of another type is
 * refused, and the error names its place. Numbers that are only too large or too small are clamped, and `clamped` tells.
 *
 * Life: request_decode() -> request_narrow() makes the policy that it is to run under. What it holds is freed by the end of
 * the worker process that decoded it.
 * Pure; any thread.
 */
#ifndef WARDER_RUNTIME_TOOL_REQUEST_H
#define WARDER_RUNTIME_TOOL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/tool/context.h"
#include "runtime/tool/scopes.h"
#include "runtime/tool/snippet.h"

#define AGENT_REQUEST_MAX    ((size_t)32 << 20) /* bytes of a document */
#define AGENT_REQUEST_ID_MAX 200                /* of an id as JSON */
#define AGENT_REQUEST_DEPTH  64
#define AGENT_REQUEST_VALUES 1000000

#define REQUEST_TIMEOUT_US     30000000u /* where none is asked for */
#define REQUEST_TIMEOUT_MIN_US 1000000u
#define REQUEST_TIMEOUT_MAX_US 300000000u
#define REQUEST_ATTEMPTS_MAX   5
#define REQUEST_DELAY_MAX_US   10000000u
#define REQUEST_MAX_ARGS       1000
#define REQUEST_MAX_PATTERNS   64
#define REQUEST_MAX_SCOPES     100
#define REQUEST_MAX_IDENTITY   256
#define REQUEST_MAX_ATTEMPTS   2 /* of an invocation, where nothing is told */

enum request_clamp {
	REQUEST_CLAMP_TIMEOUT = 1,
	REQUEST_CLAMP_ATTEMPTS = 2,
	REQUEST_CLAMP_DELAY = 4,
	REQUEST_CLAMP_POLICY = 8, /* the wall time of its own policy, to the time that it has otherwise */
};

struct agent_request {
	struct snippet snippet;            /* first: see snippet.h */
	struct json_value *document;       /* owned; texts belong to it */
	char id[AGENT_REQUEST_ID_MAX + 1]; /* JSON; "null": none, or none that could be read */
	const char *standard_input;        /* or NULL */
	char *input;                       /* owned JSON; NULL: none */
	char **args;                       /* owned list; NULL: none */
	uint64_t timeout_us;               /* clamped */
	bool asks_timeout;
	const char *memory; /* as written; NULL: the policy's */
	char **collect;     /* owned list */
	size_t collect_count;
	bool has_collect;
	const char *preset; /* name of the policy that is asked for; NULL: none, or: */
	char *policy;       /* its document; owned */
	struct scopes scopes;
	bool has_scopes;
	unsigned attempts; /* clamped; at least 1 */
	uint64_t delay_us; /* clamped */
	bool last_line, check, function;
	struct context *context; /* owned; NULL: none was given */
	const char *invocation;  /* NULL: none */
	const char *backend;     /* NULL: the operator's */
	const char *identity;    /* of the requester, as the caller gave it; NULL: none */
	bool once;               /* the invocation must not have run before */
	unsigned max_attempts;   /* failures in a row of the invocation, after which it is not run */
	unsigned clamped;        /* enum request_clamp */
	char *
	    violations; /* owned; of request_narrow(): a JSON array of all that is more than its base; or NULL */
};

/* `len` bytes of text. -1 with *err (INVALID_REQUEST): then `id` is there if it could be read. */
int request_decode(const char *text, size_t len, struct agent_request *ret, struct warder_error *err);

/* The policy that it asks for, which must be within `base`: base itself or the one that it has, with its memory limit, and a wall
 * time that is the smaller of the request's and the policy's (then REQUEST_CLAMP_TIMEOUT is set in request->clamped). -1 with
 * *err (REJECTED, INVALID_REQUEST), whose field begins with "policy." where the document's own policy is to blame. */
int request_narrow(struct agent_request *request, const struct policy *base, struct policy *ret,
		   struct warder_error *err);

/* A workspace without a directory, as presets have it, becomes none: a request has none of its own. -1 with *err (INTERNAL). */
int request_drop_workspace(struct policy *policy, struct warder_error *err);

/* Write the members "clamped" and "timeoutSecs" of a result into the object that is open. */
void request_write_clamped(const struct agent_request *request, struct json_writer *w);

#endif
