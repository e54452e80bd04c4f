#include "base/array.h"
#include "rootfs/path.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rootfs/rootfs.h"

/*
 * What the kernel does while somebody works against us: names that change between two looks, a kernel
 * or a filter without openat2, a procfs where none is expected.
 *
 * The tree: in/ is the root of the openings; out/ and its files are outside. in/d is a directory with
 * "file" and "deep/file", in/l a symlink to ../out, which has the same names.
 */

#define OPENINGS  20000
#define LIMIT_SEC 20

static char top[] = "/tmp/warder-path.XXXXXX";
static int top_fd = -1, in_fd = -1;
static ino_t outside[2];

static ino_t put(const char *path)
{
	struct stat st;
	int fd = openat(top_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert(fd >= 0 && fstat(fd, &st) == 0);
	close(fd);
	return st.st_ino;
}

static void set_up(void)
{
	static const char *const directories[] = { "in", "in/d", "in/d/deep", "out", "out/deep" };

	cr_assert(mkdtemp(top));
	top_fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++)
		cr_assert(mkdirat(top_fd, directories[i], 0700) == 0);
	put("in/file");
	put("in/d/file");
	put("in/d/deep/file");
	outside[0] = put("out/file");
	outside[1] = put("out/deep/file");
	cr_assert(symlinkat("../out", top_fd, "in/l") == 0);
	in_fd = openat(top_fd, "in", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cr_assert(in_fd >= 0);
}

/* in/d and in/l may have changed places, and out/deep may have stayed away. */
static void tear_down(void)
{
	static const char *const names[] = { "in/file",        "in/d/file", "in/l/file",     "in/d/deep/file",
					     "in/l/deep/file", "out/file",  "out/deep/file", "deep/file" };
	static const char *const directories[] = { "in/d/deep", "in/l/deep", "out/deep", "deep",
						   "out",       "in/d",      "in/l" };

	close(in_fd);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		unlinkat(top_fd, names[i], 0);
	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++)
		if (unlinkat(top_fd, directories[i], AT_REMOVEDIR) != 0)
			unlinkat(top_fd, directories[i], 0);
	unlinkat(top_fd, "in", AT_REMOVEDIR);
	close(top_fd);
	cr_expect(rmdir(top) == 0, "%s is not empty", top);
}

/* ---- races ---- */

static atomic_bool stop;

static void *swap_link_and_directory(void *unused)
{
	while (!atomic_load(&stop)) {
		syscall(SYS_renameat2, in_fd, "d", in_fd, "l", RENAME_EXCHANGE);
		sched_yield();
	}
	return unused;
}

static void *rename_elsewhere(void *unused)
{
	while (!atomic_load(&stop)) {
		renameat(top_fd, "out/deep", top_fd, "deep");
		renameat(top_fd, "deep", top_fd, "out/deep");
	}
	return unused;
}

static int beneath(const char *path)
{
	struct warder_error err;
	int fd = path_open_beneath(in_fd, path, O_RDONLY, &err);

	if (fd < 0)
		errno = err.sys_errno;
	return fd;
}

static int no_links(const char *path)
{
	struct warder_error err;
	int fd = path_open_no_links(in_fd, path, O_RDONLY, &err);

	if (fd < 0)
		errno = err.sys_errno;
	return fd;
}

static bool is_outside(int fd)
{
	struct stat st;

	return fstat(fd, &st) != 0 || st.st_ino == outside[0] || st.st_ino == outside[1];
}

/* Open `path` at least OPENINGS times against the attacker; longer, up to LIMIT_SEC, until some were refused
 * and some were not. */
static void race(void *(*attacker)(void *), int (*opener)(const char *path), const char *path)
{
	unsigned int opened = 0, refused = 0, escaped = 0;
	time_t end = time(NULL) + LIMIT_SEC;
	pthread_t thread;

	atomic_store(&stop, false);
	cr_assert(pthread_create(&thread, NULL, attacker, NULL) == 0);
	while (opened + refused < OPENINGS || ((!opened || !refused) && time(NULL) < end)) {
		int fd = opener(path);

		if (fd < 0) {
			refused++;
			continue;
		}
		opened++;
		escaped += is_outside(fd);
		close(fd);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	cr_expect(escaped == 0, "%s: %u of %u led outside", path, escaped, opened);
	cr_expect(opened > 0 && refused > 0, "%s: %u opened, %u refused: the race was not run", path, opened,
		  refused);
}

Test(path_kernel, a_swapped_link_never_leads_outside, .init = set_up, .fini = tear_down, .timeout = 120)
{
	race(swap_link_and_directory, beneath, "d/file");
	race(swap_link_and_directory, no_links, "d/deep/file");
}

/* Any rename makes the kernel say EAGAIN of a ".." that it cannot vouch for; a caller is not to see that. */
Test(path_kernel, renames_elsewhere_do_not_disturb, .init = set_up, .fini = tear_down, .timeout = 120)
{
	unsigned int failed = 0;
	pthread_t thread;

	atomic_store(&stop, false);
	cr_assert(pthread_create(&thread, NULL, rename_elsewhere, NULL) == 0);
	for (int i = 0; i < OPENINGS; i++) {
		int fd = beneath("d/deep/../deep/../file");

		failed += fd < 0 || is_outside(fd);
		if (fd >= 0)
			close(fd);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	cr_expect(failed == 0, "%u of %d", failed, OPENINGS);
}

/* The same attack on what is commonly done instead: if it never succeeded, the tests above showed nothing. */
static int check_then_open(const char *path)
{
	struct stat st;

	if (fstatat(in_fd, "d", &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode)) {
		errno = ELOOP;
		return -1;
	}
	return openat(in_fd, path, O_RDONLY | O_CLOEXEC);
}

Test(path_kernel, a_check_before_the_open_is_beaten, .init = set_up, .fini = tear_down, .timeout = 120)
{
	time_t end = time(NULL) + LIMIT_SEC;
	bool escaped = false;
	pthread_t thread;

	atomic_store(&stop, false);
	cr_assert(pthread_create(&thread, NULL, swap_link_and_directory, NULL) == 0);
	while (!escaped && time(NULL) < end) {
		int fd = check_then_open("d/file");

		escaped = fd >= 0 && is_outside(fd);
		if (fd >= 0)
			close(fd);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	cr_expect(escaped);
}

/* ---- in a process of its own ---- */

/* Returns the exit status of `body`, run in a child. */
static int in_child(int (*body)(void))
{
	pid_t child = fork();
	int status = -1;

	if (child == 0)
		_exit(body());
	cr_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status), "%x",
		  (unsigned int)status);
	return WEXITSTATUS(status);
}

static struct policy strict_policy(void)
{
	struct policy policy = { 0 };

	policy.filesystem.tmp_bytes = 1 << 20;
	policy.limits.disk_bytes = POLICY_UNLIMITED;
	policy.processes.uid = policy.processes.gid = 1000;
	policy.filesystem.workspace = POLICY_WORKSPACE_READ_ONLY;
	policy.filesystem.workspace_root = top;
	return policy;
}

static int refuse_openat2(uint32_t error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_LENGTH(code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Nothing is opened by weaker rules instead. Each status names the first thing that was not as it should be. */
static int open_without_openat2(uint32_t error)
{
	static const uint64_t rules[] = { RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH };
	struct policy policy = strict_policy();
	struct rootfs rootfs = { 0 };
	struct warder_error err = { 0 };

	if (refuse_openat2(error) != 0)
		return 1;
	if (path_open_beneath(in_fd, "file", O_RDONLY, &err) >= 0 || err.sys_errno != (int)error)
		return 2;
	if (error == ENOSYS && !strstr(err.text, "needs Linux 5.6"))
		return 3;
	if (path_open_no_links(in_fd, "file", O_RDONLY, &err) >= 0)
		return 4;
	for (int i = 0; i < 3; i++)
		if (path_try(in_fd, "file", O_RDONLY, 0, rules[i]) >= 0 || errno != (int)error)
			return 5 + i;
	if (rootfs_plan(&policy, &rootfs, &err) == 0)
		return 8;
	return 0;
}

static int open_with_enosys(void)
{
	return open_without_openat2(ENOSYS);
}

static int open_with_eperm(void)
{
	return open_without_openat2(EPERM);
}

Test(path_kernel, opens_nothing_without_openat2, .init = set_up, .fini = tear_down, .timeout = 60)
{
	int status = in_child(open_with_enosys);

	cr_expect(status == 0, "no such call, step %d", status);
	status = in_child(open_with_eperm);
	cr_expect(status == 0, "refused, step %d", status);
}

/* ---- mounts ---- */

static int plan_over_a_procfs(void)
{
	struct policy policy = strict_policy();
	struct rootfs rootfs = { 0 };
	struct warder_error err = { 0 };
	char point[sizeof(top) + 16];

	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return 1;
	snprintf(point, sizeof(point), "%s/in/d/deep", top);
	if (rootfs_plan(&policy, &rootfs, &err) != 0)
		return 2;
	rootfs_done(&rootfs);
	if (mount("proc", point, "proc", 0, NULL) != 0)
		return 3;
	if (rootfs_plan(&policy, &rootfs, &err) == 0 || !strstr(err.text, "type proc"))
		return 4;
	policy.filesystem.workspace_root = point;
	if (rootfs_plan(&policy, &rootfs, &err) == 0 || !strstr(err.text, "type proc"))
		return 5;
	return 0;
}

Test(path_kernel, a_procfs_beneath_the_workspace_is_refused, .init = set_up, .fini = tear_down, .timeout = 60)
{
	int status;

	if (geteuid() != 0) {
		tear_down(); /* not run for a test that is skipped */
		cr_skip_test("needs root");
	}
	status = in_child(plan_over_a_procfs);
	cr_expect(status == 0, "step %d", status);
}
