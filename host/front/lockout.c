/*
 * lockout: addresses that showed too many wrong keys in a minute show no more in it.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "host/front/http.h"

#define WRONG_US UINT64_C(60000000)

static struct address *address_of(struct exchange_http *http)
{
	struct server *server = http->x.front->server;
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(http->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	struct in6_addr ip = { 0 };
	struct address *oldest = &server->addresses[0];

	if (info && info->client_addr->sa_family == AF_INET)
		memcpy(&ip, &((const struct sockaddr_in *)(const void *)info->client_addr)->sin_addr, 4);
	else if (info && info->client_addr->sa_family == AF_INET6)
		ip = ((const struct sockaddr_in6 *)(const void *)info->client_addr)->sin6_addr;
	for (size_t i = 0; i < ADDRESSES; i++) {
		struct address *address = &server->addresses[i];

		if (address->since_us && memcmp(&address->ip, &ip, sizeof(ip)) == 0)
			return address;
		if (address->since_us < oldest->since_us)
			oldest = address;
	}
	*oldest = (struct address){ .ip = ip, .since_us = clock_us() };
	return oldest;
}

/* Too many wrong keys in this minute. */
static bool is_locked_out(struct exchange_http *http)
{
	struct address *address = address_of(http);

	if (clock_us() - address->since_us >= WRONG_US) {
		address->since_us = clock_us();
		address->wrong = 0;
	}
	return address->wrong >= http->x.front->welcome.limits.wrong_tokens;
}

bool exchange_may_show_key(struct exchange *x)
{
	if (!is_locked_out(x->http))
		return true;
	exchange_set(x, "Retry-After", "60");
	exchange_fail(x, 429, "too many wrong tokens came from this address; try again in a minute");
	return false;
}

void lockout_count(struct exchange_http *http)
{
	address_of(http)->wrong++;
}
