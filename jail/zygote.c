/*
 * Orders to zygotes, and the read-back of what they fork. Their life is in forks.c; jail/inside/forked.c is what happens in them.
 *
 *   host                                   zygote, in its own jail             the new jail
 *   -----------------------------------    --------------------------------    ------------------------------------
 *   order: namespaces, descriptors    -->  clone3                         -->  init: waits
 *   <-- its pidfd                     <--  answers
 *   reads: the parent is the zygote,
 *   the user namespace the zygote's
 *   enters the zygote's user namespace,
 *   writes the maps, reads them back
 *   GO                                ---------------------------------->      init's steps; fork; the payload's steps
 *
 * The zygote may make user namespaces, as an ordinary user may. What it forks has every capability in its new user namespace, and none
 * elsewhere: enough to build the jail, which then drops all of it. So the namespaces of the new jail belong to its own user namespace, as those of an
 * ordinary user's jails. The maps are written by a helper in the zygote's user namespace: the kernel accepts them from nowhere
 * else. A forged answer gains nothing: what the maps and the word to go are for is looked at from outside first, and the read-back looks at the rest.
 *
 * The new pid namespace lies in the zygote's, so the end of the zygote's init is that of all forks. It is therefore the last of them: it does
 * not end with its program; and if the supervisor dies, the forks, which watch it too, spread their own ends (see ends.h), for which it waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/namespaces.h"
#include "base/pidfd.h"
#include "jail/cgroup/clone.h"
#include "jail/inside/sys.h"
#include "jail/receipt.h"
#include "jail/run.h"
#include "jail/spawn.h"
#include "jail/zygote.h"

#ifndef NS_GET_PARENT
#define NS_GET_PARENT _IO(0xb7, 0x2) /* linux/nsfs.h */
#endif

#define ANSWER_US UINT64_C(30000000)

/* ---- its users ---- */

long zygote_status_number(int proc_fd, const char *name)
{
	owned_fd int fd = openat(proc_fd, "status", O_RDONLY | O_CLOEXEC);
	char text[4096];
	const ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *at;

	if (len <= 0)
		return -1;
	text[len] = '\0';
	at = strstr(text, name);
	return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

struct jail_zygote *zygote_hold(struct jail_zygote *zygote)
{
	if (zygote)
		atomic_fetch_add(&zygote->users, 1);
	return zygote;
}

void jail_zygote_drop(struct jail_zygote *zygote)
{
	if (zygote && atomic_fetch_sub(&zygote->users, 1) == 1)
		zygote->end(zygote);
}

bool run_has_own_ids(const struct jail_run *run, uid_t *ret_uid, gid_t *ret_gid)
{
	const struct jail_run *from = run->zygote ? run->zygote->run : run;

	if (!from->tmpl->plan.privileged)
		return false;
	*ret_uid = from->identity.base + from->tmpl->plan.uid;
	*ret_gid = from->identity.base + from->tmpl->plan.gid;
	return true;
}

int64_t zygote_clock_offset(const struct jail_zygote *zygote)
{
	const struct jail_run *run = zygote->run;

	return run->tmpl->plan.namespaces & CLONE_NEWTIME ? run->clock_offset : 0;
}

/* ---- an order ---- */

static int lost(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			 "the zygote died (killed from outside, or too little memory)");
}

static int died(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			 "the fork died before it was set up (killed from outside, or too little memory)");
}

static int refused(int error, struct warder_error *err)
{
	return error_set_errno(
	    err, WARDER_ERROR_UNAVAILABLE, NULL, error, "the zygote cannot fork a jail%s",
	    error == EPERM || error == ENOSPC
		? " (needs user namespaces in a user namespace: user.max_*_namespaces > 0, "
		  "kernel.unprivileged_userns_clone=1, "
		  "kernel.apparmor_restrict_unprivileged_userns=0)"
		: "");
}

static int send_order(struct jail_zygote *zygote, const struct spawn *spawn, int filler_fd,
		      struct warder_error *err)
{
	const struct wire_fork order = { .namespaces = spawn->namespaces };
	int fds[WIRE_FORK_FDS_MAX];

	if (spawn->fd_count > WIRE_FORK_FDS_MAX)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "a fork takes %d descriptors, at most %d",
				 spawn->fd_count, WIRE_FORK_FDS_MAX);
	/* In the place of what init does not get: something that it gets anyway. */
	for (int i = 0; i < spawn->fd_count; i++)
		fds[i] = spawn->fds[i] >= 0 ? spawn->fds[i] : filler_fd;
	return fd_send(zygote->run->warm.work_fd, &order, sizeof(order), fds, (size_t)spawn->fd_count,
		       MSG_DONTWAIT | MSG_NOSIGNAL) < 0
		   ? lost(err)
		   : 0;
}

static int receive_answer(struct jail_zygote *zygote, int *ret_pidfd, struct warder_error *err)
{
	struct pollfd answer = { .fd = zygote->run->warm.work_fd, .events = POLLIN };
	const uint64_t until_us = clock_us() + ANSWER_US;
	int32_t error = 0;
	ssize_t n;

	for (uint64_t now_us = clock_us(); !answer.revents; now_us = clock_us()) {
		if (now_us >= until_us)
			return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
					 "the zygote did not answer within %d s", (int)(ANSWER_US / 1000000));
		/* A signal to this thread is no answer. */
		if (poll(&answer, 1, (int)((until_us - now_us) / 1000) + 1) < 0)
			answer.revents = 0;
	}
	n = fd_receive(answer.fd, &error, sizeof(error), ret_pidfd, 1, MSG_DONTWAIT);
	if (n == 1 && *ret_pidfd >= 0)
		return 0;
	return n == sizeof(error) && error > 0 ? refused(error, err) : lost(err);
}

/* ---- the maps ---- */

struct mapping {
	int user_ns_fd;
	char setgroups[48], uid_map[48], gid_map[48]; /* paths */
	char uids[48], gids[48];
	long error;
	const char *what; /* a constant: clone_run() frees the copy that the child writes to */
};

static CLONE_BESIDE void write_maps(void *arg)
{
	struct mapping *mapping = arg;
	long ret = sys(setns, mapping->user_ns_fd, CLONE_NEWUSER);

	mapping->what = "the zygote's user namespace";
	if (ret == 0) {
		mapping->what = "setgroups";
		ret = spawn_write_self(mapping->setgroups, "deny");
	}
	if (ret == 0) {
		mapping->what = "uid_map";
		ret = spawn_write_self(mapping->uid_map, mapping->uids);
	}
	if (ret == 0) {
		mapping->what = "gid_map";
		ret = spawn_write_self(mapping->gid_map, mapping->gids);
	}
	mapping->error = ret;
	sys(exit_group, 0);
}

static int map_ids(const struct jail_run *run, int pid, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	struct mapping mapping = { .user_ns_fd = run->zygote->user_ns_fd, .error = -EINTR, .what = "" };
	int ended;

	snprintf(mapping.setgroups, sizeof(mapping.setgroups), "/proc/%d/setgroups", pid);
	snprintf(mapping.uid_map, sizeof(mapping.uid_map), "/proc/%d/uid_map", pid);
	snprintf(mapping.gid_map, sizeof(mapping.gid_map), "/proc/%d/gid_map", pid);
	snprintf(mapping.uids, sizeof(mapping.uids), "%u %u 1\n", plan->uid, plan->uid);
	snprintf(mapping.gids, sizeof(mapping.gids), "%u %u 1\n", plan->gid, plan->gid);
	ended = clone_run(0, write_maps, &mapping, sizeof(mapping));
	if (ended == 0 && mapping.error == 0)
		return 0;
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "processes.identity",
			       ended < 0 ? -ended : (int)-mapping.error, "cannot map the ids of a fork: %s",
			       mapping.what);
}

/* Whether its parent is the zygote, and its user namespace one of the zygote's. */
static int check_origin(const struct jail_run *run, int proc_fd, struct warder_error *err)
{
	owned_fd int user_fd = openat(proc_fd, "ns/user", O_RDONLY | O_CLOEXEC);
	owned_fd int parent_fd = user_fd < 0 ? -1 : ioctl(user_fd, NS_GET_PARENT);
	struct stat parent, zygotes;

	if (parent_fd < 0 || fstat(parent_fd, &parent) < 0 || fstat(run->zygote->user_ns_fd, &zygotes) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "read-back: cannot look at the user namespace of a fork");
	return fd_same_object(&parent, &zygotes)
		   ? 0
		   : error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			       "read-back: the user namespace of a fork is not made by its zygote");
}

/* Before anything is done to the process: a descriptor of any other would have it killed. */
static int check_fork(const struct jail_run *run, int pid, struct warder_error *err)
{
	owned_fd int proc_fd = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0 || zygote_status_number(proc_fd, "\nPPid:") != run->zygote->run->program_pid)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "read-back: process %d is not a child of the zygote", pid);
	return check_origin(run, proc_fd, err);
}

static int let_go(struct jail_run *run, int pid, struct warder_error *err)
{
	const struct wire_message go = { .type = WIRE_GO };

	if (map_ids(run, pid, err) < 0)
		return -1;
	if (send(run->control[0], &go, sizeof(go), MSG_NOSIGNAL) != sizeof(go))
		return died(err);
	return 0;
}

int zygote_start(struct jail_run *run, const struct spawn *spawn, int *ret_pid, int *ret_pidfd,
		 struct warder_error *err)
{
	struct jail_zygote *zygote = run->zygote;
	owned_fd int pidfd = -1;
	int done, pid;

	pthread_mutex_lock(&zygote->lock);
	done = send_order(zygote, spawn, run->tmpl->supervisor_fd, err);
	if (done == 0)
		done = receive_answer(zygote, &pidfd, err);
	pthread_mutex_unlock(&zygote->lock);
	if (done < 0)
		return -1;
	pid = pidfd_number(pidfd);
	if (pid <= 0)
		return died(err);
	if (check_fork(run, pid, err) < 0)
		return -1;
	/* From here on the launch ends it. */
	*ret_pid = pid;
	*ret_pidfd = fd_take(&pidfd);
	atomic_fetch_add(&zygote->forks, 1);
	return let_go(run, pid, err);
}

/* ---- read-back ---- */

int zygote_check_namespaces(struct jail_run *run, struct warder_error *err)
{
	const struct jail_zygote *zygote = run->zygote;
	const struct jail_run *of = zygote->run;

	if (check_origin(run, run->proc_fd, err) < 0)
		return -1;
	for (size_t i = 0; i < NAMESPACE_COUNT; i++) {
		const struct namespace_kind *space = &namespace_kinds[i];
		const bool own = run->tmpl->plan.namespaces & space->flag;
		uint64_t number;

		if (namespace_number(run->proc_fd, space->link, &number) < 0) {
			if (errno == ENOENT && !own)
				continue;
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					       "read-back: cannot read /proc/%d/%s", run->program_pid,
					       space->link);
		}
		if ((number != zygote->namespaces[i]) != own)
			return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
					 "read-back: the %s namespace is %s; the program was not started",
					 space->link + 3, own ? "the zygote's" : "not the zygote's");
	}
	receipt_layer(run, "ownAddressSpace", false, "fork of a zygote",
		      "/proc/<pid>/status PPid; NS_GET_PARENT of the user namespace",
		      "fork %u of process %d; address-space layout, hash seed, clock origin and host ids "
		      "are those of that process and of its other forks",
		      atomic_load(&zygote->forks), of->program_pid);
	return 0;
}
