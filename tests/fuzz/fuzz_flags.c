/*
 * flags: a command line, its arguments separated by NUL. What is accepted makes a policy that is valid and survives its own
 * document, or is refused by the rules for all policies; what is not has a reason. No file is read: arguments that name one
 * to start from, or a ceiling, are left out.
 */
#include "runtime/cli/args.h"
#include "tests/fuzz/input.h"

#define ARGUMENTS_MAX 24

static const enum flag_command commands[] = { FLAG_RUN, FLAG_EXPLAIN, FLAG_POLICY, FLAG_DOCTOR,
					      FLAG_COMPLETION };

static bool names_a_file(const char *argument)
{
	return strncmp(argument, "--policy", 8) == 0 || strncmp(argument, "--ceiling", 9) == 0 ||
	       strncmp(argument, "--preset", 8) == 0;
}

static void check_policy(const struct policy *policy)
{
	struct policy again = { 0 };
	struct warder_error err;
	char *text;

	if (policy_validate(policy, &err) < 0) {
		must(err.code != WARDER_ERROR_NONE && err.text[0]);
		return;
	}
	text = policy_encode(policy);
	must(text && policy_decode(text, strlen(text), "encoded", &again, &err) == 0);
	must(policy_equal(policy, &again));
	must(policy_check_ceiling(policy, &again, &err) == 0 ||
	     strstr(err.text, "names a target inside")); /* as which no ceiling serves */
	free(text);
	policy_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	const enum flag_command command = commands[input_byte(&input) % 5];
	char *arguments[ARGUMENTS_MAX + 1] = { NULL };
	char *owned[ARGUMENTS_MAX];
	struct args args;
	struct warder_error err = { 0 };
	size_t count = 0;

	while (input.left && count < ARGUMENTS_MAX) {
		arguments[count] = owned[count] = input_text(&input);
		if (names_a_file(arguments[count]))
			*arguments[count] = 'x';
		count++;
	}
	if (args_parse(command, arguments, &args, &err) == 0) {
		must(args.rest >= arguments && args.rest <= arguments + count);
		if (args_load(command, arguments, &args, &err) == 0)
			check_policy(&args.policy->policy);
		else
			must(err.code != WARDER_ERROR_NONE && err.text[0]);
	} else {
		must(err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0] && err.field[0]);
	}
	args_done(&args);
	for (size_t i = 0; i < count; i++)
		free(owned[i]);
	return 0;
}
