/*
 * e2b: one program in a new sandbox of a service that speaks E2B's protocol. Private to remote/.
 *
 * The job is JSON: "argv" (at least one text), "env" (an object of texts), "cwd" (or null), "stdinBase64", "timeoutMs" (greater than 0),
 * "internet", "stdoutBytes" and "stderrBytes" (what is wanted of each). The result is JSON: "cause", "exitCode", "signal", "stdout", "stderr",
 * "detail", "startedAt", "durations", "left", a text about a
 * sandbox that could not be deleted, or null, and a "receipt" without rows.
 */
#ifndef WARDER_REMOTE_E2B_H
#define WARDER_REMOTE_E2B_H

#include "remote/service.h"

/* Create a sandbox, run the job in it, and delete the sandbox in any case. SIGTERM ends the program early, with a result. *ret and *ret_body as of
 * exchange_perform(); the status 0 or an error of the service: the program did not start. */
void e2b_run(struct service *service, const char *job, size_t len, struct remote_answer *ret,
	     char **ret_body);

#endif
