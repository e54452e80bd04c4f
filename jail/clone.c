#include "jail/clone.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/inside/sys.h"

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

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return 255; /* the host waits for any child, and took it */
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
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

int clone_end(struct clone_helper *helper)
{
	int status = helper->pid ? wait_for(helper->pid) : 0;

	free(helper->stack);
	*helper = (struct clone_helper){ 0 };
	return status;
}

int clone_run(uint64_t flags, void (*fn)(void *arg), void *arg)
{
	struct clone_args args = { .flags = CLONE_VM | CLONE_VFORK | flags };
	char stack[CLONE_STACK_BYTES] __attribute__((aligned(16)));
	sigset_t all;
	sigset_t before;
	int status = 0;
	long pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone_call(&args, stack, fn, arg);
	if (pid > 0)
		status = wait_for((pid_t)pid);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid < 0 ? (int)pid : status;
}
