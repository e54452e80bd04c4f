/*
 * address: names and blocks of addresses, as network.allow and network.deny hold them.
 *
 * Host patterns are compared as text; a name is never resolved here. IPv4 and IPv6 are two worlds: an
 * IPv4-mapped block (::ffff:0:0/96) would be a second spelling of IPv4 addresses that a grant or a refusal
 * in the first spelling does not see, so it is refused.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "policy/names.h"
#include "policy/values.h"

static bool is_ascii(const char *text)
{
	while (*text && (unsigned char)*text < 0x80)
		text++;
	return *text == '\0';
}

const char *policy_host_fault(const char *host)
{
	if (host[0] == '@')
		return policy_word(policy_host_lists, host) < 0 ? "is not a list of names" : NULL;
	if (strcmp(host, "*") == 0)
		return "is every host; write network.mode \"host\" if that is meant";
	if (strlen(host) > POLICY_MAX_HOST)
		return "is too long; a name has at most 253 bytes";
	if (!is_ascii(host))
		return "is not a valid host name; write it as DNS has it, such as \"xn--bcher-kva.example\"";
	return policy_name_fault(strncmp(host, "*.", 2) == 0 ? host + 2 : host);
}

bool policy_host_covers(const char *pattern, const char *name)
{
	size_t suffix, length = strlen(name);

	if (strncmp(pattern, "*.", 2) != 0)
		return strcmp(pattern, name) == 0;
	suffix = strlen(pattern + 1);
	if (strcmp(pattern, name) == 0)
		return true;
	if (strncmp(name, "*.", 2) == 0) {
		name++;
		length--;
	}
	return length > suffix && strcmp(name + length - suffix, pattern + 1) == 0;
}

static int refuse(const char *text, const char *why, struct warder_error *err)
{
	char quoted[64];

	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "%s %s",
			 json_quote(text, quoted, sizeof(quoted)), why);
}

static bool parse_prefix(const char *text, unsigned max, unsigned *ret)
{
	size_t length = strlen(text);

	if (length == 0 || length > 3 || text[strspn(text, "0123456789")] || (length > 1 && text[0] == '0'))
		return false;
	*ret = (unsigned)atoi(text);
	return *ret <= max;
}

static void keep_prefix(uint8_t *address, size_t size, unsigned bits)
{
	for (size_t i = 0; i < size; i++) {
		unsigned kept = bits > 8 * i ? bits - 8 * (unsigned)i : 0;

		if (kept < 8)
			address[i] &= (uint8_t)(0xff00 >> kept);
	}
}

int policy_parse_cidr(const char *text, struct policy_cidr *ret, struct warder_error *err)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct policy_cidr cidr = { .is_v6 = strchr(text, ':') != NULL };
	struct policy_cidr kept;
	const char *slash = strchr(text, '/');
	char address[64], why[160], canonical[64];

	if (!slash || (size_t)(slash - text) >= sizeof(address))
		return refuse(
		    text, "is not an address block; write one such as \"10.1.0.0/16\" or \"fd00::/8\"", err);
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	if (inet_pton(cidr.is_v6 ? AF_INET6 : AF_INET, address, cidr.address) != 1 ||
	    !parse_prefix(slash + 1, cidr.is_v6 ? 128 : 32, &cidr.prefix))
		return refuse(
		    text, "is not an address block; write one such as \"10.1.0.0/16\" or \"fd00::/8\"", err);
	if (cidr.is_v6 && cidr.prefix >= 96 && memcmp(cidr.address, mapped, sizeof(mapped)) == 0)
		return refuse(text, "is a block of IPv4 addresses; write it as IPv4", err);
	kept = cidr;
	keep_prefix(kept.address, sizeof(kept.address), kept.prefix);
	if (memcmp(kept.address, cidr.address, sizeof(kept.address)) != 0) {
		snprintf(why, sizeof(why), "has bits below its prefix; write \"%s\"",
			 policy_format_cidr(&kept, canonical, sizeof(canonical)));
		return refuse(text, why, err);
	}
	*ret = cidr;
	return 0;
}

char *policy_format_cidr(const struct policy_cidr *cidr, char *buf, size_t len)
{
	char address[INET6_ADDRSTRLEN];

	inet_ntop(cidr->is_v6 ? AF_INET6 : AF_INET, cidr->address, address, sizeof(address));
	snprintf(buf, len, "%s/%u", address, cidr->prefix);
	return buf;
}
