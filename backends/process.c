/*
 * process: an ordinary process of the caller's. Nothing is isolated, and the capabilities say so: a policy that asks for anything
 * but a time and a size of output is refused, unless it marks the rest as preferred. The supervisor and init keep what is kept:
 * init is the reaper of all that the program starts, and kills it at the deadline and when the program has ended, whatever sessions
 * and groups it made. A program that works against this can do better: it has the caller's rights, and may kill its init. Then the
 * cause is `host`, and the receipt says that the wall time was not enforced.
 *
 * Code works in a temporary directory (runtime/code/scratch.h), which stands for the /tmp of a jail.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/rows.h"
#include "base/array.h"
#include "base/fd.h"

static const char nothing[] =
    "the backend process isolates nothing; use local, or mark the field as preferred";

static const struct kept {
	enum policy_control control;
	const char *mechanism;
} kept[] = {
	{ POLICY_CONTROL_WALL_TIME,
	  "supervisor's deadline; init kills all that the program started, unless the program kills init" },
	{ POLICY_CONTROL_CODE, "size compared before anything starts" },
	{ POLICY_CONTROL_STDOUT, "supervisor keeps that much of the pipe" },
	{ POLICY_CONTROL_STDERR, "supervisor keeps that much of the pipe" },
	{ POLICY_CONTROL_FUNCTIONS, "supervisor answers calls on descriptor 5, by name" },
	{ POLICY_CONTROL_WORKING_DIRECTORY, "chdir" },
};

static const char no_children[] = "the kernel does not list the children of a process "
				  "(CONFIG_PROC_CHILDREN), so Warder cannot find the processes that a "
				  "program leaves running";

static bool lists_children(void)
{
	return access("/proc/thread-self/children", R_OK) == 0;
}

static const struct jail_starter starter = { .isolation = POLICY_ISOLATION_NONE, .bare = true };

void process_capabilities(const struct backend *backend, const struct jail_host *host,
			  const struct policy *policy, struct policy_capabilities *ret)
{
	static const char *const languages[] = { "command", NULL };

	memset(ret, 0, sizeof(*ret));
	snprintf(ret->backend, sizeof(ret->backend), "%s", backend->name);
	ret->isolation = backend->isolation;
	ret->languages = languages;
	for (int i = 0; i < POLICY_CONTROL_COUNT; i++)
		policy_capability_refused(ret, (enum policy_control)i, "%s", nothing);
	for (size_t i = 0; i < ARRAY_LENGTH(kept); i++)
		policy_capability_enforced(ret, kept[i].control, kept[i].mechanism);
	if (!lists_children())
		policy_capability_refused(ret, POLICY_CONTROL_WALL_TIME, "%s", no_children);
}

int process_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
		  struct warder_error *err)
{
	owned_fd int pid_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (!lists_children()) /* whether or not a time is asked for */
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "the backend process: %s",
				 no_children);
	if (pid_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "backend", errno,
				       "the backend process: the kernel has no pidfds (Linux 5.3), by which "
				       "Warder ends what it started");
	return 0;
}

/* There is no root to lay anything out in; the program begins in the place that comes closest to what was asked. */
static int shape_root(struct jail_plan *plan, struct warder_error *err)
{
	const struct policy *policy = &plan->policy;
	const char *begin = policy->working_directory           ? policy->working_directory
			    : policy->filesystem.workspace_root ? policy->filesystem.workspace_root
								: "/tmp";

	rootfs_done(&plan->rootfs);
	plan->rootfs.working_directory = strdup(begin);
	return plan->rootfs.working_directory ? 0 : error_no_memory(err, NULL);
}

/* What is left of a plan that restricts nothing. */
int process_shape(const struct backend *backend, const struct jail_host *host, struct jail_plan *plan,
		  struct warder_error *err)
{
	plan->starter = &starter;
	plan->namespaces = 0;
	plan->loopback_up = false;
	plan->cgroup = (struct cgroup_limits){ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, false };
	plan->rlimit_count = 0;
	plan->filter->count = 0;
	plan->landlock_abi = 0;
	plan->speculation = false;
	plan->cpu_time_us = POLICY_UNLIMITED;
	plan->uid = geteuid();
	plan->gid = getegid();
	return shape_root(plan, err);
}
