/*
 * count: what a leaf uses now. Its files are opened by their paths, because whoever asks may be another thread than the one that will
 * close the leaf's descriptors and remove it; then there is nothing to read, and nothing is known.
 *
 * The controller for I/O is rarely handed down, and on v1 it is another hierarchy. /proc/<pid>/io counts for every process, and those of
 * a child that was reaped are added to its parent's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/cgroup/cgroup.h"
#include "jail/cgroup/file.h"

#define PROCESSES_BYTES 65536

static int open_leaf(const struct cgroup *cgroup, int hierarchy)
{
	char path[CGROUP_LEAF_PATH_MAX];

	if (hierarchy < 0)
		return -1;
	cgroup_leaf_path(cgroup, (size_t)hierarchy, path);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static uint64_t read_number(int dir_fd, const char *file)
{
	char text[64];
	char *end;
	uint64_t number;

	if (dir_fd < 0 || cgroup_file_read(dir_fd, file, text, sizeof(text)) <= 0)
		return UINT64_MAX;
	number = strtoull(text, &end, 10);
	return end == text ? UINT64_MAX : number;
}

/* The number behind a word at the beginning of a line. */
static uint64_t find_number(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : UINT64_MAX;
}

static uint64_t cpu_us(int dir_fd, bool v2)
{
	char text[512];
	uint64_t ns;

	if (v2)
		return dir_fd >= 0 && cgroup_file_read(dir_fd, "cpu.stat", text, sizeof(text)) > 0
			   ? find_number(text, "usage_usec ")
			   : UINT64_MAX;
	ns = read_number(dir_fd, "cpuacct.usage");
	return ns == UINT64_MAX ? ns : ns / 1000;
}

static void add_io(long pid, struct cgroup_counts *ret)
{
	char path[48], text[512];
	uint64_t in, out;

	snprintf(path, sizeof(path), "/proc/%ld/io", pid);
	if (cgroup_file_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return; /* it has ended, and its parent has its numbers */
	in = find_number(text, "\nread_bytes: ");
	out = find_number(text, "\nwrite_bytes: ");
	ret->read_bytes += in == UINT64_MAX ? 0 : in;
	ret->written_bytes += out == UINT64_MAX ? 0 : out;
}

static void count_processes(int dir_fd, struct cgroup_counts *ret)
{
	char *text = malloc(PROCESSES_BYTES);

	if (text && dir_fd >= 0 && cgroup_file_read(dir_fd, "cgroup.procs", text, PROCESSES_BYTES) >= 0) {
		ret->processes = ret->read_bytes = ret->written_bytes = 0;
		for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
			add_io(strtol(line, NULL, 10), ret);
			ret->processes++;
			if (!strchr(line, '\n'))
				break;
		}
	}
	free(text);
}

void cgroup_count(const struct cgroup *cgroup, struct cgroup_counts *ret)
{
	const struct cgroup_host *host = cgroup->host;
	const int memory = host->hierarchy_of[CGROUP_MEMORY], account = host->hierarchy_of[CGROUP_ACCOUNT];
	const int any = host->v2 >= 0 ? host->v2 : host->hierarchy_of[CGROUP_PIDS];
	const uint64_t before_us = cgroup->cpu_before.all_us;
	const bool memory_v2 = memory >= 0 && host->hierarchies[memory].v2;
	owned_fd int memory_fd = open_leaf(cgroup, memory);
	owned_fd int account_fd = open_leaf(cgroup, account);
	owned_fd int any_fd = open_leaf(cgroup, any);

	*ret = (struct cgroup_counts){ .processes = UINT64_MAX,
				       .read_bytes = UINT64_MAX,
				       .written_bytes = UINT64_MAX };
	ret->memory_bytes = read_number(memory_fd, memory_v2 ? "memory.current" : "memory.usage_in_bytes");
	/* Of a leaf of v2 that was used before, only a descriptor of the run's own shows the peak since then. */
	ret->memory_peak_bytes =
	    memory_v2 && cgroup->again
		? UINT64_MAX
		: read_number(memory_fd, memory_v2 ? "memory.peak" : "memory.max_usage_in_bytes");
	ret->cpu_us = cpu_us(account_fd, account >= 0 && host->hierarchies[account].v2);
	if (ret->cpu_us != UINT64_MAX)
		ret->cpu_us -= ret->cpu_us < before_us ? ret->cpu_us : before_us;
	count_processes(any_fd, ret);
}
