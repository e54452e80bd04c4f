/*
 * renew: whether the leaf of an ended jail looks like a new one, so that a later jail may get it.
 *
 * A table has the files that show what happened in a leaf. Every number in them must be as small as in a new leaf. Two kinds are not zero
 * in a new leaf once a jail has begun in it: each jail has two processes, init and payload, and some memory stays charged to the leaf after
 * its last process is gone, because the kernel frees caches late. The peaks of memory are begun anew. CPU time cannot be: it is
 * subtracted (cgroup_begin_cpu()). Limits are not looked at here, because every launch reads them back.
 *
 * A leaf that was killed by `cgroup.kill` is never used again: some kernels kill whatever is cloned into it later.
 */
#include "jail/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/cgroup/file.h"

#define JAIL_PROCESSES 2          /* init and payload */
#define CHARGE_MOST    (1u << 20) /* bytes that may stay charged */
#define ANY_CONTROLLER CGROUP_CONTROLLER_COUNT

enum version { V1 = 1, V2 = 2 };

static const struct row {
	const char *file;
	unsigned versions;
	enum cgroup_controller controller; /* ANY_CONTROLLER: the leaf of v2, whatever controls it */
	const char *key;                   /* of the only number to look at; NULL: all numbers */
	uint64_t most;
	bool peak;     /* to be begun anew, by writing to it */
	bool may_miss; /* absent from some kernels */
} rows[] = {
	{ "cgroup.events", V2, ANY_CONTROLLER, NULL, 0, false, false },
	{ "pids.current", V1 | V2, CGROUP_PIDS, NULL, 0, false, false },
	{ "pids.peak", V1 | V2, CGROUP_PIDS, NULL, JAIL_PROCESSES, false, true },
	{ "pids.events", V1 | V2, CGROUP_PIDS, NULL, 0, false, true },
	{ "cpu.stat", V1 | V2, CGROUP_CPU, "nr_throttled", 0, false, false },
	{ "memory.oom_control", V1, CGROUP_MEMORY, NULL, 0, false, false },
	{ "memory.failcnt", V1, CGROUP_MEMORY, NULL, 0, false, false },
	{ "memory.memsw.failcnt", V1, CGROUP_MEMORY, NULL, 0, false, true },
	{ "memory.kmem.failcnt", V1, CGROUP_MEMORY, NULL, 0, false, true },
	{ "memory.kmem.tcp.failcnt", V1, CGROUP_MEMORY, NULL, 0, false, true },
	{ "memory.max_usage_in_bytes", V1, CGROUP_MEMORY, NULL, CHARGE_MOST, true, false },
	{ "memory.memsw.max_usage_in_bytes", V1, CGROUP_MEMORY, NULL, CHARGE_MOST, true, true },
	{ "memory.events", V2, CGROUP_MEMORY, NULL, 0, false, false },
	{ "memory.swap.events", V2, CGROUP_MEMORY, NULL, 0, false, true },
	{ "memory.swap.peak", V2, CGROUP_MEMORY, NULL, 0, false, true },
	{ "memory.peak", V2, CGROUP_MEMORY, NULL, CHARGE_MOST, true, false },
};

_Static_assert(ARRAY_LENGTH(rows) + 1 == CGROUP_RENEW_REASONS, "a reason for each file, and one for a kill");

#define KILLED ARRAY_LENGTH(rows)

const char *cgroup_renew_reason(size_t i)
{
	return i < ARRAY_LENGTH(rows) ? rows[i].file : "cgroup.kill";
}

/* The directory in which a row's file is, or -1: the row says nothing about this leaf. */
static int dir_of(const struct cgroup *cgroup, const struct row *row)
{
	const struct cgroup_host *host = cgroup->host;
	const int h = row->controller == ANY_CONTROLLER ? host->v2 : host->hierarchy_of[row->controller];

	return h >= 0 && row->versions & (host->hierarchies[h].v2 ? V2 : V1) ? cgroup->dir_fd[h] : -1;
}

static bool is_within(const struct row *row, const char *text, size_t len)
{
	uint64_t number;

	if (!row->key)
		return cgroup_text_within(text, len, row->most);
	return cgroup_text_key(text, len, row->key, &number) && number <= row->most;
}

/* On v2, a peak begins anew only for the descriptor that was written to, before Linux 6.12 for none. */
static bool renew_peak(struct cgroup *cgroup, const struct row *row, int dir_fd)
{
	owned_fd int fd = openat(dir_fd, row->file, O_RDWR | O_CLOEXEC);
	char text[1024];
	ssize_t len;

	if (fd < 0)
		return errno == ENOENT && row->may_miss;
	if (write(fd, "0", 1) != 1)
		return false;
	len = cgroup_file_reread(fd, text, sizeof(text));
	if (len < 0 || !is_within(row, text, (size_t)len))
		return false;
	if (row->versions == V2) {
		fd_done(&cgroup->peak_fd);
		cgroup->peak_fd = fd_take(&fd);
	}
	return true;
}

static bool is_as_new(struct cgroup *cgroup, const struct row *row, int dir_fd)
{
	char text[1024];
	const ssize_t len = cgroup_kept_read(cgroup, dir_fd, row->file, text, sizeof(text));

	if (len < 0)
		return errno == ENOENT && row->may_miss;
	return is_within(row, text, (size_t)len);
}

size_t cgroup_renew(struct cgroup *cgroup)
{
	if (cgroup->killed)
		return KILLED;
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const int dir_fd = dir_of(cgroup, &rows[i]);

		if (dir_fd >= 0 && !(rows[i].peak ? renew_peak : is_as_new)(cgroup, &rows[i], dir_fd))
			return i;
	}
	fd_done(&cgroup->event_fd);
	cgroup->again = true;
	return CGROUP_RENEW_REASONS;
}
