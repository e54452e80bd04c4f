/*
 * connection: the connections of a jail, each from its listener inside to a destination that the rules allow.
 *
 * Life of one: taken from a listener -> its name resolved -> its addresses checked and tried -> bytes passed both ways, those of the client
 * through the gate -> closed, as its ends are: half by half, or by a reset.
 * One thread, no waiting. All descriptors are in the epoll instance, with a struct source as data.
 */
#ifndef WARDER_EDGE_CONNECTION_H
#define WARDER_EDGE_CONNECTION_H

#include <stddef.h>
#include <stdint.h>

#include "edge/inject.h"
#include "edge/rules.h"
#include "edge/resolve.h"

enum source_kind {
	SOURCE_CONTROL,
	SOURCE_COUNTER,
	SOURCE_DNS,
	SOURCE_DNS_LISTENER,
	SOURCE_DNS_CLIENT,
	SOURCE_PACKETS,
	SOURCE_LISTENER,
	SOURCE_PUBLISHED,
	SOURCE_CLIENT,
	SOURCE_SERVER,
	SOURCE_RESOLVER,
};

/* What an event is about. */
struct source {
	enum source_kind kind;
	int fd;
	void *owner; /* of a client or a server: the connection */
};

struct connection;

struct edge {
	const struct edge_config *config;
	struct edge_report *report;
	struct rules rules;
	struct resolver *resolver;
	int epoll_fd;
	int spare_fd;                   /* held back for a connection that comes when no other is left */
	struct inject_secret *secrets;  /* of each of config->injects */
	struct connection *connections; /* open ones */
	struct connection *dead;        /* to be freed when no event can name them any more */
	size_t open_count;
	uint64_t nearest_ms; /* no deadline of a connection is before; 0: none has one */
	/* Published ports: the host's listening sockets, and sockets of the jail's namespace, which are used again. A closed one that may have bytes
	 * left to deliver is in `delivering`, and is used again when the bytes are gone. */
	struct source published[EDGE_PUBLISHED_MAX];
	bool published_paused; /* until a socket is free */
	int inward[EDGE_INWARD_MAX], delivering[EDGE_INWARD_MAX];
	size_t inward_count, delivering_count;
	uint64_t bytes;
};

/* Accept one connection. Returns its descriptor; -1: none waits, or there is no descriptor for it. In the second case the connection is counted as
 * a refusal and reset; if it cannot be reset, the call pauses, because the event of the waiting connection comes again at once. */
int accept_one(struct edge *edge, int listener_fd);
/* Accept a connection that waits at the listener of this row; the event of the next comes again. */
void connections_accept(struct edge *edge, int listener_fd, const struct edge_listener *listener);
/* Accept connections to a published port. */
void connections_accept_published(struct edge *edge, const struct source *source);
/* After the rules were replaced: end the connections that they no longer allow. */
void connections_withdraw(struct edge *edge);
/* An event of a client or a server. */
void connections_event(struct edge *edge, const struct source *source, uint32_t events);
/* Give up addresses that do not answer, and connections whose first bytes do not come to an end. Returns the most ms until the next call; -1: no call is needed. */
int connections_tick(struct edge *edge);
/* Free what has been closed: after the events of one round. */
void connections_sweep(struct edge *edge);

#endif
