/*
 * store: what stays on the host when a run is over. The door of this folder; each kind of thing has a folder with a door of
 * its own below it.
 *
 * A store is one directory of the caller's own (rootfs_store_path(), rootfs_open_private_dir()); each kind has a directory in it.
 * What is in it survives the death of whoever writes, at any moment: content is written under a temporary name, brought to
 * the disk, and renamed; what the dead have left is removed by who comes next.
 */
#ifndef WARDER_STORE_STORE_H
#define WARDER_STORE_STORE_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Open the directory of one kind ("images"), making it if it is missing. `store` NULL: the default place. path has
 * ROOTFS_PRIVATE_DIR_MAX bytes, and is canonical afterwards. Returns the descriptor (the caller's), or -1 with *err. */
int store_open(const char *store, const char *kind, char *path, struct warder_error *err);
/* Write a file of that mode in place of what is there, at once and for good: it is on the disk, under its name, when this
 * returns. Names in the directory that begin with ".new-" are unfinished ones of this function. -1 with *err (field = name). */
int store_replace(int dir_fd, const char *name, const char *bytes, size_t len, uint32_t mode,
		  struct warder_error *err);
/* A new name for something unfinished: prefix and 16 random digits; name has STORE_NAME_MAX bytes. */
#define STORE_NAME_MAX 64
void store_new_name(const char *prefix, char *name);
/* The file name that stands for a name that somebody chose: what of it is harmless, and its SHA-256 (128 bits of it), so that two
 * names never share one. out has STORE_NAME_MAX bytes. Returns out. */
char *store_safe_name(const char *name, char *out);
/* A small regular file of the store, of at most `most` bytes, NUL-terminated on the heap. -1 with *err (field = name; sys_errno
 * ENOENT: there is none). */
int store_read(int dir_fd, const char *name, size_t most, char **ret_text, size_t *ret_len,
	       struct warder_error *err);
/* The whole content of a regular file, of at most `most` bytes, NUL-terminated on the heap. `name` stands in errors. -1 with *err
 * (field "path"). */
int store_take_bytes(int fd, size_t most, const char *name, char **ret, size_t *ret_len,
		     struct warder_error *err);
/* A public function was called wrongly; `what` says how. Returns -1. */
int store_misuse(const char *what, struct warder_error *err);
/* A time as "2026-01-31T23:59:59Z"; buf has 40 bytes. Returns buf. */
char *store_time(int64_t seconds, char *buf);
/* Bring a file or a directory to the disk. -1 with *err (UNAVAILABLE), field = what. */
int store_sync(int fd, const char *what, struct warder_error *err);

/* A directory below an open one, and never a link; -1 with errno. The descriptor is the caller's. */
int store_open_directory(int parent_fd, const char *name);
/* For scandir(3): no names that begin with a dot; in the order of their bytes. */
int store_is_visible(const struct dirent *item);
int store_order(const struct dirent **a, const struct dirent **b);

#endif
