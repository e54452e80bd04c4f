/*
 * session_remote_terminal: a connection carries keys there, and the output here. If it ends before the program does, another one goes on where it
 * ended: the host stores the last of the output.
 *
 * Here neither direction waits for the other: keys are sent while nobody reads the output, and output is shown while the program reads no keys.
 * The host takes one message of input while all output of the program waits, and the next one when some of it has gone.
 */
#include "runtime/cli/session_remote_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/renewer.h"
#include "runtime/cli/term.h"
#include "runtime/cli/terminal.h"

#define LOOK_MS   200
#define PAUSE_MS  1000 /* before another connection */
#define REDRAW_MS 100  /* until the program has seen the size that it gets for a moment */
#define KEYS_MAX  4096 /* of a piece */
#define KEYS_SIZE (KEYS_MAX + DETACH_KEYS_MAX)
#define CTRL_C    0x03

struct lent {
	const struct remote_terminal *how;
	struct backend_remote_terminal link;
	struct renewer renewer;
	int output_fd; /* standard output, so opened that a terminal or a pipe does not keep us waiting */
	struct remote_came *came;
	char keys[1 + KEYS_SIZE]; /* a piece that is to be sent */
	size_t keys_len;
	char output[REMOTE_PIECE_MAX]; /* that is to be shown */
	size_t output_at, output_len;
	bool broken;      /* the connection takes no more keys */
	bool resized;     /* the program is to have the size of our terminal */
	bool redraws;     /* and another one before, so that it draws its screen again */
	uint64_t size_us; /* when it gets ours then; or 0 */
	bool input_ended; /* ours; that of the program stays open */
	bool ended;       /* the program has */
	int failed;       /* errno of standard output */
};

void session_remote_terminal_size(unsigned int *ret_rows, unsigned int *ret_columns)
{
	struct winsize size = { 0 };

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	*ret_rows = size.ws_row;
	*ret_columns = size.ws_col;
}

/* ---- there ---- */

/* That the connection is over is seen when the last of the output has been read. Until then, these keys wait for the next one. A size does not: it would
 * keep keys in our terminal, and the next connection begins with one. */
static void send_keys(struct lent *lent)
{
	const ssize_t n = send(lent->link.fd, lent->keys, lent->keys_len, MSG_NOSIGNAL | MSG_DONTWAIT);
	bool is_lost_size;

	lent->broken = n < 0 && errno != EAGAIN && errno != EINTR;
	is_lost_size = lent->broken && lent->keys[0] == REMOTE_PIECE_TEXT;
	lent->redraws |= is_lost_size && lent->size_us;
	if (n >= 0 || is_lost_size)
		lent->keys_len = 0;
}

static void put_size(struct lent *lent)
{
	unsigned int rows, columns;

	session_remote_terminal_size(&rows, &columns);
	lent->keys[0] = REMOTE_PIECE_TEXT;
	lent->keys_len =
	    1 + (size_t)snprintf(lent->keys + 1, sizeof(lent->keys) - 1, "{\"rows\": %u, \"columns\": %u}",
				 rows + lent->redraws, columns);
	lent->size_us = lent->redraws ? clock_us() + REDRAW_MS * 1000 : 0;
	lent->resized = lent->redraws = false;
}

/* What was typed, without the keys that detach. Returns its length. */
static size_t read_input(struct lent *lent, char ret[KEYS_SIZE])
{
	char bytes[KEYS_MAX];
	const ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	lent->input_ended = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
	if (n <= 0)
		return 0;
	if (lent->how->keys)
		return detach_keys_filter(lent->how->keys, bytes, (size_t)n, ret);
	memcpy(ret, bytes, (size_t)n);
	return (size_t)n;
}

static void put_input(struct lent *lent)
{
	const size_t len = read_input(lent, lent->keys + 1);

	lent->keys[0] = REMOTE_PIECE_BYTES;
	lent->keys_len = len ? len + 1 : 0;
}

/* ---- here ---- */

/* Only terminals and pipes are opened again: in a file, a second opening would begin to write at the start. */
int session_remote_terminal_output(int stream)
{
	struct stat st;
	char path[32];
	int fd = -1;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", stream);
	if (isatty(stream) || (fstat(stream, &st) == 0 && S_ISFIFO(st.st_mode)))
		fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd >= 0 ? fd : fcntl(stream, F_DUPFD_CLOEXEC, 3);
}

static void show_output(struct lent *lent)
{
	const ssize_t n =
	    write(lent->output_fd, lent->output + lent->output_at, lent->output_len - lent->output_at);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		lent->failed = errno;
	lent->output_at += n > 0 ? (size_t)n : 0;
	if (lent->output_at == lent->output_len)
		lent->output_at = lent->output_len = 0;
}

static void take_text(struct lent *lent, const char *text, size_t len)
{
	struct json_value *document = NULL;
	struct warder_error ignored;
	const struct json_value *gap, *to;

	if (json_parse(text, len, "terminal", NULL, &document, &ignored) < 0)
		return;
	gap = document->type == JSON_OBJECT ? json_member(document, "gap") : NULL;
	to = gap && gap->type == JSON_OBJECT ? json_member(gap, "to") : NULL;
	if (to && to->is_uint && to->uint > lent->came->seen) {
		remote_came_skip(lent->came, to->uint);
		lent->redraws = lent->resized = lent->how->redraws;
	}
	lent->ended = document->type == JSON_OBJECT && json_member(document, "end");
	json_free(document);
}

/* False: the connection is over. If the other end closes before it has taken all keys, that is reported once, and what it sent comes after that. */
static bool take_piece(struct lent *lent)
{
	char piece[REMOTE_PIECE_MAX];
	const ssize_t n = recv(lent->link.fd, piece, sizeof(piece), 0);

	if (n <= 0)
		return n < 0 && (errno == EINTR || errno == ECONNRESET);
	lent->renewer.heard_ms = clock_us() / 1000;
	if (piece[0] == REMOTE_PIECE_TEXT) {
		take_text(lent, piece + 1, (size_t)n - 1);
	} else {
		lent->output_len = (size_t)n - 1;
		memcpy(lent->output, piece + 1, lent->output_len);
		remote_came_add(lent->came, lent->output, lent->output_len);
	}
	return true;
}

/* One piece of each direction is on its way at a time. False: the connection is over. */
static bool move(struct lent *lent)
{
	const bool shows = lent->output_len > 0, waits = lent->keys_len > 0, sends = waits && !lent->broken;
	struct pollfd ready[] = {
		{ .fd = shows && !sends ? -1 : lent->link.fd,
		  .events = (short)((shows ? 0 : POLLIN) | (sends ? POLLOUT : 0)) },
		{ .fd = lent->input_ended || waits ? -1 : STDIN_FILENO, .events = POLLIN },
		{ .fd = shows ? lent->output_fd : -1, .events = POLLOUT },
		{ .fd = lent->renewer.fd, .events = POLLIN },
	};

	poll(ready, 4, LOOK_MS);
	lent->resized |= terminal_size_changed() || (lent->size_us && clock_us() >= lent->size_us);
	if (ready[3].revents)
		renewer_hear(&lent->renewer);
	if (lent->resized && !lent->keys_len && !lent->broken)
		put_size(lent);
	else if (ready[1].revents)
		put_input(lent);
	if (lent->keys_len && !lent->broken)
		send_keys(lent);
	if (ready[2].revents)
		show_output(lent);
	return shows || !(ready[0].revents & ~POLLOUT) || take_piece(lent);
}

static bool is_detached(const struct lent *lent)
{
	return lent->how->keys && lent->how->keys->detached;
}

static bool is_over(const struct lent *lent)
{
	return lent->ended || lent->failed || ending_signal() || is_detached(lent);
}

/* Until the program ends, or we are to, or the connection is over. */
static void follow(struct lent *lent)
{
	bool good = true;

	while (good && !is_over(lent))
		good = move(lent);
	if (is_detached(lent) && lent->keys_len && !lent->broken) /* the keys before those that detach */
		send_keys(lent);
}

static int reach(struct lent *lent, struct warder_error *err)
{
	char path[256];

	snprintf(path, sizeof(path), "/v1/sandboxes/%s/executions/%s/terminal?stdout=%llu",
		 lent->how->place->session.sandbox, lent->how->execution,
		 (unsigned long long)lent->came->seen);
	return backend_remote_open_terminal(&lent->how->place->host, path, ending_came, &lent->link, err);
}

/* ---- between two connections ---- */

/* The terminal is raw: a line does not begin at its left by itself. */
static void tell_loss(const struct lent *lent, struct warder_error *err)
{
	const bool raw = isatty(STDERR_FILENO);

	if (raw)
		fputs("\r\n", stderr);
	term_complain(
	    "the connection to the terminal was lost (%s) and is made anew; until then, no keys are "
	    "sent, and ctrl-c %s",
	    term_clean(err->text), lent->how->keys ? "detaches, too" : "ends the command");
	if (raw)
		fputc('\r', stderr);
}

/* The keys do not reach the program. Those that detach do so, and ctrl-c is the signal that the terminal does not send. A piece that was typed before
 * the loss still waits for the next connection. */
static void read_keys(struct lent *lent)
{
	char keys[KEYS_SIZE];
	const size_t len = read_input(lent, keys);

	if (memchr(keys, CTRL_C, len))
		raise(SIGINT);
}

static void pause_between(struct lent *lent)
{
	const uint64_t until_us = clock_us() + PAUSE_MS * UINT64_C(1000);
	uint64_t now_us;

	while (!is_over(lent) && (now_us = clock_us()) < until_us) {
		struct pollfd input = { .fd = lent->input_ended ? -1 : STDIN_FILENO, .events = POLLIN };

		if (poll(&input, 1, (int)((until_us - now_us) / 1000) + 1) > 0)
			read_keys(lent);
	}
}

/* One connection, until it is over. False: none was made, or it ended at once. */
static bool use_connection(struct lent *lent, struct warder_error *err)
{
	const uint64_t began_us = clock_us();

	if (reach(lent, err) < 0)
		return false;
	lent->renewer.heard_ms = clock_us() / 1000;
	lent->broken = false;
	follow(lent);
	backend_remote_close_terminal(&lent->link);
	lent->resized = true;
	error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "the connection to the terminal ended");
	return clock_us() - began_us >= PAUSE_MS * UINT64_C(1000);
}

/* Over one connection after the other. A short loss is not reported: the next connection is made at once, the output goes on where it ended, and
 * keys wait in our terminal. Only after the report of a loss are keys thrown away. */
static int follow_to_end(struct lent *lent, struct warder_error *err)
{
	bool told = false;
	int status = 0;

	while (status == 0 && !is_over(lent)) {
		const bool was_used = use_connection(lent, err);

		renewer_hear(&lent->renewer);
		if (err->code != WARDER_ERROR_UNAVAILABLE)
			return -1;
		if (is_over(lent))
			break;
		if (!was_used && !told)
			tell_loss(lent, err);
		told = !was_used;
		status = remote_place_check_hope(lent->how->place, lent->renewer.heard_ms, err);
		if (told && status == 0)
			pause_between(lent);
	}
	return status;
}

int session_remote_terminal(const struct remote_terminal *how, struct remote_came *came, bool *ret_ended,
			    struct warder_error *err)
{
	struct lent lent = { .how = how,
			     .came = came,
			     .output_fd = session_remote_terminal_output(STDOUT_FILENO),
			     .resized = true,
			     .redraws = how->redraws };
	int status = renewer_start(how->place, &lent.renewer, err);

	if (status == 0) {
		terminal_begin(NULL);
		status = follow_to_end(&lent, err);
		terminal_end();
	}
	renewer_end(&lent.renewer);
	fd_done(&lent.output_fd);
	*ret_ended = lent.ended;
	if (lent.failed)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, lent.failed,
				       "the output cannot be written");
	return status;
}
