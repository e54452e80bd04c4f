/* Paths of members, and layers looked through from the top (store/images/unpack.c, merged.c). */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "store/images/merged.h"
#include "store/images/unpack.h"

Test(unpack, plain_paths, .timeout = 20)
{
	static const struct {
		const char *path, *plain; /* NULL: refused */
	} rows[] = {
		{ "a", "a" },       { "./a/./b//c/", "a/b/c" },
		{ "", "" },         { ".", "" },
		{ "./", "" },       { "/", "" },
		{ "...", "..." },   { "a/..b", "a/..b" },
		{ "/a", NULL },     { "..", NULL },
		{ "a/../b", NULL }, { "a/..", NULL },
		{ "./..", NULL },
	};
	char plain[64];

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *wrong = unpack_plain_path(rows[i].path, plain);

		cr_expect_eq(wrong == NULL, rows[i].plain != NULL, "%s: %s", rows[i].path,
			     wrong ? wrong : plain);
		if (!wrong && rows[i].plain)
			cr_expect_str_eq(plain, rows[i].plain);
	}
}

static int scratch(char path[64])
{
	snprintf(path, 64, "/tmp/warder-merged-XXXXXX");
	cr_assert(mkdtemp(path));
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void remove_scratch(const char *path)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", path);
	cr_assert_eq(system(command), 0);
}

static void put(int dir_fd, const char *path, const char *text)
{
	int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s", path);
	close(fd);
}

static void link_to(int dir_fd, const char *target, const char *path)
{
	cr_assert_eq(symlinkat(target, dir_fd, path), 0, "%s", path);
}

static bool mark_opaque(int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const bool marked = fsetxattr(fd, "user.overlay.opaque", "y", 1, 0) == 0 ||
			    fsetxattr(fd, "trusted.overlay.opaque", "y", 1, 0) == 0;

	close(fd);
	return marked;
}

/* usr/bin, bin -> usr/bin; hidden; was (a directory, above a file); whole (opaque above); up -> ../../etc/x; loop. */
static bool make_layers(struct merged *merged, int low, int high)
{
	merged->tree_fds[0] = low;
	merged->tree_fds[1] = high;
	merged->count = 2;
	mkdirat(low, "usr", 0755);
	mkdirat(low, "usr/bin", 0711);
	mkdirat(low, "etc", 0755);
	link_to(low, "usr/bin", "bin");
	link_to(low, "../../etc/x", "usr/bin/up");
	link_to(low, "/bin/tool", "etc/absolute");
	link_to(low, "loop", "loop");
	put(low, "etc/x", "low");
	put(low, "etc/passwd", "root:x:0:0::/:\nmail:x:8:12::/:\n");
	put(low, "etc/group", "root:x:0:\nstaff:x:50:\n");
	put(low, "hidden", "low");
	mkdirat(low, "was", 0755);
	put(low, "was/in", "low");
	mkdirat(low, "whole", 0755);
	put(low, "whole/low", "low");
	mkdirat(high, "usr", 0755);
	mkdirat(high, "usr/bin", 0755);
	put(high, "usr/bin/tool", "high");
	put(high, "was", "high");
	mkdirat(high, "whole", 0755);
	put(high, "whole/high", "high");
	return mknodat(high, "hidden", S_IFCHR, makedev(0, 0)) == 0 && mark_opaque(high, "whole");
}

Test(merged, what_is_seen, .timeout = 20)
{
	static const struct {
		const char *path, *leads; /* NULL: refused */
		bool exists;
		size_t layer;
	} rows[] = {
		{ "/", "", true, 1 },
		{ "bin/tool", "usr/bin/tool", true, 1 },
		{ "/bin/up", "etc/x", true, 0 },
		{ "/etc/absolute", "usr/bin/tool", true, 1 },
		{ "/etc/./../etc/x", "etc/x", true, 0 },
		{ "/../../etc/x", "etc/x", true, 0 },
		{ "/bin/new/deeper", "usr/bin/new/deeper", false, 0 },
		{ "/hidden", "hidden", false, 0 },
		{ "/was", "was", true, 1 },
		{ "/was/in", "was/in", false, 0 },
		{ "/whole/high", "whole/high", true, 1 },
		{ "/whole/low", "whole/low", false, 0 },
		{ "/loop", NULL, false, 0 },
	};
	char low_path[64], high_path[64], *text;
	int low = scratch(low_path), high = scratch(high_path);
	struct warder_error err;
	struct merged merged;
	struct merged_entry entry;
	uid_t uid;
	gid_t gid;

	if (!make_layers(&merged, low, high)) {
		merged_done(&merged);
		remove_scratch(low_path);
		remove_scratch(high_path);
		cr_skip_test("the file system takes no attributes of users");
	}
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const int found = merged_find(&merged, rows[i].path, &entry, &err);

		cr_expect_eq(found, rows[i].leads ? 0 : -1, "%s", rows[i].path);
		if (found != 0 || !rows[i].leads)
			continue;
		cr_expect_str_eq(entry.path, rows[i].leads, "%s leads to %s", rows[i].path, entry.path);
		cr_expect_eq(entry.exists, rows[i].exists, "%s", rows[i].path);
		if (entry.exists)
			cr_expect_eq(entry.layer, rows[i].layer, "%s in layer %zu", rows[i].path,
				     entry.layer);
	}
	text = merged_read(&merged, "/bin/up");
	cr_expect(text && strcmp(text, "low") == 0);
	free(text);
	cr_expect_null(merged_read(&merged, "/hidden"));
	cr_expect(merged_ids(&merged, "mail", &uid, &gid, &err) == 0 && uid == 8 && gid == 12);
	cr_expect(merged_ids(&merged, "mail:staff", &uid, &gid, &err) == 0 && uid == 8 && gid == 50);
	cr_expect(merged_ids(&merged, "7", &uid, &gid, &err) == 0 && uid == 7 && gid == 7);
	cr_expect(merged_ids(&merged, "7:9", &uid, &gid, &err) == 0 && uid == 7 && gid == 9);
	cr_expect_neq(merged_ids(&merged, "nobody-here", &uid, &gid, &err), 0);
	cr_expect_neq(merged_ids(&merged, "70000", &uid, &gid, &err), 0);
	cr_expect_neq(merged_ids(&merged, "mail:none", &uid, &gid, &err), 0);
	merged_done(&merged);
	remove_scratch(low_path);
	remove_scratch(high_path);
}
