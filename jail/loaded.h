/*
 * loaded: the files that a program has loaded that was started in advance (warm.c), as they were then. A zeroed one is empty. loaded_add()
 * for each file, loaded_have_changed() before each use of the program, loaded_done(). Private to jail/.
 */
#ifndef WARDER_JAIL_LOADED_H
#define WARDER_JAIL_LOADED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct loaded {
	struct loaded_file *files; /* owned */
	size_t count;
};

/* Add the file at a path of `len` bytes below `root_fd`. A path that leads to nothing has not been loaded: it is left out. -1 with *err. */
int loaded_add(struct loaded *loaded, int root_fd, const char *path, size_t len, struct warder_error *err);
/* True if a file was replaced or changed, or cannot be looked up. */
bool loaded_have_changed(const struct loaded *loaded, int root_fd);
void loaded_done(struct loaded *loaded);

#endif
