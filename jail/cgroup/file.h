/*
 * file: the control files of a cgroup, and the process that owns one.
 *
 * Private to jail/. Host side only, any thread. `dir_fd` may be AT_FDCWD with a whole path.
 */
#ifndef WARDER_JAIL_CGROUP_FILE_H
#define WARDER_JAIL_CGROUP_FILE_H

#include <sys/types.h>

#include "jail/cgroup/text.h"

/* Read a file from its beginning; what exceeds size - 1 is cut. NUL-terminated. Length; -1 with errno. */
ssize_t cgroup_file_read(int dir_fd, const char *name, char *ret, size_t size);
/* As above from an open descriptor. */
ssize_t cgroup_file_reread(int fd, char *ret, size_t size);
/* Write the text with one write(2), as cgroup files want it. 0; -1 with errno. */
int cgroup_file_write(int dir_fd, const char *name, const char *text);
/* As above to an open descriptor. */
int cgroup_file_rewrite(int fd, const char *text);

/* Is the process `pid` there, and what /proc tells of it. 0; -1 with errno (ENOENT, ESRCH: it is not). */
int cgroup_process_read(int pid, struct cgroup_process *ret);
/* False only when the owner is certainly gone: no such process, another one under its number, or a zombie. `here`: cgroup_space(), which
 * is asked for once for many owners. */
bool cgroup_owner_lives(const struct cgroup_owner *owner, uint64_t here);
/* Where this process's pids and start times are counted: its pid and time namespaces, as one number. */
uint64_t cgroup_space(void);

/* rmdir, once. A directory that is not there is removed. 0; CGROUP_BUSY: it may be removed later; -1 with errno. */
int cgroup_dir_try(const char *path);
/* How long to wait before the next try, after a pause of before_us (0: none). */
uint32_t cgroup_pause_us(uint32_t before_us);
/* cgroup_dir_try() again and again, with growing pauses, while the kernel says EBUSY and the deadline (CLOCK_MONOTONIC, ms) is
 * not over. A directory that is not there is removed. 0; -1 with errno. */
int cgroup_dir_remove(const char *path, int64_t deadline_ms);
/* CLOCK_MONOTONIC in ms. */
int64_t cgroup_now_ms(void);

/* ---- files of a leaf that stay open: kept.c ---- */

/* Open a file of the leaf, and keep it. `file` must stay as it is. Nothing happens if it is kept already, or cannot be. */
void cgroup_keep(struct cgroup *cgroup, int dir_fd, const char *file);
/* As cgroup_file_read(); a file that is kept is not opened again. */
ssize_t cgroup_kept_read(const struct cgroup *cgroup, int dir_fd, const char *file, char *ret, size_t size);
/* As cgroup_file_write(), and keep the file. */
int cgroup_kept_write(struct cgroup *cgroup, int dir_fd, const char *file, const char *text);
void cgroup_kept_done(struct cgroup *cgroup);

#endif
