/*
 * The end of a session, and no word of it before it is true. What counts is the keeper that had the name when the first connection was
 * made: it is held by a pidfd, so that its end is seen whatever it says, and whoever takes the name after it is let alone. Who means one
 * session by its id is told by the keeper whether it is that one.
 *
 * A keeper closes its socket before it takes anything down. One that goes on listening and does not answer is stopped, frozen or hangs;
 * after a while it is killed, at once if it hangs in the kernel, and the session dies with it. Its control groups are for the next launch to remove, like those of every
 * keeper that was killed.
 */
#include "runtime/session/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hang.h"

#define STOPPED_US  UINT64_C(4000000)   /* for a keeper that somebody has stopped */
#define PATIENCE_US UINT64_C(15000000)  /* for a keeper that listens */
#define ENDING_US   UINT64_C(120000000) /* for one that takes down what it has */
#define DEATH_US    UINT64_C(4000000)   /* for one that is killed, and its lock */
#define SLICE_MS    200

struct stop {
	const char *name;
	const char *id; /* of the session that is meant, or NULL: whichever has the name */
	bool another;   /* its keeper said that it keeps another one */
	bool answered;  /* its keeper said how it ended, and has removed its files */
	int dir_fd;
	int fd;                   /* asks; or -1 */
	int pid;                  /* of the keeper, 0 where it has none here */
	int pidfd;                /* of it, or -1 */
	struct hang hang;         /* of that process */
	struct warder_error left; /* the session has ended, and its keeper said what stays behind */
};

static bool is_readable(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&ready, 1, 0) > 0;
}

/* A process that had the other end when its number was looked up, and has it still, is the one that the number meant in between. */
static void pin(struct stop *stop)
{
	struct pollfd peer = { .fd = stop->fd };
	owned_fd int pidfd = -1;

	pidfd = stop->pid > 0 ? (int)syscall(SYS_pidfd_open, stop->pid, 0) : -1;
	if (pidfd >= 0 && poll(&peer, 1, 0) == 0)
		stop->pidfd = fd_take(&pidfd);
}

enum asked {
	ASKED,
	ASKED_NOBODY /* listens */,
	ASKED_ANOTHER /* who has the name now */,
	ASKED_FAILED /* *err */
};

/* Anew, if it has to be. */
static enum asked ask(struct stop *stop, struct warder_error *err)
{
	struct session_request request = { .type = SESSION_STOP };
	struct warder_error ignored;
	int ret;
	int pid;

	fd_done(&stop->fd);
	ret = session_connect(stop->dir_fd, stop->name, &stop->fd, err);
	if (ret != 0)
		return ret > 0 ? ASKED_NOBODY : ASKED_FAILED;
	pid = session_peer_pid(stop->fd);
	if (stop->pidfd >= 0 && pid != stop->pid)
		return ASKED_ANOTHER;
	stop->pid = pid;
	if (stop->pidfd < 0 && !stop->id) /* with an id it may be another's, until it answers */
		pin(stop);
	/* One that is gone meanwhile does not answer either. */
	snprintf(request.id, sizeof(request.id), "%s", stop->id ? stop->id : "");
	session_send_request(stop->fd, &request, -1, &ignored);
	return ASKED;
}

/* Without a pidfd it is over when the lock is free, or when who ended it has taken the directory away too. */
static bool is_over(const struct stop *stop)
{
	struct warder_error error = { 0 };
	owned_fd int lock_fd = -1;
	int ret;

	if (stop->pidfd >= 0)
		return is_readable(stop->pidfd);
	ret = session_lock(stop->dir_fd, stop->name, &lock_fd, &error);
	if (ret == 0)
		session_unlink(stop->dir_fd, stop->name);
	return ret == 0 || (ret < 0 && error.sys_errno == ENOENT);
}

/* For a moment. Whether it has ended; without an answer of who closed the connection that is over. */
static bool wait_end(struct stop *stop)
{
	struct pollfd fds[] = { { .fd = stop->fd, .events = POLLIN },
				{ .fd = stop->pidfd, .events = POLLIN } };
	struct warder_error why = { 0 };

	poll(fds, 2, SLICE_MS);
	if (stop->fd >= 0 && fds[0].revents) {
		stop->answered = session_receive_reply(stop->fd, NULL, NULL, &why) == 0;
		if (stop->answered)
			return true;
		stop->another = why.code == WARDER_ERROR_CONFLICT;
		if (strcmp(why.step, SESSION_STEP_LEFT) == 0) {
			stop->left = why;
			return stop->answered = true;
		}
		fd_done(&stop->fd);
	}
	return stop->another || is_over(stop);
}

/* Whether a keeper listens under the name. */
static bool is_taken(const struct stop *stop)
{
	struct warder_error ignored;
	owned_fd int fd = -1;

	return session_connect(stop->dir_fd, stop->name, &fd, &ignored) == 0;
}

/* The files of a keeper that was killed. Their lock is free when the last process that the keeper forked has left it, too. */
static void clean(const struct stop *stop)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	const uint64_t deadline = clock_us() + DEATH_US;
	struct warder_error ignored;
	int locked;

	for (;;) {
		owned_fd int lock_fd = -1;

		locked = session_lock(stop->dir_fd, stop->name, &lock_fd, &ignored);
		if (locked == 0)
			session_unlink(stop->dir_fd, stop->name);
		if (locked <= 0 || is_taken(stop) || clock_us() >= deadline)
			break;
		nanosleep(&pause, NULL);
	}
	session_directory_tidy();
}

static int runs_on(const struct stop *stop, const char *why, struct warder_error *err)
{
	if (stop->pid > 0)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "name",
				 "session %.64s has not ended: its keeper, process %d, %s, and stop the "
				 "session again",
				 stop->name, stop->pid, why);
	return error_set(
	    err, WARDER_ERROR_UNAVAILABLE, "name",
	    "session %.64s has not ended: its keeper does not answer, and is a process of another "
	    "pid namespace; stop it there",
	    stop->name);
}

static int kill_keeper(const struct stop *stop, struct warder_error *err)
{
	struct pollfd end = { .fd = stop->pidfd, .events = POLLIN };

	if (stop->pidfd < 0 || syscall(SYS_pidfd_send_signal, stop->pidfd, SIGKILL, NULL, 0) < 0 ||
	    poll(&end, 1, (int)(DEATH_US / 1000)) <= 0)
		return runs_on(stop, "neither answers nor dies; check whether it is frozen or traced", err);
	return 0;
}

/* No answer so far. 0: it has ended; 1: go on waiting; -1 with *err. */
static int go_on(struct stop *stop, uint64_t asked_us, struct warder_error *err)
{
	const uint64_t waited_us = clock_us() - asked_us;

	if (stop->pidfd >= 0 &&
	    (hang_look(&stop->hang, stop->pid) || (waited_us >= STOPPED_US && hang_is_stopped(stop->pid))))
		return kill_keeper(stop, err);
	if (stop->fd >= 0 && waited_us < PATIENCE_US)
		return 1;
	switch (ask(stop, err)) {
	case ASKED_ANOTHER:
		return 0;
	case ASKED_NOBODY:
		return waited_us < ENDING_US ? 1 : runs_on(stop, "is taking it down: wait for it", err);
	case ASKED_FAILED:
		if (err->sys_errno != EAGAIN) /* it takes no more connections */
			return -1;
		break;
	case ASKED:
		break;
	}
	return waited_us < PATIENCE_US ? 1 : kill_keeper(stop, err);
}

static int end(struct stop *stop, struct warder_error *err)
{
	const uint64_t asked_us = clock_us();
	const enum asked asked = ask(stop, err);
	int ret = 1;

	if (asked != ASKED)
		return asked == ASKED_NOBODY ? 1 : -1;
	while (ret > 0 && !wait_end(stop))
		ret = go_on(stop, asked_us, err);
	if (ret >= 0 && stop->left.code) {
		*err = stop->left;
		err->step[0] = '\0';
		return -1;
	}
	return ret < 0 ? -1 : stop->another;
}

int session_stop(const char *name, const char *id, bool *ret_ended, struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	struct stop stop = { .name = name, .id = id, .fd = -1, .pidfd = -1 };
	int ret;

	if (ret_ended)
		*ret_ended = false;
	if (session_check_name(name, err) < 0)
		return -1;
	if (session_directory_open(false, &dir_fd, err) < 0)
		return err->code == WARDER_ERROR_NOT_FOUND ? 1 : -1;
	stop.dir_fd = dir_fd;
	ret = end(&stop, err);
	if (ret_ended)
		*ret_ended = ret == 0 || (ret < 0 && stop.left.code);
	if (ret >= 0 && !stop.answered && !stop.another)
		clean(&stop);
	fd_done(&stop.fd);
	fd_done(&stop.pidfd);
	return ret;
}
