/*
 * heap: the malloc of the command line tool, and a switch for its processes that live long. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_HEAP_H
#define WARDER_RUNTIME_CLI_HEAP_H

/* From now on, reuse freed memory. Call it once, while there is one thread. NULL in builds with another heap (sanitizers, tests). */
void heap_stay(void) __attribute__((weak));

#endif
