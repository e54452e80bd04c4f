/*
 * follow_host: each event says where its bytes stand in their stream, and the next one begins where it ends, unless the host says that a part is gone. A
 * host that leaves something out, or repeats it, does not follow the protocol. Nor does one that sends an event of more than EVENT_MAX bytes: this is all
 * that is kept of a stream that is not decoded. Decoded output that the caller does not take waits in follow.c, and the stream with it.
 */
#include "remote/follow_host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/sse.h"
#include "remote/follow.h"

#define EVENT_MAX ((size_t)1 << 20) /* bytes of one */
#define OUTPUT    "/output?stdout="

static const char *const names[] = { "stdout", "stderr" };

struct host {
	const struct exchange_order *order;
	struct follow *follow;
	uint64_t next[2]; /* offset of the next byte of each stream */
	struct sse sse;
	char input_path[512]; /* of a request with input */
	bool ended;
	struct warder_error *err; /* of the bytes that are being taken */
	bool lies;
};

/* ---- events ---- */

static void say_lie(struct host *host, int stream, uint64_t offset)
{
	host->lies = true;
	error_set(host->err, WARDER_ERROR_UNAVAILABLE, "backend",
		  "the host goes on at byte %" PRIu64 " of %s, where byte %" PRIu64 " must follow", offset,
		  names[stream], host->next[stream]);
}

static void take_output(struct host *host, const struct json_value *data)
{
	const struct json_value *offset = json_member(data, "offset");
	const int stream = sse_stream(data);
	size_t len = 0;
	char *bytes = sse_bytes(data, &len);

	if (!bytes || !offset || !offset->is_uint) {
		host->lies = true;
		error_set(host->err, WARDER_ERROR_UNAVAILABLE, "backend",
			  "the host sends an event of output without valid bytes and offset");
	} else if (offset->uint != host->next[stream]) {
		say_lie(host, stream, offset->uint);
	} else {
		host->next[stream] += len;
		follow_pass(host->follow, stream, bytes, len);
	}
	free(bytes);
}

static void take_gap(struct host *host, const struct json_value *data)
{
	const struct json_value *from = json_member(data, "from"), *to = json_member(data, "to");
	const int stream = sse_stream(data);
	struct json_writer w = { 0 };

	if (!from || !to || !from->is_uint || !to->is_uint || from->uint != host->next[stream] ||
	    to->uint <= from->uint) {
		say_lie(host, stream, to && to->is_uint ? to->uint : 0);
		return;
	}
	host->next[stream] = to->uint;
	json_begin_object(&w);
	json_key_string(&w, "gap", names[stream]);
	json_key_uint(&w, "from", from->uint);
	json_key_uint(&w, "to", to->uint);
	follow_tell(host->follow, &w);
}

static void take_event(void *context, const char *name, const struct json_value *data)
{
	struct host *host = context;

	if (host->lies || host->ended)
		return;
	if (strcmp(name, "output") == 0)
		take_output(host, data);
	else if (strcmp(name, "gap") == 0)
		take_gap(host, data);
	else if (strcmp(name, "end") == 0)
		host->ended = true;
}

static int take(struct follow *follow, const char *bytes, size_t len, struct warder_error *err)
{
	struct host *host = follow->context;

	host->err = err;
	return sse_take(&host->sse, bytes, len, take_event, host, err) < 0 || host->lies ? -1 : 0;
}

static bool is_over(struct follow *follow)
{
	const struct host *host = follow->context;

	return host->ended;
}

/* ---- input ---- */

static char *write_input(struct follow *follow, const char *bytes, size_t len, struct exchange_order *ret)
{
	static const char *const word = "/input";
	struct host *host = follow->context;
	const size_t head = (size_t)(strstr(host->order->path, OUTPUT) - host->order->path);
	char *body = remote_input_body(bytes ? bytes : "", len, !bytes);

	if (!body)
		return NULL;
	snprintf(host->input_path, sizeof(host->input_path), "%.*s%s", (int)head, host->order->path, word);
	*ret = (struct exchange_order){ .url = host->order->url,
					.method = "POST",
					.path = host->input_path,
					.token = host->order->token,
					.ca_file = host->order->ca_file,
					.body = body,
					.body_len = strlen(body),
					.most = REMOTE_JSON_MAX };
	return body;
}

static const struct follow_kind kind = {
	.take = take,
	.write_input = write_input,
	.is_over = is_over,
	.answers_first = true,
	.conflict_ends_input = true,
	.is_own = true,
};

/* ---- the whole ---- */

/* There was nothing to follow: the host's refusal, or why there is none. */
static void refuse(const struct follow *follow)
{
	struct remote_answer answer = follow->end;

	if (follow->stream || follow->fault.code || !answer.size) {
		answer = (struct remote_answer){ .magic = REMOTE_MAGIC, .size = sizeof(answer), .sent = 1 };
		answer.error = follow->fault;
		if (!answer.error.code)
			error_set(&answer.error, WARDER_ERROR_UNAVAILABLE, "backend", "%s",
				  follow_reason(follow));
	}
	if (send(follow->fd, &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer) && answer.bytes)
		send(follow->fd, follow->end_body, answer.bytes, MSG_NOSIGNAL);
}

static void tell_end(struct follow *follow, const struct host *host)
{
	struct json_writer w = { 0 };

	if (!host->ended) {
		follow_tell_loss(follow, follow_reason(follow));
		return;
	}
	json_begin_object(&w);
	json_key_bool(&w, "ended", true);
	follow_tell(follow, &w);
}

void follow_host_run(const struct exchange_order *order, int fd)
{
	struct host host = { .order = order, .sse = { .most = EVENT_MAX } };
	struct follow follow = { .kind = &kind, .context = &host, .fd = fd };
	struct exchange_order stream = *order;
	const char *offsets = strstr(order->path, OUTPUT);

	host.follow = &follow;
	if (!offsets ||
	    sscanf(offsets, OUTPUT "%" SCNu64 "&stderr=%" SCNu64, &host.next[0], &host.next[1]) != 2)
		error_set(&follow.fault, WARDER_ERROR_INTERNAL, "path", "%s has no offsets", order->path);
	else {
		stream.accept = "text/event-stream";
		stream.timeout_ms = 0;
		follow_begin(&follow, &stream);
	}
	follow_loop(&follow);
	if (follow.connected)
		tell_end(&follow, &host);
	else
		refuse(&follow);
	follow_done(&follow);
	sse_done(&host.sse);
}
