/*
 * key: which key a request shows, by its headers and its route.
 */
#include <string.h>
#include <strings.h>

#include "host/front/http.h"

static void take_key(struct exchange *x, enum link_key kind, const char *key)
{
	x->key_kind = kind;
	link_digest(key, x->key);
}

/* A request with anything that could be a key is judged by that alone. One with an origin comes from a browser, through a server in front, and
 * not from the user of that server. */
bool key_may_be_missing(const struct exchange *x)
{
	static const char *const headers[] = { "Authorization",  "X-API-Key",
					       "X-Access-Token", "E2b-Traffic-Access-Token",
					       "Cookie",         "Origin" };

	if (!x->front->server->is_unix ||
	    (x->route->flags & (ROUTE_OPEN | ROUTE_SANDBOX | ROUTE_TRAFFIC | ROUTE_SIGNED)) ||
	    exchange_query(x, "signature"))
		return false;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		if (exchange_header(x, headers[i]))
			return false;
	return true;
}

bool key_find(struct exchange *x)
{
	const char *bearer = exchange_header(x, "Authorization");
	const char *token = exchange_header(x, "X-API-Key");
	const char *access = exchange_header(x, "X-Access-Token");
	const char *traffic = exchange_header(x, "E2b-Traffic-Access-Token");
	const char *signature = exchange_query(x, "signature");
	char of_page[64];
	int found = 0;

	if (!token && bearer && strncasecmp(bearer, "Bearer ", 7) == 0)
		token = bearer + 7;
	if (!token && !access && !traffic && !signature && !x->port && !(x->route->flags & ROUTE_OPEN))
		found = page_token(x, of_page);
	if (found < 0) {
		exchange_fail(
		    x, 403,
		    "a request with the page's cookie has one half of the token, and needs the other half in "
		    "X-Warder-Page");
		return false;
	}
	if (found)
		token = of_page;
	if ((x->route->flags & ROUTE_SANDBOX) && access)
		take_key(x, LINK_KEY_SANDBOX, access);
	else if ((x->route->flags & ROUTE_TRAFFIC) && traffic)
		take_key(x, LINK_KEY_TRAFFIC, traffic);
	else if ((x->route->flags & ROUTE_SIGNED) && signature)
		take_key(x, LINK_KEY_SIGNATURE, signature);
	else if (token &&
		 (!(x->route->flags & (ROUTE_SANDBOX | ROUTE_TRAFFIC)) || (x->route->flags & ROUTE_PORT)))
		take_key(x, LINK_KEY_TENANT, token);
	else if ((x->route->flags & ROUTE_TRAFFIC) && x->port == PORT_INTERPRETER)
		x->key_kind = LINK_KEY_NAME;
	else if (key_may_be_missing(x))
		x->key_kind = LINK_KEY_PEER;
	if (x->key_kind == LINK_KEY_NONE && !(x->route->flags & ROUTE_OPEN)) {
		exchange_fail(x, 401,
			      x->route->flags & ROUTE_PORT
				  ? "a token is missing: E2b-Traffic-Access-Token with the traffic token of "
				    "the sandbox, or "
				    "X-API-Key with a token of \"warder tenant add\""
				  : "a token is missing: X-API-Key with a token of \"warder tenant add\"");
		return false;
	}
	return true;
}
