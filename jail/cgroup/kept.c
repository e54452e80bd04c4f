/*
 * kept: files of a leaf that are used more than once. Between a request and its result, each open(2) and close(2) of such a file costs about
 * 5 us. So a limit is read back through the descriptor that it was written through, and a parked jail, which has the time, opens the other
 * files before.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

/* Takes the descriptor. */
static void add(struct cgroup *cgroup, int dir_fd, const char *file, int fd)
{
	if (fd >= 0 && cgroup->kept_count < CGROUP_KEPT_MAX)
		cgroup->kept[cgroup->kept_count++] = (struct cgroup_kept){ dir_fd, file, fd };
	else if (fd >= 0)
		close(fd);
}

void cgroup_keep(struct cgroup *cgroup, int dir_fd, const char *file)
{
	if (dir_fd >= 0 && find(cgroup, dir_fd, file) < 0)
		add(cgroup, dir_fd, file, openat(dir_fd, file, O_RDONLY | O_CLOEXEC));
}

int cgroup_kept_write(struct cgroup *cgroup, int dir_fd, const char *file, const char *text)
{
	owned_fd int fd = openat(dir_fd, file, O_RDWR | O_CLOEXEC);
	int saved;

	if (fd < 0)
		return -1;
	if (cgroup_file_rewrite(fd, text) == 0) {
		add(cgroup, dir_fd, file, fd_take(&fd));
		return 0;
	}
	saved = errno;
	fd_done(&fd);
	errno = saved;
	return -1;
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
