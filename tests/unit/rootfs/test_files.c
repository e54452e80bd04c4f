/* Files put into a directory and taken out of it again (rootfs/files.c), and the patterns that choose them. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "rootfs/rootfs.h"

struct place {
	char path[64];
	int fd;
};

static void place_init(struct place *place)
{
	snprintf(place->path, sizeof(place->path), "/tmp/warder-files-XXXXXX");
	cr_assert(mkdtemp(place->path));
	place->fd = open(place->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cr_assert(place->fd >= 0);
}

static void place_done(struct place *place)
{
	char command[128];

	close(place->fd);
	snprintf(command, sizeof(command), "rm -rf %s", place->path);
	cr_assert_eq(system(command), 0);
}

static int put(struct place *place, const char *path, const char *text, struct warder_error *err)
{
	const struct rootfs_file file = { .path = path, .bytes = text, .len = strlen(text) };

	memset(err, 0, sizeof(*err));
	return rootfs_put_files(place->fd, &file, 1, (uid_t)-1, (gid_t)-1, err);
}

static const struct rootfs_collect everything = {
	.directory = "box",
	.files_max = 100,
	.file_bytes = 1 << 20,
	.total_bytes = 1 << 20,
	.inline_bytes = 1 << 20,
	.save_fd = -1,
};

Test(files, what_is_put_is_there, .timeout = 20)
{
	struct place place;
	struct warder_error err;
	struct rootfs_collection found;

	place_init(&place);
	cr_expect_eq(put(&place, "box/a.txt", "one", &err), 0, "%s", err.text);
	cr_expect_eq(put(&place, "box/sub/../sub/./b.txt", "two", &err), 0, "%s", err.text);
	rootfs_collect(place.fd, &everything, &found);
	cr_assert_eq(found.count, 2u);
	cr_expect_str_eq(found.items[0].path, "a.txt");
	cr_expect_str_eq(found.items[0].bytes, "one");
	cr_expect_eq(found.items[0].mode, 0644u);
	cr_expect_str_eq(found.items[1].path, "sub/b.txt");
	cr_expect_eq(found.items[1].size, 3u);
	cr_expect(!found.limits_hit && !found.fault[0]);
	rootfs_collection_done(&found);
	place_done(&place);
}

Test(files, bad_places_are_refused, .timeout = 20)
{
	static const char *const paths[] = { "",  "/etc/x", "../x",       "a/../../x", "..",
					     ".", "C:\\x",  "box/link/x", "box/link",  "box/a.txt" };
	struct place place;
	struct warder_error err;

	place_init(&place);
	cr_expect_eq(put(&place, "box/a.txt", "one", &err), 0);
	cr_expect_eq(symlinkat("/tmp", place.fd, "box/link"), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
		cr_expect_eq(put(&place, paths[i], "x", &err), -1, "%s", paths[i]);
		cr_expect(err.text[0], "%s", paths[i]);
	}
	cr_expect_eq(err.code, WARDER_ERROR_CONFLICT);
	place_done(&place);
}

Test(files, only_regular_files_are_taken, .timeout = 20)
{
	struct place place;
	struct warder_error err;
	struct rootfs_collection found;

	place_init(&place);
	cr_expect_eq(put(&place, "box/.hidden", "h", &err), 0);
	cr_expect_eq(put(&place, "box/__pycache__/x.pyc", "p", &err), 0);
	cr_expect_eq(put(&place, "box/real", "r", &err), 0);
	cr_expect_eq(symlinkat("/etc/passwd", place.fd, "box/link"), 0);
	cr_expect_eq(symlinkat("/etc", place.fd, "box/dir"), 0);
	cr_expect_eq(mkfifoat(place.fd, "box/fifo", 0666), 0);
	rootfs_collect(place.fd, &everything, &found);
	cr_assert_eq(found.count, 1u);
	cr_expect_str_eq(found.items[0].path, "real");
	rootfs_collection_done(&found);
	place_done(&place);
}

Test(files, limits_hold_and_are_told, .timeout = 20)
{
	static const struct {
		const char *label;
		size_t files_max;
		uint64_t file_bytes, total_bytes, inline_bytes;
		size_t count;
		size_t taken;
		bool hit;
	} rows[] = {
		{ "all", 10, 100, 100, 100, 3, 3, false },      { "one file", 1, 100, 100, 100, 1, 1, true },
		{ "small files", 10, 2, 100, 100, 3, 0, true }, { "in all", 10, 100, 7, 100, 3, 2, true },
		{ "inline", 10, 100, 100, 2, 3, 0, false },
	};
	struct place place;
	struct warder_error err;

	place_init(&place);
	cr_expect_eq(put(&place, "box/a", "abc", &err), 0);
	cr_expect_eq(put(&place, "box/b", "def", &err), 0);
	cr_expect_eq(put(&place, "box/c", "ghi", &err), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct rootfs_collect what = everything;
		struct rootfs_collection found;
		size_t taken = 0;

		what.files_max = rows[i].files_max;
		what.file_bytes = rows[i].file_bytes;
		what.total_bytes = rows[i].total_bytes;
		what.inline_bytes = rows[i].inline_bytes;
		rootfs_collect(place.fd, &what, &found);
		for (size_t k = 0; k < found.count; k++) {
			taken += found.items[k].taken == ROOTFS_TAKEN_INLINE;
			cr_expect((found.items[k].taken == ROOTFS_TAKEN_NOT) == (found.items[k].why != NULL),
				  "%s", rows[i].label);
		}
		cr_expect_eq(found.count, rows[i].count, "%s: %zu files", rows[i].label, found.count);
		cr_expect_eq(taken, rows[i].taken, "%s: %zu taken", rows[i].label, taken);
		cr_expect_eq(found.limits_hit, rows[i].hit, "%s", rows[i].label);
		rootfs_collection_done(&found);
	}
	place_done(&place);
}

Test(files, what_was_put_is_left_out_unless_changed, .timeout = 20)
{
	const struct rootfs_file files[] = { { "box/same", "same", 4, 0 }, { "box/other", "before", 6, 0 } };
	struct rootfs_collect what = everything;
	struct rootfs_collection found;
	struct warder_error err;
	struct place place;
	int fd;

	place_init(&place);
	cr_assert_eq(rootfs_put_files(place.fd, files, 2, (uid_t)-1, (gid_t)-1, &err), 0);
	fd = openat(place.fd, "box/other", O_WRONLY | O_CLOEXEC);
	cr_expect_eq(write(fd, "BEFORE", 6), 6);
	close(fd);
	what.unchanged = files;
	what.unchanged_count = 2;
	rootfs_collect(place.fd, &what, &found);
	cr_assert_eq(found.count, 1u);
	cr_expect_str_eq(found.items[0].bytes, "BEFORE");
	rootfs_collection_done(&found);
	place_done(&place);
}

Test(files, large_ones_are_saved_beside, .timeout = 20)
{
	struct rootfs_collect what = everything;
	struct rootfs_collection found;
	struct warder_error err;
	struct place from, to;
	char text[16] = "";
	int fd;

	place_init(&from);
	place_init(&to);
	cr_expect_eq(put(&from, "box/d/large", "0123456789", &err), 0);
	cr_expect_eq(put(&from, "box/small", "s", &err), 0);
	what.inline_bytes = 5;
	what.save_fd = to.fd;
	rootfs_collect(from.fd, &what, &found);
	cr_assert_eq(found.count, 2u);
	cr_expect_eq(found.items[0].taken, ROOTFS_TAKEN_SAVED);
	cr_expect_eq(found.items[1].taken, ROOTFS_TAKEN_INLINE);
	rootfs_collection_done(&found);
	fd = openat(to.fd, "d/large", O_RDONLY | O_CLOEXEC);
	cr_expect_eq(read(fd, text, sizeof(text)), 10);
	cr_expect_str_eq(text, "0123456789");
	close(fd);
	/* Once more: what is there already is not written over. */
	rootfs_collect(from.fd, &what, &found);
	cr_expect_eq(found.items[0].taken, ROOTFS_TAKEN_NOT);
	cr_expect(found.items[0].why && strstr(found.items[0].why, "already"));
	rootfs_collection_done(&found);
	place_done(&from);
	place_done(&to);
}

Test(files, whole_or_told, .timeout = 20)
{
	struct rootfs_collect what = everything;
	struct rootfs_collection found;
	struct warder_error err;
	struct place place;

	place_init(&place);
	cr_expect_eq(put(&place, "box/.hidden/file", "x", &err), 0);
	cr_assert_eq(symlinkat("/etc/passwd", place.fd, "box/link"), 0);
	cr_assert_eq(mkfifoat(place.fd, "box/pipe", 0644), 0);
	rootfs_collect(place.fd, &what, &found);
	cr_expect_eq(found.count, 0u, "an artifact is a file that is not hidden");
	rootfs_collection_done(&found);
	what.whole = true;
	rootfs_collect(place.fd, &what, &found);
	cr_assert_eq(found.count, 3u);
	cr_expect_str_eq(found.items[0].path, ".hidden/file");
	cr_expect_eq(found.items[0].taken, ROOTFS_TAKEN_INLINE);
	for (size_t i = 1; i < 3; i++) {
		cr_expect_eq(found.items[i].taken, ROOTFS_TAKEN_NOT);
		cr_expect(found.items[i].why && strstr(found.items[i].why, "not a file"), "%s",
			  found.items[i].path);
	}
	rootfs_collection_done(&found);
	place_done(&place);
}

Test(files, patterns, .timeout = 20)
{
	static const struct {
		const char *pattern, *path;
		bool matches;
	} rows[] = {
		{ "*.csv", "a.csv", true },
		{ "*.csv", "d/a.csv", false },
		{ "d/*", "d/a", true },
		{ "d/*", "d/a/b", false },
		{ "**", "a/b/c", true },
		{ "**/c", "a/b/c", true },
		{ "**/c", "c", true },
		{ "a/**/c", "a/c", true },
		{ "a/**/c", "a/b/b/c", true },
		{ "a/**/c", "b/c", false },
		{ "**/b/**/d", "a/b/c/d", true },
		{ "**/b/**/d", "a/c/d", false },
		{ "*", ".hidden", false },
		{ ".*", ".hidden", true },
		{ "**", "a/.git/x", false },
		{ "**/*.py", "x.py", true },
		{ "[a-c]?", "bz", true },
		{ "[a-c]?", "dz", false },
		{ "a", "a/b", false },
		{ "a/b", "a", false },
		{ "", "a", false },
		{ "**/a", "b/ab", false },
		{ "**/**/**/**/x", "a/a/a/a/a/a/y", false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_eq(rootfs_match(rows[i].pattern, rows[i].path), rows[i].matches, "%s on %s",
			     rows[i].pattern, rows[i].path);
}

Test(files, patterns_below, .timeout = 20)
{
	static const struct {
		const char *pattern, *path;
		bool matches;
	} rows[] = {
		{ "out/*", "out", true },      { "out/*", "out/a", false },
		{ "out/*", "work", false },    { "out/*", "ou", false },
		{ "out", "out", false },       { "**", "a/b", true },
		{ "a/**/c", "a/b/b", true },   { "a/**/c", "b", false },
		{ "a*/x/*.c", "ab", true },    { "a*/x/*.c", "ab/x", true },
		{ "a*/x/*.c", "ab/y", false }, { "a*/x/*.c", "ab/x/z", false },
		{ "*/x", ".git", true },       { "", "a", false },
		{ "a/", "a", true },           { "[o]ut/*.csv", "out", true },
		{ "/a", "a", false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_eq(rootfs_match_below(rows[i].pattern, rows[i].path), rows[i].matches, "%s on %s",
			     rows[i].pattern, rows[i].path);
}
