/* What was built and is kept (runtime/code/cache.c). */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/code/cache.h"

#define KEY(digit) digit "111111111111111111111111111111111111111111111111111111111111111"

struct place {
	char path[64];
	struct cache cache;
};

static void place_init(struct place *place, uint64_t bytes)
{
	struct warder_error err;

	snprintf(place->path, sizeof(place->path), "/tmp/warder-cache-XXXXXX");
	cr_assert(mkdtemp(place->path));
	strcat(place->path, "/a/b");
	cr_assert_eq(cache_open(place->path, bytes, &place->cache, &err), 0, "%s", err.text);
	strcat(place->path, "/built");
	cr_assert_str_eq(place->cache.path, place->path);
}

static void place_done(struct place *place)
{
	char command[128];

	cache_done(&place->cache);
	place->path[strlen(place->path) - strlen("/a/b/built")] = '\0';
	snprintf(command, sizeof(command), "rm -rf %s", place->path);
	cr_assert_eq(system(command), 0);
}

static size_t count(const struct place *place)
{
	DIR *dir = opendir(place->path);
	size_t n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static void fill(struct cache_entry *entry, size_t bytes)
{
	int fd = openat(entry->fd, "program", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	char *text = calloc(1, bytes);

	cr_assert_eq(write(fd, text, bytes), (ssize_t)bytes);
	free(text);
	close(fd);
}

static bool is_there(const struct place *place, const char *key)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s/program", place->path, key);
	return access(path, F_OK) == 0;
}

static void build(struct place *place, const char *key, size_t bytes)
{
	struct cache_entry entry;
	struct warder_error err;

	cr_assert_eq(cache_claim(&place->cache, key, &entry, &err), 0, "%s", err.text);
	cr_assert(!entry.built);
	fill(&entry, bytes);
	cr_assert_eq(cache_commit(&place->cache, &entry, &err), 0, "%s", err.text);
	cache_release(&place->cache, &entry);
}

Test(cache, built_once_found_again, .timeout = 20)
{
	struct cache_entry entry;
	struct warder_error err;
	struct place place;

	place_init(&place, 0);
	build(&place, KEY("a"), 10);
	cr_assert_eq(cache_claim(&place.cache, KEY("a"), &entry, &err), 0);
	cr_expect(entry.built);
	cr_expect(strstr(entry.path, KEY("a")));
	cache_release(&place.cache, &entry);
	cr_expect_eq(count(&place), 1u, "nothing but the entry");
	place_done(&place);
}

Test(cache, what_was_given_up_leaves_nothing, .timeout = 20)
{
	struct cache_entry entry;
	struct warder_error err;
	struct place place;

	place_init(&place, 0);
	cr_assert_eq(cache_claim(&place.cache, KEY("a"), &entry, &err), 0);
	fill(&entry, 10);
	cache_release(&place.cache, &entry);
	cr_expect_eq(count(&place), 0u);
	/* Without a key: for one use. */
	cr_assert_eq(cache_claim(&place.cache, NULL, &entry, &err), 0);
	fill(&entry, 10);
	cr_assert_eq(cache_commit(&place.cache, &entry, &err), 0);
	cr_expect(entry.built);
	cr_expect_eq(count(&place), 1u);
	cache_release(&place.cache, &entry);
	cr_expect_eq(count(&place), 0u);
	place_done(&place);
}

Test(cache, the_oldest_makes_room, .timeout = 20)
{
	struct cache_entry used;
	struct warder_error err;
	struct place place;

	place_init(&place, 300000);
	build(&place, KEY("a"), 100000);
	usleep(20000);
	build(&place, KEY("b"), 100000);
	usleep(20000);
	/* The older one was used last. */
	cr_assert_eq(cache_claim(&place.cache, KEY("a"), &used, &err), 0);
	cache_release(&place.cache, &used);
	usleep(20000);
	build(&place, KEY("c"), 100000);
	cr_expect(is_there(&place, KEY("a")));
	cr_expect(!is_there(&place, KEY("b")));
	cr_expect(is_there(&place, KEY("c")));
	place_done(&place);
}

Test(cache, what_is_in_use_stays, .timeout = 20)
{
	struct cache_entry used;
	struct warder_error err;
	struct place place;

	place_init(&place, 150000);
	build(&place, KEY("a"), 100000);
	cr_assert_eq(cache_claim(&place.cache, KEY("a"), &used, &err), 0);
	build(&place, KEY("b"), 100000);
	cr_expect(is_there(&place, KEY("a")));
	cache_release(&place.cache, &used);
	build(&place, KEY("c"), 100000);
	cr_expect(!is_there(&place, KEY("a")));
	cr_expect(is_there(&place, KEY("c")), "the newest stays even if it alone is too much");
	place_done(&place);
}

Test(cache, an_abandoned_build_is_removed, .timeout = 20)
{
	struct cache_entry entry;
	struct warder_error err;
	struct place place;

	place_init(&place, 0);
	cr_assert_eq(cache_claim(&place.cache, KEY("a"), &entry, &err), 0);
	fill(&entry, 10);
	/* As the kernel does for a process that died. */
	close(entry.fd);
	close(entry.lock_fd);
	build(&place, KEY("b"), 10);
	cr_expect_eq(count(&place), 1u, "the entry; neither directory nor lock of the dead");
	build(&place, KEY("a"), 10);
	cr_expect_eq(count(&place), 2u, "both entries");
	place_done(&place);
}

Test(cache, the_lock_of_the_living_stays, .timeout = 20)
{
	struct cache_entry entry;
	struct warder_error err;
	struct place place;

	place_init(&place, 0);
	cr_assert_eq(cache_claim(&place.cache, KEY("a"), &entry, &err), 0);
	build(&place, KEY("b"), 10);
	cr_expect_eq(count(&place), 3u, "the entry, and the other's lock and directory");
	cache_release(&place.cache, &entry);
	cr_expect_eq(count(&place), 1u);
	place_done(&place);
}

Test(cache, waiting_has_an_end, .timeout = 20)
{
	struct cache_entry entry, again;
	struct warder_error err = { 0 };
	struct place place;

	place_init(&place, 0);
	cr_assert_eq(cache_claim(&place.cache, KEY("a"), &entry, &err), 0);
	place.cache.wait_us = 50000;
	cr_expect_eq(cache_claim(&place.cache, KEY("a"), &again, &err), -1);
	cr_expect_eq(err.code, (uint32_t)WARDER_ERROR_TIMEOUT);
	cr_expect_str_eq(err.field, "limits.wallTime");
	cache_release(&place.cache, &again);
	cache_release(&place.cache, &entry);
	cr_expect_eq(count(&place), 0u);
	place_done(&place);
}

/* Opens the cache of a place again, by another way. */
static int reopen(const struct place *place, struct warder_error *err)
{
	struct cache cache = CACHE_NONE;
	char path[64];
	int opened;

	snprintf(path, sizeof(path), "%.*s", (int)(strlen(place->path) - strlen("/built")), place->path);
	opened = cache_open(path, 0, &cache, err);
	cache_done(&cache);
	return opened;
}

Test(cache, a_way_of_others_is_refused, .timeout = 20)
{
	struct cache cache = CACHE_NONE;
	struct warder_error err;
	struct place place;
	char around[64];

	place_init(&place, 0);
	snprintf(around, sizeof(around), "%.*s", (int)(strlen(place.path) - strlen("/b/built")), place.path);
	cr_assert_eq(chmod(around, 0777), 0);
	cr_expect_eq(reopen(&place, &err), -1);
	cr_expect(strstr(err.text, "another user"), "%s", err.text);
	cr_assert_eq(chmod(around, 01777), 0);
	cr_expect_eq(reopen(&place, &err), 0, "with the sticky bit: %s", err.text);
	cr_expect_eq(cache_open("relative", 0, &cache, &err), -1);
	cr_expect_eq(cache_open("/proc/nothing", 0, &cache, &err), -1);
	if (geteuid() == 0) {
		cr_assert_eq(chown(around, 65534, 65534), 0);
		cr_expect_eq(reopen(&place, &err), -1);
		cr_assert_eq(chown(around, 0, 0), 0);
	}
	place_done(&place);
}

Test(cache, a_link_of_others_is_refused, .timeout = 20)
{
	struct cache cache = CACHE_NONE;
	struct warder_error err;
	struct place place;
	char link[64];

	place_init(&place, 0);
	snprintf(link, sizeof(link), "%.*s-link", (int)(strlen(place.path) - strlen("/a/b/built")),
		 place.path);
	cr_assert_eq(symlink(place.path, link), 0);
	cr_expect_eq(cache_open(link, 0, &cache, &err), 0, "one's own: %s", err.text);
	cache_done(&cache);
	if (geteuid() == 0) {
		cr_assert_eq(lchown(link, 65534, 65534), 0);
		cr_expect_eq(cache_open(link, 0, &cache, &err), -1);
	}
	unlink(link);
	place_done(&place);
}

Test(cache, only_its_own_is_removed, .timeout = 20)
{
	static const char *const names[] = { "build-release", "build-0123456789abcdef-new",
					     "build-0123456789abcde" };
	struct place place;
	char path[128];

	place_init(&place, 0);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", place.path, names[i]);
		cr_assert_eq(mkdir(path, 0700), 0);
	}
	build(&place, KEY("a"), 10);
	cr_expect_eq(count(&place), 4u);
	place_done(&place);
}

Test(cache, nobody_else_looks_into_it, .timeout = 20)
{
	struct place place;
	struct stat st;

	place_init(&place, 0);
	cr_expect_eq(stat(place.path, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0700u);
	place_done(&place);
}

Test(cache, a_mask_that_takes_everything, .timeout = 20)
{
	struct cache_entry entry;
	struct warder_error err;
	struct place place;
	mode_t mask;

	place_init(&place, 0);
	mask = umask(0777);
	cr_expect_eq(cache_claim(&place.cache, NULL, &entry, &err), 0, "%s", err.text);
	cache_release(&place.cache, &entry);
	umask(mask);
	cr_expect_eq(count(&place), 0u);
	place_done(&place);
}
