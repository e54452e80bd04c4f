/*
 * local: the jail itself. A plan is carried out as it stands.
 */
#include "backends/rows.h"

void local_capabilities(const struct backend *backend, const struct jail_host *host,
			const struct policy *policy, struct policy_capabilities *ret)
{
	jail_capabilities(host, policy, ret);
}

int local_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
		struct warder_error *err)
{
	return jail_check(host, policy, err);
}

int local_shape(const struct backend *backend, const struct jail_host *host, struct jail_plan *plan,
		struct warder_error *err)
{
	return 0;
}
