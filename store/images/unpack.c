/*
 * Nothing is ever resolved by a path that a link could bend: the parent of a member is opened beneath the tree without following
 * any link (the kernel's openat2 decides), and the member's own name is made there with calls that do not follow one. So a member
 * beneath a symbolic link is not put where the link leads, and not beside it either: it is refused.
 *
 * Nothing is kept in memory for what was unpacked: a directory has its mode at once, and its time again whenever the unpacking leaves it.
 * Where everything is the caller's he has to be able to read it later (to verify it, to run it), so that
 * files keep at least 0400 and directories 0700.
 */
#include "store/images/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "rootfs/rootfs.h"
#include "store/images/images.h"

#define SHOWN           160
#define ATTRIBUTE_BYTES 65536
#define ATTRIBUTES_MAX  64

static const char field[] = "image";
static const char whiteout_prefix[] = ".wh.";
static const char opaque_name[] = ".wh..wh..opq";

/* Nodes that every jail has by itself, with the numbers that they have on Linux. */
static const struct known_device {
	const char *path;
	unsigned major, minor;
} known_devices[] = {
	{ "dev/null", 1, 3 },   { "dev/zero", 1, 5 },     { "dev/full", 1, 7 },
	{ "dev/random", 1, 8 }, { "dev/urandom", 1, 9 },  { "dev/tty", 5, 0 },
	{ "dev/ptmx", 5, 2 },   { "dev/pts/ptmx", 5, 2 }, { "dev/console", 5, 1 },
};

static int refuse(const char *name, struct warder_error *err, const char *why)
{
	char shown[SHOWN];

	return error_set(err, WARDER_ERROR_REJECTED, field, "member %s %s",
			 json_quote(name, shown, sizeof(shown)), why);
}

static int fail(const char *name, struct warder_error *err)
{
	const int error = errno;
	char shown[SHOWN];

	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, error, "member %s cannot be stored",
			       json_quote(name, shown, sizeof(shown)));
}

const char *unpack_plain_path(const char *path, char *out)
{
	size_t len = 0;
	int depth = 0;

	if (path[0] == '/' && path[strspn(path, "/")]) /* "/" alone is the root, which some tools write so */
		return "has an absolute name";
	if (strlen(path) >= PATH_MAX)
		return "has a name that is too long";
	for (size_t n; *path; path += n + (path[n] == '/')) {
		n = strcspn(path, "/");
		if (n == 0 || (n == 1 && path[0] == '.'))
			continue;
		if (n == 2 && path[0] == '.' && path[1] == '.')
			return "has \"..\" in its name";
		if (n > NAME_MAX)
			return "has a name that is too long";
		if (++depth > UNPACK_DEPTH_MAX)
			return "lies too deep";
		if (len)
			out[len++] = '/';
		memcpy(out + len, path, n);
		len += n;
	}
	out[len] = '\0';
	return NULL;
}

/* Whether a link's relative target leads above the tree, going by the text. Inside, absolute ones begin at the jail's root. */
static bool climbs_out(const char *path, const char *target)
{
	int depth = 0;

	if (target[0] == '/')
		return false;
	for (; *path; path++)
		depth += *path == '/';
	for (size_t n; *target; target += n + (target[n] == '/')) {
		n = strcspn(target, "/");
		if (n == 2 && target[0] == '.' && target[1] == '.')
			depth--;
		else if (n && !(n == 1 && target[0] == '.'))
			depth++;
		if (depth < 0)
			return true;
	}
	return false;
}

void unpack_init(struct unpack *unpack, int tree_fd, bool owners_kept, const struct unpack_limits *limits)
{
	*unpack = (struct unpack){
		.tree_fd = tree_fd, .owners_kept = owners_kept, .limits = limits, .parent_fd = -1
	};
}

void unpack_done(struct unpack *unpack)
{
	free(unpack->parent);
	if (unpack->limits) /* else zeroed */
		fd_done(&unpack->parent_fd);
	*unpack = (struct unpack){ .tree_fd = -1, .parent_fd = -1 };
}

/* ---- directories ---- */

static int set_time(int fd, struct timespec time)
{
	return futimens(fd, (struct timespec[2]){ { .tv_nsec = UTIME_OMIT }, time });
}

static int make_opaque(const struct unpack *unpack, int fd)
{
	return fsetxattr(fd, unpack->owners_kept ? "trusted.overlay.opaque" : "user.overlay.opaque", "y", 1,
			 0);
}

static bool is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

/* A directory that is there or is made: an owned descriptor, -1 with *err. A whiteout in its place hid what lower layers have: so
 * does the directory. */
static int enter(struct unpack *unpack, int at_fd, const char *base, const char *name, bool *ret_made,
		 struct warder_error *err)
{
	bool opaque = false;
	struct stat st;
	owned_fd int fd = -1;

	*ret_made = mkdirat(at_fd, base, 0700) == 0;
	if (!*ret_made && errno != EEXIST)
		return fail(name, err);
	if (!*ret_made && fstatat(at_fd, base, &st, AT_SYMLINK_NOFOLLOW) == 0 && is_whiteout(&st)) {
		if (unlinkat(at_fd, base, 0) != 0 || mkdirat(at_fd, base, 0700) != 0)
			return fail(name, err);
		*ret_made = opaque = true;
	}
	fd = openat(at_fd, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return refuse(name, err, "lies beneath a symbolic link or a file, which is not a directory");
	if (fd < 0 || (opaque && make_opaque(unpack, fd) != 0))
		return fail(name, err);
	return fd_take(&fd);
}

static bool is_opaque(int fd)
{
	char value;

	return fgetxattr(fd, "trusted.overlay.opaque", &value, 1) == 1 ||
	       fgetxattr(fd, "user.overlay.opaque", &value, 1) == 1;
}

/* A directory that no member describes: as the layers below have it, else root's or the caller's, 0755. */
static int give_implied(struct unpack *unpack, const char *path, int fd, const char *name,
			struct warder_error *err)
{
	struct stat own, st;
	mode_t mode = 0755;

	if (fstat(fd, &own) != 0)
		return fail(name, err);
	if (unpack->below && unpack->below(unpack->below_context, path, &st)) {
		mode = (st.st_mode & 07777) | (unpack->owners_kept ? 0 : 0700);
		if (unpack->owners_kept && (st.st_uid != own.st_uid || st.st_gid != own.st_gid)) {
			unpack->report.inherited++;
			if (fchown(fd, st.st_uid, st.st_gid) != 0)
				return fail(name, err);
		}
		unpack->report.inherited += mode != 0755;
	}
	return fchmod(fd, mode) == 0 ? 0 : fail(name, err);
}

/* One level of enter_path(). `hidden`: what layers below have is not seen here. */
static int enter_level(struct unpack *unpack, int at_fd, const char *path, const char *base, bool hidden,
		       const char *name, struct warder_error *err)
{
	owned_fd int fd = -1;
	bool made = false;
	struct stat at;

	if (fstat(at_fd, &at) != 0)
		return fail(name, err);
	fd = enter(unpack, at_fd, base, name, &made, err);
	if (fd < 0 || !made)
		return fd_take(&fd);
	if (++unpack->report.files > unpack->limits->files_max)
		return refuse(name, err,
			      "is one too many, with the directories above it; --max-files allows more");
	unpack->report.implied++;
	if (hidden ? fchmod(fd, 0755) != 0 : give_implied(unpack, path, fd, name, err) != 0)
		return hidden ? fail(name, err) : -1;
	return set_time(at_fd, at.st_mtim) == 0 ? fd_take(&fd) : fail(name, err);
}

/* The directory of that path, made with those above it where they are missing. */
static int enter_path(struct unpack *unpack, char *path, const char *name, struct warder_error *err)
{
	owned_fd int at_fd = openat(unpack->tree_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool hidden = false;
	char *end = path;

	while (at_fd >= 0 && *end) {
		char *base = end == path ? end : end + 1, kept;
		int next_fd;

		hidden = hidden || is_opaque(at_fd);
		end = base + strcspn(base, "/");
		kept = *end;
		*end = '\0';
		next_fd = enter_level(unpack, at_fd, path, base, hidden, name, err);
		*end = kept;
		fd_done(&at_fd);
		if (next_fd < 0)
			return -1;
		at_fd = next_fd;
	}
	return at_fd >= 0 ? fd_take(&at_fd) : fail(name, err);
}

/* Before the parent of the members is another one: what was put into it is not to be seen in its time. */
static int leave_parent(struct unpack *unpack)
{
	return unpack->parent_fd < 0 ? 0 : set_time(unpack->parent_fd, unpack->parent_time);
}

static int note_parent_time(struct unpack *unpack)
{
	struct stat st;

	if (unpack->parent_fd < 0 || fstat(unpack->parent_fd, &st) != 0)
		return unpack->parent_fd < 0 ? 0 : -1;
	unpack->parent_time = st.st_mtim;
	return 0;
}

/* The descriptor of a member's parent, which stays the unpack's; -1 with *err. `path` is plain. */
static int open_parent(struct unpack *unpack, const char *path, const char *name, struct warder_error *err)
{
	const char *slash = strrchr(path, '/');
	char *parent = strndup(path, slash ? (size_t)(slash - path) : 0);
	struct warder_error ignored;
	int fd;

	if (!parent)
		return error_no_memory(err, field);
	if (unpack->parent && strcmp(unpack->parent, parent) == 0) {
		free(parent);
		return unpack->parent_fd;
	}
	fd = path_open_no_links(unpack->tree_fd, parent[0] ? parent : ".", O_RDONLY | O_DIRECTORY, &ignored);
	if (fd < 0)
		fd = enter_path(unpack, parent, name, err);
	if (fd < 0) {
		free(parent);
		return -1;
	}
	const int left = leave_parent(unpack);
	free(unpack->parent);
	fd_done(&unpack->parent_fd);
	unpack->parent = parent;
	unpack->parent_fd = fd;
	return left == 0 && note_parent_time(unpack) == 0 ? fd : fail(name, err);
}

int unpack_finish(struct unpack *unpack, struct warder_error *err)
{
	if (!unpack->root_given && give_implied(unpack, "", unpack->tree_fd, ".", err) != 0)
		return -1;
	return leave_parent(unpack) == 0 ? 0 : fail(".", err);
}

/* ---- members ---- */

static mode_t kept_mode(struct unpack *unpack, const struct unpack_member *member)
{
	mode_t mode = member->mode & 07777;

	if (!S_ISDIR(member->mode)) {
		if (mode & 06000)
			unpack->report.set_ids++;
		mode &= 01777;
	}
	if (!unpack->owners_kept)
		mode |= S_ISDIR(member->mode) ? 0700 : 0400;
	return mode;
}

/* Make room for a member that is no directory: an earlier one of that name goes. */
static int make_room(int parent_fd, const char *base, const char *name, struct warder_error *err)
{
	struct stat st;

	if (fstatat(parent_fd, base, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : fail(name, err);
	if (S_ISDIR(st.st_mode))
		return refuse(name, err, "is in the layer twice, as a directory and as something else");
	return unlinkat(parent_fd, base, 0) == 0 ? 0 : fail(name, err);
}

static int make_directory(struct unpack *unpack, const struct unpack_member *member, const char *path,
			  struct warder_error *err)
{
	const int parent_fd = open_parent(unpack, path, member->name, err);
	bool made;
	owned_fd int fd = -1;

	if (parent_fd < 0)
		return -1;
	if (path[0])
		fd = enter(unpack, parent_fd, path_name(path), member->name, &made, err);
	else
		fd = openat(unpack->tree_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if ((unpack->owners_kept && fchown(fd, member->uid, member->gid) != 0) ||
	    fchmod(fd, kept_mode(unpack, member)) != 0 ||
	    set_time(fd, (struct timespec){ .tv_sec = member->mtime }) != 0)
		return fail(member->name, err);
	if (path[0])
		return 0;
	unpack->root_given = true; /* and is its own parent */
	return note_parent_time(unpack) == 0 ? 0 : fail(member->name, err);
}

static int make_file(struct unpack *unpack, const struct unpack_member *member, int parent_fd,
		     const char *base, int *ret_fd, struct warder_error *err)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

	if (member->size > unpack->limits->file_bytes_max)
		return refuse(member->name, err, "is too large; --max-file-size allows more");
	if (member->size > unpack->limits->bytes_max - unpack->report.bytes)
		return refuse(member->name, err,
			      "is one too many: the files are too large together; --max-size allows more");
	unpack->report.bytes += member->size;
	*ret_fd = openat(parent_fd, base, flags, 0600);
	if (*ret_fd < 0 && errno == EEXIST) {
		if (make_room(parent_fd, base, member->name, err) != 0)
			return -1;
		*ret_fd = openat(parent_fd, base, flags, 0600);
	}
	return *ret_fd >= 0 ? 0 : fail(member->name, err);
}

static int give(struct unpack *unpack, const struct unpack_member *member, int parent_fd, const char *base,
		struct warder_error *err)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = member->mtime } };

	if (unpack->owners_kept &&
	    fchownat(parent_fd, base, member->uid, member->gid, AT_SYMLINK_NOFOLLOW) != 0)
		return fail(member->name, err);
	if (utimensat(parent_fd, base, times, AT_SYMLINK_NOFOLLOW) != 0)
		return fail(member->name, err);
	return 0;
}

static int make_symlink(struct unpack *unpack, const struct unpack_member *member, int parent_fd,
			const char *path, struct warder_error *err)
{
	const char *base = path_name(path), *target = member->target;

	if (!target || !target[0] || strlen(target) >= PATH_MAX)
		return refuse(member->name, err,
			      "is a symbolic link without a target, or with too long a one");
	if (climbs_out(path, target))
		return refuse(member->name, err, "is a symbolic link that leads out of the image");
	if (make_room(parent_fd, base, member->name, err) != 0)
		return -1;
	if (symlinkat(target, parent_fd, base) != 0)
		return fail(member->name, err);
	return give(unpack, member, parent_fd, base, err);
}

static int make_fifo(struct unpack *unpack, const struct unpack_member *member, int parent_fd,
		     const char *base, struct warder_error *err)
{
	if (make_room(parent_fd, base, member->name, err) != 0)
		return -1;
	if (mkfifoat(parent_fd, base, 0600) != 0 ||
	    fchmodat(parent_fd, base, kept_mode(unpack, member), 0) != 0)
		return fail(member->name, err);
	return give(unpack, member, parent_fd, base, err);
}

static int make_hard_link(struct unpack *unpack, const struct unpack_member *member, int parent_fd,
			  const char *base, struct warder_error *err)
{
	char target[PATH_MAX];
	const char *wrong = unpack_plain_path(member->target, target), *slash;
	owned_fd int from_fd = -1;
	struct warder_error ignored;
	struct stat st;

	if (wrong)
		return refuse(member->name, err, "is a hard link to a file outside the layer");
	slash = strrchr(target, '/');
	if (slash)
		target[slash - target] = '\0';
	from_fd = path_open_no_links(unpack->tree_fd, slash ? target : ".", O_PATH | O_DIRECTORY, &ignored);
	if (from_fd < 0 || fstatat(from_fd, slash ? slash + 1 : target, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return refuse(member->name, err, "is a hard link to a file that is not earlier in the layer");
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return refuse(member->name, err, "is a hard link to something that is not a file");
	if (linkat(from_fd, slash ? slash + 1 : target, parent_fd, base, 0) == 0)
		return 0;
	if (errno != EEXIST)
		return fail(member->name, err);
	if (fstatat(parent_fd, base, &(struct stat){ 0 }, AT_SYMLINK_NOFOLLOW) == 0) {
		struct stat old;

		/* A link to itself stays what it is. */
		if (fstatat(parent_fd, base, &old, AT_SYMLINK_NOFOLLOW) == 0 && old.st_ino == st.st_ino)
			return 0;
	}
	if (make_room(parent_fd, base, member->name, err) != 0)
		return -1;
	return linkat(from_fd, slash ? slash + 1 : target, parent_fd, base, 0) == 0 ? 0
										    : fail(member->name, err);
}

static int make_device(struct unpack *unpack, const struct unpack_member *member, const char *path,
		       struct warder_error *err)
{
	for (size_t i = 0; S_ISCHR(member->mode) && i < ARRAY_LENGTH(known_devices); i++) {
		if (strcmp(path, known_devices[i].path) == 0 && member->major == known_devices[i].major &&
		    member->minor == known_devices[i].minor) {
			unpack->report.devices++;
			return 0;
		}
	}
	return refuse(member->name, err, "is a device, which no image may bring along");
}

static int make_whiteout(struct unpack *unpack, const struct unpack_member *member, int parent_fd,
			 const char *base, struct warder_error *err)
{
	const char *hidden = base + sizeof(whiteout_prefix) - 1;
	struct stat st;
	owned_fd int fd = -1;

	if (strcmp(base, opaque_name) == 0)
		return make_opaque(unpack, parent_fd) == 0 ? 0 : fail(member->name, err);
	if (strncmp(hidden, whiteout_prefix, sizeof(whiteout_prefix) - 1) == 0)
		return 0; /* bookkeeping of a storage driver */
	if (!hidden[0] || strcmp(hidden, ".") == 0 || strcmp(hidden, "..") == 0)
		return refuse(member->name, err, "is a whiteout without a name");
	if (mknodat(parent_fd, hidden, S_IFCHR, makedev(0, 0)) == 0)
		return 0;
	if (errno != EEXIST || fstatat(parent_fd, hidden, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return fail(member->name, err);
	/* It hides what lower layers have; what this one has stays. */
	if (!S_ISDIR(st.st_mode))
		return 0;
	fd = openat(parent_fd, hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && make_opaque(unpack, fd) == 0 ? 0 : fail(member->name, err);
}

static int make(struct unpack *unpack, const struct unpack_member *member, const char *path, int *ret_fd,
		struct warder_error *err)
{
	const char *base = path_name(path);
	int parent_fd;

	if (S_ISDIR(member->mode) && !member->hard_link && strncmp(base, whiteout_prefix, 4) != 0)
		return make_directory(unpack, member, path, err);
	if (!path[0])
		return refuse(member->name, err, "is the root, but no directory");
	if (!member->hard_link && (S_ISCHR(member->mode) || S_ISBLK(member->mode)))
		return make_device(unpack, member, path, err);
	parent_fd = open_parent(unpack, path, member->name, err);
	if (parent_fd < 0)
		return -1;
	if (member->whiteouts && strncmp(base, whiteout_prefix, sizeof(whiteout_prefix) - 1) == 0)
		return make_whiteout(unpack, member, parent_fd, base, err);
	if (member->hard_link)
		return make_hard_link(unpack, member, parent_fd, base, err);
	if (S_ISREG(member->mode))
		return make_file(unpack, member, parent_fd, base, ret_fd, err);
	if (S_ISLNK(member->mode))
		return make_symlink(unpack, member, parent_fd, path, err);
	if (S_ISFIFO(member->mode))
		return make_fifo(unpack, member, parent_fd, base, err);
	return refuse(member->name, err, "is of a type that no image may bring along");
}

int unpack_member(struct unpack *unpack, const struct unpack_member *member, int *ret_fd,
		  struct warder_error *err)
{
	char path[PATH_MAX];
	const char *wrong;

	*ret_fd = -1;
	if (++unpack->report.files > unpack->limits->files_max)
		return refuse(member->name, err, "is one too many; --max-files allows more");
	wrong = unpack_plain_path(member->name, path);
	if (wrong)
		return refuse(member->name, err, wrong);
	if (unpack->owners_kept && !member->hard_link &&
	    (member->uid > UNPACK_ID_MAX || member->gid > UNPACK_ID_MAX))
		return refuse(member->name, err, "belongs to a uid or gid above 65535, which no jail has");
	return make(unpack, member, path, ret_fd, err);
}

int unpack_attribute(struct unpack *unpack, const char *name, int fd, const char *key, const void *value,
		     size_t size, struct warder_error *err)
{
	if (strcmp(key, "security.capability") == 0) {
		unpack->report.capabilities++;
		return 0;
	}
	if (strncmp(key, "trusted.overlay.", 16) == 0 || strncmp(key, "user.overlay.", 13) == 0)
		return refuse(name, err, "has an attribute of overlayfs, which would change other files");
	if (fd < 0 || strncmp(key, "user.", 5) != 0 || size > ATTRIBUTE_BYTES) {
		unpack->report.attributes++;
		return 0;
	}
	if (fsetxattr(fd, key, value, size, 0) == 0)
		return 0;
	if (errno != ENOTSUP && errno != ENOSPC && errno != E2BIG && errno != ERANGE)
		return fail(name, err);
	unpack->report.attributes++;
	return 0;
}

int unpack_close(struct unpack *unpack, const struct unpack_member *member, int fd, struct warder_error *err)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = member->mtime } };

	if (ftruncate(fd, (off_t)member->size) != 0 ||
	    (unpack->owners_kept && fchown(fd, member->uid, member->gid) != 0) ||
	    fchmod(fd, kept_mode(unpack, member)) != 0 || futimens(fd, times) != 0)
		return fail(member->name, err);
	return 0;
}

/* ---- archives ---- */

static int write_block(int fd, const char *bytes, size_t len, off_t offset)
{
	while (len) {
		ssize_t n = pwrite(fd, bytes, len, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		bytes += n;
		offset += n;
		len -= (size_t)n;
	}
	return 0;
}

static int copy_content(struct stream *stream, const struct unpack_member *member, int fd,
			struct warder_error *err)
{
	const void *bytes;
	la_int64_t offset;
	size_t len;

	for (;;) {
		const int status = archive_read_data_block(stream->tar, &bytes, &len, &offset);

		if (status == ARCHIVE_EOF)
			return 0;
		if (status != ARCHIVE_OK)
			return stream_fault(stream, member->name, err);
		if (offset < 0 || (uint64_t)offset > member->size || len > member->size - (uint64_t)offset)
			return refuse(member->name, err, "has more content than it says");
		if (write_block(fd, bytes, len, offset) != 0)
			return fail(member->name, err);
	}
}

static int take_attributes(struct unpack *unpack, const struct unpack_member *member, int fd,
			   struct archive_entry *entry, struct warder_error *err)
{
	int count = archive_entry_xattr_reset(entry);
	const char *key;
	const void *value;
	size_t size;

	if (count > ATTRIBUTES_MAX)
		return refuse(member->name, err, "has too many attributes");
	while (count-- > 0 && archive_entry_xattr_next(entry, &key, &value, &size) == ARCHIVE_OK) {
		if (!key || unpack_attribute(unpack, member->name, fd, key, value, size, err) != 0)
			return key ? -1 : refuse(member->name, err, "has an attribute without a name");
	}
	if (archive_entry_acl_types(entry) != 0)
		unpack->report.attributes++;
	return 0;
}

static int describe(struct archive_entry *entry, uint64_t number, struct unpack_member *ret,
		    struct warder_error *err)
{
	const char *link = archive_entry_hardlink(entry);

	*ret = (struct unpack_member){
		.name = archive_entry_pathname(entry),
		.mode = archive_entry_mode(entry),
		.mtime = archive_entry_mtime(entry),
		.target = link ? link : archive_entry_symlink(entry),
		.hard_link = link != NULL,
		.whiteouts = true,
		.major = (unsigned)archive_entry_rdevmajor(entry),
		.minor = (unsigned)archive_entry_rdevminor(entry),
	};
	if (!ret->name || !ret->name[0])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "member %llu has a name that cannot be read", (unsigned long long)number);
	if (archive_entry_uid(entry) < 0 || archive_entry_uid(entry) > UINT32_MAX ||
	    archive_entry_gid(entry) < 0 || archive_entry_gid(entry) > UINT32_MAX)
		return refuse(ret->name, err, "belongs to a uid or gid that does not exist");
	ret->uid = (uid_t)archive_entry_uid(entry);
	ret->gid = (gid_t)archive_entry_gid(entry);
	if (archive_entry_size(entry) < 0)
		return refuse(ret->name, err, "has a negative size");
	ret->size = (uint64_t)archive_entry_size(entry);
	if (ret->mtime < 0 || ret->mtime > (int64_t)1 << 33) /* what file systems can keep */
		ret->mtime = 0;
	return 0;
}

static int unpack_entry(struct unpack *unpack, struct stream *stream, struct archive_entry *entry,
			struct warder_error *err)
{
	struct unpack_member member;
	owned_fd int fd = -1;

	if (describe(entry, unpack->report.files + 1, &member, err) != 0 ||
	    unpack_member(unpack, &member, &fd, err) != 0)
		return -1;
	if (fd >= 0 && copy_content(stream, &member, fd, err) != 0)
		return -1;
	if (take_attributes(unpack, &member, fd, entry, err) != 0)
		return -1;
	return fd >= 0 ? unpack_close(unpack, &member, fd, err) : 0;
}

static int unpack_all(struct unpack *unpack, struct stream *stream, struct warder_error *err)
{
	struct archive_entry *entry;
	int status;

	while ((status = archive_read_next_header(stream->tar, &entry)) != ARCHIVE_EOF) {
		if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
			return stream_fault(stream, NULL, err);
		if (unpack_entry(unpack, stream, entry, err) != 0)
			return -1;
	}
	return unpack_finish(unpack, err);
}

int unpack_stream(struct unpack *unpack, struct stream *stream, struct warder_error *err)
{
	/* Names in extended headers are UTF-8, and libarchive gives them in the thread's locale. */
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), before;
	int unpacked;

	if (!utf8)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, field, "the host has no locale C.UTF-8");
	before = uselocale(utf8);
	unpacked = unpack_all(unpack, stream, err);
	uselocale(before);
	freelocale(utf8);
	return unpacked;
}

void unpack_note(const struct unpack_report *report, struct images_notes *notes)
{
	notes->capabilities += report->capabilities;
	notes->attributes += report->attributes;
	notes->set_ids += report->set_ids;
	notes->devices += report->devices;
	notes->sockets += report->sockets;
	notes->mounts += report->mounts;
}
