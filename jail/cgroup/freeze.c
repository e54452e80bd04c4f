/*
 * freeze: the leaves of a session stand still. Only on v2: a process that the freezer of v1 has stopped does not die of SIGKILL before it
 * is let go on. The unified tree of a hybrid host has this freezer, too.
 *
 * The leaf of the session's init is left out: init heeds the end of the keeper, and its own end takes everything along.
 *
 * And whether somebody else has frozen a leaf: /proc shows a process that the freezer of v2 has stopped as one that sleeps.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/cgroup/cgroup.h"
#include "jail/cgroup/file.h"

#define FROZEN_MS 3000 /* until every process has stopped */

/* 0; -1 with errno: ETIMEDOUT, a process hangs in the kernel. */
static int wait_for(int dir_fd, int64_t deadline_ms)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	char text[256];

	for (;;) {
		if (cgroup_file_read(dir_fd, "cgroup.events", text, sizeof(text)) < 0)
			return -1;
		if (strstr(text, "frozen 1"))
			return 0;
		if (cgroup_now_ms() >= deadline_ms) {
			errno = ETIMEDOUT;
			return -1;
		}
		nanosleep(&pause, NULL);
	}
}

static int freeze_leaf(int base_fd, const char *name, bool frozen, int64_t deadline_ms)
{
	owned_fd int dir_fd = openat(base_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir_fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1; /* a file, or a leaf that was removed */
	if (cgroup_file_write(dir_fd, "cgroup.freeze", frozen ? "1" : "0") < 0)
		return -1;
	return frozen ? wait_for(dir_fd, deadline_ms) : 0;
}

static int freeze_all(const char *path, const char *except, bool frozen)
{
	const int64_t deadline_ms = cgroup_now_ms() + FROZEN_MS;
	DIR *dir = opendir(path);
	int ret = dir ? 0 : -1;
	int saved;

	for (const struct dirent *entry; dir && (entry = readdir(dir));) {
		if (*entry->d_name == '.' || strcmp(entry->d_name, except) == 0 ||
		    (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		if (freeze_leaf(dirfd(dir), entry->d_name, frozen, deadline_ms) == 0)
			continue;
		ret = -1;
		if (frozen)
			break; /* and everything is let go on; that is done for each leaf, whatever happens to others */
	}
	saved = errno;
	if (dir)
		closedir(dir);
	errno = saved;
	return ret;
}

int cgroup_freeze(const struct cgroup *outer, const char *except, bool frozen, struct warder_error *err)
{
	const int v2 = outer->host->v2;
	char path[CGROUP_LEAF_PATH_MAX];
	int saved;

	if (v2 < 0 || !outer->used[v2])
		return error_set(
		    err, WARDER_ERROR_UNAVAILABLE, "session",
		    "only cgroup v2 can pause a session, and this session has no cgroup there (\"warder "
		    "delegate\" makes one for a user); a process that cgroup v1 has paused cannot be killed");
	cgroup_leaf_path(outer, (size_t)v2, path);
	if (freeze_all(path, except, frozen) == 0)
		return 0;
	saved = errno;
	if (frozen)
		freeze_all(path, except, false);
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "session", saved,
			       frozen ? "a process of the session cannot be stopped; nothing is paused"
				      : "the session cannot be let go on");
}

bool cgroup_watch_freezer(struct cgroup *cgroup)
{
	const int v2 = cgroup->host ? cgroup->host->v2 : -1;

	if (cgroup->freezer_fd < 0 && v2 >= 0 && cgroup->dir_fd[v2] >= 0)
		cgroup->freezer_fd = openat(cgroup->dir_fd[v2], "cgroup.events", O_RDONLY | O_CLOEXEC);
	return cgroup_is_frozen(cgroup); /* what was read is no news */
}

bool cgroup_is_frozen(const struct cgroup *cgroup)
{
	char text[256];

	return cgroup->freezer_fd >= 0 && cgroup_file_reread(cgroup->freezer_fd, text, sizeof(text)) > 0 &&
	       strstr(text, "frozen 1");
}
