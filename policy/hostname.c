/*
 * hostname: what a single name may look like. The edge of a jail links this file, too.
 */
#include <string.h>

#include "policy/values.h"

static bool is_label(const char *label, size_t length)
{
	if (length == 0 || length > 63 || label[0] == '-' || label[length - 1] == '-')
		return false;
	for (size_t i = 0; i < length; i++) {
		char c = label[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '_')
			return false;
	}
	return true;
}

/* What inet_aton() and a browser take for a part of an address: "10", "0x7f". */
static bool is_number(const char *label)
{
	if (strncmp(label, "0x", 2) == 0)
		return label[2 + strspn(label + 2, "0123456789abcdef")] == '\0';
	return label[strspn(label, "0123456789")] == '\0';
}

const char *policy_name_fault(const char *name)
{
	const char *label = name;

	for (;;) {
		size_t length = strcspn(label, ".");

		if (!is_label(label, length))
			return "is not a valid host name; write it as \"pypi.org\" or \"*.example.org\", "
			       "addresses as cidr";
		if (label[length] == '\0')
			break;
		label += length + 1;
	}
	if (is_number(label))
		return "is an address; write it as cidr, such as \"10.1.2.3/32\"";
	return NULL;
}

bool policy_host_is_name(const char *host)
{
	return strlen(host) <= POLICY_MAX_HOST && !policy_name_fault(host);
}
