/*
 * kernel: a look at what a kernel has left to do. Each jail has a filter, and Linux 6.18 can lock up when it frees about a thousand of them
 * at once: then no process can load a filter until the machine is started anew. Throughput is measured only as long as the kernel keeps up.
 */
#ifndef WARDER_TESTS_BENCH_KERNEL_H
#define WARDER_TESTS_BENCH_KERNEL_H

#include <stdbool.h>

#define KERNEL_LOOK_MS 200 /* between two looks: one takes some milliseconds */

/* Whether more than 50 workers of the kernel wait for their turn to free a filter. Any thread. */
bool kernel_is_behind(void);

#endif
