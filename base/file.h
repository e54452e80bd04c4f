/*
 * file: whole files in and out. Private to runtime/ and store/.
 */
#ifndef WARDER_BASE_FILE_H
#define WARDER_BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* As file_read(), of at most `most` bytes. */
int file_read_most(const char *path, size_t most, char **ret_text, size_t *ret_len, struct warder_error *err);
/* Open a regular file: a pipe or a device might never end. -1 with *err. */
int file_open_regular(const char *path, int *ret_fd, struct warder_error *err);
/* As file_read_most(), of such a file. */
int file_read_regular(const char *path, size_t most, char **ret_text, size_t *ret_len,
		      struct warder_error *err);
/* The same of an open file; path is for messages. */
int file_read_open(int fd, const char *path, size_t most, char **ret_text, size_t *ret_len,
		   struct warder_error *err);
/* Read a file of at most 1 MiB; "-" is standard input. *ret_text is heap, NUL-terminated. -1 with *err
 * (INVALID_REQUEST; sys_errno is ENOENT if there is no such file), field = path. */
int file_read(const char *path, char **ret_text, size_t *ret_len, struct warder_error *err);
/* Read `room` bytes, or fewer where the file ends. Returns their number; -1 with errno. */
ssize_t file_read_up_to(int fd, void *to, size_t room);
/* Write everything, however often it takes. 0; -1 with errno. */
int file_write_all(int fd, const char *bytes, size_t len);
/* flock(2), through interruptions. */
int file_lock(int fd, int how);
/* Open the directory of `path` for file_replace(), which goes there whatever becomes of the path meanwhile. Refused if
 * that could not work, or if what is there is no regular file (but a device, or a link such as /dev/stderr). Makes nothing.
 * *ret_dir_fd is the caller's. */
int file_open_private_dir(const char *path, int *ret_dir_fd, struct warder_error *err);
/* Write a file of mode 0600 in place of what is there, at once: a reader sees the old or the new content. */
int file_replace(int dir_fd, const char *path, const char *bytes, size_t len, struct warder_error *err);

/* An absolute path for what was given, on the heap; NULL with errno. A relative one is joined with the working directory as
 * text, and its "." and ".." taken out as text: links are left to who opens it. An absolute one stays as it is. */
char *file_absolute(const char *path);
/* The same, also of an absolute one. */
char *file_plain(const char *path);

#endif
