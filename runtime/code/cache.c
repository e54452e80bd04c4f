/*
 * Names in the directory ("built" below the one that was named, so that nothing else of anybody's lies there): <key> is an entry; <key>.lock is held by who builds it; build-<random> is where he does, until the
 * rename. Locks are flock(2)s of open descriptions, which the kernel gives back however their holder ends, and which hold
 * between threads as between processes.
 *
 * A lock file is removed by its holder, so that the directory does not fill with them. Who has waited for it may then hold a
 * file that has no name any more: he looks whether the name still leads to what he locked, and begins again if not.
 */
#include "runtime/code/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "rootfs/rootfs.h"

#define KEY_LENGTH  64
#define KEY_LETTERS "0123456789abcdef"

static const char own_directory[] = "/built";
static const char build_prefix[] = "build-";
static const char lock_suffix[] = ".lock";
static const char old_suffix[] = "-old";

static int unusable(const char *path, int error, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "cache", error, "%.200s cannot be written to",
			       path);
}

/* ---- the directory ---- */

static int default_path(char *buf, size_t size, struct warder_error *err)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int len;

	if (geteuid() == 0)
		len = snprintf(buf, size, "/var/cache/warder%s", own_directory);
	else if (cache && cache[0] == '/')
		len = snprintf(buf, size, "%s/warder%s", cache, own_directory);
	else if (home && home[0] == '/')
		len = snprintf(buf, size, "%s/.cache/warder%s", home, own_directory);
	else
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "cache",
		    "there is no HOME to keep built programs below; set it, or name a cache directory");
	return len < (int)size
		   ? 0
		   : error_set(err, WARDER_ERROR_INVALID_REQUEST, "cache", "the path is too long");
}

int cache_open(const char *path, uint64_t bytes_max, struct cache *ret, struct warder_error *err)
{
	*ret = CACHE_NONE;
	ret->bytes_max = bytes_max ? bytes_max : CACHE_BYTES_DEFAULT;
	if (!path && default_path(ret->path, sizeof(ret->path), err) != 0)
		return -1;
	if (path && (path[0] != '/' || strlen(path) + sizeof(own_directory) >= sizeof(ret->path)))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "cache", "%.200s is not an absolute path",
				 path);
	if (path)
		snprintf(ret->path, sizeof(ret->path), "%s%s", path, own_directory);
	ret->dir_fd = rootfs_open_private_dir(ret->path, "cache", err);
	return ret->dir_fd < 0 ? -1 : 0;
}

void cache_done(struct cache *cache)
{
	fd_done(&cache->dir_fd);
}

/* ---- removing ---- */

/* Whether nobody uses it: then it is locked, by *ret_fd. */
static bool is_idle(const struct cache *cache, const char *name, int *ret_fd)
{
	owned_fd int fd = openat(cache->dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0)
		return false;
	*ret_fd = fd_take(&fd);
	return true;
}

static void remove_idle(const struct cache *cache, const char *name)
{
	owned_fd int fd = -1;
	char trash[96];

	if (!is_idle(cache, name, &fd))
		return;
	/* First out of the way: who looks for the key now does not find half of it. */
	snprintf(trash, sizeof(trash), "%s%.16s%s", build_prefix, name, old_suffix);
	if (strncmp(name, build_prefix, sizeof(build_prefix) - 1) != 0 &&
	    renameat(cache->dir_fd, name, cache->dir_fd, trash) == 0)
		rootfs_remove_tree(cache->dir_fd, trash);
	else
		rootfs_remove_tree(cache->dir_fd, name);
}

static bool still_leads_to(const struct cache *cache, const char *name, int fd)
{
	struct stat now, then;

	return fstat(fd, &then) == 0 && fstatat(cache->dir_fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_ino == then.st_ino;
}

/* Whoever made the lock file of a key has died, or is about to lock it, and then sees that it has gone. */
static void remove_idle_lock(const struct cache *cache, const char *name)
{
	owned_fd int fd = openat(cache->dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && still_leads_to(cache, name, fd))
		unlinkat(cache->dir_fd, name, 0);
}

static bool is_key(const char *name)
{
	return strlen(name) == KEY_LENGTH && strspn(name, KEY_LETTERS) == KEY_LENGTH;
}

/* "build-" and 16 digits, or what remove_idle() has put aside. */
static bool is_build(const char *name)
{
	const char *digits = name + sizeof(build_prefix) - 1;

	return strncmp(name, build_prefix, sizeof(build_prefix) - 1) == 0 &&
	       strspn(digits, KEY_LETTERS) == 16 && (!digits[16] || strcmp(digits + 16, old_suffix) == 0);
}

static bool is_lock(const char *name)
{
	return strspn(name, KEY_LETTERS) == KEY_LENGTH && strcmp(name + KEY_LENGTH, lock_suffix) == 0;
}

struct old_entry {
	char name[96];
	struct timespec used;
	uint64_t bytes;
};

static int by_age(const void *a, const void *b)
{
	const struct timespec *left = &((const struct old_entry *)a)->used;
	const struct timespec *right = &((const struct old_entry *)b)->used;

	if (left->tv_sec != right->tv_sec)
		return left->tv_sec < right->tv_sec ? -1 : 1;
	return left->tv_nsec < right->tv_nsec ? -1 : left->tv_nsec > right->tv_nsec;
}

/* Entries of the directory, oldest use first; heap. What killed builds left is removed on the way. */
static struct old_entry *list_entries(const struct cache *cache, size_t *ret_count, uint64_t *ret_bytes)
{
	int fd = openat(cache->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct old_entry *list = NULL;
	size_t count = 0, capacity = 0;
	struct dirent *item;

	*ret_bytes = 0;
	while (dir && (item = readdir(dir)) != NULL) {
		struct stat st;

		if (is_build(item->d_name))
			remove_idle(cache, item->d_name);
		if (is_lock(item->d_name))
			remove_idle_lock(cache, item->d_name);
		if (!is_key(item->d_name) ||
		    fstatat(cache->dir_fd, item->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (count == capacity) {
			struct old_entry *grown =
			    reallocarray(list, capacity + 256, sizeof(struct old_entry));

			if (!grown)
				break;
			list = grown;
			capacity += 256;
		}
		snprintf(list[count].name, sizeof(list[count].name), "%.64s", item->d_name);
		list[count].used = st.st_mtim;
		list[count].bytes = rootfs_tree_bytes(cache->dir_fd, item->d_name);
		*ret_bytes += list[count].bytes;
		count++;
	}
	if (dir)
		closedir(dir);
	else
		fd_done(&fd);
	if (list)
		qsort(list, count, sizeof(*list), by_age);
	*ret_count = count;
	return list;
}

static void make_room(const struct cache *cache, const char *newest)
{
	size_t count = 0;
	uint64_t bytes = 0;
	struct old_entry *list = list_entries(cache, &count, &bytes);

	for (size_t i = 0; i < count && bytes > cache->bytes_max; i++) {
		struct stat st;

		if (strcmp(list[i].name, newest) == 0)
			continue;
		remove_idle(cache, list[i].name);
		if (fstatat(cache->dir_fd, list[i].name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			bytes -= list[i].bytes;
	}
	free(list);
}

/* ---- entries ---- */

/* -1 with ETIMEDOUT: it took too long; with ECANCELED: told to stop. The kernel's own waiting knows no end. */
static int wait_for_lock(const struct cache *cache, int fd, int kind, uint64_t begin_us)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	while (flock(fd, kind | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -1;
		if (cache->wait_us && clock_us() - begin_us >= cache->wait_us) {
			errno = ETIMEDOUT;
			return -1;
		}
		if (cache->should_stop && cache->should_stop(cache->context)) {
			errno = ECANCELED;
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* 1: it is there, locked for use; 0: it is not. */
static int find(struct cache *cache, const char *key, struct cache_entry *entry)
{
	owned_fd int fd = openat(cache->dir_fd, key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || wait_for_lock(cache, fd, LOCK_SH, clock_us()) != 0 || !still_leads_to(cache, key, fd))
		return 0;
	futimens(fd, NULL); /* the last use, for make_room() */
	snprintf(entry->path, sizeof(entry->path), "%s/%.64s", cache->path, key);
	entry->fd = fd_take(&fd);
	entry->built = entry->kept = true;
	return 1;
}

/* Hold <key>.lock. */
static int lock_key(struct cache *cache, const char *key, int *ret_fd)
{
	const uint64_t begin = clock_us();
	char name[96];

	snprintf(name, sizeof(name), "%.64s%s", key, lock_suffix);
	for (;;) {
		owned_fd int fd =
		    openat(cache->dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0 || wait_for_lock(cache, fd, LOCK_EX, begin) != 0)
			return -1;
		if (still_leads_to(cache, name, fd)) {
			*ret_fd = fd_take(&fd);
			return 0;
		}
	}
}

static void unlock_key(struct cache *cache, struct cache_entry *entry)
{
	char name[96];

	if (entry->lock_fd < 0)
		return;
	snprintf(name, sizeof(name), "%.64s%s", entry->name, lock_suffix);
	unlinkat(cache->dir_fd, name, 0);
	fd_done(&entry->lock_fd);
}

/* A directory to build in, under a name that nobody has. */
static int make_build(struct cache *cache, struct cache_entry *entry)
{
	char name[64];

	for (int tries = 0; tries < 100; tries++) {
		uint64_t number;

		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -1;
		snprintf(name, sizeof(name), "%s%016" PRIx64, build_prefix, number);
		if (mkdirat(cache->dir_fd, name, 0755) != 0) {
			if (errno == EEXIST)
				continue;
			return -1;
		}
		/* Whatever the umask is: who executes it is the jail's user. */
		if (fchmodat(cache->dir_fd, name, 0755, 0) == 0)
			entry->fd =
			    openat(cache->dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		/* Between the two somebody's make_room() may have found it idle. */
		if (entry->fd >= 0 && flock(entry->fd, LOCK_SH) == 0 &&
		    faccessat(cache->dir_fd, name, F_OK, 0) == 0) {
			snprintf(entry->path, sizeof(entry->path), "%s/%s", cache->path, name);
			return 0;
		}
		fd_done(&entry->fd);
		unlinkat(cache->dir_fd, name, AT_REMOVEDIR);
	}
	return -1;
}

static int not_locked(const struct cache *cache, struct warder_error *err)
{
	if (errno == ETIMEDOUT)
		return error_set(err, WARDER_ERROR_TIMEOUT, "limits.wallTime",
				 "another process builds the same code, and did not finish in time");
	if (errno == ECANCELED)
		return error_set(err, WARDER_ERROR_EXECUTION_FAILED, NULL,
				 "stopped while another process built the same code");
	return unusable(cache->path, errno, err);
}

int cache_claim(struct cache *cache, const char *key, struct cache_entry *ret, struct warder_error *err)
{
	*ret = ENTRY_NONE;
	snprintf(ret->name, sizeof(ret->name), "%.64s", key ? key : "");
	if (key && find(cache, key, ret))
		return 0;
	if (key && lock_key(cache, key, &ret->lock_fd) != 0)
		return not_locked(cache, err);
	/* Who held the lock before us has built it, or has failed to. */
	if (key && find(cache, key, ret)) {
		unlock_key(cache, ret);
		return 0;
	}
	if (make_build(cache, ret) == 0)
		return 0;
	unusable(cache->path, errno, err);
	cache_release(cache, ret);
	return -1;
}

int cache_commit(struct cache *cache, struct cache_entry *entry, struct warder_error *err)
{
	const char *name = strrchr(entry->path, '/') + 1;

	entry->built = true;
	if (!entry->name[0]) /* no key: for one use */
		return 0;
	if (renameat(cache->dir_fd, name, cache->dir_fd, entry->name) != 0)
		return unusable(cache->path, errno, err);
	entry->kept = true;
	snprintf(entry->path, sizeof(entry->path), "%s/%.64s", cache->path, entry->name);
	unlock_key(cache, entry);
	make_room(cache, entry->name);
	return 0;
}

void cache_release(struct cache *cache, struct cache_entry *entry)
{
	if (entry->path[0] && !entry->kept)
		rootfs_remove_tree(cache->dir_fd, strrchr(entry->path, '/') + 1);
	unlock_key(cache, entry);
	fd_done(&entry->fd);
	*entry = ENTRY_NONE;
}
