/*
 * The trial of a filter. Some kernels deadlock in the memory of BPF programs, and then every load hangs for good, in state D. So the
 * load is a child's, which is left behind when it hangs. The child holds a lock that nobody else opens it for: as long as it hangs,
 * the next trial sees that, and adds no other process to those that hang. It keeps no other descriptor, so that nobody waits for the
 * end of a pipe that it would have inherited.
 */
#include "jail/risks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hang.h"
#include "jail/cgroup/clone.h"
#include "jail/cgroup/file.h"
#include "jail/inside/sys.h"

#define TRIAL_MS 2000

static const char trial_path[] = "/run/warder.filter-trial";

struct trial {
	int lock_fd;
	long error; /* negative errno, or 0 */
};

static CLONE_BESIDE void load_filter(void *arg)
{
	struct sock_filter allow = { .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW };
	struct sock_fprog program = { .len = 1, .filter = &allow };
	struct trial *trial = arg;
	long ret = trial->lock_fd > 0 ? sys(close_range, 0, trial->lock_fd - 1, 0) : 0;

	if (ret == 0)
		ret = sys(close_range, trial->lock_fd + 1, ~0u, 0);
	if (ret == 0)
		ret = sys(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (ret == 0)
		ret = sys(seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	trial->error = ret;
	sys(exit_group, 0);
}

/* Errors that another try may not meet. */
static bool is_of_the_moment(int error)
{
	return error == EAGAIN || error == ENOMEM || error == EINTR;
}

/* How often a process is looked at before it counts as hanging: it is in the kernel at each look, and never ran in between. */
#define LOOKS   20
#define LOOK_MS (TRIAL_MS / LOOKS)

/* Whether the process made no progress in the kernel since the first of the looks. */
static bool stands_still(const struct hang *hang)
{
	return hang->since_us && clock_us() - hang->since_us >= TRIAL_MS * UINT64_C(1000) * 3 / 4;
}

static void say_hangs(int pid, const char *what, char *ret, size_t size)
{
	char where[80];

	snprintf(ret, size, "%s hangs%s (process %d); only a reboot helps", what,
		 hang_where(pid, where, sizeof(where)), pid);
}

/* Wait for the trial's child. False: it has not ended, and goes on using *trial. */
static bool await_trial(struct clone_helper *helper, struct hang *hang)
{
	struct clone_helper left = *helper;

	for (int look = 0; look < LOOKS; look++) {
		*helper = left;
		if (clone_end_within(helper, LOOK_MS) != CLONE_HANGS)
			return true;
		hang_look(hang, left.pid);
	}
	return false;
}

/* Takes *trial, and frees it, unless the child goes on using it. */
static int run_trial(struct trial *trial, char *ret, size_t size)
{
	struct clone_helper helper;
	struct hang hang = { 0 };
	char text[64];
	int error = -clone_begin(&helper, 0, load_filter, trial);
	const int pid = helper.pid;

	if (!error)
		dprintf(trial->lock_fd, "%d\n", pid); /* for those who wait for the lock */
	if (!error && !await_trial(&helper, &hang)) {
		if (stands_still(&hang)) {
			say_hangs(pid, "loading a filter", ret, size);
			return -1;
		}
		snprintf(ret, size,
			 "not tried: the host is too slow: process %d has not loaded a filter in %d s; "
			 "try again",
			 pid, TRIAL_MS / 1000);
		return 1;
	}
	if (!error)
		error = (int)-trial->error;
	free(trial);
	unlink(trial_path); /* while the lock is held */
	if (!error)
		return 0;
	snprintf(ret, size, "%s: %s", is_of_the_moment(error) ? "not tried" : "a filter cannot be loaded",
		 error_errno_text(error, text, sizeof(text)));
	return is_of_the_moment(error) ? 1 : -1;
}

/* The process that an earlier trial left behind, or 0. */
static int read_pid(int fd)
{
	char text[16] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : 0;
}

/* Open the file and lock it: a descriptor, or -1 with errno; EWOULDBLOCK: another trial has it all the time. A trial removes the file,
 * so that the one that was locked may be another than the one that is there. */
static int take_lock(struct hang *hang, int *ret_pid)
{
	int fd = -1;

	*ret_pid = 0;
	for (int look = 0; look < LOOKS; look++) {
		struct stat mine, there;

		fd_done(&fd);
		fd = open(trial_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			if (fstat(fd, &mine) == 0 && stat(trial_path, &there) == 0 &&
			    mine.st_ino == there.st_ino)
				return fd;
			continue;
		}
		*ret_pid = read_pid(fd);
		hang_look(hang, *ret_pid);
		poll(NULL, 0, LOOK_MS);
	}
	fd_done(&fd);
	errno = EWOULDBLOCK;
	return -1;
}

int jail_try_filter(char *ret, size_t size)
{
	struct hang hang = { 0 };
	struct trial *trial;
	int earlier;
	owned_fd int fd = take_lock(&hang, &earlier);

	if (fd < 0 && errno == EWOULDBLOCK && stands_still(&hang)) {
		say_hangs(earlier, "not tried: an earlier trial", ret, size);
		return -1;
	}
	if (fd < 0) {
		snprintf(ret, size, "not tried: %s: %s", trial_path,
			 errno == EWOULDBLOCK ? "another trial goes on; try again" : strerror(errno));
		return 1;
	}
	trial = malloc(sizeof(*trial));
	if (!trial) {
		snprintf(ret, size, "not tried: no memory");
		return 1;
	}
	*trial = (struct trial){ .lock_fd = fd, .error = -EINTR };
	return run_trial(trial, ret, size);
}

static bool read_number(const char *path, uint64_t *ret)
{
	char text[64];

	return cgroup_file_read(AT_FDCWD, path, text, sizeof(text)) > 0 &&
	       cgroup_text_number(text, strlen(text), ret);
}

/* What the kernel has mapped for the code of BPF programs. */
static bool read_jit_use(uint64_t *ret)
{
	FILE *file = fopen("/proc/vmallocinfo", "re");
	unsigned long long bytes;
	char line[512];
	bool any = false;

	*ret = 0;
	while (file && fgets(line, sizeof(line), file)) {
		any = true;
		if ((strstr(line, " bpf_prog_pack_alloc") || strstr(line, " bpf_jit_alloc_exec") ||
		     strstr(line, " bpf_jit_binary")) &&
		    sscanf(line, "%*s %llu", &bytes) == 1)
			*ret += bytes;
	}
	if (file)
		fclose(file);
	return any;
}

void jail_risks_read(struct jail_risks *ret)
{
	uint64_t disabled = 0;
	ssize_t len;

	memset(ret, 0, sizeof(*ret));
	ret->jit_limit_known = read_number("/proc/sys/net/core/bpf_jit_limit", &ret->jit_limit_bytes);
	ret->jit_used_known = read_jit_use(&ret->jit_used_bytes);
	len = cgroup_file_read(AT_FDCWD, "/proc/sys/kernel/modprobe", ret->modprobe, sizeof(ret->modprobe));
	ret->modprobe[len > 0 ? strcspn(ret->modprobe, "\n") : 0] = '\0';
	ret->loads_modules = ret->modprobe[0] && access(ret->modprobe, X_OK) == 0 &&
			     read_number("/proc/sys/kernel/modules_disabled", &disabled) && disabled == 0;
}
