/*
 * What inotify(7) reports: each write, truncation and change of attributes of a file, by whatever name; its removal, also by another file
 * that takes its name; and that it or a directory on the way was moved. What it does not report: a write through a shared mapping, before the
 * mapping and its descriptor are closed; and what happens to a file system other than through this kernel, or beneath an overlay. So only file
 * systems that this kernel alone writes to are watched.
 *
 * The queue of a watch may overflow, which is a change like another. A file that is gone loses its watch.
 */
#include "jail/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

#define MOVES  (IN_MOVE_SELF | IN_DELETE_SELF)
#define WRITES (IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE)

struct watch {
	int fd;
	pthread_mutex_t lock; /* of `seen`, and for the reading */
	struct watch_moment seen;
};

struct watch *watch_new(void)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd < 0) {
		free(watch);
		return NULL;
	}
	pthread_mutex_init(&watch->lock, NULL);
	return watch;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	fd_done(&watch->fd);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}

static void count(struct watch *watch, const char *events, size_t len)
{
	for (size_t at = 0; at < len;) {
		const struct inotify_event *event = (const void *)(events + at);

		watch->seen.changes++;
		watch->seen.lost += (event->mask & IN_IGNORED) != 0;
		at += sizeof(*event) + event->len;
	}
}

struct watch_moment watch_read(struct watch *watch)
{
	char events[4096] __attribute__((aligned(8)));
	struct watch_moment seen;
	ssize_t n;

	pthread_mutex_lock(&watch->lock);
	while ((n = read(watch->fd, events, sizeof(events))) > 0 || (n < 0 && errno == EINTR))
		count(watch, events, n > 0 ? (size_t)n : 0);
	if (n == 0 || errno != EAGAIN) /* it cannot say that nothing has changed */
		watch->seen.changes++;
	seen = watch->seen;
	pthread_mutex_unlock(&watch->lock);
	return seen;
}

static bool reports_all(int fd)
{
	static const uint64_t types[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
					  F2FS_SUPER_MAGIC, TMPFS_MAGIC };
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++)
		if ((uint64_t)fs.f_type == types[i])
			return true;
	return false;
}

static bool add(const struct watch *watch, int dir_fd, const char *name, uint32_t events)
{
	char path[320];
	const int len = snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir_fd, name);

	return len < (int)sizeof(path) && inotify_add_watch(watch->fd, path, events | IN_MASK_ADD) >= 0;
}

bool watch_directory(struct watch *watch, int dir_fd)
{
	return reports_all(dir_fd) && add(watch, dir_fd, ".", MOVES | IN_ONLYDIR);
}

bool watch_file(struct watch *watch, int dir_fd, const char *name)
{
	return add(watch, dir_fd, name, MOVES | WRITES | IN_DONT_FOLLOW);
}
