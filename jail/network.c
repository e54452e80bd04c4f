#include "jail/network.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>

#include "base/fd.h"
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
		error_set(err, WARDER_ERROR_INTERNAL, NULL, "no memory for a network namespace");
		return NULL;
	}
	if (begin(network, err) < 0) {
		free(network);
		return NULL;
	}
	return network;
}

static void reap(struct network *network)
{
	if (!network->helper.pid)
		return;
	clone_end(&network->helper);
	network->ns_fd = network->result >= 0 ? (int)network->result : -1;
}

int network_finish(struct network *network, struct warder_error *err)
{
	reap(network);
	if (network->ns_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "network", (int)-network->result,
				       "cannot make a network namespace (needs user.max_net_namespaces > 0)");
	return 0;
}

void network_free(struct network *network)
{
	if (!network)
		return;
	reap(network);
	fd_done(&network->ns_fd);
	free(network);
}
