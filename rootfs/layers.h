/*
 * layers: what an overlay over some directories shows, found out without mounting it. Private to rootfs/.
 *
 * A name is that of the highest layer that has it. A character device 0:0 in a layer (a whiteout) hides the name in all layers
 * below; a directory with the attribute trusted.overlay.opaque (or, of an overlay that is mounted with userxattr, user.overlay.opaque)
 * "y" hides what the layers below have in it. The other one of the two is a file's own, and anybody may have set it.
 * Any thread; no state.
 */
#ifndef WARDER_ROOTFS_LAYERS_H
#define WARDER_ROOTFS_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "rootfs/image.h"

struct layers {
	int fds[IMAGE_LAYERS_MAX]; /* lowest first */
	size_t count;
	bool user_xattrs;
};

/* What lies at a path without links: `path` is relative, "" for the root. 0 with *ret_stat and *ret_layer, the highest that has it; -1
 * with errno (ENOENT, ENOTDIR, ...). */
int layers_lookup(const struct layers *layers, const char *path, struct stat *ret_stat, size_t *ret_layer);
/* The same, following links as inside a root: to an absolute path. -1 with errno (ELOOP, ENAMETOOLONG, ...). */
int layers_find(const struct layers *layers, const char *path, struct stat *ret_stat, size_t *ret_layer);
/* The text of a link that layers_lookup() has found in that layer. -1 with errno. */
int layers_read_link(const struct layers *layers, size_t layer, const char *path, char *ret, size_t size);
bool layers_is_whiteout(const struct stat *st);
/* Whether the directory open for reading hides what is below it. */
bool layers_is_opaque(int dir_fd, bool user_xattrs);
/* Close the descriptors. */
void layers_close(struct layers *layers);

#endif
