/*
 * serve: lets the harness time launches inside another process. The served program reads requests from its standard
 * input and answers on its standard output, one line each:
 *
 *   "run"           -> "STATUS NANOSECONDS"   one launch until reaped, and what the program exited with
 *   "rate N MS"     -> "COUNT NANOSECONDS"    launches by N threads within MS milliseconds; COUNT 0: one failed;
 *                                         -1: not measured, because the kernel falls behind (tests/bench/kernel.h)
 *
 * End of file ends it.
 */
#ifndef WARDER_TESTS_BENCH_SERVE_H
#define WARDER_TESTS_BENCH_SERVE_H

/* One launch, until the program is reaped. Called by several threads at once. Returns the exit status; -1: it failed,
 * and said why on standard error. */
typedef int serve_fn(void *context);

/* Until end of file. Returns the exit status of the serving process. */
int serve(serve_fn *launch, void *context);

#endif
