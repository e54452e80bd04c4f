/*
 * The root is an empty tmpfs, filled with the block's entries, remounted read-only and pivoted into.
 *
 * Path safety: a mount point is reached component by component with O_NOFOLLOW from the new root's
 * descriptor, so that neither a host directory's content nor a race can move it (a symlink in a parent component
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

#include "jail/inside/sys.h"

#ifndef O_PATH
#define O_PATH 010000000
#endif
#define EPERM_        1
#define EEXIST_       17
#define EINVAL_       22
#define ENAMETOOLONG_ 36
#define ESTALE_       116
#define MNT_DETACH_   2

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
	{ "/proc/self/fd", "dev/fd" },       { "/proc/self/fd/0", "dev/stdin" },
	{ "/proc/self/fd/1", "dev/stdout" }, { "/proc/self/fd/2", "dev/stderr" },
	{ "pts/ptmx", "dev/ptmx" },
};

static size_t length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

/* Open an absolute path inside beneath root_fd as O_PATH, no symlink in any component. */
static long walk(int root_fd, const char *path)
{
	char name[256];
	long fd = sys(openat, root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

	while (fd >= 0) {
		size_t n = 0;
		long next;

		while (*path == '/')
			path++;
		if (!*path)
			return fd;
		while (path[n] && path[n] != '/')
			n++;
		if (n >= sizeof(name)) {
			sys(close, fd);
			return -ENAMETOOLONG_;
		}
		for (size_t i = 0; i < n; i++)
			name[i] = path[i];
		name[n] = 0;
		path += n;
		next = sys(openat, fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
		sys(close, fd);
		fd = next;
	}
	return fd;
}

long root_attach(int root_fd, int tree_fd, const char *target)
{
	long at = walk(root_fd, target);
	long ret;

	if (at < 0)
		return at;
	ret = sys(move_mount, tree_fd, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
	sys(close, at);
	return ret;
}

static long write_file(int root_fd, const char *name, const char *text, size_t len)
{
	long fd = sys(openat, root_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	long ret = 0;

	if (fd < 0)
		return fd;
	if (len)
		ret = sys(write, fd, text, len);
	sys(close, fd);
	return ret < 0 ? ret : 0;
}

/* An ordinary user's source: opened in this mount namespace, compared with what the plan saw, cloned. */
static long clone_tree(const struct wire_block *block, const struct wire_entry *entry)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };
	struct statx st;
	long fd;
	long tree;
	long ret;

	fd = sys(openat2, AT_FDCWD, WIRE_AT(block, entry->source, char), &how, sizeof(how));
	if (fd < 0)
		return fd;
	ret = sys(statx, fd, "", AT_EMPTY_PATH | AT_STATX_SYNC_AS_STAT, STATX_INO, &st);
	if (ret == 0 && (st.stx_ino != entry->ino ||
			 entry->dev != (((uint64_t)st.stx_dev_major << 32) | st.stx_dev_minor)))
		ret = -ESTALE_;
	if (ret < 0) {
		sys(close, fd);
		return ret;
	}
	tree = sys(open_tree, fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	sys(close, fd);
	if (tree < 0)
		return tree;
	if (entry->flags & WIRE_ENTRY_READ_ONLY)
		attr.attr_set |= MOUNT_ATTR_RDONLY;
	if (entry->flags & WIRE_ENTRY_NO_EXEC)
		attr.attr_set |= MOUNT_ATTR_NOEXEC;
	ret = sys(mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr));
	if (ret < 0) {
		sys(close, tree);
		return ret;
	}
	return tree;
}

static long bind_entry(const struct wire_block *block, const struct wire_entry *entry, int root_fd)
{
	const char *target = WIRE_AT(block, entry->target, char);
	long ret = 0;

	if (entry->flags & WIRE_ENTRY_CREATE) {
		if (entry->flags & WIRE_ENTRY_IS_DIRECTORY)
			ret = sys(mkdirat, root_fd, target + 1, 0755);
		else
			ret = write_file(root_fd, target + 1, "", 0);
		if (ret < 0 && ret != -EEXIST_)
			return ret;
	}
	if (entry->flags & WIRE_ENTRY_LATE)
		return 0;
	return root_attach(root_fd, entry->fd, target);
}

static long add_entry(const struct wire_block *block, const struct wire_entry *entry, int root_fd)
{
	const char *target = WIRE_AT(block, entry->target, char);
	long ret;

	switch ((enum wire_kind)entry->kind) {
	case WIRE_DIRECTORY:
		ret = sys(mkdirat, root_fd, target + 1, 0755);
		return ret == -EEXIST_ ? 0 : ret;
	case WIRE_SYMLINK:
		return sys(symlinkat, WIRE_AT(block, entry->text, char), root_fd, target + 1);
	case WIRE_FILE:
		return write_file(root_fd, target + 1, WIRE_AT(block, entry->text, char), entry->text_len);
	case WIRE_BIND:
		return bind_entry(block, entry, root_fd);
	}
	return -EINVAL_;
}

/* A device node is made where the kernel lets us; in a user namespace (or without CAP_MKNOD) the host's is bound. */
static long add_node(int root_fd, const struct node *node)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC };
	struct statx st;
	char host[32] = "/";
	long ret;
	long fd;
	long tree;

	ret = sys(mknodat, root_fd, node->name, 0020666, (node->major << 8) | node->minor);
	if (ret != -EPERM_)
		return ret;
	ret = write_file(root_fd, node->name, "", 0);
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
	tree = sys(open_tree, fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	sys(close, fd);
	if (tree < 0)
		return tree;
	ret = sys(mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr));
	if (ret == 0)
		ret = root_attach(root_fd, (int)tree, node->name);
	sys(close, tree);
	return ret;
}

static long build_dev(int root_fd, const char *stage_dev, const char **ret_what)
{
	long ret;

	*ret_what = "/dev";
	ret = sys(mkdirat, root_fd, "dev", 0755);
	if (ret < 0 && ret != -EEXIST_)
		return ret;
	ret = sys(mount, "dev", stage_dev, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k");
	if (ret < 0)
		return ret;
	sys(mkdirat, root_fd, "dev/pts", 0755);
	sys(mkdirat, root_fd, "dev/shm", 0755);
	sys(mkdirat, root_fd, "dev/empty", 0555); /* masks directories of /proc, whatever the view has */
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		*ret_what = nodes[i].name;
		ret = add_node(root_fd, &nodes[i]);
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		*ret_what = links[i].name;
		ret = sys(symlinkat, links[i].target, root_fd, links[i].name);
		if (ret < 0)
			return ret;
	}
	*ret_what = "/dev";
	return sys(mount, 0, stage_dev, 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, 0);
}

static long build_tree(const struct wire_block *block, int root_fd, const char **ret_what)
{
	const struct wire_entry *entries = WIRE_AT(block, block->entries, const struct wire_entry);

	for (uint32_t i = 0; i < block->entry_count; i++) {
		long ret = add_entry(block, &entries[i], root_fd);

		if (ret < 0) {
			*ret_what = WIRE_AT(block, entries[i].target, char);
			return ret;
		}
	}
	return 0;
}

/* An ordinary user's sources, while all of the host's paths are still visible: the stage hides what is below it. */
static long open_sources(struct wire_block *block, const char **ret_what)
{
	struct wire_entry *entries = WIRE_AT(block, block->entries, struct wire_entry);

	for (uint32_t i = 0; i < block->entry_count; i++) {
		long tree;

		if (entries[i].kind != WIRE_BIND || entries[i].fd >= 0 ||
		    (entries[i].flags & WIRE_ENTRY_LATE))
			continue;
		*ret_what = WIRE_AT(block, entries[i].source, char);
		tree = clone_tree(block, &entries[i]);
		if (tree < 0)
			return tree;
		entries[i].fd = (int32_t)tree;
	}
	return 0;
}

static void close_sources(struct wire_block *block)
{
	struct wire_entry *entries = WIRE_AT(block, block->entries, struct wire_entry);

	for (uint32_t i = 0; i < block->entry_count && !(block->flags & WIRE_PRIVILEGED); i++)
		if (entries[i].fd >= 0)
			sys(close, entries[i].fd);
}

long root_build(struct wire_block *block, const char **ret_what)
{
	/* Any directory will do: what is mounted on it is seen in this namespace only. */
	static const char stage[] = "/tmp";
	static const char stage_dev[] = "/tmp/dev";
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
	ret = sys(mount, "root", stage, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=4m");
	if (ret < 0)
		return ret;
	root_fd = sys(openat, AT_FDCWD, stage, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (root_fd < 0)
		return root_fd;
	/* The mount point of /dev is opened by path: nothing but our own tmpfs is there yet. */
	ret = build_dev((int)root_fd, stage_dev, ret_what);
	if (ret == 0)
		ret = build_tree(block, (int)root_fd, ret_what);
	if (ret == 0) {
		*ret_what = "/";
		ret = sys(mount, 0, stage, 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, 0);
	}
	if (ret == 0)
		ret = sys(fchdir, root_fd);
	if (ret == 0)
		ret = sys(pivot_root, ".", ".");
	sys(close, root_fd);
	close_sources(block);
	return ret;
}

long root_detach(void)
{
	long ret = sys(umount2, ".", MNT_DETACH_);

	return ret < 0 ? ret : sys(chdir, "/");
}
