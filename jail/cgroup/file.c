#include "jail/cgroup/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/compose.h"
#include "base/fd.h"
#include "base/namespaces.h"

/* The kernel fills a page with whole rows before it returns less than was asked for: below this, a short read is the end, because no row of
 * these files is as long as what is left of the page. */
#define SHORT_BYTES    2048
#define PAUSE_FIRST_US 200 /* between two tries to remove a leaf */
#define PAUSE_MOST_US  50000

ssize_t cgroup_file_reread(int fd, char *ret, size_t size)
{
	size_t used = 0;

	while (used + 1 < size) {
		ssize_t n = pread(fd, ret + used, size - 1 - used, (off_t)used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		used += (size_t)n;
		if (n < SHORT_BYTES)
			break;
	}
	ret[used] = '\0';
	return (ssize_t)used;
}

ssize_t cgroup_file_read(int dir_fd, const char *name, char *ret, size_t size)
{
	owned_fd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : cgroup_file_reread(fd, ret, size);
}

int cgroup_file_rewrite(int fd, const char *text)
{
	ssize_t n;

	do
		n = pwrite(fd, text, strlen(text), 0);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

int cgroup_file_write(int dir_fd, const char *name, const char *text)
{
	owned_fd int fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -1 : cgroup_file_rewrite(fd, text);
}

int cgroup_process_read(int pid, struct cgroup_process *ret)
{
	char number[COMPOSE_NUMBER];
	char path[40];
	char text[1024];
	ssize_t len;

	compose(path, sizeof(path), "/proc/", compose_number((uint64_t)pid, number), "/stat");
	len = cgroup_file_read(AT_FDCWD, path, text, sizeof(text));
	if (len < 0)
		return -1;
	if (!cgroup_text_process(text, (size_t)len, ret)) {
		errno = EPROTO;
		return -1;
	}
	return 0;
}

/*
 * kill() tells whether there is a process even where /proc hides it from us; then we cannot know better than that it
 * lives. A zombie with other threads left is a process whose first thread has ended: it lives.
 */
uint64_t cgroup_space(void)
{
	uint64_t pid = 0;
	uint64_t time = 0;

	namespace_number(AT_FDCWD, "/proc/self/ns/pid", &pid);
	/* A kernel without time namespaces has one boot time for all. */
	namespace_number(AT_FDCWD, "/proc/self/ns/time", &time);
	return (time << 32) ^ pid;
}

bool cgroup_owner_lives(const struct cgroup_owner *owner, uint64_t here)
{
	struct cgroup_process process;

	if (owner->space != here)
		return true; /* not ours to judge: there the pid is somebody else, and the boot another moment */
	if (kill(owner->pid, 0) < 0 && errno == ESRCH)
		return false;
	if (cgroup_process_read(owner->pid, &process) < 0)
		return true;
	if (process.start_time != owner->start_time)
		return false;
	return (process.state != 'Z' && process.state != 'X') || process.threads > 1;
}

int64_t cgroup_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int cgroup_dir_try(const char *path)
{
	if (rmdir(path) == 0 || errno == ENOENT)
		return 0;
	return errno == EBUSY || errno == ENOMEM || errno == EINTR ? CGROUP_BUSY : -1;
}

uint32_t cgroup_pause_us(uint32_t before_us)
{
	return !before_us ? PAUSE_FIRST_US : before_us < PAUSE_MOST_US ? before_us * 2 : before_us;
}

int cgroup_dir_remove(const char *path, int64_t deadline_ms)
{
	uint32_t pause_us = 0;
	int left;

	while ((left = cgroup_dir_try(path)) == CGROUP_BUSY) {
		if (cgroup_now_ms() >= deadline_ms)
			return -1;
		pause_us = cgroup_pause_us(pause_us);
		nanosleep(&(struct timespec){ .tv_nsec = pause_us * 1000 }, NULL);
	}
	return left;
}
