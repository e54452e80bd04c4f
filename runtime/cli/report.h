/*
 * report: a run that has started, its end, and what is told of it: exit status, messages, JSON, receipt. Private to cli/.
 *
 * Life: report_catch_signals(), report_open() -> launch -> report_wait(), or report_refuse() -> report_done(). One run at a time:
 * signals cancel the one that is waited for.
 */
#ifndef WARDER_RUNTIME_CLI_REPORT_H
#define WARDER_RUNTIME_CLI_REPORT_H

#include "runtime/cli/flags.h"
#include "runtime/cli/spool.h"
#include "runtime/warder.h"

struct report {
	const struct request *request;
	int receipt_dir_fd; /* owned; -1 without a receipt file */
	struct spool spool; /* of --artifacts store:, opened by report_spool() */
	int write_error;    /* errno of the write of the program's output that failed, or 0 */
};

void report_catch_signals(void);
/* -1 with *err: the receipt could not be written. */
int report_open(const struct request *request, struct report *ret, struct warder_error *err);
/* Open what --artifacts store: asks for, before anything is started. What the run is to be given as `spill`; NULL: nothing. -1 with *err. */
int report_spool(struct report *report, const struct warder_spill **ret, struct warder_error *err);
void report_done(struct report *report);
/* The run that a signal cancels; NULL: none. One that came before is acted on at once. */
void report_running(struct warder_run *run);
/* The same, as the callback of a call that runs several stages. */
void report_on_stage(void *context, const char *stage, struct warder_run *run);
/* Whether a signal came before anything was started; then a receipt says so. */
bool report_ended_early(struct report *report);
/* Wait for the run and tell of its end. Returns the exit status. */
int report_wait(struct report *report, struct warder_run *run);
/* Tell of an end. Returns the exit status. */
int report_finish(const struct report *report, struct warder_result *result);
/* Say on standard error how much output that was passed through its reader did not take. Whether there is any. */
bool report_dropped(const struct warder_result *result);
/* What the compilers said, on standard error. */
void report_build(const struct warder_result *result);
/* Tell of an error of Warder's own, in the receipt as well. Returns `status`. */
int report_refuse(const struct report *report, const struct warder_error *why, int status);
/* In the receipt alone: an older one must not pass for this run's. */
void report_refusal(const struct report *report, const struct warder_error *why);

#endif
