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

static void close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

char *source_mounts(struct warder_error *err)
{
	__attribute__((cleanup(close_file))) FILE *file = fopen("/proc/self/mountinfo", "re");
	char *text = NULL;
	size_t size = 0;

	if (!file || getdelim(&text, &size, '\0', file) <= 0) {
		int error = errno;

		free(text);
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, error,
				"cannot read /proc/self/mountinfo");
		return NULL;
	}
	return text;
}

/* Field `n` (from 0) of a line; fields are separated by one blank. NULL past the end. */
static const char *field_at(const char *line, unsigned int n)
{
	for (; n > 0; n--) {
		line += strcspn(line, " \n");
		if (*line != ' ')
			return NULL;
		line++;
	}
	return line;
}

/* A mount point, with \040 and the like decoded. */
static void decode(const char *field, char *point, size_t size)
{
	size_t used = 0;

	for (; *field && *field != ' ' && *field != '\n' && used + 1 < size; used++) {
		unsigned int code;

		if (*field == '\\' && sscanf(field + 1, "%3o", &code) == 1) {
			point[used] = (char)code;
			field += 4;
		} else {
			point[used] = *field++;
		}
	}
	point[used] = '\0';
}

/* The type follows the " - " that ends the optional fields. */
static const char *type_of(const char *line)
{
	size_t line_len = strcspn(line, "\n");
	const char *dash = memmem(line, line_len, " - ", 3);

	if (!dash)
		return NULL;
	for (size_t i = 0; i < sizeof(kernel_types) / sizeof(kernel_types[0]); i++) {
		size_t len = strlen(kernel_types[i]);

		if (strncmp(dash + 3, kernel_types[i], len) == 0 && dash[3 + len] == ' ')
			return kernel_types[i];
	}
	return NULL;
}

const char *source_kernel_type(const char *mounts, const char *path)
{
	const char *around = NULL, *beneath = NULL, *line = mounts;
	size_t around_len = 0;
	char point[PATH_MAX];

	for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *field = field_at(line, 4);

		if (!field)
			continue;
		decode(field, point, sizeof(point));
		if (path_within(point, path) && strlen(point) >= around_len) {
			around = type_of(line);
			around_len = strlen(point);
		} else if (path_within(path, point) && type_of(line)) {
			beneath = type_of(line);
		}
	}
	return around ? around : beneath;
}
