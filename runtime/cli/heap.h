/*
 * heap: the malloc of the command line tool, with hints of its processes. Private to cli/. The functions are NULL in builds with another heap
 * (sanitizers, tests).
 */
#ifndef WARDER_RUNTIME_CLI_HEAP_H
#define WARDER_RUNTIME_CLI_HEAP_H

/* From now on, reuse freed memory. Call it once, while there is one thread. */
void heap_stay(void) __attribute__((weak));
/* This thread launches a program now. Ask the kernel at once for the memory that a launch writes to. */
void heap_launch(void) __attribute__((weak));

#endif
