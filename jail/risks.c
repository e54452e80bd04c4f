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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

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

/* Takes *trial, and frees it, unless the child goes on using it. */
static int run_trial(struct trial *trial, char *ret, size_t size)
{
	struct clone_helper helper;
	int pid, status;
	char place[80], text[64];
	int error = -clone_begin(&helper, 0, load_filter, trial);

	pid = helper.pid;
	status = error ? 0 : clone_end_within(&helper, TRIAL_MS);
	if (status == CLONE_HANGS) {
		snprintf(ret, size, "loading a filter hangs%s (process %d); only a reboot helps",
			 hang_place(pid, place, sizeof(place)), pid);
		return -1;
	}
	if (!error)
		error = (int)-trial->error;
	free(trial);
	if (error)
		snprintf(ret, size, "a filter cannot be loaded: %s",
			 error_errno_text(error, text, sizeof(text)));
	else
		unlink(trial_path); /* while the lock is held */
	return error ? -1 : 0;
}

int jail_try_filter(char *ret, size_t size)
{
	owned_fd int fd = open(trial_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct trial *trial;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (fd >= 0 && errno == EWOULDBLOCK)
			snprintf(ret, size,
				 "not tried: an earlier trial still hangs in the kernel, or goes on");
		else
			snprintf(ret, size, "not tried: %s: %s", trial_path, strerror(errno));
		return -1;
	}
	trial = malloc(sizeof(*trial));
	if (!trial) {
		snprintf(ret, size, "not tried: no memory");
		return -1;
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
