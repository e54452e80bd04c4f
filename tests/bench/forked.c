/*
 * What a zygote calls to fork (jail/inside/forked.h), without a jail: it forks at once, and once, and waits for the fork's end. A shared object for
 * bare.c, no libc.
 */
#include <errno.h>
#include <linux/wait.h>

#include "jail/inside/forked.h"
#include "jail/inside/sys.h"

int forked_wait(void)
{
	return 0;
}

void forked_init(void)
{
}

void forked_go_on(int payload_pid)
{
	int status = 0;

	/* The fork's streams are to be the only ones. */
	sys(close_range, 1, ~0u, 0);
	while (sys(wait4, payload_pid, &status, __WALL, 0, 0) == -EINTR)
		;
	sys(exit_group, status >> 8 & 0xff);
}

void forked_payload(const char *name)
{
}
