/*
 * peer: how long a connection may take for what it sends or reads next.
 */
#include "base/clock.h"
#include "host/front/http.h"

#define BODY_US  UINT64_C(60000000) /* for the body of a request, unless its route takes it in parts */
#define PIECE_US UINT64_C(30000000) /* for the next piece of a body that is taken in parts */

struct peer *peer_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

void peer_set_deadline(struct MHD_Connection *connection, uint64_t within_us)
{
	struct peer *peer = peer_of(connection);

	if (!peer)
		return;
	peer->deadline_us = within_us == UINT64_MAX ? UINT64_MAX : clock_us() + within_us;
	peer->is_answered = false;
}

bool peer_waits_for_us(struct MHD_Connection *connection)
{
	const struct peer *peer = peer_of(connection);

	return peer && peer->deadline_us == UINT64_MAX;
}

bool exchange_is_upload(const struct exchange_http *http)
{
	return http->x.route && (http->x.route->flags & ROUTE_PARTS);
}

uint64_t peer_body_us(const struct exchange_http *http)
{
	const uint64_t us = exchange_is_upload(http) ? PIECE_US : BODY_US;

	return stranger_is_asking(http, peer_of(http->connection)) ? STRANGER_US : us;
}

void exchange_belongs(struct exchange *x, uint64_t tenant)
{
	struct peer *peer = peer_of(x->http->connection);

	x->tenant = tenant;
	if (!tenant || !peer || peer->is_known)
		return;
	peer->is_known = true;
	if (peer->deadline_us != UINT64_MAX)
		peer_set_deadline(x->http->connection, peer_body_us(x->http));
}
