/*
 * merged: layers looked through from the top, as the jail will see them, without mounting anything. Private to store/images/.
 *
 * So that what is copied to /bin lands where the image's link leads, and directories in between keep their modes. Links are
 * followed within the layers only: "/" is the image's root, and ".." ends there.
 */
#ifndef WARDER_STORE_IMAGES_MERGED_H
#define WARDER_STORE_IMAGES_MERGED_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "store/images/images.h"

struct merged {
	int tree_fds[IMAGE_LAYERS_MAX]; /* lowest first */
	size_t count;
};

struct merged_entry {
	char path[PATH_MAX]; /* relative to the root, without links and dots; "" is the root */
	bool exists;
	struct stat st; /* only if it exists */
	size_t layer;   /* which it is seen in */
};

/* Open the layers, whose locks the image holds. *ret is to be given to merged_done(). -1 with *err. */
int merged_open(struct images *images, const struct image *image, struct merged *ret,
		struct warder_error *err);
void merged_done(struct merged *merged);
/* Where a path leads; the last component's link is followed, too. Not to be there is no error. -1 with *err. */
int merged_find(const struct merged *merged, const char *path, struct merged_entry *ret,
		struct warder_error *err);
/* A file's text, at most 1 MiB, heap; NULL: it is not there, or no such file. */
char *merged_read(const struct merged *merged, const char *path);
/* The ids of "user", "user:group", ":group" in numbers or names of the image's /etc/passwd and /etc/group. -1 with *err. */
int merged_ids(const struct merged *merged, const char *text, uid_t *ret_uid, gid_t *ret_gid,
	       struct warder_error *err);

#endif
