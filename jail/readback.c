/*
 * The receipt is not a copy of the plan. While the payload waits before its exec, everything that the kernel is willing to
 * show about it is read and compared; the first difference ends the launch. A row says what was read and where.
 *
 * What the kernel does not show (a Landlock domain, the environment of the exec to come) is in receipt.c, listed by the
 * mechanism that applied it, and its source says so.
 *
 * What the payload was born into, it cannot change: namespaces, mounts and cgroups are read while it restricts itself.
 *
 * All of this is on the way of every launch: paths are relative to one descriptor of /proc/<pid>, texts are read into the
 * stack, and nothing is read twice. At the gate nothing untrusted has run in the jail, so that its root can be looked into.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/compose.h"
#include "base/fd.h"
#include "base/mountinfo.h"
#include "base/namespaces.h"
#include "jail/contained.h"
#include "jail/filter/speculation.h"
#include "jail/joined.h"
#include "jail/mounts.h"
#include "jail/parts.h"
#include "jail/proc.h"
#include "jail/receipt.h"
#include "jail/rlimits.h"

#define STATUS_LINES 128
#define STATUS_BYTES 4096
#define NOT_SHOWN    (-1l)

static int differs(struct warder_error *err, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int differs(struct warder_error *err, const char *field, const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return error_set(err, WARDER_ERROR_UNAVAILABLE, field, "read-back: %s; the program was not started",
			 text);
}

static int unreadable(const struct jail_run *run, const char *file, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
			       "read-back: cannot read /proc/%d/%s", run->program_pid, file);
}

/* ---- texts ---- */

/* Read a whole file into `buf`, NUL-terminated. -1 with errno; EFBIG if it does not fit. */
static int read_open(int fd, char *buf, size_t size)
{
	size_t used = 0;

	while (fd >= 0 && used < size) {
		ssize_t n = pread(fd, buf + used, size - used, (off_t)used);

		if (n < 0 && errno != EINTR)
			return -1;
		used += n > 0 ? (size_t)n : 0;
		/* Below a page, the kernel returns less than was asked for only at the end. */
		if (n == 0 || (n > 0 && used < size && size <= STATUS_BYTES / 2)) {
			buf[used] = '\0';
			return 0;
		}
	}
	if (fd >= 0)
		errno = EFBIG;
	return -1;
}

static int read_text(int dir_fd, const char *file, char *buf, size_t size)
{
	owned_fd int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);

	return read_open(fd, buf, size);
}

/* A file that is the same for all executions of a session, which is looked at before or after. */
static int read_shared(const struct jail_run *run, enum joined_file file, char *buf, size_t size)
{
	const int kept_fd = joined_file(run, file);

	return kept_fd >= 0 ? read_open(kept_fd, buf, size)
			    : read_text(run->proc_fd, joined_file_name(file), buf, size);
}

/* /proc/<pid>/status: its lines are found once, because a launch asks for many of them. */
struct status {
	char text[STATUS_BYTES];
	const char *lines[STATUS_LINES];
	size_t count;
};

static void find_lines(struct status *status)
{
	const char *at = status->text;

	status->count = 0;
	while (at && *at && status->count < STATUS_LINES) {
		status->lines[status->count++] = at;
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
}

/* 0; -1 with errno. */
static int read_status(int dir_fd, const char *path, struct status *ret)
{
	if (read_text(dir_fd, path, ret->text, sizeof(ret->text)) < 0)
		return -1;
	find_lines(ret);
	return 0;
}

/* The value of "Name:\t...", or NULL. */
static const char *status_value(const struct status *status, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < status->count; i++) {
		const char *line = status->lines[i];

		if (*line == *name && strncmp(line, name, len) == 0 && line[len] == ':')
			return line + len + 1 + strspn(line + len + 1, "\t ");
	}
	return NULL;
}

/* Whether the text is these numbers, up to the end of its line. */
static bool is_numbers(const char *text, const unsigned long *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *end;

		if (!text)
			return false;
		text += strspn(text, " \t");
		if (*text < '0' || *text > '9' || strtoul(text, &end, 10) != numbers[i])
			return false;
		text = end;
	}
	return text[strspn(text, " \t")] == '\n';
}

/* Whether the text is a mask without a bit, up to the end of its line. */
static bool is_empty_mask(const char *text)
{
	const size_t digits = text ? strspn(text, "0") : 0;

	return digits > 0 && text[digits] == '\n';
}

/* ---- privileges ---- */

static int check_privileges(struct jail_run *run, const struct status *status, struct warder_error *err)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
	const char *value;

	for (size_t i = 0; i < ARRAY_LENGTH(sets); i++) {
		value = status_value(status, sets[i]);
		if (!is_empty_mask(value))
			return differs(err, NULL, "%s is %.16s, wanted 0", sets[i],
				       value ? value : "not shown");
	}
	receipt_layer(run, "capabilities", true, "all five sets empty, and none to be gained",
		      "/proc/<pid>/status CapInh, CapPrm, CapEff, CapBnd, CapAmb", "0");
	value = status_value(status, "NoNewPrivs");
	if (!is_numbers(value, (unsigned long[]){ 1 }, 1))
		return differs(err, NULL, "NoNewPrivs is not 1");
	receipt_layer(run, "noNewPrivileges", true, "PR_SET_NO_NEW_PRIVS", "/proc/<pid>/status NoNewPrivs",
		      "1");
	return 0;
}

/* Number of filters; NOT_SHOWN before Linux 5.9. */
static long filter_count(const struct status *status)
{
	const char *value = status_value(status, "Seccomp_filters");

	return value ? strtol(value, NULL, 10) : NOT_SHOWN;
}

/* Filters of this thread, which the jail inherits. */
static long own_filters(void)
{
	struct status status;

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0)
		return 0;
	if (read_status(AT_FDCWD, "/proc/thread-self/status", &status) < 0)
		return NOT_SHOWN;
	return filter_count(&status);
}

static int check_filter(struct jail_run *run, const struct status *status, struct warder_error *err)
{
	static const char source[] = "/proc/<pid>/status Seccomp: mode and count; the content as loaded";
	const struct jail_plan *plan = &run->tmpl->plan;
	const char *mode = status_value(status, "Seccomp");
	const long filters = filter_count(status);
	const long theirs = run_is_contained(run) ? plan->starter->filters : 0;
	const long own = own_filters();
	char count[48] = "number of filters not shown";

	if (plan->filter->count == 0)
		return 0; /* only preferred, and not to be had */
	if (!is_numbers(mode, (unsigned long[]){ 2 }, 1))
		return differs(err, "syscalls", "Seccomp is %.1s, wanted mode 2", mode ? mode : "?");
	if (filters != NOT_SHOWN && own != NOT_SHOWN && filters != own + theirs + 1)
		return differs(err, "syscalls", "%ld filter(s), wanted %ld", filters, own + theirs + 1);
	if (filters != NOT_SHOWN)
		snprintf(count, sizeof(count), "%ld filter(s)", filters);
	receipt_control(run, POLICY_CONTROL_SYSCALLS, source, "mode 2, %s, ours of %zu instructions", count,
			plan->filter->count);
	if (plan->policy.syscalls.on_violation == POLICY_VIOLATION_KILL)
		receipt_control(run, POLICY_CONTROL_SYSCALLS_KILL, source, "mode 2, %s", count);
	if (!plan->policy.processes.spawn)
		receipt_control(run, POLICY_CONTROL_NO_SPAWN, source,
				"mode 2: fork, vfork and clone of a process are denied, threads are not");
	return 0;
}

static int check_speculation(struct jail_run *run, const struct status *status, struct warder_error *err)
{
	const char *bypass = status_value(status, "Speculation_Store_Bypass");
	const char *branch = status_value(status, "SpeculationIndirectBranch");
	const int bypass_len = bypass ? (int)strcspn(bypass, "\n") : 0;
	const int branch_len = branch ? (int)strcspn(branch, "\n") : 0;

	if (!run->tmpl->plan.speculation)
		return 0;
	if (!speculation_is_off(bypass, branch))
		return differs(err, "syscalls.speculation",
			       "store bypass is \"%.*s\", indirect branches are \"%.*s\"", bypass_len,
			       bypass ? bypass : "", branch_len, branch ? branch : "");
	receipt_control(run, POLICY_CONTROL_SPECULATION,
			"/proc/<pid>/status Speculation_Store_Bypass, SpeculationIndirectBranch",
			"%.*s; %.*s", bypass_len, bypass, branch_len, branch);
	return 0;
}

/* ---- identity ---- */

/* A map of ids is one row of three numbers. */
static int check_map(struct jail_run *run, enum joined_file which, const unsigned long *wanted,
		     struct warder_error *err)
{
	const char *file = joined_file_name(which);
	char map[512];

	if (read_shared(run, which, map, sizeof(map)) < 0)
		return unreadable(run, file, err);
	if (!is_numbers(map, wanted, 3) || strchr(map, '\n')[1])
		return differs(err, "processes.identity", "%s is \"%.60s\", wanted \"%lu %lu %lu\"", file,
			       map, wanted[0], wanted[1], wanted[2]);
	return 0;
}

/* What both maps must be. */
struct id_maps {
	unsigned long uid[3], gid[3];
};

static struct id_maps wanted_maps(const struct jail_run *run)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (plan->privileged)
		return (struct id_maps){ { 0, run->identity.base, IDENTITY_IDS },
					 { 0, run->identity.base, IDENTITY_IDS } };
	run_has_own_ids(run, &uid, &gid);
	return (struct id_maps){ { plan->uid, uid, 1 }, { plan->gid, gid, 1 } };
}

/* The kernel takes each map once, and the payload is born after that. */
static int check_maps(struct jail_run *run, struct warder_error *err)
{
	const struct id_maps maps = wanted_maps(run);

	return check_map(run, JOINED_UID_MAP, maps.uid, err) < 0
		   ? -1
		   : check_map(run, JOINED_GID_MAP, maps.gid, err);
}

static int check_identity(struct jail_run *run, const struct status *status, struct warder_error *err)
{
	const struct id_maps maps = wanted_maps(run);
	uid_t uid = geteuid();
	gid_t gid = getegid();
	const bool own = run_has_own_ids(run, &uid, &gid);
	const char *groups = status_value(status, "Groups");

	if (!is_numbers(status_value(status, "Uid"), (unsigned long[]){ uid, uid, uid, uid }, 4) ||
	    !is_numbers(status_value(status, "Gid"), (unsigned long[]){ gid, gid, gid, gid }, 4))
		return differs(err, "processes.identity", "Uid or Gid is not %u:%u on the host", uid, gid);
	/* An ordinary user cannot drop his supplementary groups in a user namespace: they stay, unmapped. */
	/* An engine makes the group supplementary as well, which gives nothing more. */
	if (own && (!groups || *groups != '\n') &&
	    !(run_is_contained(run) && is_numbers(groups, (unsigned long[]){ gid }, 1)))
		return differs(err, "processes.identity", "there are supplementary groups: %.40s",
			       groups ? groups : "not shown");
	receipt_control(
	    run, POLICY_CONTROL_IDENTITY,
	    run_is_joined(run)
		? "/proc/<pid>/status Uid, Gid, Groups; ns/user; uid_map, gid_map of that namespace"
		: "/proc/<pid>/status Uid, Gid, Groups; uid_map, gid_map",
	    "host uid %u, map \"%lu %lu %lu\"; gid %u, map \"%lu %lu %lu\"", uid, maps.uid[0], maps.uid[1],
	    maps.uid[2], gid, maps.gid[0], maps.gid[1], maps.gid[2]);
	return 0;
}

/* ---- namespaces ---- */

/* Every namespace of the plan is another one than ours. */
static int check_namespaces(struct jail_run *run, struct warder_error *err)
{
	const struct jail_template *tmpl = run->tmpl;
	char list[80] = "";
	char missing[80] = "";

	if (run_is_joined(run)) {
		if (joined_check_namespaces(run, err) < 0)
			return -1;
		joined_keep_files(run);
		return 0;
	}
	if (run->zygote && zygote_check_namespaces(run, err) < 0)
		return -1;
	for (size_t i = 0; i < NAMESPACE_COUNT; i++) {
		const struct namespace_kind *space = &namespace_kinds[i];
		const bool wanted = tmpl->plan.namespaces & space->flag;
		char *text = wanted ? list : missing;
		uint64_t number;

		compose(text + strlen(text), sizeof(list) - strlen(text), *text ? " " : "", space->file);
		if (!wanted)
			continue;
		if (namespace_number(run->proc_fd, space->link, &number) < 0)
			return unreadable(run, space->link, err);
		if (number == tmpl->own_namespaces[i])
			return differs(err, NULL, "the %s namespace is the host's", space->file);
	}
	receipt_layer(run, "namespaces", true,
		      run_is_contained(run) ? "made or entered by the runtime" : "clone3, setns, unshare",
		      "/proc/<pid>/ns/*", "%s%s%s%s", list,
		      !*missing     ? ""
		      : run->zygote ? "; the zygote's: "
				    : "; host's: ",
		      missing,
		      run->parked && tmpl->plan.namespaces & CLONE_NEWTIME
			  ? "; clocks count from 1 to 2 s before the jail was parked"
			  : "");
	return 0;
}

/* ---- filesystem ---- */

static int check_contained(const struct jail_run *run, const char *text, int root_fd,
			   struct warder_error *err)
{
	char buf[16384];
	size_t len;
	char *own = mountinfo_read(AT_FDCWD, "/proc/thread-self/mountinfo", buf, sizeof(buf), &len);
	int count;

	if (!own)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot read our own mount table");
	count = contained_check_mounts(text, own, &run->tmpl->plan.rootfs, &run->edge.trust, err);
	if (own != buf)
		free(own);
	return count < 0 || contained_check_masks(text, root_fd, err) < 0 ? -1 : count;
}

/* An ordinary user's files are the jail's user's as they are. What can be written to is refused where it cannot be mapped. */
static const char *owners(const struct jail_run *run, const char *text, enum policy_field field)
{
	struct mounts_owners found;

	if (!run->tmpl->plan.privileged)
		return "";
	mounts_count_owners(text, &run->tmpl->plan.rootfs, field, true, &found);
	return !found.unmapped ? "" : found.mapped ? "; owners partly unmapped" : "; owners unmapped";
}

static int check_mount_table(struct jail_run *run, int root_fd, struct warder_error *err)
{
	static const char file[] = "mountinfo";
	char buf[16384];
	size_t len;
	char *text = mountinfo_read(run->proc_fd, file, buf, sizeof(buf), &len);
	int count;

	if (!text)
		return unreadable(run, file, err);
	count = run_is_contained(run) && !run_is_joined(run)
		    ? check_contained(run, text, root_fd, err)
		    : mounts_check(text, &run->tmpl->plan.rootfs, err);
	run->path_owners = owners(run, text, POLICY_FIELD_PATHS);
	run->workspace_owners = owners(run, text, POLICY_FIELD_WORKSPACE);
	if (text != buf)
		free(text);
	return count < 0 ? error_context(err, "read-back") : count;
}

static void workspace_row(struct jail_run *run, const char *source)
{
	static const struct {
		enum policy_control control;
		const char *value;
	} rows[] = {
		[POLICY_WORKSPACE_NONE] = { POLICY_CONTROL_WORKSPACE_NONE, "no /workspace" },
		[POLICY_WORKSPACE_READ_ONLY] = { POLICY_CONTROL_WORKSPACE_READ_ONLY,
						 "/workspace ro,nosuid,nodev" },
		[POLICY_WORKSPACE_OVERLAY] = { POLICY_CONTROL_WORKSPACE_OVERLAY,
					       "/workspace rw,nosuid,nodev overlay of one layer" },
		[POLICY_WORKSPACE_READ_WRITE] = { POLICY_CONTROL_WORKSPACE_READ_WRITE,
						  "/workspace rw,nosuid,nodev" },
	};
	enum policy_workspace workspace = run->tmpl->plan.policy.filesystem.workspace;

	receipt_control(run, rows[workspace].control, source, "%s%s", rows[workspace].value,
			run->workspace_owners);
}

/* A path that a mount of the plan shows already, just so, has none of its own. */
static void paths_row(struct jail_run *run, const char *source, bool read_only)
{
	const struct rootfs *rootfs = &run->tmpl->plan.rootfs;
	const struct policy_strings *paths = read_only ? &run->tmpl->plan.policy.filesystem.read_only
						       : &run->tmpl->plan.policy.filesystem.read_write;
	char beneath[48] = "";
	size_t mounts = 0;

	if (!paths->count)
		return;
	/* A bind that was taken apart is a directory that has a source. */
	for (size_t i = 0; i < rootfs->count; i++)
		mounts += rootfs->entries[i].source && rootfs->entries[i].field == POLICY_FIELD_PATHS &&
			  !rootfs->entries[i].held && rootfs->entries[i].read_only == read_only;
	if (mounts < paths->count)
		snprintf(beneath, sizeof(beneath), "; %zu beneath such a mount", paths->count - mounts);
	receipt_control(run, read_only ? POLICY_CONTROL_PATHS_READ_ONLY : POLICY_CONTROL_PATHS_READ_WRITE,
			source, "%zu %s,nosuid,nodev%s%s", mounts, read_only ? "ro" : "rw", beneath,
			read_only ? run->path_owners : "");
}

static void view_row(struct jail_run *run, const char *source, int count)
{
	const struct image *image = &run->tmpl->plan.rootfs.image;

	switch (run->tmpl->plan.policy.filesystem.view) {
	case POLICY_VIEW_HOST:
		receipt_control(run, POLICY_CONTROL_VIEW_HOST, source, "%d mounts, each as planned", count);
		break;
	case POLICY_VIEW_DIRECTORY:
		receipt_control(run, POLICY_CONTROL_VIEW_DIRECTORY, source, "%d mounts, each as planned",
				count);
		break;
	case POLICY_VIEW_IMAGE:
		receipt_control(run, POLICY_CONTROL_VIEW_IMAGE, source, "sha256:%s, %zu layers%s",
				image->digest, image->layer_count, run->unmapped ? ", unmapped" : "");
		break;
	}
}

/* The number was compared with the mount's option. */
static void terminals_row(struct jail_run *run)
{
	const unsigned int terminals = run->tmpl->plan.rootfs.terminals;
	const char *source = "/proc/<pid>/mountinfo";

	if (terminals)
		receipt_control(run, POLICY_CONTROL_TERMINALS, source, "/dev/pts devpts max=%u", terminals);
	else
		receipt_control(run, POLICY_CONTROL_TERMINALS, source, "no devpts");
}

/* What is written to an overlay lies in the tmpfs whose size is limited. */
static int check_uppers(struct jail_run *run, struct warder_error *err)
{
	struct stat scratch;
	struct stat upper;

	for (size_t i = 0; i < run->upper_count; i++)
		if (fstatat(run->proc_fd, "root/tmp", &scratch, 0) < 0 ||
		    fstatat(run->upper_fds[i], "upper", &upper, AT_SYMLINK_NOFOLLOW) < 0 ||
		    upper.st_dev != scratch.st_dev || !S_ISDIR(upper.st_mode))
			return differs(err, "filesystem.view",
				       "an overlay's upper directory is not in the jail's /tmp and /dev/shm");
	return 0;
}

static int check_mounts(struct jail_run *run, int root_fd, struct warder_error *err)
{
	const char *source = run_is_joined(run)
				 ? "/proc/<pid>/mountinfo; the objects when the session started"
				 : "/proc/<pid>/mountinfo; stat(2) of each bind in the jail";
	int count = check_mount_table(run, root_fd, err);

	if (count < 0)
		return -1;
	/* In a session others are at work, and the objects were compared when it started; nobody has mounted since. */
	if (!run_is_joined(run) && mounts_compare(root_fd, &run->tmpl->plan.rootfs, err) < 0)
		return error_context(err, "read-back");
	if (check_uppers(run, err) < 0)
		return -1;
	view_row(run, source, count);
	workspace_row(run, source);
	paths_row(run, source, true);
	paths_row(run, source, false);
	terminals_row(run);
	return 0;
}

/* The one tmpfs behind /tmp and /dev/shm; the descriptor stays for the end of the run. */
static int check_scratch(struct jail_run *run, int root_fd, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t wanted = (plan->rootfs.scratch_bytes + page - 1) / page * page;
	struct statfs fs;
	uint64_t bytes;

	fd_done(&run->scratch_fd);
	run->scratch_fd = openat(root_fd, "tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (run->scratch_fd < 0 || fstatfs(run->scratch_fd, &fs) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "filesystem.tmp", errno,
				       "read-back: cannot read the size of the jail's /tmp");
	bytes = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
	/* 0 blocks or files: no limit. */
	if (bytes != wanted || fs.f_blocks == 0 || fs.f_files == 0)
		return differs(err, "filesystem.tmp", "/tmp holds %llu bytes and %llu files, wanted %llu",
			       (unsigned long long)bytes, (unsigned long long)fs.f_files,
			       (unsigned long long)wanted);
	receipt_control(run, POLICY_CONTROL_TMP, "statfs of /tmp", "%llu bytes, %llu inodes",
			(unsigned long long)bytes, (unsigned long long)fs.f_files);
	if (plan->policy.limits.disk_bytes != POLICY_UNLIMITED)
		receipt_control(run, POLICY_CONTROL_DISK_TMP, "statfs of /tmp", "%llu bytes",
				(unsigned long long)bytes);
	return 0;
}

static int check_working_directory(struct jail_run *run, int root_fd, struct warder_error *err)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	const char *path = run_working_directory(run);
	owned_fd int wanted_fd = -1;
	struct stat wanted;
	struct stat now;

	if (!run->tmpl->plan.policy.working_directory)
		return 0;
	wanted_fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (wanted_fd < 0 || fstat(wanted_fd, &wanted) < 0 || fstatat(run->proc_fd, "cwd", &now, 0) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "workingDirectory", errno,
				       "read-back: cannot look at %s in the jail", path);
	if (wanted.st_dev != now.st_dev || wanted.st_ino != now.st_ino)
		return differs(err, "workingDirectory", "the working directory is not %s", path);
	receipt_control(run, POLICY_CONTROL_WORKING_DIRECTORY, "/proc/<pid>/cwd", "%s", path);
	return 0;
}

/* ---- network ---- */

/* The first line of route, if there is one, names the columns. ipv6_route is also there while loopback is down, with rows of lo. */
static int check_routes(struct jail_run *run, struct warder_error *err)
{
	char text[4096];
	char *line;
	char *left = NULL;

	if (read_shared(run, JOINED_ROUTE, text, sizeof(text)) < 0 && errno != EFBIG)
		return unreadable(run, "net/route", err);
	line = strchr(text, '\n');
	if (line && line[1])
		return differs(err, "network", "the jail's network namespace has routes");
	if (read_shared(run, JOINED_ROUTE_V6, text, sizeof(text)) < 0)
		return errno == ENOENT ? 0 : unreadable(run, "net/ipv6_route", err); /* no IPv6 */
	for (line = strtok_r(text, "\n", &left); line; line = strtok_r(NULL, "\n", &left)) {
		const char *device = strrchr(line, ' ');

		if (!device || strcmp(device, " lo") != 0)
			return differs(err, "network",
				       "the jail's network namespace has an IPv6 route: %.80s",
				       device ? device + 1 : line);
	}
	return 0;
}

/* The only interface is lo. Who started the jail is not asked: the table is the jail's own. */
static int check_interfaces(struct jail_run *run, struct warder_error *err)
{
	char text[4096];
	char *left = NULL;
	int row = 0;

	if (read_text(run->proc_fd, "net/dev", text, sizeof(text)) < 0)
		return unreadable(run, "net/dev", err);
	for (char *line = strtok_r(text, "\n", &left); line; line = strtok_r(NULL, "\n", &left), row++) {
		line += strspn(line, " ");
		if (row >= 2 && strncmp(line, "lo:", 3) != 0)
			return differs(err, "network", "the jail has the network interface %.*s",
				       (int)strcspn(line, ":"), line);
	}
	return 0;
}

/* A loopback that is up has a local address in the table of addresses, whoever brought it up. */
static int check_loopback(struct jail_run *run, struct warder_error *err)
{
	char text[16384];
	bool up;

	if (read_shared(run, JOINED_FIB_TRIE, text, sizeof(text)) < 0)
		return unreadable(run, "net/fib_trie", err);
	up = strstr(text, " 127.0.0.1\n") != NULL;
	if (up == run->tmpl->plan.loopback_up)
		return 0;
	return differs(err, "network", "the jail's loopback interface is %s", up ? "up" : "down");
}

/* Whether fib_trie, which indents by depth, has a local row of the address with the prefix ("/32"). */
static bool has_local(const char *text, const char *address, const char *prefix)
{
	for (const char *at = strstr(text, address); at; at = strstr(at, address)) {
		at += strlen(address);
		if (*at != '\n')
			continue;
		at += 1 + strspn(at + 1, " ");
		if (strncmp(at, prefix, strlen(prefix)) == 0 &&
		    strncmp(at + strlen(prefix), " host LOCAL\n", 12) == 0)
			return true;
	}
	return false;
}

/* The only way out: 198.18.0.1 on lo, where every address leads, and exactly the sockets that were made for the edge. In a session programs
 * may have made others. */
static int check_edge(struct jail_run *run, size_t listeners, struct warder_error *err)
{
	char text[16384];
	const char *tcp;
	const char *udp;
	unsigned long tcp_count;
	unsigned long udp_count;

	if (read_shared(run, JOINED_FIB_TRIE, text, sizeof(text)) < 0)
		return unreadable(run, "net/fib_trie", err);
	if (!has_local(text, "-- 198.18.0.1", "/32"))
		return differs(err, "network.allow", "the jail's lo does not have the address 198.18.0.1");
	if (!has_local(text, "-- 0.0.0.0", "/0"))
		return differs(err, "network.allow", "the jail has no local route for every address");
	if (run_is_joined(run))
		return 0;
	if (read_text(run->proc_fd, "net/sockstat", text, sizeof(text)) < 0)
		return unreadable(run, "net/sockstat", err);
	tcp = strstr(text, "TCP: inuse ");
	udp = strstr(text, "UDP: inuse ");
	tcp_count = tcp ? strtoul(tcp + 11, NULL, 10) : 0;
	udp_count = udp ? strtoul(udp + 11, NULL, 10) : 0;
	if (tcp_count == listeners + 1 && udp_count == 1)
		return 0;
	/* Its sockets end with it. */
	if (run_edge_is_dead(&run->edge) && run_edge_await(&run->edge, err) < 0)
		return -1;
	return differs(err, "network.allow", "the jail has %lu TCP and %lu UDP sockets instead of %zu and 1",
		       tcp_count, udp_count, listeners + 1);
}

/* The same for blocks of IPv6 addresses: every address local, and one socket for each port. */
static int check_edge_v6(struct jail_run *run, size_t listeners, struct warder_error *err)
{
	static const char every[] = "00000000000000000000000000000000 00 ";
	char text[16384];
	bool has_route = false;
	char *left = NULL;
	const char *tcp;
	unsigned long count;

	if (!listeners)
		return 0;
	if (read_shared(run, JOINED_ROUTE_V6, text, sizeof(text)) < 0)
		return unreadable(run, "net/ipv6_route", err);
	/* Destination, source, next hop, metric, counts, flags (RTF_LOCAL), device. */
	for (char *line = strtok_r(text, "\n", &left); line; line = strtok_r(NULL, "\n", &left)) {
		unsigned int flags;

		has_route |= strncmp(line, every, sizeof(every) - 1) == 0 &&
			     sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %x", &flags) == 1 &&
			     flags & 0x80000000u;
	}
	if (!has_route)
		return differs(err, "network.allow", "the jail has no local route for every IPv6 address");
	if (!run_is_joined(run)) {
		if (read_text(run->proc_fd, "net/sockstat6", text, sizeof(text)) < 0)
			return unreadable(run, "net/sockstat6", err);
		tcp = strstr(text, "TCP6: inuse ");
		count = tcp ? strtoul(tcp + 12, NULL, 10) : 0;
		if (count != listeners)
			return differs(err, "network.allow", "the jail has %lu TCP6 sockets instead of %zu",
				       count, listeners);
	}
	receipt_control(run, POLICY_CONTROL_NETWORK_IPV6, "/proc/<pid>/net/ipv6_route, sockstat6",
			"every IPv6 address local; %zu of the listeners take IPv6", listeners);
	return 0;
}

/* Routes exist only over an interface that is up: where there is none, there is no way out. */
static int check_network(struct jail_run *run, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	size_t listeners_v6 = 0;
	const size_t listeners = edge_listeners(&plan->policy, plan->named, NULL, &listeners_v6);
	const bool learns = plan->policy.network.mode == POLICY_NETWORK_LEARN;
	char sockets[64] = "";

	if (!(plan->namespaces & CLONE_NEWNET))
		return 0;
	if ((plan->named && (check_edge(run, listeners - listeners_v6, err) < 0 ||
			     check_edge_v6(run, listeners_v6, err) < 0)) ||
	    check_routes(run, err) < 0 ||
	    (run_is_contained(run) && !run_is_joined(run) && check_interfaces(run, err) < 0) ||
	    (run_is_contained(run) && check_loopback(run, err) < 0))
		return -1;
	fd_done(&run->snmp_fd);
	/* A session's packets are not this execution's alone. */
	if (!run_is_joined(run))
		run->snmp_fd = openat(run->proc_fd, "net/snmp", O_RDONLY | O_CLOEXEC);
	if (plan->named && run_is_joined(run)) /* its listeners are those of the session's first rules */
		snprintf(sockets, sizeof(sockets), "; every address local");
	else if (plan->named)
		snprintf(sockets, sizeof(sockets), "; every address local; %zu listeners", listeners);
	else if (run->network_again)
		snprintf(sockets, sizeof(sockets), "; used before, and like a new one");
	receipt_control(
	    run,
	    plan->named && learns ? POLICY_CONTROL_NETWORK_LEARN
	    : plan->named         ? POLICY_CONTROL_NETWORK_ALLOW
	    : plan->loopback_up   ? POLICY_CONTROL_NETWORK_LOOPBACK
				  : POLICY_CONTROL_NETWORK_NONE,
	    run_is_joined(run) ? "/proc/<pid>/ns/net; route, ipv6_route, fib_trie of that namespace"
	    : plan->named
		? (run_is_contained(run) ? "/proc/<pid>/net/route, ipv6_route, dev, fib_trie, sockstat"
					 : "/proc/<pid>/net/route, ipv6_route, fib_trie, sockstat")
	    : run_is_contained(run) ? "/proc/<pid>/net/route, ipv6_route, dev, fib_trie"
	    : run->network_again    ? "/proc/<pid>/net/route, ipv6_route; SIOCGIFFLAGS by init" PARTS_SOURCE
				    : "/proc/<pid>/net/route, ipv6_route; SIOCGIFFLAGS by init",
	    "lo %s, no route%s",
	    plan->named         ? "with 198.18.0.1, nothing else"
	    : plan->loopback_up ? "up, nothing else"
				: "down",
	    sockets);
	if (plan->edge)
		receipt_edge(run);
	return 0;
}

/* ---- what describes the jail ---- */

/* 1: the program sees no socket counters of the host. A maker of the network namespace that is root takes them away
 * (jail/network.c); no other can. */
static int counters_hidden(const struct jail_run *run, struct warder_error *err)
{
	struct stat st;

	if (!(run->tmpl->plan.namespaces & CLONE_NEWNET))
		return 0;
	if (fstatat(run->proc_fd, "net/protocols", &st, 0) == 0)
		return (st.st_mode & 0777) == 0;
	if (errno == ENOENT)
		return 1;
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "network", errno,
			       "read-back: cannot look at /proc/net/protocols of the program");
}

/* That the files cover what they are to cover, the mount table shows; here, that they say what they are to say. */
static int check_proc(struct jail_run *run, int root_fd, struct warder_error *err)
{
	const int hidden = run->tmpl->plan.rootfs.whole_proc ? 0 : counters_hidden(run, err);
	const char *counters = hidden ? "" : "; socket counters of the host in /proc/net";
	struct proc_facts facts;
	char text[64];
	uint64_t total;
	owned_fd int fd = -1;
	ssize_t n;

	if (hidden < 0)
		return -1;
	if (run->tmpl->plan.rootfs.whole_proc)
		return 0;
	if (run_is_contained(run) && !run_is_joined(run)) {
		receipt_layer(run, "proc", false, "the runtime's /proc; counters are covered", "mountinfo",
			      "memory, processors and load are the host's%s", counters);
		return 0;
	}
	fd = openat(root_fd, "proc/meminfo", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "MemTotal: %" SCNu64 " kB", &total) != 1)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "limits.memory", errno,
				       "read-back: cannot read the jail's /proc/meminfo");
	proc_limit_memory(&run->tmpl->plan.policy, &facts);
	if (total != facts.memory_bytes >> 10 && !run_is_joined(run))
		return differs(err, "limits.memory", "/proc/meminfo says %" PRIu64 " KiB, wanted %" PRIu64,
			       total, facts.memory_bytes >> 10);
	receipt_layer(run, "proc", true, "files that describe the jail, over the kernel's",
		      "/proc/<pid>/mountinfo; MemTotal of /proc/meminfo",
		      "%" PRIu64 " KiB, %u processor(s)%s", total, (unsigned int)run->tmpl->plan.processors,
		      counters);
	return 0;
}

/* What it is to show is what it shows, from its beginning to its end. */
static int check_authority(struct jail_run *run, enum trust_kind kind, int root_fd, struct warder_error *err)
{
	const struct trust_file *file = &run->edge.trust.files[kind];
	const char *path = trust_path(kind);
	owned_fd int fd = -1;
	char part[4096];
	size_t at = 0;
	ssize_t n;

	if (!file->bytes)
		return 0;
	fd = openat(root_fd, path + 1, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return unreadable(run, path, err);
	while ((n = read(fd, part, sizeof(part))) > 0) {
		if ((size_t)n > file->len - at || memcmp(part, file->bytes + at, (size_t)n) != 0)
			break;
		at += (size_t)n;
	}
	return n == 0 && at == file->len
		   ? 0
		   : differs(err, "network.allow", "%s does not show this run's authority", path);
}

static int check_authorities(struct jail_run *run, int root_fd, struct warder_error *err)
{
	for (int kind = 0; kind < TRUST_COUNT; kind++)
		if (check_authority(run, (enum trust_kind)kind, root_fd, err) < 0)
			return -1;
	return 0;
}

static int check_processors(struct jail_run *run, const struct status *status, struct warder_error *err)
{
	const struct affinity_mask *mask = run->affinity.mask;
	const char *value = status_value(status, "Cpus_allowed");
	char text[96];

	if (!mask)
		return 0;
	if (!value || !affinity_is(mask, value))
		return differs(err, "limits.cpus", "Cpus_allowed is %.40s, wanted processor(s) %s",
			       value ? value : "not shown", affinity_print(mask, text, sizeof(text)));
	receipt_layer(run, "processors", true, "sched_setaffinity; a hint, which the program may change",
		      "/proc/<pid>/status Cpus_allowed", "%s", affinity_print(mask, text, sizeof(text)));
	return 0;
}

/* ---- rlimits ---- */

#define LIMITS_BYTES 2048

/* The control of a field that an rlimit enforces by itself, or POLICY_CONTROL_COUNT. */
static enum policy_control rlimit_control(enum policy_field field)
{
	const struct rlimit_row *row;

	for (size_t i = 0; (row = rlimit_row_at(i)) != NULL; i++) {
		if (policy_control_field(row->control) == field)
			return row->control;
	}
	return POLICY_CONTROL_COUNT;
}

static void add_rlimit(char *list, size_t size, const char *name, uint64_t value)
{
	size_t used = strlen(list);
	char number[COMPOSE_NUMBER];

	compose(list + used, size - used, used ? " " : "", name, "=", compose_number(value, number));
}

static void print_rlimit(char *buf, size_t size, uint64_t value)
{
	if (value == UINT64_MAX)
		snprintf(buf, size, "unlimited");
	else
		snprintf(buf, size, "%llu", (unsigned long long)value);
}

/* Where the policy asks for no limit, the caller's holds. */
static void inherited_row(struct jail_run *run, const char *text, enum policy_control control,
			  const char *name)
{
	char soft_text[24], hard_text[24];
	uint64_t soft = 0;
	uint64_t hard = 0;
	struct policy_receipt_row *row;

	if (rlimits_find(text, name, &soft, &hard) < 0)
		return;
	row = policy_receipt_add(run->receipt, policy_field_path(policy_control_field(control)),
				 POLICY_RECEIPT_UNRESTRICTED);
	if (!row)
		return;
	print_rlimit(soft_text, sizeof(soft_text), soft);
	print_rlimit(hard_text, sizeof(hard_text), hard);
	policy_control_value(&run->tmpl->plan.policy, control, row->requested, sizeof(row->requested));
	snprintf(row->mechanism, sizeof(row->mechanism), "the caller's RLIMIT_%s", name);
	snprintf(row->source, sizeof(row->source), "/proc/<pid>/limits");
	if (soft == hard)
		snprintf(row->value, sizeof(row->value), "%s", hard_text);
	else
		snprintf(row->value, sizeof(row->value), "%s, which the program may raise to %s", soft_text,
			 hard_text);
}

static int read_limits(struct jail_run *run, char *buf, size_t size, struct warder_error *err)
{
	const struct rlimit_row *row;

	if (read_text(run->proc_fd, "limits", buf, size) < 0)
		return unreadable(run, "limits", err);
	for (size_t i = 0; (row = rlimit_row_at(i)) != NULL; i++) {
		if (rlimit_row_value(row, &run->tmpl->plan.policy) == POLICY_UNLIMITED)
			inherited_row(run, buf, row->control, row->name);
	}
	return 0;
}

static int check_rlimits(struct jail_run *run, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	char hardening[96] = "";
	char instead[96] = "";
	char text[LIMITS_BYTES];

	if (read_limits(run, text, sizeof(text), err) < 0)
		return -1;
	for (size_t i = 0; i < plan->rlimit_count; i++) {
		const struct jail_rlimit *wanted = &plan->rlimits[i];
		const enum policy_control control = rlimit_control(wanted->field);
		uint64_t soft = 0;
		uint64_t hard = 0;

		if (rlimits_find(text, wanted->name, &soft, &hard) < 0 || soft != wanted->value ||
		    hard != wanted->value)
			return differs(
			    err, wanted->field == POLICY_FIELD_NONE ? NULL : policy_field_path(wanted->field),
			    "RLIMIT_%s is %llu and %llu, wanted %llu", wanted->name, (unsigned long long)soft,
			    (unsigned long long)hard, (unsigned long long)wanted->value);
		if (control != POLICY_CONTROL_COUNT)
			receipt_control(
			    run, control, "/proc/<pid>/limits", "%llu%s", (unsigned long long)hard,
			    wanted->clamped ? " (the host's hard limit is lower than asked)" : "");
		else
			add_rlimit(wanted->field == POLICY_FIELD_NONE ? hardening : instead,
				   sizeof(hardening), wanted->name, hard);
	}
	receipt_layer(run, "rlimits", true, "setrlimit", "/proc/<pid>/limits", "%s", hardening);
	if (*instead)
		receipt_layer(run, "rlimits.perProcess", true, "setrlimit, in the place of a cgroup's limits",
			      "/proc/<pid>/limits", "%s", instead);
	return 0;
}

/* ---- control groups ---- */

static int check_cgroup_value(struct jail_run *run, enum cgroup_controller controller, bool swap,
			      uint64_t wanted, uint64_t slack, enum policy_control control,
			      struct warder_error *err)
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
	compose(source, sizeof(source), "cgroup file ", value.file,
		run->cgroup.again ? "; before: counters" : "");
	receipt_control(run, control, source, "%s%s%s", value.text,
			controller == CGROUP_PIDS ? " (the jail's init included)" : "",
			run->cgroup.again ? "; used before, and like a new one" : "");
	return 0;
}

/* Without a limit of its own, swap is limited only where there is none; somebody may have added some since the probe. */
static int check_no_swap(struct jail_run *run, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	struct sysinfo host;

	if (plan->policy.limits.swap_bytes == POLICY_UNLIMITED || plan->not_enforced[POLICY_CONTROL_SWAP] ||
	    plan->cgroup.swap_bytes != UINT64_MAX)
		return 0;
	if (sysinfo(&host) < 0 || host.totalswap != 0)
		return differs(err, "limits.swap",
			       "the host has swap space by now, which the plan relied on");
	receipt_control(run, POLICY_CONTROL_SWAP, "sysinfo(2) totalswap", "0: the host has no swap space");
	return 0;
}

static int check_cpu_time(struct jail_run *run, struct warder_error *err)
{
	const uint64_t limit = run->tmpl->plan.cpu_time_us;
	uint64_t used;
	char text[32];

	if (limit == POLICY_UNLIMITED)
		return 0;
	if (cgroup_cpu_usage(&run->cgroup, &used) < 0)
		return differs(err, "limits.cpuTime", "the cgroup's CPU time cannot be read");
	receipt_control(run, POLICY_CONTROL_CPU_TIME,
			"CPU time of the cgroup, polled by the supervisor, which keeps the limit",
			"limit %s, used so far %llu us", policy_format_time(limit, text, sizeof(text)),
			(unsigned long long)used);
	return 0;
}

int readback_limits(struct jail_run *run, struct warder_error *err)
{
	const struct cgroup_limits *limits = &run->tmpl->plan.cgroup;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	/* Swap on v1 is the difference of two limits. */
	if (check_cgroup_value(run, CGROUP_MEMORY, false, limits->memory_bytes, page - 1,
			       POLICY_CONTROL_MEMORY, err) < 0 ||
	    check_cgroup_value(run, CGROUP_PIDS, false, limits->pids_max, 0, POLICY_CONTROL_PIDS, err) < 0 ||
	    check_cgroup_value(run, CGROUP_CPU, false, limits->cpu_milli, 1, POLICY_CONTROL_CPUS, err) < 0 ||
	    check_cgroup_value(run, CGROUP_MEMORY, true, limits->swap_bytes, 2 * page - 1,
			       POLICY_CONTROL_SWAP, err) < 0)
		return -1;
	return check_no_swap(run, err) < 0 ? -1 : check_cpu_time(run, err);
}

/* The limits hold for the payload only if it is in the leaf of each hierarchy. */
static int check_membership(struct jail_run *run, struct warder_error *err)
{
	const size_t name_len = strlen(run->cgroup.name);
	char text[8192];
	char *left = NULL;
	int leaves = 0;

	for (int i = 0; i < CGROUP_HIERARCHIES_MAX; i++)
		leaves += run->cgroup.used[i];
	if (leaves == 0)
		return 0;
	if (read_text(run->proc_fd, "cgroup", text, sizeof(text)) < 0)
		return unreadable(run, "cgroup", err);
	for (char *line = strtok_r(text, "\n", &left); line; line = strtok_r(NULL, "\n", &left)) {
		size_t len = strlen(line);

		leaves -= len > name_len && line[len - name_len - 1] == '/' &&
			  strcmp(line + len - name_len, run->cgroup.name) == 0;
	}
	return leaves == 0 ? 0 : differs(err, "limits", "%d cgroup(s) of the jail do not hold it", leaves);
}

/* ---- the gate ---- */

static int open_proc(struct jail_run *run, struct warder_error *err)
{
	char number[COMPOSE_NUMBER];
	char path[32];

	if (run->proc_fd >= 0)
		return 0;
	compose(path, sizeof(path), "/proc/", compose_number((uint64_t)run->program_pid, number));
	run->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return run->proc_fd < 0 ? unreadable(run, "", err) : 0;
}

static int open_root(const struct jail_run *run, struct warder_error *err)
{
	int root_fd = openat(run->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root_fd < 0 ? unreadable(run, "root", err) : root_fd;
}

static int check_setup(struct jail_run *run, int root_fd, struct warder_error *err)
{
	if (check_network(run, err) < 0 || check_mounts(run, root_fd, err) < 0 ||
	    check_scratch(run, root_fd, err) < 0 || check_proc(run, root_fd, err) < 0 ||
	    check_authorities(run, root_fd, err) < 0 || check_membership(run, err) < 0 ||
	    check_namespaces(run, err) < 0 || check_maps(run, err) < 0)
		return -1;
	return 0;
}

static int check_payload(struct jail_run *run, struct warder_error *err)
{
	owned_fd int root_fd = -1;
	struct status status;

	if (run->tmpl->plan.policy.working_directory) {
		root_fd = open_root(run, err);
		if (root_fd < 0)
			return -1;
	}

	if (read_status(run->proc_fd, "status", &status) < 0)
		return unreadable(run, "status", err);
	if (check_working_directory(run, root_fd, err) < 0 || check_rlimits(run, err) < 0 ||
	    check_processors(run, &status, err) < 0 || check_identity(run, &status, err) < 0 ||
	    check_filter(run, &status, err) < 0 || check_speculation(run, &status, err) < 0 ||
	    check_privileges(run, &status, err) < 0)
		return -1;
	return 0;
}

/* Without a root of its own, the place is one of the host's. */
static int check_bare(struct jail_run *run, struct warder_error *err)
{
	owned_fd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char text[LIMITS_BYTES];
	int checked;

	if (open_proc(run, err) < 0)
		return -1;
	checked = check_working_directory(run, root_fd, err);
	if (checked == 0)
		checked = read_limits(run, text, sizeof(text), err);
	fd_done(&run->proc_fd);
	return checked;
}

int readback_setup(struct jail_run *run, struct warder_error *err)
{
	owned_fd int root_fd = -1;

	if (run_is_bare(run))
		return 0;
	if (open_proc(run, err) < 0)
		return -1;
	/* Where that fails, only the end of the run takes longer. */
	if (run->mount_ns_fd < 0 && (run->tmpl->plan.privileged || run->zygote) && !run_is_contained(run))
		run->mount_ns_fd = openat(run->proc_fd, "ns/mnt", O_RDONLY | O_CLOEXEC);
	root_fd = open_root(run, err);
	return root_fd < 0 ? -1 : check_setup(run, root_fd, err);
}

int readback_check(struct jail_run *run, struct warder_error *err)
{
	const struct jail_starter *starter = run->tmpl->plan.starter;

	run->receipt->isolation = starter                 ? starter->isolation
				  : run->tmpl->plan.holds ? POLICY_ISOLATION_NAMESPACE_JAIL_PERSISTENT
							  : POLICY_ISOLATION_NAMESPACE_JAIL;
	/* From here on, a change is reported: the check at the hand-out reads the file only then. */
	if (run->parked && cgroup_watch_freezer(&run->cgroup))
		return differs(err, NULL, "the jail's cgroup is frozen");
	if (run_is_bare(run))
		return check_bare(run, err);
	if (open_proc(run, err) < 0 || check_payload(run, err) < 0)
		return -1;
	readback_layers(run);
	/* Of a parked one, or of a session's, it stays the same process's, whoever gets its number. */
	if (!run->parked && !run->tmpl->plan.holds)
		fd_done(&run->proc_fd);
	return 0;
}

/* Init lives, and the payload waits, or is on its way there: neither stopped nor dead, nor frozen. The cgroup's file is read only if it has
 * changed. */
static int check_waiting(struct jail_run *run, const struct status *status, struct warder_error *err)
{
	struct pollfd fds[2] = { { .fd = run->init_fd, .events = POLLIN },
				 { .fd = run->cgroup.freezer_fd, .events = POLLPRI } };
	const char *state = status_value(status, "State");
	const char *parent = status_value(status, "PPid");

	if (poll(fds, 2, 0) < 0 || fds[0].revents)
		return differs(err, NULL, "the parked jail's init has died");
	if (fds[1].revents && cgroup_is_frozen(&run->cgroup))
		return differs(err, NULL, "the parked jail's cgroup is frozen");
	if (!state || (*state != 'S' && *state != 'R'))
		return differs(err, NULL, "the parked jail's payload is in state %.1s, wanted S or R",
			       state ? state : "?");
	if (!is_numbers(parent, (unsigned long[]){ (unsigned long)run->init_pid }, 1))
		return differs(err, NULL, "the parked jail's payload is not a child of its init");
	return 0;
}

int readback_again(struct jail_run *run, struct warder_error *err)
{
	struct status status;

	if (read_status(run->proc_fd, "status", &status) < 0)
		return unreadable(run, "status", err);
	if (check_waiting(run, &status, err) < 0)
		return -1;
	run_begin_preparation(run); /* it waited until here */
	if (readback_limits(run, err) < 0 || check_membership(run, err) < 0 || check_rlimits(run, err) < 0 ||
	    check_processors(run, &status, err) < 0 || check_maps(run, err) < 0 ||
	    check_identity(run, &status, err) < 0 || check_filter(run, &status, err) < 0 ||
	    check_speculation(run, &status, err) < 0 || check_privileges(run, &status, err) < 0)
		return -1;
	fd_done(&run->proc_fd);
	return 0;
}
