#include "jail/network.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/inside/sys.h"

/* Files of the namespace that describe the whole host: the memory of all sockets, the packets of every processor, and
 * neighbours' tables. Its mode is the namespace's too: what is taken away here is gone for every process of the jail, and for
 * nobody else. A kernel that lacks one has nothing to hide; whether it worked, the read-back asks. */
static CLONE_BESIDE long hide_counters(void)
{
	static const char *const files[] = { "protocols", "sockstat", "sockstat6", "softnet_stat", "stat" };
	const long net = sys(openat, AT_FDCWD, "/proc/thread-self/net", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

	if (net < 0)
		return net;
	for (unsigned int i = 0; i < ARRAY_LENGTH(files); i++)
		sys(fchmodat, net, files[i], 0);
	sys(close, net);
	return 0;
}

/* Shares our descriptors, so that the namespace's is ours. */
static CLONE_BESIDE void make_namespace(void *arg)
{
	struct network *network = arg;
	long ret = sys(unshare, CLONE_NEWNET);

	if (ret == 0)
		ret = hide_counters();
	if (ret == 0)
		ret = sys(openat, AT_FDCWD, "/proc/self/ns/net", O_RDONLY | O_CLOEXEC, 0);
	network->result = ret;
	sys(exit_group, 0);
}

static int begin(struct network *network, struct warder_error *err)
{
	int ret;

	/* An error until the helper says otherwise: it may be killed half-way. */
	*network = (struct network){ .ns_fd = -1, .result = -EINTR };
	ret = clone_begin(&network->helper, CLONE_FILES, make_namespace, network);
	if (ret < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "network", -ret,
				       "cannot start the maker of a network namespace");
	return 0;
}

struct network *network_new(struct warder_error *err)
{
	struct network *network = malloc(sizeof(*network));

	if (!network) {
		error_no_memory(err, NULL);
		return NULL;
	}
	if (begin(network, err) < 0) {
		free(network);
		return NULL;
	}
	return network;
}

/* False: it hangs in the kernel, and may still write to *network. */
static bool reap(struct network *network)
{
	if (network->hangs)
		return false;
	if (!network->helper.pid)
		return true;
	network->hangs = clone_end(&network->helper) == CLONE_HANGS;
	if (!network->hangs)
		network->ns_fd = network->result >= 0 ? (int)network->result : -1;
	return !network->hangs;
}

int network_finish(struct network *network, struct warder_error *err)
{
	if (!reap(network))
		return error_set(
		    err, WARDER_ERROR_UNAVAILABLE, "network",
		    "cannot make a network namespace: the kernel hangs in it; if it stays so, only a reboot "
		    "helps");
	if (network->ns_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "network", (int)-network->result,
				       "cannot make a network namespace (needs user.max_net_namespaces > 0)");
	return 0;
}

void network_free(struct network *network)
{
	if (!network || !reap(network))
		return;
	fd_done(&network->ns_fd);
	free(network);
}
