/*
 * absent: engines that are known by name, so that whoever asks for one is told what there is instead. They enforce nothing.
 */
#include <stdio.h>
#include <string.h>

#include "backends/rows.h"

void absent_capabilities(const struct backend *backend, const struct jail_host *host,
			 const struct policy *policy, struct policy_capabilities *ret)
{
	static const char *const languages[] = { NULL };

	memset(ret, 0, sizeof(*ret));
	snprintf(ret->backend, sizeof(ret->backend), "%s", backend->name);
	ret->isolation = backend->isolation;
	ret->languages = languages;
	for (int i = 0; i < POLICY_CONTROL_COUNT; i++)
		backend_refused(
		    ret, (enum policy_control)i,
		    "this version does not drive %s; crun and runc run containers without a daemon",
		    backend->program);
}

int absent_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
		 struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
			 "this version does not drive %s; use the backend crun or runc", backend->program);
}
