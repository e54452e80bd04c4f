/*
 * gate: the first bytes of a connection to a name, which tell whether it goes on. Pure.
 *
 * TLS has to begin with a ClientHello that names the host; HTTP/1 is checked request by request. On ports 80 and 443 nothing else
 * passes. On any other port a connection that is neither passes by its address alone, and so does one whose server speaks first.
 */
#ifndef WARDER_EDGE_GATE_H
#define WARDER_EDGE_GATE_H

#include "edge/http.h"

#define GATE_HELD_MAX                                                                                        \
	90112 /* bytes of the client that may wait for a decision; more than a ClientHello or a head has */

enum gate_state {
	GATE_FIRST,
	GATE_HTTP,
	GATE_OPEN,
};

struct gate {
	enum gate_state state;
	struct http http;
};

/* As of http_check(). */
int gate_check(struct gate *gate, const char *name, uint16_t port, const uint8_t *bytes, size_t len,
	       size_t *ret_pass, enum edge_reason *ret_why, char *ret_other);

#endif
