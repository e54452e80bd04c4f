/*
 * What a zygote calls to fork. A zygote is an interpreter that runs in a jail of its own, without privileges, and loads this file together
 * with all of jail/inside as a shared object. No libc.
 *
 *   zygote                              fork: the new jail's init            fork of that: the payload
 *   --------------------------------    ---------------------------------    ----------------------------------
 *   forked_wait: the order comes
 *   clone3, with all namespaces    -->  forked_init: waits for its ids,
 *   answers with init's pidfd           then all of init's steps
 *                                       the interpreter's own fork()    -->  forked_payload: all of the payload's
 *                                       forked_go_on: drops, waits           steps; then it is the program
 *
 * The interpreter's fork() comes last, so that its at-fork hooks run in the process that becomes the program. In the new user namespace init has
 * every capability, over its own new namespaces alone; both processes drop them as in every jail.
 *
 * Some libraries (OpenSSL 3) detect a fork by the number of the process. The zygote and the program of a jail would both be number 2 of their
 * namespaces, so init uses up one number.
 */
#include <asm/signal.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>

#include <stdbool.h>

#include "jail/inside/forked.h"
#include "jail/inside/inside.h"
#include "jail/inside/message.h"
#include "jail/inside/sys.h"

#define EXPORT __attribute__((visibility("default")))

#define EINTR_ 4

/* One order, and then one jail: the zygote is a single thread, and each fork has a copy. */
static struct wire_fork order;
static int fds[WIRE_FORK_FDS_MAX];
static size_t fd_count;
static struct inside in = { .sysctl_fd = -1, .what = "" };

/* As after an exec, init's descriptors are these and no others. */
static long place(void)
{
	long ret = 0;

	for (size_t i = 0; i < fd_count && ret >= 0; i++)
		fds[i] = (int)(ret = sys(fcntl, fds[i], F_DUPFD, 64));
	for (size_t i = 0; i < fd_count && ret >= 0; i++)
		ret = sys(dup3, fds[i], i, 0);
	return ret < 0 ? ret : sys(close_range, fd_count, ~0u, 0);
}

static long answer(int pidfd, long pid)
{
	const char done = 0;
	const int32_t error = pid < 0 ? (int32_t)-pid : 0;

	return error ? sys(write, WIRE_FD_INPUT, &error, sizeof(error))
		     : message_send(WIRE_FD_INPUT, &done, sizeof(done), &pidfd, 1);
}

EXPORT int forked_wait(void)
{
	const uint64_t all = ~0ull;
	uint64_t before = 0;
	int pidfd = -1;
	struct clone_args args = { .flags = CLONE_PIDFD,
				   .pidfd = (uint64_t)(uintptr_t)&pidfd,
				   .exit_signal = SIGCHLD };
	const long got =
	    message_receive(WIRE_FD_INPUT, &order, sizeof(order), fds, WIRE_FORK_FDS_MAX, &fd_count);
	long pid;

	if (got != sizeof(order))
		return -1;
	args.flags |= order.namespaces;
	/* As from birth where the host makes it: init asks for its signals when it has the time. */
	sys(rt_sigprocmask, 2 /* SIG_SETMASK */, &all, &before, sizeof(all));
	pid = sys(clone3, &args, sizeof(args));
	if (pid == 0)
		return 0;
	sys(rt_sigprocmask, 2 /* SIG_SETMASK */, &before, 0, sizeof(before));
	for (size_t i = 0; i < fd_count; i++)
		sys(close, fds[i]);
	if (answer(pidfd, pid) < 0 && pid > 0)
		sys(kill, pid, SIGKILL);
	if (pid > 0)
		sys(close, pidfd);
	return 1;
}

/* In a vfork there is nothing to copy; the parent waits until it has ended. */
static long use_up_a_number(void)
{
	int status = 0;
	const long pid = sys(clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0) {
		sys(exit, 0);
		__builtin_unreachable();
	}
	return pid < 0 ? pid : sys(wait4, pid, &status, 0x40000000 /* __WALL */, 0);
}

EXPORT void forked_init(void)
{
	struct wire_message word;
	long ret = place();

	if (ret < 0)
		sys(exit_group, 125);
	do
		ret = sys(read, WIRE_FD_CONTROL, &word, sizeof(word));
	while (ret == -EINTR_);
	if (ret != sizeof(word) || word.type != WIRE_GO)
		sys(exit_group, 125);
	inside_begin(&in);
	ret = inside_prepare_fork(&in);
	if (ret >= 0)
		ret = use_up_a_number();
	if (ret < 0)
		inside_fail(&in, WIRE_FD_CONTROL, WIRE_STEP_FORK, ret, "");
}

EXPORT void forked_go_on(int payload_pid)
{
	if (payload_pid < 0) /* an errno */
		inside_fail(&in, WIRE_FD_CONTROL, WIRE_STEP_FORK, payload_pid, "");
	in.payload_pid = payload_pid;
	inside_go_on(&in);
}

EXPORT void forked_payload(const char *name)
{
	sys(prctl, PR_SET_NAME, name, 0, 0, 0);
	payload_restrict(&in);
}
