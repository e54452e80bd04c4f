/*
 * remote_request: what a run on another machine sends, and what comes back. Private to cli/.
 *
 * Life: json_begin_object(), remote_request_policy() and the others, json_end_object() -> remote_request_take() -> remote_request_send() ->
 * remote_request_finish().
 */
#ifndef WARDER_RUNTIME_CLI_REMOTE_REQUEST_H
#define WARDER_RUNTIME_CLI_REMOTE_REQUEST_H

#include <stdbool.h>

#include "base/json.h"
#include "runtime/cli/report.h"
#include "runtime/library/preparation.h"

/* A flag that needs the program on this machine. */
struct remote_request_flag {
	bool given;
	const char *name;
};

/* Refuse the first flag of the list that was given; a row without a name ends it. -1 with *err, which names the flag. */
int remote_request_check_flags(const struct remote_request_flag *flags, const char *backend,
			       struct warder_error *err);
/* Refuse --attach, --recreate and --on-recreate for a session of this machine. -1 with *err, which names the flag. */
int remote_request_refuse_flags(const struct args *args, struct warder_error *err);

/* A text, as a value or behind a key; `field` names it in an error. -1 with *err: it is not UTF-8. */
int remote_request_text(struct json_writer *w, const char *text, const char *field, struct warder_error *err);
/* A member with the texts of a list that ends with NULL. -1 with *err. */
int remote_request_texts(struct json_writer *w, const char *key, char *const *texts,
			 struct warder_error *err);
/* The members "policy" and "env": the variables that the program gets, with the values that this process has. -1 with *err. */
int remote_request_policy(struct json_writer *w, const struct policy *policy, struct warder_error *err);
/* The member "env" alone. -1 with *err. */
int remote_request_environment(struct json_writer *w, const struct policy *policy, struct warder_error *err);
/* A member "stdinBase64" with all that can be read from the descriptor; fd -1: no input. -1 with *err: it is too long, or a signal came. */
int remote_request_input(struct json_writer *w, int fd, struct warder_error *err);
/* The whole request; heap. NULL with *err: it is too long. */
char *remote_request_take(struct json_writer *w, struct warder_error *err);

/* Send it, and read the signed answer. call: "run" or "code", the end of the path and the name in the signature. 0: *ret has the result, which
 * says so if the answer was lost. 1, only for code: the host had nothing to run. -1 with *err: the host refuses, or never got the request. */
int remote_request_send(const struct preparation *preparation, const struct policy *policy, const char *call,
			const char *body, struct warder_result **ret, struct warder_error *err);
/* A result for an answer that was lost because of *why: it says that nothing is known about the program. NULL without memory. */
struct warder_result *remote_request_lost(const char *label, const struct warder_error *why);
/* Pass on the output, unless the result is printed as JSON, and report the end. passed_over: what `auto` did not take, and why, or "". Takes
 * the result. Returns the exit status. */
int remote_request_finish(struct report *report, const char *passed_over, struct warder_result *result);

#endif
