/*
 * given: which fields and flags were given, so that one command line does not give the same thing in two ways.
 * Private to cli/.
 *
 * Life: zeroed is empty -> given_add() for each flag, the layer that wins first. The rows point into the arguments.
 */
#ifndef WARDER_RUNTIME_CLI_GIVEN_H
#define WARDER_RUNTIME_CLI_GIVEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define GIVEN_MAX 256 /* more than there are fields and flags; errors name no more rows of repeated flags */

struct flag;

/* Where a flag was given; a later one wins. */
enum given_layer { GIVEN_COMMON, GIVEN_COMMAND, GIVEN_LINE };

struct given {
	struct given_row {
		const char *subject; /* a policy field, or the name of a flag; `length` bytes */
		size_t length;
		bool
		    repeats; /* one of several that may give the field: the row `place` (from 1) of its list */
		size_t place;
		const char *flag;  /* that gave it */
		const char *value; /* as typed; NULL: none */
		char letter;       /* typed as "-m"; 0: by its name */
		enum given_layer layer;
	} rows[GIVEN_MAX];
	size_t count;
};

/* Note that the flag was given with `value` (NULL: none), typed as `name`. Returns 0; 1 if a layer that wins gave all of it
 * already; -1 with *err (INVALID_REQUEST) if the same layer gave a part of it, which names both. */
int given_add(struct given *given, enum given_layer layer, const struct flag *flag, const char *name,
	      const char *value, struct warder_error *err);
/* Note that a repeatable flag, typed as `name` on the command line, made the last row of the list that `path` begins with; `count` is its
 * length now. */
void given_add_row(struct given *given, const struct flag *flag, const char *name, const char *value,
		   const char *path, size_t count);
/* Whether the command line gave the field. */
bool given_has(const struct given *given, const char *field);
/* Put the flag of the command line that gave *err's field, or that row of a list, as typed, before an error that names the field alone. */
void given_blame(const struct given *given, struct warder_error *err);
/* Whether an error about `field` that says `text` is about the flag with that value (NULL: none). */
bool given_is_about(const struct flag *flag, const char *value, const char *field, const char *text);

#endif
