/*
 * name: the names that sandboxes have below the domain of a host, "PORT-SANDBOX.DOMAIN". Each of them is an origin of its own for browsers,
 * and so nothing of this host's own API and page is served there, except E2B's services at their two ports.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host/front/exchange.h"

#define PORT_DIGITS 5

bool name_is_among(const char *names, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = names; *at; at += strspn(at, " ")) {
		const size_t word = strcspn(at, " ");

		if (word == len && strncasecmp(at, name, len) == 0)
			return true;
		at += word;
	}
	return false;
}

bool name_parse(const char *domains, const char *host, unsigned int *ret_port, char *ret_id)
{
	const size_t digits = strspn(host, "0123456789");
	const char *id = host + digits + 1;
	unsigned int port;
	size_t len;

	if (!digits || digits > PORT_DIGITS || host[0] == '0' || host[digits] != '-')
		return false;
	port = (unsigned int)strtoul(host, NULL, 10);
	len = strcspn(id, ".");
	if (port > 65535 || !len || len >= LINK_SANDBOX_MAX || id[len] != '.' ||
	    !name_is_among(domains, id + len + 1))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)id[i]))
			return false;
	for (size_t i = 0; i < len; i++)
		ret_id[i] = (char)tolower((unsigned char)id[i]);
	ret_id[len] = '\0';
	*ret_port = port;
	return true;
}

/* Whether E2B's service at the port has the row. */
static bool serves(unsigned int port, const struct route *row)
{
	const unsigned int interpreter = row->flags & ROUTE_TRAFFIC;

	if (strcmp(row->pattern, "/health") == 0)
		return true;
	if (port == PORT_INTERPRETER)
		return interpreter;
	return !interpreter && (row->flags & (ROUTE_SANDBOX | ROUTE_SIGNED));
}

const struct route *name_route(const struct exchange *x, char *ret_args[FRONT_ARGS_MAX], bool *ret_allowed)
{
	const struct route *row;

	*ret_allowed = false;
	if (x->port != PORT_ENVD && x->port != PORT_INTERPRETER)
		return &port_route;
	row = route_find(x->front->routes, x->method, x->path, ret_args, ret_allowed);
	if (row && serves(x->port, row))
		return row;
	*ret_allowed = false;
	return NULL;
}
