/*
 * The start of a session that the flags ask for, by `warder session start` or by the first execution.
 */
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/session/session.h"

int session_start_asked(const struct args *args, const char *name, struct warder_session **ret,
			struct warder_error *err)
{
	const struct warder_session_options options = {
		.size = sizeof(options),
		.policy = args->policy,
		.setup = args->session.setup.items,
		.setup_count = args->session.setup.count,
		.lifetime_us = args->session.lifetime_us,
		.idle_us = args->session.idle_us,
		.ceiling = args->ceiling,
		.cgroup_parent = args->cgroup_parent,
		.backend = args->backend,
		.backends = args->backends,
		.program = "/proc/self/exe",
		.capabilities = args->session.capabilities,
	};
	struct session_origin origin = { 0 };

	if (args->session.origin)
		origin = *args->session.origin;
	origin.snapshot_on_stop = args->session.snapshot_on_stop;
	return session_start(name, &options, &origin, ending_came, ret, err);
}
