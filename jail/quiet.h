/*
 * quiet: a write into a pipe that nobody reads raises SIGPIPE in the writing thread; between these two it does not reach the host
 * application. Private to jail/.
 */
#ifndef WARDER_JAIL_QUIET_H
#define WARDER_JAIL_QUIET_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

struct quiet {
	sigset_t before;
	bool was_pending;
};

static inline void quiet_begin(struct quiet *quiet)
{
	sigset_t pipe_set;
	sigset_t pending;

	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	sigpending(&pending);
	quiet->was_pending = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &quiet->before);
}

/* raised: the write failed with EPIPE. */
static inline void quiet_end(const struct quiet *quiet, bool raised)
{
	const struct timespec now = { 0 };
	sigset_t pipe_set;

	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	if (raised && !quiet->was_pending)
		while (sigtimedwait(&pipe_set, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
}

#endif
