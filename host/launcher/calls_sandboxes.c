/*
 * Calls about a sandbox as it is: list, show, connect, end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "host/launcher/call.h"
#include "host/launcher/outputs.h"
#include "host/launcher/state.h"
#include "runtime/session/records.h"
#include "runtime/session/session.h"

#define AGAIN_MS  UINT64_C(10000) /* until an end that failed is tried again */
#define RESULT_MS 5000            /* in which a keeper tells the result of what has ended */

int calls_list(struct context *context, struct call *call, struct warder_error *err)
{
	const struct sandboxes *sandboxes = &context->launcher->sandboxes;
	struct json_writer w = { 0 };

	json_begin_array(&w);
	for (size_t i = 0; i < sandboxes->count; i++)
		if (sandbox_is_of(sandboxes->items[i], context->tenant))
			sandbox_write(sandboxes->items[i], false, &w);
	json_end_array(&w);
	return call_say(context, call, json_take(&w), err);
}

int calls_show(struct context *context, struct call *call, struct warder_error *err)
{
	return call_say(context, call, sandbox_text(context->sandbox), err);
}

static void open_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;

	if (remote_connect(call->sandbox, &call->fd, &call->answer.records, &call->answer.error) == 0) {
		memset(&call->answer.error, 0, sizeof(call->answer.error));
		call->answer.status = 200;
	} else {
		call->answer.status = link_status(call->answer.error.code);
	}
}

/* Whether clients may reach the port of the sandbox. */
static int check_port(const struct context *context, struct call *call, struct warder_error *err)
{
	const struct sandbox *sandbox = context->sandbox;
	const uint64_t port = context->request->value & LINK_OPEN_PORT;

	if (!port)
		return 0;
	call->answer.status = 403;
	if (context->request->key_kind == LINK_KEY_NAME || context->request->key_kind == LINK_KEY_SANDBOX ||
	    !settings_publishes(&context->launcher->settings, sandbox->template_name, port))
		return error_set(err, WARDER_ERROR_REJECTED, "ports",
				 "port %" PRIu64
				 " is not open to clients: \"ports\" in the settings of this host "
				 "does not list it for the template \"%.60s\"",
				 port, sandbox->template_name);
	if (sandbox->network_mode == POLICY_NETWORK_HOST)
		return error_set(err, WARDER_ERROR_REJECTED, "network.mode",
				 "the sandbox has network.mode host, so its ports are those of this host, "
				 "which no client reaches; create it with network.mode loopback, allow "
				 "or learn");
	if (sandbox->network_mode == POLICY_NETWORK_NONE)
		return error_set(
		    err, WARDER_ERROR_REJECTED, "network.mode",
		    "the sandbox has network.mode none, so no server in it can be reached; create it "
		    "with network.mode loopback, allow or learn");
	call->answer.status = 0;
	return 0;
}

int calls_open(struct context *context, struct call *call, struct warder_error *err)
{
	if (check_port(context, call, err) < 0 || call_need_running(context->sandbox, call, err) < 0)
		return -1;
	/* A request to a port starts no program with the policy. */
	if (!(context->request->value & LINK_OPEN_PORT)) {
		call->text = sandbox_text(context->sandbox);
		if (!call->text)
			return error_no_memory(err, NULL);
	}
	if (context->request->value)
		stock_agent_used(&context->launcher->stock, context->sandbox);
	call->job.work = open_work;
	call->job.finish = call_finish;
	jobs_add(&context->launcher->jobs, &call->job);
	return 0;
}

/* Ask the keeper for it. -1 with *err. */
static int fetch_result(struct call *call, struct warder_error *err)
{
	struct remote *remote = NULL;
	struct remote_end end;
	char id[REMOTE_ID_LENGTH + 1];
	int got = -1;

	snprintf(id, sizeof(id), "%s", call->request + strlen(call->sandbox) + 1);
	if (remote_open_in(call->sandbox, id, &remote, err) == 0 &&
	    remote_wait_begin(remote, false, err) == 0)
		got = remote_wait_done(remote, RESULT_MS, &end, &call->text, err);
	remote_free(remote);
	if (got == 0)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "execution",
				 "the sandbox does not give the result of execution %s in time; try again",
				 id);
	if (got > 0 && !call->text)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "execution",
				 "execution %s has ended, and its result is lost", id);
	return got > 0 ? outputs_add_execution(call->sandbox, id, &call->text, err) : -1;
}

static void result_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	struct warder_error *err = &call->answer.error;

	if (fetch_result(call, err) < 0 || call_sign(call, "execution", err) < 0) {
		call->answer.status = link_status(err->code);
		if (call->answer.status == 503) /* the keeper is busy, and still has the result */
			call->answer.retry_s = 1;
		return;
	}
	memset(err, 0, sizeof(*err));
	call->answer.status = 200;
}

/* The front could say anything: what is signed comes from the keeper. The signature is for the sandbox, the execution and the nonce. */
int calls_result(struct context *context, struct call *call, struct warder_error *err)
{
	static const char digits[] = "0123456789abcdef";
	const char *text = context->text, *nonce = text + REMOTE_ID_LENGTH + 1;

	if (call_need_running(context->sandbox, call, err) < 0)
		return -1;
	if (strspn(text, digits) != REMOTE_ID_LENGTH)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "execution",
				 "there is no such execution, or its record was removed");
	if (text[REMOTE_ID_LENGTH] != ' ' || !*nonce || strlen(nonce) > NONCE_MAX ||
	    strspn(nonce, digits) != strlen(nonce))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "nonce",
				 "\"nonce\" must have 1 to %d digits and letters a to f", NONCE_MAX);
	if (asprintf(&call->request, "%s %s", context->sandbox->id, text) < 0) {
		call->request = NULL;
		return error_no_memory(err, NULL);
	}
	call->request_len = strlen(call->request);
	call->job.work = result_work;
	call->job.finish = call_finish;
	jobs_add(&context->launcher->jobs, &call->job);
	return 0;
}

static void remove_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	struct warder_error *err = &call->answer.error;

	call->answer.status = 204;
	if (session_stop(call->sandbox, NULL, NULL, err) < 0) {
		call->answer.status = 500;
		return;
	}
	memset(err, 0, sizeof(*err));
	if (state_remove(call->sandboxes_fd, call->sandbox, err) < 0)
		call->answer.status = 500;
}

static void remove_finish(struct job *job, void *of)
{
	struct call *call = (struct call *)(void *)job;
	struct launcher *launcher = of;
	struct sandbox *sandbox = sandboxes_find(&launcher->sandboxes, call->sandbox);

	if (call->answer.status == 204) {
		stock_sandbox_ends(&launcher->stock, sandbox);
		sandboxes_end(&launcher->sandboxes, sandbox);
	} else {
		launcher->options->log(call->answer.error.text);
		sandbox->state = SANDBOX_RUNNING;
		sandbox->ends_ms = clock_wall_ms() + AGAIN_MS;
	}
	call_finish(job, launcher);
}

void call_begin_remove(struct launcher *launcher, struct sandbox *sandbox, struct call *call)
{
	sandbox->state = SANDBOX_ENDING;
	fd_done(&sandbox->keeper_fd);
	call->job.changes = call->sandbox;
	call->job.work = remove_work;
	call->job.finish = remove_finish;
	jobs_add(&launcher->jobs, &call->job);
}

int calls_remove(struct context *context, struct call *call, struct warder_error *err)
{
	if (context->sandbox->state != SANDBOX_RUNNING)
		return error_set(err, WARDER_ERROR_CONFLICT, "id", "sandbox %s %s", context->sandbox->id,
				 context->sandbox->state == SANDBOX_STARTING ? "is still being started"
									     : "is ending already");
	call_begin_remove(context->launcher, context->sandbox, call);
	return 0;
}
