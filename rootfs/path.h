/*
 * path: the errno-level openers below the door's path_open_*(). Private to rootfs/.
 *
 * Each returns a descriptor that the caller owns (always O_CLOEXEC), or -1 with errno. Any thread; no
 * state.
 */
#ifndef WARDER_ROOTFS_PATH_H
#define WARDER_ROOTFS_PATH_H

#include <stdint.h>

#include "base/path.h"

/* Open a path relative to dir_fd under openat2's RESOLVE_* rules; asks again while a rename disturbs. */
int path_try(int dir_fd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve);

/* An absolute path as one relative to a descriptor of "/". */
static inline const char *path_from_root(const char *path)
{
	return path[1] ? path + 1 : ".";
}

#endif
