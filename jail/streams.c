/*
 * The streams of a run: the program's pipes, made by what the command asks for, and the sockets over which init and payload talk with
 * their supervisor.
 *
 * A parked jail gets its pipes only with its program: run_open_streams() is called again then.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/backstop.h"
#include "jail/quiet.h"
#include "jail/run.h"

/* The jail's user must be able to open /dev/stdout, which is the pipe's inode. */
static int own_pipe(const struct jail_run *run, int fd)
{
	uid_t uid;
	gid_t gid;

	return run_has_own_ids(run, &uid, &gid) && !run_is_bare(run) ? fchown(fd, uid, gid) : 0;
}

static bool has_input(const struct jail_command *command)
{
	return command->stdin_data || command->on_input || command->stdin_fd >= 0;
}

int run_open_input(struct jail_run *run)
{
	const struct jail_command *command = &run->command;
	const struct input_source source = { .data = command->stdin_data,
					     .len = command->stdin_len,
					     .call = command->on_input,
					     .context = command->context,
					     .fd = command->stdin_fd };

	return has_input(command) ? input_open(&run->input, &source, &run->stdin_pipe[RUN_WRITE]) : 1;
}

static int make_input(struct jail_run *run)
{
	const struct jail_command *command = &run->command;

	if (command->stdin_file_fd > 0) {
		run->stdin_pipe[RUN_READ] = fcntl(command->stdin_file_fd, F_DUPFD_CLOEXEC, 3);
		return run->stdin_pipe[RUN_READ] < 0 ? -1 : 0;
	}
	if (command->terminal_fd > 0 || !has_input(command)) {
		run->stdin_pipe[RUN_READ] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return run->stdin_pipe[RUN_READ] < 0 ? -1 : 0;
	}
	if (pipe2(run->stdin_pipe, O_CLOEXEC) < 0 || own_pipe(run, run->stdin_pipe[RUN_READ]) < 0)
		return -1;
	if (fcntl(run->stdin_pipe[RUN_WRITE], F_SETFL, O_NONBLOCK) < 0)
		return -1;
	return run_open_input(run);
}

static int make_output(struct jail_run *run, enum jail_stream stream)
{
	int *ends = run->output_pipe[stream];

	/* The terminal comes in its place. */
	if (run->command.terminal_fd > 0 && stream < JAIL_RESULT) {
		ends[RUN_WRITE] = open("/dev/null", O_WRONLY | O_CLOEXEC);
		return ends[RUN_WRITE] < 0 ? -1 : 0;
	}
	if (pipe2(ends, O_CLOEXEC) < 0 || own_pipe(run, ends[RUN_WRITE]) < 0)
		return -1;
	return fcntl(ends[RUN_READ], F_SETFL, O_NONBLOCK);
}

bool jail_is_one_file(const int fds[2])
{
	struct stat first, second;

	return fstat(fds[0], &first) == 0 && fstat(fds[1], &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

int run_open_passes(struct jail_run *run, struct warder_error *err)
{
	const int *fds = run->command.output_fds;

	for (int stream = 0; fds && stream < 2; stream++) {
		const int error = pass_open(fds[stream], &run->pass[stream]);
		char field[32];

		snprintf(field, sizeof(field), "output_fds[%d]", stream);
		if (error == EBADF)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
					 "%s: descriptor %d (output_fds[%d]) is not open for writing",
					 stream == JAIL_STDOUT ? "standard output" : "standard error",
					 fds[stream], stream);
		if (error)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, error,
					       "output_fds[%d]: descriptor %d", stream, fds[stream]);
	}
	run->merged = run->command.terminal_fd > 0 || run->command.merged || (fds && jail_is_one_file(fds));
	return 0;
}

static int check_terminal(const struct jail_run *run, struct warder_error *err)
{
	if (run_is_bare(run))
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "terminal_fd",
				 "a terminal for the program (-t, terminal_fd) needs a /dev/pts of its own, "
				 "which this backend does not make; use --backend local");
	if (run->tmpl->plan.rootfs.terminals == 0)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "devices.terminals",
		    "devices.terminals is 0, and the program is to have a terminal; set it to 1");
	if (run->tmpl->plan.background)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "terminal_fd",
		    "terminal_fd does not go with background processes: the terminal ends with the program");
	return terminal_check(run->command.terminal_fd, err);
}

int run_open_streams(struct jail_run *run, struct warder_error *err)
{
	if (run_open_passes(run, err) < 0)
		return -1;
	if (make_input(run) < 0 || make_output(run, JAIL_STDOUT) < 0 ||
	    (!run->merged && make_output(run, JAIL_STDERR) < 0) ||
	    (run->command.result_bytes && make_output(run, JAIL_RESULT) < 0) ||
	    (run->command.progress && make_output(run, JAIL_PROGRESS) < 0))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot make the program's pipes");
	return 0;
}

/* Until a parked jail gets its program, it has in the place of the program's streams what leads nowhere. */
static int open_nothing(struct jail_run *run, struct warder_error *err)
{
	run->stdin_pipe[RUN_READ] = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (run->stdin_pipe[RUN_READ] >= 0)
		return 0;
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "/dev/null");
}

int run_begin_backstop(const struct jail_run *run, struct warder_error *err)
{
	return backstop_begin(run->backstop_fd, run->given.wall_time_us) < 0
		   ? error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "limits.wallTime", errno,
				     "init's own limit of the wall time cannot be set")
		   : 0;
}

void run_begin_preparation(struct jail_run *run)
{
	struct quiet quiet;
	bool lost;

	if (!run->warm.prepares)
		return;
	run->warm.prepares = false;
	run->warm.prepared = true;
	quiet_begin(&quiet);
	lost = write(run->warm.work_fd, "\n", 1) < 0;
	quiet_end(&quiet, lost && errno == EPIPE); /* the feed will fail, too */
}

int run_step_streams(struct jail_run *run, struct warder_error *err)
{
	int on = 1;

	if (run->command.terminal_fd > 0 && check_terminal(run, err) < 0)
		return -1;
	if ((run->parked ? open_nothing(run, err) : run_open_streams(run, err)) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, run->control) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, run->exec) < 0 ||
	    setsockopt(run->exec[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot make the jail's sockets");
	run->backstop_fd = backstop_open();
	if (run->backstop_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "limits.wallTime", errno, "timerfd");
	/* It begins anew with the program; until then it ends a launch that takes too long. */
	if (!run->parked && run_begin_backstop(run, err) < 0)
		return -1;
	run->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (run->cancel_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "eventfd");
	return 0;
}

void run_close_programs_ends(struct jail_run *run)
{
	fd_done(&run->stdin_pipe[RUN_READ]);
	for (int stream = 0; stream < JAIL_STREAMS; stream++)
		fd_done(&run->output_pipe[stream][RUN_WRITE]);
}

int run_undo_streams(struct jail_run *run, struct warder_error *err)
{
	fd_done(&run->warm.work_fd);
	fd_done(&run->backstop_fd);
	loaded_done(&run->warm.loaded);
	input_done(&run->input);
	terminal_done(&run->terminal);
	for (int i = 0; i < 2; i++) {
		fd_done(&run->stdin_pipe[i]);
		for (int stream = 0; stream < JAIL_STREAMS; stream++)
			fd_done(&run->output_pipe[stream][i]);
		fd_done(&run->control[i]);
		fd_done(&run->exec[i]);
		pass_done(&run->pass[i]);
	}
	return 0;
}
