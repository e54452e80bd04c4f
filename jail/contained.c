#include "jail/contained.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mountinfo.h"
#include "base/path.h"

static const char field[] = "filesystem.view";

/* What a container has of its own. The options are NULL-terminated; mounts of the two last are of one file system. */
static const struct own {
	const char *target, *type;
	const char *options[4];
} own_mounts[] = {
	{ "/", NULL, { "ro" } },
	{ "/proc", "proc", { "nosuid", "nodev", "noexec" } },
	{ "/dev", "tmpfs", { "nosuid", "noexec" } },
	{ "/dev/pts", "devpts", { "nosuid", "noexec" } },
	{ "/dev/shm", "tmpfs", { "nosuid", "nodev", "noexec" } },
	{ "/tmp", "tmpfs", { "nosuid", "nodev" } },
};
#define OWN_COUNT (sizeof(own_mounts) / sizeof(own_mounts[0]))
#define OWN_SHM   4
#define OWN_TMP   5

static const char *const nodes[] = { "/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
				     "/dev/urandom", "/dev/tty",  "/dev/ptmx", "/dev/console" };

/* Which mounts of the plan and of its own were seen; the devices of the two that share a file system. */
struct seen {
	unsigned int own;
	size_t binds;
	struct mountinfo_text scratch[2];
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

static int check_bind(const struct rootfs_entry *entry, const struct mountinfo *mount, const char *path,
		      struct warder_error *err)
{
	if (require(mount, path, "nosuid", true, err) < 0 || require(mount, path, "nodev", true, err) < 0 ||
	    require(mount, path, "ro", entry->read_only, err) < 0)
		return -1;
	return require(mount, path, "noexec", entry->no_exec, err);
}

/* The bind of the plan that it is, or came with: the deepest, which the order puts last. */
static const struct rootfs_entry *find_bind(const struct rootfs *rootfs, const char *path)
{
	const struct rootfs_entry *found = NULL;

	for (size_t i = 0; i < rootfs->count; i++)
		if (rootfs->entries[i].kind == ROOTFS_BIND && path_within(rootfs->entries[i].target, path))
			found = &rootfs->entries[i];
	return found;
}

static bool is_node(const char *path)
{
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
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
				 "the kernel shows a mount at %s that is no %s", path, own->type);
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
	const struct rootfs_entry *bind = find_bind(rootfs, path);

	for (size_t i = 0; i < OWN_COUNT; i++)
		if (strcmp(path, own_mounts[i].target) == 0)
			return check_own(rootfs, mount, path, i, seen, err);
	if (bind) {
		seen->binds += strcmp(path, bind->target) == 0;
		return check_bind(bind, mount, path, err);
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
	size_t binds = 0;

	for (size_t i = 0; i < OWN_COUNT; i++)
		if (!(seen->own & (1u << i)))
			return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
					 "the kernel does not show a mount at %s", own_mounts[i].target);
	for (size_t i = 0; i < rootfs->count; i++)
		binds += rootfs->entries[i].kind == ROOTFS_BIND;
	/* Which they are is for mounts_compare(). */
	if (seen->binds < binds)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
				 "the kernel shows %zu of the plan's %zu mounts", seen->binds, binds);
	if (seen->scratch[0].len != seen->scratch[1].len ||
	    memcmp(seen->scratch[0].at, seen->scratch[1].at, seen->scratch[0].len) != 0)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "limits.disk",
				 "/tmp and /dev/shm are two file systems, which have one size each");
	return 0;
}

int contained_check_mounts(const char *text, const struct rootfs *rootfs, struct warder_error *err)
{
	struct mountinfo_text rest = { text, strlen(text) };
	struct mountinfo_text line;
	struct seen seen = { 0 };
	int count = 0;

	for (; mountinfo_cut(&rest, &line); count++)
		if (check_line(rootfs, line, &seen, err) < 0)
			return -1;
	return check_seen(rootfs, &seen, err) < 0 ? -1 : count;
}
