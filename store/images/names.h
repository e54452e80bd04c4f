/*
 * names: what is in a directory, in order; and which files have several names. Private to store/images/.
 */
#ifndef WARDER_STORE_IMAGES_NAMES_H
#define WARDER_STORE_IMAGES_NAMES_H

#include <stddef.h>
#include <sys/stat.h>

struct names {
	char **items; /* without "." and ".."; bytewise in order */
	size_t count;
};

/* Read an open directory from its beginning; fd stays the caller's. 0 with *ret for names_done(); -1 with errno. */
int names_read(int fd, struct names *ret);
void names_done(struct names *names);

/* Files by device and inode. Zeroed is empty. */
struct names_links {
	struct names_link *slots;
	size_t count, capacity;
};

/* Look a file up: *ret_first is the path it was first added with, or NULL and it is added now. -1: out of memory. */
int names_links_add(struct names_links *links, const struct stat *st, const char *path,
		    const char **ret_first);
void names_links_done(struct names_links *links);

#endif
