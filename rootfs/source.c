/*
 * A host path that a policy names may be a symlink, or have one on the way. What is mounted, reported and
 * compared is the canonical path, found in one resolution by the kernel: an O_PATH descriptor, and its
 * name in /proc/self/fd. The name is then opened again with no link allowed and must be the same inode;
 * otherwise something was moved meanwhile, or the object has no name in this root.
 *
 * A bind is recursive (the kernel lets an ordinary user clone a tree only with all its mounts), so that a
 * procfs mounted anywhere beneath a directory would come along and show the host's processes. The mount
 * table tells; it says "devtmpfs" where statfs says "tmpfs".
 */
#include "rootfs/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mountinfo.h"
#include "rootfs/path.h"

/* What only describes or controls the host's kernel. Not here: tmpfs, mqueue, overlay, fuse. */
static const char *const kernel_types[] = {
	"proc",    "sysfs",    "cgroup",     "cgroup2",     "devtmpfs", "devpts",
	"debugfs", "tracefs",  "securityfs", "selinuxfs",   "smackfs",  "configfs",
	"bpf",     "efivarfs", "pstore",     "binfmt_misc", "fusectl",  "nsfs",
};

/* ---- finding ---- */

static bool same_object(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The name of an open object, if that leads to it without any link. */
static int name_of(int root_fd, int fd, const struct stat *object, char **ret)
{
	owned_fd int again_fd = -1;
	struct stat again;
	char link[40], name[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, sizeof(name));
	if (len < 0)
		return -1;
	errno = ESTALE;
	if (len == sizeof(name) || name[0] != '/')
		return -1;
	name[len] = '\0';
	again_fd = path_try(root_fd, path_from_root(name), O_PATH, 0, RESOLVE_NO_SYMLINKS);
	if (again_fd < 0 || fstat(again_fd, &again) != 0 || !same_object(object, &again)) {
		errno = ESTALE;
		return -1;
	}
	*ret = strdup(name);
	return *ret ? 0 : -1;
}

int source_find(int root_fd, const char *path, struct source *ret)
{
	*ret = SOURCE_NONE;
	ret->fd = path_try(root_fd, path_from_root(path), O_PATH, 0, RESOLVE_NO_SYMLINKS);
	if (ret->fd >= 0) {
		ret->path = strdup(path);
		return ret->path ? fstat(ret->fd, &ret->stat) : -1;
	}
	if (errno != ELOOP)
		return -1;
	ret->fd = path_try(root_fd, path_from_root(path), O_PATH, 0, RESOLVE_NO_MAGICLINKS);
	if (ret->fd < 0 || fstat(ret->fd, &ret->stat) != 0)
		return -1;
	return name_of(root_fd, ret->fd, &ret->stat, &ret->path);
}

void source_done(struct source *source)
{
	fd_done(&source->fd);
	free(source->path);
	source->path = NULL;
}

/* ---- the mount table ---- */

char *source_mounts(struct warder_error *err)
{
	static const char path[] = "/proc/self/mountinfo";
	size_t len;
	char *text = mountinfo_read(AT_FDCWD, path, NULL, 16384, &len);

	if (!text)
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot read %s", path);
	return text;
}

static const char *type_of(const struct mountinfo *mount)
{
	for (size_t i = 0; i < sizeof(kernel_types) / sizeof(kernel_types[0]); i++)
		if (mountinfo_is(mount->type, kernel_types[i]))
			return kernel_types[i];
	return NULL;
}

const char *source_kernel_type(const char *mounts, const char *path)
{
	struct mountinfo_text text = { mounts, strlen(mounts) };
	struct mountinfo_text line;
	const char *around = NULL, *beneath = NULL;
	size_t around_len = 0;
	char point[PATH_MAX];

	while (mountinfo_cut(&text, &line)) {
		struct mountinfo mount;

		if (!mountinfo_parse(line, &mount))
			continue;
		if (!mountinfo_path(mount.point, point, sizeof(point))) {
			beneath = type_of(&mount) ? type_of(&mount) : beneath; /* it may be anywhere */
		} else if (path_within(point, path) && strlen(point) >= around_len) {
			around = type_of(&mount);
			around_len = strlen(point);
		} else if (path_within(path, point) && type_of(&mount)) {
			beneath = type_of(&mount);
		}
	}
	return around ? around : beneath;
}
