/*
 * compose: join several texts into one, such as a path. A launch makes a hundred of them, and snprintf(3) would take 1,300 instructions for
 * each. Pure; any thread.
 */
#ifndef WARDER_BASE_COMPOSE_H
#define WARDER_BASE_COMPOSE_H

#include <stddef.h>
#include <stdint.h>

#define COMPOSE_NUMBER 24

/* Write texts one after the other into the `size` bytes (at least 1) at `buf`, NUL-terminated. What does not fit is cut. Returns the
 * length of all of them, as snprintf(3) does. */
#define compose(buf, size, ...) compose_all(buf, size, (const char *const[]){ __VA_ARGS__, NULL })
size_t compose_all(char *buf, size_t size, const char *const *texts);

/* Write the number in decimal at the end of `buf`. Returns its first digit, in `buf`; NUL-terminated. */
const char *compose_number(uint64_t value, char buf[COMPOSE_NUMBER]);

#endif
