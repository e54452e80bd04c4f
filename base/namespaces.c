#include "base/namespaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct namespace_kind namespace_kinds[NAMESPACE_COUNT] = {
	{ CLONE_NEWUSER, "user", "user", "ns/user" },
	{ CLONE_NEWNS, "mount", "mnt", "ns/mnt" },
	{ CLONE_NEWPID, "pid", "pid", "ns/pid" },
	{ CLONE_NEWNET, "network", "net", "ns/net" },
	{ CLONE_NEWIPC, "ipc", "ipc", "ns/ipc" },
	{ CLONE_NEWUTS, "hostname", "uts", "ns/uts" },
	{ CLONE_NEWCGROUP, "cgroup", "cgroup", "ns/cgroup" },
	{ CLONE_NEWTIME, "time", "time", "ns/time" },
};

const struct namespace_kind *namespace_kind(uint64_t flag)
{
	for (size_t i = 0; i < NAMESPACE_COUNT; i++)
		if (namespace_kinds[i].flag == flag)
			return &namespace_kinds[i];
	return NULL;
}

int namespace_number(int proc_fd, const char *file, uint64_t *ret)
{
	char text[64]; /* "pid:[4026531836]" */
	ssize_t len = readlinkat(proc_fd, file, text, sizeof(text) - 1);
	const char *begin;
	char *end = NULL;
	uint64_t number = 0;

	if (len < 0)
		return -1;
	text[len] = '\0';
	begin = strchr(text, '[');
	if (begin)
		number = strtoull(begin + 1, &end, 10);
	if (!number || *end != ']') {
		errno = EPROTO;
		return -1;
	}
	*ret = number;
	return 0;
}
