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
	struct cgroup_host cgroup; /* executions' cgroups go below the session's */
	int fds[JAIL_JOINT_FDS];
};

struct jail_session;

/* Launch. Takes what it needs out of *plan, as jail_prepare() does; `host` must outlive it. lifetime_us: from now on, then it ends
 * by itself. 0; -1 with *err: nothing is left. */
int jail_session_open(struct jail_plan *plan, const struct jail_host *host, uint64_t lifetime_us,
		      struct jail_session **ret, struct warder_error *err);
/* Borrowed. */
const struct jail_joint *jail_session_joint(const struct jail_session *session);
/* rootfs_record() of what it has mounted. Borrowed. */
const char *jail_session_root(const struct jail_session *session);
/* What the kernel showed of the waiting jail. */
const struct policy_receipt *jail_session_receipt(const struct jail_session *session);
/* pidfd of its init: readable when it is dead. Borrowed. */
int jail_session_init_fd(const struct jail_session *session);
/* Remove the cgroups of what executions left running and is gone by now. While none is being started. */
void jail_session_sweep(const struct jail_session *session);
/* Its lifetime ends so much later. Any thread. */
void jail_session_extend(const struct jail_session *session, uint64_t us);
/* Stop all that executes in it, or let it go on; while nobody starts anything. Its lifetime runs on, and it can be ended. -1 with *err:
 * nothing is stopped. */
int jail_session_freeze(const struct jail_session *session, bool frozen, struct warder_error *err);
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
/* The host's control groups become the session's: call before the plan is built. */
void jail_session_adopt(const struct jail_joint *joint, struct jail_host *host);
/* Make the plan of a policy that fits the session's, in its root (jail_plan_build()), one that joins it. `joint` is borrowed and must outlive every template made of
 * the plan. background: what the program leaves running stays until the session ends. -1 with *err: plan and session do not fit. */
int jail_session_join(const struct jail_joint *joint, bool background, struct jail_plan *plan,
		      struct warder_error *err);

#endif
