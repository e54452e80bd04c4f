/*
 * An execution joins a session by three processes that are begun one after the other (joined.c), and by what its init does in the session:
 * half of that is the same for every execution. The process here has done it once, and then only clones.
 *
 *   host                                   joiner: in the session's namespaces     init of an execution
 *   -----------------------------------    ------------------------------------    -----------------------------------
 *   second execution: block, sockets  -->  signals, priority, oom score; enters;
 *                                          a copy of the mounts without /proc
 *   GO; <-- READY                     <--  waits
 *   order: descriptors, leaf of v2    -->  clone3: its own pid namespace, a
 *                                          copy of the copy                   -->  the rest of the steps
 *   <-- JOINED with its pidfd         <--  closes the descriptors, waits
 *
 * It is what `middle` is in joined.c, and stays: our own program out of a sealed memfd, in the session's pid namespace, in which no program
 * of others is, so that nobody can name it. It has the host's privileges, as middle has, and reads nothing but orders of this process. Its
 * inits have the parent that they have after the other way, the session's init: CLONE_PARENT.
 *
 * It is in none of the session's cgroups, but in those of this process, as middle. It dies with the session's init, which also reaps it, with
 * this process, and with its socket.
 *
 * What the kernel passes on to children is the joiner's, from the thread that began it. A thread that has other priorities or resource limits goes
 * the other way, and so does one with a filter of its own.
 *
 * A joiner that does not answer is killed, and its order fails: whether it has begun an init is not known then, and that one dies with its
 * sockets. Meanwhile other threads do not wait for it, but go the other way.
 *
 * A process that gives up its privileges keeps a joiner that has them, until it frees the template: the public header says so.
 */
#include "jail/joiner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hang.h"
#include "base/namespaces.h"
#include "base/pidfd.h"
#include "jail/run.h"
#include "jail/session.h"

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ull
#endif

#define ANSWER_MS 30000
#define LOOK_MS   100
#define END_MS    1000

void joiner_init(struct joiner *joiner, joiner_begin *begin)
{
	memset(joiner, 0, sizeof(*joiner));
	joiner->begin = begin;
	joiner->owner_pid = getpid();
	pthread_mutex_init(&joiner->lock, NULL);
	joiner->socket_fd = -1;
	joiner->pid_fd = -1;
}

/* Its inits are not its children, and stay. A fork of this process has copies of the descriptors, but the joiner is not its own. */
static void end(struct joiner *joiner)
{
	struct pollfd fd = { .fd = joiner->pid_fd, .events = POLLIN };

	fd_done(&joiner->socket_fd);
	if (fd.fd >= 0 && joiner->owner_pid == getpid()) {
		syscall(SYS_pidfd_send_signal, fd.fd, SIGKILL, NULL, 0);
		poll(&fd, 1, END_MS);
	}
	fd_done(&joiner->pid_fd);
	joiner->pid = 0;
	atomic_store(&joiner->mount_number, 0);
}

void joiner_done(struct joiner *joiner)
{
	end(joiner);
	pthread_mutex_destroy(&joiner->lock);
}

uint64_t joiner_mount_number(const struct joiner *joiner)
{
	return atomic_load(&joiner->mount_number);
}

/* Whether the plan sets it, whatever the caller's is. */
static bool is_set(const struct jail_plan *plan, int resource)
{
	for (size_t i = 0; i < plan->rlimit_count; i++)
		if (plan->rlimits[i].resource == resource)
			return true;
	return false;
}

/* Of this thread. False: it cannot be known, or has a filter. */
static bool read_inherited(const struct jail_plan *plan, struct joiner_inherited *ret)
{
	memset(ret, 0, sizeof(*ret));
	errno = 0;
	ret->nice = getpriority(PRIO_PROCESS, 0);
	if (errno || prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0)
		return false;
	ret->scheduler = sched_getscheduler(0);
	ret->io_priority = (int)syscall(SYS_ioprio_get, 1 /* IOPRIO_WHO_PROCESS */, 0);
	ret->timer_slack_ns = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (!is_set(plan, i) && syscall(SYS_prlimit64, 0, i, NULL, &ret->limits[i]) < 0)
			return false;
	return syscall(SYS_sched_getaffinity, 0, sizeof(ret->processors), ret->processors) > 0;
}

/* ---- answers ---- */

/* A message of the joiner. 0; -1 with *err: none, and it is of no use any more. */
static int receive(struct joiner *joiner, const struct jail_run *run, struct wire_message *message,
		   int *ret_fd, struct warder_error *err)
{
	const uint64_t deadline = clock_us() + ANSWER_MS * 1000ull;
	struct pollfd fd = { .fd = joiner->socket_fd, .events = POLLIN };
	struct hang hang = { 0 };

	while (poll(&fd, 1, LOOK_MS) <= 0)
		if (hang_look(&hang, joiner->pid) || clock_us() >= deadline ||
		    (run->command.should_stop && run->command.should_stop(run->command.stop_context)))
			return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
					 "the session was not joined (within %d s, or until a signal, or "
					 "before the host's kernel hung)",
					 ANSWER_MS / 1000);
	if (fd_receive(joiner->socket_fd, message, sizeof(*message), ret_fd, ret_fd ? 1 : 0, MSG_DONTWAIT) ==
	    sizeof(*message))
		return 0;
	return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			 "cannot join the session: the process that joins died");
}

/* ---- its beginning ---- */

static int await_ready(struct joiner *joiner, const struct jail_run *run, struct warder_error *err)
{
	const struct wire_message go = { .type = WIRE_GO };
	struct wire_message message = { 0 };
	uint64_t number;
	char path[48];

	/* Its own words come after those of the process that began it. */
	if (fd_send(joiner->socket_fd, &go, sizeof(go), NULL, 0, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot join the session");
	if (receive(joiner, run, &message, NULL, err) < 0)
		return -1;
	if (message.type != WIRE_READY)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, message.error,
				       "cannot join the session");
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", joiner->pid);
	if (namespace_number(AT_FDCWD, path, &number) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot read %s", path);
	atomic_store(&joiner->mount_number, number);
	return 0;
}

static int begin(struct joiner *joiner, struct jail_run *run, struct warder_error *err)
{
	owned_fd int its_fd = -1;
	int sockets[2];

	if (!read_inherited(&run->tmpl->plan, &joiner->inherited) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no socket");
	joiner->socket_fd = sockets[0];
	its_fd = sockets[1];
	if (joiner->begin(run, its_fd, joiner->socket_fd, &joiner->pid_fd, err) < 0)
		return -1;
	fd_done(&its_fd);
	joiner->pid = pidfd_number(joiner->pid_fd);
	return await_ready(joiner, run, err);
}

/* Whether there is one that gives an init of this thread what the other way would give it. */
static bool is_here(struct joiner *joiner, struct jail_run *run)
{
	struct warder_error ignored;
	struct joiner_inherited now;

	if (joiner->socket_fd >= 0)
		return read_inherited(&run->tmpl->plan, &now) &&
		       memcmp(&now, &joiner->inherited, sizeof(now)) == 0;
	if (joiner->unusable || !run->tmpl->reusable || !run->tmpl->plan.privileged)
		return false;
	if (!joiner->wanted) {
		joiner->wanted = true;
		return false;
	}
	if (begin(joiner, run, &ignored) == 0)
		return true;
	end(joiner);
	joiner->unusable = true;
	return false;
}

/* ---- an order ---- */

static int send_order(struct joiner *joiner, const struct jail_run *run, const int *fds, size_t fd_count)
{
	const bool leaf = run->cgroup.join_v2_fd >= 0;
	const struct wire_fork order = { .namespaces = leaf ? CLONE_INTO_CGROUP : 0 };
	int all[WIRE_FORK_FDS_MAX];

	/* In the place of what init does not get: something that it gets anyway. */
	for (size_t i = 0; i < fd_count; i++)
		all[i] = fds[i] >= 0 ? fds[i] : run->tmpl->supervisor_fd;
	if (leaf)
		all[fd_count] = run->cgroup.join_v2_fd;
	return fd_send(joiner->socket_fd, &order, sizeof(order), all, fd_count + leaf,
		       MSG_DONTWAIT | MSG_NOSIGNAL) < 0
		   ? JOINER_NOT_HERE
		   : 0;
}

/* 0; JOINER_NOT_HERE: it has begun nothing; -1 with *err: that is not known. */
static int take_answer(struct joiner *joiner, const struct jail_run *run, int *ret_pidfd,
		       struct warder_error *err)
{
	struct wire_message message = { 0 };

	if (receive(joiner, run, &message, ret_pidfd, err) < 0)
		return -1;
	if (message.type == WIRE_JOINED && *ret_pidfd >= 0)
		return 0;
	if (message.type != WIRE_FAILED)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL,
				 "cannot join the session: an answer is not one");
	/* Of a kernel that does not clone so, it is not asked again. Other causes are those of the other way, too, which reports them. */
	joiner->unusable = message.error == EINVAL || message.error == ENOSYS;
	return JOINER_NOT_HERE;
}

static int order(struct joiner *joiner, struct jail_run *run, const int *fds, size_t fd_count, int *ret_pidfd,
		 struct warder_error *err)
{
	int done;

	if (fd_count >= WIRE_FORK_FDS_MAX || !is_here(joiner, run))
		return JOINER_NOT_HERE;
	/* One that has died has begun nothing; the next execution begins another one. */
	if (send_order(joiner, run, fds, fd_count) != 0) {
		end(joiner);
		return JOINER_NOT_HERE;
	}
	done = take_answer(joiner, run, ret_pidfd, err);
	if (done < 0 || joiner->unusable)
		end(joiner);
	return done;
}

int joiner_start(struct joiner *joiner, struct jail_run *run, const int *fds, size_t fd_count, int *ret_pidfd,
		 struct warder_error *err)
{
	struct timespec until;
	int done;

	clock_gettime(CLOCK_REALTIME, &until); /* that of the lock */
	until.tv_nsec += LOOK_MS * 1000000L;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	if (pthread_mutex_timedlock(&joiner->lock, &until) != 0)
		return JOINER_NOT_HERE;
	done = order(joiner, run, fds, fd_count, ret_pidfd, err);
	pthread_mutex_unlock(&joiner->lock);
	return done;
}
