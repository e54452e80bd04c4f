#include "jail/cgroup/clone.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "jail/inside/sys.h"

#define WAIT_LIVES    (-1)
#define WITHOUT_FD_MS 5

/* long clone_raw(struct clone_args *args, size_t size, void (*fn)(void *), void *arg) */
long clone_raw(struct clone_args *args, size_t size, void (*fn)(void *), void *arg);

#if defined(__x86_64__)
__asm__(".text\n"
	".type clone_raw,@function\n"
	".hidden clone_raw\n"
	".globl clone_raw\n"
	"clone_raw:\n"
	"	mov %rdx, %r8\n"
	"	mov %rcx, %r9\n"
	"	mov $435, %eax\n"
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jnz 1f\n"
	"	xor %ebp, %ebp\n"
	"	mov %r9, %rdi\n"
	"	call *%r8\n"
	"	ud2\n"
	"1:	ret\n"
	".size clone_raw,.-clone_raw\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".type clone_raw,%function\n"
	".hidden clone_raw\n"
	".globl clone_raw\n"
	"clone_raw:\n"
	"	mov x9, x2\n"
	"	mov x10, x3\n"
	"	mov x8, #435\n"
	"	svc #0\n"
	"	cbnz x0, 1f\n"
	"	mov x29, xzr\n"
	"	mov x0, x10\n"
	"	blr x9\n"
	"	brk #0\n"
	"1:	ret\n"
	".size clone_raw,.-clone_raw\n");
#else
#error "this architecture has no clone stub"
#endif

long clone_call(struct clone_args *args, void *stack, void (*fn)(void *arg), void *arg)
{
	args->stack = (uint64_t)(uintptr_t)stack;
	args->stack_size = CLONE_STACK_BYTES;
	return clone_raw(args, sizeof(*args), fn, arg);
}

/* The exit status; WAIT_LIVES, with WNOHANG: it has not ended. */
static int wait_for(pid_t pid, int flags)
{
	int status = 0;
	pid_t ended;

	do
		ended = waitpid(pid, &status, __WALL | flags);
	while (ended < 0 && errno == EINTR);
	if (ended == 0)
		return WAIT_LIVES;
	/* -1: the host waits for any child, and took it. */
	return ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

int clone_begin(struct clone_helper *helper, uint64_t flags, void (*fn)(void *arg), void *arg)
{
	struct clone_args args = { .flags = CLONE_VM | flags };
	sigset_t all;
	sigset_t before;
	long pid;

	*helper = (struct clone_helper){ .stack = malloc(CLONE_STACK_BYTES) };
	if (!helper->stack)
		return -ENOMEM;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone_call(&args, helper->stack, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	helper->pid = pid > 0 ? (int)pid : 0;
	if (pid < 0)
		clone_end(helper);
	return pid < 0 ? (int)pid : 0;
}

int clone_forget(struct clone_helper *helper)
{
	if (helper->watched)
		fd_done(&helper->pid_fd);
	*helper = (struct clone_helper){ 0 };
	return CLONE_HANGS;
}

/* A helper that works for long is waited for as long as it makes progress. */
static bool has_hung(struct clone_helper *helper)
{
	const uint64_t now = clock_us();

	if (helper->watched && now - helper->looked_us < CLONE_LOOK_MS * UINT64_C(1000))
		return false;
	helper->looked_us = now;
	if (helper->watched)
		return hang_look(&helper->hang, helper->pid) &&
		       now - helper->hang.since_us >= helper->patience_us;
	helper->watched = true;
	helper->pid_fd = (int)syscall(SYS_pidfd_open, helper->pid, 0);
	return false;
}

int clone_end_step(struct clone_helper *helper)
{
	const int status = helper->pid ? wait_for(helper->pid, WNOHANG) : 0;

	if (status == WAIT_LIVES)
		return has_hung(helper) ? clone_forget(helper) : CLONE_LIVES;
	free(helper->stack);
	clone_forget(helper);
	return status;
}

bool clone_await(const struct clone_helper *helper)
{
	struct pollfd end = { .fd = helper->pid_fd, .events = POLLIN };

	return poll(&end, 1, helper->pid_fd < 0 ? WITHOUT_FD_MS : CLONE_LOOK_MS) > 0;
}

int clone_end(struct clone_helper *helper)
{
	return clone_end_within(helper, 0);
}

int clone_end_within(struct clone_helper *helper, unsigned int within_ms)
{
	const uint64_t deadline = clock_us() + within_ms * UINT64_C(1000);
	int status;

	while ((status = clone_end_step(helper)) == CLONE_LIVES)
		if (!clone_await(helper) && within_ms && clock_us() >= deadline)
			return clone_forget(helper);
	return status;
}

int clone_run(uint64_t flags, void (*fn)(void *arg), void *arg, size_t size)
{
	struct clone_helper helper;
	void *copy = malloc(size);
	int ret = copy ? 0 : -ENOMEM;

	if (ret == 0) {
		memcpy(copy, arg, size);
		ret = clone_begin(&helper, flags, fn, copy);
	}
	if (ret == 0)
		ret = clone_end(&helper);
	if (ret == CLONE_HANGS)
		return -ETIMEDOUT; /* the copy is the child's */
	if (copy)
		memcpy(arg, copy, size);
	free(copy);
	return ret;
}
