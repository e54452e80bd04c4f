/*
 * The table says where something is mounted, with which flags, and, as device and root, what of which file system. For the
 * jail's own mounts, which are made of tmpfs, proc and devpts, that is enough to know them. For a bind it is not:
 * the device is not the one that stat(2) tells on every file system, and the root depends on how the host mounted it. So
 * binds are also looked at through the jail's root.
 *
 * What covers a name beneath /proc is /dev/null, the empty /dev/empty, a file of the root's /dev/proc, or one of the scratch tmpfs, as the
 * name's row says (jail/proc.h), mounted again. Whatever else lies there, or in /dev, was not made by the jail.
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

#include "base/array.h"
#include "base/mountinfo.h"
#include "base/path.h"
#include "jail/inside/wire.h"
#include "jail/overlay.h"
#include "jail/proc.h"
#include "jail/trust.h"

enum {
	FLAG_RO = 1,
	FLAG_NOSUID = 2,
	FLAG_NODEV = 4,
	FLAG_NOEXEC = 8,
};

static const struct flag {
	struct mountinfo_text name;
	unsigned int bit;
} flag_names[] = {
	{ { "ro", sizeof("ro") - 1 }, FLAG_RO },
	{ { "nosuid", sizeof("nosuid") - 1 }, FLAG_NOSUID },
	{ { "nodev", sizeof("nodev") - 1 }, FLAG_NODEV },
	{ { "noexec", sizeof("noexec") - 1 }, FLAG_NOEXEC },
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
#define OWN_COUNT   (ARRAY_LENGTH(own_mounts))
#define OWN_PTS     2
#define OWN_PROC    3
#define OWN_SCRATCH 4 /* the first row of that tmpfs */

/* In an ordinary user's jail, the host's nodes; root makes its own, which are no mounts. */
static const char *const nodes[] = { "/dev/null",   "/dev/zero",    "/dev/full",
				     "/dev/random", "/dev/urandom", "/dev/tty" };

/* What lies at a path, in the words of the table: the file system, and the path in it in two parts. */
struct path_mount {
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
	bool *seen;                    /* by own mount, then by entry, then by row of /proc */
	struct path_mount covers[3];   /* by enum proc_cover; of a file, its directory */
	struct mountinfo_text scratch; /* device of the tmpfs behind /tmp */
	struct mountinfo_text whole;   /* the same, of where it is mounted as a whole */
	size_t cover_rows;             /* of /proc */
	size_t next_row;               /* after the one that was seen last */
};

/* The flags that a mount must have, and the row of `seen` that it is. */
struct verdict {
	unsigned int flags;
	size_t row; /* SIZE_MAX: none of its own */
};

static bool same_text(struct mountinfo_text a, struct mountinfo_text b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

static int differs(struct checking *checking, const char *path, const char *what)
{
	return error_set(checking->err, WARDER_ERROR_UNAVAILABLE, "filesystem.view",
			 "the kernel shows a mount at %s that the plan does not have%s", path, what);
}

static unsigned int parse_flags(struct mountinfo_text options)
{
	unsigned int flags = 0;
	struct mountinfo_text option;

	while (mountinfo_option(&options, &option))
		for (size_t i = 0; i < ARRAY_LENGTH(flag_names); i++)
			if (same_text(option, flag_names[i].name))
				flags |= flag_names[i].bit;
	return flags;
}

static void print_flags(unsigned int flags, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(flag_names); i++)
		if (flags & flag_names[i].bit)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? "," : "",
						 flag_names[i].name.at);
}

static unsigned int bind_flags(const struct rootfs_entry *entry)
{
	return FLAG_NOSUID | FLAG_NODEV | (entry->read_only ? FLAG_RO : 0) |
	       (entry->no_exec ? FLAG_NOEXEC : 0);
}

/* ---- what covers names of /proc ---- */

/* A later mount at the same point lies over an earlier one. The paths have no letter that the table would write in another way. */
static void note_path_mount(struct path_mount *on, const struct mountinfo *mount)
{
	const size_t len = mount->point.len;

	if (len < on->point_len || len > strlen(on->path) || memcmp(mount->point.at, on->path, len) != 0 ||
	    (len > 1 && on->path[len] != '/' && on->path[len] != '\0'))
		return;
	on->point_len = mount->point.len;
	on->device = mount->device;
	on->root = mount->root;
	on->rest = on->path + (mount->point.len == 1 ? 0 : mount->point.len);
}

/* Whether a text is the others, one after the other; none of them "/" alone. */
static bool is_joined_of(struct mountinfo_text text, struct mountinfo_text first, const char *second,
			 const char *third)
{
	const size_t first_len = first.len == 1 ? 0 : first.len;
	const size_t second_len = strlen(second);
	const size_t third_len = strlen(third);

	return text.len == first_len + second_len + third_len && memcmp(text.at, first.at, first_len) == 0 &&
	       memcmp(text.at + first_len, second, second_len) == 0 &&
	       memcmp(text.at + first_len + second_len, third, third_len) == 0;
}

/* Whether what is mounted is the row's cover, which writes the flags that it must have. */
static bool is_cover(const struct checking *checking, const struct mountinfo *mount,
		     const struct proc_row *row, unsigned int *ret_flags)
{
	const char *name = proc_name(row) - 1;
	const struct path_mount *on;

	*ret_flags = FLAG_RO | FLAG_NOSUID | FLAG_NOEXEC;
	if (row->cover == PROC_LAUNCH)
		return checking->whole.at && same_text(mount->device, checking->whole) &&
		       is_joined_of(mount->root, (struct mountinfo_text){ "/", 1 },
				    &WIRE_LAUNCH_PROC[sizeof(WIRE_SCRATCH) - 1], name);
	on = &checking->covers[row->cover == PROC_FILES  ? PROC_FILE
			       : row->cover == PROC_ROOT ? PROC_NULL
							 : row->cover];
	if (row->cover != PROC_FILE && row->cover != PROC_FILES) {
		*ret_flags = FLAG_NOSUID;
		name = "";
	}
	return on->rest && same_text(mount->device, on->device) &&
	       is_joined_of(mount->root, on->root, on->rest, name);
}

/* Whether it covers a name of /proc. 1; 0: it is nowhere beneath /proc; -1: what covers the name is not to be there. */
static int judge_cover(struct checking *checking, const struct mountinfo *mount, const char *path,
		       struct verdict *ret)
{
	const struct proc_row *row;

	for (int i = 0; i < TRUST_COUNT; i++) {
		if (strcmp(path, trust_path(i)) != 0 || !checking->whole.at ||
		    !same_text(mount->device, checking->whole))
			continue;
		ret->row = SIZE_MAX;
		ret->flags = FLAG_RO | FLAG_NOSUID | FLAG_NODEV | FLAG_NOEXEC;
		return mountinfo_is(mount->root, trust_source(i) + sizeof(WIRE_SCRATCH) - 1)
			   ? 1
			   : differs(checking, path, ": something else covers it");
	}
	if (!path_within("/proc", path))
		return 0;
	/* They are mounted in the order of their rows: mostly it is the next one. */
	for (size_t n = 0; n < checking->cover_rows; n++) {
		const size_t i = (checking->next_row + n) % checking->cover_rows;

		row = proc_row(i);
		if (strcmp(row->path, path) != 0 || row->cover == PROC_PART)
			continue;
		checking->next_row = i + 1;
		ret->row = OWN_COUNT + checking->rootfs->count + i;
		return is_cover(checking, mount, row, &ret->flags)
			   ? 1
			   : differs(checking, path, ": something else covers it");
	}
	return differs(checking, path, "");
}

static bool is_node(const char *path)
{
	for (size_t i = 0; i < ARRAY_LENGTH(nodes); i++)
		if (strcmp(path, nodes[i]) == 0)
			return true;
	return false;
}

bool mounts_has_terminals(const struct mountinfo *mount, unsigned int terminals)
{
	char wanted[24];

	snprintf(wanted, sizeof(wanted), "max=%u", terminals);
	return mountinfo_has(mount->super, wanted);
}

/* ---- the table ---- */

/* The root's own tmpfs, where an overlay has taken its place; and /dev/pts, where there are to be no terminals. */
static bool is_given_up(const struct rootfs *rootfs, size_t own)
{
	return (rootfs->whole && own == 0) || (!rootfs->terminals && own == OWN_PTS);
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
		if (i == OWN_PTS && !mounts_has_terminals(mount, checking->rootfs->terminals))
			return differs(checking, path, ": not with the policy's number of terminals");
		if (i >= OWN_SCRATCH && checking->scratch.at && !same_text(checking->scratch, mount->device))
			return differs(checking, path, ": another tmpfs than /dev/shm");
		if (i >= OWN_SCRATCH)
			checking->scratch = mount->device;
		ret->flags = own->flags | (is_tmp && !checking->rootfs->tmp_exec ? FLAG_NOEXEC : 0);
		if (i == OWN_PROC && checking->rootfs->whole_proc)
			ret->flags &= ~FLAG_RO;
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
	/* No bind of a plan lies beneath /proc. */
	if (own == 0)
		own = judge_cover(checking, mount, path, ret);
	if (own != 0)
		return own;
	if (judge_bind(checking->rootfs, path, ret))
		return 0;
	ret->row = SIZE_MAX;
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
	for (size_t i = 0; !rootfs->whole_proc && proc_row(i); i++)
		if (proc_row(i)->always && !checking->seen[OWN_COUNT + rootfs->count + i])
			return error_set(
			    checking->err, WARDER_ERROR_UNAVAILABLE, "filesystem.view",
			    "the kernel does not show that %s is covered: it would describe the host",
			    proc_row(i)->path);
	return 0;
}

static void note_mount(struct checking *checking, const struct mountinfo *mount)
{
	for (size_t i = 0; i < ARRAY_LENGTH(checking->covers); i++)
		note_path_mount(&checking->covers[i], mount);
	if (mountinfo_is(mount->point, WIRE_SCRATCH) && mountinfo_is(mount->root, "/"))
		checking->whole = mount->device;
}

/* All are read before one is judged: covers may stand before what they are made of. */
static int check_table(struct checking *checking, struct mountinfo_text rest, struct mountinfo *mounts)
{
	struct mountinfo_text line;
	int count = 0;

	for (; mountinfo_cut(&rest, &line); count++) {
		if (!mountinfo_parse(line, &mounts[count]))
			return error_set(checking->err, WARDER_ERROR_INTERNAL, NULL,
					 "a line of mountinfo cannot be read: %.*s",
					 (int)(line.len > 80 ? 80 : line.len), line.at);
		note_mount(checking, &mounts[count]);
	}
	for (int i = 0; i < count; i++)
		if (check_mount(checking, &mounts[i]) < 0)
			return -1;
	return check_seen(checking) < 0 ? -1 : count;
}

static size_t count_lines(const char *text)
{
	size_t lines = 1;

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	return lines;
}

int mounts_check(const char *text, const struct rootfs *rootfs, struct warder_error *err)
{
	char directories[ROOTFS_OVERLAYS_MAX][OVERLAY_OPTIONS_BYTES];
	size_t rows = OWN_COUNT + rootfs->count;
	struct checking checking = { .rootfs = rootfs,
				     .directories = directories,
				     .err = err,
				     .covers = { [PROC_NULL] = { .path = "/dev/null" },
						 [PROC_EMPTY] = { .path = "/dev/empty" },
						 [PROC_FILE] = { .path = WIRE_ROOT_PROC } } };
	struct mountinfo *mounts = malloc(count_lines(text) * sizeof(*mounts));
	int ret;

	while (proc_row(checking.cover_rows))
		checking.cover_rows++;
	rows += checking.cover_rows;
	checking.seen = calloc(rows, sizeof(*checking.seen));
	for (size_t i = 0; i < rootfs->overlay_count; i++)
		overlay_directories(rootfs, i, directories[i]);
	ret = mounts && checking.seen
		  ? check_table(&checking, (struct mountinfo_text){ text, strlen(text) }, mounts)
		  : error_no_memory(err, NULL);
	free(checking.seen);
	free(mounts);
	return ret;
}

/* ---- owners ---- */

/* The last mount at the path is the one that is seen. */
static bool is_idmapped(const char *text, const char *path)
{
	struct mountinfo_text rest = { text, strlen(text) };
	struct mountinfo_text line;
	struct mountinfo mount;
	char point[PATH_MAX];
	bool mapped = false;

	while (mountinfo_cut(&rest, &line))
		if (mountinfo_parse(line, &mount) && mountinfo_path(mount.point, point, sizeof(point)) &&
		    strcmp(point, path) == 0)
			mapped = mountinfo_has(mount.options, "idmapped");
	return mapped;
}

void mounts_count_owners(const char *text, const struct rootfs *rootfs, enum policy_field field,
			 bool read_only, struct mounts_owners *ret)
{
	*ret = (struct mounts_owners){ 0 };
	for (size_t i = 0; i < rootfs->count; i++) {
		const struct rootfs_entry *entry = &rootfs->entries[i];

		if (entry->kind != ROOTFS_BIND || entry->field != field || entry->read_only != read_only)
			continue;
		if (is_idmapped(text, entry->target))
			ret->mapped++;
		else
			ret->unmapped++;
	}
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
					 "the jail shows something else at %s than %s", entry->target,
					 entry->source);
		count++;
	}
	return count;
}
