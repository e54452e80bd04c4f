/*
 * session_remote_files: the files of a session on another machine. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_SESSION_REMOTE_FILES_H
#define WARDER_RUNTIME_CLI_SESSION_REMOTE_FILES_H

#include "runtime/cli/flags.h"
#include "runtime/cli/remote_place.h"

/* The words read, write, list and cp of such a session. They return the exit status. */
int session_remote_read_word(struct args *outer, const char *name, char **flags);
int session_remote_write_word(struct args *outer, const char *name, char **flags);
int session_remote_list_word(struct args *outer, const char *name, char **flags);
int session_remote_cp_word(struct args *outer, const char *name, char **flags);

/* The last part of a request about a path: the route, "?path=" and the path, in percent encoding. -1 with *err. */
int session_remote_files_path(const char *route, const char *path, char ret[REMOTE_PATH_SIZE],
			      struct warder_error *err);
/* How many bytes a file may have: --max-bytes, or what an answer may have. */
uint64_t session_remote_files_most(const struct args *args);
/* Refuse what has more than `most` bytes. -1 with *err. */
int session_remote_files_check(const char *path, size_t len, uint64_t most, struct warder_error *err);
/* The end of a word: unless status is -1, with *err, do `work` for the session, whose lease begins anew before and after it. Frees the arguments.
 * Returns the exit status: of work(), a positive one means that something was left out, and reported. */
int session_remote_files_do(struct args *args, int status, const char *name,
			    int (*work)(const struct remote_place *place, const struct args *args,
					const void *of, struct warder_error *err),
			    const void *of, struct warder_error *err);

#endif
