/*
 * What an engine needs around it, and what happens in the container once it runs. An engine is a command that leaves processes, storage and
 * locks behind, some of them where every engine of the host has its own: here it has a host of its own, for the time of one container.
 *
 *   monitor                                                        container
 *   layout_make(): the host read-only, the plan's parts apart
 *   the plan's root put together; a bare root with init and a door
 *   tmpfs where engines have their books
 *   (a daemon, an empty image)
 *   ENGINE run --detach                                       --->  init: connects to the door, and waits
 *   the plan's root takes the place of the bare one
 *   (the daemon is killed)
 *   init's descriptors, through the door                      --->  goes on as in any container
 *
 * Who init is, is told by the kernel (the credentials of its connection), not by the engine. Nothing of the program's passes
 * through the engine: neither its streams, which are the supervisor's own pipes, nor its end. So a daemon has nothing to do any more when
 * the program begins, and it would delete the container if a process between the two were killed: it goes before. Nobody has to be
 * asked to delete the container: the engine's processes, its books and the container itself end with the monitor.
 *
 * Only system calls are made, as in all of the monitor.
 */
#include "backends/container/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/container/bundle.h"
#include "base/array.h"
#include "base/child.h"
#include "base/fd.h"

#define DOOR_TIMEOUT_MS   10000
#define DAEMON_TIMEOUT_MS 20000
#define DAEMON_PAUSE_MS   10
#define ENGINE_DAEMON_LOG LAYOUT_DIR "/daemon-log"

/* linux/mount.h and linux/openat2.h, which some libc's own headers cannot stand beside. */
#define TREE_CLONE     1u      /* OPEN_TREE_CLONE */
#define TREE_RECURSIVE 0x8000u /* AT_RECURSIVE */
#define MOVE_FROM_FD   0x04u   /* MOVE_MOUNT_F_EMPTY_PATH */
#define MOVE_TO_FD     0x40u   /* MOVE_MOUNT_T_EMPTY_PATH */
#define RESOLVE_INSIDE 0x10u   /* RESOLVE_IN_ROOT */
#define ATTR_READ_ONLY 1u      /* MOUNT_ATTR_RDONLY */

struct work {
	const struct engine_task *task;
	struct layout *layout;
	const struct jail_start *start;
	int socket; /* readable with the supervisor's end */
	int door;   /* listens */
	int root;   /* the plan's, a detached tree */
	int daemon; /* a pidfd */
	int client; /* init's connection */
	int init_pid;
	int init_fd;
};

/* ---- the engine's surroundings ---- */

static int write_text(struct work *work, const char *path, const char *text, mode_t mode)
{
	const size_t len = strlen(text);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	ssize_t n = fd < 0 ? -1 : write(fd, text, len);

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)len ? 0 : layout_fail(work->layout, path);
}

static int mount_books(struct work *work, const char *path, const char *options)
{
	return mount("engine", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0
		   ? 0
		   : layout_fail(work->layout, path);
}

/* Where engines of the host have their locks, their storage and their settings: an empty place for each, of this one. */
static int hide_books(struct work *work)
{
	static const char *const directories[] = { "/run", "/dev/shm", "/var/lib/containers", "/var/tmp",
						   "/etc/containers" };

	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
		struct stat st;

		/* A link (/var/run, /dev/shm) leads to a place that is hidden, or is in the row itself. */
		if (lstat(directories[i], &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		if (mount_books(work, directories[i], "mode=0755,size=4m") < 0)
			return -1;
	}
	return mount_books(work, ENGINE_BOOKS, "mode=0711,size=64m");
}

/* A host on which the ids of the run are somebody's. */
static int make_users(struct work *work)
{
	const struct engine_task *task = work->task;

	if (!task->users[0])
		return 0;
	if (mount_books(work, "/etc", "mode=0755,size=1m") < 0 ||
	    write_text(work, "/etc/passwd", task->users, 0644) < 0 ||
	    write_text(work, "/etc/group", task->users, 0644) < 0 ||
	    write_text(work, "/etc/subuid", task->ids, 0644) < 0)
		return -1;
	return write_text(work, "/etc/subgid", task->ids, 0644);
}

/* An archive without members is two blocks of zeros. */
static int make_image(struct work *work)
{
	int fd = open(ENGINE_IMAGE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	const int ret = fd < 0 ? -1 : ftruncate(fd, 1024);

	if (fd >= 0)
		close(fd);
	return ret == 0 ? 0 : layout_fail(work->layout, ENGINE_IMAGE);
}

static int copy_init(struct work *work)
{
	const int from = work->start->fds[work->start->image_number];
	const off_t size = lseek(from, 0, SEEK_END);
	int to = open(ENGINE_BARE ENGINE_INIT, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	off_t at = 0;

	while (to >= 0 && at < size && sendfile(to, from, &at, (size_t)(size - at)) > 0)
		;
	if (to >= 0)
		close(to);
	return to >= 0 && at == size ? 0 : layout_fail(work->layout, ENGINE_BARE ENGINE_INIT);
}

/* What an engine or its runtime wants to find in any root, and init. */
static int lay_bare(struct work *work)
{
	static const char *const directories[] = {
		ENGINE_BOOKS,        ENGINE_EMPTY,       ENGINE_EMPTY "/fs", ENGINE_EMPTY "/fs/cgroup",
		ENGINE_BARE,         ENGINE_BARE "/dev", ENGINE_BARE "/etc", ENGINE_BARE "/plan",
		ENGINE_BARE "/proc", ENGINE_BARE "/run", ENGINE_BARE "/sys",
	};
	static const char *const files[] = {
		ENGINE_BARE "/etc/group",  ENGINE_BARE "/etc/hostname",    ENGINE_BARE "/etc/hosts",
		ENGINE_BARE "/etc/passwd", ENGINE_BARE "/etc/resolv.conf", ENGINE_BARE "/run/.containerenv",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++)
		if (mkdir(directories[i], 0755) < 0)
			return layout_fail(work->layout, directories[i]);
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++)
		if (write_text(work, files[i], "", 0644) < 0)
			return -1;
	if (write_text(work, ENGINE_SETTINGS, work->task->settings, 0600) < 0 ||
	    write_text(work, ENGINE_PROFILE, work->task->profile, 0600) < 0)
		return -1;
	return make_image(work) < 0 ? -1 : copy_init(work);
}

static int open_door(struct work *work)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = ENGINE_BARE };
	const size_t base = sizeof(ENGINE_BARE) - 1;

	memcpy(address.sun_path + base, work->start->door, strlen(work->start->door) + 1);
	work->door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (work->door < 0 || bind(work->door, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(address.sun_path, 0666) < 0 || listen(work->door, 1) < 0)
		return layout_fail(work->layout, "init's door");
	return 0;
}

/* ---- the plan's root ---- */

static int put_mount(struct work *work, int root_fd, const char *from, const char *target)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_INSIDE };
	int to = (int)syscall(SYS_openat2, root_fd, target, &how, sizeof(how));
	long ret = to < 0 ? -1 : syscall(SYS_move_mount, AT_FDCWD, from, to, "", MOVE_TO_FD);

	if (ret < 0)
		layout_fail(work->layout, target);
	if (to >= 0)
		close(to);
	return (int)ret;
}

static int put_binds(struct work *work, int root_fd)
{
	const struct rootfs *rootfs = &work->start->plan->rootfs;
	char from[sizeof(LAYOUT_BINDS) + 24] = LAYOUT_BINDS "/";

	if (put_mount(work, root_fd, LAYOUT_TMP, "/tmp") < 0)
		return -1; /* first: some lie below it */
	for (size_t i = 0; i < rootfs->count; i++) {
		if (rootfs->entries[i].kind != ROOTFS_BIND)
			continue;
		layout_number(from + sizeof(LAYOUT_BINDS), i);
		if (put_mount(work, root_fd, from, rootfs->entries[i].target) < 0)
			return -1;
	}
	for (size_t i = 0; i < TRUST_COUNT; i++) {
		char trust[sizeof(LAYOUT_TRUST) + 24] = LAYOUT_TRUST;

		layout_number(trust + sizeof(LAYOUT_TRUST) - 1, i);
		if (work->start->trust.files[i].bytes &&
		    put_mount(work, root_fd, trust, trust_path((enum trust_kind)i)) < 0)
			return -1;
	}
	return 0;
}

/* As a tree of its own, with everything in it, read-only where it is the root itself. */
static int take_root(struct work *work)
{
	struct {
		uint64_t set, clear, propagation, userns_fd;
	} attr = { .set = ATTR_READ_ONLY };
	int root_fd = open(LAYOUT_ROOT, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int ret = root_fd < 0 ? layout_fail(work->layout, LAYOUT_ROOT) : put_binds(work, root_fd);

	if (root_fd >= 0)
		close(root_fd);
	if (ret < 0)
		return -1;
	work->root = (int)syscall(SYS_open_tree, AT_FDCWD, LAYOUT_ROOT,
				  TREE_CLONE | TREE_RECURSIVE | (unsigned int)O_CLOEXEC);
	if (work->root < 0 ||
	    syscall(SYS_mount_setattr, work->root, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return layout_fail(work->layout, "the root as a tree");
	return 0;
}

/* What is only not to be written is mounted over itself, the rest by nothing at all. All of it is read back, and so may fail here. */
static void cover(const char *path, bool whole)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
	struct stat st;

	if (lstat(path, &st) < 0)
		return;
	if (!whole)
		mount(path, path, NULL, MS_BIND | MS_REC, NULL);
	else if (S_ISDIR(st.st_mode))
		mount("none", path, "tmpfs", flags, "size=4k,mode=555");
	else
		mount("/dev/null", path, NULL, MS_BIND, NULL);
}

/* In the place of the engine's devpts, which has no limit. The kernel takes max=0 for "no limit". */
static int limit_terminals(unsigned int terminals)
{
	char options[64];

	umount2("/dev/pts", MNT_DETACH);
	if (!terminals) {
		unlink("/dev/ptmx");
		rmdir("/dev/pts");
		return 0;
	}
	snprintf(options, sizeof(options), "newinstance,ptmxmode=0666,mode=0620,max=%u", terminals);
	return mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, options);
}

/* One device file system for all who are root inside: small, and without programs. */
static int tighten(const struct jail_plan *plan)
{
	const unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NOEXEC;
	const char *path;
	bool whole;

	/* What engines put into /dev besides. */
	umount2("/dev/mqueue", MNT_DETACH);
	rmdir("/dev/mqueue");
	unlink("/dev/core");
	if (limit_terminals(plan->rootfs.terminals) < 0 ||
	    mount(NULL, "/dev", NULL, MS_REMOUNT | MS_NOSUID | MS_NOEXEC, "mode=755,size=64k") < 0 ||
	    mount(NULL, "/dev", NULL, flags, NULL) < 0 ||
	    mount(NULL, "/proc", NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2") < 0)
		return -1;
	for (size_t i = 0; (path = jail_start_masked(i, &whole)); i++)
		cover(path, whole);
	for (size_t i = 0; (path = bundle_loose(i)); i++)
		mount(NULL, path, NULL, flags | MS_RDONLY, NULL);
	return mount(NULL, "/proc", NULL, flags | MS_NODEV | MS_RDONLY, NULL);
}

/* A network namespace that an engine made has its loopback up. */
static int lower_loopback(int ns_fd)
{
	struct ifreq address = { .ifr_name = "lo", .ifr_addr = { .sa_family = AF_INET } };
	struct ifreq flags = { .ifr_name = "lo" };
	int fd = setns(ns_fd, CLONE_NEWNET) < 0 ? -1 : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* Without its address as well, which else stays in the table of the namespace. */
	const int ret = fd < 0 || ioctl(fd, SIOCSIFADDR, &address) < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &flags);

	if (fd >= 0)
		close(fd);
	return ret;
}

/* In the container's namespaces, whose owner is a child of our user namespace. */
static _Noreturn void swap_main(const struct work *work, int mount_fd, int network_fd)
{
	const struct jail_plan *plan = work->start->plan;

	if ((plan->namespaces & CLONE_NEWNET) && !plan->loopback_up && lower_loopback(network_fd) < 0)
		layout_leave(errno);
	if (setns(mount_fd, CLONE_NEWNS) < 0 ||
	    syscall(SYS_move_mount, work->root, "", AT_FDCWD, ENGINE_PLAN, MOVE_FROM_FD) < 0 ||
	    mount("/proc", ENGINE_PLAN "/proc", NULL, MS_MOVE, NULL) < 0 ||
	    mount("/dev", ENGINE_PLAN "/dev", NULL, MS_MOVE, NULL) < 0 || chdir(ENGINE_PLAN) < 0 ||
	    syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0 ||
	    tighten(plan) < 0)
		layout_leave(errno);
	layout_leave(0);
}

/* Its namespace i, as /proc/<pid>/ns has it. */
static int open_namespace(const struct work *work, const char *name)
{
	char path[48] = "/proc/";
	const size_t len = 6 + layout_number(path + 6, (size_t)work->init_pid);

	memcpy(path + len, name, strlen(name) + 1);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int swap_root(struct work *work)
{
	int mount_fd = open_namespace(work, "/ns/mnt");
	int network_fd = open_namespace(work, "/ns/net");
	const int pid = mount_fd < 0 || network_fd < 0 ? -1 : (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	int status = 0;

	if (pid == 0)
		swap_main(work, mount_fd, network_fd);
	if (pid > 0 && child_wait(pid, CHILD_PATIENCE_MS, &status) != CHILD_ENDED)
		status = ETIMEDOUT << 8;
	if (mount_fd >= 0)
		close(mount_fd);
	if (network_fd >= 0)
		close(network_fd);
	if (pid > 0 && status == 0)
		return 0;
	if (pid > 0)
		errno = WEXITSTATUS(status);
	return layout_fail(work->layout, "the plan's root in the container");
}

/* ---- the engine, init ---- */

static const char *const environment[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=" ENGINE_BOOKS,
	"TMPDIR=" ENGINE_BOOKS,
	"CONTAINERS_CONF=" ENGINE_SETTINGS,
	NULL,
};

struct streams {
	int fds[3];
};

static void close_streams(const struct streams *streams)
{
	for (int i = 0; i < 3; i += 2) /* the first two are one */
		if (streams->fds[i] >= 0)
			close(streams->fds[i]);
}

static int open_streams(struct work *work, const char *log, struct streams *streams)
{
	const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);

	*streams = (struct streams){ { null_fd, null_fd, log_fd } };
	if (null_fd >= 0 && log_fd >= 0)
		return 0;
	layout_fail(work->layout, log);
	close_streams(streams);
	return -1;
}

/* A pidfd. */
static int spawn(struct work *work, const struct engine_line *line)
{
	struct streams streams;
	int pid;
	int ret;

	if (open_streams(work, ENGINE_DAEMON_LOG, &streams) < 0)
		return -1;
	ret = container_monitor_spawn(work->layout, line->words, environment, streams.fds, 3, &pid);
	close_streams(&streams);
	return ret;
}

/* To its end, which is to be a good one. */
static int carry_out(struct work *work, const struct engine_line *line)
{
	struct streams streams;
	int ret;

	if (!line->count)
		return 0;
	if (open_streams(work, LAYOUT_LOG, &streams) < 0)
		return -1;
	ret = container_monitor_run(work->layout, work->socket, line->words, environment, streams.fds, 3);
	close_streams(&streams);
	return ret ? container_monitor_fail_log(work->layout, LAYOUT_LOG, line->words[0], ret) : 0;
}

static bool answers(void)
{
	const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = ENGINE_SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const bool there = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;

	if (fd >= 0)
		close(fd);
	return there;
}

/* It is in the run's own namespace of cgroups, as its containers then are. */
static int enter_cgroup_namespace(struct work *work)
{
	int fd;
	int ret;

	if (!(work->start->plan->namespaces & CLONE_NEWCGROUP))
		return 0;
	fd = open(LAYOUT_CGROUP_NS, O_RDONLY | O_CLOEXEC);
	ret = fd < 0 ? -1 : setns(fd, CLONE_NEWCGROUP);
	if (fd >= 0)
		close(fd);
	return ret == 0 ? 0 : layout_fail(work->layout, "the run's namespace of cgroups");
}

static int start_daemon(struct work *work)
{
	const struct engine_line *line = &work->task->daemon;
	struct pollfd fds[2] = { { .fd = -1, .events = POLLIN }, { .fd = work->socket, .events = POLLIN } };
	int n = 0;

	if (!line->count)
		return 0;
	if (enter_cgroup_namespace(work) < 0)
		return -1;
	work->daemon = spawn(work, line);
	if (work->daemon < 0)
		return -1;
	fds[0].fd = work->daemon;
	for (int waited = 0; n == 0 && waited < DAEMON_TIMEOUT_MS && !answers(); waited += DAEMON_PAUSE_MS) {
		n = poll(fds, 2, DAEMON_PAUSE_MS);
		if (n < 0 && errno == EINTR)
			n = 0;
	}
	errno = ETIMEDOUT;
	if (n)
		return container_monitor_fail_log(work->layout, ENGINE_DAEMON_LOG, "its daemon ended", 0);
	return answers() ? 0 : layout_fail(work->layout, "the engine's daemon");
}

/* With all that it has told to end when it does. */
static int end_daemon(struct work *work)
{
	struct pollfd fd = { .fd = work->daemon, .events = POLLIN };
	int n;

	if (work->daemon < 0)
		return 0;
	syscall(SYS_pidfd_send_signal, work->daemon, SIGKILL, NULL, 0);
	do
		n = poll(&fd, 1, DAEMON_TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	close(work->daemon);
	errno = ETIMEDOUT;
	return n == 1 ? 0 : layout_fail(work->layout, "the end of the engine's daemon");
}

static int meet_init(struct work *work)
{
	struct pollfd fds[2] = { { .fd = work->door, .events = POLLIN },
				 { .fd = work->socket, .events = POLLIN } };
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	int n;

	do
		n = poll(fds, 2, DOOR_TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	errno = ETIMEDOUT;
	work->client = n > 0 && fds[0].revents ? accept4(work->door, NULL, NULL, SOCK_CLOEXEC) : -1;
	if (work->client < 0 || getsockopt(work->client, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return layout_fail(work->layout, "init does not come to its door");
	errno = ESRCH;
	/* It waits for an answer, so that the number is still its own. */
	work->init_pid = peer.pid;
	work->init_fd = peer.pid > 1 ? (int)syscall(SYS_pidfd_open, peer.pid, 0) : -1;
	return work->init_fd >= 0 ? 0 : layout_fail(work->layout, "the container's init");
}

/* In one message, which holds them until init takes it. */
static int give_fds(struct work *work)
{
	return fd_send(work->client, "", 1, work->start->fds, work->start->fd_count, 0) == 0
		   ? 0
		   : layout_fail(work->layout, "init's descriptors");
}

int engine_up(const struct container_monitor_task *task, struct layout *layout, int socket)
{
	struct work work = { .task = task->engine,
			     .layout = layout,
			     .start = layout->start,
			     .socket = socket,
			     .door = -1,
			     .root = -1,
			     .daemon = -1,
			     .client = -1,
			     .init_fd = -1 };

	if (lay_bare(&work) < 0 || open_door(&work) < 0 || take_root(&work) < 0 || hide_books(&work) < 0 ||
	    make_users(&work) < 0)
		return -1;
	if (start_daemon(&work) < 0 || carry_out(&work, &work.task->prepare) < 0 ||
	    carry_out(&work, &work.task->run) < 0)
		return -1;
	if (meet_init(&work) < 0 || swap_root(&work) < 0 || end_daemon(&work) < 0 || give_fds(&work) < 0)
		return -1;
	return work.init_fd;
}
