/*
 * front: the program that speaks HTTP for an execution host. It runs in a jail that the launcher makes, has one thread, and holds no state
 * that the launcher or a keeper does not have, too. Private to host/front/.
 *
 *   main.c      the loop           routes.c   the table of all routes        server.c, exchange.c   HTTP, by libmicrohttpd
 *   asking.c    the launcher       channel.c  a sandbox's keeper             agent.c   a sandbox's agent
 *   name.c      the names of sandboxes        port.c, port_head.c   a server in a sandbox
 *   v1*.c, e2b*.c, envd*.c, page.c, mcp.c   the handlers of routes; visit.c   a call to a sandbox
 */
#ifndef WARDER_HOST_FRONT_FRONT_H
#define WARDER_HOST_FRONT_FRONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/json.h"
#include "host/agent.h"
#include "host/front/body.h"
#include "host/link.h"
#include "runtime/session/records.h"
#include "runtime/session/session.h"

#define FRONT_ARGS_MAX 4
#define FRONT_OUT_MAX                                                                                        \
	(256u * 1024) /* of a stream that waits for its client; more is not read from the keeper */

struct front;
struct exchange;

struct route;

/* ---- the loop: loop.c ---- */

/* A descriptor that is waited for. Embedded in the object that owns the descriptor. */
struct source {
	int fd;
	void (*ready)(struct source *source, uint32_t events);
};

struct front {
	int epoll_fd, link_fd;
	struct source link;
	struct server *server;
	const struct route *const *routes; /* by families, and NULL at the end */
	struct asking *asking;
	struct mcp_post *mcp_posts; /* messages of models that are not answered yet: mcp.c */
	struct link_welcome welcome;
	char *certificate, *private_key; /* PEM, one block of heap; NULL: plain HTTP */
	struct record in, out;           /* that a channel takes or sends at the moment */
	void *graveyard;                 /* freed at the end of a turn, when no event can name it any more */
	bool ending;
};

/* events: EPOLLIN and so on. 0; -1 with errno. */
int source_add(struct front *front, struct source *source, uint32_t events);
void source_change(struct front *front, struct source *source, uint32_t events);
void source_remove(struct front *front, struct source *source);
/* Free heap memory after this turn of the loop. It must be at least as large as a pointer. */
void front_bury(struct front *front, void *memory);
/* Every event of this turn was served. */
void front_turn_done(struct front *front);

/* ---- routes: routes.c, route.c ---- */

enum route_flag {
	ROUTE_OPEN = 1,    /* needs no key */
	ROUTE_PARTS = 2,   /* exchange->part() gets the body as it comes; the handler is called before */
	ROUTE_SANDBOX = 4, /* the key may be the access token of the sandbox that the routing header names */
	ROUTE_TRAFFIC = 8, /* or its traffic token */
	ROUTE_SIGNED = 16, /* or the signature of the URL */
	ROUTE_PAGE = 64,   /* of the page: a browser may run what is served, as the page's policy says */
	ROUTE_PORT = 128,  /* a server in the sandbox answers, not this program */
	ROUTE_OWN = 32,    /* of Warder's own API: each error is a status with {code, message} */
};

struct route {
	const char *method;
	const char *
	    pattern; /* "/v1/sandboxes/{id}": each {name} stands for one segment, in exchange->args by its order */
	const char *scope;  /* of a tenant's token: "read", "sandboxes" or "run"; or several with blanks
			       between them, of which one suffices; NULL: none */
	unsigned int flags; /* enum route_flag */
	void (*handle)(struct exchange *x);
	const char *summary; /* one line for the API's description */
	const char *
	    query; /* names of its parameters, with blanks between them; one that is required ends with "!" */
	const struct member *body; /* of a JSON body; NULL: it has none, or one that the handler checks */
	enum link_call call;       /* the launcher's call, for a handler that only forwards */
	uint64_t value;            /* the argument of that call */
};

/* The rows of each family end with a row without a method. */
extern const struct route routes_v1[], routes_e2b[], routes_envd[], routes_page[], routes_mcp[];
/* All families, and NULL at the end. */
extern const struct route *const routes_all[];

/* The row of a request, with its arguments, which the caller frees one by one. NULL: there is none; then *ret_allowed says whether another
 * method of the same path has one. */
const struct route *route_find(const struct route *const *families, const char *method, const char *path,
			       char *ret_args[FRONT_ARGS_MAX], bool *ret_allowed);
/* Call back with each row. */
void route_each(const struct route *const *families, void (*each)(void *context, const struct route *route),
		void *context);

/* ---- names of sandboxes: name.c ---- */

#define PORT_ENVD        49983 /* at which E2B's clients reach commands and files */
#define PORT_INTERPRETER 49999

/* Whether the name is one of a list with blanks between them, whatever the case. */
bool name_is_among(const char *names, const char *name);
/* Whether a Host header is "PORT-SANDBOX.DOMAIN" for one of the domains, which have blanks between them. *ret_id: LINK_SANDBOX_MAX bytes. */
bool name_parse(const char *domains, const char *host, unsigned int *ret_port, char *ret_id);
/* The row of a request to such a name: of those that E2B's services at the port have, or a server's in the sandbox. NULL: there is none, as
 * for route_find(). */
const struct route *name_route(const struct exchange *x, char *ret_args[FRONT_ARGS_MAX], bool *ret_allowed);
/* The row of a request to a server in a sandbox. */
extern const struct route port_route;

/* ---- the page: page_policy.c, page.c ---- */

/* The policy of what is served to a browser that shows the page. */
const char *page_policy(void);
/* Join the two halves of the page's token: one is in its cookie, the other in the header X-Warder-Page. `ret` has room for 45 bytes.
 * Returns 1 with the token; 0 if the request has no cookie of the page; -1 if the header is missing or malformed. */
int page_token(const struct exchange *x, char *ret);
/* Whether a cookie, "NAME=VALUE", has the name of the page's. */
bool page_is_cookie(const char *text);

/* ---- the launcher: asking.c ---- */

int asking_new(struct front *front, struct asking **ret);
/* A certificate that replaces the present one. `text` has the certificate, a NUL, and its key. It is owned; NULL: nothing is offered. */
struct asking_offer {
	uint64_t number;
	char *text;
	size_t len;
};

/* Take what the launcher sent, up to an offer, which is the caller's. An offer that cannot be read for now gets no answer, and so comes again.
 * False: the launcher is gone. */
bool asking_take(struct front *front, struct asking_offer *ret);
/* Forget the questions of the exchange, because it ends or needs no answer; a program that the launcher runs for one ends. False: there was
 * none. */
bool asking_forget(struct front *front, const struct exchange *x);

/* ---- a sandbox's keeper: channel.c ---- */

struct channel;

/* What a keeper says. A callback may free the channel. Any may be NULL. */
struct channel_events {
	/* The answer to a request; answer->failed: the reason is in answer->error. text: what came along, or NULL. */
	void (*answered)(void *owner, enum record_type request, const struct record_answer *answer,
			 const char *text);
	void (*bytes)(void *owner, int stream, uint64_t offset, const char *bytes, size_t len);
	void (*gap)(void *owner, int stream, uint64_t from, uint64_t to);
	/* Of ATTACH and RESULT. json: the result, of RESULT alone; or NULL. */
	void (*ended)(void *owner, const struct record_end *end, const char *json);
	/* What a piece of code shows (FRAME_SHOWN or FRAME_ASKS), and how it ended. */
	void (*shown)(void *owner, unsigned int type, const char *text);
	void (*done)(void *owner, const struct record_done *done, const char *text);
	/* A connection to the sandbox's agent; taken with fd_take(). */
	void (*agent)(void *owner, int *fd);
	/* After channel_pass_input() or channel_pass_size() had no room: they have some. */
	void (*room)(void *owner);
	/* The keeper is gone: the sandbox has ended, or the client read too slowly. */
	void (*lost)(void *owner);
};

/* A program to start. */
struct channel_command {
	const char *policy; /* of the sandbox, as JSON */
	char *const *argv;
	char *const *environment; /* "NAME=value", besides the policy's; or NULL */
	const char *directory;    /* or NULL: the policy's */
	uint64_t timeout_us;      /* 0: the policy's */
	bool input;               /* it stays open */
	bool background;          /* processes that it leaves stay */
	uint16_t rows, columns;   /* of a terminal; 0: it has none */
	bool context;             /* argv is a language and the name of a context */
	const char *id;           /* that the execution is to have; or NULL */
};

/* fd: a connection that the launcher gave (taken), and the version of its records. NULL: no memory. */
struct channel *channel_new(struct front *front, int fd, unsigned int version,
			    const struct channel_events *events, void *owner);
void channel_free(struct channel *channel);
/* Another owner, who frees it. */
void channel_give(struct channel *channel, const struct channel_events *events, void *owner);
/* Each sends one request; answered() has the answer. -1 with *err: it was not sent, or the keeper is too old for it (UNAVAILABLE). */
int channel_start(struct channel *channel, const struct channel_command *command, struct warder_error *err);
/* About the execution that was started, or that channel_choose() named. */
void channel_choose(struct channel *channel, const char *execution);
const char *channel_execution(const struct channel *channel);
int channel_attach(struct channel *channel, const uint64_t from[2], struct warder_error *err);
int channel_ask(struct channel *channel, enum record_type type, uint32_t number, struct warder_error *err);
/* Ask for the list of executions, without their counters. */
int channel_list_briefly(struct channel *channel, struct warder_error *err);
/* Input: at most REMOTE_WRITE_MAX bytes; the next one after its answer. */
int channel_write(struct channel *channel, const void *bytes, size_t len, bool more,
		  struct warder_error *err);
int channel_resize(struct channel *channel, uint16_t rows, uint16_t columns, struct warder_error *err);
/* The same without answers, so that it also works while the channel is held. Input that the program does not take waits in the socket, which has
 * room for about 200 KiB. 1: the socket is full; room() is called as soon as it takes more. */
int channel_pass_input(struct channel *channel, const void *bytes, size_t len, struct warder_error *err);
int channel_pass_size(struct channel *channel, uint16_t rows, uint16_t columns, struct warder_error *err);
/* Run a piece of code in the context that was started or chosen; shown() and done() follow. timeout_us 0: as long as the context's policy
 * grants. key: of RECORD_KEY_LENGTH bytes, or "". */
int channel_piece(struct channel *channel, const char *code, uint64_t timeout_us, const char *key,
		  struct warder_error *err);
/* The same for the piece of the sandbox that has the key. */
int channel_repeat(struct channel *channel, const char *key, struct warder_error *err);
/* Stop reading, or go on: a stream whose client does not read. */
void channel_hold(struct channel *channel, bool hold);
/* Of a keeper that is gone: whether it may have dropped this program, which did not read for CLIENT_PATIENCE_US. Else the sandbox has ended. */
bool channel_was_late(const struct channel *channel);

/* ---- a call to a sandbox's agent: agent.c ---- */

struct agent_link;

/* body: of len bytes, with a NUL behind them, as large as its type has to be at least. A callback may free the link. */
struct agent_events {
	void (*said)(void *owner, enum agent_say type, const char *body, size_t len);
	/* It is gone, or what it says is not of that form. */
	void (*lost)(void *owner);
};

/* fd: what channel_events.agent() gave (taken). text: of request->len bytes, at most AGENT_PATH_MAX. NULL: no memory, or it is gone. */
struct agent_link *agent_link_new(struct front *front, int fd, const struct agent_request *request,
				  const char *text, const struct agent_events *events, void *owner);
void agent_link_free(struct agent_link *link);
/* Stop reading, or go on. */
void agent_link_hold(struct agent_link *link, bool hold);

#endif
