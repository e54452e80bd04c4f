/*
 * init: pid 1 of a throw-away User-mode Linux guest in which tests run. Started by uml.sh, never on a host.
 *
 * The guest boots from a scratch directory of the host (hostfs) that holds this program as /init, the files
 * /command (a shell script) and /directory (where it runs), and after the end /status (its exit status, in
 * decimal; absent if the guest died). What the command sees as / is the host's, read-only, below a tmpfs
 * overlay: writes vanish. Only its directory is the host's own, read-write. /tmp, /srv, /run and /dev are
 * the guest's; /sys/fs/cgroup is a pure cgroup v2 hierarchy with every controller handed down to its
 * children.
 *
 * Streams: the command writes into pipes, which are copied here to the serial lines ttyS0 and ttyS1, so that
 * it never sees a terminal. At its end everything that still runs is killed before the last bytes are
 * drained.
 */
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
#include <termios.h>
#include <unistd.h>

#define ROOT     "/stage/root"
#define TEXT_MAX 65536

enum { OUT, ERR };

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

static const struct guest_mount {
	const char *type, *target, *source, *options;
	unsigned long flags;
	int optional; /* the guest is of use without it */
} mounts[] = {
	{ .type = "tmpfs", .target = "/stage", .options = "mode=0755" },
	{ .type = "hostfs", .target = "/stage/lower", .options = "/", .flags = MS_RDONLY },
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
	{ .type = "cgroup2",
	  .target = ROOT "/sys/fs/cgroup",
	  .options = "nsdelegate,memory_recursiveprot",
	  .flags = MS_NOSUID | MS_NODEV | MS_NOEXEC },
	{ .type = "tmpfs", .target = ROOT "/tmp", .options = "mode=1777", .flags = MS_NOSUID | MS_NODEV },
	/* An overlay of hostfs has neither idmapped mounts nor owners: tests share /srv with jails. */
	{ .type = "tmpfs", .target = ROOT "/srv", .options = "mode=0755", .flags = MS_NOSUID | MS_NODEV },
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

static void mount_all(void)
{
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		const struct guest_mount *m = &mounts[i];

		make_directories(m->target);
		need(mount(m->type, m->target, m->type, m->flags, m->options) == 0 || m->optional, m->target);
		if (i == 0) {
			mkdir("/stage/upper", 0755);
			mkdir("/stage/work", 0755);
		}
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), ROOT "%s", links[i].path);
		need(symlink(links[i].target, path) == 0 || errno == EEXIST, path);
	}
}

/* The command's directory, writable at the path that it has on the host. */
static void share_directory(const char *directory)
{
	char target[PATH_MAX];

	need(snprintf(target, sizeof(target), ROOT "%s", directory) < (int)sizeof(target), "directory");
	make_directories(target);
	need(mount("shared", target, "hostfs", 0, directory) == 0, target);
}

static void enter_root(void)
{
	need(chdir(ROOT) == 0, ROOT);
	need(syscall(SYS_pivot_root, ".", ".") == 0, "pivot_root");
	need(umount2(".", MNT_DETACH) == 0, "detach the boot root");
	need(chdir("/") == 0, "/");
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
	int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);

	need(fd >= 0 && tcgetattr(fd, &mode) == 0, path);
	cfmakeraw(&mode);
	need(tcsetattr(fd, TCSANOW, &mode) == 0, path);
	return fd;
}

static _Noreturn void run_command(const char *command, const char *directory, int out_fd, int err_fd)
{
	char *const argv[] = { "sh", "-c", (char *)command, NULL };
	char *const envp[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			       "HOME=/root",
			       "LANG=C.UTF-8",
			       "TERM=xterm",
			       "WARDER_TEST_GUEST=uml",
			       NULL };
	sigset_t none;
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

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

static void report(int boot_fd, int status)
{
	int fd = openat(boot_fd, "status", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	need(fd >= 0 && dprintf(fd, "%d\n", status) > 0 && fsync(fd) == 0, "status");
	close(fd);
}

int main(void)
{
	static char command[TEXT_MAX];
	static char directory[PATH_MAX - sizeof(ROOT)];
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
	mount_all();
	share_directory(directory);
	enter_root();
	enable_controllers();
	no_fallback_tunnels();
	loopback_up();
	need(sethostname("guest", 5) == 0, "hostname");
	lines[OUT] = open_line("/dev/ttyS0");
	lines[ERR] = open_line("/dev/ttyS1");
	need(pipe2(pipes[OUT], O_CLOEXEC) == 0 && pipe2(pipes[ERR], O_CLOEXEC) == 0, "pipe");
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	need(signal_fd >= 0, "signalfd");

	pid = fork();
	need(pid >= 0, "fork");
	if (pid == 0)
		run_command(command, directory, pipes[OUT][1], pipes[ERR][1]);
	close(pipes[OUT][1]);
	close(pipes[ERR][1]);
	status = supervise(pid, pipes, lines, signal_fd);
	tcdrain(lines[OUT]);
	tcdrain(lines[ERR]);
	report(boot_fd, status);
	power_off();
}
