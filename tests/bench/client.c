/*
 * The least that a client of a service does: it connects, sends its arguments and its three streams in one message, waits for the exit status, and
 * ends with it. No libc.
 *
 *   client SOCKET -- PROGRAM ARG...       of "floor --listen"
 */
#include <stddef.h>
#include <stdint.h>

#include "jail/inside/sys.h"

#define WORDS_SIZE 4096

_Noreturn void client_main(char **argv);

struct message {
	void *name;
	uint32_t name_len;
	struct part {
		void *at;
		size_t len;
	} * parts;
	size_t part_count;
	void *control;
	size_t control_len;
	uint32_t flags;
};

static size_t copy(char *to, const char *from)
{
	size_t len = 0;

	do
		to[len] = from[len];
	while (from[len++]);
	return len;
}

static size_t join(char **argv, char *ret)
{
	size_t len = 0;

	for (; *argv && len < WORDS_SIZE / 2; argv++)
		len += copy(ret + len, *argv);
	return len;
}

_Noreturn void client_main(char **argv)
{
	static char words[WORDS_SIZE];
	struct {
		uint16_t family;
		char path[108];
	} address = { 1 /* AF_UNIX */, "" };
	struct {
		size_t len;
		int level, type;
		int fds[4];
	} control = {
		sizeof(size_t) + 5 * sizeof(int), 1 /* SOL_SOCKET */, 1 /* SCM_RIGHTS */, { 0, 1, 2, 0 }
	};
	struct part part = { words, join(argv + 3, words) };
	struct message message = {
		.parts = &part, .part_count = 1, .control = &control, .control_len = sizeof(control)
	};
	const long fd = sys(socket, 1, 5 /* SOCK_SEQPACKET */, 0);
	int status = 125;

	copy(address.path, argv[1]);
	if (sys(connect, fd, &address, sizeof(address)) < 0 || sys(sendmsg, fd, &message, 0) < 0 ||
	    sys(read, fd, &status, sizeof(status)) != sizeof(status) || status < 0)
		status = 125;
	sys(exit_group, status);
	__builtin_unreachable();
}

/* The stack begins with the number of arguments, and then has the arguments. */
#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp,%ebp\n\tlea 8(%rsp),%rdi\n\tand $-16,%rsp\n\tcall client_main\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tadd x0, sp, #8\n\tbl client_main\n");
#endif
