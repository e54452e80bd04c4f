/*
 * strangers: everyone who may open the Unix socket can connect to it, and need not be a tenant. The front cannot tell users from each other. So a
 * client that has never been answered as a tenant has a short time for a request, and such clients together have a part of the connections.
 */
#include <sys/socket.h>

#include "host/front/exchange.h"

#define PART  16 /* of the connections, one in so many */
#define LEAST 4

static bool is_stranger(const struct server *server, const struct peer *peer)
{
	return server->is_unix && !(peer && peer->is_known);
}

uint64_t stranger_header_us(const struct server *server, const struct peer *peer)
{
	const uint64_t most = server->front->welcome.limits.header_seconds * 1000000;

	return is_stranger(server, peer) && most > STRANGER_US ? STRANGER_US : most;
}

bool stranger_is_asking(const struct exchange_http *http, const struct peer *peer)
{
	const struct exchange *x = &http->x;
	const bool shows_key = x->key_kind != LINK_KEY_NONE && x->key_kind != LINK_KEY_PEER;

	return is_stranger(x->front->server, peer) && !x->tenant &&
	       (!shows_key || http->response || http->queued);
}

/* One whose request is whole waits for us. */
static bool still_sends(const struct peer *peer)
{
	return !peer->is_dropped && peer->deadline_us != UINT64_MAX;
}

void strangers_make_way(struct server *server)
{
	const size_t part = server->front->welcome.limits.connections / PART;
	const size_t most = part > LEAST ? part : LEAST;
	struct peer *oldest = NULL;
	size_t count = 0;

	for (struct peer *peer = server->peers; peer; peer = peer->next)
		if (is_stranger(server, peer) && still_sends(peer)) {
			oldest = peer;
			count++;
		}
	if (count <= most)
		return;
	oldest->is_dropped = true;
	shutdown(oldest->fd, SHUT_RDWR);
}
