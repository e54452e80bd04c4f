/*
 * verdict: what a judge says of a run. Private to agent/ and above; pure, any thread.
 */
#ifndef WARDER_RUNTIME_JUDGE_VERDICT_H
#define WARDER_RUNTIME_JUDGE_VERDICT_H

#include <stdbool.h>

#include "base/error.h"
#include "runtime/warder.h"

enum verdict {
	VERDICT_ACCEPTED,
	VERDICT_WRONG_ANSWER,
	VERDICT_TIME_LIMIT, /* wall time or CPU time */
	VERDICT_MEMORY_LIMIT,
	VERDICT_OUTPUT_LIMIT,  /* more on standard output than is kept */
	VERDICT_RUNTIME_ERROR, /* another exit status than 0, a signal, a limit that only refuses */
	VERDICT_SYSTEM_ERROR,  /* the host or Warder is to blame, and nothing is known of the program */
	VERDICT_COMPILE_ERROR,
	VERDICT_SKIPPED, /* not run, or not to its end */
	VERDICT_COUNT,
};

/* "accepted", "wrongAnswer", ... */
const char *verdict_name(enum verdict verdict);
/* Of a run whose output was `same` as the expected one, or not. How it ended goes before what it printed. */
enum verdict verdict_of(const struct warder_result *result, bool same);

#endif
