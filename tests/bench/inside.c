/*
 * What a child of the floor does between its clone and the exec of the program. No libc: the memory is the parent's.
 *
 * With an init, the first process is pid 1, does everything but the filter, and forks the program. It waits for the program's end, and ends with its
 * status.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/array.h"
#include "jail/inside/accounts.h"
#include "jail/inside/sys.h"
#include "tests/bench/floor.h"

#define FILES_DIR "/dev/shm/proc/"
#define PROC_DIR  "/proc/"
#include "tests/bench/covers.h"

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

/* Small files of its own, as in a host view; their content does not matter. */
static const char *const files[] = { "etc/passwd", "etc/group", "etc/nsswitch.conf" };

/* The host view; what is not there is left out. */
static const struct source binds[] = {
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

_Noreturn void inside_failed(struct child *child, const char *what, long error)
{
	child->what = what;
	child->error = error;
	sys(exit_group, 125);
	__builtin_unreachable();
}

long inside_check(struct child *child, const char *what, long ret)
{
	if (ret < 0)
		inside_failed(child, what, ret);
	return ret;
}

/* ---- root ---- */

static void make_file(struct child *child, int root_fd, const char *name)
{
	long fd = inside_check(child, name, sys(openat, root_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));

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
	inside_check(child, source, tree);
	inside_check(child, "mount_setattr",
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
	inside_check(child, target, sys(move_mount, tree, "", root_fd, target, MOVE_MOUNT_F_EMPTY_PATH));
	sys(close, tree);
}

static void fill(struct child *child, int root_fd)
{
	inside_check(child, "dev", sys(mkdirat, root_fd, "dev", 0755));
	inside_check(child, "/dev",
		     sys(mount, "dev", "/tmp/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k"));
	for (size_t i = 0; i < ARRAY_LENGTH(nodes); i++)
		inside_check(
		    child, nodes[i].name,
		    sys(mknodat, root_fd, nodes[i].name, 0020666, (nodes[i].major << 8) | nodes[i].minor));
	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++)
		inside_check(child, directories[i], sys(mkdirat, root_fd, directories[i], 0755));
	for (size_t i = 0; i < ARRAY_LENGTH(links); i++)
		inside_check(child, links[i].name, sys(symlinkat, links[i].target, root_fd, links[i].name));
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++)
		make_file(child, root_fd, files[i]);
	inside_check(
	    child, "/dev read-only",
	    sys(mount, 0, "/tmp/dev", 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, 0));
}

void inside_build_root(struct child *child)
{
	const struct floor *floor = child->floor;
	int trees[ARRAY_LENGTH(binds) + EXTRA_MAX];
	int root_fd;

	sys(umask, 0);
	inside_check(child, "/", sys(mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0));
	/* Before the new root hides them. */
	for (size_t i = 0; i < ARRAY_LENGTH(binds); i++)
		trees[i] = open_tree_of(child, binds[i].source);
	for (size_t i = 0; i < floor->extra_count; i++)
		trees[ARRAY_LENGTH(binds) + i] = open_tree_of(child, floor->extra[i].source);
	inside_check(child, "root",
		     sys(mount, "root", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=4m"));
	root_fd = (int)inside_check(child, "root",
				    sys(openat, AT_FDCWD, "/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
	fill(child, root_fd);
	for (size_t i = 0; i < ARRAY_LENGTH(binds); i++)
		attach(child, root_fd, trees[i], binds[i].source, binds[i].is_file);
	for (size_t i = 0; i < floor->extra_count; i++)
		attach(child, root_fd, trees[ARRAY_LENGTH(binds) + i], floor->extra[i].source,
		       floor->extra[i].is_file);
	inside_check(child, "root read-only",
		     sys(mount, 0, "/tmp", 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, 0));
	inside_check(child, "fchdir", sys(fchdir, root_fd));
	inside_check(child, "pivot_root", sys(pivot_root, ".", "."));
	sys(close, root_fd);
	inside_check(child, "umount", sys(umount2, ".", MNT_DETACH));
	inside_check(child, "chdir", sys(chdir, "/"));
}

static void mask(struct child *child, const char *const *paths, size_t count, const char *by)
{
	for (size_t i = 0; i < count; i++) {
		long ret = sys(mount, by, paths[i], 0, MS_BIND, 0);

		if (ret != -ENOENT && ret != -ENOTDIR)
			inside_check(child, paths[i], ret);
	}
}

static void mount_proc(struct child *child)
{
	inside_check(
	    child, "/proc",
	    sys(mount, "proc", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2"));
	mask(child, masked_files, ARRAY_LENGTH(masked_files), "/dev/null");
	mask(child, masked_directories, ARRAY_LENGTH(masked_directories), "/run");
}

static void mount_scratch(struct child *child)
{
	inside_check(child, "/dev/shm",
		     sys(mount, "scratch", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
			 "mode=0755,size=64m,nr_inodes=4096"));
	inside_check(child, "tmp", sys(mkdirat, AT_FDCWD, "/dev/shm/tmp", 01777));
	inside_check(child, "shm", sys(mkdirat, AT_FDCWD, "/dev/shm/shm", 01777));
	inside_check(child, "/tmp", sys(mount, "/dev/shm/tmp", "/tmp", 0, MS_BIND, 0));
}

static void mount_pts(struct child *child)
{
	inside_check(child, "/dev/pts",
		     sys(mount, "devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
			 "newinstance,ptmxmode=0666,mode=0620,max=64"));
}

static void write_covers(struct child *child)
{
	static const char text[2000];

	inside_check(child, FILES_DIR, sys(mkdirat, AT_FDCWD, FILES_DIR, 0711));
	inside_check(child, FILES_DIR "fs", sys(mkdirat, AT_FDCWD, FILES_DIR "fs", 0755));
	inside_check(child, FILES_DIR "empty", sys(mkdirat, AT_FDCWD, FILES_DIR "empty", 0555));
	for (size_t i = 0; i < ARRAY_LENGTH(cover_files); i++) {
		const struct cover_file *file = &cover_files[i];
		long fd =
		    inside_check(child, file->path,
				 sys(openat, AT_FDCWD, file->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));

		inside_check(child, file->path, sys(write, fd, text, file->bytes));
		sys(close, fd);
	}
}

static void mount_covers(struct child *child)
{
	for (size_t i = 0; i < ARRAY_LENGTH(covers); i++) {
		long ret = sys(mount, covers[i].source, covers[i].target, 0, MS_BIND, 0);

		if (ret != -ENOENT && ret != -ENOTDIR)
			inside_check(child, covers[i].target, ret);
	}
}

void inside_mount_own(struct child *child)
{
	mount_scratch(child);
	if (child->floor->covers)
		write_covers(child);
	mount_proc(child);
	if (child->floor->covers)
		mount_covers(child);
	inside_check(child, "/dev/shm", sys(mount, "/dev/shm/shm", "/dev/shm", 0, MS_BIND, 0));
	mount_pts(child);
}

/* ---- identity ---- */

void inside_write(struct child *child, int dir_fd, const char *name, const char *text)
{
	long fd = inside_check(child, name, sys(openat, dir_fd, name, O_WRONLY | O_CLOEXEC, 0));

	inside_check(child, name, sys(write, fd, text, strlen(text)));
	sys(close, fd);
}

static void become(struct child *child, uint32_t id)
{
	inside_check(child, "setresgid", sys(setresgid, id, id, id));
	inside_check(child, "setresuid", sys(setresuid, id, id, id));
}

/* The host's /proc/sys/user shows each process the files of its own namespace. */
static void limit_user_ns(struct child *child, int accounts_fd)
{
	bool counts_all;

	inside_check(child, "max_* of the user namespace",
		     accounts_limit(accounts_fd, ACCOUNTS_NOBODY, &counts_all, &child->what));
	sys(close, accounts_fd);
}

static void enter_user_ns(struct child *child, int self_fd, int accounts_fd)
{
	inside_check(child, "setgroups", sys(setgroups, 0, 0));
	if (child->floor->user_ns_fd >= 0) {
		inside_check(child, "user namespace", sys(setns, child->floor->user_ns_fd, CLONE_NEWUSER));
		become(child, INSIDE_ID);
		return;
	}
	become(child, HOST_ID);
	sys(prctl, PR_SET_DUMPABLE, 1, 0, 0, 0); /* else /proc/self is root's */
	inside_check(child, "user namespace", sys(unshare, CLONE_NEWUSER));
	inside_write(child, self_fd, "setgroups", "deny");
	inside_write(child, self_fd, "uid_map", child->floor->id_map);
	inside_write(child, self_fd, "gid_map", child->floor->id_map);
	if (accounts_fd >= 0)
		limit_user_ns(child, accounts_fd);
}

static void drop_privileges(struct child *child)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	for (int cap = 0; cap < 64 && sys(prctl, PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	sys(prctl, PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS, 0, 0, 0);
	inside_check(child, "capset", sys(capset, &header, none));
	inside_check(child, "no_new_privs", sys(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

/* ---- layers ---- */

static void add_rule(struct child *child, int ruleset, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr attr = { .allowed_access = access };

	attr.parent_fd = (int)inside_check(child, path, sys(openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0));
	inside_check(child, path, sys(landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0));
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
	inside_check(child, "landlock", ruleset);
	add_rule(child, (int)ruleset, "/dev", on_file);
	add_rule(child, (int)ruleset, "/tmp", all);
	add_rule(child, (int)ruleset, "/dev/shm", all);
	inside_check(child, "landlock", sys(landlock_restrict_self, ruleset, 0));
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

		inside_check(child, "rlimit", sys(prlimit64, 0, rows[i].resource, both, 0));
	}
}

/* ---- launch ---- */

struct word_header {
	void *name;
	uint32_t name_len;
	void *parts;
	size_t part_count;
	void *control;
	size_t control_len;
	uint32_t flags;
};

/* The arguments as they were sent, each with its NUL, and perhaps three streams. Returns how many bytes came. */
static long receive_word(char *words)
{
	struct {
		size_t len;
		int level, type;
		int fds[4];
	} control = { 0 };
	struct {
		void *at;
		size_t len;
	} part = { words, WORDS_SIZE };
	struct word_header header = {
		.parts = &part, .part_count = 1, .control = &control, .control_len = sizeof(control)
	};
	long got = sys(recvmsg, WORD_FD, &header, MSG_CMSG_CLOEXEC);

	for (int i = 0; i < 3 && header.control_len >= sizeof(size_t) + 5 * sizeof(int); i++)
		sys(dup3, control.fds[i], i, 0);
	return got;
}

static void split(char *words, long len, char **ret_argv, size_t most)
{
	size_t count = 0;

	for (long at = 0; at < len && count < most - 1; at++) {
		ret_argv[count++] = words + at;
		while (at < len && words[at])
			at++;
	}
	ret_argv[count] = NULL;
}

/* The program's own part: no way back, and everything else of the parent's closed. */
static void program_main(void *arg)
{
	static const struct sock_fprog program = { .len = ARRAY_LENGTH(filter), .filter = filter };
	static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	struct child *child = arg;
	char words[WORDS_SIZE];
	char *argv[64];
	char *const *chosen = child->floor->argv;
	long len;

	sys(setsid);
	for (int i = 0; i < 2 && child->floor->pipes; i++)
		sys(dup3, child->output_fds[i], 1 + i, 0);
	if (child->word_fd < 0) {
		sys(close_range, 3, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */);
	} else {
		if (child->word_fd == WORD_FD)
			sys(fcntl, WORD_FD, F_SETFD, FD_CLOEXEC);
		else
			sys(dup3, child->word_fd, WORD_FD, O_CLOEXEC);
		sys(close_range, WORD_FD + 1, ~0u, 0);
	}
	inside_check(child, "filter", sys(seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
	if (child->word_fd >= 0) {
		sys(write, WORD_FD, "", 1);
		len = receive_word(words);
		if (len <= 0)
			sys(exit_group, 125); /* the parent is dead */
		split(words, len, argv, ARRAY_LENGTH(argv));
		chosen = argv;
	}
	inside_failed(child, chosen[0], sys(execve, chosen[0], chosen, environment));
}

/* Pid 1 with a program: when it ends, the kernel ends all of the pid namespace. */
static _Noreturn void begin_program(struct child *child)
{
	struct clone_args args = { .flags = CLONE_VM, .exit_signal = SIGCHLD };
	long pid =
	    inside_check(child, "clone3", clone_call(&args, child->program_stack, program_main, child));
	int status = 0;

	sys(close_range, 3, ~0u, 0);
	while (sys(wait4, pid, &status, __WALL, 0, 0) == -EINTR)
		;
	sys(exit_group, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	__builtin_unreachable();
}

static void join_session(struct child *child)
{
	const struct floor *floor = child->floor;

	inside_check(child, "network namespace", sys(setns, floor->net_ns_fd, CLONE_NEWNET));
	inside_check(child, "ipc namespace", sys(setns, floor->ipc_ns_fd, CLONE_NEWIPC));
	inside_check(child, "uts namespace", sys(setns, floor->uts_ns_fd, CLONE_NEWUTS));
	inside_check(child, "mount namespace", sys(setns, floor->mount_ns_fd, CLONE_NEWNS));
	if (!floor->own)
		return;
	inside_check(child, "mount namespace", sys(unshare, CLONE_NEWNS));
	mount_proc(child);
	mount_pts(child);
}

static void begin_jail(struct child *child, int self_fd)
{
	const struct floor *floor = child->floor;

	inside_write(child, self_fd, "timens_offsets", floor->clocks);
	if (floor->net_ns_fd >= 0)
		inside_check(child, "network namespace", sys(setns, floor->net_ns_fd, CLONE_NEWNET));
	if (floor->prepared) {
		inside_check(child, "mount namespace", sys(setns, floor->mount_ns_fd, CLONE_NEWNS));
		inside_check(child, "mount namespace", sys(unshare, CLONE_NEWNS));
	} else {
		inside_build_root(child);
	}
	inside_mount_own(child);
	inside_check(child, "hostname", sys(sethostname, "warder", 6));
}

void inside_main(void *arg)
{
	struct child *child = arg;
	const struct floor *floor = child->floor;
	const long self_fd = inside_check(
	    child, "/proc/self", sys(openat, AT_FDCWD, "/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
	const long accounts_fd =
	    floor->users
		? inside_check(child, ACCOUNTS_PATH,
			       sys(openat, AT_FDCWD, ACCOUNTS_PATH, O_PATH | O_DIRECTORY | O_CLOEXEC, 0))
		: -1;

	for (size_t i = 0; i < child->leaves->count; i++)
		if (!floor->groups.group[i].v2)
			inside_check(child, "cgroup", sys(write, child->leaves->leaf[i].join_fd, "0", 1));
	if (floor->session)
		join_session(child);
	else
		begin_jail(child, (int)self_fd);
	enter_user_ns(child, (int)self_fd, (int)accounts_fd);
	sys(umask, 022);
	limit(child);
	drop_privileges(child);
	landlock(child);
	if (floor->with_init)
		begin_program(child);
	program_main(child);
}
