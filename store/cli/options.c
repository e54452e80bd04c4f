/*
 * options: one row per flag of all commands.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store/cli/command.h"

/* Of a name the first row that a command has: one that is meant for some commands stands before the one for the others. */
static const struct option_row {
	const char *name, *argument, *help;
	const char *only; /* "checkpoint list, ..."; NULL: every command */
} rows[] = {
	{ "--store", "DIR", "where the store is (default: $WARDER_STORE, or the user's own place)" },
	{ "--json", NULL, "print one JSON document instead of a text" },
	{ "--id", "ID", "the id to give it (default: a new one)" },
	{ "--parent", "ID", "the checkpoint it follows (default: the head of the thread)" },
	{ "--metadata", "JSON", "an object to keep with it" },
	{ "--state", NULL, "print the state alone, as it was put" },
	{ "--with-state", NULL, "with the states (in JSON)" },
	{ "--limit", "N", "at most so many (default 100)", "checkpoint list, checkpoint history" },
	{ "--limit", "N", "at most so many (default: all)" },
	{ "--since", "TIME", "made at that time or later" },
	{ "--until", "TIME", "made at that time or earlier" },
	{ "--before", "VERSION", "older than that version" },
	{ "--after", "VERSION", "newer than that version", "checkpoint list" },
	{ "--after", "N", "only events with a higher number" },
	{ "--correlation", "ID", "the id of the task that the event belongs to" },
	{ "--topic", "TEXT", "the subject of the event" },
	{ "--producer", "NAME", "the sender" },
	{ "--consumer", "NAME", "the receiver (default: all)" },
	{ "--payload", "JSON", "any JSON value" },
	{ "--kind", "KIND", "needWork, workClaimed, workPublished, feedbackRequested, ..." },
	{ "--timeout", "TIME", "how long to wait, as in 30s (default: as long as it takes)" },
	{ "--project", "NAME", "the project of a new log (default: the last part of its path)" },
	{ "--session", "ID", "the session of a new log" },
	{ "--per-thread", "N", "keep the newest N checkpoints of each thread (default 100)" },
	{ "--max-age", "TIME", "delete checkpoints older than this (default 24h)" },
	{ "--max-bytes", "SIZE", "how large the file may grow (default 1GiB)" },
	{ "--format", "FORMAT", "oci, docker, tar or directory (default: detected)" },
	{ "--ref", "NAME", "which image of an archive that has several" },
	{ "--replace", NULL, "take the name in the archive, even from another image" },
	{ "--max-size", "SIZE", "size of all files together (default 64MiB)", "workspace collect" },
	{ "--max-size", "SIZE", "size of the content; the rest is not saved (default 16GiB)",
	  "artifact save, artifact take" },
	{ "--max-size", "SIZE", "size of all files together (default 16GiB)" },
	{ "--max-file-size", "SIZE", "size of one file (default 4MiB)", "workspace collect" },
	{ "--max-file-size", "SIZE", "size of one file (default 4GiB)" },
	{ "--file", "FILE", "the recipe (default: Dockerfile in the directory)" },
	{ "--build-arg", "NAME=VALUE", "the value of an ARG of the recipe" },
	{ "--allow", "HOST[:PORT]", "a host that the fetching jail may reach, too (repeatable)" },
	{ "--net", "none|host", "the network of RUN (default none)" },
	{ "--set", "FIELD=VALUE", "set a field of the policy for RUN" },
	{ "--max-files", "N", "at most so many files (default 100)", "workspace collect" },
	{ "--max-files", "N", "files, directories and links (default 1000000)" },
	{ "--mode", "MODE", "permissions of the file (default 644)" },
	{ "--to", "DIR", "a directory of the host to copy the files into", "workspace collect" },
	{ "--to", "PATH", "the place in the workspace (default: work/inputs/ and the last component)" },
	{ "--link", NULL, "do not copy: mount the host's file or directory, read-only" },
	{ "--read-only", NULL, "mount it read-only, so that no program can change it" },
	{ "--pin", NULL, "without a version, take the one that was staged there before" },
	{ "--save", NULL, "save each file as an artifact" },
	{ "--name-template", "PREFIX", "save, with this before the path: run-1/ makes run-1/out/a.txt" },
	{ "--strict", NULL, "save nothing if something would be cut off" },
	{ "--strip", "N", "remove so many components from the paths of a patch" },
	{ "--check", NULL, "only check whether it can be done" },
	{ "--flat", NULL, "only the entries of the directory itself" },
	{ "--keep", "N", "keep the newest N of each workspace" },
	{ "--keep-for", "TIME", "remove older ones, such as 168h" },
	{ "--wait", NULL, "wait until nothing runs" },
	{ "--type", "TYPE", "content type (default: by name and first bytes)" },
};

/* Whether a word is in a list of words with blanks between. */
static bool is_listed(const char *list, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)) != NULL; at += len) {
		if ((at == list || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	}
	return false;
}

/* A flag as a command has it; NULL: there is none of that name. */
static const struct option_row *find_row(const struct command *command, const char *name, size_t len)
{
	char words[64];

	snprintf(words, sizeof(words), "%s %s", command->group, command->name);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *only = rows[i].only ? strstr(rows[i].only, words) : words;

		if (strlen(rows[i].name) != len || strncmp(rows[i].name, name, len) != 0 || !only)
			continue;
		if (!rows[i].only || !only[strlen(words)] || only[strlen(words)] == ',')
			return &rows[i];
	}
	return NULL;
}

static int refuse_flag(const struct command *command, const char *flag, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag,
			 "\"warder %s %s\" has no such flag; \"warder %s %s --help\" lists its flags",
			 command->group, command->name, command->group, command->name);
}

/* One flag at *argv, which is left at the last argument that it takes. */
static int take_flag(const struct command *command, char ***argv, struct options *ret,
		     struct warder_error *err)
{
	const char *word = **argv, *equals = strchr(word, '=');
	const struct option_row *row =
	    find_row(command, word, equals ? (size_t)(equals - word) : strlen(word));
	const char *value = NULL;

	if (!row || !is_listed(command->flags, row->name))
		return refuse_flag(command, word, err);
	if (!row->argument && equals)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, row->name, "takes no value");
	if (row->argument && equals)
		value = equals + 1;
	else if (row->argument && !(value = *++*argv))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, row->name, "needs a value: %s %s",
				 row->name, row->argument);
	if (ret->count == OPTIONS_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, row->name, "there are more than %d flags",
				 OPTIONS_MAX);
	ret->given[ret->count].name = row->name;
	ret->given[ret->count++].value = value;
	return 0;
}

static int check_operands(const struct command *command, const struct options *options,
			  struct warder_error *err)
{
	if (options->operand_count >= command->least && options->operand_count <= command->most)
		return 0;
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST,
	    options->operand_count > command->most ? options->operands[command->most] : command->name,
	    "too %s arguments; write \"warder %s %s%s%s\"",
	    options->operand_count > command->most ? "many" : "few", command->group, command->name,
	    command->operands ? " " : "", command->operands ? command->operands : "");
}

int options_parse(const struct command *command, char **argv, struct options *ret, struct warder_error *err)
{
	/* What another program will read is left as it is. */
	const bool raw = strcmp(command->flags, "*") == 0;

	*ret = (struct options){ 0 };
	for (; *argv; argv++) {
		if (strcmp(*argv, "--") == 0) {
			ret->program = argv + 1;
			break;
		}
		if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0) {
			ret->help = true;
			return 0;
		}
		if (!raw && (*argv)[0] == '-' && (*argv)[1]) {
			if (take_flag(command, &argv, ret, err) != 0)
				return -1;
			continue;
		}
		if (ret->operand_count == OPTIONS_MAX)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, *argv,
					 "there are more than %d arguments", OPTIONS_MAX);
		ret->operands[ret->operand_count++] = *argv;
	}
	return check_operands(command, ret, err);
}

const char *option_at(const struct options *options, const char *name, size_t n)
{
	for (size_t i = 0; i < options->count; i++) {
		if (strcmp(options->given[i].name, name) == 0 && n-- == 0)
			return options->given[i].value;
	}
	return NULL;
}

const char *option(const struct options *options, const char *name)
{
	const char *value = NULL;

	for (size_t i = 0; i < options->count; i++) {
		if (strcmp(options->given[i].name, name) == 0)
			value = options->given[i].value;
	}
	return value;
}

bool option_given(const struct options *options, const char *name)
{
	for (size_t i = 0; i < options->count; i++) {
		if (strcmp(options->given[i].name, name) == 0)
			return true;
	}
	return false;
}

int option_number(const struct options *options, const char *name, long long least, long long most,
		  long long otherwise, long long *ret, struct warder_error *err)
{
	const char *text = option(options, name);
	char *end = NULL;

	*ret = otherwise;
	if (!text)
		return 0;
	errno = 0;
	*ret = strtoll(text, &end, 10);
	if (errno == 0 && end != text && !*end && *ret >= least && *ret <= most)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, name,
			 "\"%.40s\" is not a number from %lld to %lld", text, least, most);
}

void options_print(const struct command *command)
{
	char left[64];

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		if (!is_listed(command->flags, rows[i].name) ||
		    find_row(command, rows[i].name, strlen(rows[i].name)) != &rows[i])
			continue;
		snprintf(left, sizeof(left), "%s%s%s", rows[i].name, rows[i].argument ? " " : "",
			 rows[i].argument ? rows[i].argument : "");
		printf("  %-24s %s\n", left, rows[i].help);
	}
	printf("  %-24s %s\n", "--help", "print this help");
}
