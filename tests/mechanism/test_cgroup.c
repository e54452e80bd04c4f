#include "base/array.h"
#include "jail/cgroup/cgroup.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jail/cgroup/file.h"

/*
 * What the cgroup files show and what the kernel then does, on v1 and v2, whichever is here. Needs root. Every test has
 * a parent cgroup of its own, which must be empty and gone at its end.
 */

#define MIB (UINT64_C(1) << 20)

static struct cgroup_host host;
static char parent[40];
static bool is_set_up;

static const struct cgroup_limits no_limits = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, false };

static void tear_down(void);

/* The suite's end is not run for a test that is skipped. */
static void skip(const char *why)
{
	tear_down();
	cr_skip_test("%s", why);
}

static void need(enum cgroup_controller controller)
{
	if (!is_set_up)
		cr_skip_test("needs root");
	if (host.hierarchy_of[controller] < 0)
		skip(host.reason[controller]);
}

static void set_up(void)
{
	if (geteuid() != 0)
		return;
	snprintf(parent, sizeof(parent), "warder-test-%d", getpid());
	cgroup_probe(parent, false, &host);
	is_set_up = true;
}

/* Leaves and other directories below the bases. */
static int count_left(const struct cgroup_host *where)
{
	int count = 0;

	for (size_t h = 0; h < where->hierarchy_count; h++) {
		DIR *dir = opendir(where->hierarchies[h].base);
		const struct dirent *entry;

		while (dir && (entry = readdir(dir)))
			if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
				count++;
		if (dir)
			closedir(dir);
	}
	return count;
}

static void tear_down(void)
{
	if (!is_set_up)
		return;
	cr_expect(count_left(&host) == 0, "directories are left behind");
	for (size_t h = 0; h < host.hierarchy_count; h++)
		cr_expect(host.hierarchies[h].made_parent);
	cgroup_host_done(&host);
	for (size_t h = 0; h < host.hierarchy_count; h++)
		cr_expect(access(host.hierarchies[h].base, F_OK) < 0, "%s stays", host.hierarchies[h].base);
}

#define CGROUP_TEST(name) Test(cgroup, name, .timeout = 120, .init = set_up, .fini = tear_down)

static void create(const struct cgroup_limits *limits, struct cgroup *ret)
{
	struct warder_error err = { 0 };

	cr_assert(cgroup_create(&host, limits, ret, &err) == 0, "%s: %s", err.field, err.text);
}

static void remove_leaf(struct cgroup *cgroup)
{
	struct warder_error err = { 0 };

	cr_expect(cgroup_remove(cgroup, &err) == 0, "%s", err.text);
}

/* A fork that is born in the v2 leaf and goes into the v1 ones, as the jail's init does. */
static pid_t fork_into(const struct cgroup *cgroup)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	pid_t parent_pid = getpid();
	pid_t pid;

	if (cgroup->join_v2_fd >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup->join_v2_fd;
	}
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent_pid)
		_exit(96);
	for (size_t h = 0; h < CGROUP_HIERARCHIES_MAX; h++)
		if (cgroup->join_v1_fd[h] >= 0 && write(cgroup->join_v1_fd[h], "0", 1) != 1)
			_exit(99);
	return 0;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

/* A process that does nothing in the leaf; returns once it is there. */
static pid_t sleep_in(const struct cgroup *cgroup)
{
	int ready[2];
	char byte;
	pid_t pid;

	cr_assert(pipe2(ready, O_CLOEXEC) == 0);
	pid = fork_into(cgroup);
	if (pid == 0) {
		setsid();
		alarm(90); /* a failed test leaves no process */
		if (write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(98);
	}
	close(ready[1]);
	cr_assert(pid > 0 && read(ready[0], &byte, 1) == 1, "no process got into the leaf");
	close(ready[0]);
	return pid;
}

/* Content of a file in the leaf, read without the module. */
static void show(const struct cgroup *cgroup, enum cgroup_controller controller, const char *file,
		 char ret[128])
{
	char path[512];
	FILE *stream;

	ret[0] = '\0';
	snprintf(path, sizeof(path), "%s/%s/%s", host.hierarchies[host.hierarchy_of[controller]].base,
		 cgroup->name, file);
	stream = fopen(path, "re");
	if (stream && fgets(ret, 128, stream))
		ret[strcspn(ret, "\n")] = '\0';
	if (stream)
		fclose(stream);
}

static bool is_v2(enum cgroup_controller controller)
{
	return host.hierarchies[host.hierarchy_of[controller]].v2;
}

static void expect_file(const struct cgroup *cgroup, enum cgroup_controller controller, const char *file,
			const char *expected)
{
	char text[128];

	show(cgroup, controller, file, text);
	cr_expect_str_eq(text, expected, "%s holds \"%s\", not \"%s\"", file, text, expected);
}

static void expect_read_back(const struct cgroup *cgroup, enum cgroup_controller controller, bool swap,
			     uint64_t value, const char *file)
{
	struct cgroup_value shown = { 0 };
	struct warder_error err = { 0 };

	cr_expect(cgroup_read_back(cgroup, controller, swap, &shown, &err) == 0, "%s", err.text);
	cr_expect(shown.value == value, "%s: %llu", shown.file, (unsigned long long)shown.value);
	cr_expect_str_eq(shown.file, file);
	cr_expect(strchr(shown.text, '\n') == NULL && shown.text[0], "%s", shown.text);
}

CGROUP_TEST(memory_limit_is_what_the_kernel_shows)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup cgroup;
	bool v2;

	need(CGROUP_MEMORY);
	v2 = is_v2(CGROUP_MEMORY);
	limits.memory_bytes = 64 * MIB;
	limits.swap_bytes = host.swap_limit ? 0 : UINT64_MAX;
	create(&limits, &cgroup);
	expect_file(&cgroup, CGROUP_MEMORY, v2 ? "memory.max" : "memory.limit_in_bytes", "67108864");
	expect_read_back(&cgroup, CGROUP_MEMORY, false, 64 * MIB,
			 v2 ? "memory.max" : "memory.limit_in_bytes");
	if (v2)
		expect_file(&cgroup, CGROUP_MEMORY, "memory.oom.group", "1");
	if (host.swap_limit) {
		const char *file = v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes";

		expect_file(&cgroup, CGROUP_MEMORY, file, v2 ? "0" : "67108864");
		expect_read_back(&cgroup, CGROUP_MEMORY, true, 0, file);
	}
	remove_leaf(&cgroup);
}

CGROUP_TEST(swap_limit_is_on_top_of_memory)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup cgroup;
	const char *file;

	need(CGROUP_MEMORY);
	if (!host.swap_limit)
		skip("the kernel does not limit swap");
	file = is_v2(CGROUP_MEMORY) ? "memory.swap.max" : "memory.memsw.limit_in_bytes";
	limits.memory_bytes = 64 * MIB;
	limits.swap_bytes = 16 * MIB;
	create(&limits, &cgroup);
	expect_file(&cgroup, CGROUP_MEMORY, file, is_v2(CGROUP_MEMORY) ? "16777216" : "83886080");
	expect_read_back(&cgroup, CGROUP_MEMORY, true, 16 * MIB, file);
	remove_leaf(&cgroup);
}

CGROUP_TEST(pids_limit_is_what_the_kernel_shows)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup cgroup;

	need(CGROUP_PIDS);
	limits.pids_max = 32;
	create(&limits, &cgroup);
	expect_file(&cgroup, CGROUP_PIDS, "pids.max", "32");
	expect_read_back(&cgroup, CGROUP_PIDS, false, 32, "pids.max");
	remove_leaf(&cgroup);
}

CGROUP_TEST(cpu_limit_is_what_the_kernel_shows)
{
	static const struct {
		uint64_t milli;
		const char *quota;
		const char *period;
	} rows[] = {
		{ 500, "50000", "100000" }, { 2000, "200000", "100000" }, { 10, "1000", "100000" },
		{ 5, "5000", "1000000" },   { 1, "1000", "1000000" },
	};

	need(CGROUP_CPU);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct cgroup_limits limits = no_limits;
		struct cgroup cgroup;
		char both[64];

		limits.cpu_milli = rows[i].milli;
		create(&limits, &cgroup);
		snprintf(both, sizeof(both), "%s %s", rows[i].quota, rows[i].period);
		if (is_v2(CGROUP_CPU)) {
			expect_file(&cgroup, CGROUP_CPU, "cpu.max", both);
			expect_read_back(&cgroup, CGROUP_CPU, false, rows[i].milli, "cpu.max");
		} else {
			expect_file(&cgroup, CGROUP_CPU, "cpu.cfs_quota_us", rows[i].quota);
			expect_file(&cgroup, CGROUP_CPU, "cpu.cfs_period_us", rows[i].period);
			expect_read_back(&cgroup, CGROUP_CPU, false, rows[i].milli, "cpu.cfs_quota_us");
		}
		remove_leaf(&cgroup);
	}
}

static void change(const struct cgroup *cgroup, enum cgroup_controller controller, const char *file,
		   const char *text)
{
	char path[512];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/%s/%s", host.hierarchies[host.hierarchy_of[controller]].base,
		 cgroup->name, file);
	stream = fopen(path, "we");
	cr_assert(stream && fputs(text, stream) >= 0 && fclose(stream) == 0, "%s", path);
}

/* Through the descriptor by which the limit was written, and through another one. */
CGROUP_TEST(what_root_changes_is_read_back)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup cgroup;
	const char *memory;

	need(CGROUP_MEMORY);
	need(CGROUP_PIDS);
	memory = is_v2(CGROUP_MEMORY) ? "memory.max" : "memory.limit_in_bytes";
	limits.memory_bytes = 64 * MIB;
	limits.pids_max = 32;
	create(&limits, &cgroup);
	expect_read_back(&cgroup, CGROUP_PIDS, false, 32, "pids.max");
	for (uint64_t i = 1; i <= 2; i++) {
		char text[2][32];

		snprintf(text[0], sizeof(text[0]), "%llu", (unsigned long long)(64 * MIB << i));
		snprintf(text[1], sizeof(text[1]), "%llu", (unsigned long long)(32 + i));
		change(&cgroup, CGROUP_MEMORY, memory, text[0]);
		change(&cgroup, CGROUP_PIDS, "pids.max", text[1]);
		expect_read_back(&cgroup, CGROUP_MEMORY, false, 64 * MIB << i, memory);
		expect_read_back(&cgroup, CGROUP_PIDS, false, 32 + i, "pids.max");
		cr_expect_eq(cgroup.kept_count, i == 1 ? 2 : 0);
		cgroup_close_files(&cgroup);
	}
	remove_leaf(&cgroup);
}

CGROUP_TEST(what_is_not_asked_for_stays_unlimited)
{
	struct cgroup_limits limits = { 64 * MIB, UINT64_MAX, UINT64_MAX, UINT64_MAX, true };
	struct cgroup_value value;
	struct warder_error err;
	struct cgroup cgroup;

	need(CGROUP_MEMORY);
	create(&limits, &cgroup);
	if (host.swap_limit)
		expect_read_back(&cgroup, CGROUP_MEMORY, true, UINT64_MAX,
				 is_v2(CGROUP_MEMORY) ? "memory.swap.max" : "memory.memsw.limit_in_bytes");
	if (host.hierarchy_of[CGROUP_PIDS] == host.v2)
		expect_read_back(&cgroup, CGROUP_PIDS, false, UINT64_MAX, "pids.max");
	else /* no leaf is made where none is needed */
		cr_expect(cgroup_read_back(&cgroup, CGROUP_PIDS, false, &value, &err) == -1);
	remove_leaf(&cgroup);
}

CGROUP_TEST(a_leaf_has_no_room_for_cgroups_below)
{
	struct cgroup cgroup;
	char path[512];

	need(CGROUP_ACCOUNT);
	if (host.v2 < 0)
		skip("needs cgroup v2");
	create(&no_limits, &cgroup);
	snprintf(path, sizeof(path), "%s/%s/below", host.hierarchies[host.v2].base, cgroup.name);
	cr_expect(mkdir(path, 0755) == -1 && errno == EAGAIN, "%s", strerror(errno));
	rmdir(path);
	remove_leaf(&cgroup);
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, timeout_ms) == 1 && (poll_fd.revents & POLLIN);
}

_Noreturn static void allocate(size_t bytes)
{
	volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		_exit(97);
	for (size_t at = 0; at < bytes; at += 4096)
		memory[at] = 1;
	_exit(0);
}

static void watch(struct cgroup *cgroup)
{
	struct warder_error err = { 0 };

	cr_assert(cgroup_watch_oom(cgroup, &err) == 0 && cgroup->event_fd >= 0, "%s", err.text);
}

CGROUP_TEST(allocating_over_the_limit_is_an_oom_kill)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup_final final;
	struct cgroup cgroup;
	uint64_t kills = 7;
	bool own_limit = true;
	int status;
	pid_t pid;

	need(CGROUP_MEMORY);
	limits.memory_bytes = 32 * MIB;
	limits.swap_bytes = host.swap_limit ? 0 : UINT64_MAX;
	if (!host.swap_limit && !host.no_swap)
		skip("the host swaps and the kernel does not limit it");
	create(&limits, &cgroup);
	cr_expect(cgroup_oom(&cgroup, &kills, &own_limit) == 0 && kills == 0 && !own_limit,
		  "before anything ran");
	watch(&cgroup);
	cr_expect(!is_readable(cgroup.event_fd, 0), "an event before anything ran");
	pid = fork_into(&cgroup);
	if (pid == 0)
		allocate(256 * MIB);
	status = wait_for(pid);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %x", (unsigned)status);
	cr_expect(is_readable(cgroup.event_fd, 20000), "no event");
	cgroup_clear_event(&cgroup);
	cr_expect(!is_readable(cgroup.event_fd, 0), "the event stays");
	cr_expect(cgroup_oom(&cgroup, &kills, &own_limit) == 0 && kills >= 1 && own_limit,
		  "%llu kills, own limit %d", (unsigned long long)kills, own_limit);
	cgroup_final(&cgroup, &final);
	cr_expect(final.oom_kills >= 1 && final.memory_limit_hit);
	cr_expect(final.memory_peak_bytes == UINT64_MAX ||
		  (final.memory_peak_bytes > 8 * MIB && final.memory_peak_bytes <= 32 * MIB));
	remove_leaf(&cgroup);
}

CGROUP_TEST(a_run_within_its_limit_is_no_oom)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup_final final;
	struct cgroup cgroup;
	pid_t pid;

	need(CGROUP_MEMORY);
	limits.memory_bytes = 256 * MIB;
	create(&limits, &cgroup);
	watch(&cgroup);
	pid = fork_into(&cgroup);
	if (pid == 0)
		allocate(16 * MIB);
	cr_expect(wait_for(pid) == 0);
	cr_expect(!is_readable(cgroup.event_fd, 0));
	cgroup_final(&cgroup, &final);
	cr_expect(final.oom_kills == 0 && !final.memory_limit_hit);
	cr_expect(final.memory_peak_bytes >= 16 * MIB, "%llu", (unsigned long long) final.memory_peak_bytes);
	remove_leaf(&cgroup);
}

/* Fork until it is refused; exits with the number of children that came to be, all gone by then. */
_Noreturn static void fork_all(void)
{
	pid_t pids[40];
	int count = 0;
	int error = 0;

	while (count < (int)ARRAY_LENGTH(pids)) {
		pids[count] = fork();
		if (pids[count] < 0) {
			error = errno;
			break;
		}
		if (pids[count] == 0)
			for (;;)
				pause();
		count++;
	}
	for (int i = 0; i < count; i++) {
		kill(pids[i], SIGKILL);
		wait_for(pids[i]);
	}
	_exit(error == EAGAIN ? count : 90);
}

CGROUP_TEST(forking_over_the_limit_is_refused_and_counted)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup_final final;
	struct cgroup cgroup;
	int status;
	pid_t pid;

	need(CGROUP_PIDS);
	limits.pids_max = 6;
	create(&limits, &cgroup);
	cgroup_final(&cgroup, &final);
	cr_expect(final.pids_limit_hits == 0);
	pid = fork_into(&cgroup);
	if (pid == 0)
		fork_all();
	status = wait_for(pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 5, "status %x", (unsigned)status);
	cgroup_final(&cgroup, &final);
	cr_expect(final.pids_limit_hits >= 1, "%llu", (unsigned long long) final.pids_limit_hits);
	cr_expect(final.pids_peak == 6 || final.pids_peak == UINT64_MAX, "%llu",
		  (unsigned long long) final.pids_peak);
	remove_leaf(&cgroup);
}

_Noreturn static void burn_cpu(long ms)
{
	struct timespec used;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < ms);
	_exit(0);
}

CGROUP_TEST(cpu_time_is_counted)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup_final final;
	struct cgroup cgroup;
	uint64_t before = 7;
	uint64_t after = 7;
	pid_t pid;

	need(CGROUP_ACCOUNT);
	limits.account = true;
	create(&limits, &cgroup);
	cr_expect(cgroup_cpu_usage(&cgroup, &before) == 0 && before == 0);
	pid = fork_into(&cgroup);
	if (pid == 0)
		burn_cpu(300);
	cr_expect(wait_for(pid) == 0);
	cr_expect(cgroup_cpu_usage(&cgroup, &after) == 0 && after >= 150000, "%llu us",
		  (unsigned long long)after);
	cgroup_final(&cgroup, &final);
	cr_expect(final.cpu_us >= after);
	cr_expect(final.cpu_user_us + final.cpu_system_us > 0);
	remove_leaf(&cgroup);
}

CGROUP_TEST(cpu_limit_slows_down)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup_final final;
	struct cgroup cgroup;
	pid_t pid;

	need(CGROUP_CPU);
	limits.cpu_milli = 100;
	create(&limits, &cgroup);
	pid = fork_into(&cgroup);
	if (pid == 0)
		burn_cpu(100);
	cr_expect(wait_for(pid) == 0);
	cgroup_final(&cgroup, &final);
	cr_expect(final.cpu_throttled_us > 0);
	remove_leaf(&cgroup);
}

/* ---- used again ---- */

/* The kernel charges memory in advance, once for each processor on which a process of the leaf ran. */
static void stay_on_one_processor(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	cr_assert(sched_setaffinity(0, sizeof(here), &here) == 0);
}

static const struct cgroup_limits all_limits = {
	.memory_bytes = 32 * MIB, .swap_bytes = UINT64_MAX, .pids_max = 8, .cpu_milli = 16000, .account = true
};

static void need_all(struct cgroup_limits *limits)
{
	need(CGROUP_MEMORY);
	need(CGROUP_PIDS);
	need(CGROUP_CPU);
	need(CGROUP_ACCOUNT);
	if (!host.swap_limit && !host.no_swap)
		skip("the host swaps and the kernel does not limit it");
	*limits = all_limits;
	if (host.swap_limit)
		limits->swap_bytes = 0;
}

/* Like a new one, at once or when the kernel has freed what it frees later. Before Linux 6.12, v2 cannot begin a peak anew. */
static bool renew(struct cgroup *cgroup)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	size_t reason = cgroup_renew(cgroup);

	if (reason < CGROUP_RENEW_REASONS && strcmp(cgroup_renew_reason(reason), "memory.peak") == 0)
		return false;
	for (int i = 0; i < 500 && reason < CGROUP_RENEW_REASONS; i++) {
		nanosleep(&pause, NULL);
		reason = cgroup_renew(cgroup);
	}
	cr_assert(reason == CGROUP_RENEW_REASONS, "%s", cgroup_renew_reason(reason));
	cr_assert(cgroup_begin_cpu(cgroup) == 0);
	return true;
}

static struct cgroup_final spend(const struct cgroup *cgroup, size_t bytes)
{
	struct cgroup_final final;
	const pid_t pid = fork_into(cgroup);

	if (pid == 0)
		allocate(bytes);
	cr_expect(wait_for(pid) == 0);
	cgroup_final(cgroup, &final);
	return final;
}

/* What is spent after the renewal takes long on a busy machine, where time is counted in whole ticks. */
CGROUP_TEST(a_used_leaf_is_like_a_new_one_and_counts_anew)
{
	struct cgroup_limits limits;
	struct cgroup_final final;
	struct cgroup_counts counts;
	struct cgroup cgroup;
	pid_t pid;

	need_all(&limits);
	stay_on_one_processor();
	create(&limits, &cgroup);
	watch(&cgroup);
	pid = fork_into(&cgroup);
	if (pid == 0)
		burn_cpu(1500);
	cr_expect(wait_for(pid) == 0);
	final = spend(&cgroup, 24 * MIB);
	cr_expect(final.memory_peak_bytes >= 24 * MIB && final.cpu_us >= 750000);
	if (!renew(&cgroup)) {
		remove_leaf(&cgroup);
		skip("the kernel does not begin memory.peak anew");
	}
	cr_expect(cgroup.again && cgroup.event_fd == -1);
	final = spend(&cgroup, 4 * MIB);
	cr_expect(final.memory_peak_bytes >= 4 * MIB && final.memory_peak_bytes < 16 * MIB, "%llu",
		  (unsigned long long) final.memory_peak_bytes);
	cr_expect(final.cpu_us < 750000 && final.cpu_user_us < 750000, "%llu",
		  (unsigned long long) final.cpu_us);
	cgroup_count(&cgroup, &counts);
	cr_expect(counts.cpu_us < 750000, "%llu", (unsigned long long)counts.cpu_us);
	cr_expect(counts.memory_peak_bytes < 16 * MIB || counts.memory_peak_bytes == UINT64_MAX);
	remove_leaf(&cgroup);
}

/* Two children at once, or as many as may be. */
_Noreturn static void fork_two(void)
{
	pid_t pids[2];

	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			for (;;)
				pause();
	}
	for (int i = 0; i < 2; i++)
		if (pids[i] > 0) {
			kill(pids[i], SIGKILL);
			wait_for(pids[i]);
		}
	_exit(0);
}

/* Memory that is still there after the process that filled it. */
_Noreturn static void leave_memory(int fd)
{
	static char bytes[4 * MIB];

	_exit(write(fd, bytes, sizeof(bytes)) == sizeof(bytes) ? 0 : 95);
}

enum trace {
	TRACE_KILL,
	TRACE_PROCESS,
	TRACE_PROCESSES,
	TRACE_REFUSED_FORK,
	TRACE_SLOWED,
	TRACE_OOM,
	TRACE_MEMORY
};

/* What a run leaves in the leaf. The process that is still in it, or 0. */
static pid_t leave(enum trace trace, struct cgroup *cgroup, int memory_fd)
{
	pid_t pid = -1;

	if (trace == TRACE_PROCESS)
		return sleep_in(cgroup);
	if (trace == TRACE_KILL) {
		pid = sleep_in(cgroup);
		cgroup_kill(cgroup);
	} else {
		pid = fork_into(cgroup);
	}
	if (pid == 0) {
		if (trace == TRACE_SLOWED)
			burn_cpu(200);
		if (trace == TRACE_OOM)
			allocate(256 * MIB);
		if (trace == TRACE_MEMORY)
			leave_memory(memory_fd);
		fork_two();
	}
	wait_for(pid);
	return 0;
}

CGROUP_TEST(a_leaf_that_tells_of_its_run_is_not_like_a_new_one)
{
	static const struct {
		const char *label;
		enum trace trace;
		uint64_t pids_max, cpu_milli;
		const char *reasons; /* any of them, by the version of cgroups */
	} rows[] = {
		{ "killed", TRACE_KILL, 8, 16000, "cgroup.kill" },
		{ "in use", TRACE_PROCESS, 8, 16000, "cgroup.events pids.current" },
		{ "processes", TRACE_PROCESSES, 8, 16000, "pids.peak" },
		{ "a fork that was refused", TRACE_REFUSED_FORK, 2, 16000, "pids.events" },
		{ "slowed down", TRACE_SLOWED, 8, 100, "cpu.stat" },
		{ "a kill for memory", TRACE_OOM, 8, 16000,
		  "memory.oom_control memory.events memory.failcnt" },
		{ "memory", TRACE_MEMORY, 8, 16000, "memory.max_usage_in_bytes memory.peak" },
	};
	struct cgroup_limits limits;

	need_all(&limits);
	stay_on_one_processor();
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const int memory_fd = memfd_create("test", MFD_CLOEXEC);
		struct cgroup_final final;
		struct cgroup cgroup;
		size_t reason;
		pid_t left;

		if (rows[i].trace == TRACE_KILL && !host.kill_file)
			continue;
		limits.pids_max = rows[i].pids_max;
		limits.cpu_milli = rows[i].cpu_milli;
		create(&limits, &cgroup);
		left = leave(rows[i].trace, &cgroup, memory_fd);
		cgroup_final(&cgroup, &final);
		reason = cgroup_renew(&cgroup);
		if (rows[i].trace != TRACE_PROCESSES || final.pids_peak != UINT64_MAX)
			cr_expect(reason < CGROUP_RENEW_REASONS &&
				      strstr(rows[i].reasons, cgroup_renew_reason(reason)),
				  "%s: %s", rows[i].label, cgroup_renew_reason(reason));
		if (left) {
			kill(left, SIGKILL);
			wait_for(left);
		}
		close(memory_fd);
		remove_leaf(&cgroup);
	}
}

CGROUP_TEST(kill_empties_a_v2_leaf)
{
	struct cgroup cgroup;
	pid_t pids[12];

	need(CGROUP_ACCOUNT);
	if (!host.kill_file)
		skip("needs cgroup.kill");
	create(&no_limits, &cgroup);
	cgroup_kill(&cgroup); /* an empty one, too */
	remove_leaf(&cgroup);
	create(&no_limits, &cgroup);
	for (size_t i = 0; i < ARRAY_LENGTH(pids); i++)
		pids[i] = sleep_in(&cgroup);
	cgroup_kill(&cgroup);
	for (size_t i = 0; i < ARRAY_LENGTH(pids); i++) {
		int status = wait_for(pids[i]);

		cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	remove_leaf(&cgroup);
}

CGROUP_TEST(kill_reaches_a_frozen_leaf)
{
	struct cgroup cgroup;
	int status;
	pid_t pid;

	need(CGROUP_ACCOUNT);
	if (!host.kill_file)
		skip("needs cgroup.kill");
	create(&no_limits, &cgroup);
	pid = sleep_in(&cgroup);
	cr_expect(cgroup_file_write(cgroup.dir_fd[host.v2], "cgroup.freeze", "1") == 0);
	cgroup_kill(&cgroup);
	status = wait_for(pid);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	remove_leaf(&cgroup);
}

/* The kernel reports no change for a leaf that was frozen before: the watch itself does. */
CGROUP_TEST(a_watch_tells_of_a_freeze_before_it)
{
	struct cgroup cgroup;

	need(CGROUP_ACCOUNT);
	if (host.v2 < 0)
		skip("needs cgroup v2");
	for (int frozen = 0; frozen < 2; frozen++) {
		struct pollfd fd = { .events = POLLPRI };

		create(&no_limits, &cgroup);
		cr_expect(cgroup_file_write(cgroup.dir_fd[host.v2], "cgroup.freeze", frozen ? "1" : "0") ==
			  0);
		cr_expect(cgroup_watch_freezer(&cgroup) == frozen);
		fd.fd = cgroup.freezer_fd;
		cr_expect(poll(&fd, 1, 0) == 0 || !(fd.revents & POLLPRI));
		cr_expect(cgroup_is_frozen(&cgroup) == frozen);
		remove_leaf(&cgroup);
	}
}

CGROUP_TEST(remove_is_safe_at_any_time)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup cgroup;

	need(CGROUP_PIDS);
	cgroup_init(&cgroup);
	remove_leaf(&cgroup);
	cgroup_kill(&cgroup);
	cgroup_clear_event(&cgroup);
	limits.pids_max = 5;
	create(&limits, &cgroup);
	cr_expect(count_left(&host) > 0);
	remove_leaf(&cgroup);
	cr_expect(count_left(&host) == 0);
	remove_leaf(&cgroup);
}

CGROUP_TEST(remove_keeps_no_descriptor)
{
	struct cgroup_limits limits = no_limits;
	int before;
	int after;

	need(CGROUP_ACCOUNT);
	limits.account = true;
	if (host.hierarchy_of[CGROUP_MEMORY] >= 0)
		limits.memory_bytes = 64 * MIB;
	before = dup(0);
	for (int i = 0; i < 3; i++) {
		struct cgroup cgroup;

		create(&limits, &cgroup);
		remove_leaf(&cgroup);
	}
	after = dup(0);
	cr_expect(after == before + 1, "%d after %d", after, before);
	close(before);
	close(after);
}

CGROUP_TEST(remove_of_a_leaf_in_use_gives_up)
{
	struct cgroup_limits limits = no_limits;
	struct warder_error err = { 0 };
	struct cgroup cgroup;
	int64_t start_ms;
	pid_t pid;

	need(CGROUP_PIDS);
	limits.pids_max = 5;
	create(&limits, &cgroup);
	pid = sleep_in(&cgroup);
	start_ms = cgroup_now_ms();
	cr_expect(cgroup_remove(&cgroup, &err) == -1 && err.code == WARDER_ERROR_CONFLICT &&
		  err.sys_errno == EBUSY);
	cr_expect(cgroup_now_ms() - start_ms >= 1000, "no patience");
	cr_expect(cgroup_now_ms() - start_ms < 30000, "no end");
	kill(pid, SIGKILL);
	wait_for(pid);
	remove_leaf(&cgroup);
}

CGROUP_TEST(remove_waits_for_the_last_process)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup cgroup;
	pid_t pid;

	need(CGROUP_PIDS);
	limits.pids_max = 5;
	create(&limits, &cgroup);
	pid = fork_into(&cgroup);
	if (pid == 0) {
		nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
		_exit(0);
	}
	remove_leaf(&cgroup);
	wait_for(pid);
}

CGROUP_TEST(a_leaf_that_others_removed_is_removed)
{
	struct cgroup cgroup;
	char path[512];

	need(CGROUP_ACCOUNT);
	create(&no_limits, &cgroup);
	for (size_t h = 0; h < host.hierarchy_count; h++) {
		snprintf(path, sizeof(path), "%s/%s", host.hierarchies[h].base, cgroup.name);
		rmdir(path);
	}
	remove_leaf(&cgroup);
}

CGROUP_TEST(a_taken_name_is_passed_over)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup_owner owner = { 0 };
	struct cgroup cgroup;
	char name[CGROUP_NAME_MAX];
	char taken[512];

	need(CGROUP_PIDS);
	limits.pids_max = 5;
	create(&limits, &cgroup);
	cr_assert(cgroup_text_owner(cgroup.name, &owner));
	remove_leaf(&cgroup);
	owner.n++;
	cgroup_text_name(&owner, name);
	/* In the last hierarchy, so that leaves in others must be given back. */
	snprintf(taken, sizeof(taken), "%s/%s", host.hierarchies[host.hierarchy_of[CGROUP_PIDS]].base, name);
	cr_assert(mkdir(taken, 0755) == 0);
	create(&limits, &cgroup);
	cr_expect(strcmp(cgroup.name, name) != 0);
	remove_leaf(&cgroup);
	cr_expect(rmdir(taken) == 0);
	cr_expect(count_left(&host) == 0);
}

static void expect_refusal(const char *label, const struct cgroup_host *where,
			   const struct cgroup_limits *limits, enum warder_error_kind kind, const char *field)
{
	struct warder_error err = { 0 };
	struct cgroup cgroup;

	cr_expect(cgroup_create(where, limits, &cgroup, &err) == -1, "%s", label);
	cr_expect(err.code == (uint32_t)kind, "%s: %s, %s", label, error_kind_name(err.code), err.text);
	if (field)
		cr_expect_str_eq(err.field, field, "%s", label);
	cr_expect_str_eq(err.step, "cgroup", "%s", label);
	cr_expect(strlen(err.text) > 10, "%s", label);
	cr_expect(count_left(&host) == 0, "%s: leaves are left", label);
	cr_expect(cgroup_remove(&cgroup, &err) == 0, "%s", label);
}

CGROUP_TEST(a_limit_that_the_kernel_refuses_leaves_nothing)
{
	struct cgroup_limits limits;

	need(CGROUP_PIDS);
	need(CGROUP_CPU);
	limits = no_limits;
	limits.pids_max = UINT64_C(1) << 40;
	expect_refusal("pids", &host, &limits, WARDER_ERROR_UNSUPPORTED_POLICY, "limits.pids");
	limits = no_limits;
	limits.cpu_milli = UINT64_MAX - 1;
	expect_refusal("cpus", &host, &limits, WARDER_ERROR_UNSUPPORTED_POLICY, "limits.cpus");
	limits.cpu_milli = 0;
	expect_refusal("no cpus", &host, &limits, WARDER_ERROR_UNSUPPORTED_POLICY, "limits.cpus");
}

CGROUP_TEST(memory_that_would_be_unlimited_is_refused)
{
	struct cgroup_limits limits = no_limits;

	need(CGROUP_MEMORY);
	limits.memory_bytes = UINT64_MAX - 1;
	expect_refusal("memory", &host, &limits, WARDER_ERROR_UNSUPPORTED_POLICY, "limits.memory");
	if (!host.swap_limit)
		return;
	limits.memory_bytes = 64 * MIB;
	limits.swap_bytes = UINT64_MAX - 64 * MIB;
	expect_refusal("swap", &host, &limits, WARDER_ERROR_UNSUPPORTED_POLICY, "limits.swap");
}

CGROUP_TEST(a_controller_that_is_not_there_is_refused)
{
	static const struct {
		enum cgroup_controller controller;
		const char *field;
		struct cgroup_limits limits;
	} rows[] = {
		{ CGROUP_MEMORY, "limits.memory", { 64 * MIB, UINT64_MAX, UINT64_MAX, UINT64_MAX, false } },
		{ CGROUP_PIDS, "limits.pids", { UINT64_MAX, UINT64_MAX, 5, UINT64_MAX, false } },
		{ CGROUP_CPU, "limits.cpus", { UINT64_MAX, UINT64_MAX, UINT64_MAX, 500, false } },
		{ CGROUP_ACCOUNT,
		  "limits.cpuTime",
		  { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, true } },
	};

	need(CGROUP_ACCOUNT);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct cgroup_host without = host;

		without.hierarchy_of[rows[i].controller] = -1;
		snprintf(without.reason[rows[i].controller], sizeof(without.reason[0]), "there is none here");
		expect_refusal(rows[i].field, &without, &rows[i].limits, WARDER_ERROR_UNSUPPORTED_POLICY,
			       rows[i].field);
	}
}

CGROUP_TEST(swap_that_cannot_be_limited_is_refused)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup_host without = host;

	need(CGROUP_MEMORY);
	without = host;
	without.swap_limit = false;
	limits.memory_bytes = 64 * MIB;
	limits.swap_bytes = 0;
	expect_refusal("no swap limit", &without, &limits, WARDER_ERROR_UNSUPPORTED_POLICY, "limits.swap");
}

CGROUP_TEST(a_base_that_is_gone_leaves_nothing)
{
	struct cgroup_limits limits = no_limits;
	struct cgroup_host broken;

	need(CGROUP_PIDS);
	limits.pids_max = 5;
	broken = host;
	snprintf(broken.hierarchies[host.hierarchy_of[CGROUP_PIDS]].base, CGROUP_BASE_MAX,
		 "/proc/self/fdinfo");
	expect_refusal("pids hierarchy", &broken, &limits, WARDER_ERROR_UNAVAILABLE, NULL);
}

/* ---- leftovers ---- */

/* A supervisor with one run: makes a leaf, puts a sleeper into it, tells its name, and waits to be killed. */
static pid_t start_supervisor(char name[CGROUP_NAME_MAX], pid_t *ret_sleeper)
{
	struct {
		char name[CGROUP_NAME_MAX];
		pid_t sleeper;
	} told = { 0 };
	int pipe_fd[2];
	pid_t pid;

	cr_assert(pipe2(pipe_fd, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		struct cgroup_limits limits = no_limits;
		struct warder_error err;
		struct cgroup cgroup;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		limits.pids_max = 10;
		if (cgroup_create(&host, &limits, &cgroup, &err) < 0)
			_exit(1);
		snprintf(told.name, sizeof(told.name), "%s", cgroup.name);
		if (fork_into(&cgroup) == 0) {
			prctl(PR_SET_PDEATHSIG, 0); /* it outlives its supervisor */
			alarm(90);                  /* but not a failed test */
			told.sleeper = getpid();
			if (write(pipe_fd[1], &told, sizeof(told)) != sizeof(told))
				_exit(2);
		}
		for (;;)
			pause();
	}
	close(pipe_fd[1]);
	cr_assert(pid > 0 && read(pipe_fd[0], &told, sizeof(told)) == (ssize_t)sizeof(told), "no supervisor");
	close(pipe_fd[0]);
	memcpy(name, told.name, CGROUP_NAME_MAX);
	*ret_sleeper = told.sleeper;
	return pid;
}

static bool leaf_exists(const char *name)
{
	for (size_t h = 0; h < host.hierarchy_count; h++) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", host.hierarchies[h].base, name);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

CGROUP_TEST(clean_removes_what_the_dead_left_and_nothing_else)
{
	char dead[CGROUP_NAME_MAX];
	char living[CGROUP_NAME_MAX];
	pid_t dead_sleeper;
	pid_t living_sleeper;
	pid_t dead_pid;
	pid_t living_pid;

	need(CGROUP_PIDS);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	dead_pid = start_supervisor(dead, &dead_sleeper);
	living_pid = start_supervisor(living, &living_sleeper);
	cr_expect(cgroup_clean(&host, true) == 0, "both live");
	kill(dead_pid, SIGKILL);
	for (int tries = 0; tries < 2000 && cgroup_clean(&host, true) == 0; tries++)
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	cr_expect(cgroup_clean(&host, true) == 1, "a zombie is dead");
	wait_for(dead_pid);
	cr_expect(cgroup_clean(&host, true) == 1, "one is dead");
	cr_expect(leaf_exists(dead) && kill(dead_sleeper, 0) == 0, "counting changed something");
	cr_expect(cgroup_clean(&host, false) == 1);
	cr_expect(!leaf_exists(dead), "the leaf stays");
	cr_expect(wait_for(dead_sleeper) == SIGKILL, "its process stays");
	cr_expect(leaf_exists(living) && kill(living_sleeper, 0) == 0, "a living supervisor lost its leaf");
	kill(living_pid, SIGKILL);
	wait_for(living_pid);
	cr_expect(cgroup_clean(&host, false) == 1);
	cr_expect(wait_for(living_sleeper) == SIGKILL);
	cr_expect(cgroup_clean(&host, false) == 0);
}

/* A name with a living pid but another start time: that pid was handed out anew. */
CGROUP_TEST(clean_tells_a_recycled_pid)
{
	struct cgroup_process self = { 0 };
	struct cgroup_owner owner = { .pid = getpid(), .n = 1, .space = cgroup_space() };
	char name[CGROUP_NAME_MAX];
	char path[512];

	need(CGROUP_PIDS);
	cr_assert(cgroup_process_read(getpid(), &self) == 0);
	for (int other = 0; other <= 1; other++) {
		owner.start_time = self.start_time + (uint64_t)other;
		cgroup_text_name(&owner, name);
		snprintf(path, sizeof(path), "%s/%s", host.hierarchies[0].base, name);
		cr_assert(mkdir(path, 0755) == 0);
		cr_expect(cgroup_clean(&host, false) == other, "start time %s",
			  other ? "of another" : "of this one");
		cr_expect(rmdir(path) == (other ? -1 : 0));
	}
}

/* From another pid or time namespace a living supervisor looks dead. */
CGROUP_TEST(clean_leaves_other_namespaces_alone)
{
	struct cgroup_owner owner = { .pid = 2147483646, .start_time = 1, .n = 1, .space = cgroup_space() };
	char name[CGROUP_NAME_MAX];
	char path[512];

	need(CGROUP_PIDS);
	for (int other = 0; other <= 1; other++) {
		owner.space += (uint64_t)other;
		cgroup_text_name(&owner, name);
		snprintf(path, sizeof(path), "%s/%s", host.hierarchies[0].base, name);
		cr_assert(mkdir(path, 0755) == 0);
		cr_expect(cgroup_clean(&host, false) == !other);
		cr_expect(rmdir(path) == (other ? 0 : -1));
	}
}

CGROUP_TEST(clean_leaves_other_names_alone)
{
	static const char *const names[] = { "warder", "warder-1", "warder-999999-1-x", "other-999999-1-1" };
	char path[512];

	need(CGROUP_PIDS);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", host.hierarchies[0].base, names[i]);
		cr_assert(mkdir(path, 0755) == 0);
	}
	cr_expect(cgroup_clean(&host, false) == 0);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", host.hierarchies[0].base, names[i]);
		cr_expect(rmdir(path) == 0, "%s", names[i]);
	}
}

/* ---- the probe ---- */

/* Run `body` in a fork; it returns 0 or the line of the check that failed. */
static void expect_in_fork(const char *label, int (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int line = body();

		if (line)
			fprintf(stderr, "%s: %s:%d\n", label, __FILE__, line);
		_exit(line ? 1 : 0);
	}
	status = wait_for(pid);
	cr_expect(status == 0, "%s: status %x", label, (unsigned)status);
}

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition))                                                                            \
			return __LINE__;                                                                     \
	} while (0)

CGROUP_TEST(probe_leaves_nothing)
{
	struct cgroup_host plain;

	need(CGROUP_ACCOUNT);
	cgroup_probe(NULL, false, &plain);
	for (size_t h = 0; h < plain.hierarchy_count; h++) {
		DIR *dir = opendir(plain.hierarchies[h].base);
		const struct dirent *entry;
		struct cgroup_owner owner;

		while (dir && (entry = readdir(dir)))
			cr_expect(!cgroup_text_owner(entry->d_name, &owner) || owner.pid != getpid(), "%s",
				  entry->d_name);
		if (dir)
			closedir(dir);
		cr_expect(!plain.hierarchies[h].made_parent);
	}
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
		cr_expect((plain.hierarchy_of[c] >= 0) == (plain.reason[c][0] == '\0'), "controller %d", c);
	cgroup_host_done(&plain);
}

CGROUP_TEST(looking_finds_what_trying_finds)
{
	struct cgroup_host tried;
	struct cgroup_host looked;
	struct warder_error err = { 0 };
	struct cgroup cgroup;
	int status;
	pid_t pid;

	need(CGROUP_ACCOUNT);
	cgroup_probe(NULL, false, &tried);
	cgroup_probe(NULL, true, &looked);
	cr_expect(looked.v2 == tried.v2 && looked.hierarchy_count == tried.hierarchy_count);
	cr_expect(looked.swap_limit == tried.swap_limit); /* a child to look at is there: our parent */
	for (size_t h = 0; h < tried.hierarchy_count && h < looked.hierarchy_count; h++)
		cr_expect_str_eq(looked.hierarchies[h].base, tried.hierarchies[h].base);
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
		cr_expect(looked.hierarchy_of[c] == tried.hierarchy_of[c], "controller %d", c);
	if (tried.kill_file) { /* not looked for, and used all the same */
		cr_assert(cgroup_create(&looked, &no_limits, &cgroup, &err) == 0, "%s", err.text);
		pid = sleep_in(&cgroup);
		cgroup_kill(&cgroup);
		status = wait_for(pid);
		cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		remove_leaf(&cgroup);
	}
	cgroup_host_done(&looked);
	cgroup_host_done(&tried);
}

CGROUP_TEST(probe_of_a_bad_parent_says_so)
{
	static const char *const parents[] = { "/abs", "..", "a/../b", "no/such/cgroup" };

	need(CGROUP_ACCOUNT);
	for (size_t i = 0; i < ARRAY_LENGTH(parents); i++) {
		struct cgroup_host bad;

		cgroup_probe(parents[i], false, &bad);
		cr_expect(bad.hierarchy_count == 0 && bad.v2 == -1, "%s", parents[i]);
		for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
			cr_expect(bad.hierarchy_of[c] == -1 && bad.reason[c][0], "%s", parents[i]);
		cgroup_host_done(&bad);
	}
}

static int become_nobody(void)
{
	if (syscall(SYS_setgroups, 0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0)
		return -1;
	return setresuid(65534, 65534, 65534);
}

static int check_ordinary_user(void)
{
	struct cgroup_host user;

	CHECK(become_nobody() == 0);
	cgroup_probe(NULL, false, &user);
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++) {
		CHECK(user.hierarchy_of[c] == -1);
		CHECK(strstr(user.reason[c], "needs root, or a delegated cgroup"));
		CHECK(strstr(user.reason[c], "Delegate=yes") && strstr(user.reason[c], "--cgroup-parent"));
	}
	CHECK(user.hierarchy_count == 0 && user.v2 == -1 && !user.kill_file);
	return 0;
}

CGROUP_TEST(an_ordinary_user_is_told_the_remedy)
{
	need(CGROUP_ACCOUNT);
	expect_in_fork("ordinary user", check_ordinary_user);
}

static char delegated[CGROUP_BASE_MAX + 16];

static int delegate(const char *file)
{
	char path[sizeof(delegated) + 40];

	snprintf(path, sizeof(path), "%s%s%s", delegated, file[0] ? "/" : "", file);
	return chown(path, 65534, 65534);
}

static int own_dir_is(const char *dir)
{
	char text[4096];
	const char *end = dir + strlen(host.hierarchies[host.v2].base) - strlen(parent);
	ssize_t len = cgroup_file_read(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));

	return len > 0 && strstr(text, end) && text[len - 1] == '\n' &&
	       strcmp(strstr(text, end) + strlen(end), "\n") == 0;
}

static int check_delegated(void)
{
	struct cgroup_host user;
	struct cgroup_host again;
	struct cgroup_limits limits = no_limits;
	struct warder_error err;
	struct cgroup cgroup;
	bool has_controllers = host.hierarchy_of[CGROUP_MEMORY] == host.v2;
	char path[sizeof(delegated) + 40];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", delegated);
	CHECK(cgroup_file_write(AT_FDCWD, path, "0") == 0);
	CHECK(become_nobody() == 0);
	cgroup_probe(NULL, false, &user);
	CHECK(user.v2 == 0 && strcmp(user.hierarchies[0].base, delegated) == 0);
	CHECK(user.hierarchy_of[CGROUP_ACCOUNT] == 0);
	CHECK((user.self_leaf[0] != '\0') == has_controllers);
	CHECK((user.hierarchy_of[CGROUP_MEMORY] == 0) == has_controllers);
	CHECK((user.hierarchy_of[CGROUP_PIDS] == 0) == has_controllers);
	if (has_controllers) {
		limits.memory_bytes = 64 * MIB;
		limits.pids_max = 8;
	}
	CHECK(cgroup_create(&user, &limits, &cgroup, &err) == 0);
	pid = fork_into(&cgroup);
	if (pid == 0)
		_exit(0);
	CHECK(wait_for(pid) == 0);
	CHECK(cgroup_remove(&cgroup, &err) == 0);
	cgroup_probe(NULL, false, &again); /* from the self leaf */
	CHECK(strcmp(again.hierarchies[0].base, delegated) == 0 && again.self_leaf[0] == '\0');
	CHECK(again.hierarchy_of[CGROUP_MEMORY] == user.hierarchy_of[CGROUP_MEMORY]);
	cgroup_host_done(&again);
	cgroup_host_done(&user);
	CHECK(own_dir_is(delegated));
	cgroup_host_done(&user);
	return 0;
}

CGROUP_TEST(an_ordinary_user_uses_a_delegated_cgroup)
{
	need(CGROUP_ACCOUNT);
	if (host.v2 < 0)
		skip("needs cgroup v2");
	snprintf(delegated, sizeof(delegated), "%s/delegated", host.hierarchies[host.v2].base);
	cr_assert(mkdir(delegated, 0755) == 0);
	cr_assert(delegate("") == 0 && delegate("cgroup.procs") == 0 &&
		  delegate("cgroup.subtree_control") == 0);
	expect_in_fork("delegated", check_delegated);
	cr_expect(rmdir(delegated) == 0, "something is left in the delegated cgroup");
}

static bool hands_down(const char *controller)
{
	char path[sizeof(delegated) + 40];
	char text[256];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", delegated);
	len = cgroup_file_read(AT_FDCWD, path, text, sizeof(text));
	return len > 0 && cgroup_text_has_word(text, (size_t)len, controller);
}

static int enter_delegated(void)
{
	char path[sizeof(delegated) + 40];

	snprintf(path, sizeof(path), "%s/cgroup.procs", delegated);
	return cgroup_file_write(AT_FDCWD, path, "0") == 0 ? become_nobody() : -1;
}

static void make_delegated(void)
{
	if (host.v2 < 0 || host.hierarchy_of[CGROUP_MEMORY] != host.v2)
		skip("needs the memory controller on cgroup v2");
	snprintf(delegated, sizeof(delegated), "%s/delegated", host.hierarchies[host.v2].base);
	cr_assert(mkdir(delegated, 0755) == 0);
	cr_assert(delegate("") == 0 && delegate("cgroup.procs") == 0 &&
		  delegate("cgroup.subtree_control") == 0);
}

static bool limit_is(const struct cgroup *cgroup, uint64_t bytes)
{
	struct cgroup_value value;
	struct warder_error err;

	return cgroup_read_back(cgroup, CGROUP_MEMORY, false, &value, &err) == 0 && value.value == bytes;
}

/* Hosts a, b and c; the one that sat down first goes first, and the others' leaves must keep their limits. */
static int check_several_hosts(void)
{
	struct cgroup_host hosts[3];
	struct cgroup_limits limits = no_limits;
	struct warder_error err;
	struct cgroup leaf;
	struct cgroup later;

	CHECK(enter_delegated() == 0);
	limits.memory_bytes = 64 * MIB;
	for (size_t i = 0; i < ARRAY_LENGTH(hosts); i++) {
		cgroup_probe(NULL, i == 1, &hosts[i]);
		CHECK(strcmp(hosts[i].hierarchies[0].base, delegated) == 0);
		CHECK(hosts[i].hierarchy_of[CGROUP_MEMORY] == 0 &&
		      (hosts[i].self_leaf[0] != '\0') == (i == 0));
	}
	CHECK(cgroup_create(&hosts[1], &limits, &leaf, &err) == 0 && limit_is(&leaf, 64 * MIB));
	cgroup_host_done(&hosts[0]);
	cgroup_host_done(&hosts[0]);
	CHECK(limit_is(&leaf, 64 * MIB) && hands_down("pids"));
	cgroup_host_done(&hosts[2]); /* not in the order of the list */
	CHECK(limit_is(&leaf, 64 * MIB));
	CHECK(cgroup_create(&hosts[1], &limits, &later, &err) == 0 && limit_is(&later, 64 * MIB));
	CHECK(cgroup_remove(&later, &err) == 0 && cgroup_remove(&leaf, &err) == 0);
	cgroup_host_done(&hosts[1]);
	CHECK(own_dir_is(delegated) && !hands_down("memory") && !hands_down("pids"));
	return 0;
}

CGROUP_TEST(several_hosts_share_one_self_leaf)
{
	need(CGROUP_ACCOUNT);
	make_delegated();
	expect_in_fork("several hosts", check_several_hosts);
	cr_expect(rmdir(delegated) == 0, "something is left in the delegated cgroup");
}

/* A worker of ours, forked after the probe, has a run of its own while we give everything back. */
static int check_worker(void)
{
	struct cgroup_host ours;
	struct cgroup_limits limits = no_limits;
	struct warder_error err;
	int up[2];
	int down[2];
	char byte = 0;
	pid_t pid;

	CHECK(enter_delegated() == 0 && pipe2(up, O_CLOEXEC) == 0 && pipe2(down, O_CLOEXEC) == 0);
	limits.memory_bytes = 64 * MIB;
	cgroup_probe(NULL, false, &ours);
	CHECK(ours.self_leaf[0]);
	pid = fork();
	if (pid == 0) {
		struct cgroup_host own;
		struct cgroup leaf;

		close(down[1]);
		cgroup_host_done(&ours); /* not this process's to give back */
		cgroup_probe(NULL, false, &own);
		if (cgroup_create(&own, &limits, &leaf, &err) < 0 || write(up[1], "", 1) != 1 ||
		    read(down[0], &byte, 1) != 1)
			_exit(2);
		_exit(limit_is(&leaf, 64 * MIB) && cgroup_remove(&leaf, &err) == 0 ? 0 : 3);
	}
	close(up[1]);
	CHECK(read(up[0], &byte, 1) == 1);
	cgroup_host_done(&ours);
	CHECK(hands_down("memory"));
	CHECK(write(down[1], "", 1) == 1 && wait_for(pid) == 0);
	/* The process stays in it; its directory is one of the leftovers. */
	CHECK(!own_dir_is(delegated));
	cgroup_probe(NULL, false, &ours);
	CHECK(ours.hierarchy_of[CGROUP_MEMORY] == 0);
	cgroup_host_done(&ours);
	return 0;
}

CGROUP_TEST(a_worker_keeps_its_limits)
{
	struct cgroup_host rest = { 0 };

	need(CGROUP_ACCOUNT);
	make_delegated();
	expect_in_fork("worker", check_worker);
	rest.hierarchy_count = 1;
	snprintf(rest.hierarchies[0].base, CGROUP_BASE_MAX, "%.*s", CGROUP_BASE_MAX - 1, delegated);
	cr_expect(cgroup_clean(&rest, false) == 1, "no self leaf was left");
	cr_expect(rmdir(delegated) == 0, "something else is left in the delegated cgroup");
}

CGROUP_TEST(several_hosts_share_a_parent)
{
	struct cgroup_host first;
	struct cgroup_host second;
	struct cgroup_limits limits = no_limits;
	struct warder_error err = { 0 };
	struct cgroup cgroup;
	char name[sizeof(parent) + 8];
	pid_t pid;

	need(CGROUP_PIDS);
	limits.pids_max = 5;
	snprintf(name, sizeof(name), "%s-two", parent);
	cgroup_probe(name, false, &first);
	cgroup_probe(name, false, &second);
	cgroup_host_done(&first);
	pid = fork();
	if (pid == 0) {
		cgroup_host_done(&second); /* not this process's to give back */
		_exit(0);
	}
	cr_expect(wait_for(pid) == 0);
	cr_expect(cgroup_create(&second, &limits, &cgroup, &err) == 0, "%s", err.text);
	cr_expect(cgroup_remove(&cgroup, &err) == 0);
	cgroup_host_done(&second);
	for (size_t h = 0; h < second.hierarchy_count; h++)
		cr_expect(access(second.hierarchies[h].base, F_OK) < 0, "%s stays",
			  second.hierarchies[h].base);
}

/* Not alone in it: a neighbour sleeps in the same cgroup and must not be moved. */
static int check_shared(void)
{
	struct cgroup_host user;
	char path[sizeof(delegated) + 40];
	pid_t neighbour;
	int line = 0;

	snprintf(path, sizeof(path), "%s/cgroup.procs", delegated);
	CHECK(cgroup_file_write(AT_FDCWD, path, "0") == 0);
	CHECK(become_nobody() == 0);
	neighbour = fork();
	if (neighbour == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	cgroup_probe(NULL, false, &user);
	if (user.self_leaf[0] || user.hierarchy_of[CGROUP_MEMORY] >= 0 || user.hierarchy_of[CGROUP_PIDS] >= 0)
		line = __LINE__;
	if (!strstr(user.reason[CGROUP_MEMORY], "other processes"))
		line = __LINE__;
	cgroup_host_done(&user);
	kill(neighbour, SIGKILL);
	wait_for(neighbour);
	return line;
}

CGROUP_TEST(a_neighbour_in_the_delegated_cgroup_is_not_moved)
{
	need(CGROUP_ACCOUNT);
	if (host.v2 < 0 || host.hierarchy_of[CGROUP_MEMORY] != host.v2)
		skip("needs the memory controller on cgroup v2");
	snprintf(delegated, sizeof(delegated), "%s/delegated", host.hierarchies[host.v2].base);
	cr_assert(mkdir(delegated, 0755) == 0);
	cr_assert(delegate("") == 0 && delegate("cgroup.procs") == 0 &&
		  delegate("cgroup.subtree_control") == 0);
	expect_in_fork("shared", check_shared);
	cr_expect(rmdir(delegated) == 0);
}

static int check_hidden(void)
{
	struct cgroup_host none;

	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("none", "/sys/fs/cgroup", "tmpfs", 0, NULL) == 0);
	cgroup_probe(NULL, false, &none);
	CHECK(none.hierarchy_count == 0 && none.v2 == -1);
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++) {
		CHECK(none.hierarchy_of[c] == -1);
		CHECK(strstr(none.reason[c], "no cgroup hierarchy"));
	}
	CHECK(cgroup_clean(&none, false) == 0);
	cgroup_host_done(&none);
	return 0;
}

CGROUP_TEST(no_cgroup_mounted)
{
	need(CGROUP_ACCOUNT);
	expect_in_fork("hidden", check_hidden);
}

static int check_read_only(void)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	struct cgroup_host none;

	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(syscall(SYS_mount_setattr, AT_FDCWD, "/sys/fs/cgroup", AT_RECURSIVE, &attr, sizeof(attr)) == 0);
	cgroup_probe(NULL, false, &none);
	CHECK(none.hierarchy_count == 0);
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
		CHECK(none.hierarchy_of[c] == -1 && strstr(none.reason[c], "read-write"));
	return 0;
}

CGROUP_TEST(read_only_mounts)
{
	need(CGROUP_ACCOUNT);
	expect_in_fork("read-only", check_read_only);
}

/* In a cgroup namespace with mounts from outside, and then with its own mount, as in a container. */
static int check_namespace(void)
{
	bool has_controllers = host.hierarchy_of[CGROUP_MEMORY] == host.v2;
	struct cgroup_host seen;
	struct cgroup_limits limits = no_limits;
	struct warder_error err;
	struct cgroup cgroup;
	char path[sizeof(delegated) + 40];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", delegated);
	CHECK(cgroup_file_write(AT_FDCWD, path, "0") == 0);
	CHECK(unshare(CLONE_NEWNS | CLONE_NEWCGROUP) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	signal(SIGCHLD, SIG_IGN); /* as some host applications have it: nothing is left to be waited for */
	cgroup_probe(NULL, false, &seen);
	signal(SIGCHLD, SIG_DFL);
	if (seen.v2 >= 0) { /* what the probe says is there must be of use */
		CHECK(cgroup_create(&seen, &limits, &cgroup, &err) == 0);
		pid = fork_into(&cgroup);
		if (pid == 0)
			_exit(0);
		CHECK(pid > 0 && wait_for(pid) == 0);
		CHECK(cgroup_remove(&cgroup, &err) == 0);
	}
	cgroup_host_done(&seen);
	CHECK(mount("none", "/mnt", "tmpfs", 0, NULL) == 0 && mkdir("/mnt/c", 0755) == 0);
	CHECK(mount("none", "/mnt/c", "cgroup2", 0, NULL) == 0);
	CHECK(mount("none", "/sys/fs/cgroup", "tmpfs", 0, NULL) == 0);
	cgroup_probe(NULL, false, &seen);
	CHECK(seen.v2 == 0 && strcmp(seen.hierarchies[0].base, "/mnt/c") == 0);
	CHECK((seen.hierarchy_of[CGROUP_PIDS] == 0) == has_controllers);
	CHECK((seen.self_leaf[0] != '\0') == has_controllers);
	if (has_controllers)
		limits.pids_max = 8;
	CHECK(cgroup_create(&seen, &limits, &cgroup, &err) == 0);
	pid = fork_into(&cgroup);
	if (pid == 0)
		_exit(0);
	CHECK(pid > 0 && wait_for(pid) == 0);
	CHECK(cgroup_remove(&cgroup, &err) == 0);
	cgroup_host_done(&seen);
	return 0;
}

CGROUP_TEST(a_cgroup_namespace)
{
	need(CGROUP_ACCOUNT);
	if (host.v2 < 0)
		skip("needs cgroup v2");
	snprintf(delegated, sizeof(delegated), "%s/container", host.hierarchies[host.v2].base);
	cr_assert(mkdir(delegated, 0755) == 0);
	expect_in_fork("namespace", check_namespace);
	cr_expect(rmdir(delegated) == 0);
}
