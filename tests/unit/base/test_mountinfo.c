#include "base/array.h"
#include "base/mountinfo.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct mountinfo_text text_of(const char *text)
{
	return (struct mountinfo_text){ text, strlen(text) };
}

Test(mountinfo, fields, .timeout = 20)
{
	static const char line[] =
	    "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue";
	struct mountinfo mount;

	cr_assert(mountinfo_parse(text_of(line), &mount));
	cr_expect(mountinfo_is(mount.device, "98:0"));
	cr_expect(mountinfo_is(mount.root, "/mnt1"));
	cr_expect(mountinfo_is(mount.point, "/mnt2"));
	cr_expect(mountinfo_is(mount.options, "rw,noatime"));
	cr_expect(mountinfo_is(mount.type, "ext3"));
	cr_expect(mountinfo_is(mount.super, "rw,errors=continue"));
	cr_expect(mount.linked);
}

Test(mountinfo, propagation, .timeout = 20)
{
	static const struct {
		const char *line;
		bool linked;
	} rows[] = {
		{ "1 2 0:3 / /x rw - tmpfs none rw", false },
		{ "1 2 0:3 / /x rw unbindable - tmpfs none rw", false },
		{ "1 2 0:3 / /shared:1 rw - tmpfs shared:1 rw", false },
		{ "1 2 0:3 / /x rw shared:1 - tmpfs none rw", true },
		{ "1 2 0:3 / /x rw master:1 - tmpfs none rw", true },
		{ "1 2 0:3 / /x rw new shared:9 propagate_from:2 - tmpfs none rw", true },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct mountinfo mount;

		cr_expect(mountinfo_parse(text_of(rows[i].line), &mount) && mount.linked == rows[i].linked,
			  "%s", rows[i].line);
	}
}

Test(mountinfo, lines, .timeout = 20)
{
	static const struct {
		const char *line;
		bool ok;
		const char *super;
	} rows[] = {
		{ "1 2 0:3 / /x rw - tmpfs none rw", true, "rw" },
		{ "1 2 0:3 / /x rw - tmpfs  rw", true, "rw" },
		{ "1 2 0:3 / /x rw - tmpfs none", true, "" },
		{ "1 2 0:3 / /x rw - tmpfs", false, "" },
		{ "1 2 0:3 / /x rw -", false, "" },
		{ "1 2 0:3 / /x rw tmpfs none rw", false, "" },
		{ "1 2 0:3 / /x", false, "" },
		{ "", false, "" },
		{ "garbage", false, "" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct mountinfo mount = { .super = { "", 0 } };

		cr_expect(mountinfo_parse(text_of(rows[i].line), &mount) == rows[i].ok, "%s", rows[i].line);
		cr_expect(mountinfo_is(mount.super, rows[i].super), "%s", rows[i].line);
	}
}

Test(mountinfo, cutting, .timeout = 20)
{
	struct mountinfo_text text = text_of("one\n\ntwo\nthree");
	static const char *const wanted[] = { "one", "", "two", "three" };
	struct mountinfo_text line;

	for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++)
		cr_expect(mountinfo_cut(&text, &line) && mountinfo_is(line, wanted[i]), "%zu", i);
	cr_expect(!mountinfo_cut(&text, &line));
	text = text_of("one\n");
	cr_expect(mountinfo_cut(&text, &line) && !mountinfo_cut(&text, &line), "after the last newline");
	text = text_of("");
	cr_expect(!mountinfo_cut(&text, &line), "nothing");
}

Test(mountinfo, paths, .timeout = 20)
{
	static const struct {
		const char *field, *path;
	} rows[] = {
		{ "/", "/" },
		{ "/a\\040b\\011c\\134d\\012", "/a b\tc\\d\n" },
		{ "/caf\\303\\251", "/caf\xc3\xa9" },
		{ "/a\\04", NULL },
		{ "/a\\", NULL },
		{ "/a\\09a", NULL },
		{ "/a\\000", NULL },
		{ "/a\\440", NULL },
		{ "relative", NULL },
		{ "", NULL },
		{ "/123456789012345678", "/123456789012345678" },
		{ "/1234567890123456789", NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char path[20];
		bool ok = mountinfo_path(text_of(rows[i].field), path, sizeof(path));

		cr_expect(ok == (rows[i].path != NULL), "%s", rows[i].field);
		cr_expect(!ok || !rows[i].path || strcmp(path, rows[i].path) == 0, "%s", rows[i].field);
	}
}

Test(mountinfo, options, .timeout = 20)
{
	cr_expect(mountinfo_has(text_of("ro,nosuid"), "ro"));
	cr_expect(mountinfo_has(text_of("rw,nosuid"), "nosuid"));
	cr_expect(!mountinfo_has(text_of("rw,errors=ro"), "ro"));
	cr_expect(!mountinfo_has(text_of("rw,nosuidx"), "nosuid"));
	cr_expect(!mountinfo_has((struct mountinfo_text){ 0 }, "ro"));
}

/* What does not fit into the first buffer comes from the heap, whole. */
Test(mountinfo, reading, .timeout = 20)
{
	static const size_t sizes[] = { 2, 3, 64, 999, 1000, 1001, 1002, 5000 };
	char name[] = "/tmp/mountinfo.XXXXXX";
	int fd = mkstemp(name);
	char content[1000];
	char buf[5000];

	cr_assert_geq(fd, 0);
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (char)('a' + i % 26);
	cr_assert_eq(write(fd, content, sizeof(content)), (ssize_t)sizeof(content));
	close(fd);
	for (size_t i = 0; i < 2 * ARRAY_LENGTH(sizes); i++) {
		char *first = i % 2 ? buf : NULL;
		size_t size = sizes[i / 2];
		size_t len = 0;
		char *text = mountinfo_read(AT_FDCWD, name, first, size, &len);

		cr_assert_not_null(text, "%zu", size);
		cr_expect_eq(len, sizeof(content), "%zu: %zu", size, len);
		cr_expect(memcmp(text, content, sizeof(content)) == 0 && text[len] == 0, "%zu", size);
		cr_expect((text == buf) == (first && size > sizeof(content) + 1), "%zu", size);
		if (text != buf)
			free(text);
	}
	unlink(name);
	cr_expect_null(mountinfo_read(AT_FDCWD, name, buf, sizeof(buf), &(size_t){ 0 }));
}
