/*
 * sys: system calls without a libc. Used by the init inside the jail, and by the few lines that run between
 * clone and exec in the host's memory, where libc's state (errno, locks) must not be touched. Every function
 * returns the kernel's value: negative errno on failure.
 */
#ifndef WARDER_JAIL_INSIDE_SYS_H
#define WARDER_JAIL_INSIDE_SYS_H

#include <asm/unistd.h>
#include <stddef.h>
#include <stdint.h>

#if defined(WARDER_ANALYZED)
/* To an analyzer an asm statement writes nothing: what the kernel fills in would be used uninitialised. */
long sys_call6(long nr, long a, long b, long c, long d, long e, long f);
#elif defined(__x86_64__)
static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "this architecture has no system call stub"
#endif

#define SYS_N(nr, a, b, c, d, e, f, ...)                                                                     \
	sys_call6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* sys(name, up to six arguments) */
#define sys(name, ...) SYS_N(__NR_##name, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)

#endif
