/*
 * main: warder-store, the part of the command line that needs libraries: `warder` executes it for the commands of its tables.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "policy/policy.h"
#include "rootfs/rootfs.h"
#include "runtime/cli/term.h"
#include "runtime/library/result.h"
#include "store/cli/command.h"

#define COMMANDS_MAX 64 /* of one group */

const struct command *const command_tables[] = {
	checkpoint_commands, image_commands, events_commands, workspace_commands, snapshot_commands,
	artifact_commands,   NULL,
};

static const struct command *next_command(size_t *table, size_t *row)
{
	while (command_tables[*table]) {
		const struct command *command = &command_tables[*table][(*row)++];

		if (command->group)
			return command;
		(*table)++;
		*row = 0;
	}
	return NULL;
}

/* The commands of one group, or of all. */
static void print_commands(const char *group)
{
	const struct command *command;
	size_t table = 0, row = 0;
	char words[64];

	while ((command = next_command(&table, &row)) != NULL) {
		if (!command->summary || (group && strcmp(group, command->group) != 0))
			continue;
		snprintf(words, sizeof(words), "%s %s", command->group, command->name);
		printf("  ");
		term_print(TERM_TITLE, 26, words);
		printf("%s\n", command->summary);
	}
}

static int print_usage(const char *group)
{
	printf("usage: warder %s COMMAND [FLAG...] [ARGUMENT...]\n\n", group ? group : "GROUP");
	print_commands(group);
	if (group && strcmp(group, "workspace") == 0)
		printf(
		    "\nWith --backend remote:NAME, the commands create, run, list, put, write, read, stage, "
		    "collect\nand remove use a workspace on that host; \"man warder-workspace\" says "
		    "more.\n");
	printf("\n\"warder %s COMMAND --help\" shows more.\n", group ? group : "GROUP");
	return 0;
}

static int print_help(const struct command *command)
{
	/* "*": the flags are another command's, and stand behind its operand. */
	printf("usage: warder %s %s%s%s%s\n\n%s\n\n", command->group, command->name,
	       strcmp(command->flags, "*") == 0 ? "" : " [FLAG...]", command->operands ? " " : "",
	       command->operands ? command->operands : "", command->summary ? command->summary : "");
	options_print(command);
	if (command->details)
		printf("\n%s", command->details);
	if (command->example)
		printf("\nExample:\n  %s\n", command->example);
	return 0;
}

static bool is_group(const char *name)
{
	const struct command *command;
	size_t table = 0, row = 0;

	while ((command = next_command(&table, &row)) != NULL) {
		if (strcmp(command->group, name) == 0)
			return true;
	}
	return false;
}

static const struct command *find(const char *group, const char *name)
{
	const struct command *command;
	size_t table = 0, row = 0;

	while ((command = next_command(&table, &row)) != NULL) {
		if (strcmp(command->group, group) == 0 && strcmp(command->name, name) == 0)
			return command;
	}
	return NULL;
}

static int refuse(const struct options *options, const struct warder_error *err)
{
	const bool is_private = option_given(options, FLAG_PRIVATE);
	char *json = option_given(options, "--json") && !is_private ? result_error_json(err, NULL) : NULL;

	if (is_private)
		fwrite(err, sizeof(*err), 1, stdout);
	else if (json)
		puts(json);
	else
		term_error(err);
	free(json);
	return EXIT_REFUSED;
}

/* A store that the command line names, and that is not there. What the environment says is a place to be, like the default. */
static int check_store(const struct options *options, struct warder_error *err)
{
	const char *named = option(options, "--store");
	char path[ROOTFS_PRIVATE_DIR_MAX];

	if (!named)
		return 0;
	if (rootfs_store_path(named, "", path, err) != 0)
		return -1;
	if (access(path, F_OK) == 0 || errno != ENOENT)
		return 0;
	return error_set(err, WARDER_ERROR_NOT_FOUND, "--store",
			 "there is no store at %.200s; a command that stores something creates it", path);
}

static int dispatch(const struct command *command, char **argv)
{
	struct warder_error err = { 0 };
	struct options options;
	int status;

	if (options_parse(command, argv, &options, &err) != 0)
		return refuse(&options, &err);
	if (options.help)
		return print_help(command);
	if (command->looks && check_store(&options, &err) != 0)
		return refuse(&options, &err);
	status = command->run(&options, &err);
	return status < 0 ? refuse(&options, &err) : status;
}

static void refuse_command(const char *group, const char *name)
{
	const char *words[COMMANDS_MAX + 1] = { NULL };
	const struct command *command;
	size_t table = 0, row = 0, count = 0;
	const char *found;

	while (count < COMMANDS_MAX && (command = next_command(&table, &row)) != NULL) {
		if (command->summary && strcmp(command->group, group) == 0)
			words[count++] = command->name;
	}
	found = policy_meant(words, name);
	if (found)
		term_complain("unknown command %.64s; did you mean \"%s\"?", name, found);
	else
		term_complain("unknown command %.64s; \"warder %s --help\" lists them", name, group);
}

static int choose(char **argv)
{
	const struct command *command;

	if (argv[0] && (strcmp(argv[0], "--help") == 0 || (strcmp(argv[0], "help") == 0 && !argv[1])))
		return print_usage(NULL);
	if (argv[0] && strcmp(argv[0], "help") == 0)
		return print_usage(argv[1]);
	if (!argv[0] || !is_group(argv[0])) {
		term_complain("which command? \"warder --help\" lists them");
		return EXIT_REFUSED;
	}
	if (argv[1] && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return print_usage(argv[0]);
	command = argv[1] ? find(argv[0], argv[1]) : NULL;
	if (command)
		return dispatch(command, argv + 2);
	if (argv[1])
		refuse_command(argv[0], argv[1]);
	else
		term_complain("which command? \"warder %s --help\" lists them", argv[0]);
	return EXIT_REFUSED;
}

int main(int argc, char **argv)
{
	int status = choose(argc > 0 ? argv + 1 : argv);

	if ((fflush(stdout) != 0 || ferror(stdout)) && status == 0) {
		term_complain("standard output cannot be written: %s", strerror(errno));
		status = EXIT_REFUSED;
	}
	return status;
}
