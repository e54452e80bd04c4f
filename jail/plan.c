/*
 * The plan is everything about a jail that can be known before a kernel object is made: pure data, so that it can be
 * shown to a user without privilege. What is expensive to compute (the filter) is computed here, once per policy.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "jail/block.h"
#include "jail/affinity.h"
#include "jail/environment.h"
#include "jail/jail.h"
#include "jail/proc.h"
#include "jail/rlimits.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

#define ZYGOTE_PIDS 64

/* Limits that no policy field sets. Locked shared memory, message queues and queued signals are counted for the user: a
 * jail gets a part of what an ordinary user has by default (8 MiB, 819200 bytes; a queue takes 84 KB), and nobody inside can raise it. A core limit of 1 byte also stops dumps into a pipe: the kernel refuses the
 * helper for exactly this value (core(5), "Piping core dumps to a program"). */
static const struct fixed_rlimit {
	int resource;
	const char *name;
	uint64_t value;
} fixed_rlimits[] = {
	{ RLIMIT_CORE, "CORE", 1 },
	{ RLIMIT_MEMLOCK, "MEMLOCK", 2u << 20 },
	{ RLIMIT_MSGQUEUE, "MSGQUEUE", 131072 },
	{ RLIMIT_SIGPENDING, "SIGPENDING", 1024 },
	{ RLIMIT_NICE, "NICE", 0 },
	{ RLIMIT_RTPRIO, "RTPRIO", 0 },
};

/* An rlimit can only be lowered without privilege: what is over the hard limit is clamped, and the receipt says so. */
static void add_rlimit(struct jail_plan *plan, int resource, const char *name, uint64_t value,
		       enum policy_field field)
{
	struct jail_rlimit *row = &plan->rlimits[plan->rlimit_count++];
	struct rlimit now;

	*row = (struct jail_rlimit){ .resource = resource, .name = name, .value = value, .field = field };
	if (getrlimit(resource, &now) == 0 && now.rlim_max != RLIM_INFINITY && value > now.rlim_max) {
		row->value = now.rlim_max;
		row->clamped = true;
	}
}

static void plan_rlimits(struct jail_plan *plan, const struct policy *policy)
{
	const struct rlimit_row *row;

	for (size_t i = 0; i < ARRAY_LENGTH(fixed_rlimits); i++)
		add_rlimit(plan, fixed_rlimits[i].resource, fixed_rlimits[i].name, fixed_rlimits[i].value,
			   POLICY_FIELD_NONE);
	for (size_t i = 0; (row = rlimit_row_at(i)) != NULL; i++) {
		const uint64_t value = rlimit_row_value(row, policy);

		if (value != POLICY_UNLIMITED)
			add_rlimit(plan, row->resource, row->name, value, policy_control_field(row->control));
	}
}

/*
 * Limits that need a cgroup. A preferred one that this host cannot enforce falls back to what a single process can be
 * held to, and stays "not enforced" in the receipt.
 */
static void plan_cgroup(struct jail_plan *plan, const struct policy *policy, const struct jail_host *host)
{
	const int memory_at = host->cgroup.hierarchy_of[CGROUP_MEMORY];
	const bool *off = plan->not_enforced;
	const uint64_t pids = policy->limits.pids_max;

	plan->cgroup = (struct cgroup_limits){ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, false };
	if (!off[POLICY_CONTROL_MEMORY])
		plan->cgroup.memory_bytes = policy->limits.memory_bytes;
	else if (policy->limits.memory_bytes != POLICY_UNLIMITED)
		add_rlimit(plan, RLIMIT_AS, "AS", policy->limits.memory_bytes, POLICY_FIELD_MEMORY);
	/* v1 limits memory and swap together: without a limit of memory there is none of swap. */
	if (host->cgroup.swap_limit && !off[POLICY_CONTROL_MEMORY] && !off[POLICY_CONTROL_SWAP] &&
	    (plan->cgroup.memory_bytes != POLICY_UNLIMITED || host->cgroup.hierarchies[memory_at].v2))
		plan->cgroup.swap_bytes = policy->limits.swap_bytes;
	if (!off[POLICY_CONTROL_PIDS])
		plan->cgroup.pids_max = pids == POLICY_UNLIMITED ? UINT64_MAX : pids + 1; /* and the init */
	else if (pids != POLICY_UNLIMITED)
		add_rlimit(plan, RLIMIT_NPROC, "NPROC", pids + 1, POLICY_FIELD_PIDS);
	if (!off[POLICY_CONTROL_CPUS])
		plan->cgroup.cpu_milli = policy->limits.cpu_milli;
	if (!off[POLICY_CONTROL_CPU_TIME]) {
		plan->cpu_time_us = policy->limits.cpu_time_us;
	} else {
		plan->cpu_time_us = POLICY_UNLIMITED;
		if (policy->limits.cpu_time_us != POLICY_UNLIMITED)
			add_rlimit(plan, RLIMIT_CPU, "CPU", (policy->limits.cpu_time_us + 999999) / 1000000,
				   POLICY_FIELD_CPU_TIME);
	}
	plan->cgroup.account = plan->cpu_time_us != POLICY_UNLIMITED;
}

static void plan_namespaces(struct jail_plan *plan, const struct policy *policy, const struct jail_host *host)
{
	plan->namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
	if (policy->network.mode != POLICY_NETWORK_HOST)
		plan->namespaces |= CLONE_NEWNET;
	if (host->features[JAIL_FEATURE_CGROUP_NS].there || host->features[JAIL_FEATURE_CGROUP_NS].unknown)
		plan->namespaces |= CLONE_NEWCGROUP;
	if (host->features[JAIL_FEATURE_TIME_NS].there || host->features[JAIL_FEATURE_TIME_NS].unknown)
		plan->namespaces |= CLONE_NEWTIME;
	plan->named = (policy->network.mode == POLICY_NETWORK_ALLOW &&
		       !plan->not_enforced[POLICY_CONTROL_NETWORK_ALLOW]) ||
		      (policy->network.mode == POLICY_NETWORK_LEARN &&
		       !plan->not_enforced[POLICY_CONTROL_NETWORK_LEARN]);
	plan->publishes =
	    policy->network.publish.count > 0 && !plan->not_enforced[POLICY_CONTROL_NETWORK_PUBLISH];
	plan->edge = plan->named || plan->publishes;
	plan->loopback_up = plan->edge || policy->network.mode == POLICY_NETWORK_LOOPBACK;
}

static struct seccomp_options filter_options(const struct policy *policy)
{
	return (struct seccomp_options){
		.profile = policy->syscalls.profile,
		.network = policy->network.mode,
		.allow_spawn = policy->processes.spawn,
		.kill_on_violation = policy->syscalls.on_violation == POLICY_VIOLATION_KILL,
		.deny = (const char *const *)policy->syscalls.deny.items,
		.deny_count = policy->syscalls.deny.count,
		.allow = (const char *const *)policy->syscalls.allow.items,
		.allow_count = policy->syscalls.allow.count,
	};
}

static int plan_filter(struct jail_plan *plan, const struct policy *policy, struct warder_error *err)
{
	const struct seccomp_options options = filter_options(policy);

	plan->speculation = policy->syscalls.speculation && !plan->not_enforced[POLICY_CONTROL_SPECULATION];
	if (plan->not_enforced[POLICY_CONTROL_SYSCALLS])
		return 0; /* only preferred, and the kernel has no filters */
	return seccomp_compile(&options, plan->filter, err);
}

int jail_check_calls(const struct policy *policy, struct warder_error *err)
{
	struct seccomp_program *filter = calloc(1, sizeof(*filter));
	struct seccomp_options options;
	int status;

	if (!filter)
		return error_no_memory(err, NULL);
	options = filter_options(policy);
	status = seccomp_compile(&options, filter, err);
	free(filter);
	return status;
}

/* ---- mounts that every launch attaches ---- */

/* The mounts that a launch as root attaches, each with a descriptor. */
static size_t count_late(const struct rootfs *rootfs)
{
	size_t count = 0;

	for (size_t i = 0; i < rootfs->count; i++)
		count += rootfs->entries[i].kind == ROOTFS_BIND && block_is_late(rootfs, i, true);
	return count;
}

/* Different owners of the binds whose owner is mapped. */
static size_t count_owners(const struct rootfs *rootfs)
{
	size_t count = 0;

	for (size_t i = 0; i < rootfs->count; i++) {
		const struct rootfs_entry *entry = &rootfs->entries[i];
		bool is_new = entry->kind == ROOTFS_BIND && entry->owner_mapped;

		for (size_t j = 0; j < i && is_new; j++)
			is_new =
			    !(rootfs->entries[j].kind == ROOTFS_BIND && rootfs->entries[j].owner_mapped &&
			      rootfs->entries[j].owner_uid == entry->owner_uid &&
			      rootfs->entries[j].owner_gid == entry->owner_gid);
		count += is_new;
	}
	return count;
}

static bool fits(const struct rootfs *rootfs)
{
	return count_late(rootfs) <= JAIL_OWNED_MOUNTS_MAX && count_owners(rootfs) <= JAIL_OWNERS_MAX;
}

/* What is only read can be shown without: the receipt says so. */
static void leave_unmapped(struct rootfs *rootfs, enum policy_field field)
{
	for (size_t i = 0; i < rootfs->count; i++)
		if (rootfs->entries[i].field == field && rootfs->entries[i].read_only)
			rootfs->entries[i].owner_mapped = false;
}

static int check_old_mounts(struct rootfs *rootfs, const struct jail_plan *plan, const struct jail_host *host,
			    struct warder_error *err)
{
	for (size_t i = 0; i < rootfs->count; i++) {
		const struct rootfs_entry *entry = &rootfs->entries[i];

		if (entry->kind != ROOTFS_BIND)
			continue;
		if (strncmp(entry->target, "/tmp/", 5) == 0)
			return error_set(
			    err, WARDER_ERROR_UNSUPPORTED_POLICY, policy_field_path(entry->field),
			    "%s cannot be shown at %s: below /tmp only detached mounts can be: %s; "
			    "choose another target",
			    entry->source, entry->target, host->features[JAIL_FEATURE_MOUNT_API].detail);
		/* Also where it is only preferred: there is no weaker way to do it. */
		if (plan->privileged && entry->owner_mapped && !entry->read_only)
			return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY,
					 policy_field_path(entry->field), "%s cannot be read-write: %s",
					 entry->source, host->features[JAIL_FEATURE_IDMAP].detail);
	}
	leave_unmapped(rootfs, POLICY_FIELD_PATHS);
	return 0;
}

/* What a launch can attach and map is bounded; a plan beyond it is refused here, where `explain` shows it. */
static int check_owned_mounts(struct jail_plan *plan, const struct jail_host *host, struct warder_error *err)
{
	struct rootfs *rootfs = &plan->rootfs;

	if (plan->old_mounts)
		return check_old_mounts(rootfs, plan, host, err);
	if (!plan->privileged)
		return 0;
	if (!fits(rootfs))
		leave_unmapped(rootfs, POLICY_FIELD_PATHS);
	if (!fits(rootfs))
		leave_unmapped(rootfs, POLICY_FIELD_WORKSPACE);
	return fits(rootfs)
		   ? 0
		   : error_set(err, WARDER_ERROR_INVALID_REQUEST, "filesystem.paths",
			       "workspace, read-write paths, targets below /tmp and what lies beneath "
			       "them are more than %d mounts, or have more than %d owners; give a "
			       "common parent directory",
			       JAIL_OWNED_MOUNTS_MAX, JAIL_OWNERS_MAX);
}

/* Also where it is only preferred: there is no weaker way to do it. */
static int check_overlays(const struct jail_plan *plan, const struct jail_host *host,
			  struct warder_error *err)
{
	const struct jail_feature_state *overlay = &host->features[JAIL_FEATURE_OVERLAY];

	if (!plan->rootfs.overlay_count || ((overlay->there || overlay->unknown) && !plan->old_mounts))
		return 0;
	return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY,
			 policy_field_path(plan->rootfs.overlays[0].field),
			 "no overlay can be mounted here: %s",
			 plan->old_mounts ? host->features[JAIL_FEATURE_MOUNT_API].detail : overlay->detail);
}

int jail_plan_build(const struct policy *policy, const struct jail_host *host,
		    const struct policy_capabilities *capabilities, const struct policy_match *match,
		    char *const *caller, const char *root, struct jail_plan *ret, struct warder_error *err)
{
	struct jail_plan *plan = ret;
	struct affinity_mask callers;

	memset(plan, 0, sizeof(*plan));
	if (*host->unanswered)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "the abilities of this host are unknown: %s; try again", host->unanswered);
	plan->capabilities = malloc(sizeof(*plan->capabilities));
	plan->filter = calloc(1, sizeof(*plan->filter));
	if (!plan->capabilities || !plan->filter) {
		jail_plan_done(plan);
		return error_no_memory(err, NULL);
	}
	*plan->capabilities = *capabilities;
	for (size_t i = 0; i < match->count; i++)
		if (match->unmet[i].control < POLICY_CONTROL_COUNT)
			plan->not_enforced[match->unmet[i].control] = true;
	plan->privileged = host->privileged;
	plan->old_mounts =
	    host->features[JAIL_FEATURE_MOUNT_API].tried && !host->features[JAIL_FEATURE_MOUNT_API].there;
	snprintf(plan->hostname, sizeof(plan->hostname), "warder");
	plan->uid = policy->processes.uid;
	plan->gid = policy->processes.gid;
	plan->processors = proc_processors(policy->limits.cpu_milli, affinity_available(&callers));
	plan->landlock_abi = host->landlock_abi;
	plan->wall_time_us = policy->limits.wall_time_us;
	plan->stdout_bytes = policy->output.stdout_bytes;
	plan->stderr_bytes = policy->output.stderr_bytes;
	plan->kill_on_output = policy->output.on_limit == POLICY_OUTPUT_KILL;
	plan_namespaces(plan, policy, host);
	plan_rlimits(plan, policy);
	plan_cgroup(plan, policy, host);
	if (policy_copy(policy, &plan->policy, err) < 0 || plan_filter(plan, policy, err) < 0 ||
	    (root ? rootfs_decode(root, strlen(root), policy, &plan->rootfs, err)
		  : rootfs_plan(policy, &plan->rootfs, err)) < 0 ||
	    check_owned_mounts(plan, host, err) < 0 || check_overlays(plan, host, err) < 0) {
		jail_plan_done(plan);
		return -1;
	}
	plan->environment = environment_build(policy, plan->rootfs.image.environment, caller);
	if (!plan->environment) {
		jail_plan_done(plan);
		return error_no_memory(err, NULL);
	}
	return 0;
}

int jail_plan_build_image(struct jail_plan *plan, struct warder_error *err)
{
	if (plan->policy.filesystem.view != POLICY_VIEW_IMAGE)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "filesystem.view",
				 "an image is built in the view of an image");
	if (rootfs_make_whole(&plan->rootfs, err) != 0)
		return -1;
	plan->uid = plan->policy.processes.uid = 0;
	plan->gid = plan->policy.processes.gid = 0;
	return 0;
}

static int refuse_zygote(const char *field, const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, field,
			 "a fork server makes no jails %s; turn it off (fork_server, --fork-server)", what);
}

/* All that a zygote forks inherits its filter, its Landlock rules and its hard limits: it has none that they do not have. Some limits of its forks
 * would be wrong for itself. It needs descriptors and files to make a jail; and what the kernel counts per user namespace, it counts in the
 * zygote's for all forks together, up to the soft limit that the zygote has. */
static bool zygote_has(int resource)
{
	switch (resource) {
	case RLIMIT_CPU:
	case RLIMIT_NPROC:
	case RLIMIT_NOFILE:
	case RLIMIT_FSIZE:
	case RLIMIT_MEMLOCK:
	case RLIMIT_MSGQUEUE:
	case RLIMIT_SIGPENDING:
		return false;
	default:
		return true;
	}
}

int jail_plan_zygote(struct jail_plan *plan, struct warder_error *err)
{
	size_t kept = 0;

	if (plan->old_mounts)
		return refuse_zygote("filesystem.view", "where the kernel has no detached mounts", err);
	plan->zygote = true;
	plan->rootfs.whole_proc = true;
	plan->landlock_abi = 0;
	plan->filter->count = 0;
	plan->cpu_time_us = POLICY_UNLIMITED;
	plan->cgroup.account = false;
	if (plan->cgroup.pids_max < ZYGOTE_PIDS)
		plan->cgroup.pids_max = ZYGOTE_PIDS;
	for (size_t i = 0; i < plan->rlimit_count; i++)
		if (zygote_has(plan->rlimits[i].resource))
			plan->rlimits[kept++] = plan->rlimits[i];
	plan->rlimit_count = kept;
	return 0;
}

/* Its clocks are the zygote's: a fork that began a time namespace would show its program other clocks than the zygote has seen. */
int jail_plan_forked(struct jail_plan *plan, struct warder_error *err)
{
	if (plan->edge)
		return refuse_zygote("network", "that connect (network.allow, network.publish)", err);
	if (plan->rootfs.overlay_count)
		return refuse_zygote(policy_field_path(plan->rootfs.overlays[0].field), "with an overlay",
				     err);
	for (size_t i = 0; i < plan->rootfs.count; i++)
		if (plan->rootfs.entries[i].kind == ROOTFS_BIND && !plan->rootfs.entries[i].read_only)
			return refuse_zygote(policy_field_path(plan->rootfs.entries[i].field),
					     "that write to directories of the host", err);
	snprintf(plan->capabilities->controls[POLICY_CONTROL_IDENTITY].mechanism,
		 sizeof(plan->capabilities->controls[0].mechanism),
		 "user namespace of one id, in the zygote's: the zygote's own");
	plan->forked = true;
	plan->namespaces &= ~(uint64_t)CLONE_NEWTIME;
	return 0;
}

void jail_plan_done(struct jail_plan *plan)
{
	rootfs_done(&plan->rootfs);
	policy_done(&plan->policy);
	environment_free(plan->environment);
	free(plan->filter);
	free(plan->capabilities);
	memset(plan, 0, sizeof(*plan));
}
