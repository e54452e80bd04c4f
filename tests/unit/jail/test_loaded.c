/*
 * The files that a program has loaded: what counts as a change of one. Each row changes something in a root with one file that is reached in
 * three ways: by its own name, by a link, and below a linked directory.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/loaded.h"
#include "jail/watch.h"

static char root[] = "/tmp/loaded.XXXXXX";

static const char *at(const char *path)
{
	static char text[4][256];
	static unsigned int n;

	snprintf(text[++n % 4], sizeof(text[0]), "%s%s", root, path);
	return text[n % 4];
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(at(path), "we");

	cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", path);
}

static void make(void)
{
	cr_assert(mkdtemp(root) && mkdir(at("/lib"), 0755) == 0 && mkdir(at("/lib/a"), 0755) == 0 &&
		  mkdir(at("/lib/b"), 0755) == 0);
	put("/lib/a/one", "one");
	put("/lib/a/other", "other");
	put("/lib/b/one", "one");
	cr_assert(symlink("/lib/a/one", at("/lib/link")) == 0 && symlink("/lib/a", at("/lib/now")) == 0);
}

static void replace_link(const char *path, const char *target)
{
	cr_assert(unlink(at(path)) == 0 && symlink(target, at(path)) == 0);
}

static void nothing(void)
{
}

static void write_beside(void)
{
	put("/lib/a/beside", "beside");
}

static void touch(void)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	cr_assert(utimensat(AT_FDCWD, at("/lib/a/one"), times, 0) == 0);
}

static void exchange(void)
{
	cr_assert(rename(at("/lib/b/one"), at("/lib/a/one")) == 0);
}

static void take_away(void)
{
	cr_assert(unlink(at("/lib/a/one")) == 0);
}

static void exchange_directory(void)
{
	cr_assert(rename(at("/lib/a"), at("/lib/c")) == 0 && rename(at("/lib/b"), at("/lib/a")) == 0);
}

static void lead_file_elsewhere(void)
{
	replace_link("/lib/link", "/lib/b/one");
}

static void lead_directory_elsewhere(void)
{
	replace_link("/lib/now", "/lib/b");
}

static void make_link(void)
{
	cr_assert(rename(at("/lib/a/one"), at("/lib/a/two")) == 0 &&
		  symlink("/lib/a/two", at("/lib/a/one")) == 0);
}

static void write_and_restore(void)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	put("/lib/a/one", "two");
	cr_assert(utimensat(AT_FDCWD, at("/lib/a/one"), times, 0) == 0);
}

static void exchange_above(void)
{
	cr_assert(mkdir(at("/new"), 0755) == 0 && mkdir(at("/new/a"), 0755) == 0);
	put("/new/a/one", "one");
	put("/new/a/other", "other");
	cr_assert(rename(at("/lib"), at("/old")) == 0 && rename(at("/new"), at("/lib")) == 0);
}

/* Once by looking at each file, and once with a watch. True if the watch knew, before the change, that nothing had changed. */
static bool check(const char *name, const char *path, void (*change)(void), bool is_change, bool watched)
{
	struct watch *watch = watched ? watch_new() : NULL;
	struct loaded loaded = { 0 };
	struct warder_error err;
	char command[64];
	owned_fd int root_fd = -1;
	bool was_sure;

	snprintf(root, sizeof(root), "/tmp/loaded.XXXXXX");
	make();
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cr_assert(loaded_add(&loaded, root_fd, path, strlen(path), &err) == 0);
	cr_assert(loaded_add(&loaded, root_fd, "/lib/a/other", 12, &err) == 0);
	cr_assert(loaded_add(&loaded, root_fd, path, strlen(path), &err) == 0);
	if (watch)
		loaded_watch(&loaded, root_fd, watch);
	/* /tmp may be on a file system that is not watched. */
	was_sure = loaded_are_unchanged(&loaded);
	cr_expect(!was_sure || (watch && loaded.unwatched == 0), "%s", name);
	cr_expect(!loaded_have_changed(&loaded, root_fd), "%s", name);
	change();
	cr_expect(!is_change || !loaded_are_unchanged(&loaded), "%s%s", name, watched ? ", watched" : "");
	/* The other file is there in any case, unless its directory is another one. */
	cr_expect(loaded_have_changed(&loaded, root_fd) == is_change, "%s%s", name,
		  watched ? ", watched" : "");
	cr_expect(loaded_are_unchanged(&loaded) == (was_sure && !is_change), "%s%s", name,
		  watched ? ", watched" : "");
	cr_expect(loaded_have_changed(&loaded, -1));
	loaded_done(&loaded);
	watch_free(watch);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	cr_assert(system(command) == 0);
	return was_sure;
}

Test(loaded, a_file_that_was_changed_or_replaced_is_noticed, .timeout = 60)
{
	static const struct {
		const char *name, *path;
		void (*change)(void);
		bool is_change;
	} rows[] = {
		{ "nothing", "/lib/a/one", nothing, false },
		{ "nothing, by a link", "/lib/link", nothing, false },
		{ "nothing, below a link", "/lib/now/one", nothing, false },
		{ "no such file", "/lib/a/none", nothing, false },
		{ "no such directory", "/none/one", nothing, false },
		{ "a file beside it", "/lib/a/one", write_beside, false },
		{ "times", "/lib/a/one", touch, true },
		{ "times, by a link", "/lib/link", touch, true },
		{ "times, below a link", "/lib/now/one", touch, true },
		{ "another file", "/lib/a/one", exchange, true },
		{ "another file, by a link", "/lib/link", exchange, true },
		{ "removed", "/lib/a/one", take_away, true },
		{ "another directory", "/lib/a/one", exchange_directory, true },
		{ "another directory, by a link", "/lib/link", exchange_directory, true },
		{ "a link that leads elsewhere", "/lib/link", lead_file_elsewhere, true },
		{ "a link on the way that leads elsewhere", "/lib/now/one", lead_directory_elsewhere, true },
		{ "other bytes and times", "/lib/a/one", write_and_restore, true },
		{ "another directory above", "/lib/a/one", exchange_above, true },
		{ "a link in its place", "/lib/a/one", make_link, true },
	};

	size_t straight = 0;
	size_t sure = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		check(rows[i].name, rows[i].path, rows[i].change, rows[i].is_change, false);
		sure += check(rows[i].name, rows[i].path, rows[i].change, rows[i].is_change, true);
		straight += !strstr(rows[i].path, "/link") && !strstr(rows[i].path, "/now/");
	}
	if (!sure)
		cr_skip_test("/tmp is on a file system that is not watched");
	/* Where a link leads is looked at in any case. */
	cr_expect(sure == straight, "%zu of %zu", sure, straight);
}

static bool is_sure(const char *root_path, const char *path)
{
	struct watch *watch = watch_new();
	struct loaded loaded = { 0 };
	struct warder_error err;
	owned_fd int root_fd = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool sure;

	cr_assert(watch && loaded_add(&loaded, root_fd, path, strlen(path), &err) == 0 && loaded.files == 1);
	loaded_watch(&loaded, root_fd, watch);
	sure = loaded_are_unchanged(&loaded);
	loaded_done(&loaded);
	watch_free(watch);
	return sure;
}

Test(loaded, what_the_kernel_does_not_report_is_looked_at, .timeout = 60)
{
	cr_expect(!is_sure("/", "/proc/meminfo"));
	cr_expect(!is_sure("/proc", "/meminfo"));
}
