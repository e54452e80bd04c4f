/*
 * execution_name: SESSION:ID, an execution in a session on another machine. So no command has to ask every host. Private to cli/.
 *
 * ID is NUMBER.MARK. The mark stands for the sandbox: in a new sandbox of the session, numbers begin again, and another program may have this one.
 */
#ifndef WARDER_RUNTIME_CLI_EXECUTION_NAME_H
#define WARDER_RUNTIME_CLI_EXECUTION_NAME_H

#include <stdbool.h>

#include "runtime/session/elsewhere.h"

#define EXECUTION_NAME_MARK 8 /* digits */
#define EXECUTION_NAME_SIZE (SESSION_NAME_MAX + ELSEWHERE_SANDBOX_MAX + EXECUTION_NAME_MARK + 3)

struct execution_name {
	char session[SESSION_NAME_MAX + 1];
	char id[ELSEWHERE_SANDBOX_MAX + 1]; /* as the host has it */
	char mark[EXECUTION_NAME_MARK + 1]; /* of the sandbox */
	char text[EXECUTION_NAME_SIZE];     /* the whole */
};

/* Whether a word has a colon: the ids of executions of this machine have none. */
bool execution_name_is(const char *word);
/* The name of the execution that the host of the session calls `id`. */
void execution_name_write(const struct elsewhere *session, const char *id, char ret[EXECUTION_NAME_SIZE]);
/* Say that the host did not extend the life of the sandbox for the time of the program. */
void execution_name_warn(const struct elsewhere *session, const char *name);
/* -1 with *err (INVALID_REQUEST): a part is not valid. */
int execution_name_take(const char *word, struct execution_name *ret, struct warder_error *err);
/* -1 with *err (NOT_FOUND): the session has another sandbox now than the one that the name was written for. */
int execution_name_check(const struct execution_name *name, const struct elsewhere *session,
			 struct warder_error *err);

#endif
