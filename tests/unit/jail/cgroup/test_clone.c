#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "jail/cgroup/clone.h"
#include "jail/inside/sys.h"

static void sleep_on(void *arg)
{
	for (;;)
		sys_call6(SYS_rt_sigsuspend, (long)arg, 8, 0, 0, 0, 0);
}

static void leave(void *arg)
{
	sys_call6(SYS_exit, *(int *)arg, 0, 0, 0, 0, 0);
}

static void nap(void *arg)
{
	static const struct timespec nap = { .tv_sec = 6 };

	sys_call6(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
	sys_call6(SYS_exit, 0, 0, 0, 0, 0, 0);
}

/* In state D, as everybody is who waits for a child of vfork(2), for longer than HANG_US. */
static void wait_in_the_kernel(void *stack)
{
	struct clone_args args = { .flags = CLONE_VM | CLONE_VFORK };

	clone_call(&args, stack, nap, NULL);
	sys_call6(SYS_exit, 9, 0, 0, 0, 0, 0);
}

/* A process that has no descriptor left; it exits with 0 if the wait was as long as it is to be. */
static int wait_blindly(void (*fn)(void *), void *arg, unsigned int within_ms, int expected)
{
	const struct rlimit none = { 0, 0 };
	struct clone_helper helper;
	uint64_t begun_us, took_us;
	int status, pid;

	if (setrlimit(RLIMIT_NOFILE, &none) != 0 || clone_begin(&helper, 0, fn, arg) != 0)
		return 1;
	pid = helper.pid;
	if (syscall(SYS_pidfd_open, pid, 0) >= 0)
		return 2;
	begun_us = clock_us();
	status = clone_end_within(&helper, within_ms);
	took_us = clock_us() - begun_us;
	if (status == CLONE_HANGS) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, __WALL);
	}
	if (status != expected)
		return 3;
	return expected == CLONE_HANGS && took_us < within_ms * UINT64_C(1000) ? 4 : 0;
}

static int in_process(void (*fn)(void *), void *arg, unsigned int within_ms, int expected)
{
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(wait_blindly(fn, arg, within_ms, expected));
	waitpid(pid, &status, 0);
	return status;
}

Test(clone, a_helper_is_given_up_in_time_without_a_descriptor, .timeout = 20)
{
	sigset_t all;

	sigfillset(&all);
	cr_expect_eq(in_process(sleep_on, &all, 200, CLONE_HANGS), 0);
}

Test(clone, the_end_of_a_helper_is_seen_without_a_descriptor, .timeout = 20)
{
	int code = 7;

	cr_expect_eq(in_process(leave, &code, 0, 7), 0);
	cr_expect_eq(in_process(leave, &code, 5000, 7), 0);
}

Test(clone, a_helper_that_may_take_long_is_waited_for, .timeout = 60)
{
	static char stack[CLONE_STACK_BYTES] __attribute__((aligned(16)));
	struct clone_helper helper;

	cr_assert_eq(clone_begin(&helper, 0, wait_in_the_kernel, stack), 0);
	helper.patience_us = 50000000;
	cr_expect_eq(clone_end(&helper), 9);
}
