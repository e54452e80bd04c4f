/*
 * path: the errno-level openers below the door's path_open_*(). Private to rootfs/.
 *
 * Each returns a descriptor that the caller owns (always O_CLOEXEC), or -1 with errno. Any thread; no
 * state.
 */
#ifndef WARDER_ROOTFS_PATH_H
#define WARDER_ROOTFS_PATH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Open a path relative to dir_fd under openat2's RESOLVE_* rules; asks again while a rename disturbs. */
int path_try(int dir_fd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve);

/* Whether inner is outer or lies below it; both normalised. "/data" does not hold "/database". */
static inline bool path_within(const char *outer, const char *inner)
{
	size_t len = strlen(outer);

	return len == 1 || (strncmp(outer, inner, len) == 0 && (inner[len] == '\0' || inner[len] == '/'));
}

/* An absolute path as one relative to a descriptor of "/". */
static inline const char *path_from_root(const char *path)
{
	return path[1] ? path + 1 : ".";
}

#endif
