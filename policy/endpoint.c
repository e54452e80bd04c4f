/*
 * endpoint: rows of network.allow, network.deny and network.publish as text, and their canonical form.
 *
 * Names are stored in lower case and without the dot at their end, blocks as inet_ntop() writes them, so that equal
 * destinations are equal texts. What cannot be brought to that form is refused here; policy_validate() only has to
 * recognise it.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "policy/names.h"
#include "policy/values.h"

static int refuse_row(const char *value, const char *why, struct warder_error *err)
{
	char quoted[64];

	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "%s %s",
			 json_quote(value, quoted, sizeof(quoted)), why);
}

/* The name in lower case without the dot at its end, into a buffer of POLICY_MAX_HOST + 1. False: it is too long. */
static bool make_canonical(const char *host, char *ret)
{
	size_t length = strlen(host);

	if (length > 1 && host[length - 1] == '.' && host[length - 2] != '.')
		length--;
	if (length > POLICY_MAX_HOST)
		return false;
	for (size_t i = 0; i < length; i++)
		ret[i] = (char)(host[i] >= 'A' && host[i] <= 'Z' ? host[i] - 'A' + 'a' : host[i]);
	ret[length] = '\0';
	return true;
}

int policy_add_endpoint(struct policy_endpoints *list, const char *host, const char *cidr,
			const uint16_t *ports, size_t port_count, const struct policy_inject *inject,
			struct warder_error *err)
{
	struct policy_endpoint endpoint = { .port_count = port_count };
	struct policy_cidr block;
	char canonical[POLICY_MAX_HOST + 1] = "", known[160];
	const char *fault = "is too long; a name has at most 253 bytes";

	if (host) {
		if (make_canonical(host, canonical))
			fault = policy_host_fault(canonical);
		if (fault && canonical[0] == '@') {
			snprintf(known, sizeof(known), "is not a list of names; ");
			policy_suggest(policy_host_lists, canonical, known + strlen(known),
				       sizeof(known) - strlen(known));
			fault = known;
		}
		if (fault)
			return refuse_row(host, fault, err);
		endpoint.host = canonical;
	} else {
		if (policy_parse_cidr(cidr, &block, err) != 0)
			return -1;
		endpoint.cidr = policy_format_cidr(&block, canonical, sizeof(canonical));
	}
	/* Only read: policy_endpoint_add() copies. */
	endpoint.ports = (uint16_t *)(uintptr_t)ports;
	endpoint.inject = (struct policy_inject *)(uintptr_t)inject;
	return policy_endpoint_add(list, &endpoint, err);
}

char *policy_format_endpoint(const struct policy_endpoint *endpoint, char *buf, size_t len)
{
	bool is_v6 = endpoint->cidr && strchr(endpoint->cidr, ':') && endpoint->port_count > 0;
	size_t used = (size_t)snprintf(buf, len, "%s%s%s", is_v6 ? "[" : "",
				       endpoint->host ? endpoint->host : endpoint->cidr, is_v6 ? "]" : "");

	for (size_t i = 0; i < endpoint->port_count && used < len; i++)
		used += (size_t)snprintf(buf + used, len - used, "%c%u", i ? ',' : ':', endpoint->ports[i]);
	return buf;
}

/* ---- text into rows ---- */

/* Decimal digits only, without a sign; at most 65535. */
static bool parse_port(const char *text, uint16_t *ret)
{
	size_t length = strlen(text);
	unsigned long value;

	if (length == 0 || length > 5 || text[strspn(text, "0123456789")])
		return false;
	value = strtoul(text, NULL, 10);
	*ret = (uint16_t)value;
	return value <= 65535;
}

static int parse_ports(char *text, uint16_t *ret_ports, size_t *ret_count, struct warder_error *err)
{
	size_t count = 0;
	char why[100];

	for (char *port = strsep(&text, ","); port; port = strsep(&text, ",")) {
		uint16_t number = 0;

		if (count == POLICY_MAX_PORTS || !parse_port(port, &number) || number == 0) {
			snprintf(why, sizeof(why),
				 "is not a port; write at most %d numbers from 1 to 65535 with commas",
				 POLICY_MAX_PORTS);
			return refuse_row(port, why, err);
		}
		ret_ports[count++] = number;
	}
	*ret_count = count;
	return 0;
}

/* Cut "where:ports" in two in place: IPv6 has its own colons, and brackets when a port follows. */
static char *cut_ports(char **where)
{
	char *text = *where, *colon = strrchr(text, ':'), *bracket;

	if (text[0] == '[' && (bracket = strchr(text, ']')) && (bracket[1] == ':' || bracket[1] == '\0')) {
		*where = text + 1;
		*bracket = '\0';
		return bracket[1] == ':' ? bracket + 2 : NULL;
	}
	if (!colon || strchr(text, ':') != colon)
		return NULL;
	*colon = '\0';
	return colon + 1;
}

int policy_endpoint_parse(struct policy_endpoints *list, const char *value, bool is_allow,
			  struct warder_error *err)
{
	uint16_t ports[POLICY_MAX_PORTS] = { 443, 80 };
	char text[1024], *where = text, *port_list;
	size_t count = 0;
	bool is_cidr;

	if (strlen(value) >= sizeof(text))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "the value is longer than %zu bytes", sizeof(text) - 1);
	memcpy(text, value, strlen(value) + 1);
	port_list = cut_ports(&where);
	is_cidr = strchr(where, '/') != NULL;
	if (port_list && parse_ports(port_list, ports, &count, err) != 0)
		return -1;
	if (!port_list && is_allow && is_cidr)
		return refuse_row(value, "has no port; write the ports behind it, such as 10.0.0.0/8:22,5432",
				  err);
	if (!port_list && is_allow && where[0] != '@')
		count = 2; /* what web clients use */
	return policy_add_endpoint(list, is_cidr ? NULL : where, is_cidr ? where : NULL, ports, count, NULL,
				   err);
}

/* ---- published ports ---- */

/* "80", or "8000-8999" for a ceiling. */
static bool parse_range(char *text, uint16_t *ret_first, uint16_t *ret_last)
{
	char *dash = strchr(text, '-');

	if (dash)
		*dash = '\0';
	return parse_port(text, ret_first) && parse_port(dash ? dash + 1 : text, ret_last) &&
	       *ret_first <= *ret_last;
}

int policy_publish_parse(struct policy_published *list, const char *value, struct warder_error *err)
{
	struct policy_publish row = { .address = "127.0.0.1" };
	char text[64], *host = text, *jail, *colon;
	struct in_addr address;

	if (strlen(value) >= sizeof(text) || !strchr(value, ':'))
		return refuse_row(
		    value, "is not a published port; write [ADDRESS:]HOSTPORT:JAILPORT, such as 8080:80",
		    err);
	memcpy(text, value, strlen(value) + 1);
	jail = strrchr(text, ':') + 1;
	jail[-1] = '\0';
	colon = strrchr(text, ':');
	if (colon) {
		host = colon + 1;
		*colon = '\0';
		if (inet_pton(AF_INET, text, &address) != 1)
			return refuse_row(
			    value, "has no IPv4 address in front; write one such as 127.0.0.1 or 0.0.0.0",
			    err);
		inet_ntop(AF_INET, &address, row.address, sizeof(row.address));
	}
	if (!parse_range(host, &row.host_port, &row.host_last))
		return refuse_row(
		    value, "has no port of the host; write a number up to 65535, or 0 for any free one", err);
	if (!parse_range(jail, &row.jail_port, &row.jail_last) || row.jail_port == 0)
		return refuse_row(value, "has no port in the jail; write a number from 1 to 65535", err);
	return policy_publish_add(list, &row, err);
}

static void add_range(struct policy_text *text, uint16_t first, uint16_t last)
{
	policy_text_add(text, ":%u", first);
	if (last != first)
		policy_text_add(text, "-%u", last);
}

char *policy_format_publish(const struct policy_publish *row, char *buf, size_t len)
{
	struct policy_text text = { buf, len, 0 };

	policy_text_add(&text, "%s", row->address);
	add_range(&text, row->host_port, row->host_last);
	add_range(&text, row->jail_port, row->jail_last);
	return buf;
}
