/*
 * workspace_remote: workspaces on other machines: `warder workspace WORD --backend remote:NAME`. Private to cli/.
 *
 * Such a workspace is a session on another machine (session_remote.h) of its own, whose sandbox has the directories of a workspace below
 * WORKSPACE_REMOTE_ROOT. Its record is the file of the session, which has the id of the workspace.
 */
#ifndef WARDER_RUNTIME_CLI_WORKSPACE_REMOTE_H
#define WARDER_RUNTIME_CLI_WORKSPACE_REMOTE_H

#include "runtime/cli/remote_place.h"

#define WORKSPACE_REMOTE_ROOT "/tmp/warder-workspace"

/* Whether the words behind `warder workspace` name a host on another machine, before "--". */
bool workspace_remote_is_meant(char *const *words);
/* Do what they say, or refuse it by name. Returns the exit status. */
int workspace_remote_command(char *const *words);

/* ---- workspace_remote_files.c ---- */

/* An entry of a tree on another machine. The host has said all of it. */
struct workspace_remote_item {
	const char *path; /* relative to the root */
	char type;        /* 'f', 'd', 'l' or 'o' */
	unsigned int mode;
	uint64_t size;
	const char *modified; /* or NULL */
};

struct workspace_remote_listing {
	const char *path; /* the directory; "": the root */
	bool flat;        /* only what lies in it */
	/* A number other than 0 ends the list: 1, or -1 with *err. */
	int (*call)(void *context, const struct workspace_remote_item *item, struct warder_error *err);
	/* Whether the list goes into that directory; NULL: into each. */
	bool (*enters)(void *context, const char *path);
	void *context;
};

/* Call for everything below a directory, parents first. 0, also if call() ended it; -1 with *err. *ret_cut: a directory or an entry was left out, because it
 * lies too deep or is closed to the sandbox's user, or because there are too many. What vanishes meanwhile is not in the list. */
int workspace_remote_list(const struct remote_place *place, const struct workspace_remote_listing *listing,
			  bool *ret_cut, struct warder_error *err);
/* A file, whole: *ret is heap. -1 with *err. */
int workspace_remote_read(const struct remote_place *place, const char *path, char **ret, size_t *ret_len,
			  struct warder_error *err);
/* Write a file, in place of what is there; missing directories are made. -1 with *err. */
int workspace_remote_write(const struct remote_place *place, const char *path, const char *bytes, size_t len,
			   struct warder_error *err);

struct workspace_remote_collect {
	char *const *patterns; /* NULL-terminated */
	const char *to;        /* a directory of this machine; or NULL */
	bool json;
	size_t files_max; /* 0, here and below: as for a workspace on this machine */
	uint64_t file_bytes, total_bytes;
};

/* Print, and perhaps copy, the files that match. Returns 0; 1: it is not all, which is reported; -1 with *err, and then nothing is left of the copies. */
int workspace_remote_collect(const struct remote_place *place, const struct workspace_remote_collect *what,
			     struct warder_error *err);

#endif
