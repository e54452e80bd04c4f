/*
 * exchange: a request and its answer, as handlers see them: exchange.c, key.c, lockout.c, server.c, asking.c. Private to host/front/.
 *
 * Life of a request: server.c makes a struct exchange and finds its route -> it collects the body -> the route's handler is called once. The
 * handler answers, or asks the launcher or a keeper and answers in the callback. It must answer once, by one of exchange_json(),
 * exchange_empty(), exchange_fail() or exchange_stream(). The exchange is freed when the answer has been sent, or when the client is gone: then
 * exchange->gone() is called first, and no callback afterwards.
 */
#ifndef WARDER_HOST_FRONT_EXCHANGE_H
#define WARDER_HOST_FRONT_EXCHANGE_H

#include "host/front/front.h"

#define EXCHANGE_NO_ROOM        "the tenant has as many requests at a time as it may have"
#define EXCHANGE_KEEPS_TOO_MUCH "too many long requests are being served at this time; try again"

struct exchange {
	struct front *front;
	const struct route *route;
	const char *method, *path;
	char *args[FRONT_ARGS_MAX]; /* owned */
	char *body;                 /* owned; with a final NUL that is not counted */
	size_t body_len;
	bool keeps_body;        /* the handler needs it again; else it is gone when the handler returns */
	enum link_key key_kind; /* whose key the client showed; LINK_KEY_PEER: none, but it may need none */
	char key[SHA256_HEX];   /* its digest, or "" */
	uint64_t tenant;        /* whose it is, by the launcher's number; 0: not known yet */
	const char
	    *sandbox; /* the sandbox that the request is about: an argument or the routing header; or "" */
	unsigned int port; /* of the sandbox that the Host header names; 0: it names this host */
	void *data;        /* the handler's */
	void (*gone)(struct exchange *x); /* the exchange ends: release `data`; or NULL */
	void (*room)(struct exchange *x); /* of a stream: it has room again; or NULL */
	void (*part)(struct exchange *x, const char *bytes,
		     size_t len);   /* of ROUTE_PARTS; NULL, 0: the end of the body */
	struct exchange_http *http; /* http.h */
};

/* Of a request to a sandbox's name: what stands between method and version, as the client wrote it. NULL: it is too long, or no memory. */
const char *exchange_target(const struct exchange *x);
/* Call back with each header, as long as it returns true. */
void exchange_headers(const struct exchange *x, void *context,
		      bool (*each)(void *context, const char *name, const char *value));
/* The port of its sandbox that the client wants, by the Host header or the routing header; 0: it says none. */
unsigned int exchange_port(const struct exchange *x);
/* A header or query parameter of the request; NULL: there is none. */
const char *exchange_header(const struct exchange *x, const char *name);
const char *exchange_query(const struct exchange *x, const char *name);
/* The body as a JSON object, with the members that its route has; an empty body is an empty object. The caller frees *ret. -1: the exchange
 * was answered. */
int exchange_object(struct exchange *x, struct json_value **ret);
/* Answer with JSON, which is taken (heap; NULL on want of memory answers 500). */
void exchange_json(struct exchange *x, unsigned int status, char *json);
/* Answer with bytes of another type, which are taken (heap). */
void exchange_bytes(struct exchange *x, unsigned int status, const char *media_type, char *bytes, size_t len);
void exchange_empty(struct exchange *x, unsigned int status);
/* Answer with {code, message} and, if given, the kind and the field of the error. */
void exchange_fail(struct exchange *x, unsigned int status, const char *message);
void exchange_error(struct exchange *x, unsigned int status, const struct warder_error *err);
/* A header of the answer, before it. One name may have several. If it cannot be set, the answer is an error. */
void exchange_set(struct exchange *x, const char *name, const char *value);
/* The answer comes from a server in a sandbox, and has no headers of this program's. */
void exchange_relay(struct exchange *x);

/* The body, which is the caller's from now on; NULL: there is none. */
char *exchange_take_body(struct exchange *x);

/* Each document that a handler keeps when it returns is counted, and is freed as soon as what it says was passed on. more: bytes that are kept beside
 * it; NULL, 0: nothing is kept any more. False: the handlers together, or those of its tenant, keep too much for that, and the exchange was
 * answered. */
bool exchange_keep(struct exchange *x, const struct json_value *document, size_t more);
/* The same question once more, when it has become known whose the request is. */
bool exchange_keeps_too_much(const struct exchange *x);
/* Of what is counted, no more than so many bytes are still kept. */
void exchange_keep_less(struct exchange *x, size_t bytes);

/* False: too many wrong keys came from the address of the client, which was answered. */
bool exchange_may_show_key(struct exchange *x);
/* The connection of the client; -1: there is none any more. */
int exchange_connection(const struct exchange *x);
/* The launcher has said whose the request is; 0: nobody's. */
void exchange_belongs(struct exchange *x, uint64_t tenant);
/* False: the key's tenant has as many requests at a time as it may have. */
bool exchange_has_room(struct exchange *x);

/* Answer with a body that comes bit by bit: exchange_stream(), exchange_write() any number of times, exchange_end(). */
void exchange_stream(struct exchange *x, unsigned int status, const char *media_type);
/* The same with a length that is known; UINT64_MAX: it is not. media_type: or NULL. */
void exchange_stream_of(struct exchange *x, unsigned int status, const char *media_type, uint64_t length);
/* The bytes are copied. Returns whether there is room for more; if not, x->room() is called when there is. */
bool exchange_write(struct exchange *x, const void *bytes, size_t len);
void exchange_end(struct exchange *x);
/* End it so that the client sees that bytes are missing: the connection is closed. */
void exchange_abort(struct exchange *x);
/* Change to another protocol with status 101. `began` gets the connection's descriptor, which does not block and which stays the server's, and
 * the bytes that came already; exchange_close() ends it. The exchange lives until then. */
void exchange_upgrade(struct exchange *x, const char *protocol,
		      void (*began)(struct exchange *x, int fd, const char *bytes, size_t len));
void exchange_close(struct exchange *x);
/* Of another protocol, or before an answer: how many bytes are kept for the client. They count as those of a stream, and a client that is too
 * slow loses its connection. moves: the client, or what is asked for it, goes on. */
void exchange_waits(struct exchange *x, size_t bytes, bool moves);
/* Whether the connection is encrypted by this server. */
bool exchange_is_encrypted(const struct exchange *x);
/* Of ROUTE_PARTS: take no more of the body until `hold` is false. To be called in part() or later. */
void exchange_hold(struct exchange *x, bool hold);

/* ---- questions to the launcher: asking.c ---- */

/* `text` is what the launcher sent along, or NULL; *fd is a descriptor that it sent along, or -1: take it with fd_take(). Both are gone after
 * the call. */
typedef void asked(struct exchange *x, const struct link_answer *answer, const char *text, int *fd);

/* Ask the launcher in the name of the request's key, about x->sandbox. text: JSON that goes along (taken, heap), or NULL. An answer of 400 or
 * more is passed on to the client, and `then` is not called. */
void exchange_ask(struct exchange *x, enum link_call call, uint64_t value, char *text, asked *then);
/* The same; `then` gets every answer, and is called at once with an error if the launcher cannot be asked. */
void exchange_ask_any(struct exchange *x, enum link_call call, uint64_t value, char *text, asked *then);

#endif
