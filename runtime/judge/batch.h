/*
 * batch: one program and the cases it is judged by, as one JSON document.
 *
 *   {"language": "c", "code": "...", "limits": {"timeout": "2s", "memory": "64MiB"}, "stopOnFirstFailure": true,
 *    "cases": [{"name": "small", "stdin": "1 2\n", "expected": "3\n", "compare": "tokens", "timeout": 1}]}
 *
 * All members are in the tables of batch.c, and in warder(1). Decoding is strict. Limits only narrow what the policy gives; a case's
 * own go before those of all.
 *
 * Life: batch_decode() -> batch_policy() for each case -> batch_free(), also after a failure. Pure; any thread.
 */
#ifndef WARDER_RUNTIME_JUDGE_BATCH_H
#define WARDER_RUNTIME_JUDGE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "runtime/judge/compare.h"
#include "runtime/judge/verdict.h"
#include "runtime/tool/snippet.h"

#define BATCH_MAX          ((size_t)32 << 20) /* bytes of a document */
#define BATCH_MAX_CASES    10000
#define BATCH_MAX_ARGS     1000
#define BATCH_MAX_PARALLEL 100
#define BATCH_MAX_VALUES   1000000
#define BATCH_NUMBER       24 /* bytes of the number of a case, as text */

/* As they are written in a policy; NULL: not named. */
struct batch_limits {
	const char *timeout, *cpu_time, *memory;
};

struct batch_case {
	const char *name;             /* NULL: only its number, from 1 */
	const char *input, *expected; /* texts; expected NULL: nothing is compared */
	char **args;                  /* owned list; NULL: none */
	struct compare_how how;
	bool has_how;
	struct batch_limits limits;
};

struct batch {
	struct snippet snippet;      /* first: see snippet.h */
	struct json_value *document; /* owned; texts belong to it */
	struct batch_limits limits;
	struct compare_how how;   /* of cases that do not name theirs; lines if nobody does */
	struct batch_case *cases; /* owned */
	size_t case_count;
	bool stop;
	unsigned parallel; /* 0: not named */
};

/* -1 with *err (INVALID_REQUEST); batch_free() is due all the same. */
int batch_decode(const char *text, size_t len, struct batch *ret, struct warder_error *err);
/* As batch_decode(), for a request of an execution host: it skips the members "template", "policy" and "idempotencyKey", which the host
 * reads itself. */
int batch_decode_hosted(const char *text, size_t len, struct batch *ret, struct warder_error *err);
void batch_free(struct batch *batch);
/* The name of a case, or its number from 1, which is put into buf. */
const char *batch_name(const struct batch *batch, size_t index, char buf[BATCH_NUMBER]);

/* The policy of case `index`, which must be within `base`. -1 with *err (REJECTED, INVALID_REQUEST), which names the case. */
int batch_policy(const struct batch *batch, size_t index, const struct policy *base, struct policy *ret,
		 struct warder_error *err);

/* Whether every case has such a policy, and whether the ports that `base` publishes can be those of cases of which `parallel` run at a time. -1 with
 * *err. */
int batch_check(const struct batch *batch, const struct policy *base, unsigned parallel,
		struct warder_error *err);

#endif
