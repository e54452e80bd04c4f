/*
 * The kernel's floor: what the system calls of a jail cost when nothing is done besides.
 *
 * Same namespaces, mounts and masks, id change, empty capabilities, Landlock rules and filter instructions
 * as a jail of the default policy, for a program that is pid 1 itself. Left out is what a sandbox has to do around it: policy,
 * cgroup, init, pipes, read-back, receipt, deadlines. Static, and no libc between clone and exec, so that no start-up
 * cost of its own is in the figure.
 *
 *   floor [--ro PATH]... -- PROGRAM ARG...                      one launch; exits with the program's status
 *   floor --serve [--prepared] [--cgroup DIR]... [--ro PATH]... -- PROGRAM ...    launches for the harness
 *
 * --cgroup: a launch makes a leaf in DIR, of cgroup v1, writes its limits, reads them back, has the child join it, reads its counters
 * at the end, and removes it.
 *
 * --serve: the user namespace is made once and entered. --prepared: so is the mount namespace, and a launch enters a copy
 * of it, as it does with a template.
 *
 * A single launch maps the one id that a process may map for itself after it has become it: the kernel's cheapest way
 * to be nobody.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "jail/cgroup/clone.h"
#include "jail/inside/sys.h"
#include "tests/bench/serve.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#define HOST_ID    0x60010000u /* below every id that a jail leases */
#define INSIDE_ID  1000u
#define EXTRA_MAX  8
#define GROUPS_MAX 6
#define NAMESPACES                                                                                           \
	(CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWTIME)

static struct sock_filter filter[] = {
#include "filter.h"
};

static const struct node {
	const char *name;
	unsigned int major, minor;
} nodes[] = {
	{ "dev/null", 1, 3 },   { "dev/zero", 1, 5 },    { "dev/full", 1, 7 },
	{ "dev/random", 1, 8 }, { "dev/urandom", 1, 9 }, { "dev/tty", 5, 0 },
};

static const struct link {
	const char *target, *name;
} links[] = {
	{ "/proc/self/fd", "dev/fd" },
	{ "/proc/self/fd/0", "dev/stdin" },
	{ "/proc/self/fd/1", "dev/stdout" },
	{ "/proc/self/fd/2", "dev/stderr" },
	{ "pts/ptmx", "dev/ptmx" },
	{ "usr/bin", "bin" },
	{ "usr/sbin", "sbin" },
	{ "usr/lib", "lib" },
	{ "usr/lib64", "lib64" },
	{ "../tmp", "var/tmp" },
	{ "/usr/share/zoneinfo/Etc/UTC", "etc/localtime" },
	{ "../usr/lib/os-release", "etc/os-release" },
};

static const char *const directories[] = { "proc", "tmp", "run", "etc", "usr", "var", "dev/pts", "dev/shm" };

/* The host view; what is not there is left out. */
/* Small files of its own, as in a host view; their content does not matter. */
static const char *const files[] = { "etc/passwd", "etc/group", "etc/nsswitch.conf" };

static const struct source {
	const char *source;
	bool is_file;
} binds[] = {
	{ "/usr", false },
	{ "/etc/alternatives", false },
	{ "/etc/ld.so.cache", true },
};

static const char *const masked_files[] = {
	"/proc/kcore",       "/proc/keys",        "/proc/key-users",  "/proc/kallsyms",
	"/proc/kmsg",        "/proc/interrupts",  "/proc/timer_list", "/proc/latency_stats",
	"/proc/locks",       "/proc/modules",     "/proc/kpagecount", "/proc/kpageflags",
	"/proc/kpagecgroup", "/proc/sched_debug", "/proc/config.gz",  "/proc/sysrq-trigger",
	"/proc/cmdline",     "/proc/swaps",       "/proc/diskstats",  "/proc/partitions",
};
static const char *const masked_directories[] = {
	"/proc/acpi", "/proc/asound", "/proc/scsi", "/proc/driver", "/proc/bus", "/proc/irq",
};

/* What the policy limits, and what a result tells. */
static const struct knob {
	const char *file, *value;
} knobs[] = {
	{ "memory.limit_in_bytes", "268435456" },
	{ "memory.memsw.limit_in_bytes", "268435456" },
	{ "pids.max", "65" },
	{ "cpu.cfs_quota_us", "100000" },
};
static const char *const counters[] = {
	"memory.max_usage_in_bytes",
	"memory.oom_control",
	"pids.peak",
	"pids.events",
	"cpuacct.usage",
	"cpu.stat",
};

struct group {
	const char *parent;
	bool has_knob[ARRAY_LENGTH(knobs)], has_counter[ARRAY_LENGTH(counters)];
};

struct floor {
	char *const *argv;
	struct group groups[GROUPS_MAX];
	size_t group_count;
	struct source extra[EXTRA_MAX]; /* seen inside under the same name */
	size_t extra_count;
	bool prepared;
	int mount_ns_fd, user_ns_fd;
	char clocks[96], id_map[48];
};

struct child {
	const struct floor *floor;
	const char *what; /* the call that failed, for the parent */
	long error;
	int mount_ns_fd; /* from prepare_root() */
	int join_fds[GROUPS_MAX];
};

static _Noreturn void fail(struct child *child, const char *what, long error)
{
	child->what = what;
	child->error = error;
	sys(exit_group, 125);
	__builtin_unreachable();
}

static long check(struct child *child, const char *what, long ret)
{
	if (ret < 0)
		fail(child, what, ret);
	return ret;
}

/* ---- root ---- */

static void make_file(struct child *child, int root_fd, const char *name)
{
	long fd = check(child, name, sys(openat, root_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));

	sys(close, fd);
}

static void make_parents(int root_fd, const char *name)
{
	char path[256];

	for (size_t i = 0; name[i] && i < sizeof(path) - 1; i++) {
		path[i] = name[i];
		path[i + 1] = 0;
		if (name[i + 1] == '/')
			sys(mkdirat, root_fd, path, 0755);
	}
}

/* A detached, read-only clone; -1 where the host has no such thing. */
static int open_tree_of(struct child *child, const char *source)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };
	long tree = sys(open_tree, AT_FDCWD, source, AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree == -ENOENT)
		return -1;
	check(child, source, tree);
	check(child, "mount_setattr",
	      sys(mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)));
	return (int)tree;
}

static void attach(struct child *child, int root_fd, int tree, const char *source, bool is_file)
{
	const char *target = source + 1;

	if (tree < 0)
		return;
	make_parents(root_fd, target);
	if (is_file)
		make_file(child, root_fd, target);
	else
		sys(mkdirat, root_fd, target, 0755);
	check(child, target, sys(move_mount, tree, "", root_fd, target, MOVE_MOUNT_F_EMPTY_PATH));
	sys(close, tree);
}

static void fill(struct child *child, int root_fd)
{
	check(child, "dev", sys(mkdirat, root_fd, "dev", 0755));
	check(child, "/dev",
	      sys(mount, "dev", "/tmp/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k"));
	for (size_t i = 0; i < ARRAY_LENGTH(nodes); i++)
		check(child, nodes[i].name,
		      sys(mknodat, root_fd, nodes[i].name, 0020666, (nodes[i].major << 8) | nodes[i].minor));
	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++)
		check(child, directories[i], sys(mkdirat, root_fd, directories[i], 0755));
	for (size_t i = 0; i < ARRAY_LENGTH(links); i++)
		check(child, links[i].name, sys(symlinkat, links[i].target, root_fd, links[i].name));
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++)
		make_file(child, root_fd, files[i]);
	check(child, "/dev read-only",
	      sys(mount, 0, "/tmp/dev", 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, 0));
}

static void build_root(struct child *child)
{
	const struct floor *floor = child->floor;
	int trees[ARRAY_LENGTH(binds) + EXTRA_MAX];
	int root_fd;

	sys(umask, 0);
	check(child, "/", sys(mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0));
	/* Before the new root hides them. */
	for (size_t i = 0; i < ARRAY_LENGTH(binds); i++)
		trees[i] = open_tree_of(child, binds[i].source);
	for (size_t i = 0; i < floor->extra_count; i++)
		trees[ARRAY_LENGTH(binds) + i] = open_tree_of(child, floor->extra[i].source);
	check(child, "root", sys(mount, "root", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=4m"));
	root_fd =
	    (int)check(child, "root", sys(openat, AT_FDCWD, "/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
	fill(child, root_fd);
	for (size_t i = 0; i < ARRAY_LENGTH(binds); i++)
		attach(child, root_fd, trees[i], binds[i].source, binds[i].is_file);
	for (size_t i = 0; i < floor->extra_count; i++)
		attach(child, root_fd, trees[ARRAY_LENGTH(binds) + i], floor->extra[i].source,
		       floor->extra[i].is_file);
	check(child, "root read-only",
	      sys(mount, 0, "/tmp", 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, 0));
	check(child, "fchdir", sys(fchdir, root_fd));
	check(child, "pivot_root", sys(pivot_root, ".", "."));
	sys(close, root_fd);
	check(child, "umount", sys(umount2, ".", MNT_DETACH));
	check(child, "chdir", sys(chdir, "/"));
}

static void mask(struct child *child, const char *const *paths, size_t count, const char *by)
{
	for (size_t i = 0; i < count; i++) {
		long ret = sys(mount, by, paths[i], 0, MS_BIND, 0);

		if (ret != -ENOENT && ret != -ENOTDIR)
			check(child, paths[i], ret);
	}
}

/* What belongs to one launch: procfs shows its pid namespace, the rest is written to. */
static void mount_own(struct child *child)
{
	check(child, "/proc",
	      sys(mount, "proc", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2"));
	mask(child, masked_files, ARRAY_LENGTH(masked_files), "/dev/null");
	mask(child, masked_directories, ARRAY_LENGTH(masked_directories), "/run");
	check(child, "/dev/shm",
	      sys(mount, "scratch", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "mode=0755,size=64m,nr_inodes=4096"));
	check(child, "tmp", sys(mkdirat, AT_FDCWD, "/dev/shm/tmp", 01777));
	check(child, "shm", sys(mkdirat, AT_FDCWD, "/dev/shm/shm", 01777));
	check(child, "/tmp", sys(mount, "/dev/shm/tmp", "/tmp", 0, MS_BIND, 0));
	check(child, "/dev/shm", sys(mount, "/dev/shm/shm", "/dev/shm", 0, MS_BIND, 0));
	check(child, "/dev/pts",
	      sys(mount, "devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		  "newinstance,ptmxmode=0666,mode=0620,max=64"));
}

/* ---- identity ---- */

static void write_at(struct child *child, int dir_fd, const char *name, const char *text)
{
	long fd = check(child, name, sys(openat, dir_fd, name, O_WRONLY | O_CLOEXEC, 0));

	check(child, name, sys(write, fd, text, strlen(text)));
	sys(close, fd);
}

static void become(struct child *child, uint32_t id)
{
	check(child, "setresgid", sys(setresgid, id, id, id));
	check(child, "setresuid", sys(setresuid, id, id, id));
}

static void enter_user_ns(struct child *child, int self_fd)
{
	check(child, "setgroups", sys(setgroups, 0, 0));
	if (child->floor->user_ns_fd >= 0) {
		check(child, "user namespace", sys(setns, child->floor->user_ns_fd, CLONE_NEWUSER));
		become(child, INSIDE_ID);
		return;
	}
	become(child, HOST_ID);
	sys(prctl, PR_SET_DUMPABLE, 1, 0, 0, 0); /* else /proc/self is root's */
	check(child, "user namespace", sys(unshare, CLONE_NEWUSER));
	write_at(child, self_fd, "setgroups", "deny");
	write_at(child, self_fd, "uid_map", child->floor->id_map);
	write_at(child, self_fd, "gid_map", child->floor->id_map);
}

static void drop_privileges(struct child *child)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	for (int cap = 0; cap < 64 && sys(prctl, PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	sys(prctl, PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS, 0, 0, 0);
	check(child, "capset", sys(capset, &header, none));
	check(child, "no_new_privs", sys(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

/* ---- layers ---- */

static void add_rule(struct child *child, int ruleset, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr attr = { .allowed_access = access };

	attr.parent_fd = (int)check(child, path, sys(openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0));
	check(child, path, sys(landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0));
	sys(close, attr.parent_fd);
}

static void landlock(struct child *child)
{
	const uint64_t on_file = LANDLOCK_ACCESS_FS_WRITE_FILE;
	const uint64_t all = on_file | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
			     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
			     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
			     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
			     LANDLOCK_ACCESS_FS_MAKE_SYM;
	uint64_t attr = all;
	long ruleset = sys(landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (ruleset == -ENOSYS || ruleset == -EOPNOTSUPP)
		return;
	check(child, "landlock", ruleset);
	add_rule(child, (int)ruleset, "/dev", on_file);
	add_rule(child, (int)ruleset, "/tmp", all);
	add_rule(child, (int)ruleset, "/dev/shm", all);
	check(child, "landlock", sys(landlock_restrict_self, ruleset, 0));
	sys(close, ruleset);
}

static void limit(struct child *child)
{
	static const struct row {
		int resource;
		uint64_t value;
	} rows[] = {
		{ RLIMIT_CORE, 1 },          { RLIMIT_MEMLOCK, 8u << 20 }, { RLIMIT_MSGQUEUE, 819200 },
		{ RLIMIT_SIGPENDING, 1024 }, { RLIMIT_NICE, 0 },           { RLIMIT_RTPRIO, 0 },
		{ RLIMIT_NOFILE, 1024 },     { RLIMIT_FSIZE, 64u << 20 },  { RLIMIT_STACK, 8u << 20 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		uint64_t both[2] = { rows[i].value, rows[i].value };

		check(child, "rlimit", sys(prlimit64, 0, rows[i].resource, both, 0));
	}
}

/* ---- launch ---- */

static void child_main(void *arg)
{
	static const struct sock_fprog program = { .len = ARRAY_LENGTH(filter), .filter = filter };
	static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	struct child *child = arg;
	const struct floor *floor = child->floor;
	long self_fd = sys(openat, AT_FDCWD, "/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

	check(child, "/proc/self", self_fd);
	for (size_t i = 0; i < floor->group_count; i++)
		check(child, "cgroup", sys(write, child->join_fds[i], "0", 1));
	write_at(child, (int)self_fd, "timens_offsets", floor->clocks);
	if (floor->prepared) {
		check(child, "mount namespace", sys(setns, floor->mount_ns_fd, CLONE_NEWNS));
		check(child, "mount namespace", sys(unshare, CLONE_NEWNS));
	} else {
		build_root(child);
	}
	mount_own(child);
	check(child, "hostname", sys(sethostname, "warder", 6));
	enter_user_ns(child, (int)self_fd);
	sys(setsid);
	sys(umask, 022);
	limit(child);
	drop_privileges(child);
	landlock(child);
	sys(close_range, 3, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */);
	check(child, "filter", sys(seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
	fail(child, floor->argv[0], sys(execve, floor->argv[0], floor->argv, environment));
}

static int complain(const struct child *child)
{
	fprintf(stderr, "floor: %s: %s\n", child->what, strerror((int)-child->error));
	return -1;
}

static int launch_with(const struct floor *floor, const int *join_fds)
{
	char stack[CLONE_STACK_BYTES] __attribute__((aligned(16)));
	struct child child = { .floor = floor, .what = "clone3" };
	struct clone_args args = { .flags = CLONE_VM | CLONE_VFORK | NAMESPACES |
					    (floor->prepared ? 0 : CLONE_NEWNS),
				   .exit_signal = SIGCHLD };
	int status = 0;
	long pid;

	for (size_t i = 0; join_fds && i < floor->group_count; i++)
		child.join_fds[i] = join_fds[i];
	pid = clone_call(&args, stack, child_main, &child);
	if (pid < 0)
		child.error = pid;
	else
		while (waitpid((pid_t)pid, &status, 0) < 0 && errno == EINTR)
			;
	if (child.error < 0)
		return complain(&child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- control groups ---- */

struct leaf {
	char path[256];
	int fd;
};

static bool read_in(int dir_fd, const char *file)
{
	char text[1024];
	int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0 && read(fd, text, sizeof(text)) > 0;

	close(fd);
	return ok;
}

static bool set_in(int dir_fd, const struct knob *knob)
{
	int fd = openat(dir_fd, knob->file, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, knob->value, strlen(knob->value)) > 0;

	close(fd);
	return ok && read_in(dir_fd, knob->file);
}

static bool make_leaf(const struct group *group, struct leaf *ret, int *ret_join_fd)
{
	static atomic_ulong last;
	bool ok;

	snprintf(ret->path, sizeof(ret->path), "%s/warder-floor-%d-%lu", group->parent, getpid(), ++last);
	ok = mkdir(ret->path, 0755) == 0;
	ret->fd = open(ret->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LENGTH(knobs) && ok; i++)
		ok = !group->has_knob[i] || set_in(ret->fd, &knobs[i]);
	*ret_join_fd = openat(ret->fd, "tasks", O_WRONLY | O_CLOEXEC);
	return ok && *ret_join_fd >= 0;
}

static bool remove_leaf(const struct group *group, const struct leaf *leaf)
{
	bool ok = true;

	for (size_t i = 0; i < ARRAY_LENGTH(counters); i++)
		ok &= !group->has_counter[i] || read_in(leaf->fd, counters[i]);
	close(leaf->fd);
	return rmdir(leaf->path) == 0 && ok;
}

/* What is there is found by a leaf of its own. */
static bool add_group(struct floor *floor, const char *parent)
{
	struct group *group = &floor->groups[floor->group_count++];
	struct leaf leaf;
	int join_fd;

	*group = (struct group){ .parent = parent };
	if (!make_leaf(group, &leaf, &join_fd))
		return false;
	close(join_fd);
	for (size_t i = 0; i < ARRAY_LENGTH(knobs); i++)
		group->has_knob[i] = faccessat(leaf.fd, knobs[i].file, F_OK, 0) == 0;
	for (size_t i = 0; i < ARRAY_LENGTH(counters); i++)
		group->has_counter[i] = faccessat(leaf.fd, counters[i], F_OK, 0) == 0;
	return remove_leaf(group, &leaf);
}

static int launch_in_leaves(void *context)
{
	const struct floor *floor = context;
	struct leaf leaves[GROUPS_MAX];
	int join_fds[GROUPS_MAX] = { 0 };
	bool ok = true;
	size_t made = 0;
	int ret = -1;

	for (; made < floor->group_count && ok; made++)
		ok = make_leaf(&floor->groups[made], &leaves[made], &join_fds[made]);
	if (ok)
		ret = launch_with(floor, join_fds);
	for (size_t i = 0; i < made; i++) {
		close(join_fds[i]);
		ok &= remove_leaf(&floor->groups[i], &leaves[i]);
	}
	return ok ? ret : -1;
}

static int launch(void *context)
{
	return launch_with(context, NULL);
}

/* ---- preparation ---- */

/* Shares our descriptors: the namespace's stays with us. */
static void prepare_root(void *arg)
{
	struct child *child = arg;

	child->mount_ns_fd = (int)check(child, "/proc/self/ns/mnt",
					sys(openat, AT_FDCWD, "/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC, 0));
	build_root(child);
	sys(exit_group, 0);
}

static void sleep_in_ns(void *arg)
{
	for (;;)
		sys(ppoll, arg, 0, 0, 0, 0);
}

static int prepare_user_ns(void)
{
	char stack[CLONE_STACK_BYTES] __attribute__((aligned(16)));
	struct clone_args args = { .flags = CLONE_VM | CLONE_NEWUSER, .exit_signal = SIGCHLD };
	struct child child = { .what = "user namespace" };
	long pid = clone_call(&args, stack, sleep_in_ns, NULL);
	char path[64];
	char map[64];
	int fd;

	if (pid < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%ld", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(map, sizeof(map), "0 %u 65536\n", HOST_ID);
	write_at(&child, fd, "uid_map", map);
	write_at(&child, fd, "gid_map", map);
	close(fd);
	snprintf(path, sizeof(path), "/proc/%ld/ns/user", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
	return fd;
}

static int prepare_mount_ns(struct floor *floor)
{
	struct child child = { .floor = floor, .what = "clone3", .mount_ns_fd = -1 };
	int ret = clone_run(CLONE_FILES | CLONE_NEWNS, prepare_root, &child, sizeof(child));

	if (ret < 0)
		child.error = ret;
	if (child.error < 0)
		return complain(&child);
	floor->mount_ns_fd = child.mount_ns_fd;
	return 0;
}

static int serve_launches(struct floor *floor)
{
	floor->user_ns_fd = prepare_user_ns();
	if (floor->user_ns_fd < 0 || (floor->prepared && prepare_mount_ns(floor) < 0))
		return 125;
	return serve(floor->group_count ? launch_in_leaves : launch, floor);
}

static void add_source(struct floor *floor, const char *path)
{
	struct stat st;

	floor->extra[floor->extra_count++] =
	    (struct source){ path, stat(path, &st) == 0 && !S_ISDIR(st.st_mode) };
}

int main(int argc, char **argv)
{
	static struct floor floor = { .mount_ns_fd = -1, .user_ns_fd = -1 };
	struct timespec now;
	bool serving = false;
	int at = 1;

	for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
		if (strcmp(argv[at], "--serve") == 0)
			serving = true;
		else if (strcmp(argv[at], "--prepared") == 0)
			floor.prepared = true;
		else if (strcmp(argv[at], "--cgroup") == 0 && at + 1 < argc &&
			 floor.group_count < GROUPS_MAX && add_group(&floor, argv[at + 1]))
			at++;
		else if (strcmp(argv[at], "--ro") == 0 && at + 1 < argc && floor.extra_count < EXTRA_MAX)
			add_source(&floor, argv[++at]);
		else
			break;
	}
	if (at + 1 >= argc || strcmp(argv[at], "--") != 0) {
		fprintf(stderr, "usage: floor [--serve [--prepared] [--cgroup DIR]...] [--ro PATH]... -- "
				"PROGRAM ARG...\n");
		return 125;
	}
	floor.argv = argv + at + 1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(floor.clocks, sizeof(floor.clocks), "monotonic %ld 0\nboottime %ld 0\n",
		 -(long)now.tv_sec + 1, -(long)now.tv_sec + 1);
	snprintf(floor.id_map, sizeof(floor.id_map), "%u %u 1\n", INSIDE_ID, HOST_ID);
	if (serving)
		return serve_launches(&floor);
	at = launch(&floor);
	return at < 0 ? 125 : at;
}
