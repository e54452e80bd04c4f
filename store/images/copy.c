#include "store/images/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"

#define ATTRIBUTE_BYTES 65536
#define CHUNK           ((size_t)16 << 20)

static const char field[] = "image";

static int fail(const char *path, const char *what, struct warder_error *err)
{
	const int error = errno;
	char shown[160];

	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, error, "%s %s",
			       json_quote(path[0] ? path : "/", shown, sizeof(shown)), what);
}

static void describe(const struct copy *copy, const struct stat *st, const char *path,
		     struct unpack_member *ret)
{
	*ret = (struct unpack_member){
		.name = path[0] ? path : ".",
		.mode = st->st_mode,
		.uid = copy->own ? copy->uid : st->st_uid,
		.gid = copy->own ? copy->gid : st->st_gid,
		.mtime = st->st_mtim.tv_sec,
		.size = (uint64_t)st->st_size,
		.major = major(st->st_rdev),
		.minor = minor(st->st_rdev),
	};
	if (copy->mode_set && !S_ISLNK(st->st_mode))
		ret->mode = (st->st_mode & S_IFMT) | copy->mode;
}

static int copy_attributes(struct copy *copy, const char *path, int from_fd, int to_fd,
			   struct warder_error *err)
{
	char list[ATTRIBUTE_BYTES], value[ATTRIBUTE_BYTES];
	ssize_t len = flistxattr(from_fd, list, sizeof(list));

	for (char *key = list; key < list + len; key += strlen(key) + 1) {
		const ssize_t size = fgetxattr(from_fd, key, value, sizeof(value));

		if (size >= 0 &&
		    unpack_attribute(copy->unpack, path, to_fd, key, value, (size_t)size, err) != 0)
			return -1;
	}
	return 0;
}

/* What the file has now, at most what it had; the kernel shares the blocks where the file system can. */
static int copy_bytes(struct copy *copy, int from_fd, int to_fd, uint64_t size)
{
	char buffer[65536];
	bool by_kernel = true;

	while (size) {
		const size_t some = size < CHUNK ? (size_t)size : CHUNK;
		ssize_t n = by_kernel ? copy_file_range(from_fd, NULL, to_fd, NULL, some, 0) : -1;

		if (n < 0 && by_kernel) {
			by_kernel = false;
			continue;
		}
		if (!by_kernel) {
			n = read(from_fd, buffer, some < sizeof(buffer) ? some : sizeof(buffer));
			if (n > 0 && write(to_fd, buffer, (size_t)n) != n)
				return -1;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		size -= (uint64_t)n;
		copy->bytes += (uint64_t)n;
		if (copy->on_progress)
			copy->on_progress(copy->context, copy->bytes);
	}
	return 0;
}

int copy_fd(struct copy *copy, int from_fd, const char *to, struct warder_error *err)
{
	owned_fd int to_fd = -1;
	struct unpack_member member;
	const char *first = NULL;
	struct stat st;

	if (fstat(from_fd, &st) != 0)
		return fail(to, "cannot be read", err);
	if (!S_ISREG(st.st_mode))
		return error_set(err, WARDER_ERROR_CONFLICT, field,
				 "%.160s is not a regular file, or was replaced", to);
	describe(copy, &st, to, &member);
	if (st.st_nlink > 1 && names_links_add(&copy->links, &st, to, &first) != 0)
		return error_no_memory(err, field);
	member.hard_link = first != NULL;
	member.target = first;
	if (unpack_member(copy->unpack, &member, &to_fd, err) != 0)
		return -1;
	if (first)
		return 0;
	if (copy_bytes(copy, from_fd, to_fd, member.size) != 0)
		return fail(to, "cannot be copied", err);
	return copy_attributes(copy, to, from_fd, to_fd, err) == 0
		   ? unpack_close(copy->unpack, &member, to_fd, err)
		   : -1;
}

static int copy_file(struct copy *copy, int dir_fd, const char *name, const char *to,
		     struct warder_error *err)
{
	owned_fd int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd >= 0 ? copy_fd(copy, fd, to, err) : fail(to, "cannot be read", err);
}

static int copy_link(struct copy *copy, int dir_fd, const char *name, const struct stat *st, const char *to,
		     struct warder_error *err)
{
	struct unpack_member member;
	char target[PATH_MAX];
	ssize_t len = readlinkat(dir_fd, name, target, sizeof(target));
	int none_fd;

	if (len < 0 || (size_t)len >= sizeof(target))
		return fail(to, "cannot be read", err);
	target[len] = '\0';
	describe(copy, st, to, &member);
	member.target = target;
	return unpack_member(copy->unpack, &member, &none_fd, err);
}

static int copy_entry(struct copy *copy, int dir_fd, const char *name, const char *to,
		      struct warder_error *err);

static int copy_directory(struct copy *copy, int fd, const char *to, struct warder_error *err)
{
	struct unpack_member member;
	struct names list;
	struct stat st;
	int copied = 0, none_fd;

	if (fstat(fd, &st) != 0)
		return fail(to, "cannot be looked at", err);
	if (copy->on_directory && copy->on_directory(copy->directory_context, to, err) != 0)
		return -1;
	describe(copy, &st, to, &member);
	if (unpack_member(copy->unpack, &member, &none_fd, err) != 0)
		return -1;
	if (st.st_dev != copy->dev) {
		copy->unpack->report.mounts++;
		return 0;
	}
	if (names_read(fd, &list) != 0)
		return fail(to, "cannot be read", err);
	for (size_t i = 0; copied == 0 && i < list.count; i++) {
		char *path;

		if (asprintf(&path, "%s%s%s", to, to[0] ? "/" : "", list.items[i]) < 0) {
			copied = error_no_memory(err, field);
			break;
		}
		copied = copy_entry(copy, fd, list.items[i], path, err);
		free(path);
	}
	names_done(&list);
	return copied;
}

/* Depth is bounded by unpack_member(), which refuses what lies too deep. */
static int copy_entry(struct copy *copy, int dir_fd, const char *name, const char *to,
		      struct warder_error *err)
{
	struct unpack_member member;
	struct stat st;
	int none_fd;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT && copy->dev ? 0 : fail(to, "cannot be looked at", err);
	if (!copy->dev)
		copy->dev = st.st_dev;
	if (S_ISREG(st.st_mode) && st.st_dev != copy->dev) {
		copy->unpack->report.mounts++;
		return 0;
	}
	if (S_ISREG(st.st_mode))
		return copy_file(copy, dir_fd, name, to, err);
	if (S_ISLNK(st.st_mode))
		return copy_link(copy, dir_fd, name, &st, to, err);
	if (S_ISDIR(st.st_mode)) {
		owned_fd int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		return fd >= 0 ? copy_directory(copy, fd, to, err) : fail(to, "cannot be opened", err);
	}
	if (S_ISSOCK(st.st_mode)) {
		copy->unpack->report.sockets++;
		return 0;
	}
	describe(copy, &st, to, &member);
	return unpack_member(copy->unpack, &member, &none_fd, err);
}

int copy_path(struct copy *copy, int dir_fd, const char *name, const char *to, struct warder_error *err)
{
	return copy_entry(copy, dir_fd, name, to, err);
}

void copy_done(struct copy *copy)
{
	names_links_done(&copy->links);
	copy->dev = 0;
}
