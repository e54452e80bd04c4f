/*
 * port: requests to servers that listen in sandboxes. Private to host/front/.
 *
 *   port.c   a request and its answer     port_head.c   their headers
 */
#ifndef WARDER_HOST_FRONT_PORT_H
#define WARDER_HOST_FRONT_PORT_H

#include "host/front/exchange.h"
#include "host/wire/reply.h"

struct port_head {
	char *text; /* owned: heap */
	size_t len;
	bool chunked;  /* the body goes in chunks */
	bool upgrades; /* it asks for a WebSocket */
};

/* The head of the request for the server: without the keys of this host, the cookie of its page, and what concerns the connection of the client
 * alone. -1: the exchange was answered. */
int port_make_head(struct exchange *x, struct port_head *ret);
/* Give the answer the headers of the server, without what concerns its connection, and without cookies for other names than its own. */
void port_pass_headers(struct exchange *x, const struct reply *reply);

#endif
