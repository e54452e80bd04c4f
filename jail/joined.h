/*
 * joined: a run that joins a session, as far as launch and read-back differ. Private to jail/; see session.h.
 */
#ifndef WARDER_JAIL_JOINED_H
#define WARDER_JAIL_JOINED_H

#include "base/namespaces.h"
#include "jail/run.h"
#include "jail/session.h"

/* Which namespace a descriptor of a joint is: up to JAIL_JOINT_TIME. */
const struct namespace_kind *joined_kind(enum jail_joint_fd fd);
/* Start the run's init in the session: a process that enters what is shared, then one that begins a pid namespace below the
 * session's. `fds` as for spawn_init(). 0 with its pid and pidfd (the caller's); -1 with *err: nothing of it lives on. */
int joined_start(struct jail_run *run, const int *fds, size_t fd_count, int *ret_pid, int *ret_pidfd,
		 struct warder_error *err);
/* Readable when the session's init is dead, and everything in it. Borrowed. */
int joined_session_fd(const struct jail_run *run);
/* Read back: each shared namespace is the session's, the pid namespace lies below the session's. -1 with *err. */
int joined_check_namespaces(struct jail_run *run, struct warder_error *err);

#endif
