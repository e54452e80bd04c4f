/*
 * sessions: which session could write to a workspace. A session holds no lock of a workspace: it names a directory in its policy.
 * Private to workspaces/.
 */
#ifndef WARDER_STORE_WORKSPACES_SESSIONS_H
#define WARDER_STORE_WORKSPACES_SESSIONS_H

#include <stdbool.h>

#include "base/error.h"

#define WORKSPACE_STOP_OR_WAIT "stop the session, or wait with --wait"

/* Wait until no running session of this user may write to the directory or to a part of it; without `wait`, -1 with *err (CONFLICT), which
 * names the session and the remedy. Sessions of other users and of other runtime directories are not found. -1 also where the sessions cannot be
 * listed. */
int workspace_await_sessions(const char *id, const char *path, bool wait, const char *remedy,
			     struct warder_error *err);

#endif
