/*
 * A host path that a policy names may be a symlink, or have one on the way. What is mounted, reported and
 * compared is the canonical path, found in one resolution by the kernel: an O_PATH descriptor, and its
 * name in /proc/self/fd. The name is then opened again with no link allowed and must be the same inode;
 * otherwise something was moved meanwhile, or the object has no name in this root.
 *
 * What root starts could be led anywhere by a link in a place that a user can write to: to a directory that
 * only root can enter, whose owner the jail's user would then be. For root, the path is therefore walked one
 * component at a time: every component is an open object before it is looked at, a link is read from the
 * descriptor whose owner was seen, and the kernel follows none. Links of root's are the host's own (/var/run).
 *
 * A bind is recursive (the kernel lets an ordinary user clone a tree only with all its mounts), so that a
 * procfs mounted anywhere beneath a directory would come along and show the host's processes. The mount
 * table tells; it says "devtmpfs" where statfs says "tmpfs".
 */
#include "rootfs/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/mountinfo.h"
#include "rootfs/path.h"

#define LINKS_MAX 40 /* as the kernel follows */

/* What only describes or controls the host's kernel. Not here: tmpfs, mqueue, overlay, fuse. */
static const char *const kernel_types[] = {
	"proc",    "sysfs",    "cgroup",     "cgroup2",     "devtmpfs", "devpts",
	"debugfs", "tracefs",  "securityfs", "selinuxfs",   "smackfs",  "configfs",
	"bpf",     "efivarfs", "pstore",     "binfmt_misc", "fusectl",  "nsfs",
};

/* ---- finding ---- */

/* The name that the kernel has for an open object; of PATH_MAX bytes. */
static int fd_name(int fd, char *name)
{
	char link[40];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, PATH_MAX);
	if (len < 0)
		return -1;
	if (len == PATH_MAX || name[0] != '/') {
		errno = ESTALE;
		return -1;
	}
	name[len] = '\0';
	return 0;
}

/* The name of an open object, if that leads to it without any link. */
static int name_of(int root_fd, int fd, const struct stat *object, char **ret)
{
	owned_fd int again_fd = -1;
	struct stat again;
	char name[PATH_MAX];

	if (fd_name(fd, name) != 0)
		return -1;
	again_fd = path_try(root_fd, path_from_root(name), O_PATH, 0, RESOLVE_NO_SYMLINKS);
	if (again_fd < 0 || fstat(again_fd, &again) != 0 || !fd_same_object(object, &again)) {
		errno = ESTALE;
		return -1;
	}
	*ret = strdup(name);
	return *ret ? 0 : -1;
}

static int find_plain(int root_fd, const char *path, struct source *ret)
{
	*ret = SOURCE_NONE;
	ret->fd = path_try(root_fd, path_from_root(path), O_PATH, 0, RESOLVE_NO_SYMLINKS);
	if (ret->fd < 0)
		return -1;
	ret->path = strdup(path);
	return ret->path ? fstat(ret->fd, &ret->stat) : -1;
}

int source_find(int root_fd, const char *path, struct source *ret)
{
	if (find_plain(root_fd, path, ret) == 0)
		return 0;
	if (errno != ELOOP)
		return -1;
	ret->fd = path_try(root_fd, path_from_root(path), O_PATH, 0, RESOLVE_NO_MAGICLINKS);
	if (ret->fd < 0 || fstat(ret->fd, &ret->stat) != 0)
		return -1;
	return name_of(root_fd, ret->fd, &ret->stat, &ret->path);
}

/* ---- finding, for root ---- */

struct walk {
	int root_fd;
	int fd;              /* where it stands; O_PATH */
	char rest[PATH_MAX]; /* still to go */
	int links;           /* followed so far */
};

static void walk_done(struct walk *walk)
{
	fd_done(&walk->fd);
}

static void move_to(struct walk *walk, int fd)
{
	fd_done(&walk->fd);
	walk->fd = fd;
}

/* Take the next component off the rest. False: there is none. */
static bool next_name(struct walk *walk, char name[PATH_MAX])
{
	const char *start = walk->rest + strspn(walk->rest, "/");
	size_t len = strcspn(start, "/");

	snprintf(name, PATH_MAX, "%.*s", (int)len, start);
	memmove(walk->rest, start + len, strlen(start + len) + 1);
	return len > 0;
}

/* Go on where an open link of root's leads. */
static int follow(struct walk *walk, const char *text)
{
	char rest[PATH_MAX];

	if (++walk->links > LINKS_MAX) {
		errno = ELOOP;
		return -1;
	}
	if ((size_t)snprintf(rest, sizeof(rest), "%s%s", text, walk->rest) >= sizeof(rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(walk->rest, rest, sizeof(rest));
	if (text[0] == '/')
		move_to(walk, fcntl(walk->root_fd, F_DUPFD_CLOEXEC, 0));
	return walk->fd < 0 ? -1 : 0;
}

/* What an open link says. A link of procfs is refused as openat2() would, with ELOOP: it leads to an object. */
static int read_link(int fd, char text[PATH_MAX])
{
	struct statfs fs;
	ssize_t len;

	if (fstatfs(fd, &fs) != 0)
		return -1;
	if (fs.f_type == PROC_SUPER_MAGIC) {
		errno = ELOOP;
		return -1;
	}
	len = readlinkat(fd, "", text, PATH_MAX - 1);
	if (len < 0)
		return -1;
	text[len] = '\0';
	return 0;
}

/* One component further. Returns 0; 1 with *ret_link; -1. */
static int step(struct walk *walk, const char *name, struct source_link *ret_link)
{
	owned_fd int fd = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return -1;
	if (!S_ISLNK(st.st_mode)) {
		move_to(walk, fd_take(&fd));
		return 0;
	}
	if (read_link(fd, ret_link->text) != 0)
		return -1;
	if (st.st_uid == 0)
		return follow(walk, ret_link->text);
	ret_link->owner = st.st_uid;
	return fd_name(fd, ret_link->path) != 0 ? -1 : 1;
}

static int find_for_root(int root_fd, const char *path, struct source *ret, struct source_link *ret_link)
{
	__attribute__((cleanup(walk_done))) struct walk walk = { .root_fd = root_fd, .fd = -1 };
	char name[PATH_MAX];

	snprintf(walk.rest, sizeof(walk.rest), "%s", path);
	walk.fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	while (walk.fd >= 0 && next_name(&walk, name)) {
		int stepped = step(&walk, name, ret_link);

		if (stepped != 0)
			return stepped;
	}
	if (walk.fd < 0 || fstat(walk.fd, &ret->stat) != 0)
		return -1;
	ret->fd = fd_take(&walk.fd);
	return name_of(root_fd, ret->fd, &ret->stat, &ret->path);
}

int source_find_named(int root_fd, const char *path, struct source *ret, struct source_link *ret_link)
{
	if (geteuid() != 0)
		return source_find(root_fd, path, ret);
	if (find_plain(root_fd, path, ret) == 0)
		return 0;
	return errno == ELOOP ? find_for_root(root_fd, path, ret, ret_link) : -1;
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
	for (size_t i = 0; i < ARRAY_LENGTH(kernel_types); i++)
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

bool source_has_mount_beneath(const char *mounts, const char *path)
{
	struct mountinfo_text text = { mounts, strlen(mounts) };
	struct mountinfo_text line;
	char point[PATH_MAX];

	while (mountinfo_cut(&text, &line)) {
		struct mountinfo mount;

		if (mountinfo_parse(line, &mount) && (!mountinfo_path(mount.point, point, sizeof(point)) ||
						      (path_within(path, point) && strcmp(path, point) != 0)))
			return true;
	}
	return false;
}
