/*
 * poller: one descriptor that is readable when a poll list is ready, or a time has come. For a caller with an event loop. Private to jail/.
 *
 * Life: zeroed (closed) -> poller_open() -> poller_set() with what is to be waited for, again whenever that has changed ->
 * poller_close() of a descriptor in the list, before its number can be used again -> poller_done(). One thread at a time.
 */
#ifndef WARDER_JAIL_POLLER_H
#define WARDER_JAIL_POLLER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLLER_MAX 11

struct poller {
	bool open;
	int fd;                         /* epoll; owned */
	int timer_fd;                   /* owned */
	uint64_t timer_us;              /* the time that it is set to; UINT64_MAX: none */
	struct pollfd rows[POLLER_MAX]; /* in the epoll instance */
	size_t count;
};

/* 0; -1 with errno. */
int poller_open(struct poller *poller);
/* Wait for `fds`, as poll(2) does (a row below 0 is passed over, a descriptor may occur twice), and for the clock (clock_us()) to be at
 * at_us; UINT64_MAX: not. */
void poller_set(struct poller *poller, const struct pollfd *fds, size_t count, uint64_t at_us);
/* Wait for nothing any more: the descriptor is not readable, and stays so until poller_set(). */
void poller_stop(struct poller *poller);
/* Close *fd, which may be in the list; also if the poller is not open, or NULL. */
void poller_close(struct poller *poller, int *fd);
void poller_done(struct poller *poller);

#endif
