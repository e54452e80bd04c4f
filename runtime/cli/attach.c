/*
 * attach: an execution's output as it comes, and this process's input to it. Input is read when the bytes before it are on their way.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/detach_keys.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/execution_name.h"
#include "runtime/cli/executions.h"
#include "runtime/cli/executions_remote.h"
#include "runtime/cli/functions.h"
#include "runtime/cli/term.h"
#include "runtime/cli/terminal.h"
#include "runtime/session/session.h"

#define INPUT_MAX 4096
#define LOOK_MS   200
#define REDRAW_MS 100 /* until the program has seen the size that it gets for a moment */

struct attach {
	struct warder_execution *execution;
	/* Of our own program: whether to leave it, which a signal alone does not do. NULL: it is not our own. */
	bool (*gives_up)(void);
	struct function_answers *answers; /* to our own program's calls; or NULL */
	int output_fd;                    /* of open_output(); owned */
	struct warder_attached attached;
	uint64_t shown[2]; /* with raw: where the output begins that is shown */
	bool raw;          /* our terminal is the program's */
	bool resized;      /* the program is to have the size of our terminal */
	bool redraw;       /* and to draw everything again */
	bool reads;        /* our input is the program's */
	bool input_ended;
	char pending[INPUT_MAX + DETACH_KEYS_MAX]; /* input that was read */
	size_t pending_len;
	struct attach_taken taken;
	struct detach_keys keys;
};

/* ---- input ---- */

static void read_input(struct attach *attach)
{
	char bytes[INPUT_MAX];
	const ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0 && attach->raw) {
		attach->pending_len = detach_keys_filter(&attach->keys, bytes, (size_t)n, attach->pending);
	} else if (n > 0) {
		memcpy(attach->pending, bytes, (size_t)n);
		attach->pending_len = (size_t)n;
	} else {
		attach->input_ended = true;
	}
	warder_execution_input_ready(attach->execution);
}

/* The end of our input does not end that of a terminal, which others may have, too. */
static long pass_input(void *context, char *bytes, size_t size)
{
	struct attach *attach = context;
	const size_t len = attach->pending_len;

	if (!len)
		return attach->input_ended && !attach->attached.terminal ? -1 : 0;
	memcpy(bytes, attach->pending, len);
	attach->pending_len = 0;
	return (long)len;
}

/* A program draws its screen again when the size changes: it gets another one for a moment. */
static void pass_size(struct attach *attach)
{
	const struct timespec pause = { .tv_nsec = REDRAW_MS * 1000000L };
	struct warder_error ignored;
	struct winsize size;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0)
		return;
	if (attach->redraw &&
	    warder_execution_resize(attach->execution, size.ws_row + 1u, size.ws_col, &ignored) == 0)
		nanosleep(&pause, NULL);
	warder_execution_resize(attach->execution, size.ws_row, size.ws_col, &ignored);
	attach->resized = attach->redraw = false;
}

/* ---- output ---- */

static bool is_left(const struct attach *attach)
{
	return attach->gives_up ? attach->gives_up() : attach->keys.detached || ending_signal();
}

/* Standard output, opened once more, so that a terminal or pipe that nobody reads does not hold us; or -1. */
static int open_output(void)
{
	struct stat st;

	if (!isatty(STDOUT_FILENO) && (fstat(STDOUT_FILENO, &st) < 0 || !S_ISFIFO(st.st_mode)))
		return -1;
	return open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* What happens next; the calls of our own program are answered meanwhile. As poll(2). */
static int await(const struct attach *attach, struct pollfd fds[2])
{
	struct function_answers *answers = attach->answers;
	struct pollfd all[] = { fds[0],
				fds[1],
				{ .fd = answers ? function_answers_fd(answers) : -1, .events = POLLIN } };
	const int count = poll(all, ARRAY_LENGTH(all), LOOK_MS);

	fds[0].revents = count > 0 ? all[0].revents : 0;
	fds[1].revents = count > 0 ? all[1].revents : 0;
	if (count > 0 && all[2].revents)
		function_answers_serve(answers);
	return count;
}

/* Without the rest, if we leave before it can be written. */
static int write_output(const struct attach *attach, enum warder_stream stream, const char *bytes, size_t len)
{
	struct pollfd fds[] = { { .fd = attach->output_fd, .events = POLLOUT }, { .fd = -1 } };

	if (stream == WARDER_STDERR || attach->output_fd < 0)
		return executions_write(stream, bytes, len);
	while (len && !is_left(attach)) {
		const ssize_t n = write(attach->output_fd, bytes, len);

		if (n < 0 && errno == EAGAIN)
			await(attach, fds);
		else if (n < 0 && errno != EINTR)
			return -1;
		else if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* What a terminal shows again, it also answers again, and the program would take the answers for keys: with raw, earlier output is left
 * out. */
static int pass_output(void *context, enum warder_stream stream, uint64_t offset, const char *bytes,
		       size_t len)
{
	struct attach *attach = context;
	const uint64_t shown = attach->shown[stream];
	const uint64_t earlier = shown > offset ? shown - offset : 0;

	if (earlier < len && write_output(attach, stream, bytes + earlier, len - (size_t)earlier) < 0)
		attach->taken.failed = errno;
	if (!attach->taken.failed)
		attach->taken.bytes += len;
	return attach->taken.failed;
}

static void pass_gap(void *context, enum warder_stream stream, uint64_t from, uint64_t to)
{
	struct attach *attach = context;

	if (attach->raw)
		attach->redraw = true;
	else
		executions_tell_gap(stream, from, to);
}

/* 1: it has ended, with *status; 0; -1 with *err. */
static int take_events(struct attach *attach, int *status, struct warder_error *err)
{
	struct warder_result *result = NULL;
	const int ended = warder_execution_dispatch(attach->execution, &result, err);

	if (attach->taken.failed)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, attach->taken.failed,
				       "the output cannot be written");
	/* Another client is writing: our input cannot be closed, and output goes on. */
	if (ended < 0 && err->code == WARDER_ERROR_CONFLICT)
		return 0;
	if (ended > 0) {
		terminal_end();
		*status = attach->gives_up ? 0 : executions_tell_end(result);
		warder_result_free(result);
	}
	return ended;
}

/* 0 with *status; -1 with *err. */
static int drive(struct attach *attach, int *status, struct warder_error *err)
{
	int ended = 0;

	while (ended == 0 && !is_left(attach)) {
		const bool reads = attach->reads && !attach->input_ended && !attach->pending_len;
		struct pollfd fds[] = {
			{ .fd = warder_execution_fd(attach->execution, err), .events = POLLIN },
			{ .fd = reads ? STDIN_FILENO : -1, .events = POLLIN },
		};

		if (fds[0].fd < 0)
			return -1;
		if (await(attach, fds) < 0 && errno != EINTR)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "poll");
		attach->resized |= terminal_size_changed();
		if (attach->raw && (attach->resized || attach->redraw))
			pass_size(attach);
		if (fds[1].revents)
			read_input(attach);
		if (fds[0].revents)
			ended = take_events(attach, status, err);
	}
	/* Keys before those that detach. */
	if (ended == 0 && attach->keys.detached && attach->pending_len)
		ended = take_events(attach, status, err);
	if (ended == 0)
		*status = ending_signal() ? 128 + ending_signal() : 0;
	return ended < 0 ? -1 : 0;
}

static int begin(const struct args *args, struct attach *attach, struct warder_error *err)
{
	const struct warder_attach how = { .size = sizeof(how),
					   .on_output = pass_output,
					   .on_gap = pass_gap,
					   .on_input = args->no_input ? NULL : pass_input,
					   .context = attach };

	attach->attached.size = sizeof(attach->attached);
	if (detach_keys_take(args->execution.detach_keys, &attach->keys, err) < 0 ||
	    executions_open(args, &attach->execution, err) < 0 ||
	    warder_execution_attach(attach->execution, &how, &attach->attached, err) < 0)
		return -1;
	attach->reads = !args->no_input && attach->attached.input && !attach->attached.ended;
	return 0;
}

/* Our terminal is the program's from now on. */
static void begin_terminal(struct attach *attach)
{
	attach->raw = attach->reads && attach->attached.terminal && isatty(STDIN_FILENO);
	if (!attach->raw)
		return;
	memcpy(attach->shown, attach->attached.bytes, sizeof(attach->shown));
	attach->redraw = true;
	terminal_begin(NULL);
}

int attach_own(const struct session_run *run, struct function_answers *answers, bool (*gives_up)(void),
	       struct attach_taken *ret_taken, struct warder_error *err)
{
	struct attach attach = { .gives_up = gives_up, .answers = answers, .output_fd = open_output() };
	const struct warder_attach how = { .size = sizeof(how),
					   .on_output = pass_output,
					   .on_gap = pass_gap,
					   .on_input = pass_input,
					   .context = &attach };
	int status;
	int ret;

	attach.attached.size = sizeof(attach.attached);
	ret = session_run_follow(run, &attach.execution, err);
	if (ret == 0)
		ret = warder_execution_attach(attach.execution, &how, &attach.attached, err);
	if (ret == 0 && !attach.attached.ended) {
		attach.reads = attach.raw = attach.resized = true;
		terminal_begin(NULL);
	}
	if (ret == 0)
		ret = drive(&attach, &status, err);
	terminal_end();
	fd_done(&attach.output_fd);
	warder_execution_free(attach.execution);
	*ret_taken = attach.taken;
	return ret;
}

int attach_command(struct args *args, char **argv)
{
	struct attach attach = { .output_fd = open_output() };
	struct warder_error err = { 0 };
	int status = 0;
	int ret;

	if (args->rest[0] && execution_name_is(args->rest[0])) {
		fd_done(&attach.output_fd);
		return executions_remote_attach(args);
	}
	ending_catch(NULL);
	signal(SIGPIPE, SIG_IGN);
	ret = begin(args, &attach, &err);
	if (ret == 0) {
		begin_terminal(&attach);
		ret = drive(&attach, &status, &err);
		terminal_end();
	}
	if (ret == 0 && attach.keys.detached)
		detach_keys_tell(warder_execution_id(attach.execution));
	fd_done(&attach.output_fd);
	warder_execution_free(attach.execution);
	if (ret == 0)
		return status;
	return err.sys_errno == EPIPE ? 128 + SIGPIPE : command_refuse(args, &err, EXIT_REFUSED);
}
