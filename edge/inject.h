/*
 * inject: put a credential into requests, and find it in answers, which must not contain it. Pure.
 *
 * Each request is judged by itself. The edge removes the program's header of the rule's name, and adds its own with the credential if the rule
 * lists the method and the path. If the rule has paths, the edge refuses a path that two programs may read in two ways.
 */
#ifndef WARDER_EDGE_INJECT_H
#define WARDER_EDGE_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "edge/edge.h"

#define INJECT_SECRET_MIN  8 /* bytes: a shorter one is found in ordinary answers */
#define INJECT_SECRET_MAX  4096
#define INJECT_ANSWER_HEAD 65536
/* The most bytes that the credential adds to a head. */
#define INJECT_MORE (INJECT_SECRET_MAX + 512)

struct inject_secret {
	char bytes[INJECT_SECRET_MAX];
	size_t len;
	uint16_t
	    fallback[INJECT_SECRET_MAX +
		     1]; /* of the search: how much of it is still matched when the next byte is another */
};

/* Take the content of a file: one line, whose end may be missing. Returns NULL, or the fault of the content. */
const char *inject_take_secret(struct inject_secret *secret, const char *bytes, size_t len);

/* The rule of a destination, or NULL. */
const struct edge_inject *inject_of(const struct edge_config *config, const char *name, uint16_t port);

enum inject_path {
	INJECT_PATH_LISTED,
	INJECT_PATH_OTHER,
	INJECT_PATH_UNCLEAR,
};
/* Compare the target of a request with the paths of a rule that has some: after decoding once, up to '?'. */
enum inject_path inject_path(const struct edge_inject *rule, const char *target, size_t len);

/* Write the head of a request, which http_step() has accepted, as the server gets it: at most len + INJECT_MORE bytes. Returns their
 * number; -1 with *ret_why. *ret_is_head: its answer has no body. */
long inject_request(const struct edge_inject *rule, const struct inject_secret *secret, const uint8_t *head,
		    size_t len, uint8_t *out, bool *ret_is_head, enum edge_reason *ret_why);

enum answer_state {
	ANSWER_NONE, /* nothing was asked */
	ANSWER_HEAD,
	ANSWER_LENGTH, /* `left` bytes */
	ANSWER_CHUNK,  /* a line with a chunk's size */
	ANSWER_DATA,   /* `left` bytes of a chunk */
	ANSWER_LINE,   /* the end of its line */
	ANSWER_TRAILER,
	ANSWER_REST, /* up to the end of the connection */
};

struct answer {
	enum answer_state state;
	bool to_head; /* the request was HEAD */
	bool chunked;
	uint64_t left;
	size_t matched; /* the last bytes received that may begin the secret; they are held back */
};

/* A request was sent. */
void answer_begin(struct answer *answer, bool to_head);
/* Look at the next bytes of the server. The bytes that may pass go to `pass`, which returns false to stop. Returns the number of bytes taken;
 * 0: more are needed; -1 with *ret_why. */
long answer_step(struct answer *answer, const struct inject_secret *secret, const uint8_t *bytes, size_t len,
		 bool (*pass)(void *context, const void *bytes, size_t len), void *context,
		 enum edge_reason *ret_why);
/* The server has closed. False: within an answer. */
bool answer_end(struct answer *answer, const struct inject_secret *secret,
		bool (*pass)(void *context, const void *bytes, size_t len), void *context);

#endif
