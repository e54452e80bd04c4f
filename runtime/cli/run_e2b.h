/*
 * run_e2b: a program on a service that speaks E2B's protocol. Private to cli/.
 *
 * Life: run_e2b_job() -> run_e2b_send() -> the result goes the way of any other. In a session, run_e2b_execute() does all of it.
 */
#ifndef WARDER_RUNTIME_CLI_RUN_E2B_H
#define WARDER_RUNTIME_CLI_RUN_E2B_H

#include "runtime/cli/remote_place.h"
#include "runtime/cli/report.h"
#include "runtime/library/preparation.h"

/* The job of `warder run` as warder-remote takes it: heap. NULL with *err. */
char *run_e2b_job(const struct args *args, struct warder_error *err);
/* Run a job: in a new sandbox (path "/v1/run"; keeping: NULL), or in one that is there, whose lease is kept. 0: *ret has the result.
 * -1 with *err: the program did not start. */
int run_e2b_send(const struct preparation *preparation, const struct policy *policy, const char *path,
		 const char *job, struct remote_keeping *keeping, struct warder_result **ret,
		 struct warder_error *err);
/* An execution in a session, with its report. Returns the exit status, or -1 with *err: nothing ran. */
int run_e2b_execute(struct report *report, struct remote_place *place, struct warder_error *err);
/* Start an execution in a session, leave it, and print its name. Returns 0, or -1 with *err. */
int run_e2b_detach(struct report *report, struct remote_place *place, struct warder_error *err);

#endif
