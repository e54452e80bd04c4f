/*
 * copy: files of a directory into the tree of a layer. Private to store/images/.
 *
 * No link of the directory is followed, and no other file system than that of its root is entered. What changes meanwhile is taken as
 * it is found; each file is looked at again once it is open.
 */
#ifndef WARDER_STORE_IMAGES_COPY_H
#define WARDER_STORE_IMAGES_COPY_H

#include <stdbool.h>
#include <sys/stat.h>

#include "store/images/names.h"
#include "store/images/unpack.h"

struct copy {
	struct unpack *unpack;
	bool own; /* uid and gid below are given to everything */
	uid_t uid;
	gid_t gid;
	bool mode_set; /* files and directories get `mode` */
	mode_t mode;
	void (*on_progress)(void *context, uint64_t bytes);
	void *context;
	/* Asked before a directory is made; -1 with *err ends the copy. May be NULL. */
	int (*on_directory)(void *context, const char *to, struct warder_error *err);
	void *directory_context;
	/* private from here */
	struct names_links links;
	dev_t dev;
	uint64_t bytes;
};

/* What dir_fd has under that name ("." for itself), with all that is below it, as `to` ("" for the root of the tree). Ends with
 * copy_done(); unpack_finish() is the caller's. -1 with *err. */
int copy_path(struct copy *copy, int dir_fd, const char *name, const char *to, struct warder_error *err);
/* A regular file that is open for reading. */
int copy_fd(struct copy *copy, int from_fd, const char *to, struct warder_error *err);
void copy_done(struct copy *copy);

#endif
