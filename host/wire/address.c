#include "host/wire/address.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Up to `len` characters; a host name has no case. */
static bool copy_id(const char *id, size_t len, char ret[ADDRESS_ID_MAX + 1])
{
	if (len == 0 || len > ADDRESS_ID_MAX || id[0] == '-')
		return false;
	for (size_t i = 0; i < len; i++) {
		const char c = (char)tolower((unsigned char)id[i]);

		if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-')
			return false;
		ret[i] = c;
	}
	ret[len] = '\0';
	return true;
}

static bool parse_port(const char *text, size_t len, unsigned *ret)
{
	unsigned port = 0;

	if (len == 0 || len > 5)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		port = port * 10 + (unsigned)(text[i] - '0');
	}
	*ret = port;
	return port > 0 && port <= 65535;
}

/* "PORT-ID.DOMAIN" or "PORT-ID.DOMAIN:NUMBER". The domain may have a number, too; without one, any is right. */
static bool find_in_host(const char *host, const char *domain, struct address *ret)
{
	const char *dash = strchr(host, '-');
	const char *dot = strchr(host, '.');
	const size_t domain_len = strlen(domain);

	if (!dash || !dot || dash > dot || strncasecmp(dot + 1, domain, domain_len) != 0)
		return false;
	if (dot[1 + domain_len] != '\0' && dot[1 + domain_len] != ':')
		return false;
	return parse_port(host, (size_t)(dash - host), &ret->port) &&
	       copy_id(dash + 1, (size_t)(dot - dash - 1), ret->id);
}

enum address_found address_find(const struct address_headers *headers, const char *domain,
				struct address *ret, struct warder_error *err)
{
	struct address by_host = { 0 }, by_header = { .port = ADDRESS_PORT_ENVD };
	const bool in_host = headers->host && domain && find_in_host(headers->host, domain, &by_host);

	if (!headers->id && !headers->port) {
		if (in_host)
			*ret = by_host;
		return in_host ? ADDRESS_SANDBOX : ADDRESS_CONTROL;
	}
	if (!headers->id || !copy_id(headers->id, strlen(headers->id), by_header.id)) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "E2b-Sandbox-Id",
			  "E2b-Sandbox-Id: missing, or not the id of a sandbox");
		return ADDRESS_BAD;
	}
	if (headers->port && !parse_port(headers->port, strlen(headers->port), &by_header.port)) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "E2b-Sandbox-Port",
			  "E2b-Sandbox-Port: not a number from 1 to 65535");
		return ADDRESS_BAD;
	}
	if (in_host && (strcmp(by_host.id, by_header.id) != 0 || by_host.port != by_header.port)) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "Host",
			  "Host and E2b-Sandbox-Id name different sandboxes or ports");
		return ADDRESS_BAD;
	}
	*ret = by_header;
	return ADDRESS_SANDBOX;
}
