/*
 * joined: a run that joins a session, as far as launch and read-back differ. Private to jail/; see session.h.
 */
#ifndef WARDER_JAIL_JOINED_H
#define WARDER_JAIL_JOINED_H

#include "base/namespaces.h"
#include "jail/run.h"
#include "jail/session.h"

/* What a template that joins a session keeps for all its executions, made by joined_session_new(), which also reads what cannot change.
 * NULL with *err. NULL is fine for joined_session_free(). */
struct joined_session *joined_session_new(const struct jail_template *tmpl, struct warder_error *err);
void joined_session_free(struct joined_session *session);
/* Before anybody is in the run's cgroup: what the session's has counted so far. */
void joined_begin_cgroup(struct jail_run *run);
/* A file of the payload that says something about a namespace of the session and not about the process. */
enum joined_file {
	JOINED_ROUTE,
	JOINED_ROUTE_V6,
	JOINED_FIB_TRIE,
	JOINED_UID_MAP,
	JOINED_GID_MAP,
	JOINED_FILES,
};
/* Below /proc/<pid>. */
const char *joined_file_name(enum joined_file file);
/* It, open, if an earlier execution of the template has opened it in the same namespace: read it from the beginning. Borrowed. -1: it is not. */
int joined_file(const struct jail_run *run, enum joined_file file);
/* After joined_check_namespaces(): keep these files open for later executions of a template that has more than one. */
void joined_keep_files(struct jail_run *run);

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
