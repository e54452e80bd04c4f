/*
 * Between clone and exec the child runs in the caller's memory while the calling thread waits. It only makes system calls
 * through jail/inside/sys.h, on a stack of its own, with every signal blocked and every handler reset. The thread waits by a
 * futex, which the kernel clears when the child has left that memory, and not by CLONE_VFORK, which has no time limit: a child
 * that hangs in the kernel keeps what it uses, and the launch fails.
 *
 * An ordinary user's init is born in a user namespace without maps, writes the one map that a process may write for
 * itself, and must keep its capabilities over the exec of a program that is not root's: ambient capabilities do that. One that
 * joins a session enters the session's before the exec, so that its memory belongs to that namespace, whose owner can look at it when it is
 * not dumpable any more.
 */
#include "jail/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hang.h"
#include "jail/cgroup/clone.h"
#include "jail/inside/sys.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

extern const char jail_init_image[];
extern const char jail_init_image_end[];

int spawn_sealed(const char *name, const char *image, const char *end, struct warder_error *err)
{
	const size_t len = (size_t)(end - image);
	owned_fd int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 there was no such flag */
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot make an executable memfd (needs vm.memfd_noexec < 2)");
	if (write(fd, image, len) != (ssize_t)len ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot write and seal the image %s", name);
	return fd_take(&fd);
}

int spawn_image(struct warder_error *err)
{
	return spawn_sealed("warder-init", jail_init_image, jail_init_image_end, err);
}

/* Heap: all that the child uses. */
struct shim {
	struct spawn spawn;
	char stack[CLONE_STACK_BYTES] __attribute__((aligned(16)));
	_Atomic uint32_t tid; /* 0 when the child has executed init, or ended */
	char uid_map[48], gid_map[48];
	long error;
	const char *what;
};

CLONE_BESIDE long spawn_write_self(const char *path, const char *text)
{
	long fd = sys(openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	size_t len = 0;
	long ret;

	if (fd < 0)
		return fd;
	while (text[len])
		len++;
	ret = sys(write, fd, text, len);
	sys(close, fd);
	return ret < 0 ? ret : 0;
}

static CLONE_BESIDE long keep_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	long ret = sys(capget, &header, data);

	if (ret < 0)
		return ret;
	data[0].inheritable = data[0].permitted;
	data[1].inheritable = data[1].permitted;
	ret = sys(capset, &header, data);
	for (int cap = 0; cap < 64 && ret == 0; cap++)
		if (data[cap / 32].permitted & (1u << (cap % 32)))
			ret = sys(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
	return ret;
}

static CLONE_BESIDE long map_ids(struct shim *shim)
{
	long ret;

	shim->what = "/proc/self/setgroups";
	ret = spawn_write_self(shim->what, "deny");
	if (ret == 0) {
		shim->what = "/proc/self/uid_map";
		ret = spawn_write_self(shim->what, shim->uid_map);
	}
	if (ret == 0) {
		shim->what = "/proc/self/gid_map";
		ret = spawn_write_self(shim->what, shim->gid_map);
	}
	return ret;
}

static CLONE_BESIDE long enter_user_ns(struct shim *shim)
{
	long ret = 0;

	if (shim->spawn.map_ids)
		ret = map_ids(shim);
	if (shim->spawn.enters_user_ns) {
		shim->what = "the session's user namespace";
		ret = sys(setns, shim->spawn.fds[WIRE_FD_USER_NS], CLONE_NEWUSER);
	}
	if (ret == 0 && (shim->spawn.map_ids || shim->spawn.enters_user_ns)) {
		shim->what = "ambient capabilities";
		ret = keep_capabilities();
	}
	return ret;
}

/* Sources below `above` first move out of the way of the numbers they may be needed at. */
static CLONE_BESIDE long out_of_the_way(int fd, int above)
{
	return fd < 0 || fd >= above ? fd : sys(fcntl, fd, F_DUPFD_CLOEXEC, above);
}

static CLONE_BESIDE long place_fds(const struct spawn *spawn, int *ret_image_fd)
{
	const int above = spawn->fd_count + 1;
	int high[SPAWN_FDS_MAX];
	long image = out_of_the_way(spawn->image_fd, above);

	if (image < 0)
		return image;
	for (int i = 0; i < spawn->fd_count; i++) {
		const long fd = out_of_the_way(spawn->fds[i], above);

		if (fd < 0 && spawn->fds[i] >= 0)
			return fd;
		high[i] = (int)fd;
	}
	for (int i = 0; i < spawn->fd_count; i++) {
		long ret = 0;

		if (high[i] >= 0)
			ret = sys(dup3, high[i], i, 0);
		else
			sys(close, i);
		if (ret < 0)
			return ret;
	}
	image = sys(dup3, image, spawn->fd_count, O_CLOEXEC);
	*ret_image_fd = (int)image;
	return image < 0 ? image : sys(close_range, spawn->fd_count + 1, ~0u, 0);
}

static CLONE_BESIDE void shim_main(void *arg)
{
	static const char *const argv[] = { "warder-init", NULL };
	static const char *const envp[] = { NULL };
	struct shim *shim = arg;
	int image_fd = -1;
	long ret = enter_user_ns(shim);

	if (ret == 0) {
		shim->what = "descriptors (RLIMIT_NOFILE of the caller may be too low)";
		ret = place_fds(&shim->spawn, &image_fd);
	}
	if (ret == 0) {
		shim->what = "exec of the init image";
		ret = sys(execveat, image_fd, "", argv, envp, AT_EMPTY_PATH);
	}
	shim->error = ret;
	sys(exit_group, 125);
	__builtin_unreachable();
}

static int clone_failed(long error, uint64_t namespaces, struct warder_error *err)
{
	const char *remedy = "";

	if (error == -EPERM && (namespaces & CLONE_NEWUSER))
		remedy = " (ordinary users need user namespaces, which no chroot has: "
			 "kernel.unprivileged_userns_clone=1, "
			 "kernel.apparmor_restrict_unprivileged_userns=0)";
	else if (error == -ENOSPC)
		remedy = " (needs user.max_*_namespaces > 0)";
	else if (error == -EAGAIN)
		remedy = " (a process limit of the host or of the caller is reached)";
	error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, (int)-error, "cannot start the jail's init%s",
			remedy);
	return -1;
}

/* Until the child has left our memory. False: it hangs in it. */
static bool await_exec(struct shim *shim, int pid)
{
	const struct timespec look = { .tv_nsec = 200000000 };
	struct hang hang = { 0 };
	uint32_t tid;

	while ((tid = atomic_load(&shim->tid)) != 0)
		if (syscall(SYS_futex, &shim->tid, FUTEX_WAIT, tid, &look, NULL, 0) < 0 &&
		    errno == ETIMEDOUT && hang_look(&hang, pid))
			return false;
	return true;
}

static struct shim *shim_new(const struct spawn *spawn)
{
	struct shim *shim = malloc(sizeof(*shim));

	if (!shim)
		return NULL;
	shim->spawn = *spawn;
	shim->error = 0;
	shim->what = "";
	atomic_init(&shim->tid, 0);
	snprintf(shim->uid_map, sizeof(shim->uid_map), "%u %u 1\n", spawn->inside_uid, spawn->host_uid);
	snprintf(shim->gid_map, sizeof(shim->gid_map), "%u %u 1\n", spawn->inside_gid, spawn->host_gid);
	return shim;
}

int spawn_init(const struct spawn *spawn, int *ret_pid, int *ret_pidfd, struct warder_error *err)
{
	struct shim *shim = shim_new(spawn);
	owned_fd int pidfd = -1;
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | CLONE_PIDFD |
			 CLONE_CLEAR_SIGHAND | spawn->namespaces,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
	};
	bool failed;
	long error;
	sigset_t all;
	sigset_t before;
	long pid;

	if (!shim)
		return error_no_memory(err, NULL);
	args.parent_tid = args.child_tid = (uint64_t)(uintptr_t)&shim->tid;
	if (spawn->cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)spawn->cgroup_fd;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone_call(&args, shim->stack, shim_main, shim);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		free(shim);
		pidfd = -1; /* the kernel may have written, and closed, one before it failed */
		return clone_failed(pid, spawn->namespaces, err);
	}
	*ret_pid = (int)pid;
	*ret_pidfd = fd_take(&pidfd);
	failed = spawn->meanwhile && spawn->meanwhile(spawn->context, err) < 0;
	if (!await_exec(shim, (int)pid))
		return error_set(
		    err, WARDER_ERROR_UNAVAILABLE, NULL,
		    "the host's kernel does not go on: process %ld hangs before it is the jail's init", pid);
	error = shim->error;
	if (error < 0)
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, (int)-error,
				"cannot start the jail's init: %s", shim->what);
	free(shim);
	return error < 0 || failed ? -1 : 0;
}

void spawn_set_fd(struct spawn *spawn, int number, int fd)
{
	spawn->fds[number] = fd;
	if (number >= spawn->fd_count)
		spawn->fd_count = number + 1;
}
