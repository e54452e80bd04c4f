// Preloaded into User-mode Linux by uml.sh.
//
// Linux 6.12 as a process keeps 2,696 bytes of a guest process's extended processor state: everything up to the protection keys. Processors
// with AMX have more, and PTRACE_SETREGSET takes the whole state or fails with EFAULT, so the guest panics before its init runs. This
// ptrace() puts what User-mode Linux kept over the state that the process has, and sets the whole. The tiles of AMX are not
// kept by it: they stay those of the process.

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

static long (*real_ptrace)(int, pid_t, void *, void *);
static char state[64 * 1024];

static long set_whole(pid_t pid, void *kind, const struct iovec *kept)
{
	struct iovec whole = { state, sizeof state };

	if (real_ptrace(PTRACE_GETREGSET, pid, kind, &whole) < 0)
		return -1;
	if (kept->iov_len > whole.iov_len) {
		errno = EFAULT;
		return -1;
	}
	memcpy(state, kept->iov_base, kept->iov_len);
	return real_ptrace(PTRACE_SETREGSET, pid, kind, &whole);
}

long ptrace(enum __ptrace_request request, ...)
{
	static int needs_whole;
	va_list rest;
	va_start(rest, request);
	pid_t pid = va_arg(rest, pid_t);
	void *address = va_arg(rest, void *);
	void *data = va_arg(rest, void *);
	va_end(rest);

	if (!real_ptrace)
		*(void **)&real_ptrace = dlsym(RTLD_NEXT, "ptrace");
	int is_state = request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE;
	if (is_state && needs_whole)
		return set_whole(pid, address, data);
	long got = real_ptrace(request, pid, address, data);
	if (got < 0 && errno == EFAULT && is_state) {
		needs_whole = 1;
		return set_whole(pid, address, data);
	}
	return got;
}
