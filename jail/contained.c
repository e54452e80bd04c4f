#include "jail/contained.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/mountinfo.h"
#include "base/path.h"
#include "jail/jail.h"
#include "jail/mounts.h"
#include "jail/overlay.h"

static const char field[] = "filesystem.view";

/* What a container has of its own. The options are NULL-terminated; mounts of the two last are of one file system. */
static const struct own {
	const char *target, *type;
	const char *options[5];
} own_mounts[] = {
	{ "/", NULL, { "ro" } },
	{ "/proc", "proc", { "ro", "nosuid", "nodev", "noexec" } },
	{ "/dev", "tmpfs", { "nosuid", "noexec" } },
	{ "/dev/pts", "devpts", { "nosuid", "noexec" } },
	{ "/dev/shm", "tmpfs", { "nosuid", "nodev", "noexec" } },
	{ "/tmp", "tmpfs", { "nosuid", "nodev" } },
};
#define OWN_COUNT (ARRAY_LENGTH(own_mounts))
#define OWN_PTS   3
#define OWN_SHM   4
#define OWN_TMP   5

static const char *const nodes[] = { "/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
				     "/dev/urandom", "/dev/tty",  "/dev/ptmx", "/dev/console" };

/* Which mounts of the plan and of its own were seen; the devices of the two that share a file system. */
struct seen {
	const char *host; /* our own mount table */
	unsigned int own;
	bool *mounts;              /* one for each entry of the plan */
	const struct trust *trust; /* or NULL */
	struct mountinfo_text scratch[2];
	struct mountinfo_text overlays[ROOTFS_OVERLAYS_MAX]; /* as mounts_is_part() has them */
};

static int lacks(struct warder_error *err, const char *path, const struct mountinfo *mount,
		 const char *option)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
			 "the kernel shows %s mounted with \"%.*s\", the plan wants \"%s\"", path,
			 (int)(mount->options.len > 60 ? 60 : mount->options.len), mount->options.at, option);
}

static int require(const struct mountinfo *mount, const char *path, const char *option, bool wanted,
		   struct warder_error *err)
{
	return !wanted || mountinfo_has(mount->options, option) ? 0 : lacks(err, path, mount, option);
}

static int check_flags(const struct rootfs_entry *entry, const struct mountinfo *mount, const char *path,
		       struct warder_error *err)
{
	if (require(mount, path, "nosuid", true, err) < 0 || require(mount, path, "nodev", true, err) < 0 ||
	    require(mount, path, "ro", entry->read_only, err) < 0)
		return -1;
	return require(mount, path, "noexec", entry->no_exec, err);
}

/* The bind of the plan that it is, or came with, or the part of an overlay: the deepest, which the order puts last. */
static const struct rootfs_entry *find_entry(const struct rootfs *rootfs, const char *path)
{
	const struct rootfs_entry *found = NULL;

	for (size_t i = 0; i < rootfs->count; i++)
		if ((rootfs->entries[i].kind == ROOTFS_BIND &&
		     path_within(rootfs->entries[i].target, path)) ||
		    (rootfs->entries[i].kind == ROOTFS_OVERLAY &&
		     strcmp(rootfs->entries[i].target, path) == 0))
			found = &rootfs->entries[i];
	return found;
}

static int check_part(const struct rootfs *rootfs, const struct rootfs_entry *entry,
		      const struct mountinfo *mount, struct seen *seen, struct warder_error *err)
{
	char directories[OVERLAY_OPTIONS_BYTES];

	overlay_directories(rootfs, entry->overlay, directories);
	return mounts_is_part(mount, entry, directories, &seen->overlays[entry->overlay])
		   ? 0
		   : error_set(err, WARDER_ERROR_UNAVAILABLE, field,
			       "the kernel shows a mount at %s that is not the overlay's part",
			       entry->target);
}

/* A mount deeper than a bind's own came with it only if the host has the same one there. */
static bool came_along(const char *host, const struct rootfs_entry *bind, const struct mountinfo *mount,
		       const char *path)
{
	struct mountinfo_text rest = { host, strlen(host) };
	struct mountinfo_text line;
	struct mountinfo theirs;
	char wanted[PATH_MAX], point[PATH_MAX];

	if (snprintf(wanted, sizeof(wanted), "%s%s", bind->source[1] ? bind->source : "",
		     path + (bind->target[1] ? strlen(bind->target) : 0)) >= (int)sizeof(wanted))
		return false;
	while (mountinfo_cut(&rest, &line))
		if (mountinfo_parse(line, &theirs) && theirs.device.len == mount->device.len &&
		    memcmp(theirs.device.at, mount->device.at, mount->device.len) == 0 &&
		    theirs.root.len == mount->root.len &&
		    memcmp(theirs.root.at, mount->root.at, mount->root.len) == 0 &&
		    mountinfo_path(theirs.point, point, sizeof(point)) && strcmp(point, wanted) == 0)
			return true;
	return false;
}

static bool is_node(const char *path)
{
	for (size_t i = 0; i < ARRAY_LENGTH(nodes); i++)
		if (strcmp(path, nodes[i]) == 0)
			return true;
	return false;
}

static int check_own(const struct rootfs *rootfs, const struct mountinfo *mount, const char *path, size_t row,
		     struct seen *seen, struct warder_error *err)
{
	const struct own *own = &own_mounts[row];

	if (own->type && !mountinfo_is(mount->type, own->type))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
				 "the kernel shows a mount at %s that is not of type %s", path, own->type);
	if (row == OWN_PTS && !rootfs->terminals)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "devices.terminals",
				 "the kernel shows a mount at %s, the plan has no terminals", path);
	if (row == OWN_PTS && !mounts_has_terminals(mount, rootfs->terminals))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "devices.terminals",
				 "the kernel shows %s mounted with \"%.*s\", the plan wants \"max=%u\"", path,
				 (int)(mount->super.len > 60 ? 60 : mount->super.len), mount->super.at,
				 rootfs->terminals);
	for (size_t i = 0; own->options[i]; i++)
		if (require(mount, path, own->options[i], true, err) < 0)
			return -1;
	if (row == OWN_TMP && require(mount, path, "noexec", !rootfs->tmp_exec, err) < 0)
		return -1;
	if (row >= OWN_SHM)
		seen->scratch[row - OWN_SHM] = mount->device;
	seen->own |= 1u << row;
	return 0;
}

static int check_mount(const struct rootfs *rootfs, const struct mountinfo *mount, const char *path,
		       struct seen *seen, struct warder_error *err)
{
	const struct rootfs_entry *entry = find_entry(rootfs, path);

	for (size_t i = 0; i < OWN_COUNT; i++)
		if (strcmp(path, own_mounts[i].target) == 0)
			return check_own(rootfs, mount, path, i, seen, err);
	/* The host may have a mount there, too, which came along. Whether the last one shows the run's, its content tells. */
	if (trust_has(seen->trust, path))
		return require(mount, path, "nosuid", true, err) < 0 ||
			       require(mount, path, "nodev", true, err) < 0 ||
			       require(mount, path, "ro", true, err) < 0
			   ? -1
			   : 0;
	if (entry && entry->kind == ROOTFS_OVERLAY && check_part(rootfs, entry, mount, seen, err) < 0)
		return -1;
	if (entry && strcmp(path, entry->target) != 0 && !came_along(seen->host, entry, mount, path))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
				 "the kernel shows a mount at %s that neither the plan nor %s has", path,
				 entry->source);
	if (entry) {
		if (strcmp(path, entry->target) == 0)
			seen->mounts[entry - rootfs->entries] = true;
		return check_flags(entry, mount, path, err);
	}
	if (require(mount, path, "nosuid", true, err) < 0 || require(mount, path, "noexec", true, err) < 0)
		return -1;
	if (is_node(path))
		return 0;
	/* A mask, or a part of /proc once more. A null device that is not read-only is nothing that could be written either. */
	if (path_within("/proc", path) && path[5] &&
	    (mountinfo_has(mount->options, "ro") || mountinfo_is(mount->root, "/null")))
		return 0;
	return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
			 "the kernel shows a mount at %s that the plan does not have", path);
}

static int check_line(const struct rootfs *rootfs, struct mountinfo_text line, struct seen *seen,
		      struct warder_error *err)
{
	struct mountinfo mount;
	char path[PATH_MAX];

	if (!mountinfo_parse(line, &mount) || !mountinfo_path(mount.point, path, sizeof(path)))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
				 "a line of mountinfo cannot be read: %.*s",
				 (int)(line.len > 80 ? 80 : line.len), line.at);
	if (mount.linked)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
				 "the kernel shows a mount at %s that is not private", path);
	return check_mount(rootfs, &mount, path, seen, err);
}

static int check_seen(const struct rootfs *rootfs, const struct seen *seen, struct warder_error *err)
{
	for (size_t i = 0; i < OWN_COUNT; i++)
		if (!(seen->own & (1u << i)) && (i != OWN_PTS || rootfs->terminals))
			return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
					 "the kernel does not show a mount at %s", own_mounts[i].target);
	/* Of what, is for mounts_compare(), and of overlays for check_part(). */
	for (size_t i = 0; i < rootfs->count; i++)
		if ((rootfs->entries[i].kind == ROOTFS_BIND || rootfs->entries[i].kind == ROOTFS_OVERLAY) &&
		    !seen->mounts[i])
			return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
					 "the kernel does not show the plan's mount at %s",
					 rootfs->entries[i].target);
	if (seen->scratch[0].len != seen->scratch[1].len ||
	    memcmp(seen->scratch[0].at, seen->scratch[1].at, seen->scratch[0].len) != 0)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "limits.disk",
				 "/tmp and /dev/shm are two file systems, which have one size each");
	return 0;
}

int contained_check_mounts(const char *text, const char *own, const struct rootfs *rootfs,
			   const struct trust *trust, struct warder_error *err)
{
	struct mountinfo_text rest = { text, strlen(text) };
	struct mountinfo_text line;
	struct seen seen = { .host = own, .mounts = calloc(rootfs->count + 1, sizeof(bool)), .trust = trust };
	int count = 0;

	if (!seen.mounts)
		return error_no_memory(err, field);
	while (count >= 0 && mountinfo_cut(&rest, &line))
		count = check_line(rootfs, line, &seen, err) < 0 ? -1 : count + 1;
	if (count >= 0 && check_seen(rootfs, &seen, err) < 0)
		count = -1;
	free(seen.mounts);
	return count;
}

/* ---- masks ---- */

/* The last mount at the path is the one that is seen. */
static bool find_last(const char *text, const char *path, struct mountinfo *ret)
{
	struct mountinfo_text rest = { text, strlen(text) };
	struct mountinfo_text line;
	struct mountinfo mount;
	char point[64];
	bool found = false;

	while (mountinfo_cut(&rest, &line))
		if (mountinfo_parse(line, &mount) && mountinfo_path(mount.point, point, sizeof(point)) &&
		    strcmp(point, path) == 0) {
			*ret = mount;
			found = true;
		}
	return found;
}

/* Whether there is nothing in it: an empty directory, or a null device. */
static bool is_blank(int root_fd, const char *path, const struct stat *st)
{
	owned_fd int fd = -1;
	char entries[512];

	if (S_ISCHR(st->st_mode))
		return st->st_rdev == makedev(1, 3);
	if (!S_ISDIR(st->st_mode))
		return false;
	fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* "." and ".." take 24 bytes each. */
	return fd >= 0 && syscall(SYS_getdents64, fd, entries, sizeof(entries)) <= 48;
}

int contained_check_masks(const char *text, int root_fd, struct warder_error *err)
{
	const char *path;
	bool whole;

	for (size_t i = 0; (path = jail_start_masked(i, &whole)); i++) {
		struct mountinfo mount;
		struct stat st;

		if (fstatat(root_fd, path + 1, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0) {
			if (errno == ENOENT)
				continue;
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
					       "cannot look at %s in the container", path);
		}
		if (!find_last(text, path, &mount) || (whole && !is_blank(root_fd, path + 1, &st)) ||
		    (!whole && !mountinfo_has(mount.options, "ro")))
			return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
					 "%s is not covered in the container", path);
	}
	return 0;
}
