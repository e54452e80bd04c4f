/*
 * layout: the bundle of a container as it lies in a mount namespace: its root, mounts, configuration. Private to backends/.
 *
 * Called once by a process that was forked with a mount and a pid namespace of its own. All that is made is a tmpfs and what is
 * mounted there, which is gone with the namespace; the host's own mounts are read-only in it, and what of /proc is no
 * process's, so that who runs there can change nothing of the host's, neither a file nor a control group nor a setting. The caller's
 * network namespace is left, unless the plan has the host's. Only system calls are made.
 */
#ifndef WARDER_BACKENDS_CONTAINER_LAYOUT_H
#define WARDER_BACKENDS_CONTAINER_LAYOUT_H

#include <stdbool.h>
#include <sys/types.h>

#include "jail/jail.h"

/* Where everything of a run lies: the tmpfs that is mounted there is seen by nobody else. */
#define LAYOUT_DIR        "/tmp"
#define LAYOUT_ROOT       LAYOUT_DIR "/root"
#define LAYOUT_TMP        LAYOUT_DIR "/tmp" /* what the container has as /tmp and /dev/shm */
#define LAYOUT_SHM        LAYOUT_DIR "/shm"
#define LAYOUT_BINDS      LAYOUT_DIR "/bind"          /* entry i of the plan's root is mounted at bind/i */
#define LAYOUT_TRUST      LAYOUT_BINDS "/authorities" /* and the number of a file of the start's trust */
#define LAYOUT_CGROUP_NS  LAYOUT_DIR "/ns-cgroup"     /* a namespace whose root is the run's own cgroups */
#define LAYOUT_NETWORK_NS LAYOUT_DIR "/ns-network"    /* if the start has one */
#define LAYOUT_STATE      LAYOUT_DIR "/state"         /* for what the runtime remembers */
#define LAYOUT_LOG        LAYOUT_DIR "/log"
#define LAYOUT_PID_FILE   LAYOUT_DIR "/pid"

struct layout {
	const struct jail_start *start;
	const char *config; /* text of config.json */
	const int *trees;   /* by entry of the plan's root: detached mounts of the binds, else -1 */
	const int *layers;  /* of the overlays, one after the other, lowest first */
	size_t layer_count;
	bool one_version; /* show the runtime the cgroups of v1 alone, where the host has both */
	int error;        /* errno, or 0 */
	char text[320];   /* what could not be done; "" */
};

/* 0; -1 with the first thing that failed in `error` and `text`. */
int layout_make(struct layout *layout);
/* Note what failed, with errno, unless something has before. Returns -1. */
int layout_fail(struct layout *layout, const char *what);
/* _exit() without what a sanitizer does there, which waits for the threads that a forked process does not have. */
_Noreturn void layout_leave(int status);
/* Decimal, NUL-terminated, at most 21 bytes. Returns its length. */
size_t layout_number(char *to, size_t value);

#endif
