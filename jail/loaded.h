/*
 * loaded: the files that a program has loaded that was started in advance (warm.c), as they were then. A zeroed one is empty. loaded_add()
 * for each file, loaded_watch() where there is a watch, loaded_have_changed() before each use of the program, loaded_done(). Private to jail/.
 */
#ifndef WARDER_JAIL_LOADED_H
#define WARDER_JAIL_LOADED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "jail/watch.h"

struct loaded {
	struct loaded_directory *directories; /* owned */
	size_t count;
	size_t files;               /* of all directories */
	size_t unwatched;           /* of these */
	struct watch *watch;        /* not owned; NULL: each file is looked at */
	struct watch_moment moment; /* when the watched files were looked at */
};

/* Add the file at an absolute path of `len` bytes below `root_fd`. A path that leads to nothing has not been loaded: it is left out. Of a path
 * through a file, the file is added: an archive of modules. -1 with *err, also if the file cannot be looked at. */
int loaded_add(struct loaded *loaded, int root_fd, const char *path, size_t len, struct warder_error *err);
/* The same for a path of /proc/<pid>/maps. -1 with *err, also if another file has the path by now. */
int loaded_add_mapped(struct loaded *loaded, int root_fd, const char *path, size_t len,
		      struct warder_error *err);
/* All files have been added: from now on the kernel is asked which change. The watch must live longer than `loaded`. */
void loaded_watch(struct loaded *loaded, int root_fd, struct watch *watch);
/* True if the kernel says of every file that it has not changed. False says nothing: loaded_have_changed() has to look. */
bool loaded_are_unchanged(const struct loaded *loaded);
/* True if a file was replaced or changed, or cannot be looked up. */
bool loaded_have_changed(struct loaded *loaded, int root_fd);
void loaded_done(struct loaded *loaded);

#endif
