#include "base/array.h"
#include "jail/jail.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A probe under a filter like those of containers, which refuses one system call: it must show. */

static const struct refusal {
	const char *label;
	unsigned int call;
	uint32_t error;
	enum jail_feature feature;
} rows[] = {
	{ "unshare, user", SYS_unshare, EPERM, JAIL_FEATURE_USER_NS },
	{ "unshare, pid", SYS_unshare, EPERM, JAIL_FEATURE_PID_NS },
	{ "unshare, network", SYS_unshare, ENOSPC, JAIL_FEATURE_NET_NS },
	{ "clone3, absent", SYS_clone3, ENOSYS, JAIL_FEATURE_CLONE3 },
	{ "clone3, refused", SYS_clone3, EPERM, JAIL_FEATURE_CLONE3 },
	{ "pidfd_open", SYS_pidfd_open, ENOSYS, JAIL_FEATURE_PIDFD },
	{ "close_range", SYS_close_range, ENOSYS, JAIL_FEATURE_CLOSE_RANGE },
	{ "openat2", SYS_openat2, EPERM, JAIL_FEATURE_OPENAT2 },
	{ "mount", SYS_mount, EPERM, JAIL_FEATURE_OVERLAY },
	{ "open_tree", SYS_open_tree, ENOSYS, JAIL_FEATURE_MOUNT_API },
	{ "move_mount", SYS_move_mount, EPERM, JAIL_FEATURE_MOUNT_API },
	{ "mount_setattr", SYS_mount_setattr, ENOSYS, JAIL_FEATURE_MOUNT_API },
	{ "mount_setattr, refused", SYS_mount_setattr, EPERM, JAIL_FEATURE_MOUNT_API },
	{ "idmapped mounts", SYS_mount_setattr, ENOSYS, JAIL_FEATURE_IDMAP },
};

static int refuse(unsigned int call, uint32_t error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_LENGTH(code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* 0: as it should be; 1: no filter; 2: not tried; 3: found there; 4: without a reason. */
static int probe_without(const struct refusal *row)
{
	const struct jail_probe_options options = { .thorough = true };
	struct jail_feature_state state;
	struct jail_host host;

	if (refuse(row->call, row->error) != 0)
		return 1;
	jail_probe(&options, &host);
	state = host.features[row->feature];
	jail_host_done(&host);
	if (!state.tried || state.there)
		return state.tried ? 3 : 2;
	return state.detail[0] ? 0 : 4;
}

static int in_child(int (*body)(const struct refusal *row), const struct refusal *row)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(body(row));
	cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(probe, what_is_refused_is_not_there, .timeout = 120)
{
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		int status = in_child(probe_without, &rows[i]);

		cr_expect(status == 0, "%s: step %d", rows[i].label, status);
	}
}

/* What a host does that is short of something for a moment. */
static const struct refusal shortages[] = {
	{ "no child to try in, user", SYS_clone3, EAGAIN, JAIL_FEATURE_USER_NS },
	{ "no child to try in, overlay", SYS_clone3, ENOMEM, JAIL_FEATURE_OVERLAY },
	{ "unshare, network", SYS_unshare, ENOMEM, JAIL_FEATURE_NET_NS },
	{ "pidfd_open", SYS_pidfd_open, EMFILE, JAIL_FEATURE_PIDFD },
	{ "openat2", SYS_openat2, ENFILE, JAIL_FEATURE_OPENAT2 },
	{ "open_tree", SYS_open_tree, ENOMEM, JAIL_FEATURE_MOUNT_API },
	{ "idmapped mounts", SYS_fsopen, EMFILE, JAIL_FEATURE_IDMAP },
};

/* 0: unknown, with a reason; 1: no filter; 2: a wrong answer; 3: without a reason. */
static int probe_short(const struct refusal *row)
{
	const struct jail_probe_options options = { .thorough = true };
	struct jail_feature_state state;
	struct jail_host host;

	if (refuse(row->call, row->error) != 0)
		return 1;
	jail_probe(&options, &host);
	state = host.features[row->feature];
	jail_host_done(&host);
	if (!state.unknown || state.tried || state.there || state.absent)
		return 2;
	return strstr(state.detail, "try again") ? 0 : 3;
}

Test(probe, a_shortage_of_the_moment_is_no_answer, .timeout = 120)
{
	for (size_t i = 0; i < ARRAY_LENGTH(shortages); i++) {
		int status;

		if (shortages[i].feature == JAIL_FEATURE_IDMAP && geteuid() != 0)
			continue; /* not to be had, whatever the moment */
		status = in_child(probe_short, &shortages[i]);
		cr_expect(status == 0, "%s: step %d", shortages[i].label, status);
	}
}

/* How the root is built is decided by it, and a thorough one must not say otherwise. */
static int quick_without(const struct refusal *row)
{
	struct jail_host host;
	bool there;

	if (row && refuse(row->call, row->error) != 0)
		return 1;
	jail_probe(NULL, &host);
	there = host.features[JAIL_FEATURE_MOUNT_API].tried && host.features[JAIL_FEATURE_MOUNT_API].there;
	jail_host_done(&host);
	return there == !row ? 0 : 3;
}

Test(probe, a_quick_one_decides_about_mounts, .timeout = 120)
{
	cr_expect(quick_without(NULL) == 0, "without a filter");
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		int status = -1;
		pid_t pid;

		if (rows[i].feature != JAIL_FEATURE_MOUNT_API)
			continue;
		pid = fork();
		if (pid == 0)
			_exit(quick_without(&rows[i]));
		cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
		cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: %x", rows[i].label, status);
	}
}

/* The launch will try; nothing has been looked at that it would not need to know. */
Test(probe, a_quick_one_tries_no_namespace, .timeout = 60)
{
	struct jail_host host;

	jail_probe(NULL, &host);
	cr_expect(!host.features[JAIL_FEATURE_USER_NS].tried && !host.features[JAIL_FEATURE_MOUNT_NS].tried);
	cr_expect(host.features[JAIL_FEATURE_PRIVILEGED].tried && host.features[JAIL_FEATURE_SECCOMP].tried);
	cr_expect(host.features[JAIL_FEATURE_OPENAT2].tried && host.features[JAIL_FEATURE_CLONE3].tried);
	jail_host_done(&host);
}
