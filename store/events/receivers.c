#include "store/events/events.h"

#include <fcntl.h>

#include "base/fd.h"

#define HALVINGS 16 /* of EVENTS_RECEIVERS_MAX */

struct range {
	off_t from, to;
};

/* The kernel tells one lock within a range, in no order: what is before and behind it is asked for in turn, the larger part last, so
 * that no more than one part for each halving waits. */
uint64_t events_receivers(const struct warder_events *events)
{
	owned_fd int fd = openat(events->dir_fd, events->receivers, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct range waiting[HALVINGS + 2] = { { 0, EVENTS_RECEIVERS_MAX } };
	size_t count = fd >= 0;
	uint64_t receivers = 0;

	while (count > 0) {
		const struct range part = waiting[--count];
		struct flock lock = { .l_type = F_WRLCK,
				      .l_whence = SEEK_SET,
				      .l_start = part.from,
				      .l_len = part.to - part.from };
		struct range left, right;
		bool left_larger;

		/* A length of 0 would mean all that follows. */
		if (part.from >= part.to || fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
			continue;
		receivers++;
		left = (struct range){ part.from, lock.l_start };
		right = (struct range){ lock.l_start + 1, part.to };
		left_larger = left.to - left.from > right.to - right.from;
		waiting[count++] = left_larger ? left : right;
		waiting[count++] = left_larger ? right : left;
	}
	return receivers;
}
