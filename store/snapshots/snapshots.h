/*
 * snapshots: a workspace as it was. The door of this folder.
 *
 * A snapshot is a manifest, a line for each file, directory and link of the workspace, and the files' content in blobs, which all snapshots
 * share. It is made while nobody else is at work in the workspace. Resuming makes a new workspace; the old one, and the snapshot, stay.
 *
 * Life: snapshots_open() -> make, list, verify, resume, remove, prune -> snapshots_done(). Any number of processes; one thread at a time for one
 * struct.
 */
#ifndef WARDER_STORE_SNAPSHOTS_SNAPSHOTS_H
#define WARDER_STORE_SNAPSHOTS_SNAPSHOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/blobs/blobs.h"
#include "store/store.h"
#include "store/workspaces/workspaces.h"

#define SNAPSHOT_ID_MAX      32 /* "snap-" and 16 hexadecimal digits */
#define SNAPSHOT_ENTRIES_MAX 1000000

struct snapshots {
	int dir_fd, manifests_fd;
	char path[4000];
	/* Removed content goes before the call returns, however long others write; a snapshot that is gone can be removed again. */
	bool is_patient;
	/* Told of bytes as they are read; or NULL. */
	void (*on_bytes)(void *context, uint64_t len);
	void *context;
};

#define SNAPSHOTS_NONE ((struct snapshots){ .dir_fd = -1, .manifests_fd = -1 })

struct snapshot {
	char id[SNAPSHOT_ID_MAX];
	char workspace[WORKSPACE_ID_MAX];
	char created[40];
	int64_t created_ns; /* since 1970 */
	uint64_t entries, bytes;
	uint64_t manifest_bytes; /* only of one that is made now, like `attributes` */
	uint64_t left_out;       /* sockets and the like, which are not kept */
	uint64_t
	    attributes; /* files and directories that had user.* attributes that are not all kept; only of one that is made now */
};

/* `store` NULL: the default place. */
int snapshots_open(const char *store, struct snapshots *ret, struct warder_error *err);
void snapshots_done(struct snapshots *snapshots);

/* Of a workspace that was opened alone; at most so many bytes of files (0: 16 GiB), or it is refused and nothing is kept. CONFLICT: a
 * file changed all the same, while it was read. */
int snapshots_make(struct snapshots *snapshots, struct workspace *workspace, uint64_t bytes_max,
		   struct snapshot *ret, struct warder_error *err);
/* A new workspace of that id (NULL: a new id) with the same tree: modes, links, empty directories, times. -1 with *err: NOT_FOUND, CONFLICT (there is
 * a workspace of that id), INTERNAL (the snapshot is damaged; nothing is made). */
int snapshots_resume(struct snapshots *snapshots, const char *id, struct workspaces *workspaces,
		     const char *workspace_id, struct workspace *ret, struct warder_error *err);
/* Read all of it and compare with what was written. */
int snapshots_verify(struct snapshots *snapshots, const char *id, struct warder_error *err);
/* Call for each, oldest first, or for those of one workspace; a non-zero return ends it and is returned. */
int snapshots_each(struct snapshots *snapshots, const char *workspace_id,
		   int (*call)(void *context, const struct snapshot *snapshot, struct warder_error *err),
		   void *context, struct warder_error *err);
int snapshots_remove(struct snapshots *snapshots, const char *id, struct warder_error *err);
/* Remove content that belongs to no snapshot. If another process is still making a snapshot after 30 s, the content stays, and the next sweep removes
 * it; with `is_patient`, the call waits until nobody makes one. */
int snapshots_sweep(struct snapshots *snapshots, struct warder_error *err);
/* Of a workspace (NULL: of each), keep the newest `keep` (0: all) and none that is older than max_age_s (0: however old). How many went. */
int snapshots_prune(struct snapshots *snapshots, const char *workspace_id, uint64_t keep, uint64_t max_age_s,
		    uint64_t *ret_removed, struct warder_error *err);

#endif
