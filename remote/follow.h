/*
 * follow: the output of a program on a host as it comes, and its input. Private to remote/.
 *
 * Life: filled with `kind`, `context` and `fd` -> follow_begin() -> follow_loop(), which calls the kind -> follow_reason(), if the program has not ended ->
 * follow_done().
 */
#ifndef WARDER_REMOTE_FOLLOW_H
#define WARDER_REMOTE_FOLLOW_H

#include "base/json.h"
#include "remote/exchange.h"
#include "remote/held.h"

struct follow;

/* What is different for each kind of host. */
struct follow_kind {
	/* Bytes of the stream, after the status 200. -1 with *err: the host does not follow the protocol. */
	int (*take)(struct follow *follow, const char *bytes, size_t len, struct warder_error *err);
	/* Fill the order of a request with input (NULL: its end). Returns its body, heap; NULL without memory. */
	char *(*write_input)(struct follow *follow, const char *bytes, size_t len,
			     struct exchange_order *ret);
	/* Nothing more comes: the program has ended, or the host has said that there is none. */
	bool (*is_over)(struct follow *follow);
	bool answers_first;       /* the status 200 alone says that the program is there */
	bool conflict_ends_input; /* the status 409 says that the program takes no more */
	bool
	    is_own; /* a host of Warder: its own 503 with a short Retry-After says that it has taken nothing */
	unsigned int silence_ms; /* of the host, after which the connection is lost; 0: TCP finds that out */
};

struct follow {
	const struct follow_kind *kind;
	void *context; /* of the kind */
	int fd;        /* of the caller: a packet socket */
	CURLM *multi;
	struct exchange *stream; /* owned; NULL: it has ended */
	struct exchange *input;  /* owned; the request about it that goes on; or NULL */
	char *input_body;        /* owned */
	struct exchange_order input_order;
	unsigned int repeats;      /* of the end of the input */
	uint64_t again_us;         /* when that request is repeated; 0: it is not */
	struct warder_error fault; /* code 0: none */
	struct remote_answer end;  /* of the stream */
	char *end_body;            /* owned */
	uint64_t heard_us;
	bool connected;   /* the caller has the status 101 */
	bool lies;        /* the fault is that the host does not follow the protocol */
	bool gone;        /* the caller is */
	bool closes;      /* the request about the input is its end */
	bool paused;      /* the stream is, until nothing is held */
	struct held held; /* pieces that the caller has not taken yet */
};

/* Begin the stream; the order, except for its take() and context, and its body are the caller's until follow_done(). */
void follow_begin(struct follow *follow, struct exchange_order *order);
/* Pass output and input on until the program or the connection ends, or the caller does. */
void follow_loop(struct follow *follow);
/* The program is there: give the caller the status 101, unless it has it. */
void follow_connect(struct follow *follow);
/* To the caller: output; a JSON object, which the writer has begun; an object with one text. */
bool follow_pass(struct follow *follow, int stream, const char *bytes, size_t len);
void follow_tell(struct follow *follow, struct json_writer *w);
void follow_tell_text(struct follow *follow, const char *key, const char *text);
/* Why the stream is over, where the program has not ended. */
const char *follow_reason(const struct follow *follow);
/* To the caller: the connection is lost, or the host does not follow the protocol; and before that, if a part of the input is lost with it. */
void follow_tell_loss(struct follow *follow, const char *reason);
/* The caller takes what is left for it before that. */
void follow_done(struct follow *follow);

#endif
