/*
 * Two ways. Where the kernel has them (5.12), a tree is a detached mount: cloned by open_tree, restricted as a whole by
 * mount_setattr, and only then attached, by move_mount.
 *
 * mount(2) knows neither detached mounts nor trees. There a tree stays what it is, an open source, until it is attached: bound
 * recursively, and then every mount of it found in the mount table and remounted, one by one. Until then it is writable, but
 * nobody is in this mount namespace who could write. mount(2) takes paths, which somebody may change: it gets names beneath our
 * own directory of /proc, which is the working directory and was looked at to be procfs, and so reaches open objects only.
 *
 * In a user namespace, the flags that a mount came with are locked, and a remount without one of them is refused: what the
 * table shows is kept. Times of access are kept by the kernel where none are named.
 *
 * The table shows mounts as seen from the root directory of whoever opens it. It is opened with the jail's root as ours, so
 * that it holds nothing else, by the paths of the plan. A mount that another one hides cannot be reached by its path; it keeps
 * its flags, and the read-back refuses the jail.
 */
#include "jail/inside/tree.h"

#include <asm/fcntl.h>
#include <asm/statfs.h>
#include <linux/fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/openat2.h>

#include "base/array.h"
#include "jail/inside/root.h"
#include "jail/inside/sys.h"

#ifndef O_PATH
#define O_PATH 010000000
#endif
#ifndef MS_NOSYMFOLLOW
#define MS_NOSYMFOLLOW 256
#endif
#define ENOENT_       2
#define EEXIST_       17
#define EINVAL_       22
#define ENOSPC_       28
#define ENAMETOOLONG_ 36
#define PATH_BYTES    4096

_Static_assert(MOUNT_ATTR_RDONLY == MS_RDONLY && MOUNT_ATTR_NOSUID == MS_NOSUID &&
		   MOUNT_ATTR_NODEV == MS_NODEV && MOUNT_ATTR_NOEXEC == MS_NOEXEC,
	       "the flags of both interfaces are the same");

/* Cut the first component off the path. Its length; 0: there is none. */
static long next_component(const char **path, char name[256])
{
	const char *at = *path;
	size_t n = 0;

	while (*at == '/')
		at++;
	while (at[n] && at[n] != '/' && n < 256) {
		name[n] = at[n];
		n++;
	}
	*path = at + n;
	if (n == 256)
		return -ENAMETOOLONG_;
	name[n] = 0;
	return (long)n;
}

/* Open an absolute path inside beneath root_fd as O_PATH, no symlink in any component. */
static long walk(int root_fd, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	while (*path == '/')
		path++;
	return sys(openat2, root_fd, *path ? path : ".", &how, sizeof(how));
}

long tree_make_point(int root_fd, const char *target, bool is_directory, unsigned int mode)
{
	char name[256];
	long fd = sys(openat, root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	long len = next_component(&target, name);

	while (fd >= 0 && len > 0) {
		const bool last = !*target;
		long next;

		if (!last || is_directory)
			next = sys(mkdirat, fd, name, mode);
		else
			next = sys(mknodat, fd, name, 0100644, 0);
		if (next == 0 || next == -EEXIST_)
			next = sys(openat, fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
		sys(close, fd);
		fd = next;
		len = next_component(&target, name);
	}
	if (fd >= 0)
		sys(close, fd);
	return fd < 0 ? fd : len;
}

long tree_write_file(int root_fd, const char *name, const char *text, size_t len)
{
	long fd = sys(openat, root_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	long ret = 0;

	if (fd < 0)
		return fd;
	if (len)
		ret = sys(write, fd, text, len);
	sys(close, fd);
	if (ret >= 0 && (size_t)ret < len)
		ret = -ENOSPC_;
	return ret < 0 ? ret : 0;
}

long tree_put_file(int root_fd, const char *target, const char *text, size_t len)
{
	char directory[256];
	size_t end = 0;
	size_t n = 0;
	long fd;
	long ret;

	for (; n < sizeof(directory) && target[n]; n++) {
		directory[n] = target[n];
		if (target[n] == '/')
			end = n;
	}
	directory[end] = 0;
	ret = tree_make_point(root_fd, directory, true, 0755);
	fd = ret < 0 ? ret : walk(root_fd, directory);
	if (fd < 0)
		return fd;
	ret = sys(unlinkat, fd, target + end + 1, 0);
	if (ret == 0 || ret == -ENOENT_)
		ret = tree_write_file((int)fd, target + end + 1, text, len);
	sys(close, fd);
	return ret;
}

/* ---- detached trees ---- */

static long clone_detached(int source_fd, unsigned long flags)
{
	struct mount_attr attr = { .attr_set = flags };
	long tree =
	    sys(open_tree, source_fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	long ret;

	sys(close, source_fd);
	if (tree < 0)
		return tree;
	ret = sys(mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr));
	if (ret < 0)
		sys(close, tree);
	return ret < 0 ? ret : tree;
}

long tree_move(int root_fd, int tree_fd, const char *target)
{
	long at = walk(root_fd, target);
	long ret;

	if (at < 0)
		return at;
	ret = sys(move_mount, tree_fd, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
	sys(close, at);
	return ret;
}

/* ---- mount(2) ---- */

/* "fd/12", beneath the working directory. */
static const char *name_fd(char name[16], long fd)
{
	char digits[12];
	size_t n = 0;
	size_t len = 3;

	name[0] = 'f';
	name[1] = 'd';
	name[2] = '/';
	do {
		digits[n++] = (char)('0' + fd % 10);
		fd /= 10;
	} while (fd);
	while (n)
		name[len++] = digits[--n];
	name[len] = 0;
	return name;
}

static long change_root(int fd)
{
	char name[16];

	return sys(chroot, name_fd(name, fd));
}

static long open_table(const struct trees *trees)
{
	long fd = change_root(trees->root_fd);
	long ret;

	if (fd < 0)
		return fd;
	fd = sys(openat, AT_FDCWD, "mountinfo", O_RDONLY | O_CLOEXEC, 0);
	ret = change_root(trees->host_fd);
	if (ret < 0 && fd >= 0)
		sys(close, fd);
	return ret < 0 ? ret : fd;
}

struct table {
	long fd;
	long len; /* bytes in buf; 0: the end; or a negative errno */
	long at;
	char buf[1024];
};

/* The next byte; -1 at the end, or when it cannot be read. */
static int next_byte(struct table *table)
{
	if (table->at >= table->len) {
		table->at = 0;
		table->len = sys(read, table->fd, table->buf, sizeof(table->buf));
		if (table->len <= 0)
			return -1;
	}
	return (unsigned char)table->buf[table->at++];
}

/* The next field, its escapes (\040) decoded, cut where it does not fit. Returns the byte after it: a blank, a newline, or -1. */
static int next_field(struct table *table, char *to, size_t size)
{
	size_t len = 0;
	int c;

	while ((c = next_byte(table)) >= 0 && c != ' ' && c != '\n') {
		if (c == '\\') {
			c = (next_byte(table) & 7) << 6;
			c |= (next_byte(table) & 7) << 3;
			c |= next_byte(table) & 7;
		}
		if (len + 1 < size)
			to[len++] = (char)c;
	}
	to[len] = 0;
	return c;
}

static bool is_within(const char *dir, const char *path)
{
	while (*dir && *dir == *path) {
		dir++;
		path++;
	}
	return !*dir && (!*path || *path == '/');
}

static const struct {
	const char *name;
	unsigned long flag;
} options[] = {
	{ "ro", MS_RDONLY },     { "nosuid", MS_NOSUID },           { "nodev", MS_NODEV },
	{ "noexec", MS_NOEXEC }, { "nosymfollow", MS_NOSYMFOLLOW },
};

/* The flags of "rw,nosuid,relatime". */
static unsigned long parse_options(const char *text)
{
	unsigned long flags = 0;

	while (*text) {
		for (size_t i = 0; i < ARRAY_LENGTH(options); i++) {
			const char *name = options[i].name;
			const char *at = text;

			while (*name && *name == *at) {
				name++;
				at++;
			}
			if (!*name && (!*at || *at == ','))
				flags |= options[i].flag;
		}
		while (*text && *text++ != ',')
			continue;
	}
	return flags;
}

static long remount(const struct trees *trees, const char *point, unsigned long flags)
{
	char name[16];
	long at = walk(trees->root_fd, point);
	long ret;

	if (at < 0)
		return at;
	ret = sys(mount, 0, name_fd(name, at), 0, MS_REMOUNT | MS_BIND | flags, 0);
	sys(close, at);
	return ret;
}

/* Every mount at the target and beneath it. */
static long remount_all(const struct trees *trees, const char *target, unsigned long flags)
{
	struct table table = { .fd = open_table(trees) };
	char point[PATH_BYTES];
	char words[256];
	long ret = table.fd < 0 ? table.fd : 0;
	bool found = false;

	while (ret == 0) {
		int end = 0;

		for (int i = 0; i < 4 && end >= 0; i++) /* id, parent, device, root */
			end = next_field(&table, words, sizeof(words));
		if (end >= 0)
			end = next_field(&table, point, sizeof(point));
		if (end >= 0)
			end = next_field(&table, words, sizeof(words));
		while (end >= 0 && end != '\n')
			end = next_byte(&table);
		if (end < 0)
			break;
		if (!is_within(target, point))
			continue;
		found = true;
		ret = remount(trees, point, flags | parse_options(words));
	}
	if (table.fd >= 0)
		sys(close, table.fd);
	if (ret == 0 && table.len < 0)
		ret = table.len;
	return ret == 0 && !found ? -ENOENT_ : ret;
}

static long bind(const struct trees *trees, int source_fd, const char *target, unsigned long flags)
{
	char from[16];
	char to[16];
	long at = walk(trees->root_fd, target);
	long ret;

	if (at < 0)
		return at;
	ret = sys(mount, name_fd(from, source_fd), name_fd(to, at), 0, MS_BIND | MS_REC, 0);
	sys(close, at);
	return ret < 0 ? ret : remount_all(trees, target, flags);
}

/* ---- either ---- */

long trees_init(struct trees *ret, int root_fd, bool by_path)
{
	struct statfs fs;
	long done;

	*ret = (struct trees){ .root_fd = root_fd, .by_path = by_path, .host_fd = -1 };
	if (!by_path)
		return 0;
	done = sys(chdir, "/proc/self");
	if (done == 0)
		done = sys(statfs, ".", &fs);
	if (done == 0 && fs.f_type != PROC_SUPER_MAGIC)
		done = -EINVAL_;
	if (done < 0)
		return done;
	ret->host_fd = (int)sys(openat, AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	return ret->host_fd < 0 ? ret->host_fd : 0;
}

void trees_done(struct trees *trees)
{
	if (trees->host_fd >= 0)
		sys(close, trees->host_fd);
}

long tree_clone(bool by_path, int source_fd, unsigned long flags)
{
	return by_path ? source_fd : clone_detached(source_fd, flags);
}

long tree_attach(const struct trees *trees, int tree_fd, const char *target, unsigned long flags)
{
	return trees->by_path ? bind(trees, tree_fd, target, flags)
			      : tree_move(trees->root_fd, tree_fd, target);
}
