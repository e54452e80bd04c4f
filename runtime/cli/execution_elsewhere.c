/*
 * execution_elsewhere: neither direction waits for the other here: input is sent while nobody reads the output.
 *
 * A host of the kind warder stores output and results: another connection goes on at the byte where the last one ended. A service of the kind e2b stores
 * nothing. What a program writes while a connection is made anew does not come, or comes once more from a service that does store it; that is said. If the
 * program ends in that time, its end is not known.
 */
#include "runtime/cli/execution_elsewhere.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/executions.h"
#include "runtime/cli/remote_request.h"
#include "runtime/cli/remote_result.h"
#include "runtime/cli/renewer.h"
#include "runtime/cli/session_remote_terminal.h"
#include "runtime/cli/term.h"
#include "runtime/library/reported.h"

#define LOOK_MS   200
#define PAUSE_MS  1000  /* before another connection */
#define SHORT_MS  10000 /* a connection that was lost this soon was none */
#define SHORT_MAX 5     /* of them in turn */

struct following {
	const struct execution_elsewhere *how;
	struct backend_remote_terminal link;
	struct renewer renewer;
	int output_fd, error_fd;
	int shown_fd;                  /* the one that the output is for */
	char output[REMOTE_PIECE_MAX]; /* that is to be shown */
	size_t output_at, output_len;
	char input[4096]; /* a piece that is to be sent */
	size_t input_len;
	bool input_ended;           /* ours, or the program takes no more */
	bool refused;               /* the latter, and that was said */
	bool sent;                  /* a part of it went over this connection */
	bool closed;                /* this connection takes no more of it */
	bool told;                  /* by the other end: how this connection was lost */
	bool ended;                 /* the program has; the result has to be asked for */
	bool moved;                 /* over this connection, something came */
	char why[300];              /* the connection was lost; or "" */
	int failed;                 /* errno of standard output or error */
	struct remote_came came[2]; /* of a host of the kind warder */
	struct warder_result *result;
	struct warder_error fault; /* code 0: none */
};

/* ---- input ---- */

static void close_input(struct following *following)
{
	following->input_ended = true;
	if (following->how->keeps_input)
		return;
	following->input_len = (size_t)snprintf(following->input, sizeof(following->input),
						"%c{\"close\": true}", REMOTE_PIECE_TEXT);
}

static void read_input(struct following *following)
{
	const ssize_t n = read(STDIN_FILENO, following->input + 1, sizeof(following->input) - 1);

	if (n > 0) {
		following->input[0] = REMOTE_PIECE_BYTES;
		following->input_len = (size_t)n + 1;
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		close_input(following);
	}
}

/* That the connection is over is seen when the last of the output has been read. What it does not take is for the next one. */
static void send_input(struct following *following)
{
	const ssize_t n =
	    send(following->link.fd, following->input, following->input_len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0) {
		following->closed = errno != EAGAIN && errno != EINTR;
		return;
	}
	following->sent |= following->input[0] == REMOTE_PIECE_BYTES;
	following->input_len = 0;
}

/* The program reads no more, and does not mind. */
static void end_input(struct following *following)
{
	following->refused = following->input_ended = true;
	following->input_len = 0;
}

static void refuse_input(struct following *following, const char *why)
{
	char text[300];

	snprintf(text, sizeof(text), "%s", why);
	if (!following->refused)
		term_complain("%s takes no input: %s", following->how->name->text, term_clean(text));
	end_input(following);
}

/* Nothing of it is lost yet. */
static void tell_input_waits(const struct following *following, const char *why)
{
	char text[300];

	snprintf(text, sizeof(text), "%s", why);
	term_complain("input of %s, or its end, cannot be sent at present (%s); Warder tries again",
		      following->how->name->text, term_clean(text));
}

/* The rest of it goes on. */
static void tell_input_lost(struct following *following, const char *why)
{
	char text[300];

	snprintf(text, sizeof(text), "%s", why);
	term_complain("input of %s may be missing, or its end: %s", following->how->name->text,
		      term_clean(text));
}

/* ---- output ---- */

static void show_output(struct following *following)
{
	const ssize_t n = write(following->shown_fd, following->output + following->output_at,
				following->output_len - following->output_at);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		following->failed = errno;
	following->output_at += n > 0 ? (size_t)n : 0;
	if (following->output_at == following->output_len)
		following->output_at = following->output_len = 0;
}

static void take_gap(struct following *following, const struct json_value *document)
{
	const struct execution_reader *reader = following->how->reader;
	const enum warder_stream stream =
	    strcmp(json_member_text(document, "gap", ""), "stderr") == 0 ? WARDER_STDERR : WARDER_STDOUT;
	struct remote_came *came = &following->came[stream];
	const uint64_t from = came->seen, to = json_member_uint(document, "to");

	if (to <= from)
		return;
	remote_came_skip(came, to);
	if (reader)
		reader->gap(reader->context, stream, from, to);
	else if (following->how->output)
		executions_tell_gap(stream, from, to);
}

static void take_loss(struct following *following, const char *why)
{
	following->told = true;
	snprintf(following->why, sizeof(following->why), "%s", why);
}

static void take_text(struct following *following, const char *text, size_t len)
{
	const char *label = following->how->place->session.backend;
	struct json_value *document = NULL;
	struct warder_error ignored;
	const char *result, *fault, *input, *waits, *lost;

	if (json_parse(text, len, "execution", NULL, &document, &ignored) < 0)
		return;
	result = json_member_text(document, "result", NULL);
	fault = json_member_text(document, "fault", NULL);
	input = json_member_text(document, "input", NULL);
	waits = json_member_text(document, "inputWaits", NULL);
	lost = json_member_text(document, "inputLost", NULL);
	if (result)
		reported_read(result, strlen(result), label, false, &following->result, &following->fault);
	else if (fault)
		error_set(&following->fault, WARDER_ERROR_UNAVAILABLE, "backend",
			  "%s: %.300s; what the program does is not known, and it may still run", label,
			  fault);
	else if (input)
		refuse_input(following, input);
	else if (json_member(document, "inputEnded"))
		end_input(following);
	else if (json_member(document, "gap"))
		take_gap(following, document);
	else if (json_member_true(document, "ended"))
		following->ended = true;
	else if (waits)
		tell_input_waits(following, waits);
	else if (lost)
		tell_input_lost(following, lost);
	else
		take_loss(following, json_member_text(document, "lost", ""));
	json_free(document);
}

static void take_output(struct following *following, enum warder_stream stream, const char *bytes, size_t len)
{
	const struct execution_reader *reader = following->how->reader;
	struct remote_came *came = &following->came[stream];

	following->moved = true;
	if (reader) {
		following->failed = reader->output(reader->context, stream, came->seen, bytes, len);
	} else if (following->how->output) {
		following->shown_fd = stream == WARDER_STDERR ? following->error_fd : following->output_fd;
		following->output_len = len;
		memcpy(following->output, bytes, len);
	}
	if (!reader && !following->how->place->host.e2b)
		remote_came_add(came, bytes, len);
	else
		came->seen += len;
}

/* False: the connection is over. If the other end closes before it has taken all input, that is reported once, and what it sent comes after that. */
static bool take_piece(struct following *following)
{
	char piece[REMOTE_PIECE_MAX];
	const ssize_t n = recv(following->link.fd, piece, sizeof(piece), 0);

	if (n <= 0)
		return n < 0 && (errno == EINTR || errno == ECONNRESET);
	following->renewer.heard_ms = clock_us() / 1000;
	if (piece[0] == REMOTE_PIECE_TEXT)
		take_text(following, piece + 1, (size_t)n - 1);
	else
		take_output(following, piece[0] == REMOTE_PIECE_ERROR ? WARDER_STDERR : WARDER_STDOUT,
			    piece + 1, (size_t)n - 1);
	return true;
}

/* ---- one connection ---- */

static bool has_enough(const struct following *following)
{
	const struct execution_reader *reader = following->how->reader;

	return reader && reader->is_enough(reader->context);
}

static bool is_over(const struct following *following)
{
	return following->result || following->ended || following->fault.code || following->failed ||
	       ending_signal() || has_enough(following);
}

/* One piece of each direction is on its way at a time. False: the connection is over. */
static bool move(struct following *following)
{
	const bool shows = following->output_len > 0, waits = following->input_len > 0;
	const bool sends = waits && !following->closed;
	const bool reads = following->how->input && !following->input_ended && !waits;
	struct pollfd ready[] = {
		{ .fd = following->link.fd, .events = (short)((shows ? 0 : POLLIN) | (sends ? POLLOUT : 0)) },
		{ .fd = reads ? STDIN_FILENO : -1, .events = POLLIN },
		{ .fd = shows ? following->shown_fd : -1, .events = POLLOUT },
		{ .fd = following->renewer.fd, .events = POLLIN },
	};

	if (shows && !sends)
		ready[0].fd = -1;
	poll(ready, 4, following->how->reader ? following->how->reader->look_ms : LOOK_MS);
	if (ready[3].revents)
		renewer_hear(&following->renewer);
	if (ready[1].revents)
		read_input(following);
	if (following->input_len && !following->closed)
		send_input(following);
	if (ready[2].revents)
		show_output(following);
	return shows || !(ready[0].revents & ~POLLOUT) || take_piece(following);
}

/* A connection to a host that is gone may stay open for long. The renewals of the lease go to the same host, unless it is of the kind e2b; one of them may
 * take the time of a question. */
static void check_hope(struct following *following)
{
	const struct remote_place *place = following->how->place;
	const uint64_t silent_ms = clock_us() / 1000 - following->renewer.heard_ms;
	struct warder_error err = { 0 };

	if (place->host.e2b || is_over(following) ||
	    silent_ms <= place->session.lease_ms + REMOTE_QUESTION_MS)
		return;
	error_set(&err, WARDER_ERROR_UNAVAILABLE, "backend", "%s is silent; the program may still run",
		  place->session.backend);
	if (remote_place_check_hope(place, following->renewer.heard_ms, &err) < 0)
		following->fault = err;
}

/* The last output before the end of the program, or of the connection, is shown, too. */
static void move_all(struct following *following)
{
	bool good = true;

	following->sent = following->closed = following->told = false;
	snprintf(following->why, sizeof(following->why), "warder-remote ended");
	while (good && !is_over(following)) {
		good = move(following);
		check_hope(following);
	}
	while (following->output_len && !following->failed && !ending_signal()) {
		struct pollfd ready = { .fd = following->shown_fd, .events = POLLOUT };

		if (poll(&ready, 1, LOOK_MS) > 0)
			show_output(following);
	}
}

static int reach(struct following *following, struct warder_error *err)
{
	const struct remote_place *place = following->how->place;
	char path[320], offsets[64] = "";

	if (!place->host.e2b)
		snprintf(offsets, sizeof(offsets), "?stdout=%llu&stderr=%llu",
			 (unsigned long long)following->came[0].seen,
			 (unsigned long long)following->came[1].seen);
	snprintf(path, sizeof(path), "/v1/sandboxes/%s/executions/%s/%s%s", place->session.sandbox,
		 following->how->name->id, place->host.e2b ? "follow" : "output", offsets);
	following->moved = false;
	return backend_remote_open_output(&place->host, path, ending_came, &following->link, err);
}

/* ---- all of them ---- */

static bool is_unknown(const struct following *following, const struct warder_error *err)
{
	return err->code == WARDER_ERROR_NOT_FOUND &&
	       strcmp(err->field, following->how->place->host.e2b ? "execution" : "id") == 0;
}

/* The service does not know the program any more. */
static int take_unknown(struct following *following, struct warder_error *err)
{
	const struct execution_name *name = following->how->name;
	char text[300];

	snprintf(text, sizeof(text),
		 "%s ended while the connection to it was lost; whether it succeeded is not known",
		 name->text);
	following->result = reported_lost(following->how->place->session.backend, text);
	return following->result ? 0 : error_no_memory(err, NULL);
}

static void tell_loss(struct following *following)
{
	term_complain("the connection to %s was lost (%s) and is made anew%s", following->how->name->text,
		      term_clean(following->why),
		      following->how->output && following->how->place->host.e2b
			  ? ": output may be missing here, or come again"
			  : "");
}

/* Connect again. The renewer may talk to another host than the one with the stream, so its answers do not show that the stream's host lives. */
static int reach_again(struct following *following, struct warder_error *err)
{
	const uint64_t lost_ms = clock_us() / 1000;
	/* On a host of the kind warder, a short loss is nothing to the user: the output goes on where it ended. */
	bool told = following->how->place->host.e2b;

	/* If the other end told nothing, it died, and nobody knows which input arrived. */
	if (following->sent && !following->told)
		tell_input_lost(following, following->why);
	if (told)
		tell_loss(following);
	while (!is_over(following)) {
		poll(NULL, 0, PAUSE_MS);
		renewer_hear(&following->renewer);
		if (reach(following, err) == 0)
			return 0;
		if (!told)
			tell_loss(following);
		told = true;
		if (is_unknown(following, err))
			return take_unknown(following, err);
		if (err->code != WARDER_ERROR_UNAVAILABLE ||
		    remote_place_check_hope(following->how->place, lost_ms, err) < 0)
			return -1;
	}
	return 0;
}

/* The first connection. */
static int reach_first(struct following *following, struct warder_error *err)
{
	unsigned int times = 0;

	while (reach(following, err) < 0) {
		if (!remote_place_waits(following->how->place, &times, err))
			return -1;
		renewer_hear(&following->renewer);
	}
	return 0;
}

static int follow_to_end(struct following *following, struct warder_error *err)
{
	unsigned int count = 0;
	int status = reach_first(following, err);

	while (status == 0 && !is_over(following)) {
		const uint64_t begun_ms = clock_us() / 1000;

		move_all(following);
		backend_remote_close_terminal(&following->link);
		if (is_over(following))
			break;
		if (following->moved && !following->how->place->host.e2b)
			count = 0;
		else
			count = clock_us() / 1000 - begun_ms < SHORT_MS ? count + 1 : 0;
		if (count == SHORT_MAX)
			return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
					 "the connection to %s is lost again and again (%s); the program may "
					 "still run",
					 following->how->name->text, term_clean(following->why));
		status = reach_again(following, err);
		if (following->input_ended && !following->refused) /* it may not have arrived */
			close_input(following);
	}
	backend_remote_close_terminal(&following->link);
	return status;
}

/* The signed result, compared with what came. As execution_elsewhere_follow(). */
static int take_result(struct following *following, struct warder_error *err)
{
	const struct execution_elsewhere *how = following->how;
	const struct remote_waiting waiting = { .place = how->place,
						.execution = how->name->id,
						.leaves = true };
	const int status = remote_result_of_shown(&waiting, following->came, true, &following->result, err);

	if (status >= 0 || err->code != WARDER_ERROR_UNAVAILABLE)
		return status < 0 ? -1 : status == 0;
	following->result = remote_request_lost(how->place->session.backend, err);
	return following->result ? 1 : -1;
}

/* As execution_elsewhere_follow(). */
static int conclude(struct following *following, int status, struct warder_error *err)
{
	if (following->result)
		return 1;
	if (following->failed)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, following->failed,
				       "the output cannot be written");
	if (following->fault.code)
		*err = following->fault;
	if (following->fault.code || status < 0)
		return following->fault.code || !ending_signal() ? -1 : 0;
	if (!following->ended || ending_signal())
		return 0;
	return following->how->reader ? 1 : take_result(following, err);
}

int execution_elsewhere_follow(const struct execution_elsewhere *how, struct warder_result **ret,
			       struct warder_error *err)
{
	struct following following = { .how = how,
				       .link = { .fd = -1 },
				       .output_fd = session_remote_terminal_output(STDOUT_FILENO),
				       .error_fd = session_remote_terminal_output(STDERR_FILENO) };
	int status = renewer_start(how->place, &following.renewer, err);

	for (int i = 0; i < 2; i++)
		remote_came_init(&following.came[i], how->from[i]);
	if (status == 0)
		status = follow_to_end(&following, err);
	renewer_end(&following.renewer);
	fd_done(&following.output_fd);
	fd_done(&following.error_fd);
	status = conclude(&following, status, err);
	for (int i = 0; i < 2; i++)
		remote_came_done(&following.came[i]);
	*ret = following.result;
	return status;
}
