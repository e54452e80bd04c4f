/*
 * envd: what the handlers of E2B's calls to a sandbox share: a visit is one call, from its request over a connection to the sandbox's keeper
 * to its answer. Private to host/front/.
 *
 * Life: visit_new() in a route's handler -> fill it -> visit_open() -> begin() when the keeper is connected -> the channel's events -> an
 * answer. It is freed with its exchange; done() is called before. A handler's struct begins with its visit.
 *
 * A call that streams is answered with HTTP status 200 always, and its error stands in the last frame: clients do not read the body of
 * another status. The exceptions are wrong keys (401) and sandboxes that are gone (502), which clients know by their status, and requests that take
 * too much memory (413, 503).
 */
#ifndef WARDER_HOST_FRONT_ENVD_H
#define WARDER_HOST_FRONT_ENVD_H

#include "host/front/exchange.h"
#include "host/wire/connect.h"
#include "host/wire/filesystem.h"

struct visit {
	struct exchange *x;
	struct channel *channel; /* NULL: the keeper is not connected, or is gone */
	const struct channel_events *events;
	void (*begin)(struct visit *visit);
	void (*done)(struct visit *visit); /* free what the handler has; or NULL */
	void (*tick)(struct visit *visit); /* of visit_keep_alive(), also before and after the answer */
	/* Of a call to the sandbox's agent: the call, its answers (but FAILED), and the connection. */
	struct agent_request ask;
	const char *ask_text;
	void (*said)(struct visit *visit, enum agent_say type, const char *body, size_t len);
	struct agent_link *agent; /* or NULL */
	bool heard, again;        /* it has answered something; it was asked a second time */
	bool plain;               /* errors have a status of HTTP and no name */
	unsigned int port;        /* that the client wants to reach; 0: none */
	bool uses_agent;          /* the call will ask the agent; with a port it does in any case */
	bool needs_policy;        /* visit_open() gets it */
	char *policy;             /* owned: the sandbox's, as JSON, until visit_drop_policy(); or NULL */
	bool frames;              /* errors stand in the last frame */
	bool streams;             /* the answer has begun */
	bool over;                /* it is answered */
	bool held;                /* the channel, until the client has read */
	struct source timer;      /* owned descriptor, or -1 */
};

/* size: of the handler's struct. NULL: the client was answered. */
struct visit *visit_new(struct exchange *x, size_t size);
/* Connect to the keeper. */
void visit_open(struct visit *visit);
/* It is needed no longer. A visit may last for hours, and the policy may be long. */
void visit_drop_policy(struct visit *visit);
/* False: the client names a user whom sandboxes do not have, and was answered. */
bool visit_check_user(struct visit *visit);
/* Call tick() that often; 0: never. */
void visit_keep_alive(struct visit *visit, uint64_t ms);

/* Answers. Of a call that is answered already, nothing is done. */
void visit_begin_stream(struct visit *visit, const char *media_type);
/* A part of the stream (taken, heap; NULL on want of memory ends it). Reading from the keeper waits for the client. */
void visit_send(struct visit *visit, char *bytes, size_t len);
/* A message in a frame; empties the writer. */
void visit_send_frame(struct visit *visit, struct json_writer *w);
/* The end of a stream without an error. */
void visit_end_frames(struct visit *visit);
void visit_end(struct visit *visit);
/* A unary answer; empties the writer. */
void visit_reply(struct visit *visit, struct json_writer *w);
void visit_reply_nothing(struct visit *visit);
void visit_fail(struct visit *visit, enum connect_code code, const char *message);
void visit_error(struct visit *visit, const struct warder_error *err);
/* With a status of HTTP, where the call is none of Connect. A stream that has begun breaks off. */
void visit_fail_http(struct visit *visit, unsigned int status, const char *message);
void visit_error_http(struct visit *visit, unsigned int status, const struct warder_error *err);
/* The sandbox is not there, or has ended. */
void visit_gone(struct visit *visit);
/* The client is gone: send a last request about its execution. One that is still being started is killed instead. visit->channel is NULL then. */
void visit_leave(struct visit *visit, enum record_type last, uint32_t number);
/* Why the connection is lost if the keeper went away while it was not read: it also drops a client that is late. */
#define VISIT_LATE "the client did not read for 10 seconds, or the sandbox has ended"
/* The connection to the keeper is lost: for channel_events.lost. */
void visit_lost(void *visit);

/* ---- calls to the sandbox's agent: envd_agent.c ---- */

/* Ask, over the visit's channel or after connecting it. visit->said() has the answers. text: a path, or the name of a watcher; borrowed until the
 * visit ends. The channel is freed when the agent is reached. */
void visit_ask_agent(struct visit *visit, enum agent_call call, uint32_t flags, uint32_t depth,
		     const char *text);
/* For channel_events.agent. */
void visit_take_agent(void *visit, int *fd);
/* Fail by an enum agent_status. False: it is none of those that have a sentence. */
bool visit_fail_as(struct visit *visit, unsigned int status);
/* Decode a body. False: it is none. The texts point into it. */
bool agent_take_entry(const char *body, size_t len, struct filesystem_entry *ret);
bool agent_take_event(const char *body, size_t len, enum filesystem_event *ret_event, const char **ret_name,
		      struct filesystem_entry *ret_entry, bool *ret_has_entry);
/* The one message of a body in frames; it is the reader's. -1 with *err. */
int visit_unframe(const struct exchange *x, struct connect_reader *reader, const char **ret, size_t *ret_len,
		  struct warder_error *err);

/* Parse what the keeper lists. NULL: the client was answered. The caller frees it. */
struct json_value *visit_rows(struct visit *visit, const char *text);

/* The handlers of routes, one family a file. */
void envd_process(struct exchange *x);
void envd_read_file(struct exchange *x);
void envd_write_files(struct exchange *x);
void envd_filesystem(struct exchange *x);
/* Of Warder's own API, about the query's path. */
void envd_remove_path(struct exchange *x);
void envd_list_directory(struct exchange *x);
void envd_make_directory(struct exchange *x);
void envd_watch(struct exchange *x);
void envd_metrics(struct exchange *x);
void envd_logs(struct exchange *x);
void envd_execute(struct exchange *x);
void envd_list_contexts(struct exchange *x);
void envd_create_context(struct exchange *x);
void envd_restart_context(struct exchange *x);
void envd_delete_context(struct exchange *x);
/* GET /health of a request that names a sandbox. */
void envd_health(struct exchange *x);

#endif
