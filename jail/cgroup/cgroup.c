#include "base/array.h"
#include "jail/cgroup/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/compose.h"
#include "base/fd.h"

#define REMOVE_MS 2000

/*
 * One run, one leaf in every hierarchy that is needed, all with one name. Leaves are flat (never nested), and serve one
 * run after the other only if they look like new ones in between (renew.c). The v2 leaf is made whenever there is a
 * v2 hierarchy, even if every limit sits on v1: it is what cgroup.kill and CPU accounting work on.
 *
 * The order of the settings matters in three places, and the table below is in that order: on v1 the memory limit goes
 * before memory+swap, which the kernel keeps at least as large, and the period goes before the quota. All limits are
 * written before anybody can be in the leaf.
 *
 * A limit that the kernel refuses is an error, never a smaller limit. Only a few settings may be missing from older
 * kernels; they say so in the table and no policy field rests on them.
 *
 * The descriptor that tells of OOM events must become readable, so that any loop can wait for it. On v1 that is an
 * eventfd registered in cgroup.event_control. On v2 it is an epoll instance over memory.events, whose change the
 * kernel tells as POLLPRI; inotify would do too, but closing an inotify instance waits for a grace period (up to
 * 20 ms). The kernel counts an event as seen once the file was read, and a file that was never read as changed.
 */

/* ---- settings ---- */

/* Text to write, or "" when there is nothing to set. */
typedef void value_fn(const struct cgroup_limits *limits, char ret[48]);

static void number(uint64_t value, char ret[48])
{
	if (value != UINT64_MAX)
		snprintf(ret, 48, "%" PRIu64, value);
}

static void memory(const struct cgroup_limits *limits, char ret[48])
{
	number(limits->memory_bytes, ret);
}

static void swap(const struct cgroup_limits *limits, char ret[48])
{
	number(limits->swap_bytes, ret);
}

static void memory_and_swap(const struct cgroup_limits *limits, char ret[48])
{
	uint64_t most = UINT64_MAX - 1;

	if (limits->swap_bytes == UINT64_MAX)
		return;
	number(limits->swap_bytes > most - limits->memory_bytes ? most
								: limits->memory_bytes + limits->swap_bytes,
	       ret);
}

static void zero_without_swap(const struct cgroup_limits *limits, char ret[48])
{
	if (limits->swap_bytes == 0)
		number(0, ret);
}

/* All processes of the leaf die together: half a program is no result. */
static void one_with_memory(const struct cgroup_limits *limits, char ret[48])
{
	if (limits->memory_bytes != UINT64_MAX)
		number(1, ret);
}

static void pids(const struct cgroup_limits *limits, char ret[48])
{
	number(limits->pids_max, ret);
}

static void quota_and_period(const struct cgroup_limits *limits, char ret[48])
{
	uint64_t quota_us;
	uint64_t period_us;

	if (limits->cpu_milli == UINT64_MAX)
		return;
	cgroup_text_quota(limits->cpu_milli, &quota_us, &period_us);
	snprintf(ret, 48, "%" PRIu64 " %" PRIu64, quota_us, period_us);
}

static void period(const struct cgroup_limits *limits, char ret[48])
{
	uint64_t quota_us;
	uint64_t period_us;

	if (limits->cpu_milli == UINT64_MAX)
		return;
	cgroup_text_quota(limits->cpu_milli, &quota_us, &period_us);
	number(period_us, ret);
}

static void quota(const struct cgroup_limits *limits, char ret[48])
{
	uint64_t quota_us;
	uint64_t period_us;

	if (limits->cpu_milli == UINT64_MAX)
		return;
	cgroup_text_quota(limits->cpu_milli, &quota_us, &period_us);
	number(quota_us, ret);
}

static const struct setting {
	enum cgroup_controller controller;
	bool v2;
	bool may_miss; /* absent from some kernels, and nothing promised rests on it */
	const char *file;
	const char *field;
	value_fn *value;
} settings[] = {
	{ CGROUP_MEMORY, true, false, "memory.max", "limits.memory", memory },
	{ CGROUP_MEMORY, true, true, "memory.oom.group", "limits.memory", one_with_memory },
	{ CGROUP_MEMORY, true, false, "memory.swap.max", "limits.swap", swap },
	{ CGROUP_MEMORY, true, true, "memory.zswap.max", "limits.swap", zero_without_swap },
	{ CGROUP_PIDS, true, false, "pids.max", "limits.pids", pids },
	{ CGROUP_CPU, true, false, "cpu.max", "limits.cpus", quota_and_period },
	{ CGROUP_MEMORY, false, false, "memory.limit_in_bytes", "limits.memory", memory },
	{ CGROUP_MEMORY, false, true, "memory.kmem.tcp.limit_in_bytes", "limits.memory",
	  memory }, /* a counter of its own */
	{ CGROUP_MEMORY, false, false, "memory.memsw.limit_in_bytes", "limits.swap", memory_and_swap },
	{ CGROUP_MEMORY, false, true, "memory.swappiness", "limits.swap", zero_without_swap },
	{ CGROUP_PIDS, false, false, "pids.max", "limits.pids", pids },
	{ CGROUP_CPU, false, false, "cpu.cfs_period_us", "limits.cpus", period },
	{ CGROUP_CPU, false, false, "cpu.cfs_quota_us", "limits.cpus", quota },
};
#define SETTING_COUNT (ARRAY_LENGTH(settings))

static bool is_asked(const struct cgroup_limits *limits, enum cgroup_controller controller)
{
	switch (controller) {
	case CGROUP_MEMORY:
		return limits->memory_bytes != UINT64_MAX || limits->swap_bytes != UINT64_MAX;
	case CGROUP_PIDS:
		return limits->pids_max != UINT64_MAX;
	case CGROUP_CPU:
		return limits->cpu_milli != UINT64_MAX;
	case CGROUP_ACCOUNT:
		return limits->account;
	case CGROUP_CONTROLLER_COUNT:
		break;
	}
	return false;
}

static const char *field_of(enum cgroup_controller controller)
{
	static const char *const fields[CGROUP_CONTROLLER_COUNT] = {
		[CGROUP_MEMORY] = "limits.memory",
		[CGROUP_PIDS] = "limits.pids",
		[CGROUP_CPU] = "limits.cpus",
		[CGROUP_ACCOUNT] = "limits.cpuTime",
	};

	return fields[controller];
}

/* Above these the kernel takes a number for "unlimited", or lets it overflow, and says nothing. */
#define MEMORY_BYTES_MAX ((UINT64_C(1) << 62) - 1)
#define CPU_MILLI_MAX    UINT64_C(1000000000)

/* Whether a limit that is set is too large to be one. */
static bool exceeds(uint64_t limit, uint64_t most)
{
	return limit != UINT64_MAX && limit > most;
}

/* Everything asked for is there; what the files would silently take for something else is refused here. */
static int check(const struct cgroup_host *host, const struct cgroup_limits *limits, struct warder_error *err)
{
	int memory_at = host->hierarchy_of[CGROUP_MEMORY];

	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
		if (is_asked(limits, c) && host->hierarchy_of[c] < 0)
			return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, field_of(c), "%s",
					 host->reason[c]);
	if (limits->swap_bytes != UINT64_MAX && !host->swap_limit)
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "limits.swap",
				 "the kernel does not limit swap (boot with swapaccount=1)");
	if (limits->swap_bytes != UINT64_MAX && limits->memory_bytes == UINT64_MAX &&
	    !host->hierarchies[memory_at].v2)
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "limits.swap",
				 "cgroup v1 limits swap only together with limits.memory");
	if (limits->cpu_milli == 0 || exceeds(limits->cpu_milli, CPU_MILLI_MAX))
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "limits.cpus",
				 "the kernel gives 0.001 to 1000000 CPUs, not %" PRIu64 " thousandths of one",
				 limits->cpu_milli);
	if (exceeds(limits->memory_bytes, MEMORY_BYTES_MAX))
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "limits.memory",
				 "the kernel takes %" PRIu64 " bytes for no limit", limits->memory_bytes);
	if (exceeds(limits->swap_bytes, MEMORY_BYTES_MAX))
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "limits.swap",
				 "the kernel takes %" PRIu64 " bytes for no limit", limits->swap_bytes);
	return 0;
}

/* ---- making ---- */

void cgroup_init(struct cgroup *cgroup)
{
	memset(cgroup, 0, sizeof(*cgroup));
	for (int h = 0; h < CGROUP_HIERARCHIES_MAX; h++) {
		cgroup->dir_fd[h] = -1;
		cgroup->join_v1_fd[h] = -1;
	}
	cgroup->join_v2_fd = -1;
	cgroup->event_fd = -1;
	cgroup->oom_fd = -1;
	cgroup->usage_fd = -1;
	cgroup->peak_fd = -1;
	cgroup->freezer_fd = -1;
}

/* A fork of the process that probed is another owner. */
static void set_name(struct cgroup *cgroup)
{
	static _Atomic uint64_t last;
	struct cgroup_owner owner = { cgroup->host->owner_pid, cgroup->host->owner_start, ++last,
				      cgroup->host->owner_space };
	struct cgroup_process self = { 0 };
	int pid = getpid();

	if (cgroup->host->lent) /* by any process: each has numbers of its own */
		owner.n += (uint64_t)pid << 24;
	else if (pid != owner.pid) {
		owner.pid = pid;
		cgroup_process_read(pid, &self);
		owner.start_time = self.start_time;
		owner.space = cgroup_space();
	}
	cgroup_text_name(&owner, cgroup->name);
}

void cgroup_leaf_path(const struct cgroup *cgroup, size_t h, char ret[CGROUP_LEAF_PATH_MAX])
{
	compose(ret, CGROUP_LEAF_PATH_MAX, cgroup->host->hierarchies[h].base, "/", cgroup->name);
}

/* 0; 1 when the name is taken; -1 with *err. */
static int make_leaf(struct cgroup *cgroup, size_t h, struct warder_error *err)
{
	char path[CGROUP_LEAF_PATH_MAX];

	cgroup_leaf_path(cgroup, h, path);
	if (mkdir(path, 0755) < 0) {
		if (errno == EEXIST)
			return 1;
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, path, errno, "cannot make cgroup %s",
				       path);
	}
	cgroup->used[h] = true;
	cgroup->dir_fd[h] = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (cgroup->dir_fd[h] < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, path, errno, "cannot open cgroup %s",
				       path);
	return 0;
}

static bool is_needed(const struct cgroup_host *host, const struct cgroup_limits *limits, size_t h)
{
	if (host->hierarchies[h].v2)
		return true;
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
		if (host->hierarchy_of[c] == (int)h && is_asked(limits, c))
			return true;
	return false;
}

/* In the hierarchies of one version. As make_leaf. */
static int make_leaves(struct cgroup *cgroup, bool v2, struct warder_error *err)
{
	for (size_t h = 0; h < cgroup->host->hierarchy_count; h++) {
		const bool is_asked_for =
		    cgroup->host->hierarchies[h].v2 == v2 && is_needed(cgroup->host, &cgroup->limits, h);
		const int made = is_asked_for ? make_leaf(cgroup, h, err) : 0;

		if (made != 0)
			return made;
	}
	return 0;
}

/* The leaf of a controller, or -1. */
static int leaf_of(const struct cgroup *cgroup, enum cgroup_controller controller)
{
	int h = cgroup->host ? cgroup->host->hierarchy_of[controller] : -1;

	return h >= 0 ? cgroup->dir_fd[h] : -1;
}

static bool is_v2(const struct cgroup *cgroup, enum cgroup_controller controller)
{
	return cgroup->host->hierarchies[cgroup->host->hierarchy_of[controller]].v2;
}

static int apply(struct cgroup *cgroup, const struct setting *setting, struct warder_error *err)
{
	const int dir_fd = leaf_of(cgroup, setting->controller);
	char text[48] = "";
	enum warder_error_kind kind;
	int written;

	setting->value(&cgroup->limits, text);
	if (text[0] == '\0')
		return 0;
	/* What must be there is read back. */
	written = setting->may_miss ? cgroup_file_write(dir_fd, setting->file, text)
				    : cgroup_kept_write(cgroup, dir_fd, setting->file, text);
	if (written == 0 || (errno == ENOENT && setting->may_miss))
		return 0;
	kind =
	    errno == EINVAL || errno == ERANGE ? WARDER_ERROR_UNSUPPORTED_POLICY : WARDER_ERROR_UNAVAILABLE;
	return error_set_errno(err, kind, setting->field, errno, "the kernel refuses %s for %s", text,
			       setting->file);
}

static int apply_all(struct cgroup *cgroup, bool v2, struct warder_error *err)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *setting = &settings[i];

		if (setting->v2 == v2 && is_asked(&cgroup->limits, setting->controller) &&
		    is_v2(cgroup, setting->controller) == v2 && apply(cgroup, setting, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- descriptors kept for the life of the leaf ---- */

static int open_in(int dir_fd, const char *file, int flags, int *ret_fd, struct warder_error *err)
{
	*ret_fd = openat(dir_fd, file, flags | O_CLOEXEC);
	if (*ret_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, file, errno, "cannot open %s", file);
	return 0;
}

static int open_joins(struct cgroup *cgroup, bool v2, struct warder_error *err)
{
	for (size_t h = 0; h < cgroup->host->hierarchy_count; h++) {
		if (!cgroup->used[h] || cgroup->host->hierarchies[h].v2 != v2)
			continue;
		if (!v2) {
			/* `tasks` and not cgroup.procs: a thread that moves itself needs no lock over all
			 * thread groups, whose first taker waits for an RCU grace period (7 ms measured). */
			if (open_in(cgroup->dir_fd[h], "tasks", O_WRONLY, &cgroup->join_v1_fd[h], err) < 0)
				return -1;
			continue;
		}
		/* Whoever gets in makes no cgroups below; without the file it is only hardening that is missing. */
		if (cgroup_file_write(cgroup->dir_fd[h], "cgroup.max.descendants", "0") < 0 &&
		    errno != ENOENT)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					       "cgroup.max.descendants");
		cgroup->join_v2_fd = fcntl(cgroup->dir_fd[h], F_DUPFD_CLOEXEC, 0);
		if (cgroup->join_v2_fd < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					       "no descriptor left");
	}
	return 0;
}

static int open_usage(struct cgroup *cgroup, bool v2, struct warder_error *err)
{
	int dir_fd = leaf_of(cgroup, CGROUP_ACCOUNT);

	if (dir_fd < 0 || is_v2(cgroup, CGROUP_ACCOUNT) != v2)
		return 0;
	return open_in(dir_fd, v2 ? "cpu.stat" : "cpuacct.usage", O_RDONLY, &cgroup->usage_fd, err);
}

static int watch_v1(struct cgroup *cgroup, int dir_fd)
{
	char text[32];

	cgroup->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cgroup->event_fd < 0)
		return -1;
	snprintf(text, sizeof(text), "%d %d", cgroup->event_fd, cgroup->oom_fd);
	return cgroup_file_write(dir_fd, "cgroup.event_control", text);
}

static int watch_v2(struct cgroup *cgroup)
{
	struct epoll_event event = { .events = EPOLLPRI };

	cgroup->event_fd = epoll_create1(EPOLL_CLOEXEC);
	if (cgroup->event_fd < 0)
		return -1;
	cgroup_clear_event(cgroup);
	return epoll_ctl(cgroup->event_fd, EPOLL_CTL_ADD, cgroup->oom_fd, &event);
}

static int open_oom(struct cgroup *cgroup, bool v2, struct warder_error *err)
{
	int dir_fd = leaf_of(cgroup, CGROUP_MEMORY);

	if (dir_fd < 0 || !is_asked(&cgroup->limits, CGROUP_MEMORY) || is_v2(cgroup, CGROUP_MEMORY) != v2)
		return 0;
	return open_in(dir_fd, v2 ? "memory.events" : "memory.oom_control", O_RDONLY, &cgroup->oom_fd, err);
}

int cgroup_watch_oom(struct cgroup *cgroup, struct warder_error *err)
{
	int ret;

	if (cgroup->oom_fd < 0 || cgroup->event_fd >= 0)
		return 0;
	ret = is_v2(cgroup, CGROUP_MEMORY) ? watch_v2(cgroup)
					   : watch_v1(cgroup, leaf_of(cgroup, CGROUP_MEMORY));
	if (ret < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "limits.memory", errno,
				       "cannot watch OOM events");
	return 0;
}

static int fill(struct cgroup *cgroup, bool v2, struct warder_error *err)
{
	if (apply_all(cgroup, v2, err) < 0 || open_joins(cgroup, v2, err) < 0 ||
	    open_usage(cgroup, v2, err) < 0)
		return -1;
	return open_oom(cgroup, v2, err);
}

/* With `whole` in every hierarchy, else in that of v2. */
static int create(struct cgroup *cgroup, bool whole, struct warder_error *err)
{
	int made = 1;

	if (check(cgroup->host, &cgroup->limits, err) < 0)
		return -1;
	/* A name can only be taken by a leftover of an owner with the same pid and start time; the next one is free. */
	for (int tries = 0; made == 1 && tries < 64; tries++) {
		struct warder_error ignored;

		set_name(cgroup);
		made = make_leaves(cgroup, true, err);
		if (made == 0 && whole)
			made = make_leaves(cgroup, false, err);
		if (made == 1)
			cgroup_remove(cgroup, &ignored);
	}
	if (made == 1)
		return error_set(err, WARDER_ERROR_CONFLICT, NULL,
				 "cgroup %s and all names before it are taken", cgroup->name);
	if (made < 0 || fill(cgroup, true, err) < 0)
		return -1;
	return whole ? fill(cgroup, false, err) : 0;
}

static int begin(const struct cgroup_host *host, const struct cgroup_limits *limits, bool whole,
		 struct cgroup *ret, struct warder_error *err)
{
	struct warder_error ignored;

	cgroup_init(ret);
	ret->host = host;
	ret->limits = *limits;
	if (create(ret, whole, err) == 0)
		return 0;
	snprintf(err->step, sizeof(err->step), "cgroup");
	cgroup_remove(ret, &ignored);
	return -1;
}

int cgroup_create(const struct cgroup_host *host, const struct cgroup_limits *limits, struct cgroup *ret,
		  struct warder_error *err)
{
	return begin(host, limits, true, ret, err);
}

int cgroup_begin(const struct cgroup_host *host, const struct cgroup_limits *limits, struct cgroup *ret,
		 struct warder_error *err)
{
	return begin(host, limits, false, ret, err);
}

bool cgroup_is_partial(const struct cgroup *cgroup)
{
	for (size_t h = 0; cgroup->host && h < cgroup->host->hierarchy_count; h++)
		if (!cgroup->used[h] && is_needed(cgroup->host, &cgroup->limits, h))
			return true;
	return false;
}

int cgroup_complete(struct cgroup *cgroup, struct warder_error *err)
{
	const int made = make_leaves(cgroup, false, err);

	/* The leaf in v2 has this name already, so no other name can be tried. */
	if (made == 1)
		error_set(err, WARDER_ERROR_CONFLICT, NULL,
			  "cgroup %s is taken in a hierarchy of v1; try again, or run \"warder doctor "
			  "--clean\"",
			  cgroup->name);
	if (made == 0 && fill(cgroup, false, err) == 0)
		return 0;
	snprintf(err->step, sizeof(err->step), "cgroup");
	return -1;
}

/* ---- reading ---- */

/* v1 shows "unlimited" as the largest multiple of the page size in a signed 64-bit number. */
static uint64_t v1_unlimited(uint64_t bytes)
{
	return bytes >= (uint64_t)INT64_MAX - (1 << 20) ? UINT64_MAX : bytes;
}

static bool read_number(int dir_fd, const char *file, uint64_t *ret)
{
	char text[64];
	ssize_t len = dir_fd < 0 ? -1 : cgroup_file_read(dir_fd, file, text, sizeof(text));

	return len > 0 && cgroup_text_number(text, (size_t)len, ret);
}

static bool reread_number(int fd, uint64_t *ret)
{
	char text[64];
	ssize_t len = cgroup_file_reread(fd, text, sizeof(text));

	return len > 0 && cgroup_text_number(text, (size_t)len, ret);
}

static bool reread_key(int fd, const char *key, uint64_t *ret)
{
	char text[1024];
	ssize_t len = cgroup_file_reread(fd, text, sizeof(text));

	return len > 0 && cgroup_text_key(text, (size_t)len, key, ret);
}

static bool kept_number(const struct cgroup *cgroup, int dir_fd, const char *file, uint64_t *ret)
{
	char text[64];
	ssize_t len = dir_fd < 0 ? -1 : cgroup_kept_read(cgroup, dir_fd, file, text, sizeof(text));

	return len > 0 && cgroup_text_number(text, (size_t)len, ret);
}

static bool kept_key(const struct cgroup *cgroup, int dir_fd, const char *file, const char *key,
		     uint64_t *ret)
{
	char text[1024];
	ssize_t len = dir_fd < 0 ? -1 : cgroup_kept_read(cgroup, dir_fd, file, text, sizeof(text));

	return len > 0 && cgroup_text_key(text, (size_t)len, key, ret);
}

static const char *limit_file(bool v2, enum cgroup_controller controller, bool of_swap)
{
	if (controller == CGROUP_MEMORY && of_swap)
		return v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes";
	if (controller == CGROUP_MEMORY)
		return v2 ? "memory.max" : "memory.limit_in_bytes";
	if (controller == CGROUP_PIDS)
		return "pids.max";
	return v2 ? "cpu.max" : "cpu.cfs_quota_us";
}

/* v1 keeps the period in a file of its own: "quota period", as v2 has it. */
static bool append_period(const struct cgroup *cgroup, int dir_fd, char text[64])
{
	uint64_t period_us;
	size_t used = strlen(text);

	if (!kept_number(cgroup, dir_fd, "cpu.cfs_period_us", &period_us))
		return false;
	return snprintf(text + used, 64 - used, " %" PRIu64, period_us) < (int)(64 - used);
}

static bool parse_limit(const struct cgroup *cgroup, int dir_fd, bool v2, enum cgroup_controller controller,
			bool of_swap, struct cgroup_value *value)
{
	uint64_t memory_bytes;

	if (controller == CGROUP_CPU)
		return (v2 || append_period(cgroup, dir_fd, value->text)) &&
		       cgroup_text_bandwidth(value->text, strlen(value->text), &value->value);
	if (!cgroup_text_number(value->text, strlen(value->text), &value->value))
		return false;
	if (v2 || controller != CGROUP_MEMORY)
		return true;
	value->value = v1_unlimited(value->value);
	if (!of_swap || value->value == UINT64_MAX)
		return true;
	if (!kept_number(cgroup, dir_fd, "memory.limit_in_bytes", &memory_bytes) ||
	    memory_bytes > value->value)
		return false;
	value->value -= memory_bytes;
	return true;
}

int cgroup_read_back(const struct cgroup *cgroup, enum cgroup_controller controller, bool of_swap,
		     struct cgroup_value *ret, struct warder_error *err)
{
	int dir_fd = controller < CGROUP_ACCOUNT ? leaf_of(cgroup, controller) : -1;
	struct cgroup_value value = { 0 };
	const char *file;
	ssize_t len;
	bool v2;

	if (dir_fd < 0)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "no leaf with this controller was made");
	v2 = is_v2(cgroup, controller);
	file = limit_file(v2, controller, of_swap);
	compose(value.file, sizeof(value.file), file);
	len = cgroup_kept_read(cgroup, dir_fd, file, value.text, sizeof(value.text));
	if (len < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field_of(controller), errno,
				       "cannot read %s", value.file);
	value.text[strcspn(value.text, "\n")] = '\0';
	if (!parse_limit(cgroup, dir_fd, v2, controller, of_swap, &value))
		return error_set(err, WARDER_ERROR_INTERNAL, field_of(controller), "%s holds \"%s\"",
				 value.file, value.text);
	*ret = value;
	return 0;
}

static uint64_t since(uint64_t now_us, uint64_t before_us)
{
	return now_us > before_us ? now_us - before_us : 0;
}

int cgroup_cpu_usage(const struct cgroup *cgroup, uint64_t *ret_us)
{
	char text[1024];
	ssize_t len = cgroup->usage_fd < 0 ? -1 : pread(cgroup->usage_fd, text, sizeof(text), 0);
	uint64_t value;

	if (len <= 0)
		return -1;
	if (is_v2(cgroup, CGROUP_ACCOUNT)) {
		if (!cgroup_text_key(text, (size_t)len, "usage_usec", &value))
			return -1;
	} else if (cgroup_text_number(text, (size_t)len, &value)) {
		value /= 1000;
	} else {
		return -1;
	}
	*ret_us = since(value, cgroup->cpu_before.all_us);
	return 0;
}

/*
 * With no swap allowed both counters have one limit, and memory+swap, which is charged first, is the one that fails;
 * newer kernels do not count its failures. Its peak tells: the kernel charges up to 64 pages at once, so a leaf in which
 * somebody was killed for memory had come that close to its own limit, or it was not its own.
 */
static bool is_peak_reached(int peak_fd, int limit_fd, uint64_t kills)
{
	uint64_t slack_bytes = kills ? 64 * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
	uint64_t peak_bytes;
	uint64_t limit_bytes;

	return reread_number(peak_fd, &peak_bytes) && reread_number(limit_fd, &limit_bytes) &&
	       peak_bytes + slack_bytes >= limit_bytes;
}

static bool v1_peak_reached(int dir_fd, uint64_t kills)
{
	owned_fd int peak_fd = openat(dir_fd, "memory.memsw.max_usage_in_bytes", O_RDONLY | O_CLOEXEC);
	owned_fd int limit_fd = openat(dir_fd, "memory.memsw.limit_in_bytes", O_RDONLY | O_CLOEXEC);

	return is_peak_reached(peak_fd, limit_fd, kills);
}

static bool v1_limit_reached(int dir_fd, uint64_t kills)
{
	uint64_t fails = 0;

	return (read_number(dir_fd, "memory.failcnt", &fails) && fails > 0) || v1_peak_reached(dir_fd, kills);
}

int cgroup_oom(const struct cgroup *cgroup, uint64_t *ret_kills, bool *ret_own_limit)
{
	char text[1024];
	uint64_t kills = 0;
	uint64_t groups = 0;
	uint64_t max = 0;
	uint64_t oom = 0;
	ssize_t len;

	if (cgroup->oom_fd < 0)
		return -1;
	len = cgroup_file_reread(cgroup->oom_fd, text, sizeof(text));
	if (len < 0)
		return -1;
	cgroup_text_key(text, (size_t)len, "oom_kill", &kills);
	cgroup_text_key(text, (size_t)len, "oom_group_kill", &groups);
	cgroup_text_key(text, (size_t)len, "max", &max);
	cgroup_text_key(text, (size_t)len, "oom", &oom);
	*ret_kills = kills ? kills : groups;
	if (is_v2(cgroup, CGROUP_MEMORY))
		*ret_own_limit = oom > 0 || (max > 0 && *ret_kills == 0);
	else /* three more files, which say something only about a kill */
		*ret_own_limit =
		    *ret_kills > 0 && v1_limit_reached(leaf_of(cgroup, CGROUP_MEMORY), *ret_kills);
	return 0;
}

void cgroup_above_open(const struct cgroup_host *host, struct cgroup_above *ret)
{
	const int h = host ? host->hierarchy_of[CGROUP_MEMORY] : -1;
	owned_fd int dir_fd = h < 0 ? -1 : open(host->hierarchies[h].base, O_PATH | O_DIRECTORY | O_CLOEXEC);

	*ret = (struct cgroup_above)CGROUP_ABOVE_NONE;
	if (dir_fd < 0)
		return;
	ret->v2 = host->hierarchies[h].v2;
	ret->count_fd =
	    openat(dir_fd, ret->v2 ? "memory.events.local" : "memory.failcnt", O_RDONLY | O_CLOEXEC);
	if (ret->v2)
		return;
	ret->peak_fd = openat(dir_fd, "memory.memsw.max_usage_in_bytes", O_RDWR | O_CLOEXEC);
	ret->limit_fd = openat(dir_fd, "memory.memsw.limit_in_bytes", O_RDONLY | O_CLOEXEC);
}

void cgroup_above_done(struct cgroup_above *above)
{
	fd_done(&above->count_fd);
	fd_done(&above->peak_fd);
	fd_done(&above->limit_fd);
}

/* v2: how often its own limit made the kernel look for a victim. v1: how often it was reached. */
static uint64_t count_above(const struct cgroup_above *above)
{
	uint64_t count = 0;

	if (above->v2)
		reread_key(above->count_fd, "oom", &count);
	else
		reread_number(above->count_fd, &count);
	return count;
}

static bool is_peak_of_above_reached(const struct cgroup_above *above)
{
	return above->peak_fd >= 0 && is_peak_reached(above->peak_fd, above->limit_fd, 1);
}

void cgroup_above_begin(struct cgroup *cgroup, const struct cgroup_above *above)
{
	cgroup->above_count = count_above(above);
	/* Peaks cannot be subtracted, but begun anew. For who is in the session already this changes nothing: what ends him brings the
	 * peak back. */
	if (is_peak_of_above_reached(above) && write(above->peak_fd, "0", 1) != 1)
		return; /* the peak stays, and explains a kill that it may have nothing to do with */
}

bool cgroup_above_oom(const struct cgroup *cgroup)
{
	struct cgroup_above above;
	bool reached;

	cgroup_above_open(cgroup->host, &above);
	reached = count_above(&above) > cgroup->above_count || is_peak_of_above_reached(&above);
	cgroup_above_done(&above);
	return reached;
}

void cgroup_clear_event(const struct cgroup *cgroup)
{
	char text[1024];

	if (cgroup->event_fd < 0)
		return;
	if (is_v2(cgroup, CGROUP_MEMORY))
		cgroup_file_reread(cgroup->oom_fd, text, sizeof(text));
	else if (read(cgroup->event_fd, text, sizeof(uint64_t)) < 0)
		return; /* nothing was pending */
}

/* What is not known stays as it is. 0; -1 if not even the whole is known. */
static int read_cpu(const struct cgroup *cgroup, struct cgroup_cpu *cpu)
{
	int dir_fd = leaf_of(cgroup, CGROUP_ACCOUNT);
	char text[1024];
	ssize_t len;

	if (dir_fd < 0)
		return -1;
	if (is_v2(cgroup, CGROUP_ACCOUNT)) {
		len = cgroup_file_reread(cgroup->usage_fd, text, sizeof(text));
		if (len <= 0 || !cgroup_text_key(text, (size_t)len, "usage_usec", &cpu->all_us))
			return -1;
		cgroup_text_key(text, (size_t)len, "user_usec", &cpu->user_us);
		cgroup_text_key(text, (size_t)len, "system_usec", &cpu->system_us);
		return 0;
	}
	if (read_number(dir_fd, "cpuacct.usage_user", &cpu->user_us))
		cpu->user_us /= 1000;
	if (read_number(dir_fd, "cpuacct.usage_sys", &cpu->system_us))
		cpu->system_us /= 1000;
	if (cgroup_cpu_usage(cgroup, &cpu->all_us) < 0)
		return -1;
	cpu->all_us += cgroup->cpu_before.all_us;
	return 0;
}

static void final_cpu(const struct cgroup *cgroup, struct cgroup_final *final)
{
	const struct cgroup_cpu *before = &cgroup->cpu_before;
	struct cgroup_cpu now = { 0 };

	read_cpu(cgroup, &now);
	final->cpu_us = since(now.all_us, before->all_us);
	final->cpu_user_us = since(now.user_us, before->user_us);
	final->cpu_system_us = since(now.system_us, before->system_us);
}

int cgroup_begin_cpu(struct cgroup *cgroup)
{
	struct cgroup_cpu before = { 0 };

	if (cgroup->usage_fd < 0)
		return 0;
	if (read_cpu(cgroup, &before) < 0)
		return -1;
	cgroup->cpu_before = before;
	return 0;
}

static void final_throttled(const struct cgroup *cgroup, struct cgroup_final *final)
{
	int dir_fd = is_asked(&cgroup->limits, CGROUP_CPU) ? leaf_of(cgroup, CGROUP_CPU) : -1;

	if (dir_fd < 0)
		return;
	if (is_v2(cgroup, CGROUP_CPU))
		kept_key(cgroup, dir_fd, "cpu.stat", "throttled_usec", &final->cpu_throttled_us);
	else if (kept_key(cgroup, dir_fd, "cpu.stat", "throttled_time", &final->cpu_throttled_us))
		final->cpu_throttled_us /= 1000;
}

static const char *peak_file(const struct cgroup *cgroup)
{
	return is_v2(cgroup, CGROUP_MEMORY) ? "memory.peak" : "memory.max_usage_in_bytes";
}

static void final_memory(const struct cgroup *cgroup, struct cgroup_final *final)
{
	int dir_fd = leaf_of(cgroup, CGROUP_MEMORY);

	if (dir_fd < 0)
		return;
	if (cgroup->peak_fd >= 0)
		reread_number(cgroup->peak_fd, &final->memory_peak_bytes);
	else
		kept_number(cgroup, dir_fd, peak_file(cgroup), &final->memory_peak_bytes);
	cgroup_oom(cgroup, &final->oom_kills, &final->memory_limit_hit);
}

void cgroup_keep_files(struct cgroup *cgroup)
{
	static const enum cgroup_controller limited[] = { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU };

	for (size_t i = 0; i < ARRAY_LENGTH(limited); i++) {
		const int dir_fd = is_asked(&cgroup->limits, limited[i]) ? leaf_of(cgroup, limited[i]) : -1;

		if (dir_fd < 0)
			continue;
		cgroup_keep(cgroup, dir_fd, limit_file(is_v2(cgroup, limited[i]), limited[i], false));
		if (limited[i] == CGROUP_MEMORY)
			cgroup_keep(cgroup, dir_fd, limit_file(is_v2(cgroup, limited[i]), limited[i], true));
		if (limited[i] == CGROUP_MEMORY && cgroup->peak_fd < 0)
			cgroup_keep(cgroup, dir_fd, peak_file(cgroup));
		if (limited[i] == CGROUP_CPU)
			cgroup_keep(cgroup, dir_fd, "cpu.stat");
		if (limited[i] == CGROUP_CPU && !is_v2(cgroup, limited[i]))
			cgroup_keep(cgroup, dir_fd, "cpu.cfs_period_us");
	}
	cgroup_keep(cgroup, leaf_of(cgroup, CGROUP_PIDS), "pids.peak");
	cgroup_keep(cgroup, leaf_of(cgroup, CGROUP_PIDS), "pids.events");
}

void cgroup_close_files(struct cgroup *cgroup)
{
	cgroup_kept_done(cgroup);
}

void cgroup_final(const struct cgroup *cgroup, struct cgroup_final *ret)
{
	struct cgroup_final final = { .memory_peak_bytes = UINT64_MAX, .pids_peak = UINT64_MAX };

	final_cpu(cgroup, &final);
	final_throttled(cgroup, &final);
	final_memory(cgroup, &final);
	kept_number(cgroup, leaf_of(cgroup, CGROUP_PIDS), "pids.peak", &final.pids_peak);
	kept_key(cgroup, leaf_of(cgroup, CGROUP_PIDS), "pids.events", "max", &final.pids_limit_hits);
	*ret = final;
}

/* ---- the end ---- */

bool cgroup_kill(struct cgroup *cgroup)
{
	/* Whether there is such a file is not always known before (cgroup_probe() may only have looked). */
	if (!cgroup->host || cgroup->host->v2 < 0 || cgroup->dir_fd[cgroup->host->v2] < 0 ||
	    cgroup_file_write(cgroup->dir_fd[cgroup->host->v2], "cgroup.kill", "1") < 0)
		return false;
	cgroup->killed = true;
	return true;
}

/* The hierarchies whose line in /proc/<pid>/cgroup ends with the leaf's name. */
static int count_memberships(const struct cgroup *cgroup, int pid)
{
	const size_t name_len = strlen(cgroup->name);
	char path[40];
	char text[8192];
	char *left = NULL;
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (cgroup_file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
		return -1;
	for (char *line = strtok_r(text, "\n", &left); line; line = strtok_r(NULL, "\n", &left)) {
		const size_t len = strlen(line);

		count += len > name_len && line[len - name_len - 1] == '/' &&
			 strcmp(line + len - name_len, cgroup->name) == 0;
	}
	return count;
}

int cgroup_move(const struct cgroup *cgroup, int pid, struct warder_error *err)
{
	char number[16];
	int leaves = 0;

	snprintf(number, sizeof(number), "%d", pid);
	for (int h = 0; h < CGROUP_HIERARCHIES_MAX; h++) {
		if (!cgroup->used[h])
			continue;
		leaves++;
		if (cgroup_file_write(cgroup->dir_fd[h], "cgroup.procs", number) < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "cgroup.procs", errno,
					       "cannot move a process into cgroup %s", cgroup->name);
	}
	if (leaves && count_memberships(cgroup, pid) != leaves)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "limits",
				 "read-back: the cgroups %s do not hold the process", cgroup->name);
	return 0;
}

void cgroup_close_joins(struct cgroup *cgroup)
{
	fd_done(&cgroup->join_v2_fd);
	for (int h = 0; h < CGROUP_HIERARCHIES_MAX; h++)
		fd_done(&cgroup->join_v1_fd[h]);
}

static void close_all(struct cgroup *cgroup)
{
	cgroup_kept_done(cgroup);
	cgroup_close_joins(cgroup);
	fd_done(&cgroup->event_fd);
	fd_done(&cgroup->oom_fd);
	fd_done(&cgroup->usage_fd);
	fd_done(&cgroup->peak_fd);
	fd_done(&cgroup->freezer_fd);
	for (int h = 0; h < CGROUP_HIERARCHIES_MAX; h++)
		fd_done(&cgroup->dir_fd[h]);
}

bool cgroup_leave(struct cgroup *cgroup)
{
	char path[CGROUP_LEAF_PATH_MAX];
	bool used = false;

	for (size_t h = 0; h < CGROUP_HIERARCHIES_MAX; h++) {
		if (!cgroup->used[h])
			continue;
		cgroup_leaf_path(cgroup, h, path);
		used |= rmdir(path) < 0 && errno == EBUSY;
	}
	if (!used)
		return false;
	close_all(cgroup);
	memset(cgroup->used, 0, sizeof(cgroup->used));
	return true;
}

/* Whether nothing is busy; -1 with *err: something cannot be removed. */
static int remove_leaves(struct cgroup *cgroup, bool last, struct warder_error *err)
{
	char path[CGROUP_LEAF_PATH_MAX];
	int result = 0;

	for (size_t h = 0; h < CGROUP_HIERARCHIES_MAX; h++) {
		int left;

		if (!cgroup->used[h])
			continue;
		cgroup_leaf_path(cgroup, h, path);
		left = cgroup_dir_try(path);
		cgroup->used[h] = left != 0;
		if (left == CGROUP_BUSY && !last)
			result = result ? result : CGROUP_BUSY;
		else if (left != 0 && result >= 0)
			result = error_set_errno(
			    err, WARDER_ERROR_CONFLICT, path, errno,
			    "cannot remove cgroup %s (it is cleaned up when its processes are gone)", path);
	}
	return result;
}

int cgroup_remove_step(struct cgroup *cgroup, struct warder_error *err)
{
	const int64_t now_ms = cgroup_now_ms();

	if (!cgroup->remove_pause_us) {
		close_all(cgroup);
		cgroup->remove_until_ms = cgroup->host && !cgroup->stuck ? now_ms + REMOVE_MS : 0;
	}
	cgroup->remove_pause_us = cgroup_pause_us(cgroup->remove_pause_us);
	return remove_leaves(cgroup, now_ms >= cgroup->remove_until_ms, err);
}

int cgroup_remove(struct cgroup *cgroup, struct warder_error *err)
{
	int left;

	cgroup->remove_pause_us = 0;
	while ((left = cgroup_remove_step(cgroup, err)) == CGROUP_BUSY)
		nanosleep(&(struct timespec){ .tv_nsec = cgroup->remove_pause_us * 1000 }, NULL);
	return left;
}
