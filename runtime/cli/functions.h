/*
 * functions: the programs of --function-command, as the library takes them, and the answers to a program that the keeper of a session
 * supervises. Private to cli/.
 *
 * Life: function_commands_take() -> a launch with rows and count -> function_commands_done(). Or function_answers_open() -> the program's end
 * goes to the keeper -> function_answers_started() -> function_answers_serve(), whenever function_answers_fd() is readable ->
 * function_answers_end() with the result -> function_answers_done(). One thread.
 */
#ifndef WARDER_RUNTIME_CLI_FUNCTIONS_H
#define WARDER_RUNTIME_CLI_FUNCTIONS_H

#include "runtime/cli/flags.h"
#include "runtime/library/functions.h"
#include "runtime/warder.h"

struct function_commands {
	struct warder_function
	    rows[REQUEST_LIST_MAX]; /* the names are heap, the programs borrowed of the arguments */
	size_t count;
};

/* *ret is zeroed. -1 with *err: a value is not NAME=PROGRAM. */
int function_commands_take(const struct args *args, struct function_commands *ret, struct warder_error *err);
void function_commands_done(struct function_commands *commands);

struct function_answers {
	struct functions *functions; /* NULL: none */
	bool silent;                 /* nothing more comes of the program */
};

/* *ret is zeroed, and stays so without --function-command. *ret_fd: the program's end, which stays open until function_answers_started().
 * -1 with *err. */
int function_answers_open(const struct args *args, const struct policy *policy, struct function_answers *ret,
			  int *ret_fd, struct warder_error *err);
void function_answers_started(struct function_answers *answers);
/* -1: there is nothing to wait for. */
int function_answers_fd(const struct function_answers *answers);
void function_answers_serve(struct function_answers *answers);
/* The counts go into the result of the program, which has ended. -1 with *err: no memory. */
int function_answers_end(struct function_answers *answers, struct warder_result *result,
			 struct warder_error *err);
void function_answers_done(struct function_answers *answers);

#endif
