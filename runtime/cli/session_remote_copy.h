/*
 * session_remote_copy: copies between this machine and a session on another one. Private to cli/.
 *
 * Files are first copied to the stage: an empty directory of this machine that only this process uses. Between the stage and a path
 * of this machine, session_files_copy_here() copies, so that such a copy has the rules of any other.
 */
#ifndef WARDER_RUNTIME_CLI_SESSION_REMOTE_COPY_H
#define WARDER_RUNTIME_CLI_SESSION_REMOTE_COPY_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/cli/flags.h"
#include "runtime/cli/remote_place.h"

#define REMOTE_COPY_MODES      0777
#define REMOTE_COPY_LEVELS_MAX 64
#define REMOTE_COPY_FILES_MAX  200000
#define REMOTE_COPY_LISTS_MAX  (4u * REMOTE_RESULT_MAX) /* bytes of the lists that are in memory together */

/* The entries of a directory, as the host lists them. */
struct remote_list {
	struct json_value *entries; /* owned; NULL: there are none */
	size_t bytes, values;
};

/* An entry of a list. */
struct remote_entry {
	char name[NAME_MAX + 1];
	char target[PATH_MAX]; /* of a link; "": it is not valid */
	mode_t mode;           /* 07777 */
	enum remote_entry_type {
		REMOTE_ENTRY_FILE,
		REMOTE_ENTRY_DIRECTORY,
		REMOTE_ENTRY_LINK,
		REMOTE_ENTRY_OTHER,
	} type;
};

/* Those in memory: while a tree is walked, these are the lists of all directories above, so they count together. */
struct remote_lists {
	size_t bytes, values;
};

struct remote_copy {
	const struct args *args;
	const struct remote_place *place;
	const char *path;    /* in the session */
	int stage_fd;        /* borrowed */
	uint64_t most, left; /* bytes of all files together; that may still be copied */
	size_t files;        /* files, directories and links so far */
	size_t omitted;      /* what was left out, and reported */
	uint64_t renewed_ms; /* of remote_place_keep() */
	struct remote_lists lists;
};

/* Read the text of a list. The caller ends it with remote_list_done(). -1 with *err: it is not valid, or too long together with the others. */
int remote_list_read(struct remote_lists *all, const char *backend, const char *path, const char *text,
		     size_t len, struct remote_list *ret, struct warder_error *err);
void remote_list_done(struct remote_lists *all, struct remote_list *list);

/* False: the name cannot be that of a file. */
bool remote_entry_read(const struct json_value *object, struct remote_entry *ret);

/* Bring what `path` names to the stage, where it gets the name `base`; ".": the content of a directory goes into the stage itself. -1 with *err. */
int session_remote_fetch(struct remote_copy *copy, const char *base, struct warder_error *err);
/* Send `item` of the stage to `path`, or, if that is a directory, to the name `base` in it; ".": the content of a directory goes into that one. -1
 * with *err: in the session, the target is as it was, or has a part of the copy. */
int session_remote_send(struct remote_copy *copy, const char *item, const char *base,
			struct warder_error *err);

/* Refuse one entry more than a copy may have. -1 with *err. */
static inline int session_remote_copy_count(struct remote_copy *copy, const char *path,
					    struct warder_error *err)
{
	return ++copy->files <= REMOTE_COPY_FILES_MAX
		   ? 0
		   : error_set(err, WARDER_ERROR_INVALID_REQUEST, "path", "%.200s: more than %d files", path,
			       REMOTE_COPY_FILES_MAX);
}

#endif
