/*
 * flags_help: the flags of a command, as its help shows them. A command of several words, such as `warder session start` and
 * `warder session exec`, has a list for each set of words that have the same flags.
 */
#include <stdio.h>

#include "base/array.h"
#include "runtime/cli/flags.h"
#include "runtime/cli/term.h"

/* The words of the commands that have several; FLAG_CONTEXT stands for words without flags of their own, and so does FLAG_SESSION
 * except for one. */
static const struct {
	uint64_t command;
	const char *name;
} words[] = {
	{ FLAG_SESSION_START, "start" },   { FLAG_SESSION, "stop" },
	{ FLAG_SESSION_EXEC, "exec" },     { FLAG_SESSION_FILES, "read, write, list, cp, patch" },
	{ FLAG_CONTEXT_CREATE, "create" }, { FLAG_CONTEXT_RUN, "run" },
	{ FLAG_CONTEXT_FORK, "fork" },
};

static void print_heading(uint64_t command, uint64_t shared)
{
	const char *gap = " ";

	if (shared == command) {
		printf("Flags of all these commands:\n");
		return;
	}
	printf("Flags of");
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		if (!(words[i].command & shared))
			continue;
		printf("%s%s", gap, words[i].name);
		gap = ", ";
	}
	printf(":\n");
}

static void print_flag(const struct flag *flag)
{
	char left[64];

	snprintf(left, sizeof(left), "  %s%.1s%s%s %s", flag->letter ? "-" : "", &flag->letter,
		 flag->letter ? ", " : "", flag->name, flag->argument ? flag->argument : "");
	term_print(TERM_PLAIN, 28, left);
	printf(" %s", flag->help);
	if (flag->many)
		printf(" (repeatable)");
	if (flag->path)
		printf(" (%s)", flag->path);
	putchar('\n');
}

/* Whether a row before row `end` belongs to the same words of the command. */
static bool is_printed(uint64_t command, uint64_t shared, size_t end)
{
	for (size_t i = 0; i < end; i++)
		if ((flag_at(i)->commands & command) == shared)
			return true;
	return false;
}

void flags_print(enum flag_command command)
{
	const bool has_words = (command & (command - 1)) != 0;
	const char *gap = "";

	for (size_t i = 0; flag_at(i); i++) {
		const uint64_t shared = flag_at(i)->commands & (uint64_t)command;

		if (!shared || is_printed(command, shared, i))
			continue;
		printf("%s", gap);
		if (has_words)
			print_heading(command, shared);
		for (size_t j = i; flag_at(j); j++)
			if ((flag_at(j)->commands & (uint64_t)command) == shared)
				print_flag(flag_at(j));
		gap = "\n";
	}
}
