#include "jail/network.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/inside/sockets.h"
#include "jail/inside/sys.h"
#include "jail/jail.h"

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

/* While the kernel removes network namespaces it makes none. It waits for every processor meanwhile: seconds, on a busy host. */
#define PATIENCE_US 8000000

static int begin(struct network *network, struct warder_error *err)
{
	int ret;

	/* An error until the helper says otherwise: it may be killed half-way. */
	*network = (struct network){ .ns_fd = -1, .result = -EINTR };
	ret = clone_begin(&network->helper, CLONE_FILES, make_namespace, network);
	if (ret < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "network", -ret,
				       "cannot start the maker of a network namespace");
	network->helper.patience_us = PATIENCE_US;
	return 0;
}

bool network_has_helper(const struct jail_plan *plan)
{
	if (plan->joint)
		return false;
	/* A starter's loopback is brought up by who makes the namespace. */
	if (plan->starter && (plan->starter->bare || plan->loopback_up))
		return false;
	return plan->privileged && (plan->namespaces & CLONE_NEWNET);
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

struct network *network_again(int ns_fd)
{
	struct network *network = calloc(1, sizeof(*network));

	if (network) {
		network->ns_fd = ns_fd;
		network->again = true;
	}
	return network;
}

bool network_is_made(struct network *network)
{
	int end;

	if (network->hangs || !network->helper.pid)
		return true;
	end = clone_end_step(&network->helper);
	if (end == CLONE_LIVES)
		return false;
	network->hangs = end == CLONE_HANGS;
	if (!network->hangs)
		network->ns_fd = network->result >= 0 ? (int)network->result : -1;
	return true;
}

/* False: it hangs in the kernel, and may still write to *network. */
static bool reap(struct network *network)
{
	while (!network_is_made(network))
		clone_await(&network->helper);
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

/* ---- of a container ---- */

struct furnishing {
	int ns_fd, edge_fd;
	const struct wire_block *block;
	const char *what;
	long result;
};

static CLONE_BESIDE void furnish(void *arg)
{
	struct furnishing *furnishing = arg;
	long ret = sys(setns, furnishing->ns_fd, CLONE_NEWNET);

	if (ret == 0)
		ret = hide_counters();
	if (ret == 0)
		ret = sockets_make(furnishing->block, furnishing->edge_fd, &furnishing->what);
	furnishing->result = ret;
	sys(exit_group, 0);
}

/* A runtime that makes no namespace must not get the routes and the listeners into ours. */
static bool is_ours(int ns_fd)
{
	struct stat theirs, ours;

	return fstat(ns_fd, &theirs) < 0 || stat("/proc/self/ns/net", &ours) < 0 ||
	       (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino);
}

int network_furnish(int pid, const struct wire_block *block, int edge_fd, struct warder_error *err)
{
	char path[40];
	owned_fd int ns_fd = -1;
	/* An error until the helper says otherwise: it may be killed half-way. */
	struct furnishing furnishing = {
		.edge_fd = edge_fd, .block = block, .what = "its namespace", .result = -EINTR
	};
	int ret;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	ns_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (ns_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "network", errno,
				       "cannot open the container's network namespace");
	if (is_ours(ns_fd))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "network",
				 "read-back: the container has the host's network namespace");
	furnishing.ns_fd = ns_fd;
	ret = clone_run(0, furnish, &furnishing, sizeof(furnishing));
	if (ret >= 0 && furnishing.result >= 0)
		return 0;
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "network",
			       (int)-(ret < 0 ? ret : furnishing.result),
			       "cannot set up the container's network: %s", furnishing.what);
}
