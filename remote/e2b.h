/*
 * e2b: one program in a sandbox of a service that speaks E2B's protocol. Private to remote/.
 *
 * The job is JSON: "argv" (at least one text), "env" (an object of texts), "cwd" (or null), "stdinBase64", "timeoutMs" (greater than 0; without
 * it 60 s), "internet", "graceMs", and "stdoutBytes" and "stderrBytes" (what is wanted of each, without them nothing). The result is JSON:
 * "cause", "exitCode", "signal", "stdout", "stderr", "detail", "startedAt", "durations", "left", a text about a sandbox that could not be
 * deleted, or null, and a "receipt" without rows.
 */
#ifndef WARDER_REMOTE_E2B_H
#define WARDER_REMOTE_E2B_H

#include "remote/service.h"

/* Catch SIGTERM and ignore SIGPIPE, for a call that has something to end before this process may: e2b_stopped() says whether SIGTERM came. */
void e2b_catch(void);
bool e2b_stopped(void);
/* Create a sandbox, run the job in it, and delete the sandbox in any case. SIGTERM ends the program early, with a result. *ret and *ret_body as of
 * exchange_perform(); the status 0 or an error of the service: the program did not start. */
void e2b_run(struct service *service, const char *job, size_t len, struct remote_answer *ret,
	     char **ret_body);
/* The same in a sandbox that is open and stays. SIGTERM goes on to the program, and SIGKILL follows after "graceMs". */
void e2b_execute(struct service *service, const char *job, size_t len, struct remote_answer *ret,
		 char **ret_body);
/* Start the job in a sandbox that is open, and leave it: the answer is an object with the "id" of the program. "input" true keeps the program's input
 * open. The service keeps the time limit. */
void e2b_start(struct service *service, const char *job, size_t len, struct remote_answer *ret,
	       char **ret_body);

#endif
