#include "runtime/session/keeper_branch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "runtime/library/library.h"
#include "runtime/session/keeper_context.h"

#define CHUNK     16384
#define PIPE_MOST (1 << 20)        /* bytes that a pipe can hold */
#define STATUS_US UINT64_C(200000) /* for the word of the kernel, or of the loop, how it has ended */
#define LOOK_US   UINT64_C(2000)

struct keeper_branch {
	const struct keeper_branch_owner *owner;
	char of[SESSION_NAME_MAX + 1];
	char family[EXECUTION_ID_LENGTH + 1];
	struct execution *from; /* while it is STARTING */
	bool forked;            /* says the loop of `from` */
	int pid;                /* that has said READY; 0: none */
	int fd;                 /* epoll: of all that is below, and in its place in the keeper's */
	int stream_fds[RING_STREAMS];
	struct jail_branch *jail; /* NULL: it was not adopted, or its leaf is gone */
	bool unwatched;           /* the channel */
	enum jail_cause killed;   /* COUNT: it was not */
	uint64_t dead_us, remove_us;
};

static int no_descriptor(struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
			       "no descriptor left for the branch");
}

static int watch(int poll_fd, int fd, void *owner)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = owner };

	return epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void unwatch(const struct keeper_branch *branch, int *fd)
{
	epoll_ctl(branch->fd, EPOLL_CTL_DEL, *fd, NULL);
	fd_done(fd);
}

/* ---- its beginning ---- */

/* The ends of the program. */
static int open_streams(struct keeper_branch *branch, int ret_fds[RING_STREAMS], struct warder_error *err)
{
	for (int i = 0; i < RING_STREAMS; i++) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) < 0)
			return no_descriptor(err);
		branch->stream_fds[i] = fds[0];
		ret_fds[i] = fds[1];
		if (fcntl(fds[0], F_SETFL, O_RDONLY | O_NONBLOCK) < 0)
			return no_descriptor(err);
	}
	return 0;
}

static int watch_all(struct execution *execution, struct warder_error *err)
{
	struct keeper_branch *branch = execution->branch;

	branch->fd = epoll_create1(EPOLL_CLOEXEC);
	if (branch->fd < 0 || watch(branch->fd, execution->context->fd, NULL) < 0 ||
	    watch(branch->fd, branch->stream_fds[0], NULL) < 0 ||
	    watch(branch->fd, branch->stream_fds[1], NULL) < 0 ||
	    watch(execution->all->fd, branch->fd, execution) < 0)
		return no_descriptor(err);
	return 0;
}

/* The loop reads the first message by read(2), which would drop the descriptors. */
static int ask_loop(struct execution *from, bool keeps_seed, const int fds[3], struct warder_error *err)
{
	const struct frame_head head = { FRAME_MAGIC, FRAME_FORK, 0, keeps_seed ? FRAME_KEEP_SEED : 0 };
	const int fd = from->context->fd;

	if (fd_send(fd, &head, sizeof(head), NULL, 0, MSG_DONTWAIT) == 0 &&
	    fd_send(fd, &head, sizeof(head), fds, 3, MSG_DONTWAIT) == 0)
		return 0;
	return error_set_errno(err, WARDER_ERROR_CONFLICT, "context", errno,
			       "context %.64s does not read its channel", from->context->name);
}

static int begin(struct execution *execution, struct execution *from, bool keeps_seed,
		 struct warder_error *err)
{
	int stream_fds[RING_STREAMS] = { -1, -1 };
	const int on = 1;
	int ret = -1;

	if (setsockopt(execution->context->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "SO_PASSCRED");
	else if (open_streams(execution->branch, stream_fds, err) == 0 && watch_all(execution, err) == 0)
		ret = ask_loop(from, keeps_seed,
			       (int[]){ execution->context->program_fd, stream_fds[0], stream_fds[1] }, err);
	fd_done(&stream_fds[0]);
	fd_done(&stream_fds[1]);
	return ret;
}

int keeper_branch_new(struct execution *execution, struct execution *from, bool keeps_seed,
		      const struct keeper_branch_owner *owner, struct warder_error *err)
{
	struct keeper_branch *branch = calloc(1, sizeof(*branch));

	if (!branch)
		return error_no_memory(err, NULL);
	execution->branch = branch;
	branch->owner = owner;
	branch->fd = branch->stream_fds[0] = branch->stream_fds[1] = -1;
	branch->killed = JAIL_CAUSE_COUNT;
	snprintf(branch->of, sizeof(branch->of), "%s", from->context->name);
	snprintf(branch->family, sizeof(branch->family), "%s", keeper_branch_family(from));
	if (begin(execution, from, keeps_seed, err) < 0)
		return -1;
	branch->from = from;
	from->context->forks = execution;
	return 0;
}

void keeper_branch_free(struct execution *execution)
{
	struct keeper_branch *branch = execution->branch;

	if (!branch)
		return;
	if (branch->fd >= 0)
		epoll_ctl(execution->all->fd, EPOLL_CTL_DEL, branch->fd, NULL);
	fd_done(&branch->fd);
	fd_done(&branch->stream_fds[0]);
	fd_done(&branch->stream_fds[1]);
	jail_branch_free(branch->jail);
	free(branch);
	execution->branch = NULL;
}

/* It is no longer STARTING. */
static void begin_or_fail(struct execution *execution, enum execution_state state)
{
	execution->branch->from->context->forks = NULL;
	execution->branch->from = NULL;
	execution->state = state;
}

/* A process that was forked all the same finds its channel closed, and ends. */
static void fail(struct execution *execution, const struct warder_error *why)
{
	struct keeper_branch *branch = execution->branch;

	execution->failure = *why;
	snprintf(execution->end.detail, sizeof(execution->end.detail), "%.500s", why->text);
	begin_or_fail(execution, EXECUTION_FAILED);
	branch->owner->on_end(execution);
	unwatch(branch, &branch->stream_fds[0]);
	unwatch(branch, &branch->stream_fds[1]);
	unwatch(branch, &execution->context->fd);
	execution->ended_us = clock_us();
}

static void fail_because(struct execution *execution, enum warder_error_kind code, const char *why)
{
	struct warder_error err = { 0 };

	error_set(&err, code, "context", "context %.64s was not forked: %.300s", execution->branch->of, why);
	fail(execution, &err);
}

/* One process, one context. */
static bool is_taken(const struct executions *all, int pid)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct execution *one = all->items[i];

		if (one->state != EXECUTION_RUNNING)
			continue;
		if (one->branch ? jail_branch_is(one->branch->jail, pid)
				: one->run && jail_run_program_pid(library_jail(one->run)) == pid)
			return true;
	}
	return false;
}

static int adopt(struct execution *execution, struct warder_error *err)
{
	struct keeper_branch *branch = execution->branch;
	const struct execution *from = branch->from;
	const int off = 0;

	if (is_taken(execution->all, branch->pid))
		return error_set(err, WARDER_ERROR_REJECTED, "context",
				 "the process that calls itself the branch is that of another context");
	if (jail_branch_new(execution->all->joint, from->run ? library_jail(from->run) : NULL,
			    from->branch ? from->branch->jail : NULL, branch->pid, &branch->jail, err) < 0)
		return -1;
	if (watch(branch->fd, jail_branch_fd(branch->jail), NULL) < 0 ||
	    (jail_branch_oom_fd(branch->jail) >= 0 &&
	     watch(branch->fd, jail_branch_oom_fd(branch->jail), NULL) < 0))
		return no_descriptor(err);
	setsockopt(execution->context->fd, SOL_SOCKET, SO_PASSCRED, &off, sizeof(off));
	return 0;
}

static void adopt_when_ready(struct execution *execution)
{
	struct keeper_branch *branch = execution->branch;
	struct warder_error err = { 0 };

	if (!branch->forked || !branch->pid || !branch->from)
		return;
	if (adopt(execution, &err) < 0) {
		if (branch->jail)
			jail_branch_kill(branch->jail);
		fail_because(execution, (enum warder_error_kind)err.code, err.text);
		return;
	}
	execution->context->ready = true;
	begin_or_fail(execution, EXECUTION_RUNNING);
}

void keeper_branch_ready(struct execution *execution, int pid)
{
	if (execution->branch->pid)
		return;
	execution->branch->pid = pid;
	adopt_when_ready(execution);
}

/* The text is the context's word. */
static void fail_with_word(struct execution *execution, const char *text)
{
	char word[256];

	snprintf(word, sizeof(word), "%s", text);
	for (char *at = word; *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
			*at = '?';
	fail_because(execution, WARDER_ERROR_CONFLICT, word);
}

bool keeper_branch_forked(struct execution *from, const char *text)
{
	struct execution *execution = from->context->forks;

	if (!execution || execution->branch->forked)
		return false;
	if (*text) {
		fail_with_word(execution, text);
		return true;
	}
	execution->branch->forked = true;
	adopt_when_ready(execution);
	return true;
}

void keeper_branch_orphan(struct execution *from)
{
	if (from->context->forks)
		fail_because(from->context->forks, WARDER_ERROR_CONFLICT, "it has ended");
}

/* ---- what is asked ---- */

const char *keeper_branch_of(const struct execution *execution)
{
	return execution->branch->of;
}

const char *keeper_branch_family(const struct execution *execution)
{
	return execution->branch ? execution->branch->family : execution->id;
}

bool keeper_branches_stay(void *arg)
{
	const struct execution *first = arg;
	const struct executions *all = first->all;

	for (size_t i = 0; i < all->count; i++)
		if (all->items[i]->branch && all->items[i]->state == EXECUTION_RUNNING &&
		    strcmp(all->items[i]->branch->family, first->id) == 0)
			return true;
	return false;
}

bool keeper_branch_signal(const struct execution *execution, int number)
{
	if (execution->state != EXECUTION_RUNNING)
		return false;
	return execution->branch ? jail_branch_signal(execution->branch->jail, number)
				 : execution->run && library_signal(execution->run, number);
}

static void kill_for(struct keeper_branch *branch, enum jail_cause cause)
{
	if (branch->killed != JAIL_CAUSE_COUNT)
		return;
	branch->killed = cause;
	jail_branch_kill(branch->jail);
}

void keeper_branch_kill(struct execution *execution)
{
	if (execution->state == EXECUTION_STARTING)
		fail_because(execution, WARDER_ERROR_CONFLICT, "the branch was deleted");
	else if (execution->state == EXECUTION_RUNNING)
		kill_for(execution->branch, JAIL_CAUSE_CANCELLED);
}

void keeper_branch_count(const struct execution *execution, struct jail_counters *ret)
{
	jail_branch_count(execution->branch->jail, ret);
}

/* ---- supervision ---- */

/* One chunk. Returns its length; 0: there is none now. */
static size_t read_stream(struct execution *execution, int stream)
{
	struct keeper_branch *branch = execution->branch;
	const uint64_t most = execution->output_max ? execution->output_max : UINT64_MAX;
	const uint64_t room = most - execution->spool.totals[stream];
	char chunk[CHUNK];
	ssize_t n;

	if (branch->stream_fds[stream] < 0)
		return 0;
	n = read(branch->stream_fds[stream], chunk, sizeof(chunk));
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		unwatch(branch, &branch->stream_fds[stream]);
	if (n <= 0)
		return 0;
	if (room)
		execution_take_output(execution, stream ? WARDER_STDERR : WARDER_STDOUT, chunk,
				      (uint64_t)n < room ? (size_t)n : (size_t)room);
	if ((uint64_t)n > room)
		kill_for(branch, JAIL_CAUSE_OUTPUT);
	return (size_t)n;
}

/* What lies in the pipes now. It is counted, because a program may write faster than it is read. */
static void read_streams(struct execution *execution)
{
	for (int stream = 0; stream < RING_STREAMS; stream++) {
		int lies = 0;
		size_t n = 1;

		if (execution->branch->stream_fds[stream] < 0 ||
		    ioctl(execution->branch->stream_fds[stream], FIONREAD, &lies) < 0)
			continue;
		for (size_t got = 0; got < (size_t)lies && n > 0; got += n)
			n = read_stream(execution, stream);
	}
}

static void heed_channel(struct execution *execution)
{
	struct keeper_branch *branch = execution->branch;

	if (branch->jail)
		read_streams(execution);
	if (branch->owner->on_message(execution) || execution->context->fd < 0)
		return;
	branch->unwatched = true;
	epoll_ctl(branch->fd, EPOLL_CTL_DEL, execution->context->fd, NULL);
}

void keeper_branch_dispatch(struct execution *execution)
{
	struct keeper_branch *branch = execution->branch;
	struct pollfd fds[] = { { .fd = branch->stream_fds[0], .events = POLLIN },
				{ .fd = branch->stream_fds[1], .events = POLLIN },
				{ .fd = branch->unwatched ? -1 : execution->context->fd, .events = POLLIN },
				{ .fd = branch->jail ? jail_branch_fd(branch->jail) : -1,
				  .events = POLLIN } };

	if (!execution_lives(execution) || poll(fds, ARRAY_LENGTH(fds), 0) <= 0)
		return;
	for (int stream = 0; stream < RING_STREAMS; stream++)
		if (fds[stream].revents)
			read_stream(execution, stream);
	if (fds[2].revents)
		heed_channel(execution);
	if (fds[3].revents && !branch->dead_us) {
		branch->dead_us = clock_us();
		jail_branch_kill(branch->jail); /* the processes that it has left */
		epoll_ctl(branch->fd, EPOLL_CTL_DEL, jail_branch_fd(branch->jail), NULL);
	}
}

/* ---- its end ---- */

static void fill_end(struct execution *execution, struct jail_outcome *outcome)
{
	const struct executions *all = execution->all;
	struct record_end *end = &execution->end;

	if (jail_session_has_ended(all->joint, 0)) {
		outcome->cause = JAIL_CAUSE_SUPERVISOR;
		end->session_end = (uint32_t)all->session_end;
		snprintf(outcome->detail, sizeof(outcome->detail), "killed: %s",
			 all->session_end == SESSION_END_NONE ? "the session has ended"
							      : session_end_text(all->session_end));
	}
	end->cause = (int32_t)outcome->cause;
	end->exit_code = outcome->exit_code;
	end->signal = outcome->signal;
	snprintf(end->detail, sizeof(end->detail), "%.511s", outcome->detail);
}

static void finish(struct execution *execution, struct jail_outcome *outcome)
{
	struct keeper_branch *branch = execution->branch;

	for (int stream = 0; stream < RING_STREAMS; stream++)
		for (size_t got = 0, n = 1; got <= PIPE_MOST && n > 0; got += n)
			n = read_stream(execution, stream);
	fill_end(execution, outcome);
	branch->owner->on_end(execution);
	memcpy(execution->end.totals, execution->spool.totals, sizeof(execution->end.totals));
	epoll_ctl(execution->all->fd, EPOLL_CTL_DEL, branch->fd, NULL);
	for (int stream = 0; stream < RING_STREAMS; stream++)
		fd_done(&branch->stream_fds[stream]);
	fd_done(&branch->fd);
	execution->ended_us = clock_us();
	execution->state = EXECUTION_ENDED;
}

static uint64_t step_starting(struct execution *execution, uint64_t now)
{
	struct keeper_context *context = execution->context;

	if (execution->all->session_end != SESSION_END_NONE)
		fail_because(execution, WARDER_ERROR_UNAVAILABLE, "the session has ended");
	else if (context->lost_us && now >= context->lost_us + STATUS_US) /* the forking loop has said more */
		fail_because(execution, WARDER_ERROR_EXECUTION_FAILED, "the branch ended at its start");
	else if (now >= context->ready_by_us)
		fail_because(execution, WARDER_ERROR_EXECUTION_FAILED,
			     "there was no branch 20 s after the request");
	if (execution->state != EXECUTION_STARTING)
		return UINT64_MAX;
	return context->lost_us ? context->lost_us + STATUS_US : context->ready_by_us;
}

static uint64_t step_running(struct execution *execution, uint64_t now)
{
	struct keeper_branch *branch = execution->branch;
	struct jail_outcome outcome;
	enum jail_cause cause;
	uint64_t at = UINT64_MAX;

	if (!branch->dead_us) {
		if (branch->killed == JAIL_CAUSE_COUNT && jail_branch_check(branch->jail, &cause, &at))
			kill_for(branch, cause);
		return at;
	}
	if (!jail_branch_end(branch->jail, branch->killed, now >= branch->dead_us + STATUS_US, &outcome))
		return now + LOOK_US;
	finish(execution, &outcome);
	return now;
}

static uint64_t step_removal(struct keeper_branch *branch, uint64_t now)
{
	uint64_t us;

	if (!branch->jail || now < branch->remove_us)
		return branch->jail ? branch->remove_us : UINT64_MAX;
	us = jail_branch_remove(branch->jail);
	branch->remove_us = now + us;
	if (us)
		return branch->remove_us;
	jail_branch_free(branch->jail);
	branch->jail = NULL;
	return UINT64_MAX;
}

static uint64_t step(struct execution *execution, uint64_t now)
{
	switch (execution->state) {
	case EXECUTION_STARTING:
		return step_starting(execution, now);
	case EXECUTION_RUNNING:
		return step_running(execution, now);
	case EXECUTION_FAILED:
	case EXECUTION_ENDED:
		break;
	}
	return step_removal(execution->branch, now);
}

uint64_t keeper_branches_step(struct executions *all)
{
	const uint64_t now = clock_us();
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < all->count; i++) {
		const uint64_t at = all->items[i]->branch ? step(all->items[i], now) : UINT64_MAX;

		if (at < next)
			next = at;
	}
	return next;
}
