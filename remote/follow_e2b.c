/*
 * follow_e2b: the service tells the output from now on, and once how the program ended. What it told while nobody was connected is lost.
 */
#include "remote/follow_e2b.h"

#include <stdlib.h>

#include "base/text.h"
#include "remote/follow.h"
#include "remote/framed.h"
#include "remote/processes.h"
#include "remote/started.h"

#define SILENCE_MS 120000u

struct e2b {
	struct call *call;
	uint32_t pid;
	const char *headers[SERVICE_STREAM_HEADERS]; /* of the stream */
	struct framed framed;
	struct started started;
};

static bool pass(void *context, int stream, const char *bytes, size_t len)
{
	return follow_pass(context, stream, bytes, len);
}

static int found(void *context, bool last, const char *message, size_t len, struct warder_error *err)
{
	struct follow *follow = context;
	struct e2b *e2b = follow->context;
	const int status = started_take(&e2b->started, last, message, len, err);

	if (status == 0 && e2b->started.runs)
		follow_connect(follow);
	return status;
}

static int take(struct follow *follow, const char *bytes, size_t len, struct warder_error *err)
{
	struct e2b *e2b = follow->context;

	return framed_take(&e2b->framed, bytes, len, found, follow, err);
}

static char *write_input(struct follow *follow, const char *bytes, size_t len, struct exchange_order *ret)
{
	const struct e2b *e2b = follow->context;
	char *encoded = bytes ? text_base64(bytes, len) : NULL;
	char *body = bytes && !encoded ? NULL : processes_body(e2b->pid, NULL, encoded);

	free(encoded);
	if (body)
		service_plain(e2b->call->service, bytes ? PROCESSES_INPUT : PROCESSES_CLOSE, body, ret);
	return body;
}

static bool is_over(struct follow *follow)
{
	const struct e2b *e2b = follow->context;

	return e2b->started.ended || e2b->started.over;
}

static const struct follow_kind kind = {
	.take = take,
	.write_input = write_input,
	.is_over = is_over,
	.silence_ms = SILENCE_MS,
};

/* ---- the end ---- */

static void tell_result(struct follow *follow)
{
	struct e2b *e2b = follow->context;
	struct json_writer w = { 0 };
	char *json;

	json_begin_object(&w);
	started_write(&e2b->started, NULL, NULL, &w);
	started_write_receipt(NULL, &w);
	json_end_object(&w);
	json = json_take(&w);
	if (json)
		follow_tell_text(follow, "result", json);
	free(json);
}

static const char *reason_of(const struct follow *follow)
{
	const struct e2b *e2b = follow->context;

	return !follow->fault.code && e2b->started.refusal[0] ? e2b->started.refusal : follow_reason(follow);
}

/* There was no program to follow. */
static void refuse(struct follow *follow)
{
	const struct e2b *e2b = follow->context;
	struct call *call = e2b->call;
	struct warder_error err = { 0 };

	if (!follow->stream && !follow->fault.code && follow->end.status != 200) {
		call_pass_refusal(call, &follow->end, follow->end_body, "execution");
	} else if (e2b->started.unknown) {
		call_refuse(call, 404, WARDER_ERROR_NOT_FOUND, "execution", "%s", e2b->started.refusal);
	} else {
		error_set(&err, WARDER_ERROR_UNAVAILABLE, "backend", "%s", reason_of(follow));
		call_put_error(call, &err);
	}
}

void follow_e2b_run(struct call *call, int fd)
{
	struct e2b e2b = { .call = call };
	struct follow follow = { .kind = &kind, .context = &e2b, .fd = fd };
	struct exchange_order order = { .path = "/process.Process/Connect" };
	char *body;

	if (!processes_pid(call, &e2b.pid) || !call_open_sandbox(call))
		return;
	e2b.started.pass = pass;
	e2b.started.context = &follow;
	body = framed_write(processes_body(e2b.pid, NULL, NULL), &order.body_len);
	if (body) {
		order.body = body;
		service_stream(call->service, NULL, e2b.headers, &order);
		follow_begin(&follow, &order);
	} else {
		error_no_memory(&follow.fault, "backend");
	}
	follow_loop(&follow);
	if (!follow.connected)
		refuse(&follow);
	else if (e2b.started.ended)
		tell_result(&follow);
	else
		follow_tell_loss(&follow, reason_of(&follow));
	if (follow.connected)
		*call->ret = (struct remote_answer){ .status = 101 };
	follow_done(&follow);
	framed_done(&e2b.framed);
	started_done(&e2b.started);
	free(body);
}
