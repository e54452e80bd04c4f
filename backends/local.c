/*
 * local: the jail itself. A plan is carried out as it stands.
 */
#include <poll.h>

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

/* ---- sessions ---- */

static int start(struct jail_plan *plan, const struct jail_host *host, uint64_t lifetime_us, void **ret,
		 struct warder_error *err)
{
	struct jail_session *session = NULL;

	if (jail_session_open(plan, host, lifetime_us, &session, err) < 0)
		return -1;
	*ret = session;
	return 0;
}

static bool is_running(const void *session)
{
	struct pollfd fd = { .fd = jail_session_init_fd(session), .events = POLLIN };

	return poll(&fd, 1, 0) == 0;
}

static int recheck(void *session, struct warder_error *err)
{
	return jail_session_recheck(session, err);
}

static enum jail_cause wait_for_end(void *session)
{
	struct warder_error ignored; /* what is left is told by who looks: doctor */
	enum jail_cause cause = JAIL_CAUSE_HOST;

	jail_session_wait(session, &cause, &ignored);
	return cause;
}

static const char *left(const void *session)
{
	return jail_session_left(session);
}

static void stop(void *session)
{
	jail_session_end(session);
}

static void free_session(void *session)
{
	jail_session_free(session);
}

static void sweep(const void *session)
{
	jail_session_sweep(session);
}

static int freeze(const void *session, bool frozen, struct warder_error *err)
{
	return jail_session_freeze(session, frozen, err);
}

static void extend(const void *session, uint64_t us)
{
	jail_session_extend(session, us);
}

static void count(const void *session, struct jail_counters *ret)
{
	jail_session_count(session, ret);
}

static const struct jail_joint *joint(const void *session)
{
	return jail_session_joint(session);
}

static const char *root(const void *session)
{
	return jail_session_root(session);
}

static const struct policy_receipt *receipt(const void *session)
{
	return jail_session_receipt(session);
}

static int replace_rules(void *session, const struct policy *policy, uint64_t *ret_since_us,
			 struct warder_error *err)
{
	return jail_session_replace_rules(session, policy, ret_since_us, err);
}

static void rules_replaced(void *session, const struct policy *policy, uint64_t since_us)
{
	jail_session_rules_replaced(session, policy, since_us);
}

static void end_network(void *session)
{
	jail_session_end_network(session);
}

const struct backend_sessions local_sessions = {
	.start = start,
	.is_running = is_running,
	.recheck = recheck,
	.wait = wait_for_end,
	.left = left,
	.stop = stop,
	.free = free_session,
	.sweep = sweep,
	.freeze = freeze,
	.extend = extend,
	.count = count,
	.joint = joint,
	.root = root,
	.receipt = receipt,
	.replace_rules = replace_rules,
	.rules_replaced = rules_replaced,
	.end_network = end_network,
};
