/*
 * ends: how many jails may end at once.
 *
 * Each jail holds a seccomp filter, and the kernel frees a filter in a work item of its own when the jail ends. Some kernels
 * deadlock when a thousand are freed at once. Whatever ends many jails therefore ends at most ENDS_AT_ONCE of them and then
 * waits for ENDS_PAUSE_MS, in which the kernel frees them; ends.c has the measurements.
 *
 * The jails of a process are counted here, for three uses: ends_begin() counts those that live; ends_turn_us() gives each kill
 * its turn; and each jail above ENDS_AT_ONCE gets WIRE_CROWDED at its launch. If the process
 * dies, these jails spread their own ends over a second. Any thread. A child of fork() starts with the numbers of its parent, which may make
 * it careful without need.
 */
#ifndef WARDER_JAIL_CGROUP_ENDS_H
#define WARDER_JAIL_CGROUP_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#define ENDS_AT_ONCE  100
#define ENDS_PAUSE_MS 250

/* A jail of this process begins to live, until ends_end(). True: ENDS_AT_ONCE of them lived already, so that this one must not end
 * together with them. At most ENDS_AT_ONCE that were answered false live at any time. */
bool ends_begin(void);
void ends_end(void);
/* Count one kill. Returns the time (clock_us()) before which it must not happen: now, or, if ENDS_AT_ONCE have been killed without a pause
 * of ENDS_PAUSE_MS since, the end of that pause. */
uint64_t ends_turn_us(void);

#endif
