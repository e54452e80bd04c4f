/*
 * session: a jail that stays, and executions that join it.
 *
 * Life, in the process that keeps it: jail_session_open() launches a jail whose payload does nothing but wait -> its joint is handed
 * to whoever executes in it -> jail_session_wait() supervises until the jail is told to end (jail_session_end(), any thread), its
 * time is over or it died -> jail_session_free(). In the process that executes: jail_session_join() makes a plan one that joins;
 * prepare, launch and supervise are those of any plan.
 *
 * An execution has the session's user, network, IPC, UTS and time namespaces; a mount namespace that is a copy of the
 * session's, with a /proc of its own; a cgroup namespace of its own; and a pid namespace of its own below the session's. So no process of one execution has a name
 * for one of another, while files, sockets and loopback are shared. When the session's init dies, the kernel kills all of them.
 */
#ifndef WARDER_JAIL_SESSION_H
#define WARDER_JAIL_SESSION_H

#include "jail/jail.h"

#define JAIL_JOINT_MAGIC 0x544e4a57u

/* By number, as they are handed over. */
enum jail_joint_fd {
	JAIL_JOINT_MNT,
	JAIL_JOINT_USER,
	JAIL_JOINT_NET,
	JAIL_JOINT_PID,
	JAIL_JOINT_IPC,
	JAIL_JOINT_UTS,
	JAIL_JOINT_CGROUP,
	JAIL_JOINT_TIME,
	JAIL_JOINT_INIT, /* pidfd of the session's init */
	JAIL_JOINT_EDGE, /* of its edge, if it has one, with the two after it */
	JAIL_JOINT_EDGE_COUNTER,
	JAIL_JOINT_EDGE_REPORT,
	JAIL_JOINT_UPPER, /* the upper directory of the overlay over its workspace, if it has one, and the directory below; O_PATH */
	JAIL_JOINT_LOWER,
	JAIL_JOINT_FDS,
};

/* What an execution has to know of its session. Plain data without pointers: its bytes go over a socket to a process of the same
 * Warder, which asks jail_joint_valid(). The descriptors go beside it; those of what the session does not have are -1. */
struct jail_joint {
	uint32_t magic, size;
	uint32_t privileged;
	uint32_t id_base;
	uint64_t namespaces;
	int64_t clock_offset;      /* of its time namespace, seconds */
	int64_t started_ns;        /* realtime clock before its launch */
	uint32_t user_xattrs;      /* of the overlay: as in struct jail_upper */
	uint32_t counts_all;       /* its kernel counts everything per user namespace: see accounts.h */
	struct cgroup_host cgroup; /* executions' cgroups go below the session's */
	int fds[JAIL_JOINT_FDS];
};

struct jail_session;

/* Launch. Takes what it needs out of *plan, as jail_prepare() does; `host` must outlive it. lifetime_us: from now on, then it ends
 * by itself. 0; -1 with *err: nothing is left. */
int jail_session_open(struct jail_plan *plan, const struct jail_host *host, uint64_t lifetime_us,
		      struct jail_session **ret, struct warder_error *err);
/* For a session that was parked after it was opened: read again what root, or a death, may have changed since, and complete the receipt. Before
 * jail_session_wait(), once. -1 with *err: it cannot be used. */
int jail_session_recheck(struct jail_session *session, struct warder_error *err);
/* Borrowed. */
const struct jail_joint *jail_session_joint(const struct jail_session *session);
/* rootfs_encode() of what it has mounted. Borrowed. */
const char *jail_session_root(const struct jail_session *session);
/* What the kernel showed of the waiting jail. */
const struct policy_receipt *jail_session_receipt(const struct jail_session *session);
/* Replace network.allow and network.deny by those of the policy, as jail_run_replace_rules() does. Any thread, one at a time. -1 with *err. */
int jail_session_replace_rules(struct jail_session *session, const struct policy *policy,
			       uint64_t *ret_since_us, struct warder_error *err);
/* Afterwards: the receipt describes the new rules, and says since when they hold. The thread that reads the receipt. */
void jail_session_rules_replaced(struct jail_session *session, const struct policy *policy,
				 uint64_t since_us);
/* As jail_run_end_network(). */
void jail_session_end_network(struct jail_session *session);
/* pidfd of its init: readable when it is dead. Borrowed. */
int jail_session_init_fd(const struct jail_session *session);
/* Remove the cgroups of what executions left running and is gone by now. While none is being started. */
void jail_session_sweep(const struct jail_session *session);
/* Its lifetime ends so much later. Any thread. */
void jail_session_extend(const struct jail_session *session, uint64_t us);
/* Stop all that executes in it, or let it go on; while nobody starts anything. Its lifetime runs on, and it can be ended. -1 with *err:
 * nothing is stopped. */
int jail_session_freeze(const struct jail_session *session, bool frozen, struct warder_error *err);
/* What everything below its cgroup uses, and has used since it was opened; UINT64_MAX: not known. */
void jail_session_count(const struct jail_session *session, struct jail_counters *ret);
/* Until everything in it is gone, or given up because it does not die. Once. 0 with the cause of its end: cancelled, wallTime (its
 * lifetime) or host; -1 with *err: something is left. */
int jail_session_wait(struct jail_session *session, enum jail_cause *ret, struct warder_error *err);
/* After jail_session_wait(): a sentence that names what does not die and stays behind; "": nothing does. Borrowed. */
const char *jail_session_left(const struct jail_session *session);
/* Any thread. */
void jail_session_end(struct jail_session *session);
/* Ends it if it still lives. */
void jail_session_free(struct jail_session *session);

/* Whether bytes that came over a socket can be one: of the same size and making, every text within its bounds. */
bool jail_joint_valid(const struct jail_joint *joint);
/* Whether the session that is joined has ended, or will have within wait_ms. */
bool jail_session_has_ended(const struct jail_joint *joint, int wait_ms);
/* The root of the session, as its mount namespace has it: an O_PATH descriptor, the caller's. A helper enters the namespace for it. Open
 * what is below with RESOLVE_IN_ROOT, and as the jail's user. -1 with *err. */
int jail_session_open_root(const struct jail_joint *joint, int *ret_fd, struct warder_error *err);
/* Whether a program, or a process that one left, is in the session, frozen or not. -1 with *err. */
int jail_session_has_programs(const struct jail_joint *joint, bool *ret, struct warder_error *err);
/* The host's control groups become the session's: call before the plan is built. `lent`: leaves are named after the session's keeper, and
 * not after this process, which they may outlive. */
void jail_session_adopt(const struct jail_joint *joint, bool lent, struct jail_host *host);
/* Make the plan of a policy that fits the session's, in its root (jail_plan_build()), one that joins it. `joint` is borrowed and must outlive every template made of
 * the plan. background: what the program leaves running stays until the session ends. -1 with *err: plan and session do not fit. */
int jail_session_join(const struct jail_joint *joint, bool background, struct jail_plan *plan,
		      struct warder_error *err);

/*
 * A branch: a process that a program of an execution has forked, and that the caller supervises on its own. It stays in the jail of the
 * execution, of which it is a child of init, but it has a cgroup leaf with the same limits. Its plan has `background`, so that the
 * jail outlives its program; the kernel kills a branch with the jail's init, and so with the session.
 *
 * Life: jail_branch_new() -> jail_branch_fd() can be read when it is dead -> jail_branch_kill() for the processes that it left ->
 * jail_branch_end() -> jail_branch_remove() until it is 0 -> jail_branch_free().
 */
struct jail_branch;
/* Take over process `pid`, which the kernel has named as a sender. Of the program's run, or if that has ended (NULL), of another branch of the
 * same jail. -1 with *err: REJECTED, it is not a child of the jail's init; else it cannot be moved, or the leaf cannot be made. */
int jail_branch_new(const struct jail_joint *joint, const struct jail_run *run,
		    const struct jail_branch *other, int pid, struct jail_branch **ret,
		    struct warder_error *err);
/* Its pidfd. Borrowed. */
int jail_branch_fd(const struct jail_branch *branch);
/* Readable when its limit of memory may have been reached, which jail_branch_check() tells; or -1. Borrowed. */
int jail_branch_oom_fd(const struct jail_branch *branch);
bool jail_branch_is(const struct jail_branch *branch, int pid);
/* To its process group. False: it has ended. */
bool jail_branch_signal(const struct jail_branch *branch, int signal);
/* SIGKILL to everything that is in its leaf; without cgroups, to its process group. */
void jail_branch_kill(struct jail_branch *branch);
/* Whether a limit has been exceeded that Warder itself enforces: then kill it. *ret_at_us: when to ask again, UINT64_MAX: never. */
bool jail_branch_check(struct jail_branch *branch, enum jail_cause *ret, uint64_t *ret_at_us);
void jail_branch_count(const struct jail_branch *branch, struct jail_counters *ret);
/* It is dead: how it ended, in cause, exit_code, signal and detail. `killed`: JAIL_CAUSE_COUNT, or the cause for which it was killed. False: the kernel
 * has not told yet, which takes it a moment; `last`: do not wait for that. Before Linux 6.15 it tells its parent alone. */
bool jail_branch_end(const struct jail_branch *branch, enum jail_cause killed, bool last,
		     struct jail_outcome *ret);
/* Remove its leaf. 0: it is gone, or stays for the end of the session; else the time in us until the next call. */
uint64_t jail_branch_remove(struct jail_branch *branch);
/* Remove its leaf, within 2 s. Also NULL. */
void jail_branch_free(struct jail_branch *branch);

#endif
