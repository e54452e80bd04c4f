/*
 * changes: the set of changes of a run, from its launch until it is kept or told. Private to runtime/.
 *
 * Life: changes_taking_new() before the launch, which makes the directory that is to keep the set -> changes_taking_upper() by the jail's end,
 * as jail_command.on_upper -> changes_taking_finish() into the result -> changes_taking_free(). Kept in the directory:
 *   record.json   changes_encode()
 *   files/N       the contents of new and changed files
 */
#ifndef WARDER_RUNTIME_LIBRARY_CHANGES_H
#define WARDER_RUNTIME_LIBRARY_CHANGES_H

#include "jail/jail.h"
#include "rootfs/changes/changes.h"
#include "runtime/warder.h"

struct changes_taking;
struct warder_result;

/* What of `command` asks for it; *ret is NULL if nothing does. -1 with *err: CONFLICT if a set is in the directory already. */
int changes_taking_new(const struct warder_command *command, const struct jail_plan *plan,
		       struct changes_taking **ret, struct warder_error *err);
void changes_taking_upper(void *taking, const struct jail_upper *upper);
int changes_taking_finish(void *taking, struct warder_result *result, struct warder_error *err);
/* A directory that was made for a set that never came is removed. */
void changes_taking_free(void *taking);

/* The changes of an overlay to which nothing is written just now, of a jail that goes on. They are kept in `directory`, or (NULL) only read.
 * The caller's, for changes_done(). -1 with *err: INVALID_REQUEST if there is no overlay (upper_fd -1). */
struct changes_overlay {
	int upper_fd, lower_fd;
	bool user_xattrs;
	int64_t started_ns; /* realtime clock before the launch */
	const char *lower;  /* the path of the directory that the overlay lies over */
};
int changes_take(const struct changes_overlay *overlay, const char *directory, struct changes *ret,
		 struct warder_error *err);

/* A kept set, for the command line: what warder_changes_open() gives. */
const struct changes *changes_of(const struct warder_changes *changes);
/* Open the kept content of a file for reading; -1 with errno. */
int changes_open_saved(const struct warder_changes *changes, const struct changes_item *change);

#endif
