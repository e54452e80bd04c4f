/*
 * envd_watch: changes in a sandbox's directories, by its agent: a stream, or a watcher that is asked from time to time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "host/front/envd.h"

#define EVENTS_MAX ((size_t)1 << 20) /* of an answer; an agent keeps less for a watcher */

struct watch_visit {
	struct visit visit;
	enum filesystem_call call;
	struct filesystem_request request;
	struct json_writer events; /* of GetWatcherEvents */
};

static struct watch_visit *of_visit(struct visit *visit)
{
	return (struct watch_visit *)(void *)visit;
}

static void broken(struct visit *visit)
{
	visit_fail(visit, CONNECT_INTERNAL, "the sandbox's agent sent something else than was asked for");
}

static void take_event(struct watch_visit *watch, const char *body, size_t len)
{
	struct visit *visit = &watch->visit;
	struct filesystem_entry entry;
	enum filesystem_event event;
	struct json_writer w = { 0 };
	const char *name;
	bool has_entry;

	if (!agent_take_event(body, len, &event, &name, &entry, &has_entry)) {
		broken(visit);
	} else if (watch->call == FILESYSTEM_WATCH_DIR) {
		filesystem_write_watch_event(&w, name, event, has_entry ? &entry : NULL);
		visit_send_frame(visit, &w);
	} else if (watch->events.len > EVENTS_MAX) {
		broken(visit);
	} else {
		filesystem_write_event(&watch->events, name, event, has_entry ? &entry : NULL);
		exchange_waits(visit->x, watch->events.len, true);
	}
}

static void take_name(struct visit *visit, const char *name, size_t len)
{
	struct json_writer w = { 0 };

	if (strspn(name, "0123456789abcdef") != len) {
		broken(visit);
		return;
	}
	json_begin_object(&w);
	json_key_string(&w, "watcherId", name);
	json_end_object(&w);
	visit_reply(visit, &w);
}

static void take_end(struct watch_visit *watch)
{
	if (watch->call == FILESYSTEM_GET_WATCHER_EVENTS) {
		json_end_array(&watch->events);
		json_end_object(&watch->events);
		visit_reply(&watch->visit, &watch->events);
	} else {
		visit_reply_nothing(&watch->visit);
	}
}

static void drop_request(struct watch_visit *watch)
{
	if (!watch->request.document)
		return;
	filesystem_request_done(&watch->request);
	exchange_keep(watch->visit.x, NULL, 0);
}

/* False: the client was answered. */
static bool keep_request(struct watch_visit *watch)
{
	if (exchange_keep(watch->visit.x, watch->request.document, 0))
		return true;
	drop_request(watch);
	return false;
}

static void said(struct visit *visit, enum agent_say type, const char *body, size_t len)
{
	struct watch_visit *watch = of_visit(visit);
	struct json_writer w = { 0 };

	if (visit->over)
		return;
	drop_request(watch); /* the agent has it; a stream may last for hours */
	if (type == AGENT_BEGUN && watch->call == FILESYSTEM_WATCH_DIR) {
		visit_begin_stream(visit, "application/connect+json");
		filesystem_write_watch_start(&w);
		visit_send_frame(visit, &w);
	} else if (type == AGENT_EVENT) {
		take_event(watch, body, len);
	} else if (type == AGENT_NAME && watch->call == FILESYSTEM_CREATE_WATCHER) {
		take_name(visit, body, len);
	} else if (type == AGENT_END && watch->call != FILESYSTEM_WATCH_DIR) {
		take_end(watch);
	} else {
		broken(visit);
	}
}

static void tick(struct visit *visit)
{
	struct json_writer w = { 0 };

	if (!visit->streams)
		return;
	filesystem_write_watch_keepalive(&w);
	visit_send_frame(visit, &w);
}

static void done(struct visit *visit)
{
	struct watch_visit *watch = of_visit(visit);

	json_writer_done(&watch->events);
	filesystem_request_done(&watch->request);
}

static void on_answered(void *of, enum record_type request, const struct record_answer *answer,
			const char *text)
{
	if (answer->failed)
		visit_error(of, &answer->error);
}

static const struct channel_events watch_events = { .answered = on_answered,
						    .agent = visit_take_agent,
						    .lost = visit_lost };

static void ask(struct watch_visit *watch)
{
	static const enum agent_call calls[FILESYSTEM_CALLS] = {
		[FILESYSTEM_WATCH_DIR] = AGENT_WATCH,
		[FILESYSTEM_CREATE_WATCHER] = AGENT_WATCHER_NEW,
		[FILESYSTEM_GET_WATCHER_EVENTS] = AGENT_WATCHER_READ,
		[FILESYSTEM_REMOVE_WATCHER] = AGENT_WATCHER_END,
	};
	const struct filesystem_request *request = &watch->request;
	const uint32_t flags =
	    (request->recursive ? AGENT_RECURSIVE : 0u) | (request->include_entries ? AGENT_ENTRIES : 0u);

	if (watch->call == FILESYSTEM_GET_WATCHER_EVENTS) {
		json_begin_object(&watch->events);
		json_key(&watch->events, "events");
		json_begin_array(&watch->events);
	}
	visit_ask_agent(&watch->visit, calls[watch->call], flags, 0,
			request->path ? request->path : request->watcher);
}

void envd_watch(struct exchange *x)
{
	struct watch_visit *watch = (struct watch_visit *)(void *)visit_new(x, sizeof(*watch));
	struct connect_reader reader = { .max = CONNECT_MESSAGE_MAX };
	struct warder_error err = { 0 };
	const char *message = x->body ? x->body : "";
	size_t len = x->body_len;
	uint64_t keepalive_ms = 0;

	if (!watch)
		return;
	watch->visit.events = &watch_events;
	watch->visit.said = said;
	watch->visit.done = done;
	watch->visit.tick = tick;
	if (!filesystem_call_find(strrchr(x->path, '/') + 1, &watch->call)) {
		visit_fail(&watch->visit, CONNECT_UNIMPLEMENTED, "there is no such call");
		return;
	}
	watch->visit.frames = filesystem_call_streams(watch->call);
	if ((watch->visit.frames && visit_unframe(x, &reader, &message, &len, &err) < 0) ||
	    filesystem_parse(watch->call, message, len, &watch->request, &err) < 0 ||
	    connect_parse_keepalive(exchange_header(x, "Keepalive-Ping-Interval"), &keepalive_ms, &err) < 0) {
		visit_error(&watch->visit, &err);
		drop_request(watch);
	} else if (keep_request(watch) && visit_check_user(&watch->visit)) {
		if (watch->visit.frames)
			visit_keep_alive(&watch->visit, keepalive_ms);
		ask(watch);
	}
	connect_reader_done(&reader);
}
