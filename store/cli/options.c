/*
 * options: one row per flag of all commands.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "policy/policy.h"
#include "store/cli/command.h"

/* Of a name the first row that a command has: one that is meant for some commands stands before the one for the others. */
static const struct option_row {
	const char *name, *argument;
	const char *help; /* NULL: for the execution host, and in no help */
	const char *only; /* "checkpoint list, ..."; NULL: every command */
} rows[] = {
	{ "--store", "DIR",
	  "the directory of the store (default: $WARDER_STORE, else /var/lib/warder for root, "
	  "~/.local/share/warder for others)" },
	{ "--json", NULL, "print JSON instead of text" },
	{ "--id", "ID", "the id of the new checkpoint (default: Warder makes one)" },
	{ "--parent", "ID", "the checkpoint before the new one (default: the newest of the thread)" },
	{ "--metadata", "JSON", "a JSON object to store with the checkpoint" },
	{ "--state", NULL, "print only the state, exactly as it was stored" },
	{ "--with-state", NULL, "with --json: include the states" },
	{ "--limit", "N", "print at most N checkpoints (default: 100)",
	  "checkpoint list, checkpoint history" },
	{ "--limit", "N", "no effect: wait prints one event", "events wait" },
	{ "--limit", "N", "end after N events (default: no end)", "events follow" },
	{ "--limit", "N", "print at most N events (default: all)" },
	{ "--since", "TIME", "only checkpoints made at that time or later" },
	{ "--until", "TIME", "only checkpoints made at that time or earlier" },
	{ "--before", "VERSION", "only checkpoints with a lower version" },
	{ "--after", "VERSION", "only checkpoints with a higher version", "checkpoint list" },
	{ "--after", "N", "only events with a higher number" },
	{ "--correlation", "ID", "the id of the task that the event belongs to" },
	{ "--topic", "TEXT", "the subject of the event" },
	{ "--producer", "NAME", "the sender" },
	{ "--consumer", "NAME", "the receiver (default: all)" },
	{ "--payload", "JSON", "any JSON value" },
	{ "--kind", "KIND", "only events of this kind, such as needWork or workPublished" },
	{ "--timeout", "TIME", "wait at most this long, such as 30s (default: without limit)" },
	{ "--project", "NAME", "the project name of a new log (default: the last part of its path)" },
	{ "--session", "ID", "a session id that a new log records" },
	{ "--per-thread", "N", "set: keep the newest N checkpoints of each thread (a new store: 100)" },
	{ "--max-age", "TIME", "set: remove checkpoints older than this (a new store: 24h)" },
	{ "--max-bytes", "SIZE", "set: the largest size of the database file (a new store: 1GiB)" },
	{ "--format", "FORMAT", "oci, docker, tar or directory (default: detected)" },
	{ "--ref", "NAME", "the image to take from an archive that has several" },
	{ "--replace", NULL, "replace an image that has the name recorded in the archive" },
	{ "--max-size", "SIZE", "collect at most SIZE of all files together (default: 64MiB)",
	  "workspace collect" },
	{ "--max-size", "SIZE", "save no content that is larger than SIZE (default: 16GiB)",
	  "artifact save, artifact take" },
	{ "--max-size", "SIZE", "refuse more than SIZE of all files together (default: 16GiB)" },
	{ "--max-file-size", "SIZE", "collect at most SIZE of each file (default: 4MiB)",
	  "workspace collect" },
	{ "--max-file-size", "SIZE", "refuse a file larger than SIZE (default: 4GiB)" },
	{ "--file", "FILE", "the recipe (default: DIR/Dockerfile)" },
	{ "--build-arg", "NAME=VALUE", "the value of an ARG of the recipe" },
	{ "--allow", "HOST[:PORT]", "let the jail of skopeo also reach this host (repeatable)" },
	{ "--net", "none|host", "the network of RUN commands (default: none)" },
	{ "--set", "FIELD=VALUE", "set a field of the policy of RUN commands" },
	{ "--max-files", "N", "collect at most N files (default: 100)", "workspace collect" },
	{ "--max-files", "N", "refuse more than N files, directories and links (default: 1000000)" },
	{ "--mode", "MODE", "the permissions of the file (default: 644)" },
	{ "--to", "DIR", "a directory of the host to copy the files into", "workspace collect" },
	{ "--to", "PATH", "the path in the workspace (default: work/inputs/ and the last part of FROM)" },
	{ "--link", NULL, "do not copy: mount the host's original, read-only" },
	{ "--read-only", NULL, "mount the copy read-only, so that no program can change it" },
	{ "--pin", NULL, "if FROM names no version, take the version that was staged last at this path" },
	{ "--save", NULL, "save each file as an artifact" },
	{ "--name-template", "PREFIX",
	  "as --save, with PREFIX before each name: run-1/ makes run-1/out/a.txt" },
	{ "--strict", NULL, "save nothing if a file would be cut off or not saved" },
	{ "--strip", "N", "remove the first N components from each path of the patch" },
	{ "--check", NULL, "only check whether the patch applies" },
	{ "--flat", NULL, "do not list the content of subdirectories" },
	{ "--keep", "N", "keep only the newest N snapshots of each workspace" },
	{ "--keep-for", "TIME", "remove snapshots older than TIME, such as 168h" },
	{ "--wait", NULL, "wait until no program runs in the workspace" },
	{ "--snapshot", NULL,
	  "store a snapshot of the workspace when the program has ended, and print its id" },
	{ "--keep-workspace", NULL, "do not remove the workspace at the end, and print its id" },
	{ "--type", "TYPE", "the content type (default: from the name and the first bytes)" },
	{ FLAG_PRIVATE, NULL, NULL },
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
	const char *words[OPTIONS_MAX + 1] = { NULL };
	const char *found;
	size_t count = 0;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(flag, "="), flag);
	for (size_t i = 0; i < ARRAY_LENGTH(rows) && count < OPTIONS_MAX; i++)
		if (rows[i].help && is_listed(command->flags, rows[i].name))
			words[count++] = rows[i].name;
	found = policy_meant(words, name);
	if (found)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag,
				 "\"warder %s %s\" has no such flag; did you mean \"%s\"?", command->group,
				 command->name, found);
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
		if (!rows[i].help || !is_listed(command->flags, rows[i].name) ||
		    find_row(command, rows[i].name, strlen(rows[i].name)) != &rows[i])
			continue;
		snprintf(left, sizeof(left), "%s%s%s", rows[i].name, rows[i].argument ? " " : "",
			 rows[i].argument ? rows[i].argument : "");
		printf("  %-24s %s\n", left, rows[i].help);
	}
	printf("  %-24s %s\n", "--help", "print this help");
}
