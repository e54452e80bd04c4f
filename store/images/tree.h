/*
 * tree: the digest of a stored tree, to see later whether it is still what it was. Private to store/images/.
 *
 * It covers, in the order of the paths, of everything below the directory: path, type, permission bits, uid and gid; of files the
 * size, the content and which of them are links to each other; of symbolic links the target; the attributes that layers may
 * have. It does not cover times. Holes of files count as zeros, and are not read: it takes as long as what is stored is large.
 *
 * Layers from archives are named by the digest of the archive, others by what they are made of. So that no archive can have the name of
 * a tree, that is the digest of a text of less than 512 bytes: a tar archive is never as short as that.
 * Directories are read one level after the other, at most UNPACK_DEPTH_MAX of them.
 */
#ifndef WARDER_STORE_IMAGES_TREE_H
#define WARDER_STORE_IMAGES_TREE_H

#include <stdint.h>

#include "base/error.h"
#include "store/digest.h"

struct tree_digest {
	char hex[DIGEST_HEX];
	char name[DIGEST_HEX]; /* of a layer that was made from files, not from an archive */
	uint64_t files;        /* entries of every type, without the root */
	uint64_t bytes;        /* of the files' content, each file once */
};

/* on_progress gets the bytes read so far; may be NULL. -1 with *err. */
int tree_digest(int tree_fd, void (*on_progress)(void *context, uint64_t bytes), void *context,
		struct tree_digest *ret, struct warder_error *err);

#endif
