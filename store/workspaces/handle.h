/*
 * handle: the public handle of a workspace. Private to store/; what every public function needs is in store/store.h.
 */
#ifndef WARDER_STORE_WORKSPACES_HANDLE_H
#define WARDER_STORE_WORKSPACES_HANDLE_H

#include "store/store.h"
#include "store/workspaces/workspaces.h"

struct warder_workspace {
	struct workspace workspace;
	char *store; /* NULL: the default place */
};

/* A handle without a workspace, for warder_workspace_free(). NULL with *err. */
struct warder_workspace *workspace_handle_new(const char *store, struct warder_error *err);

#endif
