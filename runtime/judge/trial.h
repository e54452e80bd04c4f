/*
 * trial: one case, from what it asks of its run to the verdict. The caller runs the program. Private to runtime/ and above.
 *
 * What the program prints is compared as it comes, and not kept.
 *
 * Life: trial_init() -> trial_fill() and a run of the call -> trial_decide() -> trial_write() -> trial_done(), also after a failure. A trial is
 * used by one thread at a time, and must not be moved between trial_fill() and the end of the run.
 */
#ifndef WARDER_RUNTIME_JUDGE_TRIAL_H
#define WARDER_RUNTIME_JUDGE_TRIAL_H

#include "runtime/judge/score.h"

struct trial {
	const struct batch *batch;
	size_t index;
	struct compare compare;
	char said[400]; /* the last 200 to 400 bytes of standard error, or all of them if there are fewer */
	size_t said_len;
};

/* expected: of `len` bytes, which are copied. -1 with *err: no memory. */
int trial_init(const struct batch *batch, size_t index, const char *expected, size_t len, struct trial *ret,
	       struct warder_error *err);
/* Arguments, input and variables of the case, and on_output with the trial as its context. */
void trial_fill(struct trial *trial, struct warder_call *call);
/* The run ended with `result`; or it did not run (NULL), and *err says why. */
void trial_decide(struct trial *trial, const struct warder_result *result, const struct warder_error *err,
		  struct judged *ret);
/* Open the object of the case and write its members; the caller may add some, and closes it. */
void trial_write(const struct trial *trial, const struct judged *judged, const struct warder_result *result,
		 const struct warder_error *err, struct json_writer *w);
void trial_done(struct trial *trial);
/* The member "output" of such an object: how long the streams were, and where they are stored. */
void trial_write_output(const struct warder_result *result, struct json_writer *w);

/* The whole object of a case that has no result, and a cause instead. why: or NULL. */
void trial_write_without(const struct batch *batch, size_t index, enum verdict verdict, const char *cause,
			 const struct warder_error *why, struct json_writer *w);

#endif
