/*
 * Parked jails: all of a launch but the last two steps is done before the program is known.
 *
 *   host                                          inside
 *   ------------------------------------------    ---------------------------------------------------
 *   park        namespace ... read-back      <->  as in launch.c; payload: READY, then waits. Its streams
 *                                                 are /dev/null; init's backstop has not begun
 *   recheck     /proc/<payload>, cgroup files:
 *               what can have changed
 *   hand-out    pipes, files
 *               init's timer                 ---> the backstop begins (no message, so that init sleeps on)
 *               GO with arguments,           ---> takes the descriptors, as its streams; ENTERING, execve
 *               environment, descriptors
 *
 * What a jail was born into it cannot change, nor can root from outside: namespaces, mounts, the network without an interface. These
 * are read once. Root can change limits, move processes between cgroups, and kill: this is read again.
 *
 * The payload takes its descriptors under the filter, by two calls more than a launch needs. A policy that denies them has no pool.
 */
#include <errno.h>

#include "base/array.h"
#include "base/clock.h"
#include "jail/environment.h"
#include "jail/run.h"

/* ---- park ---- */

static int refuse(const char *field, const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, field,
			 "a pool keeps no jails %s; launch each by itself", what);
}

static int check_calls(const struct policy *policy, struct warder_error *err)
{
	static const char *const calls[] = { "recvmsg", "dup3" };
	const struct seccomp_options options = {
		.profile = policy->syscalls.profile,
		.network = policy->network.mode,
		.allow_spawn = policy->processes.spawn,
		.deny = (const char *const *)policy->syscalls.deny.items,
		.deny_count = policy->syscalls.deny.count,
		.allow = (const char *const *)policy->syscalls.allow.items,
		.allow_count = policy->syscalls.allow.count,
	};

	for (size_t i = 0; i < ARRAY_LENGTH(calls); i++)
		if (!seccomp_reaches(&options, calls[i]))
			return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "syscalls.deny",
					 "a pool's jails take their streams by %s, which the policy denies; "
					 "launch each by itself",
					 calls[i]);
	return 0;
}

static int check_plan(const struct jail_plan *plan, bool reusable, struct warder_error *err)
{
	if (!reusable)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "a template for a single launch has no pool");
	if (plan->starter)
		return refuse("backend", "of other backends than local", err);
	if (plan->joint || plan->holds)
		return refuse(NULL, "in sessions", err);
	if (plan->edge)
		return refuse("network", "that connect (network.allow, network.publish)", err);
	return check_calls(&plan->policy, err);
}

int jail_check_park(const struct jail_plan *plan, struct warder_error *err)
{
	return check_plan(plan, true, err);
}

int jail_park(struct jail_template *tmpl, struct jail_run **ret, struct warder_error *err)
{
	const struct jail_command none = { .stdin_fd = -1 };

	/* The plan stays as it is. */
	if (!atomic_load(&tmpl->parks) && check_plan(&tmpl->plan, tmpl->reusable, err) < 0)
		return -1;
	atomic_store(&tmpl->parks, true);
	if (run_begin(tmpl, &none, true, ret, err) < 0)
		return -1;
	if (!tmpl->parts) /* else a later jail joins by them */
		cgroup_close_joins(&(*ret)->cgroup);
	(*ret)->parked_us = clock_us();
	return 0;
}

/* ---- what a policy gives ---- */

int jail_given_of(const struct jail_template *tmpl, const struct policy *policy, char *const *caller,
		  char ***ret_environment, struct jail_given *ret, struct warder_error *err)
{
	char **environment = environment_build(policy, tmpl->plan.rootfs.image.environment, caller);

	if (!environment)
		return error_no_memory(err, NULL);
	*ret_environment = environment;
	*ret = (struct jail_given){ .policy = policy,
				    .environment = environment,
				    .wall_time_us = policy->limits.wall_time_us,
				    .stdout_bytes = policy->output.stdout_bytes,
				    .stderr_bytes = policy->output.stderr_bytes };
	return 0;
}

void jail_given_free(char **environment)
{
	environment_free(environment);
}

struct policy jail_given_without(const struct policy *policy)
{
	struct policy rest = *policy;

	rest.environment.set = NULL;
	rest.environment.set_count = 0;
	rest.limits.wall_time_us = 0;
	rest.output.stdout_bytes = rest.output.stderr_bytes = 0;
	return rest;
}

/* ---- stale ---- */

bool jail_template_is_stale(const struct jail_template *tmpl)
{
	return rootfs_is_stale(&tmpl->plan.rootfs);
}

/* ---- hand-out ---- */

int jail_recheck(struct jail_run *run, struct warder_error *err)
{
	run->receipt->again = true;
	run->receipt->parked_us = clock_us() - run->parked_us;
	if (cgroup_begin_cpu(&run->cgroup) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "limits.cpuTime", errno,
				       "the cgroup's CPU time cannot be read");
	return readback_again(run, err);
}

bool jail_died_unused(const struct jail_run *run)
{
	return run->died_unused;
}

int jail_hand_out(struct jail_run *run, const struct jail_command *command, struct warder_error *err)
{
	if (run_check_command(command, err) < 0)
		return -1;
	if (command->terminal_fd > 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "terminal_fd",
				 "the jails of a pool have no terminal for the program; use warder_launch()");
	run->start_us = clock_us();
	run->command = *command;
	if (command->given)
		run->given = *command->given;
	if (command->no_receipt)
		policy_receipt_drop(run->receipt);
	if (run_open_streams(run, err) < 0)
		return -1;
	if (run_start_program(run, err) < 0)
		return -1;
	run_let_go_of_given(run);
	run->launch_us = clock_us() - run->start_us;
	return 0;
}
