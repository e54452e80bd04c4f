/*
 * manifest: the lines of a snapshot, written and read. Private to snapshots/.
 *
 * The first line is an object about the snapshot, each further one an object about a file, directory or link, parents first; the last one
 * tells how many there were, and the SHA-256 of all lines before it. A line at a time is in memory.
 */
#ifndef WARDER_STORE_SNAPSHOTS_MANIFEST_H
#define WARDER_STORE_SNAPSHOTS_MANIFEST_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "base/sha256.h"
#include "store/snapshots/snapshots.h"

struct json_value; /* base/json.h */

#define MANIFEST_LINE_MAX ((size_t)8 << 20) /* of a file of 400 GiB */

enum manifest_type {
	MANIFEST_DIRECTORY,
	MANIFEST_FILE,
	MANIFEST_LINK,
	MANIFEST_HARD_LINK, /* of a file that stands before it */
	MANIFEST_PIPE,
};

#define MANIFEST_ATTRIBUTES_MAX  64                 /* of one file */
#define MANIFEST_ATTRIBUTE_BYTES ((size_t)64 << 10) /* of one value */

/* An attribute of the user's: "user.NAME". */
struct manifest_attribute {
	char *name, *value; /* owned */
	size_t len;
};

struct manifest_entry {
	enum manifest_type type;
	char *path;   /* relative to the workspace's own directory: "files/..." or "inputs/..." */
	char *target; /* of links */
	uint32_t mode;
	bool owned; /* uid and gid are known: older snapshots have none */
	uint32_t uid, gid;
	struct manifest_attribute *attributes; /* owned; of files and directories */
	size_t attribute_count;
	struct timespec mtime;
	struct blobs_content content; /* MANIFEST_FILE */
};

void manifest_entry_done(struct manifest_entry *entry);

/* ---- writing ---- */
struct manifest_writer {
	int fd;
	struct sha256 sha;
	uint64_t entries, bytes;
};

int manifest_begin(struct manifest_writer *writer, int fd, const struct snapshot *snapshot,
		   const char *metadata, struct warder_error *err);
int manifest_add(struct manifest_writer *writer, const struct manifest_entry *entry,
		 struct warder_error *err);
int manifest_end(struct manifest_writer *writer, uint64_t left_out, struct warder_error *err);

/* ---- reading ---- */
/* The object of one line; strict. -1 with *err (INTERNAL: it is damaged). */
int manifest_entry_decode(const struct json_value *object, struct manifest_entry *ret,
			  struct warder_error *err);
/* All of it: `head` (or NULL) is called with the metadata's text, `call` (or NULL) with each entry. Whether it is whole is known at the end: -1 with *err
 * INTERNAL then. */
int manifest_read(int fd, struct snapshot *ret,
		  int (*head)(void *context, const char *metadata, struct warder_error *err),
		  int (*call)(void *context, const struct manifest_entry *entry, struct warder_error *err),
		  void *context, struct warder_error *err);

#endif
