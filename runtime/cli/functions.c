#include "runtime/cli/functions.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "runtime/library/result.h"

int function_commands_take(const struct args *args, struct function_commands *ret, struct warder_error *err)
{
	for (size_t i = 0; i < args->functions.count; i++) {
		const char *value = args->functions.items[i];
		const char *equals = strchr(value, '=');
		char *name;

		if (!equals || equals == value || !equals[1])
			return error_set(
			    err, WARDER_ERROR_INVALID_REQUEST, "--function-command",
			    "--function-command %.200s: write NAME=PROGRAM, such as lookup=./lookup", value);
		name = strndup(value, (size_t)(equals - value));
		if (!name)
			return error_no_memory(err, NULL);
		ret->rows[ret->count++] = (struct warder_function){ .name = name, .program = equals + 1 };
	}
	return 0;
}

void function_commands_done(struct function_commands *commands)
{
	for (size_t i = 0; i < commands->count; i++)
		free((char *)(uintptr_t)commands->rows[i].name);
	commands->count = 0;
}

int function_answers_open(const struct args *args, const struct policy *policy, struct function_answers *ret,
			  int *ret_fd, struct warder_error *err)
{
	struct function_commands commands = { 0 };
	int status;

	if (!args->functions.count)
		return 0;
	status = function_commands_take(args, &commands, err);
	if (status == 0)
		status = functions_open(&(struct library_functions){ .rows = commands.rows,
								     .count = commands.count,
								     .progress = args->progress },
					policy, &ret->functions, ret_fd, err);
	function_commands_done(&commands);
	return status;
}

void function_answers_started(struct function_answers *answers)
{
	if (answers->functions)
		functions_launched(answers->functions);
}

int function_answers_fd(const struct function_answers *answers)
{
	return answers->functions && !answers->silent ? functions_fd(answers->functions) : -1;
}

void function_answers_serve(struct function_answers *answers)
{
	if (answers->functions && !answers->silent)
		answers->silent = !functions_serve(answers->functions);
}

int function_answers_end(struct function_answers *answers, struct warder_result *result,
			 struct warder_error *err)
{
	function_answers_serve(answers); /* calls that the program made at its end count, too */
	return answers->functions ? result_end_functions(result, answers->functions, err) : 0;
}

void function_answers_done(struct function_answers *answers)
{
	functions_free(answers->functions);
	*answers = (struct function_answers){ 0 };
}
