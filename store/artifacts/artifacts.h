/*
 * artifacts: named, versioned content that outlives what made it. The door of this folder.
 *
 * A name is a relative path ("run-1/report.csv"); each save makes a new version of it, 1 and upwards. Versions do not change, and the
 * number of one that was removed is not given again while the name has others. What is in them is in blobs, once for all.
 *
 * Life: artifacts_open() -> save, find, read, list, remove -> artifacts_done(). Any number of processes at once; one thread at a
 * time for one struct.
 */
#ifndef WARDER_STORE_ARTIFACTS_ARTIFACTS_H
#define WARDER_STORE_ARTIFACTS_ARTIFACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "store/blobs/blobs.h"
#include "store/store.h"

#define ARTIFACTS_NAME_MAX 512 /* bytes of a name, with the NUL */

struct artifact_reference {
	char name[ARTIFACTS_NAME_MAX];
	uint64_t version; /* 0: the latest */
};

/* "NAME" or "NAME@VERSION". -1 with *err (INVALID_REQUEST): what is wrong with it. Bounded by its length. */
int artifact_reference_parse(const char *text, struct artifact_reference *ret, struct warder_error *err);
/* What keeps a text from being a name, for people; NULL: nothing. */
const char *artifact_name_fault(const char *name);

struct artifact {
	char name[ARTIFACTS_NAME_MAX];
	uint64_t version;
	char type[128];   /* content type */
	char created[40]; /* 2026-01-31T23:59:59Z */
	struct blobs_content content;
};

struct artifacts {
	int dir_fd, names_fd;
	char path[4000];
};

#define ARTIFACTS_NONE ((struct artifacts){ .dir_fd = -1, .names_fd = -1 })

/* `store` NULL: the default place. */
int artifacts_open(const char *store, struct artifacts *ret, struct warder_error *err);
void artifacts_done(struct artifacts *artifacts);

/* Open the blobs to stage content in, which several artifacts_commit() then name. */
int artifacts_begin(struct artifacts *artifacts, struct blobs *ret, struct warder_error *err);
/* After blobs_commit(): a new version with that content, on the disk when this returns. `type` NULL: by name and first bytes. */
int artifacts_commit(struct artifacts *artifacts, struct blobs *blobs, const char *name, const char *type,
		     const struct blobs_content *content, uint64_t *ret_version, struct warder_error *err);
/* All of that for one: what is read from fd to its end, at most `most` bytes (more is refused). */
int artifacts_save(struct artifacts *artifacts, const char *name, const char *type, int fd, uint64_t most,
		   struct artifact *ret, struct warder_error *err);
int artifacts_save_bytes(struct artifacts *artifacts, const char *name, const char *type, const char *bytes,
			 size_t len, struct artifact *ret, struct warder_error *err);

/* -1 with *err: NOT_FOUND. */
int artifacts_find(struct artifacts *artifacts, const struct artifact_reference *reference,
		   struct artifact *ret, struct warder_error *err);
void artifact_done(struct artifact *artifact);
/* Write its content to where to_fd stands, verified; to_fd -1: only verify. */
int artifacts_read(struct artifacts *artifacts, const struct artifact *artifact, int to_fd,
		   struct warder_error *err);

/* Call with every version of every artifact, or of one name; by name, then version. A non-zero return ends it and is returned. */
int artifacts_each(struct artifacts *artifacts, const char *name,
		   int (*call)(void *context, const struct artifact *artifact, struct warder_error *err),
		   void *context, struct warder_error *err);
/* Remove one version, or with version 0 all of the name. Content that nobody has any more is removed as well.
 * Nothing of that name: NOT_FOUND. */
int artifacts_remove(struct artifacts *artifacts, const struct artifact_reference *reference,
		     struct warder_error *err);

/* {"name", "version", "contentType", "createdAt", "size", "sha256"} into the object that is open. */
void artifact_write(const struct artifact *artifact, struct json_writer *w);

#endif
