/*
 * visit: a call to a sandbox, over a connection to its keeper; see envd.h.
 */
#include "host/front/envd.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

#define USER "user" /* the name that E2B has for the user of a sandbox */

/* ---- the life of a visit ---- */

static void visit_free(struct exchange *x)
{
	struct visit *visit = x->data;

	x->data = NULL;
	x->gone = NULL;
	if (!visit)
		return;
	if (visit->done)
		visit->done(visit);
	channel_free(visit->channel);
	agent_link_free(visit->agent);
	if (visit->timer.fd >= 0)
		source_remove(x->front, &visit->timer);
	fd_done(&visit->timer.fd);
	visit_drop_policy(visit);
	/* An event of this turn may name its timer. */
	front_bury(x->front, visit);
}

static void hold(struct visit *visit, bool held)
{
	visit->held = held;
	if (visit->channel)
		channel_hold(visit->channel, held);
	if (visit->agent)
		agent_link_hold(visit->agent, held);
}

static void visit_room(struct exchange *x)
{
	struct visit *visit = x->data;

	if (!visit || !visit->held)
		return;
	hold(visit, false);
}

struct visit *visit_new(struct exchange *x, size_t size)
{
	struct visit *visit = calloc(1, size);

	if (!visit) {
		exchange_fail(x, 503, "no memory is left; try again");
		return NULL;
	}
	visit->x = x;
	visit->timer.fd = -1;
	visit->plain = x->route->flags & ROUTE_OWN;
	x->data = visit;
	x->gone = visit_free;
	x->room = visit_room;
	return visit;
}

void visit_drop_policy(struct visit *visit)
{
	free(visit->policy);
	visit->policy = NULL;
}

static int take_policy(struct visit *visit, const char *text)
{
	struct json_value *sandbox = NULL;
	struct warder_error ignored;

	if (text && json_parse(text, strlen(text), "sandbox", NULL, &sandbox, &ignored) == 0 &&
	    json_member(sandbox, "policy")) {
		visit_drop_policy(visit); /* of the first attempt to reach the agent */
		visit->policy = json_text(json_member(sandbox, "policy"));
	}
	json_free(sandbox);
	return visit->policy ? 0 : -1;
}

static void opened(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	struct visit *visit = x->data;

	if (answer->status == 404) {
		visit_gone(visit);
	} else if (answer->status >= 400) {
		visit->over = true;
		exchange_error(x, answer->status, &answer->error);
	} else if (*fd < 0 || (visit->needs_policy && take_policy(visit, text) < 0)) {
		visit_fail(visit, CONNECT_INTERNAL, "the launcher sent no sandbox");
	} else {
		visit->channel = channel_new(x->front, fd_take(fd), answer->records, visit->events, visit);
		if (visit->channel)
			visit->begin(visit);
		else
			visit_fail(visit, CONNECT_UNAVAILABLE, "no memory is left; try again");
	}
}

/* What the URL of a request says that it is signed for; heap. */
static char *claim_of(const struct exchange *x)
{
	const char *user = exchange_query(x, "username");
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "path", exchange_query(x, "path"));
	json_key_string(&w, "operation", strcmp(x->method, "GET") == 0 ? "read" : "write");
	json_key_string(&w, "user", user ? user : "");
	json_key_string(&w, "expiry", exchange_query(x, "signature_expiration"));
	json_key_string(&w, "signature", exchange_query(x, "signature"));
	json_end_object(&w);
	return json_take(&w);
}

void visit_open(struct visit *visit)
{
	struct exchange *x = visit->x;
	const uint64_t wanted = visit->port | (visit->uses_agent ? LINK_OPEN_AGENT : 0);

	exchange_ask_any(x, LINK_OPEN, wanted, x->key_kind == LINK_KEY_SIGNATURE ? claim_of(x) : NULL,
			 opened);
}

/* The user of an "Authorization: Basic" header, or of the query; heap; NULL: none is named. */
static char *named_user(const struct exchange *x)
{
	const char *header = exchange_header(x, "Authorization");
	const char *query = exchange_query(x, "username");
	size_t len = 0;
	char *text;

	if (query)
		return strdup(query);
	if (!header || strncasecmp(header, "Basic ", 6) != 0)
		return NULL;
	text = text_unbase64(header + 6, strlen(header + 6), &len);
	if (text)
		text[strcspn(text, ":")] = '\0';
	return text;
}

bool visit_check_user(struct visit *visit)
{
	char *user = named_user(visit->x);
	const bool known = !user || !*user || strcmp(user, USER) == 0;
	char quoted[60];
	char text[160];

	if (!known) {
		snprintf(text, sizeof(text),
			 "user %s: a sandbox of this host has one user; leave the user out, or name \"" USER
			 "\"",
			 json_quote(user, quoted, sizeof(quoted)));
		visit_fail(visit, CONNECT_PERMISSION_DENIED, text);
	}
	free(user);
	return known;
}

static void timer_ready(struct source *source, uint32_t events)
{
	struct visit *visit = (struct visit *)(void *)((char *)source - offsetof(struct visit, timer));
	uint64_t times;

	if (read(source->fd, &times, sizeof(times)) == sizeof(times))
		visit->tick(visit);
}

void visit_keep_alive(struct visit *visit, uint64_t ms)
{
	const struct timespec every = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

	if (!ms || visit->timer.fd >= 0)
		return;
	visit->timer = (struct source){ .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
					.ready = timer_ready };
	/* Without a timer the client gets no signs of life, which is no error. */
	if (visit->timer.fd < 0 ||
	    timerfd_settime(visit->timer.fd, 0, &(struct itimerspec){ every, every }, NULL) < 0 ||
	    source_add(visit->x->front, &visit->timer, EPOLLIN) < 0)
		fd_done(&visit->timer.fd);
}

/* ---- a client that leaves ---- */

/* A keeper does not read what a client has sent that is gone. So the channel stays, and is its own owner, until the last request is answered. */
static void left_answered(void *channel, enum record_type request, const struct record_answer *answer,
			  const char *text)
{
	struct warder_error ignored;

	if (request == RECORD_START && !answer->failed &&
	    channel_ask(channel, RECORD_SIGNAL, SIGKILL, &ignored) == 0)
		return;
	if (request == RECORD_START || request == RECORD_SIGNAL || request == RECORD_INTERRUPT)
		channel_free(channel);
}

static void left_lost(void *channel)
{
	channel_free(channel);
}

static const struct channel_events left_events = { .answered = left_answered, .lost = left_lost };

void visit_leave(struct visit *visit, enum record_type last, uint32_t number)
{
	struct channel *channel = visit->channel;
	struct warder_error ignored;

	/* Without an id, the answer to the start has not come. */
	if (*channel_execution(channel) && channel_ask(channel, last, number, &ignored) < 0)
		return;
	visit->channel = NULL;
	channel_give(channel, &left_events, channel);
	if (visit->held)
		channel_hold(channel, false);
}

/* ---- answers ---- */

void visit_begin_stream(struct visit *visit, const char *media_type)
{
	if (visit->streams || visit->over)
		return;
	visit->streams = true;
	exchange_stream(visit->x, 200, media_type);
}

void visit_send(struct visit *visit, char *bytes, size_t len)
{
	if (!bytes) {
		visit_fail(visit, CONNECT_UNAVAILABLE, "no memory is left; try again");
		return;
	}
	if (!visit->over && !exchange_write(visit->x, bytes, len) && !visit->held)
		hold(visit, true);
	free(bytes);
}

void visit_send_frame(struct visit *visit, struct json_writer *w)
{
	size_t len = 0;
	char *frame = connect_frame(w, &len);

	visit_send(visit, frame, len);
}

void visit_end(struct visit *visit)
{
	if (visit->over)
		return;
	visit->over = true;
	exchange_end(visit->x);
}

static void end_frames(struct visit *visit, enum connect_code code, const char *message)
{
	size_t len = 0;
	char *frame = connect_end_frame(code, message, &len);

	visit_begin_stream(visit, "application/connect+json");
	if (frame)
		exchange_write(visit->x, frame, len);
	free(frame);
	visit_end(visit);
}

void visit_end_frames(struct visit *visit)
{
	if (!visit->over)
		end_frames(visit, 0, NULL);
}

void visit_reply(struct visit *visit, struct json_writer *w)
{
	if (visit->over) {
		json_writer_done(w);
		return;
	}
	visit->over = true;
	exchange_json(visit->x, 200, json_take(w));
}

void visit_reply_nothing(struct visit *visit)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_end_object(&w);
	visit_reply(visit, &w);
}

void visit_fail(struct visit *visit, enum connect_code code, const char *message)
{
	struct json_writer w = { 0 };

	if (visit->over)
		return;
	if (visit->frames) {
		end_frames(visit, code, message);
		return;
	}
	if (visit->plain) {
		visit_fail_http(visit, (unsigned int)connect_code_status(code), message);
		return;
	}
	visit->over = true;
	if (visit->streams) {
		exchange_abort(visit->x);
		return;
	}
	connect_write_error(&w, code, message);
	exchange_json(visit->x, (unsigned int)connect_code_status(code), json_take(&w));
}

void visit_error_http(struct visit *visit, unsigned int status, const struct warder_error *err)
{
	if (visit->over)
		return;
	visit->over = true;
	if (visit->streams)
		exchange_abort(visit->x);
	else
		exchange_error(visit->x, status, err);
}

void visit_fail_http(struct visit *visit, unsigned int status, const char *message)
{
	struct warder_error err = { 0 };

	snprintf(err.text, sizeof(err.text), "%s", message);
	visit_error_http(visit, status, &err);
}

void visit_error(struct visit *visit, const struct warder_error *err)
{
	if (visit->plain)
		visit_error_http(visit, link_status(err->code), err);
	else
		visit_fail(visit, connect_code_of(err->code), err->text);
}

void visit_gone(struct visit *visit)
{
	static const char why[] = "the sandbox was not found, or has ended";
	struct json_writer w = { 0 };

	if (visit->streams) {
		visit_fail(visit, CONNECT_UNAVAILABLE, why);
		return;
	}
	if (visit->over)
		return;
	visit->over = true;
	if (visit->x->route->flags & ROUTE_OWN) {
		exchange_fail(visit->x, 404, why);
		return;
	}
	json_begin_object(&w);
	json_key_string(&w, "sandboxId", visit->x->sandbox);
	json_key_string(&w, "message", why);
	json_key_uint(&w, "code", 502);
	json_end_object(&w);
	exchange_json(visit->x, 502, json_take(&w));
}

/* The keeper also drops a client that has not read for some seconds. */
void visit_lost(void *of)
{
	struct visit *visit = of;

	if (visit->streams && channel_was_late(visit->channel))
		visit_fail(visit, CONNECT_UNAVAILABLE, VISIT_LATE "; connect to the process again");
	else
		visit_gone(visit);
}

int visit_unframe(const struct exchange *x, struct connect_reader *reader, const char **ret, size_t *ret_len,
		  struct warder_error *err)
{
	size_t used = 0;

	if (connect_take(reader, x->body ? x->body : "", x->body_len, &used, err) != CONNECT_MESSAGE)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "the body is not one uncompressed frame with a message");
	if (used != x->body_len)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the body has more than one frame");
	*ret = reader->message;
	*ret_len = reader->len;
	return 0;
}

struct json_value *visit_rows(struct visit *visit, const char *text)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX };
	struct json_value *rows = NULL;
	struct warder_error err;

	if (json_parse(text ? text : "[]", text ? strlen(text) : 2, "executions", &limits, &rows, &err) == 0)
		return rows;
	visit_fail(visit, CONNECT_INTERNAL, "the keeper sent no list");
	return NULL;
}
