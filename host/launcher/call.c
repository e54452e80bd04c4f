/*
 * One call: its state, the text that the front sent with it, and its answer. The calls that run until something ends are in a list, so that
 * they can be cancelled.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "host/launcher/artifact_spool.h"
#include "host/launcher/call.h"
#include "host/launcher/log.h"
#include "runtime/session/records.h"
#include "runtime/session/session.h"

void call_free(struct call *call)
{
	if (call->steps)
		call->steps->release(call);
	free(call->text);
	free(call->request);
	fd_done(&call->fd);
	warder_policy_free(call->policy);
	warder_policy_free(call->base);
	free(call->rules);
	json_free(call->document);
	free(call->record);
	free(call->old_record);
	artifact_spool_free(call->spool);
	session_parked_free(call->parked);
	free(call);
}

/* A front that does not read is ended, and with it the requests that wait. */
static void send_to_front(const struct launcher *launcher, const struct link_answer *answer, const int *fds,
			  size_t count)
{
	if (fd_send(launcher->front.fd, answer, sizeof(*answer), fds, count, 0) < 0)
		shutdown(launcher->front.fd, SHUT_RDWR);
}

static bool is_asked(const struct launcher *launcher, const struct call *call)
{
	return launcher->front.fd >= 0 && launcher->front.generation == call->generation;
}

bool call_say_part(const struct launcher *launcher, const struct call *call, const char *text)
{
	const struct link_answer answer = { .magic = LINK_MAGIC,
					    .size = sizeof(answer),
					    .status = 200,
					    .number = call->number,
					    .bytes = strlen(text),
					    .tenant = call->answer.tenant,
					    .more = 1 };
	owned_fd int text_fd = -1;

	if (!is_asked(launcher, call))
		return true;
	text_fd = record_make_file(text, answer.bytes);
	if (text_fd >= 0)
		send_to_front(launcher, &answer, &text_fd, 1);
	return text_fd >= 0;
}

/* The text of the answer as a memory file; -1: it has none, or, with 500 in the answer, no memory. */
static int make_text_file(struct call *call)
{
	const char *text = call->text ? call->text + call->sent : NULL;
	int fd;

	if (!text)
		return -1;
	fd = record_make_file(text, strlen(text));
	if (fd >= 0) {
		call->answer.bytes = strlen(text);
		return fd;
	}
	error_no_memory(&call->answer.error, NULL);
	call->answer.status = 500;
	return -1;
}

static void send_answer(struct launcher *launcher, struct call *call)
{
	const bool asked = is_asked(launcher, call);
	owned_fd int text_fd = asked ? make_text_file(call) : -1;
	int fds[LINK_FDS];
	size_t count = 0;

	log_call(launcher, call); /* with the status that is sent */
	event_logs_add(launcher, call);
	if (!asked)
		return;
	call->answer.magic = LINK_MAGIC;
	call->answer.size = sizeof(call->answer);
	call->answer.number = call->number;
	if (text_fd >= 0)
		fds[count++] = text_fd;
	if (call->fd >= 0) {
		call->answer.has_fd = 1;
		fds[count++] = call->fd;
	}
	send_to_front(launcher, &call->answer, fds, count);
}

void call_answer(struct launcher *launcher, struct call *call, unsigned int status,
		 const struct warder_error *err)
{
	if (err)
		call->answer.error = *err;
	call->answer.status = status ? status : link_status(call->answer.error.code);
	send_answer(launcher, call);
	call_free(call);
}

int call_say(const struct context *context, struct call *call, char *text, struct warder_error *err)
{
	call->text = text;
	if (!text)
		return error_no_memory(err, NULL);
	call_answer(context->launcher, call, 200, NULL);
	return 0;
}

struct call *call_new(const struct context *context)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->fd = -1;
	call->taken_us = clock_us();
	call->number = context->request->number;
	call->generation = context->launcher->front.generation;
	call->program = context->launcher->options->program;
	call->pool = context->launcher->pool;
	call->signing = &context->launcher->signing;
	call->sandboxes_fd = context->launcher->sandboxes_fd;
	call->snapshots_fd = context->launcher->snapshots.records_fd;
	call->stores = context->launcher->snapshots.stores;
	call->job.tenant = call->tenant;
	if (context->tenant)
		snprintf(call->tenant, sizeof(call->tenant), "%s", context->tenant->name);
	if (context->sandbox)
		snprintf(call->sandbox, sizeof(call->sandbox), "%s", context->sandbox->id);
	return call;
}

void call_finish(struct job *job, void *launcher)
{
	struct call *call = (struct call *)(void *)job;

	send_answer(launcher, call);
	call_free(call);
}

static int parse_document(const struct context *context, struct json_value **ret, struct warder_error *err)
{
	if (json_parse(context->text, context->len, "request", NULL, ret, err) < 0)
		return -1;
	if ((*ret)->type == JSON_OBJECT)
		return 0;
	json_free(*ret);
	*ret = NULL;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "request", "the request must be a JSON object");
}

/* Members that nobody reads would be wishes that nobody keeps. */
static int check_members(const struct json_value *document, const char *const *known,
			 struct warder_error *err)
{
	for (const struct json_value *one = document->child; one; one = one->next) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], one->key) != 0)
			i++;
		if (!known[i])
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, one->key,
					 "line %d: unknown member \"%.60s\"", one->line, one->key);
	}
	return 0;
}

int call_parse(const struct context *context, struct call *call, const char *const *known,
	       struct warder_error *err)
{
	return parse_document(context, &call->document, err) < 0 ||
		       check_members(call->document, known, err) < 0
		   ? -1
		   : 0;
}

void call_add_run(struct launcher *launcher, struct call *call)
{
	call->next_run = launcher->runs;
	launcher->runs = call;
}

void call_forget_run(struct launcher *launcher, const struct call *call)
{
	for (struct call **at = &launcher->runs; *at; at = &(*at)->next_run)
		if (*at == call) {
			*at = call->next_run;
			return;
		}
}

void call_cancel(struct launcher *launcher, uint64_t generation, uint64_t number)
{
	for (struct call *call = launcher->runs; call; call = call->next_run)
		if (call->generation == generation && call->number == number && !call->repeat)
			atomic_store(&call->cancelled, true);
}

void calls_cancel(struct launcher *launcher, uint64_t generation)
{
	for (struct call *call = launcher->runs; call; call = call->next_run)
		if (generation == UINT64_MAX || (call->generation <= generation && !call->repeat))
			atomic_store(&call->cancelled, true);
}

void calls_drop(struct launcher *launcher)
{
	while (launcher->event_logs.followers) {
		struct call *follower = launcher->event_logs.followers;

		launcher->event_logs.followers = follower->next_run;
		call_free(follower);
	}
	while (launcher->runs) {
		struct call *run = launcher->runs;

		launcher->runs = run->next_run;
		call_free(run);
	}
}

int call_take_key(const struct json_value *document, const char **ret, struct warder_error *err)
{
	const struct json_value *value = json_member(document, "idempotencyKey");

	*ret = NULL;
	if (!value || value->type == JSON_NULL)
		return 0;
	if (value->type != JSON_STRING || !value->string[0] || strlen(value->string) > SANDBOX_KEY_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "idempotencyKey",
				 "\"idempotencyKey\" must be a text of 1 to %d bytes", SANDBOX_KEY_MAX);
	*ret = value->string;
	return 0;
}

int call_need_running(const struct sandbox *sandbox, struct call *call, struct warder_error *err)
{
	if (sandbox->state == SANDBOX_STARTING) {
		call->answer.retry_s = 1;
		return error_set(err, WARDER_ERROR_CONFLICT, "id",
				 "sandbox %s is still being started; try again", sandbox->id);
	}
	if (sandbox->state != SANDBOX_RUNNING)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "id", "sandbox %s does not run", sandbox->id);
	return 0;
}

int call_refuse_changing(const struct sandbox *sandbox, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_CONFLICT, "id",
			 "sandbox %s is being changed by another request; try again", sandbox->id);
}
