/*
 * gate: the first bytes of a connection to a name, which tell whether it goes on. Pure.
 *
 * TLS has to begin with a ClientHello that names the host, and so has a second one that the server may ask for; HTTP/1 is checked request by
 * request. On ports 80 and 443 nothing else passes. On any other port a connection that is neither passes by its address alone, and so does
 * one whose server speaks first.
 */
#ifndef WARDER_EDGE_GATE_H
#define WARDER_EDGE_GATE_H

#include "edge/hello.h"
#include "edge/http.h"

#define GATE_HELD_MAX                                                                                        \
	90112 /* bytes of the client that may wait for a decision; more than a ClientHello or a head has */

enum gate_state {
	GATE_FIRST,
	GATE_ANSWER, /* nothing, until the server has answered a ClientHello */
	GATE_RETRY,  /* a second ClientHello is awaited */
	GATE_HTTP,
	GATE_OPEN,
};

struct gate {
	enum gate_state state;
	bool
	    ends_tls; /* set by the caller that speaks TLS with the client itself: it asks for no second ClientHello that leads elsewhere */
	struct http http;
	uint8_t answer[HELLO_ANSWER]; /* of the server, in GATE_ANSWER */
	size_t answer_len;
	/* Passed in GATE_FIRST: the word that the connection begins with, and whether it is too long or something stood before it. */
	char word[HTTP_METHOD_MAX];
	size_t word_len;
	bool is_odd;
};

/* As of http_check(). */
int gate_check(struct gate *gate, const char *name, uint16_t port, const uint8_t *bytes, size_t len,
	       size_t *ret_pass, enum edge_reason *ret_why, char *ret_other);
/* Whether the client's next bytes depend on the server's answer. */
bool gate_waits(const struct gate *gate);
/* Then: the first bytes that the server answers; len 0: it sends no more. */
void gate_answered(struct gate *gate, const uint8_t *bytes, size_t len);
/* Whether bytes that wait belong to a beginning that is not complete. */
bool gate_is_undecided(const struct gate *gate);

#endif
