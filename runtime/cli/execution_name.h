/*
 * execution_name: SESSION:ID, an execution in a session on another machine. So no command has to ask every host. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_EXECUTION_NAME_H
#define WARDER_RUNTIME_CLI_EXECUTION_NAME_H

#include <stdbool.h>

#include "runtime/session/elsewhere.h"

#define EXECUTION_NAME_SIZE (SESSION_NAME_MAX + ELSEWHERE_SANDBOX_MAX + 2)

struct execution_name {
	char session[SESSION_NAME_MAX + 1];
	char id[ELSEWHERE_SANDBOX_MAX + 1]; /* as the host has it */
	char text[EXECUTION_NAME_SIZE];     /* the whole */
};

/* Whether a word has a colon: the ids of executions of this machine have none. */
bool execution_name_is(const char *word);
/* -1 with *err (INVALID_REQUEST): one of the two parts is not valid. */
int execution_name_take(const char *word, struct execution_name *ret, struct warder_error *err);

#endif
