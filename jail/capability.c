/*
 * What the jail can enforce on a probed host, as rows for policy_match(). A row that is enforced names its mechanism, one that
 * is not says why and what to do.
 *
 * Some kernel features are needed by every launch. A quick probe does not try them, because the launch will; then they count
 * as there. Where a thorough probe found one missing, the controls that rest on it are refused, and jail_check() tells it
 * even if all of these are only preferred: no jail starts without.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/compose.h"
#include "jail/edge.h"
#include "jail/jail.h"
#include "jail/rlimits.h"

/* Controls that only need the kernel features without which no jail starts at all. */
static const struct always {
	enum policy_control control;
	const char *mechanism;
} always[] = {
	{ POLICY_CONTROL_NETWORK_NONE, "own network namespace, its only interface down" },
	{ POLICY_CONTROL_NETWORK_LOOPBACK, "own network namespace with loopback only" },
	{ POLICY_CONTROL_WORKSPACE_NONE, "own mount namespace without any workspace" },
	{ POLICY_CONTROL_TMP, "tmpfs with a size limit" },
	{ POLICY_CONTROL_ENVIRONMENT, "environment built from nothing for execve" },
	{ POLICY_CONTROL_WALL_TIME, "supervisor's deadline, kill of the pid namespace; backstop in init" },
	{ POLICY_CONTROL_DISK_TMP, "one tmpfs of that size for /tmp and /dev/shm" },
	{ POLICY_CONTROL_CODE, "size compared before anything starts" },
	{ POLICY_CONTROL_STDOUT, "supervisor keeps that much of the pipe" },
	{ POLICY_CONTROL_STDERR, "supervisor keeps that much of the pipe" },
	{ POLICY_CONTROL_TERMINALS, "devpts of its own with max=, or none" },
	{ POLICY_CONTROL_FUNCTIONS, "supervisor answers calls on descriptor 5, by name" },
	{ POLICY_CONTROL_WORKING_DIRECTORY, "chdir inside" },
};

#define ON(id)   (UINT64_C(1) << POLICY_CONTROL_##id)
#define NETWORKS (ON(NETWORK_NONE) | ON(NETWORK_LOOPBACK) | ON(NETWORK_ALLOW) | ON(NETWORK_LEARN))
#define FILES                                                                                                \
	(ON(VIEW_HOST) | ON(VIEW_DIRECTORY) | ON(VIEW_IMAGE) | ON(WORKSPACE_OVERLAY) | ON(WORKSPACE_NONE) |  \
	 ON(WORKSPACE_READ_ONLY) | ON(WORKSPACE_READ_WRITE) | ON(PATHS_READ_ONLY) | ON(PATHS_READ_WRITE) |   \
	 ON(TMP) | ON(DISK_TMP) | ON(TERMINALS) | ON(WORKING_DIRECTORY))

/* What no launch does without, and the controls that rest on it. */
static const struct indispensable {
	enum jail_feature feature;
	uint64_t controls;
} indispensable[] = {
	{ JAIL_FEATURE_USER_NS, ON(IDENTITY) },
	{ JAIL_FEATURE_MOUNT_NS, FILES },
	{ JAIL_FEATURE_PID_NS, ON(WALL_TIME) },
	{ JAIL_FEATURE_NET_NS, NETWORKS },
	{ JAIL_FEATURE_IPC_NS, ON(IDENTITY) },
	{ JAIL_FEATURE_UTS_NS, ON(IDENTITY) },
	{ JAIL_FEATURE_CGROUP_NS, ON(IDENTITY) },
	{ JAIL_FEATURE_TIME_NS, ON(IDENTITY) },
	{ JAIL_FEATURE_CLONE3, ON(IDENTITY) | ON(WALL_TIME) },
	{ JAIL_FEATURE_PIDFD, ON(WALL_TIME) },
	{ JAIL_FEATURE_CLOSE_RANGE, ON(OPEN_FILES) },
	{ JAIL_FEATURE_OPENAT2, FILES },
};
#define INDISPENSABLE_COUNT (ARRAY_LENGTH(indispensable))

/* The text is of three parts. */
static void set(struct policy_capabilities *to, enum policy_control control, bool enforced, const char *first,
		const char *second, const char *third)
{
	struct policy_capability *row = &to->controls[control];

	row->enforced = enforced;
	if (enforced)
		compose(row->mechanism, sizeof(row->mechanism), first, second, third);
	else
		compose(row->reason, sizeof(row->reason), first, second, third);
}

static void set_text(struct policy_capabilities *to, enum policy_control control, bool enforced,
		     const char *text)
{
	set(to, control, enforced, text, "", "");
}

static void set_cgroup(struct policy_capabilities *to, const struct cgroup_host *host,
		       enum policy_control control, enum cgroup_controller controller, const char *v2_file,
		       const char *v1_file)
{
	int at = host->hierarchy_of[controller];

	if (at < 0)
		set_text(to, control, false, host->reason[controller]);
	else
		set(to, control, true, "cgroup ", host->hierarchies[at].v2 ? "v2 " : "v1 ",
		    host->hierarchies[at].v2 ? v2_file : v1_file);
}

static void set_limits(struct policy_capabilities *to, const struct cgroup_host *host,
		       const struct policy *policy)
{
	const int memory_at = host->hierarchy_of[CGROUP_MEMORY];
	/* v1 limits memory and swap together. */
	const bool alone = memory_at >= 0 && !host->hierarchies[memory_at].v2 &&
			   policy->limits.memory_bytes == POLICY_UNLIMITED;

	set_cgroup(to, host, POLICY_CONTROL_MEMORY, CGROUP_MEMORY, "memory.max",
		   "memory.limit_in_bytes; TCP buffers, counted apart, the same again");
	set_cgroup(to, host, POLICY_CONTROL_PIDS, CGROUP_PIDS, "pids.max", "pids.max");
	set_cgroup(to, host, POLICY_CONTROL_CPUS, CGROUP_CPU, "cpu.max", "cpu.cfs_quota_us");
	set_cgroup(to, host, POLICY_CONTROL_CPU_TIME, CGROUP_ACCOUNT, "cpu.stat, kill by the supervisor",
		   "cpuacct.usage, kill by the supervisor");
	if (host->swap_limit && !alone)
		set_cgroup(to, host, POLICY_CONTROL_SWAP, CGROUP_MEMORY, "memory.swap.max",
			   "memory.memsw.limit_in_bytes");
	else if (host->no_swap)
		set_text(to, POLICY_CONTROL_SWAP, true, "the host has no swap space (SwapTotal 0)");
	else if (alone)
		set_text(to, POLICY_CONTROL_SWAP, false,
			 "cgroup v1 limits swap only together with memory; limit limits.memory, or set "
			 "limits.swap unlimited");
	else
		set_text(to, POLICY_CONTROL_SWAP, false,
			 host->reason[CGROUP_MEMORY][0]
			     ? host->reason[CGROUP_MEMORY]
			     : "the kernel does not account swap per cgroup; boot with "
			       "swapaccount=1 or remove the swap space");
}

static bool lacks(const struct jail_host *host, enum jail_feature feature)
{
	const struct jail_feature_state *state = &host->features[feature];

	return state->tried && !state->there && !state->absent;
}

bool jail_needs_overlay(const struct policy *policy)
{
	return policy->filesystem.view == POLICY_VIEW_IMAGE ||
	       policy->filesystem.workspace == POLICY_WORKSPACE_OVERLAY;
}

/* Its layers are detached mounts; see jail/inside/overlay.h. */
static void set_overlays(struct policy_capabilities *to, const struct jail_host *host)
{
	const struct jail_feature_state *overlay = &host->features[JAIL_FEATURE_OVERLAY];
	const struct jail_feature_state *api = &host->features[JAIL_FEATURE_MOUNT_API];
	const char *why = lacks(host, JAIL_FEATURE_MOUNT_API) ? api->detail : overlay->detail;

	const bool there = (overlay->there || overlay->unknown) && !lacks(host, JAIL_FEATURE_MOUNT_API);

	if (there) {
		set(to, POLICY_CONTROL_VIEW_IMAGE, true,
		    "overlay of read-only layers, written to in the private tmpfs",
		    host->privileged ? "; ids mapped" : "", "");
		set(to, POLICY_CONTROL_WORKSPACE_OVERLAY, true,
		    "overlay over the directory, written to in the private tmpfs",
		    host->privileged ? "; owner mapped" : "", "");
		return;
	}
	if (!*why)
		why = "it was not tried";
	set(to, POLICY_CONTROL_VIEW_IMAGE, false, "no overlay can be mounted here: ", why, "");
	set(to, POLICY_CONTROL_WORKSPACE_OVERLAY, false, "no overlay can be mounted here: ", why, "");
}

static void set_filesystem(struct policy_capabilities *to, const struct jail_host *host)
{
	const struct jail_feature_state *idmap = &host->features[JAIL_FEATURE_IDMAP];
	const bool old = lacks(host, JAIL_FEATURE_MOUNT_API);
	const char *by = old ? "mount(2)" : "mount_setattr";
	const char *how = "bind mount, owner mapped by an idmapped mount";
	bool there = true;

	if (!host->privileged)
		how = "bind mount, files belong to the caller";
	else if (idmap->tried && !idmap->there)
		there = false;
	set(to, POLICY_CONTROL_VIEW_HOST, true, "own mount namespace: tmpfs root, read-only binds by ", by,
	    "");
	set(to, POLICY_CONTROL_VIEW_DIRECTORY, true, "own mount namespace: tmpfs root, read-only binds by ",
	    by, "");
	set(to, POLICY_CONTROL_WORKSPACE_READ_ONLY, true, "read-only bind mount at /workspace by ", by,
	    old && host->privileged ? ", owner not mapped" : "");
	set(to, POLICY_CONTROL_PATHS_READ_ONLY, true, "read-only bind mounts by ", by, "");
	set_text(to, POLICY_CONTROL_WORKSPACE_READ_WRITE, there, there ? how : idmap->detail);
	set_text(to, POLICY_CONTROL_PATHS_READ_WRITE, there, there ? how : idmap->detail);
	set_overlays(to, host);
	set_text(to, POLICY_CONTROL_DISK_WORKSPACE, false,
		 "the size of a host directory cannot be limited; use a read-only workspace, or limits.disk "
		 "\"unlimited\" with limits.fileSize");
}

/* Last, over what the rows said before. */
static void refuse_without(struct policy_capabilities *to, const struct jail_host *host)
{
	for (size_t i = 0; i < INDISPENSABLE_COUNT; i++) {
		const struct indispensable *row = &indispensable[i];

		for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++)
			if (lacks(host, row->feature) && (row->controls & (UINT64_C(1) << control)) &&
			    to->controls[control].enforced)
				set(to, control, false, jail_feature_title(row->feature), ": ",
				    host->features[row->feature].detail);
	}
}

int jail_check(const struct jail_host *host, const struct policy *policy, struct warder_error *err)
{
	for (size_t i = 0; i < INDISPENSABLE_COUNT; i++) {
		enum jail_feature feature = indispensable[i].feature;

		if (feature == JAIL_FEATURE_NET_NS && policy->network.mode == POLICY_NETWORK_HOST)
			continue;
		if (lacks(host, feature))
			return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
					 "no jail can be started here: %s: %s", jail_feature_title(feature),
					 host->features[feature].detail);
	}
	return 0;
}

static bool has_ipv6(void)
{
	const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != EAFNOSUPPORT;
}

static void set_network(struct policy_capabilities *ret, const struct jail_host *host,
			const struct policy *policy)
{
	/* What the edge does besides, once it is there. */
	static const struct always by_edge[] = {
		{ POLICY_CONTROL_NETWORK_INJECT,
		  "warder-edge ends TLS with an authority of this run, and sets the header" },
		{ POLICY_CONTROL_NETWORK_DENY, "warder-edge; a row of network.deny wins" },
		{ POLICY_CONTROL_NETWORK_CONNECTIONS, "warder-edge resets a connection too many" },
		{ POLICY_CONTROL_NETWORK_BYTES, "warder-edge counts them, and resets every connection" },
	};
	struct warder_error err;
	/* Looking for the program takes ten system calls, for which no launch without an edge waits. */
	const bool asked = host->thorough || policy_network_lists(policy) || policy->network.publish.count;
	const char *missing = asked && edge_check(policy, &err) < 0 ? err.text : NULL;
	const bool there = !asked || has_ipv6();
	const bool has_trust = policy->filesystem.view == POLICY_VIEW_HOST;

	if (missing) {
		const char *field = edge_field(policy);
		const size_t len = strlen(err.text);

		snprintf(err.text + len, sizeof(err.text) - len, "; install it, or leave out %s",
			 strcmp(field, "network.publish") == 0 ? "network.publish (--publish)"
			 : strcmp(field, "network.mode") == 0  ? "network.mode learn (--net learn)"
							       : "network.allow (--allow)");
	}
	set_text(ret, POLICY_CONTROL_NETWORK_ALLOW, !missing,
		 missing ? missing : "own network namespace without a way out; warder-edge connects for it");
	for (size_t i = 0; i < ARRAY_LENGTH(by_edge); i++)
		set_text(ret, by_edge[i].control, !missing, missing ? missing : by_edge[i].mechanism);
	if (!missing && !has_trust)
		set_text(ret, POLICY_CONTROL_NETWORK_INJECT, false,
			 "programs find the authority of a run only in the host's view of files; use "
			 "filesystem.view host");
	set_text(ret, POLICY_CONTROL_NETWORK_IPV6, !missing && there,
		 missing ? missing
		 : there ? "warder-edge, by a local route of every IPv6 address in the jail"
			 : "this kernel has no IPv6; leave out blocks of IPv6 addresses");
	set_text(ret, POLICY_CONTROL_NETWORK_LEARN, !missing,
		 missing
		     ? missing
		     : "as network.allow, with every name and public IPv4 address on ports 22, 80 and 443");
	set_text(ret, POLICY_CONTROL_NETWORK_PUBLISH, !missing,
		 missing ? missing
			 : "warder-edge takes connections on the host, and passes them on to 127.0.0.1");
}

void jail_capabilities(const struct jail_host *host, const struct policy *policy,
		       struct policy_capabilities *ret)
{
	static const char *const languages[] = { "command", NULL };
	const struct jail_feature_state *seccomp = &host->features[JAIL_FEATURE_SECCOMP];
	const struct jail_feature_state *speculation = &host->features[JAIL_FEATURE_SPECULATION];
	const struct rlimit_row *rlimit;

	memset(ret, 0, sizeof(*ret));
	snprintf(ret->backend, sizeof(ret->backend), "local");
	ret->isolation = POLICY_ISOLATION_NAMESPACE_JAIL;
	ret->languages = languages;
	for (size_t i = 0; i < ARRAY_LENGTH(always); i++)
		set_text(ret, always[i].control, true, always[i].mechanism);
	for (size_t i = 0; (rlimit = rlimit_row_at(i)) != NULL; i++)
		set_text(ret, rlimit->control, true, rlimit->mechanism);
	set_network(ret, host, policy);
	set_text(ret, POLICY_CONTROL_IDENTITY, true,
		 host->privileged ? "user namespace onto an unprivileged id range of its own"
				  : "user namespace of one id: the caller's own");
	if (seccomp->there) {
		set_text(ret, POLICY_CONTROL_SYSCALLS, true, "seccomp filter");
		set_text(ret, POLICY_CONTROL_SYSCALLS_KILL, true, "seccomp filter, SECCOMP_RET_KILL_PROCESS");
		set_text(ret, POLICY_CONTROL_NO_SPAWN, true,
			 "seccomp filter: fork, vfork, clone without CLONE_THREAD");
	} else {
		set_text(ret, POLICY_CONTROL_SYSCALLS, false, seccomp->detail);
		set_text(ret, POLICY_CONTROL_SYSCALLS_KILL, false, seccomp->detail);
		set_text(ret, POLICY_CONTROL_NO_SPAWN, false, seccomp->detail);
	}
	set_text(ret, POLICY_CONTROL_SPECULATION, speculation->there,
		 speculation->there ? "PR_SET_SPECULATION_CTRL force-disable" : speculation->detail);
	set_limits(ret, &host->cgroup, policy);
	set_filesystem(ret, host);
	refuse_without(ret, host);
}
