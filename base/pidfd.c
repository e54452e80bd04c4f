#include "base/pidfd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"

/* ioctl_pidfd(2), from Linux 6.13 on; newer than the headers. The struct is the first one that the kernel knew. */
struct info {
	uint64_t mask, cgroup_id;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid, spare;
};
#define GET_INFO _IOWR(0xff, 11, struct info)
#define INFO_PID 1u

int pidfd_number(int pidfd)
{
	struct info info = { .mask = INFO_PID };
	char path[40];
	char text[1024];
	owned_fd int fd = -1;
	ssize_t n;
	const char *at;

	if (ioctl(pidfd, GET_INFO, &info) == 0 && info.mask & INFO_PID && info.pid)
		return (int)info.pid;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	at = strstr(text, "\nPid:");
	return at ? atoi(at + 5) : -1;
}
