/*
 * The root is an empty tmpfs, filled with the block's entries, remounted read-only and pivoted into.
 *
 * Path safety: a mount point is reached from the new root's descriptor by openat2, which follows no symlink in any
 * component and does not leave the root, so that neither a host directory's content nor a race can move it (a symlink in a parent component
 * of a mount destination is how most container escapes of the last years began). Mount points are created only where the plan
 * says that they lie in our own tmpfs.
 *
 * pivot_root(".", ".") stacks the old root over the new one; one lazy unmount then removes every host mount. An
 * ordinary user's jail mounts its own /proc between the two, because the kernel lets a user namespace mount a
 * procfs only while a fully visible one is still in the mount namespace.
 */
#include "jail/inside/root.h"

#include <asm/fcntl.h>
#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <stdbool.h>

#include "base/array.h"
#include "jail/inside/sys.h"
#include "jail/inside/tree.h"

#ifndef O_PATH
#define O_PATH 010000000
#endif
#define EPERM_      1
#define EEXIST_     17
#define EINVAL_     22
#define ESTALE_     116
#define MNT_DETACH_ 2

static const struct node {
	const char *name;
	unsigned int minor;
	unsigned int major;
} nodes[] = {
	{ "dev/null", 3, 1 },   { "dev/zero", 5, 1 },    { "dev/full", 7, 1 },
	{ "dev/random", 8, 1 }, { "dev/urandom", 9, 1 }, { "dev/tty", 0, 5 },
};

static const struct link {
	const char *target, *name;
} links[] = {
	{ "/proc/self/fd", "dev/fd" },
	{ "/proc/self/fd/0", "dev/stdin" },
	{ "/proc/self/fd/1", "dev/stdout" },
	{ "/proc/self/fd/2", "dev/stderr" },
};
static const struct link ptmx = { "pts/ptmx", "dev/ptmx" };

static size_t length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

static unsigned long tree_flags(const struct wire_entry *entry)
{
	return MS_NOSUID | MS_NODEV | (entry->flags & WIRE_ENTRY_READ_ONLY ? MS_RDONLY : 0) |
	       (entry->flags & WIRE_ENTRY_NO_EXEC ? MS_NOEXEC : 0);
}

/* A source that is opened in this mount namespace: compared with what the plan saw, cloned. */
static long clone_source(const struct wire_block *block, uint32_t source, uint64_t dev, uint64_t ino,
			 unsigned long flags)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	struct statx st;
	long fd;
	long ret;

	fd = sys(openat2, AT_FDCWD, WIRE_AT(block, source, char), &how, sizeof(how));
	if (fd < 0)
		return fd;
	ret = sys(statx, fd, "", AT_EMPTY_PATH | AT_STATX_SYNC_AS_STAT, STATX_INO, &st);
	if (ret == 0 && (st.stx_ino != ino || dev != (((uint64_t)st.stx_dev_major << 32) | st.stx_dev_minor)))
		ret = -ESTALE_;
	if (ret < 0) {
		sys(close, fd);
		return ret;
	}
	return tree_clone(block->flags & WIRE_OLD_MOUNTS, (int)fd, flags);
}

static long make_point(const struct wire_block *block, const struct wire_entry *entry, int root_fd)
{
	const char *target = WIRE_AT(block, entry->target, char);
	long ret = 0;

	if (!(entry->flags & WIRE_ENTRY_CREATE))
		return 0;
	if (entry->flags & WIRE_ENTRY_IS_DIRECTORY)
		ret = sys(mkdirat, root_fd, target + 1, 0755);
	else
		ret = tree_write_file(root_fd, target + 1, "", 0);
	return ret == -EEXIST_ ? 0 : ret;
}

static long bind_entry(const struct wire_block *block, const struct wire_entry *entry,
		       const struct trees *trees)
{
	const char *target = WIRE_AT(block, entry->target, char);
	long ret = make_point(block, entry, trees->root_fd);

	if (ret < 0 || (entry->flags & WIRE_ENTRY_LATE))
		return ret;
	return tree_attach(trees, entry->fd, target, tree_flags(entry));
}

static long add_entry(const struct wire_block *block, const struct wire_entry *entry,
		      const struct trees *trees)
{
	const char *target = WIRE_AT(block, entry->target, char);
	const int root_fd = trees->root_fd;
	long ret;

	switch ((enum wire_kind)entry->kind) {
	case WIRE_DIRECTORY:
		ret = sys(mkdirat, root_fd, target + 1, 0755);
		return ret == -EEXIST_ ? 0 : ret;
	case WIRE_SYMLINK:
		return sys(symlinkat, WIRE_AT(block, entry->text, char), root_fd, target + 1);
	case WIRE_FILE:
		if (entry->flags & WIRE_ENTRY_LATE)
			return 0;
		return tree_write_file(root_fd, target + 1, WIRE_AT(block, entry->text, char),
				       entry->text_len);
	case WIRE_BIND:
		return bind_entry(block, entry, trees);
	case WIRE_OVERLAY:
		return make_point(block, entry, root_fd);
	}
	return -EINVAL_;
}

/* A device node is made where the kernel lets us; in a user namespace (or without CAP_MKNOD) the host's is bound. */
static long add_node(const struct trees *trees, const struct node *node)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	const unsigned long flags = MS_NOSUID | MS_NOEXEC;
	struct statx st;
	char host[32] = "/";
	long ret;
	long fd;
	long tree;

	ret = sys(mknodat, trees->root_fd, node->name, 0020666, (node->major << 8) | node->minor);
	if (ret != -EPERM_)
		return ret;
	ret = tree_write_file(trees->root_fd, node->name, "", 0);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i <= length(node->name); i++)
		host[i + 1] = node->name[i];
	fd = sys(openat2, AT_FDCWD, host, &how, sizeof(how));
	if (fd < 0)
		return fd;
	ret = sys(statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &st);
	if (ret == 0 && ((st.stx_mode & 0170000) != 0020000 || st.stx_rdev_major != node->major ||
			 st.stx_rdev_minor != node->minor))
		ret = -ESTALE_;
	if (ret < 0) {
		sys(close, fd);
		return ret;
	}
	tree = tree_clone(trees->by_path, (int)fd, flags);
	if (tree < 0)
		return tree;
	ret = tree_attach(trees, (int)tree, host, flags);
	sys(close, tree);
	return ret;
}

static long add_link(const struct trees *trees, const struct link *link, const char **ret_what)
{
	*ret_what = link->name;
	return sys(symlinkat, link->target, trees->root_fd, link->name);
}

/* The files that cover names of /proc in every launch. */
static long add_covers(const struct wire_block *block, int root_fd, const char **ret_what)
{
	const struct wire_cover *covers = WIRE_AT(block, block->covers, const struct wire_cover);
	long ret = sys(mkdirat, root_fd, &WIRE_ROOT_PROC[1], 0755);

	for (uint32_t i = 0; i < block->cover_count && ret == 0; i++) {
		if (!(covers[i].text || covers[i].flags & WIRE_COVER_DIRECTORY) ||
		    covers[i].flags & WIRE_COVER_LAUNCH)
			continue;
		*ret_what = WIRE_AT(block, covers[i].source, char);
		ret = covers[i].flags & WIRE_COVER_DIRECTORY
			  ? sys(mkdirat, root_fd, *ret_what + 1, 0555)
			  : tree_write_file(root_fd, *ret_what + 1, WIRE_AT(block, covers[i].text, char),
					    covers[i].text_len);
	}
	return ret;
}

static long build_dev(const struct wire_block *block, const struct trees *trees, const char *stage_dev,
		      bool terminals, const char **ret_what)
{
	const int root_fd = trees->root_fd;
	long ret;

	*ret_what = "/dev";
	ret = sys(mkdirat, root_fd, "dev", 0755);
	if (ret < 0 && ret != -EEXIST_)
		return ret;
	ret = sys(mount, "dev", stage_dev, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=2m");
	if (ret < 0)
		return ret;
	ret = sys(mkdirat, root_fd, "dev/shm", 0755);
	if (ret == 0 && terminals)
		ret = sys(mkdirat, root_fd, "dev/pts", 0755);
	/* Masks directories of /proc, whatever the view has. Without it these would look as if the kernel had none. */
	if (ret == 0)
		ret = sys(mkdirat, root_fd, "dev/empty", 0555);
	if (ret == 0)
		ret = add_covers(block, root_fd, ret_what);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < ARRAY_LENGTH(nodes); i++) {
		*ret_what = nodes[i].name;
		ret = add_node(trees, &nodes[i]);
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(links); i++) {
		ret = add_link(trees, &links[i], ret_what);
		if (ret < 0)
			return ret;
	}
	ret = terminals ? add_link(trees, &ptmx, ret_what) : 0;
	if (ret < 0)
		return ret;
	*ret_what = "/dev";
	return sys(mount, 0, stage_dev, 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, 0);
}

static long add_entries(const struct wire_block *block, const struct trees *trees, const char **ret_what)
{
	const struct wire_entry *entries = WIRE_AT(block, block->entries, const struct wire_entry);

	for (uint32_t i = 0; i < block->entry_count; i++) {
		long ret = add_entry(block, &entries[i], trees);

		if (ret < 0) {
			*ret_what = WIRE_AT(block, entries[i].target, char);
			return ret;
		}
	}
	return 0;
}

static long open_layers(struct wire_block *block, const struct wire_overlay *overlay, const char **ret_what)
{
	struct wire_layer *layers = WIRE_AT(block, overlay->layers, struct wire_layer);

	for (uint32_t i = 0; i < overlay->layer_count; i++) {
		long tree;

		*ret_what = WIRE_AT(block, layers[i].source, char);
		tree = clone_source(block, layers[i].source, layers[i].dev, layers[i].ino,
				    MS_RDONLY | MS_NOSUID | MS_NODEV);
		if (tree < 0)
			return tree;
		layers[i].fd = (int32_t)tree;
	}
	return 0;
}

/* The sources that the block has no trees of, while all of the host's paths are still visible: the new root hides what is below it.
 * What is attached at a launch is the launch's, which with privilege is handed it. */
static long open_sources(struct wire_block *block, const char **ret_what)
{
	struct wire_entry *entries = WIRE_AT(block, block->entries, struct wire_entry);
	const bool privileged = block->flags & WIRE_PRIVILEGED;

	for (uint32_t i = 0; i < block->entry_count; i++) {
		long tree;

		if (entries[i].kind != WIRE_BIND || entries[i].fd >= 0 ||
		    (privileged && (entries[i].flags & WIRE_ENTRY_LATE)))
			continue;
		*ret_what = WIRE_AT(block, entries[i].source, char);
		tree = clone_source(block, entries[i].source, entries[i].dev, entries[i].ino,
				    tree_flags(&entries[i]));
		if (tree < 0)
			return tree;
		entries[i].fd = (int32_t)tree;
	}
	for (uint32_t i = 0; i < block->overlay_count && !privileged; i++) {
		long ret =
		    open_layers(block, WIRE_AT(block, block->overlays, struct wire_overlay) + i, ret_what);

		if (ret < 0)
			return ret;
	}
	return 0;
}

static void close_sources(struct wire_block *block)
{
	struct wire_entry *entries = WIRE_AT(block, block->entries, struct wire_entry);

	/* A throw-away child's end with it; the block is its parent's. */
	for (uint32_t i = 0; i < block->entry_count && !(block->flags & WIRE_PRIVILEGED); i++)
		if (entries[i].fd >= 0 && !(entries[i].flags & WIRE_ENTRY_LATE))
			sys(close, entries[i].fd);
}

long root_build(struct wire_block *block, const char **ret_what)
{
	/* Any directory will do: what is mounted on it is seen in this namespace only. */
	static const char new_root[] = "/tmp";
	static const char stage_dev[] = "/tmp/dev";
	struct trees trees;
	long root_fd;
	long ret;

	*ret_what = "/";
	sys(umask, 0);
	ret = sys(mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0);
	if (ret == 0)
		ret = open_sources(block, ret_what);
	if (ret < 0)
		return ret;
	*ret_what = "/";
	ret = sys(mount, "root", new_root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=4m");
	if (ret < 0)
		return ret;
	root_fd = sys(openat, AT_FDCWD, new_root, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (root_fd < 0)
		return root_fd;
	*ret_what = "/proc/self";
	ret = trees_init(&trees, (int)root_fd, block->flags & WIRE_OLD_MOUNTS);
	/* The mount point of /dev is opened by path: nothing but our own tmpfs is there yet. */
	if (ret == 0)
		ret = build_dev(block, &trees, stage_dev, block->pts_options, ret_what);
	if (ret == 0)
		ret = add_entries(block, &trees, ret_what);
	if (ret == 0 && (block->flags & WIRE_WHOLE_ROOT))
		ret = sys(mkdirat, root_fd, &WIRE_WHOLE[1], 0755);
	if (ret == 0) {
		*ret_what = "/";
		ret = sys(mount, 0, new_root, 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, 0);
	}
	if (ret == 0)
		ret = sys(fchdir, root_fd);
	if (ret == 0)
		ret = sys(pivot_root, ".", ".");
	trees_done(&trees);
	sys(close, root_fd);
	close_sources(block);
	return ret;
}

long root_become(int root_fd)
{
	long ret = sys(fchdir, root_fd);

	if (ret == 0)
		ret = sys(pivot_root, ".", ".");
	return ret < 0 ? ret : root_detach();
}

long root_detach(void)
{
	long ret = sys(umount2, ".", MNT_DETACH_);

	return ret < 0 ? ret : sys(chdir, "/");
}
