/*
 * unpack: members of an archive, or files of a directory, into the tree of a layer. Private to store/images/.
 *
 * What comes in is hostile. A member that would land outside of the tree, or is nothing that a layer may have, makes the whole
 * layer refused, and the message names it: "..", an absolute name, a member beneath a symbolic link, a symbolic link whose
 * target climbs out of the tree, a hard link to what is not in the layer, a device, too many members, too much, too deep.
 *
 * What a layer has is changed in a few points, and the counts of that are told:
 * - set-user-id and set-group-id bits of files are cleared, and security.capability is left out: no program in a jail gains
 *   anything by them, and on the host nobody shall;
 * - the device nodes that every jail has by itself (dev/null, ...) are left out;
 * - extended attributes are kept if they begin with "user.", except overlayfs' own, which are refused.
 *
 * A directory that has no member of its own, but something in it, has the owner and mode that the layers below give it.
 *
 * Whiteouts become overlayfs' own: ".wh.x" a character device 0:0 of the name x, ".wh..wh..opq" an attribute of its directory.
 */
#ifndef WARDER_STORE_IMAGES_UNPACK_H
#define WARDER_STORE_IMAGES_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "store/images/stream.h"

#define UNPACK_DEPTH_MAX 128   /* components of a path */
#define UNPACK_ID_MAX    65535 /* of uids and gids: so many a jail has */

struct unpack_limits {
	uint64_t files_max;      /* members, and directories that are made for them */
	uint64_t bytes_max;      /* of all files, holes included */
	uint64_t file_bytes_max; /* of one */
};

/* What was taken, and what was left out or changed. */
struct unpack_report {
	uint64_t files, bytes;
	uint64_t capabilities, attributes, set_ids, devices, sockets, mounts;
	uint64_t implied;   /* directories that had no member when they were made; they count as files */
	uint64_t inherited; /* 0: the tree would be the same whatever the layers below have */
};

struct images_notes;

struct unpack {
	int tree_fd;
	bool owners_kept; /* uids and gids of the members; else everything is the caller's */
	const struct unpack_limits *limits;
	struct unpack_report report;
	/* What the layers below have at a plain path; true: a directory, described in *ret. Set after unpack_init(), or NULL. */
	bool (*below)(void *context, const char *path, struct stat *ret);
	void *below_context;
	/* private from here */
	bool root_given; /* a member was the root */
	struct timespec parent_time;
	char *parent; /* path of parent_fd; a member's parent is mostly the one before's */
	int parent_fd;
};

/* A member, however it came. */
struct unpack_member {
	const char *name; /* as it is told in messages */
	mode_t mode;      /* type and permission bits */
	uid_t uid;
	gid_t gid;
	int64_t mtime;
	const char *target;    /* of a symbolic or hard link */
	bool hard_link;        /* the type in `mode` does not count */
	bool whiteouts;        /* names that begin with ".wh." have their meaning */
	uint64_t size;         /* of a regular file */
	unsigned major, minor; /* of a device */
};

void unpack_init(struct unpack *unpack, int tree_fd, bool owners_kept, const struct unpack_limits *limits);
/* All members of an archive. -1 with *err. */
int unpack_stream(struct unpack *unpack, struct stream *stream, struct warder_error *err);
/* One member. *ret_fd is set to an owned descriptor for the content of a regular file, or to -1 where nothing is to be written
 * (after unpack_close() the file has its mode); *ret_link to -1. -1 with *err. */
int unpack_member(struct unpack *unpack, const struct unpack_member *member, int *ret_fd,
		  struct warder_error *err);
/* An extended attribute of what is open; `name` is the member's. */
int unpack_attribute(struct unpack *unpack, const char *name, int fd, const char *key, const void *value,
		     size_t size, struct warder_error *err);
/* Give a regular file its owner, mode and time, when its content is there. */
int unpack_close(struct unpack *unpack, const struct unpack_member *member, int fd, struct warder_error *err);
/* After the last member: what is left to do for directories. -1 with *err. */
int unpack_finish(struct unpack *unpack, struct warder_error *err);
/* Zeroed is fine. */
void unpack_done(struct unpack *unpack);

/* A path of a member or link without ".", doubled slashes and trailing ones; "" is the root. out is as large as the path. NULL, or
 * what is wrong with it, for a message. */
const char *unpack_plain_path(const char *path, char *out);

/* Add to the notes what was left out or changed. */
void unpack_note(const struct unpack_report *report, struct images_notes *notes);

#endif
