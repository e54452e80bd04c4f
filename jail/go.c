/*
 * The last two steps of a launch: the files of the program, then the word to go, and the outcome of the exec.
 *
 * The payload of a parked jail does not know its program yet. Its word to go is one record with arguments, environment and descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hang.h"
#include "base/text.h"
#include "jail/environment.h"
#include "jail/run.h"

#define HALTED_LOOKS 2 /* in a row that find the payload halted: a short halt kills no jail */

/* ---- files ---- */

bool run_scratch_is_full(const struct jail_run *run)
{
	struct statfs fs;

	/* A bare jail's is a directory of the host, which has no size. */
	return run->scratch_fd >= 0 && !run_is_bare(run) && fstatfs(run->scratch_fd, &fs) == 0 &&
	       (fs.f_bavail == 0 || fs.f_ffree == 0);
}

/* The file system of a zygote's fork belongs to its user namespace: a file there cannot belong to root, not even for a moment. The change is this
 * thread's alone; a change that fails makes the first file fail. */
static int put_files(const struct jail_run *run, struct warder_error *err)
{
	const struct jail_command *command = &run->command;
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	const bool own = run_has_own_ids(run, &uid, &gid);
	int put;

	if (!own || !run->zygote)
		return rootfs_put_files(run->scratch_fd, command->files, command->file_count, uid, gid, err);
	setfsgid(gid);
	setfsuid(uid);
	put =
	    rootfs_put_files(run->scratch_fd, command->files, command->file_count, (uid_t)-1, (gid_t)-1, err);
	setfsuid(geteuid());
	setfsgid(getegid());
	return put;
}

/* The payload, or its program, still waits: nobody else is in there. */
int run_put_files(struct jail_run *run, struct warder_error *err)
{
	const struct jail_command *command = &run->command;

	if (command->scratch) {
		run->scratch_fd = open(command->scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (run->scratch_fd < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "files", errno,
					       "cannot open %.200s", command->scratch);
	}
	if (command->file_count && put_files(run, err) != 0)
		return -1;
	run->scratch_was_full = run_scratch_is_full(run);
	return 0;
}

/* ---- the word to go ---- */

/* What the program begins with, by number; -1: nothing. */
static void choose_fds(const struct jail_run *run, int fds[WIRE_GO_FDS])
{
	fds[WIRE_FD_STDIN] = run->stdin_pipe[RUN_READ];
	fds[WIRE_FD_STDOUT] = run->output_pipe[JAIL_STDOUT][RUN_WRITE];
	fds[WIRE_FD_STDERR] = run->output_pipe[run->merged ? JAIL_STDOUT : JAIL_STDERR][RUN_WRITE];
	fds[WIRE_FD_RESULT] = run->output_pipe[JAIL_RESULT][RUN_WRITE];
	fds[WIRE_FD_INPUT] = run->command.input_fd > 0 ? run->command.input_fd : -1;
	fds[WIRE_FD_PROGRESS] =
	    run->command.calls_fd > 0 ? run->command.calls_fd : run->output_pipe[JAIL_PROGRESS][RUN_WRITE];
}

/* The message, in a block without the block's header. */
static int write_go(const struct jail_run *run, uint32_t fd_mask, struct block *ret, struct warder_error *err)
{
	char **environment = environment_merge(run->given.environment, run->command.set_env);
	struct wire_go go = { .message = { .type = WIRE_GO }, .fds = fd_mask };
	const char *path;

	if (!environment)
		return error_no_memory(err, NULL);
	block_reserve(ret, sizeof(go));
	go.argv = block_strings(ret, run->command.argv, text_count(run->command.argv));
	go.envp = block_strings(ret, environment, text_count(environment));
	path = environment_get(environment, "PATH");
	go.search_path = path ? block_string(ret, path) : 0;
	environment_free(environment);
	if (ret->failed)
		return error_no_memory(err, NULL);
	go.size = (uint32_t)ret->len;
	memcpy(ret->bytes, &go, sizeof(go));
	if (ret->len > WIRE_GO_BYTES)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
				 "arguments and environment have %zu bytes, and a pool hands out at most %d; "
				 "use warder_launch()",
				 ret->len, WIRE_GO_BYTES);
	return 0;
}

/* A message that fails does not arrive in part. */
static int send_program(struct jail_run *run, const struct block *message, const int *fds, size_t count,
			struct warder_error *err)
{
	if (fd_send(run->exec[0], message->bytes, message->len, fds, count, 0) == 0)
		return 0;
	return errno == EPIPE || errno == ECONNRESET ? run_died_unused(run, "before its exec", err)
						     : run_died("before its exec", err);
}

static int send_parked(struct jail_run *run, struct warder_error *err)
{
	struct block message = { 0 };
	int by_number[WIRE_GO_FDS];
	int fds[WIRE_GO_FDS];
	uint32_t fd_mask = 0;
	size_t count = 0;
	int ret;

	choose_fds(run, by_number);
	for (int number = 0; number < WIRE_GO_FDS; number++)
		if (by_number[number] >= 0) {
			fds[count++] = by_number[number];
			fd_mask |= 1u << number;
		}
	ret = write_go(run, fd_mask, &message, err);
	if (ret == 0)
		ret = send_program(run, &message, fds, count, err);
	block_done(&message);
	/* Our write ends stay open until the run is removed. Otherwise the end of each stream would wake the supervision, which waits only for
	 * init's death. A program that was started in advance is different: there, the end of a stream shows that it ended too early. */
	if (run->warm.is)
		run_close_programs_ends(run);
	else
		fd_done(&run->stdin_pipe[RUN_READ]);
	return ret;
}

static int send_go(struct jail_run *run, struct warder_error *err)
{
	const struct wire_message message = { .type = WIRE_GO };

	/* Where the program waits for its work, the time begins with that. */
	if (!run->warm.is && run_begin_backstop(run, err) < 0)
		return -1;
	if (run->parked)
		return send_parked(run, err);
	if (send(run->exec[0], &message, sizeof(message), MSG_NOSIGNAL) != sizeof(message))
		return run_died("before its exec", err);
	return 0;
}

/* ---- exec ---- */

static int no_exec(const struct jail_run *run, int error, struct warder_error *err)
{
	const char *name = run->command.argv[0];

	if (error == ENOENT || error == ENOTDIR)
		return error_set_errno(
		    err, WARDER_ERROR_NOT_FOUND, "argv[0]", error,
		    "%s: no such program inside the jail (a host path must be in the policy's view: "
		    "workspace, filesystem.paths), or its interpreter is missing",
		    name);
	return error_set_errno(
	    err, WARDER_ERROR_EXECUTION_FAILED, "argv[0]", error, "%s: cannot be executed inside the jail%s",
	    name, error == EACCES ? " (mode bits, or a mount without exec: filesystem.tmpExec)" : "");
}

/* The wait for the exec of the payload. */
struct exec_wait {
	bool entering;             /* the payload has said ENTERING */
	unsigned int halted_looks; /* in a row */
	bool killed;               /* by Warder, because the payload is halted */
};

/* Read all messages that the payload has sent. -1 with *err: NO_EXEC; 0: there may be more; 1: its end of the socket is closed. */
static int hear_payload(struct jail_run *run, struct exec_wait *wait, struct warder_error *err)
{
	struct wire_message message;
	int got;

	while ((got = run_receive(run->exec[0], &message, NULL, NULL)) > 0) {
		if (message.type == WIRE_NO_EXEC)
			return no_exec(run, message.error, err);
		wait->entering = message.type == WIRE_ENTERING;
	}
	return got == 0;
}

/* Kill a parked jail that was frozen, or its payload stopped, after its check: once it is dead, it is known whether its program has begun. After
 * ENTERING, only the time limit of the launch ends the wait. -1 with *err. */
static int look_for_halt(struct jail_run *run, struct exec_wait *wait, struct warder_error *err)
{
	const bool halted =
	    run->parked && (cgroup_is_frozen(&run->cgroup) || hang_is_stopped_by_signal(run->program_pid));

	wait->halted_looks = halted ? wait->halted_looks + 1 : 0;
	if (wait->killed || wait->halted_looks < HALTED_LOOKS)
		return 0;
	if (hear_payload(run, wait, err) < 0)
		return -1;
	if (!wait->entering) {
		wait->killed = true;
		run_signal(run);
	}
	return 0;
}

/* `unused`: it has certainly not begun its program. */
static int died_at_exec(struct jail_run *run, const struct exec_wait *wait, bool unused,
			struct warder_error *err)
{
	run->died_unused = unused;
	if (!wait->killed)
		return run_died("at its exec", err);
	return error_set(
	    err, WARDER_ERROR_UNAVAILABLE, NULL,
	    "the jail was stopped, or its cgroup was frozen, after the check at the hand-out, so "
	    "Warder killed the jail at its exec");
}

/* The exec has three ends: an error; end of file after ENTERING, which is success; anything else is a death. The payload says ENTERING before
 * its exec: if its end of the socket is closed and it never said so, its program has not begun. If Warder has killed the jail, the end is
 * a death, although the payload may have said ENTERING just before. */
int run_step_go(struct jail_run *run, struct warder_error *err)
{
	const bool holds = run->tmpl->plan.holds; /* no exec follows */
	struct pollfd fd = { .fd = run->exec[0], .events = holds ? POLLIN : 0 };
	struct exec_wait wait = { 0 };
	struct hang hangs[2] = { 0 };
	int closed;

	run->go_us = clock_us();
	if (send_go(run, err) < 0)
		return -1;
	readback_rest(run);
	/* Woken once, by the hang-up: the exec closed the payload's end, or its exit did. */
	while (poll(&fd, 1, SETUP_LOOK_MS) <= 0)
		if (run_look_at_setup(run, hangs, run->go_us + SETUP_TIMEOUT_MS * 1000ull, "at its exec",
				      err) < 0 ||
		    look_for_halt(run, &wait, err) < 0)
			return -1;
	closed = hear_payload(run, &wait, err);
	if (closed < 0)
		return -1;
	if (wait.entering && !wait.killed && (holds || (fd.revents & POLLHUP)))
		return 0;
	return died_at_exec(run, &wait, closed && !wait.entering && (fd.revents & POLLHUP), err);
}
