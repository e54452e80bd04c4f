/*
 * What lies in the workspace's own directory beside the tree, where no jail reaches.
 */
#include <errno.h>
#include <fcntl.h>

#include "store/workspaces/private.h"

int workspace_new_file(struct workspace *workspace, char *name, struct warder_error *err)
{
	char shown[96];
	int fd;

	store_new_name(".new-", name);
	fd = openat(workspace->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set_errno(
		    err, errno == EEXIST ? WARDER_ERROR_CONFLICT : WARDER_ERROR_UNAVAILABLE, "path", errno,
		    "%s has no room for a new file", json_quote(workspace->id, shown, sizeof(shown)));
	return fd;
}
