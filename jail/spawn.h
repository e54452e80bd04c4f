/*
 * spawn: brings the jail's init to life: one clone3 with every namespace, straight into the cgroup, with a pidfd, and
 * an exec of the sealed image. Host side; the caller's thread is suspended until the exec. Never touches the caller's
 * memory map or signal handlers. The init is a child of the calling process like any other (an exec makes its exit signal
 * SIGCHLD); whoever waits for any child may reap it, which does no harm: it is known by its pidfd.
 */
#ifndef WARDER_JAIL_SPAWN_H
#define WARDER_JAIL_SPAWN_H

#include <stdint.h>

#include "base/error.h"
#include "jail/inside/wire.h"

#define SPAWN_FDS_MAX 176

struct spawn {
	uint64_t namespaces;    /* CLONE_NEW* */
	int cgroup_fd;          /* CLONE_INTO_CGROUP, or -1 */
	int image_fd;           /* from spawn_image() */
	int fds[SPAWN_FDS_MAX]; /* init's descriptors by number; -1: closed. Borrowed. */
	int fd_count;
	/* ordinary user: the single ids of the new user namespace */
	int map_ids;
	uint32_t inside_uid, inside_gid, host_uid, host_gid;
	/* ordinary user who joins: init is executed in the user namespace of fds[WIRE_FD_USER_NS] */
	int enters_user_ns;
	/* Called when init has been born, while it is executed; NULL: nothing. -1 with *err: the start has failed. */
	int (*meanwhile)(void *context, struct warder_error *err);
	void *context;
};

/* Sealed memfd with the init program; the caller owns it. -1 with *err. */
int spawn_image(struct warder_error *err);
/* The same of the bytes from `image` to `end`, under that name. */
int spawn_sealed(const char *name, const char *image, const char *end, struct warder_error *err);
/* Start. 0 with *ret_pid and *ret_pidfd (owned by the caller); -1 with *err. */
int spawn_init(const struct spawn *spawn, int *ret_pid, int *ret_pidfd, struct warder_error *err);
/* Give init the descriptor under that number. */
void spawn_set_fd(struct spawn *spawn, int number, int fd);
/* For a child beside its parent, which shares its memory: write a file of its own, such as /proc/self/uid_map. 0, or -errno. */
long spawn_write_self(const char *path, const char *text);

#endif
