/*
 * follow: the stream with the output and one request with input at a time, in one loop. A caller that takes no output holds the service back.
 *
 * The service tells the output from now on, and once how the program ended. What it told while nobody was connected is lost.
 */
#include "remote/follow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/text.h"
#include "remote/framed.h"
#include "remote/processes.h"
#include "remote/started.h"

#define LOOK_MS    200
#define ANSWER_MS  15000u /* until the service says that the program runs */
#define SILENCE_MS 120000u
#define CLOSE_MS   60000u

struct follow {
	struct call *call;
	int fd;
	uint32_t pid;
	CURLM *multi;
	struct exchange *stream;                     /* owned; NULL: it has ended */
	struct exchange *input;                      /* owned; the request about it that goes on; or NULL */
	char *stream_body, *input_body;              /* owned */
	const char *headers[SERVICE_STREAM_HEADERS]; /* of the stream */
	struct framed framed;
	struct started started;
	struct warder_error fault; /* code 0: none */
	struct remote_answer end;  /* of the stream */
	char *end_body;            /* owned */
	uint64_t heard_us;
	bool lies;   /* the fault is that the service does not follow the protocol */
	bool gone;   /* the caller is */
	bool closes; /* the request about the input is its end */
};

static bool is_connected(const struct follow *follow)
{
	return follow->call->ret->status == 101;
}

/* ---- to the caller ---- */

static void give(struct follow *follow, const char *piece, size_t len)
{
	while (!follow->gone && send(follow->fd, piece, len, MSG_NOSIGNAL) < 0)
		follow->gone = errno != EINTR;
}

/* A JSON object with one text. */
static void tell(struct follow *follow, const char *key, const char *text)
{
	struct json_writer w = { 0 };
	char piece[REMOTE_PIECE_MAX];
	char *json;

	json_begin_object(&w);
	json_key_string(&w, key, text);
	json_end_object(&w);
	json = json_take(&w);
	piece[0] = REMOTE_PIECE_TEXT;
	if (json && strlen(json) < sizeof(piece)) {
		memcpy(piece + 1, json, strlen(json));
		give(follow, piece, strlen(json) + 1);
	}
	free(json);
}

static bool pass(void *context, int stream, const char *bytes, size_t len)
{
	struct follow *follow = context;
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

static void tell_result(struct follow *follow)
{
	struct json_writer w = { 0 };
	char *json;

	json_begin_object(&w);
	started_write(&follow->started, NULL, NULL, &w);
	started_write_receipt(NULL, &w);
	json_end_object(&w);
	json = json_take(&w);
	if (json)
		tell(follow, "result", json);
	free(json);
}

/* ---- the stream ---- */

static int found(void *context, bool last, const char *message, size_t len, struct warder_error *err)
{
	struct follow *follow = context;
	const int status = started_take(&follow->started, last, message, len, err);

	if (status == 0 && follow->started.runs && !is_connected(follow)) {
		struct remote_answer *answer = follow->call->ret;

		*answer = (struct remote_answer){
			.magic = REMOTE_MAGIC, .size = sizeof(*answer), .status = 101, .sent = 1
		};
		give(follow, (const char *)answer, sizeof(*answer));
	}
	return status;
}

/* The time in which the caller does not take the output is no silence of the service. */
static bool take(void *context, const char *bytes, size_t len)
{
	struct follow *follow = context;

	follow->lies = framed_take(&follow->framed, bytes, len, found, follow, &follow->fault) < 0;
	follow->heard_us = clock_us();
	return !follow->lies;
}

static struct exchange *begin(struct follow *follow, const struct exchange_order *order)
{
	struct exchange *exchange = exchange_new(order);

	if (!exchange || curl_multi_add_handle(follow->multi, exchange_handle(exchange)) != CURLM_OK)
		error_no_memory(&follow->fault, "backend");
	return exchange;
}

static void begin_stream(struct follow *follow)
{
	struct exchange_order order = { .path = "/process.Process/Connect", .take = take, .context = follow };

	follow->multi = curl_multi_init();
	follow->stream_body = framed_write(processes_body(follow->pid, NULL, NULL), &order.body_len);
	if (!follow->multi || !follow->stream_body) {
		error_no_memory(&follow->fault, "backend");
		return;
	}
	order.body = follow->stream_body;
	service_stream(follow->call->service, NULL, follow->headers, &order);
	follow->heard_us = clock_us();
	follow->stream = begin(follow, &order);
}

/* ---- the input ---- */

/* Bytes; NULL: its end. */
static void begin_input(struct follow *follow, const char *bytes, size_t len)
{
	char *encoded = bytes ? text_base64(bytes, len) : NULL;
	struct exchange_order order;

	free(follow->input_body);
	follow->input_body = bytes && !encoded ? NULL : processes_body(follow->pid, NULL, encoded);
	free(encoded);
	if (!follow->input_body) {
		error_no_memory(&follow->fault, "backend");
		return;
	}
	follow->closes = !bytes;
	service_plain(follow->call->service, bytes ? PROCESSES_INPUT : PROCESSES_CLOSE, follow->input_body,
		      &order);
	order.timeout_ms = bytes ? 0 : CLOSE_MS; /* a program may take its time */
	follow->input = begin(follow, &order);
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

/* A program that has no input to close does not mind. What is lost is not sent again: it may have arrived. */
static void end_input(struct follow *follow, CURLcode done)
{
	struct remote_answer answer;
	char message[SERVICE_MESSAGE];
	char *body = NULL;
	bool lost;

	end_request(follow, &follow->input, done, &answer, &body);
	lost = service_is_out_of_reach(&answer);
	if (lost || (!service_is_good(&answer) && !follow->closes)) {
		service_message(body, answer.bytes, message);
		tell(follow, lost ? "inputLost" : "input",
		     message[0]      ? message
		     : answer.status ? (lost ? "the service cannot do it now" : "the service refuses it")
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

static bool goes_on(struct follow *follow)
{
	const struct started *started = &follow->started;
	const bool connected = is_connected(follow);

	if (!follow->fault.code &&
	    clock_us() - follow->heard_us > (connected ? SILENCE_MS : ANSWER_MS) * UINT64_C(1000))
		error_set(&follow->fault, WARDER_ERROR_UNAVAILABLE, "backend",
			  connected ? "the host has said nothing for 2 minutes" : "the host does not answer");
	return follow->stream && !follow->fault.code && !follow->gone && !started->ended && !started->over;
}

static void loop(struct follow *follow)
{
	int running = 0;

	while (goes_on(follow)) {
		const bool reads = is_connected(follow) && !follow->input;
		struct curl_waitfd caller = { .fd = follow->fd, .events = CURL_WAIT_POLLIN };

		curl_multi_perform(follow->multi, &running);
		take_ends(follow);
		if (follow->stream)
			curl_multi_poll(follow->multi, &caller, reads && !follow->input, LOOK_MS, NULL);
		if (caller.revents && !follow->input)
			take_piece(follow);
	}
}

/* ---- the end ---- */

/* Why the stream is over, where the program has not ended. */
static const char *reason_of(const struct follow *follow)
{
	if (follow->fault.code)
		return follow->fault.text;
	if (follow->started.refusal[0])
		return follow->started.refusal;
	return !follow->stream && !follow->end.status && follow->end.error.code
		   ? follow->end.error.text
		   : "the host ended the answer before the program's end";
}

/* There was no program to follow. */
static void refuse(struct follow *follow)
{
	struct call *call = follow->call;
	struct warder_error err = { 0 };

	if (!follow->stream && !follow->fault.code && follow->end.status != 200) {
		call_pass_refusal(call, &follow->end, follow->end_body, "execution");
	} else if (follow->started.unknown) {
		call_refuse(call, 404, WARDER_ERROR_NOT_FOUND, "execution", "%s", follow->started.refusal);
	} else {
		error_set(&err, WARDER_ERROR_UNAVAILABLE, "backend", "%s", reason_of(follow));
		call_put_error(call, &err);
	}
}

static void done(struct follow *follow)
{
	struct remote_answer ignored;
	char *body = NULL;

	if (follow->stream)
		end_request(follow, &follow->stream, CURLE_ABORTED_BY_CALLBACK, &ignored, &body);
	if (follow->input)
		end_request(follow, &follow->input, CURLE_ABORTED_BY_CALLBACK, &ignored, &body);
	free(body);
	curl_multi_cleanup(follow->multi);
	framed_done(&follow->framed);
	started_done(&follow->started);
	free(follow->stream_body);
	free(follow->input_body);
	free(follow->end_body);
}

void follow_run(struct call *call, int fd)
{
	struct follow follow = { .call = call, .fd = fd };

	if (!processes_pid(call, &follow.pid) || !call_open_sandbox(call))
		return;
	follow.started.pass = pass;
	follow.started.context = &follow;
	begin_stream(&follow);
	loop(&follow);
	if (!is_connected(&follow))
		refuse(&follow);
	else if (follow.started.ended)
		tell_result(&follow);
	else
		tell(&follow, follow.lies ? "fault" : "lost", reason_of(&follow));
	done(&follow);
}
