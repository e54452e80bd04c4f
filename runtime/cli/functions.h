/*
 * functions: the programs of --function-command, as the library takes them. Private to cli/.
 *
 * Life: function_commands_take() -> a launch with rows and count -> function_commands_done(). One thread.
 */
#ifndef WARDER_RUNTIME_CLI_FUNCTIONS_H
#define WARDER_RUNTIME_CLI_FUNCTIONS_H

#include "runtime/cli/flags.h"
#include "runtime/warder.h"

struct function_commands {
	struct warder_function
	    rows[REQUEST_LIST_MAX]; /* the names are heap, the programs borrowed of the arguments */
	size_t count;
};

/* *ret is zeroed. -1 with *err: a value is not NAME=PROGRAM. */
int function_commands_take(const struct args *args, struct function_commands *ret, struct warder_error *err);
void function_commands_done(struct function_commands *commands);

#endif
