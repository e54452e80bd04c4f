/*
 * tree: the mounts of one source, with everything mounted beneath it, on their way into the jail's root.
 *
 * Life: trees_init() once for a root -> for each source, opened O_PATH in this mount namespace: tree_clone() -> tree_attach() ->
 * the caller closes the descriptor. Between the last two nothing can reach the tree. No libc: compiled for the init and for the
 * child that prepares a template.
 */
#ifndef WARDER_JAIL_INSIDE_TREE_H
#define WARDER_JAIL_INSIDE_TREE_H

#include <stdbool.h>
#include <stddef.h>

struct trees {
	int root_fd;  /* of the jail's root */
	bool by_path; /* by mount(2), which knows paths only */
	int host_fd;  /* by_path: our own root */
};

/* by_path: also changes the working directory, to our directory of /proc. */
long trees_init(struct trees *ret, int root_fd, bool by_path);
void trees_done(struct trees *trees);
/* Takes the source's descriptor and returns the tree's, or a negative errno. Flags are of mount(2): MS_RDONLY, MS_NOSUID,
 * MS_NODEV, MS_NOEXEC; they hold for every mount of the tree. */
long tree_clone(bool by_path, int source_fd, unsigned long flags);
/* With the same flags. The path inside is walked without following a symlink. */
long tree_attach(const struct trees *trees, int tree_fd, const char *target, unsigned long flags);
/* Make a mount point and what is missing on the way to it, in an overlay of the jail's own. No symlink is followed. */
long tree_make_point(int root_fd, const char *target, bool is_directory, unsigned int mode);
/* Make a file, for everybody to read, with this content. A negative errno: also where something has that name. */
long tree_write_file(int root_fd, const char *name, const char *text, size_t len);
/* Write a file in an overlay of the jail's own, in the place of the file or link that is there. What is missing on the way is made, and no
 * symlink followed. */
long tree_put_file(int root_fd, const char *target, const char *text, size_t len);
/* Attach one detached mount, whose flags are set. */
long tree_move(int root_fd, int tree_fd, const char *target);

#endif
