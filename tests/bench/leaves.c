#include "tests/bench/leaves.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

enum { V2 = 1, MEMORY = 2, PIDS = 4, CPU = 8, CPUACCT = 16 };

static const struct controller {
	const char *name;
	unsigned int bit;
} controllers[] = {
	{ "v2", V2 }, { "memory", MEMORY }, { "pids", PIDS }, { "cpu", CPU }, { "cpuacct", CPUACCT },
};

/* What the policy limits, and what a result tells. In `needs`, V2 stands for "of v2 only"; without it, a row is of v1 only, unless `both`. */
static const struct knob {
	unsigned int needs;
	bool both;
	const char *file, *value;
} knobs[] = {
	{ MEMORY, false, "memory.limit_in_bytes", "268435456" },
	{ MEMORY, false, "memory.memsw.limit_in_bytes", "268435456" },
	{ MEMORY | V2, false, "memory.max", "268435456" },
	{ MEMORY | V2, false, "memory.swap.max", "0" },
	{ PIDS, true, "pids.max", "65" },
	{ CPU, false, "cpu.cfs_quota_us", "100000" },
	{ CPU | V2, false, "cpu.max", "100000 100000" },
}, counters[] = {
	{ MEMORY, false, "memory.max_usage_in_bytes", NULL },
	{ MEMORY, false, "memory.oom_control", NULL },
	{ MEMORY | V2, false, "memory.peak", NULL },
	{ MEMORY | V2, false, "memory.events", NULL },
	{ PIDS, true, "pids.peak", NULL },
	{ PIDS, true, "pids.events", NULL },
	{ CPUACCT, false, "cpuacct.usage", NULL },
	{ CPU, false, "cpu.stat", NULL },
	{ V2, false, "cpu.stat", NULL },
};

static int owner; /* for the names, also in a pid namespace */

static bool has(const struct group *group, const struct knob *knob)
{
	return (knob->needs & ~group->controllers) == 0 && (knob->both || group->v2 == !!(knob->needs & V2));
}

bool leaves_add(struct groups *groups, const char *text)
{
	struct group *group = &groups->group[groups->count];
	const char *colon = strchr(text, ':');

	if (!colon || groups->count == GROUPS_MAX)
		return false;
	owner = getpid();
	*group = (struct group){ .parent = colon + 1 };
	for (const char *at = text; at < colon; at += strcspn(at, ",:") + 1)
		for (size_t i = 0; i < ARRAY_LENGTH(controllers); i++)
			if (strncmp(at, controllers[i].name, strlen(controllers[i].name)) == 0 &&
			    strcspn(at, ",:") == strlen(controllers[i].name))
				group->controllers |= controllers[i].bit;
	group->v2 = group->controllers & V2;
	groups->count++;
	return true;
}

/* What this kernel does not have is left out. */
static bool read_in(int dir_fd, const char *file)
{
	char text[1024];
	int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
	bool ok = fd < 0 ? errno == ENOENT : read(fd, text, sizeof(text)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool set_in(int dir_fd, const struct knob *knob)
{
	int fd = openat(dir_fd, knob->file, O_WRONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return errno == ENOENT;
	ok = write(fd, knob->value, strlen(knob->value)) > 0;
	close(fd);
	return ok && read_in(dir_fd, knob->file);
}

static bool make(const struct group *group, struct leaf *ret)
{
	static atomic_ulong last;
	bool ok;

	snprintf(ret->path, sizeof(ret->path), "%s/warder-floor-%d-%lu", group->parent, owner, ++last);
	ret->fd = ret->join_fd = -1;
	if (mkdir(ret->path, 0755) < 0) {
		ret->path[0] = '\0'; /* it is not ours */
		return false;
	}
	ret->fd = open(ret->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok = ret->fd >= 0;
	for (size_t i = 0; i < ARRAY_LENGTH(knobs) && ok; i++)
		ok = !has(group, &knobs[i]) || set_in(ret->fd, &knobs[i]);
	ret->join_fd = group->v2 ? ret->fd : openat(ret->fd, "tasks", O_WRONLY | O_CLOEXEC);
	return ok && ret->join_fd >= 0;
}

bool leaves_make(const struct groups *groups, struct leaves *ret)
{
	bool ok = true;

	for (ret->count = 0; ret->count < groups->count && ok; ret->count++)
		ok = make(&groups->group[ret->count], &ret->leaf[ret->count]);
	return ok;
}

int leaves_v2_fd(const struct groups *groups, const struct leaves *leaves)
{
	for (size_t i = 0; i < leaves->count; i++)
		if (groups->group[i].v2)
			return leaves->leaf[i].fd;
	return -1;
}

static void shut(int fd)
{
	if (fd >= 0)
		close(fd);
}

bool leaves_end(const struct groups *groups, struct leaves *leaves, bool keep)
{
	bool ok = true;

	for (size_t i = 0; i < leaves->count; i++) {
		const struct leaf *leaf = &leaves->leaf[i];

		for (size_t j = 0; j < ARRAY_LENGTH(counters); j++)
			ok &= !has(&groups->group[i], &counters[j]) || read_in(leaf->fd, counters[j].file);
		if (keep)
			continue;
		if (!groups->group[i].v2)
			shut(leaf->join_fd);
		shut(leaf->fd);
		ok &= rmdir(leaf->path) == 0;
	}
	if (!keep)
		leaves->count = 0;
	return ok;
}

size_t leaves_open_limits(const struct groups *groups, const struct leaves *leaves, int *ret_fds, size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < leaves->count; i++)
		for (size_t j = 0; j < ARRAY_LENGTH(knobs) && count < most; j++) {
			if (!has(&groups->group[i], &knobs[j]))
				continue;
			ret_fds[count] = openat(leaves->leaf[i].fd, knobs[j].file, O_RDONLY | O_CLOEXEC);
			count += ret_fds[count] >= 0;
		}
	return count;
}
