/*
 * Slots are locks on single bytes of one empty file: the kernel gives them back when a supervisor dies, however
 * it dies. Open file description locks, because process-wide ones would be lost with any other descriptor of the file
 * that the host application closes. The last user removes the file: who holds a write lock on all of it is alone, and who
 * locked an unlinked file notices that the path names another inode, and starts again.
 *
 * A user namespace's maps can only be written through a living process in it: a helper that shares our memory and waits until it is released,
 * or for our death. Meanwhile it limits what the namespace may use up, which only a process in there can. It ends while the launch goes on, and
 * is reaped later: waiting for another CPU to end it costs more than making it.
 */
#include "jail/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/cgroup/clone.h"
#include "jail/inside/accounts.h"
#include "jail/inside/sys.h"

static const char lease_path[] = "/run/warder.ids";

struct poll_fd {
	int fd;
	short events, revents;
};

/* False with errno ENOENT if it certainly is not. */
static bool still_linked(int fd)
{
	struct stat by_fd;
	struct stat by_path;

	if (fstat(fd, &by_fd) < 0 || stat(lease_path, &by_path) < 0)
		return false;
	errno = ENOENT;
	return by_fd.st_dev == by_path.st_dev && by_fd.st_ino == by_path.st_ino;
}

static bool lock_bytes(int fd, off_t start, off_t len)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = len };

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* Some slot that nobody holds, beginning at a place that differs from call to call. */
static int lock_slot(int fd, uint32_t *ret_slot)
{
	static atomic_uint calls;
	struct timespec now;
	uint32_t first;

	clock_gettime(CLOCK_MONOTONIC, &now);
	first = (uint32_t)now.tv_nsec ^ ((uint32_t)getpid() * 2654435761u) ^
		(atomic_fetch_add(&calls, 1) * 40503u);
	for (uint32_t i = 0; i < IDENTITY_SLOTS; i++) {
		uint32_t slot = (first + i) % IDENTITY_SLOTS;

		if (lock_bytes(fd, slot, 1)) {
			*ret_slot = slot;
			return 0;
		}
		if (errno != EAGAIN && errno != EACCES)
			return -1;
	}
	errno = EAGAIN;
	return -1;
}

static bool remove_if_last(int fd);

static int lease_slot(struct identity *identity, struct warder_error *err)
{
	for (int tries = 0; tries < 16; tries++) {
		owned_fd int fd = open(lease_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

		if (fd < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, lease_path, errno,
					       "cannot open the id lease file %s", lease_path);
		if (lock_slot(fd, &identity->slot) < 0) {
			if (errno != EAGAIN) {
				error_set_errno(err, WARDER_ERROR_UNAVAILABLE, lease_path, errno,
						"cannot lock the id lease file %s", lease_path);
				remove_if_last(fd); /* this may have made it */
				return -1;
			}
			continue;
		}
		if (still_linked(fd)) {
			identity->base = IDENTITY_BASE + identity->slot * IDENTITY_IDS;
			identity->lease_fd = fd_take(&fd);
			return 0;
		}
	}
	return error_set(err, WARDER_ERROR_CONFLICT, lease_path,
			 "all %u id ranges are in use by running jails; wait for one to end", IDENTITY_SLOTS);
}

/* The helper's argument lives on its stack's far end: ours may be gone when it looks. */
struct stay {
	_Atomic uint32_t released;
	int supervisor_fd;
	struct identity_limits *limits; /* NULL: none are to be written */
	enum accounts_makers makers;
};

static CLONE_BESIDE void limit(const struct stay *stay)
{
	struct identity_limits *limits = stay->limits;
	const char *what = ACCOUNTS_PATH;
	bool counts_all = false;
	long ret = sys(openat, AT_FDCWD, what, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

	if (ret >= 0)
		ret = accounts_limit((int)ret, stay->makers, &counts_all, &what);
	limits->what = what;
	limits->counts_all = counts_all;
	/* Last: a helper that is killed before has failed. */
	limits->error = ret;
}

static CLONE_BESIDE void stay_in_ns(void *arg)
{
	struct stay *stay = arg;
	struct poll_fd supervisor = { .fd = stay->supervisor_fd, .events = 1 };
	const struct timespec look = { .tv_nsec = 100000000 };
	const struct timespec none = { 0 };

	if (stay->limits)
		limit(stay);
	while (!atomic_load(&stay->released)) {
		sys(futex, &stay->released, FUTEX_WAIT, 0, &look, 0, 0);
		if (sys(ppoll, &supervisor, 1, &none, 0, 0) == 1)
			break;
	}
	sys(exit_group, 0);
}

/*
 * A user namespace belongs to the effective uid of its maker, and what is counted per user inside (inotify instances and
 * watches, queued signals, message queues) counts for that uid outside as well: it must be the jail's own, or one jail could
 * use up root's. Only this thread's credentials change (the system calls know no processes), with every signal
 * blocked; its capabilities stay because the fix-up of uid changes is off meanwhile. The kernel forgets the signal that the thread
 * wanted of its parent's death: it is set again, and sent if the parent has died in between.
 */
static long clone_as(uid_t uid, struct clone_args *args, void *stack)
{
	const long bits = sys(prctl, PR_GET_SECUREBITS, 0, 0, 0, 0);
	const bool relaxed =
	    bits >= 0 && sys(prctl, PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP, 0, 0, 0) == 0;
	const long own = sys(geteuid), parent = sys(getppid), pid = sys(getpid), tid = sys(gettid);
	int death_signal = 0;
	long ret, back;

	sys(prctl, PR_GET_PDEATHSIG, &death_signal, 0, 0, 0);
	ret = sys(setresuid, -1, uid, -1);
	if (ret == 0)
		ret = clone_call(args, stack, stay_in_ns, stack);
	back = sys(setresuid, -1, own, -1);
	if (relaxed)
		sys(prctl, PR_SET_SECUREBITS, bits, 0, 0, 0);
	if (death_signal && sys(prctl, PR_SET_PDEATHSIG, death_signal, 0, 0, 0) == 0 &&
	    sys(getppid) != parent)
		sys(tgkill, pid, tid, death_signal);
	if (back < 0 && ret > 0)
		sys(kill, ret, SIGKILL);
	return back < 0 ? back : ret;
}

static int write_map(int pid, const char *file, const char *map, struct warder_error *err)
{
	char path[64];
	owned_fd int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, map, strlen(map)) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "processes.identity", errno,
				       "cannot write \"%s\" to %s", map, path);
	return 0;
}

static int map_and_open(int pid, const char *uid_map, const char *gid_map, struct warder_error *err)
{
	char path[64];
	int fd;

	if (write_map(pid, "uid_map", uid_map, err) < 0 || write_map(pid, "gid_map", gid_map, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "processes.identity", errno, "cannot open %s",
				path);
	return fd;
}

/* A new user namespace with these maps, as a descriptor. `limits`: to be filled in by its helper; or NULL. */
static int make_user_ns(struct identity *identity, const char *uid_map, const char *gid_map,
			struct identity_limits *limits, enum accounts_makers makers, struct warder_error *err)
{
	struct clone_helper *helper;
	struct stay *stay;
	struct clone_args args = { .flags = CLONE_VM | CLONE_NEWUSER };
	owned_fd int supervisor_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	sigset_t all;
	sigset_t before;
	long pid;
	int fd;

	if (supervisor_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "pidfd_open");
	if (identity->helper_count == ARRAY_LENGTH(identity->helpers))
		identity_reap(identity);
	helper = &identity->helpers[identity->helper_count];
	helper->stack = malloc(CLONE_STACK_BYTES);
	if (!helper->stack)
		return error_no_memory(err, NULL);
	stay = helper->stack;
	*stay = (struct stay){ .supervisor_fd = supervisor_fd, .limits = limits, .makers = makers };
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone_as(identity->base, &args, helper->stack);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		free(helper->stack);
		return error_set_errno(
		    err, WARDER_ERROR_UNAVAILABLE, "processes.identity", (int)-pid,
		    "cannot make a user namespace (%s)",
		    pid == -EPERM
			? "the kernel refuses it in a chroot; a system call filter or a security module may "
			  "refuse it, too"
			: "needs user.max_user_namespaces > 0");
	}
	helper->pid = (int)pid;
	identity->helper_count++;
	fd = map_and_open((int)pid, uid_map, gid_map, err);
	atomic_store(&stay->released, 1);
	syscall(SYS_futex, &stay->released, FUTEX_WAKE, 1, NULL, NULL, 0);
	return fd;
}

void identity_reap(struct identity *identity)
{
	/* The first of them is the one that writes limits. */
	while (identity->helper_count)
		if (clone_end(&identity->helpers[--identity->helper_count]) == CLONE_HANGS)
			identity->hangs |= identity->helper_count == 0;
}

bool identity_is_limited(struct identity *identity)
{
	identity_reap(identity);
	return !identity->hangs && (!identity->limits || identity->limits->error == 0);
}

int identity_check(struct identity *identity, struct warder_error *err)
{
	if (identity_is_limited(identity))
		return 0;
	if (identity->hangs)
		error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			  "the jail could not be set up (no-nesting: the kernel hangs in %s)",
			  identity->limits ? identity->limits->what : ACCOUNTS_PATH);
	else
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, (int)-identity->limits->error,
				"the jail could not be set up (no-nesting: %s)", identity->limits->what);
	snprintf(err->step, sizeof(err->step), "no-nesting");
	return -1;
}

int identity_lease(const enum accounts_makers *makers, struct identity *ret, struct warder_error *err)
{
	struct identity identity = IDENTITY_NONE;
	char map[64];

	if (makers) {
		identity.limits = malloc(sizeof(*identity.limits));
		if (!identity.limits)
			return error_no_memory(err, NULL);
		/* An error until the helper says otherwise: it may be killed half-way. */
		*identity.limits = (struct identity_limits){ .error = -EINTR, .what = ACCOUNTS_PATH };
	}
	if (lease_slot(&identity, err) == 0) {
		snprintf(map, sizeof(map), "0 %u %u\n", identity.base, IDENTITY_IDS);
		identity.user_ns_fd = make_user_ns(&identity, map, map, identity.limits,
						   makers ? *makers : ACCOUNTS_NOBODY, err);
	}
	if (identity.user_ns_fd < 0) {
		identity_done(&identity);
		return -1;
	}
	*ret = identity;
	return 0;
}

int identity_owner_ns(struct identity *identity, uid_t uid, gid_t gid, uint32_t inside_uid,
		      uint32_t inside_gid, struct warder_error *err)
{
	struct identity_owner *owner;
	char uid_map[64];
	char gid_map[64];

	for (unsigned int i = 0; i < identity->owner_count; i++) {
		owner = &identity->owners[i];
		if (owner->uid == uid && owner->gid == gid)
			return owner->user_ns_fd;
	}
	if (identity->owner_count == ARRAY_LENGTH(identity->owners))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "filesystem.paths",
				 "workspace and read-write paths have more than 8 different owners");
	owner = &identity->owners[identity->owner_count];
	snprintf(uid_map, sizeof(uid_map), "%u %u 1\n", uid, identity->base + inside_uid);
	snprintf(gid_map, sizeof(gid_map), "%u %u 1\n", gid, identity->base + inside_gid);
	*owner = (struct identity_owner){ .uid = uid,
					  .gid = gid,
					  .user_ns_fd = make_user_ns(identity, uid_map, gid_map, NULL,
								     ACCOUNTS_NOBODY, err) };
	if (owner->user_ns_fd < 0)
		return -1;
	identity->owner_count++;
	return owner->user_ns_fd;
}

/* Alone with the file: remove it. The lock is held until the descriptor is closed, after the unlink. */
static bool remove_if_last(int fd)
{
	/* What fails for want of memory is not an answer: once more. */
	if (!lock_bytes(fd, 0, 0) && (errno == EAGAIN || errno == EACCES || !lock_bytes(fd, 0, 0)))
		return false;
	if (!still_linked(fd) && (errno == ENOENT || !still_linked(fd)))
		return false;
	return unlink(lease_path) == 0 || (errno != ENOENT && unlink(lease_path) == 0);
}

void identity_done(struct identity *identity)
{
	identity_reap(identity);
	for (unsigned int i = 0; i < identity->owner_count; i++)
		fd_done(&identity->owners[i].user_ns_fd);
	identity->owner_count = 0;
	fd_done(&identity->user_ns_fd);
	if (identity->lease_fd >= 0)
		remove_if_last(identity->lease_fd);
	fd_done(&identity->lease_fd);
	if (!identity->hangs)
		free(identity->limits);
	identity->limits = NULL;
}

bool identity_clean(bool dry_run)
{
	owned_fd int fd = open(lease_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return false;
	if (dry_run)
		return lock_bytes(fd, 0, 0);
	return remove_if_last(fd);
}
