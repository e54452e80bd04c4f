#include "base/pidfd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

int pidfd_number(int pidfd)
{
	char path[40];
	char text[1024];
	owned_fd int fd = -1;
	ssize_t n;
	const char *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	at = strstr(text, "\nPid:");
	return at ? atoi(at + 5) : -1;
}
