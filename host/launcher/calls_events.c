/*
 * calls_events: clients that follow the events of their tenants. Each is a call that is answered in parts, as long as its client stays.
 *
 * They are not served as each event comes: a text for each of them and each event would cost the main thread more than the event itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "host/launcher/call.h"

#define DELIVER_US UINT64_C(200000)
#define CHECK_US   UINT64_C(1000000)

static uint64_t oldest_of(const struct event_log *log)
{
	return log->last < EVENTS_KEPT ? 1 : log->last - EVENTS_KEPT + 1;
}

/* Read the id after which the stream goes on. If another launcher gave it, the stream begins with the oldest event, and reports a gap. */
static int read_id(const struct launcher *launcher, const char *id, struct call *call,
		   struct warder_error *err)
{
	uint64_t started_ms, number;
	int len = 0;

	if (sscanf(id, "%20" SCNu64 "-%20" SCNu64 "%n", &started_ms, &number, &len) != 2 || id[len])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "after",
				 "\"after\" and Last-Event-ID must be the id of an event");
	call->events_gap = started_ms != launcher->started_ms;
	call->events_sent = call->events_gap ? 0 : number;
	return 0;
}

/* The lines of what it has not got; heap. NULL: no memory. */
static char *lines_for(const struct launcher *launcher, const struct event_log *log, const struct call *call,
		       uint64_t from)
{
	char *text = NULL;
	size_t len = 0;
	FILE *lines = open_memstream(&text, &len);

	if (!lines)
		return NULL;
	if (call->events_gap || from > call->events_sent + 1)
		fprintf(lines, "gap - {\"restarted\":%s}\n", call->events_gap ? "true" : "false");
	for (uint64_t number = from; number <= log->last; number++)
		fprintf(lines, "call %" PRIu64 "-%" PRIu64 " %s\n", launcher->started_ms, number,
			log->events[number % EVENTS_KEPT]);
	if (fclose(lines) == 0)
		return text;
	free(text);
	return NULL;
}

static void deliver(struct launcher *launcher, struct call *call)
{
	const struct event_log *log = event_logs_open(launcher, call->tenant_digest);
	uint64_t from;
	char *text;

	if (!log)
		return;
	if (call->events_sent == log->last && !call->events_gap)
		return;
	from = oldest_of(log) > call->events_sent ? oldest_of(log) : call->events_sent + 1;
	text = lines_for(launcher, log, call, from);
	if (text && call_say_part(launcher, call, text)) {
		call->events_sent = log->last;
		call->events_gap = false;
	}
	free(text);
}

int calls_events(struct context *context, struct call *call, struct warder_error *err)
{
	static const char *const members[] = { "after", NULL };
	struct launcher *launcher = context->launcher;
	const struct event_log *log;
	const char *after;

	if (call_parse(context, call, members, err) < 0)
		return -1;
	after = json_member_text(call->document, "after", NULL);
	if (after && read_id(launcher, after, call, err) < 0)
		return -1;
	log = event_logs_open(launcher, call->tenant_digest);
	/* A number that was not given yet is one of a client's own. */
	if (log && call->events_sent > log->last)
		call->events_sent = log->last;
	/* Nothing yet: the client sees that it is connected. */
	if (!call_say_part(launcher, call, "\n"))
		return error_no_memory(err, NULL);
	call->next_run = launcher->event_logs.followers;
	launcher->event_logs.followers = call;
	return 0;
}

void call_deliver_events(struct launcher *launcher)
{
	struct event_logs *logs = &launcher->event_logs;
	const uint64_t now_us = clock_us(), now_ms = clock_wall_ms();
	const bool check = now_us - logs->checked_us >= CHECK_US;
	struct warder_error err;

	if (now_us - logs->delivered_us < DELIVER_US)
		return;
	logs->delivered_us = now_us;
	if (check)
		logs->checked_us = now_us;
	for (struct call **at = &logs->followers; *at;) {
		struct call *call = *at;

		if (call->generation == launcher->front.generation &&
		    (!check || tenants_find(&launcher->tenants, call->tenant_digest, now_ms))) {
			deliver(launcher, call);
			at = &call->next_run;
			continue;
		}
		*at = call->next_run;
		error_set(&err, WARDER_ERROR_REJECTED, NULL, "the token has expired or was revoked");
		call_answer(launcher, call, 401, &err);
	}
}

void call_forget_follower(struct launcher *launcher, uint64_t generation, uint64_t number)
{
	for (struct call **at = &launcher->event_logs.followers; *at; at = &(*at)->next_run)
		if ((*at)->generation == generation && (*at)->number == number) {
			struct call *call = *at;

			*at = call->next_run;
			call_free(call);
			return;
		}
}
