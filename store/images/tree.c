#include "store/images/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "store/images/names.h"
#include "store/images/unpack.h"

#define BUFFER          ((size_t)256 * 1024)
#define ATTRIBUTE_BYTES 65536

static const char field[] = "image";

struct walk {
	struct digest digest;
	struct names_links links; /* files with several names, by the first one that is met */
	char *buffer;
	char *value;
	char path[PATH_MAX];
	struct tree_digest *sums;
	void (*on_progress)(void *context, uint64_t bytes);
	void *context;
	struct warder_error *err;
};

static int fail(struct walk *walk, const char *what)
{
	const int error = errno;
	char shown[160];

	return error_set_errno(walk->err, WARDER_ERROR_UNAVAILABLE, field, error, "%s of the tree %s",
			       json_quote(walk->path, shown, sizeof(shown)), what);
}

static void add_number(struct walk *walk, unsigned long long number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", number);
	digest_add_text(&walk->digest, text);
}

/* Attributes that a layer may have: the user's, and overlayfs' mark of an opaque directory. */
static int add_attributes(struct walk *walk, int fd)
{
	char list[ATTRIBUTE_BYTES], *keys[1024];
	ssize_t len = flistxattr(fd, list, sizeof(list));
	size_t count = 0;

	if (len < 0)
		return errno == ENOTSUP ? 0 : fail(walk, "has attributes that cannot be read");
	for (char *key = list; key < list + len && count < 1024; key += strlen(key) + 1) {
		if (strncmp(key, "user.", 5) == 0 || strcmp(key, "trusted.overlay.opaque") == 0)
			keys[count++] = key;
	}
	qsort(keys, count, sizeof(keys[0]), text_order);
	for (size_t i = 0; i < count; i++) {
		ssize_t size = fgetxattr(fd, keys[i], walk->value, ATTRIBUTE_BYTES);

		if (size < 0)
			return fail(walk, "has attributes that cannot be read");
		digest_add_text(&walk->digest, keys[i]);
		add_number(walk, (unsigned long long)size);
		digest_add(&walk->digest, walk->value, (size_t)size);
	}
	return 0;
}

static bool is_zero(const char *bytes, size_t len)
{
	return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

/* One block of a file; how many bytes it has, -1 with errno. */
static ssize_t read_block(struct walk *walk, int fd, off_t at)
{
	size_t len = 0;
	ssize_t n = 1;

	while (n != 0 && len < BUFFER) {
		n = pread(fd, walk->buffer + len, BUFFER - len, at + (off_t)len);
		if (n < 0 && errno != EINTR)
			return -1;
		len += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)len;
}

/* Where a block with data begins, from `at` on; -1: there is none. */
static off_t next_block(int fd, off_t at)
{
	off_t data = lseek(fd, at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? -1 : at;
	return data - data % (off_t)BUFFER;
}

static void show(struct walk *walk, off_t at)
{
	if (walk->on_progress)
		walk->on_progress(walk->context, walk->sums->bytes + (uint64_t)at);
}

/* Blocks that are not zero, each with its place. What is a hole is not read, and is the same as zeros that were written. */
static int add_content(struct walk *walk, int fd, uint64_t size)
{
	struct digest content;
	char hex[DIGEST_HEX], place[32];
	off_t at = 0;
	ssize_t n = 0;

	digest_init(&content);
	while (n >= 0 && (uint64_t)at < size && (at = next_block(fd, at)) >= 0) {
		n = read_block(walk, fd, at);
		if (n <= 0)
			break;
		if (!is_zero(walk->buffer, (size_t)n)) {
			snprintf(place, sizeof(place), "%llu", (unsigned long long)at);
			digest_add_text(&content, place);
			digest_add(&content, walk->buffer, (size_t)n);
		}
		at += (off_t)BUFFER;
		show(walk, at);
	}
	if (n < 0) {
		digest_done(&content);
		return fail(walk, "cannot be read");
	}
	walk->sums->bytes += size;
	if (digest_hex(&content, hex) != 0)
		return error_no_memory(walk->err, field);
	digest_add_text(&walk->digest, hex);
	return 0;
}

static int add_file(struct walk *walk, int dir_fd, const char *name, const struct stat *st)
{
	owned_fd int fd = -1;

	if (st->st_nlink > 1) {
		const char *first = NULL;

		if (names_links_add(&walk->links, st, walk->path, &first) != 0)
			return error_no_memory(walk->err, field);
		if (first) {
			digest_add_text(&walk->digest, "hard");
			digest_add_text(&walk->digest, first);
			return 0;
		}
	}
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return fail(walk, "cannot be opened");
	add_number(walk, (unsigned long long)st->st_size);
	return add_content(walk, fd, (uint64_t)st->st_size) == 0 ? add_attributes(walk, fd) : -1;
}

static int add_link(struct walk *walk, int dir_fd, const char *name)
{
	ssize_t len = readlinkat(dir_fd, name, walk->buffer, BUFFER);

	if (len < 0)
		return fail(walk, "cannot be read");
	add_number(walk, (unsigned long long)len);
	digest_add(&walk->digest, walk->buffer, (size_t)len);
	return 0;
}

static int add_directory(struct walk *walk, int fd, size_t path_len, int depth);

static int add_subdirectory(struct walk *walk, int dir_fd, const char *name, size_t path_len, int depth)
{
	owned_fd int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return fail(walk, "cannot be opened");
	return add_directory(walk, fd, path_len, depth);
}

static int add_entry(struct walk *walk, int dir_fd, const char *name, size_t path_len, int depth)
{
	struct stat st;
	char kind[16];

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return fail(walk, "cannot be looked at");
	walk->sums->files++;
	snprintf(kind, sizeof(kind), "%o", (unsigned)st.st_mode);
	digest_add_text(&walk->digest, walk->path);
	digest_add_text(&walk->digest, kind);
	add_number(walk, st.st_uid);
	add_number(walk, st.st_gid);
	if (S_ISREG(st.st_mode))
		return add_file(walk, dir_fd, name, &st);
	if (S_ISLNK(st.st_mode))
		return add_link(walk, dir_fd, name);
	if (S_ISDIR(st.st_mode))
		return add_subdirectory(walk, dir_fd, name, path_len, depth);
	add_number(walk, st.st_rdev);
	return 0;
}

static int add_directory(struct walk *walk, int fd, size_t path_len, int depth)
{
	struct names list = { 0 };
	int added = 0;

	if (depth > UNPACK_DEPTH_MAX)
		return error_set(walk->err, WARDER_ERROR_UNAVAILABLE, field, "the tree is too deep");
	if (add_attributes(walk, fd) != 0)
		return -1;
	if (names_read(fd, &list) != 0)
		return fail(walk, "cannot be read");
	for (size_t i = 0; added == 0 && i < list.count; i++) {
		const int len = snprintf(walk->path + path_len, sizeof(walk->path) - path_len, "%s%s",
					 path_len ? "/" : "", list.items[i]);

		if (len < 0 || path_len + (size_t)len >= sizeof(walk->path))
			added = error_set(walk->err, WARDER_ERROR_UNAVAILABLE, field, "a path is too long");
		else
			added = add_entry(walk, fd, list.items[i], path_len + (size_t)len, depth + 1);
	}
	walk->path[path_len] = '\0';
	names_done(&list);
	digest_add_text(&walk->digest, ""); /* the directory's end: no path is empty */
	return added;
}

static int add_root(struct walk *walk, int tree_fd)
{
	struct stat st;
	char mode[16];

	if (fstat(tree_fd, &st) != 0)
		return fail(walk, "cannot be looked at");
	snprintf(mode, sizeof(mode), "%o", (unsigned)st.st_mode);
	digest_add_text(&walk->digest, "warder tree 2");
	digest_add_text(&walk->digest, mode);
	add_number(walk, st.st_uid);
	add_number(walk, st.st_gid);
	return add_directory(walk, tree_fd, 0, 0);
}

/* A tree's digest itself would not do: what it is made from can be an archive at the same time. */
static int give_name(struct tree_digest *sums)
{
	struct digest digest;

	digest_init(&digest);
	digest_add_text(&digest, "warder layer of a tree 1");
	digest_add_text(&digest, sums->hex);
	return digest_hex(&digest, sums->name);
}

int tree_digest(int tree_fd, void (*on_progress)(void *context, uint64_t bytes), void *context,
		struct tree_digest *ret, struct warder_error *err)
{
	struct walk walk = { .sums = ret, .on_progress = on_progress, .context = context, .err = err };
	int added = -1;

	*ret = (struct tree_digest){ 0 };
	walk.buffer = malloc(BUFFER);
	walk.value = malloc(ATTRIBUTE_BYTES);
	digest_init(&walk.digest);
	if (walk.buffer && walk.value)
		added = add_root(&walk, tree_fd);
	else
		error_no_memory(err, field);
	if (added == 0 && (digest_hex(&walk.digest, ret->hex) != 0 || give_name(ret) != 0))
		added = error_no_memory(err, field);
	digest_done(&walk.digest);
	names_links_done(&walk.links);
	free(walk.buffer);
	free(walk.value);
	return added;
}
