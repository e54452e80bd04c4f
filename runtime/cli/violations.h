/*
 * violations: all that a policy asks beyond the operator's ceiling. An error holds the first of it only. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_VIOLATIONS_H
#define WARDER_RUNTIME_CLI_VIOLATIONS_H

#include "runtime/cli/flags.h"

/* Call found() for each, also for those that only symbolic links have; the request has a policy and a ceiling. */
void violations_visit(const struct args *args,
		      void (*found)(void *context, const struct policy_violation *violation), void *context);
/* Whether *err is the ceiling's refusal of the request's policy; any other error has no list. */
bool violations_explain(const struct args *args, const struct warder_error *err);
/* Print a line on standard error for each violation after the first, which is *err. */
void violations_print(const struct args *args);
/* Write them as an array into a larger document. */
void violations_write(const struct args *args, struct json_writer *w);
/* The array "violations" of an error in JSON; heap. NULL if the ceiling is not the reason, or out of memory. */
char *violations_json(const struct args *args, const struct warder_error *err);

#endif
