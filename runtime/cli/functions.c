#include "runtime/cli/functions.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

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
