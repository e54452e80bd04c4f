/*
 * inventory: everything on the host that a run could leave behind, as lines of text, to be compared before and after.
 *
 * What belongs to the test: processes (its descendants, orphans too, since it is their subreaper, and whoever is in its
 * cgroups), the namespaces that these and the test are in, its descriptors, the mounts of its mount namespace if nobody else
 * is in it, the directories below the cgroup bases of `host`, files in `directories`, leased id ranges. Others may use
 * the machine at the same time: what is theirs is not looked at.
 * The kernel ends some of it (network namespaces, dying cgroups) a moment after the last user is gone: inventory_settle()
 * waits for a bounded time, and reaps orphans.
 */
#ifndef WARDER_TESTS_INVENTORY_H
#define WARDER_TESTS_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "jail/jail.h"

struct inventory_scope {
	const struct jail_host *host;
	const char *directories[4]; /* whose entries are ours alone; NULL-terminated */
	bool own_mounts;            /* the mount namespace is ours alone */
};

struct inventory {
	char **lines; /* sorted */
	size_t count;
};

void inventory_take(const struct inventory_scope *scope, struct inventory *ret);
void inventory_done(struct inventory *inventory);
/* Whether nothing is left that was not there, and, if `exact`, nothing that was there is missing. The differences go to
 * `text` ("left: ...; missing: ..."). */
bool inventory_same(const struct inventory *before, const struct inventory *after, bool exact, char *text,
		    size_t size);
/* Take and compare until they are the same, for at most `seconds`. Returns the time it took in milliseconds, or -1. */
long inventory_settle(const struct inventory_scope *scope, const struct inventory *before, bool exact,
		      int seconds, char *text, size_t size);
/* How many lines begin with `kind`: "cgroup", "mount", "process", "descriptor", ... */
size_t inventory_count(const struct inventory *inventory, const char *kind);

#endif
