/*
 * steps: turns a piece of code into command lines for a session. The caller runs them as executions, first the build and then the program.
 * This module starts and caches nothing. Other folders may include this header.
 *
 * Life: code_steps() -> make a directory and write the source into it as `file`; make `out` below it; execute argv[LANGUAGE_BUILD], if
 * there is one, and argv[LANGUAGE_RUN], with `environment` -> code_steps_done().
 */
#ifndef WARDER_RUNTIME_CODE_STEPS_H
#define WARDER_RUNTIME_CODE_STEPS_H

#include <stddef.h>

#include "base/error.h"
#include "policy/policy.h"
#include "runtime/code/languages.h"

#define CODE_STEPS_OUT "out"

struct code_steps {
	char file[256];               /* name of the source */
	char **argv[LANGUAGE_STAGES]; /* owned; NULL: no such stage */
	char **environment;           /* owned; "NAME=value" */
	int format; /* enum diagnostics_format of what its compiler writes to standard error */
};

/* `directory`: an absolute path in the session. args: of the program, or NULL. -1 with *err: UNSUPPORTED_LANGUAGE, also if the policy prevents
 * the session from building or executing it; REJECTED: the policy does not allow the language, or so much code. *ret is to be freed in any
 * case. */
int code_steps(const struct policy *policy, const char *language, const char *source, const char *directory,
	       char *const *args, struct code_steps *ret, struct warder_error *err);
/* Whether a session under this policy can run a language, which its view has. */
bool code_steps_can(const struct policy *policy, const struct languages *languages, const char *language);
/* A compiler that was asked for JSON writes its messages as JSON. Returns them as text for a person, which the caller frees; NULL if the
 * compiler wrote text, or if memory is short: show its messages unchanged. */
char *code_steps_render(const struct code_steps *steps, const char *text, size_t len);
void code_steps_done(struct code_steps *steps);

#endif
