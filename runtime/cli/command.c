/*
 * What commands share: how an error is reported, and the text that some of them read.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/config.h"
#include "runtime/cli/delegate.h"
#include "runtime/cli/term.h"
#include "runtime/cli/violations.h"
#include "runtime/library/result.h"
#include "runtime/text/blocks.h"

int command_refuse(const struct args *args, const struct warder_error *err, int status)
{
	struct warder_error told = *err;
	char *json, *violations;

	delegate_amend(args, &told);
	config_blame_field(args->config, &told);
	given_blame(&args->given, &told);
	if (!args->json) {
		term_error(&told);
		if (violations_explain(args, err))
			violations_print(args);
		return status;
	}
	violations = violations_json(args, err);
	json = result_error_json(&told, violations);
	free(violations);
	if (json) {
		file_write_all(STDOUT_FILENO, json, strlen(json));
		file_write_all(STDOUT_FILENO, "\n", 1);
	}
	free(json);
	return status;
}

int command_input(const struct args *args, char **ret_text, size_t *ret_len, struct warder_error *err)
{
	const char *path = args->rest[0] ? args->rest[0] : "-";

	if (args->rest[0] && args->rest[1])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, args->rest[1],
				 "%.80s is one file too many; give one", args->rest[1]);
	return file_read_most(path, AGENT_MAX_TEXT_BYTES, ret_text, ret_len, err);
}
