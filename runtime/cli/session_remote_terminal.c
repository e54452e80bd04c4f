/*
 * session_remote_terminal: a connection carries keys there, and the output here. If it ends before the program does, another one goes on where it
 * ended: the host stores the last of the output.
 */
#include "runtime/cli/session_remote_terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/executions.h"
#include "runtime/cli/term.h"
#include "runtime/cli/terminal.h"

#define LOOK_MS  200
#define PAUSE_MS 1000 /* before another connection */

struct lent {
	const struct remote_place *place;
	const char *execution;
	struct backend_remote_terminal link;
	uint64_t seen; /* bytes of the output, with those that were lost */
	uint64_t heard_ms, renewed_ms;
	bool resized;     /* the program is to have the size of our terminal */
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

/* That the connection is over is seen when the last of the output has been read. */
static void send_piece(const struct lent *lent, const char *piece, size_t len)
{
	send(lent->link.fd, piece, len, MSG_NOSIGNAL);
}

static void send_size(struct lent *lent)
{
	unsigned int rows, columns;
	char piece[64] = { REMOTE_PIECE_TEXT };

	session_remote_terminal_size(&rows, &columns);
	snprintf(piece + 1, sizeof(piece) - 1, "{\"rows\": %u, \"columns\": %u}", rows, columns);
	lent->resized = false;
	send_piece(lent, piece, strlen(piece));
}

static void send_input(struct lent *lent)
{
	char piece[4096] = { REMOTE_PIECE_BYTES };
	const ssize_t n = read(STDIN_FILENO, piece + 1, sizeof(piece) - 1);

	lent->input_ended = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
	if (n > 0)
		send_piece(lent, piece, (size_t)n + 1);
}

/* ---- here ---- */

static void take_text(struct lent *lent, const char *text, size_t len)
{
	struct json_value *document = NULL;
	struct warder_error ignored;
	const struct json_value *gap, *to;

	if (json_parse(text, len, "terminal", NULL, &document, &ignored) < 0)
		return;
	gap = document->type == JSON_OBJECT ? json_member(document, "gap") : NULL;
	to = gap && gap->type == JSON_OBJECT ? json_member(gap, "to") : NULL;
	if (to && to->is_uint && to->uint > lent->seen)
		lent->seen = to->uint;
	lent->ended = document->type == JSON_OBJECT && json_member(document, "end");
	json_free(document);
}

/* False: the connection is over. */
static bool take_piece(struct lent *lent)
{
	char piece[REMOTE_PIECE_MAX];
	const ssize_t n = recv(lent->link.fd, piece, sizeof(piece), 0);

	if (n <= 0)
		return n < 0 && errno == EINTR;
	lent->heard_ms = clock_us() / 1000;
	if (piece[0] == REMOTE_PIECE_TEXT) {
		take_text(lent, piece + 1, (size_t)n - 1);
	} else {
		lent->seen += (uint64_t)n - 1;
		if (executions_write(WARDER_STDOUT, piece + 1, (size_t)n - 1) < 0)
			lent->failed = errno;
	}
	return true;
}

/* Until the program ends, or we are to, or the connection is over. */
static void follow(struct lent *lent)
{
	bool good = true;

	while (good && !lent->ended && !lent->failed && !ending_signal()) {
		struct pollfd ready[] = {
			{ .fd = lent->link.fd, .events = POLLIN },
			{ .fd = lent->input_ended ? -1 : STDIN_FILENO, .events = POLLIN },
		};
		const int count = poll(ready, 2, LOOK_MS);

		lent->resized |= terminal_size_changed();
		remote_place_keep(lent->place, &lent->renewed_ms);
		if (lent->resized)
			send_size(lent);
		if (count > 0 && ready[1].revents)
			send_input(lent);
		if (count > 0 && ready[0].revents)
			good = take_piece(lent);
	}
}

static int reach(struct lent *lent, struct warder_error *err)
{
	char path[256];

	snprintf(path, sizeof(path), "/v1/sandboxes/%s/executions/%s/terminal?stdout=%llu",
		 lent->place->session.sandbox, lent->execution, (unsigned long long)lent->seen);
	return backend_remote_open_terminal(&lent->place->host, path, ending_came, &lent->link, err);
}

int session_remote_terminal(const struct remote_place *place, const char *execution, uint64_t *ret_seen,
			    struct warder_error *err)
{
	struct lent lent = { .place = place,
			     .execution = execution,
			     .heard_ms = clock_us() / 1000,
			     .renewed_ms = clock_us() / 1000,
			     .resized = true };
	int status = 0;

	terminal_begin(NULL);
	while (status == 0 && !lent.ended && !lent.failed && !ending_signal()) {
		if (reach(&lent, err) == 0) {
			lent.heard_ms = clock_us() / 1000;
			follow(&lent);
			backend_remote_close_terminal(&lent.link);
			lent.resized = true;
			error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
				  "the connection to the terminal ended");
		} else if (err->code != WARDER_ERROR_UNAVAILABLE) {
			status = -1;
		}
		if (status == 0 && !lent.ended && !lent.failed && !ending_signal()) {
			status = remote_place_check_hope(place, lent.heard_ms, err);
			poll(NULL, 0, PAUSE_MS);
		}
	}
	terminal_end();
	*ret_seen = lent.seen;
	if (lent.failed)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, lent.failed,
				       "the output cannot be written");
	return status;
}
