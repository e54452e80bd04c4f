#include "base/array.h"
#include "rootfs/path.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rootfs/rootfs.h"

/* ---- the text alone ---- */

/* A copy that ends exactly at `len`, so that the address sanitizer sees every read past it. */
static int check_exact(const char *path, size_t len, struct warder_error *err)
{
	char *copy = malloc(len ? len : 1);
	int status;

	memcpy(copy, path, len);
	status = path_check_relative(copy, len, err);
	free(copy);
	return status;
}

Test(path, accepts_names_beneath_the_workspace, .timeout = 20)
{
	static const char *const rows[] = {
		"file.txt",
		"src/main.rs",
		"a/b/../c/f",
		"./f",
		"./src/./m",
		"a/b/..",
		"a/b/c/../../d",
		"a/b/c/d/e/f/g/h/i/j/k",
		"...",
		"..a",
		"a/../b",
		"a//b",
		"a/",
		"a b",
		" a",
		".hidden",
		"-rf",
		"a\\b",

		"\xff",
		"ab:c",
		"a\nb",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };

		cr_expect(check_exact(rows[i], strlen(rows[i]), &err) == 0, "\"%s\": %s", rows[i], err.text);
	}
}

Test(path, refuses_names_that_lead_elsewhere, .timeout = 20)
{
	static const struct {
		const char *path;
		size_t len; /* 0: all of it */
		const char *says;
	} rows[] = {
		{ "", 0, "is empty" },
		{ " ", 0, "is empty" },
		{ "\t \n", 0, "is empty" },
		{ ".", 0, "workspace itself" },
		{ "./", 0, "workspace itself" },
		{ "././.", 0, "workspace itself" },
		{ "a/..", 0, "workspace itself" },
		{ "/", 0, "is absolute" },
		{ "/etc/passwd", 0, "is absolute" },
		{ "..", 0, "path traversal" },
		{ "../", 0, "path traversal" },
		{ "../x", 0, "path traversal" },
		{ "a/../../x", 0, "path traversal" },
		{ "a/b/../../../x", 0, "path traversal" },
		{ "a/../../a/b", 0, "path traversal" },
		{ "./../x", 0, "path traversal" },
		{ "a//../..//x", 0, "path traversal" },
		{ "\\Windows", 0, "is absolute" },
		{ "C:\\x", 0, "drive letter" },
		{ "c:/x", 0, "drive letter" },
		{ "c:x", 0, "drive letter" },
		{ "a\0b", 3, "NUL" },
		{ "a\0", 2, "NUL" },
		{ "\0", 1, "NUL" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };
		size_t len = rows[i].len ? rows[i].len : strlen(rows[i].path);

		cr_expect(check_exact(rows[i].path, len, &err) == -1, "row %zu \"%s\"", i, rows[i].path);
		cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, rows[i].says),
			  "row %zu \"%s\": %s", i, rows[i].path, err.text);
	}
}

Test(path, refuses_what_the_kernel_could_not_open, .timeout = 20)
{
	struct warder_error err = { 0 };
	char path[PATH_MAX + 1];

	memset(path, 'a', sizeof(path));
	for (size_t i = 100; i < sizeof(path); i += 100)
		path[i] = '/';
	cr_expect(check_exact(path, PATH_MAX - 1, &err) == 0, "%s", err.text);
	cr_expect(check_exact(path, PATH_MAX, &err) == -1);
	cr_expect(check_exact(path, PATH_MAX + 1, &err) == -1 && strstr(err.text, "too long"), "%s",
		  err.text);
}

Test(path, normalises_absolute_paths, .timeout = 20)
{
	static const struct {
		const char *path, *normal; /* NULL: refused */
	} rows[] = {
		{ "/", "/" },           { "//", "/" },          { "/.", "/" },
		{ "/a", "/a" },         { "/a/", "/a" },        { "/a/./b//c", "/a/b/c" },
		{ "///a", "/a" },       { "/a/...", "/a/..." }, { "/..a", "/..a" },
		{ "/.a/b.", "/.a/b." }, { "", NULL },           { " ", NULL },
		{ "a", NULL },          { "./a", NULL },        { "..", NULL },
		{ "/..", NULL },        { "/a/..", NULL },      { "/a/../b", NULL },
		{ "C:/a", NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };
		char *normal = NULL;
		int status = path_normalise(rows[i].path, &normal, &err);

		cr_expect(rows[i].normal
			      ? status == 0 && normal && strcmp(normal, rows[i].normal) == 0
			      : status == -1 && !normal && err.code == WARDER_ERROR_INVALID_REQUEST,
			  "\"%s\" -> %s %s", rows[i].path, normal ? normal : "(refused)", err.text);
		free(normal);
	}
}

Test(path, compares_by_component, .timeout = 20)
{
	static const struct {
		const char *outer, *inner;
		bool within, below;
	} rows[] = {
		{ "/data", "/data", true, false },
		{ "/data", "/data/x", true, true },
		{ "/data", "/database", false, false },
		{ "/data", "/dat", false, false },
		{ "/data/x", "/data", false, false },
		{ "/", "/", true, false },
		{ "/", "/x", true, false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		cr_expect(path_within(rows[i].outer, rows[i].inner) == rows[i].within, "%s %s", rows[i].outer,
			  rows[i].inner);
		cr_expect(path_is_below(rows[i].outer, rows[i].inner) == rows[i].below, "%s %s",
			  rows[i].outer, rows[i].inner);
	}
}

/* ---- opening ---- */

static char top[] = "/tmp/warder-path.XXXXXX";
static int top_fd = -1;

static void put(const char *path)
{
	int fd = openat(top_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert(fd >= 0);
	close(fd);
}

static void set_up(void)
{
	cr_assert(mkdtemp(top));
	top_fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cr_assert(mkdirat(top_fd, "in", 0700) == 0 && mkdirat(top_fd, "in/d", 0700) == 0);
	put("secret");
	put("in/f");
	put("in/d/g");
	cr_assert(symlinkat("d", top_fd, "in/to-d") == 0 && symlinkat("f", top_fd, "in/to-f") == 0 &&
		  symlinkat("..", top_fd, "in/up") == 0 && symlinkat("/etc", top_fd, "in/etc") == 0 &&
		  symlinkat("loop", top_fd, "in/loop") == 0 &&
		  symlinkat("gone", top_fd, "in/dangling") == 0 &&
		  symlinkat("../d/../f", top_fd, "in/d/round") == 0 &&
		  symlinkat("/proc/self/root", top_fd, "in/magic") == 0);
}

static void tear_down(void)
{
	static const char *const files[] = { "in/to-d",     "in/to-f",    "in/up",    "in/etc",   "in/loop",
					     "in/dangling", "in/d/round", "in/magic", "in/d/new", "in/d/g",
					     "in/f",        "secret",     "in/d/new2" };

	for (size_t i = 0; i < ARRAY_LENGTH(files); i++)
		unlinkat(top_fd, files[i], 0);
	unlinkat(top_fd, "in/d", AT_REMOVEDIR);
	unlinkat(top_fd, "in", AT_REMOVEDIR);
	close(top_fd);
	rmdir(top);
}

/* Errors of the two ways to open a path; 0: opens. */
static const struct opening {
	const char *path;
	uint64_t flags;
	int beneath, no_links;
} openings[] = {
	{ "f", O_RDONLY, 0, 0 },
	{ "d", O_RDONLY, 0, 0 },
	{ "d/", O_RDONLY, 0, 0 },
	{ "d/g", O_RDONLY, 0, 0 },
	{ "./d/./g", O_RDONLY, 0, 0 },
	{ "d//g", O_RDONLY, 0, 0 },
	{ ".", O_RDONLY | O_DIRECTORY, 0, 0 },
	{ "d", O_PATH, 0, 0 },
	{ "", O_RDONLY, ENOENT, ENOENT },
	{ "gone", O_RDONLY, ENOENT, ENOENT },
	{ "gone/x", O_RDONLY, ENOENT, ENOENT },
	{ "f/x", O_RDONLY, ENOTDIR, ENOTDIR },
	{ "f/", O_RDONLY, ENOTDIR, ENOTDIR },
	{ "f", O_RDONLY | O_DIRECTORY, ENOTDIR, ENOTDIR },
	{ "/etc/passwd", O_RDONLY, EXDEV, EXDEV },
	{ "..", O_RDONLY, EXDEV, EXDEV },
	{ "../secret", O_RDONLY, EXDEV, EXDEV },
	{ "d/../../secret", O_RDONLY, EXDEV, EXDEV },
	{ "d/../f", O_RDONLY, 0, 0 },
	{ "to-f", O_RDONLY, 0, ELOOP },
	{ "to-f", O_PATH, 0, ELOOP },
	{ "to-f", O_PATH | O_NOFOLLOW, 0, 0 },
	{ "to-f", O_RDONLY | O_NOFOLLOW, ELOOP, ELOOP },
	{ "to-d/g", O_RDONLY, 0, ELOOP },
	{ "to-d/", O_RDONLY, 0, ELOOP },
	{ "to-d", O_RDONLY | O_DIRECTORY, 0, ELOOP },
	{ "d/round", O_RDONLY, 0, ELOOP },
	{ "up/secret", O_RDONLY, EXDEV, ELOOP },
	{ "etc/passwd", O_RDONLY, EXDEV, ELOOP },
	{ "magic/etc/passwd", O_RDONLY, EXDEV, ELOOP },
	{ "loop", O_RDONLY, ELOOP, ELOOP },
	{ "dangling", O_RDONLY, ENOENT, ELOOP },
};

static int error_of(int fd)
{
	int error = fd < 0 ? errno : 0;

	if (fd >= 0) {
		cr_expect(fcntl(fd, F_GETFD) == FD_CLOEXEC);
		close(fd);
	}
	return error;
}

Test(path, opens_beneath_and_nowhere_else, .init = set_up, .fini = tear_down, .timeout = 30)
{
	int in_fd = openat(top_fd, "in", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < ARRAY_LENGTH(openings); i++) {
		const struct opening *row = &openings[i];
		struct warder_error err = { 0 };
		int fd = path_open_beneath(in_fd, row->path, row->flags, &err);

		cr_expect((fd < 0 ? err.sys_errno : 0) == row->beneath, "beneath \"%s\": %s", row->path,
			  err.text);
		error_of(fd);
		err = (struct warder_error){ 0 };
		fd = path_open_no_links(in_fd, row->path, row->flags, &err);
		cr_expect((fd < 0 ? err.sys_errno : 0) == row->no_links, "no links \"%s\": %s", row->path,
			  err.text);
		error_of(fd);
	}
	close(in_fd);
}

Test(path, says_what_was_wrong, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const struct {
		const char *path;
		enum warder_error_kind kind;
		const char *says;
	} rows[] = {
		{ "up/secret", WARDER_ERROR_REJECTED, "\"up/secret\" leads out of its directory" },
		{ "loop", WARDER_ERROR_REJECTED, "symbolic links" },
		{ "gone", WARDER_ERROR_NOT_FOUND, "\"gone\"" },
		{ "a\nb", WARDER_ERROR_NOT_FOUND, "\"a\\nb\"" },
	};
	int in_fd = openat(top_fd, "in", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };

		cr_expect(path_open_beneath(in_fd, rows[i].path, O_RDONLY, &err) == -1);
		cr_expect(err.code == rows[i].kind && strstr(err.text, rows[i].says), "%s: %s", rows[i].path,
			  err.text);
	}
	close(in_fd);
}
