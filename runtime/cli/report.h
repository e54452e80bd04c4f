/*
 * report: a run that has started, its end, and what is told of it: exit status, messages, JSON, receipt. Private to cli/.
 *
 * Life: report_catch_signals(), report_open() -> launch -> report_wait(), or report_refuse() -> report_done(). One run at a time:
 * signals cancel the one that is waited for.
 */
#ifndef WARDER_RUNTIME_CLI_REPORT_H
#define WARDER_RUNTIME_CLI_REPORT_H

#include "backends/backend.h"
#include "runtime/cli/audit.h"
#include "runtime/cli/flags.h"
#include "runtime/cli/spool.h"
#include "runtime/warder.h"

struct learned;

struct report {
	const struct args *args;
	int receipt_dir_fd; /* owned; -1 without a receipt file */
	struct spool spool; /* of --artifacts store:, opened by report_spool() */
	struct audit audit; /* of --audit, opened by report_audit() */
	/* Run the program again under the learned policy, and note how that went; NULL: do not. */
	void (*replay)(struct report *report, struct learned *learned);
	char passed_over[BACKEND_PASSED_BYTES]; /* where auto chose before the launch did; or "" */
	const char *service;                    /* served_word(), where the service was tried; or NULL */
	int write_error; /* errno of the write of the program's output that failed, or 0 */
};

void report_catch_signals(void);
/* -1 with *err: the receipt could not be written. */
int report_open(const struct args *args, struct report *ret, struct warder_error *err);
/* Open what --artifacts store: asks for, before anything is started. What the run is to be given as `spill`; NULL: nothing. -1 with *err. */
int report_spool(struct report *report, const struct warder_spill **ret, struct warder_error *err);
/* Open the file of --audit, before anything is started; once. which: the command; session: the name of its session, or NULL. -1 with *err. */
int report_audit(struct report *report, const char *which, const char *session, struct warder_error *err);
void report_done(struct report *report);
/* The run that a signal cancels; NULL: none. One that came before is acted on at once. */
void report_running(struct warder_run *run);
/* The same of a run of the service's; -1: none. A signal leaves its program the grace. */
void report_serving(uint64_t grace_us, int service_fd);
/* The same of an execution that the keeper of its session supervises; NULL: none. The grace is that of report_grace(). */
struct session_run;
void report_owned(struct session_run *run);
void report_grace(uint64_t grace_us);
/* Put what --artifacts store: keeps of the run into the store. report_result() does that, too, unless it is done. */
void report_keep(struct report *report, struct warder_result *result);
/* Tell the result, which it frees. Returns the exit status. */
int report_result(struct report *report, struct warder_result *result);
/* Print the ports of the host that Warder picked for the rows of network.publish with the host port 0. */
void report_ports(const struct args *args, const struct warder_run *run);
/* Call the program, print the ports that Warder picked, and wait for its end; meanwhile signals go to it. *ret is the caller's. -1
 * with *err. */
int report_call(const struct args *args, struct warder_program *program, const struct warder_call *call,
		struct warder_result **ret, struct warder_error *err);
/* The same, as the callback of a call that runs several stages. */
void report_on_stage(void *context, const char *stage, struct warder_run *run);
/* Whether a signal came before anything was started; then a receipt says so. */
bool report_ended_early(struct report *report);
/* What shows the lines of --progress: for a command or a call; NULL where nobody looks at standard error. */
void (*report_progress(const struct report *report))(void *context, const char *line);
/* Wait for the run and tell of its end. Returns the exit status. */
int report_wait(struct report *report, struct warder_run *run);
/* The members of the line that are known before the run, for a keeper that writes it: JSON, heap. NULL: no audit file, or no memory. */
char *report_audit_head(const struct report *report);
/* Report the end of a check or a build that is not followed by a run, because it failed or nothing else was asked for. Takes the result; NULL:
 * nothing had to run. Returns the exit status. */
int report_built(struct report *report, struct warder_result *result, bool failed);
/* The exit status for an end. write_error: as in struct report. */
int report_exit_status(const struct jail_outcome *outcome, int write_error);
/* Say on standard error how much output that was passed through its reader did not take. Whether there is any. */
bool report_dropped(const struct warder_result *result);
/* What the compilers said, on standard error. */
void report_build(const struct warder_result *result);
/* Tell of an error of Warder's own, in the receipt as well. Returns `status`. */
int report_refuse(struct report *report, const struct warder_error *why, int status);
/* In the receipt and the audit file alone: an older receipt must not pass for this run's. */
void report_refusal(struct report *report, const struct warder_error *why);

#endif
