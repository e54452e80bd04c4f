/*
 * strangers: everyone who may open the Unix socket can connect to it, and need not be a tenant. The front cannot tell users from each other. So a
 * client that the launcher has never named the tenant of has a short time for a request and for reading its answer, and such clients together
 * have a part of the connections.
 */
#include <sys/socket.h>

#include "host/front/http.h"

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

bool stranger_shows_key(const struct exchange_http *http)
{
	const struct exchange *x = &http->x;

	return x->key_kind != LINK_KEY_NONE && x->key_kind != LINK_KEY_PEER && !http->response &&
	       !http->queued;
}

bool stranger_is_asking(const struct exchange_http *http, const struct peer *peer)
{
	const struct exchange *x = &http->x;

	return is_stranger(x->front->server, peer) && !x->tenant && !stranger_shows_key(http);
}

/* One whose request is whole waits for us. */
static bool takes_time(const struct peer *peer)
{
	return !peer->is_dropped && peer->deadline_us != UINT64_MAX;
}

/* A key may be right, so those without one cannot take its place. It may be wrong, too, so those with one cannot take the place of all others. */
void strangers_make_way(struct server *server)
{
	const size_t part = server->front->welcome.limits.connections / PART;
	const size_t most = part > LEAST ? part : LEAST;
	struct peer *oldest[2] = { NULL, NULL }; /* without a key, and with one */
	size_t count[2] = { 0, 0 };
	struct peer *dropped;

	for (struct peer *peer = server->peers; peer; peer = peer->next)
		if (is_stranger(server, peer) && takes_time(peer)) {
			oldest[peer->shows_key] = peer;
			count[peer->shows_key]++;
		}
	if (count[0] + count[1] <= most)
		return;
	dropped = oldest[count[1] > count[0]];
	dropped->is_dropped = true;
	shutdown(dropped->fd, SHUT_RDWR);
}
