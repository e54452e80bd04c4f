/*
 * The set-up of a jail, on the host: what init and the payload say while they restrict themselves, and what it means for the launch.
 *
 * A failure inside arrives as a message that names the step. Silence and end of file mean that the jail died, never that it is well.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hang.h"
#include "jail/run.h"
#include "jail/session.h"

static const char *inside_step_name(uint32_t step)
{
	static const char *const names[] = {
#define X(id, name) [WIRE_STEP_##id] = name,
		WIRE_STEPS(X)
#undef X
	};

	return step < WIRE_STEP_COUNT ? names[step] : "?";
}

static int inside_failed(struct jail_run *run, const struct wire_message *message, struct warder_error *err)
{
	const char *name = inside_step_name(message->step);
	char detail[sizeof(message->detail) + 1] = "";

	memcpy(detail, message->detail, sizeof(message->detail));
	error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, message->error,
			"the jail could not be set up (%s%s%s)", name, *detail ? ": " : "", detail);
	snprintf(err->step, sizeof(err->step), "%s", name);
	if (message->step == WIRE_STEP_CWD) {
		err->code = WARDER_ERROR_INVALID_REQUEST;
		snprintf(err->field, sizeof(err->field), "workingDirectory");
	}
	/* An edge that has ended says why. */
	if (message->step == WIRE_STEP_NETWORK && (message->error == EPIPE || message->error == ECONNRESET))
		run_edge_await(&run->edge, err);
	return -1;
}

int run_died(const char *when, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			 "the jail died %s (killed from outside, or too little memory for its start)", when);
}

int run_died_unused(struct jail_run *run, const char *when, struct warder_error *err)
{
	run->died_unused = true;
	return run_died(when, err);
}

int run_receive(int socket_fd, struct wire_message *message, int *ret_pid, int *ret_fd)
{
	char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = { .iov_base = message, .iov_len = sizeof(*message) };
	struct msghdr header = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)
	};
	struct cmsghdr *cmsg;
	owned_fd int fd = -1;
	ssize_t n;

	/* A peer that ended without reading what it was sent is told once as ECONNRESET; what it has sent itself comes after that. */
	do
		n = recvmsg(socket_fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n <= 0)
		return (int)n;
	for (cmsg = CMSG_FIRSTHDR(&header); cmsg; cmsg = CMSG_NXTHDR(&header, cmsg)) {
		if (ret_pid && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_CREDENTIALS)
			*ret_pid = ((struct ucred *)(void *)CMSG_DATA(cmsg))->pid;
		if (cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	}
	if (ret_fd && fd >= 0) {
		fd_done(ret_fd);
		*ret_fd = fd_take(&fd);
	}
	return n == sizeof(*message) ? 1 : 0;
}

/* A message of init. What it says of the overlays is taken here, and only other messages are returned. */
static int receive_init(struct jail_run *run, struct wire_message *message, bool *ret_took)
{
	for (;;) {
		owned_fd int fd = -1;
		int got = run_receive(run->control[0], message, NULL, &fd);

		if (got <= 0 || message->type != WIRE_UPPER)
			return got;
		if (run->upper_count == ROOTFS_OVERLAYS_MAX || fd < 0)
			return 0;
		run->upper_fds[run->upper_count++] = fd_take(&fd);
		*ret_took = true;
	}
}

/* Once a second or so in the time that a set-up needs, which is a few milliseconds. -1 with *err: it is not waited for any longer. */
int run_look_at_setup(struct jail_run *run, struct hang hangs[2], uint64_t deadline, const char *when,
		      struct warder_error *err)
{
	const int pids[2] = { run->init_pid, run->program_pid };
	char where[80];

	if (run->command.should_stop && run->command.should_stop(run->command.stop_context))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the launch was cancelled %s", when);
	for (int i = 0; i < 2; i++) {
		if (!hang_look(&hangs[i], pids[i]))
			continue;
		run_begin_end(run, RUN_PATIENCE_HUNG_US);
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "the host's kernel does not go on: process %d of the jail hangs%s %s",
				 pids[i], hang_where(pids[i], where, sizeof(where)), when);
	}
	if (clock_us() >= deadline)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "the jail did not answer within %d s %s", SETUP_TIMEOUT_MS / 1000, when);
	return 0;
}

/* Wait for a message on either socket. 1 with *message; 0: the jail is gone; -1 with *err. */
static int wait_message(struct jail_run *run, const char *when, struct wire_message *message, int *ret_pid,
			struct warder_error *err)
{
	struct pollfd fds[2] = { { .fd = run->exec[0], .events = POLLIN },
				 { .fd = run->control[0], .events = POLLIN } };
	const uint64_t deadline = clock_us() + SETUP_TIMEOUT_MS * 1000ull;
	struct hang hangs[2] = { 0 };

	for (;;) {
		int n = poll(fds, 2, SETUP_LOOK_MS);
		bool took = false;
		int got;

		if (n <= 0 && run_look_at_setup(run, hangs, deadline, when, err) < 0)
			return -1;
		if (n <= 0)
			continue;
		/* The payload's own word first: init may report its end meanwhile. */
		got = run_receive(run->exec[0], message, ret_pid, &run->terminal.master_fd);
		if (got <= 0) {
			struct wire_message payload;

			got = receive_init(run, message, &took);
			/* The payload may have spoken between the two looks, also more than once. Only its failure explains more than init's
			 * message does. */
			while (got >= 0 &&
			       run_receive(run->exec[0], &payload, ret_pid, &run->terminal.master_fd) > 0) {
				if (got > 0 && payload.type != WIRE_FAILED)
					continue;
				*message = payload;
				got = 1;
				break;
			}
		}
		if (got < 0 && took)
			continue;
		return got > 0 ? 1 : 0;
	}
}

/* The jail's own word on why it is not as it should be: the payload's before init's, of which *of_init is one if got >= 0. False:
 * it lives, and says nothing. */
static bool told_why(struct jail_run *run, int got, struct wire_message *of_init, struct warder_error *err)
{
	struct wire_message message;
	int payload = run_receive(run->exec[0], &message, NULL, NULL);
	bool took;

	if (payload > 0 && message.type == WIRE_FAILED) {
		inside_failed(run, &message, err);
		return true;
	}
	if (got < 0)
		got = receive_init(run, of_init, &took);
	if (got >= 0 && payload < 0 && run_receive(run->exec[0], &message, NULL, NULL) > 0 &&
	    message.type == WIRE_FAILED)
		return inside_failed(run, &message, err) != 0;
	if (got > 0 && of_init->type == WIRE_FAILED)
		inside_failed(run, of_init, err);
	else if (got >= 0 || payload == 0)
		run_died("during its set-up", err);
	else
		return false;
	return true;
}

/* What init had sent before the payload was born. */
static int take_uppers(struct jail_run *run, struct warder_error *err)
{
	/* Those of a session were made when it started. */
	const size_t wanted = run_is_joined(run) ? 0 : run->tmpl->plan.rootfs.overlay_count;
	struct wire_message message;
	bool took;
	int got;

	if (!wanted)
		return 0;
	got = receive_init(run, &message, &took);
	if (got < 0 && run->upper_count == wanted)
		return 0;
	return told_why(run, got, &message, err) ? -1 : run_died("during its set-up", err);
}

/* What a message means that came in the place of another one. */
static int told_otherwise(struct jail_run *run, const struct wire_message *message, struct warder_error *err)
{
	static const char *const meanings[] = {
		[WIRE_BORN] = "its program's process was born a second time",
		[WIRE_TERMINAL] = "its program's process made a terminal that nobody asked for",
		[WIRE_READY] = "its program's process was ready before it had been looked at",
		[WIRE_ENTERING] = "its program was about to start before it was allowed to",
		[WIRE_NO_EXEC] = "its program could not be started before it was allowed to start",
		[WIRE_ENDED] =
		    "its program's process ended before its program started (killed from outside?)",
		[WIRE_BACKSTOP] =
		    "the whole wall time was over before the program started; the host is too slow, "
		    "or its kernel hangs",
	};
	const char *meaning = message->type < ARRAY_LENGTH(meanings) ? meanings[message->type] : NULL;

	if (message->type == WIRE_BACKSTOP)
		run_begin_end(run, RUN_PATIENCE_HUNG_US);
	return error_set(err,
			 message->type == WIRE_BACKSTOP || message->type == WIRE_ENDED
			     ? WARDER_ERROR_UNAVAILABLE
			     : WARDER_ERROR_INTERNAL,
			 NULL, "the jail was given up during its set-up: %s",
			 meaning ? meaning : "its init said something that is not part of a launch");
}

/* The payload's next word, which says of what type it is to be. */
static int expect(struct jail_run *run, enum wire_type type, struct wire_message *message,
		  struct warder_error *err)
{
	int got = wait_message(run, "during its set-up", message, &run->program_pid, err);

	if (got < 0)
		return -1;
	if (got == 0)
		return run_died("during its set-up", err);
	if (message->type == WIRE_FAILED)
		return inside_failed(run, message, err);
	if (message->type != type || run->program_pid <= 0)
		return told_otherwise(run, message, err);
	return 0;
}

/* What the payload was born into. If it has failed meanwhile, that is why it cannot be looked at. */
static int read_setup(struct jail_run *run, struct warder_error *err)
{
	struct wire_message message;

	if (readback_setup(run, err) == 0)
		return 0;
	if (!told_why(run, -1, &message, err))
		snprintf(err->step, sizeof(err->step), "read-back");
	return -1;
}

/* The payload's terminal, in the place of its pipes. Nothing untrusted has run: the master is as our own program made it. */
static int take_terminal(struct jail_run *run, struct warder_error *err)
{
	const struct input_source source = { .fd = run->command.terminal_fd };
	struct wire_message message;

	if (run->command.terminal_fd <= 0)
		return 0;
	if (expect(run, WIRE_TERMINAL, &message, err) < 0 ||
	    terminal_open(&run->terminal, run->command.terminal_fd, err) < 0)
		return -1;
	run->output_pipe[JAIL_STDOUT][RUN_READ] = fcntl(run->terminal.master_fd, F_DUPFD_CLOEXEC, 3);
	run->stdin_pipe[RUN_WRITE] = fcntl(run->terminal.master_fd, F_DUPFD_CLOEXEC, 3);
	if (run->output_pipe[JAIL_STDOUT][RUN_READ] < 0 || run->stdin_pipe[RUN_WRITE] < 0 ||
	    input_open(&run->input, &source, &run->stdin_pipe[RUN_WRITE]) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot read the program's terminal");
	return 0;
}

/* Before the payload is looked at. An init that has ended has told why. */
static int furnish_network(struct jail_run *run, struct warder_error *err)
{
	struct wire_message message;

	if (!run_is_contained(run) || run->edge.setup_fd < 0)
		return 0;
	if (network_furnish(run->init_pid, block_header(&run->tmpl->block), run->edge.setup_fd, err) < 0) {
		told_why(run, -1, &message, err);
		return -1;
	}
	fd_done(&run->edge.setup_fd);
	return 0;
}

int run_step_setup(struct jail_run *run, struct warder_error *err)
{
	struct wire_message message;

	/* What will not change any more is read back while the jail goes on: its cgroups, then what its payload was born into. */
	if (readback_limits(run, err) < 0) {
		snprintf(err->step, sizeof(err->step), "read-back");
		return -1;
	}
	if (!run->parked) /* else they are read again */
		cgroup_close_files(&run->cgroup);
	if (furnish_network(run, err) < 0 || expect(run, WIRE_BORN, &message, err) < 0 ||
	    take_uppers(run, err) < 0 || read_setup(run, err) < 0 || take_terminal(run, err) < 0 ||
	    expect(run, WIRE_READY, &message, err) < 0)
		return -1;
	run->applied = message.applied;
	if (identity_check(&run->identity, err) < 0)
		return -1;
	/* Init does not know about limits that others have set: the helper of root, or the session's start. */
	if ((run->identity.limits && !run->identity.limits->counts_all) ||
	    (run_is_joined(run) && !run->tmpl->plan.joint->counts_all))
		run->applied &= ~(1ull << WIRE_STEP_NESTING);
	return run_edge_await(&run->edge, err);
}

int run_undo_setup(struct jail_run *run, struct warder_error *err)
{
	while (run->upper_count > 0)
		fd_done(&run->upper_fds[--run->upper_count]);
	return 0;
}
