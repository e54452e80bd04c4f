#include "host/launcher/activation.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

#define FIRST_FD 3 /* of those that are passed */

/* The value of a variable as a number from 0 on; -1: it is not there, or not a number. */
static long number_of(const char *name)
{
	const char *text = getenv(name);
	char *end = NULL;
	const long value = text && *text ? strtol(text, &end, 10) : -1;

	return end && !*end ? value : -1;
}

static int option(int name)
{
	socklen_t len = sizeof(int);
	int value = 0;

	return getsockopt(FIRST_FD, SOL_SOCKET, name, &value, &len) == 0 ? value : -1;
}

static int refuse(const char *why, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--listen",
			 "--listen " ACTIVATION_LISTEN
			 " needs one listening stream socket from the service manager "
			 "(LISTEN_PID, LISTEN_FDS): %s",
			 why);
}

int activation_take(int *ret_fd, struct warder_error *err)
{
	const long pid = number_of("LISTEN_PID");
	const long count = number_of("LISTEN_FDS");
	int family;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (pid < 0 || count < 0)
		return refuse("none was passed", err);
	if (pid != getpid())
		return refuse("they were passed to another process", err);
	if (count != 1)
		return refuse(count ? "several were passed" : "none was passed", err);
	family = option(SO_DOMAIN);
	if ((family != AF_INET && family != AF_INET6 && family != AF_UNIX) ||
	    option(SO_TYPE) != SOCK_STREAM || option(SO_ACCEPTCONN) != 1)
		return refuse("descriptor 3 is something else", err);
	if (fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC) < 0 || fcntl(FIRST_FD, F_SETFL, O_NONBLOCK) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--listen", errno,
				       "the socket that was passed");
	*ret_fd = FIRST_FD;
	return 0;
}

void activation_tell(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const size_t len = path ? strlen(path) : 0;
	owned_fd int fd = -1;

	if (len < 2 || len >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(address.sun_path, path, len);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}
