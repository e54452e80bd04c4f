#include "base/child.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define LOOK_MS 20 /* without a descriptor to wait at */

enum child_end child_wait(int pid, unsigned int within_ms, int *ret_status)
{
	const uint64_t deadline = clock_us() + within_ms * UINT64_C(1000);
	owned_fd int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd end = { .fd = pid_fd, .events = POLLIN };

	for (;;) {
		int status;
		const pid_t ended = waitpid(pid, &status, WNOHANG | __WALL);
		uint64_t left_ms;

		if (ended > 0 && ret_status)
			*ret_status = status;
		if (ended > 0)
			return CHILD_ENDED;
		if (ended < 0 && errno != EINTR)
			return CHILD_TAKEN;
		left_ms = clock_us() < deadline ? (deadline - clock_us()) / 1000 + 1 : 0;
		if (!left_ms)
			return CHILD_LIVES;
		if (pid_fd < 0 && left_ms > LOOK_MS)
			left_ms = LOOK_MS;
		poll(&end, 1, (int)left_ms); /* a descriptor below 0 is passed over */
	}
}
