/*
 * backstop: init's own limit of the wall time, for a supervisor that is stopped or stuck. It is a timer that the two share: the supervisor
 * sets it when the program's time begins, which wakes nobody, and init ends the jail when it expires.
 */
#ifndef WARDER_JAIL_BACKSTOP_H
#define WARDER_JAIL_BACKSTOP_H

#include <stdbool.h>
#include <stdint.h>

/* How long after its beginning init ends the jail; later than the supervisor does. 0: never. */
uint64_t backstop_us(uint64_t wall_time_us);
/* A timer that is not set; owned by the caller. -1 with errno. */
int backstop_open(void);
/* The time begins now. -1 with errno. */
int backstop_begin(int fd, uint64_t wall_time_us);
/* Stop the timer. Returns the microseconds that were left; 0: it had expired, or was not set. */
uint64_t backstop_pause(int fd);
/* Set it again, to the microseconds that were left; 0: do nothing. */
void backstop_go_on(int fd, uint64_t left_us);
/* It begins anew. False: it was over, or had not begun, and stays so. */
bool backstop_begin_anew(int fd, uint64_t wall_time_us);

#endif
