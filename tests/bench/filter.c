/*
 * Prints the system call filter of the default profile as C rows, for the floor to include: the floor loads the same
 * instructions as a jail, and pays nothing for compiling them.
 */
#include <stdio.h>

#include "jail/filter/seccomp.h"

int main(void)
{
	const struct seccomp_options options = { .profile = POLICY_SYSCALLS_DEFAULT, .allow_spawn = true };
	static struct seccomp_program program;
	struct warder_error err;

	if (seccomp_compile(&options, &program, &err) < 0) {
		fprintf(stderr, "filter: %s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < program.count; i++)
		printf("{ 0x%04x, %u, %u, 0x%08x },\n", program.code[i].code, program.code[i].jt,
		       program.code[i].jf, program.code[i].k);
	return 0;
}
