/*
 * changes: what a run would have changed in a directory: shown, committed, dropped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "runtime/cli/changes_text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"
#include "rootfs/changes/changes.h"
#include "runtime/library/changes.h"

static int show(const struct args *args, struct warder_changes *changes, char **patterns,
		struct warder_error *err)
{
	const struct changes_selection selection = { .patterns = (const char *const *)patterns,
						     .count = args->changes.pattern_count };
	char *json;

	if (!args->json) {
		changes_print(stdout, changes_of(changes), &selection);
		if (args->changes.diff)
			changes_print_diffs(stdout, changes, &selection);
		return 0;
	}
	json = warder_changes_json(changes);
	if (!json)
		return error_no_memory(err, NULL);
	puts(json);
	free(json);
	return 0;
}

/* What the host does not get of what was committed. */
static void tell_lost(const struct changes *changes, const struct changes_selection *selection)
{
	size_t linked = 0, attributes = 0, other = 0;

	for (size_t i = 0; i < changes->count; i++) {
		const struct changes_item *item = &changes->items[i];

		if (item->kind == CHANGE_REMOVED || !changes_selects(selection, item))
			continue;
		linked += item->linked;
		attributes += item->attributes;
		other += item->type == CHANGE_OTHER;
	}
	if (linked)
		term_complain("%zu hard-linked names are now files of their own", linked);
	if (attributes)
		term_complain("extended attributes of %zu files and directories are not kept", attributes);
	if (other)
		term_complain("%zu sockets, pipes or devices are not kept", other);
}

static int commit(const struct args *args, struct warder_changes *changes, char **patterns,
		  struct warder_error *err)
{
	const struct warder_selection selection = { .size = sizeof(selection),
						    .patterns = (const char *const *)patterns,
						    .pattern_count = args->changes.pattern_count,
						    .force = args->changes.force };
	size_t count = 0;

	if (warder_changes_commit(changes, &selection, &count, err) != 0) {
		if (count)
			term_complain("%zu of the changes were made before", count);
		return -1;
	}
	printf("%zu change%s made in %s\n", count, count == 1 ? "" : "s", changes_of(changes)->directory);
	tell_lost(changes_of(changes), &(struct changes_selection){ .patterns = selection.patterns,
								    .count = selection.pattern_count });
	return 0;
}

static int drop(const struct args *args, struct warder_changes *changes, char **patterns,
		struct warder_error *err)
{
	if (*patterns)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "changes",
				 "a set is dropped as a whole; commit the paths that you want to keep first");
	return warder_changes_drop(changes, err);
}

static const struct verb {
	const char *name;
	int (*run)(const struct args *args, struct warder_changes *changes, char **patterns,
		   struct warder_error *err);
} verbs[] = {
	{ "show", show },
	{ "commit", commit },
	{ "drop", drop },
};

static const struct verb *find(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LENGTH(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

int changes_command(struct args *args, char **argv)
{
	const struct verb *verb = find(args->rest[0]);
	struct warder_changes *changes = NULL;
	struct warder_error err = { 0 };
	int status;

	if (!verb || !args->rest[1]) {
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "changes",
			  "which set? warder changes [FLAG...] show|commit|drop DIR [PATTERN...]");
		return command_refuse(args, &err, EXIT_REFUSED);
	}
	for (char **pattern = args->rest + 2; *pattern; pattern++)
		args->changes.pattern_count++;
	status = warder_changes_open(args->rest[1], &changes, &err);
	if (status == 0)
		status = verb->run(args, changes, args->rest + 2, &err);
	warder_changes_free(changes);
	return status == 0 ? 0 : command_refuse(args, &err, EXIT_REFUSED);
}
