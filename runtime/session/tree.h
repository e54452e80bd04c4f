/*
 * tree: the file tree of a session, as a process outside of it reaches it: its root, the identity of its user, and the names and bytes in it.
 * Private to session/.
 *
 * Life: tree_open() -> tree_become() and tree_return() around each access -> tree_done(). One thread.
 */
#ifndef WARDER_RUNTIME_SESSION_TREE_H
#define WARDER_RUNTIME_SESSION_TREE_H

#include <sys/stat.h>

#include "runtime/session/session.h"

#define TREE_CHUNK       65536
#define TREE_ENTRIES_MAX 200000 /* of a directory; of a whole copy */

struct tree_root {
	int fd;          /* O_PATH */
	char *directory; /* the working directory, at which relative paths begin */
	uid_t uid;       /* of the jail's user, on the host */
	gid_t gid;
	bool switches; /* root: this process is not the jail's user */
};

/* joint and root: of the session, which has this policy; borrowed until the end of the call. *ret has fd -1 before. -1 with *err. */
int tree_open(const struct policy *policy, const struct jail_joint *joint, const char *root,
	      struct tree_root *ret, struct warder_error *err);
void tree_done(struct tree_root *root);
/* This thread opens files with the rights of the jail's user; with its own again. */
void tree_become(const struct tree_root *root);
void tree_return(const struct tree_root *root);

/* -1 with *err, from errno: `path` and what about it. */
int tree_failed(const char *path, const char *what, struct warder_error *err);
/* -1 with *err (INVALID_REQUEST). */
int tree_refuse(const char *path, const char *why, struct warder_error *err);
/* "file", "directory", "symlink", "fifo", "socket" or "device". */
const char *tree_type(mode_t mode);
/* The names in a directory, sorted; *ret is the caller's, for tree_free_names(). Takes the descriptor. -1 with *err, which names `path`. */
int tree_names(int fd, const char *path, char ***ret, size_t *ret_count, struct warder_error *err);
void tree_free_names(char **names, size_t count);
/* The first `size` bytes of a file into an empty one, whose holes stay holes. -1 with errno. */
int tree_copy_bytes(int from_fd, int to_fd, off_t size);

/* ---- copy.c ---- */

/* Copy the files that programs made in the session `source` (name, id and policy are meant), which must not run a program unless it is
 * paused, into the new session of `joint` and `root`, in which nothing runs. came: asked now and then whether to give up. -1 with *err:
 * part of the files may have been copied. */
int copy_session(const struct session_spec *source, const struct jail_joint *joint, const char *root,
		 bool (*came)(const void *context), const void *context, struct warder_error *err);
/* The same from a directory of session_save(). */
int copy_load(const char *directory, const struct policy *policy, const struct jail_joint *joint,
	      const char *root, bool (*came)(const void *context), const void *context,
	      struct warder_error *err);

#endif
