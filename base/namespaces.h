/*
 * namespaces: the kinds of namespaces that the kernel knows. Any thread.
 */
#ifndef WARDER_BASE_NAMESPACES_H
#define WARDER_BASE_NAMESPACES_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/* Since Linux 5.6; not in every libc's <sched.h>. */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

#define NAMESPACE_COUNT 8

/* One row a kind; no particular order is promised. */
extern const struct namespace_kind {
	uint64_t flag;    /* CLONE_NEW* */
	const char *name; /* for people: "mount" */
	const char *file; /* in the sysctl user.max_<file>_namespaces: "mnt" */
	const char *link; /* below /proc/<pid>: "ns/mnt" */
} namespace_kinds[NAMESPACE_COUNT];

/* The kind of one flag, or NULL. */
const struct namespace_kind *namespace_kind(uint64_t flag);

/* The number of a namespace, which is also its inode. `file`, such as "ns/pid", is relative to proc_fd, the directory of a process in /proc.
 * Reads the link and does not follow it, which costs the kernel less than stat(2). 0; -1 with errno. */
int namespace_number(int proc_fd, const char *file, uint64_t *ret);

#endif
