/*
 * completion: a script for bash out of the tables of commands and flags.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"

static void print_commands(void)
{
	for (size_t i = 0; command_at(i); i++)
		printf("%s%s", i ? " " : "", command_at(i)->name);
}

static void print_flags(enum flag_command command)
{
	const char *gap = "";

	for (size_t i = 0; flag_at(i); i++) {
		if (flag_at(i)->commands & (unsigned)command) {
			printf("%s%s", gap, flag_at(i)->name);
			gap = " ";
		}
	}
}

/* The subcommands of a command of warder-store: "image import|list [...]". */
static void print_subcommands(const struct command *command)
{
	const char *words = command->usage + strcspn(command->usage, " ");

	for (words += *words == ' '; *words && *words != ' '; words++)
		putchar(*words == '|' ? ' ' : *words);
}

static void print_presets(void)
{
	for (size_t i = 0; i < policy_preset_count(); i++)
		printf("%s%s", i ? " " : "", policy_preset_name(i));
}

static void print_fields(void)
{
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++)
		printf("%s%s", field ? " " : "", policy_field_path(field));
}

/* Flags whose value is a file or directory of the host. */
static void print_path_flags(void)
{
	static const char *const arguments[] = { "FILE", "PATH", "PATH[:/workspace/...]",
						 "DIR[:ro|:rw|:overlay]" };
	const char *gap = "";

	for (size_t i = 0; flag_at(i); i++) {
		for (size_t j = 0; flag_at(i)->argument && j < sizeof(arguments) / sizeof(arguments[0]);
		     j++) {
			if (strcmp(flag_at(i)->argument, arguments[j]) == 0 ||
			    (j == 0 && strcmp(flag_at(i)->name, "--dry-run") == 0)) {
				printf("%s%s", gap, flag_at(i)->name);
				gap = "|";
			}
		}
	}
}

static void print_bash(void)
{
	printf("# Completion of warder(1) for bash; printed by \"warder completion bash\".\n"
	       "_warder()\n{\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags= i\n"
	       "\tCOMPREPLY=()\n"
	       "\tif ((COMP_CWORD == 1)); then\n\t\tmapfile -t COMPREPLY < <(compgen -W '");
	print_commands();
	printf(" --help --version' -- \"$word\")\n\t\treturn\n\tfi\n"
	       "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	       "\t\t[[ ${COMP_WORDS[i]} == -- ]] && { mapfile -t COMPREPLY < <(compgen -A command -A file -- "
	       "\"$word\"); return; }\n"
	       "\tdone\n"
	       "\tcase $before in\n\t--preset) mapfile -t COMPREPLY < <(compgen -W '");
	print_presets();
	printf("' -- \"$word\"); return ;;\n\t--net) mapfile -t COMPREPLY < <(compgen -W 'none loopback "
	       "host' -- \"$word\"); return ;;\n"
	       "\t--as) mapfile -t COMPREPLY < <(compgen -W 'block inline text' -- \"$word\"); return ;;\n"
	       "\t--require|--prefer) mapfile -t COMPREPLY < <(compgen -W '");
	print_fields();
	printf("' -- \"$word\"); return ;;\n\t");
	print_path_flags();
	printf(") mapfile -t COMPREPLY < <(compgen -A file -- \"$word\"); return ;;\n\tesac\n\tcase "
	       "${COMP_WORDS[1]} in\n");
	for (size_t i = 0; command_at(i); i++) {
		printf("\t%s) flags='", command_at(i)->name);
		if (command_at(i)->run)
			print_flags(command_at(i)->flags);
		else
			print_subcommands(command_at(i));
		printf("%s' ;;\n", command_at(i)->flags == FLAG_POLICY    ? " check show"
				   : command_at(i)->flags == FLAG_CHANGES ? " show commit drop"
				   : command_at(i)->flags == FLAG_SESSION_ANY
				       ? " start exec list status stop restart"
				       : "");
	}
	printf("\tesac\n"
	       "\tmapfile -t COMPREPLY < <(compgen -W \"$flags\" -A file -- \"$word\")\n"
	       "}\n"
	       "complete -F _warder warder\n");
}

int completion_command(struct request *request, char **argv)
{
	if (!request->rest[0] || strcmp(request->rest[0], "bash") != 0 || request->rest[1]) {
		term_complain("write \"warder completion bash\"");
		return EXIT_REFUSED;
	}
	print_bash();
	return 0;
}
