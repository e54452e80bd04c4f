/*
 * The jail of a session is a launch like any other, of a payload that applies every restriction, is read back, and then waits instead of
 * executing. Its cgroup is a step deeper than a run's:
 *
 *   <base>/warder-...            the session's limits; nobody is in it
 *            /warder-...         its init and the payload that waits
 *            /warder-...         an execution, with its own limits; named after the process that executes, or, if its processes may
 *                                stay, after the keeper
 *
 * The limits above hold over all below. On v2 the outermost hands its controllers down; its memory.oom.group is off, so that an
 * execution is killed as a whole, and not the session.
 */
#include "jail/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "jail/cgroup/file.h"
#include "jail/joined.h"
#include "jail/overlay.h"
#include "jail/receipt.h"

/* The session's init, the payload that waits, and the init of a first execution. */
#define SESSION_PROCESSES 3
/* Without an execution. */
#define SESSION_OWN_PROCESSES 2
#define SWEEP_US              1500000 /* so long, and cgroup_sweep() waited for what does not die */

struct jail_session {
	struct cgroup outer;
	struct jail_host host; /* a copy, whose cgroups go below `outer` */
	struct jail_template *tmpl;
	struct jail_run *run;
	struct jail_joint joint;
	struct policy_receipt receipt;
	char *root;     /* jail_session_root() */
	char left[512]; /* jail_session_left() */
};

/* ---- cgroups ---- */

static int hand_down(const struct cgroup *outer, struct warder_error *err)
{
	static const char *const names[CGROUP_CONTROLLER_COUNT] = {
		[CGROUP_MEMORY] = "+memory", [CGROUP_PIDS] = "+pids", [CGROUP_CPU] = "+cpu"
	};
	const struct cgroup_host *host = outer->host;
	const int dir_fd = host->v2 < 0 ? -1 : outer->dir_fd[host->v2];

	if (dir_fd < 0)
		return 0;
	if (cgroup_file_write(dir_fd, "cgroup.max.descendants", "max") < 0 && errno != ENOENT)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cgroup.max.descendants");
	if (cgroup_file_write(dir_fd, "memory.oom.group", "0") < 0 && errno != ENOENT)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "memory.oom.group");
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
		if (names[c] && host->hierarchy_of[c] == host->v2 &&
		    cgroup_file_write(dir_fd, "cgroup.subtree_control", names[c]) < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "limits", errno,
					       "cannot hand %s down to the session's executions",
					       names[c] + 1);
	return 0;
}

/* Below the outer cgroup, in each hierarchy where there is one. The others carry no limit of this session. */
static int nest(const struct cgroup *outer, struct cgroup_host *host, struct warder_error *err)
{
	cgroup_host_copy(outer->host, host);
	for (size_t h = 0; h < host->hierarchy_count; h++) {
		struct cgroup_hierarchy *to = &host->hierarchies[h];
		char base[CGROUP_LEAF_PATH_MAX];

		if (!outer->used[h])
			continue;
		cgroup_leaf_path(outer, h, base);
		if (strlen(base) >= sizeof(to->base))
			return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
					 "the path of cgroup %.200s is too long", base);
		strcpy(to->base, base);
	}
	return 0;
}

_Static_assert(offsetof(struct jail_host, cgroup) + sizeof(struct cgroup_host) == sizeof(struct jail_host),
	       "what comes after the cgroups would not be copied");

/* Its cgroups are in a list, which other threads change. The network that is in the making stays the host's. */
static void copy_host(const struct jail_host *host, struct jail_host *ret)
{
	memcpy(ret, host, offsetof(struct jail_host, cgroup));
	ret->network = NULL;
	cgroup_host_copy(&host->cgroup, &ret->cgroup);
}

static int make_cgroups(struct jail_session *session, const struct jail_plan *plan,
			const struct jail_host *host, struct warder_error *err)
{
	struct cgroup_limits limits = plan->cgroup;

	if (limits.pids_max != UINT64_MAX)
		limits.pids_max += SESSION_PROCESSES - 1; /* one is counted already */
	copy_host(host, &session->host);
	if (cgroup_create(&host->cgroup, &limits, &session->outer, err) < 0)
		return -1;
	cgroup_close_files(&session->outer);
	if (hand_down(&session->outer, err) < 0)
		return -1;
	return nest(&session->outer, &session->host.cgroup, err);
}

/* ---- opening ---- */

/* The overlay over the workspace: its upper directory, and the lower one. */
static int open_overlay(struct jail_session *session, struct warder_error *err)
{
	const struct jail_plan *plan = &session->tmpl->plan;
	const struct jail_run *run = session->run;
	struct jail_joint *joint = &session->joint;

	for (size_t i = 0; i < run->upper_count; i++) {
		const struct rootfs_overlay *overlay = &plan->rootfs.overlays[i];

		if (overlay->field != POLICY_FIELD_WORKSPACE)
			continue;
		joint->user_xattrs = overlay_user_xattrs(plan, i);
		joint->fds[JAIL_JOINT_UPPER] =
		    openat(run->upper_fds[i], "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		joint->fds[JAIL_JOINT_LOWER] = fcntl(overlay->layers[0].source_fd, F_DUPFD_CLOEXEC, 0);
		if (joint->fds[JAIL_JOINT_UPPER] < 0 || joint->fds[JAIL_JOINT_LOWER] < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					       "the overlay of the session cannot be opened");
	}
	return 0;
}

static int copy_descriptors(struct jail_session *session, struct warder_error *err)
{
	const struct run_edge *edge = &session->run->edge;
	const int fds[JAIL_JOINT_FDS] = {
		[JAIL_JOINT_INIT] = session->run->init_fd,
		[JAIL_JOINT_EDGE] = edge->pid_fd,
		[JAIL_JOINT_EDGE_COUNTER] = edge->counter_fd,
		[JAIL_JOINT_EDGE_REPORT] = edge->report_fd,
	};

	for (int i = JAIL_JOINT_INIT; i <= JAIL_JOINT_EDGE_REPORT; i++) {
		if (fds[i] < 0)
			continue;
		session->joint.fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		if (session->joint.fds[i] < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					       "no descriptor left");
	}
	return 0;
}

static int open_namespaces(struct jail_session *session, struct warder_error *err)
{
	/* The payload waits, and nobody can end it: its number is its own. */
	for (int i = 0; i <= JAIL_JOINT_TIME; i++) {
		const struct namespace_kind *kind = joined_kind((enum jail_joint_fd)i);
		char path[64];

		if (!(session->joint.namespaces & kind->flag))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", jail_run_program_pid(session->run),
			 kind->file);
		session->joint.fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (session->joint.fds[i] < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					       "cannot open the session's %s namespace", kind->file);
	}
	return copy_descriptors(session, err) == 0 ? open_overlay(session, err) : -1;
}

static int launch(struct jail_session *session, struct jail_plan *plan, uint64_t lifetime_us,
		  struct warder_error *err)
{
	char name[] = "warder-session"; /* never executed */
	char *argv[] = { name, NULL };
	const struct jail_command command = { .argv = argv, .stdin_fd = -1 };
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	session->joint.started_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	session->joint.magic = JAIL_JOINT_MAGIC;
	session->joint.size = sizeof(session->joint);
	session->joint.privileged = plan->privileged;
	session->joint.namespaces = plan->namespaces;
	plan->holds = true;
	plan->wall_time_us = lifetime_us;
	plan->cpu_time_us = POLICY_UNLIMITED;
	if (jail_prepare(plan, &session->host, false, &session->tmpl, err) < 0 ||
	    jail_launch(session->tmpl, &command, &session->run, err) < 0)
		return -1;
	session->joint.id_base = session->run->identity.base;
	session->joint.counts_all = run_counts_all(session->run);
	session->run->parked_us = clock_us();
	session->joint.clock_offset = session->run->clock_offset;
	cgroup_host_copy(&session->host.cgroup, &session->joint.cgroup);
	policy_receipt_copy(&session->receipt, jail_run_receipt(session->run));
	session->root = rootfs_encode(&session->tmpl->plan.rootfs);
	if (!session->root)
		return error_no_memory(err, NULL);
	return open_namespaces(session, err);
}

static int check_plan(const struct jail_plan *plan, struct warder_error *err)
{
	if (plan->starter)
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "backend",
				 "only the backend local keeps a session");
	if (plan->old_mounts)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "a session needs detached mounts (Linux 5.12), which this kernel or a "
				 "filter does not have");
	if (plan->rootfs.whole)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "filesystem.view",
				 "an image is not built in a session");
	return 0;
}

int jail_session_open(struct jail_plan *plan, const struct jail_host *host, uint64_t lifetime_us,
		      struct jail_session **ret, struct warder_error *err)
{
	struct jail_session *session;

	if (check_plan(plan, err) < 0)
		return -1;
	session = calloc(1, sizeof(*session));
	if (!session)
		return error_no_memory(err, NULL);
	cgroup_init(&session->outer);
	for (int i = 0; i < JAIL_JOINT_FDS; i++)
		session->joint.fds[i] = -1;
	if (make_cgroups(session, plan, host, err) < 0 || launch(session, plan, lifetime_us, err) < 0) {
		jail_session_free(session);
		return -1;
	}
	*ret = session;
	return 0;
}

const struct jail_joint *jail_session_joint(const struct jail_session *session)
{
	return &session->joint;
}

const char *jail_session_root(const struct jail_session *session)
{
	return session->root;
}

const struct policy_receipt *jail_session_receipt(const struct jail_session *session)
{
	return &session->receipt;
}

int jail_session_recheck(struct jail_session *session, struct warder_error *err)
{
	if (jail_template_is_stale(session->tmpl))
		return error_set(err, WARDER_ERROR_CONFLICT, NULL,
				 "a file that the session shows was replaced while the session was parked");
	/* Nobody looks at it while the session is parked. */
	if (run_edge_is_dead(&session->run->edge))
		return error_set(err, WARDER_ERROR_CONFLICT, "network.allow",
				 "the process that connects for the session ended while the session was "
				 "parked");
	if (jail_recheck(session->run, err) < 0)
		return -1;
	policy_receipt_copy(&session->receipt, jail_run_receipt(session->run));
	return 0;
}

int jail_session_replace_rules(struct jail_session *session, const struct policy *policy,
			       uint64_t *ret_since_us, struct warder_error *err)
{
	return jail_run_replace_rules(session->run, policy, ret_since_us, err);
}

void jail_session_rules_replaced(struct jail_session *session, const struct policy *policy, uint64_t since_us)
{
	receipt_replace_rules(&session->receipt, &session->tmpl->plan, policy, since_us);
}

void jail_session_end_network(struct jail_session *session)
{
	jail_run_end_network(session->run);
}

int jail_session_init_fd(const struct jail_session *session)
{
	return session->joint.fds[JAIL_JOINT_INIT];
}

void jail_session_sweep(const struct jail_session *session)
{
	cgroup_sweep(&session->outer, false);
}

int jail_session_freeze(const struct jail_session *session, bool frozen, struct warder_error *err)
{
	return cgroup_freeze(&session->outer, session->run->cgroup.name, frozen, err);
}

void jail_session_count(const struct jail_session *session, struct jail_counters *ret)
{
	run_counters(&session->outer, ret);
}

void jail_session_extend(const struct jail_session *session, uint64_t us)
{
	jail_extend(session->run, us);
}

/* ---- end ---- */

int jail_session_wait(struct jail_session *session, enum jail_cause *ret, struct warder_error *err)
{
	struct jail_outcome outcome;

	/* A run removes the leftovers of others after its result. A session may last for hours: it does so first. */
	cgroup_clean_briefly(session->outer.host);
	if (jail_supervise(session->run, &outcome, err) < 0)
		return -1;
	*ret = outcome.cause;
	if (outcome.left_behind) {
		snprintf(session->left, sizeof(session->left), "%s", outcome.detail);
		session->outer.stuck = true;
	}
	jail_outcome_done(&outcome);
	return 0;
}

const char *jail_session_left(const struct jail_session *session)
{
	return session->left;
}

void jail_session_end(struct jail_session *session)
{
	jail_cancel(session->run);
}

void jail_session_free(struct jail_session *session)
{
	struct warder_error ignored;
	uint64_t begun_us;

	if (!session)
		return;
	jail_run_free(session->run);
	jail_template_free(session->tmpl);
	for (int i = 0; i < JAIL_JOINT_FDS; i++)
		fd_done(&session->joint.fds[i]);
	/* Init is dead, and with it every process of the session; what executions made is still to be removed. */
	cgroup_kill(&session->outer);
	begun_us = clock_us();
	for (int i = 0; i < 3; i++) { /* one that is being started makes its own once more, and fails */
		cgroup_sweep(&session->outer, true);
		session->outer.stuck |= clock_us() - begun_us >= SWEEP_US; /* it has been waited for */
		if (cgroup_remove(&session->outer, &ignored) == 0)
			break;
	}
	free(session->root);
	free(session);
}

/* ---- joining ---- */

static bool is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

bool jail_joint_valid(const struct jail_joint *joint)
{
	const struct cgroup_host *host = &joint->cgroup;

	if (joint->magic != JAIL_JOINT_MAGIC || joint->size != sizeof(*joint) ||
	    host->hierarchy_count > CGROUP_HIERARCHIES_MAX || host->v2 < -1 ||
	    host->v2 >= (int)host->hierarchy_count)
		return false;
	for (size_t h = 0; h < host->hierarchy_count; h++)
		if (!is_text(host->hierarchies[h].base, sizeof(host->hierarchies[h].base)))
			return false;
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
		if (host->hierarchy_of[c] < -1 || host->hierarchy_of[c] >= (int)host->hierarchy_count ||
		    !is_text(host->reason[c], sizeof(host->reason[c])))
			return false;
	return true;
}

/* ---- its files ---- */

/* In a child: an ordinary user's privilege over the mount namespace comes from the user namespace. */
static int enter_root(const struct jail_joint *joint)
{
	if (!joint->privileged && setns(joint->fds[JAIL_JOINT_USER], CLONE_NEWUSER) < 0)
		return -1;
	if (setns(joint->fds[JAIL_JOINT_MNT], CLONE_NEWNS) < 0)
		return -1;
	return open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The descriptor, or the errno instead of it. */
static void send_root(int fd, int root_fd)
{
	const int error = root_fd < 0 ? errno : 0;

	fd_send(fd, &error, sizeof(error), &root_fd, root_fd >= 0 ? 1 : 0, 0);
}

static int receive_root(int fd, int *ret_fd)
{
	int error = EPIPE;

	if (fd_receive(fd, &error, sizeof(error), ret_fd, 1, 0) == sizeof(error) && *ret_fd >= 0)
		return 0;
	errno = error;
	return -1;
}

int jail_session_open_root(const struct jail_joint *joint, int *ret_fd, struct warder_error *err)
{
	owned_fd int ours = -1;
	int pair[2], got, saved;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot make a socket");
	ours = pair[0];
	pid = fork();
	if (pid == 0) {
		send_root(pair[1], enter_root(joint));
		_exit(0);
	}
	saved = errno;
	close(pair[1]);
	got = pid > 0 ? receive_root(ours, ret_fd) : -1;
	saved = pid > 0 ? errno : saved;
	if (pid > 0)
		child_wait(pid, CHILD_PATIENCE_MS, NULL);
	return got == 0 ? 0
			: error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, saved,
					  "cannot enter the session's file system");
}

/* The session's /proc shows every process in it, also those of executions. */
int jail_session_has_programs(const struct jail_joint *joint, bool *ret, struct warder_error *err)
{
	owned_fd int root_fd = -1;
	const struct dirent *entry;
	size_t count = 0;
	DIR *dir;
	int fd;

	if (jail_session_open_root(joint, &root_fd, err) < 0)
		return -1;
	fd = openat(root_fd, "proc", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		close(fd);
	while (dir && (entry = readdir(dir)) != NULL)
		count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
	if (dir)
		closedir(dir);
	if (count < SESSION_OWN_PROCESSES)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "cannot see the processes of the session");
	*ret = count > SESSION_OWN_PROCESSES;
	return 0;
}

void jail_session_adopt(const struct jail_joint *joint, bool lent, struct jail_host *host)
{
	const int owner_pid = host->cgroup.owner_pid;
	const uint64_t owner_start = host->cgroup.owner_start, owner_space = host->cgroup.owner_space;

	cgroup_host_done(&host->cgroup);
	cgroup_host_copy(&joint->cgroup, &host->cgroup);
	host->cgroup.lent = lent;
	if (!lent) {
		host->cgroup.owner_pid = owner_pid;
		host->cgroup.owner_start = owner_start;
		host->cgroup.owner_space = owner_space;
	}
}

int jail_session_join(const struct jail_joint *joint, bool background, struct jail_plan *plan,
		      struct warder_error *err)
{
	static const struct jail_starter starter = { .isolation =
							 POLICY_ISOLATION_NAMESPACE_JAIL_PERSISTENT };

	if (plan->starter || plan->privileged != (bool)joint->privileged ||
	    plan->namespaces != joint->namespaces)
		return error_set(
		    err, WARDER_ERROR_CONFLICT, NULL,
		    "the session was started with other privileges, or on another kernel; restart it");
	plan->starter = &starter;
	plan->joint = joint;
	plan->background = background;
	return 0;
}
