/*
 * kept: files of a leaf that are read more than once. Between a request and its result, each open(2) and close(2) of such a file costs about
 * 5 us. A parked jail has the time to open them before.
 */
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "jail/cgroup/file.h"

/* Its descriptor, which stays the leaf's; -1: it is not kept. */
static int find(const struct cgroup *cgroup, int dir_fd, const char *file)
{
	for (size_t i = 0; i < cgroup->kept_count; i++)
		if (cgroup->kept[i].dir_fd == dir_fd && strcmp(cgroup->kept[i].file, file) == 0)
			return cgroup->kept[i].fd;
	return -1;
}

void cgroup_keep(struct cgroup *cgroup, int dir_fd, const char *file)
{
	struct cgroup_kept *kept = &cgroup->kept[cgroup->kept_count];

	if (dir_fd < 0 || cgroup->kept_count == CGROUP_KEPT_MAX || find(cgroup, dir_fd, file) >= 0)
		return;
	*kept = (struct cgroup_kept){ dir_fd, file, openat(dir_fd, file, O_RDONLY | O_CLOEXEC) };
	cgroup->kept_count += kept->fd >= 0;
}

ssize_t cgroup_kept_read(const struct cgroup *cgroup, int dir_fd, const char *file, char *ret, size_t size)
{
	const int fd = find(cgroup, dir_fd, file);

	return fd >= 0 ? cgroup_file_reread(fd, ret, size) : cgroup_file_read(dir_fd, file, ret, size);
}

void cgroup_kept_done(struct cgroup *cgroup)
{
	while (cgroup->kept_count)
		fd_done(&cgroup->kept[--cgroup->kept_count].fd);
}
