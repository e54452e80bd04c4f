#include <stdio.h>
#include <string.h>

#include "runtime/cli/delegate.h"

#define FLAG "--delegate"

void delegate_amend(const struct args *args, struct warder_error *err)
{
	static const char advice[] = "systemd-run --user", last[] = "a cgroup parent";
	char *at = args->delegate ? strstr(err->text, advice) : NULL;
	char *end = at ? strstr(at, last) : NULL;
	char rest[sizeof(err->text)];

	if (!end)
		return;
	snprintf(rest, sizeof(rest), "%s", end);
	snprintf(at, sizeof(err->text) - (size_t)(at - err->text),
		 "the scope of " FLAG " has no such controller; have the administrator delegate it to your "
		 "service manager, or give %s",
		 rest);
}
