#include "runtime/session/keeper_park.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/session/session.h"

static bool starts(const struct executions *all)
{
	return all->count && all->items[0]->state == EXECUTION_STARTING;
}

static int interrupted(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_CONFLICT, "name", "the parked session was ended");
}

static int take_name(char **ret, struct warder_error *err)
{
	struct keeper_name message;
	const ssize_t n = recv(KEEPER_FD_REPORT, &message, sizeof(message), 0);

	if (n != sizeof(message) || message.magic != KEEPER_NAME_MAGIC ||
	    !memchr(message.name, 0, sizeof(message.name)))
		return interrupted(err);
	if (session_check_name(message.name, err) < 0)
		return -1;
	*ret = strdup(message.name);
	return *ret ? 0 : error_no_memory(err, NULL);
}

enum { POLL_STARTER, POLL_SIGNAL, POLL_INIT, POLL_EXECUTIONS, POLL_COUNT };

/* Until the starter has said something, or its end is closed: 1. 0: executions went on. -1 with *err: the session is to end. */
static int look(struct executions *all, int signal_fd, struct warder_error *err)
{
	struct pollfd fds[POLL_COUNT] = {
		[POLL_STARTER] = { .fd = KEEPER_FD_REPORT, .events = POLLIN },
		[POLL_SIGNAL] = { .fd = signal_fd, .events = POLLIN },
		[POLL_INIT] = { .fd = all->joint->fds[JAIL_JOINT_INIT], .events = POLLIN },
		[POLL_EXECUTIONS] = { .fd = all->fd, .events = POLLIN },
	};

	if (poll(fds, POLL_COUNT, -1) < 0)
		return 0;
	if (fds[POLL_SIGNAL].revents || fds[POLL_INIT].revents)
		return interrupted(err);
	if (fds[POLL_STARTER].revents)
		return 1;
	if (fds[POLL_EXECUTIONS].revents)
		executions_dispatch(all);
	return 0;
}

int keeper_park_agent(struct executions *all, int signal_fd, struct warder_error *err)
{
	/* Without root, the files of a session can only be stored while no program runs in it. */
	if (geteuid() != 0)
		return 0;
	if (executions_start_agent(all, err) < 0)
		return -1;
	while (starts(all)) {
		const int looked = look(all, signal_fd, err);

		/* The starter has no name for it yet: it gives up. */
		if (looked != 0)
			return looked < 0 ? -1 : interrupted(err);
	}
	return 0;
}

int keeper_park_wait(struct executions *all, int signal_fd, char **ret, struct warder_error *err)
{
	int looked;

	do
		looked = look(all, signal_fd, err);
	while (looked == 0);
	return looked < 0 ? -1 : take_name(ret, err);
}
