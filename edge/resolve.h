/*
 * resolve: addresses of names, as the host's resolver gives them, without waiting: c-ares for DNS, and the host's /etc/hosts as it was at the start.
 *
 * Life: resolve_init() before the edge is confined (it reads resolv.conf and hosts) -> resolve_start() ... and in the loop
 * resolve_timeout() and resolve_step() -> nothing: it ends with the process.
 */
#ifndef WARDER_EDGE_RESOLVE_H
#define WARDER_EDGE_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESOLVED_MAX 16

struct resolved {
	uint8_t address[16];
	bool is_v6;
};

struct resolver;
/* `watch` is called whenever a socket of the resolver's is to be waited for, or no more (neither flag). NULL: no memory. */
struct resolver *resolve_init(void (*watch)(int fd, bool reads, bool writes));
/* Begin. done() is called once, perhaps before this returns, with at most RESOLVED_MAX addresses; 0: there is none. */
void resolve_start(struct resolver *resolver, const char *name,
		   void (*done)(void *context, const struct resolved *addresses, size_t count),
		   void *context);
/* At most so many ms until resolve_step() is to be called; -1: nothing is under way. */
int resolve_timeout(struct resolver *resolver);
/* A socket is ready; fd -1: none, but time has passed. */
void resolve_step(struct resolver *resolver, int fd, bool reads, bool writes);

#endif
