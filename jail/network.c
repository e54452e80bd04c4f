#include "jail/network.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "jail/clone.h"
#include "jail/inside/sys.h"

/* Shares our descriptors, so that the namespace's is ours. */
static CLONE_BESIDE void make_namespace(void *arg)
{
	struct network *network = arg;
	long ret = sys(unshare, CLONE_NEWNET);

	if (ret == 0)
		ret = sys(openat, AT_FDCWD, "/proc/self/ns/net", O_RDONLY | O_CLOEXEC, 0);
	network->result = ret;
	sys(exit_group, 0);
}

int network_begin(struct network *network, struct warder_error *err)
{
	struct clone_args args = { .flags = CLONE_VM | CLONE_FILES };
	sigset_t all;
	sigset_t before;
	long pid;

	*network = (struct network)NETWORK_NONE;
	network->stack = malloc(CLONE_STACK_BYTES);
	if (!network->stack)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "no memory for a network namespace");
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone_call(&args, network->stack, make_namespace, network);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		network_done(network);
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "network", (int)-pid,
				       "cannot start the maker of a network namespace");
	}
	network->pid = (int)pid;
	return 0;
}

static void reap(struct network *network)
{
	if (network->pid) {
		while (waitpid(network->pid, NULL, __WALL) < 0 && errno == EINTR)
			;
		network->pid = 0;
		network->ns_fd = network->result >= 0 ? (int)network->result : -1;
	}
	free(network->stack);
	network->stack = NULL;
}

int network_finish(struct network *network, struct warder_error *err)
{
	reap(network);
	if (network->ns_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "network", (int)-network->result,
				       "cannot make a network namespace (needs user.max_net_namespaces > 0)");
	return 0;
}

void network_done(struct network *network)
{
	reap(network);
	fd_done(&network->ns_fd);
}
