/*
 * source: a path of the host as something that can be mounted: found, canonical, and looked at. Private to
 * rootfs/.
 */
#ifndef WARDER_ROOTFS_SOURCE_H
#define WARDER_ROOTFS_SOURCE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"

struct source {
	int fd;     /* O_PATH */
	char *path; /* canonical: no symlink in any component */
	struct stat stat;
};

/* A symbolic link on the way. */
struct source_link {
	char path[PATH_MAX]; /* canonical, the link itself */
	char text[PATH_MAX]; /* where it leads, as it says */
	uid_t owner;
};

#define SOURCE_NONE  ((struct source){ .fd = -1 })
#define owned_source __attribute__((cleanup(source_done)))

/* Find an absolute path, following ordinary links but none of procfs. Returns 0; -1 with errno (ENOENT,
 * EACCES, ESTALE when it was moved meanwhile, ...). source_done() in any case. */
int source_find(int root_fd, const char *path, struct source *ret);
/* As source_find(), for a path that a policy names. With the effective user 0, it may go through links of
 * user 0 only: 1 with *ret_link, the first of somebody else's. */
int source_find_named(int root_fd, const char *path, struct source *ret, struct source_link *ret_link);
void source_done(struct source *source);

/* The text of /proc/self/mountinfo, heap. NULL with *err. */
char *source_mounts(struct warder_error *err);
/* The file system type ("proc") of the kernel's own file system that a recursive bind of the canonical
 * path would show: the one it lies on, or one mounted beneath it. NULL: none. Returns a constant. */
const char *source_kernel_type(const char *mounts, const char *path);
/* Whether something is mounted beneath the canonical path, or may be. */
bool source_has_mount_beneath(const char *mounts, const char *path);

#endif
