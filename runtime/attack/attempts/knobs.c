/*
 * knobs: the kernel's configuration and what it tells, in /proc and /sys.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/attack/attempts/attempts.h"

/* Addresses, not only names: an unprivileged reader gets zeros from the kernel itself. */
static int read_addresses(const struct attempt *self, const struct marks *marks)
{
	char text[4096];
	long len = read_text("/proc/kallsyms", text, sizeof(text));

	if (len > 0)
		note("/proc/kallsyms can be read");
	return len == 0 ? HIDDEN : answer_hidden(len);
}

/* Read, something done that the host's counters show, and read again: whatever else goes on shows in the same way. The memory is held
 * until then: counters of pages that come back at once need not change. */
static int watch_path(const struct attempt *self, const struct marks *marks)
{
	char before[8192];
	char after[8192];
	char *memory[8];
	int fds[200];
	long len = read_text(self->path, before, sizeof(before));
	long again;

	if (len <= 0)
		return len == 0 ? HIDDEN : answer_hidden(len);
	/* Files, inodes and names. */
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i += 2)
		if (pipe2(fds + i, O_CLOEXEC) != 0)
			fds[i] = fds[i + 1] = -1;
	for (size_t i = 0; i < ARRAY_LENGTH(memory); i++) {
		memory[i] = malloc(1 << 20);
		if (memory[i])
			memset(memory[i], 1, 1 << 20);
		usleep(50000);
	}
	again = read_text(self->path, after, sizeof(after));
	for (size_t i = 0; i < ARRAY_LENGTH(memory); i++)
		free(memory[i]);
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return again == len && memcmp(before, after, (size_t)len) == 0 ? NO_EFFECT : REACHED;
}

/* The kernel's own is its root's, and not of a file system in memory. */
static int read_boot_id(const struct attempt *self, const struct marks *marks)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	char text[64];
	struct statfs fs;

	if (read_text(path, text, sizeof(text)) <= 0)
		return HIDDEN;
	return statfs(path, &fs) == 0 && fs.f_type == 0x9fa0 /* PROC_SUPER_MAGIC */ ? REACHED : CLEAN;
}

#define SETTINGS_DEPTH 8

/* REACHED if a file below a directory can be opened for writing; what else its files answer, EROFS before EACCES. Nothing is written. Takes
 * the descriptor. */
static int open_any(int directory_fd, unsigned int depth)
{
	DIR *dir = fdopendir(directory_fd);
	const struct dirent *item;
	int answer = EACCES;

	if (!dir) {
		close(directory_fd);
		return UNTRIED;
	}
	while ((answer == EROFS || answer == EACCES) && (item = readdir(dir)) != NULL) {
		const bool is_directory = item->d_type == DT_DIR;
		int fd, one;

		/* binfmt_misc: to look into it would mount it. */
		if (item->d_name[0] == '.' || (is_directory && depth == SETTINGS_DEPTH) ||
		    strcmp(item->d_name, "binfmt_misc") == 0)
			continue;
		fd = openat(dirfd(dir), item->d_name,
			    (is_directory ? O_RDONLY | O_DIRECTORY : O_WRONLY | O_NONBLOCK) | O_CLOEXEC);
		one = fd >= 0 && is_directory ? open_any(fd, depth + 1) : answer_of(fd);
		if (one != EACCES)
			answer = one;
		if (one != EROFS && one != EACCES && !is_directory)
			note("%s", item->d_name);
		if (fd >= 0 && !is_directory)
			close(fd);
	}
	closedir(dir);
	return answer;
}

static int open_any_setting(const struct attempt *self, const struct marks *marks)
{
	const int fd = open(self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? answer_hidden(fd) : open_any(fd, 0);
}

static int lower_oom_score(const struct attempt *self, const struct marks *marks)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	return answer_of(write(fd, "-1", 2));
}

static int list_processes(const struct attempt *self, const struct marks *marks)
{
	DIR *dir = opendir("/proc");
	const struct dirent *item;
	int answer = CLEAN;

	while (dir && (item = readdir(dir)) != NULL) {
		int pid = atoi(item->d_name);

		if (pid > 0 && pid != getpid()) {
			note("process %d is seen", pid);
			answer = REACHED;
		}
	}
	if (dir)
		closedir(dir);
	return dir ? answer : UNTRIED;
}

static int read_kernel_log(const struct attempt *self, const struct marks *marks)
{
	char text[64];

	return answer_of(klogctl(3, text, sizeof(text)));
}

/* Outside it is not read: who reads it takes the messages from the host. */
static int read_kernel_messages(const struct attempt *self, const struct marks *marks)
{
	int fd;
	int answer;

	if (!marks->outside)
		return read_path(self, marks);
	fd = open(self->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	answer = answer_hidden(fd);
	if (fd >= 0)
		close(fd);
	return answer;
}

static int read_environment_of_init(const struct attempt *self, const struct marks *marks)
{
	int answer = read_path(self, marks);

	return answer == EIO ? HIDDEN : answer;
}

#define READONLY "read-only /proc, no privilege over it"
#define MASK     "masked in /proc"
#define NO_SYS   "no sysfs mounted"
#define PID      "pid namespace, hidepid"

#define WRITE(name, file, about, see)                                                                        \
	{                                                                                                    \
		name, "write " about " (what is there already)", "EROFS|hidden", READONLY,                   \
		    .seen = see, .run = write_back, .path = file, .outside = OUTSIDE_PLAIN                   \
	}
#define OPEN(name, file, about, see)                                                                         \
	{                                                                                                    \
		name, "open " about " for writing", "EROFS|hidden", READONLY,                                \
		    .seen = see, .run = open_for_writing, .path = file, .outside = OUTSIDE_PLAIN             \
	}
#define READ(name, file)                                                                                     \
	{                                                                                                    \
		name, "read " file, "hidden|EACCES", MASK, .run = read_path, .path = file,                   \
							   .outside = OUTSIDE_PLAIN                          \
	}
#define WATCH(name, file)                                                                                    \
	{                                                                                                    \
		name, "see " file " change with what goes on", "no-effect", "files over /proc",              \
		    .run = watch_path, .path = file, .outside = OUTSIDE_PLAIN                                \
	}
#define LIST(name, file)                                                                                     \
	{                                                                                                    \
		name, "list " file, "hidden", MASK, .run = list_directory, .path = file,                     \
						    .outside = OUTSIDE_PLAIN                                 \
	}
#define SYS(name, file)                                                                                      \
	{                                                                                                    \
		name, "open " file " for writing", "hidden", NO_SYS,                                         \
		    .allowed = "shows:/sys", .run = open_for_writing, .path = file, .outside = OUTSIDE_PLAIN \
	}

static const struct attempt rows[] = {
	WRITE("write-core-pattern", "/proc/sys/kernel/core_pattern", "core_pattern", "bubblewrap as root"),
	WRITE("write-modprobe", "/proc/sys/kernel/modprobe", "the path of modprobe", NULL),
	WRITE("write-hotplug", "/proc/sys/kernel/hotplug", "the path of the hotplug program", NULL),
	WRITE("write-hostname", "/proc/sys/kernel/hostname", "the hostname", NULL),
	WRITE("write-domainname", "/proc/sys/kernel/domainname", "the domain name", NULL),
	WRITE("write-overcommit", "/proc/sys/vm/overcommit_memory", "overcommit_memory", NULL),
	WRITE("write-panic-on-oom", "/proc/sys/vm/panic_on_oom", "panic_on_oom", NULL),
	WRITE("write-pid-max", "/proc/sys/kernel/pid_max", "pid_max", NULL),
	WRITE("write-aslr", "/proc/sys/kernel/randomize_va_space", "randomize_va_space", NULL),
	WRITE("write-ip-forward", "/proc/sys/net/ipv4/ip_forward", "ip_forward", NULL),
	WRITE("write-user-namespaces", "/proc/sys/user/max_user_namespaces", "the limit of user namespaces",
	      NULL),
	{ "write-any-setting", "open each file of /proc/sys for writing", "EROFS|hidden", READONLY,
	  .run = open_any_setting, .path = "/proc/sys", .outside = OUTSIDE_PLAIN },
	/* What covers it is a device, which nobody may write to in this place. */
	{ "trigger-sysrq", "open /proc/sysrq-trigger for writing", "EROFS|EACCES|hidden", MASK ", Landlock",
	  .seen = "container toolkits", .run = open_for_writing, .path = "/proc/sysrq-trigger",
	  .outside = OUTSIDE_PLAIN },
	OPEN("drop-caches", "/proc/sys/vm/drop_caches", "drop_caches", NULL),
	OPEN("register-binfmt", "/proc/sys/fs/binfmt_misc/register", "binfmt_misc/register",
	     "container toolkits"),
	OPEN("write-uid-map", "/proc/self/uid_map", "its own uid_map", NULL),
	OPEN("write-gid-map", "/proc/self/gid_map", "its own gid_map", NULL),
	OPEN("write-setgroups", "/proc/self/setgroups", "its own setgroups", NULL),
	OPEN("write-own-label", "/proc/self/attr/exec", "the label of what it executes next", NULL),
	OPEN("write-coredump-filter", "/proc/self/coredump_filter", "its own coredump_filter", NULL),
	{ "lower-oom-score", "ask the kernel to spare it when memory is short", "EROFS", READONLY,
	  .run = lower_oom_score, .outside = OUTSIDE_PLAIN },

	READ("read-kcore", "/proc/kcore"),
	READ("read-keys", "/proc/keys"),
	READ("read-key-users", "/proc/key-users"),
	READ("read-timer-list", "/proc/timer_list"),
	READ("read-interrupts", "/proc/interrupts"),
	READ("read-modules", "/proc/modules"),
	READ("read-locks", "/proc/locks"),
	READ("read-kernel-command-line", "/proc/cmdline"),
	READ("read-swaps", "/proc/swaps"),
	READ("read-diskstats", "/proc/diskstats"),
	READ("read-partitions", "/proc/partitions"),
	READ("read-kernel-configuration", "/proc/config.gz"),
	READ("read-page-counts", "/proc/kpagecount"),
	READ("read-page-flags", "/proc/kpageflags"),
	READ("read-page-cgroups", "/proc/kpagecgroup"),
	READ("read-latency-stats", "/proc/latency_stats"),
	READ("read-sched-debug", "/proc/sched_debug"),
	READ("read-softirqs", "/proc/softirqs"),
	READ("read-free-pages", "/proc/buddyinfo"),
	READ("read-zones", "/proc/zoneinfo"),
	READ("read-slabs", "/proc/slabinfo"),
	LIST("list-pressure", "/proc/pressure"),
	LIST("list-file-systems-of-the-host", "/proc/fs"),
	WATCH("watch-processors", "/proc/stat"),
	WATCH("watch-pages", "/proc/vmstat"),
	WATCH("watch-memory", "/proc/meminfo"),
	WATCH("watch-open-files", "/proc/sys/fs/file-nr"),
	WATCH("watch-inodes", "/proc/sys/fs/inode-nr"),
	WATCH("watch-inode-state", "/proc/sys/fs/inode-state"),
	WATCH("watch-names", "/proc/sys/fs/dentry-state"),
	{ "know-the-boot", "know by boot_id that two jails are on one host", "clean", "files over /proc",
	  .run = read_boot_id, .outside = OUTSIDE_PLAIN },
	{ "read-kernel-addresses", "read /proc/kallsyms", "hidden", MASK,
	  .seen = "bubblewrap, nsjail, isolate", .run = read_addresses, .outside = OUTSIDE_PLAIN },
	{ "read-kernel-messages", "read /proc/kmsg", "hidden|EACCES", MASK, .run = read_kernel_messages,
	  .path = "/proc/kmsg", .outside = OUTSIDE_PLAIN },
	LIST("list-sound", "/proc/asound"),
	LIST("list-acpi", "/proc/acpi"),
	LIST("list-scsi", "/proc/scsi"),
	LIST("list-bus", "/proc/bus"),
	LIST("list-irq", "/proc/irq"),
	LIST("list-driver", "/proc/driver"),
	{ "read-kernel-log", "read the kernel's log by syslog", "EPERM", "seccomp filter",
	  .run = read_kernel_log, .outside = OUTSIDE_PLAIN },

	{ "list-processes", "find other processes in /proc", "clean", PID, .run = list_processes,
	  .outside = OUTSIDE_PLAIN },
	{ "read-init-environment", "read /proc/1/environ", "hidden", PID, .run = read_environment_of_init,
	  .path = "/proc/1/environ", .outside = OUTSIDE_PLAIN },
	{ "read-init-arguments", "read /proc/1/cmdline", "hidden", PID, .run = read_path,
	  .path = "/proc/1/cmdline", .outside = OUTSIDE_PLAIN },
	{ "read-init-maps", "read /proc/1/maps", "hidden", PID, .run = read_path, .path = "/proc/1/maps",
	  .outside = OUTSIDE_PLAIN },
	{ "write-init-memory", "open /proc/1/mem for writing", "hidden", PID,
	  .seen = "runc's default: readable", .run = open_for_writing, .path = "/proc/1/mem",
	  .outside = OUTSIDE_PLAIN },

	SYS("write-uevent-helper", "/sys/kernel/uevent_helper"),
	SYS("write-power-state", "/sys/power/state"),
	SYS("write-hugepage-setting", "/sys/kernel/mm/transparent_hugepage/enabled"),
	SYS("write-ksm", "/sys/kernel/mm/ksm/run"),
	SYS("write-device-rescan", "/sys/bus/pci/rescan"),
	SYS("write-own-cgroup", "/sys/fs/cgroup/cgroup.procs"),
	SYS("write-unified-cgroup", "/sys/fs/cgroup/unified/cgroup.procs"),
	{ "read-firmware", "list /sys/firmware", "hidden", NO_SYS, .allowed = "shows:/sys",
	  .run = list_directory, .path = "/sys/firmware", .outside = OUTSIDE_PLAIN },
	{ "read-tracing", "list /sys/kernel/debug", "hidden", NO_SYS, .allowed = "shows:/sys",
	  .run = list_directory, .path = "/sys/kernel/debug", .outside = OUTSIDE_PLAIN },
};

const struct attempt_group knobs_group = GROUP("knobs", rows);
