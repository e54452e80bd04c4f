/*
 * remote_result: each request waits for the result as long as the lease leaves time, and the next one goes on waiting.
 *
 * So a host may restart meanwhile. One that is busy, or ends each connection although it answers other requests, is given up after a while.
 */
#include "runtime/cli/remote_result.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sse.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/term.h"

#define BUSY_MS  120000 /* in which a host that is busy, or ends connections, is asked again */
#define AGAIN_MS 1000   /* between two of these requests */

static void send_signal(const struct remote_place *place, const char *execution, int number)
{
	struct warder_error ignored;
	char rest[160], body[40];
	struct remote_asking how = { .body = body, .unstoppable = true };

	snprintf(rest, sizeof(rest), "/executions/%s/signal", execution);
	snprintf(body, sizeof(body), "{\"signal\": %d}", number);
	remote_place_ask(place, rest, &how, NULL, NULL, &ignored);
}

struct state {
	uint64_t heard_ms; /* when the host last answered anything */
	uint64_t kill_ms;  /* after a signal: when SIGKILL follows */
	uint64_t busy_ms;  /* since when it has answered, but not this request; 0: it has not */
	int signals;       /* sent to the program */
};

static uint64_t now_ms(void)
{
	return clock_us() / 1000;
}

static uint64_t poll_ms(const struct remote_place *place, const struct state *state)
{
	const uint64_t most = remote_place_poll_ms(place), now = now_ms();

	if (state->signals != 1 || state->kill_ms > now + most)
		return most;
	return state->kill_ms > now ? state->kill_ms - now : 1;
}

/* 502 and 504 are those of a proxy whose host restarts or is slow. */
static bool is_busy(unsigned int status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

/* Whether the request may succeed later. If the host is busy, or a connection was lost, wait a little before that. heard: it answers other requests. */
static bool may_repeat(struct state *state, const struct remote_asking *how, bool heard,
		       const struct warder_error *err)
{
	const bool busy = is_busy(how->status);

	if (!busy && (!remote_place_is_lost(err) || state->signals == 2))
		return false;
	if (err->sys_errno == ETIMEDOUT || !(busy || heard))
		state->busy_ms = 0;
	else if (!state->busy_ms)
		state->busy_ms = now_ms();
	if (err->sys_errno != ETIMEDOUT)
		poll(NULL, 0, AGAIN_MS);
	return !state->busy_ms || now_ms() - state->busy_ms < BUSY_MS;
}

int remote_result_wait(const struct remote_waiting *waiting, char **ret, size_t *ret_len,
		       struct warder_error *err)
{
	const struct remote_place *place = waiting->place;
	struct state state = { .heard_ms = now_ms() };
	char rest[160], nonce[REMOTE_ID_LENGTH + 1], claim[160];
	struct remote_asking how = { .signs = "execution", .nonce = claim };

	if (remote_draw_id(nonce, err) < 0)
		return -1;
	snprintf(rest, sizeof(rest), "/executions/%s?wait=1&nonce=%s", waiting->execution, nonce);
	snprintf(claim, sizeof(claim), "%s %s %s", place->session.sandbox, waiting->execution, nonce);
	for (;;) {
		const bool heard = remote_place_renew(place);

		if (heard)
			state.heard_ms = now_ms();
		how.timeout_ms = poll_ms(place, &state);
		how.unstoppable = state.signals > 0;
		if (remote_place_ask(place, rest, &how, ret, ret_len, err) == 0)
			return 0;
		if (ending_signal() && waiting->leaves)
			return 1;
		if (!state.signals && ending_signal()) {
			send_signal(place, waiting->execution, ending_signal());
			state.signals = 1;
			state.kill_ms = now_ms() + waiting->grace_us / 1000;
		} else if (!may_repeat(&state, &how, heard, err)) {
			return -1;
		} else if (state.signals && now_ms() >= state.kill_ms) {
			send_signal(place, waiting->execution, SIGKILL);
			state.signals = 2;
		} else if (remote_place_check_hope(place, state.heard_ms, err) < 0) {
			return -1;
		}
	}
}

/* The output as it comes. */
struct output {
	struct reported_streams *streams;
	uint64_t from[2];          /* offset of the first byte */
	struct warder_error fault; /* code 0: all of it is there */
};

static void append(struct output *output, int stream, const char *bytes, size_t len)
{
	struct reported_streams *to = output->streams;
	char *grown = realloc(to->bytes[stream], to->len[stream] + len + 1);

	if (!grown) {
		error_no_memory(&output->fault, "backend");
		return;
	}
	memcpy(grown + to->len[stream], bytes, len);
	to->bytes[stream] = grown;
	to->len[stream] += len;
	grown[to->len[stream]] = '\0';
}

/* After a fault, nothing more is kept: the output would have a hole. */
static void take_event(void *context, const char *name, const struct json_value *data)
{
	struct output *output = context;
	const int stream = sse_stream(data);
	size_t len = 0;
	char *bytes;

	if (output->fault.code || strcmp(name, "output") != 0)
		return;
	bytes = sse_bytes(data, &len);
	if (!bytes) {
		error_set(&output->fault, WARDER_ERROR_UNAVAILABLE, "backend",
			  "an event of output has no valid bytes, or no memory is left for them");
		return;
	}
	if (!output->streams->len[stream])
		output->from[stream] = json_member_uint(data, "offset");
	append(output, stream, bytes, len);
	free(bytes);
}

void remote_result_fetch_output(const struct remote_place *place, const char *execution,
				struct reported_streams *to)
{
	struct remote_asking how = { .large = true,
				     .timeout_ms = 4 * REMOTE_QUESTION_MS,
				     .unstoppable = true };
	struct output output = { .streams = to };
	struct warder_error err = { 0 };
	char *text = NULL;
	char rest[160];
	size_t len = 0;

	snprintf(rest, sizeof(rest), "/executions/%s/output?stdout=0&stderr=0", execution);
	if (remote_place_ask(place, rest, &how, &text, &len, &err) == 0 &&
	    sse_each(text, len, take_event, &output, &err) == 0)
		err = output.fault;
	if (!err.code) {
		reported_count(to, output.from);
	} else {
		to->lost = true;
		term_complain("the program has ended, but its output did not arrive: %s", err.text);
	}
	free(text);
}

int remote_result_of_shown(const struct remote_waiting *waiting, struct remote_came came[2], bool known,
			   struct warder_result **ret, struct warder_error *err)
{
	struct reported_streams none = { 0 };
	char *result = NULL;
	size_t len = 0;
	int status = remote_result_wait(waiting, &result, &len, err);

	for (int i = 0; i < 2; i++)
		remote_came_tell(&came[i], known, &none.came[i]);
	if (status == 0)
		status = reported_read_beside(result, len, waiting->place->session.backend, &none, ret, err);
	free(result);
	if (status != 0)
		return status;
	(*ret)->streamed = true;
	for (int i = 0; i < 2; i++) {
		(*ret)->passed[i] = came[i].seen - came[i].lost;
		(*ret)->outcome.dropped[i] = came[i].lost;
		(*ret)->outcome.output[i].truncated = (*ret)->outcome.output[i].total > (*ret)->passed[i];
	}
	return 0;
}

int remote_result_collect(const struct remote_waiting *waiting, struct warder_result **ret,
			  struct warder_error *err)
{
	struct reported_streams streams = { 0 };
	char *result = NULL;
	size_t len = 0;
	int status = remote_result_wait(waiting, &result, &len, err);

	if (status == 0) {
		remote_result_fetch_output(waiting->place, waiting->execution, &streams);
		status =
		    reported_read_beside(result, len, waiting->place->session.backend, &streams, ret, err);
	}
	free(streams.bytes[0]);
	free(streams.bytes[1]);
	free(result);
	return status;
}
