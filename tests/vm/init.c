/*
 * init: pid 1 of a throw-away guest in which tests run. Started by uml.sh or qemu.sh, never on a host.
 *
 * The guest boots from a root that holds this program as /init, the files /command (a shell script) and /directory
 * (where it runs), and in /modules what the kernel still has to load; under User-mode Linux that root is a scratch
 * directory of the host (hostfs), in qemu an initramfs. What the command sees as / is the host's, read-only,
 * below a tmpfs overlay: writes vanish. Only its directory is the host's own, read-write. /tmp, /srv, /run and
 * /dev are the guest's; /sys/fs/cgroup is a pure cgroup v2 hierarchy with every controller handed down to its
 * children, or has hierarchies of v1 alone.
 *
 * Streams: the command writes into pipes, which are copied here to two lines that lead to the host, so that it
 * never sees a terminal. At its end everything that still runs is killed before the last bytes are drained. Its
 * exit status, in decimal, goes last; it is absent if the guest died.
 *
 * Settings come from the kernel's command line by way of this process's environment: WARDER_TEST_GUEST (which row
 * of `guests`), WARDER_TEST_SLOW (passed on), and if given WARDER_CGROUP (v1 or v2), WARDER_CLOCK (seconds since
 * 1970) and WARDER_MODULES (a directory of the host to be seen at /lib/modules).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/time.h>
#include <termios.h>
#include <unistd.h>

#define ROOT     "/stage/root"
#define TEXT_MAX 65536

enum { OUT, ERR };

static const char *setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value ? value : otherwise;
}

static int is_v1(void)
{
	return strcmp(setting("WARDER_CGROUP", "v2"), "v1") == 0;
}

static _Noreturn void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

/* What must not fail: say so on the console, which uml.sh shows when there is no status. */
static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "guest init: %s: %s\n", what, strerror(errno));
	power_off();
}

static const struct guest_type {
	const char *name;
	const char *share;         /* the file system of folders of the host */
	const char *root, *folder; /* what it calls / and the command's directory; NULL: by their paths */
	const char *lines[2];      /* lead to the host: standard output, standard error */
	const char *status;        /* so does this; a name without a slash is a file of the boot root */
	const char *disks[2];      /* ext4 for /tmp and /srv; NULL: tmpfs */
} guests[] = {
	{ .name = "uml", .share = "hostfs", .lines = { "/dev/ttyS0", "/dev/ttyS1" }, .status = "status" },
	{ .name = "qemu",
	  .share = "virtiofs",
	  .root = "root",
	  .folder = "shared",
	  .lines = { "/dev/vport0p1", "/dev/vport0p2" },
	  .status = "/dev/vport0p3",
	  .disks = { "/dev/vda", "/dev/vdb" } },
};

static const struct guest_mount {
	const char *type, *target, *source, *options;
	unsigned long flags;
	int optional; /* the guest is of use without it */
	int disk;     /* ext4 on this disk of the guest's, from 1, if it has one */
} mounts[] = {
	{ .type = "overlay",
	  .target = ROOT,
	  .options = "lowerdir=/stage/lower,upperdir=/stage/upper,workdir=/stage/work" },
	{ .type = "devtmpfs", .target = ROOT "/dev" },
	{ .type = "devpts", .target = ROOT "/dev/pts", .options = "mode=0620,ptmxmode=0666" },
	{ .type = "tmpfs", .target = ROOT "/dev/shm", .options = "mode=1777", .flags = MS_NOSUID | MS_NODEV },
	{ .type = "mqueue", .target = ROOT "/dev/mqueue", .optional = 1 },
	{ .type = "proc", .target = ROOT "/proc", .flags = MS_NOSUID | MS_NODEV | MS_NOEXEC },
	{ .type = "sysfs", .target = ROOT "/sys", .flags = MS_NOSUID | MS_NODEV | MS_NOEXEC },
	{ .type = "securityfs", .target = ROOT "/sys/kernel/security", .optional = 1 },
	{ .type = "debugfs", .target = ROOT "/sys/kernel/debug", .optional = 1 },
	{ .type = "tmpfs",
	  .target = ROOT "/tmp",
	  .options = "mode=1777",
	  .flags = MS_NOSUID | MS_NODEV,
	  .disk = 1 },
	/* The overlay has no idmapped mounts, and over hostfs no owners: tests share /srv with jails. */
	{ .type = "tmpfs",
	  .target = ROOT "/srv",
	  .options = "mode=0755",
	  .flags = MS_NOSUID | MS_NODEV,
	  .disk = 2 },
	{ .type = "tmpfs", .target = ROOT "/run", .options = "mode=0755", .flags = MS_NOSUID | MS_NODEV },
};

static const struct guest_link {
	const char *target, *path;
} links[] = {
	{ "/proc/self/fd", "/dev/fd" },
	{ "fd/0", "/dev/stdin" },
	{ "fd/1", "/dev/stdout" },
	{ "fd/2", "/dev/stderr" },
};

static void make_directories(const char *path)
{
	char part[PATH_MAX];

	for (size_t i = 1; i < sizeof(part) && path[i - 1]; i++) {
		if (path[i] != '/' && path[i])
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		mkdir(part, 0755);
	}
}

/* Where WARDER_CGROUP says v1: one hierarchy for each row, and none of v2. */
static const char *const hierarchies[] = {
	"cpu,cpuacct", "cpuset", "memory", "pids", "freezer", "devices", "blkio",
};

static void mount_cgroups(void)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	const char *top = ROOT "/sys/fs/cgroup";
	char path[128];

	if (!is_v1()) {
		need(mount("cgroup2", top, "cgroup2", flags, "nsdelegate,memory_recursiveprot") == 0, top);
		return;
	}
	need(mount("cgroups", top, "tmpfs", flags, "mode=0755") == 0, top);
	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", top, hierarchies[i]);
		make_directories(path);
		need(mount("cgroup", path, "cgroup", flags, hierarchies[i]) == 0, path);
	}
}

/* Devices come up when it suits the kernel. */
static void wait_for(const char *path)
{
	for (int tries = 0; tries < 3000 && access(path, F_OK) < 0; tries++)
		usleep(10000);
}

static void mount_disk(const struct guest_mount *m, const char *disk)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), ROOT "%s", disk);
	wait_for(path);
	need(mount(path, m->target, "ext4", m->flags, NULL) == 0, disk);
	need(chmod(m->target, strstr(m->options, "1777") ? 01777 : 0755) == 0, m->target);
	snprintf(path, sizeof(path), "%s/lost+found", m->target);
	rmdir(path);
}

/* A folder of the host. */
static void mount_share(const struct guest_type *guest, const char *name, const char *path,
			const char *target, unsigned long flags)
{
	make_directories(target);
	need(mount(name ? name : "shared", target, guest->share, flags, name ? NULL : path) == 0, target);
}

static void mount_all(const struct guest_type *guest)
{
	make_directories("/stage");
	need(mount("stage", "/stage", "tmpfs", 0, "mode=0755") == 0, "/stage");
	mkdir("/stage/upper", 0755);
	mkdir("/stage/work", 0755);
	mount_share(guest, guest->root, "/", "/stage/lower", MS_RDONLY);
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		const struct guest_mount *m = &mounts[i];

		make_directories(m->target);
		if (m->disk && guest->disks[m->disk - 1])
			mount_disk(m, guest->disks[m->disk - 1]);
		else
			need(mount(m->type, m->target, m->type, m->flags, m->options) == 0 || m->optional,
			     m->target);
	}
	mount_cgroups();
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), ROOT "%s", links[i].path);
		need(symlink(links[i].target, path) == 0 || errno == EEXIST, path);
	}
}

/* The command's directory, writable at the path that it has on the host. */
static void share_directory(const struct guest_type *guest, const char *directory)
{
	char target[PATH_MAX];

	need(snprintf(target, sizeof(target), ROOT "%s", directory) < (int)sizeof(target), "directory");
	mount_share(guest, guest->folder, directory, target, 0);
}

/* The modules of the guest's kernel, where modprobe looks. */
static void share_modules(const char *directory)
{
	char source[PATH_MAX];

	if (!directory)
		return;
	snprintf(source, sizeof(source), "/stage/lower%s", directory);
	make_directories(ROOT "/lib/modules");
	need(mount(source, ROOT "/lib/modules", NULL, MS_BIND, NULL) == 0, directory);
}

/* An initramfs cannot be pivoted away from; the new root goes on top of it. */
static void enter_root(void)
{
	need(chdir(ROOT) == 0, ROOT);
	if (syscall(SYS_pivot_root, ".", ".") == 0)
		need(umount2(".", MNT_DETACH) == 0, "detach the boot root");
	else
		need(mount(".", "/", NULL, MS_MOVE, NULL) == 0 && chroot(".") == 0, "move the root");
	need(chdir("/") == 0, "/");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_module(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void load_modules(void)
{
	struct dirent **entries;
	int count = scandir("/modules", &entries, is_module, by_name);

	for (int i = 0; i < count; i++) {
		char path[sizeof("/modules/") + NAME_MAX];
		int fd;

		snprintf(path, sizeof(path), "/modules/%s", entries[i]->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		need(fd >= 0 && (syscall(SYS_finit_module, fd, "", 0) == 0 || errno == EEXIST), path);
		close(fd);
		free(entries[i]);
	}
}

static void set_clock(const char *seconds)
{
	struct timeval now = { .tv_sec = seconds ? atol(seconds) : 0 };

	need(!seconds || settimeofday(&now, NULL) == 0, "clock");
}

static size_t read_text(int dir_fd, const char *name, char *ret, size_t size)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	size_t len = 0;

	need(fd >= 0, name);
	while (len < size - 1 && (n = read(fd, ret + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	ret[len] = 0;
	return len;
}

/* A network namespace holds nothing but loopback, as on a host without tunnels. */
static void no_fallback_tunnels(void)
{
	int fd = open("/proc/sys/net/core/fb_tunnels_only_for_init_net", O_WRONLY | O_CLOEXEC);

	need(fd >= 0 && write(fd, "2", 1) == 1, "fb_tunnels_only_for_init_net");
	close(fd);
}

/* Every controller that the kernel has is handed down to the children of the top. */
static void enable_controllers(void)
{
	char list[512];
	int dir_fd = open("/sys/fs/cgroup", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (is_v1()) {
		close(dir_fd);
		return;
	}
	need(dir_fd >= 0, "/sys/fs/cgroup");
	read_text(dir_fd, "cgroup.controllers", list, sizeof(list));
	for (char *at = NULL, *word = strtok_r(list, " \n", &at); word; word = strtok_r(NULL, " \n", &at)) {
		int fd = openat(dir_fd, "cgroup.subtree_control", O_WRONLY | O_CLOEXEC);

		need(fd >= 0 && dprintf(fd, "+%s", word) > 0, word);
		close(fd);
	}
	close(dir_fd);
}

static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	need(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0, "lo");
	close(fd);
}

static int open_line(const char *path)
{
	struct termios mode;
	int fd;

	wait_for(path);
	fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	need(fd >= 0, path);
	if (isatty(fd)) {
		need(tcgetattr(fd, &mode) == 0, path);
		cfmakeraw(&mode);
		need(tcsetattr(fd, TCSANOW, &mode) == 0, path);
	}
	return fd;
}

static _Noreturn void run_command(const struct guest_type *guest, const char *command, const char *directory,
				  int out_fd, int err_fd)
{
	static char kind[64];
	static char slow[64];
	char *const argv[] = { "sh", "-c", (char *)command, NULL };
	char *const envp[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			       "HOME=/root",
			       "LANG=C.UTF-8",
			       "TERM=xterm",
			       kind,
			       slow,
			       NULL };
	sigset_t none;
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	snprintf(kind, sizeof(kind), "WARDER_TEST_GUEST=%s", guest->name);
	snprintf(slow, sizeof(slow), "WARDER_TEST_SLOW=%s", setting("WARDER_TEST_SLOW", "1"));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (dup2(null_fd, 0) == 0 && dup2(out_fd, 1) == 1 && dup2(err_fd, 2) == 2 && chdir(directory) == 0)
		execve("/bin/sh", argv, envp);
	_exit(127);
}

/* Pass on what there is. False at the end of the stream. */
static int copy(int from, int to)
{
	char bytes[4096];
	ssize_t n = read(from, bytes, sizeof(bytes));

	for (ssize_t done = 0; done < n;) {
		ssize_t w = write(to, bytes + done, (size_t)(n - done));

		if (w < 0)
			return 0;
		done += w;
	}
	return n > 0;
}

/* Reap; when the command is among the dead, store its status and kill all that is left. */
static void reap(pid_t command, int *ret_status)
{
	int wait_status;
	pid_t pid;

	while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
		if (pid != command)
			continue;
		*ret_status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
		kill(-1, SIGKILL);
	}
}

static int supervise(pid_t command, int pipes[2][2], const int lines[2], int signal_fd)
{
	struct pollfd fds[3] = { { .fd = pipes[OUT][0], .events = POLLIN },
				 { .fd = pipes[ERR][0], .events = POLLIN },
				 { .fd = signal_fd, .events = POLLIN } };
	struct signalfd_siginfo info;
	int status = -1;

	while (fds[OUT].fd >= 0 || fds[ERR].fd >= 0 || status < 0) {
		if (poll(fds, 3, -1) < 0)
			continue;
		for (int i = OUT; i <= ERR; i++)
			if (fds[i].revents && !copy(fds[i].fd, lines[i]))
				fds[i].fd = -1;
		if (fds[2].revents && read(signal_fd, &info, sizeof(info)) > 0)
			reap(command, &status);
	}
	return status;
}

/* A file is on disk before the guest goes; a line has taken what was written. */
static void report(const struct guest_type *guest, int boot_fd, int status)
{
	int is_line = guest->status[0] == '/';
	int fd;

	if (is_line)
		wait_for(guest->status);
	fd = openat(boot_fd, guest->status, O_WRONLY | O_CLOEXEC | (is_line ? 0 : O_CREAT | O_TRUNC), 0644);

	need(fd >= 0 && dprintf(fd, "%d\n", status) > 0 && (is_line || fsync(fd) == 0), guest->status);
	close(fd);
}

static const struct guest_type *find_guest(void)
{
	const char *name = setting("WARDER_TEST_GUEST", "");

	for (size_t i = 0; i < sizeof(guests) / sizeof(guests[0]); i++)
		if (strcmp(guests[i].name, name) == 0)
			return &guests[i];
	errno = EINVAL;
	need(0, "WARDER_TEST_GUEST");
	return NULL;
}

int main(void)
{
	static char command[TEXT_MAX];
	static char directory[PATH_MAX - sizeof(ROOT)];
	const struct guest_type *guest = find_guest();
	int lines[2];
	int pipes[2][2];
	sigset_t child;
	int signal_fd;
	int boot_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid;
	int status;

	need(boot_fd >= 0, "/");
	read_text(boot_fd, "command", command, sizeof(command));
	read_text(boot_fd, "directory", directory, sizeof(directory));
	directory[strcspn(directory, "\n")] = 0;
	load_modules();
	set_clock(getenv("WARDER_CLOCK"));
	mount_all(guest);
	share_directory(guest, directory);
	share_modules(getenv("WARDER_MODULES"));
	enter_root();
	enable_controllers();
	no_fallback_tunnels();
	loopback_up();
	need(sethostname("guest", 5) == 0, "hostname");
	for (int i = OUT; i <= ERR; i++)
		lines[i] = open_line(guest->lines[i]);
	need(pipe2(pipes[OUT], O_CLOEXEC) == 0 && pipe2(pipes[ERR], O_CLOEXEC) == 0, "pipe");
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	need(signal_fd >= 0, "signalfd");

	pid = fork();
	need(pid >= 0, "fork");
	if (pid == 0)
		run_command(guest, command, directory, pipes[OUT][1], pipes[ERR][1]);
	close(pipes[OUT][1]);
	close(pipes[ERR][1]);
	status = supervise(pid, pipes, lines, signal_fd);
	tcdrain(lines[OUT]);
	tcdrain(lines[ERR]);
	report(guest, boot_fd, status);
	power_off();
}
