/*
 * bare: an interpreter that waits for a piece of code as one in a pool's jail does, by the same loop, but in no jail: nothing but two pipes lies between
 * the code and the output. Private to tests/bench/.
 *
 * Life: bare_start() -> bare_run() -> bare_end().
 */
#ifndef WARDER_TESTS_BENCH_BARE_H
#define WARDER_TESTS_BENCH_BARE_H

#include <stddef.h>
#include <sys/types.h>

struct bare {
	pid_t pid;
	int work_fd, output_fd;
};

/* Start the interpreter that a pool has by that name, and wait until it has loaded the modules and waits for its code, which
 * it has prepared itself for by then. `forked`: NULL, or the path of
 * forked.so: then the loop is a zygote's, which forks once, and the fork waits for the code. -1: it did not start. */
int bare_start(const char *interpreter, const char *const *imports, const char *forked, struct bare *ret);
/* Give it the code. Returns with the first bytes of the output, or with -1. */
ssize_t bare_run(struct bare *bare, const char *code, char *ret, size_t size);
/* Until it has ended. Returns its exit status, or -1. */
int bare_end(struct bare *bare);

#endif
