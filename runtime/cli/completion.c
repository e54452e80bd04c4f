/*
 * completion: scripts for bash, zsh and fish out of the tables of commands and flags.
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"

static void print_commands(const struct command *commands)
{
	for (const struct command *command = commands; command->name; command++)
		printf("%s%s", command > commands ? " " : "", command->name);
}

/* Whether a command has the flag of row i, and has not had an earlier row of the same name. */
static bool is_new(enum flag_command command, size_t i)
{
	return flag_find(command, flag_at(i)->name) == flag_at(i);
}

static void print_flags(enum flag_command command)
{
	const char *gap = "";

	for (size_t i = 0; flag_at(i); i++) {
		if (is_new(command, i)) {
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

static void print_modes(void)
{
	for (enum policy_network_mode mode = 0; mode <= POLICY_NETWORK_HOST; mode++)
		printf("%s%s", mode ? " " : "", policy_network_mode_name(mode));
}

static void print_fields(void)
{
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++)
		printf("%s%s", field ? " " : "", policy_field_path(field));
}

/* Flags whose value is a file or directory of the host. */
static void print_path_flags(void)
{
	static const char *const arguments[] = { "FILE", "SRC[:/DST]", "DIR[:ro|:rw|:overlay]" };
	const char *gap = "";

	for (size_t i = 0; flag_at(i); i++) {
		for (size_t j = 0; flag_at(i)->argument && j < ARRAY_LENGTH(arguments); j++) {
			if (strcmp(flag_at(i)->argument, arguments[j]) == 0 ||
			    (j == 0 && strcmp(flag_at(i)->name, "--dry-run") == 0)) {
				printf("%s%s", gap, flag_at(i)->name);
				gap = "|";
			}
		}
	}
}

/* Words of a command besides its flags. */
static const char *words_of(const struct command *command)
{
	switch ((uint64_t)command->flags) {
	case FLAG_POLICY:
		return "check show ceiling";
	case FLAG_CHANGES:
		return "show commit drop";
	case FLAG_SESSION_ANY:
		return "start exec list status stop restart pause resume extend read write cp patch copy "
		       "changes";
	case FLAG_CONTEXT_ANY:
		return "create list run interrupt restart fork describe delete";
	case FLAG_BACKEND:
		return "list describe declare trust";
	case FLAG_COMPLETION:
		return "bash zsh fish";
	}
	return "";
}

static void print_bash(const struct command *commands)
{
	printf("# Completion of warder(1) for bash; printed by \"warder completion bash\".\n"
	       "_warder()\n{\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags= i\n"
	       "\tCOMPREPLY=()\n"
	       "\tif ((COMP_CWORD == 1)); then\n\t\tmapfile -t COMPREPLY < <(compgen -W '");
	print_commands(commands);
	printf(" --help --version' -- \"$word\")\n\t\treturn\n\tfi\n"
	       "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	       "\t\t[[ ${COMP_WORDS[i]} == -- ]] && { mapfile -t COMPREPLY < <(compgen -A command -A file -- "
	       "\"$word\"); return; }\n"
	       "\tdone\n"
	       "\tcase $before in\n\t--preset) mapfile -t COMPREPLY < <(compgen -W '");
	print_presets();
	printf("' -- \"$word\"); return ;;\n\t--net) mapfile -t COMPREPLY < <(compgen -W '");
	print_modes();
	printf("' -- \"$word\"); return ;;\n"
	       "\t--as) mapfile -t COMPREPLY < <(compgen -W 'block inline text' -- \"$word\"); return ;;\n"
	       "\t--require|--prefer) mapfile -t COMPREPLY < <(compgen -W '");
	print_fields();
	printf("' -- \"$word\"); return ;;\n\t");
	print_path_flags();
	printf(") mapfile -t COMPREPLY < <(compgen -A file -- \"$word\"); return ;;\n\tesac\n\tcase "
	       "${COMP_WORDS[1]} in\n");
	for (const struct command *command = commands; command->name; command++) {
		printf("\t%s) flags='", command->name);
		if (command->run)
			print_flags(command->flags);
		else
			print_subcommands(command);
		printf("%s%s' ;;\n", *words_of(command) ? " " : "", words_of(command));
	}
	printf("\tesac\n"
	       "\tmapfile -t COMPREPLY < <(compgen -W \"$flags\" -A file -- \"$word\")\n"
	       "}\n"
	       "complete -F _warder warder\n");
}

/* Between single quotes, a backslash in front of each special character. */
static void print_quoted(const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'') {
			printf("'\\''");
			continue;
		}
		if (strchr(special, *text))
			putchar('\\');
		putchar(*text);
	}
}

static bool takes_path(const struct flag *flag)
{
	return flag->argument &&
	       (strncmp(flag->argument, "FILE", 4) == 0 || strncmp(flag->argument, "DIR", 3) == 0 ||
		strncmp(flag->argument, "PATH", 4) == 0 || strncmp(flag->argument, "SRC", 3) == 0);
}

/* The values of a flag that are known. Whether there are any. */
static bool print_values(const struct flag *flag)
{
	if (strcmp(flag->name, "--preset") == 0)
		print_presets();
	else if (strcmp(flag->name, "--require") == 0 || strcmp(flag->name, "--prefer") == 0)
		print_fields();
	else if (strcmp(flag->name, "--net") == 0)
		print_modes();
	else if (strcmp(flag->name, "--as") == 0)
		printf("block inline text");
	else
		return false;
	return true;
}

static bool has_values(const struct flag *flag)
{
	static const char *const names[] = { "--preset", "--require", "--prefer", "--net", "--as" };

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		if (strcmp(flag->name, names[i]) == 0)
			return true;
	}
	return false;
}

/* One specification of _arguments for each name of the flag. */
static void print_zsh_flag(const struct flag *flag)
{
	for (int form = 0; form < (flag->letter ? 2 : 1); form++) {
		printf("\t\t\t'%s", flag->many ? "*" : "");
		if (form)
			printf("-%c", flag->letter);
		else
			printf("%s", flag->name);
		putchar('[');
		print_quoted(flag->help, "[]:\\");
		putchar(']');
		if (flag->argument) {
			putchar(':');
			print_quoted(flag->argument, "[]:\\");
			printf(":");
			if (has_values(flag)) {
				printf("(");
				print_values(flag);
				printf(")");
			} else if (takes_path(flag)) {
				printf("_files");
			}
			if (flag->two)
				printf(":END: ");
		}
		printf("' \\\n");
	}
}

static void print_zsh(const struct command *commands)
{
	printf("#compdef warder\n# Completion of warder(1) for zsh; printed by \"warder completion zsh\".\n"
	       "_warder()\n{\n\tif ((CURRENT == 2)); then\n\t\tlocal -a commands=(\n");
	for (const struct command *command = commands; command->name; command++) {
		printf("\t\t\t'%s:", command->name);
		print_quoted(command->summary, ":\\");
		printf("'\n");
	}
	printf("\t\t)\n\t\t_describe command commands\n\t\treturn\n\tfi\n\tcase $words[2] in\n");
	for (const struct command *command = commands; command->name; command++) {
		printf("\t%s)\n\t\t_arguments -s \\\n", command->name);
		for (size_t j = 0; command->run && flag_at(j); j++) {
			if (is_new(command->flags, j))
				print_zsh_flag(flag_at(j));
		}
		printf("\t\t\t'1:command:' \\\n\t\t\t'*:argument:{ compadd -- ");
		printf("%s", words_of(command));
		if (!command->run)
			print_subcommands(command);
		printf("; _files }'\n\t\t;;\n");
	}
	printf("\tesac\n}\n_warder \"$@\"\n");
}

static void print_fish_flag(const struct command *command, const struct flag *flag)
{
	printf("complete -c warder -n '__fish_seen_subcommand_from %s' -l %s", command->name, flag->name + 2);
	if (flag->letter)
		printf(" -s %c", flag->letter);
	if (flag->argument)
		printf(" -r");
	if (takes_path(flag))
		printf(" -F");
	if (has_values(flag)) {
		printf(" -f -a '");
		print_values(flag);
		printf("'");
	}
	printf(" -d '");
	print_quoted(flag->help, "\\");
	printf("'\n");
}

static void print_fish(const struct command *commands)
{
	printf("# Completion of warder(1) for fish; printed by \"warder completion fish\".\n");
	for (const struct command *command = commands; command->name; command++) {
		printf("complete -c warder -n __fish_use_subcommand -f -a %s -d '", command->name);
		print_quoted(command->summary, "\\");
		printf("'\n");
		if (!command->run || *words_of(command)) {
			printf("complete -c warder -n '__fish_seen_subcommand_from %s' -a '%s", command->name,
			       words_of(command));
			if (!command->run)
				print_subcommands(command);
			printf("'\n");
		}
		for (size_t j = 0; command->run && flag_at(j); j++) {
			if (is_new(command->flags, j))
				print_fish_flag(command, flag_at(j));
		}
	}
}

int completion_print(const struct command *commands, const struct args *args)
{
	static const struct {
		const char *name;
		void (*print)(const struct command *commands);
	} shells[] = { { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };

	for (size_t i = 0; args->rest[0] && !args->rest[1] && i < ARRAY_LENGTH(shells); i++) {
		if (strcmp(shells[i].name, args->rest[0]) == 0) {
			shells[i].print(commands);
			return 0;
		}
	}
	term_complain("write \"warder completion bash\", zsh or fish");
	return EXIT_REFUSED;
}
