/*
 * relay: one connection to a host with a credential: TLS with the program, TLS with the host, and HTTP/1 between the two. Makes no system
 * call.
 *
 * Life: relay_new() -> what each side sends is put in, relay_step() after that, and what each side gets is taken out -> relay_free().
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
/* What a side has sent; with len 0, that it sends no more. False: no memory. */
bool relay_put(struct relay *relay, enum relay_side side, const uint8_t *bytes, size_t len);
/* Whether more of a side can be taken. */
bool relay_wants(struct relay *relay, enum relay_side side);
/* What a side gets: at most `size` bytes. */
size_t relay_take(struct relay *relay, enum relay_side side, uint8_t *bytes, size_t size);
/* Go on as far as possible. -1 with *ret_why and ret_detail (128 bytes): the connection is over. */
int relay_step(struct relay *relay, enum edge_reason *ret_why, char *ret_detail);
/* Whether nothing comes any more, except what is to be taken. */
bool relay_is_over(const struct relay *relay);

#endif
