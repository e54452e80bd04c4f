#include "base/namespaces.h"

const struct namespace_kind namespace_kinds[NAMESPACE_COUNT] = {
	{ CLONE_NEWUSER, "user", "user" },       { CLONE_NEWNS, "mount", "mnt" },
	{ CLONE_NEWPID, "pid", "pid" },          { CLONE_NEWNET, "network", "net" },
	{ CLONE_NEWIPC, "ipc", "ipc" },          { CLONE_NEWUTS, "hostname", "uts" },
	{ CLONE_NEWCGROUP, "cgroup", "cgroup" }, { CLONE_NEWTIME, "time", "time" },
};

const struct namespace_kind *namespace_kind(uint64_t flag)
{
	for (size_t i = 0; i < NAMESPACE_COUNT; i++)
		if (namespace_kinds[i].flag == flag)
			return &namespace_kinds[i];
	return NULL;
}
