/*
 * What this host and this privilege level can really do, found by trying, never by version number.
 *
 * A quick probe (every run) answers what decides about a policy or a plan, and what costs one call to know. The launch tries
 * each namespace anyway, and refuses by name when one is not to be had. A thorough probe (warder
 * doctor, warder explain) tries every feature in throw-away children that share our memory and exit at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/namespaces.h"
#include "jail/cgroup/clone.h"
#include "jail/filter/speculation.h"
#include "jail/identity.h"
#include "jail/inside/sys.h"
#include "jail/jail.h"
#include "jail/network.h"
#include "jail/overlay.h"
#include "jail/risks.h"
#include "jail/spawn.h"

static const struct feature {
	const char *name, *title;
	uint64_t namespace_flag; /* tried with unshare(2) in a child */
} features[JAIL_FEATURE_COUNT] = {
	[JAIL_FEATURE_PRIVILEGED] = { "privileged", "root with the capabilities of a root launch", 0 },
	[JAIL_FEATURE_USER_NS] = { "userNamespace", "user namespace", CLONE_NEWUSER },
	[JAIL_FEATURE_MOUNT_NS] = { "mountNamespace", "mount namespace", CLONE_NEWNS },
	[JAIL_FEATURE_PID_NS] = { "pidNamespace", "pid namespace", CLONE_NEWPID },
	[JAIL_FEATURE_NET_NS] = { "networkNamespace", "network namespace", CLONE_NEWNET },
	[JAIL_FEATURE_IPC_NS] = { "ipcNamespace", "ipc namespace", CLONE_NEWIPC },
	[JAIL_FEATURE_UTS_NS] = { "utsNamespace", "uts namespace", CLONE_NEWUTS },
	[JAIL_FEATURE_CGROUP_NS] = { "cgroupNamespace", "cgroup namespace", CLONE_NEWCGROUP },
	[JAIL_FEATURE_TIME_NS] = { "timeNamespace", "time namespace", CLONE_NEWTIME },
	[JAIL_FEATURE_CLONE3] = { "clone3", "clone3", 0 },
	[JAIL_FEATURE_INTO_CGROUP] = { "cloneIntoCgroup", "clone3 into a cgroup", 0 },
	[JAIL_FEATURE_PIDFD] = { "pidfd", "process descriptors", 0 },
	[JAIL_FEATURE_CLOSE_RANGE] = { "closeRange", "close_range", 0 },
	[JAIL_FEATURE_OPENAT2] = { "openat2", "openat2", 0 },
	[JAIL_FEATURE_MOUNT_API] = { "mountApi", "open_tree, move_mount, mount_setattr", 0 },
	[JAIL_FEATURE_IDMAP] = { "idmappedMounts", "idmapped mounts (tried on a tmpfs)", 0 },
	[JAIL_FEATURE_OVERLAY] = { "overlay", "overlayfs", 0 },
	[JAIL_FEATURE_SECCOMP] = { "seccomp", "seccomp filter", 0 },
	[JAIL_FEATURE_SECCOMP_NOTIFY] = { "seccompNotify", "seccomp user notification", 0 },
	[JAIL_FEATURE_LANDLOCK] = { "landlock", "Landlock", 0 },
	[JAIL_FEATURE_SPECULATION] = { "speculation", "speculation controls", 0 },
	[JAIL_FEATURE_CGROUP_KILL] = { "cgroupKill", "cgroup.kill", 0 },
};

const char *jail_feature_name(enum jail_feature feature)
{
	return features[feature].name;
}

const char *jail_feature_title(enum jail_feature feature)
{
	return features[feature].title;
}

static void found(struct jail_host *host, enum jail_feature feature, bool there, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void found(struct jail_host *host, enum jail_feature feature, bool there, const char *format, ...)
{
	struct jail_feature_state *state = &host->features[feature];
	va_list args;

	state->tried = true;
	state->there = there;
	va_start(args, format);
	vsnprintf(state->detail, sizeof(state->detail), format, args);
	va_end(args);
}

/* Errors that tell of the moment and not of the host: too many processes or descriptors, no memory, a child that was killed or that the
 * kernel kept waiting. */
static bool is_of_the_moment(int error)
{
	return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE || error == EINTR ||
	       error == ETIMEDOUT;
}

static void found_errno(struct jail_host *host, enum jail_feature feature, int error, const char *remedy)
{
	struct jail_feature_state *state = &host->features[feature];
	char text[64];

	if (is_of_the_moment(error)) {
		found(host, feature, false, "not tried: %s; try again",
		      error_errno_text(error, text, sizeof(text)));
		state->tried = false;
		state->unknown = true;
		return;
	}
	if (error) {
		found(host, feature, false, "%s%s%s", error_errno_text(error, text, sizeof(text)),
		      *remedy ? "; " : "", remedy);
		return;
	}
	state->tried = state->there = true;
	state->detail[0] = '\0';
}

/* ---- quick ---- */

static void unanswered(struct jail_host *host, const char *question, int error)
{
	char text[64];

	if (!*host->unanswered)
		snprintf(host->unanswered, sizeof(host->unanswered), "%s: %s", question,
			 error_errno_text(error, text, sizeof(text)));
}

/* The host ids that jails are mapped onto must exist in our own user namespace. */
static bool ids_are_ours(struct jail_host *host)
{
	static const char path[] = "/proc/self/uid_map";
	char text[4096];
	owned_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const uint64_t last = (uint64_t)IDENTITY_BASE + (uint64_t)IDENTITY_SLOTS * IDENTITY_IDS - 1;
	char *line;
	char *left;

	if (len < 0 && errno != ENOENT) /* a kernel without user namespaces, or no /proc */
		unanswered(host, path, errno);
	if (len <= 0)
		return false;
	text[len] = 0;
	for (line = strtok_r(text, "\n", &left); line; line = strtok_r(NULL, "\n", &left)) {
		unsigned long inside = 0;
		unsigned long outside = 0;
		unsigned long count = 0;

		if (sscanf(line, "%lu %lu %lu", &inside, &outside, &count) == 3 && inside <= IDENTITY_BASE &&
		    inside + count > last)
			return true;
	}
	return false;
}

static void probe_privilege(struct jail_host *host)
{
	static const int needed[] = { CAP_SYS_ADMIN, CAP_SETUID,    CAP_SETGID,       CAP_SETPCAP,
				      CAP_CHOWN,     CAP_NET_ADMIN, CAP_DAC_OVERRIDE, CAP_SYS_PTRACE };
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (geteuid() != 0) {
		found(host, JAIL_FEATURE_PRIVILEGED, false, "ordinary user %u", geteuid());
		return;
	}
	if (syscall(SYS_capget, &header, data) < 0)
		unanswered(host, "capget", errno);
	for (size_t i = 0; i < ARRAY_LENGTH(needed); i++)
		if (!(data[needed[i] / 32].effective & (1u << (needed[i] % 32)))) {
			found(host, JAIL_FEATURE_PRIVILEGED, false,
			      "root without capability %d (capabilities(7))", needed[i]);
			return;
		}
	if (!ids_are_ours(host))
		found(host, JAIL_FEATURE_PRIVILEGED, false, "root of a user namespace without host ids %u-%u",
		      IDENTITY_BASE, IDENTITY_BASE + IDENTITY_SLOTS * IDENTITY_IDS - 1);
	else
		found(host, JAIL_FEATURE_PRIVILEGED, true, "root");
}

/* What a launch does without where the kernel does not know it, but not where it only refuses it. */
static void probe_kernel_has(struct jail_host *host, enum jail_feature feature, const char *file,
			     const char *remedy)
{
	int error = access(file, F_OK) < 0 ? errno : 0;

	found_errno(host, feature, error, remedy);
	host->features[feature].absent = error == ENOENT;
	if (is_of_the_moment(error))
		unanswered(host, file, error);
}

static int ask_speculation(unsigned long feature)
{
	const int answer = prctl(PR_GET_SPECULATION_CTRL, feature, 0, 0, 0);

	return answer < 0 ? -errno : answer;
}

static void probe_speculation(struct jail_host *host)
{
	char why[128] = "";
	const bool there =
	    speculation_can_be_forced(ask_speculation(PR_SPEC_STORE_BYPASS),
				      ask_speculation(PR_SPEC_INDIRECT_BRANCH), why, sizeof(why));

	found(host, JAIL_FEATURE_SPECULATION, there, "%s", why);
}

static void probe_layers(struct jail_host *host)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	/* EPERM: a container's filter. */
	if (abi < 0 && errno != ENOSYS && errno != EOPNOTSUPP && errno != EPERM && errno != EINVAL)
		unanswered(host, "landlock_create_ruleset", errno);
	host->landlock_abi = abi > 0 ? (int)abi : 0;
	found(host, JAIL_FEATURE_LANDLOCK, abi > 0,
	      abi > 0 ? "ABI %ld" : "not in this kernel (lsm=landlock,...)", abi);
	found_errno(host, JAIL_FEATURE_SECCOMP,
		    syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0 ? errno : 0,
		    "needs CONFIG_SECCOMP_FILTER");
	probe_speculation(host);
	probe_kernel_has(host, JAIL_FEATURE_TIME_NS, "/proc/self/ns/time", "needs CONFIG_TIME_NS");
	probe_kernel_has(host, JAIL_FEATURE_CGROUP_NS, "/proc/self/ns/cgroup", "needs CONFIG_CGROUPS");
}

/* ---- mounts ---- */

struct attempt {
	uint64_t namespace_flag; /* namespaces to try in */
	int fd;                  /* user namespace, or -1 */
	long error;              /* negative errno, or 0 */
};

/* `size`: of what the attempt is the beginning of. 0 or errno. */
static int try_in_child(void (*body)(void *arg), struct attempt *attempt, size_t size)
{
	int ret;

	attempt->error = -EINTR; /* until the child says otherwise: it may be killed half-way */
	ret = clone_run(0, body, attempt, size);
	return ret < 0 ? -ret : (int)-attempt->error;
}

/* The calls that build a root, with descriptors that do not exist: EBADF from a kernel that has them, and lets us. EPERM is also
 * what it says to somebody who may not mount here, whatever the descriptor. 0 or a negative errno. */
static CLONE_BESIDE long try_mount_calls(bool may_mount)
{
	struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
	const long tried[] = {
		sys(open_tree, -1, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC),
		sys(move_mount, -1, "", -1, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH),
		sys(mount_setattr, -1, "", AT_EMPTY_PATH | AT_RECURSIVE, &read_only, sizeof(read_only)),
	};

	for (size_t i = 0; i < ARRAY_LENGTH(tried); i++)
		if (tried[i] != -EBADF && (may_mount || tried[i] != -EPERM))
			return tried[i];
	return 0;
}

static CLONE_BESIDE void try_mount_api(void *arg)
{
	struct attempt *attempt = arg;

	attempt->error = sys(unshare, attempt->namespace_flag);
	if (attempt->error == 0)
		attempt->error = try_mount_calls(true);
	sys(exit_group, 0);
}

/* Decides how the root is built. Without a filter, nobody but the kernel says EPERM to an ordinary user. */
static void probe_mount_api(struct jail_host *host)
{
	struct attempt attempt = { .namespace_flag = CLONE_NEWUSER | CLONE_NEWNS, .fd = -1 };
	int error;

	if (host->privileged || prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0)
		error = (int)-try_mount_calls(host->privileged);
	else
		error = try_in_child(try_mount_api, &attempt, sizeof(attempt));
	if (is_of_the_moment(error) ||
	    (error == ENOSPC && host->privileged)) /* else: no user namespace, which a launch tells better */
		unanswered(host, "open_tree, move_mount, mount_setattr", error);
	found_errno(host, JAIL_FEATURE_MOUNT_API, error,
		    error == ENOSYS ? "needs Linux 5.12; mount(2) is used instead"
				    : "mount(2) is used instead");
	if (error && !is_of_the_moment(error) && host->privileged)
		found(host, JAIL_FEATURE_IDMAP, false,
		      "idmapped mounts need open_tree, move_mount and mount_setattr (Linux 5.12): %s",
		      strerror(error));
}

/* Calls that no launch does without: cheap to try, and the launch would fail with less to say. */
static void probe_calls(struct jail_host *host)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC };
	owned_fd int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	owned_fd int root = -1;

	found_errno(host, JAIL_FEATURE_PIDFD, pidfd < 0 ? errno : 0, "needs Linux 5.3");
	/* No arguments: EINVAL from a kernel that has it. */
	syscall(SYS_clone3, NULL, 0);
	found_errno(host, JAIL_FEATURE_CLONE3, errno == EINVAL ? 0 : errno, "needs Linux 5.5");
	found_errno(host, JAIL_FEATURE_CLOSE_RANGE, syscall(SYS_close_range, ~0u, ~0u, 0) < 0 ? errno : 0,
		    "needs Linux 5.9");
	root = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));
	found_errno(host, JAIL_FEATURE_OPENAT2, root < 0 ? errno : 0, "needs Linux 5.6");
}

/* ---- thorough ---- */

static CLONE_BESIDE void try_unshare(void *arg)
{
	struct attempt *attempt = arg;

	attempt->error = sys(unshare, attempt->namespace_flag);
	sys(exit_group, 0);
}

static void found_namespace(struct jail_host *host, enum jail_feature feature, int error)
{
	/* An ordinary user gets every other namespace through a user namespace of his own. */
	bool no_user_ns = !host->privileged && !host->features[JAIL_FEATURE_USER_NS].there;
	uint64_t flag = no_user_ns ? CLONE_NEWUSER : features[feature].namespace_flag;
	char remedy[64];

	if (error == ENOSPC) {
		snprintf(remedy, sizeof(remedy), "needs user.max_%s_namespaces > 0",
			 namespace_kind(flag)->file);
		found_errno(host, feature, error, remedy);
	} else if (error == EINVAL) {
		found_errno(host, feature, error, "not in this kernel");
	} else if (host->privileged) {
		found_errno(host, feature, error,
			    "refused in a chroot, by a system call filter or by a security module");
	} else {
		found_errno(host, feature, error,
			    "needs kernel.unprivileged_userns_clone=1, "
			    "kernel.apparmor_restrict_unprivileged_userns=0");
	}
}

static void probe_namespaces(struct jail_host *host)
{
	for (int i = 0; i < JAIL_FEATURE_COUNT; i++) {
		struct attempt attempt = { .namespace_flag = features[i].namespace_flag, .fd = -1 };

		if (!features[i].namespace_flag || host->features[i].absent)
			continue;
		if (!host->privileged)
			attempt.namespace_flag |= CLONE_NEWUSER;
		found_namespace(host, (enum jail_feature)i,
				try_in_child(try_unshare, &attempt, sizeof(attempt)));
	}
}

/* That the kernel knows filters does not tell that it still loads any. */
static void probe_filter(struct jail_host *host)
{
	struct jail_feature_state *state = &host->features[JAIL_FEATURE_SECCOMP];
	char why[128];
	int ret;

	if (!host->privileged || !state->there)
		return;
	ret = jail_try_filter(why, sizeof(why));
	if (ret != 0)
		found(host, JAIL_FEATURE_SECCOMP, ret > 0, "%s", why);
	state->unknown = ret > 0;
}

static void probe_rest(struct jail_host *host)
{
	uint32_t notify = SECCOMP_RET_USER_NOTIF;

	probe_filter(host);

	found_errno(host, JAIL_FEATURE_SECCOMP_NOTIFY,
		    syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &notify) < 0 ? errno : 0,
		    "needs Linux 5.0");
	found(host, JAIL_FEATURE_CGROUP_KILL, host->cgroup.kill_file, "%s",
	      host->cgroup.kill_file ? "" : "needs a writable cgroup v2 hierarchy of Linux 5.14");
	found(host, JAIL_FEATURE_INTO_CGROUP, host->cgroup.v2 >= 0, "%s",
	      host->cgroup.v2 >= 0 ? "" : "needs a writable cgroup v2 hierarchy");
}

/* A tmpfs that is attached nowhere, with these attributes. 0 or a negative errno. */
static CLONE_BESIDE long try_attributes(const struct mount_attr *attributes)
{
	long context = sys(fsopen, "tmpfs", FSOPEN_CLOEXEC);
	long mount_fd = context;

	if (context >= 0)
		mount_fd = sys(fsconfig, context, FSCONFIG_CMD_CREATE, 0, 0, 0);
	if (mount_fd == 0)
		mount_fd = sys(fsmount, context, FSMOUNT_CLOEXEC, 0);
	return mount_fd < 0
		   ? mount_fd
		   : sys(mount_setattr, mount_fd, "", AT_EMPTY_PATH, attributes, sizeof(*attributes));
}

static CLONE_BESIDE void try_idmap(void *arg)
{
	struct attempt *attempt = arg;
	struct mount_attr idmap = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)attempt->fd };

	attempt->error = try_attributes(&idmap);
	sys(exit_group, 0);
}

static void probe_idmap(struct jail_host *host)
{
	struct identity identity = IDENTITY_NONE;
	struct attempt attempt = { .fd = -1 };
	struct warder_error err;
	int error;

	if (host->features[JAIL_FEATURE_MOUNT_API].tried && !host->features[JAIL_FEATURE_MOUNT_API].there &&
	    host->privileged)
		return;
	if (!host->privileged) {
		found(host, JAIL_FEATURE_IDMAP, false,
		      "needs root; an ordinary user's files keep their owner inside");
		return;
	}
	if (identity_lease(NULL, &identity, &err) < 0) {
		found(host, JAIL_FEATURE_IDMAP, false, "%.100s", err.text);
		host->features[JAIL_FEATURE_IDMAP].unknown = is_of_the_moment(err.sys_errno);
		host->features[JAIL_FEATURE_IDMAP].tried = !is_of_the_moment(err.sys_errno);
		return;
	}
	attempt.fd = identity.user_ns_fd;
	error = try_in_child(try_idmap, &attempt, sizeof(attempt));
	identity_done(&identity);
	found_errno(host, JAIL_FEATURE_IDMAP, error,
		    "tmpfs needs Linux 6.3; ext4, xfs and btrfs work from 5.12 to 5.15 on");
	/* A tmpfs without them does not decide about a workspace on another file system: the launch tries. */
	if (error)
		host->features[JAIL_FEATURE_IDMAP].tried = false;
}

/* ---- overlay ---- */

struct overlay_attempt {
	struct attempt attempt; /* first: try_in_child() knows this */
	char uid_map[48], gid_map[48];
};

/* As a launch does it: over a tmpfs, with its options, with a file to be copied up. In a mount namespace of our own. */
static CLONE_BESIDE long try_overlay_mount(bool privileged)
{
	static const char *const directories[] = { "/tmp/lower", "/tmp/upper", "/tmp/work", "/tmp/all" };
	long ret = sys(mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0);

	if (ret == 0)
		ret = sys(mount, "try", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m");
	for (size_t i = 0; i < ARRAY_LENGTH(directories) && ret == 0; i++)
		ret = sys(mkdirat, AT_FDCWD, directories[i], 0755);
	if (ret == 0)
		ret = sys(mkdirat, AT_FDCWD, "/tmp/lower/old", 0755);
	if (ret == 0)
		ret = sys(mount, "overlay", "/tmp/all", "overlay", MS_NOSUID | MS_NODEV,
			  privileged
			      ? "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work," OVERLAY_FIXED
			      : "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work," OVERLAY_FIXED
				",userxattr");
	return ret < 0 ? ret : sys(mkdirat, AT_FDCWD, "/tmp/all/old/new", 0755);
}

static CLONE_BESIDE void try_overlay(void *arg)
{
	struct overlay_attempt *overlay = arg;
	struct attempt *attempt = &overlay->attempt;
	const bool privileged = !(attempt->namespace_flag & CLONE_NEWUSER);
	long ret = sys(unshare, attempt->namespace_flag);

	if (ret == 0 && !privileged)
		ret = spawn_write_self("/proc/self/setgroups", "deny");
	if (ret == 0 && !privileged)
		ret = spawn_write_self("/proc/self/uid_map", overlay->uid_map);
	if (ret == 0 && !privileged)
		ret = spawn_write_self("/proc/self/gid_map", overlay->gid_map);
	attempt->error = ret < 0 ? ret : try_overlay_mount(privileged);
	sys(exit_group, 0);
}

static void probe_overlay(struct jail_host *host)
{
	struct overlay_attempt overlay = {
		.attempt = { .namespace_flag = CLONE_NEWNS | (host->privileged ? 0 : CLONE_NEWUSER),
			     .fd = -1 }
	};
	int error;

	snprintf(overlay.uid_map, sizeof(overlay.uid_map), "0 %u 1", geteuid());
	snprintf(overlay.gid_map, sizeof(overlay.gid_map), "0 %u 1", getegid());
	error = try_in_child(try_overlay, &overlay.attempt, sizeof(overlay));
	found_errno(host, JAIL_FEATURE_OVERLAY, error,
		    error == ENODEV    ? "needs the overlay module (modprobe overlay)"
		    : host->privileged ? "refused by the kernel or a system call filter"
				       : "an ordinary user needs Linux 5.11 and user namespaces");
}

void jail_probe(const struct jail_probe_options *options, struct jail_host *ret)
{
	struct warder_error ignored;

	memset(ret, 0, sizeof(*ret));
	ret->thorough = options && options->thorough;
	/* First: it may need a cgroup in which nobody else is, as a helper would be. */
	cgroup_probe(options ? options->cgroup_parent : NULL, !options || !options->thorough, &ret->cgroup);
	/* Where it cannot be made, the launch tries again, and tells. */
	if (options && options->network && geteuid() == 0)
		ret->network = network_new(&ignored);
	probe_privilege(ret);
	ret->privileged = ret->features[JAIL_FEATURE_PRIVILEGED].there;
	probe_layers(ret);
	probe_calls(ret);
	probe_mount_api(ret);
	if (options && (options->thorough || options->overlay))
		probe_overlay(ret);
	if (!options || !options->thorough)
		return;
	probe_namespaces(ret);
	probe_rest(ret);
	probe_idmap(ret);
}

void jail_host_done(struct jail_host *host)
{
	network_free(host->network); /* before the cgroup, in which the helper is */
	host->network = NULL;
	cgroup_host_done(&host->cgroup);
}

int jail_clean(const struct jail_host *host, bool dry_run)
{
	return cgroup_clean(&host->cgroup, dry_run) + (host->privileged && identity_clean(dry_run) ? 1 : 0);
}
