/*
 * The descriptor is an epoll instance, which is itself readable when something in it is ready: nobody calls epoll_wait(2) on it. It only
 * says when a poll(2) of the same list would have an answer. Supervision polls the list itself, with or without this descriptor.
 *
 * An epoll instance knows open files, and a file stays open while a forked child of the application has it. So a descriptor is taken
 * out before it is closed: else the instance would report its hang-up for as long as that child lives, and nobody could take it out.
 *
 * What epoll refuses because it is always ready (a regular file) is ready at once by the timer. For what it refuses for want of
 * memory the timer comes every few milliseconds.
 */
#include "jail/poller.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "base/clock.h"
#include "base/fd.h"

#define REFUSED_LOOK_US 10000

_Static_assert(EPOLLIN == POLLIN && EPOLLPRI == POLLPRI && EPOLLOUT == POLLOUT,
	       "the events of poll(2) are those of epoll(7)");

int poller_open(struct poller *poller)
{
	struct epoll_event event = { .events = EPOLLIN };
	owned_fd int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	owned_fd int fd = timer_fd < 0 ? -1 : epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, timer_fd, &event) < 0)
		return -1;
	*poller = (struct poller){
		.open = true, .fd = fd_take(&fd), .timer_fd = fd_take(&timer_fd), .timer_us = UINT64_MAX
	};
	return 0;
}

static struct pollfd *find(struct pollfd *rows, size_t count, int fd)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].fd == fd)
			return &rows[i];
	return NULL;
}

static size_t merge(const struct pollfd *fds, size_t count, struct pollfd ret[POLLER_MAX])
{
	size_t merged = 0;

	for (size_t i = 0; i < count; i++) {
		struct pollfd *row = find(ret, merged, fds[i].fd);

		if (row)
			row->events |= fds[i].events;
		else if (fds[i].fd >= 0)
			ret[merged++] = (struct pollfd){ .fd = fds[i].fd, .events = fds[i].events };
	}
	return merged;
}

static void take_out(struct poller *poller, struct pollfd *row)
{
	epoll_ctl(poller->fd, EPOLL_CTL_DEL, row->fd, NULL);
	*row = poller->rows[--poller->count];
}

/* The time at which a row that is refused is to be looked at; UINT64_MAX: it is in the instance. */
static uint64_t put_in(struct poller *poller, const struct pollfd *wanted)
{
	struct epoll_event event = { .events = (uint32_t)wanted->events };
	struct pollfd *row = find(poller->rows, poller->count, wanted->fd);

	if (row && row->events == wanted->events)
		return UINT64_MAX;
	if (epoll_ctl(poller->fd, row ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, wanted->fd, &event) < 0)
		return errno == EPERM ? 0 : clock_us() + REFUSED_LOOK_US;
	if (!row)
		row = &poller->rows[poller->count++];
	*row = *wanted;
	return UINT64_MAX;
}

/* A timer that is over stays readable until it is set anew. */
static void set_timer(struct poller *poller, uint64_t at_us)
{
	struct itimerspec when = { 0 };

	if (at_us == poller->timer_us || (at_us > poller->timer_us && poller->timer_us > clock_us()))
		return;
	if (at_us != UINT64_MAX) {
		when.it_value.tv_sec = (time_t)(at_us / 1000000);
		when.it_value.tv_nsec = (long)(at_us % 1000000) * 1000 + 1; /* 0 would stop it */
	}
	timerfd_settime(poller->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
	poller->timer_us = at_us;
}

void poller_set(struct poller *poller, const struct pollfd *fds, size_t count, uint64_t at_us)
{
	struct pollfd wanted[POLLER_MAX];
	const size_t merged = merge(fds, count, wanted);

	for (size_t i = poller->count; i-- > 0;)
		if (!find(wanted, merged, poller->rows[i].fd))
			take_out(poller, &poller->rows[i]);
	for (size_t i = 0; i < merged; i++) {
		const uint64_t look_us = put_in(poller, &wanted[i]);

		at_us = look_us < at_us ? look_us : at_us;
	}
	set_timer(poller, at_us);
}

void poller_stop(struct poller *poller)
{
	const struct itimerspec never = { 0 };

	if (!poller->open)
		return;
	poller_set(poller, NULL, 0, UINT64_MAX);
	timerfd_settime(poller->timer_fd, 0, &never, NULL);
}

void poller_close(struct poller *poller, int *fd)
{
	struct pollfd *row =
	    poller && poller->open && *fd >= 0 ? find(poller->rows, poller->count, *fd) : NULL;

	if (row)
		take_out(poller, row);
	fd_done(fd);
}

void poller_done(struct poller *poller)
{
	if (poller->open) {
		fd_done(&poller->fd);
		fd_done(&poller->timer_fd);
	}
	*poller = (struct poller){ 0 };
}
