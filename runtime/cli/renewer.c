/*
 * renewer: the child dies with its parent.
 */
#include "runtime/cli/renewer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"

static _Noreturn void renew_always(const struct remote_place *place, int fd, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent) {
		poll(NULL, 0, (int)remote_place_poll_ms(place));
		if (remote_place_renew(place) && write(fd, "", 1) < 0 && errno != EAGAIN)
			break;
	}
	_exit(0);
}

static int start_child(struct renewer *renewer, struct warder_error *err)
{
	const pid_t parent = getpid();
	int ends[2];

	renewer->fd = -1;
	renewer->pid = 0;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
		renewer->pid = fork();
		if (renewer->pid == 0)
			renew_always(renewer->place, ends[1], parent);
		fd_done(&ends[1]);
		renewer->fd = ends[0];
	}
	return renewer->fd >= 0 && renewer->pid > 0
		   ? 0
		   : error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				     "the lease of the session cannot be renewed");
}

int renewer_start(const struct remote_place *place, struct renewer *ret, struct warder_error *err)
{
	*ret = (struct renewer){ .place = place, .heard_ms = clock_us() / 1000 };
	return start_child(ret, err);
}

void renewer_hear(struct renewer *renewer)
{
	struct warder_error ignored;
	char bytes[64];
	const ssize_t n = renewer->fd >= 0 ? read(renewer->fd, bytes, sizeof(bytes)) : -1;

	if (n > 0)
		renewer->heard_ms = clock_us() / 1000;
	if (n == 0) { /* it was killed */
		renewer_end(renewer);
		start_child(renewer, &ignored);
	}
}

void renewer_end(struct renewer *renewer)
{
	fd_done(&renewer->fd);
	if (renewer->pid <= 0)
		return;
	kill(renewer->pid, SIGKILL);
	child_wait(renewer->pid, CHILD_PATIENCE_MS, NULL);
	renewer->pid = 0;
}
