/*
 * command: what the words after "warder-store" do, and the flags between them. Private to cli/.
 *
 * A command is two words, "image import". Its row names the flags that it knows; a flag means the same in every command
 * that has it, and has one row of the table in options.c. Flags may stand before, between and after operands, until "--".
 */
#ifndef WARDER_STORE_CLI_COMMAND_H
#define WARDER_STORE_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Exit status when Warder itself refused or failed. */
#define EXIT_REFUSED 125

/* The store is an execution host's, whose sessions never get a workspace of it: sessions are not looked at.
 * Standard output gets an error as it is. */
#define FLAG_PRIVATE "--private"

#define OPTIONS_MAX 128 /* flags and operands of one command line, each */

/* What a command is asked for; points into the arguments. */
struct options {
	struct {
		const char *name;  /* "--name" */
		const char *value; /* NULL: a flag without one */
	} given[OPTIONS_MAX];
	size_t count;
	char *operands[OPTIONS_MAX + 1]; /* NULL-terminated */
	size_t operand_count;
	char **program; /* what follows "--", NULL-terminated; NULL: there is no "--" */
	bool help;
};

struct command {
	const char *group, *name; /* "image", "import" */
	const char
	    *flags; /* names of the flags that it knows, with blanks between; "*": every word is an operand */
	const char *operands; /* for the usage: "DIR|ARCHIVE"; NULL: none */
	size_t least, most;   /* how many operands it takes */
	const char
	    *summary; /* NULL: warder executes it for a command of its own, and the help does not list it */
	const char *details; /* more lines of help, or NULL */
	const char *example; /* works as printed, or NULL */
	/* Prints its result. 0; or another exit status of its own, such as 1 for "there is none"; -1 with *err. */
	int (*run)(const struct options *options, struct warder_error *err);
	/* What it looks for was stored before: where --store names no store, that is said, and none is made. */
	bool looks;
};

/* The tables of all groups, in the order of the help; NULL-terminated. Each ends with a row without a group. */
extern const struct command *const command_tables[];

extern const struct command checkpoint_commands[];
extern const struct command image_commands[];
extern const struct command events_commands[];
extern const struct command workspace_commands[];
extern const struct command artifact_commands[];
extern const struct command snapshot_commands[];

/* Read what follows the two words. -1 with *err (INVALID_REQUEST): flag, value and remedy. */
int options_parse(const struct command *command, char **argv, struct options *ret, struct warder_error *err);
/* The value of a flag that was given, the last if it was more than once; else NULL. */
const char *option(const struct options *options, const char *name);
/* The value at which a repeated flag was given for the nth time, from 0 on; NULL: not so often. */
const char *option_at(const struct options *options, const char *name, size_t n);
bool option_given(const struct options *options, const char *name);
/* A number of a flag, from `least` to `most`; `otherwise` if it was not given. -1 with *err. */
int option_number(const struct options *options, const char *name, long long least, long long most,
		  long long otherwise, long long *ret, struct warder_error *err);
/* Print the flags that a command knows, as --help shows them. */
void options_print(const struct command *command);

#endif
