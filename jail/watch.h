/*
 * watch: asks the kernel whether files have changed, by inotify(7), so that nobody need look at each of them. A watch notices a change of any
 * of its files, but does not say which: whoever has to know looks then. Private to jail/.
 *
 * watch_new(), watch_read() for a moment to compare with, watch_file() and watch_directory() for what is to be watched; watch_read() again:
 * an equal moment means that no change was reported since. All of it is safe for several threads. watch_free() may wait for the kernel.
 */
#ifndef WARDER_JAIL_WATCH_H
#define WARDER_JAIL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct watch;

struct watch_moment {
	uint64_t changes; /* reported up to then */
	uint64_t lost;    /* files that are not watched any more; how many there were */
};

/* NULL: the kernel gives none, or no memory. */
struct watch *watch_new(void);
void watch_free(struct watch *watch);
/* What the kernel has reported up to now. */
struct watch_moment watch_read(struct watch *watch);
/* Watch a directory for being moved or removed: the path of what is in it is another one then. False: it cannot be watched, or its file
 * system does not report every change, such as one that other machines write to. */
bool watch_directory(struct watch *watch, int dir_fd);
/* Watch a file of such a directory for every change; a link is not followed. False: it cannot be watched. */
bool watch_file(struct watch *watch, int dir_fd, const char *name);

#endif
