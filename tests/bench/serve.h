/*
 * serve: lets the harness time launches inside another process. The served program reads requests from its standard
 * input and answers on its standard output, one line each:
 *
 *   "run"           -> "STATUS NANOSECONDS CPU"   one launch until reaped, and what the program exited with. CPU: nanoseconds of processor time of
 *                                         this process and of all that it has waited for, since the last "run"
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

/* Until end of file. `prepare` is called before each request, and is not measured but by its processor time (NULL: nothing to do); 0, or it failed.
 * Returns the exit status of the serving process. */
int serve(serve_fn *launch, serve_fn *prepare, void *context);

#endif
