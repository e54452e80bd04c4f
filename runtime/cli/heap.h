/*
 * heap: the malloc of the command line tool, and what a process of it that lives long has to say. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_HEAP_H
#define WARDER_RUNTIME_CLI_HEAP_H

/* What is freed from now on is used again. Call it once, while there is one thread. NULL in builds with another heap (sanitizers, tests). */
void heap_stay(void) __attribute__((weak));

#endif
