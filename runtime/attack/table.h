/*
 * table: the attempts that warder-attempts knows, and what of a policy allows one. For the command, in runtime/cli.
 *
 * Life: attack_table_read() -> walk the rows -> attack_table_done(). The table is the program's own (--list);
 * one with words that are not known here is refused.
 */
#ifndef WARDER_RUNTIME_ATTACK_TABLE_H
#define WARDER_RUNTIME_ATTACK_TABLE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "jail/jail.h"

/* Of the column `outside`; everything else there begins with "no: ". */
#define ATTACK_OUTSIDE "yes"

/* All columns are texts; "" where there is none. What they mean: runtime/attack/attempts/attempts.h. */
struct attack_row {
	const char *name, *group, *answer, *allowed, *needs, *outside, *by, *seen, *what;
};

struct attack_table {
	char program[PATH_MAX];  /* canonical path of warder-attempts */
	char *text;              /* owned; the rows point into it */
	struct attack_row *rows; /* owned */
	size_t count;
};

/* Find the program beside the tool or in ../libexec/warder, and read its table. -1 with *err
 * (UNAVAILABLE). in_session: with what only a session can have, and without what only a pool has. */
int attack_table_read(bool in_session, struct attack_table *ret, struct warder_error *err);
void attack_table_done(struct attack_table *table);

/* Whether `word` is among the words of a column, which are separated by "|". */
bool attack_has_word(const char *column, const char *word);
/* What of the policy allows the attempt, as "network.mode host"; NULL if nothing does. `plan` says what is
 * not enforced, and whose jail it is; `dir` and `home` are the host's directories that attempts look for. buf
 * holds the text. */
const char *attack_allowed(const struct attack_row *row, const struct jail_plan *plan, const char *dir,
			   const char *home, char *buf, size_t len);

#endif
