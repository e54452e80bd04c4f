/*
 * The table says where something is mounted, with which flags, and, as device and root, what of which file system. For the
 * jail's own mounts, which are made of tmpfs, proc and devpts, that is enough to know them. For a bind it is not:
 * the device is not the one that stat(2) tells on every file system, and the root depends on how the host mounted it. So
 * binds are also looked at through the jail's root.
 *
 * A mask is /dev/null, or the empty /dev/empty, mounted again over a name beneath /proc. Whatever else lies there, or in /dev,
 * was not made by the jail.
 */
#include "jail/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mountinfo.h"
#include "base/path.h"
#include "jail/overlay.h"

enum {
	FLAG_RO = 1,
	FLAG_NOSUID = 2,
	FLAG_NODEV = 4,
	FLAG_NOEXEC = 8,
};

static const struct flag {
	const char *name;
	unsigned int bit;
} flag_names[] = {
	{ "ro", FLAG_RO },
	{ "nosuid", FLAG_NOSUID },
	{ "nodev", FLAG_NODEV },
	{ "noexec", FLAG_NOEXEC },
};

/* The jail's own mounts. /dev and its nodes are the only ones without nodev, and the first is read-only. */
static const struct own {
	const char *target, *type, *root;
	unsigned int flags;
} own_mounts[] = {
	{ "/", "tmpfs", "/", FLAG_RO | FLAG_NOSUID | FLAG_NODEV },
	{ "/dev", "tmpfs", "/", FLAG_RO | FLAG_NOSUID | FLAG_NOEXEC },
	{ "/dev/pts", "devpts", "/", FLAG_NOSUID | FLAG_NOEXEC },
	{ "/proc", "proc", "/", FLAG_RO | FLAG_NOSUID | FLAG_NODEV | FLAG_NOEXEC },
	/* One tmpfs, mounted three times: as a whole, and over that its two directories. */
	{ "/dev/shm", "tmpfs", "/", FLAG_NOSUID | FLAG_NODEV | FLAG_NOEXEC },
	{ "/dev/shm", "tmpfs", "/shm", FLAG_NOSUID | FLAG_NODEV | FLAG_NOEXEC },
	{ "/tmp", "tmpfs", "/tmp", FLAG_NOSUID | FLAG_NODEV },
};
#define OWN_COUNT   (sizeof(own_mounts) / sizeof(own_mounts[0]))
#define OWN_SCRATCH 4 /* the first row of that tmpfs */

/* In an ordinary user's jail, the host's nodes; root makes its own, which are no mounts. */
static const char *const nodes[] = { "/dev/null",   "/dev/zero",    "/dev/full",
				     "/dev/random", "/dev/urandom", "/dev/tty" };

/* What lies at a path, in the words of the table: the file system, and the path in it in two parts. */
struct place {
	const char *path;
	size_t point_len; /* of the deepest mount on the way */
	struct mountinfo_text device, root;
	const char *rest;
};

struct checking {
	const struct rootfs *rootfs;
	char (*directories)[OVERLAY_OPTIONS_BYTES];         /* of each overlay, as the table must show them */
	struct mountinfo_text devices[ROOTFS_OVERLAYS_MAX]; /* of each, from its first part on */
	struct warder_error *err;
	bool *seen; /* by own mount, then by entry */
	struct place masks[2];
	struct mountinfo_text scratch; /* device of the tmpfs behind /tmp */
};

/* The flags that a mount must have, and the row of `seen` that it is. */
struct verdict {
	unsigned int flags;
	size_t row; /* SIZE_MAX: none of its own */
};

static int differs(struct checking *checking, const char *path, const char *what)
{
	return error_set(checking->err, WARDER_ERROR_UNAVAILABLE, "filesystem.view",
			 "the kernel shows a mount at %s that the plan does not have%s", path, what);
}

static unsigned int parse_flags(struct mountinfo_text options)
{
	unsigned int flags = 0;

	for (size_t i = 0; i < sizeof(flag_names) / sizeof(flag_names[0]); i++)
		if (mountinfo_has(options, flag_names[i].name))
			flags |= flag_names[i].bit;
	return flags;
}

static void print_flags(unsigned int flags, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = 0;
	for (size_t i = 0; i < sizeof(flag_names) / sizeof(flag_names[0]); i++)
		if (flags & flag_names[i].bit)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? "," : "",
						 flag_names[i].name);
}

static unsigned int bind_flags(const struct rootfs_entry *entry)
{
	return FLAG_NOSUID | FLAG_NODEV | (entry->read_only ? FLAG_RO : 0) |
	       (entry->no_exec ? FLAG_NOEXEC : 0);
}

static bool same_text(struct mountinfo_text a, struct mountinfo_text b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* ---- masks ---- */

/* A later mount at the same point lies over an earlier one. */
static void note_place(struct place *place, const struct mountinfo *mount)
{
	char point[16];

	if (!mountinfo_path(mount->point, point, sizeof(point)) || !path_within(point, place->path) ||
	    mount->point.len < place->point_len)
		return;
	place->point_len = mount->point.len;
	place->device = mount->device;
	place->root = mount->root;
	place->rest = place->path + (mount->point.len == 1 ? 0 : mount->point.len);
}

static bool is_at(const struct mountinfo *mount, const struct place *place)
{
	size_t root_len = place->root.len == 1 ? 0 : place->root.len;
	size_t rest_len = place->rest ? strlen(place->rest) : 0;

	return place->rest && same_text(mount->device, place->device) &&
	       mount->root.len == root_len + rest_len &&
	       memcmp(mount->root.at, place->root.at, root_len) == 0 &&
	       memcmp(mount->root.at + root_len, place->rest, rest_len) == 0;
}

static bool is_mask(const struct checking *checking, const struct mountinfo *mount)
{
	return is_at(mount, &checking->masks[0]) || is_at(mount, &checking->masks[1]);
}

static bool is_node(const char *path)
{
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		if (strcmp(path, nodes[i]) == 0)
			return true;
	return false;
}

/* ---- the table ---- */

/* The root's own tmpfs, where an overlay has taken its place. */
static bool is_given_up(const struct rootfs *rootfs, size_t own)
{
	return rootfs->whole && own == 0;
}

/* Whether it is one of the jail's own. 1; 0; -1 where one of them should be, but it is another. */
static int judge_own(struct checking *checking, const struct mountinfo *mount, const char *path,
		     struct verdict *ret)
{
	bool here = false;

	for (size_t i = 0; i < OWN_COUNT; i++) {
		const struct own *own = &own_mounts[i];
		const bool is_tmp = i == OWN_COUNT - 1;

		if (strcmp(path, own->target) != 0 || is_given_up(checking->rootfs, i))
			continue;
		here = true;
		if (!mountinfo_is(mount->type, own->type) || !mountinfo_is(mount->root, own->root))
			continue;
		if (i >= OWN_SCRATCH && checking->scratch.at && !same_text(checking->scratch, mount->device))
			return differs(checking, path, ": another tmpfs than /dev/shm");
		if (i >= OWN_SCRATCH)
			checking->scratch = mount->device;
		ret->flags = own->flags | (is_tmp && !checking->rootfs->tmp_exec ? FLAG_NOEXEC : 0);
		ret->row = i;
		return 1;
	}
	return here ? differs(checking, path, ": not the jail's own") : 0;
}

/* Whether it is a bind of the plan, or came with one: the deepest decides, which the order puts last. */
static bool judge_bind(const struct rootfs *rootfs, const char *path, struct verdict *ret)
{
	bool found = false;

	for (size_t i = 0; i < rootfs->count; i++) {
		const struct rootfs_entry *entry = &rootfs->entries[i];

		if (entry->kind != ROOTFS_BIND || !path_within(entry->target, path))
			continue;
		found = true;
		ret->flags = bind_flags(entry);
		ret->row = path[strlen(entry->target)] ? SIZE_MAX : OWN_COUNT + i;
	}
	return found;
}

/* Of an overlay the table shows the directories that it was made of. */
bool mounts_is_part(const struct mountinfo *mount, const struct rootfs_entry *entry, const char *directories,
		    struct mountinfo_text *device)
{
	const size_t len = strlen(directories);
	struct mountinfo_text super = mount->super;

	while (super.len > len && memcmp(super.at, directories, len) != 0) {
		const char *comma = memchr(super.at, ',', super.len);

		if (!comma)
			break;
		super.len -= (size_t)(comma + 1 - super.at);
		super.at = comma + 1;
	}
	if (!mountinfo_is(mount->type, "overlay") || !mountinfo_is(mount->root, entry->source) ||
	    super.len < len || memcmp(super.at, directories, len) != 0 ||
	    (super.len > len && super.at[len] != ',') || mountinfo_has(mount->super, "redirect_dir=on") ||
	    mountinfo_has(mount->super, "metacopy=on") || (device->at && !same_text(*device, mount->device)))
		return false;
	*device = mount->device;
	return true;
}

/* Whether a part of an overlay is to be there. 1; 0; -1 where one should be, but it is another. */
static int judge_overlay(struct checking *checking, const struct mountinfo *mount, const char *path,
			 struct verdict *ret)
{
	for (size_t i = 0; i < checking->rootfs->count; i++) {
		const struct rootfs_entry *entry = &checking->rootfs->entries[i];

		if (entry->kind != ROOTFS_OVERLAY || strcmp(path, entry->target) != 0)
			continue;
		ret->flags = FLAG_NOSUID | FLAG_NODEV;
		ret->row = OWN_COUNT + i;
		return mounts_is_part(mount, entry, checking->directories[entry->overlay],
				      &checking->devices[entry->overlay])
			   ? 1
			   : differs(checking, entry->target, ": not the overlay's part");
	}
	return 0;
}

static int judge(struct checking *checking, const struct mountinfo *mount, const char *path,
		 struct verdict *ret)
{
	int own = judge_own(checking, mount, path, ret);

	if (own == 0 && checking->rootfs->overlay_count)
		own = judge_overlay(checking, mount, path, ret);
	if (own != 0)
		return own;
	if (judge_bind(checking->rootfs, path, ret))
		return 0;
	ret->row = SIZE_MAX;
	ret->flags = FLAG_NOSUID;
	if (path_within("/proc", path) && is_mask(checking, mount))
		return 0;
	ret->flags = FLAG_NOSUID | FLAG_NOEXEC;
	return is_node(path) ? 0 : differs(checking, path, "");
}

static int check_mount(struct checking *checking, const struct mountinfo *mount)
{
	unsigned int has = parse_flags(mount->options);
	struct verdict wanted = { .row = SIZE_MAX };
	char path[PATH_MAX];
	char have[48];
	char want[48];

	if (!mountinfo_path(mount->point, path, sizeof(path)))
		return error_set(checking->err, WARDER_ERROR_UNAVAILABLE, "filesystem.view",
				 "the kernel shows a mount whose path cannot be read: %.*s",
				 (int)(mount->point.len > 80 ? 80 : mount->point.len), mount->point.at);
	if (mount->linked)
		return error_set(checking->err, WARDER_ERROR_UNAVAILABLE, "filesystem.view",
				 "the kernel shows a mount at %s that is not private: what the host mounts "
				 "beneath it later would appear in the jail",
				 path);
	if (judge(checking, mount, path, &wanted) < 0)
		return -1;
	if ((has & wanted.flags) != wanted.flags) {
		print_flags(has, have, sizeof(have));
		print_flags(wanted.flags, want, sizeof(want));
		return error_set(checking->err, WARDER_ERROR_UNAVAILABLE, "filesystem.view",
				 "the kernel shows %s mounted with \"%s\", the plan wants \"%s\"", path, have,
				 want);
	}
	if (wanted.row != SIZE_MAX)
		checking->seen[wanted.row] = true;
	return 0;
}

static int check_seen(const struct checking *checking)
{
	const struct rootfs *rootfs = checking->rootfs;

	for (size_t i = 0; i < OWN_COUNT + rootfs->count; i++) {
		const struct rootfs_entry *entry = i < OWN_COUNT ? NULL : &rootfs->entries[i - OWN_COUNT];

		if (!checking->seen[i] && !(i < OWN_COUNT && is_given_up(rootfs, i)) &&
		    (!entry || entry->kind == ROOTFS_BIND || entry->kind == ROOTFS_OVERLAY))
			return error_set(checking->err, WARDER_ERROR_UNAVAILABLE, "filesystem.view",
					 "the kernel does not show the plan's mount at %s",
					 entry ? entry->target : own_mounts[i].target);
	}
	return 0;
}

/* Twice: masks may stand before what they are made of. */
static int check_table(struct checking *checking, const struct mountinfo_text table)
{
	struct mountinfo_text rest = table;
	struct mountinfo_text line;
	struct mountinfo mount;
	int count = 0;

	while (mountinfo_cut(&rest, &line)) {
		if (!mountinfo_parse(line, &mount))
			return error_set(checking->err, WARDER_ERROR_INTERNAL, NULL,
					 "a line of mountinfo cannot be read: %.*s",
					 (int)(line.len > 80 ? 80 : line.len), line.at);
		note_place(&checking->masks[0], &mount);
		note_place(&checking->masks[1], &mount);
	}
	for (rest = table; mountinfo_cut(&rest, &line) && mountinfo_parse(line, &mount); count++)
		if (check_mount(checking, &mount) < 0)
			return -1;
	return check_seen(checking) < 0 ? -1 : count;
}

int mounts_check(const char *text, const struct rootfs *rootfs, struct warder_error *err)
{
	char directories[ROOTFS_OVERLAYS_MAX][OVERLAY_OPTIONS_BYTES];
	struct checking checking = { .rootfs = rootfs,
				     .directories = directories,
				     .err = err,
				     .seen = calloc(OWN_COUNT + rootfs->count, sizeof(*checking.seen)),
				     .masks = { { .path = "/dev/null" }, { .path = "/dev/empty" } } };
	int ret;

	if (!checking.seen)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "no memory");
	for (size_t i = 0; i < rootfs->overlay_count; i++)
		overlay_directories(rootfs, i, directories[i]);
	ret = check_table(&checking, (struct mountinfo_text){ text, strlen(text) });
	free(checking.seen);
	return ret;
}

/* ---- the objects ---- */

int mounts_compare(int root_fd, const struct rootfs *rootfs, struct warder_error *err)
{
	int count = 0;

	for (size_t i = 0; i < rootfs->count; i++) {
		const struct rootfs_entry *entry = &rootfs->entries[i];
		const char *field =
		    entry->field == POLICY_FIELD_NONE ? "filesystem.view" : policy_field_path(entry->field);
		struct stat st;

		if (entry->kind != ROOTFS_BIND)
			continue;
		if (fstatat(root_fd, entry->target + 1, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
					       "cannot look at %s in the jail", entry->target);
		if (st.st_dev != entry->source_dev || st.st_ino != entry->source_ino)
			return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
					 "what the jail has at %s is not %s", entry->target, entry->source);
		count++;
	}
	return count;
}
