/*
 * follow: the stream with the output and one request with input at a time, in one loop. A caller that takes no output holds the stream back, and its
 * input passes all the same: no send waits before the end.
 */
#include "remote/follow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "remote/service.h"

#define LOOK_MS       200
#define ANSWER_MS     15000u /* until the host says that the program runs */
#define CLOSE_MS      60000u
#define PAUSE_MS      1000u /* before a request about the input is repeated */
#define TELL_AT       2 /* the caller hears that the end of the input waits, when this many requests have failed */
#define TELL_BYTES_AT 5 /* the same for bytes of the input */
/* Statuses. */
#define CONFLICT  409
#define TOO_LARGE 413
#define TOO_MANY  429

/* ---- to the caller ---- */

/* A message of the stream has at most 4 MiB, and the stream waits while something is held, so that has an end. */
static void give(struct follow *follow, const char *piece, size_t len)
{
	if (!held_add(&follow->held, piece, len))
		error_no_memory(&follow->fault, "backend");
	follow->gone |= !held_send(&follow->held, follow->fd, false);
}

void follow_connect(struct follow *follow)
{
	const struct remote_answer answer = {
		.magic = REMOTE_MAGIC, .size = sizeof(answer), .status = 101, .sent = 1
	};

	if (!follow->connected)
		give(follow, (const char *)&answer, sizeof(answer));
	follow->connected = true;
}

void follow_tell(struct follow *follow, struct json_writer *w)
{
	char piece[REMOTE_PIECE_MAX];
	char *json;

	json_end_object(w);
	json = json_take(w);
	piece[0] = REMOTE_PIECE_TEXT;
	if (json && strlen(json) < sizeof(piece)) {
		memcpy(piece + 1, json, strlen(json));
		give(follow, piece, strlen(json) + 1);
	}
	free(json);
}

void follow_tell_text(struct follow *follow, const char *key, const char *text)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, key, text);
	follow_tell(follow, &w);
}

bool follow_pass(struct follow *follow, int stream, const char *bytes, size_t len)
{
	char piece[REMOTE_PIECE_MAX];

	piece[0] = stream ? REMOTE_PIECE_ERROR : REMOTE_PIECE_BYTES;
	while (len && !follow->gone) {
		const size_t part = len < sizeof(piece) - 1 ? len : sizeof(piece) - 1;

		memcpy(piece + 1, bytes, part);
		give(follow, piece, part + 1);
		bytes += part;
		len -= part;
	}
	return !follow->gone;
}

/* ---- the stream ---- */

static bool take(void *context, const char *bytes, size_t len)
{
	struct follow *follow = context;

	if (follow->kind->answers_first)
		follow_connect(follow);
	follow->lies = follow->kind->take(follow, bytes, len, &follow->fault) < 0;
	follow->heard_us = clock_us();
	return !follow->lies;
}

static bool holds(void *context)
{
	struct follow *follow = context;

	follow->paused = held_any(&follow->held);
	return follow->paused;
}

static struct exchange *begin(struct follow *follow, const struct exchange_order *order)
{
	struct exchange *exchange = exchange_new(order);

	if (!exchange || curl_multi_add_handle(follow->multi, exchange_handle(exchange)) != CURLM_OK)
		error_no_memory(&follow->fault, "backend");
	return exchange;
}

void follow_begin(struct follow *follow, struct exchange_order *order)
{
	order->take = take;
	order->holds = holds;
	order->context = follow;
	follow->multi = curl_multi_init();
	follow->heard_us = clock_us();
	if (follow->multi)
		follow->stream = begin(follow, order);
	else
		error_no_memory(&follow->fault, "backend");
}

/* ---- the input ---- */

/* Bytes; NULL: its end. A program may take its time. */
static void begin_input(struct follow *follow, const char *bytes, size_t len)
{
	struct exchange_order *order = &follow->input_order;

	free(follow->input_body);
	follow->input_body = follow->kind->write_input(follow, bytes, len, order);
	if (!follow->input_body) {
		error_no_memory(&follow->fault, "backend");
		return;
	}
	follow->closes = !bytes;
	follow->repeats = 0;
	order->timeout_ms = bytes ? 0 : CLOSE_MS;
	follow->input = begin(follow, order);
}

/* Whether a request about the input goes on, or is to be repeated. */
static bool has_input(const struct follow *follow)
{
	return follow->input || follow->again_us;
}

/* The same request, after the pause. */
static void repeat_input(struct follow *follow)
{
	if (!follow->again_us || clock_us() < follow->again_us)
		return;
	follow->again_us = 0;
	follow->input = begin(follow, &follow->input_order);
}

static void take_piece(struct follow *follow)
{
	char piece[REMOTE_PIECE_MAX];
	const ssize_t n = recv(follow->fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (n <= 0)
		follow->gone = n == 0 || (errno != EINTR && errno != EAGAIN);
	else if (piece[0] == REMOTE_PIECE_BYTES && n > 1)
		begin_input(follow, piece + 1, (size_t)n - 1);
	else if (piece[0] == REMOTE_PIECE_TEXT)
		begin_input(follow, NULL, 0);
}

static void end_request(struct follow *follow, struct exchange **exchange, CURLcode done,
			struct remote_answer *ret, char **ret_body)
{
	curl_multi_remove_handle(follow->multi, exchange_handle(*exchange));
	exchange_finish(*exchange, done, ret, ret_body);
	*exchange = NULL;
}

/* To close it twice does no harm. */
static bool may_repeat(const struct follow *follow, const struct remote_answer *answer)
{
	return (remote_answer_did_nothing(answer) && (answer->status == TOO_MANY || follow->kind->is_own)) ||
	       (follow->closes && answer->status != TOO_LARGE && service_is_out_of_reach(answer));
}

/* A program that has no input to close does not mind. Bytes that are lost are not sent again: they may have arrived. */
static void end_input(struct follow *follow, CURLcode done)
{
	struct remote_answer answer;
	char message[SERVICE_MESSAGE];
	char *body = NULL;
	const char *word;
	bool again, lost;

	end_request(follow, &follow->input, done, &answer, &body);
	again = may_repeat(follow, &answer);
	if (again) {
		follow->again_us = clock_us() + PAUSE_MS * UINT64_C(1000);
		if (++follow->repeats != (follow->closes ? TELL_AT : TELL_BYTES_AT)) {
			free(body);
			return;
		}
	}
	lost = service_is_out_of_reach(&answer);
	if (lost || (!service_is_good(&answer) && !follow->closes)) {
		service_message(body, answer.bytes, message);
		word = again                                                            ? "inputWaits"
		       : lost                                                           ? "inputLost"
		       : answer.status == CONFLICT && follow->kind->conflict_ends_input ? "inputEnded"
											: "input";
		follow_tell_text(follow, word,
				 message[0] ? message
				 : answer.status
				     ? (lost ? "the host cannot do it now" : "the host refuses it")
				     : answer.error.text);
	}
	free(body);
}

/* ---- the loop ---- */

static void take_ends(struct follow *follow)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(follow->multi, &left))) {
		const CURLcode done = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		if (follow->stream && message->easy_handle == exchange_handle(follow->stream))
			end_request(follow, &follow->stream, done, &follow->end, &follow->end_body);
		else if (follow->input && message->easy_handle == exchange_handle(follow->input))
			end_input(follow, done);
	}
}

/* The head of the answer has come, and perhaps nothing of its body. */
static void look_at_head(struct follow *follow)
{
	long status = 0;

	if (follow->kind->answers_first && follow->stream && !follow->connected &&
	    curl_easy_getinfo(exchange_handle(follow->stream), CURLINFO_RESPONSE_CODE, &status) == CURLE_OK &&
	    status == 200)
		follow_connect(follow);
}

static bool goes_on(struct follow *follow)
{
	const unsigned int most_ms = follow->connected ? follow->kind->silence_ms : ANSWER_MS;

	if (!follow->fault.code && most_ms && clock_us() - follow->heard_us > most_ms * UINT64_C(1000)) {
		error_set(&follow->fault, WARDER_ERROR_UNAVAILABLE, "backend",
			  follow->connected ? "the host has said nothing for %u seconds"
					    : "the host does not answer within %u seconds",
			  most_ms / 1000);
		follow->fault.sys_errno = ETIMEDOUT;
	}
	return follow->stream && !follow->fault.code && !follow->gone && !follow->kind->is_over(follow);
}

/* Wait until something moves. What the caller has for us is read only if no other part of its input is on its way. */
static void wait_and_take(struct follow *follow)
{
	const bool reads = follow->connected && !has_input(follow), held = held_any(&follow->held);
	struct curl_waitfd caller = { .fd = follow->fd,
				      .events = (short)((reads ? CURL_WAIT_POLLIN : 0) |
							(held ? CURL_WAIT_POLLOUT : 0)) };

	curl_multi_poll(follow->multi, &caller, reads || held, LOOK_MS, NULL);
	if (reads && (caller.revents & CURL_WAIT_POLLIN))
		take_piece(follow);
	if (held)
		follow->gone |= !held_send(&follow->held, follow->fd, false);
}

/* The time in which the caller does not take the output is no silence of the host. */
static void go_on(struct follow *follow)
{
	if (!follow->paused)
		return;
	follow->heard_us = clock_us();
	if (held_any(&follow->held))
		return;
	follow->paused = false;
	curl_easy_pause(exchange_handle(follow->stream), CURLPAUSE_CONT);
}

void follow_loop(struct follow *follow)
{
	int running = 0;

	while (goes_on(follow)) {
		curl_multi_perform(follow->multi, &running);
		look_at_head(follow);
		take_ends(follow);
		repeat_input(follow);
		if (follow->stream)
			wait_and_take(follow);
		if (follow->stream)
			go_on(follow);
	}
}

/* ---- the end ---- */

const char *follow_reason(const struct follow *follow)
{
	if (follow->fault.code)
		return follow->fault.text;
	return !follow->stream && !follow->end.status && follow->end.error.code
		   ? follow->end.error.text
		   : "the host ended the answer before the program's end";
}

/* Whether the program may lack a part of the input that the caller has sent. Its end is sent again by the caller. */
static bool lacks_input(const struct follow *follow)
{
	char kind = 0;

	shutdown(follow->fd, SHUT_RD); /* the caller keeps what it sends from here on */
	return (has_input(follow) && !follow->closes) ||
	       (recv(follow->fd, &kind, 1, MSG_DONTWAIT | MSG_PEEK) == 1 && kind == REMOTE_PIECE_BYTES);
}

void follow_tell_loss(struct follow *follow, const char *reason)
{
	if (lacks_input(follow))
		follow_tell_text(follow, "inputLost", reason);
	follow_tell_text(follow, follow->lies ? "fault" : "lost", reason);
}

void follow_done(struct follow *follow)
{
	struct remote_answer ignored;
	char *body = NULL;

	held_send(&follow->held, follow->fd, true);
	if (follow->stream)
		end_request(follow, &follow->stream, CURLE_ABORTED_BY_CALLBACK, &ignored, &body);
	if (follow->input)
		end_request(follow, &follow->input, CURLE_ABORTED_BY_CALLBACK, &ignored, &body);
	free(body);
	curl_multi_cleanup(follow->multi);
	held_done(&follow->held);
	free(follow->input_body);
	free(follow->end_body);
}
