/*
 * The receipt is not a copy of the plan. While the payload waits before its exec, everything that the kernel is willing to
 * show about it is read and compared; the first difference ends the launch. A row says what was read and where.
 *
 * What the kernel does not show (a Landlock domain, the environment of the exec to come) is listed by the mechanism
 * that applied it, and its source says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/mounts.h"
#include "jail/run.h"

static int differs(struct warder_error *err, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int differs(struct warder_error *err, const char *field, const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
	                 "read-back: %s; the program was not started", text);
}

/* ---- rows ---- */

__attribute__((format(printf, 4, 0))) static void fill_row(struct policy_receipt_row *row, const char *mechanism,
                                                           const char *source, const char *format, va_list args)
{
	if (!row)
		return;
	snprintf(row->mechanism, sizeof(row->mechanism), "%s", mechanism);
	snprintf(row->source, sizeof(row->source), "%s", source);
	vsnprintf(row->value, sizeof(row->value), format, args);
}

/* A row of a policy control; its status follows from the policy and the match. */
static void control_row(struct jail_run *run, enum policy_control control, const char *source, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void control_row(struct jail_run *run, enum policy_control control, const char *source, const char *format, ...)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	struct policy_receipt_row *row =
	    policy_receipt_add(&run->receipt, policy_control_name(control), POLICY_RECEIPT_ENFORCED);
	va_list args;

	if (!row)
		return;
	policy_control_value(&plan->policy, control, row->requested, sizeof(row->requested));
	va_start(args, format);
	fill_row(row, plan->capabilities.controls[control].mechanism, source, format, args);
	va_end(args);
}

static void layer_row(struct jail_run *run, const char *name, bool there, const char *mechanism, const char *source,
                      const char *format, ...) __attribute__((format(printf, 6, 7)));

static void layer_row(struct jail_run *run, const char *name, bool there, const char *mechanism, const char *source,
                      const char *format, ...)
{
	struct policy_receipt_row *row =
	    policy_receipt_add(&run->receipt, name, there ? POLICY_RECEIPT_HARDENING : POLICY_RECEIPT_ABSENT);
	va_list args;

	va_start(args, format);
	fill_row(row, mechanism, source, format, args);
	va_end(args);
}

/* ---- reading ---- */

static int read_proc(const struct jail_run *run, const char *file, char *buf, size_t size, struct warder_error *err)
{
	owned_fd int fd = openat(run->proc_fd, file, O_RDONLY | O_CLOEXEC);
	size_t used = 0;

	while (fd >= 0 && used < size - 1) {
		ssize_t n = read(fd, buf + used, size - 1 - used);

		if (n < 0)
			fd_done(&fd);
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	if (fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "read-back: cannot read /proc/%d/%s",
		                       run->program_pid, file);
	buf[used] = 0;
	return 0;
}

/* The value of "Name:\t..." in /proc/<pid>/status, or NULL. */
static const char *status_value(const char *status, const char *name)
{
	size_t len = strlen(name);

	while (status && *status) {
		if (strncmp(status, name, len) == 0 && status[len] == ':') {
			status += len + 1;
			while (*status == '\t' || *status == ' ')
				status++;
			return status;
		}
		status = strchr(status, '\n');
		status = status ? status + 1 : NULL;
	}
	return NULL;
}

static bool same_id(const char *value, uint32_t id, int times)
{
	char *end;

	for (int i = 0; i < times; i++) {
		if (!value || strtoul(value, &end, 10) != id || end == value)
			return false;
		value = end;
	}
	return true;
}

/* ---- checks ---- */

static int check_privileges(struct jail_run *run, const char *status, struct warder_error *err)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
	const char *value;

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		value = status_value(status, sets[i]);
		if (!value || strtoull(value, NULL, 16) != 0)
			return differs(err, NULL, "%s is %.16s, wanted 0", sets[i], value ? value : "not shown");
	}
	layer_row(run, "capabilities", true, "all five sets empty, secure bits locked", "/proc/<pid>/status Cap*", "0");
	value = status_value(status, "NoNewPrivs");
	if (!same_id(value, 1, 1))
		return differs(err, NULL, "NoNewPrivs is not 1");
	layer_row(run, "noNewPrivileges", true, "PR_SET_NO_NEW_PRIVS", "/proc/<pid>/status NoNewPrivs", "1");
	return 0;
}

static int check_filter(struct jail_run *run, const char *status, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	const char *mode = status_value(status, "Seccomp");
	const char *count = status_value(status, "Seccomp_filters");
	unsigned long filters = count ? strtoul(count, NULL, 10) : 1; /* shown since Linux 5.9 */

	if (!same_id(mode, 2, 1) || filters < 1)
		return differs(err, "syscalls", "Seccomp is %.1s with %lu filters, wanted mode 2", mode ? mode : "?",
		               filters);
	control_row(run, POLICY_CONTROL_SYSCALLS, "/proc/<pid>/status Seccomp, Seccomp_filters",
	            "mode 2, %lu filter(s), %zu instructions", filters, plan->filter.count);
	if (plan->policy.syscalls.on_violation == POLICY_VIOLATION_KILL)
		control_row(run, POLICY_CONTROL_SYSCALLS_KILL, "/proc/<pid>/status Seccomp", "mode 2");
	if (!plan->policy.processes.spawn)
		control_row(run, POLICY_CONTROL_NO_SPAWN, "/proc/<pid>/status Seccomp",
		            "mode 2: fork, vfork and clone of a process are denied, threads are not");
	return 0;
}

static int check_identity(struct jail_run *run, const char *status, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	const uint32_t uid = plan->privileged ? run->identity.base + plan->uid : geteuid();
	const uint32_t gid = plan->privileged ? run->identity.base + plan->gid : getegid();
	const char *groups = status_value(status, "Groups");
	char map[128];
	char *end;

	if (!same_id(status_value(status, "Uid"), uid, 4) || !same_id(status_value(status, "Gid"), gid, 4))
		return differs(err, "processes.identity", "Uid or Gid is not %u:%u on the host", uid, gid);
	/* An ordinary user cannot drop his supplementary groups in a user namespace: they stay, unmapped. */
	if (plan->privileged && groups && *groups != '\n')
		return differs(err, "processes.identity", "there are supplementary groups: %.40s", groups);
	if (read_proc(run, "uid_map", map, sizeof(map), err) < 0)
		return -1;
	for (end = map + strlen(map); end > map && (end[-1] == '\n' || end[-1] == ' ');)
		*--end = 0;
	control_row(run, POLICY_CONTROL_IDENTITY, "/proc/<pid>/status Uid, /proc/<pid>/uid_map",
	            "host uid %u, map \"%u %u %u\"", uid, plan->privileged ? 0 : plan->uid,
	            plan->privileged ? run->identity.base : uid, plan->privileged ? IDENTITY_IDS : 1);
	return 0;
}

/* Every namespace of the plan is another one than ours. */
static int check_namespaces(struct jail_run *run, struct warder_error *err)
{
	const struct jail_template *tmpl = run->tmpl;
	char list[80] = "";
	char missing[80] = "";

	for (size_t i = 0; i < TEMPLATE_NAMESPACES; i++) {
		const struct template_namespace *space = &template_namespaces[i];
		const bool wanted = tmpl->plan.namespaces & space->flag;
		char *text = wanted ? list : missing;
		struct stat st;

		snprintf(text + strlen(text), sizeof(list) - strlen(text), "%s%s", *text ? " " : "", space->file + 3);
		if (!wanted)
			continue;
		if (fstatat(run->proc_fd, space->file, &st, 0) < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "read-back: cannot read %s",
			                       space->file);
		if (st.st_ino == tmpl->own_namespaces[i])
			return differs(err, NULL, "the %s namespace is the host's", space->file + 3);
	}
	layer_row(run, "namespaces", true, "clone3, setns, unshare", "/proc/<pid>/ns/*", "%s%s%s", list,
	          *missing ? "; host's: " : "", missing);
	return 0;
}

static int check_mounts(struct jail_run *run, struct warder_error *err)
{
	const struct policy *policy = &run->tmpl->plan.policy;
	const struct rootfs *rootfs = &run->tmpl->plan.rootfs;
	static const char source[] = "/proc/<pid>/mountinfo";
	char text[16384];
	int count;

	if (read_proc(run, "mountinfo", text, sizeof(text), err) < 0)
		return -1;
	if (strlen(text) == sizeof(text) - 1)
		return differs(err, "filesystem.view", "the mount table is longer than %zu bytes", sizeof(text) - 1);
	count = mounts_check(text, rootfs, err);
	if (count < 0)
		return -1;
	control_row(run,
	            policy->filesystem.view == POLICY_VIEW_DIRECTORY ? POLICY_CONTROL_VIEW_DIRECTORY :
	                                                               POLICY_CONTROL_VIEW_HOST,
	            source, "%d mounts, each as planned", count);
	control_row(run,
	            policy->filesystem.workspace == POLICY_WORKSPACE_NONE      ? POLICY_CONTROL_WORKSPACE_NONE :
	            policy->filesystem.workspace == POLICY_WORKSPACE_READ_ONLY ? POLICY_CONTROL_WORKSPACE_READ_ONLY :
	                                                                         POLICY_CONTROL_WORKSPACE_READ_WRITE,
	            source, "%s",
	            policy->filesystem.workspace == POLICY_WORKSPACE_NONE      ? "no /workspace" :
	            policy->filesystem.workspace == POLICY_WORKSPACE_READ_ONLY ? "/workspace ro,nosuid,nodev" :
	                                                                         "/workspace rw,nosuid,nodev");
	if (policy->filesystem.read_only.count)
		control_row(run, POLICY_CONTROL_PATHS_READ_ONLY, source, "%zu ro,nosuid,nodev",
		            policy->filesystem.read_only.count);
	if (policy->filesystem.read_write.count)
		control_row(run, POLICY_CONTROL_PATHS_READ_WRITE, source, "%zu rw,nosuid,nodev",
		            policy->filesystem.read_write.count);
	return 0;
}

/* The one tmpfs behind /tmp and /dev/shm; the descriptor stays for the end of the run. */
static int check_scratch(struct jail_run *run, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	struct statfs fs;
	uint64_t bytes;

	run->scratch_fd = openat(run->proc_fd, "root/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (run->scratch_fd < 0 || fstatfs(run->scratch_fd, &fs) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "filesystem.tmp", errno,
		                       "read-back: cannot read the size of the jail's /tmp");
	bytes = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
	if (bytes > ((plan->rootfs.scratch_bytes + 4095) & ~4095ull))
		return differs(err, "filesystem.tmp", "/tmp holds %llu bytes, wanted at most %llu",
		               (unsigned long long)bytes, (unsigned long long)plan->rootfs.scratch_bytes);
	control_row(run, POLICY_CONTROL_TMP, "statfs of /tmp", "%llu bytes, %llu inodes", (unsigned long long)bytes,
	            (unsigned long long)fs.f_files);
	if (plan->policy.limits.disk_bytes != POLICY_UNLIMITED)
		control_row(run, POLICY_CONTROL_DISK_TMP, "statfs of /tmp", "%llu bytes", (unsigned long long)bytes);
	return 0;
}

static int check_network(struct jail_run *run, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	char text[1024];
	char *line;

	if (!(plan->namespaces & CLONE_NEWNET))
		return 0;
	/* Routes exist only over an interface that is up; the one to loopback is not in this table. */
	if (read_proc(run, "net/route", text, sizeof(text), err) < 0)
		return -1;
	line = strchr(text, '\n');
	if (line && strchr(line + 1, '\n'))
		return differs(err, "network", "the jail's network namespace has routes");
	run->snmp_fd = openat(run->proc_fd, "net/snmp", O_RDONLY | O_CLOEXEC);
	control_row(run, plan->loopback_up ? POLICY_CONTROL_NETWORK_LOOPBACK : POLICY_CONTROL_NETWORK_NONE,
	            "/proc/<pid>/net/route; SIOCGIFFLAGS by init", "lo %s, no route", plan->loopback_up ? "up" : "down");
	return 0;
}

static int check_rlimits(struct jail_run *run, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	char hardening[96] = "";

	for (size_t i = 0; i < plan->rlimit_count; i++) {
		const struct jail_rlimit *wanted = &plan->rlimits[i];
		struct rlimit64 {
			uint64_t soft, hard;
		} now;
		enum policy_control control = POLICY_CONTROL_COUNT;

		if (syscall(SYS_prlimit64, run->program_pid, wanted->resource, NULL, &now) < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "read-back: prlimit %s",
			                       wanted->name);
		if (now.soft != wanted->value || now.hard != wanted->value)
			return differs(err, policy_field_path(wanted->field), "RLIMIT_%s is %llu, wanted %llu",
			               wanted->name, (unsigned long long)now.hard, (unsigned long long)wanted->value);
		if (wanted->field == POLICY_FIELD_OPEN_FILES)
			control = POLICY_CONTROL_OPEN_FILES;
		else if (wanted->field == POLICY_FIELD_FILE_SIZE)
			control = POLICY_CONTROL_FILE_SIZE;
		else if (wanted->field == POLICY_FIELD_STACK)
			control = POLICY_CONTROL_STACK;
		if (control != POLICY_CONTROL_COUNT)
			control_row(run, control, "prlimit(2)", "%llu%s", (unsigned long long)now.hard,
			            wanted->clamped ? " (the host's hard limit is lower than asked)" : "");
		else
			snprintf(hardening + strlen(hardening), sizeof(hardening) - strlen(hardening), "%s%s=%llu",
			         *hardening ? " " : "", wanted->name, (unsigned long long)now.hard);
	}
	layer_row(run, "rlimits", true, "setrlimit", "prlimit(2)", "%s", hardening);
	return 0;
}

static int check_cgroup_value(struct jail_run *run, enum cgroup_controller controller, bool swap, uint64_t wanted,
                              uint64_t slack, enum policy_control control, struct warder_error *err)
{
	struct cgroup_value value;
	char source[96];

	if (wanted == UINT64_MAX)
		return 0;
	if (cgroup_read_back(&run->cgroup, controller, swap, &value, err) < 0)
		return -1;
	/* The kernel may round a limit down to a page, never up. */
	if (value.value > wanted || value.value + slack < wanted)
		return differs(err, policy_field_path(policy_control_field(control)), "%s is %s, wanted %llu",
		               value.file, value.text, (unsigned long long)wanted);
	snprintf(source, sizeof(source), "cgroup file %s", value.file);
	control_row(run, control, source, "%s%s", value.text,
	            controller == CGROUP_PIDS ? " (the jail's init included)" : "");
	return 0;
}

static int check_cgroup(struct jail_run *run, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	const struct cgroup_limits *limits = &plan->cgroup;
	uint64_t used;
	char text[32];

	if (check_cgroup_value(run, CGROUP_MEMORY, false, limits->memory_bytes, 4095, POLICY_CONTROL_MEMORY, err) < 0 ||
	    check_cgroup_value(run, CGROUP_PIDS, false, limits->pids_max, 0, POLICY_CONTROL_PIDS, err) < 0 ||
	    check_cgroup_value(run, CGROUP_CPU, false, limits->cpu_milli, 1, POLICY_CONTROL_CPUS, err) < 0)
		return -1;
	if (limits->swap_bytes != UINT64_MAX) {
		if (check_cgroup_value(run, CGROUP_MEMORY, true, limits->swap_bytes, 8191, POLICY_CONTROL_SWAP, err) < 0)
			return -1;
	} else if (plan->policy.limits.swap_bytes != POLICY_UNLIMITED && !plan->not_enforced[POLICY_CONTROL_SWAP]) {
		control_row(run, POLICY_CONTROL_SWAP, "/proc/meminfo SwapTotal", "0");
	}
	if (plan->cpu_time_us == POLICY_UNLIMITED)
		return 0;
	if (cgroup_cpu_usage(&run->cgroup, &used) < 0)
		return differs(err, "limits.cpuTime", "the cgroup's CPU time cannot be read");
	control_row(run, POLICY_CONTROL_CPU_TIME, "cgroup CPU time, polled", "limit %s, used so far %llu us",
	            policy_format_time(plan->cpu_time_us, text, sizeof(text)), (unsigned long long)used);
	return 0;
}

/* Controls that live in the supervisor, or in the exec to come. */
static void supervisor_rows(struct jail_run *run)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	const char *kept = plan->kill_on_output ? "kept; the program is ended beyond" : "kept; the rest drained and counted";
	size_t variables = 0;

	while (plan->environment[variables])
		variables++;
	control_row(run, POLICY_CONTROL_WALL_TIME, "supervisor's clock, from the exec on", "%llu us; init's backstop %llu us",
	            (unsigned long long)plan->wall_time_us,
	            (unsigned long long)block_header(&run->tmpl->block)->backstop_ms * 1000);
	control_row(run, POLICY_CONTROL_STDOUT, "supervisor", "%llu bytes %s", (unsigned long long)plan->stdout_bytes, kept);
	control_row(run, POLICY_CONTROL_STDERR, "supervisor", "%llu bytes %s", (unsigned long long)plan->stderr_bytes, kept);
	if (plan->policy.environment.mode != POLICY_ENVIRONMENT_HOST)
		control_row(run, POLICY_CONTROL_ENVIRONMENT, "the exec's environment", "%zu variables", variables);
}

static void layer_rows(struct jail_run *run)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	const bool landlock = run->applied & (1ull << WIRE_STEP_LANDLOCK);
	const bool speculation = run->applied & (1ull << WIRE_STEP_SPECULATION);

	layer_row(run, "landlock", landlock, "writes only below the writable trees; scoped sockets and signals",
	          "reported by the payload; the kernel has no read-back", landlock ? "ABI %d" : "not in this kernel (%d)",
	          plan->landlock_abi);
	if (plan->speculation)
		layer_row(run, "speculation", speculation, "PR_SET_SPECULATION_CTRL force-disable",
		          "reported by the payload", "%s",
		          speculation ? "store bypass and indirect branch" : "refused by kernel or processor");
}

/* Preferred controls that could not be had, and restrictions that the policy explicitly does not want. */
static void open_rows(struct jail_run *run)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	const struct policy *policy = &plan->policy;
	const struct unrestricted {
		bool is;
		enum policy_control control;
	} unrestricted[] = {
		{ policy->network.mode == POLICY_NETWORK_HOST, POLICY_CONTROL_NETWORK_NONE },
		{ policy->environment.mode == POLICY_ENVIRONMENT_HOST, POLICY_CONTROL_ENVIRONMENT },
		{ policy->limits.cpu_time_us == POLICY_UNLIMITED, POLICY_CONTROL_CPU_TIME },
		{ policy->limits.memory_bytes == POLICY_UNLIMITED, POLICY_CONTROL_MEMORY },
		{ policy->limits.swap_bytes == POLICY_UNLIMITED, POLICY_CONTROL_SWAP },
		{ policy->limits.cpu_milli == POLICY_UNLIMITED, POLICY_CONTROL_CPUS },
		{ policy->limits.pids_max == POLICY_UNLIMITED, POLICY_CONTROL_PIDS },
		{ policy->limits.open_files == POLICY_UNLIMITED, POLICY_CONTROL_OPEN_FILES },
		{ policy->limits.file_size_bytes == POLICY_UNLIMITED, POLICY_CONTROL_FILE_SIZE },
		{ policy->limits.stack_bytes == POLICY_UNLIMITED, POLICY_CONTROL_STACK },
		{ policy->limits.disk_bytes == POLICY_UNLIMITED, POLICY_CONTROL_DISK_TMP },
	};
	static const char *const fallbacks[POLICY_CONTROL_COUNT] = {
		[POLICY_CONTROL_MEMORY] = "only RLIMIT_AS, for each process by itself",
		[POLICY_CONTROL_PIDS] = "only RLIMIT_NPROC",
		[POLICY_CONTROL_CPU_TIME] = "only RLIMIT_CPU, for each process by itself",
	};
	struct policy_receipt_row *row;

	for (size_t i = 0; i < sizeof(unrestricted) / sizeof(unrestricted[0]); i++) {
		enum policy_control control = unrestricted[i].control;

		if (!unrestricted[i].is)
			continue;
		row = policy_receipt_add(&run->receipt, policy_field_path(policy_control_field(control)),
		                         POLICY_RECEIPT_UNRESTRICTED);
		if (row)
			policy_control_value(policy, control, row->requested, sizeof(row->requested));
	}
	for (int i = 0; i < POLICY_CONTROL_COUNT; i++) {
		enum policy_control control = (enum policy_control)i;

		if (!plan->not_enforced[i])
			continue;
		row = policy_receipt_add(&run->receipt, policy_control_name(control), POLICY_RECEIPT_NOT_ENFORCED);
		if (!row)
			continue;
		policy_control_value(policy, control, row->requested, sizeof(row->requested));
		snprintf(row->mechanism, sizeof(row->mechanism), "%s", fallbacks[i] ? fallbacks[i] : "none");
		snprintf(row->value, sizeof(row->value), "%.95s", plan->capabilities.controls[i].reason);
	}
}

int readback_check(struct jail_run *run, struct warder_error *err)
{
	char status[4096];
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", run->program_pid);
	run->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (run->proc_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "read-back: cannot open %s", path);
	run->receipt.isolation = POLICY_ISOLATION_NAMESPACE_JAIL;
	if (read_proc(run, "status", status, sizeof(status), err) < 0 ||
	    check_network(run, err) < 0 || check_mounts(run, err) < 0 || check_scratch(run, err) < 0 ||
	    check_cgroup(run, err) < 0 || check_rlimits(run, err) < 0 || check_identity(run, status, err) < 0 ||
	    check_filter(run, status, err) < 0 || check_privileges(run, status, err) < 0 ||
	    check_namespaces(run, err) < 0)
		return -1;
	fd_done(&run->proc_fd);
	supervisor_rows(run);
	layer_rows(run);
	open_rows(run);
	return 0;
}
