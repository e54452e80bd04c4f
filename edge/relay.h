/*
 * relay: one connection to a host with a credential: TLS with the program, TLS with the host, and HTTP/1 between the two. Makes no system
 * call.
 *
 * Life: relay_new() -> relay_put() the bytes that a side sent, relay_step(), relay_take() the bytes for each side -> relay_free().
 */
#ifndef WARDER_EDGE_RELAY_H
#define WARDER_EDGE_RELAY_H

#include "edge/inject.h"

struct relay;

/* NULL: no memory. */
struct relay *relay_new(const struct edge_inject *rule, const struct inject_secret *secret, const char *name,
			uint16_t port);
void relay_free(struct relay *relay);

enum relay_side {
	RELAY_PROGRAM,
	RELAY_HOST,
};
/* Put in bytes that a side sent; len 0: it sends no more. False: no memory. */
bool relay_put(struct relay *relay, enum relay_side side, const uint8_t *bytes, size_t len);
/* Whether there is room for more bytes of a side. */
bool relay_wants(struct relay *relay, enum relay_side side);
/* Take out bytes for a side, at most `size`. Returns their number. */
size_t relay_take(struct relay *relay, enum relay_side side, uint8_t *bytes, size_t size);
/* Go on as far as possible. -1 with *ret_why and ret_detail (128 bytes): the connection is over. */
int relay_step(struct relay *relay, enum edge_reason *ret_why, char *ret_detail);
/* Whether the connection has ended; bytes may be left for relay_take(). */
bool relay_is_over(const struct relay *relay);

#endif
