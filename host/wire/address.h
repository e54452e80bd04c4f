/*
 * address: which sandbox, and which port of it, a call is for.
 *
 * Newer clients say so in the headers E2b-Sandbox-Id and E2b-Sandbox-Port. Older ones use the name "PORT-ID.DOMAIN" as the host. A call
 * that names no sandbox is for the control plane. Pure functions; any thread.
 */
#ifndef WARDER_HOST_WIRE_ADDRESS_H
#define WARDER_HOST_WIRE_ADDRESS_H

#include "base/error.h"

#define ADDRESS_ID_MAX           64
#define ADDRESS_PORT_ENVD        49983
#define ADDRESS_PORT_INTERPRETER 49999

enum address_found {
	ADDRESS_CONTROL, /* no sandbox is named */
	ADDRESS_SANDBOX,
	ADDRESS_BAD, /* with *err (INVALID_REQUEST) */
};

struct address {
	char id[ADDRESS_ID_MAX + 1]; /* digits, small letters and '-' */
	unsigned port;
};

struct address_headers {
	const char *id, *port; /* E2b-Sandbox-Id, E2b-Sandbox-Port; or NULL */
	const char *host;      /* Host, or NULL */
};

/* domain: behind which the host's name may name a sandbox; NULL: the name of the host is not looked at. If headers and host both name a
 * sandbox, they must name the same one. A header without a port means envd. */
enum address_found address_find(const struct address_headers *headers, const char *domain,
				struct address *ret, struct warder_error *err);

#endif
