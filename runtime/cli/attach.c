/*
 * attach: an execution's output as it comes, and this process's input to it. Two connections: one is read, by the other is written. A
 * client that stands still is dropped by the keeper; it then connects again, and goes on at the byte where it was.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/executions.h"
#include "runtime/cli/term.h"
#include "runtime/cli/terminal.h"

#define KEYS_MAX     8
#define DEFAULT_KEYS "ctrl-p,ctrl-q"
#define LOOK_MS      200
#define REDRAW_MS    100 /* until the program has seen the size that it gets for a moment */

struct attach {
	struct remote *reader, *writer; /* writer: or NULL */
	struct remote_attached attached;
	uint64_t next[2];  /* of each stream */
	uint64_t shown[2]; /* with raw: where the output begins that is shown */
	bool raw;          /* our terminal is the program's */
	bool resized;      /* the program is to have the size of our terminal */
	bool redraw;       /* and to draw everything again */
	bool writing;      /* an answer is due */
	bool input_ended, detached;
	char keys[KEYS_MAX];
	size_t key_count, matched;
};

/* ---- keys ---- */

/* "ctrl-p,ctrl-q,x". */
static int take_keys(const char *text, struct attach *attach, struct warder_error *err)
{
	const char *at = text ? text : DEFAULT_KEYS;

	while (*at) {
		const size_t len = strcspn(at, ",");
		const bool control = len == 6 && strncmp(at, "ctrl-", 5) == 0;
		const char key = control ? at[5] : at[0];

		if (attach->key_count == KEYS_MAX || (!control && len != 1) ||
		    (control && !((key >= 'a' && key <= 'z') || (key >= '@' && key <= '_'))) ||
		    (at[len] == ',' && !at[len + 1]))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--detach-keys",
					 "--detach-keys %.60s: write up to %d keys with commas between them, "
					 "each a character or ctrl-a to ctrl-z",
					 text, KEYS_MAX);
		attach->keys[attach->key_count++] = control ? (char)(key & 0x1f) : key;
		at += len + (at[len] == ',');
	}
	return 0;
}

/* What of the input goes to the program: a part of the keys is held back until it is known whether the rest of them follows. Returns how many
 * bytes are in `to`, which has room for len + KEYS_MAX. */
static size_t filter_keys(struct attach *attach, const char *bytes, size_t len, char *to)
{
	size_t used = 0;

	for (size_t i = 0; i < len && !attach->detached; i++) {
		if (attach->key_count && bytes[i] == attach->keys[attach->matched]) {
			attach->detached = ++attach->matched == attach->key_count;
			continue;
		}
		memcpy(to + used, attach->keys, attach->matched);
		used += attach->matched;
		attach->matched = attach->key_count && bytes[i] == attach->keys[0];
		if (!attach->matched)
			to[used++] = bytes[i];
		else
			attach->detached = attach->key_count == 1;
	}
	return used;
}

/* ---- input ---- */

/* Input ends here, and output goes on. Prints the reason, unless the program has just ended. */
static void stop_writing(struct attach *attach, const struct warder_error *why)
{
	attach->input_ended = true;
	attach->writing = false;
	remote_free(attach->writer);
	attach->writer = NULL;
	if (why && why->code != WARDER_ERROR_CONFLICT && why->code != WARDER_ERROR_NOT_FOUND)
		term_error(why);
}

static void end_input(struct attach *attach)
{
	struct warder_error err = { 0 };

	if (!attach->attached.terminal && remote_close_input(attach->writer, &err) < 0) {
		stop_writing(attach, &err);
		return;
	}
	attach->input_ended = true;
}

static void read_input(struct attach *attach)
{
	char bytes[4096], passed[sizeof(bytes) + KEYS_MAX];
	struct warder_error err = { 0 };
	const ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
	const char *from = bytes;
	size_t len;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		end_input(attach);
		return;
	}
	len = (size_t)n;
	if (attach->raw) {
		len = filter_keys(attach, bytes, len, passed);
		from = passed;
	}
	if (len && remote_write_begin(attach->writer, from, len, false, &err) < 0)
		stop_writing(attach, &err);
	else
		attach->writing = len > 0;
}

static void take_answer(struct attach *attach)
{
	struct warder_error err = { 0 };
	const int done = remote_write_done(attach->writer, 0, &err);

	if (done < 0)
		stop_writing(attach, &err);
	else if (done > 0)
		attach->writing = false;
}

/* A program draws its screen again when the size changes: it gets another one for a moment. */
static void pass_size(struct attach *attach)
{
	const struct timespec pause = { .tv_nsec = REDRAW_MS * 1000000L };
	struct warder_error ignored;
	struct winsize size;

	if (!attach->writer || attach->writing || ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0)
		return;
	if (attach->redraw && remote_resize(attach->writer, size.ws_row + 1, size.ws_col, &ignored) == 0)
		nanosleep(&pause, NULL);
	remote_resize(attach->writer, size.ws_row, size.ws_col, &ignored);
	attach->resized = attach->redraw = false;
}

/* ---- output ---- */

/* What a terminal shows again, it also answers again, and the program would take the answers for keys: with raw, earlier output is left
 * out. Returns whether anything is left. */
static bool leave_out_earlier(const struct attach *attach, struct remote_event *event)
{
	const uint64_t from = attach->shown[event->stream];
	uint64_t skip = 0;

	if (event->offset < from)
		skip = (from < event->end ? from : event->end) - event->offset;
	event->offset += skip;
	event->bytes += skip;
	return event->offset < event->end;
}

/* One event. 1: it has ended, with *status; -1 with *err: it cannot be written. */
static int take_event(struct attach *attach, int *status, struct warder_error *err)
{
	struct remote_event event;
	int lost = 0;

	if (remote_next(attach->reader, 0, &event, err) < 0)
		lost = executions_come_back(attach->reader, attach->next, &attach->attached, err);
	if (lost < 0)
		return -1;
	if (lost > 0) {
		terminal_end();
		*status = executions_tell_loss(attach->reader);
		return 1;
	}
	if (event.kind == REMOTE_END) {
		terminal_end();
		*status = executions_tell_end(&event.last);
		return 1;
	}
	if (event.kind == REMOTE_BYTES || event.kind == REMOTE_GAP)
		attach->next[event.stream] = event.end;
	if (event.kind == REMOTE_GAP && attach->raw)
		attach->redraw = true;
	else if (event.kind == REMOTE_GAP)
		executions_tell_gap(&event);
	if (event.kind == REMOTE_BYTES && leave_out_earlier(attach, &event) && executions_write(&event) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "the output cannot be written");
	return 0;
}

/* 0 with *status; -1 with *err. */
static int drive(struct attach *attach, int *status, struct warder_error *err)
{
	int ended = 0;

	while (ended == 0 && !attach->detached && !ending_signal()) {
		const bool reads = attach->writer && !attach->input_ended && !attach->writing;
		struct pollfd fds[] = {
			{ .fd = remote_fd(attach->reader), .events = POLLIN },
			{ .fd = reads ? STDIN_FILENO : -1, .events = POLLIN },
			{ .fd = attach->writing ? remote_fd(attach->writer) : -1, .events = POLLIN },
		};

		if (poll(fds, ARRAY_LENGTH(fds), LOOK_MS) < 0 && errno != EINTR)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "poll");
		attach->resized |= terminal_size_changed();
		if (attach->raw && (attach->resized || attach->redraw))
			pass_size(attach);
		if (fds[2].revents)
			take_answer(attach);
		if (fds[1].revents)
			read_input(attach);
		if (fds[0].revents)
			ended = take_event(attach, status, err);
	}
	if (ended == 0)
		*status = ending_signal() ? 128 + ending_signal() : 0;
	return ended < 0 ? -1 : 0;
}

static int begin(const struct request *request, struct attach *attach, struct warder_error *err)
{
	if (take_keys(request->execution.detach_keys, attach, err) < 0 ||
	    executions_open(request, &attach->reader, err) < 0 ||
	    remote_attach(attach->reader, attach->next, &attach->attached, err) < 0)
		return -1;
	if (request->no_input || !attach->attached.input || attach->attached.ended)
		return 0;
	return remote_again(attach->reader, &attach->writer, err);
}

/* Our terminal is the program's from now on. */
static void begin_terminal(struct attach *attach)
{
	attach->raw = attach->writer && attach->attached.terminal && isatty(STDIN_FILENO);
	if (!attach->raw)
		return;
	memcpy(attach->shown, attach->attached.totals, sizeof(attach->shown));
	attach->redraw = true;
	terminal_begin(NULL);
}

int attach_command(struct request *request, char **argv)
{
	struct attach attach = { 0 };
	struct warder_error err = { 0 };
	int status = 0;
	int ret;

	ending_catch(NULL);
	signal(SIGPIPE, SIG_IGN);
	ret = begin(request, &attach, &err);
	if (ret == 0) {
		begin_terminal(&attach);
		ret = drive(&attach, &status, &err);
		terminal_end();
	}
	if (ret == 0 && attach.detached) {
		fputc('\n', stderr); /* the cursor is where the program left it */
		term_complain("detached; \"warder attach %s\" comes back", remote_id(attach.reader));
	}
	remote_free(attach.writer);
	remote_free(attach.reader);
	if (ret == 0)
		return status;
	return err.sys_errno == EPIPE ? 128 + SIGPIPE : command_refuse(request, &err, EXIT_REFUSED);
}
